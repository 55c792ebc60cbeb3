use crate::link::MissingLinkMetadata;
use crate::link::lost_rpath::LostRpath;
use crate::toolchain::lazy_link::LazyLinkFault;
use crate::{Finding, FindingId};

impl LostRpath<'_> {
    pub fn finding(&self) -> Finding {
        let (name, dir) = (self.package, self.dir.display());
        let query = self.query();
        let call = format!("add `cudnn_guard::{query}?.link()` to the build.rs of each program");
        if self.links.is_some() {
            return FindingId::LibraryNotFound.warning(format!(
                "programs that depend on `{name}` cannot find the libraries in `{dir}` unless their build.rs adds the rpath"
            ))
            .help(call)
            .help("call `.allow(\"library-not-found\")` in this build.rs if programs outside this workspace do so");
        }
        FindingId::LibraryNotFound.warning(format!(
            "programs that depend on `{name}` do not get its rpath to `{dir}`: cargo passes on libraries, but no linker \
             arguments"
        ))
        .help(format!("add `links = \"{name}\"` to [package] in its Cargo.toml, and {call}"))
        .help("call `.rpath(false)` in its build.rs if LD_LIBRARY_PATH or ld.so.conf contains that directory")
    }
}

impl MissingLinkMetadata<'_> {
    pub fn finding(&self) -> Finding {
        let links = self.links;
        FindingId::ConfigInvalid.error(format!(
            "no dependency with `links = \"{links}\"` passed link metadata to this build script"
        ))
        .with("variable", self.variable)
        .help(format!(
            "add the crate with `links = \"{links}\"` directly to [dependencies] of this package"
        ))
        .help("call `link()` on the toolchain in that crate's build.rs")
    }
}

impl LazyLinkFault<'_> {
    pub fn finding(&self) -> Finding {
        let other = "call `.link(Link::Dynamic)` or `.link(Link::Runtime)` in build.rs instead";
        match self {
            Self::Target(triple) => FindingId::ConfigInvalid.error(format!(
                "`Link::Lazy` supports Linux on x86_64 and aarch64 and Windows on x86_64, but the build target is {triple}"
            ))
            .help(other),
            Self::Unreadable(library, defect) => {
                let library = library.display();
                let reason = defect.as_ref().map_or_else(String::new, |defect| format!(": it {defect}"));
                FindingId::LibraryNotFound.error(format!(
                    "cannot read the functions of `{library}` for `Link::Lazy`{reason}"
                ))
                .help("reinstall the package that contains it, for the build target")
            }
            Self::NoLoader => FindingId::ConfigInvalid.error(
                "`Link::Lazy` opens shared libraries built for glibc, which a program with a static C library or for musl cannot do",
            )
            .help("build without `-C target-feature=+crt-static`, for a target with glibc"),
            Self::NoLibrary(toolkit, name) => FindingId::LibraryNotFound.error(format!(
                "CUDA at `{}` does not contain the library `{name}`, whose functions `Link::Lazy` needs",
                toolkit.display()
            ))
            .help(format!("remove `{name}` from `.libs(..)` in build.rs, or correct it")),
            Self::Name(library, name) => FindingId::ConfigInvalid.error(format!(
                "`{}` exports `{name}`, a name that `Link::Lazy` does not support",
                library.display()
            ))
            .help(other),
            Self::NotAssembled(library, message) => FindingId::IoError.error(format!(
                "cannot assemble the functions of `{}` for `Link::Lazy`",
                library.display()
            ))
            .with("assembler", message)
            .help(if cfg!(windows) {
                "install a C compiler with its assembler and `ar`: MSYS2's package mingw-w64-x86_64-gcc"
            } else {
                "install a C compiler with its assembler and `ar`: `sudo apt install gcc`, `sudo dnf install gcc`"
            })
            .help("set CC to the C compiler for the build target"),
        }
    }
}
