//! The cases of cases.txt: directories with a cuDNN, and what the guard of a program reports there.
//!
//! ```text
//! a name
//! for PART: graph ops              runs the case for each word
//! > HERE: 9.14.0, without FILE     creates or changes a directory; see `changed`
//! > HERE/libx.so = int x;          compiles a library; also `HERE/libx.so with FLAG` or `needs HERE/liby.so`
//! startup gpu path=HERE -> 78      a task, its variables, and the exit code with the beginning of the output
//! | the output
//! check gpu -> fail parts-mixed    or the verdict and the ids, with lines of the report
//! | a line
//! ```
//!
//! The first directory is the default library path, and `built=9.28.0` sets TEST_BUILT. A line may end in `...`. The name of
//! a directory is not a part of another name.
//! `BLESS=1` writes the results.

use super::driver_library::add_driver;
use super::program::{GPU, Ran, run};
use crate::support::installation::{Folder, compile};
use crate::support::repository;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

const CASES: &str = include_str!("cases.txt");

/// The directories of a case by their names.
#[derive(Default)]
struct Places(Vec<(String, Folder)>);

impl Places {
    /// Replaces the names of directories by their paths.
    fn real(&self, text: &str) -> String {
        let with = |text: String, (name, dir): &(String, Folder)| text.replace(name, dir.text());
        self.0.iter().fold(text.into(), with)
    }

    /// Replaces the paths of directories by their names.
    fn named(&self, text: &str) -> String {
        let mut places: Vec<_> = self.0.iter().collect();
        places.sort_by_key(|(_, dir)| std::cmp::Reverse(dir.text().len()));
        let with = |text: String, (name, dir): &(String, Folder)| text.replace(dir.text(), name);
        places.into_iter().fold(text.into(), with)
    }

    /// Compiles a library, or creates or changes a directory.
    fn follow(&mut self, step: &str) {
        if let Some((library, code)) = step.split_once(" = ") {
            let library = self.real(library);
            let words: Vec<&str> = library.split(' ').collect();
            let flags = match words.get(1) {
                Some(&"needs") => &["-Wl,--no-as-needed", words[2]][..],
                _ => words.get(2..).unwrap_or_default(),
            };
            return compile(code, Path::new(words[0]), flags);
        }
        let (name, contents) = step.split_once(": ").unwrap();
        let at = self.0.iter().position(|place| place.0 == name);
        let at = at.unwrap_or_else(|| {
            self.0.push((name.into(), Folder::new()));
            self.0.len() - 1
        });
        for content in contents.split(", ") {
            let content = self.real(content);
            let words: Vec<&str> = content.split(' ').collect();
            changed(&self.0[at].1, &words);
        }
    }

    /// Runs a task, and returns its line with the result.
    fn result(&self, line: &str, expected: &[&str]) -> String {
        let (step, _) = line.split_once(" -> ").unwrap();
        let mut words = step.split(' ');
        let task = words.next().unwrap();
        let mut variables = Vec::new();
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, "1"));
            let name = match name {
                "path" => "LD_LIBRARY_PATH".to_string(),
                name if name.starts_with(char::is_uppercase) => name.into(),
                name => format!("TEST_{}", name.to_uppercase()),
            };
            let value = if word == "gpu" {
                GPU.1.into()
            } else {
                self.real(value)
            };
            variables.push((name, value));
        }
        let variables: Vec<_> = variables.iter().map(|(a, b)| (&**a, &**b)).collect();
        let ran = run(task, &self.0[0].1.0, &variables);
        let (result, text) = outcome(task, &ran);
        let text = self.named(&text);
        let expected: Vec<&str> = expected
            .iter()
            .map(|line| line.trim_start_matches("| "))
            .collect();
        let lines = if reports(task, &ran, &text, &expected) {
            expected.join("\n")
        } else {
            text
        };
        let lines = lines.lines().map(|line| format!("\n| {line}"));
        format!("{step} -> {result}{}", lines.collect::<String>())
    }
}

/// Returns `true` if a run reports these lines: `startup` all lines, or the first ones if it stops the program, and other
/// tasks in this order, among others.
fn reports(task: &str, ran: &Ran, text: &str, expected: &[&str]) -> bool {
    let expected_text = expected.join("\n");
    match (task, expected_text.strip_suffix("...")) {
        ("startup", Some(beginning)) => text.starts_with(beginning),
        ("startup", None) if ran.code == Some(0) => text.trim_end() == expected_text,
        ("startup", None) => expected.is_empty() || text.starts_with(&(expected_text + "\n")),
        _ => {
            let mut lines = text.lines();
            let has = |line: &&str| lines.any(|other| other.contains(line.trim_end_matches("...")));
            expected.iter().all(has)
        }
    }
}

