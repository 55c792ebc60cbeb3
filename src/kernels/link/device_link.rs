//! The device link. nvcc links relocatable device code of different files before the host's linker sees the objects.
//! The resulting object is added to the library.

use crate::kernels::{Setup, ToolFailure};
use crate::model::{Gencode, machine_code};
use crate::runtime::facts::Finding;
use crate::system::{Artifact, files, programs};
use crate::toolkit::nvcc_command;
use std::path::PathBuf;

/// Returns the flags with `-rdc=true` instead of `-dc`, which also implies `-c`.
pub fn with_rdc(flags: &[String]) -> Vec<String> {
    let mut with_rdc = flags.to_vec();
    for flag in &mut with_rdc {
        if matches!(&**flag, "-dc" | "--device-c") {
            *flag = "-rdc=true".to_string();
        }
    }
    with_rdc
}

/// Returns `true` if these flags request relocatable device code.
pub fn is_requested(flags: &[String]) -> bool {
    let is_it = |flag: &str| {
        let device_code = ["-rdc=true", "--relocatable-device-code=true"].contains(&flag);
        device_code || matches!(flag, "-dc" | "--device-c")
    };
    // The value may be a separate argument.
    flags.iter().any(|flag| is_it(flag)) || flags.windows(2).any(|pair| is_it(&pair.join("=")))
}

/// Links the objects if one has changed since the last time, and returns the resulting object beside them.
pub fn link(setup: &Setup, targets: &[Gencode], objects: &[PathBuf]) -> Result<PathBuf, Finding> {
    let output = objects[0].with_file_name("device-link.o");
    let machine = machine_code(targets);
    let command = nvcc_command::device_link(&setup.plan, &machine, objects, &output);
    let made = Artifact {
        output: output.clone(),
        stamp: output.with_extension("stamp"),
        how: format!("{command}\n{}", setup.fingerprint),
    };
    made.make_of(objects, &mut || {
        let ran = programs::run(&command, None)?;
        match ran.success && files::is_file(&output) {
            true => Ok(()),
            false => Err(ToolFailure::DeviceLink(&command, ran.printed()).finding()),
        }
    })?;
    Ok(output)
}
