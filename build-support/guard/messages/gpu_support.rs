//! Limits of a version: GPUs that a cuDNN has no code for, PTX that a driver does not support, and known bugs.

use crate::runtime::facts::{ComputeCapability, Finding, FindingId, KnownBad, Severity, Version};
use crate::runtime::judge::{Cudnn, Gpu, Impact, NewerPtx, NewerVersion, SupportGap};

impl NewerPtx {
    /// Returns the finding. `what` is the subject of the PTX: "the toolkit writes".
    pub fn finding(&self, severity: Severity, what: &str) -> Finding {
        let (cuda, driver) = (self.cuda.short(), self.driver.short());
        let headline = format!(
            "the NVIDIA driver supports PTX up to CUDA {driver}, but {what} PTX of CUDA {cuda}"
        );
        Finding::new(FindingId::PtxNewerThanDriver, severity, headline).help(format!(
            "update the NVIDIA driver, or build with a CUDA toolkit up to {driver}"
        ))
    }
}

impl SupportGap {
    /// Returns the finding for a GPU of this machine.
    pub fn finding(&self, cudnn: Cudnn, gpu: Gpu<'_>) -> Finding {
        self.with_gpu(cudnn, &gpu.words(), gpu.is_required)
    }

    /// Returns the finding for the GPUs of a compute capability that kernels are compiled for. `chosen_by` is the
    /// source of the targets.
    pub fn target_finding(&self, cudnn: Cudnn, gpu: ComputeCapability, chosen_by: &str) -> Finding {
        let what = format!("GPUs of compute capability {gpu}, which kernels are compiled for");
        let finding = self.with_gpu(cudnn, &what, false);
        finding.with("chosen by", chosen_by).help(format!(
            "remove {gpu} from the targets if no program with cuDNN will run there"
        ))
    }

    /// Creates the finding, an error only for a GPU that is required and that nothing can be compiled for.
    fn with_gpu(&self, Cudnn { version, cuda }: Cudnn, what: &str, is_required: bool) -> Finding {
        let cudnn = format!("cuDNN {version} for CUDA {cuda}");
        match *self {
            SupportGap::Dropped(last) => FindingId::ArchDroppedByCudnn
                .error_if(is_required, format!("{cudnn} no longer supports {what}"))
                .help(match last {
                    Some((last, same)) if same == cuda => format!(
                        "install cuDNN {last} for CUDA {cuda}, the last version known to support it"
                    ),
                    Some((last, older)) => format!(
                        "install the CUDA {older} toolkit and cuDNN {last} for CUDA {older}, the last version known to support it"
                    ),
                    None => "use a newer GPU, or an older cuDNN that supports this one".to_string(),
                }),
            SupportGap::Missing { by_ptx, newest, first } => {
                let code = match by_ptx {
                    true => "only PTX, which the driver must compile,",
                    false => "no code",
                };
                let newest = newest.map(|gpu| format!("compute capabilities up to {gpu}"));
                FindingId::GpuNewerThanCudnn
                    .error_if(is_required && !by_ptx, format!("{cudnn} contains {code} for {what}"))
                    .with_some("supports", newest)
                    .help(match first {
                        Some((first, cuda)) => format!("install cuDNN {first} or later for CUDA {cuda}"),
                        None => "install a newer cuDNN".to_string(),
                    })
            }
        }
    }
}

impl Gpu<'_> {
    pub fn words(&self) -> String {
        format!("{} (compute capability {})", self.name, self.capability)
    }
}

impl KnownBad {
    /// Returns the finding, an error only if the program uses the operation and every use shows the fault.
    pub fn finding(&self, cudnn: Version, impact: Impact) -> Finding {
        let operation = self.operation.as_deref().unwrap_or_default();
        let (severity, used) = match impact {
            Impact::Used if self.partial => (
                Severity::Warning,
                format!(", and this program uses {operation}"),
            ),
            Impact::Used => (Severity::Error, ", which this program uses".to_string()),
            Impact::General => (Severity::Warning, String::new()),
            Impact::Possible => (Severity::Note, String::new()),
        };
        let headline = format!("cuDNN {cudnn} is known to {}{used}", self.what);
        let below = self.below;
        let help = match (self.good_cublas, self.good) {
            (Some(good), _) => format!("upgrade cuBLAS to {good} or later"),
            (None, Some(good)) => format!("upgrade to cuDNN {good} or later"),
            (None, None) => format!(
                "check the results: no version is known to be fixed, and nothing is known about {below} and later"
            ),
        };
        Finding::new(FindingId::KnownBadRelease, severity, headline).help(help)
    }
}

impl NewerVersion {
    /// Returns the note that the rules for the newest known version are used.
    pub fn finding(&self) -> Finding {
        let Self {
            product,
            found,
            known,
        } = self;
        FindingId::UnknownNewerVersion
            .note(format!(
                "{product} {found} is newer than cudnn-guard knows; using the rules for {known}"
            ))
            .help("update cudnn-guard if you see problems")
    }
}
