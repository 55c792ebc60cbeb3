//! Programs and libraries for Linux, with all queries.

#![no_main]

use cudnn_guard::fuzzing::{Os, device_code};
use cudnn_guard::internals::binary::elf::Elf;
use cudnn_guard::internals::facts::record;
use cudnn_guard::internals::loader::cudarc_eager::EagerLookup;
use cudnn_guard::internals::loader::search_path::SearchPath;
use cudnn_guard_fuzz::file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = file(bytes);
    let _ = Elf::open(path);
    let Ok(elf) = Elf::read(path) else {
        return;
    };
    let length = bytes.len();
    assert_eq!(elf.length(), length as u64);
    let _ = (elf.defect(), elf.cpu(), elf.is_64_bit_le, elf.is_nodeflib());
    let _ = (elf.section(".rodata"), elf.cuda_major(), elf.build_id());
    let texts = [elf.interpreter(), elf.soname(), elf.rpath(), elf.runpath()];
    for text in elf.needed().into_iter().chain(texts.into_iter().flatten()) {
        // Each byte that is not UTF-8 becomes three bytes.
        assert!(text.len() <= 3 * length && !text.contains('\0'), "{text:?}");
    }
    assert!(elf.rpath().is_none() || elf.runpath().is_none());
    let _ = SearchPath::default().of_library(&elf, path);
    for part in ["graph", "ops"] {
        let _ = elf.release(part);
    }
    let imports = elf.named_imports();
    let missing = elf.missing_symbols(imports.iter().map(|(_, name)| &name[..]));
    assert!(missing.len() <= imports.len());
    let _ = (
        elf.versions(),
        elf.needed_versions(),
        elf.imports().is_some(),
        elf.bindings(),
        elf.defines("cudnnGetVersion"),
    );
    if let Some(constants) = elf.constants(u64::MAX) {
        assert!(constants.len() <= length, "{} of {length}", constants.len());
        let _ = (record::find(&constants), EagerLookup::detect(&constants));
    }
    if let Some(found) = device_code::read_library(path, Os::Linux) {
        assert!(found.is_sorted());
    }
});
