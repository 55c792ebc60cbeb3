//! The ids of findings. Ids may be added, but never renamed or reused.

use std::fmt;

macro_rules! finding_ids {
    ($($name:ident $word:literal $section:ident $meaning:ident,)*) => {
        /// The id of a finding: a word that never changes its meaning, for `allow`, for programs and for search
        /// engines. `cudnn-guard explain ID` explains it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingId {
            $(#[doc = concat!("`", $word, "`")] $name,)*
        }

        impl FindingId {
            /// Every id.
            pub const ALL: &'static [FindingId] = &[$(FindingId::$name),*];

            /// Returns the word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(FindingId::$name => $word,)*
                }
            }
        }

        const fn attributes(id: FindingId) -> (Section, Meaning) {
            match id {
                $(FindingId::$name => (Section::$section, Meaning::$meaning),)*
            }
        }
    };
}

/// A row of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// `toolkit`
    Toolkit,
    /// `nvcc`
    Nvcc,
    /// `compiler`
    HostCompiler,
    /// `cuDNN`
    Cudnn,
    /// `parts`
    SubLibraries,
    /// `driver`
    Driver,
    /// `GPU`
    Gpus,
    /// `targets`
    Targets,
    /// No row: the finding is printed by itself.
    Alone,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Something that a build needs is not on this machine, or does not exist for the target.
    NotFound,
    /// The reason why a program has no GPU, if the driver reports none.
    NoGpu,
    Other,
}

// Columns: the variant, its word, its row in a report, and its meaning for a build or a program.
finding_ids! {
    CudaNotFound "cuda-not-found" Toolkit NotFound,
    CudnnNotFound "cudnn-not-found" Cudnn NotFound,
    CudnnHeadersMissing "cudnn-headers-missing" Cudnn NotFound,
    NvccNotFound "nvcc-not-found" Nvcc NotFound,
    VariableUnusable "variable-unusable" Alone Other,
    VariablesDisagree "variables-disagree" Alone Other,
    ConfigInvalid "config-invalid" Alone Other,
    PartialToolkit "partial-toolkit" Toolkit Other,
    CudaRequirementUnmet "cuda-requirement-unmet" Toolkit Other,
    CudnnRequirementUnmet "cudnn-requirement-unmet" Cudnn Other,
    HeaderLibrarySkew "header-library-skew" Cudnn Other,
    NvccHeaderSkew "nvcc-header-skew" Nvcc Other,
    CudaFlavourMismatch "cuda-flavour-mismatch" Cudnn Other,
    PartsMissing "parts-missing" SubLibraries Other,
    PartsMixed "parts-mixed" SubLibraries Other,
    DuplicateCudnn "duplicate-cudnn" Alone Other,
    WrongArchitecture "wrong-architecture" SubLibraries Other,
    LibraryDamaged "library-damaged" SubLibraries Other,
    UnknownNewerVersion "unknown-newer-version" Alone Other,
    KnownBadRelease "known-bad-release" Cudnn Other,
    HostCompilerUnsupported "host-compiler-unsupported" HostCompiler Other,
    HostHeadersIncompatible "host-headers-incompatible" HostCompiler Other,
    ArchUnknown "arch-unknown" Targets Other,
    ArchUnsupportedByNvcc "arch-unsupported-by-nvcc" Targets Other,
    ArchDroppedByCudnn "arch-dropped-by-cudnn" Targets Other,
    GpuNewerThanCudnn "gpu-newer-than-cudnn" Gpus Other,
    GpuNewerThanNvcc "gpu-newer-than-nvcc" Targets Other,
    KernelsNotCoveringGpu "kernels-not-covering-gpu" Targets Other,
    PtxNewerThanDriver "ptx-newer-than-driver" Targets Other,
    DriverMissing "driver-missing" Driver NoGpu,
    DriverStub "driver-stub" Driver NoGpu,
    DriverInImage "driver-in-image" Alone Other,
    DriverTooOld "driver-too-old" Driver Other,
    DriverError "driver-error" Driver NoGpu,
    NoGpu "no-gpu" Gpus NoGpu,
    DeviceBusy "device-busy" Alone Other,
    DeviceMemoryLow "device-memory-low" Alone Other,
    LibraryPathHijack "library-path-hijack" Alone Other,
    CudaLibrariesMixed "cuda-libraries-mixed" Alone Other,
    WheelsOverlap "wheels-overlap" Alone Other,
    NotLoadedYet "not-loaded-yet" Alone Other,
    CudnnNotLoadable "cudnn-not-loadable" SubLibraries Other,
    LibraryNotFound "library-not-found" Alone Other,
    CudnnVersionMismatch "cudnn-version-mismatch" Alone Other,
    CudnnAborted "cudnn-aborted" Alone Other,
    CudnnCreateFailed "cudnn-create-failed" Alone Other,
    ConvolutionFailed "convolution-failed" Alone Other,
    ConvolutionWrong "convolution-wrong" Alone Other,
    ConvolutionTimeout "convolution-timeout" Alone Other,
    ChildNotStarted "child-not-started" Alone Other,
    ProgramTimeout "program-timeout" Alone Other,
    PlatformUnsupported "platform-unsupported" Alone NotFound,
    BuiltWithoutCuda "built-without-cuda" Alone NoGpu,
    NvccFailed "nvcc-failed" Nvcc Other,
    FetchFailed "fetch-failed" Alone Other,
    IoError "io-error" Alone Other,
}

impl FindingId {
    /// Returns the id with this word, if this version knows it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|id| id.as_str() == word)
    }

    /// Returns the id that a misspelled word may mean.
    pub(crate) fn similar(word: &str) -> Option<&'static str> {
        let mut ids = Vec::new();
        for id in Self::ALL {
            ids.push(id.as_str());
        }
        super::nearest::nearest(word, &ids)
    }

    /// Returns `true` for a finding that explains why a program has no GPU, if the driver reports none.
    pub(crate) fn is_gpu_absent(self) -> bool {
        attributes(self).1 == Meaning::NoGpu
    }
}

/// Returns the row of a report that findings of this id belong to.
pub const fn section(id: FindingId) -> Section {
    attributes(id).0
}

/// Returns `true` if something that a build needs is not on this machine, or does not exist for the target.
pub fn is_not_found(id: FindingId) -> bool {
    attributes(id).1 == Meaning::NotFound
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
