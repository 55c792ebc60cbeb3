//! NVIDIA's driver.

use crate::runtime::driver::container::{CAPABILITIES, Container, ContainerRuntime};
use crate::runtime::driver::driver_release::release_in_name;
use crate::runtime::driver::no_gpu::{GpuVisibility, VISIBLE};
use crate::runtime::driver::{
    Driver, DriverProblem, EACCES, FailedCall, MISMATCH, MissingDriver, NIXOS, WSL_LIBRARIES,
};
use crate::runtime::facts::{Finding, FindingId, quoted};
use crate::runtime::messages::cuda_status;
use crate::runtime::system::{DRIVER, by_system};

/// The help for a missing driver.
pub const DRIVER_HELP: &str = "install NVIDIA's driver, or run on a machine that has a GPU";
const OTHER_MACHINE: &str = "run on a machine that has a GPU, or ask the scheduler for one";

impl DriverProblem {
    pub fn finding(&self) -> Finding {
        match self {
            DriverProblem::Missing(missing) => missing.finding(),
            DriverProblem::Stub(driver) => FindingId::DriverStub.warning(format!(
                    "`{}` is a link-time stub, not NVIDIA's driver, so no GPU is available",
                    driver.library
                ))
            .help("remove the `stubs` directory from LD_LIBRARY_PATH and from the rpath: it is only for linking")
            .help("install NVIDIA's driver if `nvidia-smi` does not run either"),
            DriverProblem::NoDevice { driver, visibility } => {
                with_driver(visibility.finding(), driver)
            }
            DriverProblem::NotADriver { driver, function } => FindingId::DriverError.warning(format!(
                    "`{}` does not contain `{}`, so it is not NVIDIA's driver",
                    driver.library, function
                ))
            .help("remove that file from the library path, or reinstall NVIDIA's driver"),
            DriverProblem::Failed(failed) => failed.finding(),
        }
    }
}

impl FailedCall {
    pub fn finding(&self) -> Finding {
        let (driver, error) = (&self.driver, cuda_status::explain(self.code));
        let name = cuda_status::status_name(self.code);
        let reason = self.refused.as_ref();
        let words = reason.map(|reason| reason.headline("cannot start"));
        let words = words.unwrap_or_else(|| error.words.to_string());
        let summary = format!("{words}: `{}` returned {name}", self.call);
        let finding = with_driver(FindingId::DriverError.warning(summary), driver);
        // The driver's version is that of the module. The library's version is in its file name.
        let versions = match (self.code, release_in_name(&driver.library), &driver.version) {
            (MISMATCH, Some(library), Some(module)) if library != *module => {
                Some(format!("kernel module {module}, library {library}"))
            }
            _ => None,
        };
        let finding = finding.with_some("versions", versions);
        match &self.refused {
            Some(refused) => refused.add_to(finding),
            None => finding.help(error.help),
        }
    }
}

fn with_driver(finding: Finding, driver: &Driver) -> Finding {
    let mut words = Vec::from_iter(driver.version.clone());
    let cuda = driver.cuda;
    words.extend(cuda.map(|cuda| format!("supports CUDA {}", cuda.short())));
    let words = Some(words.join(", ")).filter(|words| !words.is_empty());
    finding
        .with("library", &driver.library)
        .with_some("driver", words)
}

impl ContainerRuntime {
    /// Returns the help that gives a container the GPU and the driver's libraries.
    pub fn help(self) -> &'static str {
        match self {
            Self::Apptainer => {
                "start the container with `--nv`: `apptainer exec --nv IMAGE PROGRAM`"
            }
            Self::Kubernetes => "request the resource `nvidia.com/gpu` for the pod",
            Self::Podman => "start the container with `--device nvidia.com/gpu=all`",
            Self::Docker => "start the container with `--gpus all`",
        }
    }
}

/// Returns the headline and the help for a container without the driver's library.
fn not_in_container(container: Container, missing: &MissingDriver) -> (String, Vec<String>) {
    if let Some(value) = &missing.left_out_by {
        let help = match container.runtime {
            ContainerRuntime::Kubernetes => {
                format!("set {CAPABILITIES} to `compute,utility` in the pod's container")
            }
            // `--gpus all` also replaces single devices and `--gpus` with a list of capabilities.
            _ => format!("start the container with `--gpus all -e {CAPABILITIES}=compute,utility`"),
        };
        let headline = format!("{CAPABILITIES}=`{value}` excludes `{DRIVER}` from this container");
        return (headline, vec![help]);
    }
    let host = match missing.module {
        Some(_) => ", but its host has the driver",
        None => "",
    };
    let alone = match container.has_device {
        true => ": `/dev/nvidiactl` is not enough",
        false => "",
    };
    let mut help = vec![format!("{}{alone}", container.runtime.help())];
    if container.runtime == ContainerRuntime::Docker {
        help.push(
            "install NVIDIA's container toolkit on the host if that is refused; images never contain the driver"
                .to_string(),
        );
    }
    let headline =
        format!("`{DRIVER}`, the library of NVIDIA's driver, is missing from this container{host}");
    (headline, help)
}

impl MissingDriver {
    pub fn finding(&self) -> Finding {
        self.finding_with(true)
    }

