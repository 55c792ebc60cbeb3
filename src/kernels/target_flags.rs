//! Flags that choose GPU targets.

use crate::kernels::InvalidRequest;
use crate::model::Environment;
use crate::toolkit::{NVCC_FLAGS, flags_of};

/// Returns a warning for the first variable of nvcc that chooses targets.
pub fn in_variables(env: &Environment) -> Option<InvalidRequest<'static>> {
    NVCC_FLAGS.iter().find_map(|&variable| {
        let flag = first(&flags_of(variable, env))?;
        Some(InvalidRequest::TargetFlagInVariable(variable, flag))
    })
}

/// Returns the first flag that chooses targets, with its value.
pub fn first(flags: &[String]) -> Option<String> {
    let names = ["gencode", "generate-code", "arch", "gpu-architecture"];
    let chooses = |flag: &String| {
        let name = flag.split_once('=').map_or(&**flag, |(name, _)| name);
        name.starts_with('-') && names.contains(&name.trim_start_matches('-'))
    };
    let place = flags.iter().position(chooses)?;
    let flag = &flags[place];
    Some(match flags.get(place + 1) {
        // The value may be a separate argument.
        Some(value) if !flag.contains('=') => format!("{flag} {value}"),
        _ => flag.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::dialect::{Dialect, read};

    #[test]
    fn targets_in_a_variable_of_nvcc_get_a_warning() {
        let warning = |name: &str, value: &str| {
            let env = Environment::new([(name.to_string(), value.into())]);
            Some(in_variables(&env)?.finding().to_string())
        };
        assert_eq!(
            warning("NVCC_APPEND_FLAGS", "-O3 -arch sm_80").unwrap(),
            "NVCC_APPEND_FLAGS contains `-arch sm_80`, so nvcc also compiles for targets that are not in the list of this build  \
             [config-invalid]\n  \
             = help: remove `-arch sm_80` from NVCC_APPEND_FLAGS, and set CUDNN_GUARD_ARCHS=\"-arch sm_80\""
        );
        assert!(warning("NVCC_PREPEND_FLAGS", "-gencode=arch=compute_80,code=sm_80").is_some());
        assert_eq!(
            warning("NVCC_APPEND_FLAGS", "-ccbin g++-12 --threads 2"),
            None
        );
    }

    #[test]
    fn flags_that_choose_targets_are_refused() {
        for (given, named) in [
            (&["-O3", "-arch=sm_80"][..], "-arch=sm_80"),
            (&["-arch", "sm_90a"], "-arch sm_90a"),
            (
                &["--gpu-architecture=compute_80"],
                "--gpu-architecture=compute_80",
            ),
            (
                &[
                    "-gencode",
                    "arch=compute_80,code=sm_80",
                    "-gencode=arch=compute_90,code=sm_90",
                ],
                "-gencode arch=compute_80,code=sm_80",
            ),
        ] {
            let flags: Vec<String> = given.iter().map(ToString::to_string).collect();
            assert_eq!(
                InvalidRequest::TargetFlag(first(&flags).unwrap())
                    .finding()
                    .to_string(),
                format!(
                    "the flag `{named}` selects GPU targets, which have to be set with `.archs(..)`  [config-invalid]\n  \
                     = help: remove the flag from build.rs, and call `.archs([\"{named}\"])`"
                )
            );
            // The help is correct: the flag is a valid word in such a list.
            assert_eq!(read(Dialect::Ours, named).unwrap().len(), 1, "{named}");
        }
        for sound in [
            "-O3",
            "-arch-list",
            "-Xptxas=-v",
            "--generate-line-info",
            "-DARCH=-arch",
        ] {
            assert_eq!(first(&[sound.to_string()]), None);
        }
    }
}
