//! Failures of `fetch`.

use crate::cli::fetch::cargo_config::Refused;
use crate::cli::fetch::fault::FetchFault;
use crate::cli::fetch::release::Release;
use crate::model::kind::Kind;
use crate::runtime::facts::finding::quoted;
use crate::toolkit::package_names::FETCHED_ON_REQUEST;
use crate::{Finding, FindingId};
use std::path::Path;

/// The number of damaged files that are named.
const NAMED: usize = 5;

impl FetchFault {
    pub fn finding(&self) -> Finding {
        match self {
            Self::Io(verb, path, error) => io_error(verb, path, error),
            Self::HomeNotCreated(home, error) => io_error("create", home, error)
                .help("pass a directory that you can create or write to: `--to DIR`"),
            Self::NoHome => failed("neither CUDNN_GUARD_HOME nor HOME is set")
                .help("pass a directory with `--to DIR`"),
            Self::ForeignDirectory(dir, why) => {
                let dir = dir.display();
                failed(format!(
                    "`{dir}` was not created by cudnn-guard, so `fetch` does not change it"
                ))
                .with_lines("found", why)
                .help("fetch into another directory with `--to DIR`")
            }
            Self::NothingToRemove(home) => {
                let home = home.display();
                failed(format!("cudnn-guard has not installed anything in `{home}`"))
                    .help("pass the directory that you fetched into with `--to DIR`")
            }
            Self::NothingToCheck(home, kinds, fetch) => {
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.product()).collect();
                let (kinds, home) = (kinds.join(" and no "), home.display());
                failed(format!("cudnn-guard has installed no {kinds} in `{home}`"))
                    .help(format!("run `{fetch}`"))
                    .help("pass the directory that you fetched into with `--to DIR`")
            }
            Self::DamagedComponent {
                kind,
                place,
                files,
                unseen,
                fetch,
            } => {
                let title = kind.product();
                let remove = unseen.as_ref().map_or(String::new(), |path| {
                    format!("remove `{}`, then ", quoted(&path.to_string_lossy()))
                });
                let more = files.len().saturating_sub(NAMED);
                let more = (more > 0).then(|| format!("and {more} more"));
                failed(format!("the {title} in `{place}` differs from what was fetched"))
                    .help(format!(
                        "{remove}run `{fetch}` to fetch all of it again"
                    ))
                    .with_lines("damaged", files.iter().take(NAMED).chain(&more))
            }
            Self::IncompleteDownload(why) => {
                let why = why.as_deref().unwrap_or("nothing was installed");
                failed(format!("the download is incomplete: {why}"))
                    .help("run the same command again")
            }
            Self::ReleasesNamedTwice => {
                config_invalid("the `--lock` file already specifies the versions")
                    .help("omit --cuda and --cudnn, or remove the lock file")
            }
            Self::NotLocked(path, package) => {
                let what = package.as_deref().unwrap_or("a toolkit and a cuDNN");
                let (shown, path) = (path.display(), quoted(&path.to_string_lossy()));
                failed(format!("the lock file `{shown}` does not contain {what}")).help(format!(
                    "remove the file, and run `cudnn-guard fetch --lock {path}` to create it again"
                ))
            }
            Self::InvalidRelease(kind, table, value) => {
                let (key, example) = match kind {
                    Kind::Toolkit => ("cuda", "13.0"),
                    Kind::Cudnn => ("cudnn", "9.14"),
                };
                let is_string = value.starts_with(['"', '\'']);
                let reason = if is_string { "is not a version" } else { "must be a string" };
                config_invalid(format!("`{key}` in [{table}] of Cargo.toml {reason}: {value}"))
                    .help(format!("set it to a version in quotation marks, such as `{key} = \"{example}\"`"))
            }
            Self::UnknownKey(table, key) => {
                config_invalid(format!("[{table}] of Cargo.toml has an unknown key: `{key}`"))
                    .help("use one of the keys `cuda`, `cudnn` and `libs`")
            }
            Self::UnknownLibrary(table, value) => {
                config_invalid(format!("`libs` in [{table}] of Cargo.toml is not a list of known libraries: {value}")).help(
                    format!("set it to a list of these names: \"{}\"", FETCHED_ON_REQUEST.join("\", \"")),
                )
            }
            Self::UnknownCuda(major) => failed(format!("CUDA {major} is newer than this cudnn-guard supports; the newest is 13"))
                .help("run `cudnn-guard fetch --cuda 13`")
                .help("update cudnn-guard: `cargo install --path . --features cli` in an updated clone"),
            Self::NotOffered {
                kind,
                cuda,
                required,
                nearest,
                other_cuda,
            } => {
                let names: Vec<String> = nearest.iter().map(Release::to_string).collect();
                let versions = if nearest.len() == 1 { "version is" } else { "versions are" };
                let (what, option) = match kind {
                    Kind::Toolkit => (format!("CUDA {required}"), "--cuda".to_string()),
                    Kind::Cudnn => (
                        format!("cuDNN {required} for CUDA {cuda}"),
                        format!("--cuda {cuda} --cudnn"),
                    ),
                };
                let command = |release: &String| format!("`cudnn-guard fetch {option} {release}`");
                let commands: Vec<String> = names.iter().map(command).collect();
                let (names, commands) = (names.join(" and "), commands.join(" or "));
                let mut finding = failed(format!(
                    "PyPI does not have {what}; the nearest {versions} {names}"
                ))
                .help(format!("run {commands}"));
                if let Some(cuda) = other_cuda {
                    finding = finding.help(format!(
                        "run `cudnn-guard fetch --cuda {cuda} --cudnn {required}` to fetch that cuDNN for CUDA {cuda}"
                    ));
                }
                finding
            }
            Self::NoInstaller(without_pip) => failed("neither uv nor a Python with pip is on PATH")
                .with_paths("no pip in", without_pip)
                .help("install uv (https://docs.astral.sh/uv/), which needs no root")
                .help(match cfg!(windows) {
                    true => "install Python 3 with pip: `winget install Python.Python.3.13`",
                    false => "install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`",
                }),
            Self::NoHashes(command, output) => failed("cannot determine the hashes of the wheels")
                .with("command", command)
                .with("output", output)
                .help("run this command again on a machine that can reach the package index"),
            Self::InstallFailed {
                command,
                output,
                is_shown,
                project,
            } => {
                let above = if *is_shown { "see above; " } else { "" };
                let finding = failed("failed to fetch NVIDIA's wheels")
                    .with("command", command)
                    .with("output", format!("{above}{output}"));
                match project {
                    None => finding.help(
                        "ask the operator of the package index if a hash differs: its file is not the one that was locked",
                    ),
                    Some(project) => {
                        finding
                            .help("run the command by hand to see its full output")
                            .help(format!(
                                "look up the available versions at https://pypi.org/project/{project}/#history"
                            ))
                    }
                }
            }
            Self::OldCargoConfig(path) => {
                let path = path.display();
                failed(format!("`{path}` exists, and cargo reads it instead of config.toml"))
                    .help(format!("add the lines above to `{path}` by hand"))
            }
            Self::CargoConfig(path, why) => match (path.display(), why) {
                (path, Refused::Named(name)) => failed(format!("`{path}` already contains {name}"))
                    .help(format!("add the lines above to `{path}` by hand")),
                (path, Refused::Shape) => failed(format!(
                    "`{path}` is not valid TOML, or its `env` is not a table"
                ))
                .help("fix the file (`cargo tree` shows where cargo cannot read it), and run this command again"),
            },
        }
    }
}

fn failed(summary: impl Into<String>) -> Finding {
    Finding::error(FindingId::FetchFailed, summary)
}

fn config_invalid(summary: impl Into<String>) -> Finding {
    Finding::error(FindingId::ConfigInvalid, summary)
}

fn io_error(verb: &str, path: &Path, error: &str) -> Finding {
    let summary = format!("cannot {verb} `{}`: {error}", path.display());
    Finding::error(FindingId::IoError, summary)
}
