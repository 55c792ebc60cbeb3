//! Relocatable device code. What a kernel calls in another file is linked by nvcc before the host's linker sees the
//! objects: the object that comes of it goes into the library with them.

use crate::kernels::nvcc::diagnostics::ToolFailure;
use crate::kernels::setup::Setup;
use crate::model::gencode::Gencode;
use crate::runtime::facts::compute_capability::Code;
use crate::runtime::facts::finding::Finding;
use crate::system::freshness::build_stamp::Artifact;
use crate::system::{files, programs};
use crate::toolkit::nvcc_command;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// These arguments with `-rdc=true` for `-dc`, which stands for `-c` too.
pub fn renamed(flags: &[String]) -> Vec<String> {
    let renamed = |flag: &String| match &**flag {
        "-dc" | "--device-c" => "-rdc=true".to_string(),
        _ => flag.clone(),
    };
    flags.iter().map(renamed).collect()
}

/// Whether these arguments ask nvcc for it.
pub fn is_asked(flags: &[String]) -> bool {
    let whole = [
        "-rdc=true",
        "--relocatable-device-code=true",
        "-dc",
        "--device-c",
    ];
    let pairs = ["-rdc true", "--relocatable-device-code true"];
    flags.iter().any(|flag| whole.contains(&&**flag))
        || flags
            .windows(2)
            .any(|pair| pairs.contains(&&*pair.join(" ")))
}

/// The object, in the folder of those that it links, made anew where one of them was.
pub fn link(
    setup: &Setup,
    targets: &[Gencode],
    objects: &[PathBuf],
    folder: &Path,
) -> Result<PathBuf, Finding> {
    let output = folder.join("device-link.o");
    let machine: Vec<Gencode> = targets
        .iter()
        .copied()
        .filter(|one| one.target.code == Code::Machine)
        .collect();
    let host = &setup.host;
    let command = nvcc_command::device_link(
        &setup.plan,
        &machine,
        objects,
        &output,
        &host.platform,
        &host.env,
    );
    let how = format!("{command}\n{}", setup.tools);
    let made = Artifact {
        output: &output,
        stamp: &folder.join("device-link.stamp"),
        how: &how,
        search: &[],
    };
    if made.is_made_of(objects) {
        return Ok(output);
    }
    made.remove();
    let ran = programs::run_to_end(&command)?;
    if !ran.success || !files::is_file(&output) {
        let said = ran.stdout + &ran.stderr;
        return Err(ToolFailure::DeviceLink(&command, said).finding());
    }
    // Nobody but this build script writes the objects, and it is done: they are settled however new they are.
    made.write(objects, SystemTime::now() + Duration::from_secs(1));
    Ok(output)
}
