//! The file `$OUT_DIR/cudnn_guard.rs`, which is updated after each compilation of kernels.

use crate::config::Link;
use crate::error::Error;
use crate::guard::InvalidGuard;
use crate::guard::text::text;
use crate::model::{Gencode, target_list};
use crate::runtime::facts::Built;
use crate::system::{Host, files, out_dir};
use crate::toolchain::{GuardState, LazyLibrary, Toolchain};

impl Toolchain {
    /// Writes the guard, with the targets of the kernels compiled so far.
    pub(crate) fn write_guard(&self, built: Built) -> Result<(), Error> {
        self.guard.borrow_mut().written = Some(built);
        self.update_guard()
    }

    /// Records the targets of compiled kernels, and updates a guard that is already written.
    pub(crate) fn compiled(&self, gencodes: &[Gencode]) -> Result<(), Error> {
        for Gencode { target, .. } in gencodes {
            target_list::add(&mut self.guard.borrow_mut().targets, *target);
        }
        self.update_guard()
    }

    fn update_guard(&self) -> Result<(), Error> {
        let GuardState { targets, written } = &mut *self.guard.borrow_mut();
        let Some(built) = written else {
            return Ok(());
        };
        built.targets = targets.clone();
        let mut opened = Vec::new();
        for LazyLibrary { name, soname, .. } in &self.lazy.libraries {
            if name == "cudnn" || self.config.libs.contains(name) {
                opened.push(soname.as_str());
            }
        }
        let opened = (self.config.link == Link::Lazy).then_some(&opened[..]);
        write(&self.host, built, opened)
    }
}

/// Writes the file. With `Link::Lazy`, `opened` are the names by which the program opens its libraries.
pub fn write(host: &Host, built: &Built, opened: Option<&[&str]>) -> Result<(), Error> {
    let Some(path) = out_dir::current_guard(&host.env) else {
        return Err(InvalidGuard::NoOutDir.finding().into());
    };
    files::write(&path, &text(built, opened)).map_err(Error::from)
}
