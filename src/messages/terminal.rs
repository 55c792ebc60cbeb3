use crate::cli::fetch::fault::FetchFault;
use crate::model::{Cudnn, Installer};
use crate::runtime::facts::finding::listed;
use crate::runtime::facts::{Finding, FindingId, quoted};
use crate::system::files;
use std::path::PathBuf;

impl FetchFault {
    pub fn finding(self) -> Finding {
        FindingId::FetchFailed.error(self.0)
    }
}

impl Cudnn {
    /// Returns the finding for CUDA libraries that this cuDNN opens by name, each with a sub-library that opens it, and
    /// that the loader does not find. `aside`: their files, if all are in directories that the loader does not search;
    /// `packages`: those that contain them, as named by the installer of the cuDNN.
    pub fn not_opened_finding(
        &self,
        cuda: u32,
        missing: &[(String, &str)],
        aside: &[PathBuf],
        packages: &str,
    ) -> Finding {
        let names: Vec<String> = missing.iter().map(|(name, _)| name.clone()).collect();
        let all = listed(&names);
        let users = missing.iter();
        let users = users.map(|(name, part)| format!("{part}: {name}"));
        let finding = FindingId::CudnnNotLoadable
            .warning(format!(
                "the cuDNN at `{}` opens {all} at run time, which the loader cannot find",
                self.root.display()
            ))
            .with_lines("opened by", users)
            .with_paths("available", aside);
        if !aside.is_empty() {
            let dirs = aside.iter().filter_map(|file| file.parent());
            let dirs = files::dedup(dirs.map(|dir| dir.to_string_lossy()));
            let dirs = quoted(&dirs.join(":"));
            return finding.help(format!(
                "run `export LD_LIBRARY_PATH={dirs}` before you start the program"
            ));
        }
        finding.help(match self.owner.as_deref().map(|owner| owner.installer) {
            Some(installer @ (Installer::Pip | Installer::Uv)) => {
                let pip = installer.pip();
                format!("install the missing libraries: `{pip} install {packages}`")
            }
            Some(Installer::Conda) => format!(
                "install the missing libraries: `conda install -c conda-forge {packages} cuda-version={cuda}`"
            ),
            _ => format!("install the CUDA {cuda} toolkit, or add the directory of its libraries to LD_LIBRARY_PATH"),
        })
    }
}
