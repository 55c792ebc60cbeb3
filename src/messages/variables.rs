//! Environment variables that are unusable or disagree.

use crate::choice::variable_findings::{UnusableVariable, VariableFault, VariablesDisagree};
use crate::messages::phrases::{fetch, found_via, set_directory};
use crate::model::environment::{Names, Variable};
use crate::model::platform::Os;
use crate::runtime::facts::finding::{Finding, quoted};
use crate::runtime::facts::finding_id::FindingId;
use std::path::Path;

impl UnusableVariable<'_> {
    pub fn finding(&self) -> Finding {
        let context = self.context;
        let (name, value) = (
            context.env.spelling(self.variable),
            context.value(self.variable),
        );
        let cpu = &context.platform.cpu;
        let mut help = self.correction();
        let defect: String = match &self.fault {
            VariableFault::Place(obstacle) => {
                help = match obstacle.is_closed() {
                    true => obstacle.help(false),
                    false => format!("set {name} to a directory that is there"),
                };
                format!("and {obstacle}")
            }
            VariableFault::Library(obstacle, is_beside) => {
                help = obstacle.help(*is_beside);
                format!("and {obstacle}")
            }
            VariableFault::UnprintablePath(part) => {
                help = format!(
                    "make a link to that directory under a plain name, and set {name} to the link"
                );
                format!("{part}, which cargo cannot be told")
            }
            VariableFault::ForeignToolkit(targets) => {
                let targets = targets.join(" and ");
                help = format!("set {name} to a CUDA toolkit for {cpu}");
                format!("a CUDA toolkit for {targets} alone, and this build is for {cpu}")
            }
            VariableFault::Nvcc(_, Some(host_compiler)) => {
                help = (*host_compiler).to_string();
                "which cannot start its host compiler".into()
            }
            VariableFault::Nvcc(..) => "which does not answer as nvcc does".into(),
            VariableFault::NotOnPath(_) => "which is in no directory of PATH".into(),
            VariableFault::NoProgram => "which is no program".into(),
            VariableFault::Nonexistent => "which does not exist".into(),
            VariableFault::Archive(archive) => {
                let path = Path::new(&value);
                help = unpack(archive, path, &name);
                match *archive == path {
                    true => "an archive that nobody unpacked".into(),
                    false => "which holds an archive that nobody unpacked".into(),
                }
            }
            VariableFault::NotInstalled { toolkit, cudnn } => match (toolkit, cudnn) {
                (true, true) => "which holds neither a CUDA toolkit nor a cuDNN".into(),
                (true, _) => "which holds no CUDA toolkit".into(),
                _ => "which holds no cuDNN".into(),
            },
            VariableFault::NoLibrary => {
                // The variable is already correct if it names headers.
                if self.variable.names() == Some(Names::CudnnHeaders) {
                    help = "set CUDNN_LIB_DIR to the directory that holds libcudnn.so or libcudnn.so.9".into();
                }
                "which holds no cuDNN library".into()
            }
        };
        let headline = format!("`{name}` is set to `{value}`, {defect}");
        let mut finding = Finding::error(FindingId::VariableUnusable, headline).help(help);
        match &self.fault {
            VariableFault::Nvcc(fault, _) => {
                let reason = fault.finding();
                finding = finding.with("reason", &reason.summary);
                for (label, value) in &reason.evidence {
                    finding = finding.with(label, value);
                }
            }
            VariableFault::NotOnPath(dirs) => finding = finding.with_lines("looked at", dirs),
            _ => {
                let missed = self.missed.iter().map(|path| path.display());
                finding = finding.with_lines("missed", missed);
            }
        }
        match self.fault {
            VariableFault::UnprintablePath(_) | VariableFault::Nvcc(_, Some(_)) => finding,
            _ => finding.help(format!(
                "unset {name}, so that the usual places are searched"
            )),
        }
    }

    fn correction(&self) -> String {
        let (context, os) = (self.context, self.context.platform.os);
        let name = context.env.spelling(self.variable);
        let misspelt = misspelt(&context.value(self.variable), &name, os);
        if let (false, Some(help)) = (self.exists, misspelt) {
            return help;
        }
        let file = match os {
            Os::Windows => "cudnn.lib",
            _ => "libcudnn.so or libcudnn.so.9",
        };
        match (self.variable.names(), &self.nearby) {
            (Some(Names::Nvcc), _) => format!("set {name} to the whole path of nvcc"),
            (Some(Names::Fetched), _) => fetch(context, &format!("into {name}")),
            (Some(Names::CudnnHeaders), Some(dir)) => {
                format!("set {name} to `{}`, which holds cudnn.h", dir.display())
            }
            (Some(Names::CudnnHeaders), None) => {
                format!("set {name} to the directory that holds cudnn.h")
            }
            _ if self.variable == Variable::CudnnLibrary => {
                format!("set {name} to the file {file}")
            }
            (Some(Names::CudnnLibrary), _) => {
                format!("set {name} to the directory that holds {file}")
            }
            (_, Some(dir)) => {
                let product = self.kind.product();
                format!("set {name} to `{}`, which holds a {product}", dir.display())
            }
            (_, None) => set_directory(&name, self.kind, context),
        }
    }
}

