//! The checks of the cuDNN that the program uses: its files, its version, and whether driver and GPUs are supported.

use crate::cudnn::consistency;
use crate::inspection::fault::InspectionFault;
use crate::inspection::preflight::{PreflightInput, within};
use crate::loader::dll_dependencies;
use crate::loader::main_library::{cudnn_major, is_bundled};
use crate::model::linkage::{Missing, Object};
use crate::model::{Cudnn, Os};
use crate::runtime::driver::query::Device;
use crate::runtime::facts::sub_libraries::{self, TENSOR_IR};
use crate::runtime::facts::{Built, LibraryName, Tables};
use crate::runtime::install::mixed_sub_libraries::{
    self, Foreign, ForeignSubLibraries, LastingFolder,
};
use crate::runtime::install::package_owner;
use crate::runtime::install::refusal::{Need, UnusableFile};
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::install::sub_library_files::StraySubLibrary;
use crate::runtime::judge::gpu_support;
use crate::runtime::judge::program_rules::{self, ReleaseMismatch};
use crate::runtime::judge::rules::{self, Gpu, Impact, KnownBadRelease};
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::opener::Opener;
use crate::system::files;
use crate::{ComputeCapability, Finding, FindingId, Version, compat};
use std::path::Path;

/// A loaded cuDNN whose version one of the program's guards rejects.
pub struct RefusedRelease<'a> {
    pub input: &'a PreflightInput,
    pub mismatch: ReleaseMismatch,
    pub guard: &'a Built,
    pub library: &'a Path,
    /// Directories that would still precede another cuDNN.
    pub lasting: Vec<LastingFolder>,
    /// A compatible cuDNN that comes before it, under a name that cudarc requests later.
    pub hidden: Option<&'a Path>,
}

/// The facts about the program for the findings about the files of its cuDNN.
pub struct LoadedFiles<'a> {
    pub found_via: &'a str,
    /// The major of a main library that is a wheel's copy.
    pub bundled: Option<u32>,
    pub missing: MissingFiles<'a>,
    /// The finding about sub-libraries of other versions in other directories.
    pub foreign: Option<Finding>,
}

/// The possible location of missing sub-libraries.
#[derive(Clone, Copy)]
pub enum MissingFiles<'a> {
    /// No location, so the program fails.
    Nowhere,
    /// On Windows, possibly a directory in an unknown PATH.
    OnPath,
    /// An empty file, over which the real one is mounted later.
    Mounted(&'a Path),
}

impl PreflightInput {
    pub(super) fn cudnn(
        &self,
        cudnn: &Cudnn,
        findings: &mut Vec<Finding>,
        unknown: &mut Vec<String>,
    ) {
        self.files(cudnn, findings, unknown);
        let guards = self.guards.iter();
        for guard in guards.filter(|guard| within(guard).is_none()) {
            self.release(cudnn, guard, findings);
            self.machine(cudnn, guard, findings);
        }
        self.known_bad(cudnn, findings);
        if cudnn.library_version.is_none() {
            unknown.push("the cuDNN version is unknown".into());
        }
    }

    pub(super) fn known_bad(&self, cudnn: &Cudnn, findings: &mut Vec<Finding>) {
        let Some(version) = cudnn.library_version else {
            return;
        };
        let gpus = self.driver.as_ref().filter(|driver| driver.cuda.is_some());
        let capability = |device: &Device| device.capability;
        let gpus: Option<Vec<ComputeCapability>> =
            gpus.map(|driver| driver.devices.iter().map(capability).collect());
        let needs = self.guards.iter().flat_map(|guard| &guard.needs);
        let needs: Vec<String> = needs.cloned().collect();
        let rows = compat::known_bad();
        let bad = rules::known_bad(&rows, version, None, gpus.as_deref(), &needs);
        let bad = bad.iter().filter(|one| one.impact != Impact::Possible);
        findings.extend(bad.map(KnownBadRelease::finding));
    }

