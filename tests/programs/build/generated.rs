//! The compiler's output about the generated file: a guard that is never called, a missing dependency, and a file that
//! an earlier build script wrote.

use crate::build::consumers::NEEDS_BOTH;
use crate::support::{
    Ran, built, cargo, fresh, out_dir, program, project, run, scratch, simulated, write_if_new,
};
use std::fs;
use std::path::{Path, PathBuf};

const INCLUDED: &str = "include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));";
const NEVER_CALLED: &str = "function `the_guard_is_never_called` is never used";

/// Returns a build script that writes a guard for this way to load cuDNN.
fn script(link: &str) -> String {
    let nothing = scratch("generated-nothing");
    format!(
        "fn main() {{ cudnn_guard::build(|| {{\n    \
         let config = cudnn_guard::Config::new().cudnn(\">=9\").root({nothing:?}).env(\"CUDNN_PATH\", \"\");\n    \
         config{link}.probe()?.guard().write()\n}}); }}\n"
    )
}

fn check(dir: &Path) -> Ran {
    run(&mut cargo(dir, &["check", "--message-format=short"]))
}

/// Returns the main file of a program that uses the guard like this.
fn main(used: &str) -> String {
    format!(
        "#![deny(missing_docs, unreachable_pub, unused)]\n//! A program.\nmod gpu {{ {INCLUDED} }}\nfn main() {{ {used} }}\n"
    )
}

/// Creates a crate with a guard for a program with CUDA, and one for a program without.
fn crates(name: &str) -> Vec<PathBuf> {
    let mut crates = Vec::new();
    for (of, link) in [
        ("opened", ".link(cudnn_guard::Link::Runtime)"),
        ("absent", ".optional(true)"),
    ] {
        let name = format!("{name}-{of}");
        crates.push(project(&name, &script(link), &main("")));
    }
    crates
}

#[test]
fn a_guard_that_is_never_called_is_reported_by_the_compiler() {
    for dir in crates("generated-called") {
        let with_main = |text: &str| {
            write_if_new(&dir.join("src/main.rs"), text);
            check(&dir)
        };
        let unused = main("").replace("deny", "warn");
        let ran = with_main(&unused).exits_with(0).says(NEVER_CALLED);
        assert_eq!(
            ran.stderr.matches(": warning: ").count(),
            1,
            "{}",
            ran.stderr
        );
        // A value of the file is not a call.
        with_main(&main("let _: gpu::Verdict = gpu::Verdict::Pass;")).exits_with(101);
        with_main(&main("")).exits_with(101).says(NEVER_CALLED);
        for used in [
            "startup()",
            "check().ok()",
            "check_thoroughly().ok()",
            "check_version().ok()",
        ] {
            let ran = with_main(&main(&format!("let _ = gpu::{used};"))).exits_with(0);
            assert!(
                !ran.stderr.contains(": warning: "),
                "{used}: {}",
                ran.stderr
            );
        }
        // Programs that depend on a library may call a public guard.
        let library = "pub mod gpu { INCLUDED }\n".replace("INCLUDED", INCLUDED);
        let lib = dir.join("src/lib.rs");
        fs::write(&lib, library).unwrap();
        let ran = with_main("fn main() {}\n").exits_with(0);
        fs::remove_file(&lib).unwrap();
        assert!(!ran.stderr.contains(": warning: "), "{}", ran.stderr);
    }
}

/// A program whose libraries are opened lazily may call only `available()`.
#[test]
fn a_question_about_the_libraries_is_a_call_of_the_guard() {
    let script = script(".link(cudnn_guard::Link::Lazy).optional(true)");
    let dir = project("generated-available", &script, &main("gpu::available();"));
    let ran = check(&dir).exits_with(0);
    assert!(!ran.stderr.contains(": warning: "), "{}", ran.stderr);
}

