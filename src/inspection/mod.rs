//! The inspection of a compiled program.

pub mod driver_stub;
pub mod fault;
pub mod frameworks;
pub mod gpu_code;
pub mod interpreter;
pub mod json;
pub mod looked_up;
pub mod mixed_libraries;
pub mod nvrtc;
pub mod preflight;
pub mod provider;
#[cfg(all(test, target_os = "linux"))]
mod tests;
pub mod text;
pub mod undefined_symbols;
pub mod wheel_overlap;
pub mod windows;

pub use fault::{InspectionFault, LibrarySource, PYTHONS};
pub use provider::{ORT_DYLIB_PATH, Provider, ProviderFault};
pub use undefined_symbols::Undefined;

use crate::config::Config;
use crate::error::Error;
use crate::inspection::interpreter::missing_interpreter;
use crate::inspection::preflight::{Other, PreflightInput};
use crate::loader::{LoadGraph, linkage, main_library};
use crate::model::{Candidate, Found, Linkage, LoadPhase, Missing, Platform};
use crate::report;
use crate::report::machine::query_driver;
use crate::runtime::driver::driver_library;
use crate::runtime::facts::{Built, Finding, FindingId, Loader, Severity, Verdict, cudnn_file};
use crate::runtime::judge::rules;
use crate::runtime::loader::{SearchPath, file_name};
use crate::runtime::system::{DRIVER_SO, PathCache, path_cache};
#[cfg(target_os = "linux")]
use crate::system::privileges;
use crate::system::{Host, files};
use crate::toolkit::dependencies;
use std::env::consts::{ARCH, OS};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A compiled program, inspected without running it: the records of its guards, the libraries that the loader would
/// find, and whether they are compatible. `cudnn-guard inspect` prints it.
#[derive(Clone, Debug)]
pub struct Inspection {
    input: PreflightInput,
    linkage: Arc<Linkage>,
    findings: Vec<Finding>,
    /// The parts that could not be checked.
    pub(crate) unknown: Vec<String>,
    /// `warn` or `off`, if the program's guard never exits.
    lenient: Option<&'static str>,
    /// The driver's library that the program gets.
    driver: Option<PathBuf>,
    /// `true` if the program computes on the CPU, because the CUDA provider of its ONNX Runtime does not load.
    pub(crate) may_use_cpu: bool,
}

