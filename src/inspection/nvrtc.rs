//! The builtins of NVRTC. NVRTC opens this library when it compiles, by a name with its own minor version.

use crate::cudnn::{file_name, package_owner};
use crate::loader::LoadGraph;
use crate::model::{LoadPhase, Missing};
use crate::runtime::binary::Elf;
use crate::runtime::facts::Finding;
use crate::system::{Sysroot, files};
use regex::bytes::Regex;

pub const BUILTINS: &str = "libnvrtc-builtins.so.";

pub fn open_builtins(graph: &mut LoadGraph) {
    let mut names = Vec::new();
    for (index, object) in graph.objects.iter().enumerate() {
        if object.name.starts_with("libnvrtc.so") {
            let file = Elf::read(&object.path).ok();
            names.extend(file.and_then(|file| Some((index, name_in(&file.rodata()?)?))));
        }
    }
    for (index, name) in names {
        graph.open(&name, index, LoadPhase::Later);
    }
}

/// Returns the first string that is exactly the name of the builtins. Messages contain the name, too.
fn name_in(constants: &[u8]) -> Option<String> {
    let text = r"(?-u)(?:^|\x00)(libnvrtc-builtins\.so(?:\.[0-9]+)+)(?:\x00|$)";
    let pattern = Regex::new(text).expect("a tested pattern");
    let found = pattern.captures(constants)?;
    String::from_utf8(found[1].to_vec()).ok()
}

/// Returns the finding about builtins that the loader does not find. The directory of the NVRTC that opens them and the
/// directory that a link to it points to are searched.
pub fn missing_builtins(missing: &Missing, sysroot: Sysroot) -> Finding {
    let real = sysroot.canonical(&missing.needed_by);
    let is_builtins = |name: &str| name.starts_with(BUILTINS);
    let (mut dir, mut other) = (None, None);
    for own in [&missing.needed_by, &real].map(|file| file.parent()) {
        let own = own.unwrap_or(&real);
        for file in files::list_named(own, &is_builtins).unwrap_or_default() {
            match file_name(&file) {
                name if name == missing.name => dir = Some(sysroot.inside(own)),
                name => other = Some(name.to_string()),
            }
        }
    }
    missing.builtins_finding(dir, other, package_owner::wheel(&real))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_builtins_is_a_separate_string() {
        for (constants, name) in [
            (&b"x\0nvrtc: error: failed to open libnvrtc-builtins.so.12.4.\0libnvrtc-builtins.so.12.4\0"[..], Some("libnvrtc-builtins.so.12.4")),
            (b"\0libnvrtc-builtins.so.12.4 is corrupted\0libnvrtc-builtins.so.13.10\0y", Some("libnvrtc-builtins.so.13.10")),
            (b"libnvrtc-builtins.so.%d.%d\0", None),
            (b"libnvrtc-builtins.so.\0libnvrtc-builtins.so\0", None),
            (b"", None),
        ] {
            assert_eq!(name_in(constants).as_deref(), name);
        }
    }
}
