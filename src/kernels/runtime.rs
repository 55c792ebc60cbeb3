//! CUDA's runtime, which the host code that nvcc makes calls.

use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::system::directive::{Directive, Library};
use crate::system::{files, out_dir};
use std::path::{Path, PathBuf};

/// The lines that link it behind the library `name`: the static one where there is one, as nvcc itself does.
pub fn link(
    link_dirs: &[PathBuf],
    os: Os,
    name: &str,
    out_dir: &Path,
) -> Result<Vec<Directive>, Finding> {
    let search = || {
        link_dirs
            .iter()
            .cloned()
            .map(Directive::LinkSearch)
            .collect()
    };
    if os == Os::Windows {
        let mut lines: Vec<Directive> = search();
        lines.push(Directive::LinkLib(Library::Dynamic("cudart".into())));
        return Ok(lines);
    }
    let mut paths = link_dirs.iter().map(|dir| dir.join("libcudart_static.a"));
    let mut lines = match paths.find(|path| files::is_file(path)) {
        Some(archive) => {
            // Under a name of its own: a linker reads archives in order, so the one that `link()` asked for, before
            // the kernels, does not serve them, and rustc takes a name with modifiers only once.
            let alias = format!("{name}_cudart");
            out_dir::alias(&archive, &out_dir.join(format!("lib{alias}.a")))?;
            vec![Directive::LinkLib(Library::Static(alias))]
        }
        None => {
            let mut lines = search();
            lines.push(Directive::LinkLib(shared(link_dirs)));
            lines
        }
    };
    lines.extend(
        ["stdc++", "rt", "dl", "pthread"]
            .map(|library| Directive::LinkLib(Library::Dynamic(library.into()))),
    );
    Ok(lines)
}

/// What to link where there is no static runtime. Wheels have no `libcudart.so`: then the file's whole name.
fn shared(link_dirs: &[PathBuf]) -> Library {
    // The shortest is the link for linking, then the SONAME.
    let mut best: Option<String> = None;
    for path in link_dirs
        .iter()
        .flat_map(|dir| files::list(dir).unwrap_or_default())
    {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let shorter = best.as_ref().is_none_or(|best| name.len() < best.len());
        if name.starts_with("libcudart.so") && shorter {
            best = Some(name.into_owned());
        }
    }
    match best.as_deref() {
        None | Some("libcudart.so") => Library::Dynamic("cudart".into()),
        Some(name) => Library::Verbatim(name.to_string()),
    }
}
