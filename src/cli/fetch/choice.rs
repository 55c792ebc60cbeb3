//! The versions and libraries to fetch.

use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::project;
use crate::cli::numbers;
use crate::cli::terminal::{harmless, show_step};
use crate::compat::cudarc_refusals::accepted_instead;
use crate::compat::newest_cuda;
use crate::model::text::joined;
use crate::report::machine::driver;
use crate::runtime::facts::majors;
use crate::system::Host;
use std::path::Path;

/// Stands for the newest minor version of a CUDA: no release has one as high.
const NEWEST_MINOR: u32 = 99;

/// The versions that the user named, as leading numbers. `None` means the newest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    pub cuda: Option<String>,
    pub cudnn: Option<String>,
    /// The libraries of CUDA besides those that cuDNN opens.
    pub libraries: Vec<String>,
}

impl Choice {
    /// Adds what the user left open: the libraries that the crate uses, and a CUDA that the driver and a cudarc in
    /// `Cargo.lock` support. Without a requirement, an installed toolkit stays.
    pub fn complete(mut self, installed: &Installed) -> Self {
        if self.libraries.is_empty() && Path::new("Cargo.toml").exists() {
            self.libraries = project::libraries(Path::new("."));
            if !self.libraries.is_empty() {
                let used = joined(&self.libraries, ", ");
                show_step("i", "added", format!("{used}, which this project uses"));
            }
        }
        let installed = installed.cuda();
        if self.cuda.is_none() && installed.is_none() {
            self.cuda = supported_by_driver();
        } else if self.cuda.as_ref().is_none_or(|cuda| cuda.contains('.')) {
            return self;
        }
        self.cuda = supported_by_cudarc(self.cuda.as_deref(), installed).or(self.cuda);
        self
    }
}

/// Returns the newest CUDA that the driver supports, if a driver answers.
fn supported_by_driver() -> Option<String> {
    let supported = driver()?.cuda?;
    let mut majors = majors::CUDA.iter();
    let major = *majors.find(|major| **major <= supported.major)?;
    // A driver does not run the PTX of a newer minor version. The wheels of an older CUDA have no nvcc.
    let is_exact = supported.major == majors::NEWEST_CUDA && Some(supported) < newest_cuda();
    let supported = supported.short();
    let cuda = if is_exact {
        supported.clone()
    } else {
        major.to_string()
    };
    let text = format!("CUDA {cuda}, since the driver supports CUDA {supported}");
    show_step("i", "chosen", text);
    Some(cuda)
}

/// Returns a CUDA of the same major that a cudarc in `Cargo.lock` accepts, if its build script rejects the installed
/// one, or else the newest.
fn supported_by_cudarc(cuda: Option<&str>, installed: Option<String>) -> Option<String> {
    let newest = majors::NEWEST_CUDA.to_string();
    let chosen = cuda.unwrap_or(&newest);
    let stays = installed.filter(|one| numbers::major(one) == numbers::major(chosen));
    let cuda = numbers::with_minor(stays.as_deref().unwrap_or(chosen), NEWEST_MINOR);
    let (accepted, cudarc) = accepted_instead(&Host::capture(None, None, &[]).env, cuda)?;
    let accepted = (accepted.major == cuda.major).then(|| accepted.short())?;
    let text = format!("CUDA {accepted}, the newest that cudarc {cudarc} supports");
    show_step("i", "chosen", harmless(&text));
    Some(accepted)
}
