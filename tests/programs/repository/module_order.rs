//! The order of the runtime's modules, which its documentation lists.

use super::sources::shipped;

#[test]
fn a_module_of_the_runtime_uses_only_earlier_modules() {
    let documentation = include_str!("../../../build-support/guard/internals.rs");
    let (_, list) = documentation.split_once("# Modules").unwrap();
    let (list, _) = list.split_once("#[").unwrap();
    let order: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    let place = |name: &str| order.iter().position(|module| *module == name);
    for (path, code) in shipped() {
        let Some(inside) = path.strip_prefix("build-support/guard/") else {
            continue;
        };
        let Some((module, _)) = inside.split_once('/') else {
            continue;
        };
        let own = place(module).unwrap_or_else(|| panic!("{module} has no place"));
        for used in code.split("crate::runtime::").skip(1) {
            let used = used.split(|c: char| !c.is_alphanumeric()).next().unwrap();
            assert!(place(used).unwrap_or(0) <= own, "{path} uses {used}");
        }
    }
}

/// `std::fs` would wait for a pipe, and read a device to its end that never comes. In `src`, only these files use it, for
/// files that the build itself has written, and for the kernel's.
#[test]
fn the_build_reads_files_through_one_function() {
    const EXCEPTIONS: [&str; 6] = [
        "cli/fetch/directory.rs",    // locks a directory
        "system/child_processes.rs", // lists the children of a process
        "system/files.rs",
        "system/freshness/build_stamp.rs", // objects may be large
        "system/out_dir.rs",
        "targets/table.rs", // only in tests
    ];
    for (path, code) in shipped() {
        let Some(path) = path.strip_prefix("src/") else {
            continue;
        };
        let code = code.split("mod tests {").next().unwrap();
        let is_allowed = EXCEPTIONS.contains(&path);
        for read in ["fs::read(", "fs::read_to_string", "File::open"] {
            assert!(is_allowed || !code.contains(read), "{path} calls {read}");
        }
    }
}
