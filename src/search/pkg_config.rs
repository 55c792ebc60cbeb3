//! Reads the .pc files of CUDA and cuDNN.

use crate::model::platform::Platform;
use crate::search::pc_file::{parse, release_in_name};
use crate::search::search_step::{Kind, Tree};
use crate::system::files;
use crate::system::sysroot::Sysroot;
use std::path::{Path, PathBuf};

/// A real one has a few hundred bytes.
const LARGEST: u64 = 1 << 16;

/// Where the .pc files in these directories lead, with the file: of each directory, the newest release first.
pub fn trees(
    dirs: &[PathBuf],
    sysroot: Option<&Path>,
    kind: Kind,
    eyes: Sysroot,
    platform: &Platform,
) -> Vec<(PathBuf, Tree)> {
    let mut found = Vec::new();
    // `/usr/lib64` may be a link to `/usr/lib`.
    let dirs = dirs.iter().filter_map(|dir| eyes.dir(dir));
    for dir in files::dedup(dirs.map(|dir| eyes.canonical(&dir))) {
        let wanted = |name: &str| release_in_name(name, kind).is_some();
        let named = files::list_named(&dir, &wanted).unwrap_or_default();
        let release = |file: &PathBuf| release_in_name(file.file_name()?.to_str()?, kind);
        let mut named: Vec<_> = named
            .into_iter()
            .map(|file| (release(&file), file))
            .collect();
        // Of one release, `cudart` before `cuda`, which may stand for the driver alone.
        named.sort_by(|one, other| other.cmp(one));
        for (_, file) in named {
            let Some(path) = eyes.file(&file).filter(|path| files::size(path) < LARGEST) else {
                continue;
            };
            let text = files::read(&path).unwrap_or_default();
            let mut package = parse(&text, &file, sysroot);
            package.dirs().for_each(|dir| straighten(dir, eyes));
            found.extend(package.tree(kind, platform).map(|tree| (path, tree)));
        }
    }
    found
}

/// A package that can be moved names its directories from that of its file: `/opt/cuda/lib/pkgconfig/../..`.
fn straighten(dir: &mut PathBuf, eyes: Sysroot) {
    if dir.iter().any(|part| part == "..") {
        *dir = eyes.canonical(dir);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::model::invocation::Invocation;
    use crate::system::programs::run_to_end;

    /// The same directories as the program prints.
    #[test]
    #[ignore = "needs pkg-config"]
    fn agrees_with_the_program() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-pc-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("cudart-12.4.pc");
        let plain = "cudaroot=/usr/local/cuda-12.4\nName: cudart\nDescription: of its own\nVersion: 12.4\n\
            Libs: -L${cudaroot}/targets/x86_64-linux/lib -lcudart\nCflags: -I${cudaroot}/include\n";
        let odd = "cudaroot=/opt/cu\\ da # a comment\nhere=${pcfiledir}\nName: cudart\nDescription: of its own\nVersion: 12.4\n\
            Libs: -L${cudaroot}/lib64 -L${here} -lcudart\nCflags: -I\"${cudaroot}\"/include \\\n  -I/x'y z'\n";
        for (text, sysroot) in [(plain, ""), (odd, ""), (plain, "/image")] {
            std::fs::write(&file, text).unwrap();
            let mut args = vec![format!("PKG_CONFIG_PATH={}", dir.display())];
            let root = Some(sysroot).filter(|root| !root.is_empty());
            args.extend(root.map(|root| format!("PKG_CONFIG_SYSROOT_DIR={root}")));
            args.extend(
                [
                    "pkg-config",
                    "--cflags-only-I",
                    "--libs-only-L",
                    "cudart-12.4",
                ]
                .map(String::from),
            );
            let program = "/usr/bin/env".into();
            let said = run_to_end(&Invocation { program, args }).unwrap();
            assert!(said.success, "{}", said.stderr);
            let said = said.stdout.trim();
            let said = parse(&format!("Libs: {said}\nCflags: {said}\n"), &file, None);
            let found = parse(text, &file, root.map(Path::new));
            assert!(!found.include.is_empty() && !found.lib.is_empty());
            assert_eq!((found.include, found.lib), (said.include, said.lib));
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
