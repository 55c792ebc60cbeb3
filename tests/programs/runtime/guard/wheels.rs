//! Versions from the context of a file: its name, and the record of the wheel that installed it.

use super::program::{GPU, check, run, startup, version};
use crate::support::installation::{Folder, compile, libraries};
use crate::support::rows;
use cudnn_guard::internals::facts::{SourcedVersion, Version, VersionSource};
use cudnn_guard::internals::install::file_reader::FileReader;
use cudnn_guard::internals::install::sub_library_files::ProcessFiles;
use cudnn_guard::internals::install::{package_owner, package_record};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const LIB: &str = "nvidia/cudnn/lib";
const MAIN: &str = "libcudnn.so.9";

/// Creates a directory of Python packages with this cuDNN, installed from a wheel.
fn site(release: &str) -> Folder {
    let folder = Folder::new();
    install(&folder, "cu13", release);
    folder
}

/// Installs a wheel as pip does: the files, then the record with the size of each.
fn install(site: &Folder, suffix: &str, release: &str) {
    let from = Folder::new().with_cudnn(release);
    let lib = site.file(LIB);
    std::fs::create_dir_all(&lib).unwrap();
    let mut lines = String::from("nvidia/__init__.py,sha256=47DEQpj8HBSa,0\n");
    for name in libraries(&from.0) {
        // The size differs between versions, as in the real files.
        let mut bytes = std::fs::read(from.file(&name)).unwrap();
        let patch = release.split('.').map(|n| n.parse::<usize>().unwrap());
        bytes.extend(vec![0; patch.fold(0, |sum, n| sum * 7 + n)]);
        lines += &format!("{LIB}/{name},sha256=abc,{}\n", bytes.len());
        let to = lib.join(&name);
        let _ = std::fs::remove_file(&to);
        std::fs::write(to, bytes).unwrap();
    }
    record(site, suffix, &format!("{release}.42"), &lines);
}

fn record(site: &Folder, suffix: &str, release: &str, lines: &str) {
    let info = site.file(&format!("nvidia_cudnn_{suffix}-{release}.dist-info"));
    std::fs::create_dir_all(&info).unwrap();
    std::fs::write(info.join("RECORD"), lines).unwrap();
}

/// Creates links to all libraries of a directory in a new directory.
fn links_to(lib: &Path) -> Folder {
    Folder::new().with_links_to(lib)
}

fn read_version(path: &Path, name: &str) -> Option<SourcedVersion> {
    version_among(&[], name, path)
}

/// Returns the version of a file, from these build IDs.
fn version_among(
    build_ids: &[(Version, String)],
    name: &str,
    path: &Path,
) -> Option<SourcedVersion> {
    let files = ProcessFiles::new(build_ids);
    let mut open = |name: &str, path: &Path| files.open(name, path);
    let file = FileReader::new(&mut open).read(name, path.to_path_buf());
    assert_eq!(file.defect, None);
    file.sourced_version()
}

/// NVIDIA shipped some builds in two versions.
#[test]
fn a_build_of_two_versions_determines_neither() {
    let folder = Folder::new();
    let (one, two) = (
        folder.file("libcudnn_cnn.so.9"),
        folder.file("libcudnn_adv.so.9"),
    );
    compile("int one;", &one, &["-Wl,--build-id=0xaabbccdd0001"]);
    compile("int two;", &two, &["-Wl,--build-id=0xaabbccdd0002"]);
    let release = |patch| Version::new(9, 14, patch);
    let version = |path: &Path, rows: &[(u32, &str)]| {
        let rows: Vec<_> = rows
            .iter()
            .map(|(patch, ids)| (release(*patch), ids.to_string()))
            .collect();
        version_among(&rows, "cnn", path)
    };
    let sure = Some((release(1), VersionSource::BuildId));
    assert_eq!(
        version(&one, &[(0, "00000000"), (1, "11111111 aabbccdd")]),
        sure
    );
    assert_eq!(
        version(&two, &[(0, "aabbccdd"), (1, "11111111 aabbccdd")]),
        None
    );
}

