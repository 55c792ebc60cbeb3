//! Caches of ldconfig for tests and fuzzing.

/// Returns a cache of ldconfig that contains these names and their files.
pub fn cache_of(files: &[(&str, &str)]) -> Vec<u8> {
    let words = |words: &[usize]| {
        words
            .iter()
            .flat_map(|it| (*it as u32).to_le_bytes())
            .collect::<Vec<_>>()
    };
    let (mut entries, mut strings) = (Vec::new(), Vec::new());
    let start = 48 + 24 * files.len();
    for (name, path) in files {
        let at = start + strings.len();
        entries.extend(words(&[1, at, at + name.len() + 1, 0, 0, 0]));
        strings.extend(format!("{name}\0{path}\0").into_bytes());
    }
    let counts = words(&[files.len(), strings.len(), 0, 0, 0, 0, 0]);
    [&b"glibc-ld.so.cache1.1"[..], &counts, &entries, &strings].concat()
}
