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
            Some(first) => finding.with("taken by", format!("driver {first} and later ones")),
            None => finding,
        }
    }
}

#[cfg(feature = "cli")]
impl ImageNeedsDriver<'_> {
    pub fn finding(&self) -> Finding {
        let (driver, wanted) = (self.driver.short(), self.required.short());
        let headline = format!(
            "the NVIDIA driver serves CUDA {driver}, and this image asks for a driver that serves CUDA {wanted}"
        );
        let finding = Finding::warning(FindingId::DriverTooOld, headline)
            .with("asked by", format!("{REQUIRE}={}", self.requirement))
            .help(match self.first_driver {
                Some(first) => {
                    format!("install NVIDIA's driver {first} or a later one on the host")
                }
                None => "update the NVIDIA driver of the host".to_string(),
            })
            .help(format!("take an image of CUDA {driver} or an older one"));
        if self.required.major != self.driver.major {
            return finding;
        }
        // Within a major, only PTX is incompatible.
        finding.help(format!(
            "start the container with {DISABLE}=1, if the program holds machine code for its GPU"
        ))
    }
}
