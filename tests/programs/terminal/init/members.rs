//! Members of workspaces, and `--check`.

use super::{command, file, folder, init, package, read};
use crate::support::run;
use std::fs;
use std::path::PathBuf;

/// Creates a workspace with a program that uses candle, a program without CUDA, and a crate that links cuDNN.
fn workspace(name: &str) -> PathBuf {
    let dir = folder(&format!("init/{name}"));
    let table = "[workspace]\nmembers = [\"app\", \"other\", \"helper\"]\nresolver = \"3\"\n\n\
                 [workspace.dependencies]\ncandle-core = { version = \"0.11\", features = [\"cudnn\"] }\n";
    file(&dir, "Cargo.toml", table);
    for (name, source, lines) in [
        (
            "app",
            "main",
            "[dependencies]\ncandle-core = { workspace = true }\n",
        ),
        (
            "other",
            "main",
            "[dependencies]\nhelper = { path = \"../helper\" }\n",
        ),
        (
            "helper",
            "lib",
            "links = \"cudnn\"\n\n[dependencies]\ncudnn-guard = { version = \"0.1\", features = [\"runtime\"] }\n\n[build-dependencies]\ncudnn-guard = \"0.1\"\n",
        ),
    ] {
        let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n{lines}");
        file(&dir, &format!("{name}/Cargo.toml"), &manifest);
        let text = match source {
            "main" => "fn main() {}\n",
            _ => "include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));\n",
        };
        file(&dir, &format!("{name}/src/{source}.rs"), text);
    }
    file(
        &dir,
        "helper/build.rs",
        "fn main() {\n    cudnn_guard::build(|| {\n        let gpu = cudnn_guard::Config::new().cudnn(\">=9.1, <10\").probe()?;\n        gpu.link();\n        gpu.guard().write()\n    });\n}\n",
    );
    dir
}

#[test]
fn the_root_of_a_workspace_lists_its_members() {
    let dir = workspace("members");
    let commands = |members: &[&str], root: &str| {
        let lines = members.iter();
        let lines = lines.map(|name| format!("  cudnn-guard init {root}{name}\n"));
        "To add or complete the guard of a member, run one of these commands:\n\n".to_string()
            + &lines.collect::<String>()
    };
    let init_root = |more: &[&str]| run(command(".".as_ref(), more).current_dir(&dir));
    let listed = init_root(&[]).exits_with(0);
    assert_eq!(listed.stdout, commands(&["app", "other"], ""));
    let mut below = command("..".as_ref(), &[]);
    let listed = run(below.current_dir(dir.join("app")));
    assert_eq!(
        listed.stdout,
        commands(&["other"], "../").replace(
            "  cudnn-guard init ../other",
            "  cudnn-guard init\n  cudnn-guard init ../other"
        )
    );
    // The root is checked but not changed.
    for option in ["--check", "--write"] {
        let refused = init_root(&[option]).exits_with(1);
        assert_eq!(refused.stderr, commands(&["app", "other"], ""));
    }
    assert!(!dir.join("app/build.rs").exists());
    let written = init(&dir.join("app"), &["--write"]).exits_with(0);
    let profile = "\nTo make the guard smaller and a release build faster, add `[profile.release.package.cudnn-guard]` with \
         `codegen-units = 1` to Cargo.toml. In a workspace, cargo reads profiles only in the root's Cargo.toml\n";
    assert!(written.stdout.ends_with(profile), "{}", written.stdout);
    let checked = init_root(&["--check"]).exits_with(1);
    assert_eq!(checked.stderr, commands(&["other"], ""));
    // A complete member is not listed.
    assert_eq!(init_root(&[]).stdout, commands(&["other"], ""));
    // Its program has no guard of its own.
    let written = init(&dir.join("other"), &["--write"]).exits_with(0);
    written.does_not_say("codegen-units");
    for more in [&[][..], &["--check"], &["--write"]] {
        let checked = init_root(more).exits_with(0);
        assert_eq!(checked.stdout, "The guards of all members are complete.\n");
    }
    // Without a member that is known to use CUDA, all are listed.
    for name in ["app", "other", "helper"] {
        let manifest = format!("[package]\nname = \"{name}\"\n");
        file(&dir, &format!("{name}/Cargo.toml"), &manifest);
        let _ = fs::remove_file(dir.join(format!("{name}/build.rs")));
    }
    assert_eq!(
        init_root(&[]).stdout,
        commands(&["helper", "app", "other"], "")
    );
}