/// A cuDNN of another major version beside the file does not decide between the versions of a build.
#[test]
fn only_files_of_its_major_determine_the_version_of_a_build() {
    let folder = Folder::new().with_cudnn("9.14.0");
    let file = folder.file("libcudnn_cnn_infer.so.8");
    compile("int eight;", &file, &["-Wl,--build-id=0xaabbccdd0003"]);
    let rows = [6, 7].map(|patch| (Version::new(8, 9, patch), "aabbccdd".to_string()));
    let version = || version_among(&rows, "cnn_infer", &file);
    assert_eq!(version(), None);
    // A cuDNN of the same major version does.
    let eight = Folder::new().with_cudnn("8.9.7");
    let ops = "libcudnn_ops_infer.so.8";
    std::fs::copy(eight.file(ops), folder.file(ops)).unwrap();
    let expected = (Version::new(8, 9, 7), VersionSource::BuildId);
    assert_eq!(version(), Some(expected));
}

fn by_record(release: (u32, u32, u32)) -> Option<SourcedVersion> {
    let (major, minor, patch) = release;
    Some((
        Version::new(major, minor, patch),
        VersionSource::PackageRecord,
    ))
}

fn cnn(site: &Folder) -> PathBuf {
    site.file(LIB).join("libcudnn_cnn.so.9")
}

#[test]
fn the_record_of_a_wheel_determines_versions_without_a_symbol() {
    let site = site("9.14.0");
    let lib = site.file(LIB);
    assert_eq!(read_version(&cnn(&site), "cnn"), by_record((9, 14, 0)));
    assert_eq!(
        read_version(&lib.join("libcudnn.so.9"), "cudnn"),
        by_record((9, 14, 0))
    );
    let graph = read_version(&lib.join("libcudnn_graph.so.9"), "graph").unwrap();
    assert_eq!(graph.1.to_string(), "version symbol");
    let ran = run("check", &lib, &[GPU]);
    ran.must_be("pass", &[]);
    assert_eq!(ran.json["loaded"]["parts"][3]["version"], "9.14.0");
    assert_eq!(
        ran.json["loaded"]["parts"][3]["told_by"],
        "the record of its wheel"
    );
    let path = lib.display();
    let parts = format!(
        "  sub-libs    {path}
    libcudnn_graph.so.9                     9.14.0 from its version symbol
    libcudnn_ops.so.9                       9.14.0 from its version symbol
    libcudnn_cnn.so.9                       9.14.0 from the record of its wheel
    libcudnn_heuristic.so.9                 9.14.0 from the record of its wheel
    libcudnn_engines_precompiled.so.9       9.14.0 from the record of its wheel
    libcudnn_engines_runtime_compiled.so.9  9.14.0 from the record of its wheel
    libcudnn_adv.so.9                       9.14.0 from its version symbol
"
    );
    assert!(ran.text.contains(&parts), "{}", ran.text);
    assert!(parts.lines().skip(1).all(|line| line.len() <= 80));
    // Links are followed.
    let farm = links_to(&lib);
    assert_eq!(
        read_version(&farm.file("libcudnn_cnn.so.9"), "cnn"),
        by_record((9, 14, 0))
    );
}

#[test]
fn a_file_from_elsewhere_gets_no_version_from_the_wheel() {
    // Copied over it.
    let one = site("9.14.0");
    let other = site("9.10.2");
    std::fs::copy(cnn(&other), cnn(&one)).unwrap();
    assert_eq!(read_version(&cnn(&one), "cnn"), None);
    run("check", &one.file(LIB), &[GPU]).must_be("pass", &[]);
    // Next to the wheel, and in no record: a cuDNN that another package includes.
    let two = site("9.14.0");
    let torch = two.file("torch/lib");
    std::fs::create_dir_all(&torch).unwrap();
    std::fs::copy(cnn(&other), torch.join("libcudnn_cnn.so.9")).unwrap();
    assert_eq!(read_version(&torch.join("libcudnn_cnn.so.9"), "cnn"), None);
}

