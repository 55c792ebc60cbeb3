//! The libraries that the cudarc of a program opens, and the functions that it looks up in them.

use crate::compat;
use crate::inspection::preflight::PreflightInput;
use crate::loader::LoadGraph;
use crate::model::{LoadPhase, Object};
use crate::runtime::binary::{after, contains};
use crate::runtime::facts::{Built, Finding, Loader, Severity, Version};
use crate::runtime::loader::EagerLookup;
use crate::runtime::loader::file_name::opened_names;
use crate::runtime::system::DRIVER_SO;
use crate::system::Binary;
use std::path::Path;

/// The libraries that modules of cudarc open. Their functions begin with these names, too.
const LIBRARIES: [&str; 9] = [
    "cublas", "cublasLt", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nccl", "nvrtc",
];

/// Beginnings of functions of other libraries.
const OTHERS: [&str; 3] = ["cublasLt", "cusolverMg", "cuFile"];

/// Returns the read-only data of a program.
pub fn constants(program: &Path) -> Vec<u8> {
    match Binary::recognize(program) {
        Ok(Binary::Elf(elf)) => elf.rodata().unwrap_or_default(),
        Ok(Binary::Pe(pe)) => pe.read_only().concat(),
        Err(_) => Vec::new(),
    }
}

/// Returns the record that a guard would have, for a program with a cudarc that opens libraries itself.
pub fn cudarc(constants: &[u8]) -> Option<Built> {
    let lookup = EagerLookup::detect(constants);
    // A part of its message about a library that it cannot open.
    let words = b"hared library - searched for library names: ";
    if lookup.is_none() && !contains(constants, b's', words) {
        return None;
    }
    let path = after(constants, b'c', b"udarc-").unwrap_or_default();
    let version = path.split(|byte| !b".0123456789".contains(byte)).next();
    let version = version.and_then(|text| std::str::from_utf8(text).ok());
    Some(Built {
        loader: Loader::Cudarc,
        cudarc: version.and_then(Version::parse),
        cuda: lookup.and_then(|lookup| lookup.cuda),
        ..Built::default()
    })
}

/// Returns `true` if a cudarc opens this library: functions that panic contain the name of their source file.
pub fn opens(constants: &[u8], library: &str) -> bool {
    let module = library.to_lowercase();
    let has = |path: String| contains(constants, b's', path.as_bytes());
    has(format!("rc/{module}/sys/")) || has(format!("rc\\{module}\\sys\\"))
}

/// Opens the libraries of this cudarc, and returns the findings about functions that they do not contain. A program
/// without a guard may never use them.
pub fn findings(
    graph: &mut LoadGraph,
    input: &PreflightInput,
    constants: &[u8],
    cudarc: &Built,
) -> Vec<Finding> {
    let missing = |object: &Object, prefix| missing(object, prefix, input, constants);
    let driver = graph.would_open(DRIVER_SO, 0);
    let mut findings = Vec::new();
    findings.extend(driver.as_ref().and_then(|driver| missing(driver, "cu")));
    for library in LIBRARIES {
        if !opens(constants, library) {
            continue;
        }
        let mut names = opened_names(cudarc);
        for name in &mut names {
            *name = name.replacen("cudnn", library, 1);
            if graph.is_windows() {
                *name = name.trim_start_matches("lib").replacen(".so", ".dll", 1);
            }
        }
        let before = graph.missing.len();
        let mut tried = names.iter();
        let opened = tried.find_map(|name| graph.open(name, 0, LoadPhase::Later));
        // A missing cuDNN is reported elsewhere. Without a driver, the program may not use CUDA.
        let is_expected = input.root.is_some() || driver.is_some();
        let is_reported = is_expected && opened.is_none() && library.starts_with("cublas");
        let major = cudarc.cuda.map_or(0, |cuda| cuda.major);
        let reported = format!("lib{library}.so.{major}");
        let mut added = graph.missing.split_off(before);
        added.retain(|one| !names.contains(&one.name) || is_reported && one.name == reported);
        graph.missing.append(&mut added);
        let opened = opened.and_then(|at| graph.objects.get(at));
        findings.extend(opened.and_then(|object| missing(object, library)));
    }
    findings
}

