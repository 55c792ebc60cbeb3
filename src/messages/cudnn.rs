//! A cuDNN whose headers, libraries and sub-libraries are inconsistent.

use crate::choice::cuda_mismatch::CudaMismatch;
use crate::cudnn::{SubLibraryFault, file_name, is_dll, is_same_minor, library_dir};
use crate::messages::phrases::{after_space, also, found_via, named};
use crate::model::{Candidate, Cudnn, Installer, Obstacle, Owner, Unresolved, joined};
use crate::runtime::binary::Defect;
use crate::runtime::facts::finding::listed;
use crate::runtime::facts::{
    Finding, FindingId, LibraryName, Severity, Version, VersionSource, quoted, sub_libraries,
};
use crate::runtime::install::SubLibraryFile;
use crate::runtime::messages::sub_libraries::replace_all;
use std::path::{Path, PathBuf};

impl CudaMismatch<'_> {
    pub fn finding(&self) -> Finding {
        let (toolkit, cudnn) = (self.toolkit, self.cudnn);
        let (theirs, major) = self.majors;
        let others = self.others.iter();
        let others = others.map(|other| format!("{} {}", other.product(), also(other)));
        let finding = FindingId::CudaFlavourMismatch
            .error(format!(
                "{} was built for CUDA {major}, but the toolkit at `{}` is {}",
                named(cudnn),
                toolkit.root().display(),
                toolkit.title()
            ))
            .with_lines("found via", vec![found_via(cudnn), found_via(toolkit)])
            .with_some("owner", cudnn.owner())
            .with_lines("also found", others);
        let place = |found: Option<&Candidate>, missing: String| match found {
            Some(other) => format!("`{}`", other.root().display()),
            None => format!("the directory of {missing}"),
        };
        let cudnn = place(
            self.compatible_cudnn,
            format!("a cuDNN built for CUDA {theirs}"),
        );
        let toolkit = place(self.compatible_toolkit, format!("a CUDA {major} toolkit"));
        let mut helps = vec![
            format!("set CUDNN_PATH to {cudnn}"),
            format!("set CUDA_HOME to {toolkit}"),
        ];
        if self.compatible_cudnn.is_none() {
            // An installation on this machine is suggested before a download.
            let owner = self.cudnn.owner();
            let is_wheel = owner.is_some_and(|owner| owner.installer.is_for_wheels());
            let has_none = is_wheel && self.package.is_none();
            if self.compatible_toolkit.is_some() || has_none {
                helps.reverse();
            }
            let at = usize::from(self.compatible_toolkit.is_some());
            let package = self.package.as_ref();
            let package = package.map(|(owner, command)| package_for_cuda(owner, theirs, command));
            if let Some(help) = package.or(self.overwritten.clone()) {
                helps.insert(at, help);
            }
        }
        finding.helps(helps)
    }
}

/// Returns the help that replaces the package by the one for this CUDA. Two wheels of cuDNN share one directory, so the
/// old one has to be removed first.
fn package_for_cuda(owner: &Owner, cuda: u32, command: &str) -> String {
    match owner.installer {
        _ if owner.fetched.is_some() => format!("fetch the build for CUDA {cuda}: `{command}`"),
        Installer::Pip | Installer::Uv => format!(
            "replace it with the wheel for CUDA {cuda}: `{} {} && {command}`",
            owner.installer.uninstall(),
            owner.name
        ),
        Installer::Conda => format!("install the build for CUDA {cuda}: `{command}`"),
        Installer::Apt => format!("install the package for CUDA {cuda}: `{command}`"),
    }
}

impl Cudnn {
    /// Returns the finding for headers and a library of different versions. `packages`: the packages of both, if apt
    /// can install them in the same version; `variables`: those of both, if they are different ones.
    pub fn header_library_skew(
        &self,
        (file, header): (&Path, Version),
        (path, library): (&Path, Version),
        packages: Option<(&Owner, &Owner)>,
        variables: &[String],
    ) -> Finding {
        let parts = self.installed.files();
        let has_version = |part: &&&SubLibraryFile| part.version == Some(library);
        let reports = |part: &&&SubLibraryFile| {
            let known = sub_libraries::find(&part.name);
            has_version(part) && known.is_some_and(|known| known.reports_version)
        };
        let first = parts.iter().find(reports);
        let first = first.or(parts.iter().find(has_version));
        let first_file = first.map_or_else(String::new, |part| {
            let by = match part.told_by {
                None => String::new(),
                Some(VersionSource::Symbol(symbol)) => format!(", from its symbol {symbol}"),
                Some(by) => format!(", from {}", by.with_article()),
            };
            format!("\n{library} in {}{by}", file_name(&part.path))
        });
        let from =
            |owner: Option<&Owner>| owner.map_or_else(String::new, |owner| format!("\n{owner}"));
        let of_headers = from(self.files.header_owner.as_ref());
        let of_library = from(self.owner.as_deref());
        let stale = if let names @ [_, ..] = variables {
            let names = names.join(" and ");
            format!("make {names} point to headers and libraries of the same version")
        } else if let Some((of_headers, of_library)) = packages {
            let command = same_version_command(of_headers, of_library, header > library);
            format!("run `{command}`")
        } else if file.parent().and_then(Path::parent) == path.parent().and_then(Path::parent) {
            // Both are in one installation, in `include/` and `lib/` of the same directory.
            let root = self.root.display();
            format!("install headers and libraries of the same cuDNN version in `{root}`")
        } else {
            "remove the outdated headers or library".into()
        };
        let severity = Severity::error_if(!is_same_minor(header, library));
        let headline =
            format!("cuDNN headers and library have different versions: {header} and {library}");
        Finding::new(FindingId::HeaderLibrarySkew, severity, headline)
            .with("header", format!("{}{of_headers}", file.display()))
            .with(
                "library",
                format!("{}{first_file}{of_library}", path.display()),
            )
            .help(stale)
            .help("set CUDNN_PATH to a directory that contains headers and libraries of the same version")
    }
}

