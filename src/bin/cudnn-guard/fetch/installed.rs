//! What is in the folder of `cudnn-guard fetch`, whether it is whole, and how to use it.

use crate::fetch::cargo_config::{self, Refused};
use crate::fetch::claims::ours;
use crate::fetch::component::{Component, Release};
use crate::fetch::lock::Lock;
use crate::fetch::place;
use crate::fetch::record::Damage;
use crate::fetch::wheels::Wheel;
use crate::terminal::show;
use crate::whole_file;
use cudnn_guard::{Finding, FindingId, quoted};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What `fetch` put, or found, in its folder.
pub struct Installed {
    /// The folder.
    pub home: PathBuf,
    /// What is in it.
    pub components: Vec<Component>,
}

impl Installed {
    /// The variables that a build needs.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let path = |folder: &str| self.home.join(folder).display().to_string();
        let mut variables = vec![("CUDNN_GUARD_HOME", self.home.display().to_string())];
        for (name, component) in ["CUDA_HOME", "CUDNN_PATH"].iter().zip(&self.components) {
            // Other crates look for a whole toolkit below CUDA_HOME.
            if let [folder] = component.folders {
                variables.push((name, path(folder)));
            }
        }
        variables
    }

    /// What a build and a program need.
    pub fn how_to_use(&self) -> String {
        let licences: Vec<String> = self
            .components
            .iter()
            .flat_map(|component| component.wheels(&self.home))
            .flatten()
            .flat_map(|wheel| wheel.licences())
            .map(|path| format!("  {}\n", path.display()))
            .collect();
        let variables = self.variables();
        let libraries: Vec<String> = self
            .components
            .iter()
            .rev()
            .flat_map(|component| component.folders)
            .map(|folder| self.home.join(folder).join("lib"))
            .filter(|lib| lib.is_dir())
            .map(|lib| lib.display().to_string())
            .collect();
        format!(
            "\nNVIDIA's licences\n{}\n\
             To build with it, .cargo/config.toml needs (the first line is enough for cudnn-guard,\n\
             the others are for other crates)\n\n{}\n\
             To run: programs that cudnn-guard linked find it by their rpath; for others\n\n\
             export LD_LIBRARY_PATH={}\n",
            licences.concat(),
            cargo_config::table(&variables),
            quoted(&libraries.join(":")),
        )
    }

    /// Writes the variables into `.cargo/config.toml` of the current folder, and says so.
    pub fn write_config(&self) -> Result<String, Finding> {
        let dir = Path::new(".cargo");
        let path = dir.join("config.toml");
        let refused = |why: String| {
            Finding::error(FindingId::FetchFailed, why).help(format!(
                "add the lines above to `{}` by hand",
                path.display()
            ))
        };
        if dir.join("config").exists() {
            // Where both are, cargo reads this one and not config.toml.
            return Err(refused(
                "`.cargo/config` is there, in its old form".to_string(),
            ));
        }
        let before = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed("read", &path, &error)),
        };
        let text = cargo_config::with(&before, &self.variables()).map_err(|why| {
            refused(match why {
                Refused::Named(name) => format!("`{}` names {name} already", path.display()),
                Refused::Shape => {
                    format!("`{}` is not TOML whose `env` is a table", path.display())
                }
            })
        })?;
        if text == before {
            return Ok(format!("\n  ✓ {} says so already\n", path.display()));
        }
        fs::create_dir_all(dir).map_err(|error| failed("create", dir, &error))?;
        whole_file::replace(&path, &text).map_err(|error| failed("write", &path, &error))?;
        Ok(format!("\n  ✓ written into {}\n", path.display()))
    }
}

/// How many damaged files are named.
const NAMED: usize = 5;

/// Compares every file of what `fetch` put into a folder with its wheel's RECORD, says of each component how that went,
/// and changes nothing. The answer is what is wrong.
pub fn check(home: &Path) -> Vec<Finding> {
    // What another `fetch` is at work on is not whole yet.
    let _lock = Lock::take_existing(home);
    let any = [Component::toolkit(0, None), Component::cudnn(0, None)];
    let there = any.each_ref().map(|one| ours(home, one));
    let fetch = command_for(home, &there);
    let damaged = there.iter().flatten();
    let mut findings: Vec<Finding> = damaged
        .filter_map(|component| check_one(home, component, &fetch))
        .collect();
    let absent: Vec<&str> = any
        .iter()
        .zip(&there)
        .filter_map(|(one, there)| there.is_none().then_some(one.title))
        .collect();
    if !absent.is_empty() {
        let summary = format!(
            "cudnn-guard has put no {} into `{}`",
            absent.join(" and no "),
            home.display()
        );
        findings.push(
            Finding::error(FindingId::FetchFailed, summary).help(format!(
                "run `{fetch}`, or name the folder that was fetched into with `--to DIR`"
            )),
        );
    }
    findings
}

