//! Programs for Windows: the DLLs that they import, and the cuDNN that they import or open.

use crate::inspection::{Inspection, Provider, looked_up, provider};
use crate::loader::{DllSearchPath, LoadGraph, main_library};
use crate::model::{LoadPhase, Missing};
use crate::runtime::binary::Defect;
use crate::runtime::facts::{Built, Loader, cudnn_file, majors};
use crate::runtime::judge::rules;
use crate::runtime::loader::{LoadOrigin, Unfit};
use crate::system::{Host, files};
use std::path::{Path, PathBuf};

impl Inspection {
    /// Searches in Windows' order: the program's directory, the system directories, then PATH, which is known only on
    /// Windows. Returns the provider of ONNX Runtime.
    pub(super) fn follow_dlls(&mut self, host: &Host) -> Option<Provider> {
        let program = self.input.program.clone();
        let own = program.parent().filter(|dir| !dir.as_os_str().is_empty());
        let own = own.unwrap_or(Path::new(".")).to_path_buf();
        let path = DllSearchPath::new(host, Some(own));
        let mut search_path = path.path.clone();
        search_path.system.root.clone_from(&host.root);
        let mut graph = LoadGraph::resolve(&program, self.linkage.clone(), search_path);
        let provider = provider::load(&mut graph, host, path.known);
        let constants = looked_up::constants(&program);
        if let Some(cudarc) = looked_up::cudarc(&constants) {
            let found = looked_up::findings(&mut graph, &self.input, &constants, &cudarc);
            self.findings.extend(found);
        }
        self.input.graph = graph;
        self.input.path_known = path.known;
        // The main library of a cuDNN that is loaded with the program.
        let major = |name: &str| main_library::cudnn_major(&name.to_ascii_lowercase());
        let mut objects = self.input.graph.objects.iter();
        let imported = objects.find_map(|one| Some((one.path.clone(), major(&one.name)?)));
        let Some((library, major)) = imported.or_else(|| self.opened_dll(&path)) else {
            if self.opens().next().is_some() && !path.known {
                let reason = "cuDNN may be on the PATH where the program runs";
                self.unknown.push(reason.into());
            }
            self.search_elsewhere(host);
            return provider;
        };
        self.input.via = path.path.finds(&library);
        let platform = &self.input.platform;
        let mut find = |name: &str, _, _| path.path.program_file(&cudnn_file(name, major, true));
        let mut cudnn = main_library::locate(&library, major, platform, None, &mut find);
        let origin = |file: &Path| path.path.finds(file).unwrap_or(LoadOrigin::Elsewhere);
        cudnn.installed.add_origins(&origin(&library), &origin);
        let mut dependencies = path.dependencies(&cudnn, None);
        dependencies.missing_dlls.extend(path.not_opened(&cudnn));
        self.input.dll_dependencies = dependencies;
        self.input.cudnn = Some(cudnn);
        provider
    }

    /// Returns the main library of the cuDNN that the program opens. If the first file of a name is unusable, Windows
    /// does not search further.
    fn opened_dll(&mut self, path: &DllSearchPath) -> Option<(PathBuf, u32)> {
        let mut graph = self.input.graph.clone();
        let imported = graph.missing.len();
        for major in files::dedup(self.opens().flat_map(rules::majors)) {
            let name = self.input.platform.cudnn_library(major);
            let Some(index) = graph.open(&name, 0, LoadPhase::Later) else {
                continue;
            };
            let library = graph.objects.get(index)?;
            let defect = match library.defect.clone() {
                // A damaged file does not show what it is.
                None | Some(Defect::Truncated(..) | Defect::Garbled) => {
                    return Some((library.path.clone(), major));
                }
                Some(defect) => defect,
            };
            let via = path.path.finds(&library.path);
            let via = via.map_or_else(String::new, |via| via.describe(true));
            let unfit = Unfit::new(library.path.clone(), defect, via);
            graph.missing.push(Missing {
                name,
                needed_by: self.input.program.clone(),
                need: LoadPhase::Later,
                searched: path.path.folders(),
                unfit: Some(unfit),
                ..Missing::default()
            });
        }
        let mut opened = graph.missing.split_off(imported);
        opened.retain(|one| path.known || one.unfit.is_some());
        self.input.graph.missing.append(&mut opened);
        let mut names = majors::CUDNN
            .iter()
            .map(|major| cudnn_file("", *major, true));
        self.input.unrequested = names.find_map(|name| path.path.program_file(&name));
        None
    }

    /// Returns the guards of crates that may open a cuDNN. These include linked ones, because a DLL may be
    /// delay-loaded.
    fn opens(&self) -> impl Iterator<Item = &Built> {
        let guards = self.input.guards.iter();
        let contained = [Loader::Static, Loader::None];
        guards.filter(move |guard| !contained.contains(&guard.loader) && guard.absent.is_none())
    }
}
