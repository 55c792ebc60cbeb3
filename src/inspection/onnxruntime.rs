//! The CUDA provider of ONNX Runtime, a plugin in the directory of its library. ONNX Runtime computes on the CPU, and
//! only logs the reason, if the provider does not load.

use crate::Config;
use crate::loader::ldso::LoadGraph;
use crate::loader::main_library::cudnn_major;
use crate::model::candidate::{Cudnn, Found};
use crate::model::linkage::{Format, LoadPhase, Missing};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::system::names::{DRIVER_DLL, DRIVER_SO};
use crate::system::library_file::Binary;
use crate::system::{Host, files};
use std::path::{Path, PathBuf};

/// The variable with the library that the crate ort opens with its feature `load-dynamic`.
const ORT_DYLIB_PATH: &str = "ORT_DYLIB_PATH";

/// The names of ONNX Runtime's files on a system.
struct Names {
    library: &'static str,
    provider: &'static str,
    shared: &'static str,
}

/// A provider that does not load.
pub enum ProviderFault<'a> {
    /// The library through which every provider is loaded is not beside the provider.
    NoShared(&'a Path, &'static str),
    /// Libraries that the loader does not find.
    NoLibraries {
        provider: &'a Path,
        /// The CUDA major that the provider is built for.
        cuda: Option<u32>,
        missing: &'a [Missing],
        /// The directories on this machine that contain missing libraries.
        dirs: Vec<String>,
        /// The CUDA major of this machine's toolkits, if none of them is for that major.
        toolkit: Option<u32>,
        /// The CUDA major of this machine's cuDNN, if none is for that major.
        cudnn: Option<u32>,
        is_dll: bool,
    },
    /// A cuDNN for another CUDA major than the provider.
    OtherCudnn(&'a Path, u32, u32),
}

/// The provider of a program.
pub struct Provider {
    path: PathBuf,
    /// The CUDA major that it is built for, from the number of its cuBLAS.
    cuda: Option<u32>,
    missing: Vec<Missing>,
    names: Names,
    is_dll: bool,
}

/// Finds the provider of this program, and loads it into the graph as the program would. Without the search path where
/// the program runs, no library counts as missing.
pub fn load(graph: &mut LoadGraph, host: &Host, is_path_known: bool) -> Option<Provider> {
    let program = graph.objects.first()?;
    let (format, path) = (program.linkage.format, program.path.clone());
    let is_dll = format == Format::Pe;
    let names = match is_dll {
        false => Names {
            library: "libonnxruntime.so",
            provider: "libonnxruntime_providers_cuda.so",
            shared: "libonnxruntime_providers_shared.so",
        },
        true => Names {
            library: "onnxruntime.dll",
            provider: "onnxruntime_providers_cuda.dll",
            shared: "onnxruntime_providers_shared.dll",
        },
    };
    let is_library = |name: &str| name.to_ascii_lowercase().starts_with(names.library);
    let objects = &graph.objects;
    let linked = objects.iter().position(|object| is_library(&object.name));
    let opener = linked.or_else(|| opened(graph, &path, names.library, host));
    let opener = match opener {
        Some(index) => index,
        // A program that contains ONNX Runtime names the provider.
        None if files::is_file(&path.with_file_name(names.provider)) => {
            contains(&path, names.provider).then_some(0)?
        }
        None => return None,
    };
    let dir = graph.objects.get(opener)?;
    let dir = match is_dll {
        true => dir.path.parent()?.to_path_buf(),
        false => dir.origin.clone(),
    };
    let path = dir.join(names.provider);
    if !files::is_file(&path) {
        return None;
    }
    let before = graph.missing.len();
    let name = match is_dll {
        true => names.provider.to_string(),
        false => format!("$ORIGIN/{}", names.provider),
    };
    let provider = graph.open(&name, opener, LoadPhase::Later)?;
    let mut missing = graph.missing.split_off(before);
    // A missing driver is reported once, with the machine.
    let is_driver = |name: &str| name == DRIVER_SO || name.eq_ignore_ascii_case(DRIVER_DLL);
    missing.retain(|one| is_path_known && !is_driver(&one.name));
    let object = graph.objects.get_mut(provider)?;
    object.name = names.provider.into();
    let mut needed = object.linkage.needed.iter();
    Some(Provider {
        path: object.path.clone(),
        cuda: needed.find_map(|name| cuda_major(name)),
        missing,
        names,
        is_dll,
    })
}

