//! What compiles: nvcc, the programs that it runs, and what steers them.

use crate::model::environment::Variable;
use crate::model::text::joined;
use crate::system::freshness::fingerprint;
use crate::system::programs::on_path;
use crate::system::{Host, files};
use crate::toolkit::nvcc_command::Plan;
use std::path::{Path, PathBuf};

/// nvcc itself only starts the others, which have a package of their own in NVIDIA's wheels: one may be replaced without
/// the other. Debian has them in two places.
const BESIDE_NVCC: [&str; 7] = [
    "nvcc.profile",
    "cudafe++",
    "ptxas",
    "fatbinary",
    "cicc",
    "../nvvm/bin/cicc",
    "../nvvm/libdevice/libdevice.10.bc",
];

/// Where else a host compiler looks for headers, before its own.
pub const HEADER_PATHS: [&str; 2] = ["CPATH", "CPLUS_INCLUDE_PATH"];

/// All of it that can be told without asking. While it is the same, and so are the arguments and the files that are
/// read, the same comes out.
pub fn state(plan: &Plan, host: &Host, root: Option<&Path>) -> String {
    let nvcc = files::canonical(&plan.nvcc, None).unwrap_or_else(|_| plan.nvcc.clone());
    let dirs = nvcc.parent().map(Path::to_path_buf).into_iter();
    let dirs = files::dedup(dirs.chain(root.map(|root| root.join("bin"))));
    let beside = dirs
        .iter()
        .flat_map(|dir| BESIDE_NVCC.map(|name| dir.join(name)));
    let mut programs: Vec<PathBuf> = vec![nvcc.clone()];
    programs.extend(beside);
    let compiler = plan.ccbin.as_deref().unwrap_or("gcc");
    let path = host.env.var(Variable::Path.name()).unwrap_or_default();
    let compiler = on_path(compiler, path);
    programs.extend(compiler.and_then(|compiler| files::canonical(&compiler, None).ok()));
    let programs = programs
        .iter()
        .filter_map(|program| fingerprint::read(program));
    let programs = joined(programs, "\n");
    let flags = [Variable::NvccPrependFlags, Variable::NvccAppendFlags]
        .map(|variable| host.env.get(variable).unwrap_or_default());
    let headers = HEADER_PATHS.map(|name| host.env.os_var(name).unwrap_or_default());
    format!("{programs}\n{flags:?}\n{headers:?}")
}
