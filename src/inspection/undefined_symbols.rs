//! Functions that a program or library requires but that no loaded library defines.

use crate::loader::ldso::LoadGraph;
use crate::model::linkage::{LoadPhase, Object};
use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::elf_imports::Import;
use crate::runtime::binary::elf_symbols::Symbol;
use crate::runtime::facts::{Finding, LibraryName, Severity};
use crate::runtime::loader::cudarc_eager::EagerLookup;
use crate::runtime::system::names::DRIVER_SO;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The shortest common beginning of a function and of the functions of its library: `nccl`.
const SHORTEST_PREFIX: usize = 4;
/// The same in C++: `_ZN5torch`.
const MANGLED_PREFIX: usize = 9;
const NVRTC: &str = "nvrtc";

/// Functions that a file requires and that no loaded file defines.
pub struct Undefined<'a> {
    pub caller: &'a Object,
    /// The loaded library that contains the others of these functions.
    pub library: Option<&'a Object>,
    pub functions: Vec<String>,
    /// `true` if the loader ends the program because of them. Otherwise only a call of one of them does.
    pub ends_program: bool,
    /// `true` if the caller looks them up by name, and fails at that.
    pub is_looked_up: bool,
}

impl Undefined<'_> {
    pub fn is_of_program(&self, graph: &LoadGraph) -> bool {
        let program = graph.objects.first().filter(|_| !graph.is_library());
        program.is_some_and(|program| program.path == self.caller.path)
    }
}

/// Returns the functions that no file of the graph defines. Nothing is known of a graph with a file that cannot be read.
pub fn find(graph: &LoadGraph) -> Vec<Undefined<'_>> {
    search(graph).unwrap_or_default()
}

fn search(graph: &LoadGraph) -> Option<Vec<Undefined<'_>>> {
    let mut files = Vec::new();
    for object in &graph.objects {
        let file = Elf::read(&object.path).ok();
        files.push(file.filter(|_| object.defect.is_none())?);
    }
    let mut imports: BTreeMap<String, Vec<(usize, Import)>> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        for import in file.imports()? {
            let users = imports.entry(import.name.clone()).or_default();
            users.push((index, import));
        }
    }
    for file in &files {
        file.each_symbol(&mut |symbol, name| {
            if symbol.is_defined {
                imports.remove(&name);
            }
        })?;
    }
    let mut found = looked_up(graph, &files);
    let (mut bindings, mut exports) = (BTreeMap::new(), BTreeMap::new());
    for (index, import) in imports.into_values().flatten() {
        let (caller, file) = (graph.objects.get(index)?, files.get(index)?);
        let Ok(library) = library_for(graph, caller, &import, &files, &mut exports) else {
            continue;
        };
        let bound = bindings.entry(index).or_insert_with(|| file.bindings());
        // Linkers also keep the names of functions that are never called.
        let Some(at_start) = bound.get(&import.index) else {
            continue;
        };
        let is_bound = *at_start || graph.is_of_python();
        let ends_program = is_bound && caller.need == LoadPhase::Start;
        let path = |object: Option<&Object>| object.map(|object| object.path.clone());
        let is_known = |one: &&mut Undefined<'_>| {
            one.caller.path == caller.path && path(one.library) == path(library)
        };
        match found.iter_mut().find(is_known) {
            Some(known) => {
                known.functions.push(import.name);
                known.ends_program |= ends_program;
            }
            None => found.push(Undefined {
                caller,
                library,
                functions: vec![import.name],
                ends_program,
                is_looked_up: false,
            }),
        }
    }
    Some(found)
}

