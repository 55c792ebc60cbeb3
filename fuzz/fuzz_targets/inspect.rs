//! `cudnn-guard inspect --root` on a generated image: a program, then the loader's configuration, cache and preload list,
//! and a header. A separator line precedes each of the later files.

#![no_main]

use cudnn_guard::Inspection;
use cudnn_guard_fuzz::{expect_printable, folder};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

const BETWEEN: &[u8] = b"\n%%%%\n";
/// The files in the input, in this order. The libraries are links to the program.
const FILES: [&str; 5] = [
    "opt/app",
    "etc/ld.so.conf",
    "etc/ld.so.cache",
    "etc/ld.so.preload",
    "usr/local/cuda/include/cudnn_version.h",
];
const LIBRARIES: [&str; 3] = [
    "opt/liba.so",
    "usr/lib/libcudnn.so.9",
    "usr/local/cuda/lib64/libcudnn.so.9",
];

fuzz_target!(|bytes: &[u8]| {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let root = folder().join("root");
        for file in FILES.iter().chain(&LIBRARIES) {
            let folder = root.join(file).parent().map(PathBuf::from);
            fs::create_dir_all(folder.expect("no parent"))
                .expect("cannot create a directory in TMPDIR");
        }
        fs::write(root.join(FILES[0]), "").expect("cannot write a file in TMPDIR");
        for library in LIBRARIES {
            fs::hard_link(root.join(FILES[0]), root.join(library))
                .expect("cannot create a link in TMPDIR");
        }
        root
    });
    let mut rest = bytes;
    for file in FILES {
        let end = rest.windows(BETWEEN.len()).position(|it| it == BETWEEN);
        let (one, behind) = rest.split_at(end.unwrap_or(rest.len()));
        fs::write(ROOT.join(file), one).expect("cannot write a file in TMPDIR");
        rest = behind.get(BETWEEN.len()..).unwrap_or_default();
    }
    if let Ok(inspection) = Inspection::read(&ROOT.join(FILES[0]), Some(&ROOT)) {
        let _ = inspection.verdict();
        expect_printable(&inspection.to_string());
        let json = inspection.to_json();
        expect_printable(&json);
        assert!(!json.contains('\n'), "{json}");
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
    }
});
