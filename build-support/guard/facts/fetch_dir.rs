//! The directory of `cudnn-guard fetch`, which the build and the program search.

use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the default directory of `cudnn-guard fetch`, without CUDNN_GUARD_HOME: `cudnn-guard` in the user's data
/// directory. A relative XDG_DATA_HOME must be ignored: <https://specifications.freedesktop.org/basedir/latest/>.
pub fn fetch_dir(is_windows: bool, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let data = if is_windows {
        path("LOCALAPPDATA")
    } else {
        path("XDG_DATA_HOME").or_else(|| Some(path("HOME")?.join(".local/share")))
    };
    Some(data?.join("cudnn-guard"))
}
