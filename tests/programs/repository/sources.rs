//! The sources of the repository.

use crate::support::repository;
use cudnn_guard::FindingId;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns the text of each file below these directories, by its path in the repository.
fn sources(folders: &[&str], end: &str) -> BTreeMap<String, String> {
    fn collect(dir: &Path, end: &str, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, end, found);
            } else if path.to_str().unwrap().ends_with(end) {
                let inside = path.strip_prefix(repository()).unwrap();
                let text = fs::read_to_string(&path).unwrap();
                found.insert(inside.to_str().unwrap().to_string(), text);
            }
        }
    }
    let mut found = BTreeMap::new();
    for folder in folders {
        collect(&repository().join(folder), end, &mut found);
    }
    found
}

/// Returns the code that is compiled into users' programs, without comments.
pub fn shipped() -> BTreeMap<String, String> {
    let mut sources = sources(&["src", "build-support/guard"], ".rs");
    sources.retain(|path, _| !path.contains("test") && !path.contains("/real"));
    for text in sources.values_mut() {
        let before_tests = text.split("#[cfg(test)]\nmod tests {").next();
        let lines = before_tests.unwrap_or_default().lines();
        let code: Vec<&str> = lines.map(|line| line.split("//").next().unwrap()).collect();
        *text = code.join("\n");
    }
    sources
}

/// A case, or the code of a test, contains the id of each finding.
#[test]
fn every_finding_is_tested() {
    let mut tests = sources(&["fixtures/cases", "tests"], ".txt");
    let code = sources(&["src", "tests"], ".rs").into_iter();
    tests.extend(code.filter_map(|(path, text)| {
        let is_test = path.starts_with("tests/") || path.contains("/tests");
        let below = text.split_once("#[cfg(test)]\nmod tests {");
        let below = below.map(|(_, tests)| tests.to_string());
        Some((path, if is_test { text } else { below? }))
    }));
    for id in FindingId::ALL {
        let names = [
            format!("[{id}]"),
            format!("\"{id}\""),
            format!("FindingId::{id:?}"),
        ];
        let is_tested = |text: &String| names.iter().any(|name| text.contains(name));
        assert!(tests.values().any(is_tested), "no test expects {id}");
    }
}
