//! Sub-libraries of one cuDNN: missing, of different versions, in different directories, copied instead of linked.

use crate::cudnn::consistency::{all_files, file_name, folder, is_dll, major, needed};
use crate::model::candidate::{Copies, Cudnn};
use crate::model::owner::Installer;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::{Finding, quoted};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::library_name::{LibraryName, cudnn_file};
use crate::runtime::install::mixed_folder::{MixedFolder, MixedVersions};
use crate::runtime::install::package_owner;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use std::path::Path;

/// Returns the warning for missing sub-libraries: they matter only where the program runs, which may be elsewhere.
pub(super) fn missing(cudnn: &Cudnn, elsewhere: &[String]) -> Option<Finding> {
    let library = cudnn.library.as_ref()?;
    let mut lacking = missing_parts(cudnn);
    let is_there = |file: &String| {
        let mut met = cudnn.files.part_obstacles.iter();
        met.any(|(known, _)| known == file)
    };
    lacking.retain(|file| !elsewhere.contains(file) && !is_there(file));
    if lacking.is_empty() {
        return None;
    }
    let version = cudnn.version();
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    let dir = folder(cudnn);
    let what = match &lacking[..] {
        [one] => one.clone(),
        more => format!("{} parts", more.len()),
    };
    let summary = format!("cuDNN{version} in `{dir}` lacks {what}, which a convolution needs");
    let all = lacking.iter().filter(|_| lacking.len() > 1);
    let finding = Finding::warning(FindingId::PartsMissing, summary).with_lines("lacking", all);
    let copy = || {
        let (all, library) = (all_files(cudnn), file_name(library));
        format!(
            "copy every `{all}` file of that release to `{dir}`, since `{library}` opens the others"
        )
    };
    Some(finding.help(bring_back(cudnn).unwrap_or_else(copy)))
}

fn bring_back(cudnn: &Cudnn) -> Option<String> {
    let command = reinstall(cudnn)?;
    Some(format!("bring its files back: `{command}`"))
}

/// Returns the command that installs the package of this cuDNN again.
pub(super) fn reinstall(cudnn: &Cudnn) -> Option<String> {
    match cudnn.owner.as_deref() {
        Some(owner) if owner.installer == Installer::Apt => {
            Some(format!("sudo apt install --reinstall {}", owner.name))
        }
        _ => package_owner::reinstall_command(Path::new(&folder(cudnn))),
    }
}

/// Returns the finding for sub-libraries that exist and cannot be used, if a convolution needs one of them.
pub(super) fn obstructed(cudnn: &Cudnn) -> Option<Finding> {
    let needed = missing_parts(cudnn);
    let mut met = cudnn.files.part_obstacles.iter();
    let (_, first) = met.find(|(file, _)| needed.contains(file))?;
    let headline = format!("{first}, and a convolution needs that part");
    let all = cudnn.files.part_obstacles.iter().map(|(_, one)| one);
    let others = all.filter(|one| *one != first);
    let finding = Finding::warning(FindingId::PartsMissing, headline).with_lines("besides", others);
    let is_gone = matches!(first.defect, Defect::Circle | Defect::Dangling(_));
    let again = is_gone.then(|| bring_back(cudnn)).flatten();
    Some(finding.help(again.unwrap_or_else(|| first.help(false))))
}

/// Returns the finding for a library whose SONAME does not exist as a file.
pub(super) fn not_linked(cudnn: &Cudnn) -> Option<Finding> {
    let (soname, library) = (cudnn.files.absent_soname.as_ref()?, cudnn.library.as_ref()?);
    let dir = folder(cudnn);
    let file = file_name(library);
    let headline = format!(
        "a program that is linked to `{}` asks the loader for `{soname}`, which is not in `{dir}`",
        library.display()
    );
    let own = LibraryName::read(file).and_then(|name| name.major());
    let other = own.is_some() && own != LibraryName::read(soname).and_then(|name| name.major());
    let finding = Finding::error(FindingId::CudnnNotLoadable, headline)
        .with("SONAME", format!("{soname}, of {}", library.display()));
    Some(finding.help(match other {
        true => format!(
            "install one cuDNN in `{dir}`, whole: `{file}` is the library of another under this name"
        ),
        false => format!("make its links: `sudo ldconfig -n {}`", quoted(&dir)),
    }))
}

