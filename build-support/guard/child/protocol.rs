//! What the child tells its parent: lines of fields, so that whatever was told before a crash is known.

use crate::runtime::convolution::case_result::{self, Api, CaseResult, SetupTimes};
use crate::runtime::convolution::stage::Stage;
use crate::runtime::driver::query::{Device, Driver};
use crate::runtime::facts::compute_capability::ComputeCapability;
use crate::runtime::facts::escape::{escape, unescape};
use crate::runtime::facts::finding::{Finding, Verdict, printable};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// All that a child told.
#[derive(Default)]
pub struct ChildReport {
    /// What it was doing last.
    pub stage: Stage,
    /// Files that the loader would not open, with its words.
    pub unopened: Vec<(PathBuf, String)>,
    /// `cudnnGetVersion`.
    pub version: Option<Version>,
    /// The CUDA major in `cudnnGetCudartVersion`.
    pub cuda_major: Option<u32>,
    /// cuDNN's own version checks that failed, by name.
    pub failed_checks: Vec<String>,
    /// The driver.
    pub driver: Option<Driver>,
    /// Why there is no usable GPU.
    pub problem: Option<Finding>,
    /// The numbers of the GPUs that were to be tried.
    pub tried: Vec<usize>,
    /// The operations that were tried.
    pub outcomes: Vec<CaseResult>,
    /// What was mapped at the end.
    pub mapped: Vec<PathBuf>,
    /// Whether it came to its end.
    pub whole: bool,
}

/// One line: the kind, then fields, in which no tab and no line break is left.
pub fn line(kind: &str, fields: &[&str]) -> String {
    let mut out = kind.to_string();
    for field in fields {
        out.push('\t');
        out += &escape(field);
    }
    out
}

/// A field for a path, whatever its bytes: text as it stands, anything else as the numbers of its bytes after a NUL,
/// with which no path begins.
pub fn path_field(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return text.to_string();
    }
    let numbers: Vec<_> = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| byte.to_string())
        .collect();
    format!("\0{}", numbers.join(" "))
}

/// The kind and the fields of every line.
pub fn each_line(text: &str, told: &mut dyn FnMut(&str, &[&str])) {
    // A line that was not finished is not there.
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else {
            continue;
        };
        let plain: Vec<_> = line.split('\t').map(unescape).collect();
        let fields: Vec<_> = plain.iter().map(|field| field.as_str()).collect();
        if let Some((kind, fields)) = fields.split_first() {
            told(kind, fields);
        }
    }
}

/// The path that such a field stands for.
pub fn path(field: &str) -> PathBuf {
    match field.strip_prefix('\0') {
        Some(numbers) => {
            let mut bytes = Vec::new();
            for number in numbers.split(' ') {
                if let Ok(byte) = number.parse() {
                    bytes.push(byte);
                }
            }
            platform::path_of(bytes)
        }
        None => PathBuf::from(field),
    }
}

/// The line of a driver, without its devices.
pub fn driver_line(driver: &Driver) -> String {
    let cuda = driver
        .cuda
        .map_or_else(String::new, |cuda| cuda.to_string());
    line(
        "driver",
        &[
            &driver.library,
            driver.version.as_deref().unwrap_or(""),
            &cuda,
        ],
    )
}

/// The line of a device.
pub fn device_line(device: &Device) -> String {
    line("device", &[&device.name, &device.capability.to_string()])
}

/// The line of a finding, under the kind that says what it is about.
pub fn finding_line(kind: &str, finding: &Finding) -> String {
    let severity = finding.severity.to_string();
    let mut fields = vec![finding.id.as_str(), &severity, &finding.summary];
    for (label, value) in &finding.evidence {
        fields.push(label);
        fields.push(value);
    }
    fields.push("");
    for help in &finding.help {
        fields.push(help);
    }
    line(kind, &fields)
}

/// The lines of an operation that was tried.
pub fn outcome_lines(outcome: &CaseResult) -> Vec<String> {
    let bits = |number: Option<f64>| {
        number.map_or_else(String::new, |number| number.to_bits().to_string())
    };
    let verdict = outcome.verdict.to_string();
    let error = bits(outcome.largest_error);
    let times = [
        bits(Some(outcome.milliseconds)),
        bits(outcome.start.map(|start| start.context)),
        bits(outcome.start.map(|start| start.handle)),
    ];
    let [time, context, handle] = &times;
    let tf32 = outcome.tf32.map_or_else(String::new, |it| it.to_string());
    let declined = if outcome.declined { "declined" } else { "" };
    let fields = [
        &outcome.device,
        outcome.api.name(),
        outcome.operation,
        outcome.data_type,
        outcome.layout,
        &outcome.algorithm,
        &verdict,
        &error,
        time,
        context,
        handle,
        &tf32,
        outcome.left_out.as_deref().unwrap_or(""),
        declined,
    ];
    let mut lines = vec![line("outcome", &fields)];
    if let Some(finding) = &outcome.finding {
        lines.push(finding_line("outcome-finding", finding));
    }
    lines
}

