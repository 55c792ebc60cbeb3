//! What `nvidia-smi` says.

use crate::model::arch::ComputeCapability;
use crate::model::gpu::Gpu;

/// The answer to `--query-gpu=name,compute_cap --format=csv,noheader`: `NVIDIA GeForce RTX 4090, 8.9`, one GPU a
/// line. Other lines are no answer: an old one knows no `compute_cap` and says so, a sick GPU has `[N/A]`.
pub fn parse(text: &str) -> Vec<Gpu> {
    text.lines()
        .filter_map(|line| {
            let (name, capability) = line.rsplit_once(',')?;
            let (major, minor) = capability.trim().split_once('.')?;
            let number = |text: &str| text.parse().ok().filter(|number| *number < 100);
            Some(Gpu {
                name: name.trim().to_string(),
                capability: ComputeCapability::new(number(major)?, number(minor)?),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_gpus_and_nothing_else() {
        let text = "NVIDIA H100 PCIe, 9.0\r\nTesla, with a comma, 7.5\nNVIDIA A100, [N/A]\n\
            Field \"compute_cap\" is not a valid field to query.\n\
            NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver, sorry 5.x\n\
            No devices were found\n  MIG 1g.5gb     Device  0: (UUID: MIG-1)\n, .\nx, 1.99999999999\n";
        let gpus = parse(text);
        let read: Vec<_> = gpus
            .iter()
            .map(|gpu| (gpu.name.as_str(), gpu.capability.number()))
            .collect();
        assert_eq!(
            read,
            [("NVIDIA H100 PCIe", 90), ("Tesla, with a comma", 75)]
        );
        assert_eq!(parse(""), []);
    }
}
