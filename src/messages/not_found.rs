//! CUDA or cuDNN that was not found.

use crate::choice::not_found::{ModuleSystem, NoUsableCandidate};
use crate::cudnn::nvidia_image;
use crate::messages::phrases::{
    after_space, also, build_for_another, fetch, found_at, found_via, named, other_cpu,
    set_directory, variable,
};
use crate::messages::toolkit::install_components;
use crate::model::{
    Candidate, Cudnn, Environment, FoundVia, Installer, Kind, Obstacle, Os, Platform, Rejection,
    Variable,
};
use crate::reading::unusable_variables::{LeftOut, Unreadable};
use crate::runtime::facts::{Finding, FindingId, LibraryName, majors, quoted};
use crate::runtime::install::UnusableFile;
use crate::search::pkg_config::PackageFault;

impl NoUsableCandidate<'_> {
    pub fn finding(&self) -> Finding {
        let id = match self.kind {
            Kind::Toolkit => FindingId::CudaNotFound,
            Kind::Cudnn => FindingId::CudnnNotFound,
        };
        let (context, product) = (self.context, self.kind.product());
        let (platform, cpu) = (context.platform, &context.platform.cpu);
        let obstructed = self.obstructed().map(|(_, obstacle)| obstacle);
        let finding = match (obstructed.or(self.dangling()), self.foreign, self.emptied) {
            (Some(obstacle), ..) => id.error(format!("no usable {product} was found: {obstacle}")),
            (_, Some((one, theirs)), _) => other_cpu(&named(one), theirs, cpu),
            (.., Some((owner, root))) => id.error(format!(
                "no usable {product} was found: the files of the {owner} are missing from `{}`",
                root.display()
            )),
            _ => id.error(format!("no {product} was found")),
        };
        let searched = context.searched(self.kind).into_iter();
        let finding = finding
            .with_lines("also found", self.found.iter().map(|one| also(one)))
            .with_lines(
                "searched",
                searched.map(|(via, place)| format!("{via}: {place}")),
            )
            .with_lines("ignored", self.left_out());
        if platform.toolkit_targets().is_empty() {
            return finding
                .help(build_for_another(platform, product))
                .help("call `.optional(true)` in build.rs to build without CUDA");
        }
        let image = nvidia_image::without_headers(context.env);
        finding.with_some("image", image).helps(self.helps())
    }

    /// Returns the first cuDNN whose library exists but cannot be used.
    fn obstructed(&self) -> Option<(&Cudnn, &Obstacle)> {
        let mut cudnns = self.found.iter().filter_map(|one| one.cudnn());
        cudnns.find_map(|one| Some((one, one.files.obstacle.as_ref()?)))
    }

    /// Returns the link to a toolkit that does not exist, if no other toolkit was found.
    fn dangling(&self) -> Option<&Obstacle> {
        let mut left_out = self.context.scan.left_out.iter();
        left_out.find_map(|one| match &one.reason {
            Unreadable::Dangling(met) if one.kind == self.kind && self.found.is_empty() => {
                Some(met)
            }
            _ => None,
        })
    }

    /// Returns a line for each place that a compiler or a record points to but that could not be used.
    fn left_out(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for one in &self.context.scan.left_out {
            let is_headline = matches!(one.reason, Unreadable::Dangling(_));
            if one.kind == self.kind && !(is_headline && self.dangling().is_some()) {
                lines.push(one.line());
            }
        }
        for one in &self.context.scan.candidates {
            let is_emptied = one.rejected == Some(Rejection::Emptied);
            if one.kind() == self.kind && one.is_gone() && !is_emptied {
                let (via, root) = (&one.via, one.root().display());
                lines.push(format!("{via} points to `{root}`, which does not exist"));
            }
        }
        for (file, cpu) in &self.for_other_cpu {
            lines.push(format!("`{}` is for {cpu}", file.display()));
        }
        lines
    }

    /// Returns the alternatives, the most likely first.
    fn helps(&self) -> Vec<String> {
        let (context, kind) = (self.context, self.kind);
        let (product, name, variable) = (kind.product(), kind.name(), variable(kind));
        let (os, cpu) = (context.platform.os, &context.platform.cpu);
        let mut help = Vec::new();
        let obstructed = self.obstructed();
        help.extend(obstructed.map(|(one, met)| met.help(one.files.unlinked.is_some())));
        let left_out = context.scan.left_out.iter().filter(|one| one.kind == kind);
        help.extend(left_out.filter_map(|one| one.help.clone()));
        if self.foreign.is_some() {
            help.push(format!(
                "install a {product} for {cpu}, and set {variable} to its directory"
            ));
        }
        // The help for a link whose target is gone installs its package again.
        let is_gone = obstructed.is_some_and(|(_, met)| met.is_gone());
        let emptied = self.emptied.filter(|_| !is_gone);
        let emptied = emptied.map(|(owner, _)| owner.reinstall(&[]));
        help.extend(emptied.map(|command| format!("reinstall the package: `{command}`")));
        let is_in_image = nvidia_image::without_headers(context.env).is_some();
        if is_in_image {
            help.push(development_image(match kind {
                Kind::Toolkit => "devel",
                Kind::Cudnn => "cudnn-devel",
            }));
        }
        let mut toolkits = self.found.iter().filter_map(|one| one.toolkit());
        let runtime = toolkits.find(|toolkit| toolkit.is_runtime());
        if let Some(toolkit) = runtime {
            help.push(install_components(
                toolkit,
                &toolkit.missing_components(),
                os,
            ));
            if !is_in_image {
                let image = "build in NVIDIA's `-devel` container image: its `-runtime` image is only for running programs";
                help.push(image.into());
            }
        }
        help.extend(context.module_system().map(|system| match system {
            ModuleSystem::Modules => {
                format!("load its module first; `module avail {name}` lists the modules")
            }
            ModuleSystem::Spack => format!("load it first: `spack load {name}`"),
        }));
        let set = match self.on_library_path {
            Some(one) => format!(
                "set {variable} to `{}` to build with the {product} that {} points to",
                one.root().display(),
                one.via
            ),
            None => set_directory(variable, kind, context),
        };
        let fetch = fetch(context, "without root");
        let set = Some(set);
        let ways = match &self.install {
            // An installer does not install a package again whose record exists.
            _ if is_gone && self.emptied.is_some() => [set, fetch, None],
            _ if self.on_library_path.is_some() || os != Os::Linux => [set, fetch, None],
            Some((installer, command)) => {
                let place = match installer {
                    Installer::Apt => "from NVIDIA's packages",
                    _ => "into the active environment",
                };
                let install = format!("install {product} {place}: `{command}`");
                [Some(install), set, fetch]
            }
            None => [fetch, set, None],
        };
        help.extend(ways.into_iter().flatten());
        help
    }
}

