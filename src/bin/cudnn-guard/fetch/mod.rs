//! `cudnn-guard fetch`: CUDA and cuDNN without root, from NVIDIA's Python wheels.
//!
//! ```text
//! <home>/nvidia/cu13/          the toolkit: bin/nvcc, include, lib, nvvm
//! <home>/nvidia/cu13/lib/stubs a libcuda.so to link with, made here
//! <home>/nvidia/cuda_runtime/  in place of it up to CUDA 12: a folder for each wheel, and no nvcc
//! <home>/nvidia/cudnn/         cuDNN: include, lib
//! <home>/nvidia/cublas/lib     a link to the toolkit's, where some releases of cuDNN look
//! <home>/<wheel>.dist-info/    what belongs to which wheel, and NVIDIA's licence
//! <home>/.cudnn-guard          the folders above that this program put there, and so may replace
//! <home>/.fetching-<pid>/      what is not whole yet
//! <home>/.fetch.lock           empty; held by the `fetch` that is at work
//! ```

mod cargo_config;
mod check;
pub mod choice;
mod claims;
mod component;
mod driver_stub;
mod installed;
mod installer;
mod lock;
mod pinned;
mod record;
mod release;
mod remove;
mod replacement;
mod requirements;
mod wheels;

use crate::fetch::choice::Choice;
use crate::fetch::claims::{is_ours, is_ours_there, ours, somebody_elses};
use crate::fetch::component::Component;
use crate::fetch::installed::{Installed, failed, without_nvcc};
use crate::fetch::installer::Installer;
use crate::fetch::lock::Lock;
use crate::fetch::pinned::Pinned;
use crate::fetch::release::Release;
use crate::fetch::replacement::{fetch_one, remove_leftovers};
use crate::terminal::{complain, show};

use clap::{Arg, ArgAction, ArgMatches, Command};
use cudnn_guard::runtime::facts::fetch_dir::fetch_dir;
use cudnn_guard::runtime::facts::majors;
use cudnn_guard::{Finding, FindingId};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

/// Its command line.
pub fn command() -> Command {
    Command::new("fetch")
        .about("Installs CUDA and cuDNN without root, from NVIDIA's Python wheels")
        .after_help("Examples:\n  cudnn-guard fetch --cuda 12 --cudnn 9.10\n  cudnn-guard fetch --to cuda --write-config\n  cudnn-guard fetch --lock cuda.lock\n  cudnn-guard fetch --check\n  cudnn-guard fetch --remove")
        .arg(
            Arg::new("cuda")
                .long("cuda")
                .value_name("X.Y")
                .value_parser(|text: &str| Release::parse(text, 2))
                .help("The release of CUDA, 11, 12 or 13; unless given, that of [package.metadata.cudnn-guard] in ./Cargo.toml, what is \
                 there, what fits the driver here, or the newest"),
        )
        .arg(
            Arg::new("cudnn")
                .long("cudnn")
                .value_name("X.Y")
                .value_parser(|text: &str| Release::parse(text, 3))
                .help("The release of cuDNN; unless given, likewise"),
        )
        .arg(
            Arg::new("to")
                .long("to")
                .value_name("DIR")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Where to; CUDNN_GUARD_HOME or the user's data folder unless given"),
        )
        .arg(
            Arg::new("write-config")
                .long("write-config")
                .action(ArgAction::SetTrue)
                .help("Write the variables into ./.cargo/config.toml"),
        )
        .arg(
            Arg::new("check")
                .long("check")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["cuda", "cudnn", "write-config", "lock"])
                .help("Install nothing: compare every file that was fetched with the hash in its wheel's RECORD"),
        )
        .arg(
            Arg::new("lock")
                .long("lock")
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Fetch exactly the wheels with the hashes in this file; write it if it is not there"),
        )
        .arg(
            Arg::new("remove")
                .long("remove")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["cuda", "cudnn", "write-config", "check", "lock"])
                .help("Remove what was fetched, and nothing else"),
        )
}

/// Fetches, and says what is needed to use it.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let home = match arguments.get_one::<PathBuf>("to") {
        Some(dir) => std::path::absolute(dir).map_err(|error| failed("find", dir, &error)),
        None => home(),
    };
    let findings = match home {
        Ok(home) if arguments.get_flag("check") => check::check(&home),
        Ok(home) if arguments.get_flag("remove") => {
            remove::remove(&home).err().into_iter().collect()
        }
        Ok(home) => fetch_and_tell(&home, arguments).err().into_iter().collect(),
        Err(finding) => vec![finding],
    };
    // What is wrong is what `--check` is asked for.
    let tell: fn(String) = match arguments.get_flag("check") {
        true => show,
        false => complain,
    };
    for finding in &findings {
        tell(format!("\n{finding}\n"));
    }
    ExitCode::from(u8::from(!findings.is_empty()))
}

