//! That there is nothing to use.

use crate::choice::findings::Situation;
use crate::choice::incomplete_toolkit::packages;
use crate::choice::message_format::{LIBRARY_PATH, NOT_ACTIVE, also, is_gone, landmark, root_of};
use crate::choice::select_pair::{is_whole, kind_of};
use crate::cudnn::nvidia_image;
use crate::model::candidate::{Candidate, Found};
use crate::model::finding::Finding;
use crate::model::platform::Os;
use crate::search::ON_PATH;
use crate::search::search_step::{Kind, Place, Step, directories};
use std::path::Path;

/// More directories than this on one ground are counted, not listed.
const MANY: usize = 4;

impl Situation<'_> {
    pub(super) fn not_found(&self, kind: Kind, found: &[&Candidate]) -> Finding {
        let (id, product) = match kind {
            Kind::Toolkit => ("cuda-not-found", "CUDA toolkit"),
            Kind::Cudnn => ("cudnn-not-found", "cuDNN"),
        };
        let mut looked: Vec<String> = Vec::new();
        for step in self.steps.iter().filter(|step| step.kind == kind) {
            let dirs = self.directories(step);
            let line = match step.via == ON_PATH || dirs > MANY {
                true => format!("{}: {}", step.via, directories(dirs)),
                false => format!("{}: {}", step.via, step.whereabouts()),
            };
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
        let silent = self.left_out.iter().filter(|(of, _)| *of == kind);
        let silent = silent.map(|(_, told)| told.clone());
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
        let image = nvidia_image::without_headers(self.env);
        if let Some(image) = &image {
            let told = format!("{}, by {}", image.name, image.told_by);
            finding = finding.with("image", told);
            help.push(nvidia_image::build_in(match kind {
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
        let mut cudnns = found.iter().filter_map(|one| match &one.found {
            Found::Cudnn(cudnn) => Some(cudnn),
            Found::Toolkit(_) => None,
        });
        if let Some(cudnn) = cudnns.find(|cudnn| cudnn.files.dangling.is_some()) {
            let root = cudnn.root.display();
            help.push(format!(
                "install the cuDNN in `{root}` again: its links lead nowhere"
            ));
        }
        let (variable, contents) = landmark(kind, self.platform.os);
        // What is there for running is whole enough to build with, too.
        let there = found
            .iter()
            .find(|one| one.via == LIBRARY_PATH && is_whole(one));
        help.extend(there.map(|one| {
            let root = root_of(one).display();
            format!("set {variable} to `{root}`, to build with what {LIBRARY_PATH} leads to")
        }));
        if there.is_none() {
            help.push(format!(
                "set {variable} to the directory that holds {contents}"
            ));
        }
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

    /// In how many directories was looked on the same ground.
    fn directories(&self, step: &Step) -> usize {
        let mut dirs: Vec<&Path> = Vec::new();
        for other in self.steps.iter().filter(|other| other.via == step.via) {
            let Place::Tree(tree) = &other.place else {
                continue;
            };
            if !dirs.contains(&&*tree.base) {
                dirs.push(&tree.base);
            }
        }
        dirs.len()
    }

    /// Modules and Spack keep their packages where only they know: loading one sets the variables.
    fn modules(&self, kind: Kind) -> Option<String> {
        let name = match kind {
            Kind::Toolkit => "cuda",
            Kind::Cudnn => "cudnn",
        };
        let is_set = |variable| self.env.os_var(variable).is_some();
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
}
