//! Libraries that a sub-library of cuDNN opens by name when it needs them. No table in the file lists them, and cuDNN's
//! own messages name the sub-library, not the library that it opens.

use crate::runtime::binary::{Elf, Image, contains, files_in};
use crate::runtime::facts::{CudaLibrary, LibraryName, Version, sub_libraries};
use crate::runtime::install::Installed;
use crate::runtime::install::missing_dlopen::{MissingDlopen, MissingLink, PLAIN_DRIVER};
use crate::runtime::install::package_record::{recorded_version, records_above};
use crate::runtime::loader::SearchPath;
use crate::runtime::loader::search_path::loaded;
use crate::runtime::system;
use crate::runtime::system::by_system;
use std::path::{Path, PathBuf};

const NVRTC: &str = by_system!("libnvrtc.so", "nvrtc64_");
const BUILTINS: &str = by_system!("libnvrtc-builtins.so", "nvrtc-builtins64_");

/// Returns the libraries that this file of a sub-library opens, in a cuDNN for this CUDA. Each is a list of the names
/// that the sub-library tries.
pub fn opened_by(sub_library: &str, file: &Path, cuda: u32, is_windows: bool) -> Vec<Vec<String>> {
    // The names in cuDNN 8, and the sub-library that opens them, depend on its version.
    let is_in_file = !is_windows && sub_library.ends_with("_infer");
    let opens = sub_libraries::find(sub_library).map_or(&[][..], |known| known.opens);
    let mut opened = Vec::new();
    for library in opens {
        let mut names = Vec::new();
        names.extend(library.file_name(cuda, is_windows));
        match library {
            CudaLibrary::Nvrtc if is_in_file => continue,
            CudaLibrary::Nvrtc if !is_windows => names.push("libnvrtc.so".to_string()),
            CudaLibrary::Cudart if !is_windows => names.push("libcudart.so".to_string()),
            _ => {}
        }
        opened.push(names);
    }
    if is_in_file {
        let constants = Elf::read(file).ok().and_then(|elf| elf.rodata());
        let constants = constants.unwrap_or_default();
        let has = |tail| contains(&constants, b'l', tail);
        let mut nvrtc = Vec::new();
        if has(b"ibnvrtc.so.%d") {
            nvrtc.extend(CudaLibrary::Nvrtc.file_name(cuda, false));
        }
        if has(b"ibnvrtc.so\0") {
            nvrtc.push("libnvrtc.so".to_string());
        }
        opened.push(nvrtc);
        if has(b"ibcuda.so\0") {
            opened.push(vec![PLAIN_DRIVER.to_string()]);
        }
    }
    opened.retain(|names| !names.is_empty());
    opened
}

/// Returns `true` for a file that a sub-library may open.
pub fn is_dependency(path: &Path) -> bool {
    let mut name = path.file_name().unwrap_or_default().to_string_lossy();
    if cfg!(windows) {
        name.to_mut().make_ascii_lowercase();
    }
    let known = [
        // cuDNN contains it, but one of its sub-libraries opens it anyway.
        by_system!("libcudart.so", "cudart64_"),
        by_system!("libcublas.so", "cublas64_"),
        by_system!("libcublasLt.so", "cublaslt64_"),
        NVRTC,
        BUILTINS,
    ];
    known.iter().any(|one| name.starts_with(one))
}

/// A fault of a library that a needed sub-library opens: a possible reason why cuDNN failed.
pub enum SuspectLibrary {
    /// The loader does not find it in these places.
    Missing(MissingDlopen, Vec<String>),
    /// This NVRTC has no builtins for this CUDA, which it opens from its own directory.
    WithoutBuiltins(PathBuf, u32),
    /// A libcublas and a libcublasLt of different installations: cuBLAS requires its own version.
    UnlikeCublas(PathBuf, PathBuf),
}

impl SuspectLibrary {
    /// Creates the fault of a library that this sub-library opens with this search path. A missing driver is another
    /// fault.
    pub fn missing(part: &Path, name: &str, cuda: u32, search_path: &SearchPath) -> Option<Self> {
        let link = MissingLink::find(name, Some(cuda), search_path);
        let link = link.or_else(|| Some(MissingLink::beside(in_other_wheel(part, name)?, name)));
        let (is_reported, part) = (name != PLAIN_DRIVER || link.is_some(), Some(part.into()));
        let name = name.into();
        let missing = MissingDlopen { part, name, link };
        is_reported.then(|| SuspectLibrary::Missing(missing, search_path.looked_at()))
    }
}

