//! A Rust module that includes the compiled files.

use crate::kernels::InvalidRequest;
use crate::model::text::joined;
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
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = name.to_uppercase().chars().map(plain).collect();
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
    let mut named: Vec<(String, &Constant)> = Vec::new();
    for constant in constants {
        let name = constant.name();
        if let Some((_, other)) = named.iter().find(|(known, _)| *known == name) {
            let sources = [other.source, constant.source];
            let fault = InvalidRequest::SameConstant(module, name, sources);
            return Err(fault.finding());
        }
        named.push((name, constant));
    }
    let (kind, include, empty) = if is_text {
        ("&str", "include_str!", "\"\"")
    } else {
        ("&[u8]", "include_bytes!", "&[]")
    };
    let lines = named.iter().map(|(name, constant)| match &constant.file {
        Some(file) => format!("pub const {name}: {kind} = {include}({file:?});"),
        None => format!("pub const {name}: {kind} = {empty};"),
    });
    let head = "// Written by cudnn-guard: what build.rs compiled.";
    Ok(format!("{head}\n{}\n", joined(lines, "\n")))
}
