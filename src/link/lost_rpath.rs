//! An rpath that reaches no program.

use crate::model::environment::Environment;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::system::files;
use std::path::Path;

/// That this package has no program of its own, and cargo tells those above it nothing of `dir`: they are linked, and
/// end before `main`. With a `links` key they can ask.
pub fn finding(env: &Environment, dir: &Path) -> Option<Finding> {
    let package = Path::new(env.os_var("CARGO_MANIFEST_DIR")?);
    let name = env.var("CARGO_PKG_NAME")?;
    let manifest = files::read(&package.join("Cargo.toml")).ok()?;
    let has_program = files::is_file(&package.join("src/main.rs"))
        || files::is_dir(&package.join("src/bin"))
        // A shared library, such as a Python extension, gets the rpath too.
        || ["[[bin]]", "dylib\""].iter().any(|words| manifest.contains(words));
    if has_program || env.os_var("CARGO_MANIFEST_LINKS").is_some() {
        return None;
    }
    let summary = format!(
        "programs above the library `{name}` do not get its rpath to `{}`: cargo passes on what is linked, and no \
         arguments of the linker",
        dir.display()
    );
    let ask = format!("cudnn_guard::Linked::from_dep(\"{name}\")?.link()");
    Some(
        Finding::warning(FindingId::LibraryNotFound, summary)
            .help(format!(
                "write `links = \"{name}\"` under [package] in its Cargo.toml, and `{ask}` in the build.rs of each program"
            ))
            .help("or call `.rpath(false)` in its build.rs, where LD_LIBRARY_PATH or ld.so.conf names that directory"),
    )
}
