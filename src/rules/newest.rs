//! What came out after this crate.

use crate::model::finding::Finding;
use crate::model::version::Version;
use std::path::Path;

/// The newest CUDA that the rules here were tried with.
const CUDA: Version = Version::new(13, 5, 0);

/// That a toolkit is newer than all that is known here. The rules are open at the top: those of the newest go on.
pub fn toolkit(version: Version, root: &Path) -> Option<Finding> {
    if (version.major, version.minor) <= (CUDA.major, CUDA.minor) {
        return None;
    }
    let headline = format!(
        "CUDA {} at `{}` is newer than {}, the newest that this cudnn-guard knows",
        version.short(),
        root.display(),
        CUDA.short()
    );
    let note = Finding::note("unknown-newer-version", headline);
    Some(note.help(format!(
        "go on: the rules of {} are used; update cudnn-guard if something misbehaves",
        CUDA.short()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CFG-07: the newest known is none of them, and versions are numbers.
    #[test]
    fn only_what_is_newer_is_said() {
        let said = |major, minor| toolkit(Version::new(major, minor, 0), Path::new("/c")).is_some();
        assert!(said(14, 0) && said(13, 6) && said(13, 10) && said(100, 1));
        assert!(!said(13, 5) && !said(12, 9) && !said(9, 10));
    }
}
