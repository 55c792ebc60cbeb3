//! What only the running machine can tell: its driver, its GPUs, and what kernels would be compiled for here.

use crate::compat::{image_driver, rules};
use crate::model::gpu::Gpu;
use crate::report::Machine;
use crate::runtime::driver::query;
use crate::runtime::driver::query::Problem;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::targets::gpus;
use crate::toolchain::Toolchain;
use crate::toolkit::nvcc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Starting CUDA can hang for ever inside a sick driver.
const DEADLINE: Duration = Duration::from_secs(5);

/// Asks, and adds what was noticed.
pub(super) fn ask(toolchain: &Toolchain, findings: &mut Vec<Finding>) -> Machine {
    let mut machine = Machine::default();
    match answer() {
        Some(Ok(driver)) => machine.driver = Some(driver),
        Some(Err(problem)) => {
            findings.push(problem.finding());
            machine.driver = problem.driver().cloned();
            if matches!(problem, Problem::Missing(_)) {
                // nvidia-smi may know what a library that cannot be opened here does not tell.
                machine.gpus = gpus::gpus(&toolchain.host.env).unwrap_or_default();
            }
        }
        None => {
            let seconds = DEADLINE.as_secs();
            findings.push(
                Finding::warning(
                    FindingId::DriverError,
                    format!("NVIDIA's driver did not answer within {seconds} s"),
                )
                .help("run `nvidia-smi`: if it hangs too, restart the machine or its driver"),
            );
        }
    }
    if let Some(driver) = &machine.driver {
        machine.gpus = driver.devices.iter().map(gpu).collect();
    }
    kernels(&mut machine, toolchain, findings);
    let (toolkit, cudnn) = (toolchain.toolkit.as_ref(), toolchain.cudnn.as_ref());
    if let Some(cuda) = machine.driver.as_ref().and_then(|driver| driver.cuda) {
        let (targets, gpus) = (&machine.targets, &machine.gpus);
        let platform = &toolchain.host.platform;
        let noticed = rules::driver(cuda, toolkit, cudnn, targets, gpus, platform);
        let release = machine
            .driver
            .as_ref()
            .and_then(|one| one.version.as_deref());
        let by_image = image_driver::unmet(&toolchain.host.env, cuda, release, platform);
        let said = |id| noticed.iter().any(|finding| finding.id == id);
        findings.extend(by_image.filter(|finding| !said(finding.id)));
        findings.extend(noticed);
    }
    if let Some(cudnn) = cudnn {
        let unserved = rules::gpus(cudnn, &machine.gpus, &toolchain.host.platform);
        // It is better said of a GPU than of the target that was chosen for it.
        findings.retain(|said| !unserved.iter().any(|finding| finding.id == said.id));
        findings.extend(unserved);
    }
    machine
}

/// What kernels would be compiled for.
fn kernels(machine: &mut Machine, toolchain: &Toolchain, findings: &mut Vec<Finding>) {
    let Some(toolkit) = &toolchain.toolkit else {
        return;
    };
    if let Some(nvcc) = &toolkit.nvcc {
        // An nvcc that does not answer is noticed by the selection, too.
        machine.gpu_codes = nvcc::gpu_codes(nvcc, &toolchain.host.answers).unwrap_or_default();
        let noticed = match toolchain.selection() {
            Ok(selection) => {
                machine.targets = selection.targets;
                selection.findings
            }
            Err(error) => error.findings().to_vec(),
        };
        // What the driver said stands there already.
        let known = |finding: &Finding| match finding.id {
            FindingId::DriverError => machine.gpus.is_empty(),
            id => id == FindingId::NoGpu && findings.iter().any(|told| told.id == id),
        };
        let new: Vec<Finding> = noticed.into_iter().filter(|one| !known(one)).collect();
        findings.extend(new);
    }
}

/// The driver's answer, or none within the deadline: then the thread that hangs is left behind.
pub(crate) fn answer() -> Option<Result<query::Driver, Problem>> {
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(query::ask()));
    told.recv_timeout(DEADLINE).ok()
}

pub(crate) fn gpu(device: &query::Device) -> Gpu {
    Gpu {
        name: device.name.clone(),
        capability: device.capability,
    }
}
