//! The lines for a build script, depending on how the crate uses cuDNN.

/// The lines for a cuDNN that is opened at run time by this [`Loader`](crate::Loader).
macro_rules! opened_by {
    ($loader:literal) => {
        concat!(
            "    cudnn_guard::build(|| {
        let config = cudnn_guard::Config::new().cudnn(\">=9.1, <10\");
        let gpu = config.link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().loader(cudnn_guard::Loader::",
            $loader,
            ").write()
    });
"
        )
    };
}

/// The way in which a crate uses cuDNN. The texts are also in README.md and docs/linking.md, which a test compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recipe {
    /// Linked by the crate itself.
    Linked,
    /// Through cudarc, which opens cuDNN.
    Cudarc,
    /// Through candle, which links further libraries.
    Candle,
    /// Through ort, whose onnxruntime opens cuDNN.
    Ort,
}

impl Recipe {
    /// Returns the sentence above the changes.
    pub fn reason(self) -> &'static str {
        match self {
            Recipe::Linked => "The program is to be linked with CUDA and cuDNN.\n",
            Recipe::Cudarc => {
                "This crate uses cudarc, which opens cuDNN while the program runs: the guard checks the one that it takes.\n"
            }
            Recipe::Candle => {
                "This crate uses candle, which is linked with cuDNN and six more libraries.\n"
            }
            Recipe::Ort => {
                "This crate uses ort, whose onnxruntime opens cuDNN while the program runs.\n"
            }
        }
    }

    /// Returns the lines for `main` of the build script.
    pub fn build(self) -> &'static str {
        match self {
            Recipe::Linked => {
                "    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(\">=12.0\").cudnn(\">=9.1, <10\").probe()?;
        gpu.link();
        gpu.guard().write()
    });
"
            }
            Recipe::Cudarc => opened_by!("Cudarc"),
            Recipe::Candle => {
                "    cudnn_guard::build(|| {
        let libs = [\"cublas\", \"cublasLt\", \"cuda\", \"cudart\", \"curand\", \"nvrtc\"];
        let gpu = cudnn_guard::Config::new().cudnn(\">=9.1, <10\").libs(libs).probe()?;
        gpu.link();
        gpu.guard().write()
    });
"
            }
            Recipe::Ort => opened_by!("Dlopen"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_the_same_lines() {
        let linking = include_str!("../../../docs/linking.md");
        for recipe in [Recipe::Cudarc, Recipe::Candle, Recipe::Ort] {
            assert!(linking.contains(recipe.build()), "{recipe:?}");
        }
        // The README also has a line for kernels.
        let readme = include_str!("../../../README.md");
        for line in Recipe::Linked.build().lines() {
            assert!(readme.contains(line), "{line}");
        }
    }
}
