//! Compares a printed finding with the file system that it describes. A named path exists, a path that is called absent
//! does not, a version is in the files, and a version beside a path is in the files there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Evidence that lists searched places, which may not exist, and commands.
const UNCHECKED: [&str; 2] = ["searched", "command"];

/// Evidence that lists absent paths, each a complete line.
const EXPECTED: &str = "expected";

/// Evidence that lists absent paths, or names that are absent from the directory in the headline.
const MISSING: &str = "missing";

/// Phrases after a path that is absent.
const ABSENT: [&str; 5] = [
    " of LD_LIBRARY_PATH does not exist",
    ": No such file or directory",
    " of LD_LIBRARY_PATH is a single directory to the loader",
    " does not exist",
    ", which does not exist",
];

/// The phrase before the absent target of a link.
const BROKEN_LINK: &str = "is a broken link to `";

/// Phrases before a version that is from NVIDIA's documents, not from a file.
const DOCUMENTED: [&str; 6] = [
    "install cuDNN ",
    "upgrade to cuDNN ",
    "up to cuDNN ",
    "with cuBLAS ",
    "is newer than ",
    "using the rules for ",
];
const TABLES: [&str; 3] = [
    include_str!("../../../../build-support/compat/build-ids.txt"),
    include_str!("../../../../build-support/compat/known-bad.txt"),
    include_str!("../../../../build-support/compat/nvcc-targets.txt"),
];

/// A file system, and versions from other sources.
pub struct World<'a> {
    /// The root. Paths are printed with or without it.
    root: &'a Path,
    /// Versions that are in no file: from variables, the build script and the output of programs.
    input: String,
    /// Versions in files that are not text.
    kinds: Vec<(PathBuf, String)>,
    /// All versions. `None` for this machine, where only pip's records are read.
    known: Option<BTreeSet<String>>,
}

/// A line of a finding, with the label of its evidence, which is empty for the headline and for help.
struct Line<'a> {
    label: &'a str,
    text: &'a str,
}

impl<'a> World<'a> {
    /// Creates a world from a small file system, which is read completely.
    #[allow(dead_code, reason = "programs run on this machine")]
    pub fn read(root: &'a Path, input: String, kinds: Vec<(PathBuf, String)>) -> Self {
        let mut world = Self {
            root,
            input,
            kinds,
            known: None,
        };
        let mut known = world.known(root);
        known.extend(numbers(&world.input).map(|(_, number)| number));
        world.known = Some(known);
        world
    }

    /// Creates a world from this machine.
    #[allow(dead_code, reason = "the cases are in a world of their own")]
    pub fn real() -> Self {
        Self {
            root: Path::new("/"),
            input: String::new(),
            kinds: Vec::new(),
            known: None,
        }
    }

    /// Returns the false statements of a printed finding, each with its line.
    pub fn falsehoods(&self, text: &str) -> Vec<String> {
        let (mut wrong, mut headline) = (Vec::new(), None);
        for line in lines(text) {
            let is_missing_path = line.label == MISSING && line.text.starts_with('/');
            if line.label == EXPECTED || is_missing_path {
                if self.exists(line.text, false) {
                    wrong.push(format!("not absent: {}", line.text));
                }
                continue;
            }
            // The output of other programs is repeated unchanged.
            let is_repeated = !line.label.is_empty() && self.input.contains(line.text);
            if UNCHECKED.contains(&line.label) || is_repeated {
                continue;
            }
            let (paths, rest) = self.paths(&line, &mut wrong);
            self.releases(&line, &rest, &paths, &mut wrong);
            let dir = headline.get_or_insert_with(|| paths.first().cloned().unwrap_or_default());
            let one = line.text.split_once(" is missing `").map(|(_, rest)| rest);
            let one = one.and_then(|rest| Some(rest.split_once('`')?.0));
            let all = (line.label == MISSING).then_some(line.text);
            let is_name = |name: &&str| !name.contains(' ');
            let missing = one.or(all).filter(is_name);
            if missing.is_some_and(|name| self.exists(&format!("{dir}/{name}"), false)) {
                wrong.push(format!("not missing in {dir}: {}", line.text));
            }
        }
        wrong
    }

