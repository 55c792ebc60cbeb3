//! The files to compile, other files that affect the result, and what cargo watches.

use crate::kernels::{InvalidRequest, Kernels};
use crate::runtime::facts::Finding;
use crate::runtime::facts::nearest::nearest;
use crate::system::freshness::stat_cache;
use crate::system::{Directive, cargo_cannot_take, files, out_dir};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A file, a pattern, or a list of these, for [`Kernels::files`].
#[derive(Clone, Debug)]
pub struct Patterns(pub(super) Vec<PathBuf>);

/// Implements conversions from a single file or pattern.
macro_rules! from_one {
    ($($one:ty),*) => {
        $(impl From<$one> for Patterns {
            fn from(pattern: $one) -> Self {
                Self(vec![pattern.into()])
            }
        })*
    };
}
from_one!(&str, String, &String, &Path, PathBuf, &PathBuf);

/// Implements conversions from a list.
macro_rules! from_list {
    ($([$($length:tt)*] $list:ty),*) => {
        $(impl<P: AsRef<Path>, $($length)*> From<$list> for Patterns {
            fn from(list: $list) -> Self {
                Self(list.iter().map(|one| one.as_ref().into()).collect())
            }
        })*
    };
}
from_list!([] &[P], [] Vec<P>, [] &Vec<P>);
from_list!([const N: usize] &[P; N], [const N: usize] [P; N]);

#[derive(Clone, Debug)]
pub enum Source {
    File(PathBuf),
    Pattern(String),
}

impl Patterns {
    pub(crate) fn sources(self) -> Vec<Source> {
        let mut sources = Vec::new();
        for path in self.0 {
            sources.push(match path.to_str() {
                Some(text) if text.contains(['*', '?', '[']) && !files::is_file(&path) => {
                    Source::Pattern(text.to_string())
                }
                _ => Source::File(path),
            });
        }
        sources
    }
}

