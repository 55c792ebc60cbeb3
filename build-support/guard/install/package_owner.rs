//! The package that contains an installed cuDNN, from the records of its installer.

use crate::runtime::facts::fetch_dir::FETCH_MARKER;
use crate::runtime::facts::{Version, quoted};
use crate::runtime::install::package_record::{is_plain, list_named, parse, read};
use crate::runtime::system;
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

    /// Returns the command that installs packages.
    pub fn install(self) -> &'static str {
        match self {
            Self::Conda => "conda install -c conda-forge",
            Self::Pip => "pip install",
            Self::Uv => "uv pip install",
            Self::Apt => "sudo apt install",
        }
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

/// The package that contains a library, from the record of its installer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub installer: Installer,
    /// `libcudnn`, `nvidia-cudnn-cu12`, `libcudnn9-cuda-12`.
    pub name: String,
    /// Its version, as the installer writes it: `9.10.1.4`, `8.9.2.26-1+cuda12.2`.
    pub version: String,
    /// The directory of `cudnn-guard fetch`, if that installed the wheel.
    pub fetched: Option<PathBuf>,
}

impl Owner {
    pub fn new(installer: Installer, name: &str, version: &str) -> Self {
        Self {
            installer,
            name: name.to_string(),
            version: version.to_string(),
            fetched: None,
        }
    }

    /// Returns the command that fetches the wheel with these options, if `cudnn-guard fetch` installed it.
    pub fn fetch_command(&self, options: &str) -> Option<String> {
        let home = quoted(self.fetched.as_ref()?.to_str()?);
        Some(format!("cudnn-guard fetch{options} --to {home}"))
    }

    /// Returns the command that installs the package: `cudnn-guard fetch` with these options if that installed it, or the
    /// installer with these arguments.
    pub fn command(&self, options: &str, arguments: &str) -> String {
        let install = || format!("{} {arguments}", self.installer.install());
        self.fetch_command(options).unwrap_or_else(install)
    }

    /// Returns the wheel with this record: `nvidia_cudnn_cu13-9.14.0.64.dist-info`.
    pub fn of_wheel(record: &Path) -> Option<Self> {
        let (name, version) = record.file_stem()?.to_str()?.split_once('-')?;
        let site = record.parent()?;
        let installer = Installer::of_environment(site);
        let mut owner = Self::new(installer, &name.replace('_', "-"), version);
        if system::is_file(&site.join(FETCH_MARKER)) {
            owner.fetched = Some(site.to_path_buf());
        }
        Some(owner)
    }

