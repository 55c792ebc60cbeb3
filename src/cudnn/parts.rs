//! The libraries that one cuDNN is made of, opened.

use crate::cudnn::build_ids;
use crate::cudnn::real_major;
use crate::model::candidate::{Copies, Cudnn, Part};
use crate::model::obstacle::Obstacle;
use crate::model::platform::Platform;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::sub_libraries::{self, SubLibrary};
use crate::runtime::facts::version::Version;
use crate::runtime::parts::release::{PartFile, VersionDetector};
use crate::system::files;
use crate::system::library_file::Binary;
use crate::system::sysroot::Sysroot;
use std::path::{Path, PathBuf};

/// The first library and its parts, each by its name: `cudnn`, `graph`, ...
pub type Named = Vec<(String, PathBuf)>;

/// The libraries of one cuDNN, opened and read.
pub struct Parts {
    /// Each with the release that it tells.
    pub parts: Vec<Part>,
    /// What is no library for this system: the part's name, its file, and why.
    pub flaws: Vec<(String, PathBuf, Defect)>,
    /// Where the files really lie.
    pub folders: Vec<PathBuf>,
    binaries: Vec<Option<Binary>>,
}

impl Parts {
    /// Opens these files.
    pub fn open(named: Named, sysroot: Sysroot, platform: &Platform) -> Self {
        let open = |(_, path): &(String, PathBuf)| Binary::open(path, platform.os);
        let binaries: Vec<Result<Binary, Defect>> = named.iter().map(open).collect();
        let files: Vec<PathBuf> = named
            .iter()
            .map(|(_, path)| sysroot.canonical(path))
            .collect();
        let all = || named.iter().zip(&files).zip(&binaries);
        let files = all().map(|(((name, _), path), binary)| {
            let binary = binary.as_ref().ok();
            let inside = binary.and_then(|binary| binary.release(name));
            let id = binary
                .filter(|_| inside.is_none())
                .and_then(Binary::build_id);
            PartFile {
                path,
                length: binary.map_or(0, Binary::length),
                inside,
                builds: id.map_or_else(Vec::new, |id| build_ids::releases(&id)),
            }
        });
        let files: Vec<PartFile> = files.collect();
        let certain = |dir: &Path| {
            let beside = files.iter().filter(|file| file.path.parent() == Some(dir));
            beside.filter_map(|file| Some(file.inside?.0)).collect()
        };
        let mut detector = VersionDetector::new(&certain);
        let releases: Vec<_> = files.iter().map(|file| detector.release(file)).collect();
        let (mut folders, mut flaws) = (Vec::new(), Vec::new());
        for (((name, path), real), binary) in all() {
            folders.extend(real.parent().map(Path::to_path_buf));
            let flaw = match binary {
                Ok(binary) => binary.defect(path, platform),
                Err(defect) => Some(defect.clone()),
            };
            flaws.extend(flaw.map(|flaw| (name.clone(), path.clone(), flaw)));
        }
        let parts = named.into_iter().zip(releases);
        let parts = parts.map(|((name, path), told)| {
            let (version, told_by) = told.unzip();
            Part {
                name,
                path,
                version,
                told_by,
            }
        });
        Self {
            parts: parts.collect(),
            flaws,
            folders: files::dedup(folders.into_iter()),
            binaries: binaries.into_iter().map(Result::ok).collect(),
        }
    }

    /// The release of the whole. The first library of 9.x gives graph's release as its own, that of 8.x ops_infer's.
    /// A DLL has a version resource of its own.
    pub fn release(&self) -> Option<Version> {
        let told = |names: &[&str]| {
            let mut parts = self.parts.iter();
            parts.find_map(|part| names.contains(&&*part.name).then_some(part.version)?)
        };
        let is_dll = |part: &Part| part.path.extension().is_some_and(|one| one == "dll");
        let mut parts = self.parts.iter();
        let main = parts.find(|part| part.name == "cudnn" && is_dll(part));
        let names = |is_one: fn(&SubLibrary) -> bool| {
            let known = sub_libraries::ALL.iter().filter(|one| is_one(one));
            known.map(|one| one.name).collect::<Vec<_>>()
        };
        let mut others = names(|one| one.version_check.is_some());
        others.push("cudnn");
        main.and_then(|part| part.version)
            .or_else(|| told(&names(|one| one.tells_release)))
            .or_else(|| told(&others))
    }