impl Kernels<'_> {
    /// Returns the files to compile, each once, in the order in which they were added.
    pub(super) fn sources(&self, lines: &mut Vec<Directive>) -> Result<Vec<PathBuf>, Finding> {
        let mut sources: Vec<PathBuf> = Vec::new();
        for source in &self.sources {
            match source {
                Source::File(path) => sources.push(path.clone()),
                Source::Pattern(pattern) => {
                    for path in self.matching(pattern, lines)? {
                        if !self.is_excluded(&path)? {
                            sources.push(path);
                        }
                    }
                }
            }
        }
        let sources = files::dedup(sources.into_iter());
        for path in &sources {
            if files::is_dir(path) {
                return Err(InvalidRequest::Directory(path).finding());
            }
            if !files::is_file(path) {
                return Err(InvalidRequest::MissingPath(path, true, similar(path)).finding());
            }
            lines.push(Directive::RerunIfChanged(path.clone()));
        }
        if sources.is_empty() {
            let fault = match &self.excluded[..] {
                [] => InvalidRequest::NoSource,
                _ => InvalidRequest::AllExcluded,
            };
            return Err(fault.finding());
        }
        Ok(sources)
    }

    /// Writes files that include several sources each.
    pub(super) fn units(&self, sources: &[PathBuf]) -> Result<Vec<PathBuf>, Finding> {
        let dir = self.output_dir()?.join("cudnn-guard").join("unity");
        out_dir::create_dir(&dir)?;
        let mut units = Vec::new();
        for members in sources.chunks(self.unity) {
            let mut text = String::new();
            for member in members {
                let path = self.toolchain.host.env.directory().join(member);
                text += &format!("#include \"{}\"\n", path.display());
            }
            let unit = dir.join(format!("{}.cu", stat_cache::hash(text.as_bytes())));
            out_dir::write_named(&unit, &text)?;
            units.push(unit);
        }
        Ok(units)
    }

    /// Returns `true` if a pattern excludes a file. A pattern without a `/` is for the file name.
    fn is_excluded(&self, path: &Path) -> Result<bool, Finding> {
        let package = self.toolchain.host.env.var("CARGO_MANIFEST_DIR");
        for pattern in &self.excluded {
            let compared = match pattern.components().count() {
                1 => path.file_name().map_or(path, Path::new),
                _ => within(package, path),
            };
            if files::matches(&within(package, pattern).to_string_lossy(), compared)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the files of [`watch`](Self::watch), and adds them to the lines for cargo.
    pub(super) fn watched(&self, lines: &mut Vec<Directive>) -> Result<Vec<PathBuf>, Finding> {
        let mut watched = Vec::new();
        for source in &Patterns(self.watched.clone()).sources() {
            match source {
                Source::File(path) if files::is_dir(path) => {
                    lines.push(Directive::RerunIfChanged(path.clone()));
                    let below = glob::Pattern::escape(&path.to_string_lossy());
                    watched.extend(files::glob(&format!("{below}/**/*"))?);
                }
                Source::File(path) if files::is_file(path) => watched.push(path.clone()),
                Source::File(path) => {
                    return Err(InvalidRequest::MissingPath(path, false, similar(path)).finding());
                }
                Source::Pattern(pattern) => watched.extend(self.matching(pattern, lines)?),
            }
        }
        files::keep(&mut watched, &files::is_file);
        let watched = files::dedup(watched.into_iter());
        for path in &watched {
            lines.push(Directive::RerunIfChanged(path.clone()));
        }
        Ok(watched)
    }

    /// Returns the files that match a pattern, and has cargo watch its directory. No match is an error.
    fn matching(&self, pattern: &str, lines: &mut Vec<Directive>) -> Result<Vec<PathBuf>, Finding> {
        lines.extend(self.watch_dir(pattern));
        let found = files::glob(pattern)?;
        if found.is_empty() {
            let near = similar(Path::new(pattern));
            return Err(InvalidRequest::NoMatch(pattern, near).finding());
        }
        Ok(found)
    }

    /// Returns the directory of a pattern for cargo to watch, because a new file there must be compiled too. Returns
    /// `None` if the output is below it, because every build would then run again.
    fn watch_dir(&self, pattern: &str) -> Option<Directive> {
        let fixed = &pattern[..pattern.find(['*', '?', '[']).unwrap_or(pattern.len())];
        let dir = Path::new(&fixed[..fixed.rfind(['/', '\\'])?]);
        let real = files::canonical(dir, None).ok()?;
        let out_dir = files::canonical(&self.output_dir().ok()?, None).ok()?;
        (!out_dir.starts_with(real)).then(|| Directive::RerunIfChanged(dir.to_path_buf()))
    }
}

/// Returns an existing path or a pattern with a match, in which only the first missing part of this path differs.
fn similar(path: &Path) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        let next = found.join(part);
        if files::exists(&next) {
            found = next;
            continue;
        }
        let names = files::names(&Path::new(".").join(&found)).ok()?;
        let mut known = Vec::new();
        for name in &names {
            known.extend(name.to_str());
        }
        known.push("*.cu");
        let mut near = found.join(nearest(part.as_os_str().to_str()?, &known)?);
        near.extend(parts);
        let is_found = !files::glob(near.to_str()?).ok()?.is_empty();
        return is_found.then_some(near);
    }
    None
}

/// Returns the path relative to the package, if it is inside the package.
pub fn within<'a>(package: Option<&str>, path: &'a Path) -> &'a Path {
    let within = package.and_then(|package| path.strip_prefix(package).ok());
    within.unwrap_or(path)
}

/// Has cargo watch files, except for those that it already watches.
pub fn watch(paths: &[PathBuf], lines: &mut Vec<Directive>) {
    let mut watched = BTreeSet::<OsString>::new();
    for line in &*lines {
        if let Directive::RerunIfChanged(path) = line {
            watched.insert(path.into());
        }
    }
    for path in paths {
        if cargo_cannot_take(path).is_none() && watched.insert(path.into()) {
            lines.push(Directive::RerunIfChanged(path.clone()));
        }
    }
}
