//! The headers of CUTLASS and CuTe.

use crate::kernels::{InvalidRequest, Kernels};
use crate::model::environment::Variable;
use crate::model::platform::Os;
use crate::runtime::facts::fetch_dir::fetch_dir;
use crate::runtime::facts::finding::Finding;
use crate::system::files;
use crate::toolkit::package_names::CUTLASS_DIR;
use std::path::{Path, PathBuf};

impl Kernels<'_> {
    /// Adds the headers of CUTLASS and CuTe to the header search path. They are taken from the directory in
    /// `CUTLASS_PATH`, which contains `include/cutlass/cutlass.h`, from `cudnn-guard fetch --with cutlass`, or from the
    /// wheel `nvidia-cutlass` beside the chosen toolkit's wheels. If they are not found, the compilation fails
    /// (`config-invalid`). No macro is defined.
    pub fn cutlass(mut self) -> Self {
        self.cutlass = true;
        self
    }

    /// Returns the `-I` flags for the headers of CUTLASS, if they are requested.
    pub(super) fn cutlass_flags(&self) -> Result<Vec<String>, Finding> {
        if !self.cutlass {
            return Ok(Vec::new());
        }
        let env = &self.toolchain.host.env;
        let named = env.path(Variable::CutlassPath);
        let is_named = named.is_some();
        let searched = named.map_or_else(|| self.cutlass_wheels(), |dir| vec![dir]);
        let contains_cutlass =
            |dir: &&PathBuf| files::is_file(&dir.join("include/cutlass/cutlass.h"));
        let Some(found) = searched.iter().find(contains_cutlass) else {
            let home = env.path(Variable::GuardHome);
            return Err(InvalidRequest::NoCutlass(&searched, is_named, home).finding());
        };
        let mut flags = Vec::new();
        for dir in ["include", "tools/util/include"] {
            let dir = found.join(dir);
            // A copy may contain only `include`.
            if files::is_dir(&dir) {
                flags.push(format!("-I{}", dir.display()));
            }
        }
        Ok(flags)
    }

    /// Returns the possible locations of the wheel `nvidia-cutlass`.
    fn cutlass_wheels(&self) -> Vec<PathBuf> {
        let host = &self.toolchain.host;
        let mut homes: Vec<PathBuf> = Vec::new();
        if let Some(toolkit) = self.toolchain.toolkit() {
            // `nvidia/cu13` for the wheels of CUDA 13.
            let mut nvidia = Some(&*toolkit.root);
            if !toolkit.root.ends_with("nvidia") {
                nvidia = toolkit.root.parent().filter(|up| up.ends_with("nvidia"));
            }
            homes.extend(nvidia.and_then(Path::parent).map(Path::to_path_buf));
        }
        homes.extend(host.env.path(Variable::GuardHome));
        let variable = |name: &str| Some(host.env.os_var(name)?.to_os_string());
        homes.extend(fetch_dir(host.builder().os == Os::Windows, &variable));
        homes.dedup();
        for home in &mut homes {
            home.extend([CUTLASS_DIR, "source"]);
        }
        homes
    }
}
