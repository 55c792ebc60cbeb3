use crate::link::MissingLinkMetadata;
use crate::link::lost_rpath::LostRpath;
use crate::{Finding, FindingId};

impl LostRpath<'_> {
    pub fn finding(&self) -> Finding {
        let (name, dir) = (self.package, self.dir.display());
        let call = format!(
            "`cudnn_guard::{}?.link()` in the build.rs of each program",
            self.query()
        );
        if self.links.is_some() {
            let headline = format!(
                "programs above `{name}` do not find what lies in `{dir}` unless their build.rs asks for its rpath"
            );
            return Finding::warning(FindingId::LibraryNotFound, headline)
                .help(format!("write {call}"))
                .help("call `.allow(\"library-not-found\")` in this build.rs, where programs elsewhere do so");
        }
        let headline = format!(
            "programs above the library `{name}` do not get its rpath to `{dir}`: cargo passes on what is linked, and no \
             arguments of the linker"
        );
        Finding::warning(FindingId::LibraryNotFound, headline)
            .help(format!(
                "write `links = \"{name}\"` under [package] in its Cargo.toml, and {call}"
            ))
            .help("call `.rpath(false)` in its build.rs, where LD_LIBRARY_PATH or ld.so.conf names that directory")
    }
}

impl MissingLinkMetadata<'_> {
    pub fn finding(&self) -> Finding {
        let links = self.links;
        let headline = format!(
            "no dependency with `links = \"{links}\"` told this build script what it links"
        );
        Finding::error(FindingId::ConfigInvalid, headline)
            .with("looked at", self.variable)
            .help(format!(
                "add the crate with `links = \"{links}\"` to [dependencies] of this package itself"
            ))
            .help("call `link()` on the toolchain in that crate's build.rs")
    }
}
