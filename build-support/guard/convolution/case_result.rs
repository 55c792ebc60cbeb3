//! How a convolution went, as a report shows it.

use crate::runtime::convolution::stage::Stage;
use crate::runtime::facts::codec::{Fields, named};
use crate::runtime::facts::compute_capability::ComputeCapability;
use crate::runtime::facts::finding::{Finding, Verdict};

/// By which of cuDNN's interfaces. Programs use one, the other or both, and they fail differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// One function for each operation.
    Legacy,
    /// Descriptors of a graph, and an engine that computes it: since 8, and in 9 what is taken care of first.
    Graph,
}

impl Api {
    /// What is added to a sentence; nothing for what everybody means.
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

/// What is tried of a cuDNN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// How much.
    pub extent: Extent,
    /// Whether its graph interface is all there is: what is shipped for `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY`.
    pub graph_only: bool,
    /// Whether the program itself uses the GPU's context, so that an error there may be its own.
    pub in_program: bool,
    /// Whether it was said on which GPU.
    pub asked: bool,
    /// The newest GPU that the tables know, 0.0 where the release itself is newer than they are; none without tables.
    pub newest_gpu: Option<ComputeCapability>,
}

impl Scope {
    /// Whether this GPU, or the release, came after the tables.
    pub fn is_new(&self, gpu: ComputeCapability) -> bool {
        self.newest_gpu.is_some_and(|newest| gpu > newest)
    }
}

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One convolution for each number format: what a program can afford whenever it starts.
    Quick,
    /// Every operation, layout and format, and every algorithm that cuDNN offers.
    Thorough,
}

named!(Extent {
    Quick = "quick",
    Thorough = "thorough",
});

/// How one convolution went.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    /// The GPU; empty if there is none.
    pub device: String,
    /// By which interface.
    pub api: Api,
    /// What was computed.
    pub operation: &'static str,
    /// In which format.
    pub data_type: &'static str,
    /// In which order the numbers stood.
    pub layout: &'static str,
    /// By which of cuDNN's algorithms or engines; empty if it did not come to that.
    pub algorithm: String,
    /// Pass: the numbers are right. Unknown: it could not be tried.
    pub verdict: Verdict,
    /// The largest distance from the CPU's result, if there is a result.
    pub largest_error: Option<f64>,
    /// How long it took.
    pub milliseconds: f64,
    /// How long it took before, for the first one.
    pub start: Option<SetupTimes>,
    /// Whether single precision was rounded to TF32, where that can be told.
    pub tf32: Option<bool>,
    /// Why it was left out, if this GPU or this cuDNN does not serve it.
    pub left_out: Option<String>,
    /// Whether cuDNN declined it, and the graph API may compute it all the same.
    pub declined: bool,
    /// Why it did not pass.
    pub finding: Option<Finding>,
}

/// Makes unknown what the legacy API declined where the graph API computes in the same format. A GPU's first
/// convolution is one that every cuDNN computes: where it is excused, others are too.
pub fn excuse_declined(rows: &mut [CaseResult]) {
    let mut excused = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.declined) {
        let mut on_device = rows.iter().filter(|other| other.device == row.device);
        let first = on_device.clone().next().filter(|first| first.declined);
        let by_graph = on_device.find(|other| {
            let is_same = other.data_type == row.data_type
                || first.is_some_and(|first| other.data_type == first.data_type);
            is_same && other.api == Api::Graph && other.verdict == Verdict::Pass
        });
        if let Some(by_graph) = by_graph {
            excused.push((index, by_graph.data_type));
        }
    }
    for (index, format) in excused {
        if let Some(row) = rows.get_mut(index) {
            row.excuse(format);
        }
    }
}

/// What is done once before all convolutions, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetupTimes {
    /// The GPU's context.
    pub context: f64,
    /// cuDNN's handle.
    pub handle: f64,
}

/// What is told while convolutions are tried.
pub enum SuiteEvent {
    /// What comes next.
    Next(Stage),
    /// How it went.
    Done(Box<CaseResult>),
}

impl SuiteEvent {
    /// Returns the event that cuDNN is asked for this next.
    pub fn cudnn(words: impl Into<String>) -> Self {
        SuiteEvent::Next(Stage::Cudnn(words.into()))
    }
}
