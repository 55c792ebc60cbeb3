//! What is wrong with the choice: why a kind is missing, or what the chosen one lacks.

use crate::choice::message_format::{also, brief, found_via, is_gone, named, root_of};
use crate::choice::requirement::{Requirement, Requirements};
use crate::choice::select_pair::{
    Choice, has_library, is_usable, kind_of, other_cpu, unfit_path, version_of,
};
use crate::cudnn::{consistency, nvidia_image};
use crate::model::candidate::{Candidate, Cudnn, Found};
use crate::model::environment::{Environment, Variable};
use crate::model::found_via::FoundVia;
use crate::model::invocation::quoted;
use crate::model::owner::Owner;
use crate::model::platform::{Os, Platform};
use crate::model::text::library_name::LibraryName;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::search::search_step::{Kind, Step};
use std::path::Path;

/// All that is known when the choice is made.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The environment.
    pub env: &'a Environment,
    /// The system that is built for.
    pub platform: &'a Platform,
    /// The places that were looked at.
    pub steps: &'a [Step],
    /// What was found, with what became of it.
    pub candidates: &'a [Candidate],
    /// What could not be asked, in words.
    pub left_out: &'a [(Kind, String)],
    /// What was chosen.
    pub choice: Choice,
    /// What is asked of them.
    pub requirements: &'a Requirements,
}

