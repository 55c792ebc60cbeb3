//! What Linux tells of itself and of this process, in files below /proc.

/// What such a file holds. On Windows there is none, and anybody may make one of that name.
pub fn read(file: &str) -> Option<Vec<u8>> {
    if cfg!(windows) {
        return None;
    }
    std::fs::read(format!("/proc/{file}")).ok()
}

/// Reads a file below `/proc` as text; returns `None` if it is not UTF-8.
pub fn text(file: &str) -> Option<String> {
    String::from_utf8(read(file)?).ok()
}

/// Returns `false` if no process has this number; `true` if that cannot be known.
pub fn is_running(process: u32) -> bool {
    read("self/stat").is_none() || read(&format!("{process}/stat")).is_some()
}
