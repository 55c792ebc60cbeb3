//! The static library of the objects.

use crate::kernels::nvcc::diagnostics::ToolFailure;
use crate::model::Os;
use crate::runtime::facts::Finding;
use crate::system::Host;
use crate::system::freshness::build_stamp;
use std::path::{Path, PathBuf};

/// Archives the objects as `lib<name>.a` in `out_dir`, unless it already contains these objects.
pub fn create(name: &str, objects: &[PathBuf], host: &Host, out_dir: &Path) -> Result<(), Finding> {
    let variable = |name| host.env.os_var(name).unwrap_or_default();
    let archiver = [variable("AR"), variable("ARFLAGS")];
    let stamp = build_stamp::Artifact {
        output: &out_dir.join(format!("lib{name}.a")),
        stamp: &out_dir.join("cudnn-guard").join(format!("lib{name}.stamp")),
        how: &format!("{archiver:?}"),
        search: &[],
    };
    // On Windows the library also has a second name, which the stamp does not cover.
    if host.platform.os != Os::Windows && stamp.is_made_of(objects) {
        return Ok(());
    }
    stamp.remove();
    let triple = &host.platform.triple;
    cc::Build::new()
        .cargo_metadata(false)
        .cargo_warnings(false)
        .out_dir(out_dir)
        .target(triple)
        .host(host.env.var("HOST").unwrap_or(triple))
        .opt_level(0)
        .debug(false)
        .objects(objects)
        .try_compile(name)
        .map_err(|error| ToolFailure::Archive(name, error).finding())?;
    stamp.write_own(objects);
    Ok(())
}
