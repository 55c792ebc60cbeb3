//! The parts of a cuDNN, looked at by hand: none of their code runs here.

use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::parts::file_name;
use crate::runtime::parts::release::{SYMBOL, SourcedVersion, VersionDetector, with_article};
use crate::runtime::parts::required_parts;
use crate::runtime::system::platform::{self, Library};
use std::path::{Path, PathBuf};

/// One part of a cuDNN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name between `libcudnn_` and `.so`.
    pub name: String,
    /// The file that the process uses or will use.
    pub path: PathBuf,
    /// Its release, where something tells it.
    pub version: Option<Version>,
    /// What told the release: its version symbol, its file's name, or the record of its wheel.
    pub told_by: Option<&'static str>,
    /// Whether a convolution needs it, or the program says that it does.
    pub needed: bool,
}

/// A cuDNN as its files show it.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The parts that are there, the needed ones first, in the order in which they can be opened.
    pub list: Vec<Part>,
    /// What is wrong with them.
    pub findings: Vec<Finding>,
    /// Whether only graphs that are compiled at run time are served.
    pub jit_only: bool,
}

impl Parts {
    /// Looks at the parts of the cuDNN whose first library is `main_library`, of this major, for a program that says it needs
    /// `asked`. `pinned`: the guard will open those beside the main library by their paths; else those count which the loader
    /// would find.
    pub fn locate_all(
        main_library: &Path,
        major: u32,
        search_path: &SearchPath,
        pinned: bool,
        asked: &[String],
    ) -> Self {
        let folder = main_library.parent().unwrap_or(main_library);
        let beside = beside(folder, major);
        let no_others = required_parts::is_jit_only(beside.iter().map(String::as_str));
        let jit_only = no_others || is_jit_asked();
        let needed = |version| match required_parts::part_names(version, jit_only) {
            Some(names) => {
                let mut needed: Vec<String> = Vec::new();
                for name in names {
                    needed.push(name.to_string());
                }
                needed
            }
            // A major that nobody knows yet: what its first library names.
            None => named_in(main_library),
        };
        let mut parts = Self {
            jit_only,
            ..Self::default()
        };
        let own_first = Elf::open(main_library).is_ok_and(|elf| elf.rpath_first() == Some(true));
        let mapped = platform::mapped();
        let mut detector = VersionDetector::default();
        let (mut missing, mut missed) = (Vec::new(), Vec::new());
        let mut seen: Vec<String> = Vec::new();
        let mut look = |parts: &mut Self, name: &String, lacks: Option<&mut Vec<String>>| {
            if seen.contains(name) {
                return;
            }
            seen.push(name.clone());
            let file = in_process(&mapped, name, major)
                .or_else(|| locate(folder, name, major, search_path, pinned || own_first));
            match (file, lacks) {
                (Some(path), lacks) => parts.add_part(&mut detector, name, path, lacks.is_some()),
                (None, Some(lacks)) => lacks.push(file_name(name, major)),
                (None, None) => {}
            }
        };
        // The first ones tell the release, and the release which others are needed.
        let first: Vec<String> = needed(Version::new(major, 0, 0));
        for name in &first {
            look(&mut parts, name, Some(&mut missing));
        }
        let release = parts.release().map(|told| told.0);
        if let Some(release) = release {
            let all: Vec<String> = needed(release);
            for name in &all {
                look(&mut parts, name, Some(&mut missing));
            }
        }
        for word in asked {
            if let Some(name) = required_parts::part_name(word, major) {
                look(&mut parts, &name, Some(&mut missed));
            }
        }
        for name in &beside {
            look(&mut parts, name, None);
        }
        for (files, by) in &[(missed, "this program"), (missing, "a convolution")] {
            if !files.is_empty() {
                let finding = missing_finding(folder, files, by, &parts.release(), search_path);
                let help = if no_others {
                    WHOLE.to_string()
                } else {
                    reinstall_help(folder, &parts.release())
                };
                parts.findings.insert(0, finding.help(help));
            }
        }
        parts.compare(main_library, detector.file_version(main_library));
        if let Some(release) = release.filter(|release| opens_absent_part(*release)) {
            let has = parts
                .list
                .iter()
                .any(|part| part.name == required_parts::TENSOR_IR);
            let file = file_name(required_parts::TENSOR_IR, major);
            if let (false, Some(path)) = (has, search_path.resolve(&file, Some(folder), own_first))
            {
                let told = detector
                    .file_version(&path)
                    .filter(|told| told.0 != release);
                parts
                    .findings
                    .extend(told.map(|told| other_release_finding(folder, release, &path, told)));
            }
        }
        parts
    }