    /// Returns the finding with or without the loader's message.
    pub(super) fn finding_with(&self, with_words: bool) -> Finding {
        let absent = self.is_absent();
        let (headline, help) = match (self.container, &self.module, self.unsearched) {
            (_, _, Some(dir)) if absent => (
                format!(
                    "`{DRIVER}`, the library of NVIDIA's driver, is in `{dir}`, which this {} does not search",
                    if self.is_appimage { "AppImage" } else { "program" }
                ),
                searched_help(dir),
            ),
            _ if absent && self.wsl => (
                format!("WSL provides a GPU, but `{DRIVER}`, the library of NVIDIA's driver, was not found"),
                vec![
                    "install NVIDIA's driver in Windows, not in WSL, and then run `wsl --shutdown` in Windows".into(),
                    format!("add `{WSL_LIBRARIES}` to LD_LIBRARY_PATH if it contains `{DRIVER}`"),
                ],
            ),
            (Some(container), ..) if absent => not_in_container(container, self),
            (None, Some(_), _) if absent => (
                format!("NVIDIA's kernel module is loaded, but `{DRIVER}`, the driver's library, was not found"),
                vec![
                    "install the libraries of the same driver version: `libnvidia-compute` (Ubuntu), `libcuda1` (Debian), \
                     `nvidia-utils` (Arch), `xorg-x11-drv-nvidia-cuda-libs` (Fedora)"
                        .into(),
                    "run `sudo ldconfig` if they are installed".into(),
                ],
            ),
            _ => (
                format!("`{DRIVER}`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used"),
                vec![
                    DRIVER_HELP.into(),
                    by_system!(
                        "start a container with NVIDIA's container toolkit (`--gpus all`), which provides the driver's \
                         libraries",
                        "restart Windows if the driver was just installed"
                    )
                    .into(),
                ],
            ),
        };
        let module = self.module.as_ref();
        let module = module.map(|it| format!("{it} is loaded (/proc/driver/nvidia/version)"));
        let mark = self.container.filter(|_| absent).map(|one| one.mark);
        FindingId::DriverMissing
            .warning(headline)
            .with_some("loader", Some(&self.message).filter(|_| with_words))
            .with_some("module", module)
            .with_some("container", mark)
            .helps(help)
    }
}

/// Returns the help that makes the loader search this directory of the driver's library.
fn searched_help(dir: &str) -> Vec<String> {
    let word = quoted(dir);
    let add = format!("add `{dir}` to LD_LIBRARY_PATH where the program runs");
    match dir {
        NIXOS => vec![
            add,
            "build the program with `addDriverRunpath` if it is a Nix package".to_string(),
        ],
        WSL_LIBRARIES => vec![
            add,
            format!(
                "make the loader search it: `echo {word} | sudo tee /etc/ld.so.conf.d/ld.wsl.conf && sudo ldconfig`"
            ),
        ],
        // The system's C library, which is also in that directory, does not run with the loader of the program.
        _ => vec![format!(
            "start the program with LD_LIBRARY_PATH=~/.nvidia, a directory with only the driver: `mkdir -p ~/.nvidia \
             && ln -sf {word}/libcuda.so* {word}/libnvidia-* ~/.nvidia`"
        )],
    }
}

impl GpuVisibility {
    pub fn finding(&self) -> Finding {
        let hiding = self.hiding_entry();
        let reason = self.refused.as_ref();
        let reason = reason.map(|reason| reason.headline("reports no GPU"));
        let headline = match (hiding, reason, self.container) {
            (Some(entry), ..) if entry.is_empty() || entry.starts_with('-') => {
                format!("{VISIBLE} hides every GPU from this program")
            }
            (Some(entry), ..) => format!(
                "`{entry}` in {VISIBLE} matches no GPU, which hides every GPU from this program"
            ),
            (None, Some(reason), _) => reason,
            (None, None, Some(_)) => "this container was started without a GPU".to_string(),
            (None, None, None) => "NVIDIA's driver reports no GPU".to_string(),
        };
        let mut finding = FindingId::NoGpu.warning(headline);
        if let Some(value) = &self.visible {
            let help = match value.matches("MIG-").count() {
                0 | 1 => format!("unset {VISIBLE}"),
                _ => format!("set {VISIBLE} to one MIG instance: a process can use only one"),
            };
            let shown = match value.as_str() {
                "" => format!("{VISIBLE} is set but empty"),
                _ => format!("{VISIBLE}={value}"),
            };
            finding = finding.with("variable", shown).help(help);
        }
        if hiding.is_some() {
            return finding;
        }
        if let (Some(container), false) = (self.container, self.is_jetson) {
            return finding.help(container.runtime.help()).help(OTHER_MACHINE);
        }
        let finding = match &self.refused {
            // A container may not have the right to open the device of its host.
            Some(refused) if refused.errno == EACCES && !refused.is_permitted => {
                refused.add_to(finding)
            }
            Some(refused) => return refused.add_to(finding),
            None => finding.help(OTHER_MACHINE),
        };
        finding.help(if cfg!(windows) {
            "check in Device Manager that the GPU is enabled and uses NVIDIA's driver"
        } else if self.is_jetson {
            "start a container with `--runtime nvidia`, which a Jetson requires"
        } else {
            "start a container with `--gpus all` (docker) or `--device nvidia.com/gpu=all` (podman), if `nvidia-smi` \
             lists GPUs outside it"
        })
    }
}