#[test]
fn outdated_records_are_ignored() {
    // `pip install --target --upgrade` leaves the old record beside the new one.
    let upgraded = site("9.10.2");
    install(&upgraded, "cu13", "9.14.0");
    assert_eq!(read_version(&cnn(&upgraded), "cnn"), by_record((9, 14, 0)));
    run("check", &upgraded.file(LIB), &[GPU]).must_be("pass", &[]);

    // Here the old record also happens to give a file its current size.
    let size = std::fs::metadata(cnn(&upgraded)).unwrap().len();
    let line = format!("{LIB}/libcudnn_cnn.so.9,sha256=abc,{size}\n");
    record(&upgraded, "cu13", "9.10.2.21", &line);
    assert_eq!(read_version(&cnn(&upgraded), "cnn"), by_record((9, 14, 0)));
    // Without another library to contradict either record, the version is unknown.
    for part in ["graph", "ops", "adv"] {
        let file = upgraded.file(LIB).join(format!("libcudnn_{part}.so.9"));
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(read_version(&cnn(&upgraded), "cnn"), None);

    // An archive was extracted over a wheel, and one of its files has the same size as the wheel's file.
    let unpacked = site("9.14.0");
    let old = unpacked.file("nvidia_cudnn_cu13-9.14.0.42.dist-info");
    std::fs::rename(old, unpacked.file("nvidia_cudnn_cu13-9.13.1.26.dist-info")).unwrap();
    assert_eq!(read_version(&cnn(&unpacked), "cnn"), None);
    run("check", &unpacked.file(LIB), &[GPU]).must_be("pass", &[]);
}

#[test]
fn wheels_of_two_majors_share_a_directory() {
    let both = site("9.14.0");
    install(&both, "cu12", "8.9.7");
    assert_eq!(read_version(&cnn(&both), "cnn"), by_record((9, 14, 0)));
    let train = both.file(LIB).join("libcudnn.so.8");
    assert_eq!(read_version(&train, "cnn_train"), by_record((8, 9, 7)));
    run("check", &both.file(LIB), &[GPU]).must_be("pass", &[]);
}

#[test]
fn sub_libraries_of_another_version_are_detected_without_a_symbol() {
    let (one, other) = (site("9.14.0"), site("9.10.2"));
    for part in ["heuristic", "engines_precompiled"] {
        let farm = links_to(&one.file(LIB));
        let file = format!("libcudnn_{part}.so.9");
        let farm = farm.with_link(&file, other.file(LIB).join(&file));
        startup(&farm, &[GPU]).must_end_with(78);
        let ran = version(&farm, &[]);
        ran.must_be("fail", &["parts-mixed"]);
        let parts = ran.evidence("sub-libs").as_str().unwrap();
        let line = format!(
            "9.10.2  {}/{file}, version from the record of its wheel",
            farm.text()
        );
        assert!(parts.lines().any(|one| one == line), "{parts}");
    }
    // The same version from two places is one version.
    let again = site("9.14.0");
    let file = "libcudnn_heuristic.so.9";
    let farm = links_to(&one.file(LIB)).with_link(file, again.file(LIB).join(file));
    check(&farm, &[GPU]).must_be("pass", &[]);
    // A `libcudnn.so.9` of another version than all its sub-libraries.
    let main = other.file(LIB).join("libcudnn.so.9");
    let farm = links_to(&one.file(LIB)).with_link("libcudnn.so.9", main);
    version(&farm, &[]).must_be("fail", &["parts-mixed"]);
}

#[test]
fn full_file_names_give_the_version_through_links() {
    // Debian's layout: file, link, link.
    let cudnn = Folder::new().with_cudnn("9.14.0");
    for name in libraries(&cudnn.0) {
        let full = format!("{name}.14.0");
        std::fs::rename(cudnn.file(&name), cudnn.file(&full)).unwrap();
        symlink(&full, cudnn.file(&name)).unwrap();
        symlink(&name, cudnn.file(name.strip_suffix(".9").unwrap())).unwrap();
    }
    let farm = links_to(&cudnn.0);
    let ran = check(&farm, &[GPU]);
    ran.must_be("pass", &[]);
    for part in ran.json["loaded"]["parts"].as_array().unwrap() {
        assert_eq!(part["version"], "9.14.0", "{part}");
    }
    assert_eq!(ran.json["loaded"]["parts"][2]["told_by"], "file name");
    // The name of an unrelated file is not a version of cuDNN.
    let store = cudnn.file("store-object.so.1.2.3");
    std::fs::rename(cudnn.file("libcudnn_cnn.so.9.14.0"), &store).unwrap();
    let _ = std::fs::remove_file(cudnn.file("libcudnn_cnn.so.9"));
    symlink(&store, cudnn.file("libcudnn_cnn.so.9")).unwrap();
    assert_eq!(read_version(&cudnn.file("libcudnn_cnn.so.9"), "cnn"), None);
}

#[test]
fn a_missing_file_of_a_wheel_is_restored_by_pip() {
    let help = "reinstall the package: `pip install --force-reinstall --no-deps nvidia-cudnn-cu13==9.14.0.42`";
    let lost = site("9.14.0");
    std::fs::remove_file(cnn(&lost)).unwrap();
    let ran = run("check", &lost.file(LIB), &[GPU]);
    ran.must_be("fail", &["parts-missing"]);
    assert_eq!(ran.json["findings"][0]["help"][0], help);
    let torn = site("9.14.0");
    std::fs::write(cnn(&torn), "\x7fELF").unwrap();
    let ran = run("check", &torn.file(LIB), &[GPU]);
    ran.must_be("fail", &["library-damaged"]);
    let help = help.replace("files", "file");
    assert_eq!(ran.json["findings"][0]["help"][0], help);
    // The wheel is in a repository.
    let pointer = "version https://git-lfs.github.com/spec/v1\noid 1\n";
    std::fs::write(cnn(&torn), pointer).unwrap();
    let ran = run("check", &torn.file(LIB), &[GPU]);
    let help = ran.json["findings"][0]["help"][0].as_str().unwrap();
    assert!(help.starts_with("run `git lfs pull`"), "{help}");
}

#[test]
fn an_old_wheel_is_upgraded_with_pip() {
    let old = site("9.14.0");
    let help = |built: &str| {
        let ran = run("check", &old.file(LIB), &[GPU, ("TEST_BUILT", built)]);
        ran.must_be("fail", &["cudnn-version-mismatch"]);
        ran.json["findings"][0]["help"][1].clone()
    };
    let command = "run `pip install 'nvidia-cudnn-cu13>=9.28,<10'`: the loaded cuDNN is from a Python package";
    assert_eq!(help("9.28.0"), command);
    // A wheel for another CUDA major, and two wheels that have overwritten each other.
    let of = |site: &Folder, cuda| {
        package_owner::upgrade_command(&site.file(LIB), cuda, Version::new(9, 28, 0))
    };
    assert!(of(&old, 13).is_some());
    assert_eq!(of(&old, 12), None);
    install(&old, "cu12", "9.14.0");
    assert_eq!(of(&old, 13), None);
    assert_eq!(help("9.28.0"), serde_json::Value::Null);
}

/// uv's environments do not contain pip.
#[test]
fn commands_use_the_installer_of_the_environment() {
    let venv = Folder::new();
    let packages = venv.file("lib/python3.12/site-packages");
    std::fs::create_dir_all(&packages).unwrap();
    let (from, lib) = (site("9.14.0"), packages.join(LIB));
    for path in ["nvidia", "nvidia_cudnn_cu13-9.14.0.42.dist-info"] {
        std::fs::rename(from.file(path), packages.join(path)).unwrap();
    }
    let commands = || {
        let upgrade = package_owner::upgrade_command(&lib, 13, Version::new(9, 28, 0));
        (
            package_owner::reinstall_command(&lib.join(MAIN)).unwrap(),
            upgrade.unwrap(),
        )
    };
    let of_pip = (
        "pip install --force-reinstall --no-deps nvidia-cudnn-cu13==9.14.0.42".to_string(),
        "pip install 'nvidia-cudnn-cu13>=9.28,<10'".to_string(),
    );
    assert_eq!(commands(), of_pip);
    for (config, is_uv) in [
        ("home = /usr/bin\nversion = 3.12.3\n", false),
        ("home = /opt/uv = x/bin\nuv = 0.13.9\n", true),
        ("home = /opt/uv = x/bin\nprompt = uv\n", false),
    ] {
        std::fs::write(venv.file("pyvenv.cfg"), config).unwrap();
        let (reinstall, upgrade) = commands();
        assert_eq!(reinstall == format!("uv {}", of_pip.0), is_uv, "{config}");
        assert_eq!(upgrade == format!("uv {}", of_pip.1), is_uv, "{config}");
    }
    record(&from, "cu12", "9.10.2.42", "");
    let second = "nvidia_cudnn_cu12-9.10.2.42.dist-info";
    std::fs::rename(from.file(second), packages.join(second)).unwrap();
    std::fs::write(venv.file("pyvenv.cfg"), "uv = 0.13.9\n").unwrap();
    assert_eq!(
        package_owner::reinstall_command(&lib.join(MAIN)).unwrap(),
        "uv pip uninstall nvidia-cudnn-cu13 nvidia-cudnn-cu12 && uv pip install --no-deps nvidia-cudnn-cu13==9.14.0.42"
    );
}

/// An environment, its packages, and the command that reinstalls cuDNN.
const CONDA: &str = "\
conda | libcudnn-9.10.1.4-h1 libcudnn-dev-9.10.1.4-h1 cudnn-9.10.1.4-h1 | conda install -c conda-forge --force-reinstall libcudnn=9.10.1.4
older | cudnn-8.9.7.29-h1 | conda install -c conda-forge --force-reinstall cudnn=8.9.7.29
.pixi/envs/default | libcudnn-9.10.1.4-h1 | pixi reinstall libcudnn
odd | libcudnn-9.10.1.4`x`-h1 | -
none | python-3.12.1-h1 | -
";

#[test]
fn the_command_of_a_package_is_shown_only_if_the_owner_of_the_files_is_known() {
    let site = site("9.14.0");
    let of = |folder: &Path| package_owner::reinstall_command(&folder.join(MAIN));
    assert!(of(&site.file(LIB)).is_some());
    assert_eq!(package_owner::keep_help(&site.file(LIB), 13), None);
    // A second wheel has overwritten the files of the first wheel, leaving one.
    install(&site, "cu12", "9.10.2");
    let command = "pip uninstall -y nvidia-cudnn-cu12 nvidia-cudnn-cu13 && pip install --no-deps nvidia-cudnn-cu12==9.10.2.42";
    assert_eq!(of(&site.file(LIB)).as_deref(), Some(command));
    let kept = |cuda| package_owner::keep_help(&site.file(LIB), cuda);
    let help = "keep only the wheel for CUDA 13: `pip uninstall -y nvidia-cudnn-cu12 nvidia-cudnn-cu13 && pip install \
                --no-deps nvidia-cudnn-cu13==9.14.0.42`";
    assert_eq!(kept(13).as_deref(), Some(help));
    assert_eq!(kept(11), None);
    // An interrupted upgrade of the first wheel.
    record(&site, "cu13", "9.10.2.42", "");
    let command = "pip uninstall -y nvidia-cudnn-cu12 nvidia-cudnn-cu13 && ";
    assert!(of(&site.file(LIB)).unwrap().starts_with(command));
    std::fs::remove_dir_all(site.file("nvidia_cudnn_cu13-9.10.2.42.dist-info")).unwrap();
    install(&site, "cu13", "9.14.0");
    let command = "pip uninstall -y nvidia-cudnn-cu13 nvidia-cudnn-cu12 && pip install --no-deps nvidia-cudnn-cu13==9.14.0.42";
    assert_eq!(of(&site.file(LIB)).as_deref(), Some(command));
    for [prefix, records, command] in rows(CONDA) {
        let (lib, meta) = (
            site.file(prefix).join("lib"),
            site.file(prefix).join("conda-meta"),
        );
        std::fs::create_dir_all(&lib).unwrap();
        std::fs::create_dir_all(&meta).unwrap();
        for record in records.split(' ') {
            std::fs::write(meta.join(format!("{record}.json")), "").unwrap();
        }
        assert_eq!(of(&lib).as_deref().unwrap_or("-"), command, "{prefix}");
    }
    let dlls = site.file("conda/Library/bin");
    std::fs::create_dir_all(&dlls).unwrap();
    assert_eq!(of(&dlls), of(&site.file("conda/lib")));
}

#[test]
fn most_files_of_a_jit_cudnn_are_from_the_wheel_that_is_kept() {
    let site = Folder::new();
    let lib = site.file("nvidia/cudnn_jit/lib");
    std::fs::create_dir_all(&lib).unwrap();
    std::fs::write(lib.join(MAIN), "abc").unwrap();
    for (suffix, size) in [("jit_cu12", 2), ("jit_cu13", 3)] {
        let line = format!("nvidia/cudnn_jit/lib/{MAIN},sha256=abc,{size}\n");
        record(&site, suffix, "9.14.0.42", &line);
    }
    assert_eq!(
        package_owner::reinstall_command(&lib.join(MAIN)).unwrap(),
        "pip uninstall -y nvidia-cudnn-jit-cu13 nvidia-cudnn-jit-cu12 && pip install --no-deps nvidia-cudnn-jit-cu13==9.14.0.42"
    );
}

/// Two majors are in one directory, and each file belongs to one package.
#[test]
fn a_debian_package_is_found_in_the_system_that_contains_the_file() {
    let system = Folder::new();
    let (info, lib) = (
        system.file("var/lib/dpkg/info"),
        system.file("usr/lib/x86_64-linux-gnu"),
    );
    std::fs::create_dir_all(&info).unwrap();
    std::fs::create_dir_all(&lib).unwrap();
    std::fs::write(lib.join("libcudnn.so.9.14.0"), "").unwrap();
    symlink("libcudnn.so.9.14.0", lib.join(MAIN)).unwrap();
    symlink("libcudnn_ops.so.9.14.0", lib.join("libcudnn_ops.so.9")).unwrap();
    let of = |name: &str| package_owner::reinstall_command(&lib.join(name));
    let list = |name: &str, files: &str| {
        let files = files.replace(' ', "\n/usr/lib/x86_64-linux-gnu/");
        std::fs::write(info.join(name), format!("/.{files}\n")).unwrap();
    };
    list(
        "libcudnn9-cuda-12:amd64.list",
        " libcudnn.so.9.14.0 libcudnn_ops.so.9",
    );
    list("libcudnn9-dev-cuda-12.list", " libcudnn_static_v9.a");
    list("libcudnn8.list", " libcudnn.so.8.9.7");
    assert_eq!(of(MAIN), None, "dpkg has no record of the package");
    let status = |version: &str| {
        let text = ["libcudnn9-dev-cuda-12", "libcudnn9-cuda-12", "libcudnn8"].map(|name| {
            format!("Package: {name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: {version}\n\n")
        });
        std::fs::write(system.file("var/lib/dpkg/status"), text.concat()).unwrap();
    };
    status("9.14; reboot");
    assert_eq!(of(MAIN), None, "a version that a shell would interpret");
    status("9.14.0.64-1");
    let command = "sudo apt install --reinstall libcudnn9-cuda-12";
    for name in [MAIN, "libcudnn_ops.so.9"] {
        assert_eq!(of(name).as_deref(), Some(command), "{name}");
    }
    std::fs::write(system.file("var/lib/dpkg/arch"), "arm64\namd64\n").unwrap();
    let foreign = "sudo apt install --reinstall libcudnn9-cuda-12:amd64";
    assert_eq!(of(MAIN).as_deref(), Some(foreign));
    std::fs::write(system.file("var/lib/dpkg/arch"), "amd64\narm64\n").unwrap();
    assert_eq!(of(MAIN).as_deref(), Some(command));
    let eight = "sudo apt install --reinstall libcudnn8";
    assert_eq!(of("libcudnn.so.8.9.7").as_deref(), Some(eight));
    assert_eq!(of("libcudnn.so.9.15.0"), None, "in no package");
    list("libcudnn9-cuda-13.list", " libcudnn.so.9.14.0");
    assert_eq!(of(MAIN), None, "in two packages");
}

/// The name of a file of a toolkit contains the version; a wheel's does not.
#[test]
fn the_version_of_cublas_is_read_from_its_name_or_record() {
    use cudnn_guard::internals::install::dlopen_dependencies::cublas_version;
    let dir = Folder::new();
    let toolkit = dir.file("cuda/lib64");
    let wheel = dir.file("site-packages/nvidia/cu13/lib");
    let record = dir.file("site-packages/nvidia_cublas-13.6.0.2.dist-info/RECORD");
    for path in [toolkit.as_path(), wheel.as_path(), record.parent().unwrap()] {
        std::fs::create_dir_all(path).unwrap();
    }
    std::fs::write(toolkit.join("libcublasLt.so.13.5.1.27"), "").unwrap();
    let file = wheel.join("libcublasLt.so.13");
    std::fs::write(&file, "12345").unwrap();
    let name = "nvidia/cu13/lib/libcublasLt.so.13";
    std::fs::write(&record, format!("{name},sha256=h,5\n")).unwrap();
    let of = |path: &Path| cublas_version(path);
    assert_eq!(
        of(&toolkit.join("libcublasLt.so.13.5.1.27")),
        Some(Version::new(13, 5, 1))
    );
    assert_eq!(of(&file), Some(Version::new(13, 6, 0)));
    // Another file was put over that of the wheel.
    std::fs::write(&file, "123456").unwrap();
    assert_eq!(of(&file), None);
    assert_eq!(of(&wheel.join("libcublasLt.so.12")), None);
}

/// A note, because the program works: only the cuBLAS that the loader finds decides.
#[test]
fn a_bug_with_a_range_of_cublas_is_a_note_with_such_a_cublas() {
    let bug = ("TEST_CUBLAS_BUG", "1");
    for (cublas, is_reported) in [("13.5.1.27", true), ("13.6.1.10", false), ("", false)] {
        let cudnn = Folder::new().with_cudnn("9.14.0");
        if !cublas.is_empty() {
            let name = format!("libcublasLt.so.{cublas}");
            std::fs::copy(cudnn.file(MAIN), cudnn.file(&name)).unwrap();
            symlink(&name, cudnn.file("libcublasLt.so.13")).unwrap();
        }
        let ran = check(&cudnn, &[GPU, bug]);
        ran.must_end_with(0);
        let text = std::fs::read_to_string(cudnn.file("text")).unwrap();
        let found = text.contains("note: cuDNN 9.14.0 is known to add up wrongly")
            && text.contains("upgrade cuBLAS to 13.6.1 or later");
        assert_eq!(found, is_reported, "{cublas}: {text}");
    }
}

#[test]
fn records_and_their_directories_are_read() {
    let release = |name| package_record::release_in(name, "nvidia_cudnn");
    let of = |major, minor, patch| Some(Version::new(major, minor, patch));
    assert_eq!(
        release("nvidia_cudnn_cu13-9.28.0.42.dist-info"),
        of(9, 28, 0)
    );
    assert_eq!(release("nvidia_cudnn-8.2.4.15.dist-info"), of(8, 2, 4));
    for other in [
        "nvidia_cudnn_cu13-9.28.dist-info",
        "nvidia_cudnn_cu13.dist-info",
        "nvidia_cublas_cu12-12.9.1.4.dist-info",
        "nvidia_cudnn_cu13-9.28.0.42.data",
    ] {
        assert_eq!(release(other), None, "{other}");
    }
    let text = "a/b/libx.so.9,sha256=h,12\r\na/b/c/liby.so,sha256=h,13\na/b/empty.so,,\n\
        a/bc/libz.so,sha256=h,14\n\"a/b/lib,q.so\",sha256=h,15\na/b/lib,q.so,sha256=h,15\na/b/,x,1";
    assert_eq!(
        package_record::parse(text, "a/b"),
        [("libx.so.9".to_string(), 12), (String::new(), 1)]
    );
    for end in 0..text.len() {
        package_record::parse(&text[..end], "a/b");
    }
}
