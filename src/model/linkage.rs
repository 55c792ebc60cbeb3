//! What a program or library asks the loader for.

use crate::runtime::binary::defect::Defect;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::not_found::Unfit;
use std::path::PathBuf;

/// The file formats of programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Of Linux and others.
    #[default]
    Elf,
    /// Of Windows.
    Pe,
}

/// What a file says to the loader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linkage {
    /// Its format.
    pub format: Format,
    /// The processor, as target triples call it.
    pub cpu: String,
    /// Whether it is of 64 bits, with the lowest byte first.
    pub is_usual: bool,
    /// Its own name.
    pub soname: Option<String>,
    /// The libraries that are loaded with it.
    pub needed: Vec<String>,
    /// Those that Windows loads when something of them is first called (`/DELAYLOAD`).
    pub delayed: Vec<String>,
    /// DT_RPATH, where no DT_RUNPATH switches it off.
    pub rpath: Option<String>,
    /// DT_RUNPATH.
    pub runpath: Option<String>,
    /// DF_1_NODEFLIB: what it needs is not looked for in the system's folders.
    pub shuns_system: bool,
    /// The loader that it names.
    pub interpreter: Option<String>,
    /// The symbol versions that it needs of other libraries, by file name.
    pub needed_versions: Vec<(String, Vec<String>)>,
    /// The symbol versions that it defines.
    pub defined_versions: Vec<String>,
}

/// A file that is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// The name that it was asked for by; none for the program.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The folder that `$ORIGIN` stands for in it: where the loader came to it, be that by a link.
    pub origin: PathBuf,
    /// What made the loader take it.
    pub via: Option<LoadOrigin>,
    /// How much it is needed.
    pub need: LoadPhase,
    /// Which object asked for it first.
    pub asked_by: Option<usize>,
    /// What it says.
    pub linkage: Linkage,
    /// Why the loader stops at it.
    pub flaw: Option<Defect>,
}

/// How much a library is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadPhase {
    /// The program does not start without it.
    #[default]
    Start,
    /// A part of cuDNN that a convolution opens does not load without it.
    Part,
    /// It is opened by its name once something wants it, which may be never.
    Later,
}

/// A library that the loader does not find.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Its name.
    pub name: String,
    /// The file that needs it.
    pub needed_by: PathBuf,
    /// What comes of that.
    pub need: LoadPhase,
    /// Where the loader looks.
    pub looked_at: Vec<String>,
    /// A file of that name that is nothing, or a link that leads nowhere: something is mounted over it later.
    pub stands_in: Option<PathBuf>,
    /// The first file of that name which the loader cannot use, and passes over or stops at.
    pub unfit: Option<Unfit>,
}
