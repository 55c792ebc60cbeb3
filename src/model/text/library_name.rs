//! The file names of shared libraries.

use crate::model::text::pattern::{Pattern, pattern};
use crate::runtime::facts::version::Version;
use std::path::Path;

/// What stands in `libcudnn_graph.so.9.14.0` or `cudnn_graph64_9.dll`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryName<'a> {
    /// `cudnn_graph`
    pub name: &'a str,
    /// 9, 14, 0; none behind a bare `.so`.
    pub numbers: Vec<u32>,
    /// Whether it is one of Windows.
    pub is_dll: bool,
}

impl<'a> LibraryName<'a> {
    /// Reads a file name, on Windows that of one of NVIDIA's. The loader asks for no other forms.
    pub fn read(file: &'a str) -> Option<Self> {
        static FORM: Pattern = Pattern::new(|| {
            pattern(
                r"^(?:lib([0-9A-Za-z_-]+)\.so(?:\.([0-9.]+))?|(cu[0-9A-Za-z_]+)64_([0-9]+)\.dll)$",
            )
        });
        let found = FORM.captures(file)?;
        let group = |so, dll| Some(found.get(so).or(found.get(dll))?.as_str());
        let numbers = group(2, 4).map(|numbers| numbers.split('.').map(str::parse).collect());
        Some(Self {
            name: group(1, 3)?,
            numbers: numbers.unwrap_or(Ok(Vec::new())).ok()?,
            is_dll: found.get(3).is_some(),
        })
    }

    /// Reads the file name of a path.
    pub fn of(path: &'a Path) -> Option<Self> {
        Self::read(path.file_name()?.to_str()?)
    }

    /// The number of its ABI.
    pub fn major(&self) -> Option<u32> {
        self.numbers.first().copied()
    }

    /// 9.14.0 of `libcudnn_graph.so.9.14.0`.
    pub fn release(&self) -> Option<Version> {
        match self.numbers[..] {
            [major, minor, patch] => Some(Version::new(major, minor, patch)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_loader_asks_for() {
        for (file, name, numbers) in [
            ("libcudnn.so", "cudnn", &[][..]),
            ("libcudnn.so.9", "cudnn", &[9]),
            ("libcudnn_ops_infer.so.8.9.7", "cudnn_ops_infer", &[8, 9, 7]),
            ("libcudnn-74a4c495.so.9.1.0", "cudnn-74a4c495", &[9, 1, 0]),
            ("cudnn64_9.dll", "cudnn", &[9]),
            (
                "cudnn_engines_tensor_ir64_9.dll",
                "cudnn_engines_tensor_ir",
                &[9],
            ),
        ] {
            let wanted = LibraryName {
                name,
                numbers: numbers.to_vec(),
                is_dll: file.ends_with(".dll"),
            };
            assert_eq!(LibraryName::read(file), Some(wanted));
        }
        for file in [
            "",
            "lib.so",
            "cudnn.so",
            "libcudnn_graph.so-old",
            "libcudnn.so.9.bak",
            "libcudnn.so.",
            "libcudnn.so.9.",
            "libcudnn.so.99999999999",
            "libcudnn_static.a",
            "cudnn_graph64_old.dll",
            "cudnn_graph64_.dll",
            "cudnn64_9.dll.old",
        ] {
            assert_eq!(LibraryName::read(file), None, "{file}");
        }
    }

    #[test]
    fn a_release_has_three_numbers() {
        let release = |file| LibraryName::read(file)?.release();
        let wanted = Some(Version::new(9, 14, 0));
        assert_eq!(release("libcudnn_cnn.so.9.14.0"), wanted);
        assert_eq!(release("libcudnn_cnn.so.9"), None);
        assert_eq!(release("libcudnn_cnn.so.9.14.0.1"), None);
    }
}
