//! What differs from one loader to the next: the folders that are compiled into it, what it puts for `$LIB`, and the
//! subfolders that it prefers on better processors.

use std::path::{Path, PathBuf};

/// What is compiled into the loader of a distribution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loader {
    /// Its own folders, in its order.
    pub dirs: Vec<String>,
    /// What it may put for `$LIB`.
    pub lib: Vec<String>,
}

impl Loader {
    /// Reads it off the loader's own file. Where that tells nothing, whatever it may be is looked at; a file for
    /// another processor or word size is passed over anyway.
    pub fn parse(bytes: &[u8], cpu: &str) -> Self {
        let multiarch = format!("lib/{}", multiarch(cpu));
        let has = |dir: &str| {
            let text = format!("/usr/{dir}/\0");
            bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        };
        // Of two, the longer one: Debian's has `/usr/lib` too.
        let known = [multiarch.as_str(), "lib64", "lib"];
        let text = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        match known.into_iter().find(|dir| has(dir)) {
            Some(lib) => {
                let mut dirs = vec![format!("/{lib}"), format!("/usr/{lib}")];
                if lib == multiarch {
                    dirs.extend(["/lib".to_string(), "/usr/lib".to_string()]);
                }
                Self {
                    dirs,
                    lib: text(&[lib]),
                }
            }
            None => {
                let lib: Vec<String> = text(&[multiarch.as_str(), "lib64", "lib"]);
                let dirs = lib
                    .iter()
                    .flat_map(|lib| [format!("/{lib}"), format!("/usr/{lib}")]);
                Self {
                    dirs: dirs.collect(),
                    lib: lib.clone(),
                }
            }
        }
    }
}

/// The subfolders for better processors that a loader knows, the best first: `glibc-hwcaps/x86-64-v3`. It has some for
/// other processors too, for which no cuDNN is.
pub fn hwcaps_levels(cpu: &str) -> &'static [&'static str] {
    match cpu {
        "x86_64" => &["x86-64-v4", "x86-64-v3", "x86-64-v2"],
        _ => &[],
    }
}

/// The level whose subfolder this file lies in.
pub fn hwcaps_level(file: &Path) -> Option<&str> {
    let folder = file.parent()?;
    (folder.parent()?.file_name()? == "glibc-hwcaps").then_some(folder.file_name()?.to_str()?)
}

/// The files that a loader tries for one in this folder, the first that is there being taken. Where the processor is
/// not known, the one for all of them comes first.
pub fn hwcaps_candidates(file: &Path, known: Option<&[&str]>, cpu: &str) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return vec![file.to_path_buf()];
    };
    let at = |level: &&str| folder.join("glibc-hwcaps").join(level).join(name);
    match known {
        Some(levels) => {
            let better = levels.iter().map(at);
            better.chain([file.to_path_buf()]).collect()
        }
        None => {
            let better = hwcaps_levels(cpu).iter().rev().map(at);
            [file.to_path_buf()].into_iter().chain(better).collect()
        }
    }
}

/// The files of the cache for one name, as this processor's loader prefers them.
pub fn best_hwcaps(mut files: Vec<PathBuf>, known: Option<&[&str]>, cpu: &str) -> Vec<PathBuf> {
    let all = known.unwrap_or(hwcaps_levels(cpu));
    let rank = |file: &PathBuf| match (hwcaps_level(file), known) {
        (Some(level), Some(_)) => all.iter().position(|known| *known == level),
        (Some(level), None) => all
            .iter()
            .rev()
            .position(|known| *known == level)
            .map(|at| at + 1),
        (None, Some(_)) => Some(all.len()),
        (None, None) => Some(0),
    };
    files.retain(|file| rank(file).is_some());
    files.sort_by_key(rank);
    files
}

/// As Debian calls the folder of a processor.
pub fn multiarch(cpu: &str) -> String {
    let cpu = if cpu == "i686" { "i386" } else { cpu };
    format!("{cpu}-linux-gnu")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(files: &[&str]) -> Vec<PathBuf> {
        files.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_loader_tells_its_folders() {
        let debian =
            b"\x01/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0\0";
        let debian = Loader::parse(debian, "x86_64");
        assert_eq!(
            debian.dirs,
            [
                "/lib/x86_64-linux-gnu",
                "/usr/lib/x86_64-linux-gnu",
                "/lib",
                "/usr/lib"
            ]
        );
        assert_eq!(debian.lib, ["lib/x86_64-linux-gnu"]);
        let fedora = Loader::parse(b"\0/lib64/\0/usr/lib64/\0\0", "x86_64");
        assert_eq!(fedora.dirs, ["/lib64", "/usr/lib64"]);
        assert_eq!(fedora.lib, ["lib64"]);
        let plain = Loader::parse(b"\0/lib/\0/usr/lib/\0\0", "aarch64");
        assert_eq!(plain.dirs, ["/lib", "/usr/lib"]);
        let unknown = Loader::parse(b"\0/nix/store/x-glibc/lib/\0", "aarch64");
        assert_eq!(unknown.lib, ["lib/aarch64-linux-gnu", "lib64", "lib"]);
        assert_eq!(unknown.dirs.len(), 6);
    }

    #[test]
    fn subfolders_for_better_processors() {
        let known: &[&str] = &["x86-64-v3", "x86-64-v2"];
        let file = Path::new("/l/libx.so");
        assert_eq!(
            hwcaps_candidates(file, Some(known), "x86_64"),
            paths(&[
                "/l/glibc-hwcaps/x86-64-v3/libx.so",
                "/l/glibc-hwcaps/x86-64-v2/libx.so",
                "/l/libx.so"
            ])
        );
        assert_eq!(
            hwcaps_candidates(file, Some(&[]), "x86_64"),
            paths(&["/l/libx.so"])
        );
        assert_eq!(
            hwcaps_candidates(file, None, "aarch64"),
            paths(&["/l/libx.so"])
        );
        let unknown = hwcaps_candidates(file, None, "x86_64");
        assert_eq!(unknown.first(), Some(&PathBuf::from("/l/libx.so")));
        assert_eq!(
            unknown.last(),
            Some(&PathBuf::from("/l/glibc-hwcaps/x86-64-v4/libx.so"))
        );
        let cached = paths(&[
            "/l/glibc-hwcaps/x86-64-v2/libx.so",
            "/l/glibc-hwcaps/x86-64-v4/libx.so",
            "/l/glibc-hwcaps/x86-64-v3/libx.so",
            "/l/libx.so",
            "/m/libx.so",
        ]);
        assert_eq!(
            best_hwcaps(cached.clone(), Some(known), "x86_64"),
            paths(&[
                "/l/glibc-hwcaps/x86-64-v3/libx.so",
                "/l/glibc-hwcaps/x86-64-v2/libx.so",
                "/l/libx.so",
                "/m/libx.so"
            ])
        );
        let unknown = best_hwcaps(cached, None, "x86_64");
        assert_eq!(unknown.first(), Some(&PathBuf::from("/l/libx.so")));
        assert_eq!(unknown.len(), 5);
    }
}
