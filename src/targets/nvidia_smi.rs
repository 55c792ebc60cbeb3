use crate::model::text::pattern::{Pattern, pattern};
use crate::runtime::driver::query::Device;
use crate::runtime::facts::ComputeCapability;

/// The query, whose columns [`parse`] expects.
pub const QUESTION: &str = "--query-gpu=index,uuid,name,compute_cap";

/// A GPU in the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    index: u32,
    uuid: String,
    gpu: Device,
}

/// Parses the output for `--format=csv,noheader`: `0, GPU-8f1c.., NVIDIA GeForce RTX 4090, 8.9`, one GPU per line.
/// Other lines are skipped: an old version reports that it does not support `compute_cap`, and a broken GPU has
/// `[N/A]`.
pub fn parse(text: &str) -> Vec<Listed> {
    static LINE: Pattern =
        Pattern::new(|| pattern(r"^ *([0-9]+) *, *([^,]*), *(.*), *([0-9]{1,2})\.([0-9]{1,2}) *$"));
    let read = |line| {
        let found = LINE.captures(line)?;
        let number = |group: usize| found[group].parse().ok();
        Some(Listed {
            index: number(1)?,
            uuid: found[2].trim_end().to_string(),
            gpu: Device {
                name: found[3].trim_end().to_string(),
                capability: ComputeCapability::new(number(4)?, number(5)?),
            },
        })
    };
    let mut listed = Vec::new();
    for line in text.lines() {
        if let Some(gpu) = read(line) {
            listed.push(gpu);
        }
    }
    listed
}

/// Returns the GPUs that are visible with this value of `CUDA_VISIBLE_DEVICES`, which nvidia-smi itself ignores. Like
/// CUDA, it stops at the first entry that names no GPU. With `by_bus` (`CUDA_DEVICE_ORDER=PCI_BUS_ID`), CUDA's numbers
/// are those of nvidia-smi. Without it, a number may refer to any of several different GPUs, so all of them are
/// returned. The same applies to an entry that names a slice of a GPU.
pub fn visible(listed: Vec<Listed>, variable: Option<&str>, by_bus: bool) -> Vec<Device> {
    let mut every = Vec::new();
    for one in &listed {
        every.push(one.gpu.clone());
    }
    let (Some(value), Some(first)) = (variable, listed.first()) else {
        return every;
    };
    let alike = (listed.iter()).all(|one| one.gpu.capability == first.gpu.capability);
    let mut visible = Vec::new();
    for entry in value.split(',') {
        let entry = entry.trim();
        if entry.starts_with("MIG") {
            return every;
        }
        let number: Option<u32> = entry.parse().ok();
        if number.is_some() && !by_bus && !alike {
            return every;
        }
        let named = |one: &&Listed| match number {
            Some(number) => one.index == number,
            None => entry.len() > 4 && entry.starts_with("GPU-") && one.uuid.starts_with(entry),
        };
        match listed.iter().find(named) {
            Some(one) => visible.push(one.gpu.clone()),
            None => break,
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str =
        "0, GPU-aa11, NVIDIA H100 PCIe, 9.0\r\n1, GPU-bb22, Tesla, with a comma, 7.5\n";

    #[track_caller]
    fn sees(text: &str, variable: Option<&str>, by_bus: bool, expected: &[&str]) {
        let gpus = visible(parse(text), variable, by_bus);
        let read: Vec<String> = gpus
            .iter()
            .map(|gpu| format!("{} {}", gpu.name, gpu.capability))
            .collect();
        assert_eq!(read, expected, "{variable:?} {by_bus}");
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
            None,
            false,
            &["NVIDIA H100 PCIe 9.0", "Tesla, with a comma 7.5"],
        );
        sees("", None, false, &[]);
    }

    /// CUDA respects the variable, but nvidia-smi ignores it.
    #[test]
    fn only_visible_gpus_count() {
        let (first, second) = ("NVIDIA H100 PCIe 9.0", "Tesla, with a comma 7.5");
        sees(TWO, Some("1"), true, &[second]);
        sees(TWO, Some("1,0"), true, &[second, first]);
        sees(TWO, Some("GPU-bb"), false, &[second]);
        sees(TWO, Some("GPU-aa11, 7, 1"), true, &[first]);
        for variable in ["", "-1", "NoDevFiles", "GPU-", "GPU-zz", "2"] {
            sees(TWO, Some(variable), true, &[]);
        }
        // Only CUDA knows which of the two is number 1, and which GPU this slice belongs to.
        sees(TWO, Some("1"), false, &[first, second]);
        sees(TWO, Some("MIG-1234"), true, &[first, second]);
        let alike = "0, GPU-a, A100, 8.0\n1, GPU-b, A100, 8.0\n";
        sees(alike, Some("1"), false, &["A100 8.0"]);
    }
}
