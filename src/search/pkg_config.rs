//! Reads the .pc files of CUDA and cuDNN through the `pkg-config` crate.
//!
//! The crate itself reads `PKG_CONFIG`, `PKG_CONFIG_SYSROOT_DIR`, `PKG_CONFIG_ALLOW_CROSS`, `TARGET` and `HOST` from
//! the process's environment, so it does not see the pairs of `Config::env`. Its `get_variable` prints lines for cargo, so it cannot be used here.

use crate::model::{Invocation, Kind, Platform, Variable, newest_first, parse_numbers};
use crate::runtime::facts::FindingId;
use crate::search::{LEAVES, Tree, install_layout};
use crate::system::{CAP, Host, files};
use pkg_config::{Config, Error};
use std::io::ErrorKind;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// Returns `true` if pkg-config may be run, which is only for the crate's target, and in a cross build only if it is
/// configured for that.
pub fn is_supported(host: &Host) -> bool {
    let is_target = match host.env.var("TARGET") {
        Some(target) => target == host.platform.triple,
        None => host.is_target(),
    };
    is_target && config().target_supported()
}

fn config() -> Config {
    let mut config = Config::new();
    config.cargo_metadata(false).env_metadata(false);
    config
}

/// Returns the .pc files of this kind, the newest version of each directory first. If a name occurs twice, the first
/// file counts.
pub fn files(dirs: &[PathBuf], kind: Kind) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for dir in dirs {
        // `cudart` precedes `cuda`, which may describe only the driver.
        let mut found = Vec::new();
        for file in files::list(dir).unwrap_or_default() {
            let name = file.file_name().unwrap_or_default();
            let version = name.to_str().and_then(|name| version_in_name(name, kind));
            let is_known = all.iter().any(|known| known.ends_with(name));
            if let (Some(version), false) = (version, is_known) {
                found.push((version, file));
            }
        }
        all.append(&mut newest_first(found));
    }
    all
}

/// Returns the version in the name of a .pc file of the CUDA runtime or cuDNN: `cudart-12.4.pc`, `cuda.pc`, `cudnn.pc`.
/// Returns `None` for other files.
fn version_in_name(name: &str, kind: Kind) -> Option<Vec<u32>> {
    let stem = name.strip_suffix(".pc")?;
    let known: &[&str] = match kind {
        Kind::Toolkit => &["cudart", "cuda"],
        Kind::Cudnn => &["cudnn"],
    };
    known.iter().find_map(|known| {
        let rest = stem.strip_prefix(known)?;
        let Some(numbers) = rest.strip_prefix('-') else {
            // A file without a number is the administrator's default.
            return rest.is_empty().then(|| vec![u32::MAX]);
        };
        parse_numbers(numbers, '.')
    })
}

pub enum PackageFault {
    InvalidAnswer,
    NotInstalled,
    NotRun(String),
    /// A .pc file that pkg-config rejects, with the first line of its output.
    Refused(Option<String>),
    Other(String),
}

/// Runs pkg-config on a .pc file. Returns `None` if the file names no directory.
pub fn tree(file: &Path, kind: Kind, host: &Host) -> Result<Option<Tree>, PackageFault> {
    // The crate has no deadline and no limit on the output, so it only runs what has ended before.
    let program = host.env.get(Variable::PkgConfig);
    let program = Path::new(program.unwrap_or("pkg-config".as_ref()));
    let query = Invocation::new(program, &["--libs", "--cflags", &file.to_string_lossy()]);
    match host.answers.query(&query, &|_| None) {
        Err(fault) if fault.id == FindingId::ProgramTimeout => {
            return Err(PackageFault::Other(fault.summary));
        }
        Ok(output) if output.printed().len() >= CAP => return Err(PackageFault::InvalidAnswer),
        _ => {}
    }
    // pkg-config accepts the path of a file as a package. The crate panics if the output is empty or not Unicode.
    let probed = catch_unwind(|| config().probe(&file.to_string_lossy()))
        .map_err(|_| PackageFault::InvalidAnswer)?;
    let mut library = probed.map_err(|error| match error {
        Error::Command { cause, .. } => {
            let is_named = host.env.get(Variable::PkgConfig).is_some();
            match cause.kind() {
                ErrorKind::NotFound if !is_named => PackageFault::NotInstalled,
                _ => PackageFault::NotRun(cause.to_string()),
            }
        }
        Error::ProbeFailure { output, .. } | Error::Failure { output, .. } => {
            let output = String::from_utf8_lossy(&output.stderr);
            PackageFault::Refused(output.lines().next().map(String::from))
        }
        other => PackageFault::Other(other.to_string()),
    })?;
    straighten(&mut library.include_paths);
    straighten(&mut library.link_paths);
    let (include, lib) = (library.include_paths, library.link_paths);
    Ok(tree_of(include, lib, kind, &host.platform))
}

/// Resolves `..`: a relocatable package names directories relative to its file, `/opt/cuda/lib/pkgconfig/../..`.
fn straighten(dirs: &mut [PathBuf]) {
    for dir in dirs {
        if dir.iter().any(|part| part == "..") {
            if let Ok(real) = files::canonical(dir, None) {
                *dir = real;
            }
        }
    }
}

