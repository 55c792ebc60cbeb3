//! The reasons why `fetch` fails, with the help for each.

use crate::Finding;
use crate::cli::fetch::cargo_config::Refused;
use crate::model::text::joined;
use crate::runtime::facts::finding::quoted;
use crate::runtime::facts::majors;
use crate::system::files::FileFault;
use crate::toolkit::package_names::FETCHED_ON_REQUEST;
use std::path::Path;
use std::process::ExitStatus;

/// A reason why `fetch` fails, in one sentence.
pub enum FetchFault {
    Failed(String),
    /// Versions or libraries that the user or the crate named.
    InvalidChoice(String),
}

/// The number of damaged files that are named.
const NAMED: usize = 5;

/// A cause of a failed installation: words in the output of uv or pip, the headline, and the help.
const CAUSES: [(&[&str], &str, &str); 6] = [
    (
        &["No space left on device", "os error 28"],
        "the disk is full",
        "free a few gigabytes, or pass a directory on another disk with `--to DIR`",
    ),
    (
        &["DO NOT MATCH THE HASHES", "Hash mismatch"],
        "a wheel does not have its hash",
        "ask the operator of the package index: the file is not the one that was published or locked",
    ),
    (
        &[
            "establish a new connection",
            "name resolution",
            "dns error",
            "error sending request",
            "timed out",
        ],
        "cannot reach the package index",
        "connect to the network; behind a proxy, set HTTPS_PROXY; for a mirror, set PIP_INDEX_URL or UV_INDEX_URL",
    ),
    (
        &["Permission denied", "os error 13"],
        "no permission to write a file",
        "pass a directory that you can write to with `--to DIR`, and check who owns the installer's cache",
    ),
    (
        &[
            "BadZipFile",
            "is invalid",
            "Failed to extract",
            "zip file",
            "CRC",
        ],
        "a downloaded wheel is damaged",
        "empty the cache (`uv cache clean` or `python3 -m pip cache purge`), and run this command again",
    ),
    (
        &["No matching distribution found", "No solution found"],
        "the package index has no such wheels for this platform",
        "look up the available versions at https://pypi.org/project/cuda-toolkit/#history and \
         https://pypi.org/project/nvidia-cudnn-cu13/#history, or -cu12, -cu11",
    ),
];

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

/// The old files cannot be moved: they may be on another file system.
pub fn not_replaced(home: &Path, error: std::io::Error) -> Finding {
    let shown = quoted(&home.to_string_lossy());
    let is_other = error.kind() == std::io::ErrorKind::CrossesDevices;
    let finding = self::home("replace the files in", home)(error);
    let help = format!(
        "an earlier layer of a container image contains the old files: run `rm -r {shown}` first"
    );
    if is_other {
        finding.help(help)
    } else {
        finding
    }
}

pub fn no_home() -> Finding {
    failed("neither CUDNN_GUARD_HOME nor HOME is set").help("pass a directory with `--to DIR`")
}

