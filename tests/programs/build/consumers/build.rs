//! The output and the files of a build of such a crate.

use super::{GUARDED, NEEDS_BOTH, installed, on};
use crate::support::{built, cargo, fresh, out_dir, program, project, repository, run};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

#[test]
fn cargo_shows_only_the_message() {
    let old = installed("unmet-8.9.7", (8, 9, 7), &[]);
    let dir = project("unmet", NEEDS_BOTH, GUARDED);
    let ran = on(&mut cargo(&dir, &["build", "--quiet"]), &old).exits_with(101);
    let at = old.display();
    assert_eq!(
        ran.text(),
        format!(
            "error: unmet@0.1.0: cuDNN 8.9.7 at `{at}` is too old: this crate requires `>=9.1`  [cudnn-requirement-unmet]\n\
             error: unmet@0.1.0:   = help: set CUDNN_PATH to the directory of a cuDNN that satisfies `>=9.1`\n\
             error: unmet@0.1.0:   = help: relax `.cudnn(\">=9.1\")` in build.rs\n\
             error: unmet@0.1.0:   found via   CUDNN_PATH: {at}/include/cudnn_version.h\n\
             error: unmet@0.1.0:   see         cudnn-guard explain cudnn-requirement-unmet\n\
             error: build script logged errors\n"
        )
    );
}

/// On docs.rs, and in an editor, which checks everything that cargo knows of a crate. Neither has CUDA, and docs.rs has
/// no network.
#[test]
fn docs_rs_and_editors_work_without_cuda() {
    let nothing = fresh("docs-nothing");
    let script = |config: &str| {
        format!(
            "fn main() {{ cudnn_guard::build(|| {{\n    \
             let config = cudnn_guard::Config::new().env(\"PATH\", \"/nowhere\").root({nothing:?});\n    \
             let gpu = config.cuda(\">=12\").cudnn(\">=9\"){config}.probe()?;\n    gpu.link();\n    \
             gpu.kernels().files(\"src/*.cu\").compile(\"kernels\")?;\n    gpu.guard().write()\n}}); }}\n"
        )
    };
    let needs = project("docs-rs", &script(""), GUARDED);
    let can_do_without = project("docs-editor", &script(".optional(true)"), GUARDED);
    for dir in [&needs, &can_do_without] {
        fs::write(dir.join("src/add.cu"), "// a kernel\n").unwrap();
    }
    let check = ["check", "--all-targets"];
    run(&mut cargo(&needs, &check))
        .exits_with(101)
        .says("[cuda-not-found]");
    for args in [&check[..], &["doc", "--no-deps"]] {
        let mut docs_rs = cargo(&needs, args);
        docs_rs
            .env("DOCS_RS", "1")
            .env("RUSTDOCFLAGS", "-Dwarnings");
        run(&mut docs_rs).exits_with(0).does_not_say("warning");
    }
    run(&mut cargo(&can_do_without, &check))
        .exits_with(0)
        .says("built without CUDA");
}

#[test]
fn the_guard_is_the_same_in_two_directories_and_contains_no_paths() {
    let sound = installed("folders-9.14", (9, 14, 0), &[]);
    let dir = project("folders", NEEDS_BOTH, GUARDED);
    let guard = |args: &[&str]| {
        let mut build = cargo(&dir, args);
        build.arg("--message-format=json");
        // As in a release build with the lowest optimization, beside libraries that are already compiled.
        if args[0] == "rustc" {
            build.args([
                "--",
                "-Cdebuginfo=0",
                "-Cdebug-assertions=no",
                "-Coverflow-checks=no",
                "-Copt-level=1",
            ]);
        }
        let ran = on(&mut build, &sound).exits_with(0);
        let out = out_dir(&ran, "folders");
        (fs::read(out.join("cudnn_guard.rs")).unwrap(), out)
    };
    let (first, here) = guard(&["rustc"]);
    let program = fs::read(built("folders")).unwrap();
    let path = here.as_os_str().as_bytes();
    assert!(
        !program.windows(path.len()).any(|bytes| bytes == path),
        "the program holds {here:?}"
    );
    // Another feature is built in its own directories.
    let manifest = dir.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(manifest, format!("{text}\n[features]\nother = []\n")).unwrap();
    let (second, there) = guard(&["check", "--features", "other"]);
    assert_ne!(here, there);
    assert!(first == second, "the generated files differ");
}

/// The linker leaves out a library if no function of it is called, and the guard would then have nothing to
/// check.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn a_program_without_calls_of_cudnn_stays_linked_to_it() {
    let sound = installed("kept-9.14", (9, 14, 0), &[]);
    let needed = |name: &str, main: &str| {
        let dir = project(name, NEEDS_BOTH, main);
        on(
            cargo(&dir, &["rustc"]).args(["--", "-Clink-arg=-Wl,--as-needed"]),
            &sound,
        )
        .exits_with(0);
        run(Command::new("readelf").arg("-d").arg(built(name))).exits_with(0)
    };
    needed("kept", GUARDED).says("(NEEDED)             Shared library: [libcudnn.so.9]");
    needed("left-out", "fn main() {}\n").does_not_say("libcudnn.so.9");
}

