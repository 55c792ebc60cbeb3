//! `cudnn-guard fetch`: CUDA and cuDNN without root, from NVIDIA's Python wheels.
//!
//! ```text
//! <home>/nvidia/cu13/          the toolkit: bin/nvcc, include, lib, nvvm
//! <home>/nvidia/cu13/lib/stubs a libcuda.so to link with, made here
//! <home>/nvidia/cudnn/         cuDNN: include, lib
//! <home>/nvidia/cublas/lib     a link to the toolkit's, where some releases of cuDNN look
//! <home>/<wheel>.dist-info/    what belongs to which wheel, and NVIDIA's licence
//! <home>/.cudnn-guard          the folders above that this program put there, and so may replace
//! <home>/.fetching-<pid>/      what is not whole yet
//! ```

mod cargo_config;
mod component;
mod driver_stub;
mod installed;
mod installer;
mod wheels;

use crate::fetch::component::{Component, Release};
use crate::fetch::installed::{Installed, failed};
use crate::fetch::installer::Installer;
use crate::terminal::show;

use clap::{Arg, ArgAction, ArgMatches, Command};
use cudnn_guard::{Finding, FindingId};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

const MARKER: &str = ".cudnn-guard";
const TEMPORARY: &str = ".fetching-";

/// Its command line.
pub fn command() -> Command {
    Command::new("fetch")
        .about("Installs CUDA and cuDNN without root, from NVIDIA's Python wheels")
        .arg(
            Arg::new("cuda")
                .long("cuda")
                .value_name("X.Y")
                .value_parser(|text: &str| Release::parse(text, 2))
                .help("The release of CUDA; the newest 13 unless given"),
        )
        .arg(
            Arg::new("cudnn")
                .long("cudnn")
                .value_name("X.Y")
                .value_parser(|text: &str| Release::parse(text, 3))
                .help("The release of cuDNN; the newest unless given"),
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
}

/// Fetches, and says what is needed to use it.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let home = match arguments.get_one::<PathBuf>("to") {
        Some(dir) => std::path::absolute(dir).map_err(|error| failed("find", dir, &error)),
        None => home(),
    };
    let done = home.and_then(|home| {
        let installed = fetch(
            &home,
            arguments.get_one::<Release>("cuda"),
            arguments.get_one::<Release>("cudnn"),
        )?;
        show(installed.how_to_use());
        if arguments.get_flag("write-config") {
            show(installed.write_config()?);
        }
        Ok(())
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(finding) => {
            show(format!("\n{finding}\n"));
            ExitCode::from(1)
        }
    }
}

/// Fetches what is not there yet. Everything is looked at before anything is written: a folder that is somebody
/// else's stays as it is, whole or not.
pub fn fetch(
    home: &Path,
    cuda: Option<&Release>,
    cudnn: Option<&Release>,
) -> Result<Installed, Finding> {
    if let Some(cuda) = cuda.filter(|cuda| cuda.major() != 13) {
        return Err(other_cuda(cuda));
    }
    let components = vec![Component::toolkit(cuda), Component::cudnn(cudnn)];
    let mut wanting = Vec::new();
    for component in &components {
        let folder = home.join(component.folder);
        let title = component.title;
        match component.check(home) {
            Ok(release) => show(format!(
                "  ✓ {title:<12} {release} is there: {}\n",
                folder.display()
            )),
            Err(why) if folder.exists() && !is_ours(home, component.folder) => {
                return Err(foreign(&folder, why));
            }
            Err(why) => wanting.push((component, why)),
        }
    }
    if !wanting.is_empty() {
        if let Some(other) = somebody_elses(home, &components) {
            return Err(foreign(&other, None));
        }
        let installer = Installer::find()?;
        fs::create_dir_all(home).map_err(|error| failed("create", home, &error))?;
        remove_leftovers(home);
        show(licence_notice(home));
        for (component, why) in wanting {
            if let Some(why) = why {
                show(format!("  – {:<12} {why}\n", component.title));
            }
            let release = fetch_one(&installer, home, component)?;
            show(format!(
                "  ✓ {:<12} {release} in {}\n",
                component.title,
                home.join(component.folder).display()
            ));
        }
    }
    for component in &components {
        let folder = home.join(component.folder);
        if is_ours(home, component.folder) {
            wheels::add_developer_view(&folder)
                .map_err(|error| failed("add links to", &folder, &error))?;
            if let Some(line) = driver_stub::add(&folder) {
                show(line);
            }
        }
    }
    if is_ours(home, Component::toolkit(None).folder) {
        wheels::add_neighbours(home).map_err(|error| failed("add links to", home, &error))?;
    }
    Ok(Installed {
        home: home.to_path_buf(),
        components,
    })
}

/// A folder below `nvidia` that this program did not put there: then the home is a virtual environment, or what
/// pip was told to fill, and nothing is added to it.
fn somebody_elses(home: &Path, components: &[Component]) -> Option<PathBuf> {
    components
        .iter()
        .map(|component| component.folder)
        .find(|folder| home.join(folder).exists() && !is_ours(home, folder))
        .map(|folder| home.join(folder))
}

