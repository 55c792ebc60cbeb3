//! The status codes of CUDA (`CUresult`), by name and in words.

use crate::runtime::binary::{Elf, contains};
use crate::runtime::system::{by_system, proc};

/// Rows for a `CUresult`: its number, its name in cuda.h and its meaning, then the help, then the help on Windows if it
/// differs. The numbers have never been reused: <https://docs.nvidia.com/cuda/cuda-driver-api/>.
const STATUS: &str = include_str!("cuda_status.txt");

/// Returns the name and the number of a `CUresult`.
pub fn status_name(code: i32) -> String {
    match explain(code).name {
        "" => format!("CUDA error {code}"),
        name => format!("{name} ({code})"),
    }
}

pub struct Explanation {
    /// Its name in cuda.h; empty if unknown.
    pub name: &'static str,
    pub words: &'static str,
    pub help: &'static str,
}

pub fn explain(code: i32) -> Explanation {
    find(code).unwrap_or(Explanation {
        name: "",
        words: "NVIDIA's driver failed",
        help: by_system!(
            "run `nvidia-smi`, and check `dmesg` for lines with NVRM",
            "run `nvidia-smi`, and check the Windows event log for errors of nvlddmkm"
        ),
    })
}

fn find(code: i32) -> Option<Explanation> {
    let start = match code {
        2 if proc::has_shadow_gap() => "gap ".to_string(),
        2 if has_thread_or_memory_sanitizer() => "shadow ".to_string(),
        805..=810 => "805 ".to_string(), // all six are about MPS
        code => format!("{code} "),
    };
    let mut lines = STATUS.lines();
    let row = lines.find_map(|line| line.strip_prefix(&start));
    let (name, words) = row?.split_once(": ")?;
    let help = lines.next()?.trim_start();
    let on_windows = lines.next().and_then(|line| line.strip_prefix("    "));
    let help = by_system!(help, on_windows.unwrap_or(help));
    Some(Explanation { name, words, help })
}

/// Returns `true` if the runtime of one of these sanitizers is in this process. A program that it is linked into does not
/// export its functions.
fn has_thread_or_memory_sanitizer() -> bool {
    let program = std::env::current_exe().unwrap_or_default();
    let constants = Elf::read(&program)
        .ok()
        .and_then(|elf| elf.rodata())
        .unwrap_or_default();
    // The first letter is left out, so that this constant is not found.
    let has = |first| contains(&constants, first, &b"-SAN_OPTIONS\0"[1..]);
    let maps = proc::text("self/maps").unwrap_or_default();
    has(b'T')
        || has(b'M')
        || ["/libtsan.", "rt.tsan", "rt.msan"]
            .iter()
            .any(|it| maps.contains(it))
}
