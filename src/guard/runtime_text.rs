//! The source text of the runtime for standalone guards: the files of build-support/guard, each as a module.

use std::fmt::Write;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../build-support/guard/", $name, ".rs")))),*]
    };
}

pub(super) const SOURCES: &[(&str, &str)] = sources![
    "binary/bounded_file",
    "binary/defect",
    "binary/elf",
    "binary/elf_sections",
    "binary/elf_symbols",
    "binary/ld_so_cache",
    "binary/mod",
    "binary/pe",
    "check/child_verdict",
    "check/exit_verdict",
    "check/file_findings",
    "check/foreign_parts",
    "check/mod",
    "check/pin",
    "check/second_try",
    "child/entry",
    "child/exit_status",
    "child/fork",
    "child/in_process",
    "child/mod",
    "child/no_fork",
    "child/process_lock",
    "child/protocol",
    "child/rdma",
    "child/spawn",
    "child/stay",
    "child/task",
    "child/work",
    "convolution/case",
    "convolution/case_result",
    "convolution/cudnn_error",
    "convolution/failure",
    "convolution/graph",
    "convolution/graph_engines",
    "convolution/mod",
    "convolution/passed_over",
    "convolution/reference",
    "convolution/run_case",
    "convolution/stage",
    "convolution/suite",
    "convolution/tolerance",
    "cudnn/algorithm",
    "cudnn/data_type",
    "cudnn/descriptor",
    "cudnn/functions",
    "cudnn/graph_signatures",
    "cudnn/mod",
    "cudnn/operation",
    "cudnn/owned_descriptor",
    "cudnn/shape",
    "cudnn/signatures",
    "cudnn/status",
    "driver/call",
    "driver/container",
    "driver/device_memory",
    "driver/devices",
    "driver/driver_library",
    "driver/driver_missing",
    "driver/driver_release",
    "driver/mod",
    "driver/no_gpu",
    "driver/nvml",
    "driver/query",
    "driver/stub",
    "facts/allowed",
    "facts/built",
    "facts/built_record",
    "facts/codec",
    "facts/compute_capability",
    "facts/fetch_dir",
    "facts/finding",
    "facts/finding_id",
    "facts/json",
    "facts/library_name",
    "facts/linked_in",
    "facts/majors",
    "facts/mod",
    "facts/nearest",
    "facts/record",
    "facts/sub_libraries",
    "facts/tables",
    "facts/version",
    "facts/version_source",
    "install/dlopen_dependencies",
    "install/file_versions",
    "install/later_dll",
    "install/main_library",
    "install/missing_dlopen",
    "install/mixed_folder",
    "install/mixed_sub_libraries",
    "install/mod",
    "install/package_owner",
    "install/package_record",
    "install/refusal",
    "install/sub_library_file",
    "install/sub_library_files",
    "install/sub_library_lookup",
    "install/version_evidence",
    "install/zlib",
    "internals",
    "judge/gpu_support",
    "judge/mod",
    "judge/program_rules",
    "judge/rules",
    "loader/cudarc_eager",
    "loader/dll/imports",
    "loader/dll/misplaced",
    "loader/dll/mod",
    "loader/dll/search_path",
    "loader/elf/candidates",
    "loader/elf/dlerror_messages",
    "loader/elf/misplaced",
    "loader/elf/mod",
    "loader/elf/search_list",
    "loader/elf/search_path",
    "loader/file_name",
    "loader/library_names",
    "loader/load_origin",
    "loader/map_failures",
    "loader/misplaced",
    "loader/mod",
    "loader/not_found",
    "loader/opener",
    "loader/refused_library",
    "loader/search_path",
    "loader/unlinked",
    "messages/check",
    "messages/child",
    "messages/convolution",
    "messages/cuda_status",
    "messages/defect",
    "messages/devices",
    "messages/driver",
    "messages/gpu_support",
    "messages/load_origin",
    "messages/loading",
    "messages/main_library",
    "messages/mixed_sub_libraries",
    "messages/mod",
    "messages/not_found",
    "messages/program",
    "messages/release",
    "messages/sub_libraries",
    "messages/variables",
    "mod",
    "report/contents",
    "report/env_config",
    "report/json_members",
    "report/mod",
    "report/output",
    "report/result",
    "report/text",
    "startup",
    "system/linux/mapped",
    "system/linux/maps",
    "system/linux/mod",
    "system/linux/process",
    "system/linux/stack",
    "system/mod",
    "system/names",
    "system/not_linux",
    "system/other",
    "system/proc",
    "system/windows",
];

