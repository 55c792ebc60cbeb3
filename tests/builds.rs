//! What a build says and when it is run again: `cargo check` of one small crate on made-up installations.
#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // tests make and read a machine of their own

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use support::{Ran, cargo, fresh, project, repository, run, scratch, write_if_new};

/// A build script that does what ASK says.
const SCRIPT: &str = r#"use cudnn_guard::{Config, Link, Linked};

fn main() {
    println!("cargo::rerun-if-env-changed=ASK");
    let asked = std::env::var("ASK").unwrap_or_default();
    cudnn_guard::build(|| {
        let mut config = Config::new()
            .root(std::env::var("IMAGE").unwrap())
            .env([("PATH", "/nowhere")]);
        let (mut kernels, mut name) = (None, "kernels");
        for word in asked.split(';') {
            config = match word.split_once('=').unwrap_or((word, "")) {
                ("cuda", text) => config.cuda(text),
                ("cudnn", text) => config.cudnn(text),
                ("archs", text) => config.archs([text]),
                ("allow", id) => config.allow(id),
                ("root", dir) => config.root(dir),
                ("static", _) => config.link(Link::Static),
                ("kernels", pattern) => {
                    kernels = Some(pattern);
                    config
                }
                ("name", text) => {
                    name = text;
                    config
                }
                ("above", links) => {
                    Linked::from_dep(links)?.link();
                    config
                }
                _ => config,
            };
        }
        let gpu = config.probe()?;
        gpu.link();
        kernels.map_or(Ok(()), |pattern| gpu.kernels().files(pattern).compile(name))
    });
}
"#;

/// The crate `name` that asks, in a folder of its own.
fn crate_of(name: &str) -> PathBuf {
    let dir = project(name, SCRIPT, "fn main() {}\n");
    write_if_new(&dir.join("src/add.cu"), "// a kernel\n");
    dir
}

fn check(dir: &Path, ask: &str, env: &[(&str, &Path)]) -> Command {
    let mut command = cargo(dir, &["check"]);
    command
        .env("ASK", ask)
        .env("IMAGE", scratch("builds-empty-image"))
        .envs(env.iter().copied());
    command
}