fn fetch_and_tell(home: &Path, arguments: &ArgMatches) -> Result<(), Finding> {
    let named = Choice {
        cuda: arguments.get_one::<Release>("cuda").cloned(),
        cudnn: arguments.get_one::<Release>("cudnn").cloned(),
    };
    let lock = arguments.get_one::<PathBuf>("lock");
    let pinned = lock.map(|path| Pinned::read(path)).transpose()?.flatten();
    let choice = match &pinned {
        Some(pinned) if named == Choice::default() => pinned.choice()?,
        Some(_) => {
            let summary = "the file of `--lock` names the releases already";
            let finding = Finding::error(FindingId::ConfigInvalid, summary);
            return Err(finding.help("leave --cuda and --cudnn out, or remove the file"));
        }
        None => named.or_of_crate()?,
    };
    let installed = fetch(home, choice, pinned.as_ref())?;
    if let (Some(path), None) = (lock, &pinned) {
        pinned::write(path, home, &installed.components)?;
        show(format!("  ✓ {:<12} {}\n", "locked", path.display()));
    }
    show(installed.how_to_use());
    if arguments.get_flag("write-config") {
        show(installed.write_config()?);
    }
    Ok(())
}

/// Fetches what is not there yet. Everything is looked at before anything is written: a folder that is somebody
/// else's stays as it is, whole or not.
pub fn fetch(
    home: &Path,
    mut choice: Choice,
    pinned: Option<&Pinned>,
) -> Result<Installed, Finding> {
    let lock = Lock::take_existing(home);
    if lock.is_some() {
        remove_leftovers(home);
    }
    let [toolkit, _] = Component::both();
    if choice.cuda.is_none() && ours(home, &toolkit).is_none() {
        choice = choice.or_of_machine();
    }
    let mut looked = look(home, &choice, pinned)?;
    let installer = installer(&looked)?;
    let _lock = match lock {
        None if installer.is_some() => {
            fs::create_dir_all(home).map_err(|error| {
                failed("create", home, &error)
                    .help("name a directory that this user may make or write into: `--to DIR`")
            })?;
            let lock = Lock::take(home);
            // Another one that found nothing here either may have come first.
            looked = look(home, &choice, pinned)?;
            lock
        }
        held => held,
    };
    for (component, found) in &looked {
        if let Ok(release) = found {
            show(format!(
                "  ✓ {:<12} {release} is there: {}\n",
                component.title,
                place(home, component)
            ));
        }
    }
    if let Some(installer) = installer {
        install_missing(&installer, home, &looked)?;
    }
    let components: Vec<Component> = looked.into_iter().map(|(component, _)| component).collect();
    for folder in components.iter().flat_map(|component| &component.folders) {
        if is_ours(home, folder) {
            let folder = home.join(folder);
            wheels::add_developer_view(&folder)
                .map_err(|error| failed("add links to", &folder, &error))?;
            if let Some(line) = driver_stub::add(&folder) {
                show(line);
            }
        }
    }
    if let Some(toolkit) = components.first() {
        if is_ours_there(home, toolkit) {
            wheels::add_neighbours(home, toolkit.cuda)
                .map_err(|error| failed("add links to", home, &error))?;
        }
        let release = toolkit.wheels(home).into_iter().flatten().next();
        if let (true, Some(wheel)) = (toolkit.cuda < 13, release) {
            show(without_nvcc(&Release::of_wheel(&wheel.version).first(2)));
        }
    }
    Ok(Installed {
        home: home.to_path_buf(),
        components,
    })
}

/// Who installs what is missing, and has it to offer; none if all is there.
fn installer(looked: &Looked) -> Result<Option<Installer>, Finding> {
    if missing(looked).next().is_none() {
        return Ok(None);
    }
    let installer = Installer::find()?;
    for component in missing(looked) {
        must_be_offered(&installer, component)?;
    }
    Ok(Some(installer))
}

/// The toolkit and cuDNN that are wanted, each with its release in the folder, or why it is to be fetched.
type Looked = Vec<(Component, Result<String, Option<String>>)>;

fn look(home: &Path, choice: &Choice, pinned: Option<&Pinned>) -> Result<Looked, Finding> {
    let (cuda, cudnn) = (choice.cuda.as_ref(), choice.cudnn.as_ref());
    let there = Component::both().map(|any| ours(home, &any));
    let major = match (cuda, &there) {
        (Some(cuda), _) => cuda.major(),
        (None, [toolkit, _]) => toolkit
            .as_ref()
            .map_or(majors::NEWEST_CUDA, |toolkit| toolkit.cuda),
    };
    if major > majors::NEWEST_CUDA {
        return Err(unknown_cuda(major));
    }
    // Who names no release keeps the one that is there, also where it is damaged.
    let [toolkit, library] = there.map(|one| {
        let one = one.filter(|one| one.cuda == major)?;
        one.asked_release(home)
    });
    let mut components = [
        Component::toolkit(major, cuda.or(toolkit.as_ref())),
        Component::cudnn(major, cudnn.or(library.as_ref())),
    ];
    for component in &mut components {
        if let Some(pinned) = pinned {
            component.pins = pinned.of(component)?;
        }
    }
    let looked = Vec::from(components.map(|component| {
        let found = component.check(home);
        (component, found)
    }));
    let wanting: Vec<_> = looked.iter().filter(|(_, found)| found.is_err()).collect();
    for (component, found) in &wanting {
        if let Some(folder) = somebody_elses(home, component) {
            return Err(foreign(&folder, found.clone().err().flatten()));
        }
    }
    let foreign_one = looked.iter().find_map(|(one, _)| somebody_elses(home, one));
    match foreign_one {
        Some(folder) if !wanting.is_empty() => Err(foreign(&folder, None)),
        _ => Ok(looked),
    }
}

