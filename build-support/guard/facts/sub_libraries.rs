//! cuDNN's sub-libraries, one row for each.

use crate::runtime::facts::{Version, majors};
use std::path::PathBuf;

/// A sub-library, such as `libcudnn_ops.so.9` or `cudnn_ops64_9.dll`.
#[derive(Clone, Copy, Debug)]
pub struct SubLibrary {
    /// Its name between `libcudnn_` and `.so`.
    pub name: &'static str,
    /// The first version that contains it, major and minor.
    pub since: (u32, u32),
    /// The first later version that does not contain it.
    pub until: Option<(u32, u32)>,
    pub used_for: UsedFor,
    /// The CUDA libraries that it opens by name on first use, from the strings of NVIDIA's files.
    pub opens: &'static [CudaLibrary],
    pub version_symbol: Option<&'static str>,
    /// The function that compares its version with the others. It ends the process if it cannot be loaded.
    pub version_check: Option<&'static str>,
    pub reports_version: bool,
    /// `true` if it contains code for every supported GPU. `engines_precompiled` also has code for GPUs that are no
    /// longer supported.
    pub has_gpu_code: bool,
    pub archive: Option<Archive>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedFor {
    /// A forward convolution.
    Convolution,
    /// A forward convolution, and the graphs that are compiled under `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY`.
    ConvolutionAndJit,
    /// The gradients of a convolution, which programs for inference do not need.
    Training,
    Other,
}

/// A CUDA library that cuDNN opens by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaLibrary {
    /// `libcublas.so.12`
    Cublas,
    /// `libcublasLt.so.12`
    CublasLt,
    /// `libcudart.so.12`
    Cudart,
    /// `libnvrtc.so.12`
    Nvrtc,
}

/// A static library, such as `libcudnn_ops_static_v9.a`.
#[derive(Clone, Copy, Debug)]
pub struct Archive {
    /// Its position among the archives of its major. Each archive comes before the archives that it calls.
    pub link_order: u8,
    /// `true` if nothing can be linked without it.
    pub needed: bool,
}

const MOST_UNKNOWN: usize = 64;

/// The sub-libraries, in the order in which they can be opened: each after those that it is linked to.
pub const ALL: &[SubLibrary] = &[
    of_9("graph", UsedFor::ConvolutionAndJit)
        .with_symbol("cudnn_graph_version")
        .with_check("cudnnGraphVersionCheck")
        .reporting_version()
        .opening(&[CudaLibrary::Nvrtc])
        .with_archive(5),
    of_9("ops", UsedFor::Convolution)
        .with_symbol("cudnn_ops_infer_version")
        .with_check("cudnnOpsVersionCheck")
        .with_gpu_code()
        .with_archive(6),
    of_9("cnn", UsedFor::Convolution)
        .with_check("cudnnCnnVersionCheck")
        .with_gpu_code()
        .with_archive(1),
    of_9("heuristic", UsedFor::Convolution).with_archive(4),
    of_9("engines_precompiled", UsedFor::Convolution)
        .opening(&[CudaLibrary::CublasLt])
        .with_archive(2),
    of_9("engines_runtime_compiled", UsedFor::ConvolutionAndJit)
        .with_gpu_code()
        .with_optional_archive(3),
    // Without it, the first descriptor of a convolution fails with status 1008. It composes the name of its libcudart,
    // and accepts `libcudart.so` too.
    of_9(TENSOR_IR, UsedFor::Convolution)
        .since(9, 21)
        .opening(&[CudaLibrary::Cudart]),
    of_9("adv", UsedFor::Other)
        .with_symbol("cudnn_adv_infer_version")
        .with_check("cudnnAdvVersionCheck")
        .with_gpu_code()
        .with_optional_archive(0),
    of_8("ops_infer", UsedFor::Convolution)
        .with_symbol("cudnn_ops_infer_version")
        .with_check("cudnnOpsInferVersionCheck")
        .reporting_version()
        .opening(&[
            CudaLibrary::Cublas,
            CudaLibrary::CublasLt,
            CudaLibrary::Nvrtc,
        ])
        .with_archive(5),
    of_8("ops_train", UsedFor::Training)
        .with_symbol("cudnn_ops_train_version")
        .with_archive(4),
    of_8("cnn_infer", UsedFor::Convolution)
        .with_symbol("cudnn_cnn_infer_version")
        .with_check("cudnnCnnInferVersionCheck")
        .with_archive(3),
    of_8("cnn_train", UsedFor::Training).with_archive(2),
    of_8("adv_infer", UsedFor::Other)
        .with_symbol("cudnn_adv_infer_version")
        .with_check("cudnnAdvInferVersionCheck")
        .with_optional_archive(1),
    of_8("adv_train", UsedFor::Other).with_optional_archive(0),
];