impl Situation<'_> {
    /// Why there is nothing of this kind to use, or what is missing in what there is. None if all is well.
    pub fn fault(&self, kind: Kind) -> Option<Finding> {
        let chosen = match kind {
            Kind::Toolkit => self.choice.toolkit,
            Kind::Cudnn => self.choice.cudnn,
        };
        match chosen.and_then(|index| self.candidates.get(index)) {
            Some(candidate) => self.without_headers(candidate),
            None if kind == Kind::Toolkit && self.choice.misfit.is_some() => self.misfit(),
            None => Some(self.none_usable(kind)),
        }
    }

    /// What the chosen candidate lacks.
    fn without_headers(&self, chosen: &Candidate) -> Option<Finding> {
        let cudnn = chosen.cudnn().filter(|cudnn| cudnn.header.is_none())?;
        Some(headers_missing(cudnn, &chosen.via, self.env))
    }

    /// Why nothing of this kind was chosen.
    fn none_usable(&self, kind: Kind) -> Finding {
        let of_kind = |candidate: &&Candidate| kind_of(candidate) == kind && !is_gone(candidate);
        let mut found: Vec<&Candidate> = self.candidates.iter().filter(of_kind).collect();
        // What a variable asked for comes first, then the order of the search.
        found.sort_by_key(|candidate| candidate.wish.is_none());
        let asked = found.first().and_then(|first| Some((first, first.wish?)));
        if let Some(finding) = asked.and_then(|(first, by)| self.asked_unusable(first, by)) {
            return finding;
        }
        let requirement = match kind {
            Kind::Toolkit => self.requirements.cuda.as_ref(),
            Kind::Cudnn => self.requirements.cudnn.as_ref(),
        };
        let is_unmet = |candidate: &Candidate, requirement: &Requirement| {
            let version = version_of(candidate);
            is_usable(candidate) && version.is_some_and(|version| !requirement.admits(version))
        };
        let unmet = requirement.and_then(|requirement| {
            let mut found = found.iter();
            let first = found.find(|candidate| is_unmet(candidate, requirement))?;
            Some((first, requirement))
        });
        let is_dll_alone = |candidate: &&&Candidate| {
            self.platform.os == Os::Windows && !linkable(candidate) && has_library(candidate)
        };
        match (unmet, found.iter().find(is_dll_alone)) {
            (Some((first, requirement)), _) => self.unmet(kind, first, &found, requirement),
            (None, Some(first)) => no_import_library(first),
            (None, None) => self.not_found(kind, &found),
        }
    }

    /// Why what this variable asked for cannot be used. Without a variable, a candidate for another CPU, with a damaged
    /// library or without one counts as missing.
    fn asked_unusable(&self, candidate: &Candidate, variable: Variable) -> Option<Finding> {
        if let Some(cpu) = other_cpu(candidate, self.platform) {
            return Some(self.other_processor(candidate, cpu));
        }
        if let Some(what) = unfit_path(candidate) {
            return Some(self.unfit(variable, what));
        }
        let cudnn = candidate.cudnn()?;
        let damaged = consistency::unusable(cudnn, found_via(candidate), &candidate.via);
        match (linkable(candidate), has_library(candidate)) {
            _ if damaged.is_some() => damaged,
            (true, _) => None,
            (false, true) => Some(no_import_library(candidate)),
            (false, false) => Some(self.no_library(variable)),
        }
    }

    fn other_processor(&self, candidate: &Candidate, cpu: &str) -> Finding {
        let wanted = &self.platform.cpu;
        let headline = format!(
            "{} is for {cpu}, and this build is for {wanted}",
            named(candidate)
        );
        Finding::error(FindingId::WrongArchitecture, headline)
            .with("found via", found_via(candidate))
            .help(format!(
                "let {} name a directory with a cuDNN for {wanted}",
                candidate.via
            ))
    }

    fn unmet(
        &self,
        kind: Kind,
        first: &Candidate,
        found: &[&Candidate],
        asked: &Requirement,
    ) -> Finding {
        let (product, method, variable, id) = match kind {
            Kind::Toolkit => (
                "CUDA toolkit",
                "cuda",
                "CUDA_HOME",
                FindingId::CudaRequirementUnmet,
            ),
            Kind::Cudnn => (
                "cuDNN",
                "cudnn",
                "CUDNN_PATH",
                FindingId::CudnnRequirementUnmet,
            ),
        };
        let version = version_of(first).unwrap_or(asked.from);
        let older = version < asked.from;
        let wanted = if older {
            format!("older than the {}", brief(asked.from))
        } else {
            format!("newer than the `{}`", asked.text)
        };
        let headline = format!("{} is {wanted} this crate asks for", named(first));
        let mut finding = Finding::error(id, headline).with("found via", found_via(first));
        let owner = owner(first);
        if let Some(owner) = owner {
            finding = finding.with("owner", owner);
        }
        let others: Vec<String> = found
            .iter()
            .filter(|other| !std::ptr::eq(**other, first))
            .map(|other| also(other))
            .collect();
        if !others.is_empty() {
            finding = finding.with("also found", others.join("\n"));
        }
        let better = found
            .iter()
            .find(|other| version_of(other).is_some_and(|version| asked.admits(version)));
        let install = owner.and_then(|owner| owner.install(asked.from, asked.below));
        let finding = match (better, install) {
            (None, Some(command)) => finding.help(format!("run `{command}`")),
            _ => finding,
        };
        let finding = match (better, first.wish) {
            (Some(better), _) => {
                let activate = if better.via.is_inactive() {
                    "activate that environment, or "
                } else {
                    ""
                };
                let root = root_of(better).display();
                finding.help(format!("{activate}set {variable} to `{root}`"))
            }
            (None, Some(_)) => finding.help(format!(
                "let {} name a directory with a {product} that meets `{}`",
                first.via, asked.text
            )),
            (None, None) => finding.help(format!(
                "install a {product} that meets `{}`, or set {variable} to the directory of one",
                asked.text
            )),
        };
        let verb = if older { "lower" } else { "raise" };
        finding.help(format!(
            "or {verb} `.{method}({:?})` in build.rs",
            asked.text
        ))
    }
}

/// The wheels for Windows have none from cuDNN 9 on.
fn no_import_library(candidate: &Candidate) -> Finding {
    let headline = format!(
        "{} has no import library `cudnn.lib`, without which nothing can be linked to it",
        named(candidate)
    );
    let library = candidate.cudnn().and_then(|cudnn| cudnn.library.as_deref());
    let library = library.unwrap_or(root_of(candidate)).display();
    Finding::error(FindingId::CudnnNotFound, headline)
        .with("found via", format!("{}: {library}", candidate.via))
        .help("write `.link(Link::Runtime)` in build.rs, and open cuDNN in the program")
        .help("or set CUDNN_PATH to a cuDNN of NVIDIA's installer or archive, which has one")
}

