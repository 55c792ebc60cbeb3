//! Environment variables that are unusable or disagree.

use crate::choice::CheckContext;
use crate::messages::phrases::{fetch, found_via, set_directory};
use crate::model::{Candidate, Kind, Names, Os, Variable};
use crate::reading::unusable_variables::{UnusableVariable, VariableFault};
use crate::runtime::facts::{Finding, FindingId, quoted};
use std::path::{Path, PathBuf};

impl UnusableVariable {
    /// Returns the finding. `elsewhere` is another directory that the variable could point to.
    pub fn finding(&self, context: &CheckContext, elsewhere: Option<PathBuf>) -> Finding {
        let name = context.env.spelling(self.variable);
        let (value, cpu) = (context.value(self.variable), &context.platform.cpu);
        let mut help = self.correction(context, elsewhere);
        let defect: String = match &self.fault {
            VariableFault::Place(obstacle) => {
                help = match obstacle.is_closed() {
                    true => obstacle.help(false),
                    false => format!("set {name} to a directory that exists"),
                };
                format!("but {obstacle}")
            }
            VariableFault::Library(obstacle, is_beside) => {
                help = obstacle.help(*is_beside);
                format!("but {obstacle}")
            }
            VariableFault::UnprintablePath(part) => {
                help = format!(
                    "create a link with a plain name to that directory, and set {name} to the link"
                );
                format!("{part}, which build scripts cannot pass to cargo")
            }
            VariableFault::ForeignToolkit(targets) => {
                let targets = targets.join(" and ");
                help = format!("set {name} to a CUDA toolkit for {cpu}");
                format!("a CUDA toolkit for {targets} only, but the build target is {cpu}")
            }
            VariableFault::Nvcc(_, Some(host_compiler)) => {
                help = (*host_compiler).to_string();
                "which cannot start its host compiler".into()
            }
            VariableFault::Nvcc(..) => "which does not behave like nvcc".into(),
            VariableFault::NotOnPath(_) => "which is not on PATH".into(),
            VariableFault::NoProgram => "which is not a program".into(),
            VariableFault::Nonexistent => "which does not exist".into(),
            VariableFault::Archive(archive) => {
                let path = Path::new(&value);
                help = unpack(archive, path, &name, context.platform.os);
                match *archive == path {
                    true => "an archive that has not been extracted".into(),
                    false => "which contains an archive that has not been extracted".into(),
                }
            }
            VariableFault::NotInstalled { toolkit, cudnn } => match (toolkit, cudnn) {
                (true, true) => "which contains neither a CUDA toolkit nor cuDNN".into(),
                (true, _) => "which does not contain a CUDA toolkit".into(),
                _ => "which does not contain cuDNN".into(),
            },
            VariableFault::NoLibrary => {
                // The variable is already correct if it names headers.
                if self.variable.names() == Some(Names::CudnnHeaders) {
                    let files = library_files(context.platform.os);
                    help = format!("set CUDNN_LIB_DIR to the directory that contains {files}");
                }
                "which does not contain a cuDNN library".into()
            }
        };
        let finding = FindingId::VariableUnusable
            .error(format!("{name} is set to `{value}`, {defect}"))
            .help(help);
        let finding = match &self.fault {
            VariableFault::Nvcc(fault, _) => finding.with_cause("reason", fault.finding()),
            VariableFault::NotOnPath(dirs) => finding.with_lines("searched", &dirs[..]),
            _ => finding.with_paths("expected", &self.missed),
        };
        match self.fault {
            VariableFault::UnprintablePath(_) | VariableFault::Nvcc(_, Some(_)) => finding,
            _ => finding.help(format!("unset {name} to search the default locations")),
        }
    }

    fn correction(&self, context: &CheckContext, elsewhere: Option<PathBuf>) -> String {
        let os = context.platform.os;
        let name = context.env.spelling(self.variable);
        let misspelt = misspelt(&context.value(self.variable), &name, os);
        if let (false, Some(help)) = (self.exists, misspelt) {
            return help;
        }
        let file = library_files(os);
        match (self.variable.names(), self.nearby.clone().or(elsewhere)) {
            (Some(Names::Nvcc), _) => format!("set {name} to the full path of nvcc"),
            (Some(Names::Fetched), _) => {
                fetch(context, &format!("into {name}")).unwrap_or_else(|| {
                    format!("unset {name}, and set CUDA_HOME and CUDNN_PATH instead")
                })
            }
            (Some(Names::CudnnHeaders), Some(dir)) => {
                format!("set {name} to `{}`, which contains cudnn.h", dir.display())
            }
            (Some(Names::CudnnHeaders), None) => {
                format!("set {name} to the directory that contains cudnn.h")
            }
            _ if self.variable == Variable::CudnnLibrary => {
                format!("set {name} to the file {file}")
            }
            (Some(Names::CudnnLibrary), _) => {
                format!("set {name} to the directory that contains {file}")
            }
            (_, Some(dir)) => {
                let (dir, product) = (dir.display(), self.kind.product());
                format!("set {name} to `{dir}`, which contains a {product}")
            }
            (_, None) => set_directory(&name, self.kind, context),
        }
    }
}

