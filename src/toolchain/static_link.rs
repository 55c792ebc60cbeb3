//! The archives that a statically linked program takes in, and which of them are missing.

use crate::config::{Config, Link};
use crate::model::candidate::{Cudnn, Toolkit};
use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::majors;
use crate::system::directive::{Directive, Library};
use crate::system::{Host, files};
use crate::toolkit::archives;
use crate::toolkit::archives::Archive;
use crate::toolkit::package_names::{by_distribution, is_of_wheels, package_suffix};
use std::path::{Path, PathBuf};

const DYNAMIC: &str = "or leave `.link(Link::Static)` out of build.rs, and link dynamically";

/// What is linked, in its order, and what is missing.
#[derive(Debug, Default)]
pub struct Archives {
    /// Lines for cargo.
    pub directives: Vec<Directive>,
    /// The files.
    pub files: Vec<PathBuf>,
    /// What was asked for and is missing.
    pub lacking: Vec<Finding>,
    /// What exists as a shared library only: the driver.
    pub shared: Vec<String>,
}

/// Looks for the archives of this configuration.
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
        let headline = "NVIDIA ships no static cuDNN for Windows";
        all.lacking.push(
            Finding::error(FindingId::ConfigInvalid, headline)
                .help(DYNAMIC.trim_start_matches("or "))
                .help("or write `.link(Link::Runtime)`, and open cuDNN in the program"),
        );
        return all;
    }
    let major = cudnn.and_then(|cudnn| Some(cudnn.version()?.major));
    if let Some((cudnn, major)) = cudnn.zip(major) {
        let cuda = toolkit.and_then(|toolkit| Some(toolkit.version?.major));
        all.take_cudnn(cudnn, major, cuda);
    }
    let Some(toolkit) = toolkit else {
        return all;
    };
    let (wanted, shared) = archives::cuda(&config.libs, major, os);
    all.shared = shared;
    let lacking = all.take_each(wanted, &toolkit.link_dirs, os, Library::Static);
    all.lacking.extend(absent(toolkit, &lacking, os));
    if os == Os::Linux {
        // NVIDIA's archives need these of the system; zlib is for cuDNN.
        let zlib = major.is_some().then_some("z");
        for system in zlib.into_iter().chain(["stdc++", "rt", "dl", "pthread"]) {
            let library = Library::Dynamic(system.into());
            all.directives.push(Directive::LinkLib(library));
        }
    }
    all
}

impl Archives {
    fn take(&mut self, path: PathBuf, library: Library) {
        if let Some(dir) = path.parent() {
            let search = Directive::LinkSearch(dir.to_path_buf());
            if !self.directives.contains(&search) {
                self.directives.push(search);
            }
        }
        self.directives.push(Directive::LinkLib(library));
        self.files.push(path);
    }

    /// Takes those that are in these directories. The rest is lacking, if it is needed.
    fn take_each(
        &mut self,
        wanted: Vec<Archive>,
        dirs: &[PathBuf],
        os: Os,
        library: fn(String) -> Library,
    ) -> Vec<Archive> {
        let mut lacking = Vec::new();
        for archive in wanted {
            match in_dirs(dirs, &archive, os) {
                Some((path, name)) => self.take(path, library(name)),
                None if archive.needed => lacking.push(archive),
                None => {}
            }
        }
        lacking
    }

    fn take_cudnn(&mut self, cudnn: &Cudnn, major: u32, cuda: Option<u32>) {
        let Some(dir) = cudnn.files.archives.as_ref().or(cudnn.link_dir.as_ref()) else {
            return;
        };
        let dirs = std::slice::from_ref(dir);
        let in_one = Archive {
            names: archives::cudnn_in_one(major),
            needed: false,
            by: String::new(),
        };
        if let Some((path, name)) = in_dirs(dirs, &in_one, Os::Linux) {
            return self.take(path, Library::Whole(name));
        }
        let lacking = self.take_each(archives::cudnn(major), dirs, Os::Linux, Library::Whole);
        let finding = lacking_parts(cudnn, dir, &lacking, (major, cuda));
        self.lacking.extend(finding);
    }
}

fn file_name(name: &str, os: Os) -> String {
    match os {
        Os::Windows => format!("{name}.lib"),
        _ => format!("lib{name}.a"),
    }
}

