use crate::link::MissingLinkMetadata;
use crate::link::lost_rpath::LostRpath;
use crate::{Finding, FindingId};

impl LostRpath<'_> {
    pub fn finding(&self) -> Finding {
        let (name, dir) = (self.package, self.dir.display());
        let call = format!(
            "add `cudnn_guard::{}?.link()` to the build.rs of each program",
            self.query()
        );
        if self.links.is_some() {
            let headline = format!(
                "programs that depend on `{name}` cannot find the libraries in `{dir}` unless their build.rs adds the rpath"
            );
            return Finding::warning(FindingId::LibraryNotFound, headline)
                .help(call)
                .help("call `.allow(\"library-not-found\")` in this build.rs if programs outside this workspace do so");
        }
        let headline = format!(
            "programs that depend on `{name}` do not get its rpath to `{dir}`: cargo passes on libraries, but no linker \
             arguments"
        );
        Finding::warning(FindingId::LibraryNotFound, headline)
            .help(format!(
                "add `links = \"{name}\"` to [package] in its Cargo.toml, and {call}"
            ))
            .help("call `.rpath(false)` in its build.rs if LD_LIBRARY_PATH or ld.so.conf contains that directory")
    }
}

impl MissingLinkMetadata<'_> {
    pub fn finding(&self) -> Finding {
        let links = self.links;
        let headline = format!(
            "no dependency with `links = \"{links}\"` passed link metadata to this build script"
        );
        Finding::error(FindingId::ConfigInvalid, headline)
            .with("variable", self.variable)
            .help(format!(
                "add the crate with `links = \"{links}\"` directly to [dependencies] of this package"
            ))
            .help("call `link()` on the toolchain in that crate's build.rs")
    }
}
