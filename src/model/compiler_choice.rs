//! The setting that selects nvcc's host compiler.

use crate::model::Variable;

/// The origin of the compiler's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompilerChoice {
    /// A variable and its value, which is passed to nvcc as an argument.
    Variable(Variable, String),
    /// An argument of nvcc itself: in build.rs, or in NVCC_PREPEND_FLAGS or NVCC_APPEND_FLAGS.
    Flag,
    /// Nothing sets it: nvcc uses `gcc`, or `cl.exe`, from PATH.
    Unset,
}
