//! Reads the installations in the places of the search.

pub mod installation;
pub mod unusable_variables;

use crate::cudnn::package_owner;
use crate::loader::shadowing;
use crate::model::{Candidate, Cudnn, Found, FoundVia, Kind, Owner, Rejection, Toolkit, Variable};
use crate::reading::installation::{cuda_trees, key, read_install};
use crate::reading::unusable_variables::{
    LeftOut, Unreadable, UnusableVariable, unusable, without_host_compiler,
};
use crate::runtime::binary::Defect;
use crate::runtime::install::package_owner::only;
use crate::search::{Place, Step, Tree, install_layout, pkg_config};
use crate::system::{Host, Sysroot, files};
use crate::toolkit::nvcc::NvccFault;
use crate::{cudnn, toolkit};
use std::path::{Path, PathBuf};

#[derive(Default)]
pub struct Scan {
    /// The places that were read.
    pub steps: Vec<Step>,
    /// All installations in search order.
    pub candidates: Vec<Candidate>,
    /// Variables that point to a place without an installation.
    pub unusable: Vec<UnusableVariable>,
    /// Compilers and .pc files that are not requested and could not be read.
    pub left_out: Vec<LeftOut>,
    /// The files that were read, and the package records of the installations.
    pub read: Vec<PathBuf>,
}

pub struct Reader<'a> {
    steps: &'a [Step],
    host: &'a Host,
    pub scan: Scan,
    /// The identity of each installation, with the step that found it first.
    keys: Vec<(Vec<PathBuf>, FoundVia)>,
    /// The directories that were already read, by their real paths. `true` if the links in them stay below a root.
    trees: Vec<(Kind, bool, Tree)>,
    /// Compilers in variables that could not be queried.
    failures: Vec<(Variable, NvccFault)>,
}