/// A known fault of a version stops the build of a program that declares that it uses the faulty operation.
#[test]
fn a_program_that_needs_a_faulty_operation_is_not_built() {
    let bad = installed("needs-9.10", (9, 10, 2), &[]);
    let build_script = NEEDS_BOTH.replace(".write()", ".needs([\"adv\", \"conv3d-bf16\"]).write()");
    let dir = project("needs", &build_script, GUARDED);
    on(&mut cargo(&dir, &["build"]), &bad)
        .exits_with(101)
        .says("error: needs@0.1.0: cuDNN 9.10.2 is known to compute wrong numbers in three-dimensional bf16 convolutions, which this program uses  [known-bad-release]")
        .says("error: needs@0.1.0:   = help: upgrade to cuDNN 9.15.0 or later");
    let allowed = on(
        cargo(&dir, &["check", "--message-format=json"])
            .env("CUDNN_GUARD_ALLOW", "known-bad-release"),
        &bad,
    )
    .exits_with(0)
    .says("warning: needs@0.1.0: cuDNN 9.10.2 is known to compute wrong numbers in three-dimensional bf16 convolutions, which this program uses  [known-bad-release]");
    let guard = out_dir(&allowed, "needs").join("cudnn_guard.rs");
    let guard = fs::read_to_string(guard).unwrap();
    assert!(guard.contains("\n    needs adv conv3d-bf16\\n\\\n"));
    let unknown = NEEDS_BOTH.replace(".write()", ".needs([\"convolution\"]).write()");
    let dir = project("needs-unknown", &unknown, GUARDED);
    on(&mut cargo(&dir, &["build"]), &bad)
        .exits_with(101)
        .says("`.needs(..)` contains `convolution`, which is neither a sub-library of cuDNN nor an operation  [config-invalid]");
}

/// Crates of the oldest edition, which forbid unsafe code. Two crates with a guard share one runtime.
#[test]
fn two_old_crates_without_unsafe_code_share_a_runtime() {
    share_a_runtime("2");
}

/// Like [`two_old_crates_without_unsafe_code_share_a_runtime`], but with the default resolver of such crates, which
/// unifies the features of all dependencies.
#[test]
#[ignore = "compiles cudnn-guard once more, with the features of both dependencies"]
fn two_old_crates_under_the_old_resolver_share_a_runtime() {
    share_a_runtime("1");
}

fn share_a_runtime(resolver: &str) {
    let dir = fresh(&format!("shared-{resolver}"));
    let dependency = |kind: &str, features: &str| {
        let path = repository();
        format!("[{kind}]\ncudnn-guard = {{ path = {path:?}{features} }}\n")
    };
    let runtime = ", default-features = false, features = [\"runtime\"]";
    let (build, runtime) = (
        dependency("build-dependencies", ""),
        dependency("dependencies", runtime),
    );
    for (name, above) in [("one", ""), ("other", "one = { path = \"../one\" }\n")] {
        let member = dir.join(name);
        fs::create_dir_all(member.join("src")).unwrap();
        let head =
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2018\"\n");
        let manifest = format!("{head}{runtime}{above}{build}");
        fs::write(member.join("Cargo.toml"), manifest).unwrap();
        let script = "fn main() { cudnn_guard::build(|| {\n    \
            let gpu = cudnn_guard::Config::new().cudnn(\">=9\").link(cudnn_guard::Link::Runtime).probe()?;\n    \
            gpu.guard().write()\n}) }\n";
        fs::write(member.join("build.rs"), script).unwrap();
    }
    let guard = "#![forbid(unsafe_code)]\npub mod gpu { include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\")); }\n";
    fs::write(dir.join("one/src/lib.rs"), guard).unwrap();
    let main = "fn main() {\n    \
        let both: [&gpu::BuiltRecord; 2] = [&gpu::BUILT, &one::gpu::BUILT];\n    \
        println!(\"{:?}\", both.map(|built| built.package()));\n    \
        gpu::startup();\n    one::gpu::startup();\n}\n";
    fs::write(dir.join("other/src/main.rs"), format!("{guard}{main}")).unwrap();
    let manifest =
        format!("[workspace]\nresolver = \"{resolver}\"\nmembers = [\"one\", \"other\"]\n");
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::copy(repository().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    run(&mut cargo(&dir, &["build"])).exits_with(0);
    run(&mut program(built("other")))
        .exits_with(0)
        .says("[Some(\"other 0.1.0\"), Some(\"one 0.1.0\")]\n");
}
