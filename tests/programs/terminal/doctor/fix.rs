//! `cudnn-guard doctor --fix`, with the fake uv of `fetch`. CUDNN_GUARD_HOME names an empty directory, which is an error
//! on every machine.

use super::library;
use crate::terminal::{complaint, cudnn_guard, file, folder, must_exit, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Creates a crate, the fake uv, and the files of a usable CUDA and cuDNN that it installs.
fn prepared(name: &str) -> PathBuf {
    let dir = folder(name);
    file(&dir, "Cargo.toml", "[package]\nname = \"app\"\n");
    let uv = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/terminal/fetch/uv");
    let tree = dir.join("bin/uv.tree/nvidia");
    file(&tree, "cu13/include/cuda.h", "#define CUDA_VERSION 13000\n");
    file(&tree, "cu13/bin/nvcc", "");
    let version = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 28\n#define CUDNN_PATCHLEVEL 1\n";
    file(&tree, "cudnn/include/cudnn_version.h", version);
    file(
        &tree,
        "cudnn/include/cudnn.h",
        "#include \"cudnn_version.h\"\n",
    );
    let needed = "_graph _ops _cnn _heuristic _engines_precompiled _engines_runtime_compiled _engines_tensor_ir";
    for part in [""].into_iter().chain(needed.split(' ')) {
        library(&tree, &format!("cudnn/lib/libcudnn{part}.so.9"));
    }
    std::os::unix::fs::symlink(uv, dir.join("bin/uv")).expect("a link");
    dir
}

fn command(dir: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).env_clear();
    command
        .env("PATH", dir.join("bin"))
        .env("HOME", dir.join("home"));
    command
        .env("CUDNN_GUARD_HOME", dir.join("to"))
        .env("COLUMNS", "120");
    command
}

fn doctor(dir: &Path, arguments: &[&str]) -> Output {
    let mut doctor = command(dir, env!("CARGO_BIN_EXE_cudnn-guard"));
    let doctor = doctor.arg("doctor").args(arguments).stdin(Stdio::null());
    doctor.output().expect("cudnn-guard runs")
}

/// Runs the doctor on a terminal with this answer.
fn answered(dir: &Path, answer: &str) -> Output {
    let mut terminal = command(dir, "/usr/bin/script");
    let doctor = format!("'{}' doctor --fix", env!("CARGO_BIN_EXE_cudnn-guard"));
    let answers = dir.join("answer");
    fs::write(&answers, answer).expect("a file");
    terminal
        .args(["-qec", &doctor, "/dev/null"])
        .env("SHELL", "/bin/sh");
    terminal.stdin(fs::File::open(answers).expect("a file"));
    terminal.output().expect("script, of util-linux")
}

/// Returns the lines after the first report.
fn after_report(output: &Output) -> String {
    let shown = text(output).replace("\r\n", "\n");
    let (_, behind) = shown
        .split_once("\nfor details and fixes, run ")
        .expect(&shown);
    behind.split_once('\n').expect("a line").1.to_string()
}

