//! Facts read from the file of a library.

use crate::support::installation::{Folder, compile};
use cudnn_guard::internals::binary::defect::Defect;
use cudnn_guard::internals::binary::elf::Elf;
use cudnn_guard::internals::facts::{Version, VersionSource};
use cudnn_guard::internals::loader::search_path::SearchPath;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The linker flag for a library that imports a function of the C library.
const LIBC: &str = "-Wl,--no-as-needed,-lc";

/// Compiles this code to a library in a temporary directory.
fn compiled(folder: &Folder, code: &str, flags: &[&str]) -> PathBuf {
    let file = folder.file("libcudnn_ops.so.9");
    compile(code, &file, flags);
    file
}

/// Runs every query on a file.
fn ask(path: &Path) {
    let elf = Elf::read(path).unwrap();
    let _ = (elf.release("graph"), elf.version("a"), elf.defines("f"));
    let _ = (elf.cuda_major(), elf.defect(), elf.build_id());
    let _ = (elf.rpath(), elf.soname());
    let _ = SearchPath::default().of_library(&elf, path);
    let _ = (elf.needed(), elf.interpreter(), elf.is_nodeflib());
    let _ = (elf.named_imports(), elf.versions());
    let _ = (elf.imports().is_some(), elf.bindings());
    let _ = (
        elf.needed_versions(),
        elf.missing_symbols([&b"f"[..]].into_iter()),
    );
    let _ = (elf.device_code(), elf.constants(1 << 20), elf.cpu());
    let _ = Elf::open(path);
}

#[test]
fn a_version_is_read_from_the_file() {
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
        let elf = Elf::open(&file).unwrap();
        assert_eq!(
            elf.version("cudnn_graph_version"),
            Some(Version::new(9, 28, 3)),
            "{style}"
        );
        assert_eq!(elf.version("cudnn_ops_infer_version"), None);
        // A symbol that is not a version.
        assert_eq!(elf.version("a"), None);
        assert_eq!(elf.soname().as_deref(), Some("libcudnn_graph.so.9"));
        assert_eq!(elf.rpath(), None);
    }
}

#[test]
fn an_imported_version_symbol_is_ignored() {
    let folder = Folder::new();
    let file = folder.file("libcudnn_cnn.so.9");
    let code = "extern const unsigned char cudnn_ops_infer_version[4]; const void *p = cudnn_ops_infer_version;";
    compile(code, &file, &["-Wl,-rpath,/x", "-Wl,--disable-new-dtags"]);
    let elf = Elf::open(&file).unwrap();
    assert_eq!(elf.version("cudnn_ops_infer_version"), None);
    assert_eq!(elf.rpath().as_deref(), Some("/x"));
}

#[test]
fn files_that_are_not_libraries_are_distinguished() {
    let folder = Folder::new();
    let fault = |bytes: &[u8]| {
        let file = folder.file("x.so");
        std::fs::write(&file, bytes).unwrap();
        Elf::open(&file).err().unwrap()
    };
    assert_eq!(fault(b""), Defect::Empty);
    assert_eq!(
        fault(
            b"/* GNU ld script */ INPUT(libcudnn.so.9)                                          "
        ),
        Defect::Foreign(
            "an ELF library",
            "/* GNU ld script */ INPUT(libcudnn.so.9)".into()
        )
    );
    assert!(matches!(
        Elf::open(&folder.file("none")),
        Err(Defect::Unreadable(_))
    ));
    let file = folder.file("libx.so.9");
    compile("int a;", &file, &[]);
    let whole = std::fs::read(&file).unwrap();
    assert!(Elf::open(&file).is_ok());
    assert!(matches!(
        fault(&whole[..80]),
        Defect::Truncated("segments", _, 80)
    ));
    // Random bytes in the tables cause neither panics nor endless reads.
    let mut state = 7_u32;
    let mut written = std::fs::File::create(&file).unwrap();
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % bytes.len().min(0x400);
            bytes[at] = state as u8;
        }
        // Overwrite in place: some file systems flush a truncated file to disk at once.
        written.rewind().unwrap();
        written.write_all(&bytes).unwrap();
        ask(&file);
    }
}

