//! Libraries of different versions in one program. The loader selects them by names without a minor version.

use crate::cudnn::package_owner;
use crate::inspection::{InspectionFault, Undefined, undefined_symbols};
use crate::loader::LoadGraph;
use crate::model::{LoadPhase, Object, Owner};
use crate::runtime::binary::Elf;
use crate::runtime::facts::{Finding, LibraryName, Version};
use crate::runtime::install::package_owner::only;
use crate::runtime::loader::{LoadOrigin, SearchDirectory, SearchPath};
use crate::runtime::system::DRIVER_SO;
use std::path::{Path, PathBuf};

/// A library that does not define a function that another file requires of it.
pub struct MixedLibraries<'a> {
    pub undefined: Undefined<'a>,
    pub library: &'a Object,
    /// `true` if the program itself is the caller.
    pub is_program: bool,
    /// The files of the caller and of the library, without links, and the wheels that contain them.
    pub files: [PathBuf; 2],
    pub wheels: [Option<Owner>; 2],
    /// The command that restores the file of the library, which another wheel has overwritten.
    pub restore: Option<String>,
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

impl<'a> MixedLibraries<'a> {
    /// Creates the fault of a library that does not contain these functions.
    pub fn new(graph: &LoadGraph, library: &'a Object, undefined: Undefined<'a>) -> Self {
        let caller = undefined.caller;
        let files = [caller, library].map(|object| graph.sysroot().canonical(&object.path));
        let compatible = compatible(graph, library, &undefined.functions);
        Self {
            version: release(&library.name, &undefined.functions),
            wheels: files.each_ref().map(|file| package_owner::wheel(file)),
            restore: restore_command(&files[1]),
            fixes: fixes(graph, [library, caller], compatible.as_deref()),
            is_program: undefined.is_of_program(graph),
            undefined,
            library,
            files,
            compatible,
        }
    }
}

/// Returns the findings about functions that no loaded file defines. In an image, the machine's driver may be mounted
/// over the driver in the file.
pub fn findings(graph: &LoadGraph, is_image: bool) -> Vec<Finding> {
    let finding = |undefined: Undefined<'_>| match undefined.library {
        Some(driver) if driver.name == DRIVER_SO => {
            let is_program = undefined.is_of_program(graph);
            let is_certain = !is_image && (is_program || undefined.ends_program);
            InspectionFault::DriverWithout(&undefined, driver, is_certain).finding()
        }
        Some(library) => MixedLibraries::new(graph, library, undefined).finding(),
        None => InspectionFault::Undefined(&undefined).finding(),
    };
    let undefined = undefined_symbols::find(graph).into_iter();
    undefined.flatten().map(finding).collect()
}

/// Returns the command that installs the only wheel again whose file is not the one that exists.
fn restore_command(file: &Path) -> Option<String> {
    let wheels = package_owner::wheels(file)?;
    let (existing, overwritten): (Vec<_>, Vec<_>) = wheels.into_iter().partition(|it| it.1);
    let (wheel, _) = only(overwritten)?;
    let mut all: Vec<Owner> = existing.into_iter().map(|(other, _)| other).collect();
    all.push(wheel.clone());
    Some(wheel.reinstall(&all))
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
    let mut undefined = undefined_symbols::find(&changed).into_iter().flatten();
    let is_other = |object: &Object| object.name != library;
    is_complete && undefined.all(|one| one.library.is_none_or(is_other))
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