/// The archive's file, and the name under which it is there.
fn in_dirs(dirs: &[PathBuf], archive: &Archive, os: Os) -> Option<(PathBuf, String)> {
    archive.names.iter().find_map(|name| {
        // On Windows `cublas.lib` is the import library of a DLL.
        if os == Os::Windows && !name.ends_with("_static") {
            return None;
        }
        let file = file_name(name, os);
        let mut paths = dirs.iter().map(|dir| dir.join(&file));
        Some((paths.find(|path| files::is_file(path))?, name.clone()))
    })
}

fn lacking_parts(
    cudnn: &Cudnn,
    dir: &Path,
    lacking: &[Archive],
    (major, cuda): (u32, Option<u32>),
) -> Option<Finding> {
    let names: Vec<String> = named(lacking, Os::Linux);
    let what = match &names[..] {
        [] => return None,
        [one] => format!("`{one}`"),
        more => format!("{} static parts", more.len()),
    };
    let version = cudnn.version().map(|one| format!(" {one}"));
    let version = version.unwrap_or_default();
    let headline = format!(
        "the cuDNN{version} at `{}` lacks {what}, which `.link(Link::Static)` takes in",
        cudnn.root.display()
    );
    let path = dir.to_string_lossy();
    let flavour = cudnn.cuda_major.or(cuda).unwrap_or(majors::USUAL_CUDA);
    let install = if path.contains("-linux-gnu") || path.starts_with("/usr/lib64") {
        match major {
            9.. => format!("install `libcudnn{major}-static-cuda-{flavour}`"),
            _ => format!("install `libcudnn{major}-dev`"),
        }
    } else if cudnn.root.ends_with("nvidia/cudnn") {
        "set CUDNN_PATH to an unpacked archive of NVIDIA's: its wheels hold no static cuDNN".into()
    } else {
        "set CUDNN_PATH to an unpacked archive of NVIDIA's, which has the static parts in `lib`"
            .into()
    };
    Some(
        Finding::error(FindingId::PartsMissing, headline)
            .with("lacking", names.join("\n"))
            .with("looked at", dir.display())
            .help(install)
            .help(DYNAMIC),
    )
}

fn absent(toolkit: &Toolkit, lacking: &[Archive], os: Os) -> Option<Finding> {
    let first = lacking.first()?;
    let names = named(lacking, os);
    let others = match names.len() - 1 {
        0 => String::new(),
        1 => " and one more archive".into(),
        others => format!(" and {others} more archives"),
    };
    let version = toolkit
        .version
        .map_or_else(|| "the CUDA".into(), |one| format!("CUDA {}", one.short()));
    let headline = format!(
        "{version} at `{}` has no `{}`{others}, which {} needs to be linked statically",
        toolkit.root.display(),
        names.first()?,
        first.by
    );
    let finding = Finding::error(FindingId::PartialToolkit, headline);
    let finding = match names.len() {
        1 => finding,
        _ => finding.with("lacking", names.join("\n")),
    };
    let dirs = toolkit.link_dirs.iter().map(|dir| dir.display());
    let finding = match toolkit.link_dirs.is_empty() {
        true => finding.with("looked at", "no directory of libraries"),
        false => finding.with_lines("looked at", dirs),
    };
    match install(toolkit, lacking, os) {
        Some(install) => Some(finding.help(install).help(DYNAMIC)),
        None => Some(finding.help(DYNAMIC.trim_start_matches("or "))),
    }
}

fn named(archives: &[Archive], os: Os) -> Vec<String> {
    let names = archives.iter().filter_map(|one| one.names.first());
    names.map(|name| file_name(name, os)).collect()
}

/// What to install; none where NVIDIA has no package, as for most on Windows.
fn install(toolkit: &Toolkit, lacking: &[Archive], os: Os) -> Option<String> {
    let root = &toolkit.root;
    if os == Os::Windows {
        return None;
    }
    if is_of_wheels(root) {
        return Some(
            "set CUDA_HOME to a toolkit of NVIDIA's installer or packages: its wheels hold no archive but cudart's"
                .into(),
        );
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
        let name = match is_conda {
            true => format!("`{conda}`"),
            false => format!("`{package}{release}`"),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let debian = names.join(" and ");
    let fedora = debian.replace("-dev-", "-devel-");
    match is_conda {
        _ if names.is_empty() => None,
        true => Some(format!("install {debian} from conda-forge")),
        false => Some(format!("install {}", by_distribution(&debian, &fedora))),
    }
}
