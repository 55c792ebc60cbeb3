//! The finding for a toolkit that lacks a part.

use crate::choice::findings::Situation;
use crate::choice::message_format::{also, found_via, named, root_of};
use crate::model::candidate::{Candidate, Found, Toolkit};
use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;

impl Situation<'_> {
    /// The finding if the chosen toolkit lacks a part. That is no error here: kernels that need a compiler say so
    /// themselves, and a build that brings its own bindings needs no headers.
    pub fn partial(&self) -> Option<Finding> {
        let candidate = self.candidates.get(self.choice.toolkit?)?;
        let toolkit = candidate.toolkit()?;
        let lacks = toolkit.lacks();
        let host = self.env.var("HOST").unwrap_or(&self.platform.triple);
        let cpu = &self.platform.cpu;
        let cross = !host.starts_with(cpu.as_str());
        let target = if cross {
            format!(" for {cpu}")
        } else {
            String::new()
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
        let mut or = "";
        if let Some(whole) = self.candidates.iter().find(|other| is_whole(other)) {
            finding = finding.with("also found", also(whole));
            if candidate.wish.is_some() {
                let root = root_of(whole).display();
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

fn is_whole(candidate: &Candidate) -> bool {
    matches!(&candidate.found, Found::Toolkit(toolkit) if toolkit.lacks().is_empty())
}

/// The packages to install, as whoever installed the toolkit names them.
pub fn packages(candidate: &Candidate, toolkit: &Toolkit, lacks: &[&str], os: Os) -> String {
    let root = &toolkit.root;
    let major = toolkit.version.map(|version| version.major);
    let wheels = root.ends_with("nvidia") || root.parent().is_some_and(|up| up.ends_with("nvidia"));
    let named = |names: Vec<String>| names.join(" and ");
    let part = |nvcc: &str, rest: &str| {
        let rest_lacks = lacks.iter().any(|part| *part != "nvcc");
        let names = [(lacks.contains(&"nvcc"), nvcc), (rest_lacks, rest)];
        let names = names.into_iter().filter(|(lacking, _)| *lacking);
        names.map(|(_, name)| format!("`{name}`")).collect()
    };
    if wheels && major.is_some_and(|major| major < 13) {
        // These wheels hold only a part of the compiler, which cannot compile.
        let major = major.unwrap_or_default();
        return match lacks {
            ["nvcc"] => "a CUDA toolkit from NVIDIA if you compile kernels: wheels before CUDA 13 hold no nvcc".into(),
            _ => format!("the wheel `nvidia-cuda-runtime-cu{major}`"),
        };
    }
    if wheels {
        return named(part("nvidia-cuda-nvcc", "nvidia-cuda-runtime")) + " with pip";
    }
    if candidate.via.is_conda() {
        return named(part("cuda-nvcc", "cuda-cudart-dev")) + " from conda-forge";
    }
    if os == Os::Windows {
        // The components of NVIDIA's installer: `cuda_12.9.1_windows.exe -s nvcc_12.9`.
        let release = toolkit.version.map_or_else(String::new, |version| {
            format!("_{}.{}", version.major, version.minor)
        });
        let parts = part(&format!("nvcc{release}"), &format!("cudart{release}"));
        return named(parts) + " with NVIDIA's installer";
    }
    let release = toolkit.version.map_or_else(String::new, |version| {
        format!("-{}-{}", version.major, version.minor)
    });
    let debian = part(
        &format!("cuda-nvcc{release}"),
        &format!("cuda-cudart-dev{release}"),
    );
    let fedora = part(
        &format!("cuda-nvcc{release}"),
        &format!("cuda-cudart-devel{release}"),
    );
    if debian == fedora {
        named(debian)
    } else {
        format!(
            "{} (Debian, Ubuntu) or {} (Fedora, RHEL)",
            named(debian),
            named(fedora)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            wish: None,
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
