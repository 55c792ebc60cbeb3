//! The system that is built for. It is an argument everywhere, so that Windows is tested on Linux.

/// An operating system, as far as CUDA cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// Linux with glibc, WSL included.
    Linux,
    /// Windows.
    Windows,
    /// Anything else; NVIDIA ships no cuDNN for it.
    Other,
}

/// A target triple, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The triple as cargo spells it.
    pub triple: String,
    /// Its operating system.
    pub os: Os,
    /// Its processor: `x86_64`, `aarch64`, ...
    pub cpu: String,
}

impl Platform {
    /// Reads a triple such as `x86_64-unknown-linux-gnu`.
    pub fn from_triple(triple: &str) -> Self {
        let os = if triple.contains("-windows-") {
            Os::Windows
        } else if triple.contains("-linux-gnu") {
            Os::Linux
        } else {
            Os::Other
        };
        Self {
            triple: triple.to_string(),
            os,
            cpu: triple.split('-').next().unwrap_or_default().to_string(),
        }
    }

    /// The directory of Debian's multiarch layout: `x86_64-linux-gnu`.
    pub fn multiarch(&self) -> String {
        format!("{}-linux-gnu", self.cpu)
    }

    /// The names under which a toolkit keeps this platform below `targets/`.
    pub fn toolkit_targets(&self) -> &'static [&'static str] {
        match (self.os, self.cpu.as_str()) {
            (Os::Linux, "x86_64") => &["x86_64-linux"],
            (Os::Linux, "aarch64") => &["sbsa-linux", "aarch64-linux"],
            (Os::Windows, _) => &["x64"],
            _ => &[],
        }
    }

    /// The file that the program loads for cuDNN of this major: `libcudnn.so.9`, `cudnn64_9.dll`.
    pub fn cudnn_library(&self, major: u32) -> String {
        match self.os {
            Os::Windows => format!("cudnn64_{major}.dll"),
            _ => format!("libcudnn.so.{major}"),
        }
    }

    /// A program's file name.
    pub fn program(&self, name: &str) -> String {
        match self.os {
            Os::Windows => format!("{name}.exe"),
            _ => name.to_string(),
        }
    }
}
