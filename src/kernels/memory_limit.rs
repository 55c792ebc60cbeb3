//! The number of compilations that the available memory allows.

use crate::model::Environment;
use crate::system::files;
use std::path::PathBuf;

/// The memory that one thread of nvcc may need, in bytes. The files of candle-kernels 0.11.1 need 0.2 to 0.6 GiB with
/// nvcc 13.5 and one target (`/usr/bin/time -v`). A higher value would slow down builds that have enough memory. A
/// compilation that is killed is run again.
const USUAL: u64 = 1 << 30;

/// Like [`USUAL`], but for kernels that use CUTLASS: `flash_fwd_hdim128_bf16_sm80.cu` of candle-flash-attn 0.11.1 with
/// CUTLASS 4.2 needs 3.7 GiB, measured with the same program.
const WITH_CUTLASS: u64 = 4 << 30;

/// Returns the memory that one thread of nvcc may need, which depends on the libraries in the header search path.
pub fn per_thread(search_path: &[PathBuf]) -> u64 {
    match files::find_in(search_path, "cutlass/cutlass.h") {
        Some(_) => WITH_CUTLASS,
        None => USUAL,
    }
}

/// Returns how many threads may compile at a time: one for each CPU, unless memory is short. A number that the user
/// passed to cargo is not lowered.
pub fn threads(cpus: usize, available: Option<u64>, each: u64, env: &Environment) -> usize {
    let default = cpus.to_string();
    let is_chosen = env.var("NUM_JOBS").is_some_and(|jobs| jobs != default);
    match available {
        Some(bytes) if !is_chosen && env.var("CARGO_BUILD_JOBS").is_none() => {
            usize::try_from(bytes / each).map_or(cpus, |most| most.clamp(1, cpus))
        }
        _ => cpus,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_limits_the_default_number_of_threads() {
        let threads = |cpus, gibibytes: Option<u64>, env: &[(&str, &str)]| {
            let env = env
                .iter()
                .map(|(name, value)| (name.to_string(), value.into()));
            let bytes = gibibytes.map(|number| number << 30);
            super::threads(cpus, bytes, USUAL, &Environment::new(env))
        };
        let default = [("NUM_JOBS", "16")];
        for (available, expected) in [(0, 1), (1, 1), (5, 5), (15, 15), (16, 16), (500, 16)] {
            assert_eq!(threads(16, Some(available), &default), expected);
            assert_eq!(threads(16, Some(available), &[]), expected);
        }
        assert_eq!(threads(16, None, &default), 16);
        // `cargo build -j 8`, which the job server limits.
        assert_eq!(threads(16, Some(5), &[("NUM_JOBS", "8")]), 16);
        let variable = [("NUM_JOBS", "16"), ("CARGO_BUILD_JOBS", "16")];
        assert_eq!(threads(16, Some(5), &variable), 16);
    }

    #[test]
    fn kernels_with_cutlass_need_more_memory() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-cutlass-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("cutlass")).unwrap();
        let search_path = [PathBuf::from("/nowhere"), dir.clone()];
        let before = per_thread(&search_path);
        std::fs::write(dir.join("cutlass/cutlass.h"), "").unwrap();
        let after = per_thread(&search_path);
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!((before, after), (USUAL, WITH_CUTLASS));
    }
}
