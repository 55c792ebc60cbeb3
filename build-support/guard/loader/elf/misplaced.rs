//! The places where a library for Linux may be but the loader does not search.

use crate::runtime::binary::{files_in, files_named, lib_folders};
use crate::runtime::loader::misplaced::{
    EntryFault, Misplaced, Starter, Unsearched, Wanted, by_variable, first_wanted,
};
use crate::runtime::loader::{SearchPath, System, ld_so_conf};
use crate::runtime::system;
use crate::runtime::system::platform;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

/// The prefixes of pip and of NVIDIA's installers for all users.
const PREFIXES: [&str; 2] = ["/usr/local/cuda", "/usr/local"];
/// The places in a prefix, a directory of wheels, an old archive and a toolkit, besides `lib` and the like.
const PLACES: [&str; 5] = [
    "cudnn/lib",
    "nvidia/cudnn/lib",
    "cuda/lib64",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
];
/// The separators of LD_LIBRARY_PATH.
const BETWEEN: fn(char) -> bool = |c| c == ':' || c == ';';
/// The characters that people write instead of separators.
const GAP: fn(char) -> bool = |c| c == ',' || c.is_whitespace();
/// The characters that a shell removes.
const QUOTE: fn(char) -> bool = |c| c == '"' || c == '\'';
/// The most directories in a directory that are searched.
const MOST: usize = 256;

/// Finds one of these names in the directories that variables and the loader's configuration refer to.
pub fn find(wanted: &Wanted<'_>) -> Option<Misplaced> {
    let library_path = platform::given_environment("LD_LIBRARY_PATH").unwrap_or_default();
    let library_path = library_path.to_string_lossy();
    let library_path = without_cargo(&library_path).unwrap_or_else(|| library_path.into());
    let home = std::env::var("HOME").unwrap_or_default();
    let found = by_library_path(wanted, &library_path, &home);
    let found = found.or_else(|| by_configuration(wanted, &System::default()));
    if found.is_some() {
        return found;
    }
    let by_prefix = || {
        let mut prefixes = PREFIXES.iter();
        let file = prefixes.find_map(|prefix| below(Path::new(prefix), wanted));
        Some((file?, Unsearched::Unnamed))
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    path.retain(|dir| dir.is_absolute());
    let in_path = first_wanted(&path, wanted).map(|file| (file, Unsearched::Path));
    let by_variable = || by_variable(&|dir| below(dir, wanted));
    if let Some((file, cause)) = in_path.or_else(by_variable).or_else(by_prefix) {
        let mut value = file.parent().unwrap_or(&file).display().to_string();
        if let Some(dir) = cublas_beside(&file) {
            value = format!("{value}:{}", dir.display());
        }
        if !library_path.is_empty() {
            value = format!("{value}:{library_path}");
        }
        return Some(misplaced_by_entry(file, cause, value));
    }
    // An entry of LD_LIBRARY_PATH that the loader reads differently than intended.
    for entry in library_path.split(BETWEEN) {
        if let (_, Some(fault)) = intended_directories(entry, &home) {
            let cause = Unsearched::Entry(entry.to_string(), fault);
            return Some(Misplaced::new(None, cause));
        }
    }
    None
}

/// Returns the entries of LD_LIBRARY_PATH without those that `cargo run` adds each time: directories of the profile and
/// of the toolchain.
fn without_cargo(library_path: &str) -> Option<String> {
    let cargo = PathBuf::from(std::env::var_os("CARGO")?);
    let toolchain = cargo.parent()?.parent()?.join("lib");
    let mut profile = std::env::current_exe().ok()?.parent()?.to_path_buf();
    if profile.ends_with("deps") || profile.ends_with("examples") {
        profile.pop();
    }
    let mut entries: Vec<&str> = library_path.split(':').collect();
    entries.retain(|entry| {
        let dir = Path::new(entry);
        let is_of_toolchain = dir == toolchain || dir.starts_with(toolchain.join("rustlib"));
        !is_of_toolchain && !dir.starts_with(&profile)
    });
    Some(entries.join(":"))
}

/// Returns the directory of the wheel of cuBLAS beside that of cuDNN, if the loader does not search it. Programs with
/// cuDNN often open cuBLAS too.
fn cublas_beside(file: &Path) -> Option<PathBuf> {
    let wheels = file.ancestors().nth(3)?;
    if !wheels.ends_with("nvidia") {
        return None;
    }
    for wheel in files_in(wheels) {
        let lib = wheel.join("lib");
        let library = files_named(&lib, "libcublas.so.").pop();
        if let Some(name) = library.as_deref().and_then(Path::file_name) {
            let found = SearchPath::of_program().program_file(&name.to_string_lossy());
            return found.is_none().then_some(lib);
        }
    }
    None
}

/// Finds one of these names in or near a directory that an entry of LD_LIBRARY_PATH refers to.
pub fn by_library_path(wanted: &Wanted<'_>, library_path: &str, home: &str) -> Option<Misplaced> {
    let mut entries = Vec::new();
    let mut found = None;
    for entry in library_path.split(BETWEEN) {
        let (mut meant, fault) = intended_directories(entry, home);
        for dir in &mut meant {
            let near = match &found {
                None => at_or_near(Path::new(dir), wanted),
                Some(_) => None,
            };
            let Some(file) = near else { continue };
            let parent = file.parent().unwrap_or(&file).display().to_string();
            let fault = match &fault {
                Some(fault) => fault.clone(),
                None if parent == *dir && !platform::is_privileged() => continue,
                None if parent == *dir => EntryFault::Ignored,
                None if file == Path::new(dir) => EntryFault::File,
                None if file.starts_with(&*dir) => EntryFault::Above,
                None if system::is_there(Path::new(dir)) => EntryFault::Beside,
                None => EntryFault::Absent,
            };
            found = Some((file, Unsearched::Entry(entry.to_string(), fault)));
            *dir = parent;
        }
        entries.extend(meant);
    }
    let (file, cause) = found?;
    Some(misplaced_by_entry(file, cause, entries.join(":")))
}

/// Finds one of these names in a directory that the loader's configuration names, but its cache does not contain yet.
pub fn by_configuration(wanted: &Wanted<'_>, system: &System) -> Option<Misplaced> {
    for (conf, dir) in ld_so_conf::read(system) {
        for name in wanted.names {
            let file = system.path(&dir).join(name);
            if wanted.is_it(&file) && !system.cached(name).contains(&file) {
                return Some(Misplaced::new(Some(file), Unsearched::Uncached(conf)));
            }
        }
    }
    None
}

fn misplaced_by_entry(file: PathBuf, cause: Unsearched, value: String) -> Misplaced {
    let mut misplaced = Misplaced::new(Some(file), cause);
    if !platform::is_privileged() {
        misplaced.library_path = Some((value, Starter::find()));
    }
    misplaced
}

/// Returns the directories that an entry of LD_LIBRARY_PATH refers to, and its fault if the loader reads it
/// differently.
fn intended_directories(entry: &str, home: &str) -> (Vec<String>, Option<EntryFault>) {
    if entry.is_empty() || system::is_there(Path::new(entry)) {
        return (vec![entry.to_string()], None);
    }
    let bare = entry.replace(QUOTE, "");
    let mut dirs: Vec<String> = Vec::new();
    let mut expanded = None;
    for piece in bare.split(GAP) {
        let mut dir = piece.to_string();
        for token in ["~", "$HOME", "${HOME}"] {
            let rest = piece.strip_prefix(token);
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                expanded = Some(token);
                dir = format!("{home}{rest}");
            }
        }
        if !dir.is_empty() {
            dirs.push(dir);
        }
    }
    let fault = if bare != entry {
        EntryFault::Quoted
    } else if let Some(token) = expanded {
        EntryFault::Unexpanded(token)
    } else if dirs.len() != 1 || dirs.first().is_some_and(|dir| dir != entry) {
        EntryFault::Joined
    } else if !entry.starts_with(['/', '$']) {
        EntryFault::Relative
    } else {
        return (dirs, None);
    };
    (dirs, Some(fault))
}

