use crate::host_compiler::selection;
use crate::model::{Candidate, Found, Kind, Names, Obstacle, Variable};
use crate::reading::installation::read_install;
use crate::search::pkg_config::PackageFault;
use crate::search::{Step, install_layout};
use crate::system::{Host, Sysroot, files};
use crate::toolkit::nvcc::NvccFault;
use std::path::{Path, PathBuf};

/// A variable that requests a place without a usable installation.
pub struct UnusableVariable {
    pub variable: Variable,
    pub kind: Kind,
    pub exists: bool,
    /// A directory that contains what was requested.
    pub nearby: Option<PathBuf>,
    pub missed: Vec<PathBuf>,
    pub fault: VariableFault,
}

/// The reason why no installation in a place can be used.
pub enum VariableFault {
    /// An inaccessible place, or a dangling link.
    Place(Obstacle),
    /// An unusable library. `true` if its file is beside its link.
    Library(Obstacle, bool),
    /// A path that cannot be printed for cargo, with the reason.
    UnprintablePath(&'static str),
    /// A toolkit that is only for these other targets: `sbsa-linux`.
    ForeignToolkit(Vec<String>),
    /// An nvcc that fails, with the help if its host compiler is the cause.
    Nvcc(NvccFault, Option<String>),
    /// The name of a program that is in none of these directories.
    NotOnPath(Vec<String>),
    NoProgram,
    Nonexistent,
    /// An archive of cuDNN in the place, or the place itself.
    Archive(PathBuf),
    /// A place without the requested kinds.
    NotInstalled {
        toolkit: bool,
        cudnn: bool,
    },
    NoLibrary,
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

/// Returns the variables that point to a place without an installation. `failures` contains the compilers in variables
/// that could not be queried.
pub fn unusable(
    steps: &[Step],
    candidates: &[Candidate],
    failures: &[(Variable, NvccFault)],
    host: &Host,
) -> Vec<UnusableVariable> {
    let mut found: Vec<UnusableVariable> = Vec::new();
    for variable in steps.iter().filter_map(|step| step.request) {
        let used = candidates.iter().any(|one| one.request == Some(variable));
        if !used && !found.iter().any(|known| known.variable == variable) {
            let failure = failures.iter().find(|(failed, _)| *failed == variable);
            let failure = failure.map(|(_, fault)| fault);
            found.push(unusable_variable(variable, steps, failure, host));
        }
    }
    found
}

fn unusable_variable(
    variable: Variable,
    steps: &[Step],
    failure: Option<&NvccFault>,
    host: &Host,
) -> UnusableVariable {
    let mut requested = Vec::new();
    for step in steps {
        if step.request == Some(variable) {
            requested.push(step);
        }
    }
    let requests = |kind| requested.iter().any(|step| step.kind == kind);
    let (toolkit, cudnn) = (requests(Kind::Toolkit), requests(Kind::Cudnn));
    let kind = if cudnn { Kind::Cudnn } else { Kind::Toolkit };
    let is_nvcc = variable.names() == Some(Names::Nvcc);
    let text = host.env.get(variable).unwrap_or_default().to_string_lossy();
    let is_bare_name = is_nvcc && !text.contains(['/', '\\']);
    let value = host.env.path(variable).unwrap_or_default();
    let exists = files::is_dir(&value) || files::is_file(&value);
    let foreign = foreign(&value, host);
    let obstacle = files::obstacle(&value, None).map(|obstacle| obstacle.seen_from(&value));
    let fault = match (obstacle, failure) {
        (Some(obstacle), None) if !is_bare_name => VariableFault::Place(obstacle),
        _ if toolkit && !foreign.is_empty() => VariableFault::ForeignToolkit(foreign),
        (_, Some(fault)) => VariableFault::Nvcc(fault.clone(), without_host_compiler(fault, host)),
        _ if is_bare_name => {
            let mut searched = Vec::new();
            for step in &requested {
                searched.push(step.description());
            }
            VariableFault::NotOnPath(searched)
        }
        _ if is_nvcc && exists => VariableFault::NoProgram,
        _ if !exists => VariableFault::Nonexistent,
        _ => match archive(&value) {
            Some(archive) => VariableFault::Archive(archive),
            None => VariableFault::NotInstalled { toolkit, cudnn },
        },
    };
    let nearby = match is_nvcc || toolkit && cudnn {
        true => None,
        false => nearby(variable, kind, &value, host),
    };
    use VariableFault::{NotOnPath, Nvcc, Place};
    // These have evidence of their own.
    let has_evidence = matches!(fault, Place(_) | Nvcc(..) | NotOnPath(_));
    let mut missed = Vec::new();
    if !has_evidence {
        for step in requested {
            missed.append(&mut step.required_files(&host.platform));
        }
    }
    // Links with the usual names may point to files for another CPU.
    files::keep(&mut missed, &|path| !files::exists(path));
    UnusableVariable {
        variable,
        kind,
        exists,
        nearby,
        missed: files::dedup(missed.into_iter()),
        fault,
    }
}

/// Returns the help for an nvcc that cannot start its host compiler.
pub fn without_host_compiler(fault: &NvccFault, host: &Host) -> Option<String> {
    let NvccFault::NoAnswer { output, .. } = fault else {
        return None;
    };
    let choice = selection::choice_of_nvcc(&host.env);
    Some(selection::missing(output, &choice, &host.env)?.help())
}

/// Returns the targets of a toolkit if all of them are for other systems.
fn foreign(value: &Path, host: &Host) -> Vec<String> {
    let own = host.platform.toolkit_targets();
    let mut foreign = Vec::new();
    for name in files::names(&value.join("targets")).unwrap_or_default() {
        if let Ok(name) = name.into_string() {
            if own.contains(&name.as_str()) {
                return Vec::new();
            }
            foreign.push(name);
        }
    }
    foreign
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
fn nearby(variable: Variable, kind: Kind, value: &Path, host: &Host) -> Option<PathBuf> {
    // A header file in a variable that requires its directory.
    if variable.names() == Some(Names::CudnnHeaders) {
        return match value.ends_with("cudnn.h") && files::is_file(value) {
            true => value.parent().map(Path::to_path_buf),
            false => None,
        };
    }
    let mut dirs = Vec::new();
    for dir in value.ancestors().skip(1).take(2) {
        dirs.push(dir.to_path_buf());
    }
    if kind == Kind::Cudnn {
        dirs.extend(files::below(value, &["cudnn", "nvidia/cudnn", "cuda"]));
    }
    let found = dirs.iter().find(|dir| {
        let tree = install_layout::usual(kind, &host.platform, dir, "");
        match read_install(kind, dir, &tree, Sysroot { root: None }, host) {
            Some((Found::Toolkit(_), _)) => {
                tree.nvcc.iter().any(|nvcc| files::is_file(&dir.join(nvcc)))
            }
            Some((Found::Cudnn(cudnn), _)) => cudnn.header.is_some() && cudnn.link_dir.is_some(),
            None => false,
        }
    });
    found.cloned()
}