/// Returns the directories that a package names, then the usual ones around them.
fn tree_of(
    mut include: Vec<PathBuf>,
    mut lib: Vec<PathBuf>,
    kind: Kind,
    platform: &Platform,
) -> Option<Tree> {
    files::keep(&mut include, &Path::is_absolute);
    files::keep(&mut lib, &|dir| {
        dir.is_absolute() && !dir.ends_with("stubs")
    });
    let named = include.iter().find_map(|dir| root_of(dir));
    let root = named.or_else(|| lib.iter().find_map(|dir| root_of(dir)))?;
    let mut tree = match root.ends_with("usr") {
        true => install_layout::system(kind, platform, root),
        false => install_layout::usual(kind, platform, root, ""),
    };
    include.append(&mut tree.include);
    lib.append(&mut tree.lib);
    Some(Tree {
        include,
        lib,
        ..tree
    })
}

/// Returns the installation directory of a package: `/usr/local/cuda-12.4` for
/// `/usr/local/cuda-12.4/targets/x86_64-linux/include`.
fn root_of(dir: &Path) -> Option<&Path> {
    let is_usual = |dir: &&Path| LEAVES.iter().any(|leaf| dir.ends_with(leaf));
    let root = dir.ancestors().find(is_usual).unwrap_or(dir).parent()?;
    match root.parent() {
        Some(targets) if targets.ends_with("targets") => targets.parent(),
        _ => Some(root),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    fn paths<const N: usize>(paths: [&str; N]) -> Vec<PathBuf> {
        paths.map(PathBuf::from).to_vec()
    }

    #[test]
    fn packages_are_recognized_by_their_names() {
        let toolkit = |name| version_in_name(name, Kind::Toolkit);
        assert_eq!(toolkit("cudart-12.10.pc"), Some(vec![12, 10]));
        assert!(toolkit("cudart-12.10.pc") > toolkit("cuda-12.9.pc"));
        assert!(toolkit("cuda.pc") > toolkit("cudart-13.0.pc"));
        for other in [
            "cublas-12.4.pc",
            "cudart-12.x.pc",
            "cudart.txt",
            "cudarts.pc",
        ] {
            assert_eq!(toolkit(other), None, "{other}");
        }
        assert_eq!(
            version_in_name("cudnn.pc", Kind::Cudnn),
            Some(vec![u32::MAX])
        );
        assert_eq!(version_in_name("cudnn-frontend.pc", Kind::Cudnn), None);
    }

    #[test]
    fn the_newest_file_of_each_directory_is_first() {
        let top = std::env::temp_dir().join(format!("cudnn-guard-pc-{}", std::process::id()));
        let dirs = ["own", "usual", "none"].map(|dir| top.join(dir));
        let write = |dir: &PathBuf, names: &[&str]| {
            std::fs::create_dir_all(dir).unwrap();
            for name in names {
                std::fs::write(dir.join(name), "").unwrap();
            }
        };
        write(&dirs[0], &["cudart-12.9.pc", "cudnn.pc"]);
        write(
            &dirs[1],
            &[
                "cuda-9.0.pc",
                "cudart-12.1.pc",
                "cuda-12.10.pc",
                "cudart-12.10.pc",
                "cudart-12.9.pc",
                "cublas-12.10.pc",
            ],
        );
        let found = files(&dirs, Kind::Toolkit);
        std::fs::remove_dir_all(&top).unwrap();
        let expected = [
            "own/cudart-12.9.pc",
            "usual/cudart-12.10.pc",
            "usual/cuda-12.10.pc",
            "usual/cudart-12.1.pc",
            "usual/cuda-9.0.pc",
        ];
        assert_eq!(found, expected.map(|file| top.join(file)));
    }

    #[test]
    fn the_root_of_a_package_contains_its_directories() {
        for (dir, root) in [
            (
                "/usr/local/cuda-12.4/targets/x86_64-linux/include",
                "/usr/local/cuda-12.4",
            ),
            ("/opt/cuda/lib64", "/opt/cuda"),
            ("/usr/lib/x86_64-linux-gnu", "/usr"),
            ("/usr/include/cuda", "/usr"),
            ("/srv/cudnn/headers", "/srv/cudnn"),
        ] {
            assert_eq!(root_of(Path::new(dir)), Some(Path::new(root)), "{dir}");
        }
    }

    #[test]
    fn named_directories_precede_the_usual_ones() {
        let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
        let found = tree_of(
            paths(["/srv/dnn/include/nine", "relative"]),
            paths(["/srv/dnn/lib/nine", "/srv/dnn/lib/stubs"]),
            Kind::Cudnn,
            &platform,
        )
        .unwrap();
        let usual = install_layout::cudnn(&platform, Path::new("/srv/dnn"), "");
        assert_eq!(found.base, usual.base);
        assert_eq!(
            found.include,
            [paths(["/srv/dnn/include/nine"]), usual.include].concat()
        );
        assert_eq!(
            found.lib,
            [paths(["/srv/dnn/lib/nine"]), usual.lib].concat()
        );
        // Debian's file only names the driver's stub.
        let debian = tree_of(
            paths(["/usr/include"]),
            paths(["/usr/lib/x86_64-linux-gnu/stubs"]),
            Kind::Toolkit,
            &platform,
        );
        let mut usual = install_layout::system(Kind::Toolkit, &platform, Path::new("/usr"));
        usual.include.insert(0, "/usr/include".into());
        assert_eq!(debian, Some(usual));
        assert_eq!(tree_of(vec![], vec![], Kind::Cudnn, &platform), None);
    }
}
