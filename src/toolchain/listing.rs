//! The result of a search as plain text, for tests.

use crate::error::Error;
use crate::model::candidate::{Cudnn, Found, Toolkit};
use crate::model::library::Library;
use crate::runtime::facts::version::Version;
use crate::runtime::facts::version_source::VersionSource;
use crate::toolchain::Toolchain;
use std::path::PathBuf;

impl Toolchain {
    pub(crate) fn listing(&self) -> String {
        let mut out = String::new();
        for candidate in &self.candidates {
            let mark = if candidate.chosen { "+" } else { "-" };
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
    let nvcc = toolkit
        .nvcc
        .as_ref()
        .map_or_else(|| "no nvcc".into(), |nvcc| nvcc.display().to_string());
    format!(
        "CUDA {version} at {}\n    nvcc     {nvcc}\n    include  {}\n    lib      {}",
        toolkit.root.display(),
        listed(&toolkit.include_dirs),
        listed(&toolkit.link_dirs),
    )
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
    let header = cudnn
        .header
        .as_ref()
        .map_or_else(|| "none".into(), |header| header.display().to_string());
    let mut out = format!(
        "cuDNN {version}{suffix} at {}\n    header   {header}\n    link     {link}",
        cudnn.root.display()
    );
    for part in &cudnn.parts {
        let version = part
            .version
            .map_or_else(|| "unknown".into(), |version| version.to_string());
        let source = part.told_by.map(VersionSource::in_full);
        let source = source.map_or_else(String::new, |source| format!(" from {source}"));
        out.push_str(&format!(
            "\n    sub-lib  {} {version}{source} {}",
            part.name,
            part.path.display()
        ));
    }
    out
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