    /// Returns the paths of a line, and the line with each path replaced by `\u{1}` and its index.
    fn paths(&self, line: &Line, wrong: &mut Vec<String>) -> (Vec<String>, String) {
        let (mut paths, mut rest, mut at) = (Vec::new(), String::new(), 0);
        while let Some(start) = next_path(line.text, at) {
            let behind = &line.text[start..];
            let before = &line.text[..start];
            let quotes = ["`", "`\""].into_iter().find(|mark| before.ends_with(mark));
            let ends = behind
                .char_indices()
                .filter(|(_, one)| match quotes {
                    Some(mark) => mark.ends_with(*one),
                    None => one.is_whitespace() || "`'\",:;)$".contains(*one),
                })
                .map(|(end, _)| end)
                .chain([behind.len()]);
            let ends: Vec<usize> = ends.collect();
            let mut longest = ends.iter().rev();
            let found = longest.find(|end| self.exists(&behind[..**end], true));
            let end = *found.unwrap_or(&ends[0]);
            let path = &behind[..end];
            let after = behind[end..].trim_start_matches(['`', '"']);
            let is_absent = before.ends_with(BROKEN_LINK)
                || ABSENT.iter().any(|words| after.starts_with(words));
            // A path in a value with quotation marks or a leading blank is not expected to exist.
            let is_value = before.matches('`').count() % 2 == 1 && !before.ends_with('`');
            if is_absent && !is_value && self.exists(path, false) {
                wrong.push(format!("{path} exists: {}", line.text));
            }
            if !is_absent && found.is_none() && !self.is_made(path, &line.text[..start]) {
                wrong.push(format!("{path} does not exist: {}", line.text));
            }
            rest.push_str(&line.text[at..start]);
            rest.push_str(&format!("\u{1}{}\u{2}", paths.len()));
            paths.push(path.to_string());
            at = start + end;
        }
        rest.push_str(&line.text[at..]);
        (paths, rest)
    }

    /// Returns `true` for a path that the help creates: a new one in an existing directory, or an unpacked archive.
    fn is_made(&self, path: &str, before: &str) -> bool {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let is_new = before.ends_with(" into `") || before.contains("`ln -s ");
        (is_new && self.exists(parent, false))
            || (before.contains("extract it with ") && self.exists(&format!("{path}.*"), false))
    }

    fn releases(&self, line: &Line, rest: &str, paths: &[String], wrong: &mut Vec<String>) {
        let is_known = |number: &str| {
            self.known
                .as_ref()
                .is_none_or(|known| is_among(number, known))
        };
        for (start, number) in numbers(rest) {
            let (before, behind) = (&rest[..start], &rest[start + number.len()..]);
            let beside = ["  ", " at `", " in `", " in ", " from `", " toolkit at `"]
                .iter()
                .find_map(|word| behind.strip_prefix(word)?.strip_prefix('\u{1}'));
            let beside = beside.and_then(|rest| {
                let (place, _) = rest.split_once('\u{2}')?;
                paths.get(place.parse::<usize>().ok()?)
            });
            if let Some(path) = beside {
                if !self.has_version(path, &number) {
                    wrong.push(format!("{number} is not of {path}: {}", line.text));
                }
            } else if DOCUMENTED.iter().any(|words| before.ends_with(words)) {
                let mut words = TABLES
                    .iter()
                    .flat_map(|table| table.split([' ', '\n', '-']));
                if !words.any(|word| is_of(word, &number)) {
                    wrong.push(format!("{number} is in no table: {}", line.text));
                }
            } else if !is_known(&number) && !before.ends_with('<') {
                wrong.push(format!("{number} is in no file: {}", line.text));
            }
        }
    }

    /// Returns `true` if this version is in the files of this path, or in those of its installation.
    fn has_version(&self, path: &str, number: &str) -> bool {
        let path = self.place(path);
        if self.known.is_none() {
            let known = recorded(&path);
            return known.is_empty() || is_among(number, &known);
        }
        let real = path.canonicalize().unwrap_or_default();
        let installs = [install(&path), install(&real)];
        let mut installs = installs.iter().filter(|dir| dir.starts_with(self.root));
        installs.any(|dir| is_among(number, &self.known(dir)))
    }

    fn place(&self, path: &str) -> PathBuf {
        match path.starts_with(&*self.root.to_string_lossy()) {
            true => path.into(),
            false => self.root.join(path.trim_start_matches('/')),
        }
    }

    /// Returns `true` if a file matches the path, in which `*` matches any letters. A dangling link matches if allowed.
    fn exists(&self, path: &str, may_dangle: bool) -> bool {
        let exists = |path: &Path| match may_dangle {
            true => path.symlink_metadata().is_ok(),
            false => path.exists(),
        };
        let path = self.place(path);
        let Some((dir, end)) = path.to_str().and_then(|text| text.split_once('*')) else {
            return exists(&path);
        };
        let (dir, start) = dir.rsplit_once('/').unwrap();
        let (end, below) = end.split_once('/').unwrap_or((end, ""));
        let entries = fs::read_dir(dir).into_iter().flatten();
        let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.any(|name| {
            let fits = name.starts_with(start) && name.ends_with(end.trim_start_matches('*'));
            let found = format!(
                "{dir}/{name}{}{below}",
                if below.is_empty() { "" } else { "/" }
            );
            fits && self.exists(&found, may_dangle)
        })
    }