/// cargo does not pass the rpath of a library on to a program.
#[test]
fn a_program_above_a_crate_that_links_cudnn_gets_its_rpath() {
    let dir = workspace("above");
    let reason = "A dependency of this crate links cuDNN. cargo does not pass on its rpath, so this build script adds the rpath.\n\n";
    init(&dir.join("other"), &[]).says(reason);
    init(&dir.join("other"), &["--write"]).exits_with(0);
    assert_eq!(
        read(&dir, "other/build.rs"),
        "fn main() {\n    cudnn_guard::build(|| {\n        cudnn_guard::Linked::from_dep(\"cudnn\")?.link();\n        Ok(())\n    });\n}\n"
    );
    // The guard of the library is called.
    let main = "fn main() {\n    helper::startup();\n}\n";
    assert_eq!(read(&dir, "other/src/main.rs"), main);
    assert!(!read(&dir, "other/Cargo.toml").contains("runtime"));
    init(&dir.join("other"), &[]).says("This crate already uses cudnn-guard.\n");
    // Without a workspace, the library is only a dependency.
    let dir = workspace("above-alone");
    fs::remove_file(dir.join("Cargo.toml")).expect("removed");
    init(&dir.join("other"), &["--write"]).exits_with(0);
    assert_eq!(read(&dir, "other/src/main.rs"), main);
    assert!(read(&dir, "other/build.rs").contains("from_dep"));
}

/// Creates a workspace with a library that uses cudarc, a library above it, and programs above these.
fn runtime_workspace(name: &str) -> PathBuf {
    let dir = folder(&format!("init/{name}"));
    let members = "members = [\"above\", \"far\", \"model\", \"train\"]\nresolver = \"3\"\n";
    file(&dir, "Cargo.toml", &format!("[workspace]\n{members}"));
    for (name, source, lines) in [
        (
            "model",
            "lib",
            "[features]\ncuda = [\"dep:cudarc\"]\n\n[dependencies.cudarc]\nversion = \"0.19.2\"\nfeatures = [\"cudnn\"]\noptional = true\n",
        ),
        (
            "above",
            "lib",
            "[features]\ngpu = [\"model/cuda\"]\n\n[dependencies]\nmodel = { path = \"../model\" }\n",
        ),
        (
            "far",
            "main",
            "[dependencies]\nabove = { path = \"../above\", features = [\"gpu\"] }\n",
        ),
        (
            "train",
            "main",
            "[features]\ndefault = [\"fast\"]\nfast = [\"model/cuda\"]\n\n[dependencies]\nmodel = { path = \"../model\" }\n",
        ),
    ] {
        let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n{lines}");
        file(&dir, &format!("{name}/Cargo.toml"), &manifest);
        file(&dir, &format!("{name}/src/{source}.rs"), "fn main() {}\n");
    }
    dir
}

/// The program is not linked with cuDNN, which its dependency opens.
#[test]
fn a_program_above_a_library_that_opens_cudnn_opens_it_too() {
    let dir = runtime_workspace("above-runtime");
    let listed = run(command(".".as_ref(), &[]).current_dir(&dir));
    assert_eq!(
        listed.stdout,
        "To add or complete the guard of a member, run one of these commands:\n\n  \
         cudnn-guard init model\n  cudnn-guard init far\n  cudnn-guard init train\n"
    );
    for (name, gate) in [("far", ""), ("train", "    #[cfg(feature = \"fast\")]\n")] {
        init(&dir.join(name), &["--write"]).exits_with(0);
        let build = read(&dir, &format!("{name}/build.rs"));
        let start = format!("fn main() {{\n{gate}    cudnn_guard::build(|| {{\n");
        assert!(build.starts_with(&start), "{build}");
        assert!(
            build.contains("Loader::Cudarc") && !build.contains("link();"),
            "{build}"
        );
        init(&dir.join(name), &["--check"]).exits_with(0);
    }
}

