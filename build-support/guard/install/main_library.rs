//! The cuDNN that the program uses: the cuDNN in the process, else the cuDNN that the program would open.

use crate::runtime::binary::{Defect, Image};
use crate::runtime::facts::{Built, Finding, Loader, Policy, Version, majors};
use crate::runtime::install::mixed_sub_libraries::{LastingFolder, Replacement};
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::install::{package_owner, refusal};
use crate::runtime::judge::{program_rules, rules};
use crate::runtime::loader::misplaced::Wanted;
use crate::runtime::loader::{
    LoadOrigin, SearchPath, file_name, loader_words, not_found, off_the_way, refused_library,
    search_path,
};
use crate::runtime::system::platform;
use crate::runtime::system::platform::Library;
use std::path::{Path, PathBuf};

/// The main library of a cuDNN, through which everything else is called.
#[derive(Clone, Debug)]
pub struct MainLibrary {
    pub library: Library,
    /// Its file, as the loader found it.
    pub path: PathBuf,
    /// The number in its SONAME.
    pub major: u32,
    /// The reason why the loader uses it.
    pub origin: LoadOrigin,
    /// Other main libraries of the same major in this process.
    pub others: Vec<PathBuf>,
}

/// A better way than a [`Replacement`] to a cuDNN that the program can run with.
pub enum Remedy {
    /// A compatible cuDNN that is first on the search path. cudarc loads another cuDNN, because it tries that cuDNN's
    /// name first.
    Hidden {
        path: PathBuf,
        /// `true` if cudarc tries the name of this file at all.
        is_tried: bool,
    },
    /// A compatible cuDNN of the same name, in an active environment or elsewhere on the system.
    Available(PathBuf),
    /// The command that upgrades the Python package that contains the main library.
    Upgrade(String),
}

impl Remedy {
    pub fn hidden(built: &Built, path: PathBuf) -> Self {
        let is_tried = file_name::is_tried(built, &path);
        Self::Hidden { path, is_tried }
    }
}

/// The reason why there is no cuDNN to judge yet.
pub enum NotLoadedYet {
    /// The program is linked to cuDNN, but the linker has left it out.
    LeftOut,
    /// The guard is in a library, which opens no cuDNN.
    Unopened,
}

impl MainLibrary {
    /// Creates the main library of these in the process, of which the others of its major also matter.
    fn new(
        library: Library,
        path: PathBuf,
        major: u32,
        search_path: &SearchPath,
        loaded: Vec<(PathBuf, u32)>,
    ) -> Self {
        let mut others = Vec::new();
        for (other, its_major) in loaded {
            let is_same = other == path || platform::same_file(&other, &path);
            if its_major == major && !is_same {
                others.push(other);
            }
        }
        Self {
            library,
            origin: search_path.origin_of(&path),
            path,
            major,
            others,
        }
    }

    pub fn parts(&self, search_path: &SearchPath, pinned: bool, built: &Built) -> SubLibraries {
        if self.origin == LoadOrigin::Within {
            return SubLibraries::default();
        }
        let mut parts = SubLibraries::locate(&self.path, self.major, search_path, pinned, built);
        parts.judge(search_path, &self.origin, built);
        parts
    }

    /// Returns the version that a cuDNN without files reports. The function returns a constant, even in a damaged
    /// cuDNN.
    pub fn answer(&self) -> Option<Version> {
        let address = match self.origin {
            LoadOrigin::Within => self.library.symbol("cudnnGetVersion")?,
            _ => return None,
        };
        // SAFETY: every version declares it as `size_t (void)`.
        let query: unsafe extern "C" fn() -> usize = unsafe { std::mem::transmute(address) };
        // SAFETY: it takes nothing and changes nothing.
        let number = u32::try_from(unsafe { query() }).ok()?;
        Some(Version::from_cudnn(number))
    }

    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Returns the finding for a version that the program cannot run with. If the version is unknown, the major counts.
    pub fn mismatch(
        &self,
        built: &Built,
        version: Option<Version>,
        lasting: &[LastingFolder],
    ) -> Option<Finding> {
        let judged = match version {
            Some(version) => program_rules::version(built, version),
            None => program_rules::major(built, self.major),
        };
        let mismatch = judged.err()?;
        let is_compatible = |version| program_rules::version(built, version).is_ok();
        let replacement = Replacement::new(&self.origin, &self.path, lasting, &is_compatible);
        let upgrade = || match (built.policy, built.cudnn, built.cudnn_cuda_major, lasting) {
            (Policy::Compatible, Some(with), Some(cuda), []) => {
                package_owner::upgrade_command(self.folder(), cuda, with).map(Remedy::Upgrade)
            }
            _ => None,
        };
        let remedy = find_hidden(built, &self.path).map(|path| Remedy::hidden(built, path));
        let available = || available(built, &self.path, &SearchPath::of_program());
        let remedy = remedy
            .or_else(|| available().map(Remedy::Available))
            .or_else(upgrade);
        Some(mismatch.finding(self.evidence(), &replacement, remedy))
    }
}

