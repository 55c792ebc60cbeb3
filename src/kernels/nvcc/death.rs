//! Compilations that end without an error message, and their second try.

use crate::kernels::job::{Job, JobFailure, JobOutput};
use crate::kernels::nvcc::diagnostics::ToolFailure;
use crate::kernels::nvcc::wrapper::is_compiler_cache;
use crate::kernels::setup::Setup;
use crate::model::invocation::Invocation;
use crate::runtime::facts::finding::Finding;
use crate::system::memory;
use crate::system::programs::Output;

/// An nvcc that ended without an error message.
#[derive(Debug)]
pub struct Death {
    pub command: Invocation,
    /// The program that died, if nvcc names it.
    pub program: Option<String>,
    /// The signal or, on Windows, the code of the exception. `None` if nvcc failed without any output.
    pub signal: Option<u32>,
    /// The number of compilations that ran at this time.
    pub jobs: usize,
    /// The memory that was available before, in bytes.
    pub available: Option<u64>,
}

impl Death {
    /// Returns the death that the output of a failed nvcc shows.
    pub fn detect(command: &Invocation, output: &Output) -> Option<Self> {
        let printed = format!("{}\n{}", output.stdout, output.stderr);
        let (program, signal) = match (printed.lines().find_map(reported), output.signal) {
            (Some((program, signal)), _) => (program.map(str::to_string), Some(signal)),
            (None, Some(signal)) => (None, Some(signal)),
            (None, None) if printed.trim().is_empty() => (None, None),
            (None, None) => return None,
        };
        signal.is_none_or(is_death).then(|| Self {
            command: command.clone(),
            program,
            signal,
            jobs: 1,
            available: None,
        })
    }
}

/// Returns `true` for SIGBUS, SIGKILL and SIGSEGV of Linux, and for exceptions of Windows except for Ctrl-C.
fn is_death(signal: u32) -> bool {
    matches!(signal, 7 | 9 | 11) || signal >> 28 == 0xC && signal != 0xC000_013A
}

/// Signals in the words of shells and gcc.
const WORDS: [(&str, u32); 3] = [("Killed", 9), ("Segmentation fault", 11), ("Bus error", 7)];

/// Returns the program and the signal in a line that reports a death:
/// `nvcc error   : 'cicc' died due to signal 9 (Kill signal)`,
/// `nvcc error   : 'cicc' died with status 0xC0000005 (ACCESS_VIOLATION)`,
/// `gcc: fatal error: Killed signal terminated program cc1plus`, and `Killed` of the shell that nvcc uses.
fn reported(line: &str) -> Option<(Option<&str>, u32)> {
    if let Some((before, program)) = line.split_once(" signal terminated program ") {
        let (_, signal) = WORDS.iter().find(|(word, _)| before.ends_with(word))?;
        return Some((Some(program.trim()), *signal));
    }
    let bare = line.trim().trim_end_matches(" (core dumped)");
    if let Some((_, signal)) = WORDS.iter().find(|(word, _)| *word == bare) {
        return Some((None, *signal));
    }
    let (before, after) = line.split_once("' died ")?;
    let (_, program) = before.rsplit_once('\'')?;
    let code = after.strip_prefix("with status 0x");
    let number = code.or_else(|| after.strip_prefix("due to signal "))?;
    let number = number.split_whitespace().next()?;
    let radix = if code.is_some() { 16 } else { 10 };
    Some((Some(program), u32::from_str_radix(number, radix).ok()?))
}

