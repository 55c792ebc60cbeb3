//! The generated file in every edition, with all relevant lints denied. These tests are a separate program because the
//! oldest supported Rust compiles them too: `.ci/msrv`.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    reason = "tests make files and run programs"
)]

mod support;

use std::fs;
use std::path::PathBuf;
use support::{Ran, cargo, fresh, out_dir, program, project, run, simulated};

const NEEDS_BOTH: &str = "fn main() { cudnn_guard::build(|| {\n    \
    let gpu = cudnn_guard::Config::new().cuda(\">=11\").cudnn(\">=9.1\").probe()?;\n    \
    gpu.link();\n    gpu.guard().write()\n}); }\n";

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
        for edition in ["2018", "2021", "2024"] {
            // clippy also reports rustc's warnings. The oldest Rust is installed without clippy.
            let compiler = std::env::var_os("RUSTC").unwrap_or("clippy-driver".into());
            fs::write(&main, format!("{text}{again}")).unwrap();
            run(program(compiler)
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
