//! The CUDA runtime, which nvcc's host code calls.

use crate::kernels::nvcc::missing::UnusableToolkit;
use crate::kernels::options::Cudart;
use crate::model::{Library, Os};
use crate::runtime::facts::Finding;
use crate::system::directive::Directive;
use crate::system::{files, out_dir};
use crate::toolchain::Toolchain;
use std::path::{Path, PathBuf};

/// The runtime for one library of kernels.
pub struct Runtime<'a> {
    pub toolchain: &'a Toolchain,
    /// The name of the library of kernels.
    pub name: &'a str,
    pub out_dir: &'a Path,
}

impl Runtime<'_> {
    /// Links `cudadevrt`, which kernels that launch kernels call, if the toolkit contains it.
    pub fn link_device(&self, lines: &mut Vec<Directive>) -> Result<(), Finding> {
        if self.is_windows() {
            lines.push(Directive::LinkLib(Library::Static("cudadevrt".into())));
        } else {
            self.link_alias("libcudadevrt.a", "cudadevrt", lines)?;
        }
        Ok(())
    }

    /// Links the runtime after the library of kernels, with the system libraries that it and nvcc's host code need.
    pub fn link(&self, named: Option<Cudart>, lines: &mut Vec<Directive>) -> Result<(), Finding> {
        match (named, self.is_windows()) {
            (Some(Cudart::None), _) => {}
            (Some(Cudart::Shared), _) | (None, true) => {
                lines.extend(self.toolchain.shared_cudart());
            }
            (Some(Cudart::Static), true) => {
                lines.extend(self.link_dirs().iter().cloned().map(Directive::LinkSearch));
                lines.push(Directive::LinkLib(Library::Static("cudart_static".into())));
            }
            (Some(Cudart::Static) | None, false) => {
                if !self.link_alias("libcudart_static.a", "cudart", lines)? {
                    if let (Some(_), Some(toolkit)) = (named, self.toolchain.toolkit()) {
                        return Err(UnusableToolkit::NoStaticRuntime(toolkit).finding());
                    }
                    lines.extend(self.toolchain.shared_cudart());
                }
            }
        }
        if !self.is_windows() {
            for library in ["stdc++", "rt", "dl", "pthread"] {
                lines.push(Directive::LinkLib(Library::Dynamic(library.into())));
            }
        }
        Ok(())
    }

    fn is_windows(&self) -> bool {
        self.toolchain.host.platform.os == Os::Windows
    }

    fn link_dirs(&self) -> &[PathBuf] {
        let toolkit = self.toolchain.toolkit();
        toolkit.map_or(&[], |toolkit| &toolkit.link_dirs)
    }

    /// Links an archive of the toolkit under a different name. Returns `false` if it does not exist. A linker reads
    /// archives in order, so the kernels cannot use an archive that `link()` adds before them, and rustc accepts a name
    /// with modifiers only once.
    fn link_alias(
        &self,
        file: &str,
        suffix: &str,
        lines: &mut Vec<Directive>,
    ) -> Result<bool, Finding> {
        for dir in self.link_dirs() {
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
}