/// Opens the library of a program with the crate ort, which is loaded by its path.
fn opened(graph: &mut LoadGraph, program: &Path, library: &str, host: &Host) -> Option<usize> {
    let is_here = graph.env.view.root.is_none();
    let named = host.env.var(ORT_DYLIB_PATH).filter(|_| is_here);
    let beside = program.with_file_name(library);
    let is_beside = files::is_file(&beside);
    if named.is_none() && !is_beside || !contains(program, ORT_DYLIB_PATH) {
        return None;
    }
    // A relative path is relative to the program, if the file is there.
    let name = match named {
        Some(name) => program.with_file_name(name).display().to_string(),
        None if graph.env.dll_dirs.is_empty() => format!("$ORIGIN/{library}"),
        None => library.into(),
    };
    let before = graph.missing.len();
    let opened = graph.open(&name, 0, LoadPhase::Later);
    if opened.is_none() {
        graph.missing.truncate(before);
    }
    opened
}

/// Returns `true` if the constants of a program contain this word, in one of the encodings of its system.
fn contains(program: &Path, word: &str) -> bool {
    let parts = match Binary::recognize(program) {
        Ok(Binary::Elf(elf)) => elf.constants(u64::MAX).into_iter().collect(),
        Ok(Binary::Pe(pe)) => pe.read_only(),
        Err(_) => Vec::new(),
    };
    let wide: Vec<u8> = word.bytes().flat_map(|byte| [byte, 0]).collect();
    let has = |part: &Vec<u8>| {
        let mut windows = part.windows(wide.len());
        part.windows(word.len()).any(|at| at == word.as_bytes()) || windows.any(|at| at == wide)
    };
    parts.iter().any(has)
}

/// Returns the CUDA major whose cuBLAS has this file name: 12 for `libcublasLt.so.12` and `cublas64_12.dll`.
fn cuda_major(file: &str) -> Option<u32> {
    let file = LibraryName::read(file)?;
    let name = file.name.to_ascii_lowercase();
    let is_cublas = name == "cublas" || name == "cublaslt";
    file.major().filter(|_| is_cublas)
}

impl Provider {
    /// Returns the findings about this provider. `cudnn`: the cuDNN that it loads.
    pub fn findings(&self, cudnn: Option<&Cudnn>, config: &Config, host: &Host) -> Vec<Finding> {
        let mut findings = Vec::new();
        let shared = self.names.shared;
        if !files::is_file(&self.path.with_file_name(shared)) {
            findings.push(ProviderFault::NoShared(&self.path, shared).finding());
        }
        let loaded = cudnn.and_then(|cudnn| cudnn.cuda_major);
        if !self.missing.is_empty() {
            findings.push(self.without_libraries(loaded, config, host));
        } else if let (Some(own), Some(other)) = (self.cuda, loaded) {
            if own != other {
                findings.push(ProviderFault::OtherCudnn(&self.path, own, other).finding());
            }
        }
        findings
    }

    /// Returns the finding for missing libraries, with the places on this machine that have them.
    fn without_libraries(&self, loaded: Option<u32>, config: &Config, host: &Host) -> Finding {
        let survey = config.survey_on(host.clone());
        let mut dirs: Vec<String> = Vec::new();
        let (mut toolkits, mut cudnns) = (Vec::new(), Vec::from_iter(loaded));
        for candidate in survey.report().candidates {
            let (places, major) = match &candidate.found {
                Found::Toolkit(toolkit) => {
                    let major = toolkit.version.map(|version| version.major);
                    toolkits.extend(major);
                    (toolkit.link_dirs.clone(), major)
                }
                Found::Cudnn(cudnn) => {
                    cudnns.extend(cudnn.cuda_major.filter(|_| loaded.is_none()));
                    let dir = cudnn.library.as_deref().and_then(Path::parent);
                    (Vec::from_iter(dir.map(Path::to_path_buf)), cudnn.cuda_major)
                }
            };
            for dir in places.iter().filter(|_| major == self.cuda) {
                let mut missing = self.missing.iter();
                let shown = match host.root.as_deref().map(|root| dir.strip_prefix(root)) {
                    Some(Ok(inside)) => format!("/{}", inside.display()),
                    _ => dir.display().to_string(),
                };
                if missing.any(|one| files::is_file(&dir.join(&one.name))) && !dirs.contains(&shown)
                {
                    dirs.push(shown);
                }
            }
        }
        let misses = |is: fn(&str) -> bool| self.missing.iter().any(|one| is(&one.name));
        let other = |majors: &[u32]| match self.cuda {
            Some(own) if !majors.contains(&own) => majors.first().copied(),
            _ => None,
        };
        let of_toolkit = misses(|name| cuda_major(name).is_some());
        let fault = ProviderFault::NoLibraries {
            provider: &self.path,
            cuda: self.cuda,
            missing: &self.missing,
            dirs,
            toolkit: other(&toolkits).filter(|_| of_toolkit),
            cudnn: other(&cudnns)
                .filter(|_| of_toolkit || misses(|name| cudnn_major(name).is_some())),
            is_dll: self.is_dll,
        };
        fault.finding()
    }
}
