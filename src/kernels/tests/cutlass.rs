//! The headers of CUTLASS.

use super::*;
use crate::kernels::memory_limit::per_thread;
use crate::kernels::setup::include_dirs;
use crate::kernels::tests::package::Package;

const HEADER: &str = "include/cutlass/cutlass.h";
const UTILITY: &str = "tools/util/include/cutlass/util/host_tensor.h";

/// Compiles with CUTLASS. Returns the `-I` flags of nvcc.
fn include_flags(package: &Package, toolchain: &Toolchain) -> Result<Vec<String>, String> {
    let kernels = toolchain.kernels().files(package.pattern()).include("own");
    let compiled = kernels.cutlass().library("k", &mut Vec::new());
    compiled.map_err(|error| package.shown(&error.to_string()))?;
    let call = package.calls().concat();
    assert!(!call.contains("CUTLASS"), "{call}");
    let words = call.split(' ').filter(|word| word.starts_with("-I"));
    Ok(words.map(String::from).collect())
}

#[test]
fn headers_are_found_by_variable_or_wheel() {
    let wheel = "home/cutlass_library/source";
    for (variable, value, dir) in [
        ("CUTLASS_PATH", "vendored", "vendored"),
        ("CUDNN_GUARD_HOME", "home", wheel),
        (
            "XDG_DATA_HOME",
            "data",
            "data/cudnn-guard/cutlass_library/source",
        ),
    ] {
        let mut package = Package::new(&[("src/a.cu", "")]);
        for file in [HEADER, UTILITY] {
            package.write(&format!("{dir}/{file}"), "");
        }
        package.env = vec![(variable, package.path(value).display().to_string())];
        let flags = [
            "-Iown".to_string(),
            format!("-I./{dir}/include"),
            format!("-I./{dir}/tools/util/include"),
        ];
        let toolchain = package.toolchain();
        assert_eq!(include_flags(&package, &toolchain), Ok(flags.to_vec()));
    }
    // A toolkit of wheels, and an incomplete wheel.
    let package = Package::new(&[("src/a.cu", "")]);
    package.write(&format!("{wheel}/{HEADER}"), "");
    let mut toolchain = package.toolchain();
    for root in ["home/nvidia/cu13", "home/nvidia"] {
        toolchain.set(Found::Toolkit(Toolkit {
            nvcc: Some(package.path("cuda/bin/nvcc")),
            link_dirs: vec![package.path("cuda/lib64")],
            root: package.path(root),
            ..Toolkit::default()
        }));
        let flags = toolchain.kernels().cutlass().cutlass_flags();
        let include = package.path(&format!("{wheel}/include"));
        let flag = format!("-I{}", include.display());
        assert!(flags.is_ok_and(|flags| flags == [flag]), "{root}");
    }
}

#[test]
fn kernels_with_cutlass_get_more_memory() {
    let mut package = Package::new(&[("src/a.cu", ""), ("c/include/cutlass/cutlass.h", "")]);
    package.env = vec![("CUTLASS_PATH", package.path("c").display().to_string())];
    let toolchain = package.toolchain();
    let memory = |kernels: Kernels| {
        let sources = [package.path("src/a.cu")];
        let (plan, _) = kernels
            .plan(Product::Object, &sources, &mut Vec::new())
            .unwrap();
        per_thread(&include_dirs(&plan.flags)) >> 30
    };
    assert_eq!(memory(toolchain.kernels()), 1);
    assert_eq!(memory(toolchain.kernels().cutlass()), 4);
}

#[test]
fn missing_headers_are_an_error_that_names_the_searched_places() {
    let mut package = Package::new(&[("src/a.cu", "")]);
    let text = |package: &Package| include_flags(package, &package.toolchain()).unwrap_err();
    package.env = vec![("XDG_DATA_HOME", package.path("data").display().to_string())];
    assert_eq!(
        text(&package),
        "build.rs compiles kernels with CUTLASS, but its headers are not installed  [config-invalid]\n  \
         = help: run `cudnn-guard fetch --with cutlass`\n  \
         = help: set CUTLASS_PATH to the directory that contains `include/cutlass/cutlass.h`\n  \
         searched    ./data/cudnn-guard/cutlass_library/source\n  \
         see         cudnn-guard explain config-invalid"
    );
    let home = package.path("home").display().to_string();
    package.env.push(("CUDNN_GUARD_HOME", home));
    assert!(
        text(&package).contains("= help: run `cudnn-guard fetch --with cutlass --to ./home`\n")
    );
    // If the variable is set, nothing else is searched.
    package.write("home/cutlass_library/source/include/cutlass/cutlass.h", "");
    assert!(include_flags(&package, &package.toolchain()).is_ok());
    package.env = vec![
        (
            "CUDNN_GUARD_HOME",
            package.path("home").display().to_string(),
        ),
        ("CUTLASS_PATH", package.path("no").display().to_string()),
    ];
    assert_eq!(
        text(&package),
        "CUTLASS_PATH is set to a directory that does not contain `include/cutlass/cutlass.h`  [config-invalid]\n  \
         = help: set CUTLASS_PATH to the directory that contains `include/cutlass/cutlass.h`\n  \
         = help: unset CUTLASS_PATH, and run `cudnn-guard fetch --with cutlass --to ./home`\n  \
         searched    ./no\n  \
         see         cudnn-guard explain config-invalid"
    );
}
