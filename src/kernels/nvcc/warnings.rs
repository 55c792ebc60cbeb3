//! nvcc's warnings.

use std::path::Path;

/// Separates the lines of `nvcc --verbose` and `-Xptxas=-v` from the other output. An indented line belongs to the line
/// above it.
pub fn split(output: &str) -> (String, String) {
    let (mut information, mut rest) = (String::new(), String::new());
    let mut is_information = false;
    for line in output.split_inclusive('\n') {
        if !line.starts_with(' ') {
            is_information = line.starts_with("#$ ") || line.starts_with("ptxas info ");
        }
        let part = if is_information {
            &mut information
        } else {
            &mut rest
        };
        part.push_str(line);
    }
    (information, rest)
}

/// Device variables that are declared `extern` in a file but of which the file gets its own copies.
pub struct OwnCopies<'a> {
    pub source: &'a Path,
    pub names: Vec<&'a str>,
}

/// Returns the variables that nvcc's warnings name.
pub fn own_copies<'a>(source: &'a Path, warnings: &'a str) -> Option<OwnCopies<'a>> {
    let mut names = Vec::new();
    for line in warnings.lines() {
        let declared = line.split_once("extern declaration of the entity ");
        let name = declared.and_then(|(_, rest)| rest.split_once(" is treated as a static"));
        // nvcc warns for host code and for each target.
        let name = name.map(|(name, _)| name);
        names.extend(name.filter(|name| !names.contains(name)));
    }
    (!names.is_empty()).then_some(OwnCopies { source, names })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With nvcc 13.5.
    #[test]
    fn commands_and_registers_are_not_warnings() {
        let information = "#$ _SPACE_= \n\
            #$ ptxas -arch=sm_80 -m64 -v \"a.ptx\"\n\
            ptxas info    : Function properties for _Z1kPf\n    \
            0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]\n";
        let warning = "a.cu(1): warning #177-D: variable \"y\" was declared but never referenced\n  int y;\n      ^\n";
        assert_eq!(split(information), (information.to_string(), String::new()));
        assert_eq!(split(warning), (String::new(), warning.to_string()));
        let both = format!("{information}{warning}");
        assert_eq!(split(&both), (information.to_string(), warning.to_string()));
    }

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
        let found = own_copies(Path::new("src/b.cu"), &text).unwrap();
        assert_eq!(
            found.finding().to_string(),
            "nvcc gives `src/b.cu` its own copy of `counter`, `ns::table`, which the file declares `extern`  \
             [config-invalid]\n  \
             = help: add `.flag(\"-rdc=true\")` in build.rs if its kernels use the definition in another file"
        );
        let other = "a.cu(1): warning #177-D: variable \"y\" was declared but never referenced\n";
        assert!(own_copies(Path::new("a.cu"), other).is_none());
    }
}
