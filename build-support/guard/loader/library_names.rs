//! The names by which a program opens cuDNN.

use crate::runtime::facts::built::{Built, Loader};
use crate::runtime::facts::version::Version;
use crate::runtime::judge::rules;
use crate::runtime::loader::file_name;
use crate::runtime::system::by_system;
use std::path::PathBuf;

/// In the order in which they are tried.
pub fn opened_names(built: &Built) -> Vec<String> {
    if built.loader == Loader::Cudarc {
        return of_cudarc(built.cudarc, built.cuda);
    }
    let names: Vec<_> = rules::majors(built)
        .iter()
        .map(|major| file_name::of_main(*major))
        .collect();
    names
}

/// The first cudarc that asks for `libcudnn.so.9`. For those before it there is `libcudnn.so` or nothing: their other
/// names are of no cuDNN that ever was.
pub const CUDARC_ASKS_FOR_9: Version = Version::new(0, 19, 2);

/// The name that cudarc asks for first, in all directories before it asks for another.
pub const FIRST: &str = by_system!("libcudnn.so", "cudnn.dll");

/// A compatible cuDNN that comes first, while cudarc takes another one by the name that it asks for first.
pub struct HiddenCudnn {
    /// Its main library.
    pub path: PathBuf,
    /// Whether cudarc asks for its name at all.
    pub is_asked: bool,
}

impl HiddenCudnn {
    /// Creates it.
    pub fn new(built: &Built, path: PathBuf) -> Self {
        let names = opened_names(built);
        Self {
            is_asked: names
                .iter()
                .any(|asked| path.file_name() == Some(asked.as_ref())),
            path,
        }
    }
}

/// Those of the crate cudarc, in its order; a test holds them against its own. An unknown release has those of the
/// newest. Some have the release of CUDA in them for which cudarc is compiled, which is taken to be that of the build.
/// (Two names of no cuDNN are later than others: cudarc 0.13 is the first with `libcudnn.so.1`, 0.18.2 with
/// `libcudnn64_11.so`.)
pub fn of_cudarc(cudarc: Option<Version>, cuda: Option<Version>) -> Vec<String> {
    let newer = cudarc.is_none_or(|cudarc| cudarc >= CUDARC_ASKS_FOR_9);
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
