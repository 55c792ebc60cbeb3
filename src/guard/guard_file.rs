//! `$OUT_DIR/cudnn_guard.rs`: when it is written, and when again.

use crate::error::Error;
use crate::guard::InvalidGuard;
use crate::guard::text::text;
use crate::model::guard_state::GuardState;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::compute_capability::Target;
use crate::system::{Host, files};
use crate::toolchain::Toolchain;
use std::path::PathBuf;

impl Toolchain {
    /// Writes the guard, with the targets that kernels were compiled for until now.
    pub(crate) fn write_guard(&self, built: Built, standalone: bool) -> Result<(), Error> {
        self.guard.borrow_mut().written = Some((built, standalone));
        self.update_guard()
    }

    /// Notes what kernels were compiled to. A guard that was written before is written again.
    pub(crate) fn compiled(&self, targets: impl Iterator<Item = Target>) -> Result<(), Error> {
        self.guard.borrow_mut().note(targets);
        self.update_guard()
    }

    fn update_guard(&self) -> Result<(), Error> {
        let GuardState { targets, written } = &mut *self.guard.borrow_mut();
        let Some((built, standalone)) = written else {
            return Ok(());
        };
        built.targets = targets.clone();
        write(&self.host, built, *standalone)
    }
}

/// Writes the file.
pub fn write(host: &Host, built: &Built, standalone: bool) -> Result<(), Error> {
    let Some(out_dir) = host.env.var("OUT_DIR") else {
        return Err(InvalidGuard::NoOutDir.finding().into());
    };
    let path = PathBuf::from(out_dir).join("cudnn_guard.rs");
    files::write(&path, &text(built, standalone)).map_err(Error::from)
}
