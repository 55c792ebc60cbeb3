//! Directives for the linker, for a crate that uses CUDA and for a program that depends on such a crate.

pub mod lost_rpath;
#[cfg(test)]
mod tests;

use crate::config::Link;
use crate::error::Error;
use crate::model::{Library, Os, Platform, joined};
use crate::runtime::facts::{Finding, FindingId};
use crate::system::out_dir::create_dir;
use crate::system::{Directive, Host, cargo, files, loader_cannot_take};
use crate::toolchain::{LazyLibrary, Toolchain};
use crate::toolkit::find_library;
use std::path::{Path, PathBuf};

/// A `links` key for which no dependency passed metadata.
pub(crate) struct NoLinkMetadata<'a> {
    pub links: &'a str,
    /// The variable in which cargo would pass the rpath.
    pub variable: &'a str,
}

impl Toolchain {
    /// Prints the directives for cargo: search directories, libraries, an rpath for non-system directories, the
    /// cfgs `has_cuda`, `has_cudnn`, `cudnn_major` and `cuda_major` with their check-cfg, and for a crate with a
    /// `links` key the metadata `version`, `cuda_version`, `include`, `cuda_include`, `libdir` and `rpath`.
    ///
    /// A build script that compiles C or C++ must call this after compiling: some linkers resolve calls only in later
    /// libraries.
    pub fn link(&self) {
        for directive in self.plan() {
            cargo::emit(&directive);
        }
    }

    /// Returns the lines that [`link`](Self::link) would print.
    pub fn directives(&self) -> Vec<String> {
        let lines = joined(self.plan(), "\n");
        lines.lines().map(String::from).collect()
    }

    fn plan(&self) -> Vec<Directive> {
        let mut plan = Plan::default();
        plan.declare_cfgs();
        if self.absent.is_some() {
            return plan.directives;
        }
        let is_shared = matches!(self.config.link, Link::Dynamic | Link::Lazy);
        if is_shared {
            self.plan_shared(&mut plan);
        }
        if let Some(out_dir) = self.host.env.os_var("OUT_DIR") {
            let linked = plan.link_short_names(Path::new(out_dir));
            if let Err(finding) = linked {
                plan.add(Directive::Warning(finding.summary));
            }
        }
        if self.host.platform.os == Os::Linux {
            if !is_shared || self.config.no_rpath {
                plan.loaded_from.clear();
            }
            self.plan_rpaths(&mut plan);
        }
        if self.config.link == Link::Static {
            for (path, library) in &self.archives.found {
                plan.library_in(path.parent().unwrap_or(path), library.clone());
            }
            for name in &self.archives.system {
                plan.add(Directive::LinkLib(Library::Dynamic((*name).into())));
            }
            for name in &self.archives.shared {
                self.plan_library(&mut plan, name);
            }
        }
        self.plan_cfgs(&mut plan);
        plan.directives
    }

    /// Returns the directives for the shared CUDA runtime, with an rpath but without metadata, which
    /// [`link`](Self::link) sets for all libraries.
    pub(crate) fn shared_cudart(&self) -> Vec<Directive> {
        let mut plan = Plan::default();
        self.plan_library(&mut plan, "cudart");
        if plan.directives.is_empty() {
            plan.add(Directive::LinkLib(Library::Dynamic("cudart".into())));
        }
        if self.host.platform.os == Os::Linux && !self.config.no_rpath {
            self.plan_rpaths(&mut plan);
        }
        let is_metadata = |one: &Directive| matches!(one, Directive::Metadata(..));
        plan.directives.retain(|one| !is_metadata(one));
        plan.directives
    }

    fn plan_rpaths(&self, plan: &mut Plan) {
        let rpaths = plan.rpaths(&self.host.platform, &self.config.rpath_origin);
        if self.allowed.contains(FindingId::LibraryNotFound) {
            return;
        }
        let absolute = rpaths.iter().find(|dir| dir.is_absolute());
        let lost = absolute.and_then(|dir| lost_rpath::find(&self.host.env, dir));
        let Some((finding, files)) = lost else { return };
        let text = finding.map_or_else(String::new, |finding| finding.to_string());
        for line in text.lines() {
            plan.add(Directive::Warning(line.to_string()));
        }
        for file in files {
            plan.add(Directive::RerunIfChanged(file));
        }
    }

