//! Kernels with a fake host compiler.

use crate::host_compiler::selection::ccbin;
use crate::kernels::Setup;
use crate::kernels::tests::package::{Package, warned};
use crate::model::Platform;
use crate::runtime::facts::Version;
use crate::system::freshness::stat_cache::StatCache;
use crate::toolchain::Toolchain;
use crate::toolkit::Product;
use std::cell::OnceCell;
use std::path::Path;

mod microsoft;

const HOST_CONFIG: &str = "#if __GNUC__ > 14\n#error -- unsupported GNU version!\n#endif\n";

/// A package with a CUDA that supports gcc 14, and with a gcc of this version and this glibc.
fn package(version: &str) -> Package {
    let package = Package::new(&[("src/a.cu", "")]);
    package.write("cuda/include/crt/host_config.h", HOST_CONFIG);
    install(&package, "cuda/bin/gcc", version);
    package
}

fn install(package: &Package, program: &str, version: &str) {
    let gcc = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvcc/gcc");
    package.write(&format!("{program}.release"), version);
    std::os::unix::fs::symlink(gcc, package.path(program)).unwrap();
}

/// Returns a toolchain with CUDA 12.9 and these variables; PATH is the package's own.
fn toolchain(package: &Package, env: &[(&str, &str)]) -> Toolchain {
    let mut toolchain = package.toolchain();
    let path = package.path("path").into_os_string();
    let mut pairs = vec![
        ("PATH".to_string(), path),
        ("HOST".to_string(), "x86_64-unknown-linux-gnu".into()),
        ("TARGET".to_string(), "x86_64-unknown-linux-gnu".into()),
    ];
    let own = env.iter();
    pairs.extend(own.map(|(name, value)| (name.to_string(), value.into())));
    toolchain.host.env = toolchain.host.env.with_pairs(&pairs);
    toolchain.allowed = toolchain.config.allowed(&toolchain.host.env);
    // The nvcc of these tests has another version, which is reported when targets are chosen.
    toolchain.selection = OnceCell::from(package.toolchain().selection());
    set_cuda_version(&mut toolchain, 12, 9);
    toolchain
}

fn set_cuda_version(toolchain: &mut Toolchain, major: u32, minor: u32) {
    toolchain.set_cuda(Version::new(major, minor, 0));
}

/// nvcc fails with "unsupported GNU version! gcc versions later than 14 are not supported!"
#[test]
fn a_gcc_that_is_too_new_is_reported_before_nvcc_fails() {
    let package = package("15.1.0 2.36");
    let (result, _) = package.compile_with(&toolchain(&package, &[]));
    assert_eq!(
        result.unwrap_err(),
        "gcc 15.1.0 at `./cuda/bin/gcc` is newer than CUDA 12.9 supports (gcc 14 or older)  [host-compiler-unsupported]\n  \
         = help: install `g++-14` (Debian, Ubuntu), `gcc14` (Arch) or `gcc14-c++` (Fedora, openSUSE), and set NVCC_CCBIN to its path\n  \
         = help: upgrade to CUDA 13.0 or later, which supports this compiler\n  \
         = help: set CUDNN_GUARD_ALLOW=host-compiler-unsupported to try it anyway\n  \
         set by      default: the first that nvcc finds on PATH\n  \
         limits      ./cuda/include/crt/host_config.h\n  \
         see         cudnn-guard explain host-compiler-unsupported"
    );
    assert_eq!(package.calls(), [""; 0]);
}

/// A supported compiler replaces the default one, with a warning.
#[test]
fn a_supported_gcc_replaces_the_default_one() {
    let package = package("15.1.0 2.36");
    for (program, version) in [
        ("path/g++-13", "13.2.0"),
        ("path/g++-9", "9.4.0"),
        ("path/g++-15", "15.1.0"),
        // The version does not match the name.
        ("path/g++-14", "16.0.0"),
    ] {
        install(&package, program, version);
    }
    let own = toolchain(&package, &[]);
    let (result, lines) = package.compile_with(&own);
    result.unwrap();
    assert_eq!(
        warned(&lines),
        [
            "gcc 15.1.0 at `./cuda/bin/gcc` is newer than CUDA 12.9 supports, so `./path/g++-13` compiles the kernels  [host-compiler-unsupported]",
            "  = help: set NVCC_CCBIN=./path/g++-13 to choose that compiler explicitly",
            "  set by      default: the first that nvcc finds on PATH",
            "  limits      ./cuda/include/crt/host_config.h",
            "  also found  13.2.0 in ./path/g++-13",
            "              9.4.0 in ./path/g++-9",
        ]
    );
    let calls = package.calls();
    assert!(calls[0].contains(" -ccbin ./path/g++-13 "), "{calls:?}");
    assert_eq!(package.compile_with(&own).0, Ok(()));
    assert_eq!(package.calls(), [""; 0], "it is fresh");

    // A build on another machine cannot use that compiler.
    let cross = toolchain(&package, &[("HOST", "aarch64-unknown-linux-gnu")]);
    package.write("src/a.cu", "other\n");
    assert_eq!(package.compile_with(&cross).0, Ok(()));
    let calls = package.calls();
    assert!(
        calls[0].contains(" -ccbin x86_64-linux-gnu-g++ "),
        "{calls:?}"
    );

    // A CXX that is not used is not the origin of the default one.
    let nvcc = package.path("cuda/bin/nvcc").to_string_lossy().into_owned();
    let with_nvcc = toolchain(&package, &[("CXX", &nvcc)]);
    assert_eq!(package.compile_with(&with_nvcc).0, Ok(()));
}

