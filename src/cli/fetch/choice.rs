//! The versions to fetch: those of the command line, or else those that the current crate names.

use crate::Finding;
use crate::cli::cuda_version::{self, CudaVersion};
use crate::cli::fetch::fault;
use crate::cli::fetch::project::{self, Used};
use crate::cli::fetch::release::Release;
use crate::cli::terminal::{harmless, show_step};
use crate::model::text::joined;
use crate::system::files;
use crate::toolkit::package_names::FETCHED_ON_REQUEST;
use std::path::Path;
use toml_edit::{DocumentMut, TableLike, Value};

/// The versions to fetch. `None` means the newest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    pub cuda: Option<CudaVersion>,
    pub cudnn: Option<Release>,
    /// The libraries of CUDA besides those that cuDNN opens.
    pub libraries: Vec<String>,
}

const MANIFEST: &str = "Cargo.toml";

impl Choice {
    /// Fills in open versions from `[package.metadata.cudnn-guard]` in the current directory, or that table of the
    /// workspace.
    pub fn or_of_crate(self) -> Result<Self, Finding> {
        let text = files::read(Path::new(MANIFEST)).unwrap_or_default();
        let named = read(&text)?;
        let mut chosen = Self {
            cuda: self.cuda.clone().or(named.cuda),
            cudnn: self.cudnn.clone().or(named.cudnn),
            libraries: [self.libraries.clone(), named.libraries].concat(),
        };
        if (&chosen.cuda, &chosen.cudnn) != (&self.cuda, &self.cudnn) {
            let cuda = chosen.cuda.iter().map(|cuda| format!("CUDA {cuda}"));
            let cudnn = chosen
                .cudnn
                .iter()
                .map(|release| format!("cuDNN {release}"));
            let both: Vec<String> = cuda.chain(cudnn).collect();
            show_chosen(&format!("{}, with {MANIFEST}", both.join(" and ")));
        }
        if self.libraries.is_empty() && Path::new(MANIFEST).exists() {
            chosen.add_libraries(project::libraries(Path::new(".")));
        }
        Ok(chosen)
    }

    fn add_libraries(&mut self, mut used: Used) {
        used.retain(|library, _| !self.libraries.iter().any(|one| one == library));
        let added = used.iter();
        let added = added.map(|(library, by)| format!("{library} for {}", by.join(" and ")));
        if !used.is_empty() {
            show_step("i", "added", joined(added, ", "));
        }
        self.libraries.extend(used.into_keys().map(String::from));
    }
}

pub fn show_chosen(what: &str) {
    show_step("i", "chosen", harmless(what));
}

/// Reads the versions in a manifest. An invalid manifest has none.
fn read(text: &str) -> Result<Choice, Finding> {
    let Ok(manifest) = text.parse::<DocumentMut>() else {
        return Ok(Choice::default());
    };
    let own = |of: &str| {
        let metadata = manifest.get(of)?.get("metadata")?;
        Some((
            format!("{of}.metadata.cudnn-guard"),
            metadata.get("cudnn-guard")?,
        ))
    };
    let Some((table, item)) = own("package").or_else(|| own("workspace")) else {
        return Ok(Choice::default());
    };
    let mut choice = Choice::default();
    for (key, value) in item.as_table_like().into_iter().flat_map(TableLike::iter) {
        let text = value.as_str().unwrap_or_default();
        let is_valid = match key {
            "cuda" => {
                choice.cuda = cuda_version::parse(text).ok();
                choice.cuda.is_some()
            }
            "cudnn" => {
                choice.cudnn = Release::parse(text, 3);
                choice.cudnn.is_some()
            }
            "libs" => {
                let names: Option<Vec<&str>> = value
                    .as_array()
                    .and_then(|list| list.iter().map(Value::as_str).collect());
                let names = names
                    .filter(|names| names.iter().all(|name| FETCHED_ON_REQUEST.contains(name)));
                choice.libraries = names
                    .iter()
                    .flatten()
                    .map(|name| (*name).to_string())
                    .collect();
                names.is_some()
            }
            _ => false,
        };
        if !is_valid {
            return Err(fault::invalid_metadata(
                &table,
                key,
                value.to_string().trim(),
            ));
        }
    }
    Ok(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Option<Release> {
        Some(Release::from_wheel(text))
    }

    #[test]
    fn versions_are_read_from_the_manifest() {
        let named = "[package.metadata.cudnn-guard]\ncuda = \"12.8\"\ncudnn = \"9.10\"\nlibs = [\"curand\"]\n";
        let both = Choice {
            cuda: release("12.8").map(CudaVersion::from),
            cudnn: release("9.10"),
            libraries: vec!["curand".to_string()],
        };
        assert_eq!(read(named), Ok(both.clone()));
        assert_eq!(read(&named.replace("package", "workspace")), Ok(both));
        let cudnn = Choice {
            cudnn: release("9.10"),
            ..Choice::default()
        };
        let inline = "[package]\nmetadata = { cudnn-guard = { cudnn = \"9.10\" } }\n";
        assert_eq!(read(inline), Ok(cudnn));
        for nothing in ["", "[package]\nname = \"app\"\n", "no TOML = ="] {
            assert_eq!(read(nothing), Ok(Choice::default()), "{nothing}");
        }
    }

    #[test]
    fn a_later_version_may_be_required() {
        let text = "[package.metadata.cudnn-guard]\ncuda = \">=12.4\"\n";
        let cuda = read(text).expect("a choice").cuda;
        assert_eq!(cuda, cuda_version::parse(">=12.4").ok());
    }

    #[test]
    fn an_unknown_library_is_rejected() {
        for value in ["[\"curant\"]", "\"curand\"", "[1]"] {
            let text = format!("[workspace.metadata.cudnn-guard]\nlibs = {value}\n");
            assert_eq!(
                read(&text).expect_err("no library").to_string(),
                format!(
                    "`libs = {value}` in [workspace.metadata.cudnn-guard] of Cargo.toml is not valid  [config-invalid]\n  \
                     = help: set it to a list such as `libs = [\"curand\"]` of these names: nvjitlink, curand, cufft, cusparse, \
                     cusolver, npp, nvjpeg, cutlass"
                )
            );
        }
    }

    #[test]
    fn an_invalid_version_is_rejected() {
        for value in ["\"12.8.1\"", "'<12'", "12", "12.8", "{}"] {
            let text = format!("[package.metadata.cudnn-guard]\ncuda = {value}\n");
            assert_eq!(
                read(&text).expect_err("no release").to_string(),
                format!(
                    "`cuda = {value}` in [package.metadata.cudnn-guard] of Cargo.toml is not valid  [config-invalid]\n  \
                     = help: set it to a version in quotation marks, such as `cuda = \"13.0\"`"
                )
            );
        }
    }

    #[test]
    fn an_unknown_key_is_rejected() {
        let text = "[package.metadata.cudnn-guard]\ncudnn = \"9\"\ncudda = \"12\"\n";
        assert_eq!(
            read(text).expect_err("no key").to_string(),
            "`cudda = \"12\"` in [package.metadata.cudnn-guard] of Cargo.toml is not valid  [config-invalid]\n  \
             = help: use one of the keys `cuda`, `cudnn` and `libs`"
        );
    }
}
