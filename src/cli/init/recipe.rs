//! The lines for a build script, depending on how the crate uses cuDNN.

use crate::model::text::section;

/// The way in which a crate uses cuDNN: a section of `recipes.txt`. Its first line explains the changes, and the others are
/// for `main` of the build script. The texts are also in README.md and docs/linking.md, which a test compares.
#[derive(Clone, Copy)]
pub struct Recipe(&'static str);

/// The crate itself links cuDNN.
pub const LINKED: Recipe = Recipe("linked");
/// The crate uses cudarc, which opens cuDNN.
pub const CUDARC: Recipe = Recipe("cudarc");
/// The crate uses candle, which links further libraries.
pub const CANDLE: Recipe = Recipe("candle");
/// The crate uses candle without cuDNN.
pub const CANDLE_CUDA: Recipe = Recipe("candle-cuda");
/// The crate uses ort, whose onnxruntime opens cuDNN.
pub const ORT: Recipe = Recipe("ort");
/// The crate depends on a crate that links cuDNN.
pub const ABOVE: Recipe = Recipe("above");
/// The crate does not use cuDNN, only kernels, which another tool compiles.
pub const KERNELS: Recipe = Recipe("kernels");

impl Recipe {
    pub fn reason(self) -> &'static str {
        self.lines().0
    }

    pub fn build(self) -> &'static str {
        self.lines().1
    }

    fn lines(self) -> (&'static str, &'static str) {
        let text = section(include_str!("recipes.txt"), self.0);
        text.split_once('\n').unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_the_same_lines() {
        let linking = include_str!("../../../docs/linking.md");
        for recipe in [CUDARC, CANDLE, ORT, ABOVE] {
            let lines = recipe.build();
            assert!(!lines.is_empty() && linking.contains(lines), "{lines}");
        }
        // The README also has a line for kernels.
        let readme = include_str!("../../../README.md");
        for line in LINKED.build().lines() {
            assert!(readme.contains(line), "{line}");
        }
    }
}
