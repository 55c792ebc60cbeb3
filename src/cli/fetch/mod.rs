//! `cudnn-guard fetch`: installs CUDA and cuDNN from NVIDIA's Python wheels, without root.
//!
//! A directory belongs to `fetch` as a whole, or not at all: its marker lists every file in it. Without a marker it must
//! be new or empty, and with a file that is not listed it stays as it is. uv or pip resolves, downloads and unpacks the
//! wheels into a temporary directory in it. There, `fetch` adds links, a stub of the driver, and the marker. Complete
//! files replace the old ones by renaming. The next `fetch` completes or undoes what a killed one has left.
//!
//! ```text
//! <home>/nvidia/cu13/          the toolkit: bin/nvcc, include, lib, nvvm
//! <home>/nvidia/cuda_runtime/  the toolkit up to CUDA 12: a directory for each wheel, and no nvcc
//! <home>/nvidia/cudnn/         cuDNN: include, lib
//! <home>/<wheel>.dist-info/    the installer's RECORD of each wheel's files, and NVIDIA's license
//! <home>/.cudnn-guard          the marker
//! ```

mod cargo_config;
mod choice;
mod directory;
mod driver_stub;
pub mod fault;
mod installed;
mod installer;
mod links;
mod project;
mod requirements;
mod usage;
mod wheels;