    /// Returns the versions in one file, or in the files below a directory.
    fn known(&self, dir: &Path) -> BTreeSet<String> {
        let mut known = BTreeSet::new();
        read(dir, &mut known, 0);
        let kinds = self.kinds.iter().filter(|(path, _)| path.starts_with(dir));
        known.extend(
            kinds
                .flat_map(|(_, text)| numbers(text))
                .map(|(_, number)| number),
        );
        known
    }
}

/// Returns the versions of the cuDNN wheels that a file or the files of a directory come from, by pip's records.
fn recorded(path: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(path).into_iter().flatten();
    let below = entries.map(|entry| entry.unwrap().path());
    let mut known = BTreeSet::new();
    for file in below.chain([path.into()]) {
        let file = file.canonicalize().unwrap_or_default();
        let site = file.ancestors().find(|dir| dir.ends_with("nvidia/cudnn"));
        let site = site.and_then(|dir| fs::read_dir(dir.ancestors().nth(2)?).ok());
        for record in site.into_iter().flatten() {
            let name = record.unwrap().file_name().into_string().unwrap();
            if name.starts_with("nvidia_cudnn_cu") {
                known.extend(numbers(&name).map(|(_, number)| number));
            }
        }
    }
    known
}

/// Returns the installation of a directory of headers or libraries; for a file, the file.
fn install(path: &Path) -> PathBuf {
    if path.is_file() {
        return path.into();
    }
    let is_inside = |dir: &&Path| {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        ["lib", "lib64", "include", "bin"].contains(&&*name) || name.ends_with("-linux-gnu")
    };
    let mut dirs = path.ancestors();
    dirs.find(|dir| !is_inside(dir)).unwrap_or(path).into()
}

/// Returns the numbers in the names and texts of the files below this one.
fn read(path: &Path, known: &mut BTreeSet<String>, depth: usize) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    known.extend(numbers(&name).map(|(_, number)| number));
    if path.is_dir() && depth < 24 {
        for entry in fs::read_dir(path).unwrap() {
            read(&entry.unwrap().path(), known, depth + 1);
        }
    } else if path.is_file() {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        known.extend(numbers(&text).map(|(_, number)| number));
        let macro_of = |name: &str| {
            let (_, value) = text.split_once(&format!("#define {name} "))?;
            value.split_whitespace().next()?.parse::<u32>().ok()
        };
        let cudnn = ["CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"].map(macro_of);
        if let [Some(major), Some(minor), Some(patch)] = cudnn {
            known.insert(format!("{major}.{minor}.{patch}"));
        }
        if let Some(cuda) = macro_of("CUDA_VERSION") {
            known.insert(format!("{}.{}", cuda / 1000, cuda % 1000 / 10));
        }
    }
}

fn is_among(number: &str, known: &BTreeSet<String>) -> bool {
    known.iter().any(|one| is_of(one, number))
}

/// Returns `true` if a version is this one, or a longer one with this prefix.
fn is_of(version: &str, number: &str) -> bool {
    let rest = version.strip_prefix(number);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Splits a finding into headline, help and evidence.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut label = "";
    let line = |whole| {
        let Some((first, text)) = labelled(whole) else {
            return Line {
                label: "",
                text: whole,
            };
        };
        if !first.is_empty() {
            label = first;
        }
        Line { label, text }
    };
    text.lines().map(line).collect()
}

/// Splits a line of evidence into its label, if it is the first line, and its value.
fn labelled(line: &str) -> Option<(&str, &str)> {
    let (label, value) = line.strip_prefix("  ")?.split_at_checked(12)?;
    (!label.starts_with("= ")).then(|| (label.trim_end(), value))
}

/// Returns the position of the next absolute path.
fn next_path(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    (from..bytes.len()).find(|&at| {
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        let after = bytes.get(at + 1).copied().unwrap_or(b' ');
        bytes[at] == b'/'
            && (before.is_ascii_whitespace() || b"`'\"(=:".contains(&before))
            && (after.is_ascii_alphanumeric() || b"._$".contains(&after))
    })
}

/// Returns `9.14.0` for `libcudnn.so.9.14.0` and `12.8` for `V12.8.93`, with their positions.
fn numbers(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let bytes = text.as_bytes();
    let is_part = |at: usize| {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        digit(at) || (bytes.get(at) == Some(&b'.') && at > 0 && digit(at - 1) && digit(at + 1))
    };
    let starts = (0..bytes.len()).filter(move |&at| is_part(at) && (at == 0 || !is_part(at - 1)));
    starts.filter_map(move |start| {
        let end = (start..=bytes.len()).find(|&at| !is_part(at)).unwrap();
        let number = &text[start..end];
        number.contains('.').then(|| (start, number.to_string()))
    })
}
