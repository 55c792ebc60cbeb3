//! Compilations that end without an error message.

use crate::model::Invocation;
use crate::system::Output;

/// A run of nvcc that ended without an error message.
#[derive(Debug)]
pub struct Death {
    pub command: String,
    pub output: String,
    /// The signal or, on Windows, the code of the exception. `None` if nvcc failed without any output.
    pub signal: Option<u32>,
    /// The number of compilations that were running at the time.
    pub jobs: usize,
    /// The memory that was available before, in bytes.
    pub available: Option<u64>,
}

/// The names that shells and gcc print for signals.
const WORDS: [(&str, u32); 3] = [("Killed", 9), ("Segmentation fault", 11), ("Bus error", 7)];

impl Death {
    /// Returns the death, if the output of a failed nvcc shows one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_detected_from_output_or_status() {
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
}
