//! Failures of `fetch`.

use crate::cli::fetch::fault::FetchFault;
use crate::{Finding, FindingId};

impl FetchFault {
    pub fn finding(self) -> Finding {
        match self {
            Self::Failed(summary) => Finding::error(FindingId::FetchFailed, summary),
            Self::InvalidChoice(summary) => Finding::error(FindingId::ConfigInvalid, summary),
        }
    }
}
