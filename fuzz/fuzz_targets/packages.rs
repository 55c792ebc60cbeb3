//! Files of installers and cargo: records of wheels, file names, `Cargo.lock`, cargo's configuration, and pip's
//! requirements.

#![no_main]

#[allow(dead_code)]
#[path = "../../src/cli/fetch/cargo_config.rs"]
mod cargo_config;
#[path = "../../src/cli/fetch/requirements.rs"]
mod requirements;
#[allow(dead_code)]
#[path = "../../src/cli/whole_file.rs"]
mod whole_file;

/// The modules that `requirements` uses.
mod cli {
    pub mod fetch {
        pub mod wheels {
            pub fn is_known(name: &str) -> bool {
                name.starts_with("nvidia-")
            }
        }
    }
}
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
        let _ = package_record::release_in(line);
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
    let (last, only) = (cudarc::in_lock(text), cudarc::only_in_lock(text));
    assert!(only.is_none() || last.is_some());
    assert!(last.is_none_or(|version| cargo_lock::contains(text, "cudarc", version)));

    if let Some(pins) = requirements::parse(text) {
        assert_eq!(requirements::parse(&requirements::text(&pins)), Some(pins));
    }

    let variables = [
        ("CUDNN_GUARD_HOME", "/opt/a \"b\"".to_string()),
        ("CUDA_HOME", "/opt/é\n".to_string()),
    ];
    let edited = &*whole_file::as_edited(text);
    assert_eq!(whole_file::in_form_of(text, edited), text);
    if let Some(written) = cargo_config::with(edited, &variables) {
        let read: toml_edit::DocumentMut = written.parse().expect("TOML");
        for (name, value) in &variables {
            assert_eq!(read["env"][name].as_str(), Some(&**value), "{written:?}");
        }
        // Adding the variables again changes nothing.
        assert_eq!(
            cargo_config::with(&written, &variables),
            Some(written.clone())
        );
        let mut lines = written.lines();
        for line in edited.lines() {
            assert!(
                lines.any(|known| known.trim() == line.trim()),
                "{line:?} of {written:?}"
            );
        }
    }
});
