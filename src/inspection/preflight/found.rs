//! The checks of the cuDNN that the program uses: its files, its version, and whether driver and GPUs are supported.

use crate::cudnn::{SubLibraryFault, consistency, named_major};
use crate::guard::tables::of_driver;
use crate::inspection::preflight::{PreflightInput, within};
use crate::loader::main_library::{cudnn_major, is_bundled};
use crate::model::{Cudnn, Os};
use crate::runtime::driver::Device;
use crate::runtime::facts::{Built, Loader, printable};
use crate::runtime::install::dlopen_dependencies::cublas_version;
use crate::runtime::install::main_library::available;
use crate::runtime::install::mixed_sub_libraries::Replacement;
use crate::runtime::install::{
    Installed, MissingSubLibraries, Remedy, UnusableFile, mixed_sub_libraries, package_owner,
};
use crate::runtime::judge::program_rules::ReleaseMismatch;
use crate::runtime::judge::{Gpu, Impact, gpu_support, program_rules, rules};
use crate::runtime::loader::{LoadOrigin, SearchPath};
use crate::system::{Binary, files};
use crate::{ComputeCapability, Finding, FindingId, Version, compat};
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

impl PreflightInput {
    /// Returns the search path for the sub-libraries of the cuDNN.
    fn search_path(&self) -> SearchPath {
        match self.main_library {
            Some(index) => self.graph.search_path(index),
            None => self.graph.path.clone(),
        }
    }

    pub(super) fn cudnn(&self, cudnn: &Cudnn, unknown: &mut Vec<String>) -> Vec<Finding> {
        let mut findings = self.files(cudnn, unknown);
        let guards = self.guards.iter();
        let loads = |guard: &&Built| within(guard).is_none() && guard.loader != Loader::None;
        for guard in guards.filter(loads) {
            self.release(cudnn, guard, &mut findings);
            self.machine(cudnn, guard, &mut findings);
        }
        self.known_bad(cudnn, &mut findings);
        if cudnn.library_version.is_none() {
            unknown.push("the cuDNN version is unknown".into());
        }
        findings
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
        let mut objects = self.graph.objects.iter();
        let cublas = objects.find(|object| object.name.starts_with("libcublasLt.so"));
        let cublas = cublas.and_then(|object| cublas_version(&object.path));
        let bad = rules::known_bad(&rows, version, cublas, gpus.as_deref(), &needs);
        for (row, impact) in bad {
            if impact != Impact::Possible {
                findings.push(row.finding(version, impact));
            }
        }
    }

    fn files(&self, cudnn: &Cudnn, unknown: &mut Vec<String>) -> Vec<Finding> {
        let (installed, mut findings) = (&cudnn.installed, Vec::new());
        if let Some((path, defect)) = cudnn.main_library_defect() {
            findings.push(UnusableFile::new(path, defect, Vec::new()).finding());
        }
        // The directories in which cuDNN searches are unknown if its main library cannot be read.
        let is_searched = findings.is_empty();
        let is_valid = |file: &Path| {
            let opened = Binary::open(file, self.platform.os);
            opened.is_ok_and(|binary| binary.defect(file, &self.platform).is_none())
        };
        findings.extend(installed.findings(Some(&self.search_path()), &is_valid));
        let is_mixed = |finding: &Finding| finding.id == FindingId::PartsMixed;
        let is_foreign = findings.iter().any(is_mixed) && !installed.is_together();
        // If some sub-libraries are from elsewhere, the help already recommends a complete cuDNN. Sub-libraries of the
        // version in the file name would not help.
        let promised = cudnn.library.as_deref().and_then(named_major);
        let own = cudnn.library_version.map(|version| version.major);
        let is_misnamed = promised.zip(own).is_some_and(|(one, other)| one != other);
        if is_searched && !installed.missing.is_empty() && !is_foreign && !is_misnamed {
            findings.push(self.missing_sub_libraries(installed, unknown));
        }
        // The origin of sub-libraries matters only if the main library is the right one.
        let refusal = cudnn.library_version.and_then(|it| self.refusal(it));
        if is_foreign && refusal.is_some() {
            findings.retain(|finding| !is_mixed(finding));
        }
        if let wheels @ [_, ..] = &*cudnn.files.wheels {
            findings.push(SubLibraryFault::SeveralWheels(wheels).finding(cudnn));
        }
        let found_via = ("found via", self.found_via().unwrap_or_default());
        let add = |finding: Finding| finding.with_first(vec![found_via.clone()]);
        findings = findings.into_iter().map(add).collect();
        findings.extend(self.dll_dependencies.findings(cudnn));
        if !self.dll_dependencies.missing_dlls.is_empty() {
            let reason = "DLLs that cuDNN needs may be on the PATH where the program runs";
            unknown.push(reason.into());
        }
        findings
    }

    /// Returns the reason why a guard rejects this version.
    pub(super) fn refusal(&self, version: Version) -> Option<ReleaseMismatch> {
        let mut guards = self.guards.iter().filter(|guard| guard.absent.is_none());
        guards.find_map(|guard| program_rules::version(guard, version).err())
    }

