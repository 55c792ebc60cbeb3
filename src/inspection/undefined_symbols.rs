//! Functions that a program calls, and that the library which is there in its place does not have.

use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use std::path::PathBuf;

/// The functions of one library that one file misses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndefinedSymbols {
    /// Who calls them.
    pub caller: PathBuf,
    /// The library, as the loader finds it.
    pub library: PathBuf,
    /// Its name without numbers: `libcuda`.
    pub stem: &'static str,
    /// The functions, the first of them named in the headline.
    pub functions: Vec<String>,
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

impl UndefinedSymbols {
    /// In words. An image may hold a driver over which that of the machine is mounted.
    pub fn finding(&self, is_image: bool) -> Finding {
        let (caller, library) = (self.caller.display(), self.library.display());
        let first = self.functions.first().map_or("", String::as_str);
        let others = self.functions.iter().skip(1).take(MOST_NAMED);
        let finding = if self.stem == "libcuda" {
            let summary = format!(
                "`{caller}` calls {first}, which NVIDIA's driver at `{library}` does not have"
            );
            Finding::error(FindingId::DriverTooOld, summary)
                .help("update NVIDIA's driver")
                .help("or build the program with the CUDA that `nvidia-smi` shows for the driver")
        } else {
            let id = match self.stem {
                "libcudnn" => FindingId::CudnnNotLoadable,
                _ => FindingId::LibraryNotFound,
            };
            let summary = format!("`{caller}` calls {first}, which `{library}` does not have");
            Finding::error(id, summary).help(format!(
                "put the directory of the {} that the program was linked with into LD_LIBRARY_PATH, or install that release",
                self.stem
            ))
        };
        let mut finding = finding.with_lines("also", others);
        if is_image && self.stem == "libcuda" {
            finding.severity = Severity::Warning;
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::facts::version::Version;
    use crate::runtime::loader::cudarc_eager::{EagerLookup, NEWEST};

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

    /// LOD-24
    #[test]
    fn only_a_cudarc_that_looks_all_functions_up_tells_by_its_names() {
        let lookup = b"x\0cuLaunchKernelEx\0cuLogsCurrent\0Expected symbol in library";
        let told = EagerLookup {
            cuda: Version::new(12, 9, 0),
            functions: ["cuLogsCurrent", "cuLaunchKernelEx"]
                .map(String::from)
                .into(),
        };
        assert_eq!(EagerLookup::detect(lookup), Some(told));
        for other in [
            &b"cuLogsCurrent\0Expected function, got error."[..],
            b"cuLogsCurrentExpected symbol in library",
            b"cuLogsCurrent\0Expected symbol in library\0cudaErrorInvalidValue\0",
            b"Expected symbol in library",
            b"",
        ] {
            assert_eq!(EagerLookup::detect(other), None);
        }
        assert_eq!(
            EagerLookup::detect(b"Expected symbol in librarycuGraphGetId\0")
                .unwrap()
                .cuda,
            NEWEST
        );
    }
}
