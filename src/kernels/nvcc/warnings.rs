//! nvcc's warnings.

/// Separates the lines of `nvcc --verbose` and `-Xptxas=-v` from the other output. An indented line belongs to the line
/// above it.
pub fn split(output: &str) -> (String, String) {
    let (mut information, mut rest) = (String::new(), String::new());
    let mut is_information = false;
    for line in output.split_inclusive('\n') {
        if !line.starts_with(' ') {
            is_information = line.starts_with("#$ ") || line.starts_with("ptxas info ");
        }
        match is_information {
            true => information.push_str(line),
            false => rest.push_str(line),
        }
    }
    (information, rest)
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
}
