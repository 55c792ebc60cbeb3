//! The changes that `cudnn-guard init` makes to a crate.

mod features;
mod members;
mod sources;

use super::{file, folder};
use crate::support::{Ran, repository, run};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use crate::support::{cargo, fresh, program, simulated};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Creates a crate with these lines in its manifest.
fn package(name: &str, lines: &str) -> PathBuf {
    let dir = folder(&format!("init/{name}"));
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{lines}");
    file(&dir, "Cargo.toml", &manifest);
    file(
        &dir,
        "src/main.rs",
        "//! Adds.\n\nuse std::env;\n\nfn main() {\n    println!(\"{}\", env::args().count());\n}\n",
    );
    dir
}

fn init(dir: &Path, more: &[&str]) -> Ran {
    run(&mut command(dir, more))
}

/// `init` reads the features with cargo.
fn command(dir: &Path, more: &[&str]) -> Command {
    let cargo = Path::new(env!("CARGO")).parent().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command.arg("init").arg(dir).args(more);
    command.env_clear().env("HOME", "/nowhere");
    command.env("PATH", cargo);
    command
}

/// Replaces the path of a crate, and the relative path of this repository, which depends on the target directory.
fn without_paths(text: &str, dir: &Path) -> String {
    let start = "cudnn-guard = { path = \"";
    let (_, path) = text.split_once(start).expect("a dependency");
    let (path, _) = path.split_once('"').expect("a path");
    assert!(Path::new(path).is_relative(), "{path}");
    let found = dir.join(path).canonicalize().expect("a path");
    assert_eq!(Some(found), repository().canonicalize().ok());
    let text = text.replace(&format!("{start}{path}"), &format!("{start}CLONE"));
    text.replace(dir.to_str().expect("text"), "DIR")
}

fn read(dir: &Path, path: &str) -> String {
    fs::read_to_string(dir.join(path)).expect("a file")
}

