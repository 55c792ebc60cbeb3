//! Files below /proc.

/// Reads a file below `/proc`. On Windows there is no such file, except one that any user may create.
pub fn read(file: &str) -> Option<Vec<u8>> {
    if cfg!(windows) {
        return None;
    }
    std::fs::read(format!("/proc/{file}")).ok()
}

/// Returns the first bytes of a file below `/proc` that may be long.
#[cfg(target_arch = "x86_64")]
pub fn beginning(file: &str) -> Option<[u8; 128]> {
    if cfg!(windows) {
        return None;
    }
    let mut bytes = [0; 128];
    let mut file = std::fs::File::open(format!("/proc/{file}")).ok()?;
    let length = std::io::Read::read(&mut file, &mut bytes).ok()?;
    (length > 0).then_some(bytes)
}

/// Returns `true` if AddressSanitizer protects its shadow gap in this process, which contains addresses that CUDA needs.
pub fn has_shadow_gap() -> bool {
    let start = match cfg!(target_arch = "aarch64") {
        true => "1200000000-",
        false => "8fff7000-",
    };
    let is_gap = |line: &str| line.starts_with(start) && line.contains(" ---p ");
    text("self/maps").is_some_and(|maps| maps.lines().any(is_gap))
}

/// Like [`read`], but returns text, and `None` if the file is not UTF-8.
pub fn text(file: &str) -> Option<String> {
    String::from_utf8(read(file)?).ok()
}
