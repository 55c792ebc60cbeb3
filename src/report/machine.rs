//! The state of the running machine: its driver, its GPUs, and the default targets of kernels.

use crate::compat::cudarc_refusals::Installed;
use crate::compat::cudarc_sources::{listed_cudas, of_crate};
use crate::compat::{cargo_lock, cudarc, cudarc_refusals, rules};
use crate::kernels::nvcc::diagnostics;
use crate::model::{Cudnn, Os, Toolkit};
use crate::report::{Machine, ToolchainReport, host_compiler, json};
use crate::runtime::driver::{Driver, driver_library, query, stub};
use crate::runtime::facts::{Finding, FindingId};
use crate::runtime::install::dlopen_dependencies::{SuspectLibrary, find_suspects, is_dependency};
use crate::runtime::loader::SearchPath;
use crate::runtime::system::{DRIVER_SO, path_cache};
use crate::system::files;
use crate::targets::gpus::{DEADLINE, SilentDriver, within};
use crate::toolchain::Toolchain;
use crate::toolkit::nvcc;
use std::path::Path;

impl Toolchain {
    /// Returns the report of the search with the state of this machine: its driver, its GPUs, the default targets, and
    /// the cudarc of the crate in the current directory. The GPUs are left out if `root` or `target` is another system.
    pub fn examine(&self) -> ToolchainReport {
        let mut report = self.report();
        let lock = cargo_lock::texts(&self.host.env, "Cargo.lock").next();
        let lock = lock.unwrap_or_default();
        let platform = &self.host.platform;
        let is_native = self.host.env.is_native(platform);
        if is_native && platform.os != Os::Other && self.config.root.is_none() {
            report.machine = Some(ask(self, &mut report.findings));
        }
        let machine = report.machine.as_ref();
        let driver = machine.and_then(|one| one.driver.as_ref()?.cuda);
        let describe = |release: &str| {
            let listed = listed_cudas(release, &self.host.env);
            let advice = cudarc::advice(&listed, self.cuda_version(), driver)?;
            Some(format!("{release} in Cargo.lock: {advice}"))
        };
        report.cudarc = cudarc::in_lock(&lock)
            .last()
            .and_then(|one| describe(one.version));
        // They make the build fail, before a program needs the driver.
        let found = self.cudarc_findings(machine);
        report.findings.splice(0..0, found);
        report
    }

    /// Returns the reasons why the cudarc of the crate in the current directory does not accept what is installed.
    pub(crate) fn cudarc_findings(&self, machine: Option<&Machine>) -> Vec<Finding> {
        let search_path = machine.map(|_| SearchPath::of_program());
        let installed = Installed {
            env: &self.host.env,
            os: self.host.platform.os,
            toolkit: self.toolkit(),
            cudnn: self.cudnn(),
            driver: machine.and_then(|one| one.driver.as_ref()?.cuda),
            loads: &|name| search_path.as_ref()?.program_file(name),
        };
        let mut found = Vec::new();
        for cudarc in of_crate(installed.env) {
            let refusals = cudarc_refusals::find(&cudarc, &installed).into_iter();
            found.extend(refusals.map(|refusal| refusal.finding(&cudarc, installed.toolkit)));
            // cudarc opens the driver by another name than the query.
            let mut opened = cudarc.opened_libraries().into_iter();
            let is_opened = machine.is_some() && opened.any(|one| one == "cuda");
            let stub = is_opened.then(stub::of_cudarc).flatten();
            found.extend(stub.map(|stub| stub.finding()));
        }
        found
    }
}

impl ToolchainReport {
    /// Returns the report as JSON, as `cudnn-guard doctor --json` prints it.
    pub fn to_json(&self) -> String {
        json::report(self)
    }
}

