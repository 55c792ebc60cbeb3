//! The report of the child process: any bytes from the pipe, and reports that must survive a round trip.

#![no_main]

use cudnn_guard::internals::child::protocol::ChildReport;
use cudnn_guard::internals::facts::Fields;
use cudnn_guard::internals::facts::codec::{each_line, line};
use cudnn_guard_fuzz::expect_printable;
use libfuzzer_sys::fuzz_target;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const TOKEN: &str = "5eed";

fuzz_target!(|bytes: &[u8]| {
    anything(&String::from_utf8_lossy(bytes));
    fields(bytes);
    let path = Path::new(OsStr::from_bytes(bytes));
    if !bytes.starts_with(&[0]) {
        let path = path.to_path_buf();
        assert_eq!(PathBuf::decode(&path.encode()), Some(path));
    }
});

fn anything(text: &str) {
    let report = ChildReport::parse(text, TOKEN);
    for finding in report
        .problem
        .iter()
        .chain(report.outcomes.iter().filter_map(|it| it.finding.as_ref()))
    {
        expect_printable(&finding.to_string());
        serde_json::from_str::<serde_json::Value>(&finding.to_json()).expect("JSON");
    }
    // A report that was read survives a round trip.
    let written = lines(&report);
    let again = ChildReport::parse(&written, TOKEN);
    assert!(again.is_complete);
    assert_eq!(lines(&again), written);
}

/// Checks that any fields survive a round trip.
fn fields(bytes: &[u8]) {
    let texts: Vec<_> = bytes
        .split(|byte| *byte == 0xff)
        .map(String::from_utf8_lossy)
        .collect();
    let texts: Vec<String> = texts.into_iter().map(String::from).collect();
    let line = line("kind", &texts);
    let mut count = 0;
    each_line(&format!("{line}\n"), &mut |kind, fields| {
        assert_eq!(kind, "kind");
        // A single empty text and no text have the same encoding.
        if texts != [""] {
            assert_eq!(Vec::decode(fields).as_ref(), Some(&texts));
        }
        count += 1;
    });
    assert_eq!(count, 1, "{line:?}");
}

/// Returns the lines of a report whose fields are rows.
fn lines(report: &ChildReport) -> String {
    let mut lines = Vec::new();
    lines.extend(report.problem.iter().map(|it| line("problem", it)));
    if let Some(driver) = &report.driver {
        lines.push(line("driver", driver));
        lines.extend(driver.devices.iter().map(|it| line("device", it)));
    }
    for outcome in &report.outcomes {
        lines.push(line("outcome", outcome));
        lines.extend(outcome.finding.iter().map(|it| line("outcome-finding", it)));
    }
    lines.push(line("end", &TOKEN.to_string()));
    lines.join("\n") + "\n"
}
