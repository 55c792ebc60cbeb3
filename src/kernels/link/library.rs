//! The library of kernels, and the CUDA runtime, which nvcc's host code calls.

use crate::host_compiler::query::compilation;
use crate::kernels::nvcc::missing::UnusableToolkit;
use crate::kernels::{Cudart, Kernels, ToolFailure};
use crate::model::{Library, Os};
use crate::runtime::facts::Finding;
use crate::system::{Artifact, Directive, files, out_dir};
use std::path::PathBuf;

impl Kernels<'_> {
    /// Links a library of these objects, then the runtime and the system libraries that it and nvcc's host code need.
    pub(in crate::kernels) fn link_library(
        &self,
        name: &str,
        objects: &[PathBuf],
        lines: &mut Vec<Directive>,
    ) -> Result<(), Finding> {
        let (toolchain, out_dir) = (self.toolchain, self.output_dir()?);
        self.archive(name, objects)?;
        lines.push(Directive::LinkSearch(out_dir));
        // rustc bundles the library into the rlib of a library crate and links it into a program. In both cases the
        // kernels precede the CUDA runtime, as the linker requires.
        lines.push(Directive::LinkLib(Library::Bundled(name.to_string())));
        let is_windows = toolchain.host.platform.os == Os::Windows;
        // Kernels that launch kernels call `cudadevrt`. The toolkit may not contain it.
        match (self.is_relocatable(), is_windows) {
            (false, _) => {}
            (_, true) => lines.push(Directive::LinkLib(Library::Static("cudadevrt".into()))),
            (_, false) => {
                self.link_alias(name, "libcudadevrt.a", "cudadevrt", lines)?;
            }
        }
        match (self.cudart, is_windows) {
            (Some(Cudart::None), _) => {}
            (Some(Cudart::Shared), _) | (None, true) => lines.extend(toolchain.shared_cudart()),
            (Some(Cudart::Static), true) => {
                for dir in self.link_dirs() {
                    lines.push(Directive::LinkSearch(dir.clone()));
                }
                lines.push(Directive::LinkLib(Library::Static("cudart_static".into())));
            }
            (Some(Cudart::Static) | None, false) => {
                if !self.link_alias(name, "libcudart_static.a", "cudart", lines)? {
                    if let (Some(_), Some(toolkit)) = (self.cudart, toolchain.toolkit()) {
                        return Err(UnusableToolkit::NoStaticRuntime(toolkit).finding());
                    }
                    lines.extend(toolchain.shared_cudart());
                }
            }
        }
        if !is_windows {
            for library in ["stdc++", "rt", "dl", "pthread"] {
                lines.push(Directive::LinkLib(Library::Dynamic(library.into())));
            }
        }
        Ok(())
    }

    /// Archives the objects as `lib<name>.a`, unless it already contains these objects.
    fn archive(&self, name: &str, objects: &[PathBuf]) -> Result<(), Finding> {
        let (host, out_dir) = (&self.toolchain.host, self.output_dir()?);
        let variable = |name| host.env.os_var(name).unwrap_or_default();
        let archiver = [variable("AR"), variable("ARFLAGS")];
        let made = Artifact {
            output: out_dir.join(format!("lib{name}.a")),
            stamp: out_dir.join("cudnn-guard").join(format!("lib{name}.stamp")),
            how: format!("{archiver:?} {objects:?}"),
        };
        // On Windows the library also has a second name, which the stamp does not cover.
        if host.platform.os == Os::Windows {
            out_dir::remove(&made.stamp);
        }
        let build = |objects: &[PathBuf]| {
            let mut build = compilation(host);
            build.out_dir(&out_dir).objects(objects).try_compile(name)
        };
        made.make_of(objects, &mut || {
            // cc adds a few objects per call, and each call of ar copies the archive. GNU's and LLVM's read a list.
            let list = made.stamp.with_extension("list");
            let mut paths = String::new();
            for object in objects {
                paths += &format!("{object:?}\n");
            }
            files::write(&list, &paths)?;
            let is_list = host.platform.os != Os::Windows;
            let built = is_list.then(|| build(&[format!("@{}", list.display()).into()]));
            let built = built
                .filter(Result::is_ok)
                .unwrap_or_else(|| build(objects));
            built.map_err(|error| ToolFailure::Archive(name, error).finding())
        })
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
        name: &str,
        file: &str,
        suffix: &str,
        lines: &mut Vec<Directive>,
    ) -> Result<bool, Finding> {
        let Some(archive) = files::find_in(self.link_dirs(), file) else {
            return Ok(false);
        };
        let alias = format!("{name}_{suffix}");
        let place = self.output_dir()?.join(format!("lib{alias}.a"));
        files::link(&archive, &place)?;
        lines.push(Directive::LinkLib(Library::Static(alias)));
        Ok(true)
    }
}
