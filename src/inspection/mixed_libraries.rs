//! CUDA libraries of different versions in one program. The loader selects them by names without a minor version.

use crate::cudnn::package_owner;
use crate::loader::ldso::LoadGraph;
use crate::model::Owner;
use crate::model::linkage::{LoadPhase, Object};
use crate::runtime::binary::elf::Elf;
use crate::runtime::facts::{LibraryName, Version};
use crate::runtime::loader::search_path::{LoadOrigin, SearchDirectory, SearchPath};
use crate::toolkit::dependencies::{imported_from, is_of_toolkit};
use std::path::{Path, PathBuf};

/// A CUDA library that does not define a function that another one imports from it.
pub struct MixedLibraries<'a> {
    pub library: &'a Object,
    pub function: String,
    /// The files of the caller and of the library, without links, and the wheels that contain them.
    pub files: [PathBuf; 2],
    pub wheels: [Option<Owner>; 2],
    /// The CUDA version in the names of the functions.
    pub version: Option<Version>,
    /// A file of the library that defines the functions.
    pub compatible: Option<PathBuf>,
    pub fixes: Vec<LibraryPathFix>,
}

/// A change of LD_LIBRARY_PATH that makes the loader select compatible libraries.
pub enum LibraryPathFix {
    Remove(PathBuf),
    PutFirst(PathBuf),
}

/// A caller, a library, and the functions that the caller imports and the library does not define.
type Mismatch<'a> = (&'a Object, &'a Object, Vec<String>);

/// Returns the loaded libraries that are incompatible with their callers.
pub fn find(graph: &LoadGraph) -> Vec<MixedLibraries<'_>> {
    let mut found = Vec::new();
    for (caller, library, mut functions) in mismatches(graph) {
        let files = [caller, library].map(|object| graph.sysroot().canonical(&object.path));
        let compatible = compatible(graph, library, &functions);
        found.push(MixedLibraries {
            version: release(&library.name, &functions),
            wheels: files.each_ref().map(|file| package_owner::wheel(file)),
            fixes: fixes(graph, [library, caller], compatible.as_deref()),
            function: functions.swap_remove(0),
            library,
            files,
            compatible,
        });
    }
    found
}

fn mismatches(graph: &LoadGraph) -> Vec<Mismatch<'_>> {
    let mut found: Vec<Mismatch<'_>> = Vec::new();
    for caller in &graph.objects {
        let mut needs = caller.linkage.needed.clone();
        needs.retain(|name| is_of_toolkit(name));
        // Functions of programs are also compared by name, without versions.
        if caller.linkage.soname.is_none() || needs.is_empty() {
            continue;
        }
        let read = |object: &Object| Elf::read(&object.path).ok();
        let imports = read(caller).map_or_else(Vec::new, |file| file.named_imports());
        for name in needs {
            let library = graph.loaded(&name);
            let library = library.and_then(|index| graph.objects.get(index));
            if let Some((library, file)) = library.and_then(|one| Some((one, read(one)?))) {
                let mut functions = file.missing_symbols(imported_from(&imports, &name));
                // A file that cannot be read may define all functions.
                functions.retain(|function| {
                    let defines = |file: Elf| file.defines(function);
                    let mut objects = graph.objects.iter();
                    !objects.any(|one| Elf::read(&one.path).map_or(true, defines))
                });
                let is_known = found.iter().any(|known| known.1.path == library.path);
                if !functions.is_empty() && !is_known {
                    found.push((caller, library, functions));
                }
            }
        }
    }
    found
}

/// Returns the CUDA version at the end of the functions' names: 12.4 for `__nvJitLinkComplete_12_4`.
fn release(library: &str, functions: &[String]) -> Option<Version> {
    let own = LibraryName::read(library)?.major()?;
    let of = |function: &String| {
        let (rest, minor) = function.rsplit_once('_')?;
        let major: u32 = rest.rsplit_once('_')?.1.parse().ok()?;
        (major == own).then_some(Version::new(major, minor.parse().ok()?, 0))
    };
    functions.iter().filter_map(of).max()
}

/// Returns a file of the library that comes later in the loader's search and that defines these functions.
fn compatible(graph: &LoadGraph, library: &Object, functions: &[String]) -> Option<PathBuf> {
    let path = graph.search_path(library.requester?);
    let mut candidates = path.candidates(&library.name).into_iter();
    let (_, found) = candidates.find(|(_, path)| {
        let file = graph.sysroot().file(path);
        let file = file.and_then(|file| Elf::read(&file).ok());
        file.is_some_and(|file| functions.iter().all(|function| file.defines(function)))
    })?;
    let dir = graph.sysroot().canonical(found.parent()?);
    Some(dir.join(&library.name))
}

/// Returns the changes of LD_LIBRARY_PATH that help. `objects` are the library and its caller.
fn fixes(graph: &LoadGraph, objects: [&Object; 2], right: Option<&Path>) -> Vec<LibraryPathFix> {
    let mut fixes = Vec::new();
    for object in objects {
        if let Some(via @ LoadOrigin::LibraryPath(dir)) = &object.via {
            let mut left = graph.path.clone();
            left.directories.retain(|place| place.origin != *via);
            if fixes.is_empty() && is_fixed_by(graph, left, &objects[0].name) {
                fixes.push(LibraryPathFix::Remove(dir.clone()));
            }
        }
    }
    if let Some(dir) = right.and_then(Path::parent) {
        let (mut path, inside) = (graph.path.clone(), graph.sysroot().inside(dir));
        let origin = LoadOrigin::LibraryPath(inside.clone());
        let dir = dir.to_path_buf();
        path.directories.insert(0, SearchDirectory { origin, dir });
        if !path.system.is_privileged && is_fixed_by(graph, path, &objects[0].name) {
            fixes.push(LibraryPathFix::PutFirst(inside));
        }
    }
    fixes
}

/// Returns `true` if the loader finds all libraries with this path, including a compatible one of this name.
fn is_fixed_by(graph: &LoadGraph, path: SearchPath, library: &str) -> bool {
    let Some(program) = graph.objects.first() else {
        return false;
    };
    let mut changed = LoadGraph::resolve(&program.path, program.linkage.clone(), path);
    for object in &graph.objects {
        let requester = object.requester.and_then(|index| graph.objects.get(index));
        if let Some(requester) = requester.filter(|_| object.need != LoadPhase::Start) {
            let requester = changed.loaded(&requester.name).unwrap_or(0);
            changed.open(&object.name, requester, object.need);
        }
    }
    let mut missing = changed.missing.iter();
    let is_complete = missing.all(|one| graph.missing.iter().any(|old| old.name == one.name));
    let mut mixed = mismatches(&changed).into_iter();
    is_complete && mixed.all(|(_, object, _)| object.name != library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_at_the_end_of_a_name() {
        let of = |functions: &[&str]| {
            let functions: Vec<String> = functions.iter().map(|one| (*one).into()).collect();
            release("libnvJitLink.so.12", &functions)
        };
        let newest = ["__nvJitLinkCreate_12_9", "__nvJitLinkCreate_12_10"];
        assert_eq!(of(&newest), Some(Version::new(12, 10, 0)));
        for other in ["cublasCreate_v2", "cublasInit_11_2", "one_12_x", "_12"] {
            assert_eq!(of(&[other]), None, "{other}");
        }
    }
}
