use crate::model::{ChosenBy, Environment, Variable};
use crate::runtime::facts::Suffix;
use crate::targets::{Dialect, Word, dialect};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRequest {
    pub from: ChosenBy,
    pub dialect: Dialect,
    pub text: String,
}

impl TargetRequest {
    /// Parses the list. The error is the first invalid word.
    pub fn words(&self) -> Result<Vec<Word>, &str> {
        dialect::read(self.dialect, &self.text)
    }
}

/// Returns the first list that is set: `CUDNN_GUARD_ARCHS`, the build script's, `CUDAARCHS`, `TORCH_CUDA_ARCH_LIST`,
/// `CUDA_COMPUTE_CAP`.
pub fn request(env: &Environment, archs: &[String]) -> Option<TargetRequest> {
    let variable = |variable: Variable, dialect| {
        env.get(variable).map(|value| TargetRequest {
            from: ChosenBy::Variable(variable),
            dialect,
            text: value.to_string_lossy().into_owned(),
        })
    };
    let script = || script_request(ChosenBy::BuildScript, archs);
    variable(Variable::GuardArchs, Dialect::Ours)
        .or_else(script)
        .or_else(|| variable(Variable::CudaArchs, Dialect::CMake))
        .or_else(|| variable(Variable::TorchCudaArchList, Dialect::Torch))
        .or_else(|| variable(Variable::CudaComputeCap, Dialect::ComputeCap))
}

/// Returns the request of a list in the build script, or `None` if the list is empty.
pub fn script_request(from: ChosenBy, archs: &[String]) -> Option<TargetRequest> {
    (!archs.is_empty()).then(|| TargetRequest {
        from,
        dialect: Dialect::Ours,
        text: archs.join(", "),
    })
}

/// Returns `true` if the request depends on the GPUs of this machine. They are queried only then.
pub fn needs_gpus(request: Option<&TargetRequest>) -> bool {
    let here = |word: &Word| matches!(word, Word::Native | Word::Auto);
    request.is_none_or(|request| request.words().unwrap_or_default().iter().any(here))
}

/// Returns `true` if the request may contain targets with a letter. nvcc is queried for these only then.
pub fn needs_letters(request: Option<&TargetRequest>) -> bool {
    let words = request.and_then(|request| request.words().ok());
    let lettered = |word: &Word| match word {
        Word::Targets(gencodes) => gencodes.iter().any(|gencode| {
            gencode.target.suffix != Suffix::None || gencode.via.suffix != Suffix::None
        }),
        _ => false,
    };
    words.unwrap_or_default().iter().any(lettered)
}
