//! Lists of searched places and of expected files, which many reports share.
//!
//! ```text
//! searched    active virtual environment: $ROOT/venv/lib/python*/site-packages/nvidia/cudnn
//!             NVIDIA's default directory: $ROOT/usr/local/cuda
//!             and the next 13 as in cudnn-not-found/optional
//! expected    $ROOT/opt/dnn/include/cudnn.h
//!             and the next 12 as in variable-unusable/cudnn-path-empty
//! ```
//!
//! The third line stands for the 13 places that follow the default directory in the report of that case. The last line
//! stands for the files that follow `include/cudnn.h` there, in `$ROOT/opt/dnn` instead of the directory of that case.

use super::case::Case;

/// The cases whose reports contain all places.
const IN_FULL: [&str; 4] = [
    "cuda-not-found/nothing",
    "cudnn-not-found/optional",
    "cuda-not-found/wsl",
    "variable-unusable/cudnn-path-empty",
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
        let (own, known) = (dir(lines[0]), dir(full[start]));
        let pairs = lines.iter().zip(&full[start..]);
        let is_same = |(line, other): &(&&str, &&str)| {
            let place = place(line, own);
            place.is_some() && place == self::place(other, known)
        };
        pairs.take_while(is_same).count()
    };
    (0..full.len()).map(common).max().unwrap_or_default()
}

/// Returns the place in a line, relative to `dir`.
fn place<'a>(line: &'a str, dir: &str) -> Option<&'a str> {
    let place = LABELS.iter().find_map(|label| line.strip_prefix(label))?;
    Some(place.strip_prefix(dir).unwrap_or(place))
}

/// Returns the directory of a list of files that starts with this line; an empty text for other lists.
fn dir(line: &str) -> &str {
    let file = place(line, "").unwrap_or_default();
    file.strip_suffix("/include/cudnn.h").unwrap_or_default()
}

const INDENT: &str = "              ";

const LABELS: [&str; 3] = [INDENT, "  searched    ", "  expected    "];