/// Something is in the place of new files.
pub fn foreign(path: &Path) -> Finding {
    let path = path.display();
    failed(format!(
        "`{path}` was not created by cudnn-guard, so `fetch` does not change it"
    ))
    .help("fetch into another directory with `--to DIR`")
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

/// The differences of files, and the command that fetches them again.
pub fn damaged(home: &Path, files: &[String], fetch: &str) -> Finding {
    let more = files.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    failed(format!(
        "the files in `{}` differ from what was fetched",
        home.display()
    ))
    .help(format!("run `{fetch}` to fetch them again"))
    .with_lines("damaged", files.iter().take(NAMED).chain(&more))
}

pub fn incomplete_download(why: &str) -> Finding {
    failed(format!("the download is incomplete: {why}")).help("run the same command again")
}

pub fn releases_named_twice() -> Finding {
    config_invalid("the `--lock` file already specifies the versions")
        .help("omit --cuda, --cudnn and --with, or remove the lock file")
}

pub fn not_locked(path: &Path) -> Finding {
    let (shown, path) = (path.display(), quoted(&path.to_string_lossy()));
    let help =
        format!("remove the file, and run `cudnn-guard fetch --lock {path}` to create it again");
    failed(format!(
        "the lock file `{shown}` does not consist of NVIDIA wheels with SHA-256 hashes, with a toolkit and a cuDNN"
    ))
    .help(help)
}

/// A key and its value in the table of the crate's manifest.
pub fn invalid_metadata(table: &str, key: &str, value: &str) -> Finding {
    config_invalid(format!(
        "`{key} = {value}` in [{table}] of Cargo.toml is not valid"
    ))
    .help(match key {
        "cuda" => "set it to a version in quotation marks, such as `cuda = \"13.0\"`".to_string(),
        "cudnn" => "set it to a version in quotation marks, such as `cudnn = \"9.14\"`".to_string(),
        "libs" => {
            let names = FETCHED_ON_REQUEST.join(", ");
            format!("set it to a list such as `libs = [\"curand\"]` of these names: {names}")
        }
        _ => "use one of the keys `cuda`, `cudnn` and `libs`".to_string(),
    })
}

pub fn unknown_cuda(cuda: u32) -> Finding {
    let known = joined(majors::CUDA, ", ");
    let nearest = if cuda > majors::NEWEST_CUDA {
        majors::NEWEST_CUDA
    } else {
        11
    };
    failed(format!(
        "this cudnn-guard knows no wheels of CUDA {cuda}, only those of CUDA {known}"
    ))
    .help(format!("run `cudnn-guard fetch --cuda {nearest}`"))
}

/// No uv, and no Python with pip: the command that was run, and its output. PYTHONHOME may be the reason.
pub fn no_installer(tried: Option<(String, String)>, is_home_set: bool) -> Finding {
    let install = match cfg!(windows) {
        true => "install Python 3 with pip: `winget install Python.Python.3.13`",
        false => "install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`",
    };
    let finding = match tried {
        None => failed("neither uv nor a Python is on PATH"),
        Some((command, output)) => {
            failed("uv is not on PATH, and the Python on PATH cannot run pip")
                .with("command", command)
                .with("output", output)
        }
    };
    let finding = match is_home_set {
        true => finding.help("unset PYTHONHOME, which tells Python where its own modules are"),
        false => finding,
    };
    finding
        .help("install uv (https://docs.astral.sh/uv/), which needs no root")
        .help(install)
}

/// The command of an installer that prints no hashes of wheels, and its output.
pub fn no_hashes(command: &str, output: &str) -> Finding {
    let help = match output.contains("no such option") {
        true => {
            "update pip to 22.2 or later (`python3 -m pip install --user -U pip`), or install uv"
        }
        false => "run this command again on a machine that can reach the package index",
    };
    failed("cannot determine the hashes of the wheels")
        .with("command", command)
        .with("output", output)
        .help(help)
}

/// The command of an installer, its last lines, its status if it was started, and whether the user has seen its output.
pub fn install_failed(
    command: &str,
    output: &str,
    status: Option<ExitStatus>,
    is_shown: bool,
) -> Finding {
    #[cfg(unix)]
    let signal = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
    #[cfg(not(unix))]
    let signal: Option<i32> = status.and(None);
    let has = |words: &[&str]| words.iter().any(|word| output.contains(word));
    let finding = match (signal, CAUSES.iter().find(|(words, ..)| has(words))) {
        (Some(signal), _) => failed(format!("the installer was killed by signal {signal}"))
            .help("run this command again; if memory is limited, raise the limit"),
        (None, Some((_, cause, help))) => {
            failed(format!("failed to fetch NVIDIA's wheels: {cause}")).help(*help)
        }
        (None, None) if is_shown => failed("failed to fetch NVIDIA's wheels")
            .help("run `cudnn-guard explain fetch-failed` for a list of causes"),
        (None, None) => failed("failed to fetch NVIDIA's wheels")
            .help("run the command by hand, with another directory after `--target`, to see its full output"),
    };
    let output = match status {
        Some(status) if is_shown => format!("see above; {status}"),
        Some(status) if output.is_empty() => status.to_string(),
        _ => output.to_string(),
    };
    finding.with("command", command).with("output", output)
}

/// A `.cargo/config`, which cargo reads instead of `config.toml`.
pub fn old_cargo_config(path: &Path) -> Finding {
    let path = path.display();
    failed(format!(
        "`{path}` exists, and cargo reads it instead of config.toml"
    ))
    .help(format!("add the lines above to `{path}` by hand"))
}

pub fn cargo_config(path: &Path, why: &Refused) -> Finding {
    let path = path.display();
    match why {
        Refused::Named(name) => failed(format!("`{path}` already contains {name}"))
            .help(format!("add the lines above to `{path}` by hand")),
        Refused::Shape => failed(format!("`{path}` is not valid TOML, or its `env` is not a table"))
            .help("fix the file (`cargo tree` shows where cargo cannot read it), and run this command again"),
    }
}

fn failed(summary: impl Into<String>) -> Finding {
    FetchFault::Failed(summary.into()).finding()
}

fn config_invalid(summary: impl Into<String>) -> Finding {
    FetchFault::InvalidChoice(summary.into()).finding()
}
