//! The choice of the program that lists the files read by a compilation.

use crate::toolkit::nvcc_command::{Plan, Product};
use std::path::Path;

/// The program that writes the dependency file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DepfileSource {
    /// nvcc, which runs the host compiler's preprocessor once more to make the list.
    Nvcc,
    /// gcc, which overwrites the list each time that nvcc calls it.
    Gcc,
}

impl DepfileSource {
    /// Chooses the program. gcc's list is complete only if nvcc calls gcc once, which it does for a single target. Then
    /// nvcc's own list would only cost a second call.
    pub fn choose(plan: &Plan, depfile: &Path) -> Self {
        let is_single_target = matches!(plan.product, Product::Ptx | Product::Cubin);
        // nvcc passes these flags to a shell and splits them at commas.
        let is_special = |c: char| !c.is_alphanumeric() && !"/._-+".contains(c);
        let is_plain = depfile
            .to_str()
            .is_some_and(|text| !text.contains(is_special));
        // The flags may already request a list, perhaps in another format.
        let is_requested = plan.all_flags().iter().any(|flag| flag.contains("-M"));
        if plan.is_gcc && is_single_target && is_plain && !is_requested {
            Self::Gcc
        } else {
            Self::Nvcc
        }
    }

    /// Returns the arguments that request the list. System headers are included, since a new nvcc changes them.
    pub fn args(self, depfile: &Path) -> Vec<String> {
        let depfile = depfile.to_string_lossy().into_owned();
        match self {
            Self::Nvcc => vec!["-MD".to_string(), "-MF".to_string(), depfile],
            Self::Gcc => vec!["-Xcompiler".to_string(), format!("-MD,-MF,{depfile}")],
        }
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
            DepfileSource::choose(&plan, Path::new(depfile))
        };
        let at = |depfile: &str| lister(Ptx, "-DM", depfile, &[]);
        assert_eq!(at("/out-1/ünder_/a+b.d"), DepfileSource::Gcc);
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
            assert_eq!(at(path), DepfileSource::Nvcc, "{path}");
        }
        for (product, expected) in [
            (Cubin, DepfileSource::Gcc),
            (Fatbin, DepfileSource::Nvcc),
            (Object, DepfileSource::Nvcc),
        ] {
            assert_eq!(lister(product, "-DM", "/a.d", &[]), expected);
        }
        assert_eq!(
            lister(Ptx, "-Xcompiler -MMD", "/a.d", &[]),
            DepfileSource::Nvcc
        );
        for name in ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"] {
            let source = lister(Ptx, "-DM", "/a.d", &[(name, "-O3 -Xcompiler=-MP")]);
            assert_eq!(source, DepfileSource::Nvcc);
        }
        let host = host(LINUX, &[]);
        let mut other = plan(&host, Ptx, None);
        other.is_gcc = false;
        assert_eq!(
            DepfileSource::choose(&other, Path::new("/a.d")),
            DepfileSource::Nvcc
        );
        assert_eq!(
            DepfileSource::Gcc.args(Path::new("/a.d")),
            ["-Xcompiler", "-MD,-MF,/a.d"]
        );
    }
}
