//! Looks at the places of the search, one after the other.

use crate::choice::select_pair::{Wants, is_met, is_usable, kind_of};
use crate::choice::unusable_variables::{Unusable, unusable};
use crate::cudnn::package_owner;
use crate::loader::shadowing;
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::rejection::Rejection;
use crate::runtime::facts::finding::Finding;
use crate::search::search_step::{Kind, Place, Step, Tree};
use crate::search::{install_layout, pkg_config};
use crate::system::sysroot::Sysroot;
use crate::system::{Host, files};
use crate::{cudnn, toolkit};
use std::path::{Path, PathBuf};

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Everything that was found, in the order of the search.
    pub candidates: Vec<Candidate>,
    /// Variables that name a place where nothing is.
    pub unusable: Vec<Unusable>,
    /// What nobody asked for by name and tells nothing: a compiler, a .pc file. With the reason.
    pub left_out: Vec<(Kind, String)>,
    /// The files that were read, and the records of those who put them there.
    pub read: Vec<PathBuf>,
}

/// Looks at all steps. pkg-config is run only while nothing found before meets what is wanted.
pub fn look(steps: &[Step], host: &Host, wants: &Wants) -> Sight {
    let mut scan = Scan {
        steps,
        host,
        wants,
        sight: Sight::default(),
        keys: Vec::new(),
        failures: Vec::new(),
    };
    for step in steps {
        scan.step(step);
    }
    scan.finish()
}

/// The search while it goes on.
struct Scan<'a> {
    steps: &'a [Step],
    host: &'a Host,
    wants: &'a Wants<'a>,
    sight: Sight,
    /// What makes two finds the same, with how the first was found.
    keys: Vec<(Vec<PathBuf>, FoundVia)>,
    /// Why a compiler that a variable names could not be asked.
    failures: Vec<(Variable, Finding)>,
}

