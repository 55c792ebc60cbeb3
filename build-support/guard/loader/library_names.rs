//! The names by which a program opens cuDNN.

use crate::runtime::facts::built::{Built, Loader};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::version::Version;
use crate::runtime::judge::rules;
use crate::runtime::loader::file_name;
use crate::runtime::system::by_system;
use std::path::Path;

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
const CUDARC_ASKS_FOR_9: Version = Version::new(0, 19, 2);

/// The name that cudarc asks for first, in all directories before it asks for another.
const FIRST: &str = by_system!("libcudnn.so", "cudnn.dll");
/// The words for giving a library another name. On Windows a link takes rights that few have.
const RENAMED: [&str; 2] = by_system!(["link", "to"], ["copy", "of"]);

/// Returns the words for the cuDNN to install in place of this file, which is taken because of its name.
pub fn wanted_for(taken: &Path, wanted: &str) -> String {
    match taken.file_name() {
        Some(name) if name == FIRST => format!("{wanted} with a `{FIRST}`"),
        _ => wanted.to_string(),
    }
}

/// The help where this cuDNN, which fits, comes first, and cudarc takes a later one by the name that it asks for first.
pub fn hidden_help(built: &Built, finding: Finding, hidden: &Path, otherwise: &str) -> Finding {
    let dir = hidden.parent().unwrap_or(hidden).display();
    let name = hidden.file_name().unwrap_or_default().to_string_lossy();
    let finding = finding.help(format!(
        "put a {} `{}` {} `{}` into `{}`: cudarc asks for that name everywhere before it asks for another",
        RENAMED[0], FIRST, RENAMED[1], name, dir
    ));
    if opened_names(built).iter().any(|asked| *asked == name) {
        return finding.help(format!("or {otherwise}"));
    }
    finding
}

/// Adds the help for a cuDNN in this directory whose name this cudarc does not ask for.
pub fn by_another_name(finding: Finding, major: u32, dir: &str) -> Finding {
    let habit = by_system!(", as the -dev packages have it", "");
    let link = format!(
        "put a {} `{}` {} it into `{}`{}",
        RENAMED[0], FIRST, RENAMED[1], dir, habit
    );
    if major != 9 {
        return finding.help(link);
    }
    let newer = format!(
        "build the program with cudarc {} or later, which asks for {} too",
        CUDARC_ASKS_FOR_9,
        file_name::of_main(9)
    );
    finding.help(newer).help(format!("or {link}"))
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