fn ask(toolchain: &Toolchain, findings: &mut Vec<Finding>) -> Machine {
    let mut machine = Machine::default();
    let unsearched = driver_library::unsearched(Path::new("/"), SearchPath::of_program);
    match query_driver() {
        Ok((driver, finding)) => {
            machine.driver = driver;
            findings.extend(finding);
        }
        Err(silent) => findings.push(silent.finding()),
    }
    if let Some(driver) = &machine.driver {
        findings.extend(unsearched.map(|missing| missing.finding()));
        machine.gpus.clone_from(&driver.devices);
    }
    kernels(&mut machine, toolchain, findings);
    let (toolkit, cudnn) = (toolchain.toolkit(), toolchain.cudnn());
    if let Some(cuda) = machine.driver.as_ref().and_then(|driver| driver.cuda) {
        let (targets, gpus) = (&machine.targets, &machine.gpus);
        let platform = &toolchain.host.platform;
        findings.extend(rules::driver(cuda, toolkit, cudnn, targets, gpus, platform));
    }
    if let Some(cudnn) = cudnn {
        if toolchain.host.platform.os == Os::Linux {
            add_missing_dependencies(cudnn, toolkit, findings);
        }
        let unsupported = rules::gpus(cudnn, &machine.gpus, &toolchain.host.platform);
        // A finding about a GPU is clearer than one about the target that was chosen for the GPU.
        findings.retain(|one| !unsupported.iter().any(|finding| finding.id == one.id));
        findings.extend(unsupported);
    }
    machine
}

/// Adds the findings about CUDA libraries that this cuDNN opens by name when it computes, if they are neither beside it,
/// nor in the toolkit, nor found by this machine's loader.
fn add_missing_dependencies(cudnn: &Cudnn, toolkit: Option<&Toolkit>, findings: &mut Vec<Finding>) {
    let Some(cuda) = cudnn.cuda_major else { return };
    let dirs = toolkit.map_or(&[][..], |toolkit| &toolkit.link_dirs);
    let mut known = Vec::new();
    for dir in dirs.iter().chain(&cudnn.link_dir) {
        known.extend(files::list(dir).unwrap_or_default());
    }
    files::keep(&mut known, &|file| {
        is_dependency(file) && files::is_file(file)
    });
    let (mut first, mut others) = (None, Vec::new());
    for suspect in find_suspects(&cudnn.installed, cuda, &known, &SearchPath::of_program()) {
        match &suspect {
            SuspectLibrary::Missing(missing, _) if missing.link.is_some() => {
                findings.push(suspect.finding());
            }
            // The first help installs the others too.
            SuspectLibrary::Missing(missing, _) if first.is_some() => {
                others.push(missing.summary())
            }
            SuspectLibrary::Missing(..) => first = Some(suspect.finding()),
            _ => {}
        }
    }
    findings.extend(first.map(|first: Finding| first.with_lines("also", others)));
}

/// Queries the driver, once for all programs of an inspection. Returns the driver, and the finding about a failed query.
pub fn query_driver() -> Result<(Option<Driver>, Option<Finding>), SilentDriver> {
    path_cache::once("driver", Path::new(DRIVER_SO), || {
        Ok(match within(DEADLINE, query::driver)? {
            Ok(driver) => (Some(driver), None),
            Err(problem) => {
                let problem = problem.with_memory_file();
                let finding = driver_library::finding(&problem);
                (problem.driver().cloned(), Some(finding))
            }
        })
    })
}

/// Adds the targets for which kernels would be compiled.
fn kernels(machine: &mut Machine, toolchain: &Toolchain, findings: &mut Vec<Finding>) {
    if let Some(nvcc) = toolchain.nvcc() {
        let toolkit = toolchain.toolkit();
        let host = &toolchain.host;
        let missing = toolkit.and_then(|one| diagnostics::without_cicc(one, host));
        findings.extend(missing.map(|fault| fault.finding()));
        if let Some((compiler, is_known, found)) = host_compiler::survey(toolchain, nvcc) {
            machine.host_compiler = Some(compiler);
            machine.knows_host_compiler = is_known;
            findings.extend(found);
        }
        // If nvcc does not answer, the selection reports that too.
        machine.gpu_codes = nvcc::gpu_codes(nvcc, &toolchain.host.answers).unwrap_or_default();
        let found = match toolchain.selection() {
            Ok(selection) => {
                machine.targets = selection.list.targets();
                selection.findings
            }
            Err(error) => error.findings().to_vec(),
        };
        // The driver's fault is already reported.
        let known = |finding: &Finding| match finding.id {
            FindingId::DriverError | FindingId::DriverMissing | FindingId::DriverStub => {
                machine.gpus.is_empty()
            }
            id => id == FindingId::NoGpu && findings.iter().any(|one| one.id == id),
        };
        let new: Vec<Finding> = found.into_iter().filter(|one| !known(one)).collect();
        findings.extend(new);
    }
}
