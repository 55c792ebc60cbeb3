//! Libraries that a sub-library of cuDNN opens by name once it uses them. No table in the file lists them, and cuDNN's
//! own messages name the sub-library, not the library that it opens.

use crate::runtime::binary::Image;
use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::facts::sub_libraries::{self, ZLIB};
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system;
use crate::runtime::system::by_system;
use crate::runtime::system::platform::Library;
use std::path::{Path, PathBuf};

/// The CUDA runtime: cuDNN contains it, and one of its sub-libraries opens it anyway.
const CUDART: &str = by_system!("libcudart.so", "cudart64_");
const NVRTC: &str = by_system!("libnvrtc.so", "nvrtc64_");
const BUILTINS: &str = by_system!("libnvrtc-builtins.so", "nvrtc-builtins64_");

/// Returns the files that a sub-library of a cuDNN for this CUDA opens.
pub fn opened_by(sub_library: &str, cuda: u32) -> Vec<String> {
    let opens = sub_libraries::find(sub_library).map_or(&[][..], |known| known.opens);
    let files = opens.iter();
    let files = files.filter_map(|library| library.file_name(cuda, cfg!(windows)));
    files.collect()
}

/// Returns `true` for a file that a sub-library may open.
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

/// A fault of a library that a needed sub-library opens: a possible reason why cuDNN failed.
pub enum SuspectLibrary {
    /// The loader does not find it.
    Missing {
        /// The file of the sub-library.
        part: PathBuf,
        /// The name of the library.
        name: String,
        /// The places that are searched.
        looked_at: Vec<String>,
    },
    /// This NVRTC has no builtins for this CUDA, which it opens from its own directory.
    WithoutBuiltins(PathBuf, u32),
    /// A libcublas and a libcublasLt of different installations: cuBLAS requires its own version.
    UnlikeCublas(PathBuf, PathBuf),
}

/// Returns the faults of the libraries that the needed sub-libraries open.
pub fn find_suspects(
    parts: &SubLibraries,
    cuda: u32,
    mapped: &[PathBuf],
    search_path: &SearchPath,
) -> Vec<SuspectLibrary> {
    let mut suspects = Vec::new();
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
                None => {
                    let own = own.iter().map(|folder| folder.display().to_string());
                    let looked_at = own.chain(search_path.looked_at()).collect();
                    suspects.push(SuspectLibrary::Missing {
                        part: part.path.clone(),
                        name,
                        looked_at,
                    });
                }
            }
        }
        for (name, file) in &found {
            if let Some(suspect) = without_builtins(name, file, cuda) {
                suspects.push(suspect);
                break;
            }
        }
        if let [(_, blas), (_, lt), ..] = found.as_slice() {
            suspects.extend(unlike_cublas(blas, lt));
        }
    }
    suspects
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

fn without_builtins(name: &str, file: &Path, cuda: u32) -> Option<SuspectLibrary> {
    if !name.starts_with(NVRTC) {
        return None;
    }
    let file = std::fs::canonicalize(file).ok()?;
    let builtins = by_system!(
        format!("{}.{}.", BUILTINS, cuda),
        format!("{}{}", BUILTINS, cuda)
    );
    for path in files_in(file.parent()?) {
        let name = path.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with(&builtins) {
            return None;
        }
    }
    Some(SuspectLibrary::WithoutBuiltins(file, cuda))
}

fn unlike_cublas(blas: &Path, lt: &Path) -> Option<SuspectLibrary> {
    let folder = |file: &Path| Some(std::fs::canonicalize(file).ok()?.parent()?.to_path_buf());
    let is_unlike = folder(blas)? != folder(lt)?;
    is_unlike.then(|| SuspectLibrary::UnlikeCublas(blas.into(), lt.into()))
}
