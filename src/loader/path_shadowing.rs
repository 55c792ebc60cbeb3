//! Whether the program will meet another cuDNN than the one that it is linked to. The environment of the build is
//! evidence of that of the program, no more.

use crate::model::candidate::{Cudnn, Toolkit};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
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

/// Says which cuDNN will be loaded in place of the chosen one, or which parts in place of its own.
pub fn library_path(cudnn: &Cudnn, rivals: &[ShadowingLibrary]) -> Option<Finding> {
    let rival = first_rival(cudnn, rivals, !cudnn.files.own_first)?;
    let reason = if rival.main_library {
        "the loader searches LD_LIBRARY_PATH before the RUNPATH that linkers write today, and before the system's \
         directories"
    } else {
        "up to cuDNN 9.20 the first library looks for the others in LD_LIBRARY_PATH before it looks beside itself"
    };
    let help = format!(
        "take `{}` out of LD_LIBRARY_PATH where the program runs, or put `{}` before it",
        rival.dir.display(),
        folder(cudnn.library.as_deref()?)
    );
    let finding = rival.finding(cudnn, "LD_LIBRARY_PATH")?;
    Some(finding.with("reason", reason).help(help))
}

/// The one that is loaded in place of the chosen cuDNN, or whose parts are, where those count. What comes behind the
/// chosen directory, or in the system, is not reached.
fn first_rival<'a>(
    cudnn: &Cudnn,
    rivals: &'a [ShadowingLibrary],
    parts_count: bool,
) -> Option<&'a ShadowingLibrary> {
    let before = || rivals.iter().take_while(|rival| !rival.own);
    let whole = before().find(|rival| rival.main_library);
    let rival = whole.or_else(|| before().find(|rival| parts_count && !rival.parts.is_empty()))?;
    let is_same = rival.version.is_some() && rival.version == cudnn.library_version;
    (!is_same).then_some(rival)
}

impl ShadowingLibrary {
    /// That a variable leads the program to it.
    fn finding(&self, cudnn: &Cudnn, variable: &str) -> Option<Finding> {
        let library = cudnn.library.as_deref()?;
        let file = library.file_name()?.to_str()?;
        let dir = self.dir.display();
        let (theirs, ours) = (release(self.version), release(cudnn.linked_version()));
        let (summary, first) = if self.main_library {
            let summary = format!(
                "{variable} leads the program to the cuDNN {theirs} in `{dir}`, and the program is linked to {ours}"
            );
            (summary, self.dir.join(file).display().to_string())
        } else {
            let summary = format!(
                "{variable} gives `{file}` the parts {theirs} in `{dir}`, and it is {ours} itself"
            );
            (summary, self.parts.join("\n"))
        };
        let finding = Finding::warning(FindingId::LibraryPathHijack, summary);
        Some(
            finding
                .with("linked", library.display())
                .with("first", first),
        )
    }
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
    let dir = folder(&first.file);
    let summary = format!(
        "LD_LIBRARY_PATH leads cuDNN to the libnvrtc {} in `{dir}`, and the toolkit is CUDA {}",
        first.release.short(),
        cuda.short()
    );
    let finding = Finding::warning(FindingId::LibraryPathHijack, summary)
        .with("first", first.file.display())
        .with(
            "reason",
            "cuDNN compiles a part of its code when the program runs, and an older libnvrtc knows no GPU that came after it",
        );
    let before = toolkit.link_dirs.first();
    let before = before.map(|own| format!(", or put `{}` before it", own.display()));
    Some(finding.help(format!(
        "take `{dir}` out of LD_LIBRARY_PATH where the program runs{}",
        before.unwrap_or_default()
    )))
}

/// [`library_path`] for Windows, which searches its own directory, `system`, and then PATH.
pub fn dll_path(
    cudnn: &Cudnn,
    rivals: &[ShadowingLibrary],
    system: Option<&Path>,
) -> Option<Finding> {
    let rival = first_rival(cudnn, rivals, true)?;
    let (dir, linked) = (rival.dir.display(), folder(cudnn.library.as_deref()?));
    let by_system = system == Some(&*rival.dir);
    let remedy = if by_system {
        format!("delete the files `cudnn*.dll` from `{dir}`")
    } else {
        format!("put `{linked}` before `{dir}` in PATH where the program runs")
    };
    let finding = rival.finding(cudnn, if by_system { "Windows" } else { "PATH" })?;
    Some(
        finding
            .with("reason", "Windows looks for each DLL beside the program, then in its system directory, then along PATH")
            .help(remedy)
            .help(format!("or copy all DLLs of `{linked}` beside the program")),
    )
}

/// NVIDIA's installer puts `bin` on PATH, and the DLLs lie in a directory of their CUDA below it. `dirs` are those of
/// PATH, in none of which the library is found.
pub fn below_path(cudnn: &Cudnn, dirs: &[PathBuf]) -> Option<Finding> {
    let library = cudnn.library.as_deref()?;
    let (file, own) = (library.file_name()?.to_str()?, library.parent()?);
    let above = |dir: &&PathBuf| own.starts_with(dir) && dir.starts_with(&cudnn.root);
    let dir = dirs.iter().find(above)?.display();
    let own = own.display();
    let summary = format!(
        "PATH has `{dir}`, and `{file}` lies below it in `{own}`, where Windows does not look"
    );
    Some(
        Finding::warning(FindingId::CudnnNotLoadable, summary)
            .with("library", library.display())
            .help(format!("add `{own}` to PATH where the program runs"))
            .help("or copy all DLLs from there beside the program"),
    )
}

/// An rpath serves all libraries of a directory: in a conda environment also the C++ library, for the whole program.
pub fn conda_rpath(link_dir: &Path, cxx: &Path) -> Finding {
    let summary = format!(
        "the rpath to `{}` also gives the program the C++ library of that conda environment",
        link_dir.display()
    );
    Finding::warning(FindingId::LibraryPathHijack, summary)
        .with("beside", cxx.display())
        .help("build with the environment's own compilers: `conda install cxx-compiler`")
        .help("or call `.rpath(false)` in build.rs, and set LD_LIBRARY_PATH where the program runs")
}

fn release(version: Option<Version>) -> String {
    version.map_or_else(
        || "of unknown release".into(),
        |version| version.to_string(),
    )
}

fn folder(library: &Path) -> String {
    library.parent().unwrap_or(library).display().to_string()
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
