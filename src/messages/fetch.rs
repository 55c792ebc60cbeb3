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
                .help("name a directory that this user may make or write into: `--to DIR`"),
            Self::NoHome => failed("neither CUDNN_GUARD_HOME nor HOME is set")
                .help("name a folder with `--to DIR`"),
            Self::ForeignDirectory(dir, why) => {
                let dir = dir.display();
                failed(format!(
                    "`{dir}` was not put there by cudnn-guard, which adds nothing to it"
                ))
                .with_lines("found", why)
                .help("fetch into another folder with `--to DIR`")
            }
            Self::NothingToRemove(home) => {
                let home = home.display();
                failed(format!("cudnn-guard has put nothing into `{home}`"))
                    .help("name the folder that was fetched into with `--to DIR`")
            }
            Self::NothingToCheck(home, kinds, fetch) => {
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.product()).collect();
                let (kinds, home) = (kinds.join(" and no "), home.display());
                failed(format!("cudnn-guard has put no {kinds} into `{home}`")).help(format!(
                    "run `{fetch}`, or name the folder that was fetched into with `--to DIR`"
                ))
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
                failed(format!("the {title} in `{place}` is not as it was fetched"))
                    .help(format!(
                        "{remove}run `{fetch}`, which fetches all of it anew"
                    ))
                    .with_lines("damaged", files.iter().take(NAMED).chain(&more))
            }
            Self::IncompleteDownload(why) => {
                let why = why.as_deref().unwrap_or("nothing was installed");
                failed(format!("what was fetched is not whole: {why}"))
                    .help("run the same command again")
            }
            Self::ReleasesNamedTwice => {
                config_invalid("the file of `--lock` names the releases already")
                    .help("leave --cuda and --cudnn out, or remove the file")
            }
            Self::NotLocked(path, package) => {
                let what = package.as_deref().unwrap_or("a toolkit and a cuDNN");
                let (shown, path) = (path.display(), quoted(&path.to_string_lossy()));
                failed(format!("`{shown}` does not name {what}")).help(format!(
                    "remove it, and run `cudnn-guard fetch --lock {path}`, which writes it anew"
                ))
            }
            Self::InvalidRelease(kind, table, value) => {
                let (key, example) = match kind {
                    Kind::Toolkit => ("cuda", "13.0"),
                    Kind::Cudnn => ("cudnn", "9.14"),
                };
                config_invalid(format!("`{key}` in [{table}] of Cargo.toml is {value}"))
                    .help(format!("write a release there, such as `{key} = \"{example}\"`"))
            }
            Self::UnknownLibrary(table, value) => {
                config_invalid(format!("`libs` in [{table}] of Cargo.toml is {value}")).help(
                    format!("write a list of these: \"{}\"", FETCHED_ON_REQUEST.join("\", \"")),
                )
            }
            Self::UnknownCuda(major) => failed(format!("CUDA {major} is not known here; 13 is"))
                .help(
                    "fetch CUDA 13, or a newer cudnn-guard: `cargo install --path . --features cli` in its clone",
                ),
            Self::NotOffered {
                kind,
                cuda,
                required,
                nearest,
                other_cuda,
            } => {
                let names: Vec<String> = nearest.iter().map(Release::to_string).collect();
                let are = if nearest.len() == 1 { "is" } else { "are" };
                let (what, option) = match kind {
                    Kind::Toolkit => (format!("CUDA {required}"), "--cuda".to_string()),
                    Kind::Cudnn => (
                        format!("cuDNN {required} for CUDA {cuda}"),
                        format!("--cuda {cuda} --cudnn"),
                    ),
                };
                let command = |release: &String| format!("`cudnn-guard fetch {option} {release}`");
                let commands: Vec<String> = names.iter().map(command).collect();
                let (names, commands) = (names.join(" and "), commands.join(", or "));
                let mut finding = failed(format!(
                    "PyPI has no {what}; the nearest that it has {are} {names}"
                ))
                .help(format!("fetch what it has: {commands}"));
                if let Some(cuda) = other_cuda {
                    finding = finding.help(format!(
                        "fetch that cuDNN with the CUDA that it was built for: `cudnn-guard fetch --cuda {cuda} --cudnn {required}`"
                    ));
                }
                finding
            }
            Self::NoInstaller(without_pip) => failed("neither uv nor a Python with pip is on PATH")
                .with_lines("no pip in", without_pip.iter().map(|path| path.display()))
                .help("install uv (https://docs.astral.sh/uv/), which needs no root")
                .help(match cfg!(windows) {
                    true => "install Python 3 with pip: `winget install Python.Python.3.13`",
                    false => "install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`",
                }),
            Self::NoHashes(command, output) => failed("the hashes of the wheels cannot be told")
                .with("command", command)
                .with("it said", output)
                .help("run this again where the index of the wheels is reached"),
            Self::InstallFailed {
                command,
                output,
                is_shown,
                project,
            } => {
                let above = if *is_shown { "what stands above; " } else { "" };
                let finding = failed("NVIDIA's wheels could not be fetched")
                    .with("command", command)
                    .with("it said", format!("{above}{output}"));
                match project {
                    None => finding.help(
                        "where a hash differs, the index has another file than the one that was locked: ask who runs it",
                    ),
                    Some(project) => {
                        finding
                            .help("run that command to see all it says")
                            .help(format!(
                                "look up which releases there are at https://pypi.org/project/{project}/#history"
                            ))
                    }
                }
            }
            Self::OldCargoConfig(path) => {
                let path = path.display();
                failed(format!("`{path}` is there, in its old form"))
                    .help(format!("add the lines above to `{path}` by hand"))
            }
            Self::CargoConfig(path, why) => match (path.display(), why) {
                (path, Refused::Named(name)) => failed(format!("`{path}` names {name} already"))
                    .help(format!("change `{path}` by hand to have the lines above")),
                (path, Refused::Shape) => failed(format!(
                    "`{path}` is not TOML whose `env` is a table"
                ))
                .help("mend it, `cargo tree` says where cargo cannot read it, and run this again"),
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
