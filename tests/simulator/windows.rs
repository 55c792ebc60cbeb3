//! What Windows needs instead of a compiler: simulators that somebody has made, below the folder in `SIMULATED`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU32, Ordering};

type Release = (u32, u32, u32);

/// The simulated installation of this release, all parts there.
pub fn simulated((major, minor, patch): Release) -> PathBuf {
    let folder = std::env::var_os("SIMULATED").expect("SIMULATED is the folder of the simulators");
    PathBuf::from(folder).join(format!("{major}.{minor}.{patch}"))
}

/// The same with parts missing.
pub fn without(release: Release, parts: &[&str]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("simulator-trees/{number}"));
    let _ = fs::remove_dir_all(&into);
    fs::create_dir_all(into.join("bin")).unwrap();
    for file in fs::read_dir(simulated(release).join("bin")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), into.join("bin").join(file.file_name())).unwrap();
    }
    for part in parts {
        let name = crate::file_name::of_part(part, release.0);
        fs::remove_file(into.join("bin").join(name)).unwrap();
    }
    into
}

/// How it ended, in one word, where a library or a test took it down.
pub fn ending(status: ExitStatus) -> Option<&'static str> {
    match status.code()? as u32 {
        1 => Some("kill"),
        0xc000_0005 => Some("segv"),
        0xc000_0409 => Some("abort"),
        _ => None,
    }
}
