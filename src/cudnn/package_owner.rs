//! The packages that contain a cuDNN or a toolkit.

use crate::model::{Found, Owner};
use crate::runtime::install::package_owner::{LISTS, environment};
use crate::runtime::install::package_record::list_named;
#[cfg(feature = "cli")]
use crate::runtime::install::{package_owner::only, package_record};
use crate::system::files;
use std::path::{Path, PathBuf};

/// Returns the records of the packages that may contain this cuDNN or toolkit of the system in `top`, and of the links
/// of `/etc/alternatives` that may lead to it. A record changes when another version is installed, even if the new
/// files have older dates. If a link is switched to another version, neither its name nor its targets change.
pub fn records(found: &Found, top: &Path) -> Vec<PathBuf> {
    let (root, (start, inside), wheels, lists) = match found {
        Found::Cudnn(cudnn) => (
            &cudnn.root,
            ("", "cudnn"),
            ["nvidia_cudnn_cu", "nvidia_cudnn_jit_cu"],
            &["libcudnn"][..],
        ),
        Found::Toolkit(toolkit) => (
            &toolkit.root,
            ("cuda-", ""),
            // cicc is in a wheel of its own.
            ["nvidia_cuda_", "nvidia_nvvm-"],
            &["cuda-", "libnvvm-", "nvidia-cuda-"][..],
        ),
    };
    let conda = environment(root).join("conda-meta");
    let mut found = list_named(&conda, start, inside, ".json");
    if let Some(site) = site_packages(root) {
        for start in wheels {
            for record in list_named(site, start, "", ".dist-info") {
                found.push(record.join("RECORD"));
            }
        }
    }
    if root.starts_with(top.join("usr")) {
        for start in lists {
            found.extend(list_named(&top.join(LISTS), start, "", ".list"));
        }
        for dir in ["var/lib/dpkg/alternatives", "var/lib/alternatives"] {
            for start in ["cuda", "nvidia-cuda", "libcudnn"] {
                found.extend(list_named(&top.join(dir), start, "", ""));
            }
        }
    }
    files::keep(&mut found, &files::is_file);
    found
}

/// Returns the directory above the directory `nvidia` of NVIDIA's wheels, for that directory or one below it.
fn site_packages(dir: &Path) -> Option<&Path> {
    let mut above = dir.ancestors();
    above.find(|dir| dir.ends_with("nvidia"))?.parent()
}

/// Returns the command that reinstalls the wheels of this toolkit.
pub fn reinstall_toolkit(root: &Path) -> Option<String> {
    let (mut first, mut arguments) = (None, "--force-reinstall --no-deps".to_string());
    for record in list_named(site_packages(root)?, "nvidia_", "-", ".dist-info") {
        let wheel = Owner::of_wheel(&record)?;
        if !wheel.name.starts_with("nvidia-cudnn") {
            arguments += &format!(" {}=={}", wheel.name, wheel.version);
            first = first.or(Some(wheel));
        }
    }
    Some(first?.command("", &arguments))
}

/// Returns NVIDIA's wheel that contains this file, from the only record that lists the file with its size.
#[cfg(feature = "cli")]
pub fn wheel(file: &Path) -> Option<Owner> {
    let mut wheels = wheels(file).unwrap_or_default();
    wheels.retain(|(_, is_its)| *is_its);
    Some(only(wheels)?.0)
}

/// Returns NVIDIA's wheels whose records list this file. The value is `true` if the file has the size in the record: if
/// several wheels contain a file, the one that was installed last overwrites it.
#[cfg(feature = "cli")]
pub fn wheels(file: &Path) -> Option<Vec<(Owner, bool)>> {
    let (dir, name) = (file.parent()?, file.file_name()?.to_str()?);
    let site = site_packages(dir)?;
    let below = dir.strip_prefix(site).ok()?.to_str()?;
    let size = files::size(file);
    let mut wheels = Vec::new();
    for record in list_named(site, "nvidia_", "-", ".dist-info") {
        let text = package_record::read(&record.join("RECORD")).unwrap_or_default();
        let mut listed = package_record::parse(&text, below).into_iter();
        if let Some((_, recorded)) = listed.find(|(listed, _)| listed == name) {
            let wheel = Owner::of_wheel(&record);
            wheels.extend(wheel.map(|wheel| (wheel, recorded == size)));
        }
    }
    Some(wheels)
}

/// Returns the CUDA major in the name of NVIDIA's archive: `cudnn-linux-x86_64-9.14.0.64_cuda13-archive`.
pub fn archive_cuda_major(root: &Path) -> Option<u32> {
    let name = root.file_name()?.to_str()?.strip_suffix("-archive")?;
    let (_, major) = name.rsplit_once("_cuda")?;
    major.parse().ok()
}
