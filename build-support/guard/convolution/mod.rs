//! Small convolutions on the GPU, compared with the CPU's results.

pub mod case;
pub mod case_result;
pub mod cudnn_error;
pub mod failure;
pub mod graph;
pub mod graph_engines;
pub mod passed_over;
pub mod reference;
pub mod run_case;
pub mod stage;
pub mod suite;
pub mod tolerance;

pub use case::{Case, FIRST, SECOND};
pub use case_result::{Api, CaseResult, Extent, Scope, SuiteEvent};
pub use cudnn_error::{
    CudnnError, LOW_MEMORY, MIB, is_elsewhere, is_hardware, is_memory, is_outside_cudnn,
};
pub use failure::{CaseFailure, CaseSuccess, FailedCase, OVERRIDE, Unsupported, WrongEverywhere};
pub use graph::{Engine, Graph, HeuristicMode, Plan};
pub use passed_over::WorstRefusal;
pub use reference::{Expected, Reference};
pub use run_case::CaseRunner;
pub use stage::Stage;
pub use tolerance::{Comparison, Tolerance};
