//! `cudnn-guard fetch`: installs CUDA and cuDNN from NVIDIA's Python wheels, without root. uv or pip installs the wheels
//! into a temporary directory. Complete files are then moved to their names.
//!
//! ```text
//! <home>/nvidia/cu13/          the toolkit: bin/nvcc, include, lib, nvvm
//! <home>/nvidia/cu13/lib/stubs a libcuda.so to link with, created by `fetch`
//! <home>/nvidia/cuda_runtime/  the toolkit up to CUDA 12: a directory for each wheel, and no nvcc
//! <home>/nvidia/cudnn/         cuDNN: include, lib
//! <home>/nvidia/cublas/lib     a link to the toolkit's, where some versions of cuDNN search
//! <home>/cutlass_library/      CUTLASS: source/include, source/tools/util/include
//! <home>/<wheel>.dist-info/    the installer's RECORD of each wheel's files, and NVIDIA's license
//! <home>/.cudnn-guard          the list of the names that `fetch` created and may replace
//! <home>/.fetching-<number>/   incomplete files
//! <home>/.fetch.lock           on Windows, the lock for one `fetch` at a time
//! ```

pub mod cargo_config;
pub mod choice;
mod driver_stub;
pub mod fault;
mod home;
mod installed;
mod installer;
mod links;
mod lock;
pub mod project;
pub mod release;
mod requirements;
mod supported;
mod usage;
mod wheels;

