//! Device code, and the constants of a library.

#![no_main]

use cudnn_guard::fuzzing::device_code::{fatbin, gpu_code};
use cudnn_guard::internals::binary::cuda_sections::cublas_major;
use cudnn_guard::internals::facts::Version;
use cudnn_guard_fuzz::expect_printable;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = cublas_major(bytes, b'l', b"ibcublasLt.so.");
    let _ = Version::from_symbol(bytes);
    let mut read = |at: u64, size: u64| {
        let at = usize::try_from(at).ok()?;
        let end = at.checked_add(usize::try_from(size).ok()?)?;
        Some(bytes.get(at..end)?.to_vec())
    };
    let Some(found) = fatbin::targets(bytes.len() as u64, &mut read) else {
        return;
    };
    assert!(found.is_sorted_by(|one, next| one < next), "{found:?}");
    assert_eq!(gpu_code::common(&[found.clone(), found.clone()]), found);
    expect_printable(&gpu_code::describe(&found));
});
