//! A Rust module that includes the compiled files.

use crate::kernels::InvalidRequest;
use crate::runtime::facts::finding::Finding;
use std::path::Path;

pub struct Constant<'a> {
    pub source: &'a Path,
    /// The target of a cubin.
    pub target: Option<String>,
    /// The compiled file, in the directory of the module; `None` without CUDA.
    pub file: Option<String>,
}

impl Constant<'_> {
    /// Returns `GELU_SM_90` for `gelu.sm_90.cubin`.
    fn name(&self) -> String {
        let stem = self.source.file_stem().unwrap_or_default();
        let mut name = stem.to_string_lossy().into_owned();
        if let Some(target) = &self.target {
            name = format!("{name}_{target}");
        }
        let name = name.to_uppercase();
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            format!("_{name}")
        } else {
            name
        }
    }
}

pub fn text(module: &str, is_text: bool, constants: &[Constant]) -> Result<String, Finding> {
    let sound = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if module.is_empty() || !module.chars().all(sound) || module == "cudnn_guard" {
        return Err(InvalidRequest::ModuleName(module).finding());
    }
    let (kind, include, empty) = if is_text {
        ("&str", "include_str!", "\"\"")
    } else {
        ("&[u8]", "include_bytes!", "&[]")
    };
    let (mut named, mut lines) = (Vec::<(String, &Path)>::new(), Vec::new());
    for constant in constants {
        let Constant { source, file, .. } = constant;
        let name = constant.name();
        if let Some((_, other)) = named.iter().find(|(known, _)| *known == name) {
            let fault = InvalidRequest::SameConstant(module, name, [other, source]);
            return Err(fault.finding());
        }
        lines.push(match file {
            Some(file) => format!("pub const {name}: {kind} = {include}({file:?});"),
            None => format!("pub const {name}: {kind} = {empty};"),
        });
        named.push((name, source));
    }
    let head = "// Written by cudnn-guard: what build.rs compiled.";
    Ok(format!("{head}\n{}\n", lines.join("\n")))
}
