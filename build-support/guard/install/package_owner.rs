//! The package that contains an installed cuDNN, from the records of its installer.

use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::facts::Version;
use crate::runtime::install::package_record::{parse, read};
use std::path::{Path, PathBuf};

/// The directory in which dpkg lists the files of each package.
pub const LISTS: &str = "var/lib/dpkg/info";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installer {
    /// conda, mamba and the like.
    Conda,
    Pip,
    /// uv, whose environments do not contain pip.
    Uv,
    Apt,
}

impl Installer {
    /// Returns the installer of this Python environment, at most three directories above: uv writes its version into
    /// `pyvenv.cfg`.
    pub fn of_environment(dir: &Path) -> Self {
        for above in dir.ancestors().take(4) {
            if let Some(config) = read(&above.join("pyvenv.cfg")) {
                if config.lines().any(|line| line.starts_with("uv = ")) {
                    return Self::Uv;
                }
            }
        }
        Self::Pip
    }

    pub fn is_for_wheels(self) -> bool {
        matches!(self, Self::Pip | Self::Uv)
    }

    /// Returns the command of an installer of wheels.
    pub fn pip(self) -> &'static str {
        match self {
            Self::Uv => "uv pip",
            _ => "pip",
        }
    }

    /// Returns the command that removes wheels without a question.
    pub fn uninstall(self) -> &'static str {
        match self {
            Self::Uv => "uv pip uninstall",
            _ => "pip uninstall -y",
        }
    }
}

/// The package that contains a cuDNN, from the record of its installer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub installer: Installer,
    /// `libcudnn`, `nvidia-cudnn-cu12`, `libcudnn9-cuda-12`.
    pub name: String,
    /// Its version, as the installer writes it: `9.10.1.4`, `8.9.2.26-1+cuda12.2`.
    pub version: String,
}

impl Owner {
    /// Returns the wheel that contains this directory, from the only record beside it:
    /// `nvidia_cudnn_cu13-9.14.0.64.dist-info` beside `nvidia/cudnn`. `None` if two wheels have overwritten each other.
    pub fn of_wheel(root: &Path) -> Option<Self> {
        only(Self::of_wheels(root))
    }

    /// Returns the wheels that contain this directory. If several have overwritten each other's files, most of the
    /// files are from the first one.
    pub fn of_wheels(root: &Path) -> Vec<Self> {
        let (mut owners, mut most) = (Vec::new(), 0);
        let wheels = wheels(root);
        for wheel in &wheels {
            let stem = wheel.file_stem().and_then(|stem| stem.to_str());
            let Some((name, version)) = stem.and_then(|stem| stem.split_once('-')) else {
                continue;
            };
            let record = (wheels.len() > 1).then(|| read(&wheel.join("RECORD")));
            let record = record.flatten().unwrap_or_default();
            let mut intact = 0;
            for dir in ["lib", "bin"] {
                for (file, size) in parse(&record, &format!("nvidia/cudnn/{dir}")) {
                    let found = std::fs::metadata(root.join(dir).join(file));
                    intact += usize::from(found.is_ok_and(|found| found.len() == size));
                }
            }
            let mut owner = Self {
                installer: Installer::of_environment(wheel.parent().unwrap_or(root)),
                name: name.replace('_', "-"),
                version: version.to_string(),
            };
            if intact > most {
                most = intact;
                // `swap` of the list could panic, and a panic would put this file's path into the program.
                if let Some(first) = owners.first_mut() {
                    std::mem::swap(first, &mut owner);
                }
            }
            owners.push(owner);
        }
        owners
    }

    /// Returns the command that installs this wheel again, after all others that share its files are removed.
    pub fn reinstall_wheel(&self, all: &[Self]) -> String {
        let (pip, name, version) = (self.installer.pip(), &self.name, &self.version);
        if all.len() < 2 {
            return format!("{pip} install --force-reinstall --no-deps {name}=={version}");
        }
        let mut remove = vec![self.installer.uninstall()];
        for one in all {
            // An interrupted upgrade leaves two records of a wheel.
            if !remove.contains(&&*one.name) {
                remove.push(&one.name);
            }
        }
        let remove = remove.join(" ");
        format!("{remove} && {pip} install --no-deps {name}=={version}")
    }

    /// Returns the package of one of these names that this conda environment records: `cudnn-9.3.0.75-h1.json`.
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

/// Returns the records of the cuDNN wheels beside this directory.
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
    found.sort_unstable();
    found
}

