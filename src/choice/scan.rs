//! Looks at the places of the search, one after the other.

use crate::choice::message_format::LIBRARY_PATH;
use crate::choice::select_pair::{Wants, is_met, is_usable, kind_of};
use crate::choice::unusable_variables::{Unusable, unusable};
use crate::cudnn::package_owner;
use crate::loader::shadowing;
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::model::environment::Variable;
use crate::model::finding::Finding;
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
    let mut sight = Sight::default();
    let mut keys: Vec<Vec<PathBuf>> = Vec::new();
    let mut failures: Vec<(Variable, Finding)> = Vec::new();
    for step in steps {
        let eyes = Sysroot {
            root: host.root.as_deref().filter(|_| step.fixed),
        };
        match &step.place {
            Place::Nvcc(compilers) => {
                let Some(compiler) = compilers.iter().find_map(|file| eyes.file(file)) else {
                    continue;
                };
                // A compiler that is known already need not be run to say the same again.
                let real = eyes.canonical(&compiler);
                if step.wish.is_none()
                    && sight
                        .compilers()
                        .any(|known| eyes.canonical(&known) == real)
                {
                    continue;
                }
                // Nor one whose toolkit is there to be read.
                let around = toolkit::containing(&compiler, host);
                match around.map_or_else(|| toolkit::from_nvcc(&compiler, host), Ok) {
                    Ok((toolkit, read)) => {
                        let root = toolkit.root.clone();
                        sight.add(&mut keys, step, eyes, Found::Toolkit(toolkit), read);
                        // A cuDNN that was copied into it, as Nix and Spack do.
                        let tree = install_layout::cudnn(&host.platform, &root, "");
                        let asked = steps.iter().any(|step| step.kind == Kind::Cudnn);
                        let found = cudnn::read_install(&root, &tree, eyes, &host.platform)
                            .filter(|_| asked && root != Path::new("/usr"));
                        if let Some((cudnn, read)) = found {
                            let step = Step {
                                wish: None,
                                ..step.clone()
                            };
                            sight.add(&mut keys, &step, eyes, Found::Cudnn(cudnn), read);
                        }
                    }
                    Err(finding) => match step.wish {
                        Some(variable) => failures.push((variable, finding)),
                        None => sight.left_out.push((step.kind, finding.summary)),
                    },
                }
            }
            Place::Copy(owner, tree) => {
                for top in eyes.expand(&tree.base, tree.pattern) {
                    if let Some(cudnn) = cudnn::bundled_copy(&top, tree, &host.platform) {
                        sight.add_copy(step, owner, cudnn);
                    }
                }
            }
            Place::PkgConfig(dirs) => {
                for file in pkg_config::files(dirs, step.kind) {
                    if is_met(step.kind, &sight.candidates, wants) {
                        break;
                    }
                    sight.add_package(&mut keys, step, file, host);
                }
            }
            Place::Tree(tree) => {
                // Most of the places that nobody asked for are not there.
                let is_worth = |top: &PathBuf| step.wish.is_some() || eyes.dir(top).is_some();
                let tops = eyes.expand(&tree.base, tree.pattern).into_iter();
                let trees = tops.filter(is_worth).flat_map(|top| {
                    let trees = flavours(&top, tree, eyes);
                    trees.into_iter().map(move |tree| (top.clone(), tree))
                });
                for (top, tree) in trees {
                    if let Some((found, read)) = in_tree(&top, &tree, step, eyes, host) {
                        sight.add(&mut keys, step, eyes, found, read);
                    }
                }
            }
        }
    }
    sight.unusable = unusable(steps, &sight.candidates, failures, host);
    let lacks = |kind| {
        let asked = steps.iter().any(|step| step.kind == kind);
        asked
            && !sight
                .candidates
                .iter()
                .any(|one| is_usable(one) && kind_of(one) == kind)
    };
    let lacking = [Kind::Toolkit, Kind::Cudnn].map(|kind| Some(kind).filter(|kind| lacks(*kind)));
    let lacking: Vec<Kind> = lacking.into_iter().flatten().collect();
    if !lacking.is_empty() {
        sight.read.extend(what_an_installation_changes(host));
        sight.add_where_programs_run(&lacking, host);
    }
    sight
}

impl Sight {
    fn compilers(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.candidates
            .iter()
            .filter_map(|candidate| match &candidate.found {
                Found::Toolkit(toolkit) => toolkit.nvcc.clone(),
                Found::Cudnn(_) => None,
            })
    }

    /// What a .pc file leads to.
    fn add_package(
        &mut self,
        keys: &mut Vec<Vec<PathBuf>>,
        step: &Step,
        file: PathBuf,
        host: &Host,
    ) {
        let eyes = Sysroot { root: None };
        let tree = match pkg_config::tree(&file, step.kind, host) {
            Ok(Some(tree)) => tree,
            Ok(None) => return,
            Err(why) => return self.left_out.push((step.kind, why)),
        };
        let step = Step {
            via: format!("{} ({})", step.via, file.display()),
            ..step.clone()
        };
        match in_tree(&tree.base, &tree, &step, eyes, host) {
            Some((found, mut read)) => {
                read.push(file);
                self.add(keys, &step, eyes, found, read);
            }
            None if eyes.dir(&tree.base).is_none() => self.add_gone(&step, tree.base),
            None => {}
        }
    }