/// A program that includes no guard calls that of a library.
#[test]
fn the_guard_of_a_library_is_called_by_its_programs() {
    let dir = runtime_workspace("called");
    let written = init(&dir.join("model"), &["--write"]).exits_with(0);
    written.says("Programs that use this crate call `model::gpu::startup()` first in `main`. In a workspace, ");
    let reason = "A dependency of this crate contains the guard, which the program calls.\n\n";
    init(&dir.join("train"), &[]).says(reason);
    let unchecked = run(command(".".as_ref(), &["--check"]).current_dir(&dir)).exits_with(1);
    let unchecked = unchecked.says("cudnn-guard init train\n");
    unchecked
        .does_not_say("init model")
        .does_not_say("init above");
    let manifest = read(&dir, "train/Cargo.toml");
    init(&dir.join("train"), &["--write"]).exits_with(0);
    assert_eq!(
        read(&dir, "train/src/main.rs"),
        "fn main() {\n    #[cfg(feature = \"fast\")]\n    model::gpu::startup();\n}\n"
    );
    assert_eq!(read(&dir, "train/Cargo.toml"), manifest);
    assert!(!dir.join("train/build.rs").exists());
    init(&dir.join("train"), &["--check"]).exits_with(0);
    // A program without a dependency on the library has its own guard.
    init(&dir.join("far"), &["--write"]).exits_with(0);
    assert!(read(&dir, "far/src/main.rs").contains("mod gpu {"));
    run(command(".".as_ref(), &["--check"]).current_dir(&dir)).exits_with(0);
}

/// A second call in the programs would check everything twice.
#[test]
fn the_guard_of_a_library_that_calls_it_is_not_called_again() {
    let dir = runtime_workspace("own-call");
    init(&dir.join("model"), &["--write"]).exits_with(0);
    let library = read(&dir, "model/src/lib.rs");
    let call = "\npub fn device() -> bool {\n    gpu::check().is_ok()\n}\n";
    file(&dir, "model/src/lib.rs", &(library + call));
    for program in ["train", "far"] {
        let shown = init(&dir.join(program), &[]).exits_with(0).stdout;
        assert_eq!(shown, "This crate already uses cudnn-guard.\n");
    }
    for member in [".", "model"] {
        run(command(".".as_ref(), &["--check"]).current_dir(dir.join(member))).exits_with(0);
    }
}

#[test]
fn a_program_before_its_library_says_how_the_library_gets_the_guard() {
    let dir = runtime_workspace("program-first");
    let mut train = command(".".as_ref(), &[]);
    let shown = run(train.current_dir(dir.join("train"))).exits_with(0);
    shown.says(
        "The library that uses CUDA has no guard, so this program gets its own. For one guard in the library, run `cudnn-guard \
         init ../model` before this command\n",
    );
    init(&dir.join("model"), &["--write"]).exits_with(0);
    let mut train = command(".".as_ref(), &[]);
    let shown = run(train.current_dir(dir.join("train"))).exits_with(0);
    shown
        .says("model::gpu::startup();")
        .does_not_say("has no guard");
}

#[test]
fn check_in_a_library_finds_that_no_program_calls_its_guard() {
    let dir = runtime_workspace("uncalled");
    init(&dir.join("model"), &["--write"]).exits_with(0);
    let check = || run(command(".".as_ref(), &["--check"]).current_dir(dir.join("model")));
    let text = "To add or complete the guard of a member, run one of these commands:\n\n  cudnn-guard init ../train\n";
    assert_eq!(check().exits_with(1).stderr, text);
    init(&dir.join("train"), &["--write"]).exits_with(0);
    check().exits_with(0);
}

