//! Builds the simulator: a cuDNN and a driver in C that compute on the CPU, laid out like an installation.
//!
//! ```text
//! <into>/include/{cuda.h, cudnn.h, cudnn_version.h}
//! <into>/lib64/{libcudnn.so -> libcudnn.so.9, libcudnn.so.9, libcudnn_graph.so.9, ...}
//! <into>/lib64/{libcudart.so -> libcudart.so.13, libcudart.so.13}
//! <into>/driver/libcuda.so.1
//! ```
//!
//! For Windows:
//!
//! ```text
//! <into>/include/{cuda.h, cudnn.h, cudnn_version.h}
//! <into>/bin/{cudnn64_9.dll, cudnn_graph64_9.dll, ..., cudart64_13.dll}
//! <into>/driver/nvcuda.dll
//! ```
use crate::system::files;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The release of cuDNN: 8 or 9, minor, patch level.
    pub cudnn: (u32, u32, u32),
    /// The release of CUDA that it was built for.
    pub cuda: (u32, u32),
    /// Parts that are missing, as in `cnn` or `ops_infer`.
    pub leave_out: Vec<String>,
}

/// A part of a cuDNN: which sources are in it, and which parts it is linked to.
struct Part {
    name: &'static str,
    sources: &'static [&'static str],
    defines: &'static [&'static str],
    needs: &'static [&'static str],
}

/// Who needs whom is read off the real ones, and parts stand after those they need.
#[rustfmt::skip]
const PARTS_9: &[Part] = &[
    Part { name: "graph", sources: &["core.c", "graph.c"], defines: &[], needs: &[] },
    Part { name: "ops", sources: &["ops.c"], defines: &[], needs: &["graph"] },
    Part { name: "cnn", sources: &["cnn.c", "train.c"], defines: &[], needs: &["ops", "graph"] },
    Part { name: "adv", sources: &["rest.c"], defines: &["PART=Adv", "DATA=cudnn_adv_infer_version"], needs: &["ops", "graph"] },
    Part { name: "heuristic", sources: &["rest.c"], defines: &[], needs: &["graph"] },
    Part { name: "engines_precompiled", sources: &["rest.c"], defines: &[], needs: &["graph"] },
    Part { name: "engines_runtime_compiled", sources: &["rest.c"], defines: &[], needs: &["graph"] },
    Part { name: "engines_tensor_ir", sources: &["rest.c"], defines: &[], needs: &["graph"] },
    Part { name: "ext", sources: &["rest.c"], defines: &[], needs: &["graph"] },
];

#[rustfmt::skip]
const PARTS_8: &[Part] = &[
    Part { name: "ops_infer", sources: &["core.c", "ops.c"], defines: &[], needs: &[] },
    Part { name: "ops_train", sources: &["rest.c"], defines: &["PART=OpsTrain", "DATA=cudnn_ops_train_version"], needs: &["ops_infer"] },
    Part { name: "cnn_infer", sources: &["cnn.c"], defines: &[], needs: &["ops_infer"] },
    Part { name: "cnn_train", sources: &["rest.c", "train.c"], defines: &["PART=CnnTrain"], needs: &["ops_infer", "ops_train", "cnn_infer"] },
    Part { name: "adv_infer", sources: &["rest.c"], defines: &["PART=AdvInfer", "DATA=cudnn_adv_infer_version"], needs: &["ops_infer"] },
    Part { name: "adv_train", sources: &["rest.c"], defines: &["PART=AdvTrain"], needs: &["ops_infer", "ops_train", "adv_infer"] },
];

/// The parts without a version resource on Windows; `graph` has the data symbol.
const WITHOUT_RESOURCE: [&str; 3] = ["graph", "heuristic", "engines_tensor_ir"];

/// Compiles the C files in `sources` into an installation below `into`, which must not hold another one.
pub fn build(sources: &Path, into: &Path, what: &Simulated) -> Result<(), String> {
    build_with("cc", sources, into, what)
}

