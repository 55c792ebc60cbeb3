//! What is done with cuDNN, step by step: where the child stopped tells who stopped it.

use std::fmt;

/// What is done next. Its text follows "while".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing yet.
    #[default]
    Starting,
    /// The driver is asked for its GPUs.
    AskingDriver,
    /// The driver makes the context on a GPU.
    MakingContext,
    /// The loader opens this file of cuDNN's.
    Opening(String),
    /// cuDNN is asked for something.
    Cudnn(String),
}

impl Stage {
    /// The stage with this text.
    pub fn parse(text: &str) -> Self {
        let known = [Stage::Starting, Stage::AskingDriver, Stage::MakingContext];
        if let Some(stage) = known.into_iter().find(|stage| stage.to_string() == text) {
            return stage;
        }
        match text.strip_prefix("opening ") {
            Some(file) => Stage::Opening(file.to_string()),
            None => Stage::Cudnn(text.to_string()),
        }
    }

    /// Returns `true` if cuDNN, or the loader on its behalf, is at work.
    pub fn is_in_cudnn(&self) -> bool {
        matches!(self, Stage::Opening(_) | Stage::Cudnn(_))
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Starting => f.write_str("starting"),
            Stage::AskingDriver => f.write_str("asking the driver"),
            Stage::MakingContext => f.write_str("making the GPU's context"),
            Stage::Opening(file) => write!(f, "opening {file}"),
            Stage::Cudnn(words) => f.write_str(words),
        }
    }
}