/// Finds the main library: statically linked, else in the process, else the one that the program would open. In the
/// last case, this function opens it in the same way, without its sub-libraries.
pub fn find(built: &Built, search_path: &SearchPath) -> Result<MainLibrary, Finding> {
    let majors = rules::majors(built);
    let loaded = in_process();
    // A statically linked cuDNN has no files. Not supported on Windows.
    #[cfg(not(windows))]
    if let Some(functions) = built.linked_in {
        let library = Library::within(functions);
        return Ok(MainLibrary {
            library,
            path: library.path().unwrap_or_default(),
            major: built.cudnn.map_or(9, |version| version.major),
            origin: LoadOrigin::Within,
            others: loaded.into_iter().map(|(path, _)| path).collect(),
        });
    }
    if built.loader == Loader::Cudarc && platform::is_program() {
        // cudarc's names may find another cuDNN than the loaded one: no SONAME is `libcudnn.so`.
        return open(built, &majors, search_path, loaded);
    }
    // On Windows, a linked cuDNN may be loaded on the first call.
    if built.loader == Loader::Linked && loaded.is_empty() && !cfg!(windows) {
        return Err(NotLoadedYet::LeftOut.finding());
    }
    let accepted = loaded.iter().find(|(_, major)| majors.contains(major));
    let linked = loaded.first().filter(|_| built.loader == Loader::Linked);
    if let Some((path, major)) = accepted.or(linked).cloned() {
        if let Some(library) = Library::loaded(&path) {
            return Ok(MainLibrary::new(library, path, major, search_path, loaded));
        }
    }
    if !platform::is_program() {
        // The process might never load the cuDNN that would be opened here.
        return Err(NotLoadedYet::Unopened.finding());
    }
    open(built, &majors, search_path, loaded)
}

/// Returns the main libraries of cuDNN in this process, with their majors.
pub fn in_process() -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for path in platform::mapped() {
        let is_main = file_name::parse(&path).is_some_and(|(name, _)| name.is_empty());
        if let Some(major) = is_main.then(|| major_of(&path)).flatten() {
            found.push((path, major));
        }
    }
    found
}

/// Returns the major of a main library from its SONAME, else from its name: `libcudnn.so` contains none, and
/// `libcudnn.so.9` may be a link to cuDNN 8.
fn major_of(path: &Path) -> Option<u32> {
    let image = Image::open(path).ok();
    let soname = image.and_then(|image| image.as_elf()?.soname());
    let by_soname = soname.and_then(|name| file_name::parse(Path::new(&name))?.1);
    by_soname.or_else(|| file_name::parse(path)?.1)
}

