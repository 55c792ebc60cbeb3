//! Checks the chosen libraries against each other, and against what a loader would find before them.

use crate::config::{Config, Link};
use crate::cudnn::{consistency, unresolved_symbols};
use crate::loader::dll_search::DllSearchPath;
use crate::loader::{dll_dependencies, path_shadowing, shadowing};
use crate::model::candidate::{Candidate, Cudnn, Toolkit};
use crate::model::environment::Variable;
#[cfg(feature = "cli")]
use crate::model::owner::Installer;
use crate::model::platform::{Os, Platform};
#[cfg(feature = "cli")]
use crate::runtime::binary::elf::Elf;
#[cfg(feature = "cli")]
use crate::runtime::facts::finding::quoted;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
#[cfg(feature = "cli")]
use crate::runtime::loader::search_path::SearchPath;
#[cfg(feature = "cli")]
use crate::runtime::parts::dlopen_dependencies;
#[cfg(feature = "cli")]
use crate::search::install_layout::PACKAGES;
use crate::system::{Host, files};
use crate::toolkit::closure::unmet_dependency;
use crate::toolkit::find_library::shared_file;
use crate::toolkit::{dependencies, nvcc};
use std::path::{Path, PathBuf};

/// What is wrong with a cuDNN that the program opens when it runs. `toolkit` is the one beside it, `built_with` the same
/// if the program needs one.
pub fn cudnn_findings(
    cudnn: &Cudnn,
    toolkit: Option<&Toolkit>,
    built_with: Option<&Toolkit>,
    config: &Config,
    host: &Host,
) -> Vec<Finding> {
    let dll_path = DllSearchPath::from_host(host);
    let unresolved = unresolved_symbols(cudnn, host.platform.os);
    let elsewhere = match &dll_path {
        Some(path) => path.elsewhere(cudnn),
        None => on_library_path(cudnn, host),
    };
    let mut findings = consistency::findings(cudnn, &unresolved, &elsewhere);
    // Where the program runs on this machine, what it will end with is known now.
    if host.is_target() && host.root.is_none() {
        stop_at_missing_parts(&mut findings);
    }
    if let Some(path) = &dll_path {
        findings.extend(on_windows(cudnn, toolkit, path, &host.platform));
    }
    let rivals = shadowing::along_library_path(cudnn, host);
    findings.extend(path_shadowing::library_path(cudnn, &rivals));
    if let Some(toolkit) = built_with {
        let first = shadowing::nvrtc(toolkit, cudnn, host);
        findings.extend(first.and_then(|first| path_shadowing::nvrtc(cudnn, toolkit, &first)));
    }
    let by_rpath = config.link == Link::Dynamic && config.rpath;
    if let (Some(dir), true) = (&cudnn.link_dir, by_rpath) {
        let cxx = shadowing::conda_cxx(cudnn, host);
        findings.extend(cxx.map(|cxx| path_shadowing::conda_rpath(dir, &cxx)));
    }
    findings
}

/// A program that runs with these findings ends at its first convolution where a part is missing.
pub fn stop_at_missing_parts(findings: &mut [Finding]) {
    let missing = findings.iter_mut();
    let missing = missing.filter(|one| one.id == FindingId::PartsMissing);
    missing.for_each(|one| one.severity = Severity::Error);
}