/// [`build`] with another C compiler, which may target another processor.
pub fn build_with(
    compiler: &str,
    sources: &Path,
    into: &Path,
    what: &Simulated,
) -> Result<(), String> {
    let (major, minor, _) = what.cudnn;
    let tree = Tree::new(compiler, "lib64", sources, into)?;
    tree.headers(what)?;

    tree.library("driver/libcuda.so.1", &["driver.c"], &[])?;
    let cudart = match what.cuda.0 {
        11 => "libcudart.so.11.0".to_string(),
        other => format!("libcudart.so.{other}"),
    };
    tree.library(&format!("lib64/{cudart}"), &["cudart.c"], &[])?;
    tree.link("lib64/libcudart.so", &cudart)?;

    let soname = |part: &str| format!("libcudnn_{part}.so.{major}");
    // From 9.22 on the real ones carry DT_RPATH, before that DT_RUNPATH.
    let tags = match major >= 9 && minor >= 22 {
        true => "-Wl,--disable-new-dtags",
        false => "-Wl,--enable-new-dtags",
    };
    let versioned = ["-Wl,--default-symver", "-Wl,-rpath,$ORIGIN", tags].map(String::from);
    let parts = parts(what.cudnn)?;
    for part in parts {
        let mut flags = versioned.to_vec();
        flags.extend(part.defines.iter().map(|define| format!("-D{define}")));
        flags.push("-Wl,--no-as-needed".to_string());
        flags.extend(part.needs.iter().map(|need| tree.path(&soname(need))));
        tree.library(
            &format!("lib64/{}", soname(part.name)),
            part.sources,
            &flags,
        )?;
    }
    let main_library = format!("libcudnn.so.{major}");
    tree.library(&format!("lib64/{main_library}"), &["shim.c"], &versioned)?;
    tree.link("lib64/libcudnn.so", &main_library)?;
    for part in parts {
        tree.link(
            &format!("lib64/libcudnn_{}.so", part.name),
            &soname(part.name),
        )?;
    }
    for part in &what.leave_out {
        tree.remove(&format!("lib64/{}", soname(part)))?;
        tree.remove(&format!("lib64/libcudnn_{part}.so"))?;
    }
    Ok(())
}

/// [`build`] for Windows, with MinGW.
pub fn build_for_windows(sources: &Path, into: &Path, what: &Simulated) -> Result<(), String> {
    let tree = Tree::new("x86_64-w64-mingw32-gcc", "bin", sources, into)?;
    tree.headers(what)?;

    // What is each thread's own is done by libgcc.
    let libgcc = "-static-libgcc".to_string();
    let release = tree.version_resource("driver", [32, 0, 15, 6094])?;
    tree.compile("driver/nvcuda.dll", &["driver.c"], &[libgcc, release])?;
    let cudart = match what.cuda.0 {
        11 => "bin/cudart64_110.dll".to_string(),
        other => format!("bin/cudart64_{other}.dll"),
    };
    tree.compile(&cudart, &["cudart.c"], &[])?;

    let file = |part: &str| format!("cudnn{part}64_{}.dll", what.cudnn.0);
    let part_file = |part: &str| file(&format!("_{part}"));
    let (major, minor, patch) = what.cudnn;
    let resource = tree.version_resource("version", [major, minor, patch, 0])?;
    for part in parts(what.cudnn)? {
        let defines = part.defines.iter();
        let mut flags: Vec<String> = defines.map(|define| format!("-D{define}")).collect();
        for need in part.needs {
            // What a part takes nothing from is no import of it.
            let half = if *need == "ops" { "ops_infer" } else { *need };
            flags.push(format!("-Wl,-u,__imp_cudnn_{half}_version"));
            flags.push(tree.path(&part_file(need)));
        }
        if !WITHOUT_RESOURCE.contains(&part.name) {
            flags.push(resource.clone());
        }
        let to = format!("bin/{}", part_file(part.name));
        tree.compile(&to, part.sources, &flags)?;
    }
    tree.compile(&format!("bin/{}", file("")), &["shim.c"], &[resource])?;
    for part in &what.leave_out {
        tree.remove(&format!("bin/{}", part_file(part)))?;
    }
    Ok(())
}

