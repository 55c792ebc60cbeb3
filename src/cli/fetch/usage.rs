//! Instructions for using the fetched files.

use crate::Finding;
use crate::cli::fetch::fault;
use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::{cargo_config, default_home};
use crate::cli::whole_file;
use crate::model::text::joined;
use crate::runtime::facts::finding::quoted;
use crate::system::files;
use std::path::Path;
use std::{fs, io};

impl Installed {
    /// Returns `true` if a build with cudnn-guard searches the directory by default.
    fn is_default(&self) -> bool {
        default_home().as_deref() == Some(&*self.home)
    }

    /// Returns the variables that a build needs.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let home = (!self.is_default()).then(|| self.home.clone());
        // Other crates expect a complete toolkit in CUDA_HOME.
        let (toolkit, cudnn) = (self.toolkit_dir(), self.cudnn_dir());
        let dirs = [
            ("CUDNN_GUARD_HOME", home),
            ("CUDA_HOME", toolkit),
            ("CUDNN_PATH", cudnn),
        ];
        let variable =
            |(name, dir): (_, Option<_>)| Some((name, Path::display(dir.as_deref()?).to_string()));
        dirs.into_iter().filter_map(variable).collect()
    }

    /// Describes what a build and a program need.
    pub fn how_to_use(&self) -> String {
        let licenses = self.wheels.iter().flat_map(|wheel| wheel.licenses());
        let licenses = joined(licenses.map(|path| format!("  {}\n", path.display())), "");
        let mut dirs = files::list(&self.home.join("nvidia")).unwrap_or_default();
        // A link points to the libraries of another directory.
        dirs.retain(|dir| dir.join("lib").is_dir() && !files::is_link(&dir.join("lib")));
        dirs.sort_by_key(|dir| Some(dir) != self.cudnn_dir().as_ref());
        let libraries = joined(
            dirs.iter().map(|dir| dir.join("lib").display().to_string()),
            ":",
        );
        let table = cargo_config::with("", &self.variables()).unwrap_or_default();
        let build = match self.is_default() {
            true => {
                "do nothing more: cudnn-guard searches\n\
                 there by default. For other crates, add to .cargo/config.toml"
            }
            false => {
                "add to .cargo/config.toml (the first line\n\
                 is enough for cudnn-guard, the others are for other crates)"
            }
        };
        let nvcc = self.toolkit_dir().map_or(String::new(), |dir| {
            let bin = quoted(&dir.join("bin").display().to_string());
            format!("\nFor crates that run nvcc, such as cudarc\n\nexport PATH={bin}:$PATH\n")
        });
        format!(
            "\nNVIDIA's licenses\n{licenses}\n\
             To build with it, {build}\n\n{table}{nvcc}\n\
             To run: programs linked by cudnn-guard find the libraries\n\
             through their rpath. For other programs, and for libraries\n\
             that open others while they run, such as NVRTC\n\n\
             export LD_LIBRARY_PATH={}\n",
            quoted(&libraries),
        )
    }

    /// Writes the variables into `.cargo/config.toml` of the current directory. Returns the message.
    pub fn write_config(&self) -> Result<String, Finding> {
        let dir = Path::new(".cargo");
        let path = dir.join("config.toml");
        let shown = path.display();
        let old = dir.join("config");
        if old.exists() {
            return Err(fault::old_cargo_config(&old));
        }
        let before = match whole_file::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(fault::io("read", &path))?,
        };
        let text = cargo_config::with(&before, &self.variables());
        let text = text.map_err(|why| fault::cargo_config(&path, &why))?;
        if text == before {
            return Ok(format!("\n  ✓ {shown} is up to date\n"));
        }
        fs::create_dir_all(dir).map_err(fault::io("create", dir))?;
        whole_file::replace(&path, &text).map_err(fault::io("write", &path))?;
        Ok(format!("\n  ✓ written into {shown}\n"))
    }
}

/// Returns the message for a CUDA version whose nvcc is not available as a wheel.
pub fn without_nvcc(cuda: &str) -> String {
    format!(
        "NVIDIA's wheels for CUDA 11 and 12 do not contain it; to compile kernels, run \
         `cudnn-guard fetch --cuda 13`, or install CUDA {cuda} from NVIDIA's repository \
         (`apt install cuda-toolkit-{}`) or conda (`conda install -c nvidia cuda-toolkit={cuda}`)",
        cuda.replace('.', "-")
    )
}

pub fn license_notice(home: &Path) -> String {
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
