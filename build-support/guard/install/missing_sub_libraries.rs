//! That parts of a cuDNN are not there, though somebody needs them.

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version_source::SourcedVersion;
use crate::runtime::install::package_owner;
use crate::runtime::loader::search_path::SearchPath;
use std::path::Path;

const WHOLE: &str = "install a whole cuDNN in its place: this one brings nothing but what compiles graphs at run time";

/// That these files are missing, and by whom they are needed. `jit_only`: what is there is all that there ever was.
pub fn finding(
    folder: &Path,
    (missing, by): (&[String], &str),
    release: Option<SourcedVersion>,
    jit_only: bool,
    search_path: &SearchPath,
) -> Finding {
    let all = if missing.len() == 1 { "" } else { " all" };
    let here = folder.display().to_string();
    let release = release.map_or_else(String::new, |(version, _)| format!(" {version}"));
    let summary = format!(
        "cuDNN{} at `{}` lacks {}, which {} needs{}",
        release,
        here,
        missing.join(", "),
        by,
        all
    );
    let help = match package_owner::reinstall_command(folder) {
        _ if jit_only => WHOLE.to_string(),
        Some(command) => format!("bring its files back: `{command}`"),
        None => format!(
            "install cuDNN{release} again in `{here}`, whole, since the first library opens the others from there"
        ),
    };
    let mut places = search_path.looked_at();
    places.retain(|place| *place != here);
    places.insert(0, here);
    Finding::error(FindingId::PartsMissing, summary)
        .with("looked at", places.join("\n"))
        .help(help)
}