    /// The release of the whole, as the part that answers `cudnnGetVersion` tells it, else any other.
    pub fn release(&self) -> Option<SourcedVersion> {
        let mut other = None;
        for part in &self.list {
            let told = match (part.version, part.told_by) {
                (Some(version), Some(by)) => (version, by),
                _ => continue,
            };
            if part.name == "graph" || part.name == "ops_infer" {
                return Some(told);
            }
            if part.needed {
                other = other.or(Some(told));
            }
        }
        other
    }

    fn add_part(
        &mut self,
        detector: &mut VersionDetector,
        name: &str,
        path: PathBuf,
        needed: bool,
    ) {
        let told = match Elf::open(&path) {
            Ok(elf) => detector.part_version(&elf, name, &path),
            Err(defect) => {
                self.findings.push(defect_finding(&path, &defect, needed));
                None
            }
        };
        self.list.push(Part {
            name: name.to_string(),
            path,
            version: told.map(|told| told.0),
            told_by: told.map(|told| told.1),
            needed,
        });
    }

    /// Parts of different releases do not work together, even where cuDNN itself does not notice.
    fn compare(&mut self, main_library: &Path, shim_told: Option<SourcedVersion>) {
        let Some((release, _)) = self.release() else {
            return;
        };
        let shim_version = shim_told.map(|told| told.0);
        let other = |version: Option<Version>| version.is_some_and(|version| version != release);
        let needed = other(shim_version)
            || self
                .list
                .iter()
                .any(|part| part.needed && other(part.version));
        if !needed && !self.list.iter().any(|part| other(part.version)) {
            return;
        }
        let mut lines = Vec::new();
        let mut add = |told: Option<SourcedVersion>, path: &Path| match told {
            Some((version, SYMBOL)) => lines.push(format!("{}  {}", version, path.display())),
            Some((version, by)) => lines.push(format!(
                "{}  {}, by {}",
                version,
                path.display(),
                with_article(by)
            )),
            None => {}
        };
        add(shim_told, main_library);
        for part in &self.list {
            add(part.version.zip(part.told_by), &part.path);
        }
        let folder = main_library
            .parent()
            .unwrap_or(main_library)
            .display()
            .to_string();
        let finding = required_parts::mixed_finding(&folder, needed, &lines, "libcudnn*");
        self.findings.push(finding);
    }
}

/// The finding for a file that cannot be mapped into this process.
pub fn defect_finding(path: &Path, defect: &Defect, needed: bool) -> Finding {
    let id = defect.id();
    let summary = format!("`{}` {}", path.display(), defect);
    let finding = match (needed, defect) {
        // What cannot be read may still be mapped by the loader: nothing is known.
        (true, Defect::Unreadable(_) | Defect::Forbidden) | (false, _) => {
            Finding::warning(id, summary)
        }
        (true, _) => Finding::error(id, summary),
    };
    finding.help(defect.help(path))
}

fn missing_finding(
    folder: &Path,
    missing: &[String],
    by: &str,
    release: &Option<SourcedVersion>,
    search_path: &SearchPath,
) -> Finding {
    let all = if missing.len() == 1 { "" } else { " all" };
    let here = folder.display().to_string();
    let mut places = search_path.looked_at();
    places.retain(|place| *place != here);
    places.insert(0, here);
    Finding::error(
        FindingId::PartsMissing,
        format!(
            "cuDNN{} at `{}` lacks {}, which {} needs{}",
            version_words(release),
            folder.display(),
            missing.join(", "),
            by,
            all
        ),
    )
    .with("looked at", places.join("\n"))
}

const WHOLE: &str = "install a whole cuDNN in its place: this one brings nothing but what compiles graphs at run time";

fn reinstall_help(folder: &Path, release: &Option<SourcedVersion>) -> String {
    format!(
        "install cuDNN{} again in `{}`, whole, since the first library opens the others from there",
        version_words(release),
        folder.display()
    )
}

/// The release behind a name.
fn version_words(release: &Option<SourcedVersion>) -> String {
    release.map_or_else(String::new, |(version, _)| format!(" {}", version))
}

