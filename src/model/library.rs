//! Libraries, as they are passed to the linker.

use crate::model::Os;

/// The argument of `rustc-link-lib`.
#[derive(Clone, Debug, PartialEq)]
pub enum Library {
    /// A shared library by its short name: `cudnn` for `libcudnn.so` or `cudnn.lib`.
    Dynamic(String),
    /// A shared library by its file name, if no unversioned link is beside it: `libcudnn.so.9`.
    Verbatim(String),
    /// A static library that only the final link reads. It is not copied into the rlib.
    Static(String),
    /// A static library of which all objects are linked, including unused ones.
    Whole(String),
    /// A static library that is copied into the rlib or the program.
    Bundled(String),
}

impl Library {
    /// Returns the kind and the name for `rustc-link-lib`.
    pub fn kind_and_name(&self) -> (&'static str, &str) {
        match self {
            Library::Dynamic(name) => ("dylib", name),
            Library::Verbatim(file) => ("dylib:+verbatim", file),
            Library::Static(name) => ("static:-bundle", name),
            Library::Whole(name) => ("static:-bundle,+whole-archive", name),
            Library::Bundled(name) => ("static", name),
        }
    }

    /// Returns the file that the linker reads.
    pub fn file(&self, os: Os) -> String {
        match (self, os) {
            (Self::Verbatim(file), _) => file.clone(),
            (_, Os::Windows) => format!("{}.lib", self.kind_and_name().1),
            (Self::Dynamic(name), _) => format!("lib{name}.so"),
            (..) => format!("lib{}.a", self.kind_and_name().1),
        }
    }
}
