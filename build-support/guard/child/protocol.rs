//! The child's report to its parent, as lines of fields: the lines before a crash can still be read.

use crate::runtime::convolution::{CaseResult, Stage, case_result};
use crate::runtime::driver::{Device, Driver};
use crate::runtime::facts::codec::{join, parsed, row, split};
use crate::runtime::facts::{
    ComputeCapability, Fields, Finding, FindingId, Severity, Version, codec, printable,
};
use crate::runtime::loader::loader_words;
use crate::runtime::system::platform;
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(Default)]
pub struct ChildReport {
    /// Its last step.
    pub stage: Stage,
    /// Files that the loader refused, with its message.
    pub unopened: Vec<(PathBuf, String)>,
    /// `cudnnGetVersion`.
    pub version: Option<Version>,
    /// The CUDA major in `cudnnGetCudartVersion`.
    pub cuda_major: Option<u32>,
    /// cuDNN's own version checks that failed, by name.
    pub failed_checks: Vec<String>,
    pub driver: Option<Driver>,
    /// The reason why there is no usable GPU.
    pub problem: Option<Finding>,
    /// The numbers of the GPUs to test.
    pub tried: Vec<usize>,
    pub outcomes: Vec<CaseResult>,
    /// The files of cuDNN and its dependencies that were mapped at the end.
    pub mapped: Vec<PathBuf>,
    pub is_complete: bool,
}

row!(Driver: library, version, cuda; devices: Vec::new());
row!(Device: name, capability);
row!(ComputeCapability: major, minor);
row!(
    CaseResult: device, api, operation, data_type, layout, algorithm, verdict, largest_error, milliseconds, tf32, left_out,
    declined, start; finding: None
);

impl Fields for f64 {
    fn encode(&self) -> String {
        self.to_bits().to_string()
    }

    fn decode(text: &str) -> Option<Self> {
        parsed(text).map(f64::from_bits)
    }
}

/// A path with any bytes. A UTF-8 path is written as it is. Any other path is written as a NUL and the numbers of its
/// bytes, since no path begins with NUL.
impl Fields for PathBuf {
    fn encode(&self) -> String {
        if let Some(text) = self.to_str() {
            return text.to_string().encode();
        }
        let mut numbers = "\0".to_string();
        for byte in self.as_os_str().as_encoded_bytes() {
            numbers += &format!("{byte},");
        }
        numbers
    }

    fn decode(text: &str) -> Option<Self> {
        let text = String::decode(text)?;
        let Some(numbers) = text.strip_prefix('\0') else {
            return Some(PathBuf::from(text));
        };
        let bytes = numbers.split(',').filter_map(|number| number.parse().ok());
        Some(platform::path_of(bytes.collect()))
    }
}

impl Fields for Stage {
    fn encode(&self) -> String {
        self.to_string().encode()
    }

    fn decode(text: &str) -> Option<Self> {
        String::decode(text).map(|text| Stage::parse(&text))
    }
}

/// The evidence ends with an empty label, and the helps follow.
impl Fields for Finding {
    fn encode(&self) -> String {
        let severity = self.severity.to_string();
        let mut fields = vec![self.id.to_string(), severity, self.summary.clone()];
        for (label, value) in &self.evidence {
            fields.push(label.to_string());
            fields.push(value.clone());
        }
        fields.push(String::new());
        fields.extend_from_slice(&self.help);
        fields.encode()
    }

    fn decode(text: &str) -> Option<Self> {
        let fields = Vec::<String>::decode(text)?;
        let [id, severity, summary, rest @ ..] = fields.as_slice() else {
            return None;
        };
        let (mut evidence, mut rest) = (Vec::new(), rest.iter());
        while let Some(label) = rest.next().filter(|label| !label.is_empty()) {
            evidence.push((intern(label), rest.next()?.clone()));
        }
        Some(Finding {
            // The child runs the code of this program, so it has the same ids.
            id: FindingId::parse(id)?,
            severity: Severity::decode(severity)?,
            summary: summary.clone(),
            evidence,
            help: rest.cloned().collect(),
        })
    }
}

impl ChildReport {
    /// Parses the lines. Invalid lines are ignored. The last line contains the token, which only the child knows.
    pub fn parse(text: &str, token: &str) -> Self {
        let mut answer = Self::default();
        codec::each_line(text, &mut |key, value| answer.read(key, value, token));
        case_result::excuse_declined(&mut answer.outcomes);
        answer
    }

    /// Returns the ids of what failed before the end of the child.
    pub fn failures(&self) -> Vec<FindingId> {
        let mut ids = case_result::failed_ids(&self.outcomes);
        // A refusal for lack of a driver is no fault.
        let mut unopened = self.unopened.iter();
        if unopened.any(|(path, words)| !loader_words::requires_driver(path, words)) {
            ids.push(FindingId::CudnnNotLoadable);
        }
        ids
    }

    /// Returns `true` if the report is complete, and nothing failed.
    pub fn is_sound(&self) -> bool {
        self.is_complete && self.failed_checks.is_empty() && self.failures().is_empty()
    }

    fn read(&mut self, key: &str, value: &str, token: &str) {
        match key {
            "stage" => codec::set(&mut self.stage, value),
            "refused" => codec::push(&mut self.unopened, value),
            "version" => codec::set(&mut self.version, value),
            "cudart" => codec::set(&mut self.cuda_major, value),
            "failed-check" => codec::push(&mut self.failed_checks, value),
            "driver" => codec::set(&mut self.driver, value),
            "device" => {
                if let Some(driver) = &mut self.driver {
                    codec::push(&mut driver.devices, value);
                }
            }
            "tried" => codec::push(&mut self.tried, value),
            "problem" => codec::set(&mut self.problem, value),
            "outcome" => codec::push(&mut self.outcomes, value),
            "outcome-finding" => {
                if let Some(last) = self.outcomes.last_mut() {
                    codec::set(&mut last.finding, value);
                }
            }
            "map" => codec::push(&mut self.mapped, value),
            "end" => self.is_complete = value == token,
            _ => {}
        }
    }
}

/// A limit above the number of different strings in the guard: a damaged child may report anything.
const MOST_INTERNED: usize = 256;

/// Printable strings from the pipe. Each is kept once, for the lifetime of the process.
static INTERNED: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

fn intern(text: &str) -> &'static str {
    let Ok(mut interned) = INTERNED.lock() else {
        return "unknown";
    };
    let text = printable(text);
    if let Some(known) = interned.iter().find(|known| **known == text) {
        return known;
    }
    if interned.len() >= MOST_INTERNED {
        return "unknown";
    }
    let kept: &'static str = Box::leak(text.into_boxed_str());
    interned.push(kept);
    kept
}
