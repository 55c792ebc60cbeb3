//! Reads what a toolkit's directory says of it.

use super::eyes::Eyes;
use super::{files, nvcc};
use crate::model::candidate::Toolkit;
use crate::model::finding::Finding;
use crate::model::platform::Platform;
use crate::model::version::Version;
use crate::rules::step::Tree;
use crate::rules::{header, layout};
use std::path::{Path, PathBuf};

/// A toolkit, and the files that were read to know it.
pub type Read = (Toolkit, Vec<PathBuf>);

/// The toolkit in this directory: there is one if `cuda.h` or the compiler lies there.
pub fn in_tree(top: &Path, tree: &Tree, eyes: Eyes) -> Option<Read> {
    let include_dirs = existing(top, &tree.include, eyes);
    let nvcc = tree.nvcc.iter().find_map(|nvcc| eyes.file(&top.join(nvcc)));
    let (version, header) = header_version(&include_dirs, eyes);
    if header.is_none() && nvcc.is_none() {
        return None;
    }
    let link_dirs = existing(top, &tree.lib, eyes);
    let toolkit = Toolkit {
        root: top.to_path_buf(),
        version: version.or_else(|| compiler_version(nvcc.as_deref(), eyes)),
        stub_dirs: stubs(&link_dirs),
        include_dirs,
        link_dirs,
        nvcc,
    };
    let read = told_by(header, &toolkit);
    Some((toolkit, read))
}

/// The toolkit that a compiler stands in, where that shows without running it: `bin/nvcc` with `include/cuda.h` beside.
pub fn around(compiler: &Path, platform: &Platform) -> Option<Read> {
    let eyes = Eyes { root: None };
    let real = eyes.canonical(compiler);
    let top = real.parent()?.parent()?;
    let tree = if top == Path::new("/usr") {
        layout::system_toolkit(platform, top)
    } else {
        layout::toolkit(platform, top, "")
    };
    let has_header = |dir| files::is_file(&top.join(dir).join("cuda.h"));
    if !tree.nvcc.iter().any(|nvcc| top.join(nvcc) == real) || !tree.include.iter().any(has_header)
    {
        return None;
    }
    in_tree(top, &tree, eyes).filter(|(toolkit, _)| !toolkit.link_dirs.is_empty())
}

/// The toolkit that a compiler says is its own.
pub fn of_compiler(compiler: &Path) -> Result<Read, Finding> {
    let eyes = Eyes { root: None };
    let real = eyes.canonical(compiler);
    let (compiler, mut layout) = match nvcc::layout(compiler) {
        Ok(layout) => (compiler, layout),
        // Called by a link from elsewhere, nvcc does not find the profile beside it, and could compile nothing. A link
        // to another program, as ccache has them, leads to no nvcc.
        Err(finding) if real.file_name() != compiler.file_name() || real == compiler => {
            return Err(finding);
        }
        Err(finding) => (&*real, nvcc::layout(&real).map_err(|_| finding)?),
    };
    // Debian's compiler takes the headers from the system without naming their directory.
    let mut include_dirs = layout.include_dirs;
    include_dirs.retain(|dir| files::is_dir(dir));
    let (mut version, mut header) = header_version(&include_dirs, eyes);
    if header.is_none() && include_dirs.is_empty() {
        (version, header) = header_version(&["/usr/include".into()], eyes);
        if header.is_some() {
            layout.top = "/usr".into();
            include_dirs.push("/usr/include".into());
        }
    }
    let mut link_dirs = layout.link_dirs;
    link_dirs.retain(|dir| files::is_dir(dir) && !dir.ends_with("stubs"));
    let toolkit = Toolkit {
        root: layout.top,
        version: version.or_else(|| compiler_version(Some(compiler), eyes)),
        nvcc: Some(compiler.to_path_buf()),
        include_dirs,
        stub_dirs: stubs(&link_dirs),
        link_dirs,
    };
    let read = told_by(header, &toolkit);
    Ok((toolkit, read))
}

fn header_version(dirs: &[PathBuf], eyes: Eyes) -> (Option<Version>, Option<PathBuf>) {
    let Some(header) = dirs.iter().find_map(|dir| eyes.file(&dir.join("cuda.h"))) else {
        return (None, None);
    };
    // `cuda.h` has a megabyte, and says its release in the first twenty thousand bytes.
    let start = files::read_start(&header, 1 << 16).ok();
    let version = start.and_then(|text| header::cuda(&text)).or_else(|| {
        let whole = files::read(&header).ok()?;
        header::cuda(&whole)
    });
    (version, Some(header))
}

/// The file that told the release: the header, else the compiler. With it the runtime, whose file is named after its
/// release.
fn told_by(header: Option<PathBuf>, toolkit: &Toolkit) -> Vec<PathBuf> {
    let runtimes = toolkit.link_dirs.iter().map(|dir| dir.join("libcudart.so"));
    header
        .or_else(|| toolkit.nvcc.clone())
        .into_iter()
        .chain(runtimes.filter(|path| files::is_file(path)))
        .collect()
}

/// Nothing of an image is run: it may be for another processor.
fn compiler_version(nvcc: Option<&Path>, eyes: Eyes) -> Option<Version> {
    nvcc.filter(|_| eyes.root.is_none())
        .and_then(|nvcc| nvcc::version(nvcc).ok())
}

fn stubs(link_dirs: &[PathBuf]) -> Vec<PathBuf> {
    link_dirs
        .iter()
        .map(|dir| dir.join("stubs"))
        .filter(|dir| files::is_dir(dir))
        .collect()
}

/// Those of the directories that are there, each once: `include` is often a link to `targets/…/include`.
fn existing(top: &Path, dirs: &[PathBuf], eyes: Eyes) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for dir in dirs.iter().filter_map(|dir| eyes.dir(&top.join(dir))) {
        let real = eyes.canonical(&dir);
        if !seen.contains(&real) {
            seen.push(real);
            found.push(dir);
        }
    }
    found
}
