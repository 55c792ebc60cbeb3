//! Explanations of nvcc's error messages.

use crate::host_compiler::selection::{MissingHostCompiler, NO_CL, missing as missing_compiler};
use crate::kernels::nvcc::death::Death;
use crate::model::{CompilerChoice, Invocation, Os, Toolkit};
use crate::runtime::facts::Version;
#[cfg(feature = "cli")]
use crate::system::Host;
use crate::system::files;
use crate::toolkit::Plan;
use crate::toolkit::nvcc::{self, MissingTemporaryDirectory};
use crate::toolkit::package_names::{self, Package};
use std::path::Path;
#[cfg(feature = "cli")]
use std::path::PathBuf;

pub struct Failure<'a> {
    /// The output of nvcc and its host compiler.
    pub output: &'a str,
    pub plan: &'a Plan<'a>,
    /// The toolkits that were not chosen.
    pub others: &'a [&'a Toolkit],
}

/// An nvcc and its CUDA version.
pub type Compiler<'a> = (&'a Path, Option<Version>);

pub enum FailureCause<'a> {
    /// A directory for temporary files that does not exist.
    TemporaryDirectory(MissingTemporaryDirectory<'a>),
    /// A missing program of this nvcc.
    MissingTool(&'a str, Compiler<'a>),
    /// A missing header, and the root of a toolkit that has it.
    InToolkit(&'a str, &'a Path),
    /// A missing header, nvcc and its system, and the package of the header.
    MissingHeader(&'a str, Compiler<'a>, Package<'a>, Os),
    /// A host compiler that nvcc cannot start.
    HostCompiler(MissingHostCompiler<'a>),
    /// A cause that is only in this output.
    Output(&'a str),
}

/// A program that fails when kernels are compiled.
pub enum ToolFailure<'a> {
    /// nvcc, with the file, the command, its output and the cause.
    Compilation(&'a Path, &'a Invocation, &'a str, FailureCause<'a>),
    /// nvcc, which ended without an error message: the file, the first death, and the second one unless the retry
    /// succeeded. The path is an nvcc that is a compiler cache.
    Died(&'a Path, &'a Death, Option<(&'a Death, Option<&'a Path>)>),
    /// nvcc, when it links device code, with the command and its output.
    DeviceLink(&'a Invocation, String),
    /// The archiver, with the name of the library.
    Archive(&'a str, cc::Error),
    /// A wrapper, with a file that nvcc itself compiles, and the wrapper's output.
    Wrapper(&'a Path, &'a Path, String),
    /// nvcc, with the path where its `cicc` is missing.
    #[cfg(feature = "cli")]
    NoCicc(&'a Path, PathBuf, FailureCause<'a>),
}

/// The programs that nvcc runs.
const TOOLS: [&str; 5] = ["cicc", "cudafe++", "ptxas", "fatbinary", "nvlink"];

/// Returns the fault if the device code compiler is not where this nvcc searches for it.
#[cfg(feature = "cli")]
pub fn without_cicc<'a>(toolkit: &'a Toolkit, host: &'a Host) -> Option<ToolFailure<'a>> {
    let nvcc = toolkit.nvcc.as_deref()?;
    let real = files::canonical(nvcc, None).ok()?;
    let bin = real.parent()?;
    let profile = files::read(&bin.join("nvcc.profile")).ok()?;
    let is_usual = |line: &str| {
        let value = line.strip_prefix("CICC_PATH");
        value.is_some_and(|value| value.trim_start_matches([' ', '=']) == "$(TOP)/nvvm/bin")
    };
    let program = host.builder().program("cicc");
    let cicc = bin.parent()?.join("nvvm").join("bin").join(&program);
    let exists = files::is_file(&cicc) || files::is_file(&bin.join(&program));
    if exists || !profile.lines().any(is_usual) {
        return None;
    }
    let cause = FailureCause::MissingTool("cicc", (nvcc, toolkit.version));
    Some(ToolFailure::NoCicc(nvcc, cicc, cause))
}

impl<'a> Failure<'a> {
    pub fn cause(&self) -> FailureCause<'a> {
        nvcc::temporary_directory(&self.plan.host.env)
            .map(FailureCause::TemporaryDirectory)
            .or_else(|| self.missing_tool())
            .or_else(|| self.missing_header())
            .or_else(|| self.missing_compiler())
            .unwrap_or(FailureCause::Output(self.output))
    }

    fn missing_tool(&self) -> Option<FailureCause<'a>> {
        let mut missing = Vec::new();
        for line in self.output.lines() {
            if line.contains("not found") || line.contains("No such file") {
                missing.extend(line.split([' ', ':', '/', '\'', '"']));
            }
        }
        let tool = TOOLS.iter().find(|tool| missing.contains(tool))?;
        Some(FailureCause::MissingTool(tool, self.compiler()))
    }

    fn missing_header(&self) -> Option<FailureCause<'a>> {
        let header = self.output.lines().find_map(absent_header)?;
        let package = package_names::of_header(header)?;
        let has = |toolkit: &&&Toolkit| {
            let mut dirs = toolkit.include_dirs.iter();
            toolkit.nvcc.is_some() && dirs.any(|dir| files::is_file(&dir.join(header)))
        };
        if let Some(other) = self.others.iter().find(has) {
            return Some(FailureCause::InToolkit(header, &other.root));
        }
        let (nvcc, os) = (self.compiler(), self.plan.host.builder().os);
        Some(FailureCause::MissingHeader(header, nvcc, package, os))
    }

    fn compiler(&self) -> Compiler<'a> {
        (&self.plan.nvcc, self.plan.cuda())
    }

    fn missing_compiler(&self) -> Option<FailureCause<'a>> {
        let Plan { host, choice, .. } = self.plan;
        let missing = missing_compiler(self.output, choice, &host.env)?;
        // Otherwise Debian's own search for a compiler may have failed.
        let is_absent = self.output.contains("No such file or directory");
        let is_cause = self.output.contains(NO_CL) || is_absent && *choice != CompilerChoice::Unset;
        is_cause.then_some(FailureCause::HostCompiler(missing))
    }
}

