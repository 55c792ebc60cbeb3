//! The dynamic linking information of programs and libraries.

use crate::runtime::binary::Defect;
use crate::runtime::install::missing_dlopen::MissingLink;
use crate::runtime::loader::{LoadOrigin, Unfit};
use std::path::PathBuf;
use std::sync::Arc;

/// The dynamic linking information of a file.
#[derive(Clone, Debug, Default)]
pub struct Linkage {
    /// `true` for a program or DLL for Windows.
    pub is_pe: bool,
    /// The architecture as in target triples.
    pub cpu: String,
    pub soname: Option<String>,
    /// The libraries loaded with it: DT_NEEDED, the import table.
    pub needed: Vec<String>,
    /// The DLLs that Windows loads when one of their functions is first called (`/DELAYLOAD`).
    pub delayed: Vec<String>,
    /// DT_RPATH, unless a DT_RUNPATH disables it.
    pub rpath: Option<String>,
    pub runpath: Option<String>,
    /// DF_1_NODEFLIB: the loader does not search the system directories for its libraries.
    pub nodeflib: bool,
    pub interpreter: Option<String>,
    /// The symbol versions that it requires from other libraries, by file name.
    pub needed_versions: Vec<(String, Vec<String>)>,
    pub defined_versions: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Object {
    /// The name by which it was requested; empty for the program.
    pub name: String,
    pub path: PathBuf,
    /// The value of `$ORIGIN` in the object: the directory where the loader found it, possibly through a link.
    pub origin: PathBuf,
    /// The search entry through which the loader found it.
    pub via: Option<LoadOrigin>,
    pub need: LoadPhase,
    /// The index of the first object that requested it.
    pub requester: Option<usize>,
    pub linkage: Arc<Linkage>,
    /// The reason why the loader fails on it.
    pub defect: Option<Defect>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LoadPhase {
    /// Program start, which fails if the library is missing.
    #[default]
    Start,
    /// The first convolution, whose cuDNN sub-library fails to load if the library is missing.
    Part,
    /// An explicit `dlopen`, which may never happen.
    Later,
}

/// A library that the loader cannot find.
#[derive(Clone, Debug, Default)]
pub struct Missing {
    pub name: String,
    pub needed_by: PathBuf,
    pub need: LoadPhase,
    pub searched: Vec<String>,
    /// An empty file of this name, or a dangling link, over which the real file is mounted later.
    pub placeholder: Option<PathBuf>,
    /// The first file of this name that the loader cannot use.
    pub unfit: Option<Unfit>,
    /// The link by which the loader would find it.
    pub link: Option<MissingLink>,
}