/// The command that fetches the same once more, and what is not there of the two.
fn command_for(home: &Path, there: &[Option<Component>; 2]) -> String {
    let mut command = "cudnn-guard fetch".to_string();
    if let [None, Some(cudnn)] = there {
        command.push_str(&format!(" --cuda {}", cudnn.cuda));
    }
    for component in there.iter().flatten() {
        command.push_str(&format!(" {}", component.option(home)));
    }
    command + " --to " + &quoted(&home.to_string_lossy())
}

fn check_one(home: &Path, component: &Component, fetch: &str) -> Option<Finding> {
    let mut count = 0;
    let mut damaged = Vec::new();
    // `fetch` reads no files, and sees this one as whole.
    let mut unseen = None;
    for (wheel, name) in component.wheels(home).iter().zip(component.packages) {
        let files = match wheel.as_ref().map(Wheel::files) {
            Some(Ok(files)) => files,
            Some(Err(why)) => {
                damaged.push(format!("{name}: {why}"));
                continue;
            }
            None => {
                damaged.push(format!("{name} is missing"));
                continue;
            }
        };
        count += files.len();
        for file in files {
            let Some(damage) = file.damage(home) else {
                continue;
            };
            damaged.push(format!("{} {damage}", file.path));
            if matches!(damage, Damage::Contents | Damage::Unreadable(_)) {
                unseen.get_or_insert(file.path);
            }
        }
    }
    let title = component.title;
    let release = component.release(home).unwrap_or_default();
    let place = place(home, component);
    let mark = if damaged.is_empty() { "✓" } else { "✗" };
    show(format!(
        "  {mark} {title:<12} {release}, {count} files checked: {place}\n"
    ));
    let more = damaged.len().saturating_sub(NAMED);
    damaged.truncate(NAMED);
    if more > 0 {
        damaged.push(format!("and {more} more"));
    }
    let remove = unseen.map_or(String::new(), |path| {
        let path = home.join(path);
        format!("remove `{}`, then ", quoted(&path.to_string_lossy()))
    });
    let summary = format!("the {title} in `{place}` is not as it was fetched");
    let finding = Finding::error(FindingId::FetchFailed, summary).help(format!(
        "{remove}run `{fetch}`, which fetches all of it anew"
    ));
    (!damaged.is_empty()).then(|| finding.with_lines("damaged", damaged))
}

/// That something could not be done with a path.
pub fn failed(verb: &str, path: &Path, error: &io::Error) -> Finding {
    Finding::error(
        FindingId::IoError,
        format!("cannot {verb} `{}`: {error}", path.display()),
    )
}

/// Where to get an nvcc of a release that has none as a wheel.
pub fn without_nvcc(cuda: &Release) -> String {
    let name = cuda.to_string();
    let distribution = match name.as_str() {
        "11.8" => ", Debian 12 (`apt install nvidia-cuda-toolkit`)",
        "12.0" => ", Ubuntu 24.04 (`apt install nvidia-cuda-toolkit`)",
        "12.4" => ", Debian 13 (`apt install nvidia-cuda-toolkit`)",
        _ => "",
    };
    format!(
        "  – {:<12} NVIDIA's wheels for CUDA 11 and 12 hold none; for kernels `cudnn-guard fetch --cuda 13`, or CUDA \
         {name} from NVIDIA's repository (`apt install cuda-toolkit-{}`){distribution} or conda (`conda install -c \
         nvidia cuda-toolkit={name}`)\n",
        "nvcc",
        name.replace('.', "-")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_an_nvcc_is_said_in_one_line() {
        assert_eq!(
            without_nvcc(&Release::of_wheel("12.4")),
            "  – nvcc         NVIDIA's wheels for CUDA 11 and 12 hold none; for kernels `cudnn-guard fetch --cuda 13`, \
             or CUDA 12.4 from NVIDIA's repository (`apt install cuda-toolkit-12-4`), Debian 13 (`apt install \
             nvidia-cuda-toolkit`) or conda (`conda install -c nvidia cuda-toolkit=12.4`)\n"
        );
    }
}
