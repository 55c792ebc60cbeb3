//! Dependencies between the libraries of a toolkit.

use crate::runtime::binary::Elf;
use crate::system::files;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

/// A dependency that does not exist or that does not define the required symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingDependency {
    pub library: PathBuf,
    /// The file name of the dependency: `libcublasLt.so.12`.
    pub needs: String,
    /// The existing file of the dependency.
    pub beside: Option<PathBuf>,
    /// The symbols that it does not define.
    pub symbols: Vec<String>,
    /// Files of its other versions.
    pub others: Vec<PathBuf>,
}

/// Returns `true` for libraries of a toolkit on which others depend. Other dependencies are the system's.
pub fn is_of_toolkit(file: &str) -> bool {
    let stem = file.split(".so").next().unwrap_or_default();
    [
        "libcudart",
        "libcublas",
        "libcublasLt",
        "libcufft",
        "libcurand",
        "libcusolver",
        "libcusparse",
        "libnvJitLink",
        "libnvrtc",
    ]
    .contains(&stem)
}

/// Returns the first unmet dependency of this library, direct or indirect. A dependency is searched in `first`, then
/// beside the library that needs it, then in `dirs`.
pub fn unmet_dependency(
    library: &Path,
    first: &[PathBuf],
    dirs: &[PathBuf],
) -> Option<MissingDependency> {
    let mut left = vec![library.to_path_buf()];
    let mut seen: Vec<PathBuf> = Vec::new();
    while let Some(path) = left.pop() {
        if seen.contains(&path) {
            continue;
        }
        seen.push(path.clone());
        // A linker script or an unreadable file has no known dependencies.
        let Ok(opened) = Elf::read(&path) else {
            continue;
        };
        let imports = opened.named_imports();
        let mut places = first.to_vec();
        places.extend(path.parent().map(Path::to_path_buf));
        places.extend_from_slice(dirs);
        for needs in opened.needed() {
            if !is_of_toolkit(&needs) {
                continue;
            }
            let missing = |beside, symbols, others| MissingDependency {
                library: path.clone(),
                needs: needs.clone(),
                beside,
                symbols,
                others,
            };
            let Some(found) = files::find_in(&places, &needs) else {
                return Some(missing(None, Vec::new(), others(&needs, &places)));
            };
            let called = imported_from(&imports, &needs);
            let undefined = match Elf::read(&found) {
                Ok(library) => library.missing_symbols(called),
                Err(_) => Vec::new(),
            };
            if !undefined.is_empty() {
                return Some(missing(Some(found), undefined, Vec::new()));
            }
            left.push(found);
        }
    }
    None
}

/// Returns the files of other versions: `libcublasLt.so.11` if `libcublasLt.so.12` is required.
fn others(needs: &str, places: &[PathBuf]) -> Vec<PathBuf> {
    let stem = needs.split(".so").next().unwrap_or_default();
    let prefix = format!("{stem}.so");
    let is_version = |name: &str| name.starts_with(&prefix);
    let mut found = Vec::new();
    for dir in places {
        for path in files::list_named(dir, &is_version).unwrap_or_default() {
            if files::is_file(&path) {
                files::push_new(&mut found, path);
            }
        }
    }
    found
}

