//! The file of `fetch --lock`: exact versions of wheels with their hashes, which pip and uv enforce.

use crate::Finding;
use crate::cli::fetch::fault;
use crate::cli::fetch::home::Temporary;
use crate::cli::fetch::installed::{Installed, Wheel};
use crate::cli::fetch::installer::Installer;
use crate::cli::fetch::requirements;
use crate::cli::whole_file;
use crate::runtime::facts::finding::quoted;
use crate::system::files;
use std::fs;
use std::path::Path;

/// Reads the wheels, each with its version; `None` if the file does not exist.
pub fn read(path: &Path) -> Result<Option<Vec<(String, String)>>, Finding> {
    if !files::exists(path) {
        return Ok(None);
    }
    let wheels = requirements::parse(&files::read(path)?).unwrap_or_default();
    let has = |start: &str| wheels.iter().any(|(name, _)| name.starts_with(start));
    match has("nvidia-cuda-") && has("nvidia-cudnn-") {
        true => Ok(Some(wheels)),
        false => Err(fault::not_locked(path)),
    }
}

/// Writes the installed wheels, with hashes from the installer's index.
pub fn write(path: &Path, installed: &Installed) -> Result<(), Finding> {
    let home = &installed.home;
    let temporary = Temporary::new(home, None).map_err(fault::home("write to", home))?;
    let list = temporary.dir("wheels.txt");
    let wheel = |wheel: &Wheel| format!("{}=={}\n", wheel.name, wheel.version);
    let wheels: String = installed.wheels.iter().map(wheel).collect();
    fs::write(&list, wheels).map_err(fault::io("write", &list))?;
    let text = Installer::find()?.lock(&list)?;
    let shown = quoted(&path.to_string_lossy());
    let head = format!("# `cudnn-guard fetch --lock {shown}` installs exactly these wheels.\n");
    whole_file::replace(path, &(head + &text)).map_err(fault::io("write", path))
}
