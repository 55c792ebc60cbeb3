use crate::model::owner::Installer;
use crate::report::not_opened::NotOpened;
use crate::runtime::facts::finding::{Finding, quoted};
use crate::runtime::facts::finding_id::FindingId;
use crate::system::files;
use std::path::Path;

impl Finding {
    /// Removes the help that installs the terminal program, since its reader already has it.
    pub fn omit_installation(&mut self) {
        for help in &mut self.help {
            *help = help.replace(
                " (from `cargo install --path . --features cli` in a clone of cudnn-guard)",
                "",
            );
        }
    }
}

impl NotOpened<'_> {
    pub fn finding(&self) -> Finding {
        let (cudnn, cuda, packages) = (self.cudnn, self.cuda, &self.packages);
        let names: Vec<&str> = self.missing.iter().map(|(name, _)| &**name).collect();
        let all = match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => names.concat(),
        };
        let headline = format!(
            "the cuDNN at `{}` opens {all} when it computes, and {}",
            cudnn.root.display(),
            match (self.aside.is_empty(), names.len()) {
                (false, _) => "the loader does not look where that lies",
                (true, 1) => "nothing here has it",
                (true, _) => "nothing here has them",
            }
        );
        let users = self.missing.iter();
        let users = users.map(|(name, part)| format!("{part}: {name}"));
        let finding = Finding::warning(FindingId::CudnnNotLoadable, headline)
            .with_lines("asked by", users)
            .with_lines("there is", self.aside.iter().map(|file| file.display()));
        if !self.aside.is_empty() {
            let dirs = self.aside.iter().filter_map(|file| file.parent());
            let dirs = files::dedup(dirs.map(Path::to_path_buf));
            let dirs: Vec<_> = dirs.iter().map(|dir| dir.to_string_lossy()).collect();
            let dirs = quoted(&dirs.join(":"));
            return finding.help(format!(
                "run `export LD_LIBRARY_PATH={dirs}` before the program"
            ));
        }
        match cudnn.owner.as_deref().map(|owner| owner.installer) {
            Some(installer @ (Installer::Pip | Installer::Uv)) => finding.help(format!(
                "install what belongs beside the wheel: `{} install {packages}`",
                installer.pip()
            )),
            Some(Installer::Conda) => finding.help(format!(
                "install what belongs beside it: `conda install -c conda-forge {packages} cuda-version={cuda}`"
            )),
            _ => finding
                .help("install the toolkit of that CUDA, or put their directory into LD_LIBRARY_PATH"),
        }
    }
}