/// Whether this release asks for a part that it does not bring along: one from elsewhere is taken, if it can be
/// opened, and then refused with status 1002.
fn opens_absent_part(version: Version) -> bool {
    version.major == 9 && (20..22).contains(&version.minor)
}

/// Whether the loader can open it decides whether it does harm, so it is a warning.
fn other_release_finding(
    folder: &Path,
    release: Version,
    path: &Path,
    (version, by): SourcedVersion,
) -> Finding {
    let summary = format!(
        "cuDNN {} at `{}` comes without {}, and finds that of {} elsewhere",
        release,
        folder.display(),
        path.file_name().unwrap_or_default().to_string_lossy(),
        version
    );
    Finding::warning(FindingId::PartsMixed, summary)
        .with(
            "elsewhere",
            format!("{}, by {}", path.display(), with_article(by)),
        )
        .help("install cuDNN 9.22 or a later one, which brings its own")
        .help(format!(
            "or remove the cuDNN in `{}`, or keep that directory out of LD_LIBRARY_PATH",
            path.parent().unwrap_or(path).display()
        ))
}

fn file_name(name: &str, major: u32) -> String {
    format!("libcudnn_{}.so.{}", name, major)
}

/// The names of the parts that lie in a folder, sorted.
fn beside(folder: &Path, major: u32) -> Vec<String> {
    let mut names = Vec::new();
    for file in files_in(folder) {
        if let Some((name, Some(of))) = file_name::parse(&file) {
            if of == major && !name.is_empty() && !names.contains(&name) {
                let later = names.iter().position(|known| *known > name);
                names.insert(later.unwrap_or(names.len()), name);
            }
        }
    }
    names
}

/// Whether cuDNN itself is told to do without the other parts.
pub fn is_jit_asked() -> bool {
    std::env::var_os("CUDNN_LIB_CONFIG").is_some_and(|value| value == "GRAPH_JIT_ONLY")
}

/// The parts that the strings of a first library name; none if it is too large to look through in passing.
fn named_in(main_library: &Path) -> Vec<String> {
    let small = std::fs::metadata(main_library).is_ok_and(|data| data.len() < 1 << 20);
    let bytes = if small {
        std::fs::read(main_library).unwrap_or_default()
    } else {
        Vec::new()
    };
    let mut names: Vec<String> = Vec::new();
    for text in bytes.split(|byte| *byte == 0) {
        if !text.starts_with(b"libcudnn_") {
            continue;
        }
        let text = String::from_utf8_lossy(text).into_owned();
        if let Some((name, _)) = file_name::parse(Path::new(&text)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The file of a part that the process has mapped already: it serves everybody.
fn in_process(mapped: &[PathBuf], name: &str, major: u32) -> Option<PathBuf> {
    let of = Some((name.to_string(), Some(major)));
    mapped
        .iter()
        .find(|path| file_name::parse(path) == of)
        .cloned()
}

/// The file of a part: beside the first library, wherever the loader finds it, or in the process by another file name.
fn locate(
    folder: &Path,
    name: &str,
    major: u32,
    search_path: &SearchPath,
    own_first: bool,
) -> Option<PathBuf> {
    let plain = file_name(name, major);
    if own_first {
        let here = Some(folder.join(&plain)).filter(|here| here.is_file());
        // Debian and conda also ship the plain name; an unpacked archive may have the full one alone.
        let here = here.or_else(|| full_name(folder, &plain));
        if here.is_some() {
            return here;
        }
    }
    let found = search_path.resolve(&plain, Some(folder), own_first);
    let found = found.or_else(|| Library::loaded(&plain)?.path());
    // What is no file is not missing either, and is told as what it is.
    let here = Some(folder.join(&plain));
    found.or_else(|| here.filter(|here| Defect::in_the_way(here).is_some()))
}

/// The file with the highest numbers behind the plain name: 9.14.0 before 9.9.0.
pub fn full_name(folder: &Path, plain: &str) -> Option<PathBuf> {
    let numbers = |path: &Path| -> Option<Vec<u32>> {
        let name = path.file_name()?.to_str()?;
        let mut numbers = Vec::new();
        for number in name.strip_prefix(plain)?.strip_prefix('.')?.split('.') {
            numbers.push(number.parse().ok()?);
        }
        Some(numbers)
    };
    let mut last = None;
    for path in files_in(folder) {
        if let Some(numbers) = numbers(&path) {
            last = last.max(Some((numbers, path)));
        }
    }
    Some(last?.1)
}
