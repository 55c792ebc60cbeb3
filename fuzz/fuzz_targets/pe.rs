//! Programs and DLLs for Windows, with all queries.

#![no_main]

use cudnn_guard::fuzzing::{Os, device_code};
use cudnn_guard::internals::binary::pe::Pe;
use cudnn_guard::internals::facts::record;
use cudnn_guard_fuzz::file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = file(bytes);
    let Ok(pe) = Pe::read(path) else {
        return;
    };
    assert_eq!(pe.length(), bytes.len() as u64);
    let _ = (
        pe.cpu(),
        pe.section(".rdata"),
        pe.cuda_major(),
        pe.file_numbers(),
    );
    for part in ["graph", "ops_infer"] {
        let _ = pe.release(part);
    }
    for name in pe.needs().iter().chain(&pe.delays()) {
        assert!(!name.contains('\0'), "{name:?}");
    }
    let imports = pe.named_imports();
    let missing = pe.missing_symbols(imports.iter().map(|(_, name)| &name[..]));
    assert!(missing.len() <= imports.len());
    let constants = pe.read_only();
    let size: usize = constants.iter().map(Vec::len).sum();
    assert!(size <= bytes.len(), "{size} of {}", bytes.len());
    for part in &constants {
        let _ = record::find(part);
    }
    if let Some(found) = device_code::read_library(path, Os::Windows) {
        assert!(found.is_sorted());
    }
});
