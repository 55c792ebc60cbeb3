//! The steps of a test. The last step of a child shows what stopped it.

use std::fmt;

/// A step of a test. Its text follows "while".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Starting,
    AskingDriver,
    MakingContext,
    /// Loading this file of cuDNN.
    Opening(String),
    /// This call of cuDNN.
    Cudnn(String),
}

impl Stage {
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

    /// Returns `true` if the step runs code of cuDNN, or of the loader on its behalf.
    pub fn is_in_cudnn(&self) -> bool {
        matches!(self, Stage::Opening(_) | Stage::Cudnn(_))
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Starting => f.write_str("starting"),
            Stage::AskingDriver => f.write_str("querying the driver"),
            Stage::MakingContext => f.write_str("creating the GPU context"),
            Stage::Opening(file) => write!(f, "opening {file}"),
            Stage::Cudnn(words) => f.write_str(words),
        }
    }
}