    fn add(
        &mut self,
        keys: &mut Vec<Vec<PathBuf>>,
        step: &Step,
        eyes: Sysroot,
        found: Found,
        read: Vec<PathBuf>,
    ) {
        let key = key(&found, eyes);
        let known = keys.iter().position(|known| *known == key);
        let rejected = known
            .and_then(|index| self.candidates.get(index))
            .map(|first| format!("the same as the one found via {}", first.via));
        if rejected.is_some() && step.wish.is_none() {
            return;
        }
        for path in read {
            let real = eyes.canonical(&path);
            // `/opt/cudnn/lib/libcudnn.so.9.14.0`: no longer there once `/opt/cudnn` leads to another release.
            let versioned = real.file_name().map(|name| path.with_file_name(name));
            self.note_read(path);
            versioned
                .filter(|path| files::is_file(path))
                .into_iter()
                .for_each(|path| self.note_read(path));
            self.note_read(real);
        }
        let mut records = match &found {
            Found::Cudnn(cudnn) => package_owner::records(&cudnn.root, cudnn.library.as_deref()),
            Found::Toolkit(toolkit) => package_owner::toolkit_records(&toolkit.root),
        };
        if step.fixed && eyes.root.is_none() {
            records.extend(package_owner::alternatives());
        }
        records
            .into_iter()
            .for_each(|record| self.note_read(record));
        keys.push(key);
        let via = step.via.clone();
        self.candidates.push(Candidate {
            found,
            via,
            chosen: false,
            rejected,
            wish: step.wish,
        });
    }

    /// Where LD_LIBRARY_PATH leads: it is for programs that run, and most who set it meant the build too.
    fn add_where_programs_run(&mut self, lacking: &[Kind], host: &Host) {
        let eyes = Sysroot { root: None };
        let platform = &host.platform;
        for dir in shadowing::library_path(host) {
            let top = match dir.parent() {
                Some(up) if dir.ends_with("lib") || dir.ends_with("lib64") => up,
                _ => &dir,
            };
            for &kind in lacking {
                let found = match kind {
                    Kind::Toolkit => {
                        let tree = install_layout::toolkit(platform, top, "");
                        toolkit::read_install(top, &tree, eyes, host)
                            .map(|(toolkit, _)| Found::Toolkit(toolkit))
                    }
                    Kind::Cudnn => {
                        let tree = install_layout::cudnn(platform, top, "");
                        cudnn::read_install(top, &tree, eyes, platform)
                            .map(|(cudnn, _)| Found::Cudnn(cudnn))
                    }
                };
                let known = |found: &Found| self.candidates.iter().any(|one| one.found == *found);
                if let Some(found) = found.filter(|found| !known(found)) {
                    self.candidates.push(Candidate {
                        found,
                        via: LIBRARY_PATH.into(),
                        chosen: false,
                        rejected: Some(format!(
                            "{LIBRARY_PATH} leads there, which does not count in a build"
                        )),
                        wish: None,
                    });
                }
            }
        }
    }

    /// What a package brings along is shown and no more: the answer does not rest on it.
    fn add_copy(&mut self, step: &Step, owner: &str, cudnn: Cudnn) {
        self.candidates.push(Candidate {
            found: Found::Cudnn(cudnn),
            via: step.via.clone(),
            chosen: false,
            rejected: Some(format!(
                "{owner}'s own copy, which may be loaded first at run time"
            )),
            wish: None,
        });
    }

    /// What was removed by hand has left its record behind.
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
            self.candidates.push(Candidate {
                found,
                via: step.via.clone(),
                chosen: false,
                rejected: Some("that directory is not there".into()),
                wish: None,
            });
        }
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
fn in_tree(
    top: &Path,
    tree: &Tree,
    step: &Step,
    eyes: Sysroot,
    host: &Host,
) -> Option<(Found, Vec<PathBuf>)> {
    match step.kind {
        Kind::Toolkit => {
            let (toolkit, read) = toolkit::read_install(top, tree, eyes, host)?;
            // A runtime alone is no answer to somebody who asked for a toolkit.
            let answers = step.wish.is_none() || !toolkit.is_runtime();
            answers.then_some((Found::Toolkit(toolkit), read))
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
            let name = dir
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
        .iter()
        .map(|name| install_layout::of_flavour(tree, name))
        .collect()
}

/// What makes two finds the same: not the names by which one came to them.
fn key(found: &Found, eyes: Sysroot) -> Vec<PathBuf> {
    match found {
        Found::Toolkit(toolkit) => vec![eyes.canonical(&toolkit.root)],
        Found::Cudnn(cudnn) => {
            let places = [
                cudnn.header.as_ref(),
                cudnn.library.as_ref().or(cudnn.link_dir.as_ref()),
            ];
            places
                .map(|place| place.map_or_else(PathBuf::new, |place| eyes.canonical(place)))
                .to_vec()
        }
    }
}

/// Where nothing was found: what changes when something is installed. These are files that are always there.
fn what_an_installation_changes(host: &Host) -> Vec<PathBuf> {
    let conda = host.env.path(Variable::CondaPrefix);
    let history = conda.map(|prefix| prefix.join("conda-meta/history"));
    let top = host.root.as_deref().unwrap_or(Path::new("/"));
    let cache = top.join("etc/ld.so.cache");
    [Some(cache), history]
        .into_iter()
        .flatten()
        .filter(|path| files::is_file(path))
        .collect()
}
