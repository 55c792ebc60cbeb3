//! The report of the child process: any bytes from the pipe, and reports that must survive a round trip.

#![no_main]

use cudnn_guard::internals::child::protocol::ChildReport;
use cudnn_guard::internals::convolution::case_result::{Api, CaseResult, SetupTimes};
use cudnn_guard::internals::driver::query::{Device, Driver};
use cudnn_guard::internals::facts::codec::{Fields, each_line, line};
use cudnn_guard::internals::facts::compute_capability::ComputeCapability;
use cudnn_guard::internals::facts::finding::{Finding, Verdict};
use cudnn_guard::internals::facts::finding_id::FindingId;
use cudnn_guard::internals::facts::version::Version;
use cudnn_guard_fuzz::expect_printable;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
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
    let _ = round_trip(&mut Unstructured::new(bytes));
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
    for outcome in &report.outcomes {
        for word in [outcome.operation, outcome.data_type, outcome.layout] {
            expect_printable(word);
        }
    }
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

/// Checks that a report with all kinds of lines survives a round trip.
fn round_trip(source: &mut Unstructured) -> Result<()> {
    let mut problem = Finding::warning(FindingId::DeviceBusy, source.arbitrary::<String>()?);
    problem = problem.with("mode", source.arbitrary::<String>()?);
    problem = problem.help(source.arbitrary::<String>()?);
    let mut driver = Driver::default();
    driver.library = source.arbitrary()?;
    let version = source.arbitrary::<Option<String>>()?;
    driver.version = version.filter(|it| !it.is_empty());
    driver.cuda = Some(Version::new(source.arbitrary()?, source.arbitrary()?, 0));
    let name: String = source.arbitrary()?;
    let capability = ComputeCapability::new(source.arbitrary()?, source.arbitrary()?);
    driver.devices = vec![Device::new(name, capability)];
    // Uses no NaN, which is not equal to itself.
    let mut number = || -> Result<f64> { Ok(source.arbitrary::<i64>()? as f64 / 1024.0) };
    let (milliseconds, largest_error) = (number()?, Some(number()?));
    let start = Some(SetupTimes {
        context: number()?,
        handle: number()?,
    });
    let api = *source.choose(&[Api::Legacy, Api::Graph])?;
    let outcome = CaseResult {
        device: source.arbitrary()?,
        api,
        operation: "forward",
        data_type: "f16",
        layout: "NHWC",
        algorithm: source.arbitrary()?,
        verdict: *source.choose(&[Verdict::Pass, Verdict::Fail, Verdict::Unknown])?,
        largest_error,
        milliseconds,
        start,
        tf32: source.arbitrary()?,
        left_out: source
            .arbitrary::<Option<String>>()?
            .filter(|it| !it.is_empty()),
        // Only the legacy API can decline a case.
        declined: api == Api::Legacy && source.arbitrary()?,
        finding: Some(problem.clone()),
    };
    let mut lines = vec![
        line("problem", &problem),
        line("driver", &driver),
        line("device", &driver.devices[0]),
        line("outcome", &outcome),
        line("outcome-finding", &problem),
    ];
    lines.push(line("end", &TOKEN));
    let report = ChildReport::parse(&(lines.join("\n") + "\n"), TOKEN);
    assert_eq!(report.problem, Some(problem));
    assert_eq!(report.driver, Some(driver));
    assert_eq!(report.outcomes, [outcome]);
    assert!(report.is_complete);
    Ok(())
}
