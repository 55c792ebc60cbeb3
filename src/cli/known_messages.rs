//! Messages of cuDNN, CUDA, loaders, linkers and frameworks, and the findings that explain them.

use crate::cli::log::{literals, plain};
use crate::cli::message_parts;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

const TABLE: &str = include_str!("../../build-support/compat/messages.txt");
/// The number of characters of a line that are compared with the table.
const LINE: usize = 4096;
/// The number of explanations of one input.
const MOST: usize = 3;
/// The number of lines that may be wrapped, and of lines that are explained by their parts, which is slower.
const MOST_LINES: usize = 1000;

/// A line of the input, with its explanation from the table.
#[derive(Debug, PartialEq)]
pub struct Explanation {
    pub line: String,
    pub finding: Option<&'static str>,
    pub cause: String,
    pub help: String,
}

struct Row {
    text: &'static str,
    pattern: Regex,
}

impl Row {
    /// Returns the row if a line of the text may match.
    fn parse(row: &'static str, text: &str) -> Option<Self> {
        let mut context = value(row, "with     ").split('|');
        let is_possible = contained(row).iter().any(|it| text.contains(it))
            && context.any(|it| text.contains(it));
        is_possible.then(|| Row {
            text: row,
            pattern: Regex::new(value(row, "pattern  ")).expect("a tested table"),
        })
    }

    /// Returns `true` for a row that only tells that another line has the reason.
    fn is_last(&self) -> bool {
        value(self.text, "rank     ") == "last"
    }

    fn explain(&self, line: &str) -> Option<Explanation> {
        let groups = self.pattern.captures(line)?;
        let filled = |name| {
            (1..groups.len()).fold(value(self.text, name).to_string(), |text, number| {
                let group = groups.get(number).map_or("", |group| group.as_str());
                text.replace(&format!("{{{number}}}"), group)
            })
        };
        Some(Explanation {
            line: line.trim().to_string(),
            finding: Some(value(self.text, "finding  ")).filter(|id| *id != "-"),
            cause: filled("cause    "),
            help: filled("help     "),
        })
    }
}

/// Returns a value of a row. The tests check that every row has all values.
fn value(row: &'static str, name: &str) -> &'static str {
    let mut values = row.lines().filter_map(|line| line.strip_prefix(name));
    values.next().unwrap_or_default()
}

/// Returns the texts of a row of which each line that it explains contains one.
fn contained(row: &'static str) -> Vec<String> {
    match value(row, "contains ") {
        "" => literals(value(row, "pattern  ")),
        texts => texts.split('|').map(String::from).collect(),
    }
}

/// Returns the texts of all rows: a line that contains none of them is not explained and is no context of another.
pub fn all_literals() -> Vec<String> {
    let contexts = table().flat_map(|row| value(row, "with     ").split('|'));
    let contexts = contexts.filter(|it| !it.is_empty()).map(String::from);
    table().flat_map(contained).chain(contexts).collect()
}

fn table() -> impl Iterator<Item = &'static str> {
    TABLE.trim_end().split("\n\n").skip(1)
}

/// Returns the rows of the table that may match a line of the text, the most specific first.
fn rows(text: &str) -> Vec<Row> {
    table().filter_map(|row| Row::parse(row, text)).collect()
}

