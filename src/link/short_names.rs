//! Links by short names to libraries that have whole ones alone, as in NVIDIA's Python wheels: `libcudnn.so` to
//! `libcudnn.so.9`. Other crates of the program, such as cudarc and candle, ask the linker for `-lcudnn` themselves.
//!
//! ```text
//! $OUT_DIR/
//!     cudnn-guard/lib/
//!         libcudnn.so         a link to the library
//! ```

use crate::runtime::facts::finding::Finding;
use crate::system::{files, out_dir};
use std::path::{Path, PathBuf};

/// Makes them for these libraries, and gives their directory.
pub fn make(libraries: &[PathBuf], into: &Path) -> Result<PathBuf, Finding> {
    let dir = into.join("cudnn-guard/lib");
    out_dir::create_dir(&dir)?;
    for library in libraries {
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        if let Some((short, _)) = name.split_once(".so.") {
            files::link(library, &dir.join(format!("{short}.so")))?;
        }
    }
    Ok(dir)
}
