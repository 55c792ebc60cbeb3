//! The guard with one real version, and with mixes of two.

use crate::runtime::guard::program::FAKES;
use cudnn_guard::internals::binary::elf::Elf;
use cudnn_guard::internals::check;
use cudnn_guard::internals::facts::built::Built;
use cudnn_guard::internals::facts::version::Version;
use cudnn_guard::internals::facts::version_source::VersionSource;
use cudnn_guard::internals::install::file_versions::FileVersions;
use cudnn_guard::internals::loader::file_name;
use cudnn_guard::internals::startup::startup_with;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Returns the library directories of this system's wheels, `cudnn-cu<CUDA>-<version>`, except 8.5 and older, which are
/// linked to a missing cuBLAS.
fn wheels() -> Vec<PathBuf> {
    let root =
        std::env::var_os("CUDNN_GUARD_REAL").expect("CUDNN_GUARD_REAL is a directory of wheels");
    let folders = std::fs::read_dir(root)
        .unwrap()
        .map(Result::unwrap)
        .filter(|folder| {
            let name = folder.file_name().to_string_lossy().into_owned();
            name.starts_with("cudnn-cu") && !name.ends_with("-aarch64")
        })
        .map(|folder| folder.path().join("nvidia/cudnn/lib"));
    let mut found: Vec<PathBuf> = folders.filter(|folder| folder.is_dir()).collect();
    found.retain(|folder| recorded(folder) >= Version::new(8, 9, 0));
    found.sort();
    assert!(found.len() >= 2, "{found:?}");
    found
}

fn major(folder: &Path) -> u32 {
    if folder.join("libcudnn.so.8").is_file() {
        8
    } else {
        9
    }
}

/// Returns the version in the name of the wheel's record: `nvidia_cudnn_cu13-9.28.0.42.dist-info`.
fn recorded(folder: &Path) -> Version {
    let wheel = folder.ancestors().nth(3).unwrap();
    let names = std::fs::read_dir(wheel)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap());
    let name = names
        .into_iter()
        .find(|name| name.ends_with(".dist-info") && name.contains("cudnn"))
        .unwrap();
    let numbers: Vec<u32> = name
        .split('-')
        .nth(1)
        .unwrap()
        .split('.')
        .filter_map(|n| n.parse().ok())
        .collect();
    Version::new(numbers[0], numbers[1], numbers[2])
}

/// Creates a directory with links to all of a cuDNN's libraries except one.
fn farm_without(folder: &Path, part: &str) -> PathBuf {
    let release = recorded(folder);
    let farm = std::env::temp_dir().join(format!(
        "real-guard-{}-{release}-{part}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    ));
    std::fs::create_dir(&farm).unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        if name.starts_with("libcudnn") && !name.starts_with(&format!("libcudnn_{part}.so")) {
            let _ = std::os::unix::fs::symlink(file.path(), farm.join(name));
        }
    }
    farm
}

/// Runs the guard of a program built with `with`, with only this directory on the library path, and returns the exit
/// code and the output.
fn start(with: Version, library_path: &str) -> (Option<i32>, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "real::releases::program",
            "--exact",
            "--ignored",
            "--nocapture",
            "--quiet",
        ])
        .env("LD_LIBRARY_PATH", library_path)
        .env(
            "TEST_BUILT",
            format!("{} {} {}", with.major, with.minor, with.patch),
        )
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
#[ignore = "this is the program that the other tests run"]
fn program() {
    let Ok(text) = std::env::var("TEST_BUILT") else {
        return;
    };
    let numbers: Vec<u32> = text
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let built = Built {
        cudnn: Some(Version::new(numbers[0], numbers[1], numbers[2])),
        ..Built::default()
    };
    if let Err(failure) = check::check_version(&built) {
        writeln!(std::io::stderr(), "check_version: {}", failure.headline()).unwrap();
    }
    startup_with(&built, FAKES);
}

