//! The directory of `cudnn-guard fetch`, which the build and the program search.

use std::ffi::OsString;
use std::path::PathBuf;

/// The file in a directory of `cudnn-guard fetch` that lists all files in it.
pub const FETCH_MARKER: &str = ".cudnn-guard";

/// Returns the default directory of `cudnn-guard fetch`, without CUDNN_GUARD_HOME.
pub fn fetch_dir(is_windows: bool, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    user_dir("XDG_DATA_HOME", ".local/share", is_windows, variable)
}

/// Returns `cudnn-guard` in the directory that this XDG variable names, or else in this one in the home directory. A
/// relative path must be ignored: <https://specifications.freedesktop.org/basedir/latest/>.
pub fn user_dir(
    xdg: &str,
    in_home: &str,
    is_windows: bool,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    let path = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let dir = if is_windows {
        path("LOCALAPPDATA")
    } else {
        path(xdg).or_else(|| Some(path("HOME")?.join(in_home)))
    };
    Some(dir?.join("cudnn-guard"))
}