/// Runs a job again after all others have finished, since memory is the usual reason for a death.
pub fn retry(first: &Death, job: &Job, setup: &Setup) -> Result<JobOutput, Finding> {
    let available = memory::available();
    match job.make(setup, 1) {
        Ok(mut output) => {
            let fault = ToolFailure::Died(&job.source, first, None);
            output.warnings += &format!("\n\n{}\n", fault.finding());
            Ok(output)
        }
        Err(JobFailure::Reported(finding)) => Err(finding),
        Err(JobFailure::Died(mut second)) => {
            second.available = available;
            let nvcc = &setup.plan.nvcc;
            let is_cache = second.signal.is_none() && is_compiler_cache(nvcc);
            let cache = is_cache.then_some(&**nvcc);
            Err(ToolFailure::Died(&job.source, first, Some((&second, cache))).finding())
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::kernels::tests::package::Package;

    #[test]
    fn a_death_is_read_from_nvcc_gcc_the_shell_or_the_status() {
        let detect = |text: &str, signal| {
            let output = Output {
                signal,
                stderr: text.to_string(),
                ..Output::default()
            };
            let death = Death::detect(&Invocation::default(), &output)?;
            Some((death.program.unwrap_or_default(), death.signal))
        };
        let found = |program: &str, signal| Some((program.to_string(), signal));
        for (text, program, signal) in [
            (
                "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
                "cicc",
                9,
            ),
            (
                "nvcc error   : 'cudafe++' died due to signal 11 (Invalid memory reference)\nnvcc error   : 'cudafe++' core dumped",
                "cudafe++",
                11,
            ),
            (
                "nvcc error   : 'ptxas' died with status 0xC0000005 (ACCESS_VIOLATION)",
                "ptxas",
                0xC000_0005,
            ),
            (
                "a.cu(1): warning #177-D: declared\ngcc: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.",
                "cc1plus",
                9,
            ),
            // nvcc 13.5 with dash as the shell; the status is 255 with several threads.
            ("Killed\n", "", 9),
            ("Segmentation fault (core dumped)", "", 11),
        ] {
            assert_eq!(detect(text, None), found(program, Some(signal)), "{text}");
        }
        assert_eq!(detect("", Some(9)), found("", Some(9)));
        assert_eq!(detect("a.cu(1): warning\n", Some(7)), found("", Some(7)));
        assert_eq!(detect(" \n", None), found("", None));
        for text in [
            "a.cu(1): error: identifier \"Killed\" is undefined",
            "nvcc error   : 'cicc' died due to signal 2 (Interrupt)",
            "nvcc error   : 'cicc' died with status 0xC000013A",
            "ptxas fatal   : Memory allocation failure",
            "he 'died yesterday",
        ] {
            assert_eq!(detect(text, None), None, "{text}");
        }
        // Ctrl-C
        assert_eq!(detect("", Some(2)), None);
    }

    #[test]
    fn a_compilation_that_dies_is_tried_again() {
        let once =
            "// nvcc runs [ -f died ] || { : >died; kill -9 $$; }\n".replace("died", "$top/died");
        let package = Package::new(&[("src/a.cu", &once), ("src/b.cu", "")]);
        let (result, lines) = package.compile();
        result.unwrap();
        assert_eq!(package.calls().len(), 3);
        let warnings: Vec<&String> = lines
            .iter()
            .filter(|line| line.starts_with("cargo::warning="))
            .collect();
        assert_eq!(
            warnings[0],
            "cargo::warning=nvcc was killed while it compiled `./src/a.cu`; the second try succeeded  [nvcc-failed]"
        );
        // An error message is an answer.
        let package = Package::new(&[("src/a.cu", "mistake"), ("src/b.cu", "")]);
        let error = package.compile().0.unwrap_err();
        assert!(error.starts_with("nvcc could not compile"), "{error}");
        assert_eq!(package.calls().len(), 2);
        // The second try may find one.
        package.write("src/a.cu", &format!("{once}mistake"));
        package.calls();
        let error = package.compile().0.unwrap_err();
        assert!(error.starts_with("nvcc could not compile"), "{error}");
    }

    #[test]
    fn a_compilation_that_dies_twice_is_an_error() {
        let mut package = Package::new(&[("src/a.cu", "// nvcc runs kill -9 $$\n")]);
        package.archs = "80";
        let error = package.compile().0.unwrap_err();
        assert_eq!(package.calls().len(), 2);
        let start = "nvcc was killed while it compiled `./src/a.cu`, also when it ran alone  [nvcc-failed]\n  \
                     = help: run `dmesg | grep -i 'killed process'`; if nvcc is there, give this machine or container more memory than ";
        assert!(error.starts_with(start), "{error}");
        assert!(
            error.contains("\n  first       signal 9, 1 compilation, "),
            "{error}"
        );
        package.write("src/a.cu", "// nvcc runs exit 1\n");
        let error = package.compile().0.unwrap_err();
        let start = "nvcc failed without any output while it compiled `./src/a.cu`, also when it ran alone  [nvcc-failed]\n  \
                     = help: run the command in a terminal to see how nvcc ends\n  first       no output, 1 compilation, ";
        assert!(error.starts_with(start), "{error}");
        package.write("src/a.cu", "// nvcc runs kill -11 $$\n");
        let error = package.compile().0.unwrap_err();
        let start = "nvcc crashed while it compiled `./src/a.cu`, also when it ran alone  [nvcc-failed]\n  \
                     = help: install another version of the CUDA toolkit: this nvcc crashes\n  \
                     = help: split `./src/a.cu` into files with fewer kernels\n";
        assert!(error.starts_with(start), "{error}");
        // A script in front of nvcc that runs a compiler cache.
        let script = "#!/bin/sh\n# ccache\nexit 1\n";
        std::fs::remove_file(package.path("cuda/bin/nvcc")).unwrap();
        package.write("script", script);
        let copied = std::process::Command::new("install")
            .args([
                "-m755".into(),
                package.path("script"),
                package.path("cuda/bin/nvcc"),
            ])
            .status();
        assert!(copied.unwrap().success());
        let error = package.compile().0.unwrap_err();
        let start = "nvcc failed without any output while it compiled `./src/a.cu`, also when it ran alone  [nvcc-failed]\n  \
                     = help: set NVCC to the full path of nvcc itself: `./cuda/bin/nvcc` is a compiler cache\n";
        assert!(error.starts_with(start), "{error}");
    }
}
