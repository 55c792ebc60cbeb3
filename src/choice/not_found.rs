//! The finding for a kind of which nothing can be used.

use crate::choice::findings::Situation;
use crate::choice::incomplete_toolkit::packages;
use crate::choice::message_format::{also, is_gone, landmark, root_of};
use crate::choice::select_pair::{is_whole, kind_of};
use crate::cudnn::nvidia_image;
use crate::model::candidate::{Candidate, Found};
use crate::model::found_via::FoundVia;
use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::search::search_step::{Kind, Place, Step, directories};
use std::path::Path;

/// More directories than this that were found in one way are counted, not listed.
const MANY: usize = 4;

/// A place that was looked at, for messages.
#[derive(PartialEq)]
struct Looked<'a> {
    via: &'a FoundVia,
    /// Its path, or how many there are.
    place: String,
}

impl Situation<'_> {
    pub(super) fn not_found(&self, kind: Kind, found: &[&Candidate]) -> Finding {
        let (id, product) = match kind {
            Kind::Toolkit => (FindingId::CudaNotFound, "CUDA toolkit"),
            Kind::Cudnn => (FindingId::CudnnNotFound, "cuDNN"),
        };
        let mut finding = Finding::error(id, format!("no {product} was found"));
        for (key, lines) in [
            ("also found", found.iter().map(|one| also(one)).collect()),
            ("looked at", self.looked_at(kind)),
            ("left out", self.left_out(kind)),
        ] {
            if !lines.is_empty() {
                finding = finding.with(key, lines.join("\n"));
            }
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
        let mut cudnns = found.iter().filter_map(|one| one.cudnn());
        if let Some(cudnn) = cudnns.find(|cudnn| cudnn.files.dangling.is_some()) {
            let root = cudnn.root.display();
            help.push(format!(
                "install the cuDNN in `{root}` again: its links lead nowhere"
            ));
        }
        let (variable, contents) = landmark(kind, self.platform.os);
        // What LD_LIBRARY_PATH leads to may hold all that a build needs.
        let there = found
            .iter()
            .find(|one| one.via == FoundVia::LibraryPath && is_whole(one));
        help.extend(there.map(|one| {
            let root = root_of(one).display();
            format!(
                "set {variable} to `{root}`, to build with what {} leads to",
                one.via
            )
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

    /// The places that were looked at, a line each.
    fn looked_at(&self, kind: Kind) -> Vec<String> {
        let mut looked: Vec<Looked> = Vec::new();
        for step in self.steps.iter().filter(|step| step.kind == kind) {
            let via = &step.via;
            // The first of all directories above the crate's own stands for the rest.
            let is_above = via.is_inactive() && looked.iter().any(|known| known.via == via);
            if is_above || matches!(step.place, Place::Copy(..)) {
                continue;
            }
            let count = self.directories(step);
            let place = if *via == FoundVia::EnvironmentOnPath || count > MANY {
                directories(count)
            } else {
                step.whereabouts()
            };
            let line = Looked { via, place };
            if !looked.contains(&line) {
                looked.push(line);
            }
        }
        // `…/nvidia` says enough of `…/nvidia/cu*`.
        let is_within = |one: &Looked| {
            let place = Path::new(&one.place);
            let mut others = looked.iter().filter(|other| other.via == one.via);
            place.ends_with("cu*")
                && others.any(|other| place.parent() == Some(Path::new(&other.place)))
        };
        let shown = looked.iter().filter(|one| !is_within(one));
        shown
            .map(|one| format!("{}: {}", one.via, one.place))
            .collect()
    }

    /// What a compiler or a record led to and what could not be used, a line each.
    fn left_out(&self, kind: Kind) -> Vec<String> {
        let gone = self.candidates.iter().filter(|one| kind_of(one) == kind);
        let gone = gone.filter(|one| is_gone(one)).map(|one| {
            let root = root_of(one).display();
            format!("{} leads to `{root}`, which is not there", one.via)
        });
        let silent = self.left_out.iter().filter(|(of, _)| *of == kind);
        let silent = silent.map(|(_, told)| told.clone());
        silent.chain(gone).collect()
    }

    /// How many directories were looked at for the same reason.
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

    /// The command for modules or Spack. They alone know where their packages are: loading one sets the variables.
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