impl<'a> Reader<'a> {
    pub fn new(steps: &'a [Step], host: &'a Host) -> Self {
        Self {
            steps,
            host,
            scan: Scan::default(),
            keys: Vec::new(),
            trees: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Reads one place. [`read_package`](Self::read_package) reads the files of pkg-config one by one.
    pub fn read(&mut self, step: &Step) {
        let mut sysroot = self.host.sysroot();
        // A variable may name a directory behind a link that only the image can resolve.
        let is_inside = match &step.place {
            Place::Tree(tree) => !files::is_dir(&tree.base) && sysroot.dir(&tree.base).is_some(),
            _ => false,
        };
        if !step.via.is_fixed() && !is_inside {
            sysroot.root = None;
        }
        match &step.place {
            Place::Nvcc(compilers) => self.compiler(step, compilers, sysroot),
            Place::Copy(owner, tree) => {
                for top in sysroot.expand(&tree.base, &tree.pattern) {
                    let copy = cudnn::bundled_copy(&top, tree, &self.host.platform);
                    // It does not affect the result, so its files are not recorded.
                    if let Some(found) = copy.map(Found::Cudnn) {
                        self.reject(found, step.via.clone(), Rejection::BundledWith(owner));
                    }
                }
            }
            Place::PkgConfig(_) => {}
            Place::Tree(tree) => self.tree(step, tree, sysroot),
        }
    }

    /// Reads the toolkit of the first existing compiler.
    fn compiler(&mut self, step: &Step, compilers: &[PathBuf], sysroot: Sysroot) {
        let Some(compiler) = compilers.iter().find_map(|file| sysroot.file(file)) else {
            return;
        };
        if step.request.is_none() && self.is_known(&compiler, sysroot) {
            return;
        }
        // nvcc is run only if the directories around it do not identify its toolkit.
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
            (Err(fault), Some(variable)) => self.failures.push((variable, fault)),
            (Err(fault), None) => {
                let help = without_host_compiler(&fault, self.host);
                self.leave_out(step.kind, Unreadable::Nvcc(fault), help);
            }
        }
    }

    /// Returns `true` if this compiler belongs to a toolkit that was already found.
    fn is_known(&self, compiler: &Path, sysroot: Sysroot) -> bool {
        let real = sysroot.canonical(compiler);
        self.scan.candidates.iter().any(|candidate| {
            let nvcc = candidate
                .toolkit()
                .and_then(|toolkit| toolkit.nvcc.as_ref());
            nvcc.is_some_and(|nvcc| sysroot.canonical(nvcc) == real)
        })
    }

    /// Reads a cuDNN that is inside a toolkit, as with Nix and Spack, and the wheel beside a toolkit's wheel.
    fn cudnn_in_toolkit(&mut self, step: &Step, root: &Path, sysroot: Sysroot) {
        let system = self.host.root.as_deref().unwrap_or(Path::new("/"));
        if root == system.join("usr") || !self.searches_for(Kind::Cudnn) {
            return;
        }
        let platform = &self.host.platform;
        let inside = install_layout::cudnn(platform, root, "");
        let mut places = vec![(root.to_path_buf(), inside)];
        if let Some(wheel) = install_layout::cudnn_beside(platform, root) {
            places.push((wheel.base.join(&wheel.pattern), wheel));
        }
        let step = Step {
            request: None,
            ..step.clone()
        };
        for (dir, tree) in places {
            let found = read_install(Kind::Cudnn, &dir, &tree, sysroot, self.host);
            if let Some((found, read)) = found {
                self.add(&step, sysroot, found, read);
            }
        }
    }

    pub fn read_package(&mut self, step: &Step, file: PathBuf) {
        let sysroot = Sysroot { root: None };
        let tree = match pkg_config::tree(&file, step.kind, self.host) {
            Ok(Some(tree)) => tree,
            Ok(None) => return,
            Err(fault) => {
                return self.leave_out(step.kind, Unreadable::Package(file, fault), None);
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
            None if sysroot.dir(&tree.base).is_none() => self.add_gone(&step, tree.base),
            None => {}
        }
    }

    fn tree(&mut self, step: &Step, tree: &Tree, sysroot: Sysroot) {
        for top in sysroot.expand(&tree.base, &tree.pattern) {
            let real = Tree {
                base: sysroot.canonical(&top),
                pattern: String::new(),
                ..tree.clone()
            };
            let place = (step.kind, sysroot.root.is_some(), real);
            // Only the first toolkit with this root counts.
            let is_root = |(key, _): &(Vec<PathBuf>, FoundVia)| key[..] == [place.2.base.clone()];
            let is_known = self.trees.contains(&place)
                || step.kind == Kind::Toolkit && self.keys.iter().any(is_root);
            if step.request.is_none() && is_known {
                continue;
            }
            // Most places that are not requested do not exist.
            let trees = match step.request.is_some() || sysroot.dir(&top).is_some() {
                true => cuda_trees(&top, tree, sysroot),
                false => Vec::new(),
            };
            let (mut is_read, mut is_left) = (false, false);
            for tree in trees {
                let Some((found, read)) = read_install(step.kind, &top, &tree, sysroot, self.host)
                else {
                    continue;
                };
                is_read = true;
                // A runtime without headers does not satisfy a request for a toolkit.
                let is_runtime = matches!(&found, Found::Toolkit(found) if found.is_runtime());
                if step.request.is_none() || !is_runtime {
                    self.add(step, sysroot, found, read);
                } else {
                    is_left = true;
                }
            }
            if !is_left {
                self.trees.push(place);
            }
            if !is_read && step.kind == Kind::Cudnn && !install_layout::has_cuda_dirs(tree) {
                self.emptied_wheel(step, &top);
            }
            if !is_read && step.kind == Kind::Toolkit {
                self.dangling_toolkit(tree, &top, sysroot);
            }
        }
    }

    /// Adds pip's record of a wheel whose files do not exist.
    fn emptied_wheel(&mut self, step: &Step, top: &Path) {
        let Some(owner) = only(Owner::of_wheels(top)) else {
            return;
        };
        let emptied = Found::Cudnn(Cudnn {
            root: top.to_path_buf(),
            owner: Some(Box::new(owner)),
            ..Cudnn::default()
        });
        self.reject(emptied, step.via.clone(), Rejection::Emptied);
    }

    /// Adds a toolkit whose header is a link into a cache that was cleared.
    fn dangling_toolkit(&mut self, tree: &Tree, top: &Path, sysroot: Sysroot) {
        let obstacle = |dir| sysroot.obstacle(&top.join(dir).join("cuda.h"));
        let met = tree.include.iter().find_map(obstacle);
        if let Some(met) = met.filter(|met| matches!(met.defect, Defect::Dangling(_))) {
            let command = package_owner::reinstall_toolkit(top);
            let help = command.map(|command| format!("reinstall its wheels: `{command}`"));
            self.leave_out(Kind::Toolkit, Unreadable::Dangling(met), help);
        }
    }

    /// Adds a missing directory that a record names.
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
        // NVIDIA's packages have a .pc file for each of their libraries.
        self.reject(found, step.via.clone(), Rejection::Gone);
    }

    fn searches_for(&self, kind: Kind) -> bool {
        self.steps.iter().any(|step| step.kind == kind)
    }

    fn add(&mut self, step: &Step, sysroot: Sysroot, found: Found, read: Vec<PathBuf>) {
        let key = key(&found, sysroot);
        let first = self.keys.iter().find(|(known, _)| *known == key);
        let rejected = first.map(|(_, via)| Rejection::SameAs(via.clone()));
        if rejected.is_some() && step.request.is_none() {
            return;
        }
        self.scan.record_all(read, sysroot);
        let top = sysroot.root.unwrap_or(Path::new("/"));
        for record in package_owner::records(&found, top) {
            self.scan.record(record);
        }
        self.keys.push((key, step.via.clone()));
        self.scan.candidates.push(Candidate {
            found,
            via: step.via.clone(),
            rejected,
            request: step.request,
        });
    }

    /// Adds a candidate that is only reported, once.
    fn reject(&mut self, found: Found, via: FoundVia, reason: Rejection) {
        let mut known = self.scan.candidates.iter();
        if !known.any(|known| known.found == found) {
            self.scan.candidates.push(Candidate {
                found,
                via,
                rejected: Some(reason),
                request: None,
            });
        }
    }

    fn leave_out(&mut self, kind: Kind, reason: Unreadable, help: Option<String>) {
        self.scan.left_out.push(LeftOut { kind, reason, help });
    }

    /// Returns the result after all places were read. Checks which variables point to no installation, and searches
    /// elsewhere for missing kinds.
    pub fn finish(mut self) -> Scan {
        self.scan.unusable = unusable(self.steps, &self.scan.candidates, &self.failures, self.host);
        let mut missing = Vec::new();
        for kind in Kind::BOTH {
            let mut found = self.scan.candidates.iter();
            let is_found = found.any(|one| one.kind() == kind && one.is_usable());
            if self.searches_for(kind) && !is_found {
                missing.push(kind);
            }
        }
        if !missing.is_empty() {
            let changes = files_changed_by_installation(self.host);
            self.scan.read.extend(changes);
            self.add_library_path(&missing);
        }
        self.scan
    }

    /// Adds the installations in LD_LIBRARY_PATH. It only affects run time, but most users who set it expect the build
    /// to use it too.
    fn add_library_path(&mut self, missing: &[Kind]) {
        let sysroot = Sysroot { root: None };
        for dir in shadowing::library_path(self.host) {
            let top = match dir.parent() {
                Some(up) if dir.ends_with("lib") || dir.ends_with("lib64") => up,
                _ => &dir,
            };
            for &kind in missing {
                let tree = install_layout::usual(kind, &self.host.platform, top, "");
                if let Some((found, _)) = read_install(kind, top, &tree, sysroot, self.host) {
                    self.reject(found, FoundVia::LibraryPath, Rejection::OnLibraryPath);
                }
            }
        }
    }
}

impl Scan {
    /// Returns the candidates with this property, in search order.
    pub fn candidates_with(&self, matches: &dyn Fn(&Candidate) -> bool) -> Vec<&Candidate> {
        let mut found = Vec::new();
        for candidate in &self.candidates {
            if matches(candidate) {
                found.push(candidate);
            }
        }
        found
    }