    /// Links cuDNN and the libraries of the toolkit, unless they are opened lazily.
    fn plan_shared(&self, plan: &mut Plan) {
        self.plan_lazy(plan);
        let is_lazy = |name: &str| self.lazy.libraries.iter().any(|lazy| lazy.name == name);
        if !is_lazy("cudnn") {
            self.plan_cudnn(plan);
        }
        if !is_lazy("cudart") {
            self.plan_cudart(plan);
        }
        let is_dynamic = self.config.link == Link::Dynamic;
        for name in self.config.libs.iter().filter(|name| !is_lazy(name)) {
            if is_dynamic || name != "cudart" {
                self.plan_library(plan, name);
            }
        }
    }

    fn plan_cudnn(&self, plan: &mut Plan) {
        let Some(cudnn) = self.cudnn() else { return };
        let (Some(dir), Some(library)) = (&cudnn.link_dir, &cudnn.link_library) else {
            return;
        };
        plan.library_in(dir, library.clone());
        if let Some(library) = &cudnn.library {
            plan.loads_from(library);
        }
    }

    /// The archives come before all other libraries, so that the linker finds them first. Microsoft's linker delays the
    /// loading of the DLLs instead.
    fn plan_lazy(&self, plan: &mut Plan) {
        let mut delayed = Vec::new();
        let is_msvc = self.host.platform.is_msvc();
        if !is_msvc && self.config.link == Link::Lazy {
            plan.add(Directive::LinkSearch(self.lazy.dir.clone()));
        }
        let own = self.toolkit().map_or(&[][..], |toolkit| &toolkit.link_dirs);
        for LazyLibrary { name, soname, file } in &self.lazy.libraries {
            if !is_msvc {
                plan.add(Directive::LinkLib(Library::Bundled(name.clone())));
            } else if let Some((dir, name)) = file.parent().zip(file.file_stem()) {
                plan.library_in(dir, Library::Dynamic(name.to_string_lossy().into_owned()));
                for directive in Directive::delay_loading(soname) {
                    plan.add(directive);
                }
                delayed.push(soname.as_str());
            }
            let is_own = |dir: &Path| own.iter().any(|own| own == dir);
            // The loader finds the driver's library and those of the system itself.
            if name == "cudnn" || file.parent().is_some_and(is_own) {
                plan.loads_from(file);
            }
        }
        if !delayed.is_empty() {
            plan.metadata("delayed", delayed.join(";"));
        }
    }

    /// Links the static runtime if possible, since a program with its own cudart cannot load a wrong one. On Windows it
    /// links the DLL: every object of `cudart_static.lib` requests the static C runtime (`/DEFAULTLIB:LIBCMT`), but
    /// Rust programs use the other one unless they are built with `crt-static`.
    fn plan_cudart(&self, plan: &mut Plan) {
        let Some(toolkit) = self.toolkit() else {
            return;
        };
        let archive = find_library::static_cudart(toolkit, &self.host.platform);
        match archive.as_deref().and_then(Path::parent) {
            Some(dir) => {
                plan.library_in(dir, Library::Static("cudart_static".into()));
                // System libraries that libcudart_static.a needs.
                for system in ["rt", "dl", "pthread"] {
                    plan.add(Directive::LinkLib(Library::Dynamic(system.into())));
                }
            }
            _ => self.plan_library(plan, "cudart"),
        }
    }

