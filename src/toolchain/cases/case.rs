//! A case is one text file, `fixtures/cases/<name>.txt`:
//!
//! ```text
//! CUDNN_PATH names a directory of libraries without headers
//! CFG-09 LNK-07
//!
//! [config]
//! cuda >=12.0
//! cudnn >=9.1
//!
//! [env]
//! CUDNN_PATH=$ROOT/opt/dnn
//!
//! [files]
//! opt/dnn/lib/libcudnn.so.9 -> libcudnn.so.9.14.0
//! opt/dnn/lib/libcudnn.so.9.14.0 (elf)
//! usr/local/cuda/include/cuda.h
//!     #define CUDA_VERSION 12080
//!
//! [expected]
//! + NVIDIA's usual directory: CUDA 12.8 at $ROOT/usr/local/cuda
//! ```
//!
//! The first line says what it shows; a second one, if any, numbers the failures of `fixtures/catalogue.txt` that it
//! stands for. `[config]` is the build script, one call to a line: `cudnn >=9.1`, `link runtime`, `optional`; with
//! `directives` what cargo is told is shown too, with `targets` what the compiler is asked for them. `[env]` is the
//! environment. `[files]` is the small file system that `tree.rs` makes; `$ROOT` stands for it in all sections.
//! `[expected]` is what is found, what is chosen, what is said, up to the end of the file.
//!
//! To add a case, write it without `[expected]`, run `BLESS=1 cargo test --lib cases`, which writes that section of
//! every case anew, and read what it has written.

use super::tree;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Default)]
pub struct Case {
    file: PathBuf,
    pub about: Vec<String>,
    pub config: Vec<String>,
    pub env: Vec<String>,
    files: Vec<String>,
    pub expected: String,
}

impl Case {
    /// Every case, in the order of their names.
    pub fn all() -> Vec<Self> {
        let mut files: Vec<PathBuf> = fs::read_dir(folder())
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        files.into_iter().map(Self::read).collect()
    }

    pub fn named(name: &str) -> Self {
        Self::read(folder().join(format!("{name}.txt")))
    }

    fn read(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).unwrap();
        let (given, expected) = parted(&text);
        let mut case = Self {
            file,
            expected: expected.to_string(),
            ..Self::default()
        };
        let mut section = &mut case.about;
        for line in given.lines() {
            match line {
                "[config]" => section = &mut case.config,
                "[env]" => section = &mut case.env,
                "[files]" => section = &mut case.files,
                line => section.push(line.to_string()),
            }
        }
        for section in [&mut case.about, &mut case.config, &mut case.env] {
            section.retain(|line| !line.is_empty());
        }
        case
    }

    pub fn name(&self) -> &str {
        self.file.file_stem().unwrap().to_str().unwrap()
    }

    /// Makes its file system in `root`, with libraries for the processor `cpu`.
    pub fn unpack(&self, root: &Path, cpu: &str) {
        tree::make(&self.files, root, cpu);
    }

    /// Writes `told` to the file as what is expected.
    pub fn bless(&self, told: &str) {
        let text = fs::read_to_string(&self.file).unwrap();
        let given = parted(&text).0.trim_end();
        fs::write(&self.file, format!("{given}\n\n[expected]\n{told}")).unwrap();
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases")
}

/// What is given and what is expected.
fn parted(text: &str) -> (&str, &str) {
    text.split_once("\n[expected]\n").unwrap_or((text, ""))
}