/// Returns the loaded library that should define an import, if there is one. Returns an error if a file outside of the
/// graph may define it.
fn library_for<'a>(
    graph: &'a LoadGraph,
    caller: &Object,
    import: &Import,
    files: &[Elf],
    exports: &mut BTreeMap<usize, Vec<String>>,
) -> Result<Option<&'a Object>, ()> {
    let at = |index: usize| Some((graph.objects.get(index)?, files.get(index)?));
    let is_nvidias = |name: &str| name.starts_with("libcudnn");
    // A library that exports nothing is a placeholder, or only loads others.
    let checked = |index| {
        let (object, _) = at(index)
            .filter(|(_, file)| file.has_any() == Some(true))
            .ok_or(())?;
        // The sub-libraries of cuDNN are compared by their versions.
        let is_known = is_nvidias(&caller.name) && is_nvidias(&object.name);
        if is_known { Err(()) } else { Ok(Some(object)) }
    };
    if let Some((name, version)) = import.version.as_deref() {
        // The loader itself is not in the graph.
        let index = graph.loaded(name).ok_or(())?;
        let versions = at(index).map_or(&[][..], |(object, _)| &object.linkage.defined_versions);
        // A library without this version is reported as too old.
        return match versions.is_empty() || versions.contains(version) {
            true => checked(index),
            false => Err(()),
        };
    }
    let is_needed = |name: &String| {
        let mut objects = graph.objects.iter();
        objects.any(|object| object.linkage.needed.contains(name))
    };
    let mut missing = graph.missing.iter().map(|missing| &missing.name);
    if missing.any(|name| name != DRIVER_SO && is_needed(name)) {
        return Err(());
    }
    if let Some(stem) = owner(&import.name) {
        let mut objects = graph.objects.iter();
        let is_owner = |object: &Object| object.name.split(".so").next() == Some(stem);
        return checked(objects.position(is_owner).ok_or(())?);
    }
    // The program that opens a library may define it. Python defines functions whose names begin with `Py`.
    let is_pythons = || import.name.trim_start_matches('_').starts_with("Py");
    if graph.is_library() && (!graph.is_of_python() || is_pythons()) {
        return Err(());
    }
    match like_named(graph, caller, &import.name, files, exports) {
        Some(index) => checked(index),
        // A library that was opened earlier may define it.
        None if graph.is_library() || caller.need != LoadPhase::Start => Err(()),
        None => Ok(None),
    }
}

/// Returns the dependency of a file that contains the function with the most similar name. `exports` are the functions
/// of the files that were read.
fn like_named(
    graph: &LoadGraph,
    caller: &Object,
    function: &str,
    files: &[Elf],
    exports: &mut BTreeMap<usize, Vec<String>>,
) -> Option<usize> {
    let mut longest = match function.starts_with("_Z") {
        true => MANGLED_PREFIX - 1,
        false => SHORTEST_PREFIX - 1,
    };
    let mut best = None;
    for name in &caller.linkage.needed {
        let index = graph.loaded(name);
        let Some((index, object)) = index.and_then(|it| Some((it, graph.objects.get(it)?))) else {
            continue;
        };
        // An import of this library would have a version.
        if !object.linkage.defined_versions.is_empty() {
            continue;
        }
        let read = || {
            let mut names = Vec::new();
            let mut add = |symbol: Symbol, name| names.extend(symbol.is_defined.then_some(name));
            let _ = files.get(index).and_then(|file| file.each_symbol(&mut add));
            names
        };
        for name in exports.entry(index).or_insert_with(read) {
            let pairs = name.bytes().zip(function.bytes());
            let length = pairs.take_while(|(one, other)| one == other).count();
            if length > longest {
                (longest, best) = (length, Some(index));
            }
        }
    }
    best
}

/// Returns the functions of NVRTC that a library looks up by name in an NVRTC for another CUDA version, which it opened
/// by the name without a number.
fn looked_up<'a>(graph: &'a LoadGraph, files: &[Elf]) -> Vec<Undefined<'a>> {
    let mut found = Vec::new();
    let objects = graph.objects.iter().map(|object| &object.name);
    let mut names = objects.chain(graph.missing.iter().map(|missing| &missing.name));
    let cublas = names.find(|name| name.starts_with("libcublasLt.so."));
    let cublas = cublas.map(String::as_str);
    for (object, file) in graph.objects.iter().zip(files) {
        let opener = object.requester.filter(|_| object.name == "libnvrtc.so");
        let opener = opener.and_then(|index| Some((graph.objects.get(index)?, files.get(index)?)));
        let Some((caller, opener)) = opener else {
            continue;
        };
        let major = |name: &str| LibraryName::read(name)?.major();
        let nvrtc = file.soname().as_deref().and_then(major);
        if cublas.and_then(major).is_none() || cublas.and_then(major) == nvrtc {
            continue;
        }
        let constants = opener.rodata().unwrap_or_default();
        let mut names = BTreeSet::new();
        for text in constants.split(|byte| *byte == 0) {
            let name = text.strip_prefix(NVRTC.as_bytes()).unwrap_or_default();
            let starts = name.first().is_some_and(u8::is_ascii_uppercase);
            if starts && name.iter().all(u8::is_ascii_alphanumeric) {
                names.insert(text);
            }
        }
        let functions = file.missing_symbols(names.into_iter());
        if !functions.is_empty() {
            found.push(Undefined {
                caller,
                library: Some(object),
                functions,
                ends_program: false,
                is_looked_up: true,
            });
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
