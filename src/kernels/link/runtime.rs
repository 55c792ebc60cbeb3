//! CUDA's runtime, which nvcc's host code calls.

use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::system::directive::{Directive, Library};
use crate::system::{files, out_dir};
use std::path::{Path, PathBuf};

/// Returns the lines that link `cudadevrt`, if the toolkit has it. Kernels that start kernels call it.
pub fn link_device_runtime(
    link_dirs: &[PathBuf],
    os: Os,
    name: &str,
    out_dir: &Path,
) -> Result<Vec<Directive>, Finding> {
    if os == Os::Windows {
        return Ok(vec![Directive::LinkLib(Library::Static(
            "cudadevrt".into(),
        ))]);
    }
    let alias = format!("{name}_cudadevrt");
    let aliased = aliased(link_dirs, "libcudadevrt.a", alias, out_dir)?;
    Ok(aliased.into_iter().collect())
}

/// Links an archive of the toolkit, if it exists, under a name of its own. A linker reads archives in order, so the one
/// that `link()` adds before the kernels is of no use to them, and rustc accepts a name with modifiers only once.
fn aliased(
    link_dirs: &[PathBuf],
    file: &str,
    alias: String,
    out_dir: &Path,
) -> Result<Option<Directive>, Finding> {
    let mut paths = link_dirs.iter().map(|dir| dir.join(file));
    let Some(archive) = paths.find(|path| files::is_file(path)) else {
        return Ok(None);
    };
    out_dir::alias(&archive, &out_dir.join(format!("lib{alias}.a")))?;
    Ok(Some(Directive::LinkLib(Library::Static(alias))))
}

/// Returns the lines that link the runtime after the library `name`. Like nvcc, it prefers the static runtime.
pub fn link(
    link_dirs: &[PathBuf],
    os: Os,
    name: &str,
    out_dir: &Path,
) -> Result<Vec<Directive>, Finding> {
    let found = |library| {
        let dirs = link_dirs.iter().cloned().map(Directive::LinkSearch);
        dirs.chain([Directive::LinkLib(library)]).collect()
    };
    if os == Os::Windows {
        return Ok(found(Library::Dynamic("cudart".into())));
    }
    let alias = format!("{name}_cudart");
    let mut lines: Vec<Directive> = match aliased(link_dirs, "libcudart_static.a", alias, out_dir)?
    {
        Some(line) => vec![line],
        None => found(shared(link_dirs)),
    };
    for library in ["stdc++", "rt", "dl", "pthread"] {
        lines.push(Directive::LinkLib(Library::Dynamic(library.into())));
    }
    Ok(lines)
}

/// Returns the shared runtime to link. Wheels have no `libcudart.so`, so there it is the full file name.
fn shared(link_dirs: &[PathBuf]) -> Library {
    let is_runtime = |name: &str| name.starts_with("libcudart.so");
    let mut shortest: Option<String> = None;
    for dir in link_dirs {
        for file in files::list_named(dir, &is_runtime).unwrap_or_default() {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if shortest
                .as_ref()
                .is_none_or(|other| name.len() < other.len())
            {
                shortest = Some(name.into_owned());
            }
        }
    }
    // The shortest name is the development symlink; the next one is the SONAME.
    match shortest {
        Some(name) if name != "libcudart.so" => Library::Verbatim(name),
        _ => Library::Dynamic("cudart".into()),
    }
}