/// After `init`, only the build script of a crate with kernels shows that it uses CUDA.
#[test]
fn check_finds_a_member_with_kernels_that_calls_no_guard() {
    let dir = folder("init/kernels-member");
    file(&dir, "Cargo.toml", "[workspace]\nmembers = [\"app\"]\n");
    file(
        &dir,
        "app/Cargo.toml",
        "[package]\nname = \"app\"\nedition = \"2024\"\n",
    );
    file(&dir, "app/src/add.cu", "");
    let main = "fn main() {}\n";
    file(&dir, "app/src/main.rs", main);
    for code in [1, 0] {
        run(command(".".as_ref(), &["--check"]).current_dir(&dir)).exits_with(code);
        init(&dir.join("app"), &["--write"]).exits_with(0);
    }
    file(&dir, "app/src/main.rs", main);
    run(command(".".as_ref(), &["--check"]).current_dir(&dir)).exits_with(1);
}

#[test]
fn check_names_the_files_without_the_guard() {
    let dir = package("checked", "");
    let checked = init(&dir, &["--check"]).exits_with(1);
    assert_eq!(
        checked.stderr,
        format!(
            "the guard of this crate is incomplete: lines are missing from `Cargo.toml`, `build.rs`, `src/main.rs`\n  \
             = help: run `cudnn-guard init {}`, which shows these lines\n",
            dir.display()
        )
    );
    init(&dir, &["--check", "--write"]).exits_with(2);
    assert!(!dir.join("build.rs").exists());
    init(&dir, &["--write"]).exits_with(0);
    init(&dir, &["--check"]).exits_with(0);
    file(&dir, "src/main.rs", "fn main() {}\n");
    let checked = init(&dir, &["--check"]).exits_with(1);
    checked.says("lines are missing from `src/main.rs`\n");
    // Only a crate that uses cuDNN needs a guard.
    let no_guard = "The build script already calls cudnn-guard, but writes no guard. docs/frameworks.md shows the lines that add one.\n";
    for (call, code, message) in [
        ("Ok(())", 0, ""),
        ("Config::new().cudnn(\"9\").probe()", 1, no_guard),
    ] {
        let script = format!("fn main() {{\n    cudnn_guard::build(|| {call});\n}}\n");
        file(&dir, "build.rs", &script);
        let checked = init(&dir, &["--check"]).exits_with(code);
        assert_eq!(checked.stderr, message);
    }
}

#[cfg(unix)]
#[test]
fn an_error_of_cargo_is_shown() {
    let dir = package("invalid", "\n[features]\ncuda = [\"dep:none\"]\n");
    let mut colored = command(&dir, &[]);
    let refused = run(colored.env("CARGO_TERM_COLOR", "always")).exits_with(1);
    let message = &refused.stderr;
    let start = "`cargo metadata` fails: error: failed to parse manifest at";
    assert!(message.starts_with(start), "{message}");
    let end = "\n  = help: fix this error, and run the same command again\n";
    assert!(message.ends_with(end), "{message}");
    assert_eq!(
        run(command(&dir, &[]).env("PATH", &dir)).stderr,
        "cannot run `cargo metadata`, which reads the features: No such file or directory (os error 2)\n  \
         = help: add the directory that contains cargo to PATH\n"
    );
    let dir = package("valid", "");
    let mut with = command(&dir, &[]);
    run(with.env("PATH", &dir).env("CARGO", env!("CARGO"))).exits_with(0);
    let refused = init(&dir.join("none"), &[]).exits_with(1);
    let message = format!(
        "`{}` is not a directory\n  = help: name the directory that contains Cargo.toml\n",
        dir.join("none").display()
    );
    assert_eq!(refused.stderr, message);
}
