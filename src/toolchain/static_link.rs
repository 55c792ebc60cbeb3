//! The archives for static linking, and the missing ones.

use crate::config::{Config, Link};
use crate::model::{Cudnn, Library, Os, Toolkit};
use crate::runtime::facts::{Finding, majors};
use crate::system::{Host, files};
use crate::toolkit::archives::{self, Archive};
use crate::toolkit::package_names::{is_of_wheels, package_suffix};
use std::path::{Path, PathBuf};

pub enum StaticLinkFault<'a> {
    /// cuDNN for Windows, which NVIDIA does not ship as a static library.
    CudnnOnWindows,
    /// Missing archives of cuDNN.
    Cudnn {
        cudnn: &'a Cudnn,
        /// The directory that should contain them.
        dir: &'a Path,
        /// The file names of the missing archives.
        missing: Vec<String>,
        /// The majors of cuDNN and CUDA if it is a package of the system.
        package: Option<(u32, u32)>,
    },
    Toolkit {
        toolkit: &'a Toolkit,
        /// The file names of the missing archives.
        missing: Vec<String>,
        /// The library that needs the first of them.
        needed_by: &'a str,
        source: Option<ArchiveSource>,
    },
}

/// A source of archives that are missing from a toolkit.
pub enum ArchiveSource {
    /// NVIDIA's installer or packages, for a toolkit from wheels.
    OtherToolkit,
    Conda(Vec<String>),
    /// NVIDIA's packages, by their Debian names.
    Packages(Vec<String>),
}

/// The archives in link order, and the missing ones.
#[derive(Debug, Default)]
pub struct Archives {
    /// The path of each, and how it is linked.
    pub found: Vec<(PathBuf, Library)>,
    /// The libraries of the system that they depend on.
    pub system: Vec<&'static str>,
    /// Findings about missing archives.
    pub findings: Vec<Finding>,
    /// Libraries that exist only as shared libraries, such as the driver.
    pub shared: Vec<String>,
}

pub fn find(
    config: &Config,
    host: &Host,
    toolkit: Option<&Toolkit>,
    cudnn: Option<&Cudnn>,
) -> Archives {
    let mut all = Archives::default();
    if config.link != Link::Static {
        return all;
    }
    let os = host.platform.os;
    if config.cudnn.is_some() && os == Os::Windows {
        let fault = StaticLinkFault::CudnnOnWindows;
        all.findings.push(fault.finding());
        return all;
    }
    let major = cudnn.and_then(|cudnn| Some(cudnn.version()?.major));
    if let Some((cudnn, major)) = cudnn.zip(major) {
        let cuda = toolkit.and_then(|toolkit| Some(toolkit.version?.major));
        all.add_cudnn(cudnn, major, cuda);
    }
    let Some(toolkit) = toolkit else {
        return all;
    };
    let (archives, shared) = archives::cuda(&config.libs, major, os);
    all.shared = shared;
    let lacking = all.add_each(archives, &toolkit.link_dirs, os, Library::Static);
    if let Some(first) = lacking.first() {
        let fault = StaticLinkFault::Toolkit {
            toolkit,
            missing: named(&lacking, os),
            needed_by: &first.by,
            source: source(toolkit, &lacking, os),
        };
        all.findings.push(fault.finding());
    }
    if os == Os::Linux {
        // cuDNN needs zlib.
        if major.is_some() {
            all.system.push("z");
        }
        all.system
            .extend_from_slice(&["stdc++", "rt", "dl", "pthread"]);
    }
    all
}

impl Archives {
    /// Adds the archives in these directories. Returns the required archives that are missing.
    fn add_each(
        &mut self,
        archives: Vec<Archive>,
        dirs: &[PathBuf],
        os: Os,
        library: fn(String) -> Library,
    ) -> Vec<Archive> {
        let mut lacking = Vec::new();
        for archive in archives {
            match in_dirs(dirs, &archive.names, os) {
                Some((path, name)) => self.found.push((path, library(name))),
                None if archive.needed => lacking.push(archive),
                None => {}
            }
        }
        lacking
    }

    fn add_cudnn(&mut self, cudnn: &Cudnn, major: u32, cuda: Option<u32>) {
        let Some(dir) = cudnn.files.archives.as_ref().or(cudnn.link_dir.as_ref()) else {
            return;
        };
        let dirs = std::slice::from_ref(dir);
        if let Some((path, name)) = in_dirs(dirs, &archives::cudnn_in_one(major), Os::Linux) {
            return self.found.push((path, Library::Whole(name)));
        }
        let lacking = self.add_each(archives::cudnn(major), dirs, Os::Linux, Library::Whole);
        if lacking.is_empty() {
            return;
        }
        let path = dir.to_string_lossy();
        let is_package = path.contains("-linux-gnu") || path.starts_with("/usr/lib64");
        let cuda = cudnn.cuda_major.or(cuda).unwrap_or(majors::USUAL_CUDA);
        let missing = named(&lacking, Os::Linux);
        let fault = StaticLinkFault::Cudnn {
            cudnn,
            dir,
            missing,
            package: is_package.then_some((major, cuda)),
        };
        self.findings.push(fault.finding());
    }
}

/// Returns the path of an archive with one of these names, and the name under which it exists.
fn in_dirs(dirs: &[PathBuf], names: &[String], os: Os) -> Option<(PathBuf, String)> {
    for name in names {
        // On Windows `cublas.lib` is the import library of a DLL.
        if os == Os::Windows && !name.ends_with("_static") {
            continue;
        }
        if let Some(path) = files::find_in(dirs, &Library::Static(name.clone()).file(os)) {
            return Some((path, name.clone()));
        }
    }
    None
}

fn named(archives: &[Archive], os: Os) -> Vec<String> {
    let mut files = Vec::new();
    for archive in archives {
        let name = archive.names.first().cloned();
        files.extend(name.map(|name| Library::Static(name).file(os)));
    }
    files
}

/// Returns the source of these archives, or `None` if NVIDIA has no package, as for most on Windows.
fn source(toolkit: &Toolkit, lacking: &[Archive], os: Os) -> Option<ArchiveSource> {
    let root = &toolkit.root;
    if os == Os::Windows {
        return None;
    }
    if is_of_wheels(root) {
        return Some(ArchiveSource::OtherToolkit);
    }
    let major = toolkit.version.map(|version| version.major);
    let is_conda = files::is_dir(&root.join("conda-meta"));
    let release = package_suffix(toolkit.version);
    let mut names: Vec<String> = Vec::new();
    for archive in lacking {
        let name = archive.names.first();
        let Some((package, conda)) = name.and_then(|name| archives::package(name, major)) else {
            continue;
        };
        let name = if is_conda { conda } else { package + &release };
        files::push_new(&mut names, name);
    }
    match is_conda {
        _ if names.is_empty() => None,
        true => Some(ArchiveSource::Conda(names)),
        false => Some(ArchiveSource::Packages(names)),
    }
}
