//! Installed wheels: their versions, and the files in their RECORDs.

use crate::cli::fetch::release::Release;
use crate::cli::fetch::wheels::is_known;
use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::facts::majors;
use crate::system::files;
use crate::toolkit::package_names::{CUTLASS_DIR, FETCH_CLAIMS, FETCHED_ON_REQUEST};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The wheels in a directory.
pub struct Installed {
    pub home: PathBuf,
    pub wheels: Vec<Wheel>,
}

/// A wheel, as left by `pip install --target` in a directory.
pub struct Wheel {
    /// The name of its project: `nvidia-cudnn-cu13`.
    pub name: String,
    /// Its version: `9.14.0.64`.
    pub version: String,
    /// The directory of its RECORD: `nvidia_cudnn_cu13-9.14.0.64.dist-info`.
    pub info: PathBuf,
}

impl Installed {
    /// Finds the wheels of `fetch` in its directory, also those whose record is gone.
    pub fn by_fetch(home: &Path) -> Self {
        Self::new(home, claims(home))
    }

    /// Finds all wheels in a directory.
    pub fn all(dir: &Path) -> Self {
        Self::new(dir, names(dir))
    }

    fn new(home: &Path, names: Vec<String>) -> Self {
        let wheels = names.iter().filter_map(|name| Wheel::new(home, name));
        let mut wheels: Vec<Wheel> = wheels.collect();
        // An interrupted `fetch` may have claimed two versions of a wheel.
        wheels.sort_by_key(|wheel| !wheel.info.is_dir());
        let home = home.to_path_buf();
        Self { home, wheels }
    }

    pub fn find(&self, project: &str) -> Option<&Wheel> {
        self.wheels.iter().find(|wheel| wheel.name == project)
    }

    /// Returns the wheel that has the toolkit's version.
    pub fn toolkit(&self) -> Option<&Wheel> {
        let named = |cuda| self.find(&format!("nvidia-cuda-runtime-cu{cuda}"));
        let toolkit = self.find("nvidia-cuda-nvcc");
        toolkit.or_else(|| named(12)).or_else(|| named(11))
    }

    pub fn cudnn(&self) -> Option<&Wheel> {
        let mut wheels = self.wheels.iter();
        wheels.find(|wheel| wheel.name.starts_with("nvidia-cudnn-"))
    }

    /// Returns the version of CUDA.
    pub fn cuda(&self) -> Option<Release> {
        Some(Release::from_wheel(&self.toolkit()?.version).first(2))
    }

    /// Returns the version of cuDNN, if it is built for a CUDA.
    pub fn cudnn_for(&self, cuda: u32) -> Option<Release> {
        let wheel = self.find(&format!("nvidia-cudnn-cu{cuda}"))?;
        Some(Release::from_wheel(&wheel.version).first(3))
    }

    /// Returns the libraries of `--with`.
    pub fn libraries(&self) -> impl Iterator<Item = String> + '_ {
        let projects =
            |name: &str| ["", "-cu12", "-cu11"].map(|cuda| format!("nvidia-{name}{cuda}"));
        let is_there = move |name: &&str| projects(name).iter().any(|one| self.find(one).is_some());
        let libraries = FETCHED_ON_REQUEST.into_iter();
        libraries.filter(is_there).map(String::from)
    }

    /// Returns the directory of the toolkit, unless it has one for each wheel.
    pub fn toolkit_dir(&self) -> Option<PathBuf> {
        self.dir(majors::CUDA.iter().map(|cuda| format!("cu{cuda}")))
    }

    pub fn cudnn_dir(&self) -> Option<PathBuf> {
        self.dir(["cudnn", "cudnn_jit"].map(String::from).into_iter())
    }

    fn dir(&self, names: impl Iterator<Item = String>) -> Option<PathBuf> {
        let mut dirs = names.map(|name| self.home.join("nvidia").join(name));
        dirs.find(|dir| dir.is_dir())
    }
}

impl Wheel {
    fn new(home: &Path, info: &str) -> Option<Self> {
        let (name, version) = info.strip_suffix(".dist-info")?.split_once('-')?;
        Some(Self {
            name: name.to_ascii_lowercase().replace(['_', '.'], "-"),
            version: version.to_string(),
            info: home.join(info),
        })
    }

