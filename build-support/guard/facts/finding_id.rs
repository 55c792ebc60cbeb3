//! The ids of findings. A word may be added; none is renamed or used for something else.

use std::fmt;

macro_rules! finding_ids {
    ($($name:ident $word:literal,)*) => {
        /// What a finding is about: a word that never changes its meaning, for `allow`, for programs and for search
        /// engines. `cudnn-guard explain ID` tells what each means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingId {
            $(#[doc = concat!("`", $word, "`")] $name,)*
        }

        impl FindingId {
            /// Every id.
            pub const ALL: &'static [FindingId] = &[$(FindingId::$name),*];

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(FindingId::$name => $word,)*
                }
            }
        }
    };
}

finding_ids! {
    CudaNotFound "cuda-not-found",
    CudnnNotFound "cudnn-not-found",
    CudnnHeadersMissing "cudnn-headers-missing",
    NvccNotFound "nvcc-not-found",
    VariableUnusable "variable-unusable",
    VariablesDisagree "variables-disagree",
    ConfigInvalid "config-invalid",
    PartialToolkit "partial-toolkit",
    CudaRequirementUnmet "cuda-requirement-unmet",
    CudnnRequirementUnmet "cudnn-requirement-unmet",
    HeaderLibrarySkew "header-library-skew",
    NvccHeaderSkew "nvcc-header-skew",
    CudaFlavourMismatch "cuda-flavour-mismatch",
    PartsMissing "parts-missing",
    PartsMixed "parts-mixed",
    DuplicateCudnn "duplicate-cudnn",
    WrongArchitecture "wrong-architecture",
    LibraryDamaged "library-damaged",
    UnknownNewerVersion "unknown-newer-version",
    KnownBadRelease "known-bad-release",
    HostCompilerUnsupported "host-compiler-unsupported",
    HostHeadersIncompatible "host-headers-incompatible",
    ArchUnknown "arch-unknown",
    ArchUnsupportedByNvcc "arch-unsupported-by-nvcc",
    ArchDroppedByCudnn "arch-dropped-by-cudnn",
    GpuNewerThanCudnn "gpu-newer-than-cudnn",
    GpuNewerThanNvcc "gpu-newer-than-nvcc",
    KernelsNotCoveringGpu "kernels-not-covering-gpu",
    PtxNewerThanDriver "ptx-newer-than-driver",
    DriverMissing "driver-missing",
    DriverStub "driver-stub",
    DriverTooOld "driver-too-old",
    DriverError "driver-error",
    NoGpu "no-gpu",
    DeviceBusy "device-busy",
    DeviceMemoryLow "device-memory-low",
    LibraryPathHijack "library-path-hijack",
    NotLoadedYet "not-loaded-yet",
    CudnnNotLoadable "cudnn-not-loadable",
    LibraryNotFound "library-not-found",
    CudnnVersionMismatch "cudnn-version-mismatch",
    CudnnAborted "cudnn-aborted",
    CudnnCreateFailed "cudnn-create-failed",
    ConvolutionFailed "convolution-failed",
    ConvolutionWrong "convolution-wrong",
    ConvolutionTimeout "convolution-timeout",
    ChildNotStarted "child-not-started",
    ProgramTimeout "program-timeout",
    PlatformUnsupported "platform-unsupported",
    BuiltWithoutCuda "built-without-cuda",
    NvccFailed "nvcc-failed",
    FetchFailed "fetch-failed",
    IoError "io-error",
}

impl FindingId {
    /// The id of this word; none where this release knows none.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|id| id.as_str() == word)
    }

    /// Returns `true` for a finding that says why a program has no GPU, if the driver shows none.
    pub(crate) fn is_gpu_absent(self) -> bool {
        matches!(
            self,
            Self::NoGpu
                | Self::DriverMissing
                | Self::DriverStub
                | Self::DriverError
                | Self::BuiltWithoutCuda
        )
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
