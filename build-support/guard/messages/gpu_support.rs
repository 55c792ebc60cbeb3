//! Incompatible GPUs, kernels, PTX and driver versions.

use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::judge::rules::{
    Cudnn, DeviceOrder, DriverTooOld, DriverUser, Gpu, JudgedGpu, NewerPtx, SupportGap,
    UncoveredGpu, UnsupportedGpu,
};

impl DriverTooOld {
    /// Returns the finding, an error only if a program with a GPU needs the driver.
    pub fn finding(&self) -> Finding {
        let (what, is_program) = match self.needed_by {
            DriverUser::LoadedCudnn => ("the loaded cuDNN is", true),
            DriverUser::Program => ("this program is", true),
            DriverUser::ChosenCudnn => ("the cuDNN is", false),
            DriverUser::ChosenToolkit => ("the toolkit is", false),
        };
        let (driver, needed) = (self.driver.short(), self.needed);
        let headline =
            format!("the NVIDIA driver serves CUDA {driver}, and {what} for CUDA {needed}");
        let severity = Severity::error_if(is_program && self.has_gpu);
        let finding = Finding::new(FindingId::DriverTooOld, severity, headline).help(
            match &self.first_driver {
                Some(first) => format!(
                    "install NVIDIA's driver {first} or a later one, which serves CUDA {needed}"
                ),
                None => format!("install an NVIDIA driver for CUDA {needed} or later"),
            },
        );
        if !is_program {
            return finding;
        }
        finding.help(format!(
            "or use a program and a cuDNN that are built for CUDA {}",
            self.driver.major
        ))
    }
}

impl UncoveredGpu<'_> {
    /// Returns the finding, a warning if the program may run without the GPU.
    pub fn finding(&self) -> Finding {
        let severity = Severity::error_if(self.gpu.is_required);
        let gpu = self.gpu.words();
        let finding = match self.newer_ptx {
            None => Finding::new(
                FindingId::KernelsNotCoveringGpu,
                severity,
                format!("no kernel of this program runs on {gpu}"),
            ),
            Some(ptx) => ptx.finding(severity, &format!("all that could run on {gpu}, is")),
        };
        let targets: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
        let finding = finding.with("compiled", targets.join(", ")).help(format!(
            "build the program with CUDNN_GUARD_ARCHS={} set",
            self.gpu.capability
        ));
        self.gpu.with_order(finding)
    }
}

impl NewerPtx {
    /// Returns the finding. `what` is the subject of the PTX: "the toolkit writes".
    pub fn finding(&self, severity: Severity, what: &str) -> Finding {
        let (cuda, driver) = (self.cuda.short(), self.driver.short());
        let headline = format!(
            "the NVIDIA driver takes PTX up to that of CUDA {driver}, and {what} PTX of CUDA {cuda}"
        );
        Finding::new(FindingId::PtxNewerThanDriver, severity, headline).help(format!(
            "update the NVIDIA driver, or build with a CUDA toolkit up to {driver}"
        ))
    }
}

impl UnsupportedGpu<'_> {
    /// Returns the finding, an error only for a GPU that is required and that nothing can be compiled for.
    pub fn finding(&self) -> Finding {
        let Cudnn { version, cuda } = self.cudnn;
        let verb = match self.gap {
            SupportGap::Dropped(_) => "no longer serves",
            SupportGap::Missing { by_ptx: false, .. } => "has no code for",
            SupportGap::Missing { .. } => "has only PTX, which the driver has to compile, for",
        };
        let (what, is_required) = match self.gpu {
            JudgedGpu::Device(gpu) => (gpu.words(), gpu.is_required),
            JudgedGpu::Target(capability, _) => (
                format!("GPUs of compute capability {capability}, which kernels are compiled for"),
                false,
            ),
        };
        let headline = format!("cuDNN {version} for CUDA {cuda} {verb} {what}");
        let finding = match self.gap {
            SupportGap::Dropped(last) => {
                let severity = Severity::error_if(is_required);
                Finding::new(FindingId::ArchDroppedByCudnn, severity, headline).help(match last {
                    Some((last, same)) if same == cuda => format!(
                        "install cuDNN {last} for CUDA {cuda}, the last that is known to serve it"
                    ),
                    Some((last, older)) => format!(
                        "install a toolkit of CUDA {older} and cuDNN {last} for CUDA {older}, the last that is known to serve it"
                    ),
                    None => "use a newer GPU, or an older cuDNN that serves this one".to_string(),
                })
            }
            SupportGap::Missing {
                by_ptx,
                newest,
                first,
            } => {
                let severity = Severity::error_if(is_required && !by_ptx);
                let newest = newest.map(|gpu| format!("compute capabilities up to {gpu}"));
                Finding::new(FindingId::GpuNewerThanCudnn, severity, headline)
                    .with_lines("serves", newest)
                    .help(match first {
                        Some((first, cuda)) => {
                            format!("install cuDNN {first} or a later one, for CUDA {cuda}")
                        }
                        None => "install a newer cuDNN".to_string(),
                    })
            }
        };
        match self.gpu {
            JudgedGpu::Device(gpu) => gpu.with_order(finding),
            JudgedGpu::Target(gpu, chosen_by) => {
                finding.with("chosen by", chosen_by).help(format!(
                    "or leave {gpu} out of the targets, if no program with cuDNN is to run there"
                ))
            }
        }
    }
}

impl Gpu<'_> {
    fn words(&self) -> String {
        format!(
            "{}, whose compute capability is {}",
            self.name, self.capability
        )
    }

    /// Adds the rule that determines the first GPU, if the GPUs differ.
    fn with_order(&self, finding: Finding) -> Finding {
        let order = self.order.map(|order| match order {
            DeviceOrder::Variable(value) => format!("CUDA_DEVICE_ORDER={value}"),
            DeviceOrder::Fastest => {
                "CUDA_DEVICE_ORDER is not set, so CUDA puts the fastest GPU first".to_string()
            }
        });
        finding.with_lines("order", order)
    }
}
