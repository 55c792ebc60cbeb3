//! What is wrong with the choice: why a kind is missing, or what the chosen one lacks.

use crate::choice::message_format::{also, brief, found_via, is_gone, named, variable};
use crate::choice::pair::{Choice, defect, is_offered};
use crate::choice::requirement::{Requirement, Requirements};
use crate::cudnn::{consistency, nvidia_image};
use crate::model::candidate::{Candidate, Cudnn};
use crate::model::environment::{Environment, Variable};
use crate::model::found_via::FoundVia;
use crate::model::kind::Kind;
use crate::model::owner::Owner;
use crate::model::platform::{Os, Platform};
use crate::model::rejection::Rejection;
use crate::reading::Scan;
use crate::runtime::facts::finding::{Finding, quoted};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::majors;
use crate::search::search_step::Step;
use std::path::Path;

/// All that is known when the choice is made.
#[derive(Clone, Debug)]
pub struct CheckContext<'a> {
    pub env: &'a Environment,
    /// The system that is built for.
    pub platform: &'a Platform,
    /// The places that were searched.
    pub steps: &'a [Step],
    /// The candidates, each with the result of the choice.
    pub scan: &'a Scan,
    pub choice: &'a Choice,
    /// The requirements of the build script.
    pub requirements: &'a Requirements,
    /// The finding if nvcc and the headers of the best toolkit have different versions.
    pub skew: Option<Finding>,
}

impl CheckContext<'_> {
    /// Returns the best of this kind, even if it may not be used.
    pub fn best(&self, kind: Kind) -> Option<&Candidate> {
        self.scan.candidates.get(self.choice.of(kind)?)
    }

    /// Returns why there is nothing of this kind to use, or what is missing in what there is. None if all is well.
    pub fn fault(&self, kind: Kind) -> Option<Finding> {
        match self.best(kind) {
            Some(best) => match best.cudnn() {
                Some(cudnn) if cudnn.header.is_none() || cudnn.files.missing_header.is_some() => {
                    Some(headers_missing(cudnn, &best.via, self.env))
                }
                _ => self.let_pass(kind, best),
            },
            None if kind == Kind::Toolkit && self.choice.misfit.is_some() => self.misfit(),
            None => Some(self.none_usable(kind)),
        }
    }

    /// Returns the finding if the best candidate does not meet the requirement, which is allowed.
    fn let_pass(&self, kind: Kind, chosen: &Candidate) -> Option<Finding> {
        let (asked, version) = (self.requirements.of(kind)?, chosen.version()?);
        (!asked.admits(version)).then(|| self.unmet(kind, chosen, &[], asked))
    }

    /// Returns why nothing of this kind was chosen.
    fn none_usable(&self, kind: Kind) -> Finding {
        let of_kind = |one: &&Candidate| one.kind() == kind && !is_gone(one);
        let found = self.scan.candidates.iter().filter(of_kind);
        // What a variable asked for comes first, then the order of the search.
        let (mut found, others): (Vec<_>, Vec<_>) =
            found.partition(|candidate| candidate.request.is_some());
        found.extend(others);
        if let Some((first, by)) = found
            .first()
            .and_then(|first| Some((first, first.request?)))
        {
            if let Some(finding) = self.asked_unusable(first, by) {
                return finding;
            }
        }
        if let Some(asked) = self.requirements.of(kind) {
            let is_unmet = |candidate: &&&Candidate| {
                let version = candidate.version();
                candidate.is_usable() && version.is_some_and(|version| !asked.admits(version))
            };
            if let Some(first) = found.iter().find(is_unmet) {
                return self.unmet(kind, first, &found, asked);
            }
        }
        let is_dll_alone = |one: &&&Candidate| {
            self.platform.os == Os::Windows
                && defect(one, self.platform) == Some(Rejection::NoImportLibrary)
        };
        match found.iter().find(is_dll_alone) {
            Some(first) => no_import_library(first),
            None => self.not_found(kind, &found),
        }
    }

    /// Returns why what this variable asked for cannot be used. Without a variable, a candidate for another CPU, with a
    /// damaged library or without one counts as missing.
    fn asked_unusable(&self, candidate: &Candidate, variable: Variable) -> Option<Finding> {
        match defect(candidate, self.platform)? {
            Rejection::OtherCpu(cpu) => Some(self.other_processor(candidate, cpu)),
            Rejection::UntellablePath(what) => Some(self.unfit(variable, what)),
            Rejection::Damaged(..) => {
                consistency::unusable(candidate.cudnn()?, found_via(candidate), &candidate.via)
            }
            Rejection::NoImportLibrary => Some(no_import_library(candidate)),
            Rejection::Obstructed(obstacle) => {
                Some(self.obstructed(variable, &obstacle, candidate.cudnn()?))
            }
            Rejection::NoLibrary => Some(self.no_library(variable)),
            _ => None,
        }
    }

    fn other_processor(&self, candidate: &Candidate, cpu: &str) -> Finding {
        let wanted = &self.platform.cpu;
        // A variable may name the libraries apart from the headers.
        let root = candidate.root();
        let library = candidate.cudnn().and_then(|cudnn| cudnn.library.as_ref());
        let apart = library.filter(|library| !library.starts_with(root));
        let named = apart.map_or_else(
            || named(candidate),
            |library| format!("`{}`", library.display()),
        );
        let headline = format!("{named} is for {cpu}, and this build is for {wanted}");
        let via = &candidate.via;
        Finding::error(FindingId::WrongArchitecture, headline)
            .with("found via", found_via(candidate))
            .help(format!(
                "set {via} to a directory with a cuDNN for {wanted}"
            ))
    }

    fn unmet(
        &self,
        kind: Kind,
        first: &Candidate,
        found: &[&Candidate],
        asked: &Requirement,
    ) -> Finding {
        let id = match kind {
            Kind::Toolkit => FindingId::CudaRequirementUnmet,
            Kind::Cudnn => FindingId::CudnnRequirementUnmet,
        };
        let product = kind.product();
        let variable = variable(kind);
        let version = first.version().unwrap_or(asked.from);
        let older = version < asked.from;
        let wanted = if older {
            format!("older than the {}", brief(asked.from))
        } else {
            format!("newer than the `{}`", asked.text)
        };
        let headline = format!("{} is {wanted} this crate asks for", named(first));
        let finding = Finding::error(id, headline).with("found via", found_via(first));
        let owner = owner(first);
        let others = found.iter().filter(|other| !std::ptr::eq(**other, first));
        let finding = finding.with_lines("owner", owner);
        let finding = finding.with_lines("also found", others.map(|other| also(other)));
        let text = &asked.text;
        let meets = |other: &&&Candidate| {
            let admits = |one| asked.admits(one);
            is_offered(other, self.platform) && other.version().is_some_and(admits)
        };
        let finding = if let Some(better) = found.iter().find(meets) {
            let activate = match better.via.is_inactive() {
                true => "activate that environment, or ",
                false => "",
            };
            let root = better.root().display();
            finding.help(format!("{activate}set {variable} to `{root}`"))
        } else {
            let install = owner.and_then(|owner| owner.install(asked.from, asked.below));
            let finding = match install {
                Some(command) => finding.help(format!("run `{command}`")),
                None => finding,
            };
            let wanted = format!("a {product} that meets `{text}`");
            finding.help(match first.request {
                Some(_) => format!("set {} to a directory with {wanted}", first.via),
                None => format!("install {wanted}, or set {variable} to the directory of one"),
            })
        };
        let verb = if older { "lower" } else { "raise" };
        let method = kind.name();
        finding.help(format!("or {verb} `.{method}({text:?})` in build.rs"))
    }
}

