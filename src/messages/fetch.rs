//! Failures of `fetch`.

use crate::cli::fetch::fault::FetchFault;
use crate::{Finding, FindingId};

impl FetchFault {
    pub fn finding(self) -> Finding {
        FindingId::FetchFailed.error(self.0)
    }
}