/// Returns the faults of the libraries that the needed sub-libraries open. `mapped`: files that count as found.
pub fn find_suspects(
    cudnn: &Installed,
    cuda: u32,
    mapped: &[PathBuf],
    search_path: &SearchPath,
) -> Vec<SuspectLibrary> {
    let mut suspects = Vec::new();
    for part in cudnn.list.iter().filter(|part| part.needed) {
        let image = Image::open(&part.path).ok();
        let elf = image.as_ref().and_then(Image::as_elf);
        let own = elf.map(|elf| search_path.of_library(elf, &part.path));
        let search_path = own.as_ref().unwrap_or(search_path);
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for names in opened_by(&part.name, &part.path, cuda, cfg!(windows)) {
            let Some(name) = names.first() else { continue };
            let mut files = names.iter();
            match files.find_map(|name| locate(name, mapped, search_path)) {
                Some(file) => found.push((name.clone(), file)),
                None => {
                    let fault = SuspectLibrary::missing(&part.path, name, cuda, search_path);
                    suspects.extend(fault);
                }
            }
        }
        for (name, file) in &found {
            if let Some(suspect) = without_builtins(name, file, cuda) {
                suspects.push(suspect);
                break;
            }
        }
        let file_of = |library: CudaLibrary| {
            let name = library.file_name(cuda, cfg!(windows))?;
            found.iter().find(|(known, _)| *known == name)
        };
        let both = file_of(CudaLibrary::Cublas).zip(file_of(CudaLibrary::CublasLt));
        if let Some(((_, blas), (_, lt))) = both {
            let folder =
                |file: &Path| Some(system::canonical(file, None).ok()?.parent()?.to_path_buf());
            let folders = folder(blas).zip(folder(lt));
            if folders.is_some_and(|(one, other)| one != other) {
                suspects.push(SuspectLibrary::UnlikeCublas(blas.clone(), lt.clone()));
            }
        }
    }
    suspects
}

/// Returns the file of this name in a wheel beside cuDNN's, which cuDNN may not search: 9.10 searches `nvrtc/lib`, but
/// the wheel of NVRTC contains `cuda_nvrtc/lib`.
fn in_other_wheel(sub_library: &Path, name: &str) -> Option<PathBuf> {
    let wheels = sub_library.ancestors().nth(3);
    for wheel in files_in(wheels.filter(|dir| dir.ends_with("nvidia"))?) {
        let file = wheel.join("lib").join(name);
        if system::is_file(&file) {
            return Some(file);
        }
    }
    None
}

/// Returns the version of the cuBLAS that cuDNN opens.
pub fn loaded_cublas(cuda: u32, mapped: &[PathBuf], search_path: &SearchPath) -> Option<Version> {
    let name = CudaLibrary::CublasLt.file_name(cuda, cfg!(windows))?;
    cublas_version(&locate(&name, mapped, search_path)?)
}

/// Returns the version of this libcublasLt, from its name or from the record of its wheel.
pub fn cublas_version(file: &Path) -> Option<Version> {
    let file = system::canonical(file, None).ok()?;
    if let [major, minor, patch, _] = LibraryName::of(&file)?.numbers[..] {
        return Some(Version::new(major, minor, patch));
    }
    let records = records_above(file.parent()?, "nvidia_cublas");
    let size = system::metadata(&file).ok()?.len();
    recorded_version(&records, file.file_name()?.to_str()?, size)
}

fn locate(name: &str, mapped: &[PathBuf], search_path: &SearchPath) -> Option<PathBuf> {
    let is_it = |path: &&PathBuf| path.file_name() == Some(name.as_ref());
    if let Some(path) = mapped.iter().find(is_it) {
        return Some(path.clone());
    }
    loaded(name)
        .and_then(|library| library.path())
        .or_else(|| search_path.program_file(name))
}

fn without_builtins(name: &str, file: &Path, cuda: u32) -> Option<SuspectLibrary> {
    if !name.starts_with(NVRTC) {
        return None;
    }
    let real = system::canonical(file, None).ok()?;
    let file = by_system!(real.as_path(), file);
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
    Some(SuspectLibrary::WithoutBuiltins(file.into(), cuda))
}
