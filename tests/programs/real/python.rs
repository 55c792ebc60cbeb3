//! The Python wheel of the guide, built by maturin and installed together with NVIDIA's wheels.

use super::set;
use crate::support::{Ran, fresh, program, repository, run, scratch};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the code block of the page in this language.
fn block(guide: &str, kind: &str) -> String {
    let (_, block) = guide.split_once(&format!("```{kind}\n")).unwrap();
    block.split("```").next().unwrap().to_string()
}

/// Writes the crate, and returns the command that builds its wheel. The wheels that the preceding command of the guide
/// installs come from `.ci/wheels.py`.
fn staged(dir: &Path) -> String {
    let guide = fs::read_to_string(repository().join("docs/python.md")).unwrap();
    fs::create_dir_all(dir.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"fastconv\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{}\n\
         [dependencies.cudnn-guard]\npath = {1:?}\ndefault-features = false\nfeatures = [\"runtime\"]\n\n\
         [build-dependencies.cudnn-guard]\npath = {1:?}\n\n[workspace]\n",
        block(&guide, "toml"),
        repository()
    );
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::copy(repository().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    fs::write(dir.join("build.rs"), block(&guide, "rust,no_run")).unwrap();
    let library = "unsafe extern \"C\" {\n    fn cudnnGetVersion() -> usize;\n}\n\n";
    let version = "    #[pyo3::pyfunction]\n    fn version() -> usize {\n        unsafe { super::cudnnGetVersion() }\n    }\n\n";
    let shown = block(&guide, "rust,ignore");
    let with_version = shown.replace(
        "    #[pyo3::pyfunction]\n",
        &format!("{version}    #[pyo3::pyfunction]\n"),
    );
    assert_ne!(shown, with_version);
    fs::write(dir.join("src/lib.rs"), format!("{library}{with_version}")).unwrap();
    let commands = block(&guide, "sh");
    commands.lines().last().unwrap().to_string()
}

/// Creates a virtual environment without pip, and returns its site-packages.
fn environment(dir: &Path) -> PathBuf {
    run(program("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(dir))
    .exits_with(0);
    let [version] = fs::read_dir(dir.join("lib"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    version.join("site-packages")
}

/// Links the installed files of this cuDNN wheel into site-packages.
fn place(wheel: &Path, site: &Path) {
    for entry in fs::read_dir(site).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            fs::remove_file(path).unwrap();
        }
    }
    for entry in fs::read_dir(wheel).unwrap() {
        let entry = entry.unwrap();
        symlink(entry.path(), site.join(entry.file_name())).unwrap();
    }
}

/// Runs the extension in Python. It prints the report or the exception, then the version of cuDNN that it calls.
fn ask(environment: &Path) -> Ran {
    let script = "import fastconv\n\
        try:\n    print(fastconv.check())\n\
        except RuntimeError as error:\n    print('RuntimeError:', error)\n\
        print(fastconv.version())\n";
    run(program(environment.join("bin/python")).args(["-c", script]))
}

#[test]
#[ignore = "needs real NVIDIA files, pip and maturin: CUDNN_GUARD_REAL"]
fn a_wheel_finds_the_cudnn_in_its_own_site_packages() {
    let dir = fresh("python");
    let command = staged(&dir.join("crate"));
    let builder = dir.join("builder");
    place(&set("cudnn-cu13-9.28"), &environment(&builder));
    let path = std::env::var_os("PATH").unwrap();
    let path = [set("maturin/bin"), builder.join("bin")]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let mut build = program("sh");
    build
        .args(["-c", &format!("{command} --out ../dist")])
        .current_dir(dir.join("crate"))
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("VIRTUAL_ENV", &builder)
        .env("CARGO_TARGET_DIR", scratch("python-target"));
    run(&mut build).exits_with(0);

    let app = dir.join("app");
    let site = environment(&app);
    let [wheel] = fs::read_dir(dir.join("dist"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let mut install = program("python3");
    install
        .args(["-m", "pip", "--quiet", "--python"])
        .arg(app.join("bin/python"));
    install
        .args(["install", "--no-deps", "--no-index"])
        .arg(wheel);
    run(&mut install).exits_with(0);
    let files = run(Command::new("find").arg(&site).args(["-name", "*.so*"]));
    assert_eq!(
        files.stdout,
        format!("{}\n", site.join("fastconv/fastconv.abi3.so").display())
    );
    ask(&app).exits_with(1).says("ImportError: libcudnn.so.9: ");

    place(&set("cudnn-cu13-9.28"), &site);
    let sound = ask(&app).exits_with(0);
    let (json, version) = sound.stdout.trim_end().rsplit_once('\n').unwrap();
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(version, "92800");
    // Other tests cover the findings on a machine without a driver.
    assert_ne!(json["verdict"], "fail", "{json}");
    let loaded = &json["loaded"];
    let path = site.join("fastconv/../nvidia/cudnn/lib/libcudnn.so.9");
    assert_eq!(loaded["path"], path.to_str().unwrap());
    assert_eq!(loaded["version"], "9.28.0");

    place(&set("cudnn-cu13-9.14"), &site);
    let old = ask(&app).exits_with(0);
    assert!(old.stdout.ends_with("\n91400\n"), "{}", old.text());
    old.says("RuntimeError: loaded cuDNN 9.14.0 is older than 9.28.0, ")
        .says("[cudnn-version-mismatch]\n")
        .says("  = help: run `pip install 'nvidia-cudnn-cu13>=9.28,<10'`: ");
}
