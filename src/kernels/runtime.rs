//! CUDA's runtime, which the host code that nvcc makes calls.

use crate::host::{files, outputs};
use crate::model::finding::Finding;
use crate::model::platform::Os;
use std::path::{Path, PathBuf};

/// The lines that link it behind the library `name`: the static one where there is one, as nvcc itself does.
pub fn link(
    link_dirs: &[PathBuf],
    os: Os,
    name: &str,
    out_dir: &Path,
) -> Result<Vec<String>, Finding> {
    let search = || {
        let line = |dir: &PathBuf| format!("cargo::rustc-link-search=native={}", dir.display());
        link_dirs.iter().map(line).collect()
    };
    if os == Os::Windows {
        let mut lines: Vec<String> = search();
        lines.push("cargo::rustc-link-lib=dylib=cudart".to_string());
        return Ok(lines);
    }
    let mut paths = link_dirs.iter().map(|dir| dir.join("libcudart_static.a"));
    let mut lines = match paths.find(|path| files::is_file(path)) {
        Some(archive) => {
            // Under a name of its own: a linker reads archives in order, so the one that `link()` asked for, before
            // the kernels, does not serve them, and rustc takes a name with modifiers only once.
            let alias = format!("{name}_cudart");
            outputs::alias(&archive, &out_dir.join(format!("lib{alias}.a")))?;
            vec![format!("cargo::rustc-link-lib=static:-bundle={alias}")]
        }
        None => {
            let mut lines = search();
            lines.push(format!("cargo::rustc-link-lib={}", shared(link_dirs)));
            lines
        }
    };
    lines.extend(
        ["stdc++", "rt", "dl", "pthread"]
            .map(|library| format!("cargo::rustc-link-lib=dylib={library}")),
    );
    Ok(lines)
}

/// What to link where there is no static runtime. Wheels have no `libcudart.so`: then the file's whole name.
fn shared(link_dirs: &[PathBuf]) -> String {
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
        None | Some("libcudart.so") => "dylib=cudart".to_string(),
        Some(name) => format!("dylib:+verbatim={name}"),
    }
}
