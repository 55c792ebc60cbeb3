//! `cudnn-guard fetch`: installs CUDA and cuDNN from NVIDIA's Python wheels, without root.
//!
//! ```text
//! <home>/nvidia/cu13/          the toolkit: bin/nvcc, include, lib, nvvm
//! <home>/nvidia/cu13/lib/stubs a libcuda.so to link with, created by `fetch`
//! <home>/nvidia/cuda_runtime/  the toolkit up to CUDA 12: a directory for each wheel, and no nvcc
//! <home>/nvidia/cudnn/         cuDNN: include, lib
//! <home>/cutlass_library/      CUTLASS: source/include, source/tools/util/include
//! <home>/nvidia/cublas/lib     a link to the toolkit's, where some versions of cuDNN search
//! <home>/<wheel>.dist-info/    the installer's RECORD of each wheel's files, and NVIDIA's license
//! <home>/.cudnn-guard          the list of the directories that `fetch` created and may replace
//! <home>/.fetching-<pid>/      incomplete files
//! <home>/.fetch.lock           empty; locked by a running `fetch`
//! ```

pub mod cargo_config;
pub mod check;
pub mod choice;
pub mod component;
mod driver_stub;
pub mod fault;
mod home;
mod installed;
mod installer;
mod links;
mod lock;
mod pinned;
pub mod project;
pub mod release;
mod remove;
mod requirements;
mod supported;
mod wheel;

