//! Directives for cargo.

use crate::model::Library;
use crate::runtime::facts::{escaped, printable};
use std::fmt;
use std::path::{Path, PathBuf};

/// A `cargo::…` line.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// `rerun-if-changed`: an existing regular file. cargo always reruns for a missing one.
    RerunIfChanged(PathBuf),
    RerunIfEnvChanged(String),
    LinkSearch(PathBuf),
    LinkLib(Library),
    /// An rpath through `rustc-link-arg`, for every program, test and shared library of this package only. A directory
    /// with a comma takes two lines, because `-Wl` splits at commas.
    Rpath(PathBuf),
    /// `rustc-link-arg`: a linker argument, for the same files as an rpath.
    LinkArg(String),
    /// `rustc-cfg`: `has_cudnn` or `cudnn_major="9"`.
    Cfg(String, Option<String>),
    /// `rustc-check-cfg`: an allowed name and its values: `cudnn_major, values(any())`.
    CheckCfg(&'static str),
    /// `metadata`: a value that dependents of a `links` crate read as `DEP_<LINKS>_<KEY>`.
    Metadata(String, String),
    Warning(String),
    /// `error`: fails the build.
    Error(String),
    /// Text that `cargo build -vv` shows. It never starts like a directive.
    Text(String),
}

impl Directive {
    /// Returns the directives with which MSVC's linker delays loading a DLL until a function of it is first called.
    /// Otherwise Windows stops a program whose DLL is missing before the guard runs. The linker would warn about
    /// programs of the package that call none of the functions. If the program contains the runtime, `/INCLUDE` selects
    /// its hook, which reports a missing DLL or function.
    /// <https://learn.microsoft.com/cpp/build/reference/linker-support-for-delay-loaded-dlls>
    pub fn delay_loading(dll: &str) -> Vec<Self> {
        vec![
            Self::LinkArg(format!("/DELAYLOAD:{dll}")),
            Self::LinkArg("/INCLUDE:__pfnDliFailureHook2".into()),
            Self::LinkArg("delayimp.lib".into()),
            Self::LinkArg("/IGNORE:4199".into()),
        ]
    }
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, value) = match self {
            Self::RerunIfChanged(path) => ("rerun-if-changed", shown(path)),
            Self::RerunIfEnvChanged(name) => ("rerun-if-env-changed", name.clone()),
            Self::LinkSearch(dir) => ("rustc-link-search=native", shown(dir)),
            Self::LinkLib(library) => {
                let (kind, name) = library.kind_and_name();
                ("rustc-link-lib", format!("{kind}={}", line(name)))
            }
            Self::Rpath(dir) if shown(dir).contains(',') => {
                f.write_str("cargo::rustc-link-arg=-Xlinker\n")?;
                ("rustc-link-arg=-rpath", shown(dir))
            }
            Self::Rpath(dir) => ("rustc-link-arg", format!("-Wl,-rpath,{}", shown(dir))),
            Self::LinkArg(text) => ("rustc-link-arg", line(text)),
            Self::Cfg(name, None) => ("rustc-cfg", name.clone()),
            Self::Cfg(name, Some(value)) => ("rustc-cfg", format!("{name}={:?}", line(value))),
            Self::CheckCfg(allowed) => ("rustc-check-cfg", format!("cfg({allowed})")),
            Self::Metadata(key, value) => ("metadata", format!("{key}={}", line(value))),
            Self::Warning(text) => ("warning", printable(text)),
            Self::Error(text) => ("error", printable(text)),
            Self::Text(text) => return f.write_str(&printable(text)),
        };
        write!(f, "cargo::{key}={value}")
    }
}

fn shown(path: &Path) -> String {
    line(&path.to_string_lossy())
}

/// Escapes control characters, so that cargo and the linker read one line.
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
    fn terminal_escapes_are_escaped() {
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
            Directive::CheckCfg("cudnn_major, values(any())"),
            "cargo::rustc-check-cfg=cfg(cudnn_major, values(any()))",
        );
        prints(
            Directive::Metadata("version".into(), "9.14.0".into()),
            "cargo::metadata=version=9.14.0",
        );
    }

    #[test]
    fn a_line_break_in_a_path_cannot_start_a_second_directive() {
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