impl Candidate {
    /// Returns the finding for two variables that point to different installations. This one is used.
    pub fn disagreement(&self, other: &Candidate) -> Finding {
        let (used, ignored) = (&self.via, &other.via);
        let products = match self.kind() {
            Kind::Toolkit => "CUDA toolkits",
            Kind::Cudnn => "cuDNN installations",
        };
        FindingId::VariablesDisagree
            .warning(format!(
                "{used} and {ignored} point to different {products}; using {used}"
            ))
            .with("used", found_via(self))
            .with("ignored", found_via(other))
            .help(format!(
                "unset {ignored}, or set both to the same directory"
            ))
    }
}

/// Returns the help that unpacks an archive and sets the variable. `value` is the archive or its directory.
fn unpack(archive: &Path, value: &Path, name: &str, os: Os) -> String {
    let dir = archive.parent().unwrap_or(archive);
    let file = archive.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".tar.xz", ".txz", ".tar.gz", ".tgz", ".zip", ".whl"];
    let mut ends = ends.iter();
    let stem = ends.find_map(|end| Some((*end, file.strip_suffix(end)?)));
    let archive_word = quoted(&archive.to_string_lossy());
    let into = quoted(&dir.to_string_lossy());
    let unzip = format!("unzip {archive_word} -d {into}");
    let (command, inside) = match stem {
        Some((".whl", _)) => (unzip, dir.join("nvidia/cudnn")),
        Some((".zip", stem)) => (unzip, dir.join(stem)),
        Some((_, stem)) => (format!("tar -xf {archive_word} -C {into}"), dir.join(stem)),
        None if os == Os::Windows => {
            return format!(
                "set {name} to the directory of a cuDNN for Windows: that package is for Debian and Ubuntu"
            );
        }
        None => {
            return format!("install it with `sudo apt install {archive_word}`, and unset {name}");
        }
    };
    match value == archive || inside.ends_with("nvidia/cudnn") {
        true => format!(
            "extract it with `{command}`, and set {name} to `{}`",
            inside.display()
        ),
        false => format!("extract it: `{command}`"),
    }
}

/// Returns the names of the files to link with cuDNN.
fn library_files(os: Os) -> &'static str {
    match os {
        Os::Windows => "cudnn.lib",
        _ => "libcudnn.so or libcudnn.so.9",
    }
}

/// Returns the help for a value that a shell would have expanded, or that is not the path of one directory here.
fn misspelt(value: &str, name: &str, os: Os) -> Option<String> {
    let quoted = |quote: char| value.starts_with(quote) && value.ends_with(quote);
    // Lists in CMake are separated by semicolons on every system.
    let list: &[char] = match os {
        Os::Windows => &[';'],
        _ => &[':', ';'],
    };
    Some(if value.starts_with('~') {
        format!("write out the path in {name}: only a shell replaces `~` with your home directory")
    } else if value.contains('$') {
        format!("write out the path in {name}: only a shell expands variables")
    } else if quoted('"') || quoted('\'') {
        format!("remove the quotation marks from {name}: they are part of its value")
    } else if value.trim() != value {
        format!("remove the whitespace around the path in {name}")
    } else if os != Os::Windows && is_windows(value) {
        format!("set {name} to a directory of this system: this is a Windows path")
    } else if value.contains(list) {
        format!("set {name} to a single directory: it is not a list")
    } else {
        return None;
    })
}

/// Returns `true` for a Windows path: `C:\Program Files\…`.
fn is_windows(value: &str) -> bool {
    matches!(value.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
}
#[cfg(test)]
mod tests {
    use super::*;

    /// Characters that a shell would remove remain in `.env` files, in cargo's `[env]` and in values from
    /// `set`.
    #[test]
    fn what_is_wrong_with_a_path_that_is_not_there() {
        let unquoted = "remove the quotation marks from CUDA_HOME: they are part of its value";
        let one = "set CUDA_HOME to a single directory: it is not a list";
        let own = "set CUDA_HOME to a directory of this system: this is a Windows path";
        for (value, on_linux, on_windows) in [
            ("\"/cuda\"", Some(unquoted), Some(unquoted)),
            ("'/cuda'", Some(unquoted), Some(unquoted)),
            ("/a:/b", Some(one), None),
            ("/a;/b", Some(one), Some(one)),
            (r"C:\CUDA", Some(own), None),
            (r"C:\a;D:\b", Some(own), Some(one)),
            ("D:/CUDA", Some(own), None),
            ("/cuda", None, None),
            ("/the cuda", None, None),
            ("\"/cuda", None, None),
        ] {
            let help = |os| misspelt(value, "CUDA_HOME", os);
            assert_eq!(help(Os::Linux).as_deref(), on_linux, "{value}");
            assert_eq!(help(Os::Windows).as_deref(), on_windows, "{value}");
        }
        for (value, begins) in [
            (
                " /cuda",
                "remove the whitespace around the path in CUDA_HOME",
            ),
            (
                "/cuda ",
                "remove the whitespace around the path in CUDA_HOME",
            ),
            ("~/cuda", "write out the path in CUDA_HOME: "),
            ("${HOME}/cuda", "write out the path in CUDA_HOME: "),
        ] {
            let help = misspelt(value, "CUDA_HOME", Os::Linux).unwrap();
            assert!(help.starts_with(begins), "{value}: {help}");
        }
    }
}
