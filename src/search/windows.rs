//! The directories of NVIDIA's installers for Windows.

use crate::loader::dll_search;
use crate::model::{FoundVia, Kind, Os, Platform, Variable};
use crate::search::{EACH_TOOLKIT, Places, Tree, VERSIONED, install_layout};
use std::path::{Path, PathBuf};

impl Places<'_> {
    /// Adds the toolkits in the installers' variables, then all toolkits below `Program Files`, the newest first,
    /// then the directories of old installers, then the system directory.
    pub(super) fn windows(&mut self) {
        if self.platform.os != Os::Windows {
            return;
        }
        for (name, dir) in self.env.numbered(EACH_TOOLKIT) {
            self.both(&FoundVia::variable(name), &dir, "");
        }
        // In a 32-bit program, `ProgramFiles` is a different directory.
        let variables = [Variable::ProgramW6432, Variable::ProgramFiles];
        let files = match &self.host.root {
            Some(root) => Some(root.join("Program Files")),
            None => variables
                .iter()
                .find_map(|variable| self.env.path(*variable)),
        };
        if let Some(files) = files {
            let toolkits = files.join("NVIDIA GPU Computing Toolkit");
            self.both(&VERSIONED, &toolkits.join("CUDA"), "v#");
            let cudnn = files.join("NVIDIA").join("CUDNN");
            let installed = install_layout::installed_cudnn(self.platform, &cudnn, "v#");
            let flat = install_layout::cudnn(self.platform, &cudnn, "v#");
            let old = install_layout::cudnn(self.platform, &toolkits, "cudnn#");
            let via = FoundVia::Directory("NVIDIA's cuDNN installer");
            self.tree(Kind::Cudnn, &via, installed);
            self.tree(Kind::Cudnn, &via, flat);
            self.tree(Kind::Cudnn, &VERSIONED, old);
        }
        if let Some(dir) = self.drive() {
            let via = FoundVia::Directory("an old default directory");
            self.both(&via, &dir.join("CUDA"), "");
        }
        // Some users copy cuDNN's DLLs to System32, which Windows searches before PATH. Without a root, System32 of another
        // system is unknown.
        let is_target = self.env.builder(self.platform) == *self.platform;
        let system = dll_search::system_dir(self.env, self.host.root.as_deref());
        if let Some(dir) = system.filter(|_| is_target || self.host.root.is_some()) {
            let via = FoundVia::Directory("Windows' system directory");
            let tree = Tree {
                base: dir,
                lib: vec![PathBuf::new()],
                ..Tree::default()
            };
            self.tree(Kind::Cudnn, &via, tree);
        }
    }

    /// Returns the root of the system drive: `C:\`.
    fn drive(&self) -> Option<PathBuf> {
        let drive = || self.env.get(Variable::SystemDrive)?.to_str();
        let root = || Some(format!("{}\\", drive()?).into());
        self.host.root.clone().or_else(root)
    }
}

/// Adds the directories beside separately requested ones in NVIDIA's layouts: `include/12.5` and `bin/12.5/x64` beside
/// `lib/12.5/x64`.
pub(super) fn complete(tree: &mut Tree, platform: &Platform) {
    let cpu = platform.windows_cpu();
    for dir in tree.include.clone() {
        for dir in beside(&dir, "include", "lib") {
            tree.lib.push(dir.join(cpu));
            tree.lib.push(dir);
        }
        for dir in beside(&dir, "include", "bin") {
            tree.dll_dirs.push(dir.join(cpu));
            tree.dll_dirs.push(dir);
        }
    }
    for dir in tree.lib.clone() {
        tree.dll_dirs.extend(beside(&dir, "lib", "bin"));
        tree.include.extend(beside(&dir, "lib", "include"));
    }
    tree.lib.extend_from_slice(&tree.dll_dirs);
}

/// Returns the directory at the same place below `to` instead of `from`, and its ancestors.
fn beside(dir: &Path, from: &str, to: &str) -> Vec<PathBuf> {
    let Some(own) = dir.ancestors().find(|above| above.ends_with(from)) else {
        return Vec::new();
    };
    let tail = dir.strip_prefix(own).unwrap_or(Path::new(""));
    let top = own.with_file_name(to);
    let mut dirs = Vec::new();
    for tail in tail.ancestors() {
        dirs.push(top.join(tail));
    }
    dirs
}
