//! What cargo is told. A directive is a value; printing it is one line.

use crate::runtime::facts::finding::{escaped, printable};
use std::fmt;
use std::path::{Path, PathBuf};

/// One instruction to cargo, as `cargo::…` lines name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// `rerun-if-changed`: an existing regular file, since cargo reruns for ever on a missing one.
    RerunIfChanged(PathBuf),
    /// `rerun-if-env-changed`
    RerunIfEnvChanged(String),
    /// `rustc-link-search=native=…`
    LinkSearch(PathBuf),
    /// `rustc-link-lib`
    LinkLib(Library),
    /// An rpath, by `rustc-link-arg`: for every program, test and shared library of this package, not of others. Two
    /// lines for a directory with a comma, at which `-Wl` would be split.
    Rpath(PathBuf),
    /// `rustc-link-arg`: an argument of the linker, for the same as an rpath.
    LinkArg(String),
    /// `rustc-cfg`: `has_cudnn` or `cudnn_major="9"`.
    Cfg(String, Option<String>),
    /// `rustc-check-cfg`: this name may be used, with any value or with none.
    CheckCfg(String, Values),
    /// `metadata`: what a crate above a `links` crate reads as `DEP_<LINKS>_<KEY>`.
    Metadata(String, String),
    /// `warning`
    Warning(String),
    /// `error`: cargo shows it and fails the build.
    Error(String),
    /// No instruction: `cargo build -vv` shows it. It begins with words of ours.
    Text(String),
}

/// How a library is handed to rustc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Library {
    /// A shared library by its short name: `-lcudnn`.
    Dynamic(String),
    /// A shared library by its file name, where no unversioned link lies beside it: `libcudnn.so.9`.
    Verbatim(String),
    /// An archive that is left to the final link, not copied into the rlib.
    Static(String),
    /// A static library that is linked whole: also the objects that nothing calls.
    Whole(String),
    /// An archive that goes into the rlib of a library crate, or into the program.
    Bundled(String),
}

/// What a `cfg` may be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Nothing: it is set or it is not.
    None,
    /// Anything.
    Any,
}

impl Directive {
    /// Has MSVC's linker leave a DLL to the first call of one of its functions: else Windows ends a program whose DLL is
    /// missing before its guard runs. Some programs of the package may call none, of which the linker would warn.
    /// <https://learn.microsoft.com/cpp/build/reference/linker-support-for-delay-loaded-dlls>
    pub fn delay_loading(dll: &str) -> [Self; 3] {
        [
            Self::LinkArg(format!("/DELAYLOAD:{dll}")),
            Self::LinkArg("delayimp.lib".into()),
            Self::LinkArg("/IGNORE:4199".into()),
        ]
    }
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Directive::RerunIfChanged(path) => {
                write!(f, "cargo::rerun-if-changed={}", shown(path))
            }
            Directive::RerunIfEnvChanged(name) => write!(f, "cargo::rerun-if-env-changed={name}"),
            Directive::LinkSearch(dir) => {
                write!(f, "cargo::rustc-link-search=native={}", shown(dir))
            }
            Directive::LinkLib(library) => write!(f, "cargo::rustc-link-lib={library}"),
            Directive::Rpath(dir) if shown(dir).contains(',') => write!(
                f,
                "cargo::rustc-link-arg=-Xlinker\ncargo::rustc-link-arg=-rpath={}",
                shown(dir)
            ),
            Directive::Rpath(dir) => write!(f, "cargo::rustc-link-arg=-Wl,-rpath,{}", shown(dir)),
            Directive::LinkArg(text) => write!(f, "cargo::rustc-link-arg={}", line(text)),
            Directive::Cfg(name, None) => write!(f, "cargo::rustc-cfg={name}"),
            Directive::Cfg(name, Some(value)) => {
                write!(f, "cargo::rustc-cfg={name}={:?}", line(value))
            }
            Directive::CheckCfg(name, Values::None) => {
                write!(f, "cargo::rustc-check-cfg=cfg({name})")
            }
            Directive::CheckCfg(name, Values::Any) => {
                write!(f, "cargo::rustc-check-cfg=cfg({name}, values(any()))")
            }
            Directive::Metadata(key, value) => {
                write!(f, "cargo::metadata={key}={}", line(value))
            }
            Directive::Warning(text) => write!(f, "cargo::warning={}", printable(text)),
            Directive::Error(text) => write!(f, "cargo::error={}", printable(text)),
            Directive::Text(text) => f.write_str(&printable(text)),
        }
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Library::Dynamic(name) => write!(f, "dylib={}", line(name)),
            Library::Verbatim(file) => write!(f, "dylib:+verbatim={}", line(file)),
            Library::Static(name) => write!(f, "static:-bundle={}", line(name)),
            Library::Whole(name) => {
                write!(f, "static:-bundle,+whole-archive={}", line(name))
            }
            Library::Bundled(name) => write!(f, "static={}", line(name)),
        }
    }
}

