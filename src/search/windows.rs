//! Where NVIDIA's installers for Windows put things.

use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::platform::{Os, Platform};
use crate::search::search_step::{Kind, Step, Tree};
use crate::search::{At, EACH_TOOLKIT, VERSIONED, install_layout, surrounding};
use std::path::{Path, PathBuf};

impl At<'_> {
    /// Toolkits that the installers' variables name, then all below `Program Files`, the newest first, then those of
    /// long ago.
    pub(super) fn windows(&self) -> Vec<Step> {
        if self.platform.os != Os::Windows {
            return Vec::new();
        }
        let mut steps = Vec::new();
        for (name, dir) in self.env.numbered(EACH_TOOLKIT) {
            steps.extend(self.both(&FoundVia::variable(name), false, &dir, ""));
        }
        if let Some(files) = self.program_files() {
            let toolkits = files.join("NVIDIA GPU Computing Toolkit");
            steps.extend(self.both(&VERSIONED, true, &toolkits.join("CUDA"), "v#"));
            let cudnn = files.join("NVIDIA").join("CUDNN");
            let installed = install_layout::installed_cudnn(self.platform, &cudnn, "v#");
            let flat = install_layout::cudnn(self.platform, &cudnn, "v#");
            let old = install_layout::cudnn(self.platform, &toolkits, "cudnn#");
            let via = FoundVia::Directory("NVIDIA's cuDNN installer");
            steps.push(surrounding(&via, true, Kind::Cudnn, installed));
            steps.push(surrounding(&via, true, Kind::Cudnn, flat));
            steps.push(surrounding(&VERSIONED, true, Kind::Cudnn, old));
        }
        if let Some(dir) = self.drive() {
            let via = FoundVia::Directory("an old usual directory");
            steps.extend(self.both(&via, true, &dir.join("CUDA"), ""));
        }
        steps
    }

    /// A 32-bit program is told another directory in `ProgramFiles`.
    fn program_files(&self) -> Option<PathBuf> {
        match self.root {
            Some(root) => Some(root.join("Program Files")),
            None => (self.env.path(Variable::ProgramW6432))
                .or_else(|| self.env.path(Variable::ProgramFiles)),
        }
    }

    /// `C:\`, as the system has it.
    fn drive(&self) -> Option<PathBuf> {
        match self.root {
            Some(root) => Some(root.to_path_buf()),
            None => {
                let drive = self.env.get(Variable::SystemDrive)?.to_str()?;
                Some(format!("{drive}\\").into())
            }
        }
    }
}

/// What was named one by one, with what NVIDIA's layouts have beside it: `lib/12.5/x64` goes with `include/12.5` and
/// `bin/12.5/x64`.
pub(super) fn complete(tree: &mut Tree, platform: &Platform) {
    let cpu = platform.windows_cpu();
    for dir in tree.include.clone() {
        for leaf in ["lib", "bin"] {
            for dir in beside(&dir, "include", leaf) {
                tree.lib.extend([dir.join(cpu), dir]);
            }
        }
    }
    for dir in tree.lib.clone() {
        tree.lib.extend(beside(&dir, "lib", "bin"));
        tree.include.extend(beside(&dir, "lib", "include"));
    }
}

/// Returns the directory at the same place below `to` instead of `from`, and its ancestors.
fn beside(dir: &Path, from: &str, to: &str) -> Vec<PathBuf> {
    let Some(own) = dir.ancestors().find(|above| above.ends_with(from)) else {
        return Vec::new();
    };
    let tail = dir.strip_prefix(own).unwrap_or(Path::new(""));
    let top = own.with_file_name(to);
    tail.ancestors().map(|tail| top.join(tail)).collect()
}
