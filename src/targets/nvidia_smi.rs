//! The GPUs that `nvidia-smi` lists.

use crate::runtime::driver::query::Device;
use crate::runtime::facts::Target;

/// The query, whose columns [`parse`] expects.
pub const QUESTION: &str = "--query-gpu=index,uuid,name,compute_cap";

/// Parses the output for `--format=csv,noheader`: `0, GPU-8f1c.., NVIDIA GeForce RTX 4090, 8.9`, one GPU per line.
/// Other lines are skipped: an old version reports that it does not support `compute_cap`, and a broken GPU has
/// `[N/A]`.
pub fn parse(text: &str) -> Vec<Device> {
    let read = |line: &str| {
        let (index, rest) = line.split_once(',')?;
        let _: u32 = index.trim().parse().ok()?;
        let (_, rest) = rest.split_once(',')?;
        let (name, number) = rest.rsplit_once(',')?;
        Some(Device {
            name: name.trim().to_string(),
            capability: Target::parse_number(number.trim())?.0,
        })
    };
    let mut gpus = Vec::new();
    for line in text.lines() {
        gpus.extend(read(line));
    }
    gpus
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str =
        "0, GPU-aa11, NVIDIA H100 PCIe, 9.0\r\n1, GPU-bb22, Tesla, with a comma, 7.5\n";

    #[track_caller]
    fn sees(text: &str, expected: &[&str]) {
        let gpus = parse(text);
        let read: Vec<String> = gpus
            .iter()
            .map(|gpu| format!("{} {}", gpu.name, gpu.capability))
            .collect();
        assert_eq!(read, expected);
    }

    /// Every GPU counts, and other lines are skipped.
    #[test]
    fn reads_gpus_and_nothing_else() {
        let noise = "2, GPU-cc33, NVIDIA A100, [N/A]\n3, GPU-dd44, NVIDIA A100, [Not Supported]\n\
            Field \"compute_cap\" is not a valid field to query.\n\
            NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver, sorry 5.x\n\
            No devices were found\n  MIG 1g.5gb     Device  0: (UUID: MIG-1)\n, .\n0,x, 1.99999999999\n\
            Unable to determine the device handle for GPU 0000:01:00.0: Unknown Error, 0, 8.6\n\
            NVIDIA H100, 9.0\n";
        sees(
            &format!("{noise}{TWO}{noise}"),
            &["NVIDIA H100 PCIe 9.0", "Tesla, with a comma 7.5"],
        );
        sees("", &[]);
    }
}
