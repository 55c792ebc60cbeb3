//! What is thought of the choice.

use super::choose::{Choice, has_library, is_usable, kind_of, other_cpu, unfit_path, version_of};
use super::image;
use super::partial::packages;
use super::requirement::Requirement;
use super::skew;
use super::step::{Kind, Place, Step};
use super::wording::{
    NOT_ACTIVE, also, brief, found_via, is_gone, landmark, named, product, root_of,
};
use crate::model::candidate::{Candidate, Cudnn, Found};
use crate::model::env::{Env, Variable};
use crate::model::finding::Finding;
use crate::model::owner::Owner;
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
                    Some(headers_missing(cudnn, &candidate.via, self.env))
                }
                _ => None,
            };
        }
        if let (Kind::Toolkit, Some(_)) = (kind, self.choice.misfit) {
            return self.misfit();
        }
        let of_kind = |candidate: &&Candidate| kind_of(candidate) == kind && !is_gone(candidate);
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
        let wished = found.first().filter(|first| first.wish.is_some());
        if let Some((first, Found::Cudnn(cudnn))) = wished.map(|first| (first, &first.found)) {
            if cudnn.flaw().is_some() {
                return skew::unusable(cudnn, found_via(first), &first.via);
            }
        }
        let unmet = |candidate: &&&Candidate| {
            version_of(candidate)
                .zip(requirement)
                .is_some_and(|(version, asked)| !asked.admits(version))
        };
        let bare = |candidate: &&&Candidate| {
            self.platform.os == Os::Windows && !linkable(candidate) && has_library(candidate)
        };
        if let Some(first) = found
            .first()
            .filter(|first| !linkable(first) && first.wish.is_some())
        {
            return match first.wish {
                Some(variable) if !has_library(first) => Some(self.no_library(variable)),
                _ => Some(no_import_library(first)),
            };
        }
        let mut usable = found.iter().filter(|candidate| is_usable(candidate));
        match (usable.find(unmet), found.iter().find(bare), requirement) {
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
        let finding = match install.filter(|_| better.is_none()) {
            Some(command) => finding.help(format!("run `{command}`")),
            None => finding,
        };
        let finding = match (better, first.wish) {
            (Some(better), _) => {
                let activate = if better.via.ends_with(NOT_ACTIVE) {
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

    fn not_found(&self, kind: Kind, found: &[&Candidate]) -> Finding {
        let (id, product) = match kind {
            Kind::Toolkit => ("cuda-not-found", "CUDA toolkit"),
            Kind::Cudnn => ("cudnn-not-found", "cuDNN"),
        };
        let mut looked: Vec<String> = Vec::new();
        for step in self.steps.iter().filter(|step| step.kind == kind) {
            let line = format!("{}: {}", step.via, step.whereabouts());
            // Of all directories above the crate's own, the first stands for the rest.
            let beside = step.via.ends_with(NOT_ACTIVE)
                && looked.iter().any(|known| known.starts_with(&step.via));
            if !looked.contains(&line) && !beside && !matches!(step.place, Place::Copy(..)) {
                looked.push(line);
            }
        }
        // `…/nvidia` says enough of `…/nvidia/cu*`.
        let all = looked.clone();
        looked.retain(|line| {
            let above = line.strip_suffix("/cu*");
            above.is_none_or(|above| !all.iter().any(|other| other == above))
        });
        let mut finding = Finding::error(id, format!("no {product} was found"));
        if !found.is_empty() {
            let lines: Vec<String> = found.iter().map(|candidate| also(candidate)).collect();
            finding = finding.with("also found", lines.join("\n"));
        }
        if !looked.is_empty() {
            finding = finding.with("looked at", looked.join("\n"));
        }
        let gone = self.candidates.iter().filter(|one| kind_of(one) == kind);
        let gone = gone.filter(|one| is_gone(one)).map(|one| {
            let root = root_of(one).display();
            format!("{} leads to `{root}`, which is not there", one.via)
        });
        let silent = self.silent.iter().filter(|_| kind == Kind::Toolkit);
        let silent = silent.map(|one| one.summary.clone());
        let left_out: Vec<String> = silent.chain(gone).collect();
        if !left_out.is_empty() {
            finding = finding.with("left out", left_out.join("\n"));
        }
        if self.platform.os == Os::Other {
            return finding
                .help(format!(
                    "build for Linux with glibc or for Windows: NVIDIA ships no {product} for {}",
                    self.platform.triple
                ))
                .help("or call `.optional()` in build.rs, to build without");
        }
        let runtime = found.iter().find_map(|candidate| match &candidate.found {
            Found::Toolkit(toolkit) if toolkit.is_runtime() => Some((candidate, toolkit)),
            _ => None,
        });
        let mut help = Vec::new();
        let image = image::without_headers(self.env);
        if let Some(image) = &image {
            let told = format!("{}, by {}", image.name, image.told_by);
            finding = finding.with("image", told);
            help.push(image::build_in(match kind {
                Kind::Toolkit => "devel",
                Kind::Cudnn => "cudnn-devel",
            }));
        }
        if let Some((candidate, toolkit)) = runtime {
            let packages = packages(candidate, toolkit, &toolkit.lacks(), self.platform.os);
            help.push(format!("install {packages}, which a build needs"));
            if image.is_none() {
                help.push(
                    "build in NVIDIA's `-devel` image, in a container: its `-runtime` image is for running alone".into(),
                );
            }
        }
        help.extend(self.modules(kind));
        let (variable, contents) = landmark(kind, self.platform.os);
        help.push(format!(
            "set {variable} to the directory that holds {contents}"
        ));
        help.push(
            "run `cudnn-guard fetch` (from `cargo install cudnn-guard --features cli`), which installs CUDA and cuDNN \
             without root"
                .into(),
        );
        for (index, help) in help.into_iter().enumerate() {
            let or = if index == 0 { "" } else { "or " };
            finding = finding.help(format!("{or}{help}"));
        }
        finding
    }

    /// Modules and Spack keep their packages where only they know: loading one sets the variables.
    fn modules(&self, kind: Kind) -> Option<String> {
        let name = match kind {
            Kind::Toolkit => "cuda",
            Kind::Cudnn => "cudnn",
        };
        let is_set = |variable| self.env.named(variable).is_some();
        if is_set("MODULESHOME") || is_set("LMOD_CMD") {
            Some(format!(
                "load its module first: `module avail {name}` lists them"
            ))
        } else if is_set("SPACK_ROOT") {
            Some(format!("load it first: `spack load {name}`"))
        } else {
            None
        }
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
            .filter(|other| !is_gone(other))
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
        if let Some(owner) = owner(cudnn) {
            finding = finding.with("owner", owner);
        }
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

fn headers_missing(cudnn: &Cudnn, via: &str, env: &Env) -> Finding {
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
    let mut finding = Finding::error(
        "cudnn-headers-missing",
        format!(
            "cuDNN{release} at `{}` has libraries and no headers",
            cudnn.root.display()
        ),
    )
    .with("found via", format!("{via}: {}", library.display()));
    if image::is_without_cudnn_headers(env) {
        finding = finding.help(image::build_in("cudnn-devel"));
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
    finding
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

/// The package of a cuDNN.
fn owner(candidate: &Candidate) -> Option<&Owner> {
    match &candidate.found {
        Found::Cudnn(cudnn) => cudnn.owner.as_deref(),
        Found::Toolkit(_) => None,
    }
}