/// Returns the command that installs both Debian packages in the newer version. If the headers are from the package for
/// another CUDA or another architecture, they are replaced by those of the library's package.
fn same_version_command(of_headers: &Owner, of_library: &Owner, headers_newer: bool) -> String {
    let (headers, library) = (&of_headers.name, &of_library.name);
    let end = |name: &str| name.find("-cuda-").unwrap_or(name.len());
    let (kind, cuda) = headers.split_at(end(headers));
    let own_cuda = &library[end(library)..];
    if cuda != own_cuda {
        return format!("sudo apt install {kind}{own_cuda}={}", of_library.version);
    }
    let version = match headers_newer {
        true => &of_headers.version,
        false => &of_library.version,
    };
    format!("sudo apt install {library}={version} {headers}={version}")
}

impl SubLibraryFault<'_> {
    pub fn finding(&self, cudnn: &Cudnn) -> Finding {
        let dir = library_dir(cudnn);
        let is_dll = cudnn.library.as_deref().is_some_and(is_dll);
        match self {
            Self::AbsentSoname { soname, library } => {
                let (shown, file) = (library.display(), file_name(library));
                let major = |name| LibraryName::read(name)?.major();
                let own = major(file);
                FindingId::CudnnNotLoadable.error(format!(
                    "programs linked with `{shown}` load `{soname}`, which is missing from `{dir}`"
                ))
                .with("SONAME", format!("{soname} of {shown}"))
                .help(match own.is_some() && own != major(soname) {
                    true => format!(
                        "reinstall cuDNN in `{dir}`: `{file}` is a renamed library of another major version"
                    ),
                    false => format!("create the missing link: `sudo ldconfig -n {}`", quoted(&dir)),
                })
            }
            Self::SeveralDirectories => FindingId::PartsMixed.warning(format!(
                "the sub-libraries of the cuDNN at `{dir}` are in different directories, and some versions are unknown"
            ))
            .with_paths("locations", &cudnn.files.directories)
            .help(format!(
                "make all links in `{dir}` point to the directory of a single cuDNN"
            )),
            Self::Unresolved(first) => FindingId::PartsMixed.error(format!(
                "`{}` in `{dir}` needs symbols that `{}` beside it does not contain: their versions differ",
                file_name(&first.part),
                file_name(&first.sibling)
            ))
            .with_lines("missing", cudnn.files.unresolved.iter().map(unresolved))
            .help(replace_all(is_dll, &dir)),
            Self::SeveralCudaMajors(majors) => {
                let version = after_space(cudnn.library_version);
                let line =
                    |(major, path): &(u32, PathBuf)| format!("CUDA {major}  {}", path.display());
                FindingId::PartsMixed.warning(format!(
                    "the files of cuDNN{version} in `{dir}` were built for different CUDA versions"
                ))
                .with_lines("sub-libs", majors.iter().map(line))
                .help(replace_all(is_dll, &dir))
            }
            Self::SeveralWheels(wheels) => {
                let name = |wheel: &Owner| format!("{} {}", wheel.name, wheel.version);
                let keep = |kept: &Owner| format!("keep {}: `{}`", kept.name, kept.reinstall(wheels));
                FindingId::DuplicateCudnn.warning(format!(
                    "the wheels {} have overwritten each other's files in `{dir}`",
                    joined(wheels.iter().map(name), " and ")
                ))
                .with_some("files from", wheels.first().map(name))
                .helps(wheels.iter().map(keep))
            }
            Self::DifferentCopies(copies) => {
                let mut copies = copies.iter().map(|files| names(files));
                FindingId::DuplicateCudnn.warning(format!(
                    "{} in `{dir}` are different files: programs load the one whose name ends in the major version",
                    copies.next().unwrap_or_default()
                ))
                .with_lines("others", copies)
                .help(replace_all(is_dll, &dir))
            }
        }
    }
}

impl Obstacle {
    /// Returns the help. `is_beside` is `true` if the library is in the directory of the link.
    pub(super) fn help(&self, is_beside: bool) -> String {
        match &self.defect {
            Defect::Dangling(_) | Defect::SymlinkLoop if is_beside => format!(
                "recreate the links to the library in that directory: `sudo ldconfig -n {}`",
                quoted(&self.dir().to_string_lossy())
            ),
            defect => defect.help(&self.path),
        }
    }
}

fn names(files: &[PathBuf]) -> String {
    let mut names = Vec::new();
    for path in files {
        names.push(format!("`{}`", file_name(path)));
    }
    listed(&names)
}

fn unresolved(one: &Unresolved) -> String {
    let symbol = one.symbols.first().map_or("", String::as_str);
    let more = match one.symbols.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (part, sibling) = (file_name(&one.part), file_name(&one.sibling));
    format!("{part} needs {symbol}{more} from {sibling}")
}