    /// Returns the finding about missing sub-libraries. It is uncertain if they may exist where the program runs, and
    /// for the copy of a Python package, which may never use it.
    fn missing_sub_libraries(&self, installed: &Installed, unknown: &mut Vec<String>) -> Finding {
        let rows = compat::gpus(&self.platform);
        let mut missing = MissingSubLibraries::new(installed, false, &rows);
        let files = self.graph.missing.iter();
        let files = files.filter(|one| installed.missing.contains(&one.name));
        missing.looked_at = files::dedup(files.clone().flat_map(|one| one.searched.clone()));
        let name = consistency::file_name(&installed.main.path);
        missing.bundled = cudnn_major(name).filter(|_| is_bundled(name));
        let place = files.clone().find_map(|one| one.placeholder.as_ref());
        let is_on_path = self.platform.os == Os::Windows && !self.path_known;
        missing.is_uncertain |= missing.bundled.is_some() || place.is_some() || is_on_path;
        if place.is_some() {
            unknown.push("sub-libraries of cuDNN may be mounted later".into());
        } else if is_on_path {
            let reason = "sub-libraries of cuDNN may be on the PATH where the program runs";
            unknown.push(reason.into());
        }
        let place = place.map(|place| place.display());
        missing.finding().with_some("mountpoint", place)
    }

    /// Adds the finding if one of the program's guards rejects the version.
    fn release(&self, cudnn: &Cudnn, guard: &Built, findings: &mut Vec<Finding>) {
        let Some(library) = &cudnn.library else {
            return;
        };
        if guard.absent.is_some() {
            return;
        }
        let judged = match (cudnn.library_version, named_major(library)) {
            (Some(version), _) => program_rules::version(guard, version),
            (None, Some(major)) => program_rules::major(guard, major),
            (None, None) => Ok(()),
        };
        if let Err(mismatch) = judged {
            let fits = |version| program_rules::version(guard, version).is_ok();
            let of_hidden = |hidden: &&Cudnn| hidden.library_version.is_some_and(fits);
            let hidden = self.hidden.as_ref().filter(of_hidden);
            let hidden = hidden.and_then(|hidden| hidden.library.clone());
            let mut evidence = vec![
                ("loaded", printable(&library.to_string_lossy())),
                ("found via", self.found_via().unwrap_or_default()),
            ];
            let package = guard.package.clone().filter(|_| self.guards.len() > 1);
            evidence.extend(package.map(|package| ("crate", package)));
            // If the reason is unknown, the files can only be replaced, like those in an rpath.
            let by_path = || LoadOrigin::Rpath(cudnn.installed.folder().to_path_buf(), None);
            let is_here = self.path_known && self.root.is_none();
            let is_known = |_: &LoadOrigin| is_here || self.platform.os != Os::Windows;
            let via = self.via.clone().filter(is_known).unwrap_or_else(by_path);
            let foreign = mixed_sub_libraries::foreign(&cudnn.installed, Some(&self.search_path()));
            let lasting = mixed_sub_libraries::lasting_folders(&foreign, &via);
            let replacement = Replacement::new(&via, library, &lasting, &fits);
            let remedy = hidden.map(|path| Remedy::hidden(guard, path));
            let is_like_here = match self.platform.os {
                Os::Windows => cfg!(windows) && is_here,
                _ => !cfg!(windows),
            };
            let is_searched = is_like_here && self.platform.cpu == ARCH && !self.is_privileged;
            let available = || available(guard, library, &self.graph.search_path(0));
            let available = is_searched.then(available).flatten();
            let inside = |path: PathBuf| self.graph.sysroot().inside(&path);
            let remedy = remedy.or(available.map(|path| Remedy::Available(inside(path))));
            findings.push(mismatch.finding(evidence, &replacement, remedy));
        }
        let loaded_major = cudnn.cuda_major;
        if let Some(mismatch) = loaded_major.and_then(|it| program_rules::cuda_major(guard, it)) {
            let folder = library.parent().unwrap_or(library);
            let help = package_owner::keep_help(folder, mismatch.built_with);
            findings.push(mismatch.finding(help));
        }
    }

    /// Adds the findings about driver and GPUs.
    pub(super) fn machine(&self, cudnn: &Cudnn, guard: &Built, findings: &mut Vec<Finding>) {
        let Some(driver) = self.driver.as_ref().and_then(|driver| driver.cuda) else {
            return;
        };
        let built = Built {
            tables: of_driver(&self.platform, guard.cuda),
            ..guard.clone()
        };
        let mut add = |finding: Option<Finding>| {
            findings.extend(finding.filter(|finding| !findings.contains(finding)));
        };
        add(program_rules::driver(&built, cudnn.cuda_major, driver));
        let Some(gpu) = self.gpus().first() else {
            return;
        };
        let gpu = Gpu::new(&gpu.name, gpu.capability);
        add(program_rules::kernels(&built, Some(driver), gpu));
        if let (Some(version), Some(cuda)) = (cudnn.library_version, cudnn.cuda_major) {
            let rows = compat::gpus(&self.platform);
            let cudnn = gpu_support::Cudnn { version, cuda };
            let gap = cudnn.gap(&rows, gpu.capability);
            add(gap.map(|gap| gap.finding(cudnn, gpu)));
        }
    }
}
