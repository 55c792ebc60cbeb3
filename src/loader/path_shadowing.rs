//! Whether the program will meet another cuDNN than the one that it is linked to. The environment of the build is
//! evidence of that of the program, no more.

use crate::model::candidate::{Cudnn, Toolkit};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::version::Version;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use std::path::{Path, PathBuf};

/// A directory of LD_LIBRARY_PATH that holds libraries of cuDNN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowingLibrary {
    /// The directory.
    pub dir: PathBuf,
    /// Whether its libraries are the chosen ones.
    pub own: bool,
    /// Whether the library that programs open is there.
    pub main_library: bool,
    /// The files of parts that are there.
    pub parts: Vec<String>,
    /// Their release.
    pub version: Option<Version>,
}

/// A library that is loaded in place of another one, or may be missing, because of where programs search.
pub enum PathFault<'a> {
    /// LD_LIBRARY_PATH leads to another cuDNN.
    LibraryPath(Shadowed<'a>),
    /// Windows comes to another cuDNN first.
    DllPath {
        /// Both.
        shadowed: Shadowed<'a>,
        /// Whether the other one is in Windows' own directory; else it is along PATH.
        by_system: bool,
    },
    /// LD_LIBRARY_PATH leads to a libnvrtc that is older than the toolkit.
    OlderNvrtc {
        /// That libnvrtc.
        first: &'a Nvrtc,
        /// The toolkit's release.
        cuda: Version,
        /// The toolkit's directory of libraries.
        dir: Option<&'a Path>,
    },
    /// The cuDNN is below a directory of PATH.
    BelowPath {
        /// Its library.
        library: &'a Path,
        /// The directory.
        dir: &'a Path,
    },
    /// The rpath to a conda environment's cuDNN also leads to the environment's C++ library.
    CondaRpath {
        /// The directory of the rpath.
        link_dir: &'a Path,
        /// The C++ library.
        cxx: &'a Path,
    },
}

/// The chosen cuDNN, and the one that programs come to before it.
pub struct Shadowed<'a> {
    /// The other one.
    pub rival: &'a ShadowingLibrary,
    /// The chosen one's library.
    pub library: &'a Path,
    /// Its release.
    pub version: Option<Version>,
}

/// Says which cuDNN will be loaded in place of the chosen one, or which parts in place of its own.
pub fn library_path(cudnn: &Cudnn, rivals: &[ShadowingLibrary]) -> Option<Finding> {
    let shadowed = shadowed(cudnn, rivals, !cudnn.files.own_first)?;
    Some(PathFault::LibraryPath(shadowed).finding())
}

/// The one that is loaded in place of the chosen cuDNN, or whose parts are, where those count. What comes behind the
/// chosen directory, or in the system, is not reached.
fn shadowed<'a>(
    cudnn: &'a Cudnn,
    rivals: &'a [ShadowingLibrary],
    parts_count: bool,
) -> Option<Shadowed<'a>> {
    let before = || rivals.iter().take_while(|rival| !rival.own);
    let whole = before().find(|rival| rival.main_library);
    let rival = whole.or_else(|| before().find(|rival| parts_count && !rival.parts.is_empty()))?;
    let is_same = rival.version.is_some() && rival.version == cudnn.library_version;
    let library = cudnn.library.as_deref().filter(|_| !is_same)?;
    let version = cudnn.linked_version();
    Some(Shadowed {
        rival,
        library,
        version,
    })
}

/// The libnvrtc that stands first in LD_LIBRARY_PATH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvrtc {
    /// Its file, by the name that cuDNN opens.
    pub file: PathBuf,
    /// Its release.
    pub release: Version,
}

/// Says that cuDNN will compile with a libnvrtc that is older than the toolkit. A newer one compiles all that an older
/// one does.
pub fn nvrtc(cudnn: &Cudnn, toolkit: &Toolkit, first: &Nvrtc) -> Option<Finding> {
    let cuda = toolkit.version?;
    let compiles = |part: &SubLibraryFile| part.name == "engines_runtime_compiled";
    // From cuDNN 9 on a part of its own compiles, and may have been left out.
    let left_out = cudnn.version()?.major >= 9 && !cudnn.parts.iter().any(compiles);
    if left_out || first.release.major != cuda.major || first.release.minor >= cuda.minor {
        return None;
    }
    let dir = toolkit.link_dirs.first().map(PathBuf::as_path);
    Some(PathFault::OlderNvrtc { first, cuda, dir }.finding())
}

/// [`library_path`] for Windows, which searches its own directory, `system`, and then PATH.
pub fn dll_path(
    cudnn: &Cudnn,
    rivals: &[ShadowingLibrary],
    system: Option<&Path>,
) -> Option<Finding> {
    let shadowed = shadowed(cudnn, rivals, true)?;
    let by_system = system == Some(&*shadowed.rival.dir);
    let fault = PathFault::DllPath {
        shadowed,
        by_system,
    };
    Some(fault.finding())
}

