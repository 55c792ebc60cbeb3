//! Code around the builders.

use super::ported;
use crate::cli::init::port::port;

/// The builder, the variables and the blocks that the scripts of candle and mistral.rs have.
#[test]
fn code_around_a_builder_stays() {
    let script = r#"// A script.
use anyhow::{Context, Result};
use std::env;
use std::path::PathBuf;

// The kernels.
const FILES: [&str; 2] = ["a.cu", "b.cu"];
const HEADERS: [&str; 1] = ["a.h"];

/// Is not called any more.
fn threads() -> usize {
    HEADERS.len()
}

fn version() -> Result<String> {
    std::fs::read_to_string("VERSION").context("no version")
}

#[cfg(feature = "cuda")]
fn main() -> Result<()> {
    println!("cargo:rerun-if-changed=VERSION"); // A file.
    for header in HEADERS {
        println!("cargo:rerun-if-changed={header}");
    }
    let dir = match env::var("BUILD_DIR") {
        Ok(dir) => PathBuf::from(dir).canonicalize().context("no directory")?,
        Err(_) => PathBuf::from(env::var("OUT_DIR").unwrap()),
    };
    let files: Vec<_> = FILES.iter().collect();
    let mut more = vec!["c.cu"];
    if env::var_os("MORE").is_some() {
        more.push("d.cu");
    }
    // The builder.
    let mut builder = cudaforge::KernelBuilder::new()
        .source_files(files)
        .source_files(&more)
        .max_threads(threads())
        .out_dir(&dir);

    let cap = builder.get_compute_cap().unwrap_or(80);
    let is_new = if cap >= 80 {
        // bf16 needs it.
        builder = builder.arg("-DBF16").arg("-O3");
        true
    } else {
        false
    };
    builder = builder.arg(format!("-DCAP={cap}"));
    let text = "a
b";
    builder.build_lib(dir.join("libx.a")).expect("built");
    println!("cargo:rustc-link-search={}", env::var("OUT_DIR")?);
    println!("cargo:rustc-link-lib=x");
    if !is_new {
        println!("cargo:rustc-link-lib=dylib=stdc++");
    } else {
        println!("cargo:rustc-link-lib=stdc++");
    }
    let major = version()?;
    println!("cargo:rustc-cfg=v{major}");

    if is_new { println!("cargo:rustc-cfg={text}") }
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn main() -> Result<()> {
    Ok(())
}
"#;
    let expected = r#"// A script.
use anyhow::{Context, Result};
use std::env;

// The kernels.
const FILES: [&str; 2] = ["a.cu", "b.cu"];

fn version() -> Result<String> {
    std::fs::read_to_string("VERSION").context("no version")
}

#[cfg(feature = "cuda")]
fn main() {
    println!("cargo:rerun-if-changed=VERSION"); // A file.
    let mut more = vec!["c.cu"];
    if env::var_os("MORE").is_some() {
        more.push("d.cu");
    }
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(">=11").probe()?;
        // The builder.
        let mut builder = gpu.kernels()
            .files(FILES)
            .files(&more)
            .default_stream(cudnn_guard::DefaultStream::PerThread);

        let cap = gpu
            .targets()?
            .iter()
            .map(|it| (it.capability.major * 10 + it.capability.minor) as usize)
            .min()
            .unwrap_or(80);
        let is_new = if cap >= 80 {
            // bf16 needs it.
            builder = builder.define("BF16", None).flag("-O3");
            true
        } else {
            false
        };
        builder = builder.flag(format!("-DCAP={cap}"));
        let text = "a
b";
        builder.compile("x")?;
        let major = version().map_err(cudnn_guard::Error::other)?;
        println!("cargo:rustc-cfg=v{major}");

        if is_new { println!("cargo:rustc-cfg={text}") }
        Ok(())
    });
}

#[cfg(not(feature = "cuda"))]
fn main() -> Result<()> {
    Ok(())
}
"#;
    assert_eq!(ported(script), expected);
    let unread = port(script).unwrap().ok().unwrap().unread;
    assert_eq!(unread, ["BUILD_DIR"]);
}

