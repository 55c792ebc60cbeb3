//! A program for Windows: the DLLs that it imports, and the cuDNN among them or the one that it opens.

use crate::inspection::Inspection;
use crate::loader::dll_search::DllSearchPath;
use crate::loader::{dll_graph, main_library};
use crate::runtime::facts::built::{Built, Loader};
use crate::runtime::judge::rules;
use crate::system::Host;
use std::path::PathBuf;

impl Inspection {
    /// Its own folder comes first, then Windows' own, then PATH, which is known on Windows alone.
    pub(super) fn follow_dlls(&mut self, host: &Host) {
        let program = self.input.program.clone();
        let own = program.parent().unwrap_or(&program).to_path_buf();
        let path = DllSearchPath::of_program(host, own.clone());
        let (objects, missing) = dll_graph::resolve(&program, self.linkage.clone(), &path);
        self.input.objects = objects;
        self.input.missing = missing;
        self.input.path_known = path.known;
        let Some((library, major)) = self.dll(&path) else {
            if self.opens().next().is_some() && !path.known {
                let reason = "the program looks for its cuDNN along the PATH of wherever it runs";
                self.unknown.push(reason.into());
            }
            return;
        };
        let dir = library.parent().unwrap_or(&library);
        self.input.found_via = if dir == own {
            "the program's own directory".into()
        } else if path.system.as_deref() == Some(dir) {
            format!("Windows' own directory, `{}`", dir.display())
        } else {
            format!("PATH, its entry `{}`", dir.display())
        };
        let cudnn = main_library::dlls(dir, major, &self.input.platform);
        self.input.elsewhere = path.elsewhere(&cudnn);
        self.input.dll_dependencies = Some(path.dependencies(&cudnn, None));
        self.input.cudnn = Some(cudnn);
    }

    /// The first library of the cuDNN that is loaded with the program, else of the one that it opens.
    fn dll(&self, path: &DllSearchPath<'_>) -> Option<(PathBuf, u32)> {
        let major = |name: &str| main_library::cudnn_major(&name.to_ascii_lowercase());
        let mut objects = self.input.objects.iter();
        let imported = objects.find_map(|object| Some((object.path.clone(), major(&object.name)?)));
        imported.or_else(|| {
            let mut majors = self.opens().flat_map(rules::majors);
            majors.find_map(|major| {
                let name = self.input.platform.cudnn_library(major);
                Some((path.file(&name)?, major))
            })
        })
    }

    /// The guards of crates that may open a cuDNN: a linked one too, as a DLL may be loaded when it is first called.
    fn opens(&self) -> impl Iterator<Item = &Built> {
        self.input
            .guards
            .iter()
            .filter(|guard| guard.loader != Loader::Static && guard.absent.is_none())
    }
}