/// Returns one of these files: the path itself, or one in this directory or in one that people confuse with it.
fn at_or_near(dir: &Path, wanted: &Wanted<'_>) -> Option<PathBuf> {
    if wanted.names.iter().any(|name| dir.ends_with(name)) && wanted.is_it(dir) {
        return Some(dir.to_path_buf());
    }
    let mut dirs = vec![dir.to_path_buf()];
    dirs.extend(files_in(dir).into_iter().take(MOST));
    // `include` or `bin` instead of `lib`, or `lib64` although the directory is `lib`.
    let is_beside = dir.ends_with("include") || dir.ends_with("bin") || !system::is_there(dir);
    if let (Some(above), true) = (dir.parent(), is_beside && dir.is_absolute()) {
        dirs.push(above.to_path_buf());
    }
    dirs.iter().find_map(|dir| below(dir, wanted))
}

/// Returns one of these files, in this directory or in the places below a prefix.
fn below(dir: &Path, wanted: &Wanted<'_>) -> Option<PathBuf> {
    let mut dirs = vec![dir.to_path_buf()];
    dirs.extend(lib_folders(ARCH).iter().map(|lib| dir.join(lib)));
    dirs.extend(PLACES.iter().map(|place| dir.join(place)));
    for lib in &["lib", "lib64"] {
        for python in files_in(&dir.join(lib)).iter().take(MOST) {
            let name = python.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("python") {
                dirs.push(python.join("site-packages/nvidia/cudnn/lib"));
                dirs.push(python.join("dist-packages/nvidia/cudnn/lib"));
            }
        }
    }
    first_wanted(&dirs, wanted)
}
