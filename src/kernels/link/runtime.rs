//! CUDA's runtime, which nvcc's host code calls.

use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::system::directive::{Directive, Library};
use crate::system::{files, out_dir};
use std::path::{Path, PathBuf};

/// The runtime for one library of kernels.
pub struct Runtime<'a> {
    /// The toolkit's directories of libraries.
    pub link_dirs: &'a [PathBuf],
    pub os: Os,
    /// The name of the library of kernels.
    pub name: &'a str,
    pub out_dir: &'a Path,
}

impl Runtime<'_> {
    /// Links `cudadevrt`, if the toolkit has it. Kernels that start kernels call it.
    pub fn link_device(&self, lines: &mut Vec<Directive>) -> Result<(), Finding> {
        if self.os == Os::Windows {
            let library = Library::Static("cudadevrt".into());
            lines.push(Directive::LinkLib(library));
        } else {
            self.link_alias("libcudadevrt.a", "cudadevrt", lines)?;
        }
        Ok(())
    }

    /// Links the runtime after the library of kernels. Like nvcc, it prefers the static runtime.
    pub fn link(&self, lines: &mut Vec<Directive>) -> Result<(), Finding> {
        let is_windows = self.os == Os::Windows;
        if is_windows || !self.link_alias("libcudart_static.a", "cudart", lines)? {
            for dir in self.link_dirs {
                lines.push(Directive::LinkSearch(dir.clone()));
            }
            lines.push(Directive::LinkLib(match self.os {
                Os::Windows => Library::Dynamic("cudart".into()),
                _ => self.shared(),
            }));
        }
        if !is_windows {
            for library in ["stdc++", "rt", "dl", "pthread"] {
                lines.push(Directive::LinkLib(Library::Dynamic(library.into())));
            }
        }
        Ok(())
    }

    /// Links an archive of the toolkit under a name of its own. Returns `false` if there is none. A linker reads
    /// archives in order, so the one that `link()` adds before the kernels is of no use to them, and rustc accepts a
    /// name with modifiers only once.
    fn link_alias(
        &self,
        file: &str,
        suffix: &str,
        lines: &mut Vec<Directive>,
    ) -> Result<bool, Finding> {
        for dir in self.link_dirs {
            let archive = dir.join(file);
            if files::is_file(&archive) {
                let alias = format!("{}_{suffix}", self.name);
                out_dir::alias(&archive, &self.out_dir.join(format!("lib{alias}.a")))?;
                lines.push(Directive::LinkLib(Library::Static(alias)));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the shared runtime to link. Wheels have no `libcudart.so`, so there it is the full file name.
    fn shared(&self) -> Library {
        let is_runtime = |name: &str| name.starts_with("libcudart.so");
        let list = |dir: &PathBuf| files::list_named(dir, &is_runtime).unwrap_or_default();
        let names = self.link_dirs.iter().flat_map(list);
        let names = names.filter_map(|file| Some(file.file_name()?.to_str()?.to_string()));
        // The shortest name is the development symlink; the next one is the SONAME.
        match names.min_by_key(String::len) {
            Some(name) if name != "libcudart.so" => Library::Verbatim(name),
            _ => Library::Dynamic("cudart".into()),
        }
    }
}
