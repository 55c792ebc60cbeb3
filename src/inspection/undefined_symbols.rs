//! Functions that a program calls but that the loaded library does not have.

use crate::inspection::fault::InspectionFault;
use crate::loader::ldso::LoadGraph;
use crate::model::linkage::{LoadPhase, Object};
use crate::runtime::binary::elf::Elf;
use crate::runtime::facts::{Finding, Severity};
use crate::runtime::loader::cudarc_eager::EagerLookup;
use crate::runtime::system::names::DRIVER_SO;
use crate::toolkit::dependencies::is_of_toolkit;
use std::path::Path;

/// Returns the findings about missing functions of NVIDIA's libraries that the program or a loaded library calls. In an
/// image, the machine's driver may be mounted over the driver in the file.
pub fn findings(graph: &LoadGraph, is_image: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_nvidias = |name: &str| name.starts_with("libcu") || name.starts_with("libnv");
    let at_start = |object: &&Object| object.need == LoadPhase::Start;
    let loaded = || graph.objects.iter().filter(at_start);
    // NVIDIA's own libraries are checked by version.
    for caller in loaded().filter(|object| !is_nvidias(&object.name)) {
        if !caller.linkage.needed.iter().any(|name| is_nvidias(name)) {
            continue;
        }
        let calls = Elf::read(&caller.path).map(|file| file.calls());
        let mut by_owner: Vec<(&'static str, Vec<String>)> = Vec::new();
        for function in calls.unwrap_or_default() {
            let Some(stem) = owner(&function) else {
                continue;
            };
            match by_owner.iter_mut().find(|(known, _)| *known == stem) {
                Some((_, functions)) => functions.push(function),
                None => by_owner.push((stem, vec![function])),
            }
        }
        for (stem, mut functions) in by_owner {
            let Some(library) =
                loaded().find(|object| object.name.split(".so").next() == Some(stem))
            else {
                continue;
            };
            // Libraries are compared by the versions of their functions instead.
            if caller.linkage.soname.is_some() && is_of_toolkit(&library.name) {
                continue;
            }
            // The caller itself defines none of them.
            for object in loaded().filter(|object| object.path != caller.path) {
                let Ok(file) = Elf::read(&object.path) else {
                    // A file that cannot be read may have all functions.
                    functions.clear();
                    break;
                };
                // Most programs export nothing. An NVIDIA library that exports nothing is a placeholder.
                if object.path != library.path && file.has_any() == Some(false) {
                    continue;
                }
                functions = file.missing_symbols(functions.iter().map(|name| name.as_bytes()));
            }
            functions.sort();
            if !functions.is_empty() {
                let new = InspectionFault::UndefinedFunctions;
                found.push(new(caller, library, stem, &functions, is_image).finding());
            }
        }
    }
    found
}

/// Returns the NVIDIA library that a function belongs to, by its name.
fn owner(function: &str) -> Option<&'static str> {
    const OWNERS: [(&str, &str); 10] = [
        ("cudnn", "libcudnn"),
        ("cublasLt", "libcublasLt"),
        ("cublas", "libcublas"),
        ("cufft", "libcufft"),
        ("curand", "libcurand"),
        ("cusolver", "libcusolver"),
        ("cusparse", "libcusparse"),
        ("nvrtc", "libnvrtc"),
        ("cuda", "libcudart"),
        ("cu", "libcuda"),
    ];
    let of = |prefix: &str| {
        let rest = function.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let found = OWNERS.iter().find(|(prefix, _)| of(prefix))?;
    Some(found.1)
}

/// Returns the finding about a cudarc in the program that looks up functions that the driver does not have.
pub fn by_cudarc(
    graph: &mut LoadGraph,
    program: &Path,
    constants: &[u8],
    severity: Severity,
) -> Option<Finding> {
    let lookup = EagerLookup::detect(constants)?;
    let index = graph.open(DRIVER_SO, 0, LoadPhase::Later);
    // A missing driver is reported elsewhere.
    graph
        .missing
        .retain(|missing| missing.name != DRIVER_SO || missing.need != LoadPhase::Later);
    let library = &graph.objects.get(index?)?.path;
    let names = lookup.functions.iter().map(String::as_bytes);
    let missing = Elf::read(library).ok()?.missing_symbols(names);
    lookup.finding(
        Some(program),
        &library.display().to_string(),
        &missing,
        severity,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::facts::Version;
    use crate::runtime::loader::cudarc_eager::{EagerLookup, NEWEST};

    #[test]
    fn a_function_belongs_to_the_library_in_its_prefix() {
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
    fn only_a_cudarc_that_looks_up_all_functions_is_recognized() {
        let lookup = b"x\0cuLaunchKernelEx\0cuLogsCurrent\0Expected symbol in library";
        let expected = EagerLookup {
            cuda: Version::new(12, 9, 0),
            functions: ["cuLogsCurrent", "cuLaunchKernelEx"]
                .map(String::from)
                .into(),
        };
        assert_eq!(EagerLookup::detect(lookup), Some(expected));
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
            EagerLookup::detect(b"Expected symbol in librarycuFuncGetParamCount\0")
                .unwrap()
                .cuda,
            NEWEST
        );
        // cudarc 0.19.4 has the feature `cuda-13020`.
        assert_eq!(NEWEST, Version::new(13, 2, 0));
    }
}