    /// Compares its files with its RECORD. Returns the number of files, and the differences.
    pub fn check(&self) -> (usize, Vec<String>) {
        let dir = self.info.parent().unwrap_or(&self.info);
        let text = read(&self.info.join("RECORD"));
        let (mut count, mut damaged) = (0, Vec::new());
        for (path, recorded) in parse(&text) {
            count += 1;
            let found = fs::metadata(dir.join(&path))
                .ok()
                .filter(|found| found.is_file());
            let found = found.map(|found| found.len());
            match (found, recorded) {
                (Some(found), Some(recorded)) if found != recorded => {
                    damaged.push(format!("{path} has {found} bytes instead of {recorded}"));
                }
                (Some(_), _) => {}
                (None, _) => damaged.push(format!("{path} is missing")),
            }
        }
        if count == 0 {
            let name = format!("{} {}", self.name, self.version);
            damaged.push(format!("the RECORD of {name} is missing"));
        }
        (count, damaged)
    }

    pub fn licenses(&self) -> Vec<PathBuf> {
        let dirs = ["licenses", "license_files", "."].map(|folder| self.info.join(folder));
        let mut found: Vec<PathBuf> = dirs.iter().flat_map(|dir| files_in(dir)).collect();
        found.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
            path.is_file() && name.to_string_lossy().starts_with("license")
        });
        found.sort();
        found
    }
}

/// Returns the names that `fetch` created: `nvidia/cu13`, `nvidia_nvvm-13.0.88.dist-info`. Older versions listed no
/// records. The file may belong to a repository, so other names in it do not count.
pub fn claims(home: &Path) -> Vec<String> {
    let text = read(&home.join(FETCH_CLAIMS));
    let is_possible =
        |line: &&str| is_inside(line) && is_moved(line.split('/').next().unwrap_or(line));
    let lines = text.lines().filter(is_possible);
    let mut claims = files::dedup(lines.map(String::from));
    if !claims.is_empty() && !claims.iter().any(|name| name.ends_with(".dist-info")) {
        claims.extend(known_records(home));
    }
    claims
}

/// Returns the records of the wheels that `fetch` installs, whoever created them.
pub fn known_records(home: &Path) -> Vec<String> {
    let mut records = names(home);
    records.retain(|name| Wheel::new(home, name).is_some_and(|wheel| is_known(&wheel.name)));
    records
}

/// Returns the sorted names in a directory.
pub fn names(dir: &Path) -> Vec<String> {
    let names = files::names(dir).unwrap_or_default().into_iter();
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// Returns `true` for the names that `fetch` moves into its directory. CUTLASS's wheel also contains Python packages.
pub fn is_moved(name: &str) -> bool {
    ["nvidia", CUTLASS_DIR].contains(&name) || name.ends_with(".dist-info")
}

/// Reads a text; it is empty if it is not a regular file or cannot be read.
fn read(path: &Path) -> String {
    let text = path.is_file().then(|| files::read(path).ok());
    text.flatten().unwrap_or_default()
}

/// Parses the files of a RECORD, with their sizes, that `fetch` moves. Bytecode may change, and `nvidia/__init__.py` is
/// in every wheel.
fn parse(text: &str) -> impl Iterator<Item = (String, Option<u64>)> + '_ {
    text.lines().filter_map(parse_line).filter(|(path, _)| {
        let first = path.split('/').next().unwrap_or_default();
        let stays = !path.ends_with(".pyc") && path != "nvidia/__init__.py";
        is_inside(path) && is_moved(first) && stays
    })
}

fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Parses a line `path,sha256=hash,size`. A path with a comma is in quotation marks.
fn parse_line(line: &str) -> Option<(String, Option<u64>)> {
    let mut fields = line.rsplitn(3, ',');
    let size = fields.next()?.trim().parse().ok();
    let path = fields.nth(1)?;
    let in_quotes = path.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let path = in_quotes.map_or(path.to_string(), |inner| inner.replace("\"\"", "\""));
    Some((path, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_paths_and_sizes_of_files_that_stay() {
        let text = "nvidia/b.h,sha256=x,12\n\"nvidia/c,d\"\"e.h\",sha256=y-_,3\na-1.dist-info/RECORD,,\nnonsense\n\
            nvidia/__pycache__/__init__.cpython-311.pyc,,\n../../bin/nvcc,sha256=x,1\n/etc/passwd,,\n\
            nvidia/__init__.py,sha256=x,0\npycute/layout.py,sha256=x,1\n";
        let file = |path: &str, size| (path.to_string(), size);
        assert_eq!(
            parse(text).collect::<Vec<_>>(),
            [
                file("nvidia/b.h", Some(12)),
                file("nvidia/c,d\"e.h", Some(3)),
                file("a-1.dist-info/RECORD", None),
            ]
        );
    }
}