/// A library in C next to it, and a function that may return before.
#[test]
fn other_builders_of_cc_stay() {
    let script = r#"use cc::Build;

fn main() {
    c();
    if std::env::var_os("CARGO_FEATURE_CUDA").is_some() {
        cuda();
    }
}

fn c() {
    cc::Build::new().file("a.c").compile("c");
}

fn cuda() {
    if std::env::var_os("SKIP").is_some() {
        return;
    }
    let name = "kernels";
    let mut build = Build::new();
    build.cuda(true).include(std::env::var("DEP_A_ROOT").unwrap());
    if cfg!(unix) {
        build.flag("-arch=native");
    }
    build.files(found("*.cu")).compile(name);
}
"#;
    let expected = r#"
fn main() {
    c();
    if std::env::var_os("CARGO_FEATURE_CUDA").is_some() {
        cuda();
    }
}

fn c() {
    cc::Build::new().file("a.c").compile("c");
}

fn cuda() {
    if std::env::var_os("SKIP").is_some() {
        return;
    }
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(">=11").embed_ptx(true).probe()?;
        let mut build = gpu.kernels();
        build = build.include(std::env::var("DEP_A_ROOT").unwrap());
        if cfg!(unix) {
            build = build.archs(["-arch=native"]);
        }
        build
            .files(found("*.cu"))
            .flag("-rdc=true")
            .compile("kernels")
    });
}
"#;
    assert_eq!(ported(script), expected.trim_start());
    assert!(port(script).unwrap().ok().unwrap().uses("cc"));
}

/// The error type of cudaforge, in a helper.
#[test]
fn the_result_of_the_tool_is_replaced() {
    let script = r#"use cudaforge::{KernelBuilder, Result};
use std::fs;

fn hash() -> Result<u8> {
    Ok(fs::read("a.h")?[0])
}

fn main() -> Result<()> {
    let hash = format!("-DHASH={}", hash()?);
    KernelBuilder::new().arg(&hash).build_lib("liba.a")?;
    Ok(())
}
"#;
    let expected = r#"use std::fs;

type Result<T> = std::result::Result<T, cudnn_guard::Error>;

fn hash() -> Result<u8> {
    Ok(fs::read("a.h")?[0])
}

fn main() -> Result<()> {
    let hash = format!("-DHASH={}", hash()?);
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(">=11").probe()?;
        gpu.kernels()
            .flag(&hash)
            .default_stream(cudnn_guard::DefaultStream::PerThread)
            .files("src/**/*.cu")
            .compile("a")
    });
    Ok(())
}
"#;
    assert_eq!(ported(script), expected);
}

/// Calls and ends that many scripts contain.
#[test]
fn common_forms_are_ported() {
    let script = r#"use anyhow::Context;

fn main() -> anyhow::Result<()> {
    kernels(80)?;
    Ok(())
}

fn kernels(arch: u32) -> anyhow::Result<()> {
    let out = std::env::var("OUT_DIR")?;
    let mut builder = cudaforge::KernelBuilder::new()
        .source_files(glob::glob("src/*.cu")?.filter_map(Result::ok))
        .arg(format!("-gencode=arch=compute_{arch},code=sm_{arch}"));
    for flag in FLAGS {
        builder = builder.arg(flag);
    }
    let cap: usize = builder.get_compute_cap().unwrap_or(80);
    builder.build_lib(format!("{out}/libk.a")).context("no library")?;
    println!("cargo:rustc-cfg=cap=\"{cap}\"");
    Ok(())
}
"#;
    let expected = r#"fn kernels(arch: u32) -> anyhow::Result<()> {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(">=11").probe()?;
        let mut builder = gpu.kernels()
            .files(glob::glob("src/*.cu")?.filter_map(Result::ok).collect::<Vec<_>>())
            .archs([format!("-gencode=arch=compute_{arch},code=sm_{arch}")])
            .default_stream(cudnn_guard::DefaultStream::PerThread);
        for flag in FLAGS {
            builder = builder.flag(flag);
        }
        let cap: usize = gpu
            .targets()?
            .iter()
            .map(|it| (it.capability.major * 10 + it.capability.minor) as usize)
            .min()
            .unwrap_or(80);
        builder.compile("k")?;
        println!("cargo:rustc-cfg=cap=\"{cap}\"");
        Ok(())
    });
    Ok(())
}
"#;
    let unclear = ported(script);
    assert!(unclear.starts_with("cudaforge 10: "), "{unclear}");
    let script = script.replace(
        "glob::glob(\"src/*.cu\")?",
        "glob::glob(\"src/*.cu\").unwrap()",
    );
    let expected = expected.replace(
        "glob::glob(\"src/*.cu\")?",
        "glob::glob(\"src/*.cu\").unwrap()",
    );
    let new = ported(&script);
    assert!(new.ends_with(&expected), "{new}");
    // A caller that continues after an error would not notice one.
    let going_on = script.replace("kernels(80)?;", "let _ = kernels(80);");
    assert!(
        ported(&going_on).contains("a function that returns a value"),
        "{}",
        ported(&going_on)
    );
    let includes = "fn main() { cc::Build::new().cuda(true).includes(&[\"a\", \"b\"]).file(\"a.cu\").compile(\"k\"); }";
    let lines = ".include(\"a\")\n            .include(\"b\")\n";
    assert!(ported(includes).contains(lines), "{}", ported(includes));
}
