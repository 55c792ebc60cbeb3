//! The failures that users meet, in `fixtures/catalogue.txt`: one per line, with its number, its symptom and the place
//! of its test, separated by tabs.
//!
//! ```text
//! test             a test names it in the comment above `#[test]`, or a case on its second line
//! later: reason    nothing shows it yet
//! outside: reason  it is no affair of this crate
//! ```
//!
//! `.ci/muted.py` shows that for each a test fails where no finding has its id, or says by what else it is shown.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// `CFG-09` and the like.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| {
        let (kind, number) = word.split_once('-').unwrap_or_default();
        let kinds = [
            "CFG", "CMP", "LNK", "LOD", "VER", "SUB", "DRV", "ARC", "NUM",
        ];
        kinds.contains(&kind) && number.len() == 2 && number.bytes().all(|c| c.is_ascii_digit())
    })
}

/// Returns the numbers in the comments above the tests of a file.
fn above_tests(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut comment = String::new();
    for line in source.lines().map(str::trim) {
        match line.strip_prefix("///") {
            Some(text) => comment += text,
            None if line == "#[test]" => found.extend(numbers(&comment).map(String::from)),
            None if line.starts_with("#[") => {}
            None => comment.clear(),
        }
    }
    found
}

fn collect(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let ends = |end: &str| path.extension().is_some_and(|known| known == end);
        if path.is_dir() {
            collect(&path, found);
        } else if ends("rs") {
            found.extend(above_tests(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Adds the numbers in the second lines of the cases. Cases that share a file begin with their names.
fn on_second_lines(cases: &Path, found: &mut BTreeSet<String>) {
    for file in fs::read_dir(cases).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for case in text.split("\n[case ") {
            let is_named = text.starts_with("[case ");
            let second = case.lines().nth(1 + usize::from(is_named));
            found.extend(numbers(second.unwrap_or_default()).map(String::from));
        }
    }
}

#[test]
fn the_catalogue_matches_the_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("fixtures/catalogue.txt")).unwrap();
    let (mut all, mut shown) = (BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, seen, place] = fields[..] else {
            panic!("{line:?} is not three fields");
        };
        assert!(numbers(id).eq([id]) && !seen.is_empty(), "{line:?}");
        assert!(all.insert(id.to_string()), "{id} is listed twice");
        let reason = place
            .strip_prefix("later: ")
            .or(place.strip_prefix("outside: "));
        match reason {
            Some(reason) => assert!(!reason.is_empty(), "{line:?}"),
            None => {
                assert_eq!(place, "test", "{line:?}");
                shown.insert(id.to_string());
            }
        }
    }
    assert_eq!(all.len(), 105);
    let mut named = BTreeSet::new();
    for dir in ["src", "tests", "build-support"] {
        collect(&root.join(dir), &mut named);
    }
    on_second_lines(&root.join("fixtures/cases"), &mut named);
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| -> Vec<String> {
        one.difference(other).cloned().collect()
    };
    assert_eq!(only(&shown, &named), [""; 0], "no test names these");
    let unknown = only(&named, &all);
    assert_eq!(unknown, [""; 0], "the catalogue has none of these");
    let later = only(&named, &shown);
    assert_eq!(
        later, [""; 0],
        "a test names these: write `test` behind them"
    );
}

#[test]
fn a_number_counts_only_directly_above_a_test() {
    let source = "/// CFG-01, CFG-02: shown.\n#[test]\n#[ignore]\nfn a() {}\n/// CFG-03\nfn helper() {}\n\
        // CFG-04\n#[test]\nfn b() {}\n/// CFG-05: as well.\n#[cfg(unix)]\n#[test]\nfn c() {}\n";
    let found: Vec<String> = above_tests(source).into_iter().collect();
    assert_eq!(found, ["CFG-01", "CFG-02", "CFG-05"]);
}
