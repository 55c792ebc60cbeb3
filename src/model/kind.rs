#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Toolkit,
    Cudnn,
}

impl Kind {
    pub const BOTH: [Kind; 2] = [Kind::Toolkit, Kind::Cudnn];

    /// Returns the name of the method of `Config`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Toolkit => "cuda",
            Kind::Cudnn => "cudnn",
        }
    }

    /// Returns the name for messages.
    pub fn product(self) -> &'static str {
        match self {
            Kind::Toolkit => "CUDA toolkit",
            Kind::Cudnn => "cuDNN",
        }
    }
}
