//! How candidates are named in messages.

use crate::choice::requirement::Requirement;
use crate::model::candidate::{Candidate, Found};
use crate::model::kind::Kind;
use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::majors;
use crate::runtime::facts::version::Version;

/// Returns the variable that names such a directory.
pub fn variable(kind: Kind) -> &'static str {
    match kind {
        Kind::Toolkit => "CUDA_HOME",
        Kind::Cudnn => "CUDNN_PATH",
    }
}

/// Returns the files that such a directory must contain for these versions.
pub fn contents(kind: Kind, os: Os, asked: Option<&Requirement>) -> String {
    let below = asked.and_then(|asked| asked.below);
    let is_asked = |major: &&u32| below.is_none_or(|below| Version::new(**major, 0, 0) < below);
    let major = majors::CUDNN.iter().find(is_asked);
    match (kind, os) {
        (Kind::Toolkit, Os::Windows) => "include/cuda.h and bin/nvcc.exe".into(),
        (Kind::Toolkit, _) => "include/cuda.h and bin/nvcc".into(),
        (Kind::Cudnn, Os::Windows) => "include/cudnn.h and lib/x64/cudnn.lib".into(),
        (Kind::Cudnn, _) => {
            let major = major.unwrap_or(&majors::OLDEST_CUDNN);
            format!("include/cudnn.h and lib/libcudnn.so.{major}")
        }
    }
}

/// Returns the product's name.
pub fn product(candidate: &Candidate) -> &'static str {
    match candidate.found {
        Found::Toolkit(_) => "CUDA",
        Found::Cudnn(_) => "cuDNN",
    }
}

/// Returns product, version and place: ``cuDNN 8.9.7 at `/usr` ``.
pub fn named(candidate: &Candidate) -> String {
    format!(
        "{} {} at `{}`",
        product(candidate),
        release(candidate),
        candidate.root().display()
    )
}

/// Returns its version, as NVIDIA writes it.
pub fn release(candidate: &Candidate) -> String {
    match (&candidate.found, candidate.version()) {
        (_, None) => "of unknown release".into(),
        (Found::Toolkit(_), Some(version)) => version.short(),
        (Found::Cudnn(_), Some(version)) => version.to_string(),
    }
}

/// Returns how and where it was found: `system directories: /usr/include/cudnn_version.h`.
pub fn found_via(candidate: &Candidate) -> String {
    let path = match &candidate.found {
        Found::Toolkit(toolkit) => &toolkit.root,
        Found::Cudnn(cudnn) => cudnn
            .header
            .as_ref()
            .or(cudnn.library.as_ref())
            .unwrap_or(&cudnn.root),
    };
    format!("{}: {}", candidate.via, path.display())
}

/// Returns the line of another candidate: `9.14.0 in /opt/venv/…/nvidia/cudnn (outranked by CUDNN_PATH)`.
pub fn also(candidate: &Candidate) -> String {
    let reason = match &candidate.rejected {
        _ if candidate.via.is_inactive() => " (not active)".to_string(),
        Some(reason) => format!(" ({reason})"),
        None => String::new(),
    };
    let root = candidate.root().display();
    format!("{} in {root}{reason}", release(candidate))
}

/// Returns `true` if only the record that points to it is left.
pub fn is_gone(candidate: &Candidate) -> bool {
    match &candidate.found {
        Found::Toolkit(toolkit) => toolkit.lacks().len() == 3,
        Found::Cudnn(cudnn) => {
            let parts = [&cudnn.header, &cudnn.library, &cudnn.link_dir];
            parts.iter().all(|part| part.is_none()) && cudnn.files.obstacle.is_none()
        }
    }
}

/// Adds alternatives of what to do, the most likely first.
pub fn with_alternatives(finding: Finding, helps: Vec<String>) -> Finding {
    let helps = helps.into_iter().enumerate();
    helps.fold(finding, |finding, (index, help)| match index {
        0 => finding.help(help),
        _ => finding.help(format!("or {help}")),
    })
}

/// Returns a version as people write it: 9.1, and 9.10.2 where the third number matters.
pub fn brief(version: Version) -> String {
    if version.patch == 0 {
        version.short()
    } else {
        version.to_string()
    }
}