impl Scan<'_> {
    fn step(&mut self, step: &Step) {
        let root = self.host.root.as_deref().filter(|_| step.fixed);
        let eyes = Sysroot { root };
        match &step.place {
            Place::Nvcc(compilers) => self.compiler(step, compilers, eyes),
            Place::Copy(owner, tree) => {
                for top in eyes.expand(&tree.base, &tree.pattern) {
                    let copy = cudnn::bundled_copy(&top, tree, &self.host.platform);
                    if let Some(found) = copy.map(Found::Cudnn) {
                        // The answer does not rest on it, so its files are not noted.
                        let bundled = Rejection::BundledWith(owner);
                        self.sight.add_rejected(found, step.via.clone(), bundled);
                    }
                }
            }
            Place::PkgConfig(dirs) => {
                for file in pkg_config::files(dirs, step.kind) {
                    if is_met(step.kind, &self.sight.candidates, self.wants) {
                        break;
                    }
                    self.package(step, file);
                }
            }
            Place::Tree(tree) => self.tree(step, tree, eyes),
        }
    }

    /// The toolkit of the first of these compilers that there is.
    fn compiler(&mut self, step: &Step, compilers: &[PathBuf], eyes: Sysroot) {
        let Some(compiler) = compilers.iter().find_map(|file| eyes.file(file)) else {
            return;
        };
        if step.wish.is_none() && self.is_known(&compiler, eyes) {
            return;
        }
        // nvcc is run only where its toolkit cannot be read off the directories around it.
        let found = match toolkit::containing(&compiler, self.host) {
            Some(found) => Ok(found),
            None => toolkit::from_nvcc(&compiler, self.host),
        };
        match (found, step.wish) {
            (Ok((toolkit, read)), _) => {
                let root = toolkit.root.clone();
                self.add(step, eyes, Found::Toolkit(toolkit), read);
                self.cudnn_in_toolkit(step, &root, eyes);
            }
            (Err(finding), Some(variable)) => self.failures.push((variable, finding)),
            (Err(finding), None) => self.sight.left_out.push((step.kind, finding.summary)),
        }
    }

    /// Whether this compiler belongs to a toolkit that was found before: it would say the same again.
    fn is_known(&self, compiler: &Path, eyes: Sysroot) -> bool {
        let real = eyes.canonical(compiler);
        let toolkits = self.sight.candidates.iter().filter_map(Candidate::toolkit);
        let mut known = toolkits.filter_map(|toolkit| toolkit.nvcc.as_ref());
        known.any(|nvcc| eyes.canonical(nvcc) == real)
    }

    /// A cuDNN that was copied into a toolkit, as Nix and Spack do.
    fn cudnn_in_toolkit(&mut self, step: &Step, root: &Path, eyes: Sysroot) {
        if root == Path::new("/usr") || !self.looks_for(Kind::Cudnn) {
            return;
        }
        let tree = install_layout::cudnn(&self.host.platform, root, "");
        if let Some((found, read)) = in_tree(Kind::Cudnn, root, &tree, eyes, self.host) {
            let step = Step {
                wish: None,
                ..step.clone()
            };
            self.add(&step, eyes, found, read);
        }
    }

    /// What a .pc file leads to.
    fn package(&mut self, step: &Step, file: PathBuf) {
        let eyes = Sysroot { root: None };
        let tree = match pkg_config::tree(&file, step.kind, self.host) {
            Ok(Some(tree)) => tree,
            Ok(None) => return,
            Err(why) => return self.sight.left_out.push((step.kind, why)),
        };
        let step = Step {
            via: FoundVia::PkgConfig(Some(file.clone())),
            ..step.clone()
        };
        match in_tree(step.kind, &tree.base, &tree, eyes, self.host) {
            Some((found, mut read)) => {
                read.push(file);
                self.add(&step, eyes, found, read);
            }
            None if eyes.dir(&tree.base).is_none() => self.sight.add_gone(&step, tree.base),
            None => {}
        }
    }

    fn tree(&mut self, step: &Step, tree: &Tree, eyes: Sysroot) {
        for top in eyes.expand(&tree.base, &tree.pattern) {
            // Most of the places that nobody asked for do not exist.
            if step.wish.is_none() && eyes.dir(&top).is_none() {
                continue;
            }
            for tree in flavours(&top, tree, eyes) {
                let Some((found, read)) = in_tree(step.kind, &top, &tree, eyes, self.host) else {
                    continue;
                };
                // A runtime alone is no answer to somebody who asked for a toolkit.
                let is_runtime = matches!(&found, Found::Toolkit(found) if found.is_runtime());
                if step.wish.is_none() || !is_runtime {
                    self.add(step, eyes, found, read);
                }
            }
        }
    }

    fn looks_for(&self, kind: Kind) -> bool {
        self.steps.iter().any(|step| step.kind == kind)
    }

    fn add(&mut self, step: &Step, eyes: Sysroot, found: Found, read: Vec<PathBuf>) {
        let key = key(&found, eyes);
        let first = self.keys.iter().find(|(known, _)| *known == key);
        let rejected = first.map(|(_, via)| Rejection::SameAs(via.clone()));
        if rejected.is_some() && step.wish.is_none() {
            return;
        }
        self.sight.note_all(read, eyes);
        let mut records = match &found {
            Found::Cudnn(cudnn) => package_owner::records(&cudnn.root, cudnn.library.as_deref()),
            Found::Toolkit(toolkit) => package_owner::toolkit_records(&toolkit.root),
        };
        if step.fixed && eyes.root.is_none() {
            records.extend(package_owner::alternatives());
        }
        for record in records {
            self.sight.note_read(record);
        }
        self.keys.push((key, step.via.clone()));
        self.sight.candidates.push(Candidate {
            found,
            via: step.via.clone(),
            chosen: false,
            rejected,
            wish: step.wish,
        });
    }

    /// What takes all steps to know: which variables led nowhere, and where else to look for what is missing.
    fn finish(mut self) -> Sight {
        let failures = std::mem::take(&mut self.failures);
        let candidates = &self.sight.candidates;
        self.sight.unusable = unusable(self.steps, candidates, failures, self.host);
        let is_found = |kind| {
            let mut candidates = self.sight.candidates.iter();
            candidates.any(|one| is_usable(one) && kind_of(one) == kind)
        };
        let mut lacking = Kind::BOTH.to_vec();
        lacking.retain(|&kind| self.looks_for(kind) && !is_found(kind));
        if !lacking.is_empty() {
            self.sight
                .read
                .extend(what_an_installation_changes(self.host));
            self.sight.add_where_programs_run(&lacking, self.host);
        }
        self.sight
    }
}

impl Sight {
    /// Notes files, with the names under which a later build would miss them.
    fn note_all(&mut self, read: Vec<PathBuf>, eyes: Sysroot) {
        for path in read {
            let real = eyes.canonical(&path);
            // `/opt/cudnn/lib/libcudnn.so.9.14.0`: no longer there once `/opt/cudnn` leads to another release.
            let versioned = real.file_name().map(|name| path.with_file_name(name));
            self.note_read(path);
            if let Some(versioned) = versioned.filter(|path| files::is_file(path)) {
                self.note_read(versioned);
            }
            self.note_read(real);
        }
    }

