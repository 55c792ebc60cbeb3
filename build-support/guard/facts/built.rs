//! What the build knew. The build script writes one value of `Built` as a record; the program reads it once.

use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::finding::Severity;
use crate::runtime::facts::linked_in::LinkedIn;
use crate::runtime::facts::tables::Tables;
use crate::runtime::facts::version::Version;

/// Which releases may be loaded, seen from the one that was built with.
///
/// Each is the rule of somebody who has it in use. XLA and TensorFlow, and PyTorch, accept what NVIDIA promises:
/// [`Compatible`](Self::Compatible). TensorFlow before 2019 compared major and minor: [`SameMinor`](Self::SameMinor).
/// ONNX Runtime is tied to a major by the library's name, and JAX asks for a release at least: both are a
/// [`Requirement`](Self::Requirement), `>=9, <10` and `>=9.8`. cuDNN's own parts want each other to be
/// [`Exact`](Self::Exact)ly of one release. cudarc and candle compare nothing, as `>=0` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// NVIDIA's promise: the same major, and a minor at least as new. The patch level is free.
    Compatible,
    /// The same major and minor.
    SameMinor,
    /// All three numbers.
    Exact,
    /// Whatever meets the build script's requirement.
    Requirement,
}

/// How the running program gets at its cuDNN, and so where the guard looks for it. What the build links is
/// `Config::link`, from which this follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loader {
    /// It is linked, and loaded before `main`: where a library or a function is missing, the system's loader ends the
    /// program before the guard runs.
    Linked,
    /// The program opens it by its SONAME. The better one for programs that run on other machines than they were built
    /// on: the guard always runs, and the program can do without a GPU.
    Dlopen,
    /// The cudarc crate opens it, by its own list of names.
    Cudarc,
    /// It is part of the program itself.
    Static,
}

/// A requirement such as `>=9.1, <10`, lowered to one half-open range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// As the build script wrote it.
    pub text: String,
    /// The first release that meets it.
    pub from: Version,
    /// The first release that no longer does.
    pub below: Option<Version>,
}

/// A finding of the build, without the paths of the machine it was built on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltFinding {
    /// Its id.
    pub id: String,
    /// How much it mattered.
    pub severity: Severity,
    /// Its headline; of paths, the last component alone.
    pub summary: String,
}

/// What the build knew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The release of cudnn-guard that wrote it.
    pub written_by: String,
    /// The crate whose guard it is: `app 0.1.0`.
    pub package: Option<String>,
    /// The cuDNN of the headers; none where the program links nothing.
    pub cudnn: Option<Version>,
    /// The CUDA major that the cuDNN was built for.
    pub cudnn_cuda_major: Option<u32>,
    /// The toolkit's release.
    pub cuda: Option<Version>,
    /// What the build script asked of cuDNN.
    pub requirement: Option<Requirement>,
    /// Which releases may be loaded.
    pub policy: Policy,
    /// How the program gets at cuDNN.
    pub loader: Loader,
    /// The release of cudarc that it is built with, where cudarc loads.
    pub cudarc: Option<Version>,
    /// The device code compiled into the program; empty if it has none.
    pub targets: Vec<Target>,
    /// Whether `check` runs a convolution.
    pub convolution: bool,
    /// Whether a machine without a usable GPU fails.
    pub require_gpu: bool,
    /// Parts of cuDNN, and operations of the version tables, that the program says it uses.
    pub needs: Vec<String>,
    /// What was noticed when it was built.
    pub findings: Vec<BuiltFinding>,
    /// Rows of the version tables that the program may need.
    pub tables: Tables,
    /// Why the program was built without CUDA, if it was.
    pub absent: Option<String>,
    /// What a later release wrote that this one cannot judge by: `policy newer`.
    pub not_understood: Option<String>,
    /// The functions of the cuDNN that is part of the program, if one is. No record holds them.
    pub linked_in: Option<LinkedIn>,
}

impl Default for Built {
    /// Nothing was asked and nothing is known: what a record that leaves everything out means.
    fn default() -> Self {
        Self {
            written_by: String::new(),
            package: None,
            cudnn: None,
            cudnn_cuda_major: None,
            cuda: None,
            requirement: None,
            policy: Policy::Compatible,
            loader: Loader::Dlopen,
            cudarc: None,
            targets: Vec::new(),
            convolution: true,
            require_gpu: false,
            needs: Vec::new(),
            findings: Vec::new(),
            tables: Tables::default(),
            absent: None,
            not_understood: None,
            linked_in: None,
        }
    }
}