impl Inspection {
    /// Inspects a program for this machine, or for the system below `root`.
    ///
    /// # Errors
    /// `io-error` if the file is not a program, `library-damaged` if it is damaged.
    pub fn read(program: &Path, root: Option<&Path>) -> Result<Self, Error> {
        let _cache = PathCache::start();
        let read = linkage::read(program);
        let read = read.map_err(|defect| InspectionFault::Unreadable(program, defect).finding())?;
        let (guards, others): (Vec<Built>, Vec<Built>) = linkage::records(program)
            .into_iter()
            .partition(|built| built.not_understood.is_none());
        let system = match read.is_pe {
            true => "pc-windows-msvc",
            false => "unknown-linux-gnu",
        };
        let platform = Platform::from_triple(&format!("{}-{system}", read.cpu));
        let of_here = read.cpu == ARCH && read.is_pe != (OS == "linux");
        let mut inspection = Self {
            input: PreflightInput {
                program: program.to_path_buf(),
                root: root.map(Path::to_path_buf),
                #[cfg(target_os = "linux")] // other systems have no file capabilities
                is_privileged: privileges::raises_privileges(program),
                platform,
                guards,
                ..PreflightInput::default()
            },
            linkage: Arc::new(read),
            findings: Vec::new(),
            unknown: others.iter().map(unknown_rule).collect(),
            lenient: None,
            driver: None,
            may_use_cpu: false,
        };
        let triple = Some(&*inspection.input.platform.triple);
        let host = Host::capture(triple, root.map(Path::to_path_buf), &[]);
        if !inspection.input.guards.is_empty() {
            let mode = host.env.var("CUDNN_GUARD").unwrap_or_default();
            let mut lenient = ["warn", "off"].into_iter();
            inspection.lenient = lenient.find(|lenient| mode.trim() == *lenient);
        }
        inspection.input.allow = Config::new().allowed(&host.env);
        let (refused, provider) = match inspection.linkage.is_pe {
            true => (Vec::new(), inspection.follow_dlls(&host)),
            false => inspection.follow(&host),
        };
        if let Some(provider) = &provider {
            let cudnn = inspection.input.cudnn.as_ref();
            let findings = provider.findings(cudnn, &|| installations(&host), host.sysroot());
            if !findings.is_empty() {
                inspection.may_use_cpu = !provider.is_without_cudnn();
                let doubt = match inspection.may_use_cpu {
                    true => "ONNX Runtime may compute on the CPU",
                    false => "operations of ONNX Runtime may fail",
                };
                inspection.unknown.push(doubt.into());
            }
            inspection.findings.extend(findings);
        }
        let in_image = driver_stub::in_image(host.sysroot());
        inspection.findings.extend(in_image);
        if of_here && root.is_none() {
            inspection.ask();
        } else {
            let reason = "driver and GPUs not queried";
            inspection.unknown.push(reason.into());
        }
        let (os, gpus) = (inspection.input.platform.os, inspection.input.gpus());
        // A guard contains the targets of the program.
        let mut guards = inspection.input.guards.iter();
        let first = usize::from(guards.any(|built| !built.targets.is_empty()));
        let provider = provider.as_ref().map(|provider| &*provider.path);
        let objects = &inspection.input.graph.objects;
        let objects = objects.get(first..).unwrap_or_default();
        let (found, doubts) = gpu_code::check(objects, provider, os, gpus);
        inspection.findings.extend(found);
        inspection.unknown.extend(doubts);
        inspection.input.allow.apply(&mut inspection.findings);
        // Allowed findings do not affect the loader.
        inspection.findings.extend(refused);
        let (mut findings, unknown) = inspection.input.check();
        // A missing driver is reported once, with the help for this machine.
        let is_driver = |one: &Finding| one.id == FindingId::DriverMissing;
        if let Some(known) = inspection.findings.iter_mut().find(|one| is_driver(one)) {
            if let Some(needed) = findings.iter().find(|one| is_driver(one)) {
                *known = known.clone().with_needed_driver(needed);
            }
            findings.retain(|one| !is_driver(one));
        }
        inspection.findings.extend(findings);
        if inspection.input.is_privileged {
            let findings = inspection.findings.iter_mut();
            findings.for_each(Finding::without_library_path);
        }
        // A missing cuDNN comes before the libraries that it would open, and musl before everything.
        let later = |finding: &Finding| {
            let first = [FindingId::CudnnNotLoadable, FindingId::PlatformUnsupported];
            let is_of_all = first.contains(&finding.id);
            (finding.severity != Severity::Error, !is_of_all)
        };
        inspection.findings.sort_by_key(later);
        for reason in unknown {
            files::push_new(&mut inspection.unknown, reason);
        }
        Ok(inspection)
    }

