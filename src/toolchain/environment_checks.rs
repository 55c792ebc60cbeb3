//! Checks of the chosen libraries against each other, and against the libraries that a loader would find first.

use crate::choice::CheckContext;
use crate::config::Link;
use crate::cudnn::{Asker, consistency};
use crate::loader::{DllSearchPath, PathFault, elsewhere, shadowing};
use crate::model::{Candidate, Cudnn, FoundVia, Kind, Names, Os, Toolkit, Variable};
use crate::runtime::facts::{Finding, Version};
use crate::system::{Host, files};
use crate::toolchain::Toolchain;
use crate::toolkit::{dependencies, nvcc, shared_file};
use std::path::{Path, PathBuf};

impl Toolchain {
    /// Returns the findings about loading cuDNN at run time. With `Link::Static` nothing is loaded.
    pub(super) fn run_time_findings(&self, context: &CheckContext) -> Vec<Finding> {
        let (config, host) = (&self.config, &self.host);
        let candidate = context.best(Kind::Cudnn);
        let found = candidate.and_then(|one| Some((one.cudnn()?, &one.via)));
        let Some((cudnn, via)) = found.filter(|_| self.needs.cudnn && config.link != Link::Static)
        else {
            return Vec::new();
        };
        let toolkit = context.best(Kind::Toolkit).and_then(Candidate::toolkit);
        let asker = Asker {
            // If the program runs on this machine, the loader's result is already known.
            runs_here: config.is_survey || host.is_target() && host.root.is_none(),
            variables: &separate_variables(cudnn, via, host).unwrap_or_default(),
        };
        let dll_path = DllSearchPath::from_host(host);
        let mut findings = consistency::findings(cudnn, &asker);
        let named = || shadowing::named_path(host);
        let path = dll_path
            .as_ref()
            .map_or_else(named, |dlls| dlls.path.clone());
        let rivals = shadowing::libraries_in(&path, cudnn, host);
        findings.extend(shadowing::replaced(cudnn, &rivals, host.platform.os));
        if let Some(dlls) = dll_path.filter(|_| cudnn.library.is_some()) {
            findings.extend(dlls.dependencies(cudnn, toolkit).findings(cudnn));
        }
        if let Some(toolkit) = toolkit.filter(|_| self.needs.toolkit) {
            findings.extend(shadowing::nvrtc(toolkit, cudnn, host));
        }
        let by_rpath = matches!(config.link, Link::Dynamic | Link::Lazy) && !config.no_rpath;
        if let (Some(dir), true) = (&cudnn.link_dir, by_rpath) {
            let cxx = shadowing::conda_cxx(cudnn, host);
            findings.extend(cxx.map(|cxx| {
                let (link_dir, cxx) = (&**dir, &*cxx);
                PathFault::CondaRpath { link_dir, cxx }.finding()
            }));
        }
        findings
    }

    /// Returns the finding if a library needs symbols that the others, or those in LD_LIBRARY_PATH, do not define.
    pub(super) fn unmet_needs(&self, toolkit: &Toolkit) -> Option<Finding> {
        let (config, host) = (&self.config, &self.host);
        let first = before_toolkit(shadowing::library_path(host), toolkit);
        // A program may open other libraries of the toolkit than those it is linked to.
        let opened = ["cusolver".into(), "cusparse".into(), "cublas".into()];
        let is_linked =
            matches!(config.link, Link::Dynamic | Link::Lazy) && !config.libs.is_empty();
        let names = if is_linked { &config.libs[..] } else { &opened };
        let is_static = config.link == Link::Static;
        if host.platform.os != Os::Linux || is_static || !is_linked && first.is_empty() {
            return None;
        }
        // A distribution may install the required libraries in the system's directories.
        let mut dirs = toolkit.link_dirs.clone();
        let system = elsewhere::system(host, host.platform.loader(), &host.platform.cpu);
        for place in system.directories() {
            files::push_new(&mut dirs, place.dir);
        }
        for name in names {
            let Some(library) = shared_file(toolkit, name, &host.platform) else {
                continue;
            };
            if let Some(unmet) = dependencies::unmet_dependency(&library, &[], &dirs) {
                return is_linked.then(|| unmet.finding(toolkit));
            }
            if first.is_empty() {
                continue;
            }
            let mixed = shadowing::mixed_libraries(&library, is_linked, &first, &dirs);
            if mixed.is_some() {
                return mixed;
            }
        }
        None
    }
}

/// Returns the variables of a cuDNN whose headers and libraries were set by different variables.
fn separate_variables(cudnn: &Cudnn, via: &FoundVia, host: &Host) -> Option<Vec<String>> {
    let FoundVia::Variables(named) = via else {
        return None;
    };
    let mut names = Vec::new();
    for one in named {
        names.push(one.name.clone());
    }
    if !cudnn.header.as_ref()?.starts_with(&cudnn.root) {
        for &variable in Variable::ALL {
            let names_headers = variable.names() == Some(Names::CudnnHeaders);
            if names_headers && host.env.get(variable).is_some() {
                names.push(host.env.spelling(variable));
            }
        }
    }
    (names.len() > 1).then_some(names)
}

