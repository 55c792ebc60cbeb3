use crate::runtime::binary::{Defect, Pe};
use crate::system::library_file::made_dll::DllSpec;

/// Creates a DLL with four exports, so that a binary search goes both ways.
fn dll(machine: u16) -> Vec<u8> {
    let exports = [
        ("another", 0),
        ("cudnn_adv_infer_version", 27),
        ("cudnn_cnn_version", 26),
        ("cudnn_graph_version", 28),
    ];
    DllSpec {
        machine,
        version: Some([9, 28, 3]),
        exports: exports
            .map(|(name, minor)| (name.into(), [9, minor, 0]))
            .into(),
        imports: vec![
            ("KERNEL32.dll".into(), vec!["LoadLibraryExA".into()]),
            (
                "cudnn_graph64_9.dll".into(),
                vec!["?one@cudnn@@YAXXZ".into(), "two".into()],
            ),
        ],
        delayed: vec!["cudart64_13.dll".into(), "nvcuda.dll".into()],
        text: "cublasLt.dll\0cublasLt64_13.dll\0".into(),
        code: Vec::new(),
    }
    .bytes()
}

fn open<T>(bytes: &[u8], read: impl FnOnce(Pe) -> T) -> T {
    let thread = format!("{:?}", std::thread::current().id());
    let name = format!("cudnn-guard-dll-{}-{thread}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, bytes).unwrap();
    let result = read(Pe::read(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    result
}

fn version(bytes: &[u8], part: &str) -> (Option<String>, Option<&'static str>, Option<u32>) {
    open(bytes, |dll| {
        let release = dll.release(part);
        let release = release.map(|(version, source)| format!("{version} by {}", source.in_full()));
        (release, dll.cpu(), dll.cuda_major())
    })
}

#[test]
fn a_version_from_a_symbol_or_else_from_the_resource() {
    for (machine, part, release, cpu) in [
        (
            0x8664,
            "graph",
            "9.28.0 by symbol cudnn_graph_version",
            Some("x86_64"),
        ),
        (
            0xaa64,
            "cudnn",
            "9.28.3 by version resource",
            Some("aarch64"),
        ),
        (
            0x14c,
            "adv",
            "9.27.0 by symbol cudnn_adv_infer_version",
            Some("i686"),
        ),
        (0x1c4, "ops", "9.28.3 by version resource", None),
    ] {
        let expected = (Some(release.to_string()), cpu, Some(13));
        assert_eq!(version(&dll(machine), part), expected);
    }
}

#[test]
fn imports_and_missing_symbols() {
    open(&dll(0x8664), |dll| {
        assert_eq!(dll.needs(), ["KERNEL32.dll", "cudnn_graph64_9.dll"]);
        let graph = "cudnn_graph64_9.dll".to_string();
        assert_eq!(
            dll.named_imports(),
            [
                ("KERNEL32.dll".to_string(), b"LoadLibraryExA".to_vec()),
                (graph.clone(), b"?one@cudnn@@YAXXZ".to_vec()),
                (graph, b"two".to_vec()),
            ]
        );
        let symbols: [&[u8]; 4] = [b"another", b"cudnn_cnn_versions", b"cudnn_cnn_version", b""];
        assert_eq!(
            dll.missing_symbols(symbols.into_iter()),
            ["cudnn_cnn_versions".to_string(), String::new()]
        );
    });
    // A DLL without exports has no version.
    let silent = DllSpec::from_lines("", "x86_64");
    let symbols: [&[u8]; 1] = [b"one"];
    assert!(open(&silent, |dll| dll
        .missing_symbols(symbols.into_iter())
        .is_empty()));
}

#[test]
fn a_truncated_dll_is_damaged() {
    let valid = dll(0x8664);
    assert_eq!(open(&valid, |dll| dll.defect()), None);
    for length in 0..valid.len() {
        let cut = &valid[..length];
        let (release, _, cuda_major) = version(cut, "graph");
        assert_eq!((release, cuda_major), (None, None), "{length}");
        let defect = open(cut, |dll| {
            assert!(dll.needs().is_empty() && dll.named_imports().is_empty());
            dll.defect()
        });
        let end = length as u64;
        match defect {
            Some(Defect::Truncated("sections", reach, at)) => assert!(at == end && reach > end),
            Some(Defect::Empty) => assert_eq!(length, 0),
            Some(Defect::Foreign("a DLL", _)) => assert_eq!(length, 1),
            other => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn files_that_are_not_dlls() {
    let defect = |bytes: &[u8]| open(bytes, |dll| dll.defect().unwrap().to_string());
    assert_eq!(
        defect(b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
        "is not a DLL but a Git LFS pointer"
    );
    let mut old = vec![0; 256];
    old[..2].copy_from_slice(b"MZ");
    assert_eq!(defect(&old), "is not a DLL");
    let valid = dll(0x8664);
    assert_eq!(
        defect(&valid[..600]),
        format!(
            "is truncated: its size is 600 bytes, but its sections extend to byte {}",
            valid.len()
        )
    );
}

#[test]
fn delay_loaded_dlls_are_listed_separately() {
    let later = |bytes: &[u8]| open(bytes, |dll| dll.delays());
    let bytes = dll(0x8664);
    assert_eq!(later(&bytes), ["cudart64_13.dll", "nvcuda.dll"]);
    let needs = open(&bytes, |dll| dll.needs());
    assert_eq!(needs, ["KERNEL32.dll", "cudnn_graph64_9.dll"]);
}

/// 127 DLLs with 16,000 imported functions each, all with the same name.
#[test]
fn the_number_of_imports_is_limited() {
    for (letters, most) in [(60, 1 << 15), (4000, 9000)] {
        let mut functions = vec![String::new(); 16_000];
        functions[0] = "f".repeat(letters);
        let made = DllSpec {
            imports: vec![("one.dll".into(), functions)],
            text: "\0".repeat(128 * 20),
            ..DllSpec::default()
        };
        let mut bytes = made.bytes();
        let place = |bytes: &[u8], at: usize| {
            let address = u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
            address as usize - 0x1000 + 0x200
        };
        let table = place(&bytes, 0x58 + 120);
        let list = place(&bytes, table);
        let (entry, function) = (bytes[table..][..20].to_vec(), bytes[list..][..8].to_vec());
        bytes[table..][..127 * 20].copy_from_slice(&entry.repeat(127));
        bytes[list..][..16_000 * 8].copy_from_slice(&function.repeat(16_000));
        let start = std::time::Instant::now();
        let constraints = open(&bytes, |dll| dll.named_imports());
        assert!(constraints[0].1.len() == letters && constraints.len() <= most);
        // It takes half a second if nothing else runs.
        assert!(start.elapsed().as_secs() < 10);
    }
}

/// Otherwise a small file could use any amount of memory.
#[test]
fn overlapping_sections_are_read_once() {
    let made = DllSpec {
        code: vec![0; 8],
        ..DllSpec::default()
    };
    let mut bytes = made.bytes();
    let parts = |bytes: &[u8]| open(bytes, |dll| dll.read_only().len());
    assert_eq!(parts(&bytes), 2);
    // The second section becomes the complete file.
    let length = bytes.len() as u32;
    let header = 0x58 + 240 + 40;
    bytes[header + 16..][..4].copy_from_slice(&length.to_le_bytes());
    bytes[header + 20..][..4].fill(0);
    assert_eq!(parts(&bytes), 1);
}
