//! The result of a convolution in a report.

use crate::runtime::convolution::Stage;
use crate::runtime::cudnn::{DataType, Layout, Operation};
use crate::runtime::facts::codec::named;
use crate::runtime::facts::{ComputeCapability, Fields, Finding, FindingId, Verdict};

/// An API of cuDNN. Programs use either or both, and they fail differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// A function for each operation.
    Legacy,
    /// Descriptors of a graph, and an engine that computes it; since 8, and in 9 the main API.
    Graph,
}

impl Api {
    /// Returns the words to append to a sentence; empty for the default API.
    pub fn api_words(self) -> &'static str {
        match self {
            Api::Legacy => "",
            Api::Graph => " through the graph API",
        }
    }
}

named!(Api {
    Legacy = "legacy",
    Graph = "graph",
});

/// The parameters of a test of cuDNN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    pub extent: Extent,
    /// `true` if this cuDNN has only the graph API, as shipped for `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY`.
    pub graph_only: bool,
    /// `true` if the program itself uses the GPU's context, so that an error there may be the program's.
    pub in_program: bool,
    /// `true` if the user chose the GPU.
    pub is_explicit: bool,
    /// The newest GPU in the tables, 0.0 if this cuDNN is newer than the tables; `None` without tables.
    pub newest_gpu: Option<ComputeCapability>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A convolution for each data type: fast enough for every start of a program.
    Quick,
    /// Every operation, layout and format, and a second shape.
    Thorough,
}

named!(Extent {
    Quick = "quick",
    Thorough = "thorough",
});

#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    /// The GPU; empty if there is none.
    pub device: String,
    pub api: Api,
    pub operation: Operation,
    pub data_type: DataType,
    pub layout: Layout,
    /// The algorithm or engine; empty if none was chosen.
    pub algorithm: String,
    /// Pass: the numbers are right. Unknown: it could not be tested.
    pub verdict: Verdict,
    /// The largest distance from the CPU's result, if there is a result.
    pub largest_error: Option<f64>,
    pub milliseconds: f64,
    /// The milliseconds for creating the GPU's context and cuDNN's handle, in the first result.
    pub start: Option<(f64, f64)>,
    /// `true` if single precision was rounded to TF32; `None` if unknown.
    pub tf32: Option<bool>,
    /// The reason why it was left out, if this GPU or this cuDNN does not support it.
    pub left_out: Option<String>,
    /// `true` if cuDNN declined it, although the graph API may compute it.
    pub declined: bool,
    /// The reason why it did not pass.
    pub finding: Option<Finding>,
}

impl CaseResult {
    /// Returns the convolution in words: `f32 convolution forward`.
    pub fn title(&self) -> String {
        let (data_type, operation) = (self.data_type.name(), self.operation.name());
        format!("{data_type} {operation}{}", self.api.api_words())
    }
}

/// Makes unknown what the legacy API declined, if the graph API computes in the same format. A GPU's first
/// convolution is the one that every cuDNN computes: if it is excused, others are too.
pub fn excuse_declined(rows: &mut [CaseResult]) {
    let all = rows.to_vec();
    for row in rows.iter_mut().filter(|row| row.declined) {
        let mut on_device = all.iter().filter(|other| other.device == row.device);
        let first = on_device.clone().next().filter(|first| first.declined);
        let by_graph = on_device.find(|other| {
            let is_same = other.data_type == row.data_type
                || first.is_some_and(|first| other.data_type == first.data_type);
            is_same && other.api == Api::Graph && other.verdict == Verdict::Pass
        });
        if let Some(by_graph) = by_graph {
            row.excuse(by_graph.data_type.name());
        }
    }
}

/// Returns the ids of the failed convolutions.
pub fn failed_ids(rows: &[CaseResult]) -> Vec<FindingId> {
    let failed = |row: &&CaseResult| row.verdict == Verdict::Fail;
    let findings = rows
        .iter()
        .filter(failed)
        .filter_map(|row| row.finding.as_ref());
    findings.map(|finding| finding.id).collect()
}

pub enum SuiteEvent {
    Next(Stage),
    Done(Box<CaseResult>),
}

impl SuiteEvent {
    /// Returns the event that a call into cuDNN begins.
    pub fn cudnn(words: impl Into<String>) -> Self {
        SuiteEvent::Next(Stage::Cudnn(words.into()))
    }
}
