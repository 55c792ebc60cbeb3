//! A simulated machine: files, variables, and the doctor that examines them.

use crate::support::builds::{toolkit, write};
use crate::support::run;
use crate::terminal::machine::install;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The directory that replaces the real one in the output. It has the same length, because line breaks depend on the
/// length of the paths.
pub const SHOWN: &str = "/home/me/broken";

/// A machine below a directory.
pub struct Machine {
    root: PathBuf,
    variables: Vec<(String, String)>,
    is_image: bool,
    /// The lock on the one directory that all machines use.
    _alone: MutexGuard<'static, ()>,
}

impl Machine {
    /// Creates an empty machine.
    fn new() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let root = PathBuf::from(format!("/tmp/cg-{:07}", std::process::id()));
        assert_eq!(root.as_os_str().len(), SHOWN.len());
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("bin")).unwrap();
        Self {
            root,
            variables: Vec::new(),
            is_image: false,
            _alone: alone,
        }
    }

    /// Creates a system image, with CUDA in NVIDIA's default location if `has_cuda`. Its driver is not queried.
    pub fn image(has_cuda: bool) -> Self {
        let mut machine = Self::new();
        machine.is_image = true;
        fs::create_dir_all(machine.at("usr/include")).unwrap();
        if has_cuda {
            toolkit(&machine.at("usr/local/cuda-13.0"), 13000, false);
            write(&machine.at("usr/local/cuda-13.0/bin/nvcc"), "");
        }
        machine
    }

    /// Creates a machine with everything and a GPU.
    pub fn with_gpu() -> Self {
        let mut machine = Self::new();
        for program in ["sh", "tr"] {
            symlink(
                Path::new("/bin").join(program),
                machine.at("bin").join(program),
            )
            .unwrap();
        }
        install(&machine.at("cuda"));
        machine.set_to("CUDA_HOME", &["cuda"]);
        machine.set_to("CUDNN_PATH", &["cuda"]);
        machine.set_to("LD_LIBRARY_PATH", &["cuda/driver", "cuda/lib64"]);
        machine
    }

    /// Returns `true` if the output does not depend on the real machine. The version of its driver's kernel module would
    /// appear.
    pub fn is_alone(&self) -> bool {
        self.is_image || !Path::new("/proc/driver/nvidia/version").exists()
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Sets a variable to paths on this machine.
    pub fn set_to(&mut self, variable: &str, paths: &[&str]) {
        let paths = std::env::join_paths(paths.iter().map(|path| self.at(path))).unwrap();
        self.set(variable, paths.to_str().unwrap());
    }

    pub fn set(&mut self, variable: &str, value: &str) {
        self.unset(variable);
        self.variables.push((variable.into(), value.into()));
    }

    pub fn unset(&mut self, variable: &str) {
        self.variables.retain(|(name, _)| name != variable);
    }

    /// Returns the output of the doctor in 80 columns, and its exit code.
    pub fn doctor(&self, arguments: &[&str]) -> (String, Option<i32>) {
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        doctor.arg("doctor").args(arguments).env_clear();
        doctor
            .env("PATH", self.at("bin"))
            .env("HOME", self.at("me"))
            .env("COLUMNS", "80");
        doctor.envs(self.variables.iter().cloned());
        if self.is_image {
            doctor.arg("--root").arg(&self.root);
        }
        let ran = run(doctor.current_dir(&self.root));
        assert_eq!(ran.stderr, "");
        let output = ran.stdout.replace(self.root.to_str().unwrap(), SHOWN);
        // Installations on the machine that runs the test.
        let others = output.find("\nalso found\n").filter(|_| !self.is_image);
        let output = match others {
            Some(start) => {
                let end = output[start + 1..].find("\n\n").unwrap();
                format!("{}{}", &output[..start], &output[start + 1 + end + 1..])
            }
            None => output,
        };
        (output, ran.code)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
