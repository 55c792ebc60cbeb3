use super::*;
use crate::cudnn::parts::assemble;
use crate::model::{Owner, Unresolved};
use crate::runtime::binary::Defect;
use crate::runtime::facts::VersionSource;
use crate::runtime::install::SubLibraryFile;
use std::path::PathBuf;

fn part(name: &str, numbers: (u32, u32, u32), told_by: VersionSource) -> SubLibraryFile {
    let file = match name {
        "cudnn" => format!("/opt/dnn/lib/libcudnn.so.{}", numbers.0),
        name => format!("/opt/dnn/lib/libcudnn_{name}.so.{}", numbers.0),
    };
    let version = Version::new(numbers.0, numbers.1, numbers.2);
    let needed = name == "cudnn" || sub_libraries::needed(version, false).contains(&name);
    SubLibraryFile::new(name, file.into(), Some((version, told_by)), needed)
}

/// A complete cuDNN of one version.
fn cudnn(numbers: (u32, u32, u32)) -> Cudnn {
    let version = Version::new(numbers.0, numbers.1, numbers.2);
    let needed = sub_libraries::needed(version, false);
    let version = Some(version);
    let names = ["cudnn"].into_iter().chain(needed);
    let files = names.map(|name| part(name, numbers, VersionSource::BuildId));
    let cudnn = Cudnn {
        root: "/opt/dnn".into(),
        header: Some("/opt/dnn/include/cudnn_version.h".into()),
        header_version: version,
        library: Some(format!("/opt/dnn/lib/libcudnn.so.{}", numbers.0).into()),
        library_version: version,
        link_dir: Some("/opt/dnn/lib".into()),
        ..Cudnn::default()
    };
    with_files(cudnn, files.collect())
}

/// Replaces the files of a cuDNN.
fn with_files(mut cudnn: Cudnn, files: Vec<SubLibraryFile>) -> Cudnn {
    cudnn.installed = assemble(&cudnn, &files);
    cudnn
}

/// Replaces the file of this name, or adds it.
fn with(cudnn: Cudnn, file: SubLibraryFile) -> Cudnn {
    let mut files: Vec<SubLibraryFile> = cudnn.installed.files().into_iter().cloned().collect();
    files.retain(|other| other.name != file.name);
    files.push(file);
    with_files(cudnn, files)
}

/// Removes the file of this name.
fn without(cudnn: Cudnn, name: &str) -> Cudnn {
    let mut files: Vec<SubLibraryFile> = cudnn.installed.files().into_iter().cloned().collect();
    files.retain(|file| file.name != name);
    with_files(cudnn, files)
}

fn summaries(cudnn: &Cudnn) -> Vec<String> {
    let summary = |finding: &Finding| format!("{} {}", finding.severity, finding.id);
    findings(cudnn, &Asker::default())
        .iter()
        .map(summary)
        .collect()
}

#[test]
fn a_complete_cudnn_has_no_findings() {
    for numbers in [(9, 28, 0), (8, 9, 7)] {
        assert_eq!(findings(&cudnn(numbers), &Asker::default()), []);
        assert_eq!(doubtful(&cudnn(numbers)), None);
    }
    // The required sub-libraries of an unknown major are unknown.
    let mut next = cudnn((9, 28, 0));
    next.library = Some("/opt/dnn/lib/libcudnn.so.10".into());
    let main = next.installed.main.clone();
    let next = with_files(next, vec![main]);
    assert_eq!(findings(&next, &Asker::default()), []);
}

#[test]
fn a_damaged_sub_library_matters_if_it_is_needed() {
    for (name, is_needed) in [("adv", false), ("ops", true)] {
        let mut file = part(name, (9, 14, 0), VersionSource::BuildId);
        file.defect = Some(Defect::Empty);
        let one = with(cudnn((9, 14, 0)), file);
        let damaged = Rejection::Damaged(format!("libcudnn_{name}.so.9"), Defect::Empty);
        assert_eq!(doubtful(&one), Some(damaged).filter(|_| is_needed));
    }
    // This user cannot tell whether the file is damaged.
    let mut file = part("ops", (9, 14, 0), VersionSource::BuildId);
    file.defect = Some(Defect::Closed("/opt/dnn".into()));
    assert_eq!(doubtful(&with(cudnn((9, 14, 0)), file)), None);
}

#[test]
fn a_sub_library_of_another_version_counts_if_a_convolution_opens_it() {
    for (name, severity) in [
        ("heuristic", "error"),
        ("adv", "warning"),
        ("cudnn", "error"),
    ] {
        let other = part(name, (9, 10, 2), VersionSource::BuildId);
        let one = with(cudnn((9, 14, 0)), other);
        assert_eq!(
            summaries(&one),
            [format!("{severity} parts-mixed")],
            "{name}"
        );
        assert_eq!(doubtful(&one).is_some(), severity == "error", "{name}");
    }
}