    /// Follows the loader's search, and returns the findings about files that it refuses, and the provider of ONNX
    /// Runtime.
    fn follow(&mut self, host: &Host) -> (Vec<Finding>, Option<Provider>) {
        let loader = self.linkage.interpreter.as_deref().unwrap_or_default();
        if loader.contains("ld-musl") {
            let reason = "the program uses musl, which cuDNN does not support";
            self.unknown.push(reason.into());
            let mut refused = Vec::new();
            if !self.input.guards.is_empty() || interpreter::is_linked_to_cuda(&self.linkage) {
                let fault = InspectionFault::UsesMusl(&self.input.program, &self.linkage.cpu);
                refused.push(fault.finding());
            }
            return (refused, None);
        }
        let (program, cpu) = (&self.input.program, &self.linkage.cpu);
        let root = host.root.as_deref();
        if let Some(missing) = missing_interpreter(Some(program), loader, cpu, root) {
            return (vec![missing.finding()], None);
        }
        let path = interpreter::search_path(program, &self.linkage, self.input.is_privileged, host);
        let mut graph = LoadGraph::resolve(program, self.linkage.clone(), path);
        if let Some(missing) = interpreter::missing_glibc(&graph, program, cpu, root) {
            return (vec![missing.finding()], None);
        }
        let constants = looked_up::constants(&self.input.program);
        let cudarc = looked_up::cudarc(&constants);
        // A guard opens cuDNN before ONNX Runtime does.
        let has_guard = !self.input.guards.is_empty();
        let opens_cudnn = !has_guard && looked_up::opens(&constants, "cudnn");
        self.input.cudarc = cudarc.clone().filter(|_| opens_cudnn);
        let early = (!has_guard).then(|| provider::load(&mut graph, host, true));
        if let Some(main_library) = self.main_library(&mut graph) {
            let object = graph.objects.get(main_library);
            self.input.via = object.and_then(|object| object.via.clone());
            let platform = &self.input.platform;
            let majors = self.input.by_cudarc().map(rules::majors);
            self.input.hidden = majors.and_then(|majors| {
                main_library::hidden_from_cudarc(&graph, main_library, &majors, platform)
            });
            self.input.main_library = Some(main_library);
            self.input.cudnn = main_library::cudnn(&mut graph, main_library, platform);
        }
        let provider = early.unwrap_or_else(|| provider::load(&mut graph, host, true));
        nvrtc::open_builtins(&mut graph);
        let mut refused = mixed_libraries::findings(&graph, root.is_some());
        if let Some(cudarc) = &cudarc {
            refused.extend(looked_up::findings(
                &mut graph,
                &self.input,
                &constants,
                cudarc,
            ));
        }
        let (guards, has_cudarc) = (&self.input.guards, cudarc.is_some());
        if let Some(finding) = driver_stub::finding(&graph, guards, has_cudarc, &constants) {
            self.unknown.push("the program does not use the GPU".into());
            self.findings.push(finding);
        }
        let driver = graph.would_open(DRIVER_SO, 0);
        self.driver = driver.map(|object| object.path);
        self.input.graph = graph;
        if let Some(file) = self.input.graph.by_level.first() {
            self.unknown.push(format!(
                "`{}` is loaded only on newer CPUs, and the CPU is unknown",
                file.display()
            ));
        }
        self.search_elsewhere(host);
        (refused, provider)
    }

    /// Returns the cuDNN that is loaded with the program, or else the one that the program opens. cudarc may open a
    /// different cuDNN than the loaded one.
    fn main_library(&mut self, graph: &mut LoadGraph) -> Option<usize> {
        let by = |loader| {
            let mut guards = self.input.guards.iter();
            guards.find(|built| built.loader == loader && built.absent.is_none())
        };
        let cudarc = by(Loader::Cudarc).or(self.input.cudarc.as_ref());
        if cudarc.is_none() {
            let guards = self.input.guards.iter();
            let majors: Vec<u32> = guards.flat_map(rules::majors).collect();
            let mut loaded = Vec::new();
            for (index, object) in graph.objects.iter().enumerate() {
                loaded.extend(main_library::loaded_major(object).map(|major| (index, major)));
            }
            // Prefer a loaded cuDNN that is compatible, like the guard does.
            let fits = loaded.iter().find(|(_, major)| majors.contains(major));
            let loaded = fits.or(loaded.first()).map(|(index, _)| *index);
            if fits.is_some() || by(Loader::Dlopen).is_none() {
                return loaded;
            }
        }
        let names = file_name::opened_names(cudarc.or(by(Loader::Dlopen))?);
        let found = names
            .iter()
            .find_map(|name| graph.open(name, 0, LoadPhase::Later));
        if let (Some(built), None) = (cudarc, found) {
            let mut majors = rules::majors(built).into_iter();
            let found = majors.find_map(|it| graph.would_open(&cudnn_file("", it, false), 0));
            self.input.unrequested = found.map(|object| object.path);
        }
        // Only one of cudarc's many names is reported.
        let reported = usize::from(cudarc.is_some() && found.is_none());
        if found.is_some() || cudarc.is_some() {
            let others = names.get(reported..).unwrap_or_default();
            let is_other = |missing: &Missing| others.contains(&missing.name);
            let mut missing = graph.missing.iter().filter(|one| is_other(one));
            let unfit = missing.find_map(|one| one.unfit.clone());
            graph.missing.retain(|missing| !is_other(missing));
            let first = |one: &&mut Missing| names.first() == Some(&one.name);
            if let Some(first) = graph.missing.iter_mut().find(first) {
                first.unfit = first.unfit.take().or(unfit);
            }
        }
        found
    }

