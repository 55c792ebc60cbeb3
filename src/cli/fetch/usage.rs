//! Instructions for using the fetched files.

use crate::Finding;
use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::{cargo_config, fault};
use crate::cli::whole_file;
use crate::model::text::joined;
use crate::runtime::facts::quoted;
use crate::system::files;
use std::path::Path;
use std::{fs, io};

/// The message for a CUDA version whose nvcc is not available as a wheel.
pub const WITHOUT_NVCC: &str = "NVIDIA's wheels for CUDA 11 and 12 do not contain it; to compile kernels, run \
    `cudnn-guard fetch --cuda 13`, or install the toolkit from NVIDIA's repository or conda";

impl Installed {
    /// Returns the variables that a build needs. Other crates expect a complete toolkit in CUDA_HOME.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let [toolkit, cudnn] = self.dirs();
        let dirs = [
            ("CUDNN_GUARD_HOME", Some(self.home.clone())),
            ("CUDA_HOME", toolkit),
            ("CUDNN_PATH", cudnn),
        ];
        let dirs = dirs.into_iter();
        dirs.filter_map(|(name, dir)| Some((name, dir?.display().to_string())))
            .collect()
    }

    /// Describes what a build and a program need.
    pub fn how_to_use(&self) -> String {
        let mut dirs = files::list(&self.home.join("nvidia")).unwrap_or_default();
        // A link points to the libraries of another directory.
        dirs.retain(|dir| dir.join("lib").is_dir() && !files::is_link(&dir.join("lib")));
        dirs.sort_by_key(|dir| !dir.ends_with("cudnn"));
        let libraries = dirs.iter().map(|dir| dir.join("lib").display().to_string());
        let libraries = quoted(&joined(libraries, ":"));
        let table = cargo_config::with("", &self.variables()).unwrap_or_default();
        let build = format!(
            "\nTo build with it, add these lines to .cargo/config.toml (cudnn-guard finds\n\
             the user data directory without them, but other crates may not)\n\n{table}"
        );
        if cfg!(windows) {
            return build;
        }
        format!(
            "{build}\n\
             To run: programs linked by cudnn-guard find the libraries\n\
             through their rpath. For other programs, and for libraries\n\
             that open others while they run, such as NVRTC\n\n\
             export LD_LIBRARY_PATH={libraries}\n"
        )
    }

    /// Writes the variables into `.cargo/config.toml` of the current directory. Returns the message.
    pub fn write_config(&self) -> Result<String, Finding> {
        let (old, path) = (Path::new(".cargo/config"), Path::new(".cargo/config.toml"));
        // cargo reads it instead.
        if old.exists() {
            return Err(fault::by_hand(old));
        }
        let before = match whole_file::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(fault::io("read", path))?,
        };
        let text = cargo_config::with(&before, &self.variables());
        let text = text.ok_or_else(|| fault::by_hand(path))?;
        fs::create_dir_all(".cargo").map_err(fault::io("create", path))?;
        whole_file::replace(path, &text).map_err(fault::io("write", path))?;
        Ok(format!("\n  ✓ written into {}\n", path.display()))
    }
}

pub fn license_notice(home: &Path) -> String {
    format!(
        "By downloading these files, you accept NVIDIA's licenses, which will be in\n  \
         {}/*.dist-info\nThey are also at\n  \
         https://docs.nvidia.com/cuda/eula/\n  \
         https://docs.nvidia.com/deeplearning/cudnn/latest/reference/eula.html\n\n",
        home.display()
    )
}
