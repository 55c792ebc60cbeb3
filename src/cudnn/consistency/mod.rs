//! The rules for one cuDNN: its headers against its library, its sub-libraries against each other.

pub mod parts;
#[cfg(test)]
mod tests;

use crate::model::candidate::Cudnn;
use crate::model::found_via::FoundVia;
use crate::model::owner::{Installer, Owner};
use crate::model::rejection::Rejection;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::sub_libraries;
use crate::runtime::facts::version::Version;
use crate::runtime::facts::version_source::VersionSource;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use std::path::{Path, PathBuf};

/// Returns everything that is incompatible within this cuDNN. `elsewhere` are files of sub-libraries that the system
/// finds apart from the others.
pub fn findings(cudnn: &Cudnn, elsewhere: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(header_library(cudnn));
    findings.extend(flawed(cudnn));
    findings.extend(obstructed(cudnn));
    findings.extend(missing(cudnn, elsewhere));
    findings.extend(not_linked(cudnn));
    let mixed = mixed(cudnn);
    if mixed.is_none() {
        findings.extend(folders(cudnn));
    }
    findings.extend(mixed);
    findings.extend(lacking(cudnn));
    findings.extend(copies(cudnn));
    findings
}

/// Returns the reason why a cuDNN without faults is preferred to this one.
pub fn doubtful(cudnn: &Cudnn) -> Option<Rejection> {
    if let Some((header, library)) = differing(cudnn).filter(|(one, other)| !same(*one, *other)) {
        return Some(Rejection::HeaderSkew(header, library));
    }
    let parts = cudnn.parts.iter();
    let mut needed = parts.filter(|part| part.needed && part.name != "cudnn");
    if let Some((part, flaw)) = needed.find_map(|part| Some((part, part.defect.as_ref()?))) {
        let file = file_name(&part.path).to_string();
        return Some(Rejection::Damaged(file, flaw.clone()));
    }
    if is_mixed(cudnn) {
        return Some(Rejection::MixedParts);
    }
    is_jit_only(cudnn).then_some(Rejection::JitOnly)
}

/// Returns the finding for a cuDNN that a variable requests and whose library can be neither linked nor opened.
pub fn unusable(cudnn: &Cudnn, found_via: String, via: &FoundVia) -> Option<Finding> {
    let (path, flaw) = cudnn.flaw()?;
    let finding = Finding::error(flaw.id(), format!("`{}` {flaw}", path.display()));
    Some(
        finding
            .with("found via", found_via)
            .help(again(flaw, path, cudnn))
            .help(format!("or set {via} to a directory with a whole cuDNN")),
    )
}

/// Returns the versions of headers and library, if they differ.
fn differing(cudnn: &Cudnn) -> Option<(Version, Version)> {
    let pair = cudnn.header_version.zip(cudnn.library_version)?;
    (pair.0 != pair.1).then_some(pair)
}

fn same(one: Version, other: Version) -> bool {
    (one.major, one.minor) == (other.major, other.minor)
}

fn header_library(cudnn: &Cudnn) -> Option<Finding> {
    let (header, library) = differing(cudnn)?;
    let summary =
        format!("the headers are those of cuDNN {header}, and the library to link is {library}");
    let severity = Severity::error_if(!same(header, library));
    let finding = Finding::new(FindingId::HeaderLibrarySkew, severity, summary);
    let (file, path) = (cudnn.header.as_ref()?, cudnn.library.as_ref()?);
    let parts = cudnn.parts.iter();
    let of_release = parts.filter(|part| part.version == Some(library));
    let tells = |name: &str| sub_libraries::find(name).is_some_and(|one| one.tells_release);
    let first = of_release.min_by_key(|part| !tells(&part.name));
    let told = first.map_or_else(String::new, |part| {
        let by = match part.told_by {
            None => String::new(),
            Some(VersionSource::Symbol(symbol)) => format!(", by its {symbol}"),
            Some(by) => format!(", by {}", by.with_article()),
        };
        format!("\n{library} in {}{by}", file_name(&part.path))
    });
    let of_headers = cudnn.files.header_owner.as_ref();
    let of_library = cudnn.owner.as_deref();
    let from = |owner: Option<&Owner>| owner.map_or_else(String::new, |owner| format!("\n{owner}"));
    let finding = finding
        .with("header", format!("{}{}", file.display(), from(of_headers)))
        .with(
            "library",
            format!("{}{told}{}", path.display(), from(of_library)),
        );
    let packages = of_headers.zip(of_library);
    let packages = packages.filter(|(of_headers, of_library)| {
        of_library.installer == Installer::Apt
            && of_headers.version != of_library.version
            && is_apts(of_headers)
            && is_apts(of_library)
    });
    let stale = if let Some((of_headers, of_library)) = packages {
        let command = of_one_release(of_headers, of_library, header > library);
        format!("run `{command}`")
    } else if beside(file, path) {
        format!(
            "install one release of cuDNN in `{}`, headers and libraries",
            cudnn.root.display()
        )
    } else {
        "remove the one that is out of date".into()
    };
    Some(
        finding
            .help(stale)
            .help("or set CUDNN_PATH to a directory that holds both, of one release"),
    )
}