/// Returns the finding about functions with this prefix that the program looks up at once and a file does not contain.
fn missing(
    object: &Object,
    prefix: &str,
    input: &PreflightInput,
    constants: &[u8],
) -> Option<Finding> {
    let lookup = EagerLookup::detect(constants)?;
    let file = Binary::recognize(&object.path).ok()?;
    if prefix == "cu" {
        // The other names may be those of other libraries.
        let newest = lookup.functions.iter().map(String::as_bytes);
        file.missing_symbols(newest).first()?;
    }
    let mut missing = file.missing_symbols(functions(constants, prefix).into_iter());
    let mut from = lookup.cuda;
    if prefix == "cudnn" {
        // A guard in the program looks up functions of other versions, too.
        let mut rows = compat::introduced();
        rows.retain(|(name, _)| missing.iter().any(|missing| missing == name));
        missing.retain(|missing| rows.iter().any(|(name, _)| name == missing));
        from = rows.into_iter().map(|(_, version)| version).max();
    }
    // An image gets its machine's driver.
    let is_replaced = prefix == "cu" && input.root.is_some();
    let is_used = input.guards.iter().any(|one| one.loader == Loader::Cudarc);
    let severity = Severity::error_if(is_used && !is_replaced);
    let (program, path) = (&input.program, object.path.display().to_string());
    let finding = lookup.finding(Some(program), (&path, prefix), &missing, severity, from)?;
    Some(finding.with_some("found via", object.via.as_ref()))
}

/// Returns the names of functions with this prefix in alphabetical order, in which cudarc looks them up.
pub fn functions<'c>(constants: &'c [u8], prefix: &str) -> Vec<&'c [u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_function = |name: &&[u8]| {
        let rest = name.strip_prefix(prefix.as_bytes()).unwrap_or_default();
        let mut others = OTHERS.iter().filter(|other| !prefix.starts_with(*other));
        rest.first().is_some_and(u8::is_ascii_uppercase)
            && rest.iter().all(is_part)
            && !others.any(|other| name.starts_with(other.as_bytes()))
    };
    let names = constants.split(|byte| *byte == 0);
    let mut names: Vec<&[u8]> = names.filter(is_function).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::loader::cudarc_eager::NEWEST;

    #[test]
    fn only_a_cudarc_that_looks_up_all_functions_is_recognized() {
        let lookup = b"x\0cuLaunchKernelEx\0cuLogsCurrent\0Expected symbol in library";
        let expected = EagerLookup {
            cuda: Some(Version::new(12, 9, 0)),
            functions: ["cuLogsCurrent", "cuLaunchKernelEx"]
                .map(String::from)
                .into(),
        };
        assert_eq!(EagerLookup::detect(lookup), Some(expected));
        for other in [&b"cuLogsCurrent\0Expected function, got error."[..], b""] {
            assert_eq!(EagerLookup::detect(other), None);
        }
        // The names may be those of libcudart, or of no function.
        for other in [
            &b"cuLogsCurrentExpected symbol in library"[..],
            b"cuLogsCurrent\0Expected symbol in library\0cudaErrorInvalidValue\0",
            b"Expected symbol in library",
        ] {
            let found = EagerLookup::detect(other).unwrap();
            assert_eq!((found.cuda, &found.functions[..]), (None, &[][..]));
        }
        assert_eq!(
            EagerLookup::detect(b"Expected symbol in librarycuFuncGetParamCount\0")
                .unwrap()
                .cuda,
            Some(NEWEST)
        );
        // cudarc 0.19.4 has the feature `cuda-13020`.
        assert_eq!(NEWEST, Version::new(13, 2, 0));
    }

    #[test]
    fn a_function_belongs_to_the_library_of_its_prefix() {
        let constants =
            b"cublasLtCreate\0cublasCreate_v2\0cuFileOpen\0cuInit\0cublas\0cublasAxpyEx\0\
            cublasCreate_v2\0xcublasScal\0cublasX is missing\0cudaMalloc\0cublasEnd";
        let names = |prefix| {
            let names = functions(constants, prefix).into_iter();
            let names = names.map(|name| std::str::from_utf8(name).unwrap());
            names.collect::<Vec<_>>()
        };
        assert_eq!(
            names("cublas"),
            ["cublasAxpyEx", "cublasCreate_v2", "cublasEnd"]
        );
        assert_eq!(names("cublasLt"), ["cublasLtCreate"]);
        assert_eq!(names("cu"), ["cuInit"]);
    }

    #[test]
    fn the_version_and_the_libraries_are_in_the_paths_of_its_sources() {
        let words = b"\0shared library - searched for library names: \0";
        assert_eq!(cudarc(&words[2..]), None);
        let linux = [&words[..], b"/cudarc-0.19.5/src/cublaslt/sys/mod.rs\0"].concat();
        let windows = [
            &words[..],
            br"C:\x\cudarc-0.12.1\src\cudnn\sys\sys_12050.rs",
        ]
        .concat();
        for (constants, version, library) in [
            (&linux, Some(Version::new(0, 19, 5)), "cublasLt"),
            (&windows, Some(Version::new(0, 12, 1)), "cudnn"),
            (&words.to_vec(), None, ""),
        ] {
            assert_eq!(cudarc(constants).unwrap().cudarc, version);
            let mut opened = LIBRARIES.to_vec();
            opened.retain(|one| opens(constants, one));
            assert_eq!(opened.concat(), library);
        }
    }
}