/// The message that names what is wrong with a file when a program is stopped.
#[test]
fn a_defect_describes_itself() {
    let own = std::env::consts::ARCH;
    let foreign = |start: &[u8]| Defect::foreign("an ELF library", start).to_string();
    for (message, wanted) in [
        (foreign(b""), "is not an ELF library".to_string()),
        (
            foreign(b"INPUT(libcudnn.so.9)\nrest"),
            "is not an ELF library but text that begins with \"INPUT(libcudnn.so.9)\"".into(),
        ),
        (
            Defect::Truncated("segments", 4096, 64).to_string(),
            "is truncated: its size is 64 bytes, but its segments extend to byte 4096".into(),
        ),
        (
            Defect::Machine(3, std::env::consts::ARCH.into()).to_string(),
            format!("is for x86, but this program is for {own}"),
        ),
        (
            Defect::Machine(21, std::env::consts::ARCH.into()).to_string(),
            format!("is for powerpc64, but this program is for {own}"),
        ),
        (
            Defect::Machine(8, std::env::consts::ARCH.into()).to_string(),
            format!("is for the CPU with ELF number 8, but this program is for {own}"),
        ),
        (
            Defect::Cpu("i686", own.into()).to_string(),
            format!("is for i686, but this program is for {own}"),
        ),
        (
            Defect::Class(own.into()).to_string(),
            format!("has a different word size or byte order than {own}"),
        ),
        (
            Defect::Garbled.to_string(),
            "has inconsistent ELF tables".into(),
        ),
    ] {
        assert_eq!(message, wanted);
    }
}

#[test]
fn the_version_and_the_cuda_of_a_library_are_read() {
    let folder = Folder::new();
    let path = compiled(
        &folder,
        "const unsigned char cudnn_ops_infer_version[4] = {2, 14, 9, 0};\n\
         const char *first(void) { return \"Lall LibL libcublasLt.so. libcublasL\"; }\n\
         const char *major(void) { return \"libcublasLt.so.13\"; }\n\
         const char *other(void) { return \"libcublasLt\"; }\n",
        &["-Wl,--hash-style=gnu"],
    );
    let symbol = VersionSource::Symbol("cudnn_ops_infer_version");
    let library = Elf::read(&path).unwrap();
    assert_eq!(
        library.release("ops"),
        Some((Version::new(9, 14, 2), symbol))
    );
    assert_eq!(library.release("graph"), None);
    assert_eq!(library.cuda_major(), Some(13));
    assert_eq!(library.defect(), None);
    let code = "const char *f(void) { return \"L libcublasLt.so\"; }";
    let library = Elf::read(&compiled(&folder, code, &[])).unwrap();
    assert_eq!(library.cuda_major(), None);
    assert_eq!(library.release("adv"), None);
}

