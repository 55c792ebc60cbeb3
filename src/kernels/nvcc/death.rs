//! Compilations that end without an error message, and their second try.

use crate::kernels::job::{Job, JobOutput};
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
    pub command: String,
    pub output: String,
    /// The signal or, on Windows, the code of the exception. `None` if nvcc failed without any output.
    pub signal: Option<u32>,
    /// The number of compilations that ran at this time.
    pub jobs: usize,
    /// The memory that was available before, in bytes.
    pub available: Option<u64>,
}

/// Signals in the words of shells and gcc.
const WORDS: [(&str, u32); 3] = [("Killed", 9), ("Segmentation fault", 11), ("Bus error", 7)];

impl Death {
    /// Returns the death that the output of a failed nvcc shows.
    pub fn detect(command: &Invocation, output: &Output) -> Option<Self> {
        let printed = format!("{}\n{}", output.stdout, output.stderr);
        let signal = printed.lines().find_map(reported).or(output.signal);
        let is_death = match signal {
            // SIGBUS, SIGKILL and SIGSEGV, and the exceptions of Windows except for Ctrl-C.
            Some(signal) => {
                matches!(signal, 7 | 9 | 11) || signal >> 28 == 0xC && signal != 0xC000_013A
            }
            None => printed.trim().is_empty(),
        };
        is_death.then(|| Self {
            command: command.to_string(),
            output: printed,
            signal,
            jobs: 1,
            available: None,
        })
    }
}

/// Returns the signal in a line that reports a death: `nvcc error   : 'cicc' died due to signal 9 (Kill signal)`,
/// `nvcc error   : 'cicc' died with status 0xC0000005 (ACCESS_VIOLATION)`,
/// `gcc: fatal error: Killed signal terminated program cc1plus`, and `Killed` of the shell that nvcc uses.
fn reported(line: &str) -> Option<u32> {
    let number = |words, radix| {
        let (_, rest) = line.split_once(words)?;
        u32::from_str_radix(rest.split_whitespace().next()?, radix).ok()
    };
    let bare = line.trim().trim_end_matches(" (core dumped)");
    let is_in = |(word, _): &&(&str, u32)| {
        bare == *word || line.contains(&format!(": {word} signal terminated program "))
    };
    number("' died due to signal ", 10)
        .or_else(|| number("' died with status 0x", 16))
        .or_else(|| WORDS.iter().find(is_in).map(|(_, signal)| *signal))
}

/// Runs a job again after all others have finished, since memory is the usual reason for a death.
pub fn retry(first: &Death, job: &Job, setup: &Setup) -> Result<JobOutput, Finding> {
    let available = memory::available();
    match job.make(setup, 1)? {
        Ok(mut output) => {
            let fault = ToolFailure::Died(&job.source, first, None);
            output.warnings += &format!("\n\n{}\n", fault.finding());
            Ok(output)
        }
        Err(mut second) => {
            second.available = available;
            let nvcc = &*setup.plan.nvcc;
            let cache = (second.signal.is_none() && is_compiler_cache(nvcc)).then_some(nvcc);
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
            Some(death.signal)
        };
        for (text, signal) in [
            (
                "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
                9,
            ),
            (
                "nvcc error   : 'cudafe++' died due to signal 11 (Invalid memory reference)\nnvcc error   : 'cudafe++' core dumped",
                11,
            ),
            (
                "nvcc error   : 'ptxas' died with status 0xC0000005 (ACCESS_VIOLATION)",
                0xC000_0005,
            ),
            (
                "a.cu(1): warning #177-D: declared\ngcc: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.",
                9,
            ),
            // nvcc 13.5 with dash as the shell; the status is 255 with several threads.
            ("Killed\n", 9),
            ("Segmentation fault (core dumped)", 11),
        ] {
            assert_eq!(detect(text, None), Some(Some(signal)), "{text}");
        }
        assert_eq!(detect("", Some(9)), Some(Some(9)));
        assert_eq!(detect("a.cu(1): warning\n", Some(7)), Some(Some(7)));
        assert_eq!(detect(" \n", None), Some(None));
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
        let package = Package::new(&[("src/a.cu", ""), ("src/b.cu", &once)]);
        let (result, lines) = package.compile();
        result.unwrap();
        let calls = package.calls();
        let of = |source: &str| calls.iter().filter(|call| call.contains(source)).count();
        assert_eq!([of("src/a.cu"), of("src/b.cu")], [1, 2], "{calls:?}");
        let warnings: Vec<&String> = lines
            .iter()
            .filter(|line| line.starts_with("cargo::warning="))
            .collect();
        assert_eq!(
            warnings[0],
            "cargo::warning=nvcc was killed while it compiled `./src/b.cu`; the second try succeeded  [nvcc-failed]"
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
                     = help: give this machine or container more memory, or split `./src/a.cu` into smaller files\n  first       signal 9, 1 compilation at a time, ";
        assert!(error.starts_with(start), "{error}");
        package.write("src/a.cu", "// nvcc runs exit 1\n");
        let error = package.compile().0.unwrap_err();
        let start = "nvcc failed without any output while it compiled `./src/a.cu`, also when it ran alone  [nvcc-failed]\n  \
                     = help: run the command in a terminal to see how nvcc ends\n  first       no output, 1 compilation at a time, ";
        assert!(error.starts_with(start), "{error}");
        package.write("src/a.cu", "// nvcc runs kill -11 $$\n");
        let error = package.compile().0.unwrap_err();
        let start = "nvcc crashed while it compiled `./src/a.cu`, also when it ran alone  [nvcc-failed]\n  \
                     = help: install another version of the CUDA toolkit\n  first       signal 11, ";
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
