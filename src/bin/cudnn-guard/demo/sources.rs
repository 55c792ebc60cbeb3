//! The sources of what the demo builds. They are in the program, so that it needs no clone of the repository.

use std::path::Path;
use std::{fs, io};

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        /// Each with its path below `fixtures`.
        const SOURCES: &[(&str, &str)] = &[
            $(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/", $path)))),*
        ];
    };
}

sources![
    "consumers/Cargo.toml.in",
    "consumers/application/Cargo.toml.in",
    "consumers/application/build.rs",
    "consumers/application/src/main.rs",
    "consumers/kernel/Cargo.toml.in",
    "consumers/kernel/build.rs",
    "consumers/kernel/src/add.cu",
    "consumers/kernel/src/main.rs",
    "simulator/cnn.c",
    "simulator/convolve.h",
    "simulator/core.c",
    "simulator/cudart.c",
    "simulator/driver.c",
    "simulator/fault.h",
    "simulator/graph.c",
    "simulator/include/cuda.h",
    "simulator/include/cudnn.h",
    "simulator/include/cudnn_version.h",
    "simulator/ops.c",
    "simulator/part.h",
    "simulator/rest.c",
    "simulator/shim.c",
    "simulator/train.c",
];

/// Writes them below a directory.
pub fn write(into: &Path) -> io::Result<()> {
    for (path, text) in SOURCES {
        let file = into.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::SOURCES;
    use std::fs;
    use std::path::Path;

    fn count(folder: &Path) -> usize {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .map(|path| if path.is_dir() { count(&path) } else { 1 })
            .sum()
    }

    #[test]
    fn no_source_is_forgotten() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let all = count(&fixtures.join("consumers")) + count(&fixtures.join("simulator"));
        assert_eq!(SOURCES.len(), all);
    }
}