#[test]
fn the_changes_are_shown_first_and_applied_once() {
    let lines =
        "\n[dependencies]\n# Ours.\ncudarc = { version = \"0.19.2\", features = [\"cudnn\"] }\n";
    let dir = package("shown", lines);
    let before = read(&dir, "Cargo.toml");
    let shown = init(&dir, &[]).exits_with(0).stdout;
    let expected = "\
This crate uses cudarc, which opens cuDNN at run time. The guard checks the cuDNN that cudarc opens.

--- Cargo.toml
+++ Cargo.toml
@@ -6,3 +6,7 @@
 [dependencies]
 # Ours.
 cudarc = { version = \"0.19.2\", features = [\"cudnn\"] }
+cudnn-guard = { path = \"CLONE\", default-features = false, features = [\"runtime\"] }
+
+[build-dependencies]
+cudnn-guard = { path = \"CLONE\" }

--- /dev/null
+++ build.rs
@@ -0,0 +1,7 @@
+fn main() {
+    cudnn_guard::build(|| {
+        let config = cudnn_guard::Config::new().cudnn(\">=9.1, <10\");
+        let gpu = config.link(cudnn_guard::Link::Runtime).probe()?;
+        gpu.guard().loader(cudnn_guard::Loader::Cudarc).write()
+    });
+}

--- src/main.rs
+++ src/main.rs
@@ -2,6 +2,11 @@
 
 use std::env;
 
+mod gpu {
+    include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));
+}
+
 fn main() {
+    gpu::startup();
     println!(\"{}\", env::args().count());
 }

No files were changed. To apply these changes, run `cudnn-guard init --write DIR`
The dependency cudnn-guard is the clone on this machine. To build this crate on another machine, put a clone at the same path there, or use a published version
To make the guard smaller and a release build faster, add `[profile.release.package.cudnn-guard]` with `codegen-units = 1` to Cargo.toml. In a workspace, cargo reads profiles only in the root's Cargo.toml
";
    assert_eq!(without_paths(&shown, &dir), expected);
    assert_eq!(read(&dir, "Cargo.toml"), before);
    assert!(!dir.join("build.rs").exists());

    let written = init(&dir, &["--write"]).exits_with(0);
    assert_eq!(
        written.stdout,
        "  ✓ Cargo.toml\n  ✓ build.rs\n  ✓ src/main.rs\n\n\
         Next: run `cargo run`. To see what a build finds on this machine, run `cudnn-guard doctor`\n\
         The dependency cudnn-guard is the clone on this machine. To build this crate on another machine, put a clone at \
         the same path there, or use a published version\n\
         To make the guard smaller and a release build faster, add `[profile.release.package.cudnn-guard]` with \
         `codegen-units = 1` to Cargo.toml. In a workspace, cargo reads profiles only in the root's Cargo.toml\n"
    );
    let files = || ["Cargo.toml", "build.rs", "src/main.rs"].map(|path| read(&dir, path));
    let after = files();
    assert!(after[0].starts_with(&before), "{}", after[0]);
    for more in [&[][..], &["--write"]] {
        let again = init(&dir, more).exits_with(0);
        assert_eq!(again.stdout, "This crate already uses cudnn-guard.\n");
    }
    assert_eq!(files(), after);
}

/// A crate may contain files that cannot be trusted.
#[test]
fn control_characters_in_a_file_are_not_printed() {
    let dir = package("escapes", "");
    let evil = "\u{1b}[2J\u{202e}";
    let main = format!("\t// {evil}\nfn main() {{}}\n");
    file(&dir, "src/main.rs", &main);
    let shown = init(&dir, &[]).says(" \t// \\u{1b}[2J\\u{202e}\n");
    file(&dir, "Cargo.toml", &format!("[package]\nname = {evil}\n"));
    let refused = init(&dir, &[]).exits_with(1);
    let refused = refused.says("`cargo metadata` fails: error: ");
    for ran in [shown, refused] {
        ran.does_not_say("\u{1b}").does_not_say("\u{202e}");
    }
}

#[test]
fn the_lines_depend_on_the_dependencies_of_the_crate() {
    for row in [
        r#"candle-core = { version = "0.11", features = ["cudnn"] } | .libs(libs).probe()?;"#,
        r#"ort = { version = "2", features = ["cuda"] } | Loader::Dlopen"#,
        r#"cudarc = { version = "0.19", features = ["cudnn"] } | Loader::Cudarc"#,
        r#"cudarc = { version = "0.19", features = ["cudnn", "dynamic-linking"] } | gpu.link();"#,
        " | gpu.link();",
    ] {
        let (dependency, line) = row.split_once(" | ").expect("a row");
        let dir = package("lines", &format!("\n[dependencies]\n{dependency}\n"));
        init(&dir, &["--write"]).exits_with(0);
        let build = read(&dir, "build.rs");
        assert!(build.contains(line), "{dependency}: {build}");
        let has_loader = line.contains("Loader::");
        assert_eq!(build.contains("Loader::"), has_loader, "{build}");
    }
}

/// cargo runs no build script if the manifest says so.
#[test]
fn a_package_without_a_build_script_gets_one() {
    let dir = package("without", "build = false\n");
    init(&dir, &[]).says("-build = false\n");
    init(&dir, &["--write"]).exits_with(0);
    assert!(!read(&dir, "Cargo.toml").contains("build = false"));
    init(&dir, &["--check"]).exits_with(0);
}

#[test]
fn existing_code_stays() {
    let dir = package(
        "stays",
        "build = \"make.rs\"\n\n[build-dependencies]\ncudaforge = \"0.1\"\n",
    );
    file(
        &dir,
        "make.rs",
        "use x;\n\nfn main() -> Result<(), x::Error> {\n    x::compile()\n}\n",
    );
    file(&dir, "src/bin/other.rs", "#[x::main]\nasync fn main() {}\n");
    file(&dir, "src/bin/notes.txt", "");
    init(&dir, &["--write"]).exits_with(0);
    let build = read(&dir, "make.rs");
    let start = "use x;\n\nfn main() -> Result<(), x::Error> {\n    cudnn_guard::build(|| {\n";
    assert!(build.starts_with(start), "{build}");
    assert!(build.ends_with("    });\n    x::compile()\n}\n"), "{build}");
    assert_eq!(
        read(&dir, "src/bin/other.rs"),
        "mod gpu {\n    include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));\n}\n\n\
         #[x::main]\nasync fn main() {\n    gpu::startup();\n}\n"
    );
}

/// The calls that compile kernels stay.
#[test]
fn a_script_that_compiles_kernels_gets_the_guard_and_the_equivalent_calls() {
    let dir = package(
        "kernels",
        "\n[build-dependencies]\n# Ours.\nanyhow = \"1\"\ncudaforge = \"0.1\"\n",
    );
    file(
        &dir,
        "build.rs",
        "use cudaforge::KernelBuilder;\n\nfn main() -> cudaforge::Result<()> {\n    \
         let output = KernelBuilder::new().source_dir(\"src\").with_cutlass(None).build_ptx()?;\n    \
         output.write(\"src/kernels.rs\")\n}\n",
    );
    let shown = without_paths(&init(&dir, &[]).stdout, &dir);
    let expected = "\
This crate uses CUDA and does not use cuDNN. The guard checks the driver, the GPU and the kernels.

--- Cargo.toml
+++ Cargo.toml
@@ -7,3 +7,7 @@
 # Ours.
 anyhow = \"1\"
 cudaforge = \"0.1\"
+cudnn-guard = { path = \"CLONE\" }
+
+[dependencies]
+cudnn-guard = { path = \"CLONE\", default-features = false, features = [\"runtime\"] }

--- build.rs
+++ build.rs
@@ -1,6 +1,11 @@
 use cudaforge::KernelBuilder;
 
 fn main() -> cudaforge::Result<()> {
+    cudnn_guard::build(|| {
+        let gpu = cudnn_guard::Config::new().cuda(\">=11\").probe()?;
+        gpu.link();
+        gpu.guard().write()
+    });
     let output = KernelBuilder::new().source_dir(\"src\").with_cutlass(None).build_ptx()?;
     output.write(\"src/kernels.rs\")
 }

--- src/main.rs
";
    assert!(shown.starts_with(expected), "{shown}");
    let expected = "
No files were changed. To apply these changes, run `cudnn-guard init --write DIR`
build.rs:4: this script uses cudaforge, and init does not change these calls. The equivalent calls of cudnn-guard, from docs/migration.md, belong in the new block:

  line 4: `KernelBuilder::new()`
    `gpu.kernels()`
  line 4: `source_dir(\"src\")`, `source_glob(\"src/*.cu\")`
    `files(\"src/**/*.cu\")`, `files(\"src/*.cu\")`; a pattern without a match is an error
  line 4: `with_cutlass(commit)`
    `include(\"cutlass/include\")`, with CUTLASS as a git submodule; a build downloads nothing
  line 4: `build_ptx()?.write(out.join(\"ptx.rs\"))`
    `module(\"ptx\").ptx()`

For differences that a successful build does not show, see \"What changes silently\" in docs/migration.md.
";
    assert!(shown.contains(expected), "{shown}");
    init(&dir, &["--write"]).exits_with(0);
    assert!(read(&dir, "build.rs").contains("KernelBuilder::new()"));
    init(&dir, &["--check"]).exits_with(0);
}

/// A crate that also uses cuDNN gets the guard, before the calls that compile kernels.
#[test]
fn a_script_that_compiles_kernels_of_a_crate_with_cudnn_writes_the_guard() {
    let cudarc = "cudarc = { version = \"0.19\", features = [\"cudnn\"] }";
    let lines =
        format!("\n[dependencies]\n{cudarc}\n\n[build-dependencies]\nbindgen_cuda = \"0.1\"\n");
    let dir = package("both", &lines);
    let build = "    bindgen_cuda::Builder::default().build_lib(\"libadd.a\");\n}\n";
    file(&dir, "build.rs", &format!("fn main() {{\n{build}"));
    init(&dir, &["--write"])
        .says("build.rs:2: this script uses bindgen_cuda, and ")
        .says("  line 2: `build_lib(\"libmoe.a\")` and lines for cargo\n    `compile(\"moe\")`\n");
    let start = "fn main() {
    cudnn_guard::build(|| {
        let config = cudnn_guard::Config::new().cudnn(\">=9.1, <10\");
        let gpu = config.link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().loader(cudnn_guard::Loader::Cudarc).write()
    });
";
    assert_eq!(read(&dir, "build.rs"), format!("{start}{build}"));
    assert!(read(&dir, "src/main.rs").contains("gpu::startup();"));
    assert!(read(&dir, "Cargo.toml").contains("bindgen_cuda"));
    init(&dir, &["--check"]).exits_with(0);
}

/// Windows editors may write a byte order mark, and `\r\n` at the end of each line.
#[test]
fn the_format_of_windows_files_is_preserved() {
    let dir = package("form", "");
    let of_windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let paths = ["Cargo.toml", "src/main.rs"];
    let before = paths.map(|path| read(&dir, path));
    let shown = init(&dir, &[]).stdout;
    init(&dir, &["--write"]).exits_with(0);
    let after = paths.map(|path| read(&dir, path));
    fs::remove_file(dir.join("build.rs")).expect("removed");
    for (path, before) in paths.iter().zip(&before) {
        file(&dir, path, &of_windows(before));
    }
    assert_eq!(init(&dir, &[]).stdout, shown);
    init(&dir, &["--write"]).exits_with(0);
    for (path, after) in paths.iter().zip(&after) {
        assert_eq!(read(&dir, path), of_windows(after));
    }
}

#[test]
fn a_library_gets_the_guard_for_programs_that_use_it() {
    let dir = package("some-library", "");
    fs::rename(dir.join("src/main.rs"), dir.join("src/lib.rs")).expect("renamed");
    file(&dir, "src/lib.rs", "pub fn gpu() {}\n");
    init(&dir, &["--write"])
        .exits_with(0)
        .says("Programs that use this crate call `some_library::gpu_guard::startup()` first in `main`. In a workspace, `cudnn-guard init` adds this call.\n")
        .says("Next: run `cargo build`. To see what a build finds on this machine, run `cudnn-guard doctor`\n")
        .does_not_say("codegen-units");
    let library = read(&dir, "src/lib.rs");
    assert!(library.contains("\npub mod gpu_guard {\n"), "{library}");
}

#[test]
fn a_crate_that_is_not_understood_is_not_changed() {
    // No directory above has a Cargo.toml. The other directories may be in a clone.
    let outside = std::env::temp_dir().join(format!("init-outside-{}", std::process::id()));
    fs::create_dir_all(&outside).expect("a directory");
    let empty = folder("init/empty");
    let workspace = folder("init/workspace");
    file(&workspace, "Cargo.toml", "[workspace]\n");
    let odd = package("odd", "");
    file(&odd, "src/main.rs", "program! {}\n");
    let no_crate = "`DIR` does not contain the Cargo.toml of a crate\n  \
        = help: run this in the crate of the program, or name its directory: `cudnn-guard init DIR`\n";
    for (dir, message) in [
        (&outside, no_crate),
        (&empty, no_crate),
        (&workspace, no_crate),
        (
            &odd,
            "`DIR/src/main.rs` has no `fn main()` at the beginning of a line\n  \
             = help: add these lines and a first statement `gpu::startup();` by hand, and run the same command again:\n\n\
             mod gpu {\n    include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));\n}\n\n",
        ),
    ] {
        let stderr = init(dir, &["--write"]).exits_with(1).stderr;
        assert_eq!(stderr.replace(dir.to_str().expect("text"), "DIR"), message);
        assert!(!dir.join("build.rs").exists());
    }
    fs::remove_dir(&outside).expect("an empty directory");
}

/// Follows the README's steps for a new crate, using `init`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_crate_with_the_guard_builds_and_is_guarded() {
    let dir = package("guarded", "\n[workspace]\n");
    fs::copy(repository().join("Cargo.lock"), dir.join("Cargo.lock")).expect("a lock");
    init(&dir, &["--write"]).exits_with(0);
    let sound = fresh("init-sound");
    simulated::install((9, 14, 0), &[], &sound);
    let mut build = cargo(&dir, &["build"]);
    run(build.env("CUDA_HOME", &sound).env("CUDNN_PATH", &sound)).exits_with(0);
    let older = fresh("init-older");
    simulated::install((9, 10, 2), &[], &older);
    for (cudnn, code) in [(&sound, 0), (&older, 78)] {
        let path =
            std::env::join_paths([cudnn.join("lib64"), sound.join("driver")]).expect("a list");
        let mut guarded = program(crate::support::target().join("debug/guarded"));
        run(guarded.env("LD_LIBRARY_PATH", path)).exits_with(code);
    }
}
