//! The compression library that cuDNN 8 for Windows opens and does not contain.

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::sub_libraries::{ZLIB, opens_zlib};
use crate::runtime::facts::version::Version;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system::platform::Library;
use std::path::Path;

/// Returns the finding for a cuDNN that will not find it, or one for another CPU. Not every program needs it.
pub fn finding(release: Version, folder: &Path, search_path: &SearchPath) -> Option<Finding> {
    if !opens_zlib(release) || Library::loaded(ZLIB).is_some() {
        return None;
    }
    let beside = Some(folder.join(ZLIB)).filter(|file| file.is_file());
    if let Some(file) = search_path.program_file(ZLIB).or(beside) {
        let Err(Defect::Cpu(cpu)) = Image::open(&file) else {
            return None;
        };
        let file = file.display();
        let summary = format!(
            "`{file}`, which cuDNN {release} opens, is for {cpu}: Windows calls that error 193"
        );
        return Some(
            Finding::warning(FindingId::WrongArchitecture, summary).help(format!(
                "put the `{ZLIB}` for 64 bits that NVIDIA's installation guide for cuDNN 8 leads to in the place of `{file}`"
            )),
        );
    }
    let summary = format!(
        "cuDNN {release} for Windows opens `{ZLIB}`, which does not come with it, and Windows does not find one"
    );
    Some(
        Finding::warning(FindingId::CudnnNotLoadable, summary)
            .with("looked at", search_path.looked_at().join("\n"))
            .help(format!(
                "put the `{}` that NVIDIA's installation guide for cuDNN 8 leads to into `{}`, or move to cuDNN 9, which does without",
                ZLIB,
                folder.display()
            )),
    )
}