impl LeftOut {
    /// Returns the line for a place: its path and the reason.
    fn line(&self) -> String {
        let (shown, fault) = match &self.reason {
            Unreadable::Nvcc(fault) => {
                let output = fault.output().map(|output| format!("\n{output}"));
                return fault.finding().summary + &output.unwrap_or_default();
            }
            Unreadable::Package(file, fault) => (file.display(), fault),
            Unreadable::Dangling(met) => return met.to_string(),
        };
        match fault {
            PackageFault::InvalidAnswer => {
                format!("`{shown}`: the output of pkg-config for it cannot be parsed")
            }
            PackageFault::NotInstalled => {
                format!("`{shown}`: it cannot be read because pkg-config is not installed")
            }
            PackageFault::NotRun(error) => {
                format!("`{shown}`: it cannot be read because pkg-config cannot be run: {error}")
            }
            PackageFault::Refused(output) => {
                let output = output.as_deref().unwrap_or("no reason given");
                format!("`{shown}`, which pkg-config rejects: {output}")
            }
            PackageFault::Other(error) => format!("`{shown}`: {error}"),
        }
    }
}

impl Candidate {
    /// Returns the finding for a requested cuDNN for this CPU, which is not the platform's.
    pub fn for_other_cpu(&self, cpu: &str, platform: &Platform) -> Finding {
        // The libraries and the headers may come from different variables.
        let root = self.root();
        let library = self.cudnn().and_then(|cudnn| cudnn.library.as_ref());
        let apart = library.filter(|library| !library.starts_with(root));
        let named = match apart {
            Some(library) => format!("`{}`", library.display()),
            None => named(self),
        };
        let (via, own) = (&self.via, &platform.cpu);
        other_cpu(&named, cpu, own)
            .with("found via", found_via(self))
            .help(format!(
                "set {via} to a directory that contains cuDNN for {own}"
            ))
    }

    /// Returns the finding for a cuDNN without an import library, such as the wheels for Windows since cuDNN 9.
    pub fn without_import_library(&self) -> Finding {
        let library = self.cudnn().and_then(|cudnn| cudnn.library.as_deref());
        let variable = self.request.map(|_| self.via.to_string());
        let variable = variable.unwrap_or("CUDNN_PATH".into());
        FindingId::CudnnNotFound
            .error(format!(
                "{} cannot be linked: its import library `cudnn.lib` is missing",
                named(self)
            ))
            .with("found via", found_at(&self.via, library.unwrap_or(self.root())))
            .help("call `.link(Link::Runtime)` in build.rs, and load cuDNN at run time")
            .help(format!("set {variable} to a cuDNN from NVIDIA's installer or archive, which contains `cudnn.lib`"))
    }

