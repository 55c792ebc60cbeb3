//! Programs that run with more privileges than this user.

use std::path::Path;

/// Returns `true` if the program gives this user more privileges: it is setuid or setgid of another user or group, or
/// has file capabilities. The kernel then sets AT_SECURE.
pub fn raises_privileges(program: &Path) -> bool {
    use std::ffi::{CString, c_char, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::ptr::null_mut;
    unsafe extern "C" {
        fn getxattr(
            path: *const c_char,
            name: *const c_char,
            to: *mut c_void,
            size: usize,
        ) -> isize;
    }
    let (Ok(file), Ok(user)) = (std::fs::metadata(program), std::fs::metadata("/proc/self")) else {
        return false;
    };
    // The setgid bit of a file that the group cannot execute has another meaning.
    let is_setgid = file.mode() & 0o2010 == 0o2010;
    if file.mode() & 0o4000 != 0 && file.uid() != user.uid()
        || is_setgid && file.gid() != user.gid()
    {
        return true;
    }
    let Ok(path) = CString::new(program.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: both names end in NUL, and with a size of 0 nothing is written.
    let size = unsafe {
        getxattr(
            path.as_ptr(),
            c"security.capability".as_ptr(),
            null_mut(),
            0,
        )
    };
    // Root has all capabilities anyway.
    size > 0 && user.uid() != 0
}