    /// This cuDNN, with what its parts tell.
    pub fn describe(self, mut cudnn: Cudnn) -> Cudnn {
        cudnn.library_version = self.release();
        cudnn.cuda_major = cudnn.cuda_major.or_else(|| self.cuda_major());
        cudnn.files.flaws = self.flaws;
        cudnn.parts = self.parts;
        cudnn
    }

    /// The CUDA major that the parts were built for.
    pub fn cuda_major(&self) -> Option<u32> {
        let mut known = sub_libraries::ALL.iter().rev();
        known.find_map(|one| {
            one.version_symbol?;
            self.binary(one.name)?.cuda_major()
        })
    }

    /// This part, if it could be opened.
    pub fn binary(&self, name: &str) -> Option<&Binary> {
        let place = self.parts.iter().position(|part| part.name == name)?;
        self.binaries.get(place)?.as_ref()
    }
}

/// The first library with the parts beside it. The second list has every file that is no link, for `copies`; the third
/// has what lies in the place of a part and cannot be used.
pub fn beside(
    library: &Path,
    sysroot: Sysroot,
    platform: &Platform,
) -> (Named, Named, Vec<(String, Obstacle)>) {
    let major = LibraryName::of(library).and_then(|file| file.major());
    let mut found: Named = vec![("cudnn".into(), library.to_path_buf())];
    let mut whole = Named::new();
    let mut closed = Vec::new();
    let dir = library.parent().unwrap_or(library);
    for path in &files::list_named(dir, &|name| name.contains("cudnn")).unwrap_or_default() {
        let Some((name, file)) = platform.cudnn_part(path) else {
            continue;
        };
        // Of several files for one part, the one that the program asks the loader for.
        let exact = major.is_some_and(|major| file.numbers == [major]);
        let own = file.major().or_else(|| real_major(path, sysroot));
        if major.is_some() && own.is_some() && own != major {
            continue; // another cuDNN in the same directory
        }
        let is_link = files::is_link(path);
        let Some(path) = sysroot.file(path) else {
            let file_name = path.file_name().unwrap_or_default().to_string_lossy();
            closed.extend(
                sysroot
                    .obstacle(path)
                    .map(|met| (file_name.into_owned(), met)),
            );
            continue;
        };
        if !is_link {
            whole.push((name.to_string(), path.clone()));
        }
        match found.iter_mut().find(|(known, _)| *known == name) {
            None => found.push((name.to_string(), path)),
            Some(known) if exact && name != "cudnn" => known.1 = path,
            Some(_) => {}
        }
    }
    (found, whole, closed)
}

/// The files of each part that has more than one whole file of one build, where there should be one and links to it; and
/// those of which the one that programs open is of another build than the rest.
pub fn copies(whole: Named, platform: &Platform) -> Vec<Copies> {
    let mut parts: Vec<(String, Vec<PathBuf>)> = Vec::new();
    for (name, path) in whole {
        match parts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, files)) => files.push(path),
            None => parts.push((name, vec![path])),
        }
    }
    // A script for the linker is none.
    let is_library =
        |path: &PathBuf| Binary::open(path, platform.os).is_ok_and(|one| one.cpu().is_some());
    parts.retain(|(_, files)| files.len() > 1);
    parts
        .iter_mut()
        .for_each(|(_, files)| files.retain(is_library));
    let build = |path: &PathBuf| {
        let library = Binary::open(path, platform.os).ok();
        (files::size(path), library.and_then(|one| one.build_id()))
    };
    let is_opened = |path: &Path| {
        let numbers = LibraryName::of(path).map(|name| name.numbers.len());
        numbers == Some(1)
    };
    let mut copies = Vec::new();
    for (_, files) in parts {
        let builds: Vec<_> = files.iter().map(build).collect();
        let both = || files.iter().zip(&builds);
        let opened = both().find(|(file, _)| is_opened(file));
        let stale = |(_, opened)| builds.iter().any(|one| one != opened);
        if opened.is_some_and(stale) {
            let differ = true;
            copies.push(Copies { files, differ });
            continue;
        }
        // Other releases may lie there, which nobody opens.
        let mut seen = Vec::new();
        for of in &builds {
            let same = both().filter(|(_, build)| *build == of);
            let files: Vec<PathBuf> = same.map(|(file, _)| file.clone()).collect();
            if files.len() > 1 && !seen.contains(&of) {
                let differ = false;
                copies.push(Copies { files, differ });
            }
            seen.push(of);
        }
    }
    copies
}
