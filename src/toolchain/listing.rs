//! The result of a search as plain text, for tests.

use crate::error::Error;
use crate::model::{Cudnn, Found, Library, Toolkit};
use crate::runtime::facts::{LibraryName, Version, VersionSource, sub_libraries};
use crate::runtime::install::SubLibraryFile;
use crate::toolchain::Toolchain;
use std::path::PathBuf;

impl Toolchain {
    pub(crate) fn listing(&self) -> String {
        let mut out = String::new();
        for candidate in &self.candidates {
            let mark = if candidate.is_chosen() { "+" } else { "-" };
            let what = match &candidate.found {
                Found::Toolkit(toolkit) => describe_toolkit(toolkit),
                Found::Cudnn(cudnn) => describe_cudnn(cudnn),
            };
            let reason = candidate
                .rejected
                .as_ref()
                .map_or_else(String::new, |reason| format!("\n    because  {reason}"));
            out.push_str(&format!("{mark} {}: {what}{reason}\n", candidate.via));
        }
        let absent = self.absent.iter().flat_map(Error::findings);
        for finding in self.findings.iter().chain(absent) {
            out.push_str(&format!("{}: {finding}\n", finding.severity));
        }
        out
    }
}

fn describe_toolkit(toolkit: &Toolkit) -> String {
    let version = toolkit
        .version
        .map_or_else(|| "of unknown version".into(), Version::short);
    let root = toolkit.root.display().to_string();
    let nvcc = toolkit
        .nvcc
        .as_ref()
        .map_or_else(|| "no nvcc".into(), |nvcc| nvcc.display().to_string());
    let mut out = format!("CUDA {version} at {root}");
    for (label, files, usual) in [
        ("nvcc   ", nvcc, ["ROOT/bin/nvcc", "ROOT/bin/nvcc.exe"]),
        (
            "include",
            listed(&toolkit.include_dirs),
            ["ROOT/include"; 2],
        ),
        (
            "lib    ",
            listed(&toolkit.link_dirs),
            ["ROOT/lib64", "ROOT/lib/x64, ROOT/lib"],
        ),
    ] {
        if !usual
            .iter()
            .any(|usual| files == usual.replace("ROOT", &root))
        {
            out.push_str(&format!("\n    {label}  {files}"));
        }
    }
    out
}

fn describe_cudnn(cudnn: &Cudnn) -> String {
    let version = cudnn.version().map_or_else(
        || "of unknown version".into(),
        |version| version.to_string(),
    );
    let suffix = cudnn
        .cuda_major
        .map_or_else(String::new, |major| format!(" for CUDA {major}"));
    let link = match &cudnn.link_library {
        Some(Library::Verbatim(name)) => format!("{name}, by its full name"),
        Some(library) => library.kind_and_name().1.to_string(),
        None => "nothing".into(),
    };
    let mut out = format!("cuDNN {version}{suffix} at {}", cudnn.root.display());
    if cudnn.header != Some(cudnn.root.join("include/cudnn_version.h")) {
        let header = cudnn
            .header
            .as_ref()
            .map_or_else(|| "none".into(), |header| header.display().to_string());
        out.push_str(&format!("\n    header   {header}"));
    }
    if link != "cudnn" {
        out.push_str(&format!("\n    link     {link}"));
    }
    let name = cudnn.library.as_deref().and_then(LibraryName::of);
    let major = name.and_then(|name| name.major());
    let major = major.map(|major| Version::new(major, 0, 0));
    let mut rest = cudnn.installed.files();
    while let [first, ..] = rest[..] {
        let place = place_of(first);
        let (group, others): (Vec<&SubLibraryFile>, Vec<&SubLibraryFile>) =
            rest.into_iter().partition(|part| place_of(part) == place);
        match in_words(&group, cudnn.version().or(major)) {
            Some(words) => out.push_str(&format!("\n    sub-libs {place}: {words}")),
            None => {
                for part in &group {
                    let (name, path) = (&part.name, part.path.display());
                    out.push_str(&format!(
                        "\n    sub-lib  {name} {} {path}",
                        version_of(part)
                    ));
                }
            }
        }
        rest = others;
    }
    out
}

/// Returns the version of a sub-library and its source: `9.14.0 from file name`.
fn version_of(part: &SubLibraryFile) -> String {
    let version = part
        .version
        .map_or_else(|| "unknown".into(), |version| version.to_string());
    let source = part.told_by.map(VersionSource::in_full);
    let source = source.map_or_else(String::new, |source| format!(" from {source}"));
    format!("{version}{source}")
}

/// Returns what a sub-library shares with others: `9.14.0 from file name /usr/lib64/libcudnn*.so.9`.
fn place_of(part: &SubLibraryFile) -> String {
    let name = part.path.file_name().unwrap_or_default().to_string_lossy();
    let stem = match &part.name[..] {
        "cudnn" => "cudnn".to_string(),
        name => format!("cudnn_{name}"),
    };
    let pattern = part.path.with_file_name(name.replacen(&stem, "cudnn*", 1));
    format!("{} {}", version_of(part), pattern.display())
}

/// Returns the words for most of the sub-libraries of a version: `all`, or `for convolutions, without cnn`.
fn in_words(parts: &[&SubLibraryFile], version: Option<Version>) -> Option<String> {
    let names: Vec<&str> = parts.iter().map(|part| &part.name[..]).collect();
    let all = sub_libraries::of_release(version?)
        .into_iter()
        .map(|one| one.name);
    let all: Vec<&str> = ["cudnn"].into_iter().chain(all).collect();
    if all.len() == names.len() && all.iter().all(|name| names.contains(name)) {
        return Some("all".to_string());
    }
    let needed = [&["cudnn"], &sub_libraries::needed(version?, false)[..]].concat();
    if names.len() < 3 || names.iter().any(|name| !needed.contains(name)) {
        return None;
    }
    let absent: Vec<&str> = needed
        .into_iter()
        .filter(|name| !names.contains(name))
        .collect();
    Some(match absent[..] {
        [] => "for convolutions".to_string(),
        [_, _, _, _, ..] => return None,
        _ => format!("for convolutions, without {}", absent.join(" ")),
    })
}

fn listed(paths: &[PathBuf]) -> String {
    let texts: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if texts.is_empty() {
        "none".into()
    } else {
        texts.join(", ")
    }
}
