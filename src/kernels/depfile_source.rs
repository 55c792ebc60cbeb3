//! The choice of the program that lists the files read by a compilation.

use crate::toolkit::{Plan, Product};
use std::path::Path;

/// Returns `true` if gcc, which overwrites the list each time that nvcc calls it, should list the files. Its list is
/// complete only if nvcc calls gcc once, which it does for a single target. Then nvcc's own list would only cost a second
/// call of the preprocessor.
pub fn is_gcc(plan: &Plan, depfile: &Path) -> bool {
    let is_single_target = matches!(plan.product, Product::Ptx | Product::Cubin);
    // nvcc passes these flags to a shell and splits them at commas.
    let is_special = |c: char| !c.is_alphanumeric() && !"/._-+".contains(c);
    let is_plain = depfile
        .to_str()
        .is_some_and(|text| !text.contains(is_special));
    // The flags may already request a list, perhaps in another format.
    let is_requested = plan.all_flags().iter().any(|flag| flag.contains("-M"));
    plan.is_gcc && is_single_target && is_plain && !is_requested
}

/// Returns the arguments that request the list from gcc or nvcc. System headers are included, since a new nvcc changes
/// them.
pub fn args(from_gcc: bool, depfile: &Path) -> Vec<String> {
    let depfile = depfile.to_string_lossy().into_owned();
    match from_gcc {
        false => vec!["-MD".to_string(), "-MF".to_string(), depfile],
        true => vec!["-Xcompiler".to_string(), format!("-MD,-MF,{depfile}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolkit::nvcc_command::tests::{LINUX, host, plan};

    #[test]
    fn gcc_lists_the_files_if_it_is_called_once() {
        use Product::{Cubin, Fatbin, Object, Ptx};
        let lister = |product, flags: &str, depfile: &str, env: &[(&str, &str)]| {
            let host = host(LINUX, env);
            let mut plan = plan(&host, product, None);
            plan.flags = flags.split(' ').map(String::from).collect();
            is_gcc(&plan, Path::new(depfile))
        };
        let at = |depfile: &str| lister(Ptx, "-DM", depfile, &[]);
        assert!(at("/out-1/ünder_/a+b.d"));
        for path in [
            "/out/a b.d",
            "/a,b.d",
            "/$a.d",
            "/a#.d",
            "/a'.d",
            "/a\".d",
            "/a\\b.d",
            "/a(.d",
        ] {
            assert!(!at(path), "{path}");
        }
        for (product, expected) in [(Cubin, true), (Fatbin, false), (Object, false)] {
            assert_eq!(lister(product, "-DM", "/a.d", &[]), expected);
        }
        assert!(!lister(Ptx, "-Xcompiler -MMD", "/a.d", &[]));
        for name in ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"] {
            let source = lister(Ptx, "-DM", "/a.d", &[(name, "-O3 -Xcompiler=-MP")]);
            assert!(!source);
        }
        let host = host(LINUX, &[]);
        let mut other = plan(&host, Ptx, None);
        other.is_gcc = false;
        assert!(!is_gcc(&other, Path::new("/a.d")));
        assert_eq!(
            args(true, Path::new("/a.d")),
            ["-Xcompiler", "-MD,-MF,/a.d"]
        );
    }
}
