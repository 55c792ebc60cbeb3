//! The simulated installation for Windows, compiled with MinGW:
//!
//! ```text
//! <into>/include/{cuda.h, cudnn.h, cudnn_version.h}
//! <into>/bin/{cudnn64_9.dll, cudnn_graph64_9.dll, ..., cudart64_13.dll}
//! <into>/driver/nvcuda.dll
//! ```
#![allow(dead_code, reason = "each test takes what it needs")]

use super::simulator::{CUDA, Release, SubLibrary, Tree, build_with};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The sub-libraries without a version resource. `graph` has a data symbol instead.
const WITHOUT_RESOURCE: [&str; 3] = ["graph", "heuristic", "engines_tensor_ir"];

pub fn build(cudnn: Release, into: &Path) -> Result<(), String> {
    build_with("x86_64-w64-mingw32-gcc", cudnn, into, compile)
}

fn compile(
    tree: &Tree,
    (major, minor, patch): Release,
    sub_libraries: &[SubLibrary],
) -> Result<(), String> {
    // Thread-local variables need libgcc.
    let libgcc = "-static-libgcc".to_string();
    let release = version_resource(tree, "driver", [32, 0, 15, 6094])?;
    tree.compile("driver/nvcuda.dll", &["driver.c"], &[libgcc, release])?;
    tree.compile(&format!("bin/cudart64_{CUDA}.dll"), &["cudart.c"], &[])?;
    let resource = version_resource(tree, "version", [major, minor, patch, 0])?;
    for one in sub_libraries {
        let mut flags: Vec<String> = one.flags.iter().map(ToString::to_string).collect();
        for need in one.needs {
            // The linker drops a library if nothing in it is used.
            let half = if *need == "ops" { "ops_infer" } else { *need };
            flags.push(format!("-Wl,-u,__imp_cudnn_{half}_version"));
            flags.push(tree.path(&format!("bin/cudnn_{need}64_{major}.dll")));
        }
        if !WITHOUT_RESOURCE.contains(&one.name) {
            flags.push(resource.clone());
        }
        let to = format!("bin/cudnn_{}64_{major}.dll", one.name);
        tree.compile(&to, one.sources, &flags)?;
    }
    let to = format!("bin/cudnn64_{major}.dll");
    tree.compile(&to, &["shim.c"], &[resource])
}

/// Compiles a version resource. Returns the object to link.
fn version_resource(tree: &Tree, name: &str, numbers: [u32; 4]) -> Result<String, String> {
    let source = tree.into.join(format!("{name}.rc"));
    let object = source.with_extension("o");
    let [first, second, third, fourth] = numbers;
    let text = format!("1 VERSIONINFO FILEVERSION {first},{second},{third},{fourth} {{}}\n");
    fs::write(&source, text).map_err(|error| error.to_string())?;
    let mut compiler = Command::new("x86_64-w64-mingw32-windres");
    compiler.arg(&source).arg(&object);
    tree.run(&mut compiler, &format!("{name}.rc"))?;
    Ok(object.display().to_string())
}
