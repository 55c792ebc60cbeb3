//! Lists of searched places, which many reports share.
//!
//! ```text
//! searched    active virtual environment: $ROOT/venv/lib/python*/site-packages/nvidia/cudnn
//!             NVIDIA's default directory: $ROOT/usr/local/cuda
//!             and the next 13 as in cudnn-not-found/optional
//! ```
//!
//! The last line stands for the 13 places that follow the default directory in the report of that case.

use super::case::Case;

/// The cases whose reports contain all places.
const IN_FULL: [&str; 3] = [
    "cuda-not-found/nothing",
    "cudnn-not-found/optional",
    "cuda-not-found/wsl",
];

/// Shortens the lists in the report of a case.
pub fn shorten(report: &str, name: &str, cases: &[Case]) -> String {
    let in_full = IN_FULL.map(|name| cases.iter().find(|case| case.name() == name).unwrap());
    let lines: Vec<&str> = report.lines().collect();
    let (mut out, mut at) = (String::new(), 0);
    while at < lines.len() {
        out.push_str(&format!("{}\n", lines[at]));
        let runs = in_full.iter().map(|case| (run(&lines[at..], case), case));
        let (count, case) = runs.rev().max_by_key(|(count, _)| *count).unwrap();
        at += match count {
            0..3 => 1,
            _ if IN_FULL.contains(&name) => 1,
            _ => {
                let (next, name) = (count - 1, case.name());
                out.push_str(&format!("{INDENT}and the next {next} as in {name}\n"));
                count
            }
        };
    }
    out
}

/// Returns how many lines of a report, from its first one on, are places that a case has in this order.
fn run(lines: &[&str], case: &Case) -> usize {
    let full: Vec<&str> = case.expected.lines().collect();
    let common = |start: usize| {
        let pairs = lines.iter().zip(&full[start..]);
        pairs
            .take_while(|(line, known)| place(line).is_some() && place(line) == place(known))
            .count()
    };
    (0..full.len()).map(common).max().unwrap_or_default()
}

fn place(line: &str) -> Option<&str> {
    line.strip_prefix(INDENT)
        .or_else(|| line.strip_prefix("  searched    "))
}

const INDENT: &str = "              ";