    fn files(&self, cudnn: &Cudnn, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        let cpu = &*self.platform.cpu;
        let own = cudnn
            .main_library_defect()
            .map(|(path, defect)| InspectionFault::RefusedCudnn(path, defect, cpu).finding());
        let is_part = |missing: &&Missing| missing.name.starts_with("libcudnn_");
        let parts = || self.missing.iter().filter(is_part);
        let later = parts().find_map(|missing| missing.placeholder.as_ref());
        // An unusable file does not count as missing.
        let unfit = parts().filter_map(|missing| missing.unfit.as_ref());
        let unfit =
            unfit.map(|one| UnusableFile::new(&one.path, &one.defect, Need::Needed).finding());
        let all_are_there = parts().all(|missing| missing.unfit.is_some());
        let own = own.into_iter().chain(unfit);
        let found = consistency::findings(cudnn, &[]);
        let context = LoadedFiles {
            found_via: &self.found_via,
            bundled: cudnn.library.as_deref().and_then(|library| {
                let name = consistency::file_name(library);
                cudnn_major(name).filter(|_| is_bundled(name))
            }),
            missing: match later {
                Some(place) => MissingFiles::Mounted(place),
                None if self.platform.os == Os::Windows && !self.path_known => MissingFiles::OnPath,
                None => MissingFiles::Nowhere,
            },
            foreign: self.foreign_parts(cudnn),
        };
        for finding in own.chain(found) {
            if finding.id == FindingId::PartsMissing {
                // If some sub-libraries are from elsewhere, the help already recommends a complete cuDNN. Sub-libraries
                // of the version in the file name would not help.
                let promised = cudnn.library.as_deref().and_then(named_major);
                let own = cudnn.library_version.map(|version| version.major);
                let is_misnamed = promised.zip(own).is_some_and(|(one, other)| one != other);
                let is_reported = context.foreign.is_some() || is_misnamed;
                if is_reported || parts().count() > 0 && all_are_there {
                    continue;
                }
                match context.missing {
                    MissingFiles::Nowhere => {}
                    MissingFiles::OnPath => unknown.push(
                        "sub-libraries of cuDNN may be on the PATH where the program runs".into(),
                    ),
                    MissingFiles::Mounted(_) => {
                        unknown.push("sub-libraries of cuDNN may be mounted later".into());
                    }
                }
            }
            // The origin of sub-libraries matters only if the main library is the right one.
            let is_foreign = finding.id == FindingId::PartsMixed && context.foreign.is_some();
            let refusal = cudnn.library_version.and_then(|it| self.refusal(it));
            if !is_foreign || refusal.is_none() {
                findings.push(context.apply(finding));
            }
        }
        if let Some(dll_dependencies) = &self.dll_dependencies {
            findings.extend(dll_dependencies::findings(cudnn, dll_dependencies));
            if !dll_dependencies.missing_dlls.is_empty() {
                let reason = "DLLs that cuDNN needs may be on the PATH where the program runs";
                unknown.push(reason.into());
            }
        }
    }

    /// Returns the reason why a guard rejects this version.
    pub(super) fn refusal(&self, version: Version) -> Option<ReleaseMismatch> {
        let mut guards = self.guards.iter().filter(|guard| guard.absent.is_none());
        guards.find_map(|guard| program_rules::version(guard, version).err())
    }

    /// Returns the finding about sub-libraries of another version in other directories, which the guard also reports.
    fn foreign_parts(&self, cudnn: &Cudnn) -> Option<Finding> {
        let (library, release) = (cudnn.library.as_ref()?, cudnn.library_version?);
        let folder = library.parent()?;
        let mut foreign = self.foreign(cudnn, folder);
        foreign.retain(|part| part.version.is_some_and(|version| version != release));
        if let ([stray], true) = (&*foreign, sub_libraries::opens_absent_part(release)) {
            let part = cudnn.parts.iter().find(|part| part.path == stray.path);
            let part = part.filter(|part| part.name == TENSOR_IR);
            if let Some(version) = part.and_then(SubLibraryFile::sourced_version) {
                let stray = StraySubLibrary {
                    folder,
                    release,
                    path: stray.path,
                    version,
                    origin: stray.origin.clone(),
                };
                return Some(stray.finding());
            }
        }
        let fault = ForeignSubLibraries {
            release: Some(release),
            folder,
            foreign: &foreign,
            mixed: None,
        };
        (!foreign.is_empty()).then(|| fault.finding())
    }

