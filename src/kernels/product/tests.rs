//! Device code in separate files, compiled by a fake nvcc that records its arguments.

use super::*;
use crate::kernels::tests::package::Package;
use crate::runtime::facts::FindingId;
use crate::toolkit::nvcc_output::parse_gpu_codes;

/// Runs a call, and returns its outputs and the calls of nvcc.
fn made(
    package: &Package,
    make: impl Fn(Kernels) -> Result<Vec<PathBuf>, Error>,
) -> (Vec<String>, Vec<String>) {
    let toolchain = package.toolchain();
    let paths = make(toolchain.kernels().files(package.pattern())).unwrap();
    assert!(paths.iter().all(|path| path.is_file()), "{paths:?}");
    let shown = |path: &PathBuf| package.shown(path.to_str().unwrap());
    (paths.iter().map(shown).collect(), package.calls())
}

#[test]
fn ptx_is_for_the_lowest_target() {
    let package = Package::new(&[("src/a.cu", ""), ("src/x/b.cu", ""), ("src/y/b.cu", "")]);
    let (paths, calls) = made(&package, |all| all.ptx());
    let b = |path: &str| format!("./out/b-{:016x}.ptx", package.hash(path));
    assert_eq!(
        paths,
        ["./out/a.ptx".to_string(), b("src/x/b.cu"), b("src/y/b.cu")]
    );
    assert_eq!(
        calls[0],
        "-ptx ./src/a.cu -o ./out/a.ptx -Xcompiler -MD,-MF,./out/cudnn-guard/ptx/a.d \
         -gencode=arch=compute_80,code=compute_80 -O3"
    );
}

#[test]
fn a_fatbin_is_for_all_targets() {
    let mut package = Package::new(&[("src/a.cu", ""), ("src/x/b.cu", ""), ("src/y/b.cu", "")]);
    package.archs = "80 90a compute_90a 8.6(8.0) compute_90";
    let (paths, calls) = made(&package, |all| all.fatbin());
    let b = |path: &str| format!("./out/b-{:016x}.fatbin", package.hash(path));
    assert_eq!(
        paths,
        [
            "./out/a.fatbin".to_string(),
            b("src/x/b.cu"),
            b("src/y/b.cu")
        ]
    );
    assert_eq!(
        calls[0],
        "-fatbin ./src/a.cu -o ./out/a.fatbin -MD -MF ./out/cudnn-guard/fatbin/a.d \
         -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_80,code=sm_86 \
         -gencode=arch=compute_90,code=compute_90 -gencode=arch=compute_90a,code=sm_90a \
         -gencode=arch=compute_90a,code=compute_90a -O3"
    );
    assert_eq!(made(&package, |all| all.fatbin()), (paths, Vec::new()));
}

#[test]
fn a_cubin_is_for_one_target() {
    let mut package = Package::new(&[("src/a.cu", ""), ("src/x/b.cu", ""), ("src/y/b.cu", "")]);
    package.archs = "90a 80 compute_90";
    let (paths, calls) = made(&package, |all| all.cubin());
    let b = |path: &str, target: &str| {
        let hash = package.hash(path);
        format!("./out/b-{hash:016x}.{target}.cubin")
    };
    assert_eq!(
        paths,
        [
            "./out/a.sm_80.cubin".to_string(),
            "./out/a.sm_90a.cubin".to_string(),
            b("src/x/b.cu", "sm_80"),
            b("src/x/b.cu", "sm_90a"),
            b("src/y/b.cu", "sm_80"),
            b("src/y/b.cu", "sm_90a"),
        ]
    );
    assert_eq!(
        calls[..2],
        [
            "-cubin ./src/a.cu -o ./out/a.sm_80.cubin -Xcompiler -MD,-MF,./out/cudnn-guard/cubin/a.sm_80.d \
             -gencode=arch=compute_80,code=sm_80 -O3",
            "-cubin ./src/a.cu -o ./out/a.sm_90a.cubin -Xcompiler -MD,-MF,./out/cudnn-guard/cubin/a.sm_90a.d \
             -gencode=arch=compute_90a,code=sm_90a -O3",
        ]
    );
    // An additional target does not affect the others.
    package.archs = "90a 80 86";
    let calls = made(&package, |all| all.cubin()).1;
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls.iter().all(|call| call.contains("code=sm_86 ")));
}

