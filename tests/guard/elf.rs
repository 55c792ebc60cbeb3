//! What the guard reads off a library's file.

use super::tree::{Folder, compile};
use cudnn_guard::runtime::binary::elf::{Elf, Fault};
use cudnn_guard::runtime::facts::version::Version;
use std::io::{Seek, Write};

#[test]
fn a_release_is_read_off_the_file() {
    for style in ["gnu", "sysv", "both"] {
        let folder = Folder::new();
        let file = folder.file("libcudnn_graph.so.9");
        let code =
            "const unsigned char cudnn_graph_version[4] = {3, 28, 9, 0}; int a, b, c, d, e, f, g;";
        compile(
            code,
            &file,
            &[
                &format!("-Wl,--hash-style={style}"),
                "-Wl,-z,noseparate-code",
            ],
        );
        let mut elf = Elf::open(&file).unwrap();
        assert_eq!(
            elf.version("cudnn_graph_version"),
            Some(Version::new(9, 28, 3)),
            "{style}"
        );
        assert_eq!(elf.version("cudnn_ops_infer_version"), None);
        // A symbol that is no release.
        assert_eq!(elf.version("a"), None);
        assert_eq!(elf.soname().as_deref(), Some("libcudnn_graph.so.9"));
        assert_eq!(elf.rpath(), None);
    }
}

#[test]
fn an_imported_symbol_tells_nothing() {
    let folder = Folder::new();
    let file = folder.file("libcudnn_cnn.so.9");
    let code = "extern const unsigned char cudnn_ops_infer_version[4]; const void *p = cudnn_ops_infer_version;";
    compile(code, &file, &["-Wl,-rpath,/x", "-Wl,--disable-new-dtags"]);
    let mut elf = Elf::open(&file).unwrap();
    assert_eq!(elf.version("cudnn_ops_infer_version"), None);
    assert_eq!(elf.rpath().as_deref(), Some("/x"));
}

#[test]
fn what_is_no_library_is_told_apart() {
    let folder = Folder::new();
    let fault = |bytes: &[u8]| {
        let file = folder.file("x.so");
        std::fs::write(&file, bytes).unwrap();
        Elf::open(&file).err().unwrap()
    };
    assert_eq!(fault(b""), Fault::NotElf);
    assert_eq!(
        fault(
            b"/* GNU ld script */ INPUT(libcudnn.so.9)                                          "
        ),
        Fault::NotElf
    );
    assert!(matches!(
        Elf::open(&folder.file("none")),
        Err(Fault::Unreadable(_))
    ));
    let file = folder.file("libx.so.9");
    compile("int a;", &file, &[]);
    let whole = std::fs::read(&file).unwrap();
    assert!(Elf::open(&file).is_ok());
    assert!(matches!(fault(&whole[..80]), Fault::CutOff(_, 80)));
    // Whatever stands in the tables, nothing panics and nothing is read for ever.
    let mut state = 7_u32;
    let mut written = std::fs::File::create(&file).unwrap();
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % bytes.len().min(0x400);
            bytes[at] = state as u8;
        }
        // Over what is there: some file systems put a file that was cut first on the disk at once.
        written.rewind().unwrap();
        written.write_all(&bytes).unwrap();
        if let Ok(mut elf) = Elf::open(&file) {
            elf.version("a");
            elf.rpath();
            elf.soname();
        }
    }
}