    /// Returns the sub-libraries outside the main library's directory, `folder`.
    fn foreign<'a>(&self, cudnn: &'a Cudnn, folder: &Path) -> Vec<Foreign<'a>> {
        let foreign = |part: &'a SubLibraryFile| {
            let has_own = |name| files::is_file(&folder.join(name));
            let has_own = part.path.file_name().is_some_and(has_own);
            let place = |dir: Option<&Path>| {
                let mut dirs = self.dll_directories.iter();
                dirs.position(|origin| Some(origin.folder()) == dir)
            };
            let (own, other) = (place(Some(folder)), place(part.path.parent()));
            (part.path.parent() != Some(folder)).then(|| Foreign {
                path: &part.path,
                version: part.version,
                origin: self.origin(&part.path),
                has_own,
                yields: has_own || own.is_some() && own < other,
            })
        };
        cudnn.parts.iter().filter_map(foreign).collect()
    }

    /// Returns the reason why the loader uses this file.
    fn origin(&self, path: &Path) -> LoadOrigin {
        let names = |origin: &&LoadOrigin| Some(origin.folder()) == path.parent();
        if let Some(origin) = self.dll_directories.iter().find(names) {
            return origin.clone();
        }
        let object = self.objects.iter().find(|object| object.path == path);
        let opener = object.and_then(|object| self.objects.get(object.requester?));
        let is_cudnn = |object: &Object| object.name.starts_with("libcudnn");
        match (object.and_then(|object| object.via.clone()), opener) {
            // The program itself has no name.
            (Some(_), Some(opener)) if !opener.name.is_empty() && !is_cudnn(opener) => {
                LoadOrigin::Library(Opener {
                    path: opener.path.clone(),
                    preloaded: opener.via == Some(LoadOrigin::Preload),
                })
            }
            (via, _) => via.unwrap_or(LoadOrigin::Elsewhere),
        }
    }

    /// Adds the finding if one of the program's guards rejects the version.
    fn release(&self, cudnn: &Cudnn, guard: &Built, findings: &mut Vec<Finding>) {
        let Some(library) = &cudnn.library else {
            return;
        };
        let major = named_major(library);
        let major = major.filter(|major| !rules::majors(guard).contains(major));
        let by_name = major.map(|major| Version::new(major, 0, 0));
        let version = cudnn.library_version.or(by_name);
        let (Some(version), None) = (version, &guard.absent) else {
            return;
        };
        if let Err(mismatch) = program_rules::version(guard, version) {
            let fits = |version| program_rules::version(guard, version).is_ok();
            let of_hidden = |hidden: &&Cudnn| hidden.library_version.is_some_and(fits);
            let hidden = self.hidden.as_ref().filter(of_hidden);
            let dir = library.parent().unwrap_or(library);
            let fault = RefusedRelease {
                input: self,
                mismatch,
                guard,
                library,
                lasting: self.via.as_ref().map_or_else(Vec::new, |via| {
                    mixed_sub_libraries::lasting_folders(&self.foreign(cudnn, dir), via)
                }),
                hidden: hidden.and_then(|hidden| hidden.library.as_deref()),
            };
            findings.push(fault.finding());
        }
        let cuda = cudnn.cuda_major;
        let mismatch = cuda.and_then(|major| program_rules::cuda_major(guard, major));
        if let Some(mut fault) = mismatch {
            let dir = library.parent().unwrap_or(library);
            fault.keep = package_owner::keep_help(dir, fault.built_with);
            findings.push(fault.finding());
        }
    }

    /// Adds the findings about driver and GPUs.
    pub(super) fn machine(&self, cudnn: &Cudnn, guard: &Built, findings: &mut Vec<Finding>) {
        let Some(driver) = self.driver.as_ref().and_then(|driver| driver.cuda) else {
            return;
        };
        let built = Built {
            tables: Tables {
                drivers: compat::drivers(&self.platform),
                ptx: guard.cuda.and_then(compat::ptx_from),
                ..Tables::default()
            },
            ..guard.clone()
        };
        let mut add = |finding: Option<Finding>| {
            findings.extend(finding.filter(|finding| !findings.contains(finding)));
        };
        let too_old = program_rules::driver(&built, cudnn.cuda_major, driver);
        add(too_old.map(|fault| fault.finding()));
        let Some(gpu) = self.gpus().first() else {
            return;
        };
        let gpu = Gpu::new(&gpu.name, gpu.capability);
        add(program_rules::kernels(&built, Some(driver), gpu).map(|fault| fault.finding()));
        if let (Some(version), Some(cuda)) = (cudnn.library_version, cudnn.cuda_major) {
            let rows = compat::gpus(&self.platform.cpu);
            let unsupported = gpu_support::Cudnn { version, cuda }.device(&rows, gpu);
            add(unsupported.map(|fault| fault.finding()));
        }
    }
}

fn named_major(library: &Path) -> Option<u32> {
    LibraryName::of(library)?.major()
}
