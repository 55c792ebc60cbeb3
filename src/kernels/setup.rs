//! The setup that all files of one build share.

use crate::kernels::inputs::toolchain_fingerprint;
use crate::kernels::nvcc::wrapper::NvccWrapper;
use crate::model::{Candidate, Toolkit};
use crate::runtime::facts::Version;
use crate::toolchain::Toolchain;
use crate::toolkit::nvcc_command::Plan;
use std::path::PathBuf;

/// A plan and the programs that it runs.
pub struct Setup<'a> {
    pub plan: Plan<'a>,
    /// nvcc and the programs that it runs.
    pub programs: Vec<PathBuf>,
    /// The fingerprint of `programs`.
    pub tools: String,
    /// The version of the toolkit, if it is known.
    pub release: Option<Version>,
    /// The toolkits that were not chosen.
    pub others: Vec<&'a Toolkit>,
    pub wrapper: Option<NvccWrapper>,
    /// The header search path.
    pub search: Vec<PathBuf>,
}

impl<'a> Setup<'a> {
    /// Fingerprints the programs that this plan will run.
    pub fn new(plan: Plan<'a>, toolchain: &'a Toolchain) -> Self {
        let toolkit = toolchain.toolkit();
        let mut search = include_dirs(&plan.flags);
        if let Some(toolkit) = toolkit {
            search.extend_from_slice(&toolkit.include_dirs);
        }
        let root = toolkit.map(|toolkit| &*toolkit.root);
        let others = toolchain.candidates.iter().filter(|other| !other.chosen);
        let programs = toolchain_fingerprint::programs(&plan, root);
        Self {
            search,
            tools: toolchain_fingerprint::state(&plan, &programs),
            programs,
            release: toolkit.and_then(|toolkit| toolkit.version),
            others: others.filter_map(Candidate::toolkit).collect(),
            wrapper: NvccWrapper::find(&toolchain.host.env),
            plan,
        }
    }
}

/// Returns the directories of the `-I` flags.
pub fn include_dirs(flags: &[String]) -> Vec<PathBuf> {
    let dirs = flags.iter().filter_map(|flag| flag.strip_prefix("-I"));
    dirs.map(PathBuf::from).collect()
}
