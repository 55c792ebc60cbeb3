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

impl Config {
    /// Finds nothing yet.
    pub fn survey(self) -> Toolchain {
        Toolchain {
            host: Host {
                env: crate::model::env::Env::default(),
                platform: crate::model::platform::Platform::from_triple(
                    self.target.as_deref().unwrap_or("x86_64-unknown-linux-gnu"),
                ),
                root: self.root.clone(),
            },
            config: self,
            toolkit: None,
            cudnn: None,
            candidates: Vec::new(),
            findings: vec![
                Finding::error("cuda-not-found", "no CUDA toolkit was found"),
                Finding::error("cudnn-not-found", "no cuDNN was found"),
            ],
            read: Vec::new(),
            absent: None,
            selection: OnceCell::new(),
        }
    }
}