/// Builds, which must fail, and holds what cargo shows against `fixtures/texts/<name>.txt`; BLESS=1 writes it anew.
/// There `$T` stands for the folder of the test, `$S` for that of all tests.
#[track_caller]
fn fails(test: &Path, name: &str, ask: &str, env: &[(&str, &Path)]) {
    let said = run(check(&crate_of("ask"), ask, env).arg("--quiet")).exits_with(101);
    let all = test.parent().unwrap().to_str().unwrap();
    let mut shown = said
        .text()
        .replace(test.to_str().unwrap(), "$T")
        .replace(all, "$S");
    // The number of the build.
    while let Some(at) = shown.find("/build/ask-") {
        let end = at + shown[at..].find("/out/").unwrap();
        shown.replace_range(at..end, "/build/..");
    }
    let file = repository()
        .join("fixtures/texts")
        .join(format!("{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, &shown).unwrap();
    }
    let wanted = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(shown, wanted, "{name}: BLESS=1 writes what is said now");
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Headers and libraries of a cuDNN, with the links of a tarball if `links`, else as wheels have them.
fn cudnn(dir: &Path, (major, minor, patch): (u32, u32, u32), links: bool) {
    let header = format!(
        "#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n"
    );
    write(&dir.join("include/cudnn.h"), "");
    write(&dir.join("include/cudnn_version.h"), &header);
    for part in ["", "_graph", "_ops"] {
        let soname = format!("libcudnn{part}.so.{major}");
        if links {
            let whole = format!("libcudnn{part}.so.{major}.{minor}.{patch}");
            write(&dir.join("lib").join(&whole), "");
            symlink(&whole, dir.join("lib").join(&soname)).unwrap();
            symlink(&soname, dir.join(format!("lib/libcudnn{part}.so"))).unwrap();
        } else {
            write(&dir.join("lib").join(soname), "");
        }
    }
}

/// A cuDNN as `pip` installs it into a virtual environment.
fn wheel(venv: &Path, cuda: u32, version: (u32, u32, u32)) -> PathBuf {
    let site = venv.join("lib/python3.12/site-packages");
    let (major, minor, patch) = version;
    let record = format!("nvidia_cudnn_cu{cuda}-{major}.{minor}.{patch}.7.dist-info/RECORD");
    write(&site.join(record), "");
    cudnn(&site.join("nvidia/cudnn"), version, false);
    site.join("nvidia/cudnn")
}

fn toolkit(dir: &Path, version: u32, nvcc: bool) {
    write(
        &dir.join("include/cuda.h"),
        &format!("#define CUDA_VERSION {version}\n"),
    );
    write(&dir.join("lib64/libcudart_static.a"), "!<arch>\n");
    if nvcc {
        fs::create_dir_all(dir.join("bin")).unwrap();
        symlink(
            repository().join("fixtures/nvcc/nvcc"),
            dir.join("bin/nvcc"),
        )
        .unwrap();
    }
}

#[test]
fn nothing_installed() {
    let test = fresh("builds-nothing");
    let (venv, image) = (test.join("venv"), test.join("image"));
    fs::create_dir_all(venv.join("lib/python3.12/site-packages")).unwrap();
    fs::create_dir_all(&image).unwrap();
    let env: [(&str, &Path); 2] = [("VIRTUAL_ENV", &venv), ("IMAGE", &image)];
    fails(&test, "nothing-installed", "cuda=>=12;cudnn=>=9.1", &env);
}

#[test]
fn variables_that_name_the_wrong_place() {
    let test = fresh("builds-variables");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    let dnn = wheel(&test.join("venv"), 13, (9, 14, 0));
    let (empty, absent) = (test.join("empty"), test.join("absent"));
    fs::create_dir_all(&empty).unwrap();
    write(&test.join("wrapper/nvcc"), "");
    for (text, name, value, ask) in [
        (
            "cuda-home-is-bin",
            "CUDA_HOME",
            &*cuda.join("bin"),
            "cuda=>=12",
        ),
        ("cuda-home-is-absent", "CUDA_HOME", &absent, "cuda=>=12"),
        (
            "cuda-path-has-a-tilde",
            "CUDA_PATH",
            Path::new("~/cuda"),
            "cuda=>=12",
        ),
        ("nvcc-is-absent", "NVCC", &absent, "cuda=>=12"),
        (
            "nvcc-is-not-on-path",
            "NVCC",
            Path::new("nvcc"),
            "cuda=>=12",
        ),
        ("cudacxx-is-a-folder", "CUDACXX", &empty, "cuda=>=12"),
        (
            "nvcc-is-something-else",
            "NVCC",
            Path::new("/bin/echo"),
            "cuda=>=12",
        ),
        ("cudnn-path-is-a-toolkit", "CUDNN_PATH", &cuda, "cudnn=>=9"),
        (
            "cudnn-path-is-above-it",
            "CUDNN_PATH",
            dnn.parent().unwrap(),
            "cudnn=>=9",
        ),
        (
            "cudnn-include-dir-is-empty",
            "CUDNN_INCLUDE_DIR",
            &empty,
            "cudnn=>=9",
        ),
        (
            "cudnn-library-is-absent",
            "CUDNN_LIBRARY",
            &absent,
            "cudnn=>=9",
        ),
        (
            "cudnn-lib-dir-is-empty",
            "CUDNN_LIB_DIR",
            &empty,
            "cudnn=>=9",
        ),
        (
            "guard-home-is-empty",
            "CUDNN_GUARD_HOME",
            &empty,
            "cudnn=>=9",
        ),
    ] {
        fails(&test, text, ask, &[(name, value)]);
    }
}

#[test]
fn a_release_that_does_not_fit() {
    let test = fresh("builds-unfit");
    let old = test.join("old");
    cudnn(&old, (8, 9, 7), false);
    let venv = test.join("venv");
    wheel(&venv, 12, (9, 10, 2));
    fails(
        &test,
        "another-release-lies-about",
        "cudnn=>=9.1",
        &[("CUDNN_PATH", &old), ("VIRTUAL_ENV", &venv)],
    );
    fails(
        &test,
        "cudnn-is-older",
        "cudnn=>=9.14",
        &[("VIRTUAL_ENV", &venv)],
    );
    fails(
        &test,
        "cudnn-is-newer",
        "cudnn=<9",
        &[("VIRTUAL_ENV", &venv)],
    );
    let (newer, older) = (test.join("cuda-13.0"), test.join("cuda-12.8"));
    toolkit(&newer, 13000, true);
    toolkit(&older, 12080, true);
    fails(
        &test,
        "cuda-is-older",
        "cuda=>=13.1",
        &[("CUDA_HOME", &newer)],
    );
    fails(
        &test,
        "another-flavour",
        "cuda=>=12;cudnn=>=9",
        &[("CUDA_HOME", &newer), ("VIRTUAL_ENV", &venv)],
    );
    fs::create_dir_all(test.join("image/usr/local")).unwrap();
    fs::rename(&older, test.join("image/usr/local/cuda-12.8")).unwrap();
    let image = test.join("image");
    fails(
        &test,
        "another-flavour-and-one-that-fits",
        "cuda=>=12;cudnn=>=9",
        &[
            ("CUDA_HOME", &newer),
            ("VIRTUAL_ENV", &venv),
            ("IMAGE", &image),
        ],
    );
    fs::remove_dir_all(venv.join("lib/python3.12/site-packages/nvidia/cudnn/include")).unwrap();
    fails(
        &test,
        "headers-missing",
        "cudnn=>=9",
        &[("VIRTUAL_ENV", &venv)],
    );
}

#[test]
fn what_the_build_script_says_wrongly() {
    let test = fresh("builds-config");
    let venv = test.join("venv");
    wheel(&venv, 13, (9, 14, 0));
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    let env: [(&str, &Path); 2] = [("VIRTUAL_ENV", &venv), ("CUDA_HOME", &cuda)];
    for (text, ask) in [
        ("requirement-is-none", "cudnn=nine"),
        ("requirement-is-empty", "cuda=>=12, <11"),
        ("allow-is-unknown", "allow=everything"),
        ("root-is-absent", "root=/nonexistent;cudnn=>=9"),
        ("link-is-static", "static;cudnn=>=9"),
        ("kernels-match-nothing", "kernels=src/*.cuda"),
        ("kernels-are-no-pattern", "kernels=src/["),
        ("kernel-is-absent", "kernels=src/none.cu"),
        ("library-has-no-name", "kernels=src/add.cu;name=my kernels"),
        ("arch-is-too-old", "kernels=src/add.cu;archs=sm_20"),
        ("arch-is-unknown", "kernels=src/add.cu;archs=fast"),
        ("no-sys-crate", "above=cudnn"),
    ] {
        fails(&test, text, ask, &env);
    }
}

#[test]
fn kernels_without_a_compiler_and_with_one_that_fails() {
    let test = fresh("builds-kernels");
    let nvidia = test.join("venv/lib/python3.12/site-packages/nvidia");
    let venv = test.join("venv");
    write(
        &nvidia.join("cuda_runtime/include/cuda.h"),
        "#define CUDA_VERSION 12090\n",
    );
    wheel(&venv, 12, (9, 10, 2));
    let ask = "cudnn=>=9;kernels=src/add.cu";
    fails(
        &test,
        "old-wheels-have-no-nvcc",
        ask,
        &[("VIRTUAL_ENV", &venv)],
    );
    fails(
        &test,
        "old-wheels-have-no-nvcc-nor-cudnn",
        "kernels=src/add.cu",
        &[("VIRTUAL_ENV", &venv)],
    );
    fails(&test, "kernels-without-cuda", "kernels=src/add.cu", &[]);
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    write_if_new(&crate_of("ask").join("src/wrong.cu"), "mistake\n");
    fails(
        &test,
        "nvcc-fails",
        "archs=80;kernels=src/wrong.cu",
        &[("CUDA_HOME", &cuda)],
    );
}

#[test]
fn everything_that_was_found_is_shown_on_demand() {
    let test = fresh("builds-print");
    let venv = test.join("venv");
    wheel(&venv, 13, (9, 14, 0));
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    fails(
        &test,
        "print",
        "cuda=>=12;cudnn=>=9",
        &[
            ("VIRTUAL_ENV", &venv),
            ("CUDA_HOME", &cuda),
            ("CUDNN_GUARD_PRINT", Path::new("1")),
        ],
    );
}

/// Builds, and says whether the build script ran.
#[track_caller]
fn runs(dir: &Path, ask: &str, env: &[(&str, &Path)]) -> bool {
    let said: Ran = run(check(dir, ask, env).arg("--verbose")).exits_with(0);
    said.text().contains("build-script-build`")
}

/// Dates everything below a folder, links aside, so many days back: copies and tarballs keep the dates of their maker.
fn date(dir: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            date(&entry.path(), days);
        } else if entry.file_type().unwrap().is_file() {
            let file = fs::File::options().write(true).open(entry.path()).unwrap();
            file.set_modified(then).unwrap();
        }
    }
}