/// Returns the files of the sub-libraries that a convolution needs and that are not beside the main library.
pub fn missing_parts(cudnn: &Cudnn) -> Vec<String> {
    let (Some(library), Some(major)) = (&cudnn.library, major(cudnn)) else {
        return Vec::new();
    };
    // A `libcudnn.so` alone may lead anywhere.
    if library.ends_with("libcudnn.so") {
        return Vec::new();
    }
    let mut lacking = needed(cudnn);
    lacking.retain(|name| !cudnn.parts.iter().any(|part| part.name == *name));
    let file = |name| cudnn_file(name, major, is_dll(library));
    lacking.into_iter().map(file).collect()
}

/// Sub-libraries of different versions do not work together, even if cuDNN itself does not notice.
pub(super) fn mixed(cudnn: &Cudnn) -> Option<Finding> {
    let version = cudnn.library_version?;
    let files: Vec<&SubLibraryFile> = cudnn.parts.iter().collect();
    let fault = MixedFolder {
        mixed: MixedVersions::new(files, version, None)?,
        dir: folder(cudnn),
        all: all_files(cudnn),
        reinstall: reinstall(cudnn),
    };
    Some(fault.finding())
}

/// Returns `true` if a convolution opens sub-libraries of different versions.
pub(super) fn is_mixed(cudnn: &Cudnn) -> bool {
    let files: Vec<&SubLibraryFile> = cudnn.parts.iter().collect();
    let mixed = cudnn
        .library_version
        .and_then(|version| MixedVersions::new(files, version, None));
    mixed.is_some_and(|mixed| mixed.matters())
}

/// Returns the finding for links into several directories, unless all sub-libraries are known to be of one version.
pub(super) fn folders(cudnn: &Cudnn) -> Option<Finding> {
    let folders = &cudnn.files.folders;
    if folders.len() < 2 || cudnn.parts.iter().all(|part| part.version.is_some()) {
        return None;
    }
    let summary = format!(
        "the parts of the cuDNN at `{}` lie in different directories, and not all tell their release",
        folder(cudnn)
    );
    let finding = Finding::warning(FindingId::PartsMixed, summary)
        .with_lines("parts in", folders.iter().map(|dir| dir.display()));
    Some(finding.help("let all of its links lead into the directory of one cuDNN"))
}

/// Returns the finding for functions that a sub-library imports from another, which does not define them.
pub(super) fn lacking(cudnn: &Cudnn) -> Option<Finding> {
    let unresolved = &cudnn.files.unresolved;
    let first = unresolved.first()?;
    let lines = unresolved.iter().map(|one| {
        let symbol = one.symbols.first().map_or("", String::as_str);
        let more = match one.symbols.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (part, sibling) = (file_name(&one.part), file_name(&one.sibling));
        format!("{part} needs {symbol}{more} of {sibling}")
    });
    let dir = folder(cudnn);
    let summary = format!(
        "`{}` in `{dir}` needs what `{}` beside it does not have: they are of different releases",
        file_name(&first.part),
        file_name(&first.sibling)
    );
    let finding = Finding::error(FindingId::PartsMixed, summary).with_lines("lacking", lines);
    Some(finding.help(MixedFolder::replace_all(all_files(cudnn), &dir)))
}

/// Returns the finding for files where links should be: a copy that follows links makes them. Equal copies are harmless;
/// of those that differ, one is left over from another version.
pub(super) fn copies(cudnn: &Cudnn) -> Option<Finding> {
    let copies = &cudnn.files.copies;
    let dir = folder(cudnn);
    let names = |one: &Copies| {
        let names: Vec<&str> = one.files.iter().map(|path| file_name(path)).collect();
        names.join(", ")
    };
    if let Some(stale) = copies.iter().find(|one| one.differ) {
        let summary = format!(
            "{} in `{dir}` are files of different builds: programs open the one whose name ends in the major alone",
            names(stale)
        );
        let others = copies.iter().filter(|one| one.differ).skip(1);
        let finding = Finding::warning(FindingId::DuplicateCudnn, summary);
        let finding = finding.with_lines("so are", others.map(names));
        return Some(finding.help(MixedFolder::replace_all(all_files(cudnn), &dir)));
    }
    let first = copies.first()?;
    let others = match copies.len() - 1 {
        0 => String::new(),
        1 => "; so is one other library".into(),
        others => format!("; so are {others} other libraries"),
    };
    let summary = format!(
        "{} in `{dir}` are whole files of one build, where there should be one and links to it{others}",
        names(first)
    );
    Some(Finding::note(FindingId::DuplicateCudnn, summary).help(
        "leave them, since equal ones are harmless; copy with `cp -a`, which keeps links, so that none is left behind",
    ))
}
