//! Checks for another cuDNN that the program may load instead of the linked one. The build's environment is only an
//! indication of the program's.

use crate::model::{Cudnn, Os};
use crate::runtime::binary::elf::Elf;
use crate::system::files;
use crate::toolkit::dependencies::unmet_dependency;
use crate::{Finding, Version};
use std::path::{Path, PathBuf};

/// A directory of the search path that contains libraries of cuDNN.
#[derive(Clone)]
pub struct ShadowingLibrary {
    pub dir: PathBuf,
    /// `true` for the system's directory.
    pub is_system: bool,
    /// `true` if its libraries are the chosen ones.
    pub own: bool,
    pub main_library: bool,
    /// The files of its sub-libraries.
    pub parts: Vec<String>,
    pub version: Option<Version>,
}

/// A library that the search path replaces or hides.
pub enum PathFault<'a> {
    /// Another cuDNN in LD_LIBRARY_PATH.
    LibraryPath(Shadowed<'a>),
    /// Another cuDNN that precedes it in Windows' search path.
    DllPath(Shadowed<'a>),
    /// A libnvrtc in LD_LIBRARY_PATH that is older than the toolkit: the file with the name that cuDNN opens, its
    /// version, and the version and the library directory of the toolkit.
    OlderNvrtc(&'a Path, Version, Version, Option<&'a Path>),
    /// A CUDA library and its caller, of different versions; a function that the library does not define; and the
    /// directory of LD_LIBRARY_PATH that contains one of the two. `true` if the program is linked to them.
    MixedLibraries([&'a Path; 2], &'a str, &'a Path, bool),
    /// An rpath to a conda environment's cuDNN, which also selects the environment's C++ library for the program.
    CondaRpath { link_dir: &'a Path, cxx: &'a Path },
}

/// The chosen cuDNN, and the one that programs find before it.
pub struct Shadowed<'a> {
    pub rival: &'a ShadowingLibrary,
    /// The chosen cuDNN's library.
    pub library: &'a Path,
    pub version: Option<Version>,
}

/// Returns the finding if LD_LIBRARY_PATH (`first`) selects an incompatible library instead of the one in `dirs`.
pub fn mixed_libraries(
    library: &Path,
    is_linked: bool,
    first: &[PathBuf],
    dirs: &[PathBuf],
) -> Option<Finding> {
    let name = Elf::read(library).ok()?.soname()?;
    let replaces = |dir: &&PathBuf| files::is_file(&dir.join(&name));
    let opened = first.iter().find(replaces).map(|dir| dir.join(&name));
    let unmet = unmet_dependency(opened.as_deref().unwrap_or(library), first, dirs)?;
    let files = [unmet.beside.as_deref()?, &unmet.library];
    let has_one = |dir: &&PathBuf| files.iter().any(|file| file.parent() == Some(dir));
    let dir = first.iter().find(has_one)?;
    let fault = PathFault::MixedLibraries(files, unmet.symbols.first()?, dir, is_linked);
    Some(fault.finding())
}

/// Returns the finding if the search path replaces the chosen cuDNN or its sub-libraries. Directories after the chosen
/// one, and on Linux the system's, are not searched.
pub fn replaced(cudnn: &Cudnn, rivals: &[ShadowingLibrary], os: Os) -> Option<Finding> {
    let own = rivals.iter().position(|rival| rival.own);
    let before = rivals.get(..own.unwrap_or(rivals.len()))?;
    let mut rival = before.iter().find(|rival| rival.main_library);
    if rival.is_none() && (os == Os::Windows || !cudnn.files.own_first) {
        rival = before.iter().find(|rival| !rival.parts.is_empty());
    }
    let rival = rival?;
    let is_same = rival.version.is_some() && rival.version == cudnn.library_version;
    let shadowed = Shadowed {
        rival,
        library: cudnn.library.as_deref().filter(|_| !is_same)?,
        version: cudnn.linked_version(),
    };
    let fault = match os {
        Os::Windows => PathFault::DllPath(shadowed),
        _ => PathFault::LibraryPath(shadowed),
    };
    Some(fault.finding())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::candidate::Files;

    fn cudnn(minor: u32, own_first: bool) -> Cudnn {
        Cudnn {
            library: Some("/opt/nv/lib/libcudnn.so.9".into()),
            library_version: Some(Version::new(9, minor, 0)),
            files: Box::new(Files {
                own_first,
                ..Files::default()
            }),
            ..Cudnn::default()
        }
    }

    fn rival(dir: &str, main_library: bool, version: Option<Version>) -> ShadowingLibrary {
        ShadowingLibrary {
            dir: dir.into(),
            is_system: dir == "/s",
            own: false,
            main_library,
            parts: vec!["libcudnn_graph.so.9".into()],
            version,
        }
    }

    const OLD: Option<Version> = Some(Version::new(9, 1, 0));

    #[test]
    fn up_to_9_20_only_the_sub_libraries_may_be_replaced() {
        let parts = rival("/opt/parts", false, OLD);
        let finding = replaced(&cudnn(14, false), std::slice::from_ref(&parts), Os::Linux).unwrap();
        assert_eq!(
            finding.to_string(),
            "LD_LIBRARY_PATH makes `libcudnn.so.9` of cuDNN 9.14.0 load the sub-libraries of cuDNN 9.1.0 in `/opt/parts`  [library-path-hijack]\n  \
             = help: remove `/opt/parts` from LD_LIBRARY_PATH where the program runs, or add `/opt/nv/lib` before it\n  \
             linked      /opt/nv/lib/libcudnn.so.9\n  \
             loaded      libcudnn_graph.so.9\n  \
             reason      up to cuDNN 9.20, `libcudnn.so.9` searches LD_LIBRARY_PATH for its sub-libraries before its own directory"
        );
        assert_eq!(replaced(&cudnn(28, true), &[parts], Os::Linux), None);
        // The main library may be replaced in every version.
        assert!(replaced(&cudnn(28, true), &[rival("/opt/old", true, OLD)], Os::Linux).is_some());
    }

    fn dlls() -> Cudnn {
        Cudnn {
            root: "/nv/v9.7".into(),
            library: Some("/nv/v9.7/bin/12.8/cudnn64_9.dll".into()),
            ..cudnn(14, false)
        }
    }

    #[test]
    fn on_windows_the_same_version_does_not_matter_but_an_unknown_one_does() {
        let same = rival("/copy", true, Some(Version::new(9, 14, 0)));
        let old = rival("/old", true, OLD);
        assert_eq!(replaced(&dlls(), &[same, old.clone()], Os::Windows), None);
        assert_eq!(replaced(&dlls(), &[], Os::Windows), None);
        let summary = |rival| {
            let rivals = [rival];
            replaced(&dlls(), &rivals, Os::Windows).unwrap().summary
        };
        assert!(summary(old).starts_with("PATH makes the program load cuDNN 9.1.0 from `/old`"));
        assert!(summary(rival("/s", true, None)).starts_with("Windows makes the program"));
    }
}