const fn of_9(name: &'static str, used_for: UsedFor) -> SubLibrary {
    SubLibrary {
        name,
        since: (9, 0),
        until: None,
        used_for,
        opens: &[],
        version_symbol: None,
        version_check: None,
        reports_version: false,
        has_gpu_code: false,
        archive: None,
    }
}

const fn of_8(name: &'static str, used_for: UsedFor) -> SubLibrary {
    SubLibrary {
        since: (8, 0),
        until: Some((9, 0)),
        has_gpu_code: true,
        ..of_9(name, used_for)
    }
}

impl SubLibrary {
    const fn since(mut self, major: u32, minor: u32) -> Self {
        self.since = (major, minor);
        self
    }

    const fn with_symbol(mut self, symbol: &'static str) -> Self {
        self.version_symbol = Some(symbol);
        self
    }

    const fn with_check(mut self, function: &'static str) -> Self {
        self.version_check = Some(function);
        self
    }

    const fn reporting_version(mut self) -> Self {
        self.reports_version = true;
        self
    }

    const fn opening(mut self, libraries: &'static [CudaLibrary]) -> Self {
        self.opens = libraries;
        self
    }

    const fn with_gpu_code(mut self) -> Self {
        self.has_gpu_code = true;
        self
    }

    const fn with_archive(mut self, link_order: u8) -> Self {
        let needed = true;
        self.archive = Some(Archive { link_order, needed });
        self
    }

    /// Adds an archive that no convolution uses, or that some versions do not contain.
    const fn with_optional_archive(mut self, link_order: u8) -> Self {
        let needed = false;
        self.archive = Some(Archive { link_order, needed });
        self
    }

    pub fn is_in(&self, version: Version) -> bool {
        let version = (version.major, version.minor);
        self.since <= version && self.until.is_none_or(|until| version < until)
    }
}

#[cfg(feature = "runtime")]
impl CudaLibrary {
    /// Returns the file name that a cuDNN for this CUDA opens, if it opens this library.
    pub fn file_name(self, cuda: u32, is_windows: bool) -> Option<String> {
        let of_major = |name: &str| {
            if is_windows {
                format!("{name}64_{cuda}.dll")
            } else {
                format!("lib{name}.so.{cuda}")
            }
        };
        Some(match (self, cuda) {
            (CudaLibrary::Cublas, _) => of_major("cublas"),
            (CudaLibrary::CublasLt, _) => of_major("cublasLt"),
            // Up to CUDA 11, the name contains the minor version on Windows.
            (CudaLibrary::Cudart, 11) if is_windows => "cudart64_110.dll".to_string(),
            (CudaLibrary::Cudart, _) => of_major("cudart"),
            (CudaLibrary::Nvrtc, 11) if is_windows => "nvrtc64_112_0.dll".to_string(),
            (CudaLibrary::Nvrtc, 11) => "libnvrtc.so.11.2".to_string(),
            (CudaLibrary::Nvrtc, _) if is_windows => format!("nvrtc64_{cuda}0_0.dll"),
            (CudaLibrary::Nvrtc, _) => of_major("nvrtc"),
        })
    }
}

