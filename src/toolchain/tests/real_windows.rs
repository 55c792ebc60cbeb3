//! NVIDIA's own wheels for Windows, read on another system.

use crate::model::candidate::Found;
use crate::model::library::Library;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use crate::runtime::facts::version_source::VersionSource;
use crate::toolchain::Toolchain;
use crate::toolchain::tests::real::{found_for, wheels};
use std::path::{Path, PathBuf};

const WINDOWS: &str = "x86_64-pc-windows-msvc";
const EIGHT: &str = "cudnn-win-cu12-8.9.7";
const NINE: &str = "cudnn-win-cu13-9.28";

/// The wheels for Windows can be read on any system.
#[test]
#[cfg(unix)]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn dlls_are_read_correctly() {
    for (wheel, version, cuda_major, parts, silent) in [
        (EIGHT, Version::new(8, 9, 7), 12, 7, &[][..]),
        (
            NINE,
            Version::new(9, 28, 0),
            13,
            10,
            &["engines_tensor_ir", "heuristic"],
        ),
    ] {
        let alone = std::env::temp_dir().join(format!("cudnn-guard-dlls-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&alone);
        std::fs::create_dir_all(&alone).unwrap();
        for leaf in ["bin", "include", "lib"] {
            let dir = wheels().join(wheel).join("nvidia/cudnn").join(leaf);
            if dir.is_dir() {
                std::os::unix::fs::symlink(dir, alone.join(leaf)).unwrap();
            }
        }
        let pairs = [("CUDNN_PATH", alone.clone())];
        let toolchain = found_for("x86_64-pc-windows-msvc", &pairs);
        let cudnn = match &toolchain.candidates[0].found {
            Found::Cudnn(cudnn) => cudnn,
            Found::Toolkit(_) => panic!("{:?}", toolchain.candidates),
        };
        assert_eq!(cudnn.header_version, Some(version), "{wheel}");
        assert_eq!(cudnn.library_version, Some(version), "{wheel}");
        assert_eq!(cudnn.cuda_major, Some(cuda_major), "{wheel}");
        assert_eq!(cudnn.cpu, Some("x86_64"), "{wheel}");
        assert_eq!(cudnn.parts.len(), parts, "{wheel}: {:?}", cudnn.parts);
        let first = &cudnn.parts[0];
        assert_eq!(
            (&*first.name, first.told_by.as_ref()),
            ("cudnn", Some(&VersionSource::VersionResource))
        );
        for part in &cudnn.parts {
            assert_eq!(part.version, Some(version), "{wheel}: {part:?}");
            let by_record = part.told_by == Some(VersionSource::PackageRecord);
            let is_silent = silent.contains(&part.name.as_str());
            assert_eq!(by_record, is_silent, "{wheel}: {part:?}");
        }
        let by_symbol = cudnn
            .parts
            .iter()
            .filter(|part| matches!(part.told_by, Some(VersionSource::Symbol(_))));
        assert_eq!(
            by_symbol.count(),
            if version.major == 8 { 4 } else { 3 },
            "{wheel}"
        );
        // The wheel of 8.9 contains import libraries, that of 9.28 does not.
        if version.major == 8 {
            assert_eq!(cudnn.link_library, Some(Library::Dynamic("cudnn".into())));
            assert!(toolchain.cudnn().is_some());
        } else {
            assert_eq!(cudnn.link_library, None);
            let messages = toolchain.findings.iter().map(|one| one.to_string());
            let messages: Vec<String> = messages.collect();
            assert!(
                messages
                    .iter()
                    .any(|text| text.contains("its import library `cudnn.lib` is missing")),
                "{messages:?}"
            );
        }
        std::fs::remove_dir_all(&alone).unwrap();
    }
}

/// A complete cuDNN that consists of links to the files of one wheel, with an import library as from NVIDIA's
/// installer. Single sub-libraries may differ.
struct Mixed(PathBuf);

impl Mixed {
    fn new(name: &str, wheel: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        for leaf in ["bin", "lib/x64"] {
            std::fs::create_dir_all(dir.join(leaf)).unwrap();
        }
        std::fs::write(dir.join("lib/x64/cudnn.lib"), "").unwrap();
        let from = wheels().join(wheel).join("nvidia/cudnn");
        link(&from.join("include"), &dir.join("include"));
        for file in std::fs::read_dir(from.join("bin")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|end| end == "dll") {
                link(&path, &dir.join("bin").join(path.file_name().unwrap()));
            }
        }
        Self(dir)
    }

    fn without(self, file: &str) -> Self {
        std::fs::remove_file(self.0.join("bin").join(file)).unwrap();
        self
    }

    fn with(self, file: &str, target: &Path) -> Self {
        let path = self.0.join("bin").join(file);
        std::fs::remove_file(&path).unwrap();
        link(target, &path);
        self
    }

    fn cut(self, file: &str) -> Self {
        let path = self.0.join("bin").join(file);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        self
    }

    /// Returns the findings about this cuDNN, which is replaced by `$T`.
    fn messages(self) -> String {
        let toolchain: Toolchain = found_for(WINDOWS, &[("CUDNN_PATH", self.0.clone())]);
        let findings = toolchain.findings.iter();
        let findings = findings.filter(|finding| finding.id != FindingId::CudaNotFound);
        let lines: Vec<String> = findings
            .map(|finding| format!("{}: {finding}\n", finding.severity))
            .collect();
        std::fs::remove_dir_all(&self.0).unwrap();
        lines.concat().replace(self.0.to_str().unwrap(), "$T")
    }
}

