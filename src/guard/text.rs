//! The text of `$OUT_DIR/cudnn_guard.rs`: the record of the build, and functions that pass it to the runtime. The runtime
//! is in the crate `cudnn-guard`.

use crate::guard::linked_in::{KNOWN, linked_in};
use crate::runtime::facts::{Built, Loader, record};
use std::fmt::Write;

/// Lints that a crate may deny but that are irrelevant for a generated file.
const ALLOWED: &str = "clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction, clippy::cargo, \
    clashing_extern_declarations, unreachable_pub, unused_imports, unused_qualifications, unused_results";

/// The length of the magic number, the format version and the size.
const HEADER: usize = 12;

pub fn text(built: &Built, opened: Option<&[&str]>) -> String {
    let mut out = concat!(
        "// Written by cudnn-guard ",
        env!("CARGO_PKG_VERSION"),
        ".\n"
    )
    .to_string();
    let mut allowed = vec![ALLOWED];
    // `forbid(unsafe_code)` rejects even this attribute, so it is left out if the code needs no `unsafe`.
    if matches!(built.loader, Loader::Linked | Loader::Static) {
        allowed.push("unsafe_code");
    }
    // Writing to a String cannot fail.
    let _ = write!(out, "\n#[allow({})]\nmod imp {{\n", allowed.join(", "));
    out.push_str(DEPENDENCY);
    out.push_str(&record_text(&record::encode(built)));
    match built.loader {
        Loader::Linked => out.push_str(LINKED),
        Loader::Static => out.push_str(&linked_in(built)),
        Loader::Dlopen | Loader::Cudarc | Loader::None => {}
    }
    let mut declare = |when: &str, made: &str| {
        let record = "runtime::BuiltRecord";
        let _ = writeln!(
            out,
            "/// The facts that the build recorded.\n{when}pub static _BUILT: {record} = {{ the_guard_is_never_called(); {record}::{made} }};"
        );
    };
    if built.loader == Loader::Static {
        let with = "with_functions(&_RECORD, &linked_in::LINKED_IN)";
        declare(&format!("#[cfg({KNOWN})]\n"), with);
        declare(&format!("#[cfg(not({KNOWN}))]\n"), "new(&_RECORD)");
    } else {
        declare("", "new(&_RECORD)");
    }
    out.push_str(INTERFACE);
    let functions = match built.loader {
        Loader::None => "_check as check, _startup as startup",
        _ => {
            "_check as check, _check_thoroughly as check_thoroughly, _check_version as check_version, _startup as startup"
        }
    };
    if let Some([_, ..]) = opened {
        out.push_str(RESOLVE);
    }
    let more = opened.map_or("", |opened| {
        let opened = match opened {
            [] => "false".to_string(),
            opened => format!("runtime::lazy::available(&{opened:?})"),
        };
        let _ = write!(out, "{AVAILABLE}    {opened}\n}}\n");
        "_available as available, "
    });
    let _ = write!(
        out,
        "}}\n\n#[allow(unused_imports, unreachable_pub)]\n\
         pub use self::imp::{{{more}{functions}, BuiltRecord, Failure, Finding, Report, Severity, Verdict, _BUILT as BUILT}};\n"
    );
    out
}

/// The import that fails without the dependency. rustc prints this line, up to 140 columns.
const DEPENDENCY: &str = "use ::cudnn_guard::internals // cudnn-guard = { path = \"../cudnn-guard\", default-features = \
    false, features = [\"runtime\"] }\n    as runtime;\n";

/// Formats the record as a byte string, one line per entry.
fn record_text(record: &[u8]) -> String {
    let (header, text) = record.split_at(HEADER.min(record.len()));
    let mut lines = String::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        lines += &format!("{}\\\n    ", line.escape_ascii());
    }
    format!(
        "/// The facts that the build recorded; `cudnn-guard inspect` reads them too.\nstatic _RECORD: [u8; {}] = *b\"{}\\\n    {lines}\";\n",
        record.len(),
        header.escape_ascii(),
    )
}

/// Code that keeps `libcudnn` among the program's libraries, even if the linker has not seen a use of it yet.
const LINKED: &str = "\
// The program is linked with cuDNN. If cuDNN is missing, the system's loader fails before `main` and no guard runs,
// unless cuDNN is delay-loaded, as with Microsoft's linker. `cudnn-guard run PROGRAM` then reports what is missing.
unsafe extern \"C\" {
    fn cudnnGetVersion() -> usize;
}
#[used]
static KEEP: unsafe extern \"C\" fn() -> usize = cudnnGetVersion;
";

/// The function that the first calls of lazy functions go to.
const RESOLVE: &str = "
#[used]
static RESOLVE: runtime::lazy::Resolve = runtime::lazy::resolve;
";

const AVAILABLE: &str = "
/// Returns `true` if NVIDIA's driver and all libraries that the program uses can be opened. Calls none of their functions.
pub fn _available() -> bool {
    the_guard_is_never_called();
";

/// The functions for the program. rustc does not report unused names with an underscore. If a program uses none of them,
/// rustc reports the function without one, and prints its line.
const INTERFACE: &str = r"
const fn the_guard_is_never_called() {} // call `startup()` of this module first in `main`, or `check()`

/// Makes this program able to test cuDNN in a second instance of itself.
fn _with_child() {
    runtime::child::enter_before_main!();
}

pub use self::runtime::{BuiltRecord, Failure, Finding, Report, Severity, Verdict};

/// Verifies everything and exits with code 78 if something is incompatible. If something is unknown, it prints a few
/// lines to standard error, and the program continues.
pub fn _startup() {
    _with_child();
    _BUILT.startup();
}

/// Checks everything: the files, their versions, the driver, the GPU, and a small convolution in each format. Returns
/// `Ok` only if everything is compatible. If something cannot be checked, returns a `Failure` with the verdict
/// `Unknown`. Never panics or exits.
pub fn _check() -> Result<Report, Failure> {
    _with_child();
    _BUILT.check()
}

/// Like `check`, but with every kind of convolution: forward, both gradients, bias with activation; in `f32` with and
/// without TF32, `f16` and `bf16`; in both layouts and two shapes; through both APIs. For a test or the self-check of
/// an installation, not for every start.
pub fn _check_thoroughly() -> Result<Report, Failure> {
    _with_child();
    _BUILT.check_thoroughly()
}

/// Verifies the files and their versions without calling CUDA or cuDNN. Only a cuDNN that is linked statically, which has
/// no files, is queried for its version.
pub fn _check_version() -> Result<Report, Failure> {
    _BUILT.check_version()
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_contains_the_record() {
        let built = Built {
            written_by: "0.1.0".into(),
            package: Some("app 0.1.0".into()),
            absent: Some("é \"quoted\" \\ and\n  more".into()),
            ..Built::default()
        };
        let record = record::encode(&built);
        let text = record_text(&record);
        assert!(
            text.contains("\n    guard 0.1.0\\n\\\n    crate app 0.1.0\\n\\\n"),
            "{text}"
        );
        assert!(
            text.contains("absent \\xc3\\xa9 \\\"quoted\\\" \\\\\\\\ and\\\\n  more\\n"),
            "{text}"
        );
    }

    #[test]
    fn unsafe_code_is_allowed_only_where_needed() {
        let allows = |loader| {
            let built = Built {
                loader,
                ..Built::default()
            };
            text(&built, None).contains("unsafe")
        };
        assert!(!allows(Loader::Dlopen));
        assert!(!allows(Loader::Cudarc));
        assert!(!allows(Loader::None));
        assert!(allows(Loader::Linked));
        assert!(allows(Loader::Static));
    }
}