impl ChildReport {
    /// Reads the lines. Those that make no sense are passed over; the last one carries the token that only the
    /// child knows.
    pub fn parse(text: &str, token: &str) -> Self {
        let mut answer = Self::default();
        each_line(text, &mut |kind, fields| {
            answer.parse_line(kind, fields, token);
        });
        case_result::excuse_declined(&mut answer.outcomes);
        answer
    }

    fn parse_line(&mut self, kind: &str, fields: &[&str], token: &str) {
        match (kind, fields) {
            ("stage", [stage]) => self.stage = Stage::parse(stage),
            ("refused", [file, words]) => {
                self.unopened.push((path(file), words.to_string()));
            }
            ("version", [number]) => self.version = number.parse().ok().map(Version::from_cudnn),
            ("cudart", [number]) => {
                self.cuda_major = number.parse().ok().map(|number: u32| number / 1000);
            }
            ("failed-check", [name]) => self.failed_checks.push(name.to_string()),
            ("driver", [library, version, cuda]) => {
                self.driver = Some(Driver {
                    library: library.to_string(),
                    version: Some(version.to_string()).filter(|version| !version.is_empty()),
                    cuda: numbers(cuda).map(|(major, minor)| Version::new(major, minor, 0)),
                    devices: Vec::new(),
                });
            }
            ("device", [name, capability]) => {
                let capability = numbers(capability);
                if let (Some(driver), Some((major, minor))) = (&mut self.driver, capability) {
                    let capability = ComputeCapability::new(major, minor);
                    driver.devices.push(Device {
                        name: name.to_string(),
                        capability,
                    });
                }
            }
            ("tried", [number]) => self.tried.extend(number.parse::<usize>()),
            ("problem", fields) => self.problem = finding(fields),
            ("outcome", fields) => {
                if let Some(outcome) = outcome(fields) {
                    self.outcomes.push(outcome);
                }
            }
            ("outcome-finding", fields) => {
                if let Some(last) = self.outcomes.last_mut() {
                    last.finding = finding(fields);
                }
            }
            ("map", [file]) => self.mapped.push(path(file)),
            ("end", [end]) => self.whole = *end == token,
            _ => {}
        }
    }
}

fn outcome(fields: &[&str]) -> Option<CaseResult> {
    let [
        device,
        api,
        operation,
        data_type,
        layout,
        algorithm,
        verdict,
        error,
        time,
        context,
        handle,
        tf32,
        left_out,
        declined,
    ] = fields
    else {
        return None;
    };
    let number = |field: &str| field.parse().ok().map(f64::from_bits);
    let start = match (number(context), number(handle)) {
        (Some(context), Some(handle)) => Some(SetupTimes { context, handle }),
        _ => None,
    };
    Some(CaseResult {
        device: device.to_string(),
        api: if *api == Api::Graph.name() {
            Api::Graph
        } else {
            Api::Legacy
        },
        operation: intern(operation),
        data_type: intern(data_type),
        layout: intern(layout),
        algorithm: algorithm.to_string(),
        verdict: match *verdict {
            "pass" => Verdict::Pass,
            "fail" => Verdict::Fail,
            _ => Verdict::Unknown,
        },
        largest_error: number(error),
        milliseconds: number(time)?,
        start,
        tf32: tf32.parse().ok(),
        left_out: Some(left_out.to_string()).filter(|reason| !reason.is_empty()),
        declined: !declined.is_empty(),
        finding: None,
    })
}

fn finding(fields: &[&str]) -> Option<Finding> {
    let [id, severity, summary, rest @ ..] = fields else {
        return None;
    };
    // The child is a fork of this process, and has the same ids.
    let id = FindingId::parse(id)?;
    let mut finding = match *severity {
        "error" => Finding::error(id, *summary),
        "warning" => Finding::warning(id, *summary),
        _ => Finding::note(id, *summary),
    };
    let mut rest = rest.iter();
    while let Some(label) = rest.next().filter(|label| !label.is_empty()) {
        finding = finding.with(intern(label), rest.next()?);
    }
    for help in rest {
        finding.help.push(help.to_string());
    }
    Some(finding)
}

/// `9.0` or `13.0.0`
fn numbers(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// More words than the guard has: what a damaged child tells may be anything.
const MOST_WORDS: usize = 256;

/// The words that came through the pipe, printable. Each is kept once for the life of the process.
static WORDS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

fn intern(text: &str) -> &'static str {
    let Ok(mut words) = WORDS.lock() else {
        return "unknown";
    };
    let text = printable(text);
    if let Some(known) = words.iter().find(|known| **known == text) {
        return known;
    }
    if words.len() >= MOST_WORDS {
        return "unknown";
    }
    let kept: &'static str = Box::leak(text.into_boxed_str());
    words.push(kept);
    kept
}