fn link(target: &Path, link: &Path) {
    std::os::unix::fs::symlink(target, link).unwrap();
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_valid_cudnn_for_windows_has_no_findings() {
    assert_eq!(Mixed::new("sound-9", NINE).messages(), "");
    assert_eq!(Mixed::new("sound-8", EIGHT).messages(), "");
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_truncated_or_missing_dll_is_named() {
    let messages = Mixed::new("missing", NINE)
        .without("cudnn_heuristic64_9.dll")
        .without("cudnn_ext64_9.dll")
        .messages();
    assert_eq!(
        messages,
        "warning: cuDNN 9.28.0 in `$T/bin` is missing `cudnn_heuristic64_9.dll`, which convolutions need  [parts-missing]\n  \
         = help: copy all `cudnn*.dll` files of that version to `$T/bin`, since `cudnn64_9.dll` loads the others\n"
    );
    let messages = Mixed::new("needed", EIGHT)
        .without("cudnn_ops_train64_8.dll")
        .messages();
    assert!(
        messages
            .starts_with("note: `cudnn_adv_train64_8.dll` needs `cudnn_ops_train64_8.dll`, which"),
        "{messages}"
    );
    let messages = Mixed::new("cut", NINE).cut("cudnn_cnn64_9.dll").messages();
    assert!(
        messages.starts_with("error: `$T/bin/cudnn_cnn64_9.dll` is truncated: its size is 731192 bytes, but its sections extend to byte "),
        "{messages}"
    );
}

/// Sub-libraries of unknown version that do not define each other's functions cause error 127.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn dlls_of_different_versions_are_detected() {
    let eight = wheels().join(EIGHT).join("nvidia/cudnn/bin");
    let messages = Mixed::new("swapped", NINE)
        .with("cudnn_ops64_9.dll", &eight.join("cudnn_ops_infer64_8.dll"))
        .messages();
    let first = messages.lines().next().unwrap_or_default();
    assert_eq!(
        first,
        "error: `cudnn_ops64_9.dll` in `$T/bin` is version 8.9.7, but the rest of cuDNN is 9.28.0  [parts-mixed]"
    );
    // Without its record, the version of `cudnn_heuristic64_9.dll` is unknown.
    let moved = std::env::temp_dir().join(format!("cudnn-guard-silent-{}.dll", std::process::id()));
    let heuristic = wheels()
        .join(NINE)
        .join("nvidia/cudnn/bin/cudnn_heuristic64_9.dll");
    std::fs::copy(heuristic, &moved).unwrap();
    let silent = || Mixed::new("silent", NINE).with("cudnn_heuristic64_9.dll", &moved);
    let sound = silent().messages();
    let graph = eight.join("cudnn_ops_infer64_8.dll");
    let strange = silent().with("cudnn_graph64_9.dll", &graph).messages();
    std::fs::remove_file(&moved).unwrap();
    assert_eq!(sound.matches("error: ").count(), 0, "{sound}");
    assert!(
        strange.contains("cudnn_heuristic64_9.dll needs ?")
            && strange.contains(" more from cudnn_graph64_9.dll"),
        "{strange}"
    );
}
