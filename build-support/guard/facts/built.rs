//! The facts of a build. The build script writes one value of `Built` as a record; the program reads it once.

use crate::runtime::facts::{LinkedIn, Severity, Tables, Target, Version};

/// The versions of cuDNN that may be loaded, compared with the version that the program was built with.
///
/// Each policy is in use elsewhere. XLA, TensorFlow and PyTorch accept what NVIDIA promises:
/// [`Compatible`](Self::Compatible). TensorFlow before 2019 compared major and minor: [`SameMinor`](Self::SameMinor).
/// ONNX Runtime is tied to a major by the library's name, and JAX requires a minimum version: both are a
/// [`Requirement`](Self::Requirement), `>=9, <10` and `>=9.8`. cuDNN's own sub-libraries require the
/// [`Exact`](Self::Exact) version of each other. cudarc and candle compare nothing, as `>=0` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// NVIDIA's promise: the same major, and the same or a newer minor. The patch level does not matter.
    Compatible,
    /// Equal major and minor.
    SameMinor,
    /// Equal major, minor and patch level.
    Exact,
    /// Any version that meets the build script's requirement.
    Requirement,
}

/// The way in which the running program loads cuDNN, which determines where the guard searches. Default: as implied by
/// `Config::link`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loader {
    /// cuDNN is linked and loaded before `main`. If a library or a function is missing, the program fails to load
    /// before the guard runs.
    Linked,
    /// The program opens cuDNN by its SONAME. Prefer this for programs that run on other machines than they were built
    /// on: the guard always runs, and the program can do without a GPU.
    Dlopen,
    /// The cudarc crate opens cuDNN by its own list of names.
    Cudarc,
    /// cuDNN is linked statically into the program.
    Static,
    /// The program uses no cuDNN, only CUDA. The guard checks the driver, the GPU and the program's kernels.
    None,
}

/// A requirement such as `>=9.1, <10`, lowered to one half-open range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The requirement as the build script wrote it.
    pub text: String,
    /// The first version that meets it.
    pub from: Version,
    /// The first later version that does not meet it.
    pub below: Option<Version>,
}

/// A finding of the build, without the paths of the machine it was built on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltFinding {
    /// The finding's id.
    pub id: String,
    /// The finding's severity.
    pub severity: Severity,
    /// The finding's headline. Paths are reduced to their last component.
    pub summary: String,
}

/// The facts of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The version of cudnn-guard that wrote the record.
    pub written_by: String,
    /// The crate that the guard was built in: `app 0.1.0`.
    pub package: Option<String>,
    /// The version of the cuDNN headers; `None` if the program links nothing.
    pub cudnn: Option<Version>,
    /// The CUDA major that cuDNN was built for.
    pub cudnn_cuda_major: Option<u32>,
    /// The version of the toolkit.
    pub cuda: Option<Version>,
    /// The build script's requirement for cuDNN.
    pub requirement: Option<Requirement>,
    /// The versions that may be loaded.
    pub policy: Policy,
    /// The way in which the program loads cuDNN.
    pub loader: Loader,
    /// The version of cudarc, if cudarc loads cuDNN.
    pub cudarc: Option<Version>,
    /// The device code compiled into the program; empty if there is none.
    pub targets: Vec<Target>,
    /// `true` if `check` runs a convolution.
    pub convolution: bool,
    /// `true` if the check fails on a machine without a usable GPU.
    pub require_gpu: bool,
    /// The sub-libraries of cuDNN and the operations that the program declares as needed.
    pub needs: Vec<String>,
    /// The findings of the build.
    pub findings: Vec<BuiltFinding>,
    /// Rows of the version tables that the program may need.
    pub tables: Tables,
    /// The reason why the program was built without CUDA, if it was.
    pub absent: Option<String>,
    /// A line of the record that this version does not know, written by a later version: `policy newer`.
    pub not_understood: Option<String>,
    /// The functions of a statically linked cuDNN. Records do not contain them.
    pub linked_in: Option<LinkedIn>,
}

impl Default for Built {
    /// Returns the value of an empty record: nothing is required and nothing is known.
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