#[test]
fn ptx_has_no_cubin() {
    let mut package = Package::new(&[("src/a.cu", "")]);
    package.archs = "compute_80 compute_90a";
    let toolchain = package.toolchain();
    let error = toolchain.kernels().files(package.pattern()).cubin();
    assert_eq!(
        error.unwrap_err().to_string(),
        "a cubin contains machine code, but all targets are PTX: compute_80, compute_90a  [config-invalid]\n  \
         = help: set CUDNN_GUARD_ARCHS=80 to compile machine code\n  \
         = help: call `.ptx()` or `.fatbin()` in build.rs, which accept PTX\n  \
         chosen by   CUDNN_GUARD_ARCHS\n  \
         see         cudnn-guard explain config-invalid"
    );
    assert_eq!(package.calls(), [""; 0]);
}

#[test]
fn nvcc_lists_the_files_that_gcc_does_not_list() {
    let package = Package::new(&[("src/a.cu", "#include \"a.h\"\n"), ("src/a.h", "1")]);
    let listed_by = |package: &Package| {
        let calls = made(package, |all| all.ptx()).1;
        let by = |call: &String| {
            if call.contains(" -Xcompiler -MD,") {
                "gcc"
            } else {
                "nvcc"
            }
        };
        calls.iter().map(by).collect::<Vec<_>>()
    };
    assert_eq!(listed_by(&package), ["gcc"]);
    package.write("cuda/deaf", "");
    // The list of the last build still exists.
    package.write("src/a.h", "22");
    assert_eq!(listed_by(&package), ["nvcc", "gcc"]);
    assert_eq!(listed_by(&package), [""; 0]);
    package.write("src/a.h", "333");
    assert_eq!(listed_by(&package), ["nvcc", "gcc"]);
}

#[test]
fn a_changed_header_rebuilds_all_outputs() {
    let package = Package::new(&[("src/a.cu", "#include \"a.h\"\n"), ("src/a.h", "1")]);
    let all = || {
        let (_, ptx) = made(&package, |all| all.ptx());
        let (_, fatbin) = made(&package, |all| all.fatbin());
        let (_, cubin) = made(&package, |all| all.cubin());
        (ptx.len(), fatbin.len(), cubin.len())
    };
    assert_eq!(all(), (1, 1, 2));
    assert_eq!(all(), (0, 0, 0));
    package.write("src/a.h", "22");
    assert_eq!(all(), (1, 1, 2));
}

#[test]
fn ptx_keeps_a_letter_only_if_it_is_the_only_one() {
    let text = |codes: &str| {
        let targets = parse_gpu_codes(codes);
        ptx_for_all(&targets).map(|target| target.to_string())
    };
    assert_eq!(text("sm_100\nsm_90a").as_deref(), Some("compute_90"));
    assert_eq!(text("sm_90a").as_deref(), Some("compute_90a"));
    assert_eq!(text("sm_100").as_deref(), Some("compute_100"));
    assert_eq!(text(""), None);
}

/// Otherwise one file would be lost, and the program would get the other one.
#[test]
fn an_output_never_overwrites_another_of_the_same_build() {
    let package = Package::new(&[("src/a.cu", ""), ("src/x/a.cu", "")]);
    let toolchain = package.toolchain();
    let one = |path: &str| toolchain.kernels().file(package.path(path));
    let message = |result: Result<(), Error>| package.shown(&result.unwrap_err().to_string());
    let ptx = |kernels: Kernels| kernels.ptx().map(|_| ());
    ptx(one("src/a.cu")).unwrap();
    ptx(one("src/a.cu")).unwrap();
    one("src/a.cu").fatbin().unwrap();
    let twice = |file: &str| {
        let first = match file.ends_with(".a") {
            true => "give the second library or module another name",
            false => {
                "create a second source file with another name that defines the macros and includes the first one"
            }
        };
        format!(
            "build.rs builds `{file}` twice with different sources or options  [config-invalid]\n  \
             = help: {first}\n  \
             = help: pass all sources in one call, which keeps files with the same name apart\n  \
             see         cudnn-guard explain config-invalid"
        )
    };
    let half = one("src/a.cu").define("HALF", None);
    assert_eq!(message(ptx(half)), twice("a.ptx"));
    assert_eq!(message(ptx(one("src/x/a.cu"))), twice("a.ptx"));
    let library = |path, name| one(path).library(name, &mut Vec::new());
    library("src/a.cu", "one").unwrap();
    library("src/x/a.cu", "other").unwrap();
    library("src/a.cu", "one").unwrap();
    assert_eq!(message(library("src/x/a.cu", "one")), twice("libone.a"));
}

fn written(package: &Package, name: &str) -> String {
    std::fs::read_to_string(package.path("out").join(name)).unwrap()
}