/// Returns `curand.h` for `a.cu:1:10: fatal error: curand.h: No such file or directory`,
/// `fatal error: 'curand.h' file not found` and `Cannot open include file: 'curand.h': No such file or directory`.
pub fn absent_header(line: &str) -> Option<&str> {
    let line = line
        .split_once("fatal error")
        .map_or(line, |(_, rest)| rest);
    let end = ["' file not found", "': No such file", ": No such file"];
    let (before, _) = end.iter().find_map(|end| line.split_once(end))?;
    let name = before.rsplit([' ', '\'', '"']).next()?;
    (name.contains(".h") || name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_compiler::query;
    use crate::toolkit::nvcc_command::Product;
    use crate::toolkit::nvcc_command::tests::{LINUX, host};

    #[track_caller]
    fn helps(output: &str, with: &str) {
        let help = with_env(output, &[], &[]).unwrap_or_default();
        assert!(help.contains(with), "{help}");
    }

    fn with_env(output: &str, env: &[(&str, &str)], others: &[&Toolkit]) -> Option<String> {
        let host = host(LINUX, env);
        let cuda = Toolkit {
            version: Some(Version::new(13, 5, 0)),
            ..Toolkit::default()
        };
        let nvcc = Path::new("/venv/site-packages/nvidia/cu13/bin/nvcc");
        let plan = query::plan(&host, Some(&cuda), nvcc, Product::Object, Vec::new());
        let Ok(plan) = &plan else {
            panic!("nvcc is its host compiler")
        };
        let failure = Failure {
            output,
            plan,
            others,
        };
        failure.cause().help()
    }

    /// Each text is from nvcc 13.5 of the wheels.
    #[test]
    fn a_missing_wheel_is_named() {
        let cicc = "sh: 1: /venv/site-packages/nvidia/cu13/bin/../nvvm/bin/cicc: not found";
        helps(cicc, "run `pip install 'nvidia-nvvm==13.5.*'`");
        helps("sh: 1: ptxas: not found", "'nvidia-cuda-nvcc==13.5.*'");
        let crt = "/cu13/bin/../include/cuda_runtime.h:82:10: fatal error: crt/host_config.h: No such file or directory";
        helps(crt, "'nvidia-cuda-crt==13.5.*'");
        helps(
            "b.cu:1:10: fatal error: curand.h: No such file or directory",
            "run `pip install nvidia-curand` to get `curand.h`",
        );
        helps(
            "b.cu:1:10: fatal error: mine.h: No such file or directory",
            "call `.include(..)` in build.rs with the directory that contains `mine.h`",
        );
    }

    #[test]
    fn a_toolkit_with_the_header_is_named() {
        let root = std::env::temp_dir().join(format!("cudnn-guard-has-{}", std::process::id()));
        std::fs::create_dir_all(root.join("include")).unwrap();
        std::fs::write(root.join("include/curand.h"), "").unwrap();
        let toolkit = Toolkit {
            root: root.clone(),
            nvcc: Some(root.join("bin/nvcc")),
            include_dirs: vec![root.join("include")],
            ..Toolkit::default()
        };
        let output = "b.cu:1:10: fatal error: curand.h: No such file or directory";
        let help = with_env(output, &[], &[&toolkit]).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(
            help,
            format!(
                "set CUDA_HOME to `{}`, which contains `curand.h`",
                root.display()
            )
        );
    }

    #[test]
    fn a_variable_with_a_missing_path_is_named() {
        let output = "/usr/bin/g++-99: No such file or directory\nnvcc fatal   : Failed to preprocess host compiler properties.";
        let env = [("NVCC_CCBIN", "/usr/bin/g++-99")];
        assert_eq!(
            with_env(output, &env, &[]).unwrap(),
            "set NVCC_CCBIN to an existing compiler, or unset it: there is no compiler `/usr/bin/g++-99`"
        );
        let env = [("NVCC_PREPEND_FLAGS", "-ccbin /usr/bin/g++-99")];
        assert!(
            with_env(output, &env, &[])
                .unwrap()
                .contains("NVCC_PREPEND_FLAGS")
        );
        let output = "nvcc fatal   : Could not open output file '/none/tmpxft_00003cdf_0000000a'";
        let help = with_env(output, &[("TMPDIR", "/none")], &[]).unwrap();
        assert_eq!(
            help,
            "set TMPDIR to an existing directory, or unset it: `/none` is not a directory"
        );
        assert_eq!(with_env(output, &[("TMPDIR", "/")], &[]), None);
    }

    /// The texts of nvcc 13.5, of sccache 0.16.0, and of MSVC 19.44 with CUDA 13.2.
    #[test]
    fn other_errors_have_a_help() {
        for (output, help) in [
            (
                "a.cu:1:10: fatal error: cudnn.h: No such file or directory",
                "require cuDNN in build.rs",
            ),
            (
                "sccache: error: Missing \"cubin\" file output",
                "set NVCC to the full path",
            ),
            (
                "cuda/std/__cccl/preprocessor.h(23): fatal error C1189: #error: MSVC/cl.exe with traditional preprocessor is used.",
                "add `-Xcompiler=/Zc:preprocessor` to NVCC_APPEND_FLAGS",
            ),
            (
                "ptxas /tmp/w.ptx, line 37; error   : Feature 'cp.async.commit_group' requires .target sm_80 or higher",
                "call `.at_least(..)` on these kernels",
            ),
            (
                "ptxas /tmp/w.ptx, line 23; error   : Instruction 'wgmma.fence' not supported on .target 'sm_90'",
                "require a target with a letter: `90a`",
            ),
            (
                "nvcc fatal   : Cannot find compiler 'cl.exe' in PATH",
                "install Visual Studio's C++ tools",
            ),
            // Debian's own search for a compiler fails first; the second line is from nvcc.
            (
                "ERROR: No supported gcc/g++ host compiler found.\n\
                 nvcc fatal   : Failed to preprocess host compiler properties.",
                "that this CUDA supports",
            ),
            (
                "gcc: No such file or directory\nnvcc fatal   : Failed to preprocess host compiler properties.",
                "install g++",
            ),
        ] {
            helps(output, help);
        }
        let other = "a.cu(1): error: identifier \"y\" is undefined";
        assert_eq!(with_env(other, &[], &[]), None);
    }
}
