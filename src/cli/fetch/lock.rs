//! The file of `fetch --lock`: exact versions of wheels with their hashes, which pip and uv enforce.

use crate::Finding;
use crate::cli::fetch::home::Temporary;
use crate::cli::fetch::installed::{Installed, Wheel};
use crate::cli::fetch::installer::Installer;
use crate::cli::fetch::requirements::{self, Pin};
use crate::cli::whole_file;
use crate::messages::fetch as fault;
use crate::runtime::facts::finding::quoted;
use crate::system::files;
use std::fs;
use std::path::Path;

/// Reads the wheels; `None` if the file does not exist.
pub fn read(path: &Path) -> Result<Option<Vec<Pin>>, Finding> {
    if !files::exists(path) {
        return Ok(None);
    }
    let pins = requirements::parse(&files::read(path)?);
    let has = |start: &str| pins.iter().any(|pin| pin.package.starts_with(start));
    match has("nvidia-cuda-") && has("nvidia-cudnn-") {
        true => Ok(Some(pins)),
        false => Err(fault::not_locked(path)),
    }
}

/// Writes the installed wheels, with hashes from the installer's index.
pub fn write(path: &Path, installed: &Installed) -> Result<(), Finding> {
    let installer = Installer::find()?;
    let temporary =
        Temporary::new(&installed.home, None).map_err(fault::home("write to", &installed.home))?;
    let list = temporary.dir("wheels.txt");
    let wheel = |wheel: &Wheel| format!("{}=={}\n", wheel.name, wheel.version);
    let wheels: String = installed.wheels.iter().map(wheel).collect();
    fs::write(&list, wheels).map_err(fault::io("write", &list))?;
    let text = requirements::text(&installer.hashes(&list)?);
    let shown = quoted(&path.to_string_lossy());
    let head = format!("# `cudnn-guard fetch --lock {shown}` installs exactly these wheels.\n");
    whole_file::replace(path, &(head + &text)).map_err(fault::io("write", path))
}
