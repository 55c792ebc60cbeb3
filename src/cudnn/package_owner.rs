//! The package that contains a cuDNN. Its record changes when another version is installed, even if the new files have
//! older dates.

use crate::model::{Cudnn, Installer, Owner};
use crate::runtime::install::package_owner::{self, LISTS};
#[cfg(feature = "cli")]
use crate::runtime::install::package_record;
use crate::system::files;
use crate::system::sysroot::Sysroot;
use std::path::{Path, PathBuf};

/// Returns the records of the packages that contain the cuDNN in this directory.
pub fn records(root: &Path, library: Option<&Path>) -> Vec<PathBuf> {
    let mut found = records_of(package_owner::wheels(root), root, "", "cudnn");
    if library.is_some_and(|library| library.starts_with("/usr/lib")) {
        let lists = Path::new("/").join(LISTS);
        found.extend(matching(&lists, "libcudnn", "", ".list"));
    }
    files::keep(&mut found, &files::is_file);
    found
}

/// Returns the package that contains a cuDNN, unless it is a wheel. Returns `None` if two packages of one installer
/// overwrote each other's files.
pub fn find(cudnn: &Cudnn, sysroot: Sysroot) -> Option<Owner> {
    // Users install `cudnn`; its dependency `libcudnn` contains the libraries.
    let conda = || Owner::of_conda(environment(&cudnn.root), &["cudnn", "libcudnn"]);
    conda().or_else(|| debian(cudnn.library.as_deref()?, sysroot))
}

/// Returns the Debian package that contains this file, with its version.
pub fn debian(file: &Path, sysroot: Sysroot) -> Option<Owner> {
    let root = sysroot.root.unwrap_or(Path::new("/"));
    let file = sysroot.canonical(file);
    let line = format!("/{}", file.strip_prefix(root).ok()?.to_str()?);
    // The list of all packages is long, and packages install cuDNN nowhere else.
    if !line.starts_with("/usr/") {
        return None;
    }
    let contains_file = |list: &str| list.lines().any(|file| file == line);
    let packages = package_owner::debian_packages(&root.join(LISTS), &contains_file);
    let name = packages.first()?.split(':').next()?;
    let status = files::read(&root.join("var/lib/dpkg/status")).ok()?;
    let is_package = |paragraph: &&str| {
        let mut lines = paragraph.lines();
        lines.any(|line| line.strip_prefix("Package: ") == Some(name))
    };
    let mut lines = status.split("\n\n").find(is_package)?.lines();
    let version = lines.find_map(|line| line.strip_prefix("Version: "))?;
    Some(Owner {
        installer: Installer::Apt,
        name: name.to_string(),
        version: version.to_string(),
    })
}

/// Returns the directory above the directory `nvidia` of NVIDIA's wheels, for that directory or one below it.
fn site_packages(dir: &Path) -> Option<&Path> {
    let mut above = dir.ancestors();
    above.find(|dir| dir.ends_with("nvidia"))?.parent()
}

/// Returns the command that reinstalls the wheels of this toolkit.
pub fn reinstall_toolkit(root: &Path) -> Option<String> {
    let site = site_packages(root)?;
    let pip = Installer::of_environment(site).pip();
    let mut command = format!("{pip} install --force-reinstall --no-deps");
    let wheels = matching(site, "nvidia_", "-", ".dist-info");
    let is_known = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    let mut is_empty = true;
    for wheel in &wheels {
        let stem = wheel.file_stem().and_then(|stem| stem.to_str());
        if let Some((name, version)) = stem.and_then(|stem| stem.split_once('-')) {
            if !name.starts_with("nvidia_cudnn") && stem?.chars().all(is_known) {
                command += &format!(" {}=={version}", name.replace('_', "-"));
                is_empty = false;
            }
        }
    }
    (!is_empty).then_some(command)
}

/// Returns NVIDIA's wheel that contains this file, from the only record that lists the file with its size.
#[cfg(feature = "cli")]
pub fn wheel(file: &Path) -> Option<Owner> {
    let (dir, name) = (file.parent()?, file.file_name()?.to_str()?);
    let site = site_packages(dir)?;
    let below = dir.strip_prefix(site).ok()?.to_str()?;
    let mut records = matching(site, "nvidia_", "", ".dist-info");
    records.retain(|record| {
        let text = files::read(&record.join("RECORD")).unwrap_or_default();
        let listed = package_record::parse(&text, below);
        listed.contains(&(name.to_string(), files::size(file)))
    });
    let record = package_owner::only(records)?;
    let (name, version) = record.file_stem()?.to_str()?.split_once('-')?;
    // The name becomes part of a command.
    let mut letters = name.chars();
    let is_safe = letters.all(|one| one.is_ascii_alphanumeric() || one == '_');
    is_safe.then(|| Owner {
        installer: Installer::of_environment(site),
        name: name.replace('_', "-"),
        version: version.to_string(),
    })
}

/// Returns the records of the packages that contain the toolkit in this directory of the system in `top`.
pub fn toolkit_records(root: &Path, top: &Path) -> Vec<PathBuf> {
    let mut wheels = Vec::new();
    // cicc is in a wheel of its own.
    if let Some(site) = site_packages(root) {
        for start in ["nvidia_cuda_", "nvidia_nvvm-"] {
            wheels.extend(matching(site, start, "", ".dist-info"));
        }
    }
    let mut found = records_of(wheels, root, "cuda-", "");
    if root.starts_with("/usr") {
        for start in ["cuda-", "libnvvm-", "nvidia-cuda-"] {
            found.extend(matching(&top.join(LISTS), start, "", ".list"));
        }
    }
    files::keep(&mut found, &files::is_file);
    found
}

/// Returns the files that record the targets of the links in `/etc/alternatives`. If such a link is switched to another
/// version, neither its name nor its targets change.
pub fn alternatives() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for dir in ["/var/lib/dpkg/alternatives", "/var/lib/alternatives"] {
        for name in ["cuda", "nvidia-cuda", "libcudnn"] {
            found.extend(matching(Path::new(dir), name, "", ""));
        }
    }
    files::keep(&mut found, &files::is_file);
    found
}

/// Returns the records of these wheels, and of the conda packages in the environment of `root` whose names begin with
/// `start` and contain `inside`.
fn records_of(mut wheels: Vec<PathBuf>, root: &Path, start: &str, inside: &str) -> Vec<PathBuf> {
    for wheel in &mut wheels {
        wheel.push("RECORD");
    }
    let conda = environment(root).join("conda-meta");
    wheels.extend(matching(&conda, start, inside, ".json"));
    wheels
}

/// Returns the conda environment of this directory. On Windows, its libraries are one directory further down.
fn environment(root: &Path) -> &Path {
    match root.parent() {
        Some(above) if root.ends_with("Library") => above,
        _ => root,
    }
}

/// Returns the CUDA major in the name of NVIDIA's archive: `cudnn-linux-x86_64-9.14.0.64_cuda13-archive`.
pub fn archive_cuda_major(root: &Path) -> Option<u32> {
    let name = root.file_name()?.to_str()?.strip_suffix("-archive")?;
    let (_, major) = name.rsplit_once("_cuda")?;
    major.parse().ok()
}

fn matching(dir: &Path, start: &str, inside: &str, end: &str) -> Vec<PathBuf> {
    let is_match =
        |name: &str| name.starts_with(start) && name.contains(inside) && name.ends_with(end);
    files::list_named(dir, &is_match).unwrap_or_default()
}
