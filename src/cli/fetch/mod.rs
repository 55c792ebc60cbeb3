//! `cudnn-guard fetch`: installs CUDA and cuDNN from NVIDIA's Python wheels, without root.
//!
//! A directory belongs to `fetch` as a whole, or not at all: its marker lists every file in it. Without a marker it must
//! be new or empty, and with a file that is not listed it stays as it is. uv or pip resolves, downloads and unpacks the
//! wheels into a temporary directory in it. There, `fetch` adds links, a stub of the driver, and the marker.
//!
//! ```text
//! <home>/nvidia/cu13/          the toolkit: bin/nvcc, include, lib, nvvm
//! <home>/nvidia/cuda_runtime/  the toolkit up to CUDA 12: a directory for each wheel, and no nvcc
//! <home>/nvidia/cudnn/         cuDNN: include, lib
//! <home>/<wheel>.dist-info/    the installer's RECORD of each wheel's files, and NVIDIA's license
//! <home>/.cudnn-guard          the marker
//! ```

mod additions;
mod choice;
mod directory;
pub mod fault;
mod installed;
mod installer;
mod lock;
mod project;
mod usage;

use crate::Finding;
use crate::cli::fetch::choice::Choice;
use crate::cli::fetch::fault::{failed, in_home, io};
use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::installer::Installer;
use crate::cli::numbers;
use crate::cli::terminal::{self, flag, option, show, show_step};
use crate::runtime::facts::fetch_dir::fetch_dir;
use crate::runtime::facts::{majors, quoted};
use crate::system::files;
use crate::toolkit::package_names::FETCHED_ON_REQUEST;
use clap::{ArgAction, ArgMatches, Command, value_parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

pub fn command() -> Command {
    let text = "CUDA version to install: `13` or `13.0`, from 11 to 13 [default: the installed one, else the newest \
                that the driver and this project's cudarc support]";
    let cuda = option("cuda", "VERSION", text).value_parser(|text: &str| {
        let version = numbers::parse(text, 2);
        let version = version.filter(|cuda| majors::CUDA.contains(&numbers::major(cuda)));
        version.ok_or("write it as 13 or 13.0, from 11 to 13")
    });
    let text = "cuDNN version to install: `9`, `9.14` or `9.14.0` [default: the installed one, else the newest]";
    let cudnn = option("cudnn", "VERSION", text)
        .value_parser(|text: &str| numbers::parse(text, 3).ok_or("write it as 9, 9.14 or 9.14.0"));
    let text = "CUDA libraries to install besides cuBLAS and NVRTC (CUDA 11 has no nvjitlink); installed ones stay \
                [default: those that ./build.rs, cudarc and candle use]";
    let with = option("with", "LIBRARY,..", text)
        .value_delimiter(',')
        .action(ArgAction::Append)
        .value_parser(FETCHED_ON_REQUEST);
    let text = "Install directory: a new or empty one, or one that `fetch` created [default: $CUDNN_GUARD_HOME, else the user data directory]";
    let to = option("to", "DIR", text).value_parser(value_parser!(PathBuf));
    let text = "Add the environment variables to ./.cargo/config.toml";
    let write_config = flag("write-config", text);
    let text = "Compare the installed files with the records of their wheels (names and sizes); install nothing";
    let others = ["cuda", "cudnn", "with", "write-config", "lock"];
    let check = flag("check", text).conflicts_with_all(others);
    let text = "Install exactly the wheels in this lock file; uv creates it if it does not exist";
    let lock = option("lock", "FILE", text).value_parser(value_parser!(PathBuf));
    let examples = [
        "Examples:",
        "cudnn-guard fetch --cuda 12 --cudnn 9.10",
        "cudnn-guard fetch --with curand,cufft",
        "cudnn-guard fetch --to cuda --write-config",
        "cudnn-guard fetch --lock cuda.lock",
        "cudnn-guard fetch --check",
    ];
    Command::new("fetch")
        .about("Install CUDA and cuDNN from NVIDIA's Python wheels, without root")
        .after_help(examples.join("\n  "))
        .args([cuda, cudnn, with, to, write_config, check, lock])
}

pub fn run(arguments: &ArgMatches) -> ExitCode {
    let result = home(arguments).and_then(|home| match arguments.get_flag("check") {
        true => check(&home),
        false => fetch(&home, arguments),
    });
    terminal::finish(result.map_err(|finding| format!("\n{finding}\n")))
}

/// Returns `--to`, `CUDNN_GUARD_HOME`, or the directory that a build searches by default.
fn home(arguments: &ArgMatches) -> Result<PathBuf, Finding> {
    let set = env::var_os("CUDNN_GUARD_HOME").filter(|home| !home.is_empty());
    let named = arguments.get_one::<PathBuf>("to").cloned();
    let named = named.or(set.map(PathBuf::from));
    let home = named.or_else(|| fetch_dir(cfg!(windows), &|name| env::var_os(name)));
    let home = home.ok_or_else(|| {
        failed("neither CUDNN_GUARD_HOME nor HOME is set").help("pass a directory with `--to DIR`")
    })?;
    std::path::absolute(&home).map_err(io("find", &home))
}

/// Fetches, and prints how to use the result. Returns the last message.
fn fetch(home: &Path, arguments: &ArgMatches) -> Result<String, Finding> {
    if directory::is_unfinished(home) {
        let _lock = directory::lock(home).map_err(in_home(home))?;
        directory::finish(home)?;
    }
    let libraries = arguments.get_many("with").into_iter().flatten();
    let mut choice = Choice {
        cuda: arguments.get_one("cuda").cloned(),
        cudnn: arguments.get_one("cudnn").cloned(),
        libraries: libraries.cloned().collect(),
        lock: None,
    };
    let lock = arguments.get_one::<PathBuf>("lock");
    if let Some(file) = lock.filter(|file| files::exists(file)) {
        if choice != Choice::default() {
            let finding = failed("the `--lock` file already specifies the versions");
            return Err(finding.help("omit --cuda, --cudnn and --with, or remove the lock file"));
        }
        choice.lock = Some(lock::read(file)?);
    } else {
        let installed = Installed::new(home);
        choice = choice.complete(&installed);
        if let Some(file) = lock {
            choice.lock = Some(lock::create(file, home, &choice.requirements(&installed))?);
        }
    }
    let installed = install(home, &choice)?;
    show(installed.how_to_use());
    match arguments.get_flag("write-config") {
        true => installed.write_config(),
        false => Ok(String::new()),
    }
}

/// Installs wheels unless they are installed.
fn install(home: &Path, choice: &Choice) -> Result<Installed, Finding> {
    let installed = Installed::new(home);
    if !choice.requirements(&installed).contains("-cu13") {
        let text = "NVIDIA's wheels for CUDA 11 and 12 do not contain it; to compile kernels, install the \
            toolkit from NVIDIA's repository or conda, or run `cudnn-guard fetch --cuda 13` if the driver supports it";
        show_step("i", "nvcc", text);
    }
    if choice.missing_in(&installed).is_some() {
        directory::check_owned(home)?;
        let installer = Installer::find()?;
        let _lock = directory::lock(home).map_err(in_home(home))?;
        directory::finish(home)?;
        // Another process may have fetched in the meantime.
        let installed = Installed::new(home);
        if let Some(why) = choice.missing_in(&installed) {
            let text = format!("NVIDIA's wheels, about 1 to 2 GB, into {}", home.display());
            show_step("i", "to fetch", text);
            if !installed.wheels.is_empty() {
                show_step("i", "because", why);
            }
            let text = "by downloading, you accept NVIDIA's licenses: https://docs.nvidia.com/cuda/eula/ and \
                https://docs.nvidia.com/deeplearning/cudnn/latest/reference/eula.html";
            show_step("i", "licenses", text);
            let clear = |_: &Finding| _ = fs::remove_dir_all(home.join(directory::TEMPORARY));
            replace(&installed, &installer, choice).inspect_err(clear)?;
            directory::finish(home)?;
        }
    }
    let installed = Installed::new(home);
    let [toolkit, cudnn] = installed.dirs();
    let toolkit = ("CUDA toolkit", "nvidia-cuda-runtime", toolkit);
    for (title, name, dir) in [toolkit, ("cuDNN", "nvidia-cudnn-", cudnn)] {
        let dir = dir.unwrap_or(home.join("nvidia"));
        let version = installed.version(name).unwrap_or_default();
        show_step("✓", title, format!("{version} in {}", dir.display()));
    }
    Ok(installed)
}

/// Installs wheels into the temporary directory, and completes them.
fn replace(installed: &Installed, installer: &Installer, choice: &Choice) -> Result<(), Finding> {
    let home = &*installed.home;
    let [new, tmp] = ["new", "tmp"].map(|name| directory::temporary(home, name));
    for dir in [&new, &tmp] {
        fs::create_dir_all(dir).map_err(in_home(home))?;
    }
    installer.install(&choice.requirements(installed), &tmp)?;
    if cfg!(unix) {
        additions::add(&new.join("nvidia"), &tmp)?;
    }
    let fetched = Installed::with(&new, directory::list(&new).map_err(in_home(home))?);
    if let Some(why) = choice.missing_in(&fetched) {
        let finding = failed(format!("the download is incomplete: {why}"));
        return Err(finding.help("run the same command again"));
    }
    directory::check_owned(home)?;
    directory::mark(home, fetched.files).map_err(in_home(home))
}

/// Compares the installed files with the marker and the RECORDs of their wheels. Changes nothing.
fn check(home: &Path) -> Result<String, Finding> {
    let (installed, shown) = (Installed::new(home), home.display());
    let command = format!("cudnn-guard fetch --to {}", quoted(&home.to_string_lossy()));
    if installed.wheels.is_empty() {
        let finding = failed(format!("cudnn-guard has installed nothing in `{shown}`"));
        let other = "pass the directory that you fetched into with `--to DIR`";
        return Err(finding.help(format!("run `{command}`")).help(other));
    }
    let damaged = installed.damaged();
    let mark = if damaged.is_empty() { "✓" } else { "✗" };
    let (files, wheels) = (installed.files.len(), installed.wheels.len());
    let text = format!("{files} files of {wheels} wheels in {shown}");
    show_step(mark, "checked", text);
    if damaged.is_empty() {
        return Ok(String::new());
    }
    let more = damaged.len().saturating_sub(5);
    let more = (more > 0).then(|| format!("and {more} more"));
    let summary = format!("the files in `{shown}` differ from what was fetched");
    Err(failed(summary)
        .help(format!("run `{command}` to fetch them again"))
        .help("add `--lock FILE` if a lock file named their versions")
        .with_lines("damaged", damaged.iter().take(5).chain(&more)))
}
