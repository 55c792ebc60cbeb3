//! Kernels with Microsoft's compiler.

use super::*;
use crate::model::CompilerChoice;

/// A program for Windows, and a Visual Studio that is found outside its developer prompt.
#[test]
fn nvcc_gets_the_variables_of_visual_studio() {
    let package = Package::new(&[("src/a.cu", "")]);
    let mut toolchain = package.toolchain();
    toolchain.host.platform = Platform::from_triple("x86_64-pc-windows-msvc");
    let (kernels, sources) = (toolchain.kernels(), vec![package.path("src/a.cu")]);
    let (plan, targets) = kernels
        .plan(Product::Fatbin, &sources, &mut Vec::new())
        .unwrap();
    let jobs = kernels.jobs(Product::Fatbin, "x", &sources, &targets);
    let jobs = jobs.unwrap();
    let with = |sdk: &str| {
        let env = [
            ("PATH", "C:/VC/bin:/usr/bin:/bin"),
            ("LIB", "C:/VC/lib"),
            ("INCLUDE", sdk),
        ];
        let env = env
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec();
        let found = (Some("C:/VC/bin/cl.exe".to_string()), env);
        let (ccbin, env) = ccbin(&CompilerChoice::Unset, &toolchain.host.platform, |_| found);
        let plan = plan.clone();
        Setup::new(
            crate::toolkit::nvcc_command::Plan { ccbin, env, ..plan },
            &toolchain,
        )
    };
    let (one, other) = (with("C:/SDK/10"), with("C:/SDK/11"));
    jobs[0].make(&one, 1).unwrap().unwrap();
    let call = &package.calls()[0];
    let expected = " -ccbin C:/VC/bin/cl.exe -use-local-env";
    assert!(call.ends_with(expected), "{call}");
    let variables = std::fs::read_to_string(package.path("cuda/variables")).unwrap();
    let expected_variables = "PATH=C:/VC/bin:/usr/bin:/bin LIB=C:/VC/lib INCLUDE=C:/SDK/10\n";
    assert_eq!(variables, expected_variables);
    let fresh = |setup| {
        jobs[0]
            .artifact(setup)
            .fresh(&StatCache::default())
            .is_some()
    };
    assert!(fresh(&one) && !fresh(&other), "another SDK, other headers");
    package.write("src/a.cu", "mistake");
    let Err(error) = jobs[0].make(&one, 1) else {
        panic!("nvcc reports an error")
    };
    let error = error.to_string();
    let printed =
        "\n  run in      the developer prompt of Visual Studio, which sets PATH, LIB and INCLUDE";
    assert!(
        error.contains(expected) && error.contains(printed),
        "{error}"
    );
}

/// CUDA 13.2 and later reject the preprocessor that Microsoft's compiler uses by default.
#[test]
fn microsofts_compiler_gets_the_flag_that_cuda_requires() {
    let package = package("cl-1944");
    let header = "cuda/include/cccl/cuda/std/__cccl/preprocessor.h";
    let macro_name = "CCCL_IGNORE_MSVC_TRADITIONAL_PREPROCESSOR_WARNING";
    let flag = " -Xcompiler /Zc:preprocessor";
    package.compile_with(&toolchain(&package, &[])).0.unwrap();
    assert!(!package.calls()[0].contains(flag));
    package.write("src/a.cu", "other\n");
    package.write(
        header,
        &format!("#if !defined({macro_name})\n#  error old\n#endif\n"),
    );
    package.compile_with(&toolchain(&package, &[])).0.unwrap();
    assert!(package.calls()[0].ends_with(flag));
    // Nothing has changed.
    package.compile_with(&toolchain(&package, &[])).0.unwrap();
    assert_eq!(package.calls(), [""; 0]);
    // The user's flag takes precedence.
    let own = [("NVCC_APPEND_FLAGS", "-Xcompiler=/Zc:preprocessor-")];
    package.compile_with(&toolchain(&package, &own)).0.unwrap();
    assert!(!package.calls()[0].contains(flag));
    // A header in the package precedes the toolkit's.
    package.write("src/cuda/std/__cccl/preprocessor.h", "#pragma once\n");
    let mut package = package;
    package
        .flags
        .push(format!("-I{}", package.path("src").display()));
    package.compile_with(&toolchain(&package, &[])).0.unwrap();
    assert!(!package.calls()[0].contains(flag));
}

/// nvcc for Windows needs cl.exe for host code, but not for device code.
#[test]
fn without_microsofts_linker_only_device_code_is_compiled() {
    let package = Package::new(&[("src/a.cu", "")]);
    let plan = |product, env: &[(&str, &str)]| {
        let windows = ("HOST", "x86_64-pc-windows-msvc");
        let mut toolchain = toolchain(&package, &[&[windows], env].concat());
        toolchain.host.platform = Platform::from_triple("x86_64-pc-windows-gnu");
        let mut lines = Vec::new();
        let kernels = toolchain.kernels();
        let planned = kernels.plan(product, &[package.path("src/a.cu")], &mut lines);
        let lines = lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        (planned.map_err(|error| error.to_string()).err(), lines)
    };
    let (error, _) = plan(Product::Object, &[]);
    assert_eq!(
        error.unwrap(),
        "nvcc compiles host code for Windows only with Microsoft's `cl.exe`, which is incompatible with the target `x86_64-pc-windows-gnu`  [host-compiler-unsupported]\n  \
         = help: build with `--target x86_64-pc-windows-msvc`\n  \
         = help: compile only device code: call `.fatbin()` in build.rs, and load it with `cuModuleLoadData`\n  \
         see         cudnn-guard explain host-compiler-unsupported"
    );
    let allow = [("CUDNN_GUARD_ALLOW", "host-compiler-unsupported")];
    let (error, lines) = plan(Product::Object, &allow);
    assert_eq!(error, None);
    assert!(
        warned(&lines)[0].ends_with("[host-compiler-unsupported]"),
        "{lines:?}"
    );
    assert_eq!(plan(Product::Fatbin, &[]), (None, Vec::new()));
}
