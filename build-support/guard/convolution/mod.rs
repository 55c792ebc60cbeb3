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