/// nvcc starts its host compiler first. An nvcc in its place would start itself again.
#[test]
fn nvcc_is_never_its_own_host_compiler() {
    let package = package("14.2.0 2.36");
    let nvcc = package.path("cuda/bin/nvcc").to_string_lossy().into_owned();
    package.write("path/mycc", &format!("#!/bin/sh\nexec '{nvcc}' \"$@\"\n"));
    let script = package.path("path/mycc");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    for name in [&*nvcc, "mycc"] {
        for variable in ["NVCC_CCBIN", "CUDAHOSTCXX"] {
            let own = toolchain(&package, &[(variable, name)]);
            assert_eq!(
                package.compile_with(&own).0.unwrap_err(),
                format!(
                    "{variable} sets nvcc's host compiler to `{}`, which is nvcc itself and would start itself endlessly  \
                     [config-invalid]\n  \
                     = help: set {variable} to a C++ compiler, such as `g++`, or unset it\n  \
                     output      Cuda compilation tools, release 13.0, V13.0.0\n  \
                     see         cudnn-guard explain config-invalid",
                    package.shown(name)
                )
            );
        }
        assert_eq!(package.calls(), [""; 0]);
        let own = toolchain(&package, &[]);
        for flags in [
            vec![format!("-ccbin={name}")],
            vec!["--compiler-bindir".into(), name.into()],
        ] {
            let (result, _) = package.run(&own, |kernels| kernels.flags(flags));
            let error = result.unwrap_err();
            assert!(
                error.contains("the nvcc argument `-ccbin` sets nvcc's host compiler to `"),
                "{error}"
            );
            assert!(
                error.contains(
                    "= help: set `-ccbin` to a C++ compiler, such as `g++`, or remove it\n"
                )
            );
        }
    }
    // Kokkos sets CXX this way for its own use.
    let own = toolchain(&package, &[("CXX", &nvcc)]);
    package.compile_with(&own).0.unwrap();
    let calls = package.calls();
    assert!(
        !calls.is_empty() && calls.iter().all(|call| !call.contains("-ccbin")),
        "{calls:?}"
    );
}

/// A compiler that was named explicitly is never replaced.
#[test]
fn an_explicitly_named_compiler_is_kept() {
    let package = package("14.2.0 2.36");
    install(&package, "path/g++-13", "13.2.0");
    install(&package, "other/g++", "15.1.0 2.36");
    let named = package.path("other/g++").to_string_lossy().into_owned();
    for name in ["NVCC_CCBIN", "CUDAHOSTCXX", "CXX"] {
        let own = toolchain(&package, &[(name, &named)]);
        let error = package.compile_with(&own).0.unwrap_err();
        assert_eq!(
            error,
            format!(
                "gcc 15.1.0 at `./other/g++` is newer than CUDA 12.9 supports (gcc 14 or older)  [host-compiler-unsupported]\n  \
                 = help: set NVCC_CCBIN=./path/g++-13\n  \
                 = help: upgrade to CUDA 13.0 or later, which supports this compiler\n  \
                 = help: set CUDNN_GUARD_ALLOW=host-compiler-unsupported to try it anyway\n  \
                 set by      {name}=./other/g++\n  \
                 limits      ./cuda/include/crt/host_config.h\n  \
                 also found  13.2.0 in ./path/g++-13\n  \
                 see         cudnn-guard explain host-compiler-unsupported"
            )
        );
    }
    let flags = ["-ccbin".to_string(), named];
    let own = toolchain(&package, &[]);
    let (result, _) = package.run(&own, |kernels| kernels.flags(flags));
    let error = result.unwrap_err();
    assert!(
        error.contains("  set by      the nvcc argument `-ccbin`\n")
            && error.contains("  = help: pass `-ccbin=./path/g++-13` instead\n"),
        "{error}"
    );
    assert_eq!(package.calls(), [""; 0]);
}

#[test]
fn an_allowed_compiler_is_shown_and_nvcc_accepts_it() {
    let package = package("15.1.0 2.36");
    install(&package, "path/g++-13", "13.2.0");
    let allow = ("CUDNN_GUARD_ALLOW", "host-compiler-unsupported");
    let (result, lines) = package.compile_with(&toolchain(&package, &[allow]));
    result.unwrap();
    let headline = "gcc 15.1.0 at `./cuda/bin/gcc` is newer than CUDA 12.9 supports (gcc 14 or older)  [host-compiler-unsupported]";
    assert_eq!(warned(&lines)[0], headline);
    let calls = package.calls();
    assert!(
        calls[0].ends_with(" -DN=4 -DM -allow-unsupported-compiler"),
        "{calls:?}"
    );
    // nvcc's own flag has the same effect.
    package.write("src/a.cu", "other\n");
    let own = toolchain(&package, &[]);
    let flag = "--allow-unsupported-compiler";
    let (result, lines) = package.run(&own, |kernels| kernels.flag(flag));
    result.unwrap();
    assert_eq!(warned(&lines)[0], headline);
    assert!(!package.calls()[0].contains("-ccbin"));
}

