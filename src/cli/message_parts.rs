//! Explanations of messages by their parts: a library, a function or a status, and the program that prints them.

use crate::cli::known_messages::{Explanation, explanations};
use regex::{Captures, Regex};
use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../../build-support/compat/message-parts.txt");

static PATTERNS: LazyLock<HashMap<&str, Regex>> = LazyLock::new(|| {
    let rows = rows("pattern").chain(rows("phase"));
    let regex = |text| Regex::new(text).expect("a tested table");
    rows.map(|row| (row[1], regex(row[row.len() - 1])))
        .collect()
});

/// Returns the columns of each row of a kind.
pub fn rows(kind: &str) -> impl Iterator<Item = Vec<&'static str>> {
    let prefix = format!("{kind} | ");
    let rows = TABLE.lines().filter(move |row| row.starts_with(&prefix));
    rows.map(|row| row.split(" | ").collect())
}

/// Returns the last match of a pattern of the table.
pub fn find<'t>(pattern: &str, line: &'t str) -> Option<Captures<'t>> {
    PATTERNS[pattern].captures_iter(line).last()
}

/// Returns the sentences of the table for these parts of a line, with the values inserted.
pub fn answer(line: &str, parts: [&str; 3], values: &[(&str, &str)]) -> Option<Explanation> {
    let fits = |row: &Vec<&str>| (0..3).all(|at| ["*", parts[at]].contains(&row[at + 1]));
    let row = rows("answer").find(fits)?;
    let fill = |text: String, (name, value): &(&str, &str)| text.replace(name, value);
    let filled = |text: &str| values.iter().fold(text.to_string(), fill);
    Some(Explanation {
        line: line.trim().to_string(),
        finding: Some(row[4]).filter(|id| *id != "-"),
        cause: filled(row[5]),
        help: filled(row[6]),
    })
}

/// Explains a line that reports an error, by the CUDA library, function or status in it.
pub fn explain(line: &str) -> Option<Explanation> {
    let has = |pattern| find(pattern, line).is_some();
    // Most lines of a log are not about CUDA.
    let is_possible = [".so", "cu", "CU", "nv", "NV", "nccl", "NCCL"]
        .iter()
        .any(|it| line.contains(it));
    if !is_possible || !has("fault") || has("command") {
        return None;
    }
    // The number of a status is explained like its name.
    let number = find("number", line);
    let status = number.and_then(|it| rows("status").find(|row| row[1] == &it[1]));
    if let Some(known) = status.and_then(|row| explanations(row[2]).pop()) {
        let line = line.trim().to_string();
        return Some(Explanation { line, ..known });
    }
    // A function that is absent tells more than the file in which it is absent.
    let order = match has("undefined") {
        true => ["function", "file", "status", "product", "other"],
        false => ["file", "status", "function", "product", "other"],
    };
    let (part, named) = order
        .into_iter()
        .find_map(|part| Some((part, find(part, line)?)))?;
    let group = |at| named.get(at).map_or("", |it| it.as_str());
    let (library, absent) = match part {
        "file" | "product" => (library_file(&named)?, "absent"),
        "other" => (Library::default(), "absent"),
        _ => (library(owner(group(2)), None)?, "undefined"),
    };
    let kind = match part {
        "file" | "product" => library.kind,
        part => part,
    };
    let state = if has(absent) { "absent" } else { "present" };
    let phase = rows("phase").find(|row| has(row[1]));
    let (who, phase) = phase.map_or(("The program", ""), |row| (row[1], row[2]));
    let values = [
        ("{who}", who),
        ("{name}", group(1)),
        ("{library}", library.name),
        ("{product}", &library.product),
        ("{packages}", &library.packages),
    ];
    answer(line, [kind, phase, state], &values)
}

/// Returns the library that defines the functions and statuses with this prefix.
fn owner(prefix: &str) -> &str {
    match prefix {
        "cuda" => "cudart",
        "cu" | "CUDA" => "cuda",
        prefix => prefix,
    }
}

/// A library of NVIDIA's.
#[derive(Default)]
struct Library {
    name: &'static str,
    kind: &'static str,
    product: String,
    /// The packages that contain it.
    packages: String,
}

/// Returns the library with this file name, option or name.
fn library_file(named: &Captures<'_>) -> Option<Library> {
    let group = |names: [&str; 2]| names.iter().find_map(|name| named.name(name));
    let name = group(["name", "option"])?.as_str();
    let number = group(["dll", "so"]).and_then(|it| it.as_str().parse().ok());
    // The names of DLLs contain the minor version too: nvrtc64_120_0.dll.
    let number = number.map_or(0, |it: u32| if it >= 100 { it / 10 } else { it });
    let cuda = match (name, number) {
        ("cufft", 11 | 12) | ("cusolver", 12) => Some(number + 1),
        ("cusparse", 12) | ("cusolver", 11) => None,
        _ => Some(number).filter(|number| (11..50).contains(number)),
    };
    library(name, cuda)
}

/// Returns the library with this name, without `lib`, of this CUDA if it is known.
fn library(name: &str, cuda: Option<u32>) -> Option<Library> {
    let name = name.to_lowercase();
    let row = rows("library").find(|row| name.starts_with(&row[2].to_lowercase()))?;
    let major = cuda.unwrap_or(12).to_string();
    // From CUDA 13 on, the names of the toolkit's wheels contain no number.
    let suffix = if cuda >= Some(13) { "" } else { "-cu{cuda}" };
    let packages = row[4].replace("{-cu}", suffix).replace("{cuda}", &major);
    let product = match cuda {
        Some(_) => row[3].replace("{cuda}", &major),
        None => row[3].replace("CUDA {cuda}", "the CUDA toolkit"),
    };
    let note = if cuda.is_none() {
        " (these are for CUDA 12)"
    } else {
        ""
    };
    Some(Library {
        name: row[2],
        kind: row[1],
        product,
        packages: packages + note,
    })
}
