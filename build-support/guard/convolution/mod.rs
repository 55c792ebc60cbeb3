//! Small convolutions on the GPU, held against the same numbers computed here.

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
