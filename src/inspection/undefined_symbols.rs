//! Functions that a program or library requires but that no loaded library defines.

use crate::inspection::looked_up::functions;
use crate::loader::LoadGraph;
use crate::model::{LoadPhase, Object};
use crate::runtime::binary::elf_imports::Import;
use crate::runtime::binary::{Elf, Symbol};
use crate::runtime::facts::LibraryName;
use crate::runtime::system::DRIVER_SO;
use std::collections::BTreeMap;

/// The shortest common beginning of a function and of the other functions of its library: `nccl`.
const SHORTEST_PREFIX: usize = 4;

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
    let intact = graph.objects.iter().filter(|one| one.defect.is_none());
    let files: Vec<Elf> = intact.filter_map(|one| Elf::read(&one.path).ok()).collect();
    if files.len() < graph.objects.len() {
        return Vec::new();
    }
    let search = Search {
        graph,
        files,
        exports: BTreeMap::new(),
    };
    search.run().unwrap_or_default()
}

struct Search<'a> {
    graph: &'a LoadGraph,
    files: Vec<Elf>,
    /// The symbols that a file defines, if they were read.
    exports: BTreeMap<usize, Vec<String>>,
}

impl<'a> Search<'a> {
    fn run(mut self) -> Option<Vec<Undefined<'a>>> {
        let mut imports: BTreeMap<String, Vec<(usize, Import)>> = BTreeMap::new();
        for (index, file) in self.files.iter().enumerate() {
            for import in file.imports()? {
                let users = imports.entry(import.name.clone()).or_default();
                users.push((index, import));
            }
        }
        for file in &self.files {
            file.each_symbol(&mut |symbol, name| {
                if symbol.is_defined {
                    imports.remove(&name);
                }
            })?;
        }
        let mut found = self.looked_up();
        let mut bindings = BTreeMap::new();
        for (index, import) in imports.into_values().flatten() {
            let caller = self.graph.objects.get(index)?;
            let Some(library) = self.library(caller, &import) else {
                continue;
            };
            let file = self.files.get(index)?;
            let bound = bindings.entry(index).or_insert_with(|| file.bindings());
            // Linkers also keep the names of functions that are never called.
            let Some(is_bound) = bound.get(&import.index) else {
                continue;
            };
            let path = |object: Option<&'a Object>| object.map(|object| &object.path);
            let is_known = |one: &Undefined<'a>| {
                one.caller.path == caller.path && path(one.library) == path(library)
            };
            let at = found.iter().position(is_known).unwrap_or(found.len());
            if at == found.len() {
                found.push(Undefined {
                    caller,
                    library,
                    functions: Vec::new(),
                    ends_program: false,
                    is_looked_up: false,
                });
            }
            let undefined = found.get_mut(at)?;
            undefined.functions.push(import.name);
            undefined.ends_program |=
                caller.need == LoadPhase::Start && (*is_bound || self.graph.is_of_python());
        }
        Some(found)
    }

    /// Returns the loaded library that should define an import, if there is one. Returns `None` if a file outside of
    /// the graph may define it.
    fn library(&mut self, caller: &Object, import: &Import) -> Option<Option<&'a Object>> {
        let graph = self.graph;
        let index = if let Some((name, version)) = import.version.as_deref() {
            // The loader itself is not in the graph, and a library without this version is reported as too old.
            let index = graph.loaded(name)?;
            let versions = &graph.objects.get(index)?.linkage.defined_versions;
            Some(index).filter(|_| versions.is_empty() || versions.contains(version))?
        } else {
            // The program that opens a library may define it. Python defines functions that begin with `Py`.
            let is_pythons = || import.name.trim_start_matches('_').starts_with("Py");
            let is_hosts = graph.is_library() && (!graph.is_of_python() || is_pythons());
            let is_missing = graph.missing.iter().any(|missing| {
                let is_needed = [LoadPhase::Start, caller.need].contains(&missing.need);
                is_needed && missing.name != DRIVER_SO
            });
            if is_hosts || is_missing {
                return None;
            }
            let drivers = import.name.strip_prefix("cu");
            match self.like_named(caller, &import.name) {
                Some(index) => index,
                None if drivers.is_some_and(|rest| rest.starts_with(char::is_uppercase)) => {
                    graph.loaded(DRIVER_SO)?
                }
                // A library that was opened earlier may define it.
                None if graph.is_library() || caller.need != LoadPhase::Start => return None,
                None => return Some(None),
            }
        };
        let library = graph.objects.get(index)?;
        // A library that exports nothing is a placeholder, or only loads others. The sub-libraries of cuDNN are compared
        // by their versions.
        let is_cudnn = |object: &Object| object.name.starts_with("libcudnn");
        let is_full = self.files.get(index)?.has_any() == Some(true);
        (is_full && !(is_cudnn(caller) && is_cudnn(library))).then_some(Some(library))
    }

    /// Returns the dependency of a file that contains the function with the most similar name.
    fn like_named(&mut self, caller: &Object, function: &str) -> Option<usize> {
        // The beginning of a name in a namespace of C++.
        let function = function.trim_start_matches("_ZN");
        let (mut longest, mut best) = (SHORTEST_PREFIX - 1, None);
        for name in &caller.linkage.needed {
            let Some(index) = self.graph.loaded(name) else {
                continue;
            };
            // An import of a library with versions would have a version.
            let linkage = &self.graph.objects.get(index)?.linkage;
            if !linkage.defined_versions.is_empty() {
                continue;
            }
            let file = self.files.get(index)?;
            let exports = self.exports.entry(index);
            for name in exports.or_insert_with(|| defined_by(file)) {
                let pairs = name.trim_start_matches("_ZN").bytes().zip(function.bytes());
                let length = pairs.take_while(|(one, other)| one == other).count();
                if length > longest {
                    (longest, best) = (length, Some(index));
                }
            }
        }
        best
    }

    /// Returns the functions that libraries look up by name in a library for another CUDA version, which they opened by
    /// its name without a number.
    fn looked_up(&self) -> Vec<Undefined<'a>> {
        let (graph, mut found) = (self.graph, Vec::new());
        let major = |name: &str| LibraryName::read(name)?.major();
        let missing = graph.missing.iter().map(|missing| &missing.name);
        let mut names = graph.objects.iter().map(|it| &it.name).chain(missing);
        let cublas = names.find(|name| name.starts_with("libcublasLt.so."));
        let cuda = cublas.and_then(|name| major(name));
        for (library, file) in graph.objects.iter().zip(&self.files) {
            let prefix = library.name.strip_prefix("lib").unwrap_or_default();
            let prefix = prefix.strip_suffix(".so").unwrap_or_default();
            // The program may do without the function.
            let opener = library.requester.filter(|opener| *opener > 0);
            let opener = opener.filter(|_| ["cublasLt", "nvrtc"].contains(&prefix));
            let is_others = cuda.is_some() && file.soname().as_deref().and_then(major) != cuda;
            let files = |index| Some((graph.objects.get(index)?, self.files.get(index)?));
            let Some((caller, opener)) = opener.filter(|_| is_others).and_then(files) else {
                continue;
            };
            let constants = opener.rodata().unwrap_or_default();
            let functions = file.missing_symbols(functions(&constants, prefix).into_iter());
            found.extend((!functions.is_empty()).then_some(Undefined {
                caller,
                library: Some(library),
                functions,
                ends_program: false,
                is_looked_up: true,
            }));
        }
        found
    }
}

fn defined_by(file: &Elf) -> Vec<String> {
    let mut names = Vec::new();
    let mut add = |symbol: Symbol, name| names.extend(symbol.is_defined.then_some(name));
    let _ = file.each_symbol(&mut add);
    names
}
