//! The lines for a build script, depending on how the crate uses CUDA, from the pages about kinds of projects.

pub const PAGE: &str = concat!(
    include_str!("../../../docs/linking.md"),
    include_str!("../../../docs/frameworks.md"),
    include_str!("../../../docs/python.md"),
);

const START: &str = "    cudnn_guard::build(|| {\n";

/// The way in which a crate uses CUDA and cuDNN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Recipe {
    #[default]
    Linked,
    Cuda,
    Python,
    Cudarc,
    CudarcCuda,
    Candle,
    CandleCuda,
    Ort,
    Above,
    Call,
}

impl Recipe {
    /// Returns the sentence above the changes.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Linked => {
                "The program will be linked with CUDA and cuDNN. `.link(cudnn_guard::Link::Lazy)` lets it start without them."
            }
            Self::Cuda => {
                "This crate uses CUDA and does not use cuDNN. The guard checks the driver, the GPU and the kernels."
            }
            Self::Python => {
                "The Python module will use the cuDNN of NVIDIA's wheel in the same site-packages directory."
            }
            Self::Cudarc => {
                "This crate uses cudarc, which opens cuDNN at run time. The guard checks the cuDNN that cudarc opens."
            }
            Self::CudarcCuda => {
                "This crate uses cudarc without its feature `cudnn`. The guard checks the driver and the GPU."
            }
            Self::Candle => {
                "This crate uses candle, which is linked with cuDNN and six other libraries. \
                 `.link(cudnn_guard::Link::Lazy)` lets the program start without them."
            }
            Self::CandleCuda => {
                "This crate uses candle without its feature `cudnn`. candle links six CUDA libraries. The guard checks \
                 the driver and the GPU."
            }
            Self::Ort => "This crate uses ort, whose onnxruntime opens cuDNN at run time.",
            Self::Above => {
                "A dependency of this crate links cuDNN. cargo does not pass on its rpath, so this build script adds the rpath."
            }
            Self::Call => "A dependency of this crate contains the guard, which the program calls.",
        }
    }

    /// Returns the lines in the call of `build`.
    fn lines(self) -> &'static str {
        let heading = match self {
            Self::Linked => "# Your own code\n",
            Self::Cuda => "# CUDA without cuDNN\n",
            Self::Python => "# The extension\n",
            Self::Cudarc => "# cudarc\n",
            Self::CudarcCuda => "# cudarc without cuDNN\n",
            Self::Candle => "# candle\n",
            Self::CandleCuda => "# candle without cuDNN\n",
            Self::Ort => "# ort\n",
            Self::Above => "# Library crates,",
            Self::Call => return "",
        };
        let section = PAGE.split_once(heading);
        let block = section.and_then(|(_, section)| section.split_once(START));
        let lines = block.and_then(|(_, block)| block.split_once("    });\n"));
        lines.map_or("", |(lines, _)| lines)
    }

    /// Returns the lines for `main` of the build script, which also compile these kernels.
    pub fn build(self, kernels: Option<&str>) -> String {
        let line =
            |files| format!("gpu.kernels().files({files:?}).compile(\"kernels\")?;\n        ");
        let kernels = kernels.filter(|_| [Self::Linked, Self::Cuda].contains(&self));
        let guard = kernels.map_or(String::new(), line) + "gpu.guard()";
        format!(
            "{START}{}    }});\n",
            self.lines().replace("gpu.guard()", &guard)
        )
    }

    pub fn writes_guard(self) -> bool {
        ![Self::Above, Self::Call].contains(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::Recipe::*;

    #[test]
    fn each_section_has_lines() {
        for recipe in [Linked, Python, Cudarc, Candle, Ort] {
            assert!(recipe.lines().contains(".cudnn("), "{recipe:?}");
        }
        for recipe in [Cuda, CudarcCuda, CandleCuda] {
            assert!(!recipe.lines().contains(".cudnn("), "{recipe:?}");
            assert!(recipe.lines().contains("gpu.guard()"), "{recipe:?}");
        }
        assert!(Above.lines().contains("from_dep"));
    }

    #[test]
    fn the_readme_has_the_same_lines() {
        let readme = include_str!("../../../README.md").replace("  // if any", "");
        assert!(readme.contains(&Linked.build(Some("src/kernels/*.cu"))));
    }
}
