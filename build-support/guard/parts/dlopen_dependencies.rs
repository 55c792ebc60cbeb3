//! Libraries that a part of cuDNN opens by name when it comes to use them: no table in the file tells of them, and
//! cuDNN's own words name the part that asked, not what it asked for.

use crate::runtime::binary::Image;
use crate::runtime::binary::bounded_file::files_in;
#[cfg(windows)]
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
#[cfg(windows)]
use crate::runtime::facts::version::Version;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::parts::part_files::Parts;
use crate::runtime::parts::required_parts;
use crate::runtime::system::platform::{LIBRARY_PATH, Library};
use std::path::{Path, PathBuf};

/// The CUDA runtime, which cuDNN holds in itself and one of its parts opens all the same.
const CUDART: &str = if cfg!(windows) {
    "cudart64_"
} else {
    "libcudart.so"
};
const NVRTC: &str = if cfg!(windows) {
    "nvrtc64_"
} else {
    "libnvrtc.so"
};
/// The compression library that cuDNN 8 for Windows opens and does not bring.
const ZLIB: &str = "zlibwapi.dll";

/// What a part of a cuDNN for this CUDA opens, read off the strings of NVIDIA's own. The part that came with 9.21 puts
/// the name of its libcudart together, and takes the plain one for it.
pub fn opened_by(part: &str, cuda: u32) -> Vec<String> {
    if cfg!(windows) {
        return dlls_opened_by(part, cuda);
    }
    let nvrtc = if cuda == 11 {
        "libnvrtc.so.11.2".to_string()
    } else {
        format!("libnvrtc.so.{}", cuda)
    };
    let blas = |name: &str| format!("lib{}.so.{}", name, cuda);
    match part {
        "graph" => vec![nvrtc],
        "engines_precompiled" => vec![blas("cublasLt")],
        required_parts::TENSOR_IR => vec![format!("{}.{}", CUDART, cuda)],
        "ops_infer" => vec![blas("cublas"), blas("cublasLt"), nvrtc],
        _ => Vec::new(),
    }
}

/// The same of those for Windows.
fn dlls_opened_by(part: &str, cuda: u32) -> Vec<String> {
    let nvrtc = match cuda {
        11 => "nvrtc64_112_0.dll".to_string(),
        _ => format!("nvrtc64_{}0_0.dll", cuda),
    };
    let cudart = match cuda {
        11 => "cudart64_110.dll".to_string(),
        _ => format!("cudart64_{}.dll", cuda),
    };
    let blas = |name: &str| format!("{}64_{}.dll", name, cuda);
    match part {
        "graph" => vec![nvrtc],
        "engines_precompiled" => vec![blas("cublasLt")],
        required_parts::TENSOR_IR => vec![cudart],
        "ops_infer" => vec![blas("cublas"), blas("cublasLt"), nvrtc],
        "cnn_infer" => vec![ZLIB.to_string()],
        _ => Vec::new(),
    }
}

/// That a cuDNN 8 for Windows will not find its compression library, or one for another processor. Not every program
/// comes to need it.
#[cfg(windows)]
pub fn missing_zlib(release: Version, folder: &Path, search_path: &SearchPath) -> Option<Finding> {
    let opens = release.major == 8 && release >= Version::new(8, 3, 0);
    if !opens || Library::loaded(ZLIB).is_some() {
        return None;
    }
    let beside = Some(folder.join(ZLIB)).filter(|file| file.is_file());
    if let Some(file) = search_path.program_file(ZLIB).or(beside) {
        let Err(Defect::Cpu(cpu)) = Image::open(&file) else {
            return None;
        };
        let file = file.display();
        let summary = format!(
            "`{}`, which cuDNN {} opens, is for {}: Windows calls that error 193",
            file, release, cpu
        );
        return Some(
            Finding::warning(FindingId::WrongArchitecture, summary).help(format!(
                "put the `{}` for 64 bits that NVIDIA's installation guide for cuDNN 8 leads to in the place of `{}`",
                ZLIB, file
            )),
        );
    }
    let summary = format!(
        "cuDNN {} for Windows opens `{}`, which does not come with it, and Windows does not find one",
        release, ZLIB
    );
    Some(
        Finding::warning(FindingId::CudnnNotLoadable, summary)
            .with("looked at", search_path.looked_at().join("\n"))
            .help(format!(
                "put the `{}` that NVIDIA's installation guide for cuDNN 8 leads to into `{}`, or move to cuDNN 9, which does without",
                ZLIB,
                folder.display()
            )),
    )
}

/// Whether a file is one of them.
pub fn is_dependency(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if cfg!(windows) {
        let name = name.to_ascii_lowercase();
        let known = [
            CUDART,
            NVRTC,
            "cublas64_",
            "cublaslt64_",
            "nvrtc-builtins64_",
            ZLIB,
        ];
        return known.iter().any(|one| name.starts_with(one));
    }
    [
        CUDART,
        "libcublas.so",
        "libcublasLt.so",
        NVRTC,
        "libnvrtc-builtins.so",
    ]
    .iter()
    .any(|one| name.starts_with(one))
}

/// What is wrong with those that the needed parts open: cuDNN failed, and this may be why.
pub fn suspect_findings(
    parts: &Parts,
    cuda: u32,
    mapped: &[PathBuf],
    search_path: &SearchPath,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for part in parts.list.iter().filter(|part| part.needed) {
        let own =
            Image::open(&part.path).map_or_else(|_| Vec::new(), |elf| elf.folders(&part.path));
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
    for path in mapped {
        if path.file_name() == Some(name.as_ref()) {
            return Some(path.clone());
        }
    }
    if let Some(path) = Library::loaded(name).and_then(|library| library.path()) {
        return Some(path);
    }
    for folder in own {
        let file = folder.join(name);
        if file.is_file() {
            return Some(file);
        }
    }
    search_path.resolve(name, &[], false)
}

fn missing(part: &Path, name: &str, own: &[PathBuf], search_path: &SearchPath) -> Finding {
    let mut places = Vec::new();
    for folder in own {
        places.push(folder.display().to_string());
    }
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
        "install {}, or put its directory into {}",
        name, LIBRARY_PATH
    ))
}

/// NVRTC opens its builtins from beside itself.
fn without_builtins(name: &str, file: &Path, cuda: u32) -> Option<Finding> {
    if !name.starts_with(NVRTC) {
        return None;
    }
    let file = std::fs::canonicalize(file).ok()?;
    let wanted = if cfg!(windows) {
        format!("nvrtc-builtins64_{}", cuda)
    } else {
        format!("libnvrtc-builtins.so.{}.", cuda)
    };
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

/// cuBLAS is tied to the cublasLt of its own release.
fn cublas_mismatch(blas: &Path, lt: &Path) -> Option<Finding> {
    let folder = |file: &Path| {
        std::fs::canonicalize(file)
            .ok()?
            .parent()
            .map(Path::to_path_buf)
    };
    if folder(blas)? == folder(lt)? {
        return None;
    }
    Some(
        Finding::warning(
            FindingId::PartsMixed,
            "libcublas and its libcublasLt come from two installations",
        )
        .with("libcublas", blas.display())
        .with("libcublasLt", lt.display())
        .help(format!(
            "take the directory of one of them out of {}",
            LIBRARY_PATH
        )),
    )
}
