//! Programs for Windows: the DLLs that they import, and the cuDNN that they import or open.

use crate::inspection::Inspection;
use crate::inspection::provider::{self, Provider};
use crate::loader::dll_search::DllSearchPath;
use crate::loader::ldso::LoadGraph;
use crate::loader::main_library;
use crate::loader::search_order::LoaderEnv;
use crate::model::linkage::{LoadPhase, Missing};
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::pe::Pe;
use crate::runtime::facts::{Built, Loader, cudnn_file, majors};
use crate::runtime::judge::rules;
use crate::runtime::loader::not_found::Unfit;
use crate::system::Host;
use std::path::{Path, PathBuf};

impl Inspection {
    /// Searches in Windows' order: the program's directory, the system directories, then PATH, which is known only on
    /// Windows. Returns the provider of ONNX Runtime.
    pub(super) fn follow_dlls(&mut self, host: &Host) -> Option<Provider> {
        let program = self.input.program.clone();
        let own = program.parent().filter(|dir| !dir.as_os_str().is_empty());
        let own = own.unwrap_or(Path::new(".")).to_path_buf();
        let path = DllSearchPath::new(host, Some(own));
        let mut env = LoaderEnv {
            dll_path: path.path.clone(),
            ..LoaderEnv::default()
        };
        env.system.root.clone_from(&host.root);
        let mut graph = LoadGraph::resolve(&program, self.linkage.clone(), env);
        let provider = provider::load(&mut graph, host, path.known);
        self.input.objects = graph.objects;
        self.input.missing = graph.missing;
        self.input.path_known = path.known;
        let places = path.path.directories.iter();
        self.input.dll_directories = places.map(|place| place.origin.clone()).collect();
        // The main library of a cuDNN that is loaded with the program.
        let major = |name: &str| main_library::cudnn_major(&name.to_ascii_lowercase());
        let mut objects = self.input.objects.iter();
        let imported = objects.find_map(|one| Some((one.path.clone(), major(&one.name)?)));
        let Some((library, major)) = imported.or_else(|| self.opened_dll(&path)) else {
            if self.opens().next().is_some() && !path.known {
                let reason = "cuDNN may be on the PATH where the program runs";
                self.unknown.push(reason.into());
            }
            self.search_elsewhere(host);
            return provider;
        };
        self.input.found_via = found_via(&library, &path);
        if path.known && host.root.is_none() {
            self.input.via = path.path.finds(&library);
        }
        let platform = &self.input.platform;
        let mut find = |name: &str, _, _| path.file(&cudnn_file(name, major, true));
        let (installed, cudnn) = main_library::locate(&library, major, platform, None, &mut find);
        let mut dependencies = path.dependencies(&cudnn, None);
        dependencies.missing_dlls.extend(path.not_opened(&cudnn));
        self.input.dll_dependencies = Some(dependencies);
        (self.input.installed, self.input.cudnn) = (installed, Some(cudnn));
        provider
    }

    /// Returns the main library of the cuDNN that the program opens. If the first file of a name is unusable, Windows
    /// does not search further.
    fn opened_dll(&mut self, path: &DllSearchPath) -> Option<(PathBuf, u32)> {
        let majors: Vec<u32> = self.opens().flat_map(rules::majors).collect();
        let mut missing = Vec::new();
        for major in majors {
            let name = self.input.platform.cudnn_library(major);
            let file = path.file(&name);
            let unfit = file.as_deref().and_then(|file| {
                match Pe::read(file).map(|pe| (pe.defect(), pe.cpu())) {
                    // A damaged file does not show what it is.
                    Ok((Some(Defect::Truncated(..) | Defect::Garbled), _)) => None,
                    Ok((Some(defect), _)) | Err(defect) => Some(defect),
                    Ok((None, Some(cpu))) => {
                        let own = &self.linkage.cpu;
                        (cpu != own).then(|| Defect::Cpu(cpu, own.clone()))
                    }
                    Ok((None, None)) => None,
                }
            });
            match (file, unfit) {
                (Some(file), None) => return Some((file, major)),
                (file, unfit) => missing.push(Missing {
                    name,
                    needed_by: self.input.program.clone(),
                    need: LoadPhase::Later,
                    searched: path.path.folders(),
                    unfit: file.zip(unfit).map(|(file, defect)| Unfit {
                        found_via: found_via(&file, path),
                        path: file,
                        defect,
                    }),
                    ..Missing::default()
                }),
            }
        }
        for one in missing {
            let is_same = |known: &Missing| known.name.eq_ignore_ascii_case(&one.name);
            let is_reported = self.input.missing.iter().any(is_same);
            if !is_reported && (path.known || one.unfit.is_some()) {
                self.input.missing.push(one);
            }
        }
        let mut known = majors::CUDNN.iter();
        self.input.unrequested =
            known.find_map(|major| path.file(&self.input.platform.cudnn_library(*major)));
        None
    }

    /// Returns the guards of crates that may open a cuDNN. These include linked ones, because a DLL may be
    /// delay-loaded.
    fn opens(&self) -> impl Iterator<Item = &Built> {
        let guards = self.input.guards.iter();
        guards.filter(|guard| guard.loader != Loader::Static && guard.absent.is_none())
    }
}

/// Returns the reason why Windows finds this file.
fn found_via(file: &Path, path: &DllSearchPath) -> String {
    let origin = path.path.finds(file);
    origin.map_or_else(String::new, |origin| origin.describe(true))
}
