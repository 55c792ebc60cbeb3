//! Members of workspaces, and `--check`.

use super::{command, complaint, file, folder, init, must_exit, package, read, text};
use std::path::PathBuf;

/// Creates a workspace with a program that uses candle, a program without CUDA, and a crate that links cuDNN.
fn workspace(name: &str) -> PathBuf {
    let dir = folder(&format!("init/{name}"));
    let table = "[workspace]\nmembers = [\"app\", \"other\", \"helper\"]\nresolver = \"3\"\n\n\
                 [workspace.dependencies]\ncandle-core = { version = \"0.11\", features = [\"cudnn\"] }\n";
    file(&dir, "Cargo.toml", table);
    for (name, lines) in [
        (
            "app",
            "[dependencies]\ncandle-core = { workspace = true }\n",
        ),
        (
            "other",
            "[dependencies]\nhelper = { path = \"../helper\" }\n",
        ),
        (
            "helper",
            "links = \"cudnn\"\nbuild = \"build.rs\"\n\n[build-dependencies]\ncudnn-guard = \"0.1\"\n",
        ),
    ] {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{lines}"
        );
        file(&dir, &format!("{name}/Cargo.toml"), &manifest);
        let source = if name == "helper" { "lib" } else { "main" };
        file(&dir, &format!("{name}/src/{source}.rs"), "fn main() {}\n");
    }
    file(
        &dir,
        "helper/build.rs",
        "fn main() {\n    cudnn_guard::build(|| {\n        let gpu = cudnn_guard::Config::new().cudnn(\">=9.1, <10\").probe()?;\n        gpu.link();\n        gpu.guard().write()\n    });\n}\n",
    );
    dir
}

#[test]
fn the_root_of_a_workspace_lists_the_members_that_use_cuda() {
    let dir = workspace("members");
    let listed = init(&dir, &[]);
    must_exit(&listed, 0);
    let expected = "\
To add or complete the guard of a member, run one of these commands:

  cudnn-guard init -p app DIR
  cudnn-guard init -p other DIR
";
    let root = dir.to_str().expect("text");
    assert_eq!(text(&listed).replace(root, "DIR"), expected);
    file(
        &dir,
        "app/Cargo.toml",
        "[package]\nname = \"app\"\nversion = \"0.1.0\"\n",
    );
    file(
        &dir,
        "other/Cargo.toml",
        "[package]\nname = \"other\"\nversion = \"0.1.0\"\n",
    );
    let expected = "\
To add or complete the guard of a member, run one of these commands:

  cudnn-guard init -p app
  cudnn-guard init -p other
  cudnn-guard init -p helper
";
    let listed = command(".".as_ref(), &[])
        .current_dir(&dir)
        .output()
        .expect("runs");
    assert_eq!(text(&listed), expected);
}

#[test]
fn the_root_of_a_workspace_is_checked_but_not_changed() {
    let dir = workspace("root");
    let root = dir.to_str().expect("text");
    for option in ["--check", "--write"] {
        let refused = init(&dir, &[option]);
        must_exit(&refused, 1);
        let expected = "To add or complete the guard of a member, run one of these commands:\n\n  \
                        cudnn-guard init -p app DIR\n  cudnn-guard init -p other DIR\n";
        assert_eq!(complaint(&refused).replace(root, "DIR"), expected);
    }
    assert!(!dir.join("app/build.rs").exists());
    let checked = complaint(&init(&dir, &["--check", "-p", "app"]));
    let help = format!("run `cudnn-guard init -p app {root}`, which shows these lines\n");
    assert!(checked.ends_with(&help), "{checked}");
    must_exit(&init(&dir, &["--write", "-p", "app"]), 0);
    let checked = complaint(&init(&dir, &["--check"]));
    assert!(
        checked.ends_with(&format!("\n\n  cudnn-guard init -p other {root}\n")),
        "{checked}"
    );
    must_exit(&init(&dir, &["--write", "-p", "other"]), 0);
    let checked = init(&dir, &["--check"]);
    must_exit(&checked, 0);
    assert_eq!(text(&checked), "The guards of all members are complete.\n");
}

#[test]
fn a_member_is_selected_from_any_directory() {
    let dir = workspace("selected");
    let shown = command(".".as_ref(), &["-p", "app"])
        .current_dir(dir.join("helper/src"))
        .output()
        .expect("runs");
    must_exit(&shown, 0);
    let shown = text(&shown);
    assert!(shown.contains(".libs(libs).probe()?;"), "{shown}");
    let last =
        "\nNo files were changed. To apply these changes, run `cudnn-guard init --write -p app`\n";
    assert!(shown.ends_with(last), "{shown}");
    must_exit(&init(&dir, &["-p", "app", "--write"]), 0);
    assert!(read(&dir, "app/src/main.rs").contains("gpu::startup();"));
    for (name, help) in [
        ("helpr", "write `helper` if that is what you mean"),
        (
            "server",
            "name one of its members: `app`, `other`, `helper`",
        ),
    ] {
        let refused = init(&dir, &["-p", name]);
        must_exit(&refused, 1);
        let message = format!("the workspace has no member `{name}`\n  = help: {help}\n");
        assert_eq!(complaint(&refused), message);
    }
}