/// Returns the explanations of a text, in the order of the table: at most [`MOST`], and one for each finding.
///
/// Each line is explained by the first row that matches it. Lines are made printable before they are compared.
pub fn explanations(text: &str) -> Vec<Explanation> {
    let text = plain(text);
    // Terminals wrap text that is copied from them, within a word or between words.
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.take(MOST_LINES).collect();
    // A pair of unrelated lines is not explained by its parts.
    let count = text.lines().count();
    let pairs = lines.windows(2).flat_map(|it| [it.concat(), it.join(" ")]);
    let text = pairs.fold(text.clone() + "\n", |text, pair| text + &pair + "\n");
    let rows = rows(&text);
    let mut found = BTreeMap::new();
    // Logs repeat lines.
    let mut known = BTreeSet::new();
    for (number, line) in text.lines().enumerate() {
        if !known.insert(line) {
            continue;
        }
        let end = line.char_indices().nth(LINE).map_or(line.len(), |at| at.0);
        let line = &line[..end];
        let mut numbered = rows.iter().enumerate();
        let first = numbered.find_map(|(row, it)| Some((it.is_last(), row, it.explain(line)?)));
        let by_parts = || {
            let is_read = number < count && line.len() < LINE && found.len() < MOST_LINES;
            let explained = is_read.then(|| message_parts::explain(line))?;
            Some((false, rows.len() + number, explained?))
        };
        if let Some((is_last, position, explanation)) = first.or_else(by_parts) {
            found.entry((is_last, position)).or_insert(explanation);
        }
    }
    // Without a finding, the parts of a line tell less than a row.
    let is_clear = |at: usize, it: &Explanation| at < rows.len() || it.finding.is_some();
    if found.iter().any(|(key, it)| is_clear(key.1, it)) {
        found.retain(|key, it| is_clear(key.1, it));
    }
    let mut shown = BTreeSet::new();
    let is_new = |it: &Explanation| shown.insert(it.finding.map_or(it.cause.clone(), String::from));
    found.into_values().filter(is_new).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindingId;

    #[test]
    fn every_row_is_complete() {
        assert_eq!(rows(TABLE).len(), TABLE.matches("\nfinding  ").count());
        let verbs = "add build close compile copy create disable enable ignore install link pass remove restart run set start stop update use";
        for row in rows(TABLE) {
            let value = |name| value(row.text, name);
            let [finding, example, help] = ["finding  ", "example  ", "help     "].map(value);
            let is_id = finding == "-" || FindingId::parse(finding).is_some();
            assert!(is_id, "{example}: {finding}");
            let verb = help.split(' ').next().unwrap();
            assert!(verbs.split(' ').any(|it| it == verb), "{example}: {help}");
            assert!(
                value("cause    ").ends_with('.') && !help.ends_with('.'),
                "{example}"
            );
            assert!(value("source   ").len() > 4, "{example}");
            assert!(
                contained(row.text).iter().all(|it| it.len() > 5),
                "{example}"
            );
            let all = value("cause    ").to_string() + help;
            assert_eq!(all.matches('`').count() % 2, 0, "{example}");
            for group in 1..10 {
                let is_used = all.contains(&format!("{{{group}}}"));
                assert!(!is_used || group < row.pattern.captures_len(), "{example}");
            }
        }
    }

    #[test]
    fn every_example_is_explained_by_its_own_row() {
        for row in &rows(TABLE) {
            let example = value(row.text, "example  ");
            let rows = rows(example);
            let first = rows.iter().find(|other| other.explain(example).is_some());
            assert_eq!(first.map(|row| row.text), Some(row.text));
            let explained = row.explain(example).unwrap();
            let all = explained.cause + &explained.help;
            assert!(!all.contains(['{', '}']) && !all.contains("``"), "{all}");
        }
    }

    #[test]
    fn reported_messages_are_explained() {
        let reports = include_str!("../../fixtures/messages.txt").lines();
        let reports: Vec<&str> = reports.filter(|line| !line.starts_with('#')).collect();
        for report in reports {
            let [finding, source, message] = report.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{report}");
            };
            let explained = explanations(message);
            let first = explained.first().map(|it| it.finding.unwrap_or("-"));
            assert_eq!(first, Some(finding), "{message}");
            let parts = include_str!("../../build-support/compat/message-parts.txt");
            assert!(TABLE.contains(source) || parts.contains(source), "{source}");
        }
    }

    #[test]
    fn reports_are_explained_with_their_cause() {
        let reports = include_str!("../../fixtures/reports.txt");
        for report in reports.split("\n=== ").skip(1) {
            let (head, text) = report.split_once('\n').expect("a report");
            let [_, finding, phrase] = head.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("{head}");
            };
            let explained = explanations(text);
            let first = explained.first().unwrap_or_else(|| panic!("{head}"));
            assert_eq!(first.finding.unwrap_or("-"), finding, "{head}");
            assert!(first.cause.contains(phrase), "{head}: {}", first.cause);
        }
    }

    #[test]
    fn the_names_of_the_driver_api_and_the_runtime_api_have_one_explanation() {
        for names in [
            "CUDA_ERROR_OUT_OF_MEMORY cudaErrorMemoryAllocation",
            "CUDA_ERROR_NOT_INITIALIZED cudaErrorInitializationError",
            "CUDA_ERROR_STUB_LIBRARY cudaErrorStubLibrary",
            "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER cudaErrorCallRequiresNewerDriver",
            "CUDA_ERROR_DEVICE_UNAVAILABLE cudaErrorDevicesUnavailable",
            "CUDA_ERROR_INVALID_DEVICE cudaErrorInvalidDevice",
            "CUDA_ERROR_INVALID_IMAGE cudaErrorInvalidKernelImage",
            "CUDA_ERROR_ECC_UNCORRECTABLE cudaErrorECCUncorrectable",
            "CUDA_ERROR_INVALID_PTX cudaErrorInvalidPtx",
            "CUDA_ERROR_JIT_COMPILER_NOT_FOUND cudaErrorJitCompilerNotFound",
            "CUDA_ERROR_OPERATING_SYSTEM cudaErrorOperatingSystem",
            "CUDA_ERROR_NOT_FOUND cudaErrorSymbolNotFound",
            "CUDA_ERROR_ILLEGAL_ADDRESS cudaErrorIllegalAddress",
            "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES cudaErrorLaunchOutOfResources",
            "CUDA_ERROR_LAUNCH_TIMEOUT cudaErrorLaunchTimeout",
            "CUDA_ERROR_ASSERT cudaErrorAssert",
            "CUDA_ERROR_LAUNCH_FAILED cudaErrorLaunchFailure",
            "CUDA_ERROR_MPS_CONNECTION_FAILED cudaErrorMpsConnectionFailed",
            "CUDA_ERROR_UNKNOWN cudaErrorUnknown",
        ] {
            let causes = names
                .split(' ')
                .map(|name| explanations(name)[0].cause.clone());
            let causes: Vec<String> = causes.collect();
            assert_eq!(causes[0], causes[1], "{names}");
        }
        for row in [
            "cudaErrorInsufficientDriver driver-too-old",
            "cudaErrorNoDevice no-gpu",
            "cudaErrorNoKernelImageForDevice kernels-not-covering-gpu",
            "cudaErrorInvalidDeviceFunction kernels-not-covering-gpu",
            "cudaErrorUnsupportedPtxVersion ptx-newer-than-driver",
            "cudaErrorSystemNotReady driver-error",
            "cudaErrorSystemDriverMismatch driver-error",
            "cudaErrorCompatNotSupportedOnDevice driver-error",
        ] {
            let (name, finding) = row.split_once(' ').unwrap();
            assert_eq!(explanations(name)[0].finding, Some(finding), "{name}");
        }
    }

    #[test]
    fn an_explanation_is_true_for_every_line_that_its_row_matches() {
        let text = |line: &str| {
            let [found] = &explanations(line)[..] else {
                panic!("{line}");
            };
            format!("{}\n{}", found.cause, found.help)
        };
        // glibc 2.42 declares `rsqrt` too, and CUDA's headers up to 13.1 contradict it.
        let redeclared = |name: &str| {
            text(&format!(
                "mathcalls.h(79): error: exception specification is incompatible with that of previous function \"{name}\""
            ))
        };
        for (name, cuda) in [("cospi", "12.9"), ("rsqrt", "13.1"), ("rsqrtf", "13.1")] {
            let text = redeclared(name);
            assert!(text.contains(&format!("CUDA {cuda} and earlier")), "{text}");
        }
        // nvcc of CUDA 13 is too new for this GPU.
        for old in [
            "nvcc cannot target gpu arch 61. Available nvcc targets are [75, 80, 86, 87, 88, 89, 90, 100].",
            "ptxas does not support CC 6.1",
            "NVRTC_ERROR_INVALID_OPTION (--gpu-architecture=sm_61)",
        ] {
            let text = text(old);
            assert!(!text.contains("newer"), "{text}");
            assert!(!text.contains("older"), "{text}");
        }
        // `doctor` does not know the directories of CUDA's DLLs.
        let names = "Unable to dynamically load the \"cublas\" shared library - searched for library names: [\"cublas\"]";
        assert!(text(names).contains("on Linux, `cudnn-guard doctor`, run in the crate,"));
        let named = text(
            "OSError: [WinError 126] Error loading \"C:\\app\\flash_attn.dll\" or one of its dependencies.",
        );
        assert!(!named.contains("does not name"), "{named}");
        let eager =
            text("Expected symbol in library: DlSym { desc: \"undefined symbol: cuLogsCurrent\" }");
        assert!(eager.contains("cudarc 0.19.5 or later"), "{eager}");
    }

    #[test]
    fn groups_are_inserted_into_cause_and_help() {
        let line =
            "  F0101 Loaded runtime CuDNN library: 8.5.0 but source was compiled with: 8.6.0.";
        assert_eq!(
            explanations(line),
            [Explanation {
                line: line.trim().to_string(),
                finding: Some("cudnn-version-mismatch"),
                cause: "The program was built with cuDNN 8.6.0, but cuDNN 8.5.0 was loaded."
                    .to_string(),
                help: "install cuDNN 8.6.0 or later of the same major, or remove the directory of cuDNN 8.5.0 from \
                       LD_LIBRARY_PATH (PATH on Windows)"
                    .to_string(),
            }]
        );
    }

    /// GNU ld searches LD_LIBRARY_PATH for the libraries that a linked library needs, but neither LIBRARY_PATH nor `-L`.
    #[test]
    fn a_library_of_a_library_is_removed_from_the_path_that_the_linker_searches() {
        let line =
            "/usr/bin/ld: libcublas.so: undefined reference to `cublasLtCreate@libcublasLt.so.12'";
        assert_eq!(
            explanations(line)[0].help,
            "remove the directory of the other CUDA from LD_LIBRARY_PATH, where GNU ld searches for the libraries of a \
             library; if the build links `libcublasLt.so.12` itself, also from LIBRARY_PATH and the `-L` options"
        );
    }

    #[test]
    fn at_most_three_are_explained_and_each_finding_once() {
        let text = "cannot find -lcudnn\ncannot open input file 'cudnn.lib'\ncuda.h: No such file or directory\n\
                    LNK1181: cannot open input file 'cudnn.lib'\nUnsupported gpu architecture 'compute_120'\n\
                    unsupported GNU version!\n";
        let ids: Vec<_> = explanations(text)
            .into_iter()
            .map(|it| it.finding)
            .collect();
        assert_eq!(
            ids,
            [
                Some("host-compiler-unsupported"),
                Some("cudnn-not-found"),
                Some("arch-unsupported-by-nvcc")
            ]
        );
    }

    #[test]
    fn a_line_is_compared_up_to_a_limit() {
        let message = "CUDNN_STATUS_NOT_INITIALIZED";
        let long = format!("{}{message}", "ü".repeat(LINE - message.len()));
        assert_eq!(explanations(&long).len(), 1);
        assert!(explanations(&format!("ü{long}")).is_empty());
    }

    #[test]
    fn shown_lines_are_printable() {
        // Colored by gcc, turned around, and written by PowerShell as UTF-16.
        let line = "\u{1b}[01m/usr/bin/ld\u{1b}[K: cannot\u{202e} find\u{7} -lcudnn\u{1b}[0m";
        assert_eq!(
            explanations(line)[0].line,
            "/usr/bin/ld: cannot find -lcudnn"
        );
        let wide: String = "cannot find -lcudnn"
            .chars()
            .flat_map(|c| [c, '\0'])
            .collect();
        assert_eq!(explanations(&wide)[0].line, "cannot find -lcudnn");
    }
}