/// Installs a component into a folder of its own, looks at it, and moves it in whole.
fn fetch_one(installer: &Installer, home: &Path, component: &Component) -> Result<String, Finding> {
    let temporary = home.join(format!("{TEMPORARY}{}", std::process::id()));
    let fresh = temporary.join("new");
    let result = fs::create_dir_all(&fresh)
        .map_err(|error| failed("create", &fresh, &error))
        .and_then(|()| {
            let count = component.packages.len();
            let wheels = if count == 1 { "wheel" } else { "wheels" };
            show(format!(
                "  fetching {} ({count} {wheels})\n",
                component.title
            ));
            installer.install(component, &fresh)?;
            let release = component.check(&fresh).map_err(|why| {
                let why = why.unwrap_or_else(|| "nothing was installed".to_string());
                Finding::error(
                    FindingId::FetchFailed,
                    format!("what was fetched is not whole: {why}"),
                )
                .help("run the same command again")
            })?;
            move_in(home, component, &temporary).map_err(|error| failed("change", home, &error))?;
            Ok(release)
        });
    let _ = fs::remove_dir_all(&temporary);
    result
}

/// Puts a component in the place of the one that is there. The records go first and come last: whatever stops
/// this half-way, the next `fetch` sees a component that is not whole.
fn move_in(home: &Path, component: &Component, temporary: &Path) -> io::Result<()> {
    let old = temporary.join("old");
    fs::create_dir_all(&old)?;
    for wheel in component.wheels(home).into_iter().flatten() {
        if let Some(name) = wheel.info.file_name() {
            fs::rename(&wheel.info, old.join(name))?;
        }
    }
    claim(home, component.folder)?;
    let folder = home.join(component.folder);
    if folder.exists() {
        fs::rename(&folder, old.join("folder"))?;
    }
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    let fresh = temporary.join("new");
    fs::rename(fresh.join(component.folder), &folder)?;
    for wheel in component.wheels(&fresh).into_iter().flatten() {
        if let Some(name) = wheel.info.file_name() {
            fs::rename(&wheel.info, home.join(name))?;
        }
    }
    Ok(())
}

/// Whether this program put that folder there.
fn is_ours(home: &Path, folder: &str) -> bool {
    fs::read_to_string(home.join(MARKER)).is_ok_and(|text| text.lines().any(|line| line == folder))
}

fn claim(home: &Path, folder: &str) -> io::Result<()> {
    if is_ours(home, folder) {
        return Ok(());
    }
    let path = home.join(MARKER);
    let text = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, format!("{text}{folder}\n"))
}

/// Removes what earlier runs that were killed have left.
fn remove_leftovers(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY));
        // Without /proc nobody tells whether the other one still runs: then it stays.
        let gone =
            |pid: &str| Path::new("/proc/self").exists() && !Path::new("/proc").join(pid).exists();
        if pid.is_some_and(gone) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Where to fetch into unless somebody says: `CUDNN_GUARD_HOME`, else the user's data folder.
pub fn home() -> Result<PathBuf, Finding> {
    let named = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(home) = named("CUDNN_GUARD_HOME") {
        return std::path::absolute(&home).map_err(|error| failed("find", &home, &error));
    }
    // A relative XDG_DATA_HOME is to be ignored: https://specifications.freedesktop.org/basedir/latest/
    named("XDG_DATA_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| named("LOCALAPPDATA"))
        .or_else(|| named("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("cudnn-guard"))
        .ok_or_else(|| {
            Finding::error(
                FindingId::FetchFailed,
                "neither CUDNN_GUARD_HOME nor HOME is set",
            )
            .help("name a folder with `--to DIR`")
        })
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

fn other_cuda(cuda: &Release) -> Finding {
    if cuda.major() < 13 {
        Finding::error(
            FindingId::FetchFailed,
            format!("CUDA {cuda} has no nvcc among NVIDIA's Python wheels; they hold one from 13.0 on"),
        )
        .help("fetch CUDA 13: `cudnn-guard fetch --cuda 13.0`")
        .help(
            "or install that toolkit from https://developer.nvidia.com/cuda-toolkit-archive and set \
             CUDA_HOME to its directory",
        )
    } else {
        Finding::error(
            FindingId::FetchFailed,
            format!("CUDA {cuda} is not known here; 13 is"),
        )
        .help("fetch CUDA 13, or a newer cudnn-guard: `cargo install cudnn-guard --features cli`")
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_12_is_refused_with_what_to_do_instead() {
        let release = Release::parse("12.4", 2).expect("a release");
        assert_eq!(
            other_cuda(&release).to_string(),
            "CUDA 12.4 has no nvcc among NVIDIA's Python wheels; they hold one from 13.0 on  [fetch-failed]\n  \
             = help: fetch CUDA 13: `cudnn-guard fetch --cuda 13.0`\n  \
             = help: or install that toolkit from https://developer.nvidia.com/cuda-toolkit-archive and set \
             CUDA_HOME to its directory"
        );
    }
}