    /// Returns the finding for a cuDNN whose main library can be neither linked nor opened.
    pub fn damaged_finding(&self) -> Option<Finding> {
        let (path, defect) = self.cudnn()?.main_library_defect()?;
        let finding = UnusableFile::new(path, defect, Vec::new()).finding();
        let finding = finding.with("found via", found_via(self));
        let variable = self.request.is_some().then_some(&self.via);
        Some(finding.helps(variable.map(|variable| {
            format!("set {variable} to a directory that contains a complete cuDNN")
        })))
    }
}

impl Cudnn {
    /// Returns the finding for a cuDNN with libraries but without complete headers.
    pub fn without_headers(&self, via: &FoundVia, env: &Environment) -> Finding {
        let version = self.library_version;
        let cuda_major = self.cuda_major.unwrap_or(majors::USUAL_CUDA);
        let release = after_space(version);
        let link = self.library.as_ref().or(self.link_dir.as_ref());
        let library = link.unwrap_or(&self.root);
        let root = self.root.display();
        if let Some(header) = &self.files.unreadable_header {
            let dir = quoted(&header.parent().unwrap_or(header).to_string_lossy());
            return FindingId::CudnnHeadersMissing
                .error(format!(
                    "the headers of cuDNN{release} at `{root}` cannot be read: permission denied"
                ))
                .with("found via", found_at(via, header))
                .help(match cfg!(windows) {
                    true => format!(
                        "make them readable: use the Security tab in the properties of {dir}"
                    ),
                    false => format!("make them readable: `sudo chmod -R a+rX {dir}`"),
                })
                .help("set CUDNN_INCLUDE_DIR to a readable directory that contains cudnn.h");
        }
        let headline = match (&self.files.unversioned_header, &self.files.missing_header) {
            // Since cuDNN 8, `cudnn.h` includes the header that has the version.
            (Some(header), _) => format!(
                "the headers of cuDNN{release} are incomplete: `{}` does not define CUDNN_MAJOR{}",
                header.display(),
                match header.ends_with("cudnn.h") {
                    true => ", and there is no `cudnn_version.h` beside it",
                    false => "",
                }
            ),
            (None, Some((header, missing))) => format!(
                "the headers of cuDNN{release} are incomplete: `{}` includes `{missing}`, which does not exist",
                header.display()
            ),
            (None, None) => format!("cuDNN{release} at `{root}` has libraries but no headers"),
        };
        let is_in_image = nvidia_image::is_without_cudnn_headers(env);
        let finding = FindingId::CudnnHeadersMissing
            .error(headline)
            .with("found via", found_at(via, library))
            .helps(is_in_image.then(|| development_image("cudnn-devel")));
        // The 9 in `…/libcudnn.so.9`.
        let in_name = || LibraryName::of(self.library.as_deref()?)?.major();
        let major = version.map(|version| version.major).or_else(in_name);
        let major = major.unwrap_or(majors::NEWEST_CUDNN);
        // Debian's 8.x packages are each for one CUDA, without its number in the name.
        let dev = |kind: &str| match major {
            9.. => format!("libcudnn{major}-{kind}-cuda-{cuda_major}"),
            _ => format!("libcudnn{major}-{kind}"),
        };
        let path = library.to_string_lossy();
        let at = |part: &str| path.contains(part);
        let is_conda = env.path(Variable::CondaPrefix).is_some_and(|prefix| {
            let dir = self.link_dir.as_deref().unwrap_or(&self.root);
            dir.starts_with(prefix)
        });
        let conda = Installer::Conda.install();
        let install = match self.owner.as_deref() {
            Some(owner) if owner.installer.is_for_wheels() => {
                format!("reinstall the package: `{}`", owner.reinstall(&[]))
            }
            Some(owner) if owner.installer == Installer::Conda && owner.name == "libcudnn" => {
                let add = if at("/.pixi/") { "pixi add" } else { conda };
                format!(
                    "install the headers: `{add} libcudnn-dev={}`",
                    owner.version
                )
            }
            _ if is_conda => {
                format!("install cuDNN with its headers: `{conda} cudnn cuda-version={cuda_major}`")
            }
            _ if at("/usr/lib/") && at("-linux-gnu") => {
                format!("install the headers: `sudo apt install {}`", dev("dev"))
            }
            _ if at("/usr/lib64") => format!("install `{}`", dev("devel")),
            _ => format!(
                "copy `include/cudnn*.h` from NVIDIA's archive of that version into `{}`",
                self.root.join("include").display()
            ),
        };
        finding
            .help(install)
            .help(match self.files.unversioned_header {
                Some(_) => "set CUDNN_INCLUDE_DIR to the directory that contains cudnn_version.h",
                None => "set CUDNN_INCLUDE_DIR to the directory that contains cudnn.h",
            })
    }
}

/// Returns the help for a runtime-only image.
fn development_image(variant: &str) -> String {
    format!(
        "build in the `-{variant}` image of nvidia/cuda, and copy the program into this image, which is only for running programs"
    )
}