#[test]
fn the_imports_and_exports_of_a_library_are_read() {
    let folder = Folder::new();
    let code = "char *getenv(const char *); void elsewhere(void); __attribute__((weak)) void perhaps(void);\n\
         char *first(void) { if (perhaps) elsewhere(); return getenv(\"A\"); }\n";
    for style in ["gnu", "sysv"] {
        let style = format!("-Wl,--hash-style={style}");
        let path = compiled(&folder, code, &[&style, "-Wl,--build-id", LIBC]);
        let library = Elf::read(&path).unwrap();
        assert_eq!(library.needed(), ["libc.so.6"]);
        let asked = [&b"first"[..], b"getenv", b"", b"second"];
        assert_eq!(
            library.missing_symbols(asked.into_iter()),
            ["getenv", "", "second"]
        );
        let imports = library.imports().unwrap();
        let import = |name| imports.iter().find(|import| import.name == name);
        let version = import("getenv").unwrap().version.as_deref().unwrap();
        assert_eq!(version.0, "libc.so.6");
        assert!(version.1.starts_with("GLIBC_2."), "{version:?}");
        assert!(import("elsewhere").unwrap().version.is_none());
        assert!(import("perhaps").is_none());
        assert_eq!(library.device_code(), Some((0, 0)));
        assert_eq!(library.rpath(), None);
        let id = library.build_id().unwrap();
        assert!(id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let (from, versions) = &library.needed_versions()[0];
        assert_eq!(from, "libc.so.6");
        assert!(versions[0].starts_with("GLIBC_2."), "{versions:?}");
    }
    // With `-z now`, and for a function whose address is taken, the loader does not wait for a call.
    let address = "void elsewhere(void); void *first(void) { return elsewhere; }";
    for (code, flag, is_bound) in [
        (code, "-Wl,-z,lazy", false),
        (code, "-Wl,-z,now", true),
        (address, "-Wl,-z,lazy", true),
    ] {
        let library = Elf::read(&compiled(&folder, code, &[flag, LIBC])).unwrap();
        let imports = library.imports().unwrap();
        let mut imports = imports.iter();
        let import = imports.find(|import| import.name == "elsewhere").unwrap();
        assert_eq!(
            library.bindings().get(&import.index),
            Some(&is_bound),
            "{flag}"
        );
    }
    let path = compiled(&folder, code, &["-Wl,--hash-style=gnu", LIBC]);
    // A symbol without a version may come from any library.
    let imports = Elf::read(&path).unwrap().named_imports();
    let getenv = ("libc.so.6".to_string(), b"getenv".to_vec());
    assert!(imports.contains(&getenv), "{imports:?}");
    assert!(!imports.iter().any(|(_, name)| name == b"elsewhere"));
    let mut whole = std::fs::read(&path).unwrap();
    // The other byte order is used by no CPU that CUDA supports. The results are meaningless, but do no harm.
    whole[5] = 2;
    std::fs::write(&path, &whole).unwrap();
    let library = Elf::read(&path).unwrap();
    assert_eq!((library.cpu(), library.needed()), (None, Vec::new()));
}

/// Its symbols are in the libraries that it links to, so they are not missing from it.
#[test]
fn a_library_that_only_links_to_others_is_missing_nothing() {
    let folder = Folder::new();
    for style in ["gnu", "sysv"] {
        let flags = [&format!("-Wl,--hash-style={style}"), "-nostdlib"];
        let library = Elf::read(&compiled(&folder, "", &flags)).unwrap();
        let asked = [&b"cudnnCreate"[..]];
        assert!(
            library.missing_symbols(asked.into_iter()).is_empty(),
            "{style}"
        );
    }
}

/// A program that compares the address of a function has an entry for the function in its dynamic symbol table.
#[test]
fn imported_symbols_are_not_defined_by_the_program() {
    let folder = Folder::new();
    let library = compiled(&folder, "int elsewhere(void) { return 1; }", &[]);
    let (code, program) = (folder.file("main.c"), folder.file("program"));
    let text =
        "int elsewhere(void); int main(int count) { return elsewhere == (void *)(long)count; }";
    std::fs::write(&code, text).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-w", "-O1", "-fno-pic", "-no-pie", "-o"]);
    let made = cc.args([&program, &code, &library]).status();
    assert!(made.unwrap().success());
    let program = Elf::open(&program).unwrap();
    let asked = [&b"elsewhere"[..]];
    assert_eq!(program.missing_symbols(asked.into_iter()), ["elsewhere"]);
    assert!(!program.defines("elsewhere"));
}

#[test]
fn the_symbol_versions_and_the_search_order_of_a_library_are_read() {
    let folder = Folder::new();
    let map = folder.file("map");
    std::fs::write(&map, "ONE { global: *; };\nTWO { } ONE;\n").unwrap();
    let map = format!("-Wl,--version-script={}", map.display());
    for (tag, rpath, runpath) in [
        ("--disable-new-dtags", Some("/x:$ORIGIN/y"), None),
        ("--enable-new-dtags", None, Some("/x:$ORIGIN/y")),
    ] {
        let tag = format!("-Wl,{tag},-rpath,/x:$ORIGIN/y,-z,nodefaultlib");
        let path = compiled(&folder, "int a;", &[&map, &tag]);
        let library = Elf::open(&path).unwrap();
        let versions = library.versions();
        assert_eq!(versions[1..], ["ONE", "TWO"], "{versions:?}");
        assert_eq!(library.rpath().as_deref(), rpath);
        assert_eq!(library.runpath().as_deref(), runpath);
        assert!(library.is_nodeflib());
        assert_eq!(
            SearchPath::default().of_library(&library, &path).folders(),
            ["/x".into(), folder.0.join("y").display().to_string()]
        );
    }
    let shell = Elf::open(Path::new("/bin/sh")).unwrap();
    assert!(shell.interpreter().unwrap().starts_with('/'));
    assert!(!shell.is_nodeflib());
}

/// Linkers differ in whether constants have a separate segment.
#[test]
fn constants_are_found_in_any_segment() {
    let folder = Folder::new();
    let code = "const char *f(void) { return \"Expected symbol in library\"; }";
    for flag in ["-Wl,-z,separate-code", "-Wl,-z,noseparate-code"] {
        let library = Elf::open(&compiled(&folder, code, &[flag])).unwrap();
        let constants = library.constants(1 << 20).unwrap();
        let wanted = b"Expected symbol in library\0";
        let mut places = constants.windows(wanted.len());
        assert!(places.any(|place| place == wanted), "{flag}");
        assert_eq!(library.constants(16), None);
    }
}

/// cuDNN exists for no 32-bit CPU.
#[test]
#[cfg(target_arch = "x86_64")]
fn only_the_cpu_of_a_32_bit_library_is_read() {
    let folder = Folder::new();
    let code = "const unsigned char cudnn_ops_version[4] = {2, 14, 9, 0};";
    let flags = ["-m32", "-nostdlib", "-Wl,-rpath,/x,--enable-new-dtags"];
    let path = compiled(&folder, code, &flags);
    let library = Elf::read(&path).unwrap();
    assert_eq!((library.cpu(), library.defect()), (Some("i686"), None));
    assert!(!library.is_64_bit_le);
    assert_eq!(
        (library.runpath(), library.section(".rodata")),
        (None, None)
    );
    assert_eq!(library.version("cudnn_ops_version"), None);
    let class = Some(Defect::Class(std::env::consts::ARCH.into()));
    assert_eq!(Elf::open(&path).err(), class);
}

/// Big-endian files have no tables, and nothing is read beyond the end.
#[test]
fn a_table_of_a_little_endian_file_is_read() {
    let folder = Folder::new();
    let path = folder.file("order");
    let mut bytes = vec![0; 64 + 56];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x02\x01");
    for (at, value) in [(39, 64), (55, 56), (57, 1), (67, 1), (64 + 38, 32)] {
        bytes[at] = value;
    }
    let reach = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        match Elf::read(&path).unwrap().defect() {
            Some(Defect::Truncated("segments", reach, 120)) => Some(reach),
            None => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reach(&bytes), None);
    let class = Some(Defect::Class(std::env::consts::ARCH.into()));
    assert_eq!(Elf::open(&path).err(), class);
    bytes[5] = 1;
    assert_eq!(reach(&bytes), Some((64 << 56) + (56 << 8) * (1 << 8)));
}

#[test]
fn a_damaged_library_yields_nothing_and_does_no_harm() {
    let folder = Folder::new();
    let path = compiled(
        &folder,
        "char *getenv(const char *); char *f(void) { return getenv(\"libcublasLt.so.12\"); }\n\
         const unsigned char cudnn_graph_version[4] = {0, 1, 9, 0};",
        &["-Wl,--hash-style=gnu", "-Wl,--build-id", LIBC],
    );
    let whole = std::fs::read(&path).unwrap();
    let path = folder.file("damaged");
    for length in (0..whole.len()).step_by(61) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let library = Elf::read(&path).unwrap();
        let defect = library.defect();
        assert!(length > whole.len() / 2 || defect.is_some(), "{length}");
        assert_eq!(library.cuda_major(), None, "{length}");
        if defect.is_some() {
            assert_eq!(library.release("graph"), None, "{length}");
        }
        ask(&path);
    }
    for place in (0..whole.len()).step_by(7) {
        let mut bent = whole.clone();
        bent[place] = !bent[place];
        std::fs::write(&path, &bent).unwrap();
        ask(&path);
    }
}