fn shown(path: &Path) -> String {
    line(&path.to_string_lossy())
}

/// What cargo and the linker read as one line, and nobody is shown.
fn line(text: &str) -> String {
    escaped(text, char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn prints(directive: Directive, line: &str) {
        assert_eq!(directive.to_string(), line);
    }

    #[test]
    fn words_for_a_terminal_are_escaped() {
        let evil = "a\u{1b}[2J\ncargo::error=b\u{202e}".to_string();
        let shown = "a\\u{1b}[2J\\ncargo::error=b\\u{202e}";
        prints(
            Directive::Warning(evil.clone()),
            &format!("cargo::warning={shown}"),
        );
        prints(
            Directive::Error(evil.clone()),
            &format!("cargo::error={shown}"),
        );
        prints(Directive::Text(evil), shown);
    }

    #[test]
    fn each_directive_is_one_line_of_cargos_syntax() {
        prints(
            Directive::RerunIfChanged("/usr/include/cuda.h".into()),
            "cargo::rerun-if-changed=/usr/include/cuda.h",
        );
        prints(
            Directive::LinkLib(Library::Verbatim("libcudnn.so.9".into())),
            "cargo::rustc-link-lib=dylib:+verbatim=libcudnn.so.9",
        );
        prints(
            Directive::LinkLib(Library::Static("cudart_static".into())),
            "cargo::rustc-link-lib=static:-bundle=cudart_static",
        );
        prints(
            Directive::Rpath("/opt/cudnn/lib".into()),
            "cargo::rustc-link-arg=-Wl,-rpath,/opt/cudnn/lib",
        );
        prints(
            Directive::Rpath("/opt/a,b/lib".into()),
            "cargo::rustc-link-arg=-Xlinker\ncargo::rustc-link-arg=-rpath=/opt/a,b/lib",
        );
        prints(
            Directive::Cfg("cudnn_major".into(), Some("9".into())),
            "cargo::rustc-cfg=cudnn_major=\"9\"",
        );
        prints(
            Directive::CheckCfg("cudnn_major".into(), Values::Any),
            "cargo::rustc-check-cfg=cfg(cudnn_major, values(any()))",
        );
        prints(
            Directive::Metadata("version".into(), "9.14.0".into()),
            "cargo::metadata=version=9.14.0",
        );
    }

    #[test]
    fn a_line_break_in_a_path_cannot_begin_a_second_directive() {
        prints(
            Directive::LinkSearch("/opt/x\ncargo::rustc-env=A=B".into()),
            r"cargo::rustc-link-search=native=/opt/x\ncargo::rustc-env=A=B",
        );
        prints(
            Directive::Cfg("cudnn_major".into(), Some("9\"\n".into())),
            r#"cargo::rustc-cfg=cudnn_major="9\"\\n""#,
        );
    }
}