#[test]
fn the_main_library_decides_between_as_many_files_of_two_versions() {
    let adv = part("adv", (9, 14, 0), VersionSource::BuildId);
    let mut one = with(cudnn((9, 14, 0)), adv);
    let count = one.installed.files().len();
    assert_eq!(count % 2, 0);
    let half = count / 2;
    for file in one.installed.list.iter_mut().rev().take(half) {
        file.version = Some(Version::new(9, 10, 2));
    }
    let (most, odd) = one.installed.mixed_versions().unwrap().odd_ones();
    assert_eq!((most, odd.len()), (Version::new(9, 14, 0), half));
}

/// The version is from the sub-library that contains it, if the main library has the same one.
#[test]
fn the_source_of_the_version_is_the_most_reliable_one() {
    let mut one = cudnn((9, 14, 0));
    one.installed.main.told_by = Some(VersionSource::FileName);
    let source = |cudnn: &Cudnn| cudnn.installed.version().map(|(_, source)| source);
    assert_eq!(source(&one), Some(VersionSource::BuildId));
    one.installed.main.version = Some(Version::new(9, 14, 1));
    assert_eq!(source(&one), Some(VersionSource::FileName));
}

/// The version belongs to the named file, not to a sub-library of another version beside it.
#[test]
fn the_version_of_the_library_to_link_is_its_own() {
    let other = part("graph", (9, 10, 2), VersionSource::BuildId);
    let mut one = with(cudnn((9, 14, 0)), other);
    one.library_version = Some(Version::new(9, 10, 2));
    assert_eq!(summaries(&one), ["error parts-mixed"]);
    // Headers of neither version.
    one.header_version = Some(Version::new(9, 1, 0));
    let skew = findings(&one, &Asker::default())[0].to_string();
    assert!(
        skew.contains("have different versions: 9.1.0 and 9.14.0  ["),
        "{skew}"
    );
    assert!(
        skew.contains("9.14.0 in libcudnn.so.9, from its build-id"),
        "{skew}"
    );
    // Headers of the sub-library's version, and a main library whose version is only in its file name.
    one.header_version = one.library_version;
    assert_eq!(summaries(&one), ["error parts-mixed"]);
    one.header_version = Some(Version::new(9, 14, 0));
    one.installed.main.told_by = Some(VersionSource::FileName);
    assert!(
        findings(&one, &Asker::default())[0]
            .to_string()
            .contains("versions: 9.14.0 and 9.10.2")
    );
}

#[test]
fn directories_count_if_a_version_is_unknown() {
    let mut one = cudnn((9, 14, 0));
    one.files.directories = vec!["/opt/one".into(), "/opt/two".into()];
    assert_eq!(summaries(&one), [""; 0]);
    one.installed.list[2].version = None;
    assert_eq!(summaries(&one), ["warning parts-mixed"]);
    // The versions that are known already differ.
    one.installed.list[1].version = Some(Version::new(9, 10, 2));
    assert_eq!(summaries(&one), ["error parts-mixed"]);
}

#[test]
fn undefined_functions_are_named() {
    let mut one = cudnn((9, 14, 0));
    let unresolved = |symbols: &[&str]| Unresolved {
        part: "/opt/dnn/lib/libcudnn_cnn.so.9".into(),
        sibling: "/opt/dnn/lib/libcudnn_graph.so.9".into(),
        symbols: symbols.iter().map(ToString::to_string).collect(),
    };
    one.files.unresolved = vec![
        unresolved(&["_ZN5cudnn1aEv", "_ZN5cudnn1bEv"]),
        unresolved(&["c"]),
    ];
    assert_eq!(
        findings(&one, &Asker::default())[0].to_string(),
        "`libcudnn_cnn.so.9` in `/opt/dnn/lib` needs symbols that `libcudnn_graph.so.9` beside it does not contain: their versions differ  [parts-mixed]\n  \
         = help: remove all `libcudnn*` files from `/opt/dnn/lib` and reinstall cuDNN\n  \
         missing     libcudnn_cnn.so.9 needs _ZN5cudnn1aEv and 1 more from libcudnn_graph.so.9\n              \
         libcudnn_cnn.so.9 needs c from libcudnn_graph.so.9"
    );
}

