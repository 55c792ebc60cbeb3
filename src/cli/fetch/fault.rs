//! The reasons why `fetch` fails, with the help for each.

use crate::Finding;
use crate::runtime::facts::quoted;
use crate::system::files::FileFault;
use std::fmt::Display;
use std::path::Path;

/// A reason why `fetch` fails, in one sentence.
pub struct FetchFault(pub String);

const UV: &str = "install uv (https://docs.astral.sh/uv/), which needs no root";

/// Returns a conversion of I/O errors.
pub fn io(verb: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Finding {
    move |error| FileFault::Failed(verb, path, &error).finding()
}

/// Like [`io`], for the directory to fetch into.
pub fn home(verb: &'static str, home: &Path) -> impl Fn(std::io::Error) -> Finding {
    move |error| {
        let finding = io(verb, home)(error);
        finding.help("pass a directory that you can create or write to: `--to DIR`")
    }
}

pub fn no_home() -> Finding {
    failed("neither CUDNN_GUARD_HOME nor HOME is set").help("pass a directory with `--to DIR`")
}

/// A file or link is in the directory that `fetch` did not create.
pub fn foreign(path: &Path) -> Finding {
    let path = path.display();
    failed(format!(
        "`{path}` was not created by cudnn-guard, so `fetch` does not change its directory"
    ))
    .help("fetch into a new or empty directory with `--to DIR`")
}

pub fn nothing_to_check(home: &Path) -> Finding {
    let shown = quoted(&home.to_string_lossy());
    failed(format!(
        "cudnn-guard has installed nothing in `{}`",
        home.display()
    ))
    .help(format!("run `cudnn-guard fetch --to {shown}`"))
    .help("pass the directory that you fetched into with `--to DIR`")
}

/// The differences of files, of which five are named.
pub fn damaged(home: &Path, files: &[String]) -> Finding {
    let more = files.len().saturating_sub(5);
    let more = (more > 0).then(|| format!("and {more} more"));
    let shown = quoted(&home.to_string_lossy());
    failed(format!(
        "the files in `{}` differ from what was fetched",
        home.display()
    ))
    .help(format!(
        "run `cudnn-guard fetch --to {shown}` to fetch them again"
    ))
    .help("add `--lock FILE` if a lock file named their versions")
    .with_lines("damaged", files.iter().take(5).chain(&more))
}

pub fn incomplete_download(why: &str) -> Finding {
    failed(format!("the download is incomplete: {why}")).help("run the same command again")
}

pub fn versions_named_twice() -> Finding {
    failed("the `--lock` file already specifies the versions")
        .help("omit --cuda, --cudnn and --with, or remove the lock file")
}

pub fn not_locked(path: &Path) -> Finding {
    let (shown, path) = (path.display(), quoted(&path.to_string_lossy()));
    failed(format!(
        "the lock file `{shown}` does not consist of NVIDIA wheels with SHA-256 hashes, with a toolkit and a cuDNN"
    ))
    .help(format!(
        "remove the file, and run `cudnn-guard fetch --lock {path}` to create it again"
    ))
}

/// `fetch` would refuse its directory from then on.
pub fn lock_in_home(file: &Path) -> Finding {
    let file = file.display();
    failed(format!(
        "the lock file `{file}` would be among the fetched files"
    ))
    .help("create it in another directory, such as that of the crate")
}

pub fn no_installer() -> Finding {
    let pip = match cfg!(windows) {
        true => "install Python 3 with pip: `winget install Python.Python.3.13`",
        false => "install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`",
    };
    failed("neither uv nor a Python with pip is on PATH")
        .help(UV)
        .help(pip)
}

pub fn no_uv() -> Finding {
    failed("only uv can create a lock file, and it is not on PATH").help(UV)
}

/// The command of an installer that has shown its reason, and its status.
pub fn install_failed(command: &str, status: &dyn Display) -> Finding {
    failed("failed to install NVIDIA's wheels")
        .help("run `cudnn-guard explain fetch-failed` for a list of causes")
        .with("command", command)
        .with("output", format!("see above; {status}"))
}

/// uv has selected something else than wheels of NVIDIA with hashes.
pub fn unknown_wheels(command: &str, output: &str) -> Finding {
    failed("uv selected a wheel that this cudnn-guard does not know")
        .help("run `cudnn-guard fetch` without `--lock`")
        .with("command", command)
        .with("output", output)
}

/// A file of cargo that cannot be extended.
pub fn by_hand(path: &Path) -> Finding {
    let path = path.display();
    failed(format!(
        "cannot extend `{path}`: it names one of these variables, is not TOML, or replaces config.toml"
    ))
    .help(format!("add the lines above to `{path}` by hand"))
}

fn failed(summary: impl Into<String>) -> Finding {
    FetchFault(summary.into()).finding()
}
