//! Parts that came from elsewhere than from where they were looked for.

use crate::runtime::binary::Image;
use crate::runtime::install::file_versions::FileVersions;
use crate::runtime::install::main_library::MainLibrary;
use crate::runtime::install::mixed_sub_libraries::{self, ForeignSubLibraries};
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::loader::file_name;
use crate::runtime::loader::search_path::{LoadOrigin, SearchPath};
use crate::runtime::report::result::Report;
use crate::runtime::system::platform;
use std::path::PathBuf;

/// Parts that were mapped from elsewhere than from the files that were looked at. Those that tell no release are
/// foreign too when cuDNN says that something does not fit. True if there are such.
pub fn judge(
    report: &mut Report,
    main_library: &MainLibrary,
    (parts, search_path): (&SubLibraries, &SearchPath),
    mapped: &[PathBuf],
    disagree: bool,
) -> bool {
    if main_library.origin == LoadOrigin::Within {
        // Parts of another cuDNN are its own; that it is there is said already.
        return false;
    }
    let release = report.release();
    let build_ids = report.built.tables.build_ids.clone();
    let mut detector = FileVersions::new(&build_ids);
    let (mut foreign, mut copies) = (Vec::new(), Vec::new());
    for path in mapped {
        let Some((name, Some(major))) = file_name::parse(path) else {
            continue;
        };
        // What was deleted is the same as nothing but by its name.
        let is_it =
            |part: &SubLibraryFile| part.path == *path || platform::same_file(&part.path, path);
        let looked_at = parts.list.iter().any(is_it);
        if major != main_library.major || name.is_empty() || looked_at {
            continue;
        }
        let image = Image::open(path).ok();
        let version = image.and_then(|image| detector.part(&image, &name, path));
        let own_shim = mapped.iter().any(|other| {
            other.parent() == path.parent()
                && *other != main_library.path
                && file_name::parse(other) == Some((String::new(), Some(major)))
        });
        let part = SubLibraryFile::new(&name, path.clone(), version, true);
        let fits = !disagree && (part.version.is_none() || part.version == release);
        if own_shim || fits {
            copies.push(path.clone());
        } else {
            foreign.push(part);
        }
    }
    if !copies.is_empty() {
        report.findings.push(main_library.others_finding(&copies));
    }
    if foreign.is_empty() {
        return false;
    }
    let (folder, major) = (main_library.folder(), main_library.major);
    let elsewhere = mixed_sub_libraries::foreign(folder, major, &foreign, search_path);
    let fault = ForeignSubLibraries {
        release,
        folder,
        foreign: &elsewhere,
        mixed: None,
    };
    let finding = main_library.add_foreign(fault.finding(), &foreign);
    report.findings.push(finding);
    true
}
