//! Files and messages of the system's loader: its cache, its lists, its own file, and the memory map of a process.

#![no_main]

use cudnn_guard::internals::binary::ld_so_cache;
use cudnn_guard::internals::loader::elf::{dlerror_messages, search_list};
use cudnn_guard::internals::loader::file_name;
use cudnn_guard::internals::loader::system::{Loader, System, hwcaps_order};
use cudnn_guard::internals::system::platform::maps;
use cudnn_guard_fuzz::expect_printable;
use libfuzzer_sys::fuzz_target;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    for name in ["libcudnn.so.9", "libc.so.6"] {
        let files = ld_so_cache::parse(bytes, name);
        assert!(files.len() <= 64);
        for file in &files {
            let file = file.as_os_str().as_bytes();
            assert!(file.len() < 4096 && !file.contains(&0), "{file:?}");
        }
        let system = System {
            levels: Some(hwcaps_order(None)),
            ..System::default()
        };
        let _ = system.preferred(files);
    }
    for cpu in ["x86_64", "aarch64"] {
        let loader = Loader::parse(bytes, Path::new("/lib/ld.so"), cpu);
        assert!(!loader.dirs.is_empty() && !loader.lib.is_empty());
    }
    if let Some(file) = maps::file_in(bytes, 0x7f00_0000_1000) {
        assert!(file.path.starts_with(b"/"), "{:?}", file.path);
    }
    let text = String::from_utf8_lossy(bytes);
    for name in search_list::preloads(&text) {
        assert!(
            !name.is_empty() && !name.contains([':', ' ', '\n', '#']),
            "{name:?}"
        );
    }
    // The maximum length of a path.
    let entry = bytes.get(..4096).unwrap_or(bytes);
    let system = System {
        cpu: "x86_64".into(),
        ..System::default()
    };
    let paths = system.expand(entry, Path::new("/opt/app"));
    assert!((1..=3).contains(&paths.len()), "{paths:?}");
    let _ = file_name::parse(Path::new(&*text));
    let library = Path::new("/opt/cudnn/libcudnn.so.9");
    expect_printable(
        &dlerror_messages::refused(library, &text)
            .finding()
            .to_string(),
    );
    let _ = dlerror_messages::missed_function(&text);
    let _ = dlerror_messages::no_memory(&text);
});
