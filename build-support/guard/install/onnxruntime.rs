//! The CUDA provider of ONNX Runtime, a plugin beside its library. If the loader does not find a library of the
//! provider, ONNX Runtime computes on the CPU and only logs the reason.

use crate::runtime::binary::{Elf, contains};
use crate::runtime::facts::{Built, LibraryName, ONNXRUNTIME};
use crate::runtime::loader::SearchPath;
use crate::runtime::loader::search_path::loaded;
use crate::runtime::system;
use crate::runtime::system::DRIVER_SO;
use crate::runtime::system::platform::Library;
use std::path::PathBuf;

/// A provider, and the libraries that the loader does not find for it.
pub struct IncompleteProvider {
    pub path: PathBuf,
    /// The CUDA major that it is built for.
    pub cuda: Option<u32>,
    pub missing: Vec<String>,
}

/// Returns the name of ONNX Runtime's library or of a provider, by which `inspect` recognizes programs that contain ONNX
/// Runtime. Other programs must not contain it, so it is composed.
pub fn file_name(kind: &str, is_dll: bool) -> String {
    match is_dll {
        true => format!("onnxruntime{kind}.dll"),
        false => format!("libonnxruntime{kind}.so"),
    }
}

/// Returns the CUDA major whose cuBLAS has this file name: 12 for `libcublasLt.so.12` and `cublas64_12.dll`.
pub fn cuda_major(file: &str) -> Option<u32> {
    let file = LibraryName::read(file)?;
    let is_cublas = ["cublas", "cublasLt", "cublaslt"].contains(&&*file.name);
    file.major().filter(|_| is_cublas)
}

/// Returns the provider of this program if it is incomplete. A program uses a provider if its build script declares that,
/// or if it contains the provider's name, like programs with the crate ort. It may open the libraries that it names.
pub fn incomplete(built: &Built, search_path: &SearchPath) -> Option<IncompleteProvider> {
    let program = std::env::current_exe().ok().filter(|_| !cfg!(windows))?;
    let linked = Library::loaded(file_name("", false) + ".1").and_then(|library| library.path());
    // The crate ort opens this file if it does not link ONNX Runtime.
    let named = std::env::var_os(["ORT", "DYLIB", "PATH"].join("_"));
    let named = named.map(|named| program.with_file_name(named));
    let named = named.filter(|named| linked.is_none() && system::is_file(named));
    let opener = named.as_ref().or(linked.as_ref()).unwrap_or(&program);
    let path = opener.with_file_name(file_name("_providers_cuda", false));
    let provider = Elf::open(&path).ok()?;
    // Only programs with embedded data are larger.
    let constants = Elf::open(&program).ok()?.constants(64 << 20)?;
    let has = |first: u8, rest: &str| contains(&constants, first, rest.as_bytes());
    let is_declared = built.needs.iter().any(|need| need == ONNXRUNTIME);
    if !is_declared && !has(b'C', "UDAExecutionProvider")
        || named.is_some() && !has(b'O', "RT_DYLIB_PATH")
    {
        return None;
    }
    // The RPATH of the library also applies to the provider.
    let own = match Elf::open(opener) {
        Ok(elf) if elf.runpath().is_none() => search_path.of_library(&elf, opener),
        _ => search_path.clone(),
    };
    let (own, mut missing) = (own.of_library(&provider, &path), provider.needed());
    let cuda = missing.iter().find_map(|name| cuda_major(name));
    missing.retain(|name| {
        let is_found = loaded(name).is_some() || own.program_file(name).is_some();
        let is_opened = name.strip_prefix('l').is_some_and(|rest| has(b'l', rest));
        name != DRIVER_SO && !is_found && !is_opened
    });
    (!missing.is_empty()).then_some(IncompleteProvider {
        path,
        cuda,
        missing,
    })
}