/// NVIDIA's installer puts `bin` on PATH, and the DLLs lie in a directory of their CUDA below it. `dirs` are those of
/// PATH, in none of which the library is found.
pub fn below_path(cudnn: &Cudnn, dirs: &[PathBuf]) -> Option<Finding> {
    let library = cudnn.library.as_deref()?;
    let own = library.parent()?;
    let above = |dir: &&PathBuf| own.starts_with(dir) && dir.starts_with(&cudnn.root);
    let dir = dirs.iter().find(above)?;
    Some(PathFault::BelowPath { library, dir }.finding())
}

/// An rpath serves all libraries of a directory: in a conda environment also the C++ library, for the whole program.
pub fn conda_rpath(link_dir: &Path, cxx: &Path) -> Finding {
    PathFault::CondaRpath { link_dir, cxx }.finding()
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
            own: false,
            main_library,
            parts: vec!["libcudnn_graph.so.9".into()],
            version,
        }
    }

    fn own() -> ShadowingLibrary {
        ShadowingLibrary {
            own: true,
            ..rival("/opt/nv/lib", true, Some(Version::new(9, 14, 0)))
        }
    }

    const OLD: Option<Version> = Some(Version::new(9, 1, 0));

    #[test]
    fn another_cudnn_on_the_way_is_named() {
        let said = library_path(&cudnn(14, false), &[rival("/opt/old", true, OLD)]).unwrap();
        assert_eq!(
            said.to_string(),
            "LD_LIBRARY_PATH leads the program to the cuDNN 9.1.0 in `/opt/old`, and the program is linked to 9.14.0  [library-path-hijack]\n  \
             = help: take `/opt/old` out of LD_LIBRARY_PATH where the program runs, or put `/opt/nv/lib` before it\n  \
             linked      /opt/nv/lib/libcudnn.so.9\n  \
             first       /opt/old/libcudnn.so.9\n  \
             reason      the loader searches LD_LIBRARY_PATH before the RUNPATH that linkers write today, and before the system's directories"
        );
        let unknown = library_path(&cudnn(14, false), &[rival("/opt/old", true, None)]).unwrap();
        assert!(unknown.summary.contains("cuDNN of unknown release in"));
        // The first library is found as it should be; from 9.22 its parts are as well.
        assert!(library_path(&cudnn(28, true), &[rival("/opt/old", true, OLD)]).is_some());
    }

    #[test]
    fn up_to_9_20_the_parts_alone_may_come_from_elsewhere() {
        let parts = rival("/opt/parts", false, OLD);
        let said = library_path(&cudnn(14, false), std::slice::from_ref(&parts)).unwrap();
        assert_eq!(
            said.to_string(),
            "LD_LIBRARY_PATH gives `libcudnn.so.9` the parts 9.1.0 in `/opt/parts`, and it is 9.14.0 itself  [library-path-hijack]\n  \
             = help: take `/opt/parts` out of LD_LIBRARY_PATH where the program runs, or put `/opt/nv/lib` before it\n  \
             linked      /opt/nv/lib/libcudnn.so.9\n  \
             first       libcudnn_graph.so.9\n  \
             reason      up to cuDNN 9.20 the first library looks for the others in LD_LIBRARY_PATH before it looks beside itself"
        );
        assert_eq!(library_path(&cudnn(28, true), &[parts]), None);
    }

    #[test]
    fn what_is_not_reached_or_is_the_same_does_not_matter() {
        let (mine, other) = (own(), rival("/opt/old", true, OLD));
        assert_eq!(library_path(&cudnn(14, false), &[mine, other]), None);
        let same = rival("/opt/copy", true, Some(Version::new(9, 14, 0)));
        assert_eq!(library_path(&cudnn(14, false), &[same]), None);
        assert_eq!(library_path(&cudnn(14, false), &[]), None);
    }

    fn dlls() -> Cudnn {
        Cudnn {
            root: "/nv/v9.7".into(),
            library: Some("/nv/v9.7/bin/12.8/cudnn64_9.dll".into()),
            ..cudnn(14, false)
        }
    }

    /// LOD-14
    #[test]
    fn on_windows_the_same_release_does_not_matter_and_an_unknown_one_does() {
        let same = rival("/copy", true, Some(Version::new(9, 14, 0)));
        let old = rival("/old", true, OLD);
        assert_eq!(dll_path(&dlls(), &[same, old.clone()], None), None);
        assert_eq!(dll_path(&dlls(), &[], None), None);
        let summary = |rival| {
            let rivals = [rival];
            dll_path(&dlls(), &rivals, Some(Path::new("/s")))
                .unwrap()
                .summary
        };
        assert!(summary(old).starts_with("PATH leads the program to the cuDNN 9.1.0 in `/old`"));
        assert!(summary(rival("/s", true, None)).starts_with("Windows leads the program"));
    }

    /// LOD-15
    #[test]
    fn a_directory_of_path_is_too_high_only_within_the_same_cudnn() {
        let below = |dir: &str| below_path(&dlls(), &[dir.into()]).is_some();
        assert!(below("/nv/v9.7/bin") && below("/nv/v9.7"));
        assert!(!below("/nv") && !below("/nv/v9.6/bin") && !below("/nv/v9.7/lib"));
    }
}