use crate::Finding;
use crate::cli::cuda_version::{self, CudaVersion};
use crate::cli::fetch::choice::Choice;
use crate::cli::fetch::home::Temporary;
use crate::cli::fetch::installed::{Installed, Wheel};
use crate::cli::fetch::installer::Installer;
use crate::cli::fetch::release::Release;
use crate::cli::fetch::wheels::Wheels;
use crate::cli::terminal::{flag, option, show, show_on_stderr, show_step, show_wrapped};
use crate::runtime::facts::fetch_dir::fetch_dir;
use crate::runtime::facts::finding::quoted;
use crate::system::files;
use crate::toolkit::package_names::FETCHED_ON_REQUEST;
use clap::{ArgAction, ArgMatches, Command, value_parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

pub fn command() -> Command {
    Command::new("fetch")
        .about("Install CUDA and cuDNN from NVIDIA's Python wheels, without root")
        .after_help("Examples:\n  cudnn-guard fetch --cuda 12 --cudnn 9.10\n  cudnn-guard fetch --with curand,cutlass\n  cudnn-guard fetch --to cuda --write-config\n  cudnn-guard fetch --lock cuda.lock\n  cudnn-guard fetch --check")
        .arg(
            cuda_version::arg(
                "CUDA version to install, from 11 to 13",
                " [default: from [package.metadata.cudnn-guard] in ./Cargo.toml, else the installed one, \
                 else the newest that the driver and cudarc support]",
            ),
        )
        .arg(
            option(
                "cudnn",
                "VERSION",
                "cuDNN version to install: `9`, `9.14` or `9.14.0` [default: like --cuda]",
            )
            .value_parser(|text: &str| {
                Release::parse(text, 3).ok_or("write it as 9, 9.14 or 9.14.0")
            }),
        )
        .arg(
            option(
                "with",
                "LIBRARY,..",
                "CUDA libraries to install besides cuBLAS and NVRTC, or the headers of CUTLASS \
                 [default: those that ./build.rs, cudarc and candle use]; libraries in \
                 [package.metadata.cudnn-guard] and installed libraries are always included",
            )
            .value_delimiter(',')
            .action(ArgAction::Append)
            .value_parser(FETCHED_ON_REQUEST),
        )
        .arg(
            option("to", "DIR", "Install directory [default: $CUDNN_GUARD_HOME, else the user data directory]")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(flag("write-config", "Add the environment variables to ./.cargo/config.toml"))
        .arg(
            flag(
                "check",
                "Compare the installed files with the records of their wheels (names and sizes); install nothing",
            )
            .conflicts_with_all(["cuda", "cudnn", "with", "write-config", "lock"]),
        )
        .arg(
            option(
                "lock",
                "FILE",
                "Install exactly the wheels in this lock file; create it if it does not exist",
            )
            .value_parser(value_parser!(PathBuf)),
        )
}

pub fn run(arguments: &ArgMatches) -> ExitCode {
    let home = match arguments.get_one::<PathBuf>("to") {
        Some(dir) => absolute(dir),
        None => home(),
    };
    let is_check = arguments.get_flag("check");
    let result = home.and_then(|home| match is_check {
        true => check(&home),
        false => fetch_and_show(&home, arguments),
    });
    let Err(finding) = result else {
        return ExitCode::SUCCESS;
    };
    // The finding is the output of `--check`.
    match is_check {
        true => show_wrapped(format!("\n{finding}\n")),
        false => show_on_stderr(format!("\n{finding}\n")),
    }
    ExitCode::FAILURE
}

/// Fetches, and prints how to use the result.
fn fetch_and_show(home: &Path, arguments: &ArgMatches) -> Result<(), Finding> {
    let libraries = arguments.get_many("with").into_iter().flatten();
    let named = Choice {
        cuda: arguments.get_one::<CudaVersion>("cuda").cloned(),
        cudnn: arguments.get_one::<Release>("cudnn").cloned(),
        libraries: libraries.cloned().collect(),
    };
    let file = arguments.get_one::<PathBuf>("lock").map(PathBuf::as_path);
    let locked = file.map(lock::read).transpose()?.flatten();
    let installed = match (file, &locked) {
        (_, Some(_)) if named != Choice::default() => return Err(fault::releases_named_twice()),
        (_, Some(wheels)) => install(home, &|_| Ok(Wheels::locked(wheels)))?,
        _ => fetch(home, named.or_of_crate()?)?,
    };
    if let (Some(file), None) = (file, &locked) {
        lock::write(file, &installed)?;
        show_step("✓", "locked", file.display());
    }
    show(installed.how_to_use());
    if arguments.get_flag("write-config") {
        show(installed.write_config()?);
    }
    Ok(())
}

/// Fetches the versions of a choice, unless they are installed.
pub fn fetch(home: &Path, choice: Choice) -> Result<Installed, Finding> {
    let choice = choice.with_cuda(&Installed::by_fetch(home));
    install(home, &|installed| Wheels::new(&choice, installed))
}

/// Installs wheels unless they are installed. Everything is checked before anything is written.
fn install(
    home: &Path,
    wheels: &dyn Fn(&Installed) -> Result<Wheels, Finding>,
) -> Result<Installed, Finding> {
    let mut installed = Installed::by_fetch(home);
    let required = wheels(&installed)?;
    if let Some(cuda) = required.without_nvcc() {
        show_step("i", "nvcc", usage::without_nvcc(&cuda));
    }
    let is_missing = required.missing_in(&installed).is_some();
    if is_missing || !home::temporary_dirs(home).is_empty() {
        if is_missing {
            if let Some(path) = home::foreign(home, &[]) {
                return Err(fault::foreign(&path));
            }
            Installer::find()?;
        }
        fs::create_dir_all(home).map_err(fault::home("create", home))?;
        let lock = home::lock(home);
        home::restore(home, lock.as_ref()).map_err(|error| fault::not_replaced(home, error))?;
        // Another process may have fetched in the meantime.
        installed = Installed::by_fetch(home);
        let required = wheels(&installed)?;
        if let Some(why) = required.missing_in(&installed) {
            show(usage::license_notice(home));
            show_step("i", "to fetch", required.download());
            if !installed.wheels.is_empty() {
                show_step("i", "because", why);
            }
            let temporary = Temporary::new(home).map_err(fault::home("write to", home))?;
            let installer = Installer::find()?;
            installer.install(&required, &temporary)?;
            complete(home, &temporary, &required)?;
            installed = Installed::by_fetch(home);
        }
    }
    let toolkit = ("CUDA toolkit", installed.toolkit(), installed.toolkit_dir());
    let cudnn = ("cuDNN", installed.cudnn(), installed.cudnn_dir());
    for (title, wheel, dir) in [toolkit, cudnn] {
        let dir = dir.unwrap_or(home.join("nvidia"));
        let version = wheel.map_or(String::new(), |wheel| format!("{} ", wheel.version));
        show_step("✓", title, format!("{version}in {}", dir.display()));
    }
    Ok(installed)
}

/// Checks the files in the temporary directory, adds links, and moves all to its place.
fn complete(home: &Path, temporary: &Temporary, required: &Wheels) -> Result<(), Finding> {
    let new = temporary.dir("new");
    if let Some(why) = required.missing_in(&Installed::all(&new)) {
        return Err(fault::incomplete_download(&why));
    }
    let nvidia = new.join("nvidia");
    for dir in files::list(&nvidia).unwrap_or_default() {
        links::add_developer_links(&dir).map_err(fault::io("add links to", &dir))?;
        match driver_stub::add(&dir) {
            Some(Ok(stub)) => {
                let stub = home.join(stub.strip_prefix(&new).unwrap_or(&stub));
                show_step(
                    "✓",
                    "libcuda.so",
                    format!("to link against: {}", stub.display()),
                );
            }
            Some(Err(why)) => {
                show_step("i", "libcuda.so", format!("no stub to link against: {why}"))
            }
            None => {}
        }
    }
    links::add_neighbors(&nvidia).map_err(fault::io("add links to", &nvidia))?;
    match home::foreign(home, &home::moved(&new)) {
        Some(path) => Err(fault::foreign(&path)),
        None => home::move_in(home, temporary).map_err(|error| fault::not_replaced(home, error)),
    }
}

/// Compares the installed files with the RECORDs of their wheels. Changes nothing.
fn check(home: &Path) -> Result<(), Finding> {
    let installed = Installed::by_fetch(home);
    if installed.wheels.is_empty() {
        return Err(fault::nothing_to_check(home));
    }
    let (counts, damaged): (Vec<_>, Vec<_>) = installed.wheels.iter().map(Wheel::check).unzip();
    let (count, damaged) = (counts.iter().sum::<usize>(), damaged.concat());
    let mark = if damaged.is_empty() { "✓" } else { "✗" };
    show_step(
        mark,
        "checked",
        format!(
            "{count} files of {} wheels in {}",
            counts.len(),
            home.display()
        ),
    );
    if damaged.is_empty() {
        return Ok(());
    }
    let cuda = installed.cuda();
    let cudnn = cuda
        .as_ref()
        .and_then(|cuda| installed.cudnn_for(cuda.major()));
    let mut fetch = "cudnn-guard fetch".to_string();
    for (option, release) in [("cuda", cuda), ("cudnn", cudnn)] {
        fetch += &release.map_or(String::new(), |release| format!(" --{option} {release}"));
    }
    fetch += &format!(" --to {}", quoted(&home.display().to_string()));
    Err(fault::damaged(home, &damaged, &fetch))
}

/// Returns the default directory to fetch into: `CUDNN_GUARD_HOME`, else one in the user's data directory.
pub fn home() -> Result<PathBuf, Finding> {
    if let Some(home) = env::var_os("CUDNN_GUARD_HOME").filter(|home| !home.is_empty()) {
        return absolute(Path::new(&home));
    }
    default_home().ok_or_else(fault::no_home)
}

/// Returns the directory of fetched files that a build searches by default.
fn default_home() -> Option<PathBuf> {
    fetch_dir(cfg!(windows), &|name| env::var_os(name))
}

fn absolute(dir: &Path) -> Result<PathBuf, Finding> {
    std::path::absolute(dir).map_err(fault::io("find", dir))
}