    /// Returns the wheels that contain this directory, from the records beside it:
    /// `nvidia_cudnn_cu13-9.14.0.64.dist-info` beside `nvidia/cudnn`. If several have overwritten each other's files,
    /// most of the files are from the first one.
    pub fn of_wheels(root: &Path) -> Vec<Self> {
        let (mut owners, mut most) = (Vec::new(), 0);
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let is_cudnn =
            |dir: &&Path| dir.ends_with("nvidia") && name.starts_with("cudnn") && is_plain(&name);
        let Some(site) = root.parent().filter(is_cudnn).and_then(Path::parent) else {
            return owners;
        };
        let wheels = list_named(site, &format!("nvidia_{name}_cu"), "-", ".dist-info");
        for wheel in &wheels {
            let Some(mut owner) = Self::of_wheel(wheel) else {
                continue;
            };
            let record = (wheels.len() > 1).then(|| read(&wheel.join("RECORD")));
            let record = record.flatten().unwrap_or_default();
            let mut intact = 0;
            for dir in ["lib", "bin"] {
                for (file, size) in parse(&record, &format!("nvidia/{name}/{dir}")) {
                    let found = system::metadata(&root.join(dir).join(file));
                    intact += usize::from(found.is_ok_and(|found| found.len() == size));
                }
            }
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

    /// Returns the package of one of these names that the conda environment of this directory records:
    /// `cudnn-9.3.0.75-h1.json`.
    pub fn of_conda(root: &Path, names: &[&str]) -> Option<Self> {
        let meta = environment(root).join("conda-meta");
        for name in names {
            let mut packages = Vec::new();
            for record in list_named(&meta, name, "-", ".json") {
                let (package, _) = record.file_stem()?.to_str()?.rsplit_once('-')?;
                let (found, version) = package.rsplit_once('-').unwrap_or_default();
                if found == *name {
                    packages.push(Self::new(Installer::Conda, name, version));
                }
            }
            let package = only(packages);
            if package.is_some() {
                return package;
            }
        }
        None
    }

    /// Returns the Debian package that contains this file, in the system that contains the file: this one, or an image
    /// below another directory.
    pub fn of_debian(file: &Path) -> Option<Self> {
        let mut tops = file.ancestors();
        let top = tops.find(|dir| system::is_there(&dir.join(LISTS)))?;
        // A package also contains links, whose target may be missing, or outside of an image.
        let real = system::canonical(file, None)
            .ok()
            .filter(|real| real.starts_with(top));
        let path = real.as_deref().unwrap_or(file).strip_prefix(top).ok()?;
        let path = format!("/{}", path.to_str()?);
        // The list of all packages is long.
        let is_cudnn = path.contains("/libcudnn");
        let start = ["", "libcudnn"][usize::from(is_cudnn)];
        let mut lists = list_named(&top.join(LISTS), start, "", ".list");
        lists.retain(|list| read(list).is_some_and(|text| text.lines().any(|line| line == path)));
        let list = only(lists)?;
        // The name may contain the architecture: `libcudnn9-cuda-12:arm64`. dpkg's own architecture is in the first
        // line of `arch`.
        let full = list.file_stem()?.to_str()?;
        let (name, cpu) = full.split_once(':').unwrap_or((full, ""));
        let known = read(&top.join("var/lib/dpkg/arch")).unwrap_or_default();
        let is_foreign =
            !cpu.is_empty() && known.lines().next().is_some_and(|native| native != cpu);
        let status = read(&top.join("var/lib/dpkg/status"))?;
        let start = format!("Package: {name}\n");
        let line = format!("\nArchitecture: {cpu}\n");
        let mut packages = status.split("\n\n");
        let mut lines = packages
            .find(|text| text.starts_with(&start) && (!is_foreign || text.contains(&line)))?
            .lines();
        let version = lines.find_map(|line| line.strip_prefix("Version: "))?;
        let name = if is_foreign { full } else { name };
        is_plain(version).then(|| Self::new(Installer::Apt, name, version))
    }

    /// Returns the command that installs this package again, after all other wheels that share its files are removed.
    pub fn reinstall(&self, all: &[Self]) -> String {
        let (name, version) = (&self.name, &self.version);
        let has_others = all.len() > 1 && self.fetched.is_none();
        let arguments = match self.installer {
            Installer::Conda => format!("--force-reinstall {name}={version}"),
            Installer::Apt => format!("--reinstall {name}"),
            _ if has_others => format!("--no-deps {name}=={version}"),
            _ => format!("--force-reinstall --no-deps {name}=={version}"),
        };
        let mut remove = vec![self.installer.uninstall()];
        for one in all {
            // An interrupted upgrade leaves two records of a wheel.
            if !remove.contains(&&*one.name) {
                remove.push(&one.name);
            }
        }
        let install = self.command("", &arguments);
        match has_others {
            true => format!("{} && {install}", remove.join(" ")),
            false => install,
        }
    }
}

/// Returns the conda environment of this directory. On Windows, its libraries are one directory further down.
pub fn environment(root: &Path) -> &Path {
    match root.parent() {
        Some(above) if root.ends_with("Library") => above,
        _ => root,
    }
}

/// Returns the command that reinstalls the package of this file of a cuDNN. If several wheels have overwritten each
/// other, one is kept. Other packages have to be unique.
pub fn reinstall_command(file: &Path) -> Option<String> {
    let dir = system::canonical(file.parent()?, None).ok()?;
    let prefix = dir.parent()?;
    let wheels = Owner::of_wheels(prefix);
    if let Some(kept) = wheels.first() {
        return Some(kept.reinstall(&wheels));
    }
    // From cuDNN 9 on, `cudnn` is a metapackage, and `libcudnn` contains the files.
    let conda = Owner::of_conda(prefix, &["libcudnn", "cudnn"]);
    let debian = || Owner::of_debian(&dir.join(file.file_name()?));
    let owner = conda.or_else(debian)?;
    let is_pixi = owner.installer == Installer::Conda && prefix.iter().any(|dir| dir == ".pixi");
    Some(match is_pixi {
        true => format!("pixi reinstall {}", owner.name),
        false => owner.reinstall(&[]),
    })
}

/// Returns the help to keep only the wheel for this CUDA, if another one has overwritten its files in this directory.
pub fn keep_help(dir: &Path, cuda: u32) -> Option<String> {
    let wheels = Owner::of_wheels(system::canonical(dir, None).ok()?.parent()?);
    let end = format!("-cu{cuda}");
    let kept = wheels.iter().find(|wheel| wheel.name.ends_with(&end))?;
    let command = kept.reinstall(&wheels);
    (wheels.len() > 1).then(|| format!("keep only the wheel for CUDA {cuda}: `{command}`"))
}

/// Returns the command that upgrades the wheel whose cuDNN for this CUDA is in this directory, to this version or later
/// within the major.
#[cfg(feature = "runtime")]
pub fn upgrade_command(dir: &Path, cuda: u32, version: Version) -> Option<String> {
    let dir = system::canonical(dir, None).ok()?;
    let owner = only(Owner::of_wheels(dir.parent()?))?;
    let (name, from, next) = (&owner.name, version.short(), version.major + 1);
    let (option, package) = (
        format!(" --cudnn {from}"),
        format!("'{name}>={from},<{next}'"),
    );
    name.ends_with(&format!("-cu{cuda}"))
        .then(|| owner.command(&option, &package))
}

/// Returns the only element, if there is one.
pub fn only<T>(mut found: Vec<T>) -> Option<T> {
    if found.len() == 1 { found.pop() } else { None }
}
