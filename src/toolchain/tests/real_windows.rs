//! NVIDIA's own wheels for Windows, read on another system.

use crate::model::{Found, Library};
use crate::runtime::facts::{FindingId, Version, VersionSource};
use crate::toolchain::tests::real::{found_for, wheels};
use std::path::Path;

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
        let toolchain = found_for(WINDOWS, &pairs);
        let cudnn = match &toolchain.candidates[0].found {
            Found::Cudnn(cudnn) => cudnn,
            Found::Toolkit(_) => panic!("{:?}", toolchain.candidates),
        };
        assert_eq!(cudnn.header_version, Some(version), "{wheel}");
        assert_eq!(cudnn.library_version, Some(version), "{wheel}");
        assert_eq!(cudnn.cuda_major, Some(cuda_major), "{wheel}");
        assert_eq!(cudnn.cpu, Some("x86_64"), "{wheel}");
        let files = cudnn.installed.files();
        assert_eq!(files.len(), parts, "{wheel}: {:?}", files);
        let first = files[0];
        assert_eq!(
            (&*first.name, first.told_by.as_ref()),
            ("cudnn", Some(&VersionSource::VersionResource))
        );
        for part in &files {
            assert_eq!(part.version, Some(version), "{wheel}: {part:?}");
            let by_record = part.told_by == Some(VersionSource::PackageRecord);
            let is_silent = silent.contains(&part.name.as_str());
            assert_eq!(by_record, is_silent, "{wheel}: {part:?}");
        }
        let by_symbol = files
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

/// Returns the findings about a complete cuDNN that consists of links to the files of one wheel, with an import library as
/// from NVIDIA's installer.
fn messages(name: &str, wheel: &str) -> Vec<String> {
    let link = |target: &Path, link: &Path| std::os::unix::fs::symlink(target, link).unwrap();
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
    let found = found_for(WINDOWS, &[("CUDNN_PATH", dir.clone())]).findings;
    std::fs::remove_dir_all(&dir).unwrap();
    let findings = found.iter().filter(|one| one.id != FindingId::CudaNotFound);
    findings.map(ToString::to_string).collect()
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_valid_cudnn_for_windows_has_no_findings() {
    assert_eq!(messages("sound-9", NINE), [""; 0]);
    assert_eq!(messages("sound-8", EIGHT), [""; 0]);
}
