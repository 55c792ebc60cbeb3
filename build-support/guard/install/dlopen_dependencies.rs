//! Libraries that a sub-library of cuDNN opens by name once it uses them. No table in the file lists them, and cuDNN's
//! own messages name the sub-library, not the library that it opens.

use crate::runtime::binary::Image;
use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::sub_libraries::{self, ZLIB};
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system;
use crate::runtime::system::by_system;
use crate::runtime::system::platform::{LIBRARY_PATH, Library};
use std::path::{Path, PathBuf};

/// The CUDA runtime: cuDNN contains it, and one of its sub-libraries opens it anyway.
const CUDART: &str = by_system!("libcudart.so", "cudart64_");
const NVRTC: &str = by_system!("libnvrtc.so", "nvrtc64_");
const BUILTINS: &str = by_system!("libnvrtc-builtins.so", "nvrtc-builtins64_");

/// Returns the files that a sub-library of a cuDNN for this CUDA opens.
pub fn opened_by(part: &str, cuda: u32) -> Vec<String> {
    let opens = sub_libraries::find(part).map_or(&[][..], |part| part.opens);
    let files = opens.iter();
    let files = files.filter_map(|library| library.file_name(cuda, cfg!(windows)));
    files.collect()
}

/// Returns `true` if a file is one of those libraries.
pub fn is_dependency(path: &Path) -> bool {
    let mut name = path.file_name().unwrap_or_default().to_string_lossy();
    if cfg!(windows) {
        name.to_mut().make_ascii_lowercase();
    }
    let known = [
        CUDART,
        by_system!("libcublas.so", "cublas64_"),
        by_system!("libcublasLt.so", "cublaslt64_"),
        NVRTC,
        BUILTINS,
        ZLIB,
    ];
    known.iter().any(|one| name.starts_with(one))
}

/// Returns the faults of the libraries that the needed sub-libraries open: a possible reason why cuDNN failed.
pub fn suspect_findings(
    parts: &SubLibraries,
    cuda: u32,
    mapped: &[PathBuf],
    search_path: &SearchPath,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for part in parts.list.iter().filter(|part| part.needed) {
        let image = Image::open(&part.path).ok();
        let elf = image.as_ref().and_then(Image::as_elf);
        let own = elf.map_or_else(Vec::new, |elf| elf.folders(&part.path));
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for name in opened_by(&part.name, cuda) {
            let mut file = locate(&name, &own, mapped, search_path);
            if file.is_none() && name.starts_with(CUDART) && !cfg!(windows) {
                file = locate(CUDART, &own, mapped, search_path);
            }
            match file {
                Some(file) => found.push((name, file)),
                None => findings.push(missing(&part.path, &name, &own, search_path)),
            }
        }
        for (name, file) in &found {
            if let Some(finding) = without_builtins(name, file, cuda) {
                findings.push(finding);
                break;
            }
        }
        if let [(_, blas), (_, lt), ..] = found.as_slice() {
            findings.extend(cublas_mismatch(blas, lt));
        }
    }
    findings
}

fn locate(
    name: &str,
    own: &[PathBuf],
    mapped: &[PathBuf],
    search_path: &SearchPath,
) -> Option<PathBuf> {
    let is_it = |path: &&PathBuf| path.file_name() == Some(name.as_ref());
    if let Some(path) = mapped.iter().find(is_it) {
        return Some(path.clone());
    }
    let mut own = own.iter().map(|folder| folder.join(name));
    Library::loaded(name)
        .and_then(|library| library.path())
        .or_else(|| own.find(|file| system::is_file(file)))
        .or_else(|| search_path.resolve(name, &[], false))
}

fn missing(part: &Path, name: &str, own: &[PathBuf], search_path: &SearchPath) -> Finding {
    let mut places: Vec<_> = own
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    places.append(&mut search_path.looked_at());
    Finding::warning(
        FindingId::CudnnNotLoadable,
        format!(
            "`{}` opens {} when it comes to use it, and the loader does not find that",
            part.display(),
            name
        ),
    )
    .with("looked at", places.join("\n"))
    .help(format!(
        "install {name}, or put its directory into {LIBRARY_PATH}"
    ))
}

/// Returns the finding for an NVRTC without its builtins, which it opens from its own directory.
fn without_builtins(name: &str, file: &Path, cuda: u32) -> Option<Finding> {
    if !name.starts_with(NVRTC) {
        return None;
    }
    let file = std::fs::canonicalize(file).ok()?;
    let wanted = by_system!(
        format!("{}.{}.", BUILTINS, cuda),
        format!("{}{}", BUILTINS, cuda)
    );
    for path in files_in(file.parent()?) {
        let name = path.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with(&wanted) {
            return None;
        }
    }
    let summary = format!(
        "`{}` has no libnvrtc-builtins of CUDA {} beside it, which it opens when it compiles",
        file.display(),
        cuda
    );
    let help = "install NVRTC again, both files in one directory";
    Some(Finding::warning(FindingId::CudnnNotLoadable, summary).help(help))
}

/// Returns the finding for a cuBLAS and a cublasLt of different installations: cuBLAS requires its own version.
fn cublas_mismatch(blas: &Path, lt: &Path) -> Option<Finding> {
    let folder = |file: &Path| Some(std::fs::canonicalize(file).ok()?.parent()?.to_path_buf());
    if folder(blas)? == folder(lt)? {
        return None;
    }
    let summary = "libcublas and its libcublasLt come from two installations";
    let finding = Finding::warning(FindingId::PartsMixed, summary)
        .with("libcublas", blas.display())
        .with("libcublasLt", lt.display());
    Some(finding.help(format!(
        "take the directory of one of them out of {LIBRARY_PATH}"
    )))
}
