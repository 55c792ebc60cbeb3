//! cuDNN's sub-libraries: what each is and does, one row for each.

use crate::runtime::facts::majors;
use crate::runtime::facts::version::Version;

/// A sub-library, such as `libcudnn_ops.so.9` or `cudnn_ops64_9.dll`.
#[derive(Clone, Copy, Debug)]
pub struct SubLibrary {
    /// Its name between `libcudnn_` and `.so`.
    pub name: &'static str,
    /// The first release that has it, major and minor.
    pub since: (u32, u32),
    /// The first release that no longer has it.
    pub until: Option<(u32, u32)>,
    /// What cannot be done without it.
    pub used_for: UsedFor,
    /// The CUDA libraries that it opens by name once they are used, read off the strings of NVIDIA's files.
    pub opens: &'static [CudaLibrary],
    /// The data symbol that holds its release.
    pub version_symbol: Option<&'static str>,
    /// The function that checks it against the release of the others. It ends the process if it cannot be loaded.
    pub version_check: Option<&'static str>,
    /// Whether `cudnnGetVersion` returns its release.
    pub tells_release: bool,
    /// Whether it holds code for every GPU that is supported. `engines_precompiled` keeps leftovers for older ones.
    pub has_gpu_code: bool,
    /// Its static archive.
    pub archive: Option<Archive>,
}

/// What a sub-library is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedFor {
    /// A forward convolution.
    Convolution,
    /// A forward convolution, and the graphs that are compiled under `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY`.
    ConvolutionAndJit,
    /// The gradients of a convolution, which programs that only infer do without.
    Training,
    /// Neither.
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
    /// `zlibwapi.dll`
    Zlib,
}

/// `libcudnn_ops_static_v9.a`
#[derive(Clone, Copy, Debug)]
pub struct Archive {
    /// Its place among the archives of its major: each comes before those that it calls.
    pub link_order: u8,
    /// Whether nothing can be linked without it.
    pub needed: bool,
}

/// The compression library that cuDNN 8 for Windows opens and does not bring.
pub const ZLIB: &str = "zlibwapi.dll";

/// Whether this release opens it. cuDNN 9 still names it, and brings the functions along.
pub fn opens_zlib(release: Version) -> bool {
    release.major == 8 && release.minor >= 3
}

/// All of them, in the order in which they can be opened: each after those that it is linked to.
pub const ALL: &[SubLibrary] = &[
    of_9("graph", UsedFor::ConvolutionAndJit)
        .with_symbol("cudnn_graph_version")
        .with_check("cudnnGraphVersionCheck")
        .telling_the_release()
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
    // Without it, the first descriptor of a convolution fails with status 1008. It puts the name of its libcudart
    // together, and takes `libcudart.so` for it.
    of_9("engines_tensor_ir", UsedFor::Convolution)
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
        .telling_the_release()
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
        .opening(&[CudaLibrary::Zlib])
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
        tells_release: false,
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

    const fn telling_the_release(mut self) -> Self {
        self.tells_release = true;
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

    /// Of what no convolution uses, or what some releases do not have as an archive.
    const fn with_optional_archive(mut self, link_order: u8) -> Self {
        let needed = false;
        self.archive = Some(Archive { link_order, needed });
        self
    }

    fn is_in(&self, release: (u32, u32)) -> bool {
        self.since <= release && self.until.is_none_or(|until| release < until)
    }
}

impl CudaLibrary {
    /// The file name by which a cuDNN for this CUDA opens it; none where it does not.
    pub fn file_name(self, cuda: u32, is_windows: bool) -> Option<String> {
        let of_major = |name: &str| match is_windows {
            true => format!("{name}64_{cuda}.dll"),
            false => format!("lib{name}.so.{cuda}"),
        };
        Some(match (self, cuda) {
            (CudaLibrary::Cublas, _) => of_major("cublas"),
            (CudaLibrary::CublasLt, _) => of_major("cublasLt"),
            // On Windows it holds the minor release up to 11.
            (CudaLibrary::Cudart, 11) if is_windows => "cudart64_110.dll".to_string(),
            (CudaLibrary::Cudart, _) => of_major("cudart"),
            (CudaLibrary::Nvrtc, 11) if is_windows => "nvrtc64_112_0.dll".to_string(),
            (CudaLibrary::Nvrtc, 11) => "libnvrtc.so.11.2".to_string(),
            (CudaLibrary::Nvrtc, _) if is_windows => format!("nvrtc64_{cuda}0_0.dll"),
            (CudaLibrary::Nvrtc, _) => of_major("nvrtc"),
            (CudaLibrary::Zlib, _) if is_windows => ZLIB.to_string(),
            (CudaLibrary::Zlib, _) => return None,
        })
    }
}

/// The sub-library of this name.
pub fn find(name: &str) -> Option<&'static SubLibrary> {
    ALL.iter().find(|one| one.name == name)
}

/// The sub-libraries that every release of this major has; none of a major that is not known.
pub fn of_major(major: u32) -> Vec<&'static SubLibrary> {
    of_release(Version::new(major, 0, 0))
}

/// The sub-libraries of this release; none of a major that is not known.
pub fn of_release(release: Version) -> Vec<&'static SubLibrary> {
    let mut found = Vec::new();
    for one in ALL {
        if majors::CUDNN.contains(&release.major) && one.is_in((release.major, release.minor)) {
            found.push(one);
        }
    }
    found
}

/// The sub-libraries that a forward convolution opens; none if the major is not known. With `jit_only`, those that
/// `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY` leaves.
pub fn needed(release: Version, jit_only: bool) -> Vec<&'static str> {
    let mut names = Vec::new();
    for one in of_release(release) {
        match one.used_for {
            UsedFor::ConvolutionAndJit => names.push(one.name),
            UsedFor::Convolution if !jit_only => names.push(one.name),
            _ => {}
        }
    }
    names
}

/// Whether these sub-libraries are those that `GRAPH_JIT_ONLY` leaves, and no others.
pub fn is_jit_only<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let is_jit = |one: &&SubLibrary| one.used_for == UsedFor::ConvolutionAndJit;
    let names: Vec<&str> = names.collect();
    let is_named = |one: &SubLibrary| names.contains(&one.name);
    names.len() == ALL.iter().filter(is_jit).count() && ALL.iter().filter(is_jit).all(is_named)
}

/// The words by which a program can say which sub-libraries it needs: the names in every known major.
pub fn words() -> Vec<&'static str> {
    let mut words: Vec<&str> = Vec::new();
    for major in majors::CUDNN {
        let mut names: Vec<&str> = Vec::new();
        for one in of_major(*major) {
            if !words.contains(&one.name) {
                names.push(one.name);
            }
        }
        names.sort_unstable();
        words.append(&mut names);
    }
    words
}

/// The sub-library that a word means in a cuDNN of this major: 9 has one where 8 has one to infer and one to train. None
/// if that major has no such sub-library, or is not known.
pub fn named(word: &str, major: u32) -> Option<String> {
    if !words().contains(&word) {
        return None;
    }
    let stem = word
        .strip_suffix("_infer")
        .or_else(|| word.strip_suffix("_train"));
    let spellings = [
        word.to_string(),
        stem.unwrap_or(word).to_string(),
        format!("{word}_infer"),
    ];
    let names = of_major(major);
    let is_there = |spelling: &String| names.iter().any(|one| one.name == spelling);
    spellings
        .iter()
        .find(|spelling| is_there(spelling))
        .cloned()
}