    /// Links a library of the toolkit, or from a component's own wheel beside it.
    fn plan_library(&self, plan: &mut Plan, name: &str) {
        let Some(toolkit) = self.toolkit() else {
            return;
        };
        let platform = &self.host.platform;
        let found = |dir| find_library::library_in(dir, name, platform, toolkit.version);
        for dir in &toolkit.link_dirs {
            if let Some(library) = found(dir) {
                plan.loads_from(&dir.join(name));
                plan.library_in(dir, library);
                return;
            }
        }
        let library = Library::Dynamic(name.to_string());
        let first = toolkit.link_dirs.first().map(|dir| dir.join("stubs"));
        if let Some(dir) = toolkit.stub_dirs.iter().find(|dir| found(dir).is_some()) {
            plan.library_in(dir, library);
        } else if let (Some(dir), "cuda") = (first, name) {
            // A stub that is installed later does not run the build script again.
            plan.library_in(&dir, library);
        } else if name != "cudart" {
            // The linker may find the library elsewhere.
            plan.add(Directive::LinkLib(library));
        }
    }

    fn plan_cfgs(&self, plan: &mut Plan) {
        // A program that opens CUDA at run time is built without a toolkit.
        if self.toolkit().is_some() || self.config.cuda.is_some() {
            plan.cfg("has_cuda", None);
        }
        let required = self.requirements.cudnn.as_ref();
        if required.is_some() {
            plan.cfg("has_cudnn", None);
        }
        let found = self.cudnn().and_then(|cudnn| cudnn.version());
        let promised = || required?.only_major();
        if let Some(major) = found.map(|version| version.major).or_else(promised) {
            plan.cfg("cudnn_major", Some(major));
        }
        if let Some(version) = found {
            plan.metadata("version", version.to_string());
        }
        if let Some(cuda) = self.cuda_version() {
            plan.cfg("cuda_major", Some(cuda.major));
            plan.metadata("cuda_version", cuda.short());
        }
        if let Ok(dirs) = std::env::join_paths(self.cuda_include_dirs()) {
            if !dirs.is_empty() {
                plan.metadata("cuda_include", dirs.to_string_lossy().into_owned());
            }
        }
        if let Some(cudnn) = self.cudnn() {
            for (key, dir) in [("include", &cudnn.include_dir), ("libdir", &cudnn.link_dir)] {
                if let Some(dir) = dir {
                    plan.metadata(key, dir.to_string_lossy().into_owned());
                }
            }
        }
    }
}

#[derive(Default)]
struct Plan {
    directives: Vec<Directive>,
    loaded_from: Vec<PathBuf>,
    /// The libraries that are linked by their full file names.
    verbatim_libraries: Vec<PathBuf>,
}

impl Plan {
    fn declare_cfgs(&mut self) {
        self.add(Directive::CheckCfg("has_cuda"));
        self.add(Directive::CheckCfg("has_cudnn"));
        self.add(Directive::CheckCfg("cudnn_major, values(any())"));
        self.add(Directive::CheckCfg("cuda_major, values(any())"));
    }

    fn add(&mut self, directive: Directive) {
        if !self.directives.contains(&directive) {
            self.directives.push(directive);
        }
    }

    fn library_in(&mut self, dir: &Path, library: Library) {
        self.add(Directive::LinkSearch(dir.to_path_buf()));
        if let Library::Verbatim(file) = &library {
            self.verbatim_libraries.push(dir.join(file));
        }
        self.add(Directive::LinkLib(library));
    }

    /// Creates links with short names, `libcudnn.so` to `libcudnn.so.9`, for libraries that have only full names, as in
    /// NVIDIA's wheels. Other crates of the program, such as cudarc and candle, link with `-lcudnn`.
    fn link_short_names(&mut self, out_dir: &Path) -> Result<(), Finding> {
        if self.verbatim_libraries.is_empty() {
            return Ok(());
        }
        let dir = out_dir.join("cudnn-guard/lib");
        create_dir(&dir)?;
        for library in &self.verbatim_libraries {
            let name = library.file_name().unwrap_or_default().to_string_lossy();
            if let Some((short, _)) = name.split_once(".so.") {
                files::link(library, &dir.join(format!("{short}.so")))?;
            }
        }
        self.add(Directive::LinkSearch(dir));
        Ok(())
    }

    fn cfg(&mut self, name: &str, value: Option<u32>) {
        self.add(Directive::Cfg(
            name.into(),
            value.map(|number| number.to_string()),
        ));
    }