/// cuDNN does not open sub-libraries that only later versions have. An uninstalled wheel may leave one behind.
#[test]
fn undefined_functions_of_a_leftover_do_not_count() {
    let with_leftover = |version| {
        let mut one = cudnn(version);
        let path = PathBuf::from("/opt/dnn/lib/libcudnn_engines_tensor_ir.so.9");
        let name = "engines_tensor_ir";
        one = with(one, SubLibraryFile::new(name, path.clone(), None, false));
        one.files.unresolved = vec![Unresolved {
            part: path,
            sibling: "/opt/dnn/lib/libcudnn_graph.so.9".into(),
            symbols: vec!["a".into()],
        }];
        let findings = findings(&one, &Asker::default());
        let mixed = |finding: &&Finding| finding.summary.contains("needs symbols that");
        findings.iter().filter(mixed).count()
    };
    assert_eq!(with_leftover((9, 10, 2)), 0);
    assert_eq!(with_leftover((9, 20, 0)), 1, "9.20 opens it");
    assert_eq!(with_leftover((9, 22, 0)), 1);
}

/// cuDNN 9.20 opens this sub-library by its plain name, and rejects that of another version.
#[test]
fn a_leftover_without_its_link_is_not_opened() {
    let is_doubtful = |file: &str| {
        let version = Some((Version::new(9, 21, 0), VersionSource::BuildId));
        let path = format!("/opt/dnn/lib/{file}").into();
        let leftover = SubLibraryFile::new("engines_tensor_ir", path, version, false);
        let one = with(cudnn((9, 20, 0)), leftover);
        doubtful(&one).is_some()
    };
    assert!(is_doubtful("libcudnn_engines_tensor_ir.so.9"));
    assert!(!is_doubtful("libcudnn_engines_tensor_ir.so.9.21.0"));
}

/// A sub-library that was added in 9.21 is only required since then.
#[test]
fn a_later_sub_library_is_only_missing_in_later_versions() {
    let faults = |numbers| summaries(&without(cudnn(numbers), "engines_tensor_ir"));
    assert_eq!(faults((9, 28, 0)), ["warning parts-missing"]);
    assert_eq!(faults((9, 21, 0)), ["warning parts-missing"]);
    assert_eq!(faults((9, 20, 0)), [""; 0]);
    assert_eq!(faults((9, 14, 0)), [""; 0]);
}

#[test]
fn variables_for_headers_and_libraries_are_named() {
    let mut skewed = cudnn((9, 14, 0));
    skewed.header_version = Some(Version::new(9, 10, 0));
    let variables = ["CUDNN_LIB_DIR", "CUDNN_INCLUDE_DIR"].map(String::from);
    let asker = Asker {
        variables: &variables,
        ..Asker::default()
    };
    assert_eq!(
        findings(&skewed, &asker)[0].help[0],
        "make CUDNN_LIB_DIR and CUDNN_INCLUDE_DIR point to headers and libraries of the same version"
    );
}

#[test]
fn packages_of_two_versions_are_brought_to_one() {
    let apt = |name: &str, version: &str| Owner {
        installer: Installer::Apt,
        name: name.into(),
        version: version.into(),
        fetched: None,
    };
    let command =
        |headers: Owner, library: Owner, of_headers: (u32, u32), of_library: (u32, u32)| {
            let mut cudnn = Cudnn {
                header: Some("/usr/include/cudnn_version.h".into()),
                library: Some("/usr/lib/x86_64-linux-gnu/libcudnn.so.9".into()),
                header_version: Some(Version::new(of_headers.0, of_headers.1, 0)),
                library_version: Some(Version::new(of_library.0, of_library.1, 0)),
                owner: Some(Box::new(library)),
                ..Cudnn::default()
            };
            cudnn.files.header_owner = Some(headers);
            header_library(&cudnn, &[]).unwrap().help[0].clone()
        };
    assert_eq!(
        command(
            apt("libcudnn9-dev-cuda-12", "9.14.0.64-1"),
            apt("libcudnn9-cuda-12", "9.10.2.21-1"),
            (9, 14),
            (9, 10),
        ),
        "run `sudo apt install libcudnn9-cuda-12=9.14.0.64-1 libcudnn9-dev-cuda-12=9.14.0.64-1`"
    );
    assert_eq!(
        command(
            apt("libcudnn9-dev-cuda-13", "9.14.0.64-1"),
            apt("libcudnn9-cuda-12", "9.10.2.21-1"),
            (9, 14),
            (9, 10),
        ),
        "run `sudo apt install libcudnn9-dev-cuda-12=9.10.2.21-1`"
    );
    assert_eq!(
        command(
            apt("libcudnn9-dev-cuda-12", "9.14.0.64-1"),
            apt("libcudnn9-cuda-12:arm64", "9.10.2.21-1"),
            (9, 14),
            (9, 10),
        ),
        "run `sudo apt install libcudnn9-dev-cuda-12:arm64=9.10.2.21-1`"
    );
    // Files that were overwritten by hand, which apt cannot fix.
    assert_eq!(
        command(
            apt("libcudnn9-dev-cuda-12", "9.10.2.21-1"),
            apt("libcudnn9-cuda-12", "9.10.2.21-1"),
            (9, 14),
            (9, 10),
        ),
        "remove the outdated headers or library"
    );
}
