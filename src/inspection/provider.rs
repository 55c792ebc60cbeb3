//! The CUDA provider of ONNX Runtime, which is a plugin beside its library, and the CUDA part of libtorch. If the
//! provider does not load, ONNX Runtime computes on the CPU and only logs the reason.

use crate::loader::{LoadGraph, linkage};
use crate::model::{Candidate, Cudnn, Found, LoadPhase, Missing};
use crate::runtime::binary::{Elf, contains};
use crate::runtime::facts::{Finding, cudnn_file};
use crate::runtime::install::onnxruntime::{cuda_major, file_name};
use crate::runtime::system::{DRIVER_DLL, DRIVER_SO};
use crate::system::{Host, Sysroot, files};
use std::path::{Path, PathBuf};

/// The variable for the library that the crate ort opens with its feature `load-dynamic`.
pub const ORT_DYLIB_PATH: &str = "ORT_DYLIB_PATH";

/// The provider of a program, or the CUDA part of libtorch.
pub struct Provider {
    pub path: PathBuf,
    pub is_dll: bool,
    pub is_torch: bool,
    /// The CUDA major that it is built for, from the number of its cuBLAS.
    pub cuda: Option<u32>,
    /// `true` if it is not linked with cuDNN, but opens it when an operation needs it.
    pub opens_cudnn: bool,
    /// The libraries that the provider needs but that the loader does not find.
    pub missing: Vec<Missing>,
}

/// The reason why a provider does not load.
pub enum ProviderFault {
    /// A missing library, through which the provider is loaded.
    NoShared(String),
    /// A cuDNN for this different CUDA major.
    OtherCudnn(u32),
    /// Missing libraries: the directories of this machine that contain some of them, `true` if these contain all, and
    /// the CUDA majors of the machine's toolkits and cuDNN, if none is the provider's.
    NoLibraries(Vec<PathBuf>, bool, Option<u32>, Option<u32>),
}

/// Finds the provider of this program, and loads it into the graph as the program would. If the search path on the
/// system that runs the program is unknown, no library counts as missing.
pub fn load(graph: &mut LoadGraph, host: &Host, is_path_known: bool) -> Option<Provider> {
    let program = graph.objects.first()?;
    let (is_dll, path) = (program.linkage.is_pe, program.path.clone());
    let provider = file_name("_providers_cuda", is_dll);
    let library = file_name("", is_dll);
    let is_library = |name: &str| name.to_ascii_lowercase().starts_with(&library);
    let linked = graph.objects.iter().position(|it| is_library(&it.name));
    let variable = host.env.var(ORT_DYLIB_PATH);
    let named = variable.filter(|_| graph.path.system.root.is_none());
    let named = named.map(|named| path.with_file_name(named));
    let is_beside = named.is_none() && files::is_file(&path.with_file_name(&library));
    let opener = match (linked, named.filter(|named| files::is_file(named))) {
        (Some(index), _) => index,
        (None, Some(named)) if linkage::mentions(&path, ORT_DYLIB_PATH) => {
            graph.open(&named.display().to_string(), 0, LoadPhase::Later)?
        }
        // The program contains ONNX Runtime, or opens the library beside it.
        _ if files::is_file(&path.with_file_name(&provider)) => {
            let is_opened = is_beside && linkage::mentions(&path, ORT_DYLIB_PATH);
            (is_opened || linkage::mentions(&path, &provider)).then_some(0)?
        }
        _ => return None,
    };
    let origin = if is_dll { "" } else { "$ORIGIN/" };
    let mut provider = open(graph, origin, &provider, opener)?;
    // The program may open the libraries that it names before the provider.
    let is_opened = |it: &Missing| linkage::mentions(&path, &it.name);
    let missing = &mut provider.missing;
    missing.retain(|it| is_path_known && !is_opened(it));
    Some(provider)
}