/// Appends the text of a file, with the modules that it declares inlined. Paths to the crate root are made relative.
pub fn module_text(out: &mut String, name: &str) {
    let source = SOURCES.iter().find(|(known, _)| *known == name);
    let source = source.map_or("", |(_, source)| source);
    let dir = name.strip_suffix("mod").unwrap_or_default();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let declared = line.strip_prefix("pub(crate) ").unwrap_or(line);
        let declared = declared
            .strip_prefix("pub mod ")
            .or(declared.strip_prefix("mod "));
        match declared.and_then(|rest| rest.strip_suffix(';')) {
            Some(module) => {
                let _ = writeln!(out, "pub mod {module} {{");
                let file = format!("{dir}{module}");
                let is_file = SOURCES.iter().any(|(known, _)| *known == file);
                module_text(out, &if is_file { file } else { file + "/mod" });
                out.push_str("}\n");
            }
            None if line.trim_start() == "#[cfg(feature = \"runtime\")]"
                || line.starts_with("#[path = ") => {}
            None if line == "#[cfg(any(windows, feature = \"build\"))]" => {
                out.push_str("#[cfg(windows)]\n");
            }
            // The attributes and the line after it are an item that only the build uses, or only the crate.
            None if line == "#[cfg(feature = \"build\")]" || line == LAZY => {
                while lines.next().is_some_and(|line| line.starts_with("#[")) {}
            }
            None => {
                out.push_str(&line.replace(ROOT, &to_root(name)));
                out.push('\n');
            }
        }
    }
}

/// The attribute of the items for `Link::Lazy`, which a standalone guard does not support.
const LAZY: &str = "#[cfg(all(feature = \"runtime\", any(target_os = \"linux\", windows)))]";

/// The root of the runtime in its files.
const ROOT: &str = "crate::runtime::";

/// Returns the path to the root from this file's module, wherever the text is included.
fn to_root(name: &str) -> String {
    let dirs = name.matches('/').count();
    match dirs + usize::from(!name.ends_with("mod")) {
        0 => "self::".to_string(),
        depth => "super::".repeat(depth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_reaches_the_root_from_its_module() {
        assert_eq!(to_root("mod"), "self::");
        assert_eq!(to_root("check"), "super::");
        assert_eq!(to_root("facts/mod"), "super::");
        assert_eq!(to_root("facts/version"), "super::super::");
    }

    /// A module within a file would have another depth than the file.
    #[test]
    fn no_file_contains_an_inline_module() {
        for (name, source) in SOURCES {
            for line in source.lines().map(str::trim_start) {
                let opened = line.contains("mod ") && line.ends_with('{');
                assert!(!opened || line.starts_with("//"), "{name}: {line}");
            }
        }
    }

    /// A missing file would be an empty module in the generated program.
    #[test]
    fn every_declared_module_has_a_file() {
        for (name, source) in SOURCES {
            let dir = name.strip_suffix("mod").unwrap_or_default();
            let mut attributes = String::new();
            for line in source.lines() {
                if line.starts_with("#[") {
                    attributes += line;
                    continue;
                }
                let declared = line.strip_prefix("pub mod ");
                let module = declared.and_then(|rest| rest.strip_suffix(';'));
                if let (Some(module), false) = (
                    module,
                    attributes.contains("\"build\"") || attributes.contains(LAZY),
                ) {
                    let file = format!("{dir}{module}");
                    let is_it = |known: &str| known == file || known == format!("{file}/mod");
                    assert!(SOURCES.iter().any(|(known, _)| is_it(known)), "{file}");
                }
                attributes.clear();
            }
        }
    }

    #[test]
    fn the_text_contains_every_file_and_names_no_crate() {
        let mut text = String::new();
        module_text(&mut text, "mod");
        for (name, source) in SOURCES {
            let first = source.lines().next().unwrap_or_default();
            assert!(text.contains(first), "{name}");
        }
        assert!(!text.contains("crate::runtime"), "a path is left");
        // It contains neither the build's own items nor features of this crate.
        let of_cargo = text.replace("target_feature =", "").contains("feature =");
        assert!(!text.contains("mod cuda_sections ") && !of_cargo);
    }

    /// The order is the one in the runtime's documentation.
    #[test]
    fn a_module_uses_only_earlier_modules() {
        let (_, page) = SOURCES
            .iter()
            .find(|(name, _)| *name == "internals")
            .unwrap();
        let page = page.split_once("# Modules").unwrap().1;
        let page = page.split_once("#[").unwrap().0;
        let rooms: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
        let place = |name: &str| rooms.iter().position(|room| *room == name);
        for (name, source) in SOURCES {
            let Some((room, _)) = name.split_once('/') else {
                continue;
            };
            let own = place(room).unwrap_or_else(|| panic!("{room} has no place"));
            for used in source.split(ROOT).skip(1) {
                let used = used.split(|c: char| !c.is_alphanumeric()).next().unwrap();
                assert!(place(used).unwrap_or(0) <= own, "{name} uses {used}");
            }
        }
    }
}
