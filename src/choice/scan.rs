//! Looks at the places of the search, one after the other.

use crate::choice::read_install::read_install;
use crate::choice::select_pair::{SelectionConstraints, is_met, is_usable, kind_of};
use crate::choice::unusable_variables::{LeftOut, Unusable, unusable, without_host_compiler};
use crate::cudnn::package_owner;
use crate::loader::shadowing;
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::owner::Owner;
use crate::model::rejection::Rejection;
use crate::runtime::facts::finding::Finding;
use crate::search::search_step::{Kind, Place, Step, Tree};
use crate::search::{install_layout, pkg_config};
use crate::system::sysroot::Sysroot;
use crate::system::{Host, files};
use crate::toolkit::nvcc;
use crate::{cudnn, toolkit};
use std::path::{Path, PathBuf};

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct ScanResult {
    /// Everything that was found, in the order of the search.
    pub candidates: Vec<Candidate>,
    /// Variables that name a place where nothing is.
    pub unusable: Vec<Unusable>,
    /// What nobody asked for by name and tells nothing: a compiler, a .pc file.
    pub left_out: Vec<LeftOut>,
    /// The files that were read, and the records of those who put them there.
    pub read: Vec<PathBuf>,
}

/// Looks at all steps. pkg-config is run only while nothing found before meets what is wanted.
pub fn look(steps: &[Step], host: &Host, constraints: &SelectionConstraints) -> ScanResult {
    let mut scan = Scan {
        steps,
        host,
        constraints,
        scan: ScanResult::default(),
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
    constraints: &'a SelectionConstraints<'a>,
    scan: ScanResult,
    /// What makes two finds the same, with how the first was found.
    keys: Vec<(Vec<PathBuf>, FoundVia)>,
    /// Why a compiler that a variable names could not be asked.
    failures: Vec<(Variable, Finding)>,
}

impl Scan<'_> {
    fn step(&mut self, step: &Step) {
        let root = self.host.root.as_deref().filter(|_| step.fixed);
        let sysroot = Sysroot { root };
        match &step.place {
            Place::Nvcc(compilers) => self.compiler(step, compilers, sysroot),
            Place::Copy(owner, tree) => {
                for top in sysroot.expand(&tree.base, &tree.pattern) {
                    let copy = cudnn::bundled_copy(&top, tree, &self.host.platform);
                    if let Some(found) = copy.map(Found::Cudnn) {
                        // The answer does not rest on it, so its files are not noted.
                        let bundled = Rejection::BundledWith(owner);
                        self.scan.add_rejected(found, step.via.clone(), bundled);
                    }
                }
            }
            Place::PkgConfig(dirs) => {
                for file in pkg_config::files(dirs, step.kind) {
                    if is_met(step.kind, &self.scan.candidates, self.constraints) {
                        break;
                    }
                    self.package(step, file);
                }
            }
            Place::Tree(tree) => self.tree(step, tree, sysroot),
        }
    }

    /// The toolkit of the first of these compilers that there is.
    fn compiler(&mut self, step: &Step, compilers: &[PathBuf], sysroot: Sysroot) {
        let Some(compiler) = compilers.iter().find_map(|file| sysroot.file(file)) else {
            return;
        };
        if step.request.is_none() && self.is_known(&compiler, sysroot) {
            return;
        }
        // nvcc is run only where its toolkit cannot be read off the directories around it.
        let found = match toolkit::containing(&compiler, self.host) {
            Some(found) => Ok(found),
            None => toolkit::from_nvcc(&compiler, self.host),
        };
        match (found, step.request) {
            (Ok((toolkit, read)), _) => {
                let root = toolkit.root.clone();
                self.add(step, sysroot, Found::Toolkit(toolkit), read);
                self.cudnn_in_toolkit(step, &root, sysroot);
            }
            (Err(finding), Some(variable)) => self.failures.push((variable, finding)),
            (Err(finding), None) => {
                let said = finding
                    .evidence
                    .iter()
                    .find(|(label, _)| *label == nvcc::SAYS);
                let said = said.map_or_else(String::new, |(_, words)| format!("\n{words}"));
                self.scan.left_out.push(LeftOut {
                    kind: step.kind,
                    help: without_host_compiler(&finding, self.host),
                    reason: finding.summary + &said,
                });
            }
        }
    }

    /// Whether this compiler belongs to a toolkit that was found before: it would say the same again.
    fn is_known(&self, compiler: &Path, sysroot: Sysroot) -> bool {
        let real = sysroot.canonical(compiler);
        let toolkits = self.scan.candidates.iter().filter_map(Candidate::toolkit);
        let mut known = toolkits.filter_map(|toolkit| toolkit.nvcc.as_ref());
        known.any(|nvcc| sysroot.canonical(nvcc) == real)
    }

    /// A cuDNN that was copied into a toolkit, as Nix and Spack do, and the wheel beside one that is a wheel itself.
    fn cudnn_in_toolkit(&mut self, step: &Step, root: &Path, sysroot: Sysroot) {
        if root == Path::new("/usr") || !self.looks_for(Kind::Cudnn) {
            return;
        }
        let platform = &self.host.platform;
        let inside = (
            root.to_path_buf(),
            install_layout::cudnn(platform, root, ""),
        );
        let wheel = install_layout::cudnn_beside(platform, root);
        let wheel = wheel.map(|tree| (tree.base.join(&tree.pattern), tree));
        for (dir, tree) in [inside].into_iter().chain(wheel) {
            if let Some((found, read)) = read_install(Kind::Cudnn, &dir, &tree, sysroot, self.host)
            {
                let step = Step {
                    request: None,
                    ..step.clone()
                };
                self.add(&step, sysroot, found, read);
            }
        }
    }

    /// What a .pc file leads to.
    fn package(&mut self, step: &Step, file: PathBuf) {
        let sysroot = Sysroot { root: None };
        let tree = match pkg_config::tree(&file, step.kind, self.host) {
            Ok(Some(tree)) => tree,
            Ok(None) => return,
            Err(reason) => {
                return self.scan.left_out.push(LeftOut {
                    kind: step.kind,
                    reason,
                    help: None,
                });
            }
        };
        let step = Step {
            via: FoundVia::PkgConfig(Some(file.clone())),
            ..step.clone()
        };
        match read_install(step.kind, &tree.base, &tree, sysroot, self.host) {
            Some((found, mut read)) => {
                read.push(file);
                self.add(&step, sysroot, found, read);
            }
            None if sysroot.dir(&tree.base).is_none() => self.scan.add_gone(&step, tree.base),
            None => {}
        }
    }

    fn tree(&mut self, step: &Step, tree: &Tree, sysroot: Sysroot) {
        for top in sysroot.expand(&tree.base, &tree.pattern) {
            // Most of the places that nobody asked for do not exist.
            let trees = match step.request.is_some() || sysroot.dir(&top).is_some() {
                true => flavours(&top, tree, sysroot),
                false => Vec::new(),
            };
            let mut is_read = false;
            for tree in trees {
                let Some((found, read)) = read_install(step.kind, &top, &tree, sysroot, self.host)
                else {
                    continue;
                };
                is_read = true;
                // A runtime alone is no answer to somebody who asked for a toolkit.
                let is_runtime = matches!(&found, Found::Toolkit(found) if found.is_runtime());
                if step.request.is_none() || !is_runtime {
                    self.add(step, sysroot, found, read);
                }
            }
            if !is_read && step.kind == Kind::Cudnn && !install_layout::has_flavours(tree) {
                self.emptied_wheel(step, &top);
            }
        }
    }

    /// pip's record of a wheel whose files are gone.
    fn emptied_wheel(&mut self, step: &Step, top: &Path) {
        let Some(owner) = Owner::of_wheel(top) else {
            return;
        };
        let emptied = Cudnn {
            root: top.to_path_buf(),
            owner: Some(Box::new(owner)),
            ..Cudnn::default()
        };
        self.scan
            .add_rejected(Found::Cudnn(emptied), step.via.clone(), Rejection::Emptied);
    }

    fn looks_for(&self, kind: Kind) -> bool {
        self.steps.iter().any(|step| step.kind == kind)
    }

    fn add(&mut self, step: &Step, sysroot: Sysroot, found: Found, read: Vec<PathBuf>) {
        let key = key(&found, sysroot);
        let first = self.keys.iter().find(|(known, _)| *known == key);
        let rejected = first.map(|(_, via)| Rejection::SameAs(via.clone()));
        if rejected.is_some() && step.request.is_none() {
            return;
        }
        self.scan.note_all(read, sysroot);
        let mut records = match &found {
            Found::Cudnn(cudnn) => package_owner::records(&cudnn.root, cudnn.library.as_deref()),
            Found::Toolkit(toolkit) => package_owner::toolkit_records(&toolkit.root),
        };
        if step.fixed && sysroot.root.is_none() {
            records.extend(package_owner::alternatives());
        }
        for record in records {
            self.scan.note_read(record);
        }
        self.keys.push((key, step.via.clone()));
        self.scan.candidates.push(Candidate {
            found,
            via: step.via.clone(),
            chosen: false,
            rejected,
            request: step.request,
        });
    }

    /// What takes all steps to know: which variables led nowhere, and where else to look for what is missing.
    fn finish(mut self) -> ScanResult {
        let failures = std::mem::take(&mut self.failures);
        let candidates = &self.scan.candidates;
        self.scan.unusable = unusable(self.steps, candidates, failures, self.host);
        let is_found = |kind| {
            let mut candidates = self.scan.candidates.iter();
            candidates.any(|one| is_usable(one) && kind_of(one) == kind)
        };
        let mut lacking = Kind::BOTH.to_vec();
        lacking.retain(|&kind| self.looks_for(kind) && !is_found(kind));
        if !lacking.is_empty() {
            self.scan
                .read
                .extend(what_an_installation_changes(self.host));
            self.scan.add_where_programs_run(&lacking, self.host);
        }
        self.scan
    }
}