#[test]
fn a_module_has_a_constant_for_each_file() {
    let mut package = Package::new(&[("src/a-b.cu", "x"), ("src/2d.cu", "")]);
    let head = "// Generated by cudnn-guard: the kernels that build.rs compiled.\n";
    made(&package, |all| all.module("ptx").ptx());
    assert_eq!(
        written(&package, "ptx.rs"),
        format!(
            "{head}pub const _2D: &str = include_str!(\"2d.ptx\");\n\
             pub const A_B: &str = include_str!(\"a-b.ptx\");\n"
        )
    );
    made(&package, |all| all.module("fatbin").fatbin());
    assert!(
        written(&package, "fatbin.rs").contains("A_B: &[u8] = include_bytes!(\"a-b.fatbin\");")
    );
    package.archs = "80 90a";
    made(&package, |all| all.module("cubin").cubin());
    let cubin = written(&package, "cubin.rs");
    assert_eq!(cubin.lines().count(), 1 + 4, "{cubin}");
    assert!(cubin.contains("A_B_SM_90A: &[u8] = include_bytes!(\"a-b.sm_90a.cubin\");"));
    // The crate also compiles without CUDA.
    let mut toolchain = package.toolchain();
    toolchain.absent = Some(FindingId::CudaNotFound.error("none").into());
    assert_eq!(package.compile_with(&toolchain), (Ok(()), Vec::new()));
    assert_eq!(toolchain.targets().unwrap(), []);
    let all = || toolchain.kernels().files(package.pattern());
    assert_eq!(
        all().module("ptx").ptx().unwrap(),
        [""; 0].map(PathBuf::from)
    );
    assert_eq!(
        written(&package, "ptx.rs"),
        format!("{head}pub const _2D: &str = \"\";\npub const A_B: &str = \"\";\n")
    );
    all().module("fatbin").fatbin().unwrap();
    assert!(written(&package, "fatbin.rs").contains("pub const A_B: &[u8] = &[];\n"));
}

#[test]
fn an_invalid_module_is_rejected() {
    let package = Package::new(&[("src/a-b.cu", ""), ("src/a_b.cu", ""), ("src/c.cu", "")]);
    let toolchain = package.toolchain();
    let message =
        |result: Result<Vec<PathBuf>, Error>| package.shown(&result.unwrap_err().to_string());
    let see = "see         cudnn-guard explain config-invalid";
    let all = || toolchain.kernels().files(package.pattern());
    assert_eq!(
        message(all().module("ptx").ptx()),
        format!(
            "`./src/a-b.cu` and `./src/a_b.cu` would both become `A_B` in the module `ptx`  [config-invalid]\n  \
             = help: rename one of the files, or compile it in a call with another module\n  {see}"
        )
    );
    all().exclude("a_b.cu").module("ptx").ptx().unwrap();
    for name in ["", "cudnn_guard", "a/b", "a\nb"] {
        assert_eq!(
            message(all().module(name).ptx()),
            format!(
                "{name:?} is not a valid name for a module of kernels  [config-invalid]\n  \
                 = help: use only letters, digits and `_`, as in `.module(\"ptx\")`\n  {see}"
            )
        );
    }
    let other = || toolchain.kernels().file(package.path("src/c.cu"));
    let twice = message(other().module("ptx").ptx());
    assert!(
        twice.starts_with("build.rs builds `ptx.rs` twice with different sources or options"),
        "{twice}"
    );
    for (kernels, method) in [
        (other().module("k"), "module"),
        (other().out_dir("k"), "out_dir"),
    ] {
        let error = kernels.library("k", &mut Vec::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "`.{method}(..)` is only for files that a program loads, but the library `k` is linked  [config-invalid]\n  \
                 = help: remove `.{method}(..)` from build.rs\n  \
                 = help: end the call with `.ptx()`, `.fatbin()` or `.cubin()`\n  {see}"
            )
        );
    }
}

/// A file in the repository is not touched if the contents are the same.
#[test]
fn another_directory_gets_copies() {
    let package = Package::new(&[("src/a.cu", "1")]);
    let shipped = package.path("shipped/kernels");
    let (paths, calls) = made(&package, |all| all.out_dir(&shipped).ptx());
    assert_eq!(
        (&paths[..], calls.len()),
        (&["./shipped/kernels/a.ptx".to_string()][..], 1)
    );
    let file = shipped.join("a.ptx");
    let date = || std::fs::metadata(&file).unwrap().modified().unwrap();
    let (text, old) = (std::fs::read(&file).unwrap(), date());
    assert_eq!(made(&package, |all| all.out_dir(&shipped).ptx()).1, [""; 0]);
    assert_eq!(date(), old);
    std::fs::write(&file, "torn").unwrap();
    assert_eq!(made(&package, |all| all.out_dir(&shipped).ptx()).1, [""; 0]);
    assert_eq!(std::fs::read(&file).unwrap(), text);
    assert_eq!(std::fs::read_dir(&shipped).unwrap().count(), 1);
}
