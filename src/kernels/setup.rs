//! A plan with the fingerprint of nvcc, the programs that it runs, and the variables that affect them.

use crate::kernels::nvcc::wrapper::NvccWrapper;
use crate::model::{Os, Toolkit};
use crate::system::{ObjectCache, StatCache, files};
use crate::toolchain::Toolchain;
use crate::toolkit::{NVCC_FLAGS, Plan};
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

/// A plan and the programs that it runs.
pub struct Setup<'a> {
    pub plan: Plan<'a>,
    /// nvcc and the programs that it runs.
    pub programs: Vec<PathBuf>,
    /// The states of `programs`, and the variables. With the same fingerprint, arguments and input files, the result is
    /// the same.
    pub fingerprint: String,
    /// The toolkits that were not chosen.
    pub others: Vec<&'a Toolkit>,
    pub wrapper: Option<NvccWrapper>,
    /// The cache of compiled files, unless the wrapper is one.
    pub cache: Option<ObjectCache>,
}

impl<'a> Setup<'a> {
    /// Fingerprints the programs that this plan will run. Runs none of them.
    pub fn new(plan: Plan<'a>, toolchain: &'a Toolchain) -> Self {
        let mut others = Vec::new();
        for candidate in &toolchain.candidates {
            if !candidate.is_chosen() {
                others.extend(candidate.toolkit());
            }
        }
        let (programs, env) = (programs(&plan), &plan.host.env);
        let mut fingerprint = states(&programs);
        for variable in NVCC_FLAGS {
            fingerprint += &format!("{:?}\n", env.get(variable));
        }
        for name in plan.host.builder().os.compiler_variables() {
            let own = plan.env.iter().find(|(own, _)| own == name);
            let value = own.map(|(_, value)| value.as_os_str());
            let value = value.or(env.os_var(name)).unwrap_or_default();
            fingerprint += &format!("{value:?}\n");
        }
        let wrapper = NvccWrapper::find(env);
        let cache = match wrapper {
            None => ObjectCache::open(env, plan.host.builder().os),
            Some(_) => None,
        };
        Self {
            programs,
            fingerprint,
            others,
            wrapper,
            cache,
            plan,
        }
    }
}

impl Setup<'_> {
    /// Returns `false` if a program was replaced since.
    pub fn is_current(&self) -> bool {
        self.fingerprint.starts_with(&states(&self.programs))
    }
}

fn states(programs: &[PathBuf]) -> String {
    let (seen, mut states) = (StatCache::default(), String::new());
    for program in programs {
        if let Some(state) = seen.file(program).and_then(|file| file.state.clone()) {
            states += &(state + "\n");
        }
    }
    states
}

/// Returns nvcc, the programs that it runs and the host compiler, as found and with links resolved.
fn programs(plan: &Plan) -> Vec<PathBuf> {
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
    found.extend(host.on_path(compiler));
    files::keep(&mut found, &files::is_file);
    let mut programs = Vec::new();
    for file in found {
        if let Ok(real) = files::canonical(&file, None) {
            programs.push(real);
        }
        programs.push(file);
    }
    files::dedup(programs.into_iter())
}
