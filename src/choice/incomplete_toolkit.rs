//! The finding for a toolkit that lacks a part.

use crate::choice::findings::CheckContext;
use crate::choice::message_format::{also, found_via, named};
use crate::choice::pair::is_whole;
use crate::model::candidate::{Candidate, Toolkit};
use crate::model::kind::Kind;
use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::toolkit::package_names::{by_distribution, is_of_wheels, package_suffix};

impl CheckContext<'_> {
    /// Returns the finding if the chosen toolkit is incomplete. That is no error here: kernels that need a compiler report
    /// it themselves, and a build that brings its own bindings needs no headers.
    pub fn partial(&self) -> Option<Finding> {
        let candidate = self.best(Kind::Toolkit)?;
        let toolkit = candidate.toolkit()?;
        let lacks = toolkit.lacks();
        let host = self.env.var("HOST").unwrap_or(&self.platform.triple);
        let cpu = &self.platform.cpu;
        let cross = !host.starts_with(cpu.as_str());
        let target = match cross {
            true => format!(" for {cpu}"),
            false => String::new(),
        };
        let missing = lacks.join(" and no ");
        let headline = format!("{} has no {missing}{target}", named(candidate));
        let finding = match lacks[..] {
            [] => return None,
            ["nvcc"] => Finding::note(FindingId::PartialToolkit, headline),
            _ => Finding::warning(FindingId::PartialToolkit, headline),
        };
        let mut finding = finding.with("found via", found_via(candidate));
        // A whole one was passed over because a variable asks for this one, or because it does not fit the cuDNN.
        let is_whole_toolkit = |other: &&Candidate| other.toolkit().is_some() && is_whole(other);
        let mut or = "";
        if let Some(whole) = self.scan.candidates.iter().find(is_whole_toolkit) {
            finding = finding.with("also found", also(whole));
            if candidate.request.is_some() {
                let root = whole.root().display();
                finding = finding.help(format!("set {} to `{root}`", candidate.via));
                or = "or ";
            }
        }
        let packages = if cross {
            let targets = self.platform.toolkit_targets().join("` or `targets/");
            format!("NVIDIA's packages for cross building, which fill `targets/{targets}`")
        } else {
            packages(candidate, toolkit, &lacks, self.platform.os)
        };
        Some(finding.help(format!("{or}install {packages}")))
    }
}

/// Returns the packages to install, as the installer of the toolkit names them.
pub fn packages(candidate: &Candidate, toolkit: &Toolkit, lacks: &[&str], os: Os) -> String {
    let names = |nvcc: &str, rest: &str| {
        let rest_lacks = lacks.iter().any(|part| *part != "nvcc");
        match (lacks.contains(&"nvcc"), rest_lacks) {
            (true, true) => format!("`{nvcc}` and `{rest}`"),
            (true, false) => format!("`{nvcc}`"),
            (false, _) => format!("`{rest}`"),
        }
    };
    if is_of_wheels(&toolkit.root) {
        return match (toolkit.version.map(|version| version.major), lacks) {
            // These wheels hold only a part of the compiler, which cannot compile.
            (Some(..13), ["nvcc"]) => "a CUDA toolkit from NVIDIA if you compile kernels: wheels before CUDA 13 hold no nvcc".into(),
            (Some(major @ ..13), _) => format!("the wheel `nvidia-cuda-runtime-cu{major}`"),
            _ => names("nvidia-cuda-nvcc", "nvidia-cuda-runtime") + " with pip",
        };
    }
    if candidate.via.is_conda() {
        return names("cuda-nvcc", "cuda-cudart-dev") + " from conda-forge";
    }
    if os == Os::Windows {
        // The components of NVIDIA's installer: `cuda_12.9.1_windows.exe -s nvcc_12.9`.
        let release = toolkit
            .version
            .map(|version| format!("_{}", version.short()));
        let release = release.unwrap_or_default();
        let parts = names(&format!("nvcc{release}"), &format!("cudart{release}"));
        return parts + " with NVIDIA's installer";
    }
    let release = package_suffix(toolkit.version);
    let nvcc = format!("cuda-nvcc{release}");
    let debian = names(&nvcc, &format!("cuda-cudart-dev{release}"));
    let fedora = names(&nvcc, &format!("cuda-cudart-devel{release}"));
    by_distribution(&debian, &fedora)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::candidate::Found;
    use crate::model::found_via::FoundVia;
    use crate::runtime::facts::version::Version;

    fn advice(via: FoundVia, root: &str, version: (u32, u32), lacks: &[&str]) -> String {
        let toolkit = Toolkit {
            root: root.into(),
            version: Some(Version::new(version.0, version.1, 0)),
            ..Toolkit::default()
        };
        let candidate = Candidate {
            found: Found::Toolkit(toolkit.clone()),
            via,
            chosen: true,
            rejected: None,
            request: None,
        };
        let windows = root.contains('\\');
        let os = if windows { Os::Windows } else { Os::Linux };
        packages(&candidate, &toolkit, lacks, os)
    }

    #[test]
    fn what_to_install_is_named_as_its_owner_names_it() {
        let wheels = "/venv/lib/python3.12/site-packages/nvidia";
        for (via, root, version, lacks, wanted) in [
            (
                FoundVia::Directory("system directories"),
                "/usr",
                (12, 8),
                &["nvcc"][..],
                "`cuda-nvcc-12-8`",
            ),
            (
                FoundVia::Directory("system directories"),
                "/usr",
                (12, 8),
                &["nvcc", "headers"],
                "`cuda-nvcc-12-8` and `cuda-cudart-dev-12-8` (Debian, Ubuntu) \
                 or `cuda-nvcc-12-8` and `cuda-cudart-devel-12-8` (Fedora, RHEL)",
            ),
            (
                FoundVia::variable("CUDA_PATH"),
                r"C:\CUDA\v12.8",
                (12, 8),
                &["nvcc", "headers"],
                "`nvcc_12.8` and `cudart_12.8` with NVIDIA's installer",
            ),
            (
                FoundVia::Conda,
                "/conda",
                (12, 8),
                &["headers", "libraries"],
                "`cuda-cudart-dev` from conda-forge",
            ),
            (
                FoundVia::VirtualEnvironment,
                wheels,
                (12, 8),
                &["libraries"],
                "the wheel `nvidia-cuda-runtime-cu12`",
            ),
            (
                FoundVia::VirtualEnvironment,
                &format!("{wheels}/cu13"),
                (13, 0),
                &["nvcc", "libraries"],
                "`nvidia-cuda-nvcc` and `nvidia-cuda-runtime` with pip",
            ),
        ] {
            assert_eq!(advice(via, root, version, lacks), wanted);
        }
    }
}
