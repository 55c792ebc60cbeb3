//! The simulator: a cuDNN and a driver in C that compute on the CPU, installed like the real ones.
//!
//! ```text
//! <into>/include/{cuda.h, cudnn.h, cudnn_version.h}
//! <into>/lib64/{libcudnn.so -> libcudnn.so.9, libcudnn.so.9, libcudnn_graph.so.9, ...}
//! <into>/lib64/{libcudart.so -> libcudart.so.13, libcudart.so.13}
//! <into>/driver/libcuda.so.1
//! ```

use super::consumer::copy_edited;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// The simulated CUDA major.
pub const CUDA: u32 = 13;

/// A version of cuDNN: 8 or 9, minor, patch level.
pub type Release = (u32, u32, u32);

/// A sub-library of cuDNN: its sources, and the sub-libraries that it is linked with.
pub struct SubLibrary {
    pub name: &'static str,
    pub sources: &'static [&'static str],
    pub flags: &'static [&'static str],
    pub needs: &'static [&'static str],
}

/// The sub-libraries, with the dependencies of the real ones, in order.
#[rustfmt::skip]
const SUB_LIBRARIES_9: &[SubLibrary] = &[
    SubLibrary { name: "graph", sources: &["core.c", "graph.c"], flags: &[], needs: &[] },
    SubLibrary { name: "ops", sources: &["ops.c"], flags: &[], needs: &["graph"] },
    SubLibrary { name: "cnn", sources: &["cnn.c", "train.c"], flags: &[], needs: &["ops", "graph"] },
    SubLibrary { name: "adv", sources: &["rest.c"], flags: &["-DPART=Adv", "-DDATA=cudnn_adv_infer_version"], needs: &["ops", "graph"] },
    SubLibrary { name: "heuristic", sources: &["rest.c"], flags: &[], needs: &["graph"] },
    SubLibrary { name: "engines_precompiled", sources: &["rest.c"], flags: &[], needs: &["graph"] },
    SubLibrary { name: "engines_runtime_compiled", sources: &["rest.c"], flags: &[], needs: &["graph"] },
    SubLibrary { name: "engines_tensor_ir", sources: &["rest.c"], flags: &[], needs: &["graph"] },
    SubLibrary { name: "ext", sources: &["rest.c"], flags: &[], needs: &["graph"] },
];

#[rustfmt::skip]
const SUB_LIBRARIES_8: &[SubLibrary] = &[
    SubLibrary { name: "ops_infer", sources: &["core.c", "ops.c"], flags: &[], needs: &[] },
    SubLibrary { name: "ops_train", sources: &["rest.c"], flags: &["-DDATA=cudnn_ops_train_version"], needs: &["ops_infer"] },
    SubLibrary { name: "cnn_infer", sources: &["cnn.c"], flags: &[], needs: &["ops_infer"] },
    SubLibrary { name: "cnn_train", sources: &["rest.c", "train.c"], flags: &[], needs: &["ops_infer", "ops_train", "cnn_infer"] },
    SubLibrary { name: "adv_infer", sources: &["rest.c"], flags: &["-DPART=AdvInfer", "-DDATA=cudnn_adv_infer_version"], needs: &["ops_infer"] },
    SubLibrary { name: "adv_train", sources: &["rest.c"], flags: &[], needs: &["ops_infer", "ops_train", "adv_infer"] },
];

/// Builds this cuDNN below `into`, which must not contain another one, with a C compiler for Linux.
pub fn build(compiler: &str, cudnn: Release, into: &Path) -> Result<(), String> {
    build_with(compiler, cudnn, into, |tree, cudnn, sub_libraries| {
        tree.build_for_linux(cudnn, sub_libraries)
    })
}

/// Builds with a function that compiles the sources.
pub fn build_with(
    compiler: &str,
    cudnn: Release,
    into: &Path,
    compile: fn(&Tree, Release, &[SubLibrary]) -> Result<(), String>,
) -> Result<(), String> {
    let sub_libraries = sub_libraries(cudnn)?;
    let tree = Tree { compiler, into };
    let (major, minor, patch) = cudnn;
    let numbers = [
        ("@MAJOR@", major),
        ("@MINOR@", minor),
        ("@PATCH@", patch),
        ("@UNIT@", if major >= 9 { 10_000 } else { 1_000 }),
        ("@CUDA@", CUDA * 1000),
    ];
    let with_numbers = |text: &str| {
        let mut text = text.to_string();
        for (name, number) in numbers {
            text = text.replace(name, &number.to_string());
        }
        text
    };
    let written = copy_edited(&sources(), into, &with_numbers);
    written.map_err(|error| tree.not_written(&error))?;
    compile(&tree, cudnn, sub_libraries)?;
    // Headers are installed, sources are not.
    let remove_sources = || {
        for source in fs::read_dir(sources())? {
            let source = into.join(source?.file_name());
            if source.is_file() {
                fs::remove_file(source)?;
            }
        }
        Ok(())
    };
    remove_sources().map_err(|error| tree.not_written(&error))
}