/// Returns the cuDNN packages whose list of files, in dpkg's directory `lists`, satisfies `is_it`.
pub fn debian_packages(lists: &Path, is_it: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut packages = Vec::new();
    for name in stems(lists, "libcudnn", ".list") {
        let list = read(&lists.join(format!("{name}.list")));
        if list.is_some_and(|text| is_it(&text)) {
            packages.push(name);
        }
    }
    packages
}

/// Returns the command that reinstalls the package whose cuDNN is in this directory: a wheel, a conda package or a
/// Debian package. If several wheels have overwritten each other, one is kept. Other packages have to be unique.
pub fn reinstall_command(dir: &Path) -> Option<String> {
    let dir = std::fs::canonicalize(dir).ok()?;
    let prefix = dir.parent()?;
    let wheels = Owner::of_wheels(prefix);
    if let Some(kept) = wheels.first() {
        return Some(kept.reinstall_wheel(&wheels));
    }
    // From cuDNN 9 on, `cudnn` is a metapackage, and `libcudnn` contains the files.
    if let Some(package) = Owner::of_conda(prefix, &["libcudnn", "cudnn"]) {
        return Some(match prefix.to_str()?.contains("/.pixi/") {
            true => format!("pixi reinstall {}", package.name),
            false => format!(
                "conda install --force-reinstall -c conda-forge {}={}",
                package.name, package.version
            ),
        });
    }
    debian_command(&dir, &Path::new("/").join(LISTS))
}

/// Returns the help to keep only the wheel for this CUDA, if another one has overwritten its files in this directory.
pub fn keep_help(dir: &Path, cuda: u32) -> Option<String> {
    let wheels = Owner::of_wheels(std::fs::canonicalize(dir).ok()?.parent()?);
    let end = format!("-cu{cuda}");
    let kept = wheels.iter().find(|wheel| wheel.name.ends_with(&end))?;
    let command = kept.reinstall_wheel(&wheels);
    (wheels.len() > 1).then(|| format!("keep only the wheel for CUDA {cuda}: `{command}`"))
}

/// Returns the command that upgrades the wheel whose cuDNN for this CUDA is in this directory, to this version or later
/// within the major.
#[cfg(feature = "runtime")]
pub fn upgrade_command(dir: &Path, cuda: u32, version: Version) -> Option<String> {
    let dir = std::fs::canonicalize(dir).ok()?;
    let Owner {
        installer, name, ..
    } = Owner::of_wheel(dir.parent()?)?;
    if !name.ends_with(&format!("-cu{cuda}")) {
        return None;
    }
    let (pip, from, next) = (installer.pip(), version.short(), version.major + 1);
    Some(format!("{pip} install '{name}>={from},<{next}'"))
}

/// Like [`reinstall_command`], but for Debian packages only, whose lists of files are in the directory `lists`.
pub fn debian_command(dir: &Path, lists: &Path) -> Option<String> {
    let package = debian_package(dir, lists)?;
    Some(format!("sudo apt install --reinstall {package}"))
}

/// Returns the only Debian package whose cuDNN is in this directory.
pub fn debian_package(dir: &Path, lists: &Path) -> Option<String> {
    let library = format!("{}/libcudnn.so.", dir.to_str()?);
    only(debian_packages(lists, &|list| list.contains(&library)))
}

/// Returns the names in a directory that consist of this start, a number, and this end, without the end. They become
/// part of a command, so names with characters that no package has are left out.
fn stems(dir: &Path, start: &str, end: &str) -> Vec<String> {
    let mut stems = Vec::new();
    for entry in files_in(dir) {
        let name = entry.file_name().and_then(|name| name.to_str());
        let stem = name.and_then(|name| name.strip_suffix(end));
        let stem = stem.unwrap_or_default();
        let Some(version) = stem.strip_prefix(start) else {
            continue;
        };
        let is_known = |one: char| one.is_ascii_alphanumeric() || "-_.+:".contains(one);
        if version.starts_with(|one: char| one.is_ascii_digit()) && stem.chars().all(is_known) {
            stems.push(stem.to_string());
        }
    }
    stems
}

/// Returns the only element, if there is one.
pub fn only<T>(mut found: Vec<T>) -> Option<T> {
    if found.len() == 1 { found.pop() } else { None }
}
