//! What a library of the toolkit needs of its neighbours.

use crate::model::text::joined;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use std::path::{Path, PathBuf};

/// That a library needs another which is not there, or is there and lacks what is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingDependency {
    /// The library that needs.
    pub library: PathBuf,
    /// The file name of the other: `libcublasLt.so.12`.
    pub needs: String,
    /// The other, where it is there.
    pub beside: Option<PathBuf>,
    /// The symbols that it lacks.
    pub symbols: Vec<String>,
    /// Files of other releases of it.
    pub others: Vec<PathBuf>,
}

/// Libraries of a toolkit that others of it need. What else a library needs is the system's affair.
pub fn is_of_toolkit(file: &str) -> bool {
    let stem = file.split(".so").next().unwrap_or_default();
    [
        "libcudart",
        "libcublas",
        "libcublasLt",
        "libcufft",
        "libcurand",
        "libcusolver",
        "libcusparse",
        "libnvJitLink",
        "libnvrtc",
    ]
    .contains(&stem)
}

/// It may be found when the program is linked and run, by means that are not seen here: a warning.
pub fn finding(missing: &MissingDependency, version: Option<Version>, root: &Path) -> Finding {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let needs = &missing.needs;
    let library = name(&missing.library);
    let release = version.map_or_else(
        || "of CUDA".into(),
        |one| format!("of CUDA {}", one.short()),
    );
    let finding = match &missing.beside {
        Some(beside) => {
            let first = missing.symbols.first().map_or("", String::as_str);
            let headline = format!(
                "`{library}` {release} calls `{first}`, which the `{needs}` beside it does not have: they are of different releases"
            );
            Finding::warning(FindingId::PartialToolkit, headline)
                .with("library", missing.library.display())
                .with("needs", beside.display())
        }
        None => {
            let headline = format!(
                "`{library}` {release} needs `{needs}`, which is not in `{}`",
                root.display()
            );
            let finding = Finding::warning(FindingId::PartialToolkit, headline)
                .with("library", missing.library.display());
            if missing.others.is_empty() {
                finding
            } else {
                let others = missing.others.iter().map(|other| other.display());
                finding.with("also found", joined(others, "\n"))
            }
        }
    };
    let stem = needs.split(".so").next().unwrap_or_default();
    let both = format!(
        "install `{library}` and `{stem}` of one release in `{}`",
        root.display()
    );
    finding
        .help(both)
        .help("or set CUDA_HOME to a toolkit that is whole")
}
