//! GPU targets: how people write them, which GPUs there are, what each nvcc can do, and which targets are chosen.

pub mod dialect;
pub mod gpu_names;
pub mod gpus;
pub mod nvcc_support;
pub mod nvcc_table;
pub mod nvidia_smi;
pub mod select;
#[cfg(test)]
mod table;
pub mod target_lists;
pub mod target_request;