fn headers_missing(cudnn: &Cudnn, via: &FoundVia, env: &Environment) -> Finding {
    let is_conda = env.path(Variable::CondaPrefix).is_some_and(|prefix| {
        let dir = cudnn.link_dir.as_deref().unwrap_or(&cudnn.root);
        dir.starts_with(prefix)
    });
    let version = cudnn.library_version;
    let major = version.map_or_else(
        || major_of(cudnn.library.as_deref()),
        |version| version.major,
    );
    let flavour = cudnn
        .cuda_major
        .map_or_else(|| "12".to_string(), |major| major.to_string());
    let release = version.map_or_else(String::new, |version| format!(" {version}"));
    let library = cudnn
        .library
        .as_deref()
        .or(cudnn.link_dir.as_deref())
        .unwrap_or(&cudnn.root);
    if let Some(header) = &cudnn.files.unreadable {
        let dir = quoted(&header.parent().unwrap_or(header).to_string_lossy());
        let headline = format!(
            "the headers of the cuDNN{release} at `{}` may not be read by this user",
            cudnn.root.display()
        );
        return Finding::error(FindingId::CudnnHeadersMissing, headline)
            .with("found via", format!("{via}: {}", header.display()))
            .help(format!(
                "let everybody read them: `sudo chmod -R a+rX {dir}`"
            ))
            .help("or set CUDNN_INCLUDE_DIR to a directory that holds cudnn.h and may be read");
    }
    let headline = match &cudnn.files.mute {
        Some(header) => mute(header, &release),
        None => format!(
            "cuDNN{release} at `{}` has libraries and no headers",
            cudnn.root.display()
        ),
    };
    let mut finding = Finding::error(FindingId::CudnnHeadersMissing, headline)
        .with("found via", format!("{via}: {}", library.display()));
    if nvidia_image::is_without_cudnn_headers(env) {
        finding = finding.help(nvidia_image::build_in("cudnn-devel"));
    }
    // Debian 8.x packages are for one CUDA each, without its number in the name.
    let dev = |kind: &str| match major {
        9.. => format!("libcudnn{major}-{kind}-cuda-{flavour}"),
        _ => format!("libcudnn{major}-{kind}"),
    };
    let path = library.to_string_lossy();
    let at = |part: &str| path.contains(part);
    let wheels = [
        ("nvidia/cudnn", "nvidia-cudnn"),
        ("nvidia/cudnn_jit", "nvidia-cudnn-jit"),
    ];
    let wheel = wheels.iter().find(|(dir, _)| cudnn.root.ends_with(dir));
    let install = if let Some((_, wheel)) = wheel {
        format!("install the wheel again: `pip install --force-reinstall {wheel}-cu{flavour}`")
    } else if is_conda {
        format!("install them: `conda install -c conda-forge cudnn cuda-version={flavour}`")
    } else if at("/usr/lib/") && at("-linux-gnu") {
        format!("install `{}`", dev("dev"))
    } else if at("/usr/lib64") {
        format!("install `{}`", dev("devel"))
    } else {
        format!(
            "copy `include/cudnn*.h` from the archive of that release into `{}`",
            cudnn.root.join("include").display()
        )
    };
    let told_by = match cudnn.files.mute {
        Some(_) => "cudnn_version.h",
        None => "cudnn.h",
    };
    finding.help(install).help(format!(
        "or set CUDNN_INCLUDE_DIR to the directory that holds {told_by}"
    ))
}

/// From cuDNN 8 on `cudnn.h` includes the header that tells the release.
fn mute(header: &Path, release: &str) -> String {
    let beside = match header.ends_with("cudnn.h") {
        true => ", nor is `cudnn_version.h` beside it",
        false => "",
    };
    format!(
        "the headers of cuDNN{release} are not whole: no CUDNN_MAJOR is in `{}`{beside}",
        header.display()
    )
}

/// 9 of `…/libcudnn.so.9`.
fn major_of(library: Option<&Path>) -> u32 {
    let major = library.and_then(|library| LibraryName::of(library)?.major());
    major.unwrap_or(9)
}

pub fn linkable(candidate: &Candidate) -> bool {
    !matches!(&candidate.found, Found::Cudnn(cudnn) if cudnn.link_dir.is_none())
}

/// The package of a cuDNN.
pub fn owner(candidate: &Candidate) -> Option<&Owner> {
    candidate.cudnn()?.owner.as_deref()
}
