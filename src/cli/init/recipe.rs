//! The lines for a build script, depending on how the crate uses cuDNN.

/// The way in which a crate uses cuDNN. The texts are also in README.md and docs, which a test compares.
pub struct Recipe {
    /// The sentence above the changes.
    pub reason: &'static str,
    /// The lines in the call of `build`.
    lines: &'static str,
}

impl Recipe {
    /// Returns the lines for `main` of the build script.
    pub fn build(&self) -> String {
        format!("    cudnn_guard::build(|| {{\n{}    }});\n", self.lines)
    }
}

/// The crate itself links cuDNN.
pub const LINKED: Recipe = Recipe {
    reason: "The program will be linked with CUDA and cuDNN. `.link(cudnn_guard::Link::Lazy)` lets it start without them.\n",
    lines: "        let gpu = cudnn_guard::Config::new().cuda(\">=12.0\").cudnn(\">=9.1, <10\").probe()?;
        gpu.link();
        gpu.guard().write()
",
};

/// The crate uses cudarc, which opens cuDNN.
pub const CUDARC: Recipe = Recipe {
    reason: "This crate uses cudarc, which opens cuDNN at run time. The guard checks the cuDNN that cudarc opens.\n",
    lines: "        let config = cudnn_guard::Config::new().cudnn(\">=9.1, <10\");
        let gpu = config.link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().loader(cudnn_guard::Loader::Cudarc).write()
",
};

/// The crate uses candle, which links further libraries.
pub const CANDLE: Recipe = Recipe {
    reason: "This crate uses candle, which is linked with cuDNN and six other libraries. `.link(cudnn_guard::Link::Lazy)` lets \
             the program start without them.\n",
    lines:
        "        let libs = [\"cublas\", \"cublasLt\", \"cuda\", \"cudart\", \"curand\", \"nvrtc\"];
        let gpu = cudnn_guard::Config::new().cudnn(\">=9.1, <10\").libs(libs).probe()?;
        gpu.link();
        gpu.guard().write()
",
};

/// The crate uses candle without cuDNN.
pub const CANDLE_CUDA: Recipe = Recipe {
    reason: "This crate uses candle without its feature `cudnn`. candle links six CUDA libraries. The guard checks the driver and \
             the GPU.\n",
    lines:
        "        let libs = [\"cublas\", \"cublasLt\", \"cuda\", \"cudart\", \"curand\", \"nvrtc\"];
        let gpu = cudnn_guard::Config::new().cuda(\">=12.0\").libs(libs).probe()?;
        gpu.link();
        gpu.guard().write()
",
};

/// The crate uses ort, whose onnxruntime opens cuDNN.
pub const ORT: Recipe = Recipe {
    reason: "This crate uses ort, whose onnxruntime opens cuDNN at run time.\n",
    lines: "        let config = cudnn_guard::Config::new().cudnn(\">=9.1, <10\");
        let gpu = config.link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().loader(cudnn_guard::Loader::Dlopen).write()
",
};

/// The crate depends on a crate that links cuDNN.
pub const ABOVE: Recipe = Recipe {
    reason: "A dependency of this crate links cuDNN. cargo does not pass on its rpath, so this build script adds the rpath.\n",
    lines: "        cudnn_guard::Linked::from_dep(\"cudnn\")?.link();
        Ok(())
",
};

/// The crate does not use cuDNN, only kernels, which another tool compiles.
pub const KERNELS: Recipe = Recipe {
    reason: "This crate compiles kernels and does not use cuDNN.\n",
    lines: "        let gpu = cudnn_guard::Config::new().cuda(\">=11\").probe()?;
        Ok(())
",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_the_same_lines() {
        let frameworks = include_str!("../../../docs/frameworks.md");
        let linking = include_str!("../../../docs/linking.md");
        for (page, recipe) in [
            (frameworks, CUDARC),
            (frameworks, CANDLE),
            (frameworks, CANDLE_CUDA),
            (frameworks, ORT),
            (linking, ABOVE),
        ] {
            assert!(page.contains(&recipe.build()), "{}", recipe.build());
        }
        // The README also has a line for kernels.
        let readme = include_str!("../../../README.md");
        for line in LINKED.build().lines() {
            assert!(readme.contains(line), "{line}");
        }
    }
}
