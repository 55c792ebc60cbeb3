use crate::host_compiler::compiler_choice;
use crate::model::{Candidate, Found, Kind, Names, Obstacle, Variable};
use crate::reading::installation::read_install;
use crate::search::pkg_config::PackageFault;
use crate::search::{Place, Step, install_layout};
use crate::system::{Host, Sysroot, files};
use crate::toolkit::nvcc::NvccFault;
use std::path::{Path, PathBuf};

/// A variable that points to a place without an installation.
pub struct Unusable {
    pub variable: Variable,
    pub exists: bool,
    /// The reason why the place cannot be used although it exists.
    pub obstacle: Option<Obstacle>,
    /// An archive of cuDNN in that place, or the place itself if it is one.
    pub archive: Option<PathBuf>,
    /// The targets for other CPUs that it contains: `sbsa-linux`.
    pub foreign: Vec<String>,
    /// A directory close to it that contains what was requested.
    pub nearby: Option<PathBuf>,
    /// The reason why a compiler that exists could not be queried.
    pub reason: Option<NvccFault>,
    /// The help if its host compiler is the cause.
    pub host_compiler: Option<String>,
}

/// A compiler or a .pc file that is not requested and could not be read.
pub struct LeftOut {
    pub kind: Kind,
    pub reason: Unreadable,
    pub help: Option<String>,
}

pub enum Unreadable {
    Nvcc(NvccFault),
    Package(PathBuf, PackageFault),
    /// A header of a toolkit, which is a link to a file that does not exist.
    Dangling(Obstacle),
}

/// Returns the variables that point to a place without an installation.
pub fn unusable(
    steps: &[Step],
    candidates: &[Candidate],
    failures: &[(Variable, NvccFault)],
    host: &Host,
) -> Vec<Unusable> {
    let mut found: Vec<Unusable> = Vec::new();
    for variable in steps.iter().filter_map(|step| step.request) {
        let used = candidates.iter().any(|one| one.request == Some(variable));
        if used || found.iter().any(|known| known.variable == variable) {
            continue;
        }
        let value = host.env.path(variable).unwrap_or_default();
        let failure = failures.iter().find(|(failed, _)| *failed == variable);
        let reason = failure.map(|(_, fault)| fault);
        found.push(Unusable {
            variable,
            exists: files::is_dir(&value) || files::is_file(&value),
            obstacle: files::obstacle(&value, None).map(|met| met.seen_from(&value)),
            archive: archive(&value),
            foreign: foreign(&value, host),
            nearby: nearby(steps, variable, &value, host),
            host_compiler: reason.and_then(|reason| without_host_compiler(reason, host)),
            reason: reason.cloned(),
        });
    }
    found
}

/// Returns the help for an nvcc that cannot start its host compiler.
pub fn without_host_compiler(fault: &NvccFault, host: &Host) -> Option<String> {
    let NvccFault::NoAnswer { output, .. } = fault else {
        return None;
    };
    let choice = compiler_choice::choice_of_nvcc(&host.env);
    Some(compiler_choice::missing(output, &choice, &host.env)?.help())
}

/// Returns the targets of a toolkit if all of them are for other systems.
fn foreign(value: &Path, host: &Host) -> Vec<String> {
    let dirs = files::list(&value.join("targets")).unwrap_or_default();
    let name = |dir: &PathBuf| Some(dir.file_name()?.to_str()?.to_string());
    let names: Vec<String> = dirs.iter().filter_map(name).collect();
    let own = host.platform.toolkit_targets();
    if names.iter().any(|name| own.contains(&name.as_str())) {
        return Vec::new();
    }
    names
}

/// Returns the archive of cuDNN in this place: `cudnn-linux-x86_64-9.14.0.64_cuda12-archive.tar.xz` or similar.
fn archive(value: &Path) -> Option<PathBuf> {
    let ends = [".tar.xz", ".txz", ".tar.gz", ".tgz", ".zip", ".whl", ".deb"];
    let is_archive =
        |name: &str| name.contains("cudnn") && ends.iter().any(|end| name.ends_with(end));
    if files::is_file(value) {
        let name = value.file_name()?.to_str()?;
        return is_archive(name).then(|| value.to_path_buf());
    }
    files::list_named(value, &is_archive).ok()?.pop()
}

/// Returns the directory that was probably meant. Some users specify `bin` or the compiler instead of the toolkit, or
/// the directory of all wheels instead of one wheel.
fn nearby(steps: &[Step], variable: Variable, value: &Path, host: &Host) -> Option<PathBuf> {
    // A header file in a variable that requires its directory.
    if variable.names() == Some(Names::CudnnHeaders) {
        return match value.ends_with("cudnn.h") && files::is_file(value) {
            true => value.parent().map(Path::to_path_buf),
            false => None,
        };
    }
    let is_tree =
        |step: &Step| step.request == Some(variable) && matches!(step.place, Place::Tree(_));
    let requests = |kind| steps.iter().any(|step| is_tree(step) && step.kind == kind);
    let above = value.ancestors().skip(1).take(2);
    let mut dirs: Vec<PathBuf> = above.map(Path::to_path_buf).collect();
    let kind = match [requests(Kind::Toolkit), requests(Kind::Cudnn)] {
        [true, false] => Kind::Toolkit,
        [false, true] => {
            dirs.extend(files::below(value, &["cudnn", "nvidia/cudnn", "cuda"]));
            Kind::Cudnn
        }
        _ => return None,
    };
    dirs.into_iter().find(|dir| {
        let tree = install_layout::usual(kind, &host.platform, dir, "");
        match read_install(kind, dir, &tree, Sysroot { root: None }, host) {
            Some((Found::Toolkit(_), _)) => {
                tree.nvcc.iter().any(|nvcc| files::is_file(&dir.join(nvcc)))
            }
            Some((Found::Cudnn(cudnn), _)) => cudnn.header.is_some() && cudnn.link_dir.is_some(),
            None => false,
        }
    })
}
