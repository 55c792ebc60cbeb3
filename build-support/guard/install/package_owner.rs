//! The package that put a cuDNN where it lies, by the records of its installer.

use crate::runtime::facts::version::Version;
use crate::runtime::install::package_record::{MOST_ENTRIES, read};
use std::path::{Path, PathBuf};

/// Where dpkg lists the files of each package.
pub const LISTS: &str = "var/lib/dpkg/info";

/// Who installs packages of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installer {
    /// conda, mamba and the like.
    Conda,
    /// pip, uv and the like.
    Pip,
    /// apt.
    Apt,
}

/// The package that a cuDNN came in, by the record of its installer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Who installed it.
    pub installer: Installer,
    /// `libcudnn`, `nvidia-cudnn-cu12`, `libcudnn9-cuda-12`.
    pub name: String,
    /// As the installer writes it: `9.10.1.4`, `8.9.2.26-1+cuda12.2`.
    pub version: String,
}

impl Owner {
    /// The one wheel of cuDNN that is recorded beside this directory, which is its own:
    /// `nvidia_cudnn_cu13-9.14.0.64.dist-info` beside `nvidia/cudnn`. Two have overwritten each other, and none is named.
    pub fn of_wheel(root: &Path) -> Option<Self> {
        let wheel = only(wheels(root))?;
        let (name, version) = wheel.file_stem()?.to_str()?.split_once('-')?;
        Some(Self {
            installer: Installer::Pip,
            name: name.replace('_', "-"),
            version: version.to_string(),
        })
    }

    /// The package of one of these names that is recorded in this environment of conda: `cudnn-9.3.0.75-h1.json`.
    pub fn of_conda(environment: &Path, names: &[&str]) -> Option<Self> {
        for name in names {
            let start = format!("{name}-");
            let records = stems(&environment.join("conda-meta"), &start, ".json");
            if let Some(record) = only(records) {
                let (_, version) = record.rsplit_once('-')?.0.rsplit_once('-')?;
                return Some(Self {
                    installer: Installer::Conda,
                    name: (*name).to_string(),
                    version: version.to_string(),
                });
            }
        }
        None
    }
}

/// The records of the wheels of cuDNN beside this directory.
pub fn wheels(root: &Path) -> Vec<PathBuf> {
    let start = if root.ends_with("nvidia/cudnn") {
        "nvidia_cudnn_cu"
    } else if root.ends_with("nvidia/cudnn_jit") {
        "nvidia_cudnn_jit_cu"
    } else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if let Some(site) = root.ancestors().nth(2) {
        for stem in stems(site, start, ".dist-info") {
            found.push(site.join(format!("{stem}.dist-info")));
        }
    }
    found
}

/// The packages of cuDNN in dpkg's lists of files whose list is such a one.
pub fn debian_packages(lists: &Path, is_it: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut packages = stems(lists, "libcudnn", ".list");
    packages.retain(|name| {
        let list = read(&lists.join(format!("{name}.list")));
        list.is_some_and(|text| is_it(&text))
    });
    packages
}

/// The command that brings back the files of the one package that has put a cuDNN into this folder: a wheel, a package of
/// conda or of Debian.
pub fn reinstall_command(folder: &Path) -> Option<String> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let prefix = folder.parent()?;
    if let Some(wheel) = Owner::of_wheel(prefix) {
        return Some(format!(
            "pip install --force-reinstall --no-deps {}=={}",
            wheel.name, wheel.version
        ));
    }
    // From 9 on `cudnn` is a name, and `libcudnn` has the files.
    if let Some(package) = Owner::of_conda(prefix, &["libcudnn", "cudnn"]) {
        return Some(match prefix.to_str()?.contains("/.pixi/") {
            true => format!("pixi reinstall {}", package.name),
            false => format!(
                "conda install --force-reinstall -c conda-forge {}={}",
                package.name, package.version
            ),
        });
    }
    debian_command(&folder, &Path::new("/").join(LISTS))
}

/// The command by which the one wheel that has put a cuDNN for this CUDA into this folder becomes this release or a later
/// one of its major.
pub fn upgrade_command(folder: &Path, cuda: u32, release: Version) -> Option<String> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let wheel = Owner::of_wheel(folder.parent()?)?.name;
    if !wheel.ends_with(&format!("-cu{cuda}")) {
        return None;
    }
    let (from, next) = (release.short(), release.major + 1);
    Some(format!("pip install '{wheel}>={from},<{next}'"))
}

/// [`reinstall_command`] by dpkg's lists of files, which are in the folder `lists`.
pub fn debian_command(folder: &Path, lists: &Path) -> Option<String> {
    let library = format!("{}/libcudnn.so.", folder.to_str()?);
    let package = only(debian_packages(lists, &|list| list.contains(&library)))?;
    Some(format!("sudo apt install --reinstall {package}"))
}

/// The names in a folder that begin so, go on with a number and end so, without that end. They go into a command: one
/// with other letters than packages have is left out.
fn stems(folder: &Path, start: &str, end: &str) -> Vec<String> {
    let mut stems = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    for entry in entries.flatten().take(MOST_ENTRIES) {
        let name = entry.file_name();
        let stem = name.to_str().and_then(|name| name.strip_suffix(end));
        let (Some(stem), Some(release)) = (stem, stem.and_then(|stem| stem.strip_prefix(start)))
        else {
            continue;
        };
        let is_known = |one: char| one.is_ascii_alphanumeric() || "-_.+:".contains(one);
        if release.starts_with(|one: char| one.is_ascii_digit()) && stem.chars().all(is_known) {
            stems.push(stem.to_string());
        }
    }
    stems
}

fn only<T>(mut found: Vec<T>) -> Option<T> {
    let last = found.pop();
    last.filter(|_| found.is_empty())
}
