//! What is in the folder of `cudnn-guard fetch`, and how to use it.

use crate::fetch::cargo_config::{self, Refused};
use crate::fetch::component::Component;
use crate::fetch::default_home;
use crate::fetch::release::Release;
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
    /// Whether a build with cudnn-guard looks there without being told.
    fn is_default(&self) -> bool {
        default_home().as_deref() == Some(&*self.home)
    }

    /// The variables that a build needs.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let path = |folder: &str| self.home.join(folder).display().to_string();
        let mut variables = Vec::new();
        if !self.is_default() {
            variables.push(("CUDNN_GUARD_HOME", self.home.display().to_string()));
        }
        for (name, component) in ["CUDA_HOME", "CUDNN_PATH"].iter().zip(&self.components) {
            // Other crates look for a whole toolkit below CUDA_HOME.
            if let [folder] = &component.folders[..] {
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
            .flat_map(|component| &component.folders)
            .map(|folder| self.home.join(folder).join("lib"))
            .filter(|lib| lib.is_dir())
            .map(|lib| lib.display().to_string())
            .collect();
        let build = match (self.is_default(), variables.len()) {
            (true, 0) => {
                "To build with it, nothing more is needed: cudnn-guard looks there\n".to_string()
            }
            (true, _) => format!(
                "To build with it, nothing more is needed: cudnn-guard looks there; for other crates\n\
                 write into .cargo/config.toml\n\n{}",
                cargo_config::table(&variables)
            ),
            (false, _) => format!(
                "To build with it, .cargo/config.toml needs (the first line is enough for cudnn-guard,\n\
                 the others are for other crates)\n\n{}",
                cargo_config::table(&variables)
            ),
        };
        format!(
            "\nNVIDIA's licences\n{}\n\
             {build}\n\
             To run: programs that cudnn-guard linked find it by their rpath; for others\n\n\
             export LD_LIBRARY_PATH={}\n",
            licences.concat(),
            quoted(&libraries.join(":")),
        )
    }

    /// Writes the variables into `.cargo/config.toml` of the current folder, and says so.
    pub fn write_config(&self) -> Result<String, Finding> {
        let dir = Path::new(".cargo");
        let path = dir.join("config.toml");
        let refused = |why: String| Finding::error(FindingId::FetchFailed, why);
        let old = dir.join("config");
        if old.exists() {
            // Where both are, cargo reads this one and not config.toml.
            let why = format!("`{}` is there, in its old form", old.display());
            let by_hand = format!("add the lines above to `{}` by hand", old.display());
            return Err(refused(why).help(by_hand));
        }
        let before = match whole_file::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed("read", &path, &error)),
        };
        let text = cargo_config::with(&before, &self.variables()).map_err(|why| match why {
            Refused::Named(name) => refused(format!("`{}` names {name} already", path.display()))
                .help(format!(
                    "change `{}` by hand to have the lines above",
                    path.display()
                )),
            Refused::Shape => refused(format!(
                "`{}` is not TOML whose `env` is a table",
                path.display()
            ))
            .help("mend it, `cargo tree` says where cargo cannot read it, and run this again"),
        })?;
        if text == before {
            return Ok(format!("\n  ✓ {} says so already\n", path.display()));
        }
        fs::create_dir_all(dir).map_err(|error| failed("create", dir, &error))?;
        whole_file::replace(&path, &text).map_err(|error| failed("write", &path, &error))?;
        Ok(format!("\n  ✓ written into {}\n", path.display()))
    }
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
