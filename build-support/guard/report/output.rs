//! The file for the report.

use crate::runtime::facts::{Verdict, printable};
use crate::runtime::report::{EnvConfig, Failure, Report, VariableFault, text};
use crate::runtime::system::{platform, unique_number};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Seek, Write};
use std::path::Path;

/// Writes `CUDNN_GUARD_REPORT`. A failure to write it changes no verdict.
pub fn write(
    mut result: Result<Report, Failure>,
    env_config: &EnvConfig,
) -> Result<Report, Failure> {
    let Some(path) = &env_config.report else {
        return result;
    };
    let text = match &result {
        // Kubernetes shows this file to users, and keeps only its first 4,096 bytes.
        _ if path.file_name() == Some("termination-log".as_ref()) => line(&result),
        Ok(report) => report.to_json(),
        Err(failure) => failure.to_json(),
    };
    if let Err(error) = write_file(path, &format!("{text}\n")) {
        let report = match &mut result {
            Ok(report) => report,
            Err(failure) => &mut failure.report,
        };
        let unwritten = VariableFault::UnwrittenReport(path.clone(), error.to_string());
        report.contents.findings.push(unwritten.finding());
        report.contents.is_unwritten = true;
    }
    result
}

/// Returns the result in a line of less than 4,096 bytes: the verdict, the cause and the first help.
fn line(result: &Result<Report, Failure>) -> String {
    let (verdict, reason) = match result {
        Ok(_) => (Verdict::Pass, String::new()),
        Err(failure) => {
            let cause = failure.report.contents.cause().map(text::one_line);
            let cause = cause.unwrap_or_default();
            (failure.verdict(), format!(": {cause}"))
        }
    };
    let mut line = printable(&format!("cudnn-guard: {verdict}{reason}"));
    while line.len() > 4000 {
        line.pop();
    }
    line
}

/// Replaces a regular file. Other files are written in place, and so is the target of a link: the kernel may refuse to
/// follow another user's link in a directory such as /tmp (fs.protected_symlinks).
fn write_file(path: &Path, text: &str) -> std::io::Result<()> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    // Windows reports no metadata for `NUL` and `CON`, nor that they do not exist.
    let special = match std::fs::metadata(&path) {
        Ok(data) => !data.is_file(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    if special {
        return platform::write_in_place(&path, text);
    }
    if text.len() as u64 > platform::most_in_a_file() {
        let reason = "the file would exceed the limit of `ulimit -f`";
        return Err(std::io::Error::other(reason));
    }
    match path.is_symlink() {
        true => write_over(&path, text),
        false => replace_file(&path, text),
    }
}

/// Replaces a file atomically, so that no process reads an incomplete file. A file that cannot be replaced is written in
/// place.
pub fn replace_file(path: &Path, text: &str) -> std::io::Result<()> {
    match replace(path, text) {
        Err(error) if is_not_replaceable(error.kind()) && path.exists() => write_over(path, text),
        replaced => replaced,
    }
}

/// Returns `true` if a file cannot be replaced, even with enough space: a mounted file such as Kubernetes' termination
/// log, a file in another user's directory, or a call that a sandbox refuses.
fn is_not_replaceable(error: ErrorKind) -> bool {
    matches!(
        error,
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::ResourceBusy
            | ErrorKind::CrossesDevices
            | ErrorKind::AlreadyExists
            | ErrorKind::Unsupported
    )
}

/// Overwrites a file, and restores its contents if there is not enough space.
fn write_over(path: &Path, text: &str) -> std::io::Result<()> {
    let old = std::fs::read(path).unwrap_or_default();
    let mut options = OpenOptions::new();
    // A link without a target creates it. The kernel refuses to create an existing file of another user in /tmp.
    options.write(true).truncate(false).create(!path.exists());
    let mut file = options.open(path)?;
    let mut write = |bytes: &[u8]| {
        file.rewind()?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)
    };
    let written = write(text.as_bytes());
    if written.is_err() {
        let _ = write(&old);
    }
    written
}

/// Replaces a file with a new one from the same directory, and keeps its permissions. The new file has a new name each
/// time, so that no other user can prepare a link or a pipe with its name.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(
        ".{}-{:016x}.part",
        std::process::id(),
        unique_number()
    ));
    let part = path.with_file_name(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&part)?;
    // A secret in the text must not be readable for others in the meantime.
    let permitted = match std::fs::metadata(path) {
        Ok(data) => file.set_permissions(data.permissions()),
        Err(_) => Ok(()),
    };
    let written = permitted.and_then(|()| file.write_all(text.as_bytes()));
    let written = written.and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}