/// The file declares a function of cuDNN too, so that the program is linked with cuDNN.
#[test]
fn a_program_may_declare_a_function_of_cudnn_as_safe() {
    let sound = simulated::simulated((9, 14, 0));
    let declared = "unsafe extern \"C\" {\n    safe fn cudnnGetVersion() -> usize;\n}\nmod gpu {";
    let main = main("gpu::startup(); cudnnGetVersion();").replace("mod gpu {", declared);
    let dir = project("generated-declared", NEEDS_BOTH, &main);
    let mut check = cargo(&dir, &["check", "--message-format=short"]);
    let ran = run(check.env("CUDA_HOME", &sound).env("CUDNN_PATH", &sound)).exits_with(0);
    assert!(!ran.stderr.contains(": warning: "), "{}", ran.stderr);
}

/// The build script does not require cuDNN.
#[test]
fn a_program_without_cudnn_has_a_guard_of_the_driver() {
    let script = |setting: &str| {
        let script = script(".link(cudnn_guard::Link::Runtime)").replace(".cudnn(\">=9\")", "");
        script.replace(".guard()", &format!(".guard(){setting}"))
    };
    let (name, main_rs) = ("generated-without-cudnn", main("gpu::startup();"));
    let dir = project(name, &script(""), &main_rs);
    run(&mut cargo(&dir, &["build"])).exits_with(0);
    let built = built(name);
    // Without a driver, nothing was checked, and the program continues.
    let ran = run(program(&built).env("CUDA_VISIBLE_DEVICES", "")).exits_with(0);
    assert!(!ran.stderr.contains("cuDNN"), "{}", ran.stderr);
    let inspect = || {
        let mut inspect = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        run(inspect.arg("inspect").arg(&built)).does_not_say("cudnn-not-loadable")
    };
    inspect().says(&format!("{name} 0.1.0, uses no cuDNN"));
    inspect().says("– cuDNN     not used by the program");
    for used in ["gpu::check_version()", "gpu::check_thoroughly()"] {
        project(name, &script(""), &main(&format!("let _ = {used};")));
        check(&dir).exits_with(101);
    }
    for (setting, method) in [
        (".needs([\"adv\"])", "needs"),
        (".policy(cudnn_guard::Policy::Exact)", "policy"),
        (".loader(cudnn_guard::Loader::Cudarc)", "loader"),
    ] {
        project(name, &script(setting), &main_rs);
        let words = format!(
            "`.{method}(..)` of `guard()` concerns cuDNN, which the build script does not require  [config-invalid]"
        );
        check(&dir).exits_with(101).says(&words);
    }
}