use crate::Finding;
use crate::cli::fetch::choice::Choice;
use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::installer::Installer;
use crate::cli::fetch::requirements::Pin;
use crate::cli::fetch::wheels::Wheels;
use crate::cli::terminal::{flag, option, show, show_on_stderr, show_step};
use crate::cli::{numbers, whole_file};
use crate::runtime::facts::fetch_dir::fetch_dir;
use crate::runtime::facts::majors;
use crate::system::files;
use crate::toolkit::package_names::FETCHED_ON_REQUEST;
use clap::{ArgAction, ArgMatches, Command, value_parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

pub fn command() -> Command {
    let text = "CUDA version to install: `13` or `13.0`, from 11 to 13 [default: the installed one, else the newest \
                that the driver and cudarc support]";
    let cuda = option("cuda", "VERSION", text).value_parser(|text: &str| {
        let version = numbers::parse(text, 2);
        let version = version.filter(|cuda| majors::CUDA.contains(&numbers::major(cuda)));
        version.ok_or("write it as 13 or 13.0, from 11 to 13")
    });
    let text = "cuDNN version to install: `9`, `9.14` or `9.14.0` [default: the installed one, else the newest]";
    let cudnn = option("cudnn", "VERSION", text)
        .value_parser(|text: &str| numbers::parse(text, 3).ok_or("write it as 9, 9.14 or 9.14.0"));
    let text = "CUDA libraries to install besides cuBLAS and NVRTC; installed ones stay [default: those that ./build.rs, \
                cudarc and candle use]";
    let with = option("with", "LIBRARY,..", text);
    let text = "Install directory, new, empty or of `fetch` [default: $CUDNN_GUARD_HOME, else the user data directory]";
    let to = option("to", "DIR", text).value_parser(value_parser!(PathBuf));
    let text = "Add the environment variables to ./.cargo/config.toml";
    let write_config = flag("write-config", text);
    let text = "Compare the installed files with the records of their wheels (names and sizes); install nothing";
    let others = ["cuda", "cudnn", "with", "write-config", "lock"];
    let check = flag("check", text).conflicts_with_all(others);
    let text =
        "Install exactly the wheels in this lock file; if it does not exist, create it with uv";
    let lock = option("lock", "FILE", text).value_parser(value_parser!(PathBuf));
    let with = with.value_delimiter(',').action(ArgAction::Append);
    let with = with.value_parser(FETCHED_ON_REQUEST);
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
    let home = arguments.get_one::<PathBuf>("to").cloned();
    let home = home.or_else(default_home).ok_or_else(fault::no_home);
    let home = home.and_then(|dir| std::path::absolute(&dir).map_err(fault::io("find", &dir)));
    let result = home.and_then(|home| match arguments.get_flag("check") {
        true => check(&home),
        false => fetch(&home, arguments),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(finding) => {
            show_on_stderr(format!("\n{finding}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Returns `CUDNN_GUARD_HOME`, else the directory that a build searches by default.
fn default_home() -> Option<PathBuf> {
    let home = env::var_os("CUDNN_GUARD_HOME").filter(|home| !home.is_empty());
    let default = || fetch_dir(cfg!(windows), &|name| env::var_os(name));
    home.map_or_else(default, |home| Some(home.into()))
}

/// Fetches, and prints how to use the result.
fn fetch(home: &Path, arguments: &ArgMatches) -> Result<(), Finding> {
    let libraries = arguments.get_many("with").into_iter().flatten();
    let named = Choice {
        cuda: arguments.get_one("cuda").cloned(),
        cudnn: arguments.get_one("cudnn").cloned(),
        libraries: libraries.cloned().collect(),
    };
    let is_named = named != Choice::default();
    if directory::is_unfinished(home) {
        let _lock = directory::lock(home).map_err(fault::home("lock", home))?;
        directory::restore(home).map_err(fault::home("restore", home))?;
    }
    let wheels = match arguments.get_one::<PathBuf>("lock") {
        Some(file) if !files::exists(file) => Wheels::Locked(lock(file, home, named)?),
        Some(_) if is_named => return Err(fault::versions_named_twice()),
        Some(file) => Wheels::Locked(read_lock(file)?),
        None => Wheels::Chosen(named.complete(&Installed::new(home))),
    };
    let installed = install(home, &wheels)?;
    show(installed.how_to_use());
    if arguments.get_flag("write-config") {
        show(installed.write_config()?);
    }
    Ok(())
}

fn read_lock(file: &Path) -> Result<Vec<Pin>, Finding> {
    let pins = requirements::parse(&files::read(file)?).unwrap_or_default();
    let has = |start: &str| pins.iter().any(|pin| pin.name.starts_with(start));
    match has("nvidia-cuda-runtime") && has("nvidia-cudnn-") {
        true => Ok(pins),
        false => Err(fault::not_locked(file)),
    }
}

/// Creates a lock file.
fn lock(file: &Path, home: &Path, named: Choice) -> Result<Vec<Pin>, Finding> {
    if std::path::absolute(file).is_ok_and(|file| file.starts_with(home)) {
        return Err(fault::lock_in_home(file));
    }
    directory::check_owned(home)?;
    let installed = Installed::new(home);
    let wheels = Wheels::Chosen(named.complete(&installed));
    let pins = Installer::find()?.resolve(&wheels.requirements(&installed))?;
    let head = "# `cudnn-guard fetch --lock FILE` installs exactly these wheels.\n";
    let text = head.to_string() + &requirements::text(&pins);
    whole_file::replace(file, &text).map_err(fault::io("write", file))?;
    show_step("✓", "locked", file.display());
    Ok(pins)
}

/// Installs wheels unless they are installed.
fn install(home: &Path, wheels: &Wheels) -> Result<Installed, Finding> {
    let installed = Installed::new(home);
    if !wheels.requirements(&installed).contains("-cu13") {
        show_step("i", "nvcc", usage::WITHOUT_NVCC);
    }
    if wheels.missing_in(&installed).is_some() {
        directory::check_owned(home)?;
        let installer = Installer::find()?;
        fs::create_dir_all(home).map_err(fault::home("create", home))?;
        let _lock = directory::lock(home).map_err(fault::home("lock", home))?;
        directory::restore(home).map_err(fault::home("restore", home))?;
        // Another process may have fetched in the meantime.
        let installed = Installed::new(home);
        if let Some(why) = wheels.missing_in(&installed) {
            show(usage::license_notice(home));
            show_step("i", "to fetch", "NVIDIA's wheels, about 1 to 2 GB");
            if !installed.wheels.is_empty() {
                show_step("i", "because", why);
            }
            let replaced = replace(home, &installer, wheels);
            directory::restore(home).map_err(fault::home("restore", home))?;
            replaced?;
        }
    }
    let installed = Installed::new(home);
    let [toolkit, cudnn] = installed.dirs();
    let toolkit = ("CUDA toolkit", "nvidia-cuda-runtime", toolkit);
    for (title, name, dir) in [toolkit, ("cuDNN", "nvidia-cudnn-", cudnn)] {
        let dir = dir.unwrap_or(home.join("nvidia"));
        let version = installed.find(name).map_or("", |wheel| &wheel.version);
        show_step("✓", title, format!("{version} in {}", dir.display()));
    }
    Ok(installed)
}

/// Installs wheels into the temporary directory, completes them, and moves all to its place.
fn replace(home: &Path, installer: &Installer, wheels: &Wheels) -> Result<(), Finding> {
    let in_home = || fault::home("write to", home);
    directory::prepare(home).map_err(in_home())?;
    installer.install(wheels, home)?;
    let new = directory::temporary(home, "new");
    let nvidia = new.join("nvidia");
    for dir in files::list(&nvidia).unwrap_or_default() {
        links::add_developer_links(&dir).map_err(in_home())?;
        if let Some(Err(why)) = driver_stub::add(&dir, &directory::temporary(home, "tmp")) {
            show_step("i", "libcuda.so", format!("no stub to link against: {why}"));
        }
    }
    links::add_neighbors(&nvidia).map_err(in_home())?;
    directory::mark(&new).map_err(in_home())?;
    if let Some(why) = wheels.missing_in(&Installed::new(&new)) {
        return Err(fault::incomplete_download(&why));
    }
    directory::check_owned(home)?;
    directory::replace(home).map_err(fault::home("replace the files in", home))
}

/// Compares the installed files with the marker and the RECORDs of their wheels. Changes nothing.
fn check(home: &Path) -> Result<(), Finding> {
    let installed = Installed::new(home);
    if installed.wheels.is_empty() {
        return Err(fault::nothing_to_check(home));
    }
    let damaged = installed.damaged();
    let mark = if damaged.is_empty() { "✓" } else { "✗" };
    let (files, wheels) = (installed.files.len(), installed.wheels.len());
    let text = format!("{files} files of {wheels} wheels in {}", home.display());
    show_step(mark, "checked", text);
    match damaged.is_empty() {
        true => Ok(()),
        false => Err(fault::damaged(home, &damaged)),
    }
}