/// Returns the announcement of a `fetch` into an empty directory, without the line breaks.
fn announced(dir: &Path) -> String {
    format!(
        "cudnn-guard will: download CUDA and cuDNN into `{}`: `cudnn-guard fetch` \
         add its variables to `.cargo/config.toml`: `cudnn-guard fetch --write-config`",
        dir.join("to").display()
    )
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn without_a_terminal_nothing_changes() {
    let dir = prepared("fix-no-terminal");
    let output = doctor(&dir, &["--fix"]);
    must_exit(&output, 1);
    assert_eq!(flat(&after_report(&output)), announced(&dir));
    assert_eq!(
        complaint(&output),
        "nothing was changed: cudnn-guard cannot ask, because this is not a terminal\n  \
         = help: run the same command with `--yes`\n"
    );
    assert!(!dir.join("to").exists() && !dir.join(".cargo").exists());
}

#[test]
fn on_a_terminal_only_a_yes_changes_something() {
    let dir = prepared("fix-answers");
    for answer in ["\n", "n\n", "yesterday\n"] {
        let output = answered(&dir, answer);
        must_exit(&output, 1);
        let announced = announced(&dir) + " Proceed? [y/N]";
        assert_eq!(flat(&after_report(&output)), announced);
        assert!(!dir.join("to").exists() && !dir.join(".cargo").exists());
    }
    must_exit(&answered(&dir, "y\n"), 0);
    assert!(dir.join("to/nvidia/cudnn/lib/libcudnn.so").exists());
}

#[test]
fn with_yes_cuda_is_fetched_and_the_doctor_runs_again() {
    let dir = prepared("fix-yes");
    let output = doctor(&dir, &["--fix", "--yes"]);
    must_exit(&output, 0);
    assert_eq!(complaint(&output), "");
    let shown = after_report(&output);
    assert!(flat(&shown).starts_with(&announced(&dir)), "{shown}");
    assert!(shown.contains("  ✓ CUDA toolkit 13.5.37 in "), "{shown}");
    assert!(
        shown.contains("\n  ✓ written into .cargo/config.toml\n\n"),
        "{shown}"
    );
    let found = format!(
        "  ✓ cuDNN     9.28.1 for CUDA 13 at {}/nvidia/cudnn\n",
        dir.join("to").display()
    );
    assert!(shown.contains(&found), "{shown}");
    let config = fs::read_to_string(dir.join(".cargo/config.toml")).expect("the variables");
    let home = format!(
        "[env]\nCUDNN_GUARD_HOME = \"{}\"\n",
        dir.join("to").display()
    );
    assert!(config.starts_with(&home), "{config}");
    let output = doctor(&dir, &["--fix", "--yes"]);
    must_exit(&output, 0);
    assert!(text(&output).ends_with("\n\nnothing to fix\n"));
}

#[test]
fn a_failed_fetch_prints_its_own_error() {
    let dir = prepared("fix-broken");
    file(&dir, "bin/uv.broken", "");
    let output = doctor(&dir, &["--fix", "--yes"]);
    must_exit(&output, 1);
    let error = "\nfailed to fetch NVIDIA's wheels  [fetch-failed]\n";
    assert!(
        complaint(&output).starts_with(error),
        "{}",
        complaint(&output)
    );
    assert_eq!(text(&output).matches("\nverdict: ").count(), 1);
    // A requirement decides which version is fetched.
    let output = doctor(
        &dir,
        &["--fix", "--yes", "--cuda", "13.0", "--cudnn", "=9.99.1"],
    );
    must_exit(&output, 1);
    let shown = after_report(&output);
    assert!(
        shown.contains("`cudnn-guard fetch --cuda 13.0 --cudnn 9.99.1`\n"),
        "{shown}"
    );
    let error = "\nPyPI does not have cuDNN 9.99.1 for CUDA 13; ";
    assert!(
        complaint(&output).starts_with(error),
        "{}",
        complaint(&output)
    );
}

/// The installed version stays, and nothing is downloaded.
#[test]
fn a_missing_link_of_fetch_is_added() {
    let dir = prepared("fix-link");
    must_exit(&doctor(&dir, &["--fix", "--yes"]), 0);
    let log = || fs::read_to_string(dir.join("bin/uv.log")).expect("the calls");
    let (before, to) = (log(), dir.join("to"));
    let links = ["cudnn/lib/libcudnn.so", "cudnn/lib64"].map(|link| to.join("nvidia").join(link));
    for link in links {
        fs::remove_file(&link).expect("a link");
        let output = doctor(&dir, &["--fix"]);
        must_exit(&output, 1);
        let shown = flat(&text(&output));
        let announced = format!(
            "cudnn-guard will: repair the files and links of `cudnn-guard fetch` in `{0}`: \
             `cudnn-guard fetch --cuda 13.5 --cudnn 9.28.1 --to {0}`",
            to.display()
        );
        assert!(shown.ends_with(&announced), "{shown}");
        must_exit(&doctor(&dir, &["--fix", "--yes"]), 0);
        assert!(link.exists());
        assert_eq!(log(), before);
    }
}

/// A download announces the libraries of the project, which a repair does not add.
#[test]
fn exactly_the_announced_libraries_are_fetched() {
    let dir = prepared("fix-project");
    must_exit(&doctor(&dir, &["--fix", "--yes"]), 0);
    let manifest = "[package]\nname = \"app\"\n\n[dependencies]\ncudarc = \"0.19\"\n";
    file(&dir, "Cargo.toml", manifest);
    file(&dir, "src/main.rs", "fn main() {}\n");
    let fixed = || {
        let cargo = Path::new(env!("CARGO")).parent().expect("a directory");
        let path = std::env::join_paths([&dir.join("bin"), cargo]).expect("a list");
        let mut doctor = command(&dir, env!("CARGO_BIN_EXE_cudnn-guard"));
        let doctor = doctor.args(["doctor", "--fix", "--yes"]).env("PATH", path);
        let output = doctor.output().expect("cudnn-guard runs");
        must_exit(&output, 0);
        text(&output)
    };
    let curand = dir.join("to/nvidia_curand-13.5.37.dist-info");
    fs::remove_file(dir.join("to/nvidia/cudnn/lib64")).expect("a link");
    let shown = fixed();
    assert!(!shown.contains("curand") && !curand.exists(), "{shown}");
    fs::remove_dir_all(dir.join("to")).expect("removed");
    let shown = fixed();
    let announced = "`cudnn-guard fetch --with curand`\n";
    assert!(shown.contains(announced) && curand.exists(), "{shown}");
}

/// A build does not search elsewhere for what these variables name.
#[test]
fn what_a_variable_names_stays_advice() {
    let dir = prepared("fix-variables");
    let tree = dir.join("bin/uv.tree/nvidia");
    let mismatched = [tree.join("cu13"), tree.join("cudnn")];
    for [cuda, cudnn] in [mismatched, ["/nowhere".into(), "/nowhere".into()]] {
        let mut doctor = command(&dir, env!("CARGO_BIN_EXE_cudnn-guard"));
        doctor.args(["doctor", "--fix", "--yes", "--cudnn", ">=9.99"]);
        doctor.env_remove("CUDNN_GUARD_HOME");
        doctor.env("CUDA_HOME", cuda).env("CUDNN_PATH", cudnn);
        let output = doctor.output().expect("cudnn-guard runs");
        must_exit(&output, 1);
        let nothing = "\n`cudnn-guard fetch` cannot fix these errors\n";
        assert_eq!(after_report(&output), nothing);
        assert_eq!(complaint(&output), "");
    }
}

/// A build searches there without variables.
#[test]
fn into_the_default_directory_no_variables_are_written() {
    let dir = prepared("fix-default");
    let mut doctor = command(&dir, env!("CARGO_BIN_EXE_cudnn-guard"));
    doctor.args(["doctor", "--fix", "--cudnn", "=9.99.1"]);
    doctor.env_remove("CUDNN_GUARD_HOME").stdin(Stdio::null());
    let shown = flat(&after_report(&doctor.output().expect("cudnn-guard runs")));
    let home = dir.join("home/.local/share/cudnn-guard");
    let announced = format!(
        "cudnn-guard will: download CUDA and cuDNN into `{}`: `cudnn-guard fetch ",
        home.display()
    );
    assert!(shown.starts_with(&announced), "{shown}");
    assert!(shown.ends_with("--cudnn 9.99.1`"), "{shown}");
}

#[test]
fn options_that_print_for_others_or_examine_another_system_are_refused() {
    for other in [
        "--json",
        "--markdown",
        "--redact",
        "--root=/",
        "--target=x86_64-unknown-linux-gnu",
    ] {
        let output = cudnn_guard(&["doctor", "--fix", other]);
        must_exit(&output, 2);
        assert!(
            complaint(&output).contains("cannot be used with"),
            "{other}"
        );
    }
    must_exit(&cudnn_guard(&["doctor", "--yes"]), 2);
}