#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn versions_are_read_from_the_sub_libraries() {
    for folder in wheels() {
        let wanted = recorded(&folder);
        let mut with_symbol = Vec::new();
        for file in std::fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let Some((part, _)) = file_name::parse(&path) else {
                continue;
            };
            let found = FileVersions::new(&[]).part(&Elf::open(&path).unwrap(), &part, &path);
            let (release, by) = found.unwrap_or_else(|| panic!("{}", path.display()));
            assert_eq!(release, wanted, "{} by {by}", path.display());
            if matches!(by, VersionSource::Symbol(_)) {
                with_symbol.push(part);
            }
        }
        with_symbol.sort();
        let symbols: &[&str] = match wanted.major {
            8 => &["adv_infer", "cnn_infer", "ops_infer", "ops_train"],
            _ => &["adv", "graph", "ops"],
        };
        assert_eq!(with_symbol, symbols, "{}", folder.display());
    }
}

#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn every_pair_of_versions_gets_its_verdict() {
    let all = wheels();
    for (built, loaded) in all
        .iter()
        .flat_map(|built| all.iter().map(move |loaded| (built, loaded)))
    {
        let (with, found) = (recorded(built), recorded(loaded));
        let (code, text) = start(with, loaded.to_str().unwrap());
        if with.major != found.major {
            // The program would not open another major, so the guard does not search for it.
            assert_eq!(code, Some(0), "{with} {found}: {text}");
            assert!(
                text.contains("[cudnn-not-loadable]"),
                "{with} {found}: {text}"
            );
        } else if found.minor >= with.minor {
            assert_eq!(code, Some(0), "{with} {found}: {text}");
            assert_eq!(
                text,
                "cudnn-guard: unknown: `libcuda.so.1`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used  [driver-missing]\n  \
                 = help: install NVIDIA's driver, or run on a machine that has a GPU\n  \
                 loader      libcuda.so.1:; no\n",
                "{with} {found}"
            );
        } else {
            let headline = format!(
                "loaded cuDNN {found} is older than {with}, which this program was built with"
            );
            assert_eq!(code, Some(78), "{with} {found}: {text}");
            assert!(text.contains(&headline), "{with} {found}: {text}");
            let entry = format!(
                "found via   LD_LIBRARY_PATH, its entry `{}`",
                loaded.display()
            );
            assert!(text.contains(&entry), "{with} {found}: {text}");
        }
    }
}

#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_missing_sub_library_is_named_and_nothing_aborts() {
    for folder in wheels() {
        let release = recorded(&folder);
        let gone: &[&str] = match major(&folder) {
            8 => &["ops_infer", "cnn_infer"],
            _ => &[
                "graph",
                "ops",
                "cnn",
                "heuristic",
                "engines_precompiled",
                "engines_runtime_compiled",
                "engines_tensor_ir",
            ][..if release.minor < 21 { 6 } else { 7 }],
        };
        for part in gone {
            let farm = farm_without(&folder, part);
            let (code, text) = start(release, farm.to_str().unwrap());
            std::fs::remove_dir_all(&farm).unwrap();
            let lacks = format!(
                "is missing `libcudnn_{part}.so.{}`, which convolutions need  [parts-missing]",
                release.major
            );
            assert_eq!(code, Some(78), "{release} without {part}: {text}");
            assert!(text.contains(&lacks), "{release} without {part}: {text}");
        }
    }
}

#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_sub_library_of_another_version_is_found() {
    let all = wheels();
    for (base, other) in all
        .iter()
        .flat_map(|base| all.iter().map(move |other| (base, other)))
    {
        let (release, foreign) = (recorded(base), recorded(other));
        if release.major != foreign.major || release.minor == foreign.minor {
            continue;
        }
        let parts: &[&str] = match release.major {
            8 => &["ops_infer", "cnn_infer"],
            _ => &[
                "ops",
                "cnn",
                "heuristic",
                "engines_precompiled",
                "engines_runtime_compiled",
            ],
        };
        for part in parts {
            let farm = farm_without(base, part);
            let file = format!("libcudnn_{part}.so.{}", release.major);
            std::os::unix::fs::symlink(other.join(&file), farm.join(&file)).unwrap();
            let (code, text) = start(release, farm.to_str().unwrap());
            std::fs::remove_dir_all(&farm).unwrap();
            assert_eq!(code, Some(78), "{release} with {foreign}'s {part}: {text}");
            assert!(
                text.contains("[parts-mixed]"),
                "{release} with {foreign}'s {part}: {text}"
            );
        }
    }
}
