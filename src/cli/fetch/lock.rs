//! The file of `fetch --lock`: exact versions of wheels with their hashes, which pip and uv enforce.

use crate::Finding;
use crate::cli::fetch::fault;
use crate::cli::fetch::home::{self, Temporary};
use crate::cli::fetch::installed::{Installed, Wheel};
use crate::cli::fetch::installer::Installer;
use crate::cli::fetch::requirements::{self, Pin};
use crate::cli::fetch::wheels::is_known;
use crate::cli::terminal::show_step;
use crate::cli::whole_file;
use crate::system::files;
use std::path::Path;

/// Reads the wheels; `None` if the file does not exist.
pub fn read(path: &Path) -> Result<Option<Vec<Pin>>, Finding> {
    if !files::exists(path) {
        return Ok(None);
    }
    let text = String::from_utf8(files::bytes(path)?).unwrap_or_default();
    let wheels = requirements::parse(&text).unwrap_or_default();
    let has = |start: &str| wheels.iter().any(|wheel| wheel.name.starts_with(start));
    match has("nvidia-cuda-") && has("nvidia-cudnn-") {
        true => Ok(Some(wheels)),
        false => Err(fault::not_locked(path)),
    }
}

/// Writes the installed wheels, with hashes from the installer's index.
pub fn write(path: &Path, installed: &Installed) -> Result<(), Finding> {
    let home = &installed.home;
    let _lock = home::lock(home);
    let temporary = Temporary::new(home).map_err(fault::home("write to", home))?;
    let (known, unknown): (Vec<&Wheel>, Vec<&Wheel>) = installed
        .wheels
        .iter()
        .partition(|wheel| is_known(&wheel.name));
    for wheel in unknown {
        show_step(
            "i",
            "not locked",
            format!("{}, which cudnn-guard does not know", wheel.name),
        );
    }
    show_step("i", "to lock", "the hashes in the package index");
    let pins = Installer::find()?.lock(&known, &temporary)?;
    let head = "# `cudnn-guard fetch --lock FILE` installs exactly these wheels.\n";
    let text = head.to_string() + &requirements::text(&pins);
    whole_file::replace(path, &text).map_err(fault::io("write", path))
}
