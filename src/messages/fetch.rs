//! Failures of `fetch`.

use crate::cli::fetch::fault::FetchFault;
use crate::{Finding, FindingId};

impl FetchFault {
    pub fn finding(self) -> Finding {
        Finding::error(FindingId::FetchFailed, self.0)
    }
}