/// cargo does not pass the rpath of a library on to a program.
#[test]
fn a_program_above_a_crate_that_links_cudnn_gets_its_rpath() {
    let dir = workspace("above");
    let main = read(&dir, "other/src/main.rs");
    let shown = text(&init(&dir, &["-p", "other"]));
    let reason = "A dependency of this crate links cuDNN. cargo does not pass on its rpath, so this build script adds the rpath.\n\n";
    assert!(shown.starts_with(reason), "{shown}");
    must_exit(&init(&dir, &["-p", "other", "--write"]), 0);
    assert_eq!(
        read(&dir, "other/build.rs"),
        "fn main() {\n    cudnn_guard::build(|| {\n        cudnn_guard::Linked::from_dep(\"cudnn\")?.link();\n        Ok(())\n    });\n}\n"
    );
    assert_eq!(read(&dir, "other/src/main.rs"), main);
    let again = init(&dir, &["-p", "other"]);
    assert_eq!(text(&again), "This crate already uses cudnn-guard.\n");
}

#[test]
fn check_names_the_files_without_the_guard() {
    let dir = package("checked", "");
    let checked = init(&dir, &["--check"]);
    must_exit(&checked, 1);
    assert_eq!(
        complaint(&checked),
        format!(
            "the guard of this crate is incomplete: lines are missing from `Cargo.toml`, `build.rs`, `src/main.rs`\n  \
             = help: run `cudnn-guard init {}`, which shows these lines\n",
            dir.display()
        )
    );
    must_exit(&init(&dir, &["--check", "--write"]), 2);
    assert!(!dir.join("build.rs").exists());
    must_exit(&init(&dir, &["--write"]), 0);
    must_exit(&init(&dir, &["--check"]), 0);
    file(&dir, "src/main.rs", "fn main() {}\n");
    let checked = init(&dir, &["--check"]);
    must_exit(&checked, 1);
    let message = complaint(&checked);
    assert!(
        message.contains("lines are missing from `src/main.rs`\n"),
        "{message}"
    );
    // Only a crate that uses cuDNN needs a guard.
    let without = "fn main() {\n    cudnn_guard::build(|| Ok(()));\n}\n";
    file(&dir, "build.rs", without);
    must_exit(&init(&dir, &["--check"]), 0);
    let without =
        "fn main() {\n    cudnn_guard::build(|| Config::new().cudnn(\"9\").probe());\n}\n";
    file(&dir, "build.rs", without);
    let checked = init(&dir, &["--check"]);
    must_exit(&checked, 1);
    assert_eq!(
        complaint(&checked),
        "The build script already calls cudnn-guard, but writes no guard. docs/linking.md shows the lines that add one.\n"
    );
}

#[cfg(unix)]
#[test]
fn an_error_of_cargo_is_shown() {
    let dir = package("invalid", "\n[features]\ncuda = [\"dep:none\"]\n");
    let mut colored = command(&dir, &[]);
    let refused = colored.env("CARGO_TERM_COLOR", "always").output();
    let refused = refused.expect("runs");
    must_exit(&refused, 1);
    let message = complaint(&refused);
    assert!(
        message.starts_with("`cargo metadata` fails: error: failed to parse manifest at"),
        "{message}"
    );
    assert!(
        message.ends_with("\n  = help: fix this error, and run the same command again\n"),
        "{message}"
    );
    let mut without = command(&dir, &[]);
    let refused = without.env("PATH", &dir).output().expect("runs");
    assert_eq!(
        complaint(&refused),
        "cannot run `cargo metadata`, which reads the features: No such file or directory (os error 2)\n  \
         = help: add the directory that contains cargo to PATH\n"
    );
    let dir = package("valid", "");
    let mut with = command(&dir, &[]);
    with.env("PATH", &dir).env("CARGO", env!("CARGO"));
    must_exit(&with.output().expect("runs"), 0);
    let refused = init(&dir.join("none"), &["-p", "app"]);
    must_exit(&refused, 1);
    let message = format!(
        "`{}` is not a directory\n  = help: name the directory that contains Cargo.toml\n",
        dir.join("none").display()
    );
    assert_eq!(complaint(&refused), message);
}
