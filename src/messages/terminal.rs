use crate::cli::fetch::fault::FetchFault;
use crate::runtime::facts::{Finding, FindingId};

impl FetchFault {
    pub fn finding(self) -> Finding {
        FindingId::FetchFailed.error(self.0)
    }
}
