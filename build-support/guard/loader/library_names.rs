//! The names by which a program opens cuDNN.

use crate::runtime::facts::built::{Built, Loader};
use crate::runtime::facts::version::Version;
use crate::runtime::judge::rules;
use crate::runtime::loader::file_name;
use crate::runtime::system::by_system;
use std::path::PathBuf;

/// Returns the names in the order in which they are tried.
pub fn opened_names(built: &Built) -> Vec<String> {
    if built.loader == Loader::Cudarc {
        return of_cudarc(built.cudarc, built.cuda);
    }
    let majors = rules::majors(built).into_iter();
    majors.map(file_name::of_main).collect()
}

/// The first cudarc that tries `libcudnn.so.9`. Earlier versions only find `libcudnn.so`: their other names belong to
/// no cuDNN.
pub const FIRST_CUDARC_WITH_9: Version = Version::new(0, 19, 2);

/// The name that cudarc tries first, in all directories before it tries another.
pub const FIRST: &str = by_system!("libcudnn.so", "cudnn.dll");

/// A compatible cuDNN that is first on the search path, while cudarc uses another cuDNN by the name that it tries
/// first.
pub struct HiddenCudnn {
    /// Its main library.
    pub path: PathBuf,
    /// `true` if cudarc tries its name at all.
    pub is_tried: bool,
}

impl HiddenCudnn {
    pub fn new(built: &Built, path: PathBuf) -> Self {
        let names = opened_names(built);
        let is_it = |name: &String| path.file_name() == Some(name.as_ref());
        Self {
            is_tried: names.iter().any(is_it),
            path,
        }
    }
}

/// Returns the names that the crate cudarc tries, in its order; a test compares them with cudarc's own. An unknown
/// version counts as the newest. Some names contain the CUDA version for which cudarc is compiled, which is assumed to
/// be that of the build. (Two names of no cuDNN are newer than others: `libcudnn.so.1` since cudarc 0.13,
/// `libcudnn64_11.so` since 0.18.2.)
pub fn of_cudarc(cudarc: Option<Version>, cuda: Option<Version>) -> Vec<String> {
    let newer = cudarc.is_none_or(|cudarc| cudarc >= FIRST_CUDARC_WITH_9);
    let mut names = vec!["libcudnn.so".to_string(), "libcudnn64.so".to_string()];
    let with = |names: &mut Vec<String>, end: &str| names.push(format!("libcudnn64_{end}.so"));
    if let Some(Version { major, minor, .. }) = cuda {
        with(&mut names, &format!("{major}"));
        with(&mut names, &format!("{major}{minor}"));
        with(&mut names, &format!("{major}{minor}_0"));
        with(&mut names, &format!("{major}0_{minor}"));
    }
    with(&mut names, "10");
    with(&mut names, "11");
    if newer {
        with(&mut names, "12");
    }
    if let Some(Version { major, .. }) = cuda {
        with(&mut names, &format!("{major}0_0"));
    }
    with(&mut names, "9");
    if let Some(Version { major, .. }) = cuda {
        names.push(format!("libcudnn.so.{major}"));
    }
    let ends: &[u32] = if newer {
        &[12, 11, 10, 9, 1]
    } else {
        &[11, 10, 1]
    };
    for end in ends {
        names.push(format!("libcudnn.so.{end}"));
    }
    if cfg!(windows) {
        for name in &mut names {
            *name = name.replacen("lib", "", 1).replacen(".so", ".dll", 1);
        }
    }
    names
}
