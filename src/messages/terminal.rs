use crate::model::Installer;
use crate::report::not_opened::NotOpened;
use crate::runtime::facts::finding::listed;
use crate::runtime::facts::{Finding, FindingId, quoted};
use crate::system::files;

impl NotOpened<'_> {
    pub fn finding(&self) -> Finding {
        let (cudnn, cuda, packages) = (self.cudnn, self.cuda, &self.packages);
        let names: Vec<String> = self.missing.iter().map(|(name, _)| name.clone()).collect();
        let all = listed(&names);
        let users = self.missing.iter();
        let users = users.map(|(name, part)| format!("{part}: {name}"));
        let finding = FindingId::CudnnNotLoadable
            .warning(format!(
                "the cuDNN at `{}` opens {all} at run time, which the loader cannot find",
                cudnn.root.display()
            ))
            .with_lines("opened by", users)
            .with_paths("available", &self.aside);
        if !self.aside.is_empty() {
            let dirs = self.aside.iter().filter_map(|file| file.parent());
            let dirs = files::dedup(dirs.map(|dir| dir.to_string_lossy()));
            let dirs = quoted(&dirs.join(":"));
            return finding.help(format!(
                "run `export LD_LIBRARY_PATH={dirs}` before you start the program"
            ));
        }
        finding.help(match cudnn.owner.as_deref().map(|owner| owner.installer) {
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
