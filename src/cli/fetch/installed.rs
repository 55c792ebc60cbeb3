//! Instructions for using the fetched files.

use crate::cli::fetch::component::Component;
use crate::cli::fetch::fault::{FetchFault, failed};
use crate::cli::fetch::release::Release;
use crate::cli::fetch::{cargo_config, default_home};
use crate::cli::whole_file;
use crate::runtime::facts::finding::quoted;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The toolkit and the cuDNN in a directory of `fetch`.
pub struct Installed {
    pub home: PathBuf,
    pub components: Vec<Component>,
}

impl Installed {
    /// Returns `true` if a build with cudnn-guard searches the directory by default.
    fn is_default(&self) -> bool {
        default_home().as_deref() == Some(&*self.home)
    }

    /// Returns the variables that a build needs.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        if !self.is_default() {
            variables.push(("CUDNN_GUARD_HOME", self.home.display().to_string()));
        }
        for (name, component) in ["CUDA_HOME", "CUDNN_PATH"].iter().zip(&self.components) {
            // Other crates expect a complete toolkit in CUDA_HOME.
            if let Some(dir) = component.dir() {
                variables.push((name, self.home.join(dir).display().to_string()));
            }
        }
        variables
    }

    /// Describes what a build and a program need.
    pub fn how_to_use(&self) -> String {
        let components = self.components.iter();
        let wheels = components.flat_map(|component| component.wheels(&self.home));
        let licenses: String = wheels
            .flatten()
            .flat_map(|wheel| wheel.licenses())
            .map(|path| format!("  {}\n", path.display()))
            .collect();
        let components = self.components.iter().rev();
        let dirs = components.flat_map(|component| &component.dirs);
        let libraries: Vec<String> = dirs
            .map(|dir| self.home.join(dir).join("lib"))
            .filter(|lib| lib.is_dir())
            .map(|lib| lib.display().to_string())
            .collect();
        let variables = self.variables();
        let table = cargo_config::with("", &variables).unwrap_or_default();
        let build = match self.is_default() {
            true if variables.is_empty() => {
                "To build with it, do nothing more: cudnn-guard searches\nthere by default\n"
                    .to_string()
            }
            true => format!(
                "To build with it, do nothing more: cudnn-guard searches\n\
                 there by default. For other crates, add to .cargo/config.toml\n\n{table}"
            ),
            false => format!(
                "To build with it, add to .cargo/config.toml (the first line\n\
                 is enough for cudnn-guard, the others are for other crates)\n\n{table}"
            ),
        };
        let toolkit = variables.iter().find(|(name, _)| *name == "CUDA_HOME");
        let nvcc = toolkit.map_or(String::new(), |(_, dir)| {
            let bin = quoted(&format!("{dir}/bin"));
            format!("\nFor crates that run nvcc, such as cudarc\n\nexport PATH={bin}:$PATH\n")
        });
        format!(
            "\nNVIDIA's licenses\n{licenses}\n\
             {build}{nvcc}\n\
             To run: programs linked by cudnn-guard find the libraries\n\
             through their rpath. For other programs, and for libraries\n\
             that open others while they run, such as NVRTC\n\n\
             export LD_LIBRARY_PATH={}\n",
            quoted(&libraries.join(":")),
        )
    }

    /// Writes the variables into `.cargo/config.toml` of the current directory. Returns the message.
    pub fn write_config(&self) -> Result<String, FetchFault> {
        let dir = Path::new(".cargo");
        let path = dir.join("config.toml");
        let shown = path.display();
        let old = dir.join("config");
        if old.exists() {
            // cargo prefers this file to config.toml.
            return Err(FetchFault::OldCargoConfig(old));
        }
        let before = match whole_file::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        let text = cargo_config::with(&before, &self.variables())
            .map_err(|why| FetchFault::CargoConfig(path.clone(), why))?;
        if text == before {
            return Ok(format!("\n  ✓ {shown} is up to date\n"));
        }
        fs::create_dir_all(dir).map_err(failed("create", dir))?;
        whole_file::replace(&path, &text).map_err(failed("write", &path))?;
        Ok(format!("\n  ✓ written into {shown}\n"))
    }
}

/// Returns the message for a CUDA version whose nvcc is not available as a wheel.
pub fn without_nvcc(cuda: &Release) -> String {
    let name = cuda.to_string();
    let distribution = match name.as_str() {
        "11.8" => ", Debian 12 (`apt install nvidia-cuda-toolkit`)",
        "12.0" => ", Ubuntu 24.04 (`apt install nvidia-cuda-toolkit`)",
        "12.4" => ", Debian 13 (`apt install nvidia-cuda-toolkit`)",
        _ => "",
    };
    format!(
        "NVIDIA's wheels for CUDA 11 and 12 do not contain it; to compile kernels, run \
         `cudnn-guard fetch --cuda 13`, or install CUDA {name} from NVIDIA's repository \
         (`apt install cuda-toolkit-{}`){distribution} or conda (`conda install -c nvidia cuda-toolkit={name}`)",
        name.replace('.', "-")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_nvcc_are_listed_in_one_line() {
        assert_eq!(
            without_nvcc(&Release::from_wheel("12.4")),
            "NVIDIA's wheels for CUDA 11 and 12 do not contain it; to compile kernels, run \
             `cudnn-guard fetch --cuda 13`, or install CUDA 12.4 from NVIDIA's repository \
             (`apt install cuda-toolkit-12-4`), Debian 13 (`apt install nvidia-cuda-toolkit`) or conda (`conda install -c nvidia cuda-toolkit=12.4`)"
        );
    }
}