    fn metadata(&mut self, key: &str, value: String) {
        self.add(Directive::Metadata(key.into(), value));
    }

    fn loads_from(&mut self, library: &Path) {
        if let Some(dir) = library.parent() {
            if !self.loaded_from.iter().any(|known| known == dir) {
                self.loaded_from.push(dir.to_path_buf());
            }
        }
    }

    /// Adds the rpaths. Those relative to the program come first, so that a program uses the libraries it is installed
    /// with.
    fn rpaths(&mut self, platform: &Platform, origin: &[String]) -> Vec<PathBuf> {
        let mut rpaths = Vec::new();
        for dir in origin {
            rpaths.push(Path::new("$ORIGIN").join(dir));
        }
        let system = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];
        let multiarch = platform.multiarch();
        for dir in std::mem::take(&mut self.loaded_from) {
            let mut system = system.iter().map(Path::new);
            match loader_cannot_take(&dir) {
                _ if system.any(|system| dir == system || dir == system.join(&multiarch)) => {}
                None => rpaths.push(dir),
                Some(why) => self.add(Directive::Warning(format!(
                    "`{}` cannot be used as an rpath: {why}; rename this directory",
                    dir.display()
                ))),
            }
        }
        if !rpaths.is_empty() {
            let joined = joined(rpaths.iter().map(|dir| dir.display()), ":");
            self.metadata("rpath", joined);
        }
        for dir in &rpaths {
            self.add(Directive::Rpath(dir.clone()));
        }
        rpaths
    }
}

/// The link metadata of a `-sys` crate with a `links` key, for the build script of a program that depends on it. cargo
/// passes on the libraries of a dependency, but not its rpath, without which the program fails to start.
///
/// ```no_run
/// cudnn_guard::build(|| {
///     cudnn_guard::Linked::from_dep("cudnn")?.link();
///     Ok(())
/// });
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is linked until `link` is called"]
pub struct Linked {
    directives: Vec<Directive>,
    include_dirs: Vec<PathBuf>,
}

impl Linked {
    /// Reads the link metadata of the dependency with `links = "<links>"`.
    ///
    /// # Errors
    /// `config-invalid` if this package has no such dependency, or if its build script did not call
    /// [`Toolchain::link`].
    pub fn from_dep(links: &str) -> Result<Self, Error> {
        Self::read(&crate::Config::new().host(), links)
    }

    fn read(host: &Host, links: &str) -> Result<Self, Error> {
        let prefix = format!("DEP_{}_", links.to_uppercase().replace('-', "_"));
        let variable = |key: &str| format!("{prefix}{key}");
        let keys = ["RPATH", "DELAYED", "VERSION", "CUDA_VERSION"].map(variable);
        if keys.iter().all(|key| host.env.os_var(key).is_none()) {
            let variable = &keys[0];
            return Err(NoLinkMetadata { links, variable }.finding().into());
        }
        let read = ["RPATH", "DELAYED", "INCLUDE", "CUDA_INCLUDE"].map(variable);
        let mut directives = Vec::from(read.clone().map(Directive::RerunIfEnvChanged));
        let [rpath, delayed, include_dirs @ ..] = &read;
        if let Some(dirs) = host.env.var(rpath) {
            directives.extend(dirs.split(':').map(|dir| Directive::Rpath(dir.into())));
        }
        if let Some(dlls) = host.env.var(delayed) {
            directives.extend(dlls.split(';').flat_map(Directive::delay_loading));
        }
        let dirs = include_dirs.iter().filter_map(|key| host.env.os_var(key));
        let include_dirs = dirs.flat_map(std::env::split_paths);
        Ok(Self {
            directives,
            include_dirs: files::dedup(include_dirs),
        })
    }

    /// Returns the directories with the headers of cuDNN and CUDA that the dependency was built with.
    pub fn include_dirs(&self) -> &[PathBuf] {
        &self.include_dirs
    }

    /// Prints the rpath for cargo. For MSVC, if the dependency has a guard, it also delays the loading of cuDNN's DLL.
    pub fn link(&self) {
        self.directives.iter().for_each(cargo::emit);
    }
}
