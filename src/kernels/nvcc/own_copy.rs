//! nvcc's warnings about `extern` device variables in files that it compiles separately.

use std::path::Path;

/// Device variables that are declared `extern` in a file but of which the file gets its own copies.
pub struct OwnCopies<'a> {
    pub source: &'a Path,
    pub names: Vec<&'a str>,
}

/// Returns the variables that nvcc's warnings name.
pub fn find<'a>(source: &'a Path, warnings: &'a str) -> Option<OwnCopies<'a>> {
    let mut names = Vec::new();
    for line in warnings.lines() {
        let declared = line.split_once("extern declaration of the entity ");
        let name = declared.and_then(|(_, rest)| rest.split_once(" is treated as a static"));
        // nvcc warns for host code and for each target.
        names.extend(
            name.map(|(name, _)| name)
                .filter(|name| !names.contains(name)),
        );
    }
    (!names.is_empty()).then_some(OwnCopies { source, names })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With nvcc 13.0.
    #[test]
    fn a_copy_of_a_variable_is_reported() {
        let warning = |name: &str| {
            format!(
                "src/b.cu(1): warning #20044-D: extern declaration of the entity {name} is treated as a static \
                 definition\n\nRemark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n"
            )
        };
        let text = warning("counter") + &warning("ns::table") + &warning("counter");
        let found = find(Path::new("src/b.cu"), &text).unwrap();
        assert_eq!(
            found.finding().to_string(),
            "nvcc gives `src/b.cu` its own copy of `counter`, `ns::table`, which the file declares `extern`  \
             [config-invalid]\n  \
             = help: add `.flag(\"-rdc=true\")` in build.rs if its kernels use the definition in another file"
        );
        let other = "a.cu(1): warning #177-D: variable \"y\" was declared but never referenced\n";
        assert!(find(Path::new("a.cu"), other).is_none());
    }
}
