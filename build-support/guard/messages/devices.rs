//! The GPUs, and the reasons why they are not tested.

use crate::runtime::driver::BusyDevice;
use crate::runtime::facts::{Finding, FindingId};
use crate::runtime::system::by_system;

impl BusyDevice {
    pub fn finding(&self) -> Finding {
        let busy = |summary: String| FindingId::DeviceBusy.warning(summary);
        match self {
            BusyDevice::SharedWithRank { rank, gpu } => busy(format!(
                "local rank {rank} shares GPU {gpu} with local rank {gpu}, which tests it"
            ))
            .help(format!("set CUDNN_GUARD_DEVICES={gpu} to test the GPU in this process too")),
            BusyDevice::Restricted {
                mode,
                device,
                number,
            } => {
                let (name, words) = match mode {
                    1 => ("EXCLUSIVE", "only one process at a time can use it"),
                    2 => ("PROHIBITED", "no process can use it"),
                    _ => ("EXCLUSIVE_PROCESS", "only one process at a time can use it"),
                };
                let finding = busy(format!(
                    "{device} is in a compute mode in which {words}, so it was not tested"
                ));
                finding.with("mode", name).help(match mode {
                    2 => by_system!(
                        "share the GPU again: `sudo nvidia-smi -c DEFAULT`",
                        "share the GPU again: `nvidia-smi -c DEFAULT` as administrator"
                    )
                    .to_string(),
                    _ => format!("set CUDNN_GUARD_DEVICES={number} to test it anyway"),
                })
            }
            BusyDevice::Capturing(device) => busy(format!(
                "this program is capturing work on {device} into a graph, which a convolution would break, so none was tested"
            ))
            .help("check cuDNN before the capture begins or after it ends"),
            BusyDevice::SharedByMps(control) => busy(
                "other programs may share the GPU through MPS, and a crash during the test would stop them too"
                    .to_string(),
            )
            .with("shared by", control.display())
            .help("set CUDNN_GUARD_DEVICES=0 to test it anyway"),
        }
    }
}