/// Returns the directories of LD_LIBRARY_PATH with libraries that precede the toolkit's. Only these can replace any.
fn before_toolkit(library_path: Vec<PathBuf>, toolkit: &Toolkit) -> Vec<PathBuf> {
    let mut own = Vec::new();
    for dir in &toolkit.link_dirs {
        own.extend(files::canonical(dir, None).ok());
    }
    let is_cuda = |name: &str| name.starts_with("libcu") || name.starts_with("libnvJitLink");
    let mut before = Vec::new();
    for dir in library_path {
        if files::canonical(&dir, None).is_ok_and(|dir| own.contains(&dir)) {
            break;
        }
        if files::list_named(&dir, &is_cuda).is_ok_and(|found| !found.is_empty()) {
            before.push(dir);
        }
    }
    before
}

/// An nvcc and headers of different versions.
pub struct NvccHeaderSkew<'a> {
    pub nvcc: (&'a Path, Version),
    pub header: (&'a Path, Version),
    /// The other compilers of this machine.
    pub others: Vec<PathBuf>,
}

/// Returns the finding if the nvcc of a toolkit has another version than its headers.
pub fn compiler_skew(toolkit: &Toolkit, candidates: &[Candidate], host: &Host) -> Option<Finding> {
    let compiler = toolkit.nvcc.as_deref()?;
    let header = files::find_in(&toolkit.include_dirs, "cuda.h")?;
    let nvcc_version = nvcc::version(compiler, &host.answers).ok()?;
    if toolkit.version?.short() == nvcc_version.short() {
        return None;
    }
    let mut others = Vec::new();
    for toolkit in candidates.iter().filter_map(Candidate::toolkit) {
        if let Some(nvcc) = &toolkit.nvcc {
            files::push_new(&mut others, nvcc.clone());
        }
    }
    let path = host.env.get(Variable::Path).unwrap_or_default();
    for dir in std::env::split_paths(path) {
        let nvcc = dir.join(host.platform.program("nvcc"));
        if nvcc.is_absolute() && files::is_file(&nvcc) {
            files::push_new(&mut others, nvcc);
        }
    }
    files::keep(&mut others, &|other| other != compiler);
    let skew = NvccHeaderSkew {
        nvcc: (compiler, nvcc_version),
        header: (&header, toolkit.version?),
        others,
    };
    Some(skew.finding())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_of_another_version_is_reported_with_all_others() {
        let skew = NvccHeaderSkew {
            nvcc: (Path::new("/usr/bin/nvcc"), Version::new(10, 1, 0)),
            header: (
                Path::new("/usr/local/cuda/include/cuda.h"),
                Version::new(12, 5, 0),
            ),
            others: vec!["/usr/local/cuda/bin/nvcc".into()],
        };
        assert_eq!(
            skew.finding().to_string(),
            "nvcc 10.1 would compile with the headers of CUDA 12.5  [nvcc-header-skew]\n  \
         = help: set CUDA_HOME to a toolkit whose nvcc and cuda.h have the same version\n  \
         = help: install nvcc 12.5 or the headers of CUDA 10.1 in this toolkit\n  \
         nvcc        /usr/bin/nvcc\n  \
         header      /usr/local/cuda/include/cuda.h\n  \
         also found  /usr/local/cuda/bin/nvcc"
        );
    }

    /// If LD_LIBRARY_PATH cannot replace a library of the toolkit, the build opens none of them.
    #[test]
    fn directories_that_cannot_replace_a_library_are_left_out() {
        let top = std::env::temp_dir().join(format!("cudnn-guard-before-{}", std::process::id()));
        let dir = |name: &str, file: &str| {
            let dir = top.join(name);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join(file), "").unwrap();
            dir
        };
        let own = dir("cuda/lib64", "libcublas.so.12");
        let old = dir("old", "libcublasLt.so.12");
        let other = dir("other", "libfoo.so");
        let toolkit = Toolkit {
            link_dirs: vec![own.clone()],
            ..Toolkit::default()
        };
        let before = |path: &[&PathBuf]| {
            let path = path.iter().map(|dir| (*dir).clone()).collect();
            before_toolkit(path, &toolkit)
        };
        let nowhere = top.join("nowhere");
        assert_eq!(
            before(&[&other, &nowhere, &own]),
            [""; 0].map(PathBuf::from)
        );
        let detour = top.join("old/../cuda/lib64");
        assert_eq!(before(&[&detour, &old]), [""; 0].map(PathBuf::from));
        assert_eq!(before(&[&other, &old, &own]), std::slice::from_ref(&old));
        std::fs::remove_dir_all(&top).unwrap();
    }
}