pub fn imported_from<'a>(imports: &'a [(String, Vec<u8>)], file: &str) -> IntoIter<&'a [u8]> {
    let mut symbols = Vec::new();
    for (name, symbol) in imports {
        if name == file {
            symbols.push(&symbol[..]);
        }
    }
    symbols.into_iter()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::loader::shadowing::mixed_libraries;
    use crate::model::Toolkit;
    use crate::runtime::facts::Version;
    use std::process::Command;

    struct TestDir(PathBuf);

    impl TestDir {
        fn new(name: &str) -> Self {
            let name = format!("cudnn-guard-closure-{name}-{}", std::process::id());
            let dir = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir_all(&dir).unwrap();
            Self(dir)
        }

        /// Creates a library whose functions have its own name as their version, like NVIDIA's.
        fn library(&self, file: &str, source: &str, with: &[&str]) -> PathBuf {
            let (dir, path) = (&self.0, self.0.join(file));
            let (code, map) = (dir.join("source.c"), dir.join("source.map"));
            std::fs::write(&code, source).unwrap();
            std::fs::write(&map, format!("{file} {{ global: *; }};\n")).unwrap();
            let mut cc = Command::new("cc");
            cc.current_dir(dir)
                .args([
                    "-shared",
                    "-fPIC",
                    "-Wl,--hash-style=gnu",
                    "-Wl,--no-as-needed",
                ])
                .arg(format!("-Wl,-soname,{file}"))
                .arg(format!("-Wl,--version-script={}", map.display()))
                .args(["-o", file])
                .arg(&code)
                .args(with);
            assert!(cc.status().unwrap().success());
            path
        }

        fn text(&self, missing: Option<MissingDependency>) -> String {
            let toolkit = Toolkit {
                root: self.0.clone(),
                version: Some(Version::new(12, 9, 0)),
                ..Toolkit::default()
            };
            let finding = missing.map(|fault| fault.finding(&toolkit));
            let text = finding.map_or_else(String::new, |finding| finding.to_string());
            text.replace(self.0.to_str().unwrap(), "$D")
        }
    }

    impl Drop for TestDir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const LT: &str = "int cublasLtCreate(void) { return 0; }\n";
    const LT_NEW: &str =
        "int cublasLtCreate(void) { return 0; }\nint cublasLtGetStatusString(void) { return 0; }\n";
    const BLAS: &str = "int cublasLtCreate(void);\nint cublasLtGetStatusString(void);\n\
        int cublasCreate(void) { return cublasLtCreate() + cublasLtGetStatusString(); }\n";

    /// cuBLAS exists, but its cublasLt is missing or has another major.
    #[test]
    fn a_missing_dependency_is_named() {
        let made = TestDir::new("absent");
        let lt = made.library("libcublasLt.so.12", LT_NEW, &[]);
        let blas = made.library("libcublas.so.12", BLAS, &["libcublasLt.so.12"]);
        assert_eq!(unmet_dependency(&blas, &[], &[]), None);
        std::fs::rename(&lt, made.0.join("libcublasLt.so.11")).unwrap();
        assert_eq!(
            made.text(unmet_dependency(&blas, &[], &[])),
            "`libcublas.so.12` of CUDA 12.9 needs `libcublasLt.so.12`, which is not in `$D`  [partial-toolkit]\n  \
             = help: install `libcublas.so.12` and `libcublasLt` of the same CUDA version in `$D`\n  \
             = help: set CUDA_HOME to a complete toolkit\n  \
             library     $D/libcublas.so.12\n  \
             also found  $D/libcublasLt.so.11"
        );
        // Wheels have it in another directory, which is one of the toolkit's.
        let other = made.0.join("other");
        std::fs::create_dir_all(&other).unwrap();
        std::fs::rename(
            made.0.join("libcublasLt.so.11"),
            other.join("libcublasLt.so.12"),
        )
        .unwrap();
        assert_eq!(unmet_dependency(&blas, &[], &[other]), None);
    }

    /// The linker reports `undefined reference to cublasLtGetStatusString@libcublasLt.so.11`.
    #[test]
    fn a_dependency_of_an_older_version_is_named() {
        let made = TestDir::new("older");
        made.library("libcublasLt.so.11", LT_NEW, &[]);
        let blas = made.library("libcublas.so.11", BLAS, &["libcublasLt.so.11"]);
        assert_eq!(unmet_dependency(&blas, &[], &[]), None);
        made.library("libcublasLt.so.11", LT, &[]);
        assert_eq!(
            made.text(unmet_dependency(&blas, &[], &[])),
            "`libcublas.so.11` of CUDA 12.9 calls `cublasLtGetStatusString`, which `libcublasLt.so.11` beside it \
             does not contain: their versions differ  [partial-toolkit]\n  \
             = help: install `libcublas.so.11` and `libcublasLt` of the same CUDA version in `$D`\n  \
             = help: set CUDA_HOME to a complete toolkit\n  \
             library     $D/libcublas.so.11\n  \
             dependency  $D/libcublasLt.so.11"
        );
    }

    /// pytorch/pytorch#134929: LD_LIBRARY_PATH contains one library of an older version.
    #[test]
    fn a_neighbor_of_an_older_release_in_ld_library_path() {
        let made = TestDir::new("library-path");
        let (lib, old, newer) = (made.0.join("lib"), made.0.join("old"), made.0.join("newer"));
        for dir in [&lib, &old, &newer] {
            std::fs::create_dir_all(dir).unwrap();
        }
        let put = |file: &str, dir: &Path| {
            std::fs::rename(made.0.join(file), dir.join(file)).unwrap();
        };
        let lt = "libcublasLt.so.12";
        made.library(lt, LT_NEW, &[]);
        let blas = made.library("libcublas.so.12", BLAS, &[lt]);
        std::fs::copy(made.0.join(lt), newer.join(lt)).unwrap();
        put(lt, &lib);
        made.library(lt, LT, &[]);
        put(lt, &old);
        put("libcublas.so.12", &lib);
        let blas = lib.join(blas.file_name().unwrap());
        let dirs = [lib.clone()];
        let text = |first: &[&PathBuf]| {
            let first: Vec<PathBuf> = first.iter().map(|dir| (*dir).clone()).collect();
            let mixed = mixed_libraries(&blas, true, &first, &dirs);
            let text = mixed.map_or_else(String::new, |finding| finding.to_string());
            text.replace(made.0.to_str().unwrap(), "$D")
        };
        assert_eq!(
            text(&[&old]),
            "LD_LIBRARY_PATH mixes CUDA libraries of two versions: `libcublas.so.12` calls `cublasLtGetStatusString`, \
             which `libcublasLt.so.12` does not contain  [cuda-libraries-mixed]\n  \
             = help: remove `$D/old` from LD_LIBRARY_PATH where the program runs\n  \
             caller      $D/lib/libcublas.so.12\n  \
             library     $D/old/libcublasLt.so.12"
        );
        // The helps, and directories that are not at fault.
        for first in [
            &[][..],
            &[&lib, &old],
            &[&newer],
            &[&newer, &old],
            &[&made.0],
        ] {
            assert_eq!(text(first), "", "{first:?}");
        }
        // Both libraries of the older version are compatible.
        let own = made.library(
            "libcublas.so.12",
            "int cublasLtCreate(void);\nint cublasCreate(void) { return cublasLtCreate(); }\n",
            &["old/libcublasLt.so.12"],
        );
        std::fs::rename(own, old.join("libcublas.so.12")).unwrap();
        assert_eq!(text(&[&old]), "");
        // A newer cuBLAS without its cublasLt uses the older cublasLt of the toolkit.
        std::fs::rename(&blas, newer.join("libcublas.so.12")).unwrap();
        std::fs::rename(old.join("libcublas.so.12"), &blas).unwrap();
        std::fs::rename(old.join(lt), lib.join(lt)).unwrap();
        std::fs::remove_file(newer.join(lt)).unwrap();
        let printed = text(&[&newer]);
        assert!(
            printed.contains("= help: remove `$D/newer` from LD_LIBRARY_PATH"),
            "{printed}"
        );
        assert!(
            printed.contains("library     $D/lib/libcublasLt.so.12"),
            "{printed}"
        );
    }
}