#[test]
fn another_release_with_an_older_date_runs_the_build_script() {
    let test = fresh("builds-replaced");
    let dir = crate_of("replaced");
    let ask = "cudnn=>=9";
    let venv = test.join("venv");
    let in_venv: [(&str, &Path); 1] = [("VIRTUAL_ENV", &venv)];
    wheel(&venv, 13, (9, 14, 0));
    date(&test, 20);
    runs(&dir, ask, &in_venv);
    assert!(!runs(&dir, ask, &in_venv), "nothing changed");
    write(&venv.join("lib/python3.12/site-packages/other.py"), "");
    assert!(!runs(&dir, ask, &in_venv), "an unrelated file");
    fs::remove_dir_all(venv.join("lib")).unwrap();
    wheel(&venv, 13, (9, 10, 2));
    date(&test, 40);
    assert!(runs(&dir, ask, &in_venv), "another wheel");
    assert!(!runs(&dir, ask, &in_venv), "nothing changed");

    let tarball = test.join("tarball");
    let unpacked: [(&str, &Path); 1] = [("CUDNN_PATH", &tarball)];
    cudnn(&tarball, (9, 14, 0), true);
    date(&test, 20);
    assert!(runs(&dir, ask, &unpacked), "a variable is set");
    assert!(!runs(&dir, ask, &unpacked), "nothing changed");
    fs::remove_dir_all(&tarball).unwrap();
    cudnn(&tarball, (9, 10, 2), true);
    date(&test, 40);
    assert!(runs(&dir, ask, &unpacked), "another tarball");
    assert!(runs(&dir, ask, &in_venv), "the variable is unset");
}

