//! The GPUs that kernels are compiled for.

use crate::error::Error;
use crate::host::{files, gpus, nvcc};
use crate::model::arch::Target;
use crate::model::candidate::Found;
use crate::model::env::Variable;
use crate::model::finding::{Finding, Severity};
use crate::rules::compile::gencode;
use crate::rules::select::{self, Compiler, Selection};
use crate::rules::skew;
use crate::toolchain::{Toolchain, is_allowed};

impl Toolchain {
    /// What kernels are compiled for, in numeric order: the list in `CUDNN_GUARD_ARCHS`, else [`Config::archs`], else
    /// `CUDAARCHS`, `TORCH_CUDA_ARCH_LIST` or `CUDA_COMPUTE_CAP`, each in its own dialect; else the GPUs of this
    /// machine; else the first of each major that nvcc knows. Without CUDA it is empty.
    ///
    /// [`Config::archs`]: crate::Config::archs
    pub fn targets(&self) -> Result<Vec<Target>, Error> {
        Ok(self.selection()?.targets)
    }

    /// The same as flags for nvcc: `-gencode=arch=compute_80,code=sm_80`, one for each target.
    pub fn gencode_flags(&self) -> Result<Vec<String>, Error> {
        Ok(self.targets()?.into_iter().map(gencode).collect())
    }

    /// Sets a C or C++ compilation up for the chosen CUDA and cuDNN: their headers. A build with `cuda(true)` also
    /// needs the flags of [`gencode_flags`](Self::gencode_flags), and takes its nvcc from the variable `NVCC`.
    pub fn apply_to(&self, build: &mut cc::Build) {
        let toolkit = self
            .toolkit
            .iter()
            .flat_map(|toolkit| &toolkit.include_dirs);
        let cudnn = self
            .cudnn
            .iter()
            .filter_map(|cudnn| cudnn.include_dir.as_ref());
        build.includes(cudnn.chain(toolkit));
    }

    /// The targets and who chose them. nvcc and the driver are asked once.
    pub(crate) fn selection(&self) -> Result<Selection, Error> {
        self.selection.get_or_init(|| self.select()).clone()
    }

    fn select(&self) -> Result<Selection, Error> {
        if self.absent.is_some() {
            return Ok(Selection::default());
        }
        let mut noticed: Vec<Finding> = self.compiler_skew().into_iter().collect();
        let compiler = self
            .toolkit
            .as_ref()
            .and_then(|toolkit| toolkit.nvcc.as_ref());
        let compiler = compiler.and_then(|path| match nvcc::gpu_codes(path, &self.host.answers) {
            Ok(codes) => Some(Compiler {
                nvcc: path.display().to_string(),
                codes,
            }),
            Err(mut finding) => {
                // An nvcc from before CUDA 11.5 cannot be asked; it will say itself what it cannot do.
                finding.severity = Severity::Warning;
                noticed.push(finding);
                None
            }
        });
        let wish = select::wish(&self.host.env, &self.config.archs);
        let mut gpus = Vec::new();
        if select::needs_gpus(wish.as_ref()) {
            match gpus::gpus() {
                Ok(found) => gpus = found,
                Err(finding) => noticed.push(finding),
            }
        }
        let mut selection =
            select::select(wish.as_ref(), compiler.as_ref(), &gpus).map_err(Error::new)?;
        selection.findings.splice(0..0, noticed);
        Ok(selection)
    }

    /// That nvcc is of another release than the headers that it will read. It is asked where it is needed anyway.
    fn compiler_skew(&self) -> Option<Finding> {
        let toolkit = self.toolkit.as_ref()?;
        let compiler = toolkit.nvcc.as_deref()?;
        let header = toolkit.include_dirs.iter().map(|dir| dir.join("cuda.h"));
        let header = header.into_iter().find(|header| files::is_file(header))?;
        let said = nvcc::version(compiler, &self.host.answers).ok()?;
        if toolkit.version?.short() == said.short() {
            return None;
        }
        let path = self.host.env.get(Variable::Path).unwrap_or_default();
        let others = self.candidates.iter().filter_map(|one| match &one.found {
            Found::Toolkit(other) => other.nvcc.clone(),
            Found::Cudnn(_) => None,
        });
        let others = others.chain(
            std::env::split_paths(path)
                .map(|dir| dir.join(self.host.platform.program("nvcc")))
                .filter(|nvcc| nvcc.is_absolute() && files::is_file(nvcc)),
        );
        let mut others = files::each_once(others);
        others.retain(|other| other != compiler);
        let mut finding = skew::nvcc_header(compiler, said, &header, toolkit.version?, &others);
        if is_allowed(&self.config, &self.host, finding.id) {
            finding.severity = Severity::Warning;
        }
        Some(finding)
    }
}