impl ScanResult {
    /// Notes files, with the names under which a later build would miss them.
    fn note_all(&mut self, read: Vec<PathBuf>, sysroot: Sysroot) {
        for path in read {
            let real = sysroot.canonical(&path);
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
        let sysroot = Sysroot { root: None };
        for dir in shadowing::library_path(host) {
            let top = match dir.parent() {
                Some(up) if dir.ends_with("lib") || dir.ends_with("lib64") => up,
                _ => &dir,
            };
            for &kind in lacking {
                let tree = install_layout::usual(kind, &host.platform, top, "");
                let Some((found, _)) = read_install(kind, top, &tree, sysroot, host) else {
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
            request: None,
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

/// The tree of a directory, or where that holds a cuDNN for more than one CUDA, one for each, the newest first.
fn flavours(top: &Path, tree: &Tree, sysroot: Sysroot) -> Vec<Tree> {
    if !install_layout::has_flavours(tree) {
        return vec![tree.clone()];
    }
    let mut names: Vec<String> = Vec::new();
    for dir in ["lib", "bin", "include"] {
        for dir in sysroot.expand(&top.join(dir), "#") {
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
fn key(found: &Found, sysroot: Sysroot) -> Vec<PathBuf> {
    match found {
        Found::Toolkit(toolkit) => vec![sysroot.canonical(&toolkit.root)],
        Found::Cudnn(cudnn) => {
            let library = cudnn.library.as_ref().or(cudnn.link_dir.as_ref());
            let real = |place: Option<&PathBuf>| {
                place.map_or_else(PathBuf::new, |place| sysroot.canonical(place))
            };
            vec![real(cudnn.header.as_ref()), real(library)]
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
