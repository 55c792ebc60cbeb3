use super::*;
use crate::cudnn::device_code::fatbin::made::fatbin;
use crate::runtime::install::SubLibraryFile;
use crate::system::library_file::made_dll::DllSpec;
use std::path::PathBuf;

/// Creates a library for Linux with this device code.
fn elf(code: &[u8]) -> Vec<u8> {
    let names = b"\0.nv_fatbin\0.shstrtab\0";
    let names_at = 64 + 3 * 64;
    let code_at = names_at + names.len();
    let mut file = vec![0; names_at];
    let mut set = |at: usize, value: &[u8]| file[at..at + value.len()].copy_from_slice(value);
    set(0, b"\x7fELF\x02\x01\x01");
    set(16, &[3, 0, 62, 0, 1]);
    set(40, &[64]); // the sections
    set(58, &[64, 0, 3, 0, 2]);
    let mut section = |index: usize, name: u8, kind: u8, at: usize, size: usize| {
        set(64 + index * 64, &[name, 0, 0, 0, kind]);
        set(64 + index * 64 + 24, &at.to_le_bytes());
        set(64 + index * 64 + 32, &size.to_le_bytes());
    };
    section(1, 1, 1, code_at, code.len());
    section(2, 12, 3, names_at, names.len());
    [&file, &names[..], code].concat()
}

fn dll(code: Vec<u8>) -> Vec<u8> {
    let machine = 0x8664;
    let made = DllSpec {
        machine,
        code,
        ..DllSpec::default()
    };
    made.bytes()
}

fn temp_dir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!(
        "cudnn-guard-device-code-{name}-{}",
        std::process::id()
    ));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Returns the targets of a cuDNN with these sub-libraries.
fn targets(name: &str, os: Os, parts: &[(&str, Vec<u8>)]) -> String {
    let dir = temp_dir(name);
    let part = |(name, bytes): &(&str, Vec<u8>)| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).unwrap();
        SubLibraryFile::new(name, path, None, false)
    };
    let mut cudnn = Cudnn::default();
    cudnn.installed.list = parts.iter().map(part).collect();
    let targets = gpu_code::tests::format_targets(&read(&cudnn, os));
    std::fs::remove_dir_all(dir).unwrap();
    targets
}

/// The targets of a cuDNN come from the sub-libraries that every GPU needs.
#[test]
fn the_core_sub_libraries_determine_the_targets() {
    let old = fatbin("sm_50 sm_75");
    let (ops, cnn) = (
        fatbin("sm_75 sm_90a compute_90"),
        fatbin("sm_75 sm_90 compute_90"),
    );
    let linux = [
        ("cudnn", elf(&[])),
        ("engines_precompiled", elf(&old)),
        ("ops", elf(&ops)),
        ("cnn", elf(&cnn)),
    ];
    let expected = "sm_75 sm_90a compute_90";
    assert_eq!(targets("linux", Os::Linux, &linux), expected);
    let windows = [("ops", dll(ops)), ("cnn", dll(cnn)), ("adv", dll(vec![]))];
    assert_eq!(targets("windows", Os::Windows, &windows), expected);
}

#[test]
fn an_unreadable_core_sub_library_makes_the_targets_unknown() {
    let code = fatbin("sm_75 sm_80");
    let valid = elf(&code);
    let code_cut = valid[..valid.len() - 10].to_vec();
    let names_cut = valid[..64 + 3 * 64 + 5].to_vec();
    let bent = elf(&code[..code.len() - 1]);
    for (name, part) in [
        ("code", code_cut),
        ("names", names_cut),
        ("bent", bent),
        ("words", b"words".to_vec()),
    ] {
        let parts = [("ops", valid.clone()), ("cnn", part)];
        assert_eq!(targets(name, Os::Linux, &parts), "", "{name}");
    }
    let mut cut = dll(code.clone());
    cut.truncate(cut.len() - 1);
    let parts = [("ops", dll(code)), ("cnn", cut)];
    assert_eq!(targets("dll", Os::Windows, &parts), "");
}