/// Libraries of CUDA that this cuDNN opens by name when it computes, and that lie neither beside it, nor in the toolkit, nor
/// where this machine's loader looks.
#[cfg(feature = "cli")]
pub fn not_opened(cudnn: &Cudnn, toolkit: Option<&Toolkit>) -> Option<Finding> {
    let cuda = cudnn.cuda_major?;
    let search_path = SearchPath::of_program();
    let mut known_dirs = toolkit.map_or_else(Vec::new, |one| one.link_dirs.clone());
    known_dirs.extend(cudnn.link_dir.clone());
    let mut lacking: Vec<(String, &str)> = Vec::new();
    for part in &cudnn.parts {
        let names = dlopen_dependencies::opened_by(&part.name, cuda);
        let elf = (!names.is_empty())
            .then(|| Elf::open(&part.path).ok())
            .flatten();
        let mut dirs = elf.map_or_else(Vec::new, |elf| elf.folders(&part.path));
        dirs.extend(known_dirs.iter().cloned());
        let is_there = |name: &str| {
            let found = search_path.resolve(name, &[], false);
            found.is_some() || dirs.iter().any(|dir| files::is_file(&dir.join(name)))
        };
        for name in names {
            // One part takes the plain name where there is no other.
            let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            let known = lacking.iter().any(|(known, _)| *known == name);
            if !known && !is_there(&name) && !is_there(plain) {
                lacking.push((name, consistency::file_name(&part.path)));
            }
        }
    }
    // Other wheels may have them, in directories that this cuDNN does not name.
    let wheels = cudnn.root.parent().filter(|dir| dir.ends_with(PACKAGES));
    let wheels = wheels.map_or_else(Vec::new, |dir| files::list(dir).unwrap_or_default());
    let in_wheel = |(name, _): &(String, &str)| {
        let mut files = wheels.iter().map(|wheel| wheel.join("lib").join(name));
        files.find(|file| files::is_file(file))
    };
    let aside: Vec<PathBuf> = lacking.iter().filter_map(in_wheel).collect();
    let is_nowhere = lacking.len() > aside.len();
    if is_nowhere {
        lacking.retain(|one| in_wheel(one).is_none());
    }
    let names: Vec<&str> = lacking.iter().map(|(name, _)| &**name).collect();
    let all = match names.split_last()? {
        (last, []) => last.to_string(),
        (last, rest) => format!("{} and {last}", rest.join(", ")),
    };
    let headline = format!(
        "the cuDNN at `{}` opens {all} when it computes, and {}",
        cudnn.root.display(),
        match (is_nowhere, names.len()) {
            (false, _) => "the loader does not look where that lies",
            (true, 1) => "nothing here has it",
            (true, _) => "nothing here has them",
        }
    );
    let asked = lacking.iter().map(|(name, part)| format!("{part}: {name}"));
    let finding = Finding::warning(FindingId::CudnnNotLoadable, headline);
    let finding = finding.with_lines("asked by", asked);
    if !is_nowhere {
        let dirs = aside.iter().filter_map(|file| file.parent());
        let dirs = files::dedup(dirs.map(Path::to_path_buf));
        let dirs: Vec<_> = dirs.iter().map(|dir| dir.to_string_lossy()).collect();
        let dirs = quoted(&dirs.join(":"));
        let finding = finding.with_lines("there is", aside.iter().map(|file| file.display()));
        return Some(finding.help(format!(
            "run `export LD_LIBRARY_PATH={dirs}` before the program"
        )));
    }
    let installer = cudnn.owner.as_deref().map(|owner| owner.installer);
    let packages = installer.map_or_else(String::new, |it| packages(&names, cuda, it));
    Some(match installer {
        Some(Installer::Pip) => finding.help(format!(
            "install what belongs beside the wheel: `pip install {packages}`"
        )),
        Some(Installer::Conda) => finding.help(format!(
            "install what belongs beside it: `conda install -c conda-forge {packages} cuda-version={cuda}`"
        )),
        _ => finding
            .help("install the toolkit of that CUDA, or put their directory into LD_LIBRARY_PATH"),
    })
}

