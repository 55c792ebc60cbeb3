//! What the DLLs of cuDNN need besides each other: error 126 on Windows names the one that needs, never the one that
//! is not there.

use crate::cudnn::consistency::{file_name, missing_parts};
use crate::model::candidate::Cudnn;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::sub_libraries;
use std::path::PathBuf;

/// What was looked for beside a cuDNN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DllDependencies {
    /// Where was looked, apart from PATH and the toolkit.
    pub places: Vec<PathBuf>,
    /// Whether the compression library that cuDNN 8 opens is nowhere.
    pub lacks_zlib: bool,
    /// It, and its processor, where that is another one than cuDNN's.
    pub foreign_zlib: Option<(PathBuf, &'static str)>,
    /// What import tables name and is nowhere.
    pub missing_dlls: Vec<MissingDll>,
    /// Whether PATH is that of the system where the program runs.
    pub path_known: bool,
}

/// A DLL that is nowhere, and the part that needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingDll {
    /// The part.
    pub part: PathBuf,
    /// The DLL's file name.
    pub dll: String,
}

/// Whether a DLL is one that CUDA, cuDNN or their user has to bring. Windows' own are nobody's to judge.
pub fn is_judged(dll: &str) -> bool {
    let name = dll.to_ascii_lowercase();
    let brought = [
        "cublas",
        "cudart",
        "cudnn",
        "nvjitlink",
        "nvrtc",
        "zlibwapi",
    ];
    brought.iter().any(|start| name.starts_with(start))
}

/// Whether it opens `zlibwapi.dll`.
pub fn opens_zlib(cudnn: &Cudnn) -> bool {
    let version = cudnn.library_version.or(cudnn.header_version);
    version.is_some_and(sub_libraries::opens_zlib)
}

/// Says what is nowhere. The program may bring it along itself: warnings, and notes where PATH is not known.
pub fn findings(cudnn: &Cudnn, dll_dependencies: &DllDependencies) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(zlib(cudnn, dll_dependencies));
    findings.extend(foreign_zlib(cudnn, dll_dependencies));
    let needed = missing_parts(cudnn);
    // That a part is lacking which a convolution needs is said already.
    let new = dll_dependencies
        .missing_dlls
        .iter()
        .filter(|one| !needed.contains(&one.dll));
    let (own, others): (Vec<_>, Vec<_>) = new.partition(|one| one.dll.starts_with("cudnn"));
    findings.extend(own_parts(cudnn, &own, dll_dependencies));
    findings.extend(of_cuda(cudnn, &others, dll_dependencies));
    findings
}

fn zlib(cudnn: &Cudnn, dll_dependencies: &DllDependencies) -> Option<Finding> {
    if !dll_dependencies.lacks_zlib {
        return None;
    }
    let version = cudnn.version()?;
    let summary = format!(
        "cuDNN {version} for Windows opens `zlibwapi.dll`, which does not come with it, and none was found"
    );
    let dir = dll_dependencies.places.first()?.display();
    let finding = dll_dependencies.finding(FindingId::CudnnNotLoadable, summary);
    Some(
        finding
            .help(format!(
                "put the `zlibwapi.dll` that NVIDIA's installation guide for cuDNN 8 leads to into `{dir}`"
            ))
            .help("or move to cuDNN 9, which does without"),
    )
}

/// cuDNN says of it "Could not load library zlibwapi.dll. Error code 193."
fn foreign_zlib(cudnn: &Cudnn, dll_dependencies: &DllDependencies) -> Option<Finding> {
    let (path, cpu) = dll_dependencies.foreign_zlib.as_ref()?;
    let (version, path) = (cudnn.version()?, path.display());
    let summary = format!(
        "`{path}`, which cuDNN {version} opens, is for {cpu}: Windows calls that error 193"
    );
    let finding = dll_dependencies.finding(FindingId::WrongArchitecture, summary);
    Some(finding.help(format!(
        "put the `zlibwapi.dll` for 64 bits that NVIDIA's installation guide for cuDNN 8 leads to in the place of `{path}`"
    )))
}

fn own_parts(
    cudnn: &Cudnn,
    missing_dlls: &[&MissingDll],
    dll_dependencies: &DllDependencies,
) -> Option<Finding> {
    let main_library = file_name(cudnn.library.as_deref()?);
    let finding = dll_dependencies.needs(FindingId::PartsMissing, missing_dlls)?;
    let dir = dll_dependencies.places.first()?.display();
    Some(finding.help(format!(
        "copy every `cudnn*.dll` file of the release of `{main_library}` to `{dir}`"
    )))
}

fn of_cuda(
    cudnn: &Cudnn,
    missing_dlls: &[&MissingDll],
    dll_dependencies: &DllDependencies,
) -> Option<Finding> {
    let finding = dll_dependencies.needs(FindingId::CudnnNotLoadable, missing_dlls)?;
    let major = cudnn.cuda_major;
    let toolkit = major.map_or_else(|| "the CUDA".into(), |major| format!("the CUDA {major}"));
    Some(
        finding
            .help("put the directory that holds it on PATH where the program runs")
            .help(format!(
                "or install {toolkit} that this cuDNN was built for, or copy the file beside the program"
            )),
    )
}

impl DllDependencies {
    fn needs(&self, id: FindingId, missing_dlls: &[&MissingDll]) -> Option<Finding> {
        let first = missing_dlls.first()?;
        let needs = |one: &MissingDll| format!("{} needs {}", file_name(&one.part), one.dll);
        let summary = format!(
            "`{}` needs `{}`, which is not where Windows looks for it",
            file_name(&first.part),
            first.dll
        );
        let all = missing_dlls.iter().filter(|_| missing_dlls.len() > 1);
        Some(
            self.finding(id, summary)
                .with_lines("lacking", all.map(|one| needs(one))),
        )
    }

    fn finding(&self, id: FindingId, summary: String) -> Finding {
        let severity = match self.path_known {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let places = self.places.iter().map(|dir| dir.display().to_string());
        let path = self.path_known.then(|| "PATH".to_string());
        Finding::new(id, severity, summary).with_lines("looked in", places.chain(path))
    }
}
