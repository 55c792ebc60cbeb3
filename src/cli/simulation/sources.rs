//! The embedded sources of the simulator and of the consumers. An installed program therefore does not need the
//! repository.

use std::path::Path;
use std::{fs, io};

/// Texts with their paths below a directory of `fixtures`.
pub type Sources = &'static [(&'static str, &'static str)];

macro_rules! sources {
    ($dir:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/", $dir, "/", $path)))),*]
    };
}

/// Small crates that use a guard, for [`consumer`](super::consumer).
pub const CONSUMERS: Sources = sources!["consumers":
    "Cargo.toml.in",
    "application/Cargo.toml.in",
    "application/build.rs",
    "application/src/main.rs",
    "kernel/Cargo.toml.in",
    "kernel/build.rs",
    "kernel/src/add.cu",
    "kernel/src/main.rs",
];

/// A cuDNN, a CUDA runtime and a driver in C.
pub const SIMULATOR: Sources = sources!["simulator":
    "cnn.c",
    "convolve.h",
    "core.c",
    "cudart.c",
    "driver.c",
    "fault.h",
    "graph.c",
    "include/cuda.h",
    "include/cudnn.h",
    "include/cudnn_version.h",
    "ops.c",
    "part.h",
    "rest.c",
    "shim.c",
    "train.c",
];

/// Writes edited sources below a directory, without the `.in` in their names. Unchanged files are not touched, so that
/// cargo sees no change.
pub fn write(sources: Sources, into: &Path, edit: &dyn Fn(&str) -> String) -> io::Result<()> {
    for (path, text) in sources {
        let file = into.join(path.strip_suffix(".in").unwrap_or(path));
        let text = edit(text);
        if fs::read_to_string(&file).is_ok_and(|old| old == text) {
            continue;
        }
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(file, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(dir: &Path) -> usize {
        let entries = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .map(|path| if path.is_dir() { count(&path) } else { 1 })
            .sum()
    }

    #[test]
    fn no_source_is_forgotten() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        for (sources, dir) in [(CONSUMERS, "consumers"), (SIMULATOR, "simulator")] {
            assert_eq!(sources.len(), count(&fixtures.join(dir)), "{dir}");
        }
    }
}
