//! Device code in separate files that a program loads through the driver.

pub mod module;
#[cfg(all(test, unix))]
pub mod tests;

use crate::error::Error;
use crate::kernels::{InvalidRequest, Kernels, warn};
use crate::model::{Gencode, machine_code};
use crate::runtime::driver::query;
use crate::runtime::facts::{Code, Finding, Suffix, Target};
use crate::system::{cargo, files, out_dir};
use crate::targets::select::Selection;
use crate::toolkit::Product;
use std::path::{Path, PathBuf};

impl Kernels<'_> {
    /// Compiles every file to `<stem>.ptx` in `OUT_DIR`, which the driver compiles at run time. Returns the paths in
    /// the order of the files. The PTX is for the lowest target, so it runs on all targets. Files with the same stem
    /// get a numeric suffix.
    ///
    /// # Errors
    /// Like [`compile`](Self::compile).
    pub fn ptx(self) -> Result<Vec<PathBuf>, Error> {
        self.files_of(Product::Ptx)
    }

    /// Compiles every file to `<stem>.fatbin` in `OUT_DIR`, with machine code and PTX for all targets. Returns the
    /// paths in the order of the files. `cuModuleLoad` and `cuModuleLoadData` select the code for the GPU. Use it for a
    /// program that loads its own kernels on several kinds of GPUs without compiling at run time. Files with the same
    /// stem get a numeric suffix.
    ///
    /// # Errors
    /// Like [`compile`](Self::compile).
    pub fn fatbin(self) -> Result<Vec<PathBuf>, Error> {
        self.files_of(Product::Fatbin)
    }

    /// Compiles every file to `<stem>.<target>.cubin` in `OUT_DIR`, such as `gelu.sm_90a.cubin`, one for each target
    /// with machine code. Returns the paths file by file, in the order of the targets. A cubin runs on its GPU and on
    /// newer ones of the same major. With the suffix `a`, it runs only on its GPU. Use it for a program that selects
    /// the file for its GPU itself, and for tools that read machine code. PTX targets have no cubin. Files with the
    /// same stem get a numeric suffix.
    ///
    /// # Errors
    /// Like [`compile`](Self::compile).
    pub fn cubin(self) -> Result<Vec<PathBuf>, Error> {
        self.files_of(Product::Cubin)
    }

    fn files_of(&self, product: Product) -> Result<Vec<PathBuf>, Error> {
        let mut lines = Vec::new();
        let is_ptx = product == Product::Ptx;
        if let Some(finding) = is_ptx.then(|| self.newer_than_driver()).flatten() {
            warn(&finding.to_string(), &mut lines);
        }
        let result = self.make(product, product.extension(), &mut lines);
        lines.iter().for_each(cargo::emit);
        let mut made = result?;
        if let Some(name) = &self.module {
            self.write_module(name, product, &made)?;
        }
        if let Some(destination) = &self.destination {
            out_dir::create_dir(destination)?;
            for path in &mut made {
                let place = destination.join(path.file_name().unwrap_or_default());
                out_dir::copy(path, &place)?;
                *path = place;
            }
        }
        Ok(made)
    }

    /// Writes the module. Without CUDA its constants are empty, so that the crate still compiles.
    fn write_module(&self, name: &str, product: Product, made: &[PathBuf]) -> Result<(), Error> {
        let sources = self.sources(&mut Vec::new())?;
        let each = made.len() / sources.len();
        let mut files: Vec<(&Path, Option<&Path>)> = Vec::new();
        for (place, output) in made.iter().enumerate() {
            files.push((&sources[place / each], Some(output)));
        }
        if made.is_empty() && product != Product::Cubin {
            for source in &sources {
                files.push((source, None));
            }
        }
        let text = module::text(name, product, &files)?;
        let path = self.output_dir()?.join(format!("{name}.rs"));
        self.register(&path, &text)?;
        files::write(&path, &text).map_err(Error::from)
    }

    /// Returns a warning if this machine's driver does not support the PTX and the program is for this machine.
    fn newer_than_driver(&self) -> Option<Finding> {
        let cuda = self.toolchain.cuda_version()?;
        let host = &self.toolchain.host;
        let driver = host.is_target().then(query::newest_cuda)??;
        crate::compat::rules::ptx(cuda, driver, &host.platform, true)
    }
}

pub fn targets(product: Product, selection: &Selection) -> Result<Vec<Gencode>, Finding> {
    let all = selection.list.gencodes();
    match product {
        Product::Object | Product::Fatbin => Ok(all.to_vec()),
        Product::Ptx => {
            let lowest = ptx_for_all(&selection.list.targets()).map(Gencode::plain);
            Ok(lowest.as_slice().to_vec())
        }
        Product::Cubin => match machine_code(all) {
            machine if machine.is_empty() => {
                Err(InvalidRequest::OnlyPtx(all, selection.chosen_by).finding())
            }
            machine => Ok(machine),
        },
    }
}

/// Returns the lowest PTX target, which every target can run. A letter is kept only if all targets have it, because it
/// ties the PTX to that GPU.
pub fn ptx_for_all(targets: &[Target]) -> Option<Target> {
    let lowest = targets.iter().min()?;
    let alone = targets
        .iter()
        .all(|target| (target.capability, target.suffix) == (lowest.capability, lowest.suffix));
    Some(Target {
        suffix: if alone { lowest.suffix } else { Suffix::None },
        code: Code::Ptx,
        ..*lowest
    })
}