/// The parts of a release: `engines_tensor_ir` came with 9.21, `ext` with 9.22.
fn parts((major, minor, _): (u32, u32, u32)) -> Result<&'static [Part], String> {
    match (major, minor) {
        (8, _) => Ok(PARTS_8),
        (9, 22..) => Ok(PARTS_9),
        (9, 21) => Ok(&PARTS_9[..8]),
        (9, _) => Ok(&PARTS_9[..7]),
        _ => Err(format!("there is no simulator of cuDNN {major}")),
    }
}

struct Tree {
    compiler: String,
    libraries: &'static str,
    sources: PathBuf,
    into: PathBuf,
}

impl Tree {
    fn new(
        compiler: &str,
        libraries: &'static str,
        sources: &Path,
        into: &Path,
    ) -> Result<Self, String> {
        for folder in ["include", libraries, "driver"] {
            let folder = into.join(folder);
            fs::create_dir_all(&folder).map_err(|error| told("create", &folder, &error))?;
        }
        Ok(Self {
            compiler: compiler.to_string(),
            libraries,
            sources: sources.to_path_buf(),
            into: into.to_path_buf(),
        })
    }

    fn path(&self, library: &str) -> String {
        let folder = self.into.join(self.libraries);
        folder.join(library).display().to_string()
    }

    /// Copies the headers with this release's numbers in them.
    fn headers(&self, what: &Simulated) -> Result<(), String> {
        let (major, minor, patch) = what.cudnn;
        let unit = if major >= 9 { 10_000 } else { 1_000 };
        for name in ["cuda.h", "cudnn.h", "cudnn_version.h"] {
            let from = self.sources.join("include").join(name);
            let text = fs::read_to_string(&from).map_err(|error| told("read", &from, &error))?;
            let text = text
                .replace("@MAJOR@", &major.to_string())
                .replace("@MINOR@", &minor.to_string())
                .replace("@PATCH@", &patch.to_string())
                .replace("@UNIT@", &unit.to_string())
                .replace(
                    "@CUDA@",
                    &(what.cuda.0 * 1000 + what.cuda.1 * 10).to_string(),
                );
            let to = self.into.join("include").join(name);
            fs::write(&to, text).map_err(|error| told("write", &to, &error))?;
        }
        Ok(())
    }

    /// Links one library for Linux from C files; its SONAME is its file name.
    fn library(&self, to: &str, sources: &[&str], flags: &[String]) -> Result<(), String> {
        let soname = to.rsplit('/').next().unwrap_or_default();
        let soname = format!("-Wl,-soname,{soname}");
        let before = ["-fPIC", &soname, "-Wl,--build-id"].map(String::from);
        let behind = ["-ldl", "-lm"].map(String::from);
        self.compile(to, sources, &[&before[..], flags, &behind].concat())
    }

    fn compile(&self, to: &str, sources: &[&str], flags: &[String]) -> Result<(), String> {
        let mut compiler = Command::new(&self.compiler);
        compiler
            .args([
                "-std=gnu99",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-shared",
            ])
            .arg("-I")
            .arg(self.into.join("include"))
            .arg("-o")
            .arg(self.into.join(to))
            .args(sources.iter().map(|source| self.sources.join(source)))
            .args(flags);
        self.run(&mut compiler, to)
    }

    /// What Windows tells of a file, compiled: the object to link.
    fn version_resource(&self, name: &str, numbers: [u32; 4]) -> Result<String, String> {
        let source = self.into.join(format!("{name}.rc"));
        let object = source.with_extension("o");
        let [first, second, third, fourth] = numbers;
        let text = format!("1 VERSIONINFO FILEVERSION {first},{second},{third},{fourth} {{}}\n");
        fs::write(&source, text).map_err(|error| told("write", &source, &error))?;
        let mut compiler = Command::new("x86_64-w64-mingw32-windres");
        compiler.arg(&source).arg(&object);
        self.run(&mut compiler, &format!("{name}.rc"))?;
        Ok(object.display().to_string())
    }

    fn run(&self, compiler: &mut Command, what: &str) -> Result<(), String> {
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

    fn link(&self, name: &str, target: &str) -> Result<(), String> {
        files::link(Path::new(target), &self.into.join(name)).map_err(|finding| finding.summary)
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        let name = self.into.join(name);
        fs::remove_file(&name).map_err(|error| told("remove", &name, &error))
    }
}

fn told(verb: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {verb} `{}`: {error}", path.display())
}
