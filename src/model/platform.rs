//! The target system. It is always passed as an argument, so that Windows is tested on Linux.

use crate::runtime::facts::{LibraryName, cudnn_file};
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Os {
    /// Linux with glibc, WSL included.
    Linux,
    Windows,
    /// A system without cuDNN.
    #[default]
    Other,
}

impl Os {
    /// Returns the variables that a host compiler on this system reads: further header directories, and for MSVC all
    /// header directories and additional options.
    pub fn compiler_variables(self) -> &'static [&'static str] {
        match self {
            Os::Windows => &["INCLUDE", "CL", "_CL_"],
            _ => &["CPATH", "CPLUS_INCLUDE_PATH"],
        }
    }
}

/// A parsed target triple.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Platform {
    pub triple: String,
    pub os: Os,
    /// The architecture: `x86_64`, `aarch64`, ...
    pub cpu: String,
}

impl Platform {
    /// Parses a triple such as `x86_64-unknown-linux-gnu`.
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

    /// Returns glibc's loader.
    pub fn loader(&self) -> &'static str {
        match &*self.cpu {
            "aarch64" => "/lib/ld-linux-aarch64.so.1",
            _ => "/lib64/ld-linux-x86-64.so.2",
        }
    }

    /// Returns `true` for Microsoft's linker and C++ compiler.
    pub fn is_msvc(&self) -> bool {
        self.os == Os::Windows && self.triple.ends_with("-msvc")
    }

    /// Returns `true` for a 32-bit target. NVIDIA ships nothing for these.
    pub fn is_32_bit(&self) -> bool {
        let cpu = self.cpu.as_str();
        let x86 = matches!(cpu, "i386" | "i486" | "i586" | "i686") || self.triple.ends_with("x32");
        let arm = (cpu.starts_with("arm") && !cpu.starts_with("arm64")) || cpu.starts_with("thumb");
        let other = ["mips", "mipsel", "powerpc", "sparc", "wasm32"].contains(&cpu)
            || cpu.starts_with("riscv32");
        x86 || arm || (other && self.os != Os::Windows)
    }

    /// Returns the most similar triple for which CUDA exists.
    pub fn instead(&self) -> &'static str {
        let arm = ["aarch64", "arm", "thumb"];
        match self.os {
            Os::Windows => "x86_64-pc-windows-msvc",
            _ if arm.iter().any(|cpu| self.cpu.starts_with(cpu)) => "aarch64-unknown-linux-gnu",
            _ => "x86_64-unknown-linux-gnu",
        }
    }

    /// Returns the directory name of Debian's multiarch layout: `x86_64-linux-gnu`.
    pub fn multiarch(&self) -> String {
        format!("{}-linux-gnu", self.cpu)
    }

    /// Returns the directories of this platform below a toolkit's `targets/`.
    pub fn toolkit_targets(&self) -> &'static [&'static str] {
        match (self.os, self.cpu.as_str()) {
            (Os::Linux, "x86_64") => &["x86_64-linux"],
            (Os::Linux, "aarch64") => &["sbsa-linux", "aarch64-linux"],
            (Os::Windows, "aarch64") => &["arm64"],
            (Os::Windows, _) => &["x64"],
            _ => &[],
        }
    }

    /// Returns the file name of cuDNN's main library: `libcudnn.so.9`, `cudnn64_9.dll`.
    pub fn cudnn_library(&self, major: u32) -> String {
        cudnn_file("", major, self.os == Os::Windows)
    }

    /// Returns the sub-library that a file name refers to: `graph` for `libcudnn_graph.so.9`, `cudnn` for
    /// `libcudnn.so.9`.
    pub fn cudnn_part(&self, path: &Path) -> Option<(String, LibraryName)> {
        let file = LibraryName::of(path).filter(|file| file.is_dll == (self.os == Os::Windows))?;
        let name = match file.sub_library()? {
            "" => "cudnn".to_string(),
            name => name.to_string(),
        };
        Some((name, file))
    }

    /// Returns NVIDIA's directory for this architecture on Windows, below `lib` and `bin`.
    pub fn windows_cpu(&self) -> &'static str {
        match self.cpu.as_str() {
            "aarch64" => "arm64",
            _ => "x64",
        }
    }

    pub fn program(&self, name: &str) -> String {
        match self.os {
            Os::Windows => format!("{name}.exe"),
            _ => name.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_32_bit_triple_has_a_64_bit_alternative() {
        for (triple, instead) in [
            ("i686-pc-windows-msvc", Some("x86_64-pc-windows-msvc")),
            ("i686-unknown-linux-gnu", Some("x86_64-unknown-linux-gnu")),
            (
                "x86_64-unknown-linux-gnux32",
                Some("x86_64-unknown-linux-gnu"),
            ),
            (
                "armv7-unknown-linux-gnueabihf",
                Some("aarch64-unknown-linux-gnu"),
            ),
            (
                "thumbv7neon-unknown-linux-gnueabihf",
                Some("aarch64-unknown-linux-gnu"),
            ),
            ("wasm32-unknown-unknown", Some("x86_64-unknown-linux-gnu")),
            ("x86_64-unknown-linux-gnu", None),
            ("aarch64-unknown-linux-gnu", None),
            ("arm64ec-pc-windows-msvc", None),
            ("x86_64-pc-windows-msvc", None),
            ("aarch64-apple-darwin", None),
            ("powerpc64le-unknown-linux-gnu", None),
            ("riscv64gc-unknown-linux-gnu", None),
        ] {
            let platform = Platform::from_triple(triple);
            let found = platform.is_32_bit().then(|| platform.instead());
            assert_eq!(found, instead, "{triple}");
        }
    }

    #[test]
    fn the_sub_libraries_of_cudnn_by_file_name() {
        let linux = Platform::from_triple("x86_64-unknown-linux-gnu");
        let windows = Platform::from_triple("x86_64-pc-windows-msvc");
        for (platform, file, part) in [
            (&linux, "libcudnn_graph.so.9", Some("graph")),
            (&linux, "libcudnn_ops_infer.so.8.9.7", Some("ops_infer")),
            (&linux, "libcudnn.so.9", Some("cudnn")),
            (&linux, "libcudnnx.so.9", None),
            (&linux, "cudnn_graph64_9.dll", None),
            (&windows, "cudnn_graph64_9.dll", Some("graph")),
            (&windows, "cudnn64_9.dll", Some("cudnn")),
            (&windows, "libcudnn_graph.so.9", None),
        ] {
            let found = platform.cudnn_part(Path::new(file));
            assert_eq!(found.map(|(name, _)| name).as_deref(), part, "{file}");
        }
    }
}