fn open(
    built: &Built,
    majors: &[u32],
    search_path: &SearchPath,
    loaded: Vec<(PathBuf, u32)>,
) -> Result<MainLibrary, Finding> {
    let names = file_name::opened_names(built);
    let mut messages = Vec::new();
    let (mut unfit, mut usable, mut refused) = (None, false, None);
    for name in &names {
        // The loader searches no file for a name in the process.
        let is_it = |one: &(PathBuf, u32)| *name == file_name::of_main(one.1);
        let is_loaded = loaded.iter().any(is_it) || search_path::loaded(name).is_some();
        let file = search_path.program_file(name);
        let mut file = file.filter(|_| !is_loaded);
        if let Some(path) = &file {
            match Image::open(path) {
                Err(defect) => match refusal::unsafe_file(path, &defect, search_path) {
                    Some(finding) => return Err(finding),
                    None => unfit = file.take().map(|path| (path, defect)),
                },
                Ok(_) => usable = true,
            }
        }
        match Library::open(name) {
            Ok(library) => {
                let path = library.path().unwrap_or_else(|| PathBuf::from(name));
                let major = major_of(&path).unwrap_or(majors::NEWEST_CUDNN);
                return Ok(MainLibrary::new(library, path, major, search_path, loaded));
            }
            Err(message) => {
                // The loader's message begins with the library that it did not find.
                let named = message.split(": ").next().unwrap_or_default();
                let file = file.filter(|_| !Path::new(named).ends_with(name));
                refused = refused.or(file.map(|path| (path, message.clone())));
                messages.push(message);
            }
        }
    }
    let locate = |name: &str| search_path.program_file(name);
    for message in &messages {
        if let Some(failure) = refused_library::find(message, &locate) {
            return Err(failure.finding());
        }
        if refused_library::unread(message).is_some() {
            let name = message.split(": ").next().unwrap_or_default();
            let file = locate(name).unwrap_or_else(|| PathBuf::from(name));
            return Err(refusal::finding(&file, message));
        }
    }
    if let Some((path, message)) = refused {
        if !loader_words::requires_driver(&path, &message) {
            return Err(refusal::finding(&path, &message));
        }
    }
    if unfit.is_none() {
        let obstacle = names.iter().find_map(|name| search_path.obstacle(name));
        unfit = obstacle.filter(|(_, defect)| !usable || !defect.is_passed_over());
    }
    let misplaced = match unfit {
        None | Some((_, Defect::Closed(_))) if !usable => off_the_way::find(&Wanted {
            names: &names,
            suits: &|file| suits(built, file, search_path) != Some(false),
        }),
        _ => None,
    };
    if misplaced.as_ref().is_some_and(|found| found.file.is_some()) {
        // The contents of a directory that cannot be entered are unknown.
        unfit = None;
    }
    let causes = (unfit, misplaced);
    Err(not_found::find(built, majors, search_path, (names, messages), causes).finding())
}

/// Returns `true` if the program can run with this cuDNN. Returns `None` if its version is unknown.
fn suits(built: &Built, main_library: &Path, search_path: &SearchPath) -> Option<bool> {
    let major = major_of(main_library)?;
    let parts = SubLibraries::locate(main_library, major, search_path, true, built);
    let (version, _) = parts.installed.version()?;
    Some(program_rules::version(built, version).is_ok())
}

/// Returns a cuDNN that the program can run with and that has the name of the loaded one, in a directory that is not
/// searched or is searched later.
pub fn available(built: &Built, loaded: &Path, search_path: &SearchPath) -> Option<PathBuf> {
    let name = match file_name::parse(loaded)?.1 {
        Some(major) => file_name::of_main(major),
        // cudarc opens the plain name before all others.
        None => loaded.file_name()?.to_str()?.to_string(),
    };
    let suits = &|file: &Path| suits(built, file, search_path) == Some(true);
    let names = std::slice::from_ref(&name);
    // The variables of this process do not apply to an image.
    let misplaced = match search_path.system.root {
        None => off_the_way::find(&Wanted { names, suits }),
        Some(_) => None,
    };
    let mut later = search_path.program_files(&name).into_iter();
    let file = misplaced.and_then(|found| found.file);
    let file = file.or_else(|| later.find(|file| suits(file)));
    file.filter(|_| !platform::is_privileged())
}

/// Returns a compatible cuDNN in a directory before the loaded one, which cudarc finds by a name that it tries earlier.
fn find_hidden(built: &Built, loaded: &Path) -> Option<PathBuf> {
    if built.loader != Loader::Cudarc {
        return None;
    }
    let search_path = &SearchPath::of_program();
    let file = rules::majors(built).into_iter().find_map(|major| {
        let file = search_path.program_file(&file_name::of_main(major))?;
        let is_first = search_path.is_searched_first(&file, loaded);
        is_first.then_some(file)
    })?;
    suits(built, &file, search_path)?.then_some(file)
}
