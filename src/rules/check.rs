//! What is thought of the choice.

use super::choose::{Choice, has_library, kind_of, other_cpu, unfit_path, version_of};
use super::requirement::Requirement;
use super::step::{Kind, Step};
use super::wording::{also, brief, found_via, landmark, named, product, root_of};
use crate::model::candidate::{Candidate, Cudnn, Found};
use crate::model::env::Env;
use crate::model::finding::Finding;
use crate::model::platform::{Os, Platform};
use std::path::Path;

/// All that is known when the choice is made.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The environment.
    pub env: &'a Env,
    /// The system that is built for.
    pub platform: &'a Platform,
    /// Where was looked.
    pub steps: &'a [Step],
    /// What was found, with what became of it.
    pub candidates: &'a [Candidate],
    /// Why a compiler on PATH could not be asked about its toolkit.
    pub silent: &'a [Finding],
    /// What was chosen.
    pub choice: Choice,
    /// What is asked of the toolkit.
    pub cuda: Option<&'a Requirement>,
    /// What is asked of cuDNN.
    pub cudnn: Option<&'a Requirement>,
}

impl Situation<'_> {
    /// Why there is nothing of this kind to use, or what is missing in what there is. None if all is well.
    pub fn fault(&self, kind: Kind) -> Option<Finding> {
        let chosen = match kind {
            Kind::Toolkit => self.choice.toolkit,
            Kind::Cudnn => self.choice.cudnn,
        };
        if let Some(candidate) = chosen.and_then(|index| self.candidates.get(index)) {
            return match &candidate.found {
                Found::Cudnn(cudnn) if cudnn.header.is_none() => {
                    Some(headers_missing(cudnn, &candidate.via))
                }
                _ => None,
            };
        }
        if let (Kind::Toolkit, Some(_)) = (kind, self.choice.misfit) {
            return self.misfit();
        }
        let of_kind = |candidate: &&Candidate| kind_of(candidate) == kind;
        let mut found: Vec<&Candidate> = self.candidates.iter().filter(of_kind).collect();
        // What was asked for by name speaks first, then the order of the search.
        found.sort_by_key(|candidate| candidate.wish.is_none());
        let requirement = match kind {
            Kind::Toolkit => self.cuda,
            Kind::Cudnn => self.cudnn,
        };
        // Of what nobody asked for, that of another processor is as good as none.
        if let Some((first, cpu)) = found
            .first()
            .filter(|first| first.wish.is_some())
            .and_then(|first| Some((first, other_cpu(first, self.platform)?)))
        {
            return Some(self.other_processor(first, cpu));
        }
        if let Some((variable, what)) = found
            .first()
            .and_then(|first| Some((first.wish?, unfit_path(first)?)))
        {
            return Some(self.unfit(variable, what));
        }
        let unmet = |candidate: &&&Candidate| {
            version_of(candidate)
                .zip(requirement)
                .is_some_and(|(version, asked)| !asked.admits(version))
        };
        let bare = |candidate: &&&Candidate| !linkable(candidate) && has_library(candidate);
        if let Some(first) = found
            .first()
            .filter(|first| !linkable(first) && first.wish.is_some())
        {
            return match first.wish {
                Some(variable) if !has_library(first) => Some(self.no_library(variable)),
                _ => Some(no_import_library(first)),
            };
        }
        match (
            found.iter().find(unmet),
            found.iter().find(bare),
            requirement,
        ) {
            (Some(first), _, Some(asked)) => Some(self.unmet(kind, first, &found, asked)),
            (_, Some(first), _) => Some(no_import_library(first)),
            _ => Some(self.not_found(kind, &found)),
        }
    }

    fn other_processor(&self, candidate: &Candidate, cpu: &str) -> Finding {
        let wanted = &self.platform.cpu;
        let headline = format!(
            "{} is for {cpu}, and this build is for {wanted}",
            named(candidate)
        );
        Finding::error("wrong-architecture", headline)
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
                "cuda-requirement-unmet",
            ),
            Kind::Cudnn => ("cuDNN", "cudnn", "CUDNN_PATH", "cudnn-requirement-unmet"),
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
        let finding = match (better, first.wish) {
            (Some(better), _) => {
                finding.help(format!("set {variable} to `{}`", root_of(better).display()))
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

    fn not_found(&self, kind: Kind, found: &[&Candidate]) -> Finding {
        let (id, product) = match kind {
            Kind::Toolkit => ("cuda-not-found", "CUDA toolkit"),
            Kind::Cudnn => ("cudnn-not-found", "cuDNN"),
        };
        let mut looked: Vec<String> = Vec::new();
        for step in self.steps.iter().filter(|step| step.kind == kind) {
            let line = format!("{}: {}", step.via, step.whereabouts());
            if !looked.contains(&line) {
                looked.push(line);
            }
        }
        let mut finding = Finding::error(id, format!("no {product} was found"));
        if !found.is_empty() {
            let lines: Vec<String> = found.iter().map(|candidate| also(candidate)).collect();
            finding = finding.with("also found", lines.join("\n"));
        }
        if !looked.is_empty() {
            finding = finding.with("looked at", looked.join("\n"));
        }
        if kind == Kind::Toolkit && !self.silent.is_empty() {
            let silent: Vec<&str> = self.silent.iter().map(|one| &*one.summary).collect();
            finding = finding.with("left out", silent.join("\n"));
        }
        if self.platform.os == Os::Other {
            return finding
                .help(format!(
                    "build for Linux with glibc or for Windows: NVIDIA ships no {product} for {}",
                    self.platform.triple
                ))
                .help("or call `.optional()` in build.rs, to build without");
        }
        let (variable, contents) = landmark(kind, self.platform.os);
        finding
            .help(format!(
                "set {variable} to the directory that holds {contents}"
            ))
            .help("or run `cudnn-guard fetch`, which installs CUDA and cuDNN without root")
    }

    fn misfit(&self) -> Option<Finding> {
        let (toolkit, cudnn) = self.choice.misfit?;
        let (toolkit, cudnn) = (self.candidates.get(toolkit)?, self.candidates.get(cudnn)?);
        let Found::Cudnn(Cudnn {
            cuda_major: Some(major),
            ..
        }) = &cudnn.found
        else {
            return None;
        };
        let theirs = version_of(toolkit)?.major;
        let others: Vec<String> = self
            .candidates
            .iter()
            .filter(|other| !std::ptr::eq(*other, toolkit) && !std::ptr::eq(*other, cudnn))
            .map(|other| format!("{} {}", product(other), also(other)))
            .collect();
        let mut finding = Finding::error(
            "cuda-flavour-mismatch",
            format!(
                "{} was built for CUDA {major}, and the toolkit is {}",
                named(cudnn),
                named(toolkit)
            ),
        )
        .with(
            "found via",
            format!("{}\n{}", found_via(cudnn), found_via(toolkit)),
        );
        if !others.is_empty() {
            finding = finding.with("also found", others.join("\n"));
        }
        // One that is here already is named.
        let fitting = |kind, asked: Option<&Requirement>| {
            self.candidates.iter().find(|other| {
                let met = |version| asked.is_none_or(|asked| asked.admits(version));
                kind_of(other) == kind
                    && linkable(other)
                    && version_of(other).is_some_and(met)
                    && match &other.found {
                        Found::Toolkit(found) => found.version.map(|one| one.major) == Some(*major),
                        Found::Cudnn(found) => found.cuda_major == Some(theirs),
                    }
            })
        };
        let place = |other: Option<&Candidate>, what: String| match other {
            Some(other) => format!("`{}`", root_of(other).display()),
            None => format!("the directory of {what}"),
        };
        let cudnn = place(
            fitting(Kind::Cudnn, self.cudnn),
            format!("a cuDNN that was built for CUDA {theirs}"),
        );
        let toolkit = place(
            fitting(Kind::Toolkit, self.cuda),
            format!("a toolkit of CUDA {major}"),
        );
        Some(
            finding
                .help(format!("set CUDNN_PATH to {cudnn}"))
                .help(format!("or set CUDA_HOME to {toolkit}")),
        )
    }

    /// That toolkit and cuDNN, both asked for, are for different CUDAs.
    pub fn flavour(&self) -> Option<Finding> {
        self.choice
            .misfit
            .filter(|_| self.choice.toolkit.is_some())?;
        self.misfit()
    }
}

/// The wheels for Windows have none from cuDNN 9 on.
fn no_import_library(candidate: &Candidate) -> Finding {
    let headline = format!(
        "{} has no import library `cudnn.lib`, without which nothing can be linked to it",
        named(candidate)
    );
    let library = match &candidate.found {
        Found::Cudnn(cudnn) => cudnn.library.as_deref(),
        Found::Toolkit(_) => None,
    };
    let library = library.unwrap_or(root_of(candidate)).display();
    Finding::error("cudnn-not-found", headline)
        .with("found via", format!("{}: {library}", candidate.via))
        .help("write `.link(Link::Runtime)` in build.rs, and open cuDNN in the program")
        .help("or set CUDNN_PATH to a cuDNN of NVIDIA's installer or archive, which has one")
}

fn headers_missing(cudnn: &Cudnn, via: &str) -> Finding {
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
    let install = if cudnn.root.ends_with("nvidia/cudnn") {
        format!("install the wheel again: `pip install --force-reinstall nvidia-cudnn-cu{flavour}`")
    } else if major >= 9 {
        format!(
            "install `libcudnn{major}-dev-cuda-{flavour}` (Debian, Ubuntu) or `libcudnn{major}-devel-cuda-{flavour}` (Fedora, RHEL)"
        )
    } else {
        format!(
            "install `libcudnn{major}-dev` (Debian, Ubuntu) or `libcudnn{major}-devel` (Fedora, RHEL)"
        )
    };
    Finding::error(
        "cudnn-headers-missing",
        format!(
            "cuDNN{release} at `{}` has libraries and no headers",
            cudnn.root.display()
        ),
    )
    .with("found via", format!("{via}: {}", library.display()))
    .help(install)
    .help("or set CUDNN_INCLUDE_DIR to the directory that holds cudnn.h")
}

/// 9 of `…/libcudnn.so.9`.
fn major_of(library: Option<&Path>) -> u32 {
    let name = library
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned());
    let major = name.and_then(|name| name.split(".so.").nth(1)?.split('.').next()?.parse().ok());
    major.unwrap_or(9)
}

fn linkable(candidate: &Candidate) -> bool {
    !matches!(&candidate.found, Found::Cudnn(cudnn) if cudnn.link_dir.is_none())
}