    /// Records files under all names whose change a later build must notice.
    fn record_all(&mut self, read: Vec<PathBuf>, sysroot: Sysroot) {
        for path in read {
            let real = sysroot.canonical(&path);
            // `/opt/cudnn/lib/libcudnn.so.9.14.0` no longer exists once `/opt/cudnn` points to another version.
            let versioned = real.file_name().map(|name| path.with_file_name(name));
            self.record(path);
            if let Some(versioned) = versioned.filter(|path| files::is_file(path)) {
                self.record(versioned);
            }
            self.record(real);
        }
    }

    fn record(&mut self, path: PathBuf) {
        // Comparing bytes is much faster than comparing path components.
        let same = |known: &PathBuf| known.as_os_str() == path.as_os_str();
        if !self.read.iter().any(same) {
            self.read.push(path);
        }
    }
}

/// Returns files that always exist and that change when a package is installed. cargo watches them if nothing was
/// found.
fn files_changed_by_installation(host: &Host) -> Vec<PathBuf> {
    let top = host.root.as_deref().unwrap_or(Path::new("/"));
    let conda = host.env.path(Variable::CondaPrefix);
    let mut paths = vec![top.join("etc/ld.so.cache")];
    paths.extend(conda.map(|prefix| prefix.join("conda-meta/history")));
    files::keep(&mut paths, &files::is_file);
    paths
}