use crate::cli::cuda_version::{self, CudaVersion};
use crate::cli::fetch::choice::Choice;
use crate::cli::fetch::component::Component;
use crate::cli::fetch::fault::{FetchFault, failed};
use crate::cli::fetch::home::{
    clean_up, foreign_directory, is_claimed, is_ours, leftovers, ours, replace,
};
use crate::cli::fetch::installed::{Installed, without_nvcc};
use crate::cli::fetch::installer::Installer;
use crate::cli::fetch::pinned::Pinned;
use crate::cli::fetch::release::Release;
use crate::cli::terminal::{flag, option, show, show_on_stderr, show_step, show_wrapped};
use crate::model::kind::Kind;
use crate::runtime::facts::fetch_dir::fetch_dir;
use crate::runtime::facts::majors;
use crate::toolkit::package_names::FETCHED_ON_REQUEST;
use clap::{ArgAction, ArgMatches, Command, value_parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

pub fn command() -> Command {
    Command::new("fetch")
        .about("Install CUDA and cuDNN from NVIDIA's Python wheels, without root")
        .after_help("Examples:\n  cudnn-guard fetch --cuda 12 --cudnn 9.10\n  cudnn-guard fetch --with curand,cutlass\n  cudnn-guard fetch --to cuda --write-config\n  cudnn-guard fetch --lock cuda.lock\n  cudnn-guard fetch --check\n  cudnn-guard fetch --remove")
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
                "Verify installed files against the hashes in their wheels; install nothing",
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
        .arg(
            flag("remove", "Remove the files that fetch installed")
                .conflicts_with_all(["cuda", "cudnn", "with", "write-config", "check", "lock"]),
        )
}

pub fn run(arguments: &ArgMatches) -> ExitCode {
    let home = match arguments.get_one::<PathBuf>("to") {
        Some(dir) => absolute(dir),
        None => home(),
    };
    let faults = match home {
        Ok(home) if arguments.get_flag("check") => check::check(&home),
        Ok(home) if arguments.get_flag("remove") => {
            remove::remove(&home).err().into_iter().collect()
        }
        Ok(home) => Vec::from_iter(fetch_and_show(&home, arguments).err()),
        Err(fault) => vec![fault],
    };
    // The faults are the output of `--check`.
    let print: fn(String) = if arguments.get_flag("check") {
        show_wrapped
    } else {
        show_on_stderr
    };
    for fault in &faults {
        print(format!("\n{}\n", fault.finding()));
    }
    ExitCode::from(u8::from(!faults.is_empty()))
}

/// Fetches, and prints how to use the result.
fn fetch_and_show(home: &Path, arguments: &ArgMatches) -> Result<(), FetchFault> {
    let named = Choice {
        cuda: arguments.get_one::<CudaVersion>("cuda").cloned(),
        cudnn: arguments.get_one::<Release>("cudnn").cloned(),
        libraries: arguments
            .get_many("with")
            .map_or(Vec::new(), |names| names.cloned().collect()),
    };
    let lock = arguments.get_one::<PathBuf>("lock");
    let pinned = lock.map(|path| Pinned::read(path)).transpose()?.flatten();
    let choice = match &pinned {
        Some(pinned) if named == Choice::default() => pinned.choice()?,
        Some(_) => return Err(FetchFault::ReleasesNamedTwice),
        None => named.or_of_crate()?,
    };
    let installed = fetch(home, choice, pinned.as_ref())?;
    if let (Some(path), None) = (lock, &pinned) {
        pinned::write(path, home, &installed.components)?;
        show_step("✓", "locked", path.display());
    }
    show(installed.how_to_use());
    if arguments.get_flag("write-config") {
        show(installed.write_config()?);
    }
    Ok(())
}

/// Fetches the missing components. Everything is checked before anything is written. A directory that this program did
/// not create is never changed.
pub fn fetch(
    home: &Path,
    choice: Choice,
    pinned: Option<&Pinned>,
) -> Result<Installed, FetchFault> {
    let mut lock = lock::take_existing(home);
    if lock.is_some() {
        for left in leftovers(home) {
            clean_up(home, &left);
        }
    }
    let choice = choice.with_cuda(home);
    let mut plan = make_plan(home, &choice, pinned)?;
    let first = missing(&plan).next();
    let installer = first.map(|_| Installer::find()).transpose()?;
    if let Some(installer) = &installer {
        missing(&plan).try_for_each(|(component, _)| must_be_offered(installer, component))?;
        if lock.is_none() {
            fs::create_dir_all(home).map_err(|error| {
                FetchFault::HomeNotCreated(home.to_path_buf(), error.to_string())
            })?;
            lock = lock::take(home);
            // Another process may have fetched in the meantime.
            plan = make_plan(home, &choice, pinned)?;
        }
    }
    for (component, found) in &plan {
        if let Some(release) = component.without_nvcc(home) {
            show_step("i", "nvcc", without_nvcc(&release));
        }
        if let Ok(release) = found {
            let text = format!("{release} is installed: {}", component.place(home));
            show_step("✓", component.kind.product(), text);
        }
    }
    if let Some(installer) = &installer {
        install_missing(installer, home, &plan)?;
    }
    let components = plan.into_iter().map(|(component, _)| component);
    let installed = Installed {
        home: home.to_path_buf(),
        components: components.collect(),
    };
    add_links(&installed)?;
    drop(lock);
    Ok(installed)
}

/// The required components, each with its installed version or the reason to fetch it.
type Plan = Vec<(Component, Result<String, Option<String>>)>;

fn make_plan(home: &Path, choice: &Choice, pinned: Option<&Pinned>) -> Result<Plan, FetchFault> {
    let major = match (&choice.cuda, ours(home, Kind::Toolkit)) {
        (Some(cuda), _) => cuda.release.major(),
        (None, Some(toolkit)) => toolkit.cuda,
        (None, None) => majors::NEWEST_CUDA,
    };
    if major > majors::NEWEST_CUDA {
        return Err(FetchFault::UnknownCuda(major));
    }
    let mut plan = Vec::new();
    let cuda = choice.cuda.as_ref().map(|cuda| &cuda.release);
    for (kind, named) in Kind::BOTH.into_iter().zip([cuda, choice.cudnn.as_ref()]) {
        // Without a requirement the installed version stays, even if it is damaged.
        let installed = ours(home, kind).filter(|one| one.cuda == major);
        let present = installed.and_then(|one| one.short_release(home));
        let libraries: Vec<&str> = choice.libraries.iter().map(String::as_str).collect();
        let component = Component::new(kind, major, named.cloned().or(present)).with(&libraries);
        let component = match pinned {
            Some(pinned) => Component {
                pins: pinned.pins_for(&component)?,
                ..component
            },
            None => component.with_installed(home),
        };
        let found = component.check(home);
        plan.push((component, found));
    }
    let (missing, complete): (Vec<_>, Vec<_>) = plan.iter().partition(|(_, found)| found.is_err());
    if !missing.is_empty() {
        for (component, found) in missing.into_iter().chain(complete) {
            if let Some(dir) = foreign_directory(home, component.kind) {
                let why = found.clone().err().flatten();
                return Err(FetchFault::ForeignDirectory(dir, why));
            }
        }
    }
    Ok(plan)
}

/// Returns the components to fetch, each with the reason unless it is just missing.
fn missing(plan: &Plan) -> impl Iterator<Item = (&Component, Option<&str>)> {
    plan.iter().filter_map(|(component, found)| {
        let why = found.as_ref().err()?;
        Some((component, why.as_deref()))
    })
}

fn install_missing(installer: &Installer, home: &Path, plan: &Plan) -> Result<(), FetchFault> {
    let downloads = missing(plan).map(|(component, _)| component.download());
    let downloads: Vec<String> = downloads.collect();
    if !downloads.is_empty() {
        show(license_notice(home));
        show_step("i", "to fetch", downloads.join(", "));
    }
    for (component, why) in missing(plan) {
        let title = component.kind.product();
        if let Some(why) = why {
            show_step("i", title, why);
        }
        let release = replace(installer, home, component)?;
        let text = format!("{release} in {}", component.place(home));
        show_step("✓", title, text);
    }
    Ok(())
}

/// Checks that PyPI has every wheel of a component, before anything is downloaded. Does nothing if the installer cannot
/// list versions.
fn must_be_offered(installer: &Installer, component: &Component) -> Result<(), FetchFault> {
    if component.required.is_none() {
        return Ok(());
    }
    let other_cuda = |required: &Release| {
        let mut others = component.kind.every().into_iter();
        let other = others.find(|other| {
            component.kind == Kind::Cudnn
                && other.cuda != component.cuda
                && required.is_start_of_one(&installer.available_versions(other.project()))
        });
        other.map(|other| other.cuda)
    };
    let offered = installer.available_versions(component.project());
    let fault = component.not_offered(&offered, other_cuda);
    fault.map_or(Ok(()), Err)
}

/// Adds the links that builds and cuDNN expect.
fn add_links(Installed { home, components }: &Installed) -> Result<(), FetchFault> {
    let dirs = components.iter().flat_map(|one| &one.dirs);
    for dir in dirs.filter(|dir| is_ours(home, dir)) {
        let dir = home.join(dir);
        links::add_developer_links(&dir).map_err(failed("add links to", &dir))?;
        if let Some((mark, text)) = driver_stub::add(&dir) {
            show_step(mark, "libcuda.so", text);
        }
    }
    for toolkit in components.iter().filter(|one| one.kind == Kind::Toolkit) {
        if is_claimed(home, toolkit) {
            links::add_neighbors(home, toolkit.cuda).map_err(failed("add links to", home))?;
        }
    }
    Ok(())
}

/// Returns the default directory to fetch into: `CUDNN_GUARD_HOME`, else one in the user's data directory.
pub fn home() -> Result<PathBuf, FetchFault> {
    if let Some(home) = env::var_os("CUDNN_GUARD_HOME").filter(|home| !home.is_empty()) {
        return absolute(Path::new(&home));
    }
    default_home().ok_or(FetchFault::NoHome)
}

/// Returns the directory of fetched files that a build searches by default.
fn default_home() -> Option<PathBuf> {
    fetch_dir(cfg!(windows), &|name| env::var_os(name))
}

fn absolute(dir: &Path) -> Result<PathBuf, FetchFault> {
    std::path::absolute(dir).map_err(failed("find", dir))
}

fn license_notice(home: &Path) -> String {
    format!(
        "By downloading these files, you accept NVIDIA's licenses,\n\
         which will be saved in\n  \
         {}/*.dist-info\n\
         They are also at\n  \
         https://docs.nvidia.com/cuda/eula/\n  \
         https://docs.nvidia.com/deeplearning/cudnn/latest/reference/eula.html\n\n",
        home.display()
    )
}
