//! What this machine has, checked.

use crate::config::Config;
use crate::error::Error;
use crate::host::Host;
use crate::model::candidate::{Candidate, Cudnn, Toolkit};
use crate::model::finding::Finding;
use crate::rules::select::Selection;
use std::cell::OnceCell;
use std::path::PathBuf;

/// The CUDA and cuDNN that were chosen, all that was passed over, and what is thought of them.
#[derive(Debug)]
pub struct Toolchain {
    pub(crate) config: Config,
    pub(crate) host: Host,
    pub(crate) toolkit: Option<Toolkit>,
    pub(crate) cudnn: Option<Cudnn>,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) findings: Vec<Finding>,
    /// Existing regular files that the answer rests on.
    pub(crate) read: Vec<PathBuf>,
    /// Why there is no CUDA, where the build goes on without.
    pub(crate) absent: Option<Error>,
    /// The GPU targets, once somebody asked for them.
    pub(crate) selection: OnceCell<Result<Selection, Error>>,
}