impl VariablesDisagree<'_> {
    pub fn finding(&self) -> Finding {
        let Self { first, other } = self;
        let (taken, left, product) = (&first.via, &other.via, first.kind().product());
        let headline =
            format!("{taken} and {left} name different {product}s; that of {taken} is taken");
        Finding::warning(FindingId::VariablesDisagree, headline)
            .with("taken", found_via(first))
            .with("left out", found_via(other))
            .help(format!("unset {left}, or let both name the same directory"))
    }
}

/// Returns the help that unpacks an archive and sets the variable. `value` is the archive or its directory.
fn unpack(archive: &Path, value: &Path, name: &str) -> String {
    let dir = archive.parent().unwrap_or(archive);
    let file = archive.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".tar.xz", ".txz", ".tar.gz", ".tgz", ".zip", ".whl"];
    let stem = ends
        .iter()
        .find_map(|end| Some((*end, file.strip_suffix(end)?)));
    let (archive_word, into) = (
        quoted(&archive.to_string_lossy()),
        quoted(&dir.to_string_lossy()),
    );
    let unzip = format!("unzip {archive_word} -d {into}");
    let (command, inside) = match stem {
        Some((".whl", _)) => (unzip, dir.join("nvidia/cudnn")),
        Some((".zip", stem)) => (unzip, dir.join(stem)),
        Some((_, stem)) => (format!("tar -xf {archive_word} -C {into}"), dir.join(stem)),
        None => return format!("install it, `sudo apt install {archive_word}`, and unset {name}"),
    };
    match value == archive || inside.ends_with("nvidia/cudnn") {
        true => format!(
            "unpack it, `{command}`, and set {name} to `{}`",
            inside.display()
        ),
        false => format!("unpack it: `{command}`"),
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
        format!("write the path in {name} out: only a shell puts your home in place of `~`")
    } else if value.contains('$') {
        format!("write the path in {name} out: only a shell puts a variable's value in its place")
    } else if quoted('"') || quoted('\'') {
        format!("set {name} without the quotation marks, which are part of its value")
    } else if value.trim() != value {
        format!("take the blanks around the path out of {name}")
    } else if os != Os::Windows && is_windows(value) {
        format!("set {name} to a directory of this system: that is one of Windows")
    } else if value.contains(list) {
        format!("set {name} to one directory: it is no list")
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

    /// CFG-03: characters that a shell would remove remain in `.env` files, in cargo's `[env]` and in values from
    /// `set`.
    #[test]
    fn what_is_wrong_with_a_path_that_is_not_there() {
        let unquoted = "set CUDA_HOME without the quotation marks, which are part of its value";
        let one = "set CUDA_HOME to one directory: it is no list";
        let own = "set CUDA_HOME to a directory of this system: that is one of Windows";
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
            (" /cuda", "take the blanks around the path out of CUDA_HOME"),
            ("/cuda ", "take the blanks around the path out of CUDA_HOME"),
            ("~/cuda", "write the path in CUDA_HOME out: "),
            ("${HOME}/cuda", "write the path in CUDA_HOME out: "),
        ] {
            let help = misspelt(value, "CUDA_HOME", Os::Linux).unwrap();
            assert!(help.starts_with(begins), "{value}: {help}");
        }
    }
}
