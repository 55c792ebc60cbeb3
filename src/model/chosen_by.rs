use crate::model::Variable;
use std::fmt;

/// The source of the GPU targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChosenBy {
    Variable(Variable),
    /// `.archs(..)` in build.rs.
    BuildScript,
    /// `.default_archs(..)` in build.rs.
    BuildScriptDefault,
    /// The arguments of `cudnn-guard targets`.
    #[cfg(feature = "cli")]
    CommandLine,
    Gpus,
    /// The default: the first GPU of each major that nvcc supports.
    #[default]
    Default,
}

impl fmt::Display for ChosenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable(variable) => variable.name(),
            Self::BuildScript => "the build script",
            Self::BuildScriptDefault => "`default_archs` in the build script",
            #[cfg(feature = "cli")]
            Self::CommandLine => "the command line",
            Self::Gpus => "the GPUs of this machine",
            Self::Default => "the default",
        })
    }
}
