//! `cudnn-guard inspect` reports the same about a program as the program's guard.

use super::judged::{Start, windows};
use super::{faults, sound};
use serde_json::Value;

/// Returns the sorted ids of the findings about cuDNN, and whether the expected file is named.
fn summarize(report: &Value, culprit: Option<(&str, &str)>) -> (Vec<String>, bool) {
    let (mut ids, mut names) = (Vec::new(), culprit.is_none());
    for finding in report["findings"].as_array().unwrap() {
        let id = finding["id"].as_str().unwrap();
        if id == "driver-missing" || finding["severity"] == "note" {
            continue;
        }
        let mut text = finding["summary"].as_str().unwrap().to_string();
        for value in finding["evidence"].as_object().unwrap().values() {
            text += &format!("\n{}", value.as_str().unwrap());
        }
        names |= culprit.is_some_and(|(of, file)| of == id && text.contains(file));
        ids.push(format!("{} {id}", finding["severity"].as_str().unwrap()));
    }
    ids.sort();
    (ids, names)
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn inspect_reports_the_same_as_the_guard() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let (mut wrong, mut seen) = (String::new(), 0);
    let mut compare = |name: &str, start: &Start, culprit: Option<(&str, &str)>| {
        // The actions of a program before the check are not visible in its files.
        if start.is_plain() {
            seen += 1;
            let (guard, inspect) = (start.json(windows, "check"), start.inspected(windows));
            let (by_guard, by_inspect) = (summarize(&guard, culprit), summarize(&inspect, culprit));
            if by_guard != by_inspect || !by_guard.1 {
                wrong +=
                    &format!("{name}: {by_guard:?} and {by_inspect:?}\n{guard:#}\n{inspect:#}\n");
            }
        }
        faults::uninstall(windows);
    };
    for (name, made) in sound::ALL {
        compare(name, &made(windows), None);
    }
    for (name, made) in faults::ALL {
        let fault = made(windows);
        compare(name, &fault.start, Some((fault.id, fault.culprit)));
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(seen, 35);
}
