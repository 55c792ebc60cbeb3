//! A compiler cache in front of nvcc, such as sccache.

use crate::kernels::nvcc::diagnostics::ToolFailure;
use crate::model::{Environment, Invocation, Variable};
use crate::system::{Output, files, programs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub struct NvccWrapper {
    program: PathBuf,
    has_failed: AtomicBool,
}

impl NvccWrapper {
    /// Returns the program in `CUDNN_GUARD_NVCC_WRAPPER`, else the sccache in `RUSTC_WRAPPER`. Other wrappers of rustc
    /// do not support nvcc.
    pub fn find(env: &Environment) -> Option<Self> {
        let of_rustc = env.os_var("RUSTC_WRAPPER").map(Path::new);
        let is_sccache = |path: &&Path| path.file_stem().is_some_and(|stem| stem == "sccache");
        let named = env.get(Variable::GuardNvccWrapper).map(Path::new);
        Some(Self {
            program: named.or(of_rustc.filter(is_sccache))?.to_path_buf(),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Runs nvcc through the wrapper. Returns `None` after [`give_up`](Self::give_up).
    pub fn run(&self, nvcc: &Invocation) -> Option<Output> {
        if self.has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let mut command = nvcc.clone();
        // sccache expects nvcc's temporary files in its own directories.
        command.args.retain(|arg| arg != TEMP_FILES_BESIDE_OBJECT);
        let nvcc = nvcc.program.to_string_lossy().into_owned();
        command.args.insert(0, nvcc);
        command.program.clone_from(&self.program);
        let output = programs::run(&command, None);
        Some(output.unwrap_or_else(|finding| Output {
            stderr: finding.to_string(),
            ..Output::default()
        }))
    }

    /// Returns the fault of a wrapper that fails where nvcc succeeds. It is returned only once, and later files are
    /// compiled without the wrapper.
    pub fn give_up<'a>(&'a self, source: &'a Path, output: &Output) -> Option<ToolFailure<'a>> {
        let is_first = !self.has_failed.swap(true, Ordering::Relaxed);
        is_first.then(|| ToolFailure::Wrapper(&self.program, source, output.printed()))
    }
}

/// The flag that makes nvcc put its temporary files beside the object.
pub const TEMP_FILES_BESIDE_OBJECT: &str = "--objdir-as-tempdir";

/// Returns `true` if this nvcc is a link to ccache or sccache, or a script that runs one.
pub fn is_compiler_cache(nvcc: &Path) -> bool {
    let real = files::canonical(nvcc, None).unwrap_or_default();
    let text = files::read_start(&real, 4096).unwrap_or_default();
    real.ends_with("ccache")
        || real.ends_with("sccache")
        || text.starts_with("#!") && text.contains("ccache")
}