/// Returns the finding for a cuDNN without import library, such as the wheels for Windows from cuDNN 9 on.
fn no_import_library(candidate: &Candidate) -> Finding {
    let named = named(candidate);
    let headline = format!(
        "{named} has no import library `cudnn.lib`, without which nothing can be linked to it"
    );
    let library = candidate.cudnn().and_then(|cudnn| cudnn.library.as_deref());
    let library = library.unwrap_or(candidate.root()).display();
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
    let flavour = cudnn.cuda_major.unwrap_or(majors::USUAL_CUDA);
    let release = version.map_or_else(String::new, |version| format!(" {version}"));
    let link = cudnn.library.as_ref().or(cudnn.link_dir.as_ref());
    let library = link.unwrap_or(&cudnn.root);
    let root = cudnn.root.display();
    if let Some(header) = &cudnn.files.unreadable {
        let dir = quoted(&header.parent().unwrap_or(header).to_string_lossy());
        let headline =
            format!("the headers of the cuDNN{release} at `{root}` may not be read by this user");
        return Finding::error(FindingId::CudnnHeadersMissing, headline)
            .with("found via", format!("{via}: {}", header.display()))
            .help(format!(
                "let everybody read them: `sudo chmod -R a+rX {dir}`"
            ))
            .help("or set CUDNN_INCLUDE_DIR to a directory that holds cudnn.h and may be read");
    }
    let headline = match (&cudnn.files.mute, &cudnn.files.missing_header) {
        (Some(header), _) => mute(header, &release),
        (None, Some((header, missing))) => format!(
            "the headers of cuDNN{release} are not whole: `{}` includes `{missing}`, which is not there",
            header.display()
        ),
        (None, None) => format!("cuDNN{release} at `{root}` has libraries and no headers"),
    };
    let mut finding = Finding::error(FindingId::CudnnHeadersMissing, headline)
        .with("found via", format!("{via}: {}", library.display()));
    if nvidia_image::is_without_cudnn_headers(env) {
        finding = finding.help(nvidia_image::build_in("cudnn-devel"));
    }
    // 9 of `…/libcudnn.so.9`.
    let in_name = || LibraryName::of(cudnn.library.as_deref()?)?.major();
    let major = version.map(|version| version.major).or_else(in_name);
    let major = major.unwrap_or(majors::NEWEST_CUDNN);
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
        format!("install the headers: `sudo apt install {}`", dev("dev"))
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
    let instead = format!("or set CUDNN_INCLUDE_DIR to the directory that holds {told_by}");
    finding.help(install).help(instead)
}

/// Returns the headline for headers without a version. From cuDNN 8 on, `cudnn.h` includes the header that has it.
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

/// Returns the package of a cuDNN.
pub fn owner(candidate: &Candidate) -> Option<&Owner> {
    candidate.cudnn()?.owner.as_deref()
}