#[test]
fn a_link_that_leads_to_another_release_runs_the_build_script() {
    let test = fresh("builds-switched");
    let dir = crate_of("switched");
    let ask = "cuda=>=12;cudnn=>=9";
    for (release, version) in [("new", (9, 14, 0)), ("old", (9, 10, 2))] {
        cudnn(&test.join("cudnn").join(release), version, true);
    }
    for (version, minor) in [(13000, 0), (13010, 1)] {
        let cuda = test.join(format!("cuda-{version}"));
        toolkit(&cuda, version, false);
        let runtime = format!("libcudart.so.13.{minor}.48");
        write(&cuda.join("lib64").join(&runtime), "");
        symlink(&runtime, cuda.join("lib64/libcudart.so")).unwrap();
    }
    let turn = |link: &str, target: &str| {
        let link = test.join(link);
        let _ = fs::remove_file(&link);
        symlink(test.join(target), link).unwrap();
    };
    let (cuda, dnn) = (test.join("cuda"), test.join("dnn"));
    let env: [(&str, &Path); 2] = [("CUDA_HOME", &cuda), ("CUDNN_PATH", &dnn)];
    turn("cuda", "cuda-13010");
    turn("dnn", "cudnn/new");
    date(&test, 20);
    runs(&dir, ask, &env);
    assert!(!runs(&dir, ask, &env), "nothing changed");
    turn("dnn", "cudnn/old");
    assert!(runs(&dir, ask, &env), "another cuDNN");
    assert!(!runs(&dir, ask, &env), "nothing changed");
    turn("cuda", "cuda-13000");
    assert!(runs(&dir, ask, &env), "another CUDA");
    assert!(!runs(&dir, ask, &env), "nothing changed");
}

#[test]
fn kernels_are_compiled_once() {
    let test = fresh("builds-once");
    let dir = crate_of("once");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    let env: [(&str, &Path); 1] = [("CUDA_HOME", &cuda)];
    let ask = "archs=80;kernels=src/*.cu";
    runs(&dir, ask, &env);
    assert!(!runs(&dir, ask, &env), "nothing changed");
    let calls = fs::read_to_string(cuda.join("calls")).unwrap();
    assert_eq!(calls.lines().count(), 1, "{calls}");
}

#[test]
fn a_warning_is_shown_and_the_build_goes_on() {
    let test = fresh("builds-warning");
    let (one, other) = (test.join("one"), test.join("other"));
    cudnn(&one, (9, 14, 0), false);
    cudnn(&other, (9, 10, 2), false);
    let env: [(&str, &Path); 2] = [("CUDNN_PATH", &one), ("CUDNN_HOME", &other)];
    let said = run(&mut check(&crate_of("warned"), "cudnn=>=9", &env)).exits_with(0);
    let warnings: Vec<String> = said
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("warning: warned@0.1.0: "))
        .map(|line| line.replace(test.to_str().unwrap(), "$T"))
        .collect();
    assert_eq!(
        warnings.join("\n"),
        "CUDNN_PATH and CUDNN_HOME name different cuDNNs; that of CUDNN_PATH is taken  [variables-disagree]\n  \
         taken       CUDNN_PATH: $T/one/include/cudnn_version.h\n  \
         left out    CUDNN_HOME: $T/other/include/cudnn_version.h\n  \
         = help: unset CUDNN_HOME, or let both name the same directory"
    );
}

#[test]
fn a_compiler_that_stands_in_its_toolkit_is_not_run_to_find_it() {
    let test = fresh("builds-beside");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, false);
    write(&cuda.join("bin/nvcc"), "not a program");
    fs::create_dir_all(test.join("bin")).unwrap();
    let link = test.join("bin/nvcc");
    symlink(cuda.join("bin/nvcc"), &link).unwrap();
    let dir = crate_of("beside");
    run(&mut check(&dir, "cuda=>=13, <13.1", &[("NVCC", &link)])).exits_with(0);
}
