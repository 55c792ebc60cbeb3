//! The fingerprint of nvcc, the programs that it runs, and the variables that affect them.

use crate::model::{Os, Variable, joined};
use crate::system::{StatCache, files, on_path};
use crate::toolkit::nvcc_command::{NVCC_FLAGS, Plan};
use std::path::{Path, PathBuf};

/// Programs that nvcc runs, and files that these read. NVIDIA ships them in separate wheels, so one may be replaced
/// without the other. Debian has them in two directories.
const BESIDE_NVCC: [&str; 9] = [
    "nvcc.profile",
    "cudafe++",
    "ptxas",
    "fatbinary",
    "nvlink",
    "crt/link.stub",
    "cicc",
    "../nvvm/bin/cicc",
    "../nvvm/libdevice/libdevice.10.bc",
];

/// Returns the variables that a host compiler reads: further header directories, and for MSVC all header directories
/// and additional options.
pub fn variables(os: Os) -> &'static [&'static str] {
    match os {
        Os::Windows => &["INCLUDE", "CL", "_CL_"],
        _ => &["CPATH", "CPLUS_INCLUDE_PATH"],
    }
}

/// Returns nvcc, the programs that it runs and the host compiler, as found and with links resolved.
pub fn programs(plan: &Plan) -> Vec<PathBuf> {
    let host = plan.host;
    let nvcc = files::canonical(&plan.nvcc, None).unwrap_or_else(|_| plan.nvcc.clone());
    let builder = host.builder();
    let mut found = vec![plan.nvcc.clone()];
    let mut dirs = vec![nvcc.parent().unwrap_or(&nvcc).to_path_buf()];
    dirs.extend(plan.toolkit.map(|toolkit| toolkit.root.join("bin")));
    for dir in dirs {
        for name in BESIDE_NVCC {
            // Names without an extension are of programs, with `.exe` on Windows.
            found.push(match Path::new(name).extension() {
                Some(_) => dir.join(name),
                None => dir.join(builder.program(name)),
            });
        }
    }
    let usual = match builder.os {
        Os::Windows => "cl.exe",
        _ => "gcc",
    };
    let compiler = plan.ccbin.as_deref().unwrap_or(usual);
    let path = host.env.var(Variable::Path.name()).unwrap_or_default();
    found.extend(on_path(compiler, path.as_ref()));
    files::keep(&mut found, &files::is_file);
    let mut programs = Vec::new();
    for file in found {
        programs.extend(files::canonical(&file, None));
        programs.push(file);
    }
    files::dedup(programs.into_iter())
}

/// Returns the fingerprint without running a program. The same fingerprint, arguments and input files give the same
/// result.
pub fn state(plan: &Plan, programs: &[PathBuf]) -> String {
    let host = plan.host;
    let seen = StatCache::default();
    let states = programs
        .iter()
        .filter_map(|file| seen.file(file)?.state.clone());
    let states = joined(states, "\n");
    let flags = NVCC_FLAGS.map(|variable| host.env.get(variable));
    let read = variables(host.builder().os).iter().map(|name| {
        let own = plan.env.iter().find(|(own, _)| own == name);
        let own = own.map(|(_, value)| value.as_os_str());
        own.or(host.env.os_var(name)).unwrap_or_default()
    });
    format!("{states}\n{flags:?}\n{:?}", read.collect::<Vec<_>>())
}