fn missing(looked: &Looked) -> impl Iterator<Item = &Component> {
    let wanting = looked.iter().filter(|(_, found)| found.is_err());
    wanting.map(|(component, _)| component)
}

fn install_missing(installer: &Installer, home: &Path, looked: &Looked) -> Result<(), Finding> {
    let list: Vec<String> = missing(looked).map(Component::download).collect();
    if !list.is_empty() {
        show(licence_notice(home));
        show(format!("  – {:<12} {}\n", "to fetch", list.join(", ")));
    }
    for (component, found) in looked {
        let Err(why) = found else { continue };
        if let Some(why) = why {
            show(format!("  – {:<12} {why}\n", component.title));
        }
        let release = fetch_one(installer, home, component)?;
        show(format!(
            "  ✓ {:<12} {release} in {}\n",
            component.title,
            place(home, component)
        ));
    }
    Ok(())
}

/// The folder of a component; of a toolkit in several, the one that they are in.
fn place(home: &Path, component: &Component) -> String {
    let folder = match &component.folders[..] {
        [folder] => home.join(folder),
        _ => home.join("nvidia"),
    };
    folder.display().to_string()
}

/// Nothing is downloaded where PyPI lacks a part of what is wanted. Where the installer cannot tell, it is asked to
/// install it.
fn must_be_offered(installer: &Installer, component: &Component) -> Result<(), Finding> {
    let Some(wanted) = &component.wanted else {
        return Ok(());
    };
    let Some(finding) = component.not_offered(&installer.offered(component.project())) else {
        return Ok(());
    };
    if !component.is_cudnn() {
        return Err(finding);
    }
    let every = component.every();
    let mut others = every.iter().filter(|other| other.cuda != component.cuda);
    let other = others.find(|other| {
        let offered = installer.offered(other.project());
        offered
            .iter()
            .any(|one| wanted.is_start_of(&one.to_string()))
    });
    Err(match other {
        Some(other) => finding.help(format!(
            "or fetch that cuDNN with the CUDA that it was built for: `cudnn-guard fetch --cuda {} --cudnn {wanted}`",
            other.cuda
        )),
        None => finding,
    })
}

/// Where to fetch into unless somebody says: `CUDNN_GUARD_HOME`, else the user's data folder.
pub fn home() -> Result<PathBuf, Finding> {
    if let Some(home) = env::var_os("CUDNN_GUARD_HOME").filter(|home| !home.is_empty()) {
        let home = PathBuf::from(home);
        return std::path::absolute(&home).map_err(|error| failed("find", &home, &error));
    }
    default_home().ok_or_else(|| {
        let summary = "neither CUDNN_GUARD_HOME nor HOME is set";
        Finding::error(FindingId::FetchFailed, summary).help("name a folder with `--to DIR`")
    })
}

/// Where a build looks for what was fetched, without being told.
pub fn default_home() -> Option<PathBuf> {
    fetch_dir(cfg!(windows), &|name| env::var_os(name))
}

fn licence_notice(home: &Path) -> String {
    format!(
        "What is fetched is NVIDIA's, not ours: to fetch it is to accept NVIDIA's licences. Their\n\
         texts will lie in {}/*.dist-info; they are also at\n  \
         https://docs.nvidia.com/cuda/eula/\n  \
         https://docs.nvidia.com/deeplearning/cudnn/latest/reference/eula.html\n\n",
        home.display()
    )
}

fn unknown_cuda(cuda: u32) -> Finding {
    Finding::error(
        FindingId::FetchFailed,
        format!("CUDA {cuda} is not known here; 13 is"),
    )
    .help("fetch CUDA 13, or a newer cudnn-guard: `cargo install --path . --features cli` in its clone")
}

fn foreign(folder: &Path, why: Option<String>) -> Finding {
    let finding = Finding::error(
        FindingId::FetchFailed,
        format!(
            "`{}` was not put there by cudnn-guard, which adds nothing to it",
            folder.display()
        ),
    );
    let finding = match why {
        Some(why) => finding.with("found", why),
        None => finding,
    };
    finding.help("fetch into another folder with `--to DIR`")
}
