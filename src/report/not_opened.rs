//! Missing CUDA libraries that cuDNN opens by name.

use crate::cudnn::consistency;
use crate::model::{Cudnn, Installer, Toolkit};
use crate::runtime::binary::elf::Elf;
use crate::runtime::facts::Finding;
use crate::runtime::install::dlopen_dependencies::{self, SuspectLibrary};
use crate::runtime::install::missing_dlopen::MissingDlopen;
use crate::runtime::loader::search_path::SearchPath;
use crate::search::install_layout::PACKAGES;
use crate::system::files;
use crate::toolkit::package_names::package;
use std::path::PathBuf;

/// Returns the findings about CUDA libraries that this cuDNN opens by name when it computes, if they are neither beside
/// it, nor in the toolkit, nor found by this machine's loader.
pub fn findings(cudnn: &Cudnn, toolkit: Option<&Toolkit>) -> Option<Vec<Finding>> {
    let cuda = cudnn.cuda_major?;
    let mut findings = Vec::new();
    let search_path = SearchPath::of_program();
    let mut known_dirs = toolkit.map_or_else(Vec::new, |one| one.link_dirs.clone());
    known_dirs.extend(cudnn.link_dir.clone());
    let mut missing: Vec<(String, &str)> = Vec::new();
    for part in cudnn.installed.files() {
        let opened = dlopen_dependencies::opened_by(&part.name, &part.path, cuda, false);
        let elf = Elf::open(&part.path).ok();
        let own = elf.map(|elf| search_path.of_library(&elf, &part.path));
        let search_path = own.as_ref().unwrap_or(&search_path);
        let exists = |name: &String| {
            let found = search_path.program_file(name);
            found.is_some() || known_dirs.iter().any(|dir| files::is_file(&dir.join(name)))
        };
        for names in opened {
            let is_known = |name: &&String| missing.iter().any(|(known, _)| known == *name);
            let name = names.first().filter(|name| !is_known(name));
            let Some(name) = name.filter(|_| !names.iter().any(exists)) else {
                continue;
            };
            match SuspectLibrary::missing(&part.path, name, cuda, search_path) {
                Some(SuspectLibrary::Missing(MissingDlopen { link: None, .. }, _)) => {
                    missing.push((name.clone(), consistency::file_name(&part.path)));
                }
                fault => findings.extend(fault.map(|fault| fault.finding())),
            }
        }
    }
    // Other wheels may contain them, in directories that this cuDNN does not search.
    let wheels = cudnn.root.parent().filter(|dir| dir.ends_with(PACKAGES));
    let wheels = wheels.map_or_else(Vec::new, |dir| files::list(dir).unwrap_or_default());
    let in_wheel = |(name, _): &(String, &str)| {
        let mut files = wheels.iter().map(|wheel| wheel.join("lib").join(name));
        files.find(|file| files::is_file(file))
    };
    let aside: Vec<PathBuf> = missing.iter().filter_map(in_wheel).collect();
    let is_nowhere = missing.len() > aside.len();
    if is_nowhere {
        missing.retain(|one| in_wheel(one).is_none());
    }
    let installer = cudnn.owner.as_deref().map(|owner| owner.installer);
    let names: Vec<&str> = missing.iter().map(|(name, _)| &**name).collect();
    let packages = installer.map_or_else(String::new, |it| packages(&names, cuda, it));
    if !missing.is_empty() {
        let aside = if is_nowhere { &[] } else { &aside[..] };
        findings.push(cudnn.not_opened_finding(cuda, &missing, aside, &packages));
    }
    Some(findings)
}

/// Returns the packages of these libraries, each once, as arguments for a shell.
fn packages(libraries: &[&str], cuda: u32, installer: Installer) -> String {
    let mut packages: Vec<String> = Vec::new();
    for library in libraries {
        let short = library
            .strip_prefix("lib")
            .and_then(|one| one.split('.').next());
        let Some((package, wheel)) = short.and_then(package) else {
            continue;
        };
        let package = match (installer, cuda) {
            (Installer::Conda, _) => package.to_string(),
            // From CUDA 13 on, the names of its wheels contain no number.
            (_, 13..) => format!("'nvidia-{wheel}=={cuda}.*'"),
            _ => format!("nvidia-{wheel}-cu{cuda}"),
        };
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages.join(" ")
}

#[cfg(test)]
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
