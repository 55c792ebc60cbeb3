//! Removal of the build machine's paths.

use std::path::Path;

/// Shortens every absolute path in backticks to its last component, so that the generated file is the same in every
/// directory and reveals nothing about the build machine.
pub fn without_directories(summary: &str) -> String {
    let mut pieces: Vec<String> = Vec::new();
    for (index, piece) in summary.split('`').enumerate() {
        let path = Path::new(piece);
        let is_absolute = path.has_root() || piece.contains(":\\");
        pieces.push(match path.file_name() {
            Some(name) if index % 2 == 1 && is_absolute => {
                let name = name.to_string_lossy();
                name.rsplit('\\').next().unwrap_or_default().to_string()
            }
            _ => piece.to_string(),
        });
    }
    pieces.join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shortened_to_its_file_name() {
        assert_eq!(
            without_directories("cuDNN 8.9.7 at `/home/me/venv/nvidia/cudnn` is older than `9.1`"),
            "cuDNN 8.9.7 at `cudnn` is older than `9.1`"
        );
        assert_eq!(without_directories(r"no `C:\CUDA\include`"), "no `include`");
        assert_eq!(
            without_directories("an odd ` backtick"),
            "an odd ` backtick"
        );
    }
}
