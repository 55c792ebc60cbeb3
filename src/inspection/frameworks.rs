//! The frameworks of the crates ort and tch, as a build on this machine would use them.

mod torch;

use crate::FindingId;
use crate::compat::cargo_lock::texts;
use crate::compat::cudarc_sources::registries;
use crate::cudnn::file_name;
use crate::inspection::{
    InspectionFault, ORT_DYLIB_PATH, PYTHONS, gpu_code, interpreter, provider,
};
use crate::loader::elsewhere::Search;
use crate::loader::{LoadGraph, linkage, main_library};
use crate::model::{Candidate, Linkage, Os, Variable};
use crate::report::ToolchainReport;
use crate::system::{Host, files, programs};
use std::path::PathBuf;

/// A framework whose CUDA part is a separate library.
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
        library: "libtorch_cuda.so",
        variables: &["LIBTORCH_LIB", "LIBTORCH"],
        package: "torch/lib",
    },
];

/// The directories into which torch-sys downloads with its feature `download-libtorch`.
const TORCH_DOWNLOADS: &str = "target/*/build/torch-sys-*/out/libtorch/libtorch/lib";

impl Framework {
    /// Adds the findings about the framework. Its dependencies are searched as for a program without an rpath. A build
    /// may download ort's, so it may be missing if it `is_requested` by no option.
    pub fn examine(
        &self,
        host: &Host,
        installed: &[Candidate],
        is_requested: bool,
        report: &mut ToolchainReport,
    ) {
        let (platform, findings) = (&host.platform, &mut report.findings);
        let is_tch = self.name == "tch";
        let doubt = Some(format!("{} may compute on the CPU", self.name));
        if is_requested || is_tch {
            report.doubt = doubt.clone();
        }
        let configs: String = texts(&host.env, ".cargo/config.toml").collect();
        let is_configured = self.variables.iter().any(|name| configs.contains(name));
        // The Windows search path is unknown here, as are variables that only a build gets.
        if platform.os != Os::Linux || is_configured {
            return;
        }
        let is_pythons = is_tch && host.env.os_var("LIBTORCH_USE_PYTORCH").is_some();
        let (library, dirs) = (self.library, self.dirs(host, is_pythons));
        let torch = is_tch.then(|| torch::check(&dirs, is_pythons, &host.env));
        if let Some(finding) = torch.flatten() {
            return findings.push(finding);
        }
        let Some(path) = files::find_in(&dirs, library) else {
            let name = if is_pythons { PYTHONS } else { self.name };
            let fault = InspectionFault::NoProvider(name, library, &dirs);
            let fault = (is_requested || is_tch).then(|| fault.finding());
            return findings.extend(fault);
        };
        // A file for another system is not checked.
        let Ok(linkage) = linkage::read(&path) else {
            return;
        };
        // A made-up program beside the library that opens it.
        let program = path.with_file_name("program");
        let search_path = interpreter::search_path(&program, &linkage, false, host);
        let made_up = Linkage {
            needed: Vec::new(),
            soname: None,
            runpath: Some("$ORIGIN".into()),
            ..linkage
        };
        let mut graph = LoadGraph::resolve(&program, made_up.into(), search_path);
        let Some(provider) = provider::open(&mut graph, "", library, 0) else {
            return;
        };
        let mut objects = graph.objects.iter();
        let main = objects.position(|it| main_library::loaded_major(it).is_some());
        let cudnn = main.and_then(|main| main_library::cudnn(&mut graph, main, platform));
        if cudnn.is_some() {
            findings.retain(|one| one.id != FindingId::CudnnNotFound);
        }
        let candidates = || installed.to_vec();
        let faults = provider.findings(cudnn.as_ref(), &candidates, host.sysroot());
        let machine = report.machine.as_ref();
        let gpus = machine.map_or(&[][..], |machine| &machine.gpus);
        // The first is the made-up program.
        let objects = graph.objects.get(1..).unwrap_or_default();
        let (_, doubts) = gpu_code::check(objects, Some(&provider.path), platform.os, gpus);
        report.doubt = match faults.is_empty() {
            true => doubts.into_iter().next(),
            false => doubt,
        };
        report.findings.extend(faults);
    }

    /// Returns the directories in which the crate finds the framework: those in its variable, or else those of its own
    /// download, the Python environment and the loader.
    fn dirs(&self, host: &Host, is_pythons: bool) -> Vec<PathBuf> {
        let env = &host.env;
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
            _ => list(env.directory().join(TORCH_DOWNLOADS)),
        };
        for prefix in environments(host, is_pythons) {
            for packages in ["site", "dist"] {
                let pattern = format!("lib/python#/{packages}-packages/{}", self.package);
                dirs.extend(host.sysroot().expand(&prefix, &pattern));
            }
            // conda's packages for C++.
            dirs.push(prefix.join("lib"));
        }
        let loaded = Search::new(None, host).find(&[self.library.to_string()], host);
        dirs.extend(loaded.and_then(|(_, file)| Some(file.parent()?.to_path_buf())));
        dirs.retain(|dir| host.is_inside(dir));
        dirs
    }
}

/// Returns the active environments, and before them that of the Python on PATH if the build runs Python.
pub fn environments(host: &Host, runs_python: bool) -> Vec<PathBuf> {
    let active = [Variable::VirtualEnv, Variable::CondaPrefix].map(|it| host.env.path(it));
    let name = ["python3", "python"][usize::from(active[0].is_some())];
    let path = host.env.os_var("PATH").filter(|_| runs_python);
    let python = path.and_then(|path| programs::on_path(name, path));
    let python = python.and_then(|python| Some(python.parent()?.parent()?.to_path_buf()));
    let all = [python].into_iter().chain(active).flatten();
    files::dedup(all.filter(|dir| host.is_inside(dir)))
}

fn list(pattern: PathBuf) -> Vec<PathBuf> {
    files::glob(&pattern.to_string_lossy()).unwrap_or_default()
}

/// Returns the directories of the ONNX Runtimes that the ort-sys in `Cargo.lock` downloads. Their names are hashes in a
/// table of its sources.
fn downloads(host: &Host) -> Vec<PathBuf> {
    let env = &host.env;
    let lock = texts(env, "Cargo.lock").next().unwrap_or_default();
    let registries = registries(env).into_iter();
    let mut tables = String::new();
    for sources in registries.flat_map(|dir| list(dir.join("ort-sys-*"))) {
        let version = file_name(&sources).trim_start_matches("ort-sys-");
        if lock.contains(&format!("name = \"ort-sys\"\nversion = \"{version}\"")) {
            for table in ["dist.txt", "build/download/dist.tsv"] {
                tables += &files::read(&sources.join(table)).unwrap_or_default();
            }
        }
    }
    let mut caches = ["ORT_CACHE_DIR", "XDG_CACHE_HOME"].iter();
    let home = env.path(Variable::Home).unwrap_or_default();
    let cache = caches.find_map(|name| env.os_var(name));
    let cache = cache.map_or_else(|| home.join(".cache/ort.pyke.io"), PathBuf::from);
    let hashes = cache.join("dfbin").join(&host.platform.triple).join("*");
    let is_locked = |dir: &PathBuf| tables.contains(file_name(dir));
    let found = list(hashes).into_iter().filter(is_locked);
    let both = |dir: PathBuf| [dir.join("onnxruntime/lib"), dir];
    found.flat_map(both).collect()
}
