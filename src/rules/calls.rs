//! Functions that a program calls, and that the library which is there in its place does not have.

use crate::model::finding::{Finding, Severity};
use crate::model::version::Version;
use std::path::PathBuf;

/// The functions of one library that one file misses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// Who calls them.
    pub caller: PathBuf,
    /// How it comes to them.
    pub how: How,
    /// The library, as the loader finds it.
    pub library: PathBuf,
    /// Its name without numbers: `libcuda`.
    pub stem: &'static str,
    /// The functions, the first of them named in the headline.
    pub functions: Vec<String>,
}

/// How a file comes to a function of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is linked with it.
    Linked,
    /// cudarc looks all functions of this CUDA up when it first uses the driver, and panics for want of one.
    Cudarc(Version),
}

/// More of them tell nothing more.
const MOST_NAMED: usize = 8;

/// The library that a function belongs to, by its name; none for what is not NVIDIA's.
pub fn owner(function: &str) -> Option<&'static str> {
    const OWNERS: [(&str, &str); 9] = [
        ("cudnn", "libcudnn"),
        ("cublasLt", "libcublasLt"),
        ("cublas", "libcublas"),
        ("cufft", "libcufft"),
        ("curand", "libcurand"),
        ("cusolver", "libcusolver"),
        ("cusparse", "libcusparse"),
        ("nvrtc", "libnvrtc"),
        ("cuda", "libcudart"),
    ];
    let of = |prefix: &str| {
        let rest = function.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let found = OWNERS.iter().find(|(prefix, _)| of(prefix));
    found
        .map(|(_, library)| *library)
        .or(of("cu").then_some("libcuda"))
}

/// The first function that came with each release of CUDA, and that cudarc has since then.
const FIRST: &[(Version, &str)] = &[
    (Version::new(11, 6, 0), "cuGraphNodeGetEnabled"),
    (Version::new(11, 7, 0), "cuModuleGetLoadingMode"),
    (Version::new(11, 8, 0), "cuLaunchKernelEx"),
    (Version::new(12, 0, 0), "cuCtxGetId"),
    (Version::new(12, 1, 0), "cuCoredumpGetAttribute"),
    (Version::new(12, 2, 0), "cuGraphAddNode"),
    (Version::new(12, 3, 0), "cuFuncGetName"),
    (Version::new(12, 4, 0), "cuCtxFromGreenCtx"),
    (Version::new(12, 5, 0), "cuCtxRecordEvent"),
    (Version::new(12, 8, 0), "cuMemcpyBatchAsync"),
    (Version::new(12, 9, 0), "cuLogsCurrent"),
    (Version::new(13, 0, 0), "cuGreenCtxGetId"),
    (Version::new(13, 1, 0), "cuGraphGetId"),
];

/// What a cudarc from 0.15 to 0.18 with dynamic loading looks up, by the constants of a program: the newest release
/// whose functions are among them, and those functions. Earlier ones and later ones do without what is not called. A
/// program that holds a CUDA runtime has the same names from there, and tells nothing.
pub fn of_cudarc(constants: &[u8]) -> Option<(Version, Vec<String>)> {
    let text = String::from_utf8_lossy(constants);
    if !text.contains("Expected symbol in library") || text.contains("\0cudaErrorInvalidValue\0") {
        return None;
    }
    let named: Vec<&(Version, &str)> = FIRST
        .iter()
        .filter(|(_, name)| text.contains(&format!("{name}\0")))
        .collect();
    let newest = named.last()?.0;
    let names = named.iter().rev().map(|(_, name)| (*name).to_string());
    Some((newest, names.collect()))
}

impl Lacking {
    /// In words. An image may hold a driver over which that of the machine is mounted.
    pub fn finding(&self, is_image: bool) -> Finding {
        let (caller, library) = (self.caller.display(), self.library.display());
        let first = self.functions.first().map_or("", String::as_str);
        let others = self.functions.iter().skip(1).take(MOST_NAMED);
        let others: Vec<&str> = others.map(String::as_str).collect();
        let finding = match (self.stem, self.how) {
            (_, How::Cudarc(cuda)) => Finding::warning(
                "driver-too-old",
                format!(
                    "the cudarc of `{caller}` looks up {first}, which NVIDIA's driver at `{library}` does not have, and \
                     panics when it first uses the driver"
                ),
            )
            .with("made for", format!("CUDA {}", cuda.short())),
            ("libcuda", How::Linked) => Finding::error(
                "driver-too-old",
                format!("`{caller}` calls {first}, which NVIDIA's driver at `{library}` does not have"),
            ),
            ("libcudnn", How::Linked) => Finding::error(
                "cudnn-not-loadable",
                format!("`{caller}` calls {first}, which `{library}` does not have"),
            ),
            (_, How::Linked) => Finding::error(
                "library-not-found",
                format!("`{caller}` calls {first}, which `{library}` does not have"),
            ),
        };
        let mut finding = if others.is_empty() {
            finding
        } else {
            finding.with("also", others.join("\n"))
        };
        if is_image && self.stem == "libcuda" {
            finding.severity = Severity::Warning;
        }
        match (self.stem, self.how) {
            (_, How::Cudarc(_)) => finding
                .help("update NVIDIA's driver")
                .help("or build the program with the `cuda-` feature of cudarc that `nvidia-smi` shows for the driver")
                .help("or build it with cudarc 0.19 or later, which looks up what is called alone"),
            ("libcuda", How::Linked) => finding
                .help("update NVIDIA's driver")
                .help("or build the program with the CUDA that `nvidia-smi` shows for the driver"),
            (stem, How::Linked) => finding.help(format!(
                "put the directory of the {stem} that the program was linked with into LD_LIBRARY_PATH, or install that release"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_belongs_to_the_library_that_its_name_begins_with() {
        for (function, library) in [
            ("cuLogsCurrent", Some("libcuda")),
            ("cudaMalloc", Some("libcudart")),
            ("cudnnCreate", Some("libcudnn")),
            ("cublasLtMatmul", Some("libcublasLt")),
            ("cublasCreate_v2", Some("libcublas")),
            ("nvrtcGetNVVM", Some("libnvrtc")),
            ("curl_easy_init", None),
            ("customary", None),
            ("malloc", None),
        ] {
            assert_eq!(owner(function), library, "{function}");
        }
    }

    #[test]
    fn only_a_cudarc_that_looks_all_functions_up_tells_by_its_names() {
        let eager = b"\0cuLaunchKernelEx\0cuLogsCurrent\0Expected symbol in library";
        let names = ["cuLogsCurrent", "cuLaunchKernelEx"].map(String::from);
        let told = Some((Version::new(12, 9, 0), names.to_vec()));
        assert_eq!(of_cudarc(eager), told);
        assert_eq!(
            of_cudarc(b"cuLogsCurrent\0Expected function, got error."),
            None
        );
        // A Rust string that is no C string is no name that is looked up.
        assert_eq!(of_cudarc(b"cuLogsCurrentExpected symbol in library"), None);
        let with_runtime = [eager, &b"\0cudaErrorInvalidValue\0"[..]].concat();
        assert_eq!(of_cudarc(&with_runtime), None);
    }
}