#[test]
fn a_supported_or_unknown_compiler_has_no_findings() {
    let package = package("14.2.0 2.36");
    // A build script queries the compiler once, so each case needs its own.
    let compile = || package.compile_with(&toolchain(&package, &[]));
    let (result, lines) = compile();
    assert_eq!((result, warned(&lines)), (Ok(()), Vec::new()));
    // If nothing is compiled, nothing is queried.
    package.write("cuda/bin/gcc.release", "99.0.0 2.36");
    let (result, lines) = compile();
    assert_eq!((result, warned(&lines)), (Ok(()), Vec::new()));
    package.write("src/a.cu", "other\n");
    assert!(compile().0.is_err(), "another compiler");
    for silent in ["", "fifteen"] {
        package.write("cuda/bin/gcc.release", silent);
        let (result, lines) = compile();
        assert_eq!((result, warned(&lines)), (Ok(()), Vec::new()));
        package.write("src/a.cu", silent);
    }
}

/// A query takes as long as compiling a small kernel.
#[test]
fn an_unchanged_compiler_is_not_queried_again() {
    let package = package("14.2.0 2.36");
    let asked = || {
        package.compile_with(&toolchain(&package, &[])).0.unwrap();
        let asked = package.path("cuda/bin/gcc.asked");
        let printed = std::fs::read_to_string(&asked).unwrap_or_default();
        let _ = std::fs::remove_file(&asked);
        printed.lines().count()
    };
    assert_eq!(asked(), 1);
    package.write("src/a.cu", "other\n");
    assert_eq!(asked(), 0, "another kernel");
    package.write("src/a.cu", "third\n");
    package.write("cuda/include/crt/host_config.h", HOST_CONFIG);
    assert_eq!(asked(), 1, "a header that it reads");
}

#[test]
fn without_a_header_the_toolkits_version_decides() {
    let package = package("15.1.0 2.36");
    std::fs::remove_file(package.path("cuda/include/crt/host_config.h")).unwrap();
    let mut own = toolchain(&package, &[]);
    let error = package.compile_with(&own).0.unwrap_err();
    assert!(
        error.contains("\n  limits      NVIDIA's header of CUDA 12.9\n"),
        "{error}"
    );
    set_cuda_version(&mut own, 99, 0);
    package.compile_with(&own).0.unwrap();
}

/// nvcc fails with "exception specification is incompatible with that of previous function "cospi"".
#[test]
fn an_incompatible_glibc_is_reported_before_nvcc_fails() {
    let package = package("14.2.0 2.41");
    let header = "cuda/include/crt/math_functions.h";
    let declared = "extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double cospi(double x)";
    package.write(header, &format!("{declared};\n"));
    let compile = || package.compile_with(&toolchain(&package, &[]));
    let error = compile().0.unwrap_err();
    let expected = "the headers of glibc 2.41 and CUDA 12.9 contradict each other, so no kernel compiles  [host-headers-incompatible]\n  \
                = help: upgrade to CUDA 13.0 or later, whose headers are compatible with this glibc\n";
    assert!(error.starts_with(expected), "{error}");
    let place = "\n  CUDA        `cospi` without `noexcept`: ./cuda/include/crt/math_functions.h\n";
    assert!(error.contains(place), "{error}");
    let allow = ("CUDNN_GUARD_ALLOW", "host-headers-incompatible");
    let (result, lines) = package.compile_with(&toolchain(&package, &[allow]));
    result.unwrap();
    assert!(warned(&lines)[0].ends_with("[host-headers-incompatible]"));
    // Both faults are reported together.
    package.write("src/a.cu", "other\n");
    package.write("cuda/bin/gcc.release", "15.1.0 2.41");
    let error = compile().0.unwrap_err();
    assert_eq!(error.matches("[host-").count(), 2, "{error}");
    package.write("cuda/bin/gcc.release", "14.2.0 2.41");
    package.write(header, &format!("{declared} noexcept (true);\n"));
    compile().0.unwrap();
}

/// An error of nvcc is reported with help.
#[test]
fn errors_of_nvcc_are_explained() {
    let package = package("14.2.0 2.36");
    let printed = "a.cu:1:10: fatal error: cudnn.h: No such file or directory";
    package.write("src/a.cu", &format!("mistake\n// nvcc says {printed}\n"));
    let (result, _) = package.compile_with(&toolchain(&package, &[]));
    let error = result.unwrap_err();
    assert!(
        error.contains(&format!("\n  nvcc says   {printed}\n"))
            && error.contains(
                "\n  = help: require cuDNN in build.rs so that its headers are found: `.cudnn(\">=9\")`\n"
            ),
        "{error}"
    );
}
