//! Incompatible versions of the toolkit, cuDNN, driver and host compiler.

#[cfg(feature = "cli")]
use crate::compat::image_driver::{DISABLE, ImageNeedsDriver, REQUIRE};
use crate::compat::rules::NewerToolkitPtx;
use crate::runtime::facts::finding::{Finding, Severity};
#[cfg(feature = "cli")]
use crate::runtime::facts::finding_id::FindingId;

impl NewerToolkitPtx {
    /// Returns the finding, a note if no GPU of this machine needs PTX.
    pub fn finding(&self) -> Finding {
        let severity = match self.is_needed {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let finding = self.ptx.finding(severity, "the toolkit writes");
        match self.first_driver {
            Some(first) => finding.with("required", format!("driver {first} or later")),
            None => finding,
        }
    }
}

#[cfg(feature = "cli")]
impl ImageNeedsDriver<'_> {
    pub fn finding(&self) -> Finding {
        let (driver, wanted) = (self.driver.short(), self.required.short());
        let headline = format!(
            "the NVIDIA driver supports CUDA {driver}, but this image requires a driver that supports CUDA {wanted}"
        );
        let finding = Finding::warning(FindingId::DriverTooOld, headline)
            .with("variable", format!("{REQUIRE}={}", self.requirement))
            .help(match self.first_driver {
                Some(first) => {
                    format!("upgrade the NVIDIA driver on the host to {first} or later")
                }
                None => "upgrade the NVIDIA driver on the host".to_string(),
            })
            .help(format!("use an image with CUDA {driver} or older"));
        if self.required.major != self.driver.major {
            return finding;
        }
        // Within a major, only PTX is incompatible.
        finding.help(format!(
            "start the container with {DISABLE}=1 if the program contains machine code for its GPU"
        ))
    }
}
