//! The frameworks of the crates ort and tch, as a build on this machine would use them.

use crate::cudnn::consistency::file_name;
use crate::inspection::fault::InspectionFault;
use crate::inspection::provider::{ORT_DYLIB_PATH, Provider};
use crate::inspection::{libtorch, loader_env};
use crate::loader::ldso::LoadGraph;
use crate::loader::{linkage, main_library};
use crate::model::candidate::Candidate;
use crate::model::environment::Variable;
use crate::model::linkage::{Linkage, LoadPhase};
use crate::model::platform::Os;
use crate::runtime::facts::majors;
use crate::system::{Host, files};
use crate::{Finding, FindingId};
use std::path::{Path, PathBuf};

/// A framework whose part for CUDA is a library of its own.
pub struct Framework {
    pub name: &'static str,
    library: &'static str,
    /// The variables that name its files or its directory.
    variables: &'static [&'static str],
    /// The directory in a Python environment's packages.
    package: &'static str,
}

pub const FRAMEWORKS: [Framework; 2] = [
    Framework {
        name: "ort",
        library: "libonnxruntime_providers_cuda.so",
        variables: &[ORT_DYLIB_PATH, "ORT_LIB_PATH", "ORT_LIB_LOCATION"],
        package: "onnxruntime/capi",
    },
    Framework {
        name: "tch",
        library: libtorch::CUDA,
        variables: &["LIBTORCH_LIB", "LIBTORCH"],
        package: "torch/lib",
    },
];

impl Framework {
    /// Adds the findings about the framework, whose dependencies are searched as for a program without an rpath.
    pub fn examine(&self, host: &Host, installed: &[Candidate], findings: &mut Vec<Finding>) {
        let platform = &host.platform;
        // The search of Windows is not known here.
        if platform.os != Os::Linux {
            return;
        }
        let (library, dirs) = (self.library, self.dirs(host));
        let mut paths = dirs.iter().map(|dir| dir.join(library));
        let Some(path) = paths.find(|path| files::is_file(path)) else {
            let fault = InspectionFault::NoProvider(self.name, library, &dirs);
            return findings.push(fault.finding());
        };
        // A file of another system is not judged.
        let Ok(linkage) = linkage::read(&path) else {
            return;
        };
        let env = loader_env::of(&linkage, false, host);
        // A program beside the library, which opens it.
        let program = Linkage {
            needed: Vec::new(),
            soname: None,
            runpath: Some("$ORIGIN".into()),
            ..linkage.clone()
        };
        let mut graph = LoadGraph::resolve(&path.with_file_name("program"), program, env);
        graph.open(library, 0, LoadPhase::Later);
        let missing = std::mem::take(&mut graph.missing);
        // Newer providers are not linked with cuDNN and open it.
        let mut names = majors::CUDNN
            .iter()
            .map(|major| platform.cudnn_library(*major));
        let main = names.find_map(|name| graph.open(&name, 0, LoadPhase::Later));
        let cudnn = main.and_then(|main| main_library::cudnn(&mut graph, main, platform));
        if cudnn.is_some() {
            findings.retain(|one| one.id != FindingId::CudnnNotFound);
        }
        let provider = Provider::new(&path, &linkage, missing);
        let candidates = || installed.to_vec();
        let faults = provider.faults(cudnn.as_ref(), &candidates, host.sysroot());
        findings.extend(faults.iter().map(|fault| fault.finding(&provider)));
    }

    /// Returns the directories in which the crate finds the framework: those of its variable, else of its own download
    /// and of the active Python environment.
    fn dirs(&self, host: &Host) -> Vec<PathBuf> {
        let env = &host.env;
        let is_pythons = self.name == "tch" && env.os_var("LIBTORCH_USE_PYTORCH").is_some();
        let named = self.variables.iter().find_map(|name| env.os_var(name));
        if let Some(value) = named.filter(|_| !is_pythons) {
            let mut dir = env.directory().join(value);
            if files::is_file(&dir) {
                dir.pop();
            }
            return vec![dir.join("lib"), dir];
        }
        let mut dirs = match self.name {
            "ort" => downloads(host),
            _ => Vec::new(),
        };
        for variable in [Variable::VirtualEnv, Variable::CondaPrefix] {
            if let Some(prefix) = env.path(variable) {
                let pattern = format!("lib/python#/site-packages/{}", self.package);
                dirs.extend(host.sysroot().expand(&prefix, &pattern));
            }
        }
        dirs
    }
}

/// Returns the directories of the ONNX Runtimes that the ort-sys in `Cargo.lock` downloads. Their names are hashes in a
/// table of its sources.
fn downloads(host: &Host) -> Vec<PathBuf> {
    let home = host.env.path(Variable::Home).unwrap_or_default();
    let list =
        |pattern: &str| files::glob(&home.join(pattern).to_string_lossy()).unwrap_or_default();
    let lock = files::read(Path::new("Cargo.lock")).unwrap_or_default();
    let mut tables = String::new();
    for sources in list(".cargo/registry/src/*/ort-sys-*") {
        let version = file_name(&sources).trim_start_matches("ort-sys-");
        if lock.contains(&format!("name = \"ort-sys\"\nversion = \"{version}\"")) {
            for table in ["dist.txt", "build/download/dist.tsv"] {
                tables += &files::read(&sources.join(table)).unwrap_or_default();
            }
        }
    }
    let cache = format!(".cache/ort.pyke.io/dfbin/{}/*", host.platform.triple);
    let is_locked = |dir: &PathBuf| tables.contains(file_name(dir));
    let found = list(&cache).into_iter().filter(is_locked);
    found
        .flat_map(|dir| [dir.join("onnxruntime/lib"), dir])
        .collect()
}