/// Returns the exit code and the output, or the verdict with the ids and the report.
fn outcome(task: &str, ran: &Ran) -> (String, String) {
    if task == "startup" {
        return (ran.code.unwrap().to_string(), ran.stderr.clone());
    }
    let findings = ran.json["findings"].as_array().expect(&ran.stderr).iter();
    let ids = findings.map(|finding| finding["id"].as_str().unwrap());
    let words: Vec<&str> = ran.json["verdict"]
        .as_str()
        .into_iter()
        .chain(ids)
        .collect();
    (words.join(" "), ran.text.clone())
}

/// Changes a directory.
fn changed(dir: &Folder, words: &[&str]) {
    let dir = Folder(dir.0.clone());
    let dir = match *words {
        ["nothing"] => dir,
        ["driver", file, answer, ref below @ ..] => {
            let below = dir.file(below.get(1).unwrap_or(&""));
            add_driver(&below, file, answer.parse().unwrap());
            dir
        }
        [release] => dir.with_cudnn(release),
        [release, "in", below] => dir.with_cudnn_in(below, release),
        ["without", file] => dir.without(file),
        [file, "of", release] => dir.with_file_of(release, file),
        [file, "cut", "to", length] => dir.cut(file, length.parse().unwrap()),
        [file, "linked", "to", target] => dir.with_link(file, target),
        [file, "copied", "from", source] => {
            fs::copy(source, dir.file(file)).unwrap();
            dir
        }
        [file, "as", other] => {
            fs::rename(dir.file(file), dir.file(other)).unwrap();
            dir
        }
        _ => panic!("{words:?}"),
    };
    // The case removes it.
    std::mem::forget(dir);
}

/// Returns a case with its results.
fn checked(case: &str) -> String {
    let (name, rest) = case.split_once('\n').unwrap();
    if let Some((words, steps)) = rest
        .strip_prefix("for ")
        .and_then(|rest| rest.split_once('\n'))
    {
        let (word, values) = words.split_once(": ").unwrap();
        let mut result = String::new();
        for value in values.split(' ') {
            let found = checked(&format!("{name}\n{}", steps.replace(word, value)));
            let found = found.replace(value, word);
            result = found.replacen('\n', &format!("\nfor {words}\n"), 1);
            if result != case {
                break;
            }
        }
        return result;
    }
    let (mut places, mut lines) = (Places::default(), rest.lines().peekable());
    let mut found = vec![name.to_string()];
    while let Some(line) = lines.next() {
        let belongs =
            |next: &&str| next.starts_with(if line.starts_with('>') { "    " } else { "|" });
        let more: Vec<&str> = std::iter::from_fn(|| lines.next_if(belongs)).collect();
        if let Some(step) = line.strip_prefix("> ") {
            places.follow(&[&[step], &more[..]].concat().join("\n"));
            found.push([&[line], &more[..]].concat().join("\n"));
        } else {
            found.push(places.result(line, &more));
        }
    }
    found.join("\n")
}

/// Compares the cases for which this is true.
fn compare(is_chosen: impl Fn(&str) -> bool) {
    let all: Vec<&str> = CASES.trim_end().split("\n\n").collect();
    let blesses = std::env::var_os("BLESS").is_some();
    let mut cases = all.clone();
    cases.retain(|case| blesses || is_chosen(case));
    let (next, found) = (
        Mutex::new(0..cases.len()),
        Mutex::new(vec![String::new(); cases.len()]),
    );
    let take = || next.lock().unwrap().next();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                while let Some(number) = take() {
                    let result = checked(cases[number]);
                    found.lock().unwrap()[number] = result;
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    if blesses {
        let file = repository().join("tests/programs/runtime/guard/cases.txt");
        fs::write(file, found.join("\n\n") + "\n").unwrap();
        return;
    }
    assert!(!cases.is_empty());
    for (found, case) in found.iter().zip(cases) {
        assert!(case.contains(" -> "), "{case}");
        assert_eq!(found, case, "BLESS=1 writes the results");
    }
}

#[test]
fn every_case_has_its_results() {
    compare(|case| !case.contains(" mebibytes="));
}

#[test]
fn every_case_without_enough_memory_has_its_results() {
    if std::env::var_os("BLESS").is_none() {
        compare(|case| case.contains(" mebibytes="));
    }
}
