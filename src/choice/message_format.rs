//! The names of candidates in messages.

use crate::model::{Candidate, Found};

pub fn product(candidate: &Candidate) -> &'static str {
    match candidate.found {
        Found::Toolkit(_) => "CUDA",
        Found::Cudnn(_) => "cuDNN",
    }
}

/// Returns the version as NVIDIA writes it.
pub fn release(candidate: &Candidate) -> String {
    match (&candidate.found, candidate.version()) {
        (_, None) => "of unknown version".into(),
        (Found::Toolkit(_), Some(version)) => version.short(),
        (Found::Cudnn(_), Some(version)) => version.to_string(),
    }
}

/// Returns `true` if only a record of it exists.
pub fn is_gone(candidate: &Candidate) -> bool {
    match &candidate.found {
        Found::Toolkit(toolkit) => toolkit.missing_components().len() == 3,
        Found::Cudnn(cudnn) => {
            let parts = [&cudnn.header, &cudnn.library, &cudnn.link_dir];
            parts.iter().all(|part| part.is_none()) && cudnn.files.obstacle.is_none()
        }
    }
}