/// Returns the command that brings both packages of Debian to one version: the newer one, which apt had last. Headers
/// of another CUDA's package are replaced with those of the library's.
fn of_one_release(of_headers: &Owner, of_library: &Owner, headers_newer: bool) -> String {
    let (headers, library) = (&of_headers.name, &of_library.name);
    let end = |name: &str| name.find("-cuda-").unwrap_or(name.len());
    let (kind, cuda) = headers.split_at(end(headers));
    let own_cuda = &library[end(library)..];
    if cuda != own_cuda {
        return format!("sudo apt install {kind}{own_cuda}={}", of_library.version);
    }
    let version = match headers_newer {
        true => &of_headers.version,
        false => &of_library.version,
    };
    format!("sudo apt install {library}={version} {headers}={version}")
}

/// Returns `true` if name and version can go into a command: their letters are those that apt allows.
fn is_apts(owner: &Owner) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || "+-.:~".contains(c);
    owner.name.chars().chain(owner.version.chars()).all(known)
}

/// Returns `true` if both are in the same installation: `include/` and `lib/` of one directory.
fn beside(header: &Path, library: &Path) -> bool {
    let up = |path: &Path| path.parent().and_then(Path::parent).map(Path::to_path_buf);
    up(header) == up(library)
}

/// Returns the findings for files that nothing can open, except for the main library: with that, the cuDNN is not
/// chosen.
fn flawed(cudnn: &Cudnn) -> Vec<Finding> {
    let of_parts = cudnn.parts.iter().filter(|part| part.name != "cudnn");
    let finding = |part: &SubLibraryFile| {
        let flaw = part.defect.as_ref()?;
        let summary = format!("`{}` {flaw}", part.path.display());
        let severity = Severity::error_if(part.needed);
        let finding = Finding::new(flaw.id(), severity, summary);
        Some(finding.help(again(flaw, &part.path, cudnn)))
    };
    of_parts.filter_map(finding).collect()
}

fn again(flaw: &Defect, path: &Path, cudnn: &Cudnn) -> String {
    match flaw {
        Defect::Cpu(_) => {
            let dir = path.parent().unwrap_or(path).display();
            format!("install the cuDNN for the target's processor in `{dir}`")
        }
        _ if flaw.is_lfs_pointer() => flaw.help(path),
        Defect::CutOff(..) | Defect::Garbled | Defect::Foreign(..) => match reinstall(cudnn) {
            Some(command) => {
                format!("bring its files back: `{command}`, and see that the disk is not full")
            }
            None => flaw.help(path),
        },
        _ => flaw.help(path),
    }
}

/// Returns the finding for an nvcc and headers of different versions: `said` and `read`.
pub fn nvcc_header(
    nvcc: &Path,
    said: Version,
    header: &Path,
    read: Version,
    others: &[PathBuf],
) -> Finding {
    let is_wheel = nvcc.to_string_lossy().contains("/nvidia/cu1");
    let (said, read) = (said.short(), read.short());
    let summary =
        format!("nvcc is of CUDA {said}, and the headers that it would read are of {read}");
    let mut finding = Finding::error(FindingId::NvccHeaderSkew, summary)
        .with("nvcc", nvcc.display())
        .with("header", header.display())
        .with_lines("also found", others.iter().map(|other| other.display()));
    if is_wheel {
        let name = |name| format!("'nvidia-{name}=={said}.*'");
        finding = finding.help(format!(
            "bring the wheels to one release: `pip install {} {} {} {}`",
            name("cuda-nvcc"),
            name("cuda-crt"),
            name("cuda-runtime"),
            name("nvvm")
        ));
    }
    let both = format!("or install nvcc {read} there, or the headers of {said}");
    finding
        .help("set CUDA_HOME to a toolkit whose nvcc and cuda.h are of one release")
        .help(both)
}

fn major(cudnn: &Cudnn) -> Option<u32> {
    let named = |path| LibraryName::of(path)?.major();
    let told = cudnn.library.as_deref().and_then(named);
    told.or_else(|| Some(cudnn.version()?.major))
}

fn needed(cudnn: &Cudnn) -> Vec<&'static str> {
    let told = cudnn.library_version.or(cudnn.header_version);
    let version = |major| match told {
        Some(version) if version.major == major => version,
        _ => Version::new(major, 0, 0),
    };
    major(cudnn)
        .map(|major| sub_libraries::needed(version(major), is_jit_only(cudnn)))
        .unwrap_or_default()
}

/// Returns `true` if its sub-libraries are those for `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY`, and no others.
fn is_jit_only(cudnn: &Cudnn) -> bool {
    let parts = cudnn.parts.iter().map(|part| part.name.as_str());
    sub_libraries::is_jit_only(parts.filter(|name| *name != "cudnn"))
}

/// Marks the sub-libraries that a convolution opens.
pub fn mark_needed(cudnn: &mut Cudnn) {
    let needed = needed(cudnn);
    for part in &mut cudnn.parts {
        part.needed = part.name == "cudnn" || needed.contains(&&*part.name);
    }
}

fn folder(cudnn: &Cudnn) -> String {
    // DLLs lie apart from what is linked to.
    let dlls = cudnn.library.as_deref().filter(|library| is_dll(library));
    let dir = dlls.and_then(Path::parent).or(cudnn.link_dir.as_deref());
    dir.unwrap_or(&cudnn.root).display().to_string()
}

fn all_files(cudnn: &Cudnn) -> &'static str {
    match cudnn.library.as_deref().is_some_and(is_dll) {
        true => "cudnn*.dll",
        false => "libcudnn*",
    }
}

fn is_dll(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "dll")
}

/// Returns the name of a file.
pub fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

pub use parts::missing_parts;
use parts::{
    copies, folders, is_mixed, lacking, missing, mixed, not_linked, obstructed, reinstall,
};
