//! Queries an nvcc. It is run by its absolute path, because it prints paths relative to that.

use crate::model::{Environment, Invocation};
use crate::system::{Output, ProbeCache, files};
use crate::toolkit::nvcc_output::{
    parse_gpu_codes, parse_help, parse_layout, parse_version, without_commands,
};
use crate::{Finding, Target, Version};
use std::path::{Path, PathBuf};

pub use crate::toolkit::nvcc_output::Layout;

/// The label of the compiler's output.
pub const SAYS: &str = "nvcc says";

/// An empty source that always exists. nvcc requires one even if it does not read it.
const NOTHING: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

#[derive(Clone, Debug)]
pub enum NvccFault {
    NotRun(Finding),
    NoAnswer {
        question: Question,
        command: Invocation,
        output: String,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Question {
    /// The directories of headers and libraries.
    Layout,
    Version,
    GpuCodes,
}

/// Returns the search path for headers and libraries, with links and `..` resolved and without missing directories.
/// nvcc first searches for its host compiler, and prints nothing if it finds none.
pub fn layout(nvcc: &Path, answers: &ProbeCache) -> Result<Layout, NvccFault> {
    let question = Invocation::new(nvcc, &["-v", "--dryrun", "-x", "cu", NOTHING]);
    // nvcc prints it to standard error. Some wrappers combine the streams.
    let parse =
        |output: &Output| parse_layout(&output.stderr).or_else(|| parse_layout(&output.stdout));
    // The compiler that a wrapper runs, and its profile.
    let depends_on = |output: &Output| {
        let bin = parse(output)?.top.join("bin");
        Some(files::below(&bin, &["nvcc", "nvcc.exe", "nvcc.profile"]))
    };
    let output = answers.query(&question, &depends_on);
    let mut output = output.map_err(NvccFault::NotRun)?;
    let Some(layout) = parse(&output) else {
        // The commands are long and irrelevant.
        output.stdout = without_commands(&output.stdout);
        output.stderr = without_commands(&output.stderr);
        return Err(no_answer(Question::Layout, question, &output));
    };
    let real = |dirs: &[PathBuf]| {
        let mut real = Vec::new();
        for dir in dirs {
            if let Ok(dir) = files::canonical(dir, None) {
                files::push_new(&mut real, dir);
            }
        }
        real
    };
    Ok(Layout {
        include_dirs: real(&layout.include_dirs),
        link_dirs: real(&layout.link_dirs),
        top: files::canonical(&layout.top, None).unwrap_or(layout.top),
    })
}

pub fn version(nvcc: &Path, answers: &ProbeCache) -> Result<Version, NvccFault> {
    ask(nvcc, "--version", Question::Version, answers, parse_version)
}

/// Returns the machine code targets of an nvcc in numeric order, without those with a suffix.
pub fn gpu_codes(nvcc: &Path, answers: &ProbeCache) -> Result<Vec<Target>, NvccFault> {
    let parse = |text: &str| Some(parse_gpu_codes(text)).filter(|codes| !codes.is_empty());
    ask(nvcc, "--list-gpu-code", Question::GpuCodes, answers, parse)
}

/// Returns the machine code targets with a suffix, which only nvcc's help lists. Returns `None` if it lists no targets.
pub fn lettered_codes(nvcc: &Path, answers: &ProbeCache) -> Option<Vec<Target>> {
    ask(nvcc, "--help", Question::GpuCodes, answers, parse_help).ok()
}

/// Runs nvcc with this argument and parses its standard output.
fn ask<T>(
    nvcc: &Path,
    argument: &str,
    question: Question,
    answers: &ProbeCache,
    parse: fn(&str) -> Option<T>,
) -> Result<T, NvccFault> {
    let command = Invocation::new(nvcc, &[argument]);
    let depends_on = |output: &Output| parse(&output.stdout).map(|_| Vec::new());
    let output = answers.query(&command, &depends_on);
    let output = output.map_err(NvccFault::NotRun)?;
    parse(&output.stdout).ok_or_else(|| no_answer(question, command, &output))
}

fn no_answer(question: Question, command: Invocation, output: &Output) -> NvccFault {
    NvccFault::NoAnswer {
        question,
        command,
        output: output.printed().trim_end().to_string(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::model::Environment;
    use crate::runtime::facts::FindingId;

    #[test]
    fn quotes_a_program_that_is_not_nvcc() {
        assert_eq!(
            gpu_codes(Path::new("/bin/echo"), &ProbeCache::default())
                .unwrap_err()
                .finding()
                .to_string(),
            "`/bin/echo` does not report the GPUs that it supports  [nvcc-failed]\n  \
             = help: run the command by hand to see why this nvcc does not work\n  \
             nvcc says   --list-gpu-code\n  \
             command     /bin/echo --list-gpu-code"
        );
        let silent = layout(Path::new("/bin/true"), &ProbeCache::default()).unwrap_err();
        let silent = silent.finding();
        assert_eq!(silent.evidence[0], ("nvcc says", "nothing".to_string()));
        assert_eq!(
            version(Path::new("/bin/false"), &ProbeCache::default())
                .unwrap_err()
                .finding()
                .id,
            FindingId::NvccFailed
        );
    }

    #[test]
    #[ignore = "needs CUDNN_GUARD_REAL"]
    fn queries_the_real_nvcc() {
        let wheels = std::env::var_os("CUDNN_GUARD_REAL").expect("it names the wheels");
        let top = Path::new(&wheels).join("cuda-cu13/nvidia/cu13");
        let top = top.canonicalize().unwrap();
        let nvcc = top.join("bin/nvcc");
        let out = std::env::temp_dir().join(format!("cudnn-guard-nvcc-{}", std::process::id()));
        let env = [("OUT_DIR".to_string(), out.clone().into_os_string())];
        let answers = ProbeCache::open(&Environment::new(env.clone()));
        let found = layout(&nvcc, &answers).unwrap();
        assert_eq!(found.top, top);
        assert!(found.include_dirs[0].join("cuda.h").is_file(), "{found:?}");
        assert!(
            found.link_dirs[0].join("libcudart_static.a").is_file(),
            "{found:?}"
        );
        assert!(version(&nvcc, &answers).unwrap() >= Version::new(11, 0, 0));
        let codes = gpu_codes(&nvcc, &answers).unwrap();
        assert!(codes.is_sorted() && codes.len() > 5, "{codes:?}");
        let letters = lettered_codes(&nvcc, &answers).unwrap();
        let sm_90a = crate::toolkit::nvcc_output::parse_gpu_codes("sm_90a");
        assert!(letters.starts_with(&sm_90a), "{letters:?}");
        // The next build runs no nvcc.
        let next = ProbeCache::open(&Environment::new(env));
        let saved = std::fs::read_dir(out.join("cudnn-guard/queries")).unwrap();
        assert_eq!(saved.count(), 8, "four outputs and their stamps");
        assert_eq!(layout(&nvcc, &next).unwrap(), found);
        assert_eq!(gpu_codes(&nvcc, &next).unwrap(), codes);
        std::fs::remove_dir_all(out).unwrap();
    }
}

/// A directory for temporary files that TMPDIR names but that does not exist.
pub struct MissingTemporaryDirectory<'a>(pub &'a Path);

/// Returns the directory for temporary files if it does not exist, because nvcc then fails.
pub fn temporary_directory(env: &Environment) -> Option<MissingTemporaryDirectory<'_>> {
    let dir = Path::new(env.os_var("TMPDIR")?);
    (!files::is_dir(dir)).then_some(MissingTemporaryDirectory(dir))
}