    /// Searches like a build if a library is missing.
    fn search_elsewhere(&mut self, host: &Host) {
        let missing = &self.input.graph.missing;
        if missing.is_empty() {
            return;
        }
        let candidates = installations(host);
        let own = &self.linkage;
        for missing in missing.iter().filter(|one| one.placeholder.is_none()) {
            let mut add = |path: &Path, version| {
                let read = host.is_inside(path).then(|| linkage::read(path).ok());
                // A library for another CPU would not help.
                let read = read.flatten().filter(|read| read.cpu == own.cpu);
                self.input.others.extend(read.map(|read| Other {
                    instead_of: missing.name.clone(),
                    path: path.to_path_buf(),
                    soname: read.soname,
                    version,
                }));
            };
            let name = &missing.name;
            let is_cudnn = name.starts_with("libcudnn.so") || name.starts_with("cudnn64_");
            for candidate in &candidates {
                match &candidate.found {
                    Found::Cudnn(cudnn) if is_cudnn => {
                        let library = cudnn.library.as_ref().or(cudnn.files.unlinked.as_ref());
                        if let Some(library) = library {
                            add(library, cudnn.library_version.or(cudnn.version()));
                        }
                    }
                    Found::Toolkit(toolkit) if dependencies::is_of_toolkit(name) => {
                        for dir in &toolkit.link_dirs {
                            add(&dir.join(name), None);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Queries the driver and the GPUs of this machine.
    fn ask(&mut self) {
        let unsearched = driver_library::unsearched(Path::new("/"), SearchPath::of_program);
        match query_driver() {
            Ok((driver, finding)) => {
                self.input.driver = driver;
                // The file that the program gets is already reported.
                let known: Vec<FindingId> = self.findings.iter().map(|one| one.id).collect();
                let finding = finding.filter(|one| !known.contains(&one.id));
                self.findings.extend(finding);
            }
            Err(_) => self
                .unknown
                .push("the NVIDIA driver did not respond".into()),
        }
        if self.input.driver.is_none() {
            self.unknown.push("no NVIDIA driver was found".into());
            return;
        }
        if let (Some(missing), None) = (unsearched, &self.driver) {
            self.findings.push(missing.finding());
        }
        let real = |path: &Path| files::canonical(path, None).ok();
        let own = self.driver.as_deref().and_then(real);
        if let Some(queried) = &mut self.input.driver {
            let file = real(Path::new(&queried.library));
            if file.is_some() && file != own && !self.linkage.is_pe {
                // The program's driver, if it gets one, may support another CUDA.
                queried.cuda = None;
                let reason = format!("the program does not get the driver `{}`", queried.library);
                self.unknown.push(reason);
            }
        }
        if self.input.gpus().is_empty() {
            self.unknown.push("no GPU was found".into());
        }
    }

    /// Returns fail if the program cannot run, unknown if something could not be checked, and pass otherwise.
    pub fn verdict(&self) -> Verdict {
        report::verdict(&self.findings, self.unknown.is_empty())
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// Returns the toolkits and cuDNNs that a build would find.
fn installations(host: &Host) -> Vec<Candidate> {
    let survey = || Config::new().survey_on(host.clone()).candidates;
    path_cache::once("installations", Path::new(&host.platform.triple), survey)
}

/// Describes a record with a rule of a later cudnn-guard, which cannot be checked.
fn unknown_rule(built: &Built) -> String {
    format!(
        "{} was built with cudnn-guard {}, and its record contains a rule that this version cannot check (`{}`)",
        built.package.as_deref().unwrap_or("a crate"),
        built.written_by,
        built.not_understood.as_deref().unwrap_or_default()
    )
}