pub fn find(name: &str) -> Option<&'static SubLibrary> {
    ALL.iter().find(|one| one.name == name)
}

/// Removes files with unknown names after the first 64. A cuDNN consists of about ten files, and a directory may contain
/// any number of others.
pub fn drop_excess<T>(files: &mut Vec<T>, name: impl Fn(&T) -> String) {
    let mut unknown = 0;
    files.retain(|file| {
        let name = name(file);
        let is_known = name.is_empty() || name == "cudnn" || find(&name).is_some();
        unknown += usize::from(!is_known);
        is_known || unknown <= MOST_UNKNOWN
    });
}

/// Returns the sub-libraries that every version of this major contains; none if the major is unknown.
pub fn of_major(major: u32) -> Vec<&'static SubLibrary> {
    of_release(Version::new(major, 0, 0))
}

/// Returns the sub-libraries of this version; none if its major is unknown.
pub fn of_release(version: Version) -> Vec<&'static SubLibrary> {
    let mut found = Vec::new();
    for one in ALL {
        if majors::CUDNN.contains(&version.major) && one.is_in(version) {
            found.push(one);
        }
    }
    found
}

/// A sub-library of 9.21 or later, which 9.20 already opens.
pub const TENSOR_IR: &str = "engines_tensor_ir";

/// Returns `true` if this version opens a sub-library that it does not contain. It uses one from elsewhere if that can
/// be opened, and then rejects it with status 1002.
pub fn opens_absent_part(version: Version) -> bool {
    (version.major, version.minor) == (9, 20)
}

/// Returns the sub-libraries that a forward convolution opens; none if the major is unknown. With `jit_only`, only
/// those that `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY` leaves.
pub fn needed(version: Version, jit_only: bool) -> Vec<&'static str> {
    let mut names = Vec::new();
    for one in of_release(version) {
        let is_for_jit = one.used_for == UsedFor::ConvolutionAndJit;
        if is_for_jit || one.used_for == UsedFor::Convolution && !jit_only {
            names.push(one.name);
        }
    }
    names
}

/// Returns `true` if these are exactly the sub-libraries that `GRAPH_JIT_ONLY` leaves.
pub fn is_jit_only(files: &[(String, PathBuf)]) -> bool {
    let left = needed(Version::new(majors::NEWEST_CUDNN, 0, 0), true);
    let exists = |left: &&str| files.iter().any(|(name, _)| name == left);
    files.len() == left.len() && left.iter().all(exists)
}

/// Returns the words by which a program can declare the sub-libraries that it needs: the names in every known major.
pub fn words() -> Vec<&'static str> {
    let mut words: Vec<&str> = Vec::new();
    for major in majors::CUDNN {
        let first = words.len();
        for SubLibrary { name, .. } in of_major(*major) {
            if !words.contains(name) {
                // A short list needs no `sort`, which is 6 kB of code.
                let mut at = first;
                while words.get(at).is_some_and(|other| other < name) {
                    at += 1;
                }
                words.insert(at, name);
            }
        }
    }
    words
}

/// Returns the sub-library that a word means in a cuDNN of this major: cuDNN 9 has one sub-library in the place of the
/// `_infer` and `_train` sub-libraries of cuDNN 8. `None` if the major has no such sub-library, or is unknown.
pub fn named(word: &str, major: u32) -> Option<String> {
    if !words().contains(&word) {
        return None;
    }
    let stem = word
        .strip_suffix("_infer")
        .or_else(|| word.strip_suffix("_train"));
    let names = of_major(major);
    for spelling in [word, stem.unwrap_or(word), &format!("{word}_infer")] {
        if names.iter().any(|one| one.name == spelling) {
            return Some(spelling.to_string());
        }
    }
    None
}
