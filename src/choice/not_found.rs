//! The finding for a kind of which nothing can be used.

use crate::choice::findings::CheckContext;
use crate::choice::incomplete_toolkit::packages;
use crate::choice::message_format::{also, contents, is_gone, named, variable, with_alternatives};
use crate::choice::pair::{defect, is_offered};
use crate::cudnn::nvidia_image;
use crate::model::candidate::Candidate;
use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::kind::Kind;
use crate::model::owner::{Installer, Owner};
use crate::model::platform::{Os, Platform};
use crate::model::rejection::Rejection;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::majors;
use crate::runtime::facts::version::Version;
use crate::search::search_step::{Place, Step, directories};
use crate::system::files;
use std::path::Path;

/// More directories than this that were found in one way are counted, not listed.
const MANY: usize = 4;

impl CheckContext<'_> {
    pub(super) fn not_found(&self, kind: Kind, found: &[&Candidate]) -> Finding {
        let id = match kind {
            Kind::Toolkit => FindingId::CudaNotFound,
            Kind::Cudnn => FindingId::CudnnNotFound,
        };
        let product = kind.product();
        let mut cudnns = found.iter().filter_map(|one| one.cudnn());
        let obstructed = cudnns.find_map(|one| Some((one, one.files.obstacle.as_ref()?)));
        let emptied = self.emptied_wheel(kind);
        let foreign = self.foreign(found);
        let cpu = &self.platform.cpu;
        let finding = match (obstructed, foreign, emptied) {
            (Some((_, obstacle)), ..) => {
                Finding::error(id, format!("no {product} can be used: {obstacle}"))
            }
            (_, Some((one, theirs)), _) => {
                let headline = format!(
                    "{} is for {theirs}, and this build is for {cpu}",
                    named(one)
                );
                Finding::error(FindingId::WrongArchitecture, headline)
            }
            (.., Some((owner, root))) => {
                let root = root.display();
                let headline = format!(
                    "no {product} can be used: the files of the {owner} are not in `{root}`"
                );
                Finding::error(id, headline)
            }
            _ => Finding::error(id, format!("no {product} was found")),
        };
        let finding = finding.with_lines("also found", found.iter().map(|one| also(one)));
        let finding = finding.with_lines("looked at", self.looked_at(kind));
        let mut finding = finding.with_lines("left out", self.left_out(kind));
        if self.platform.os == Os::Other {
            return finding
                .help(format!(
                    "build for Linux with glibc or for Windows: NVIDIA ships no {product} for {}",
                    self.platform.triple
                ))
                .help("or call `.optional()` in build.rs, to build without");
        }
        let mut help = Vec::new();
        help.extend(obstructed.map(|(one, met)| met.help(one.files.unlinked.is_some())));
        let silent = self.scan.left_out.iter().filter(|one| one.kind == kind);
        help.extend(silent.filter_map(|one| one.help.clone()));
        let variable = variable(kind);
        let contents = contents(kind, self.platform.os, self.requirements.of(kind));
        help.extend(foreign.map(|_| {
            format!("install a {product} for {cpu}, and set {variable} to its directory")
        }));
        help.extend(emptied.map(|(owner, _)| {
            let (name, version) = (&owner.name, &owner.version);
            format!("bring them back: `pip install --force-reinstall --no-deps {name}=={version}`")
        }));
        let image = nvidia_image::without_headers(self.env);
        if let Some(image) = &image {
            let told = format!("{}, by {}", image.name, image.told_by);
            finding = finding.with("image", told);
            help.push(nvidia_image::build_in(match kind {
                Kind::Toolkit => "devel",
                Kind::Cudnn => "cudnn-devel",
            }));
        }
        let toolkits = found.iter().filter_map(|one| Some((one, one.toolkit()?)));
        let mut runtimes = toolkits.filter(|(_, toolkit)| toolkit.is_runtime());
        if let Some((candidate, toolkit)) = runtimes.next() {
            let packages = packages(candidate, toolkit, &toolkit.lacks(), self.platform.os);
            help.push(format!("install {packages}, which a build needs"));
            if image.is_none() {
                help.push(
                    "build in NVIDIA's `-devel` image, in a container: its `-runtime` image is for running alone".into(),
                );
            }
        }
        help.extend(self.modules(kind));
        // What LD_LIBRARY_PATH leads to may hold all that a build needs.
        let mut led_to = found.iter().filter(|one| one.via == FoundVia::LibraryPath);
        let led_to = led_to.find(|one| is_offered(one, self.platform));
        let set = match led_to {
            Some(one) => {
                let root = one.root().display();
                format!(
                    "set {variable} to `{root}`, to build with what {} leads to",
                    one.via
                )
            }
            None => format!("set {variable} to the directory that holds {contents}"),
        };
        let fetch = self.fetch("without root");
        let last = match self.install(kind) {
            _ if led_to.is_some() || !self.is_native() => vec![set, fetch],
            Some(command) => vec![command, set, fetch],
            None => vec![fetch, set],
        };
        help.extend(last);
        with_alternatives(finding, help)
    }

    /// Returns the `cudnn-guard fetch` command that installs both: for the toolkit that was found, and as the requirements
    /// demand. By default, `fetch` installs the newest that the driver supports.
    pub(super) fn fetch(&self, place: &str) -> String {
        let found = self.best(Kind::Toolkit).and_then(Candidate::version);
        let asked = |kind| self.requirements.of(kind)?.to_fetch(kind);
        let cudnn = asked(Kind::Cudnn);
        let cuda = match found.map(|toolkit| toolkit.major) {
            Some(major @ (11 | 12)) => Some(major.to_string()),
            // The wheels of cuDNN 8 end with CUDA 12.
            _ if cudnn.as_ref().is_some_and(|asked| asked.starts_with('8')) => {
                asked(Kind::Toolkit).or_else(|| Some("12".into()))
            }
            Some(_) => None,
            None => asked(Kind::Toolkit),
        };
        let option = |name: &str, value: Option<String>| {
            value.map_or(String::new(), |value| format!(" --{name} {value}"))
        };
        format!(
            "run `cudnn-guard fetch{}{}` (from `cargo install --path . --features cli` in a clone of cudnn-guard), which installs CUDA and \
             cuDNN {place}",
            option("cuda", cuda),
            option("cudnn", cudnn)
        )
    }

    /// Returns the help that installs a cuDNN for the toolkit that was found, if an environment is active or NVIDIA's
    /// packages are known.
    fn install(&self, kind: Kind) -> Option<String> {
        let cuda = self.best(Kind::Toolkit)?.version()?.major;
        let (installer, into) = match kind {
            Kind::Toolkit => return None,
            _ if self.env.get(Variable::VirtualEnv).is_some() => {
                (Installer::Pip, "into the active environment")
            }
            _ if self.env.get(Variable::CondaPrefix).is_some() => {
                (Installer::Conda, "into the active environment")
            }
            _ if self.has_nvidia_packages() => (Installer::Apt, "from NVIDIA's packages"),
            _ => return None,
        };
        let command = self.install_command(installer, cuda)?;
        Some(format!("install it {into}: `{command}`"))
    }

    /// Returns the command that installs a cuDNN for this CUDA that meets the requirement.
    pub(super) fn install_command(&self, installer: Installer, cuda: u32) -> Option<String> {
        let asked = self.requirements.of(Kind::Cudnn);
        let from = asked.map_or(Version::new(0, 0, 0), |asked| asked.from);
        installer.install_cudnn(cuda, from, asked.and_then(|asked| asked.below))
    }

    /// Returns `true` if apt has NVIDIA's package lists, which `cuda-keyring` installs.
    fn has_nvidia_packages(&self) -> bool {
        let base = self.steps.iter().find_map(|step| match &step.place {
            Place::Tree(tree) if tree.base.ends_with("usr") => tree.base.parent(),
            _ => None,
        });
        let lists = base.map(|root| root.join("etc/apt/sources.list.d"));
        let is_list = |name: &str| name.starts_with("cuda-") && name.ends_with(".list");
        lists.is_some_and(|dir| {
            files::list_named(&dir, &is_list).is_ok_and(|lists| !lists.is_empty())
        })
    }

    /// Returns `true` if the build can use what is installed on this machine.
    fn is_native(&self) -> bool {
        let host = self.env.var("HOST").map(Platform::from_triple);
        let is_same = |host: Platform| host.cpu == self.platform.cpu;
        self.platform.os == Os::Linux && host.is_none_or(is_same)
    }

    /// Returns a wheel of cuDNN of which only pip's record is left, and the directory of its files.
    fn emptied_wheel(&self, kind: Kind) -> Option<(&Owner, &Path)> {
        let cudnns = self.scan.candidates.iter().filter_map(Candidate::cudnn);
        let mut cudnns = cudnns.filter(|one| kind == Kind::Cudnn && one.library.is_none());
        cudnns.find_map(|one| {
            let owner = one.owner.as_deref()?;
            (owner.installer == Installer::Pip).then_some((owner, &*one.root))
        })
    }

    /// Returns the first library, with its CPU, if all libraries that were found are for other CPUs.
    fn foreign<'a>(&self, found: &[&'a Candidate]) -> Option<(&'a Candidate, &'static str)> {
        let has_library = |one: &&&Candidate| one.cudnn().is_some_and(|one| one.library.is_some());
        let cpu = |one: &Candidate| match defect(one, self.platform) {
            Some(Rejection::OtherCpu(cpu)) => Some(cpu),
            _ => None,
        };
        let mut libraries = found.iter().filter(has_library);
        let first = libraries.next()?;
        let theirs = cpu(first)?;
        libraries
            .all(|one| cpu(one).is_some())
            .then_some((*first, theirs))
    }

    /// Returns the places that were searched, a line each: a path, or the number of directories.
    fn looked_at(&self, kind: Kind) -> Vec<String> {
        let mut looked: Vec<(&FoundVia, String)> = Vec::new();
        for step in self.steps.iter().filter(|step| step.kind == kind) {
            let via = &step.via;
            // The first of all directories above the crate's own stands for the rest.
            let is_above = via.is_inactive() && looked.iter().any(|(known, _)| *known == via);
            if is_above || matches!(step.place, Place::Copy(..)) {
                continue;
            }
            let count = self.directories(step);
            let place = if *via == FoundVia::EnvironmentOnPath || count > MANY {
                directories(count)
            } else {
                step.whereabouts()
            };
            if !looked.contains(&(via, place.clone())) {
                looked.push((via, place));
            }
        }
        // `…/nvidia` says enough of `…/nvidia/cu*`.
        let is_within = |(via, place): &&(&FoundVia, String)| {
            let up = Path::new(place).parent();
            let is_up = |other: &String| up == Some(Path::new(other));
            place.ends_with("cu*") && looked.iter().any(|(other, dir)| other == via && is_up(dir))
        };
        let mut lines = Vec::new();
        for one in looked.iter().filter(|one| !is_within(one)) {
            lines.push(format!("{}: {}", one.0, one.1));
        }
        lines
    }

    /// Returns the places that a compiler or a record points to and that could not be used, a line each.
    fn left_out(&self, kind: Kind) -> Vec<String> {
        let mut lines = Vec::new();
        for one in self.scan.left_out.iter().filter(|one| one.kind == kind) {
            lines.push(one.reason.clone());
        }
        for one in self.scan.candidates.iter().filter(|one| one.kind() == kind) {
            if is_gone(one) && one.rejected != Some(Rejection::Emptied) {
                let root = one.root().display();
                let via = &one.via;
                lines.push(format!("{via} leads to `{root}`, which is not there"));
            }
        }
        if kind == Kind::Cudnn {
            lines.extend(self.libraries_for_other_cpu());
        }
        lines
    }

    /// Returns a line for each library of cuDNN that distributions and NVIDIA's packages for cross building keep in a
    /// directory of its own for the other CPU.
    fn libraries_for_other_cpu(&self) -> Vec<String> {
        let cpu = match (self.platform.os, &*self.platform.cpu) {
            (Os::Linux, "x86_64") => "aarch64",
            (Os::Linux, "aarch64") => "x86_64",
            _ => return Vec::new(),
        };
        let other = Platform::from_triple(&format!("{cpu}-unknown-linux-gnu"));
        let mut dirs = vec![Path::new("lib").join(other.multiarch())];
        for target in other.toolkit_targets() {
            dirs.push(Path::new("targets").join(target).join("lib"));
        }
        let mut lines = Vec::new();
        for step in self.steps.iter().filter(|step| step.kind == Kind::Cudnn) {
            let Place::Tree(tree) = &step.place else {
                continue;
            };
            for dir in &dirs {
                for major in majors::CUDNN {
                    let file = tree.shown().join(dir).join(other.cudnn_library(*major));
                    let line = format!("`{}` is for {cpu}", file.display());
                    if files::is_file(&file) && !lines.contains(&line) {
                        lines.push(line);
                    }
                }
            }
        }
        lines
    }

    /// Returns the number of directories that were searched for the same reason.
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

    /// Returns the command for modules or Spack. Only they know where their packages are: loading one sets the variables.
    fn modules(&self, kind: Kind) -> Option<String> {
        let name = kind.name();
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