/// Returns the directory of the simulator's sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/simulator")
}

/// Returns the sub-libraries of a version: `engines_tensor_ir` exists since 9.21, `ext` since 9.22.
fn sub_libraries((major, minor, _): Release) -> Result<&'static [SubLibrary], String> {
    match (major, minor) {
        (8, _) => Ok(SUB_LIBRARIES_8),
        (9, 22..) => Ok(SUB_LIBRARIES_9),
        (9, 21) => Ok(&SUB_LIBRARIES_9[..8]),
        (9, _) => Ok(&SUB_LIBRARIES_9[..7]),
        _ => Err(format!("there is no simulator of cuDNN {major}")),
    }
}

pub struct Tree<'a> {
    compiler: &'a str,
    pub into: &'a Path,
}

impl Tree<'_> {
    fn build_for_linux(
        &self,
        (major, minor, _): Release,
        sub_libraries: &[SubLibrary],
    ) -> Result<(), String> {
        self.library("driver/libcuda.so", 1, &["driver.c"], &[])?;
        self.library("lib64/libcudart.so", CUDA, &["cudart.c"], &[])?;
        // The real ones have DT_RPATH from 9.22 on, and DT_RUNPATH before.
        let tags = if major >= 9 && minor >= 22 {
            "-Wl,--disable-new-dtags"
        } else {
            "-Wl,--enable-new-dtags"
        };
        let versioned = ["-Wl,--default-symver", "-Wl,-rpath,$ORIGIN", tags].map(String::from);
        for one in sub_libraries {
            let mut flags = versioned.to_vec();
            flags.extend(one.flags.iter().map(ToString::to_string));
            flags.push("-Wl,--no-as-needed".to_string());
            for need in one.needs {
                flags.push(self.path(&format!("lib64/libcudnn_{need}.so.{major}")));
            }
            let stem = format!("lib64/libcudnn_{}.so", one.name);
            self.library(&stem, major, one.sources, &flags)?;
        }
        self.library("lib64/libcudnn.so", major, &["shim.c"], &versioned)
    }

    /// Links a library for Linux, whose SONAME is its file name, and adds the name that a linker uses.
    fn library(
        &self,
        stem: &str,
        major: u32,
        sources: &[&str],
        flags: &[String],
    ) -> Result<(), String> {
        let (dir, name) = stem.split_once('/').unwrap_or_default();
        let soname = format!("{name}.{major}");
        let before =
            ["-fPIC", &format!("-Wl,-soname,{soname}"), "-Wl,--build-id"].map(String::from);
        let behind = ["-ldl", "-lm"].map(String::from);
        let to = format!("{dir}/{soname}");
        self.compile(&to, sources, &[&before[..], flags, &behind].concat())?;
        if dir == "driver" {
            return Ok(());
        }
        link(&soname, &self.into.join(stem)).map_err(|error| self.not_written(&error))
    }

    pub fn compile(&self, to: &str, sources: &[&str], flags: &[String]) -> Result<(), String> {
        let to_file = self.into.join(to);
        if let Some(dir) = to_file.parent() {
            fs::create_dir_all(dir).map_err(|error| self.not_written(&error))?;
        }
        let warnings = ["-std=gnu99", "-O1", "-Wall", "-Wextra", "-Werror"];
        let mut compiler = Command::new(self.compiler);
        compiler
            .args(warnings)
            .args(["-shared", "-I", &self.path("include"), "-o"])
            .arg(&to_file)
            .args(sources.iter().map(|source| self.into.join(source)))
            .args(flags);
        self.run(&mut compiler, to)
    }

    pub fn path(&self, library: &str) -> String {
        self.into.join(library).display().to_string()
    }

    fn not_written(&self, error: &io::Error) -> String {
        format!("cannot write into `{}`: {error}", self.into.display())
    }

    pub fn run(&self, compiler: &mut Command, what: &str) -> Result<(), String> {
        let output = compiler.output().map_err(|error| {
            let name = compiler.get_program().to_string_lossy();
            format!("cannot run the C compiler `{name}`: {error}")
        })?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!(
            "cannot compile `{}`:\n{}",
            self.into.join(what).display(),
            String::from_utf8_lossy(&output.stderr).trim_end()
        ))
    }
}

/// Links a library's short name, unless an earlier build did.
#[cfg(unix)]
fn link(soname: &str, name: &Path) -> io::Result<()> {
    match std::os::unix::fs::symlink(soname, name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Fails, because only Linux uses links for libraries.
#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