/// Opens this provider in the graph, and the cuDNN that it opens if it is not linked with one.
pub fn open(graph: &mut LoadGraph, dir: &str, name: &str, opener: usize) -> Option<Provider> {
    let before = graph.missing.len();
    let Some(opened) = graph.open(&format!("{dir}{name}"), opener, LoadPhase::Later) else {
        graph.missing.truncate(before);
        return None;
    };
    let object = graph.objects.get_mut(opened)?;
    object.name = name.to_string();
    let (path, linkage) = (object.path.clone(), object.linkage.clone());
    let mut needed = linkage.needed.iter();
    let is_linked = needed.any(|it| it.starts_with("libcudnn.so."));
    // It composes the name of cuDNN's library, and is too large to be read as a whole.
    let constants = Elf::read(&path).ok().and_then(|elf| elf.rodata());
    let mut constants = constants.iter().filter(|_| !is_linked);
    let opens_cudnn = constants.any(|it| contains(it, b'c', b"udnn_frontend"));
    if opens_cudnn {
        graph.open(&cudnn_file("", 9, false), opened, LoadPhase::Later);
    }
    let mut missing = graph.missing.split_off(before);
    // A missing driver is reported once, with the machine.
    let is_driver = |name: &str| name == DRIVER_SO || name.eq_ignore_ascii_case(DRIVER_DLL);
    missing.retain(|one| !is_driver(&one.name));
    Some(Provider {
        is_dll: linkage.is_pe,
        is_torch: name.contains("torch_cuda."),
        cuda: linkage.needed.iter().find_map(|name| cuda_major(name)),
        opens_cudnn,
        missing,
        path,
    })
}

impl Provider {
    /// Returns `true` if the provider loads, but its operations that need cuDNN fail.
    pub fn is_without_cudnn(&self) -> bool {
        let is_cudnn = |it: &Missing| it.name.starts_with("libcudnn.so.");
        self.opens_cudnn && !self.missing.is_empty() && self.missing.iter().all(is_cudnn)
    }

    /// Returns the findings about this provider. `cudnn` is the cuDNN that it loads, and `candidates` are the
    /// installations that a build would find.
    pub fn findings(
        &self,
        cudnn: Option<&Cudnn>,
        candidates: &dyn Fn() -> Vec<Candidate>,
        sysroot: Sysroot,
    ) -> Vec<Finding> {
        let mut faults = Vec::new();
        let shared = file_name("_providers_shared", self.is_dll);
        if !self.is_torch && !files::is_file(&self.path.with_file_name(&shared)) {
            faults.push(ProviderFault::NoShared(shared));
        }
        let loaded = cudnn.and_then(|cudnn| cudnn.cuda_major);
        if !self.missing.is_empty() {
            faults.push(self.without_libraries(loaded, candidates(), sysroot));
        } else if self.cuda.is_some() && self.cuda != loaded {
            faults.extend(loaded.map(ProviderFault::OtherCudnn));
        }
        faults.iter().map(|fault| fault.finding(self)).collect()
    }

    /// Returns the fault of missing libraries, with the places on this machine that contain them.
    fn without_libraries(
        &self,
        loaded: Option<u32>,
        candidates: Vec<Candidate>,
        sysroot: Sysroot,
    ) -> ProviderFault {
        let mut dirs: Vec<PathBuf> = Vec::new();
        let (mut toolkits, mut cudnns) = (Vec::new(), Vec::from_iter(loaded));
        for candidate in candidates {
            let (places, major) = match candidate.found {
                Found::Toolkit(toolkit) => {
                    let major = toolkit.version.map(|version| version.major);
                    toolkits.extend(major);
                    (toolkit.link_dirs, major)
                }
                Found::Cudnn(cudnn) => {
                    cudnns.extend(cudnn.cuda_major.filter(|_| loaded.is_none()));
                    let dir = cudnn.library.as_deref().and_then(Path::parent);
                    (Vec::from_iter(dir.map(PathBuf::from)), cudnn.cuda_major)
                }
            };
            dirs.extend(places.into_iter().filter(|_| major == self.cuda));
        }
        let missing = &self.missing;
        let has = |dir: &PathBuf, it: &Missing| files::is_file(&dir.join(&it.name));
        dirs.retain(|dir| missing.iter().any(|it| has(dir, it)));
        let mut missing = missing.iter();
        let has_all = missing.all(|it| dirs.iter().any(|dir| has(dir, it)));
        let dirs = files::dedup(dirs.iter().map(|dir| sysroot.inside(dir)));
        let is_cuda = self.missing.iter().any(|it| cuda_major(&it.name).is_some());
        let other = |majors: &[u32]| match self.cuda {
            Some(own) if is_cuda && !majors.contains(&own) => majors.first().copied(),
            _ => None,
        };
        ProviderFault::NoLibraries(dirs, has_all, other(&toolkits), other(&cudnns))
    }
}