    /// Adds what LD_LIBRARY_PATH leads to. It is for programs that run, and most who set it meant the build too.
    fn add_where_programs_run(&mut self, lacking: &[Kind], host: &Host) {
        let eyes = Sysroot { root: None };
        for dir in shadowing::library_path(host) {
            let top = match dir.parent() {
                Some(up) if dir.ends_with("lib") || dir.ends_with("lib64") => up,
                _ => &dir,
            };
            for &kind in lacking {
                let tree = install_layout::usual(kind, &host.platform, top, "");
                let Some((found, _)) = in_tree(kind, top, &tree, eyes, host) else {
                    continue;
                };
                if !self.candidates.iter().any(|one| one.found == found) {
                    self.add_rejected(found, FoundVia::LibraryPath, Rejection::OnLibraryPath);
                }
            }
        }
    }

    /// Adds a directory that was removed by hand and left its record behind.
    fn add_gone(&mut self, step: &Step, root: PathBuf) {
        let found = match step.kind {
            Kind::Toolkit => Found::Toolkit(Toolkit {
                root,
                ..Toolkit::default()
            }),
            Kind::Cudnn => Found::Cudnn(Cudnn {
                root,
                ..Cudnn::default()
            }),
        };
        // NVIDIA's packages have a file for each of their libraries.
        if !self.candidates.iter().any(|known| known.found == found) {
            self.add_rejected(found, step.via.clone(), Rejection::Gone);
        }
    }

    /// Adds what is shown and never chosen.
    fn add_rejected(&mut self, found: Found, via: FoundVia, reason: Rejection) {
        self.candidates.push(Candidate {
            found,
            via,
            chosen: false,
            rejected: Some(reason),
            wish: None,
        });
    }

    fn note_read(&mut self, path: PathBuf) {
        // Text against text: to compare paths part by part takes much longer.
        let same = |known: &PathBuf| known.as_os_str() == path.as_os_str();
        if !self.read.iter().any(same) {
            self.read.push(path);
        }
    }
}

/// What is in a directory, and the files that were read.
pub(super) fn in_tree(
    kind: Kind,
    top: &Path,
    tree: &Tree,
    eyes: Sysroot,
    host: &Host,
) -> Option<(Found, Vec<PathBuf>)> {
    match kind {
        Kind::Toolkit => {
            let (toolkit, read) = toolkit::read_install(top, tree, eyes, host)?;
            Some((Found::Toolkit(toolkit), read))
        }
        Kind::Cudnn => {
            let (cudnn, read) = cudnn::read_install(top, tree, eyes, &host.platform)?;
            Some((Found::Cudnn(cudnn), read))
        }
    }
}

/// The tree of a directory, or where that holds a cuDNN for more than one CUDA, one for each, the newest first.
fn flavours(top: &Path, tree: &Tree, eyes: Sysroot) -> Vec<Tree> {
    if !install_layout::has_flavours(tree) {
        return vec![tree.clone()];
    }
    let mut names: Vec<String> = Vec::new();
    for dir in ["lib", "bin", "include"] {
        for dir in eyes.expand(&top.join(dir), "#") {
            let name = dir.file_name().unwrap_or_default().to_string_lossy();
            if !names.iter().any(|known| *known == name) {
                names.push(name.into_owned());
            }
        }
    }
    let flavours = names.iter().map(|name| install_layout::flavour(tree, name));
    flavours.collect()
}

/// What makes two finds the same: not the names by which one came to them.
fn key(found: &Found, eyes: Sysroot) -> Vec<PathBuf> {
    match found {
        Found::Toolkit(toolkit) => vec![eyes.canonical(&toolkit.root)],
        Found::Cudnn(cudnn) => {
            let library = cudnn.library.as_ref().or(cudnn.link_dir.as_ref());
            let real = |place: Option<&PathBuf>| place.map(|place| eyes.canonical(place));
            let places = [cudnn.header.as_ref(), library].map(real);
            places.map(Option::unwrap_or_default).to_vec()
        }
    }
}

/// Where nothing was found: what changes when something is installed. These are files that are always there.
fn what_an_installation_changes(host: &Host) -> Vec<PathBuf> {
    let top = host.root.as_deref().unwrap_or(Path::new("/"));
    let conda = host.env.path(Variable::CondaPrefix);
    let mut paths = vec![top.join("etc/ld.so.cache")];
    paths.extend(conda.map(|prefix| prefix.join("conda-meta/history")));
    paths.retain(|path| files::is_file(path));
    paths
}