/// The packages of these libraries of CUDA, each once, as a shell takes them.
#[cfg(feature = "cli")]
fn packages(libraries: &[&str], cuda: u32, installer: Installer) -> String {
    let mut packages: Vec<String> = Vec::new();
    for package in libraries
        .iter()
        .filter_map(|name| package(name, cuda, installer))
    {
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages.join(" ")
}

/// The package of a library of CUDA.
#[cfg(feature = "cli")]
fn package(library: &str, cuda: u32, installer: Installer) -> Option<String> {
    let (_, wheel, conda) = [
        ("libcublas", "cublas", "libcublas"),
        ("libnvrtc", "cuda-nvrtc", "cuda-nvrtc"),
        ("libcudart", "cuda-runtime", "cuda-cudart"),
    ]
    .into_iter()
    .find(|(start, ..)| library.starts_with(start))?;
    Some(match (installer, cuda) {
        (Installer::Conda, _) => conda.to_string(),
        // From 13 on the wheels of CUDA have no number in their names.
        (_, 13..) => format!("'nvidia-{wheel}=={cuda}.*'"),
        _ => format!("nvidia-{wheel}-cu{cuda}"),
    })
}

/// Files of parts that do not lie beside the library, and that this system's loader finds in another place.
fn on_library_path(cudnn: &Cudnn, host: &Host) -> Vec<String> {
    let dirs = shadowing::library_path(host);
    let mut missing = consistency::missing_parts(cudnn);
    if missing.is_empty() {
        return missing;
    }
    // The system's own list has their paths, each before a zero.
    let root = host.root.as_deref().unwrap_or(Path::new("/"));
    let is_system = host.is_target() || host.root.is_some();
    let cache = is_system.then(|| files::read(&root.join("etc/ld.so.cache")).ok());
    let cache = cache.flatten().unwrap_or_default();
    missing.retain(|file| {
        dirs.iter().any(|dir| files::is_file(&dir.join(file)))
            || cache.contains(&format!("/{file}\0"))
    });
    missing
}

/// What Windows would load in place of, or beside, the DLLs of this cuDNN.
fn on_windows(
    cudnn: &Cudnn,
    toolkit: Option<&Toolkit>,
    path: &DllSearchPath,
    platform: &Platform,
) -> Vec<Finding> {
    let Some(main_library) = cudnn.library.as_deref().and_then(Path::file_name) else {
        return Vec::new();
    };
    let rivals = shadowing::along_dll_path(cudnn, path, platform);
    let hijack = path_shadowing::dll_path(cudnn, &rivals, path.system.as_deref());
    let mut findings: Vec<Finding> = hijack.into_iter().collect();
    if path.file(&main_library.to_string_lossy()).is_none() {
        findings.extend(path_shadowing::below_path(cudnn, &path.dirs));
    }
    let dll_dependencies = path.dependencies(cudnn, toolkit);
    findings.extend(dll_dependencies::findings(cudnn, &dll_dependencies));
    findings
}

/// What a library that is linked by name needs and does not find in the others.
pub fn unmet_needs(config: &Config, host: &Host, toolkit: &Toolkit) -> Option<Finding> {
    if config.link != Link::Dynamic || host.platform.os != Os::Linux {
        return None;
    }
    // A distribution may have put what they need into the system's directories.
    let system = ["/usr/lib", "/lib", "/usr/lib64", "/lib64"];
    let multiarch = host.platform.multiarch();
    let system = system
        .iter()
        .flat_map(|dir| [Path::new(dir).join(&multiarch), PathBuf::from(dir)]);
    let dirs = files::dedup(toolkit.link_dirs.iter().cloned().chain(system));
    let linked = config.libs.iter();
    let mut linked = linked.filter_map(|name| shared_file(toolkit, name, &host.platform));
    let unmet = linked.find_map(|library| unmet_dependency(&library, &dirs))?;
    Some(dependencies::finding(
        &unmet,
        toolkit.version,
        &toolkit.root,
    ))
}

/// That the nvcc of a toolkit is of another release than its headers.
pub fn compiler_skew(toolkit: &Toolkit, candidates: &[Candidate], host: &Host) -> Option<Finding> {
    let compiler = toolkit.nvcc.as_deref()?;
    let header = toolkit.include_dirs.iter().map(|dir| dir.join("cuda.h"));
    let header = header.into_iter().find(|header| files::is_file(header))?;
    let said = nvcc::version(compiler, &host.answers).ok()?;
    if toolkit.version?.short() == said.short() {
        return None;
    }
    let path = host.env.get(Variable::Path).unwrap_or_default();
    let on_path = std::env::split_paths(path);
    let on_path = on_path.map(|dir| dir.join(host.platform.program("nvcc")));
    let on_path = on_path.filter(|nvcc| nvcc.is_absolute() && files::is_file(nvcc));
    let others = candidates.iter().filter_map(Candidate::toolkit);
    let others = others.filter_map(|other| other.nvcc.clone());
    let mut others = files::dedup(others.chain(on_path));
    others.retain(|other| other != compiler);
    let version = toolkit.version?;
    Some(consistency::nvcc_header(
        compiler, said, &header, version, &others,
    ))
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_once() {
        let names = ["libcublas.so.12", "libnvrtc.so.12", "libcublasLt.so.12"];
        assert_eq!(
            packages(&names, 12, Installer::Pip),
            "nvidia-cublas-cu12 nvidia-cuda-nvrtc-cu12"
        );
        assert_eq!(
            packages(&names, 12, Installer::Conda),
            "libcublas cuda-nvrtc"
        );
    }
}
