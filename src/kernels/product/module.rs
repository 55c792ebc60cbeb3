//! A Rust module that includes the compiled files.

use crate::kernels::InvalidRequest;
use crate::runtime::facts::finding::Finding;
use crate::toolkit::nvcc_command::Product;
use std::ffi::OsStr;
use std::path::Path;

/// Returns the text of a module with a constant for each source and its compiled file. The file is in the module's
/// directory, or `None` without CUDA.
pub fn text(
    module: &str,
    product: Product,
    files: &[(&Path, Option<&Path>)],
) -> Result<String, Finding> {
    let sound = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if module.is_empty() || !module.chars().all(sound) || module == "cudnn_guard" {
        return Err(InvalidRequest::ModuleName(module).finding());
    }
    let (kind, include, empty) = match product {
        Product::Ptx => ("&str", "include_str!", "\"\""),
        _ => ("&[u8]", "include_bytes!", "&[]"),
    };
    let (mut named, mut lines) = (Vec::<(String, &Path)>::new(), Vec::new());
    for (source, file) in files {
        let name = constant_name(source, *file, product);
        if let Some((_, other)) = named.iter().find(|(known, _)| *known == name) {
            let fault = InvalidRequest::SameConstant(module, name, [other, source]);
            return Err(fault.finding());
        }
        lines.push(match file {
            Some(file) => {
                let file = lossy(file.file_name());
                format!("pub const {name}: {kind} = {include}({file:?});")
            }
            None => format!("pub const {name}: {kind} = {empty};"),
        });
        named.push((name, source));
    }
    let head = "// Written by cudnn-guard: what build.rs compiled.";
    Ok(format!("{head}\n{}\n", lines.join("\n")))
}

/// Returns `GELU` for `gelu.ptx`, and `GELU_SM_90` for `gelu.sm_90.cubin`.
fn constant_name(source: &Path, file: Option<&Path>, product: Product) -> String {
    let mut name = lossy(source.file_stem());
    if let (Some(file), Product::Cubin) = (file, product) {
        let target = Path::new(file.file_stem().unwrap_or_default()).extension();
        name = format!("{name}_{}", lossy(target));
    }
    let name = name.to_uppercase();
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{name}")
    } else {
        name
    }
}

fn lossy(name: Option<&OsStr>) -> String {
    name.unwrap_or_default().to_string_lossy().into_owned()
}