/// rustc prints the line of the generated file that it cannot compile.
#[test]
fn the_first_error_contains_the_missing_line_of_the_manifest() {
    let script = script(".optional(true)");
    let dir = project("generated-dependency", &script, &main("gpu::startup();"));
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    let line = manifest
        .lines()
        .find(|line| line.contains("default-features"))
        .unwrap();
    let without = [
        String::new(),
        line.replace("default-features = false, features = [\"runtime\"]", ""),
    ];
    for replaced in without {
        fs::write(dir.join("Cargo.toml"), manifest.replace(line, &replaced)).unwrap();
        let ran = run(&mut cargo(&dir, &["check"])).exits_with(101);
        let first = ran.stderr.split("error").nth(1).unwrap();
        let needed = "use ::cudnn_guard::internals // \
            cudnn-guard = { path = \"../cudnn-guard\", default-features = false, features = [\"runtime\"] }\n";
        assert!(first.contains(needed), "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("error[").count(), 1, "{}", ran.stderr);
    }
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
}

/// cargo keeps OUT_DIR between two runs of a build script.
#[test]
fn a_build_script_that_writes_no_guard_leaves_none_of_an_earlier_run() {
    let (name, script) = ("generated-stale", script(".optional(true)"));
    let dir = project(name, &script, &main("gpu::startup();"));
    let arguments = ["check", "--message-format=json"];
    let ran = run(&mut cargo(&dir, &arguments)).exits_with(0);
    let file = out_dir(&ran, name).join("cudnn_guard.rs");
    assert!(file.is_file());
    let without = script.replace(".guard().write()", ";\n    Ok(())");
    assert_ne!(without, script);
    project(name, &without, &main("gpu::startup();"));
    let ran = run(&mut cargo(&dir, &arguments)).exits_with(101);
    assert!(ran.text().contains("couldn't read"), "{}", ran.text());
    assert!(!file.exists());
    // A script that does not search any more.
    let bare = "fn main() { cudnn_guard::build(|| Ok(())); }\n";
    project(name, &script, &main("gpu::startup();"));
    run(&mut cargo(&dir, &arguments)).exits_with(0);
    project(name, bare, &main("gpu::startup();"));
    run(&mut cargo(&dir, &arguments)).exits_with(101);
    assert!(!file.exists());
    // A second probe keeps the guard of this run.
    let twice = script
        .replace("let config", "let config = || ")
        .replace("= ||  =", "= ||")
        .replace("    config.", "    config().")
        .replace(
            ".write()",
            ".write()?;\n    config().optional(true).probe()?;\n    Ok(())",
        );
    project(name, &twice, &main("gpu::startup();"));
    run(&mut cargo(&dir, &arguments)).exits_with(0);
    assert!(file.is_file());
}

/// With all lints denied that matter.
#[test]
#[ignore = "compiles the runtime, and the file in every edition: takes half a minute"]
fn generated_file_is_free_of_warnings_in_every_edition() {
    let sound = fresh("editions-9.14");
    simulated::install((9, 14, 0), &[], &sound);
    let linked = NEEDS_BOTH.to_string();
    let opened = NEEDS_BOTH.replace(".probe()", ".link(cudnn_guard::Link::Runtime).probe()");
    for (name, build_script, forbidden) in [
        ("editions", linked, ""),
        ("editions-opened", opened, "#![forbid(unsafe_code)]\n"),
    ] {
        let dir = project(name, &build_script, "fn main() {}\n");
        let mut check = cargo(&dir, &["check", "--message-format=json"]);
        check.env("CUDA_HOME", &sound).env("CUDNN_PATH", &sound);
        let ran = run(&mut check).exits_with(0);
        let (out, runtime) = (out_dir(&ran, name), runtime(&ran));
        let compiled = fresh(&format!("{name}-compiled"));
        let main = compiled.join("lib.rs");
        let text = format!(
            "//! Denies what a consumer may deny.\n{forbidden}\
             #![deny(warnings, unused, missing_docs, unreachable_pub, unsafe_op_in_unsafe_fn)]\n\
             #![deny(clippy::all, clippy::pedantic)]\n\
             mod cudnn_guard {{ include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\")); }}\n\
             /// Uses it.\npub fn f() {{ cudnn_guard::startup(); }}\n"
        );
        let again = "/// And again, public.\n\
             pub mod guard { include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\")); }\n";
        for edition in ["2015", "2018", "2021", "2024"] {
            // clippy also reports rustc's warnings.
            let all = match edition {
                // The crate's root has to name its dependencies, and a module needs another name.
                "2015" => {
                    let text =
                        text.replace("mod cudnn_guard {", "extern crate cudnn_guard;\nmod mine {");
                    text.replace("cudnn_guard::startup()", "mine::startup()") + again
                }
                _ => format!("{text}{again}"),
            };
            fs::write(&main, all).unwrap();
            run(program("clippy-driver")
                .args(["--crate-type=lib", "--emit=metadata", "--edition", edition])
                .arg("--extern")
                .arg(format!("cudnn_guard={}", runtime.display()))
                .arg("--out-dir")
                .arg(&compiled)
                .arg(&main)
                .env("OUT_DIR", &out))
            .exits_with(0);
        }
    }
}

/// Returns the path of the crate `cudnn-guard` that the program uses, from cargo's JSON messages.
fn runtime(ran: &Ran) -> PathBuf {
    let lines = ran.stdout.lines();
    let mut artifacts =
        lines.filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let artifact = artifacts
        .find(|line| line["target"]["name"] == "cudnn_guard" && line["features"][0] == "runtime");
    let artifact = artifact.unwrap_or_else(|| panic!("{}", ran.text()));
    artifact["filenames"][0].as_str().unwrap().into()
}
