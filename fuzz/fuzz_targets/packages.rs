//! Files of installers and cargo: records of wheels, file names, `Cargo.lock`, and the line ends of edited files.

#![no_main]

#[allow(dead_code)]
#[path = "../../src/cli/whole_file.rs"]
mod whole_file;

/// The modules that `whole_file` uses.
mod system {
    pub use cudnn_guard::fuzzing::files;
}
use cudnn_guard::internals as runtime;

use cudnn_guard::fuzzing::{LibraryName, cargo_lock, cudarc};
use cudnn_guard::internals::install::package_record;
use cudnn_guard::internals::loader::file_name;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let text = &*String::from_utf8_lossy(bytes);
    for (name, _) in package_record::parse(text, "nvidia/cudnn/lib") {
        assert!(!name.contains(['/', ',', '\n']), "{name:?}");
    }
    for line in text.lines() {
        let _ = package_record::release_in(line, "nvidia_cudnn");
        let _ = file_name::parse(Path::new(line));
        if let Some(library) = LibraryName::read(line) {
            let lower = line.to_ascii_lowercase();
            let text = if library.is_dll { &lower } else { line };
            assert!(text.contains(&library.name), "{library:?}");
            assert!(
                library
                    .release()
                    .is_none_or(|it| Some(it.major) == library.major())
            );
        }
    }
    let (all, only) = (cudarc::in_lock(text), cudarc::only_in_lock(text));
    assert!(only.is_none() || all.len() == 1);
    for cudarc in all {
        assert!(cargo_lock::contains(text, "cudarc", cudarc.version));
    }

    let edited = &*whole_file::as_edited(text);
    assert_eq!(whole_file::in_form_of(text, edited), text);
});
