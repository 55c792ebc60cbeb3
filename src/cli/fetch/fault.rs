//! Constructors of the findings of `fetch`.

use crate::Finding;
use crate::system::files::FileFault;
use std::io;
use std::path::Path;

/// A reason why `fetch` fails, in one sentence.
pub struct FetchFault(pub String);

pub fn failed(reason: impl Into<String>) -> Finding {
    FetchFault(reason.into()).finding()
}

/// Returns a conversion of I/O errors.
pub fn io(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> Finding {
    move |error| FileFault::Failed(verb, path, &error).finding()
}

/// Like [`io`], for the directory to fetch into.
pub fn in_home(home: &Path) -> impl Fn(io::Error) -> Finding {
    let help = "pass a directory that you can create or write to: `--to DIR`";
    move |error| io("write to", home)(error).help(help)
}
