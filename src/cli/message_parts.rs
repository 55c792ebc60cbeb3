//! Explanations of messages by their parts: a library, a function or a status, and the program that prints them.

use crate::cli::known_messages::{Explanation, explanations};
use crate::inspection::preflight::refused::cuda_of;
use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../../build-support/compat/message-parts.txt");

static PATTERNS: LazyLock<BTreeMap<&str, Regex>> = LazyLock::new(|| {
    let rows = rows("pattern").chain(rows("phase"));
    let regex = |text| Regex::new(text).expect("a tested table");
    rows.map(|row| (row[1], regex(row[row.len() - 1])))
        .collect()
});

/// Returns the columns of each row of a kind.
fn rows(kind: &str) -> impl Iterator<Item = Vec<&'static str>> {
    let prefix = format!("{kind} | ");
    let rows = TABLE.lines().filter(move |row| row.starts_with(&prefix));
    rows.map(|row| row.split(" | ").collect())
}

/// Returns the last match of a pattern of the table.
fn find<'t>(pattern: &str, line: &'t str) -> Option<Captures<'t>> {
    PATTERNS[pattern].captures_iter(line).last()
}

/// Each line that is explained by its parts contains one of these texts.
const HINTS: [&str; 8] = [".so", "cu", "CU", "nv", "NV", "ccl", "CCL", "[["];

/// Returns `true` for a line that reports an error and may name a CUDA library, function or status.
pub fn is_message(line: &str) -> bool {
    let has = |pattern| PATTERNS[pattern].is_match(line);
    HINTS.iter().any(|it| line.contains(it)) && has("fault") && !has("command")
}

/// Explains a line that reports an error, by the CUDA library, function or status in it.
pub fn explain(line: &str) -> Option<Explanation> {
    let has = |pattern| PATTERNS[pattern].is_match(line);
    if !is_message(line) {
        return None;
    }
    // The number of a status is explained like its name.
    let number = find("number", line);
    let status = number.and_then(|it| rows("status").find(|row| row[1] == &it[1]));
    if let Some(known) = status.and_then(|row| explanations(row[2]).pop()) {
        let line = line.trim().to_string();
        return Some(Explanation { line, ..known });
    }
    // A function that is absent tells more than the file in which it is absent.
    let order = match has("undefined") {
        true => ["function", "file", "status", "device", "product", "other"],
        false => ["file", "status", "function", "device", "product", "other"],
    };
    let mut parts = order.into_iter();
    let (part, named) = parts.find_map(|part| Some((part, find(part, line)?)))?;
    let group = |at| named.get(at).map_or("", |it| it.as_str());
    let (library, absent) = match part {
        "file" | "product" => (library_file(&named)?, "absent"),
        "other" | "device" => (Library::default(), "absent"),
        _ => {
            let owner = match group(2) {
                "cuda" => "cudart",
                "cu" => "cuda",
                prefix => prefix,
            };
            (library(owner, None)?, "undefined")
        }
    };
    let kind = match part {
        "file" | "product" => library.kind,
        part => part,
    };
    let state = if has(absent) { "absent" } else { "present" };
    let phase = rows("phase").find(|row| has(row[1]));
    let (who, phase) = phase.map_or(("The program", ""), |row| (row[1], row[2]));
    let values = [
        ("{who}", who),
        ("{name}", group(1)),
        ("{library}", library.name),
        ("{product}", &library.product),
        ("{packages}", &library.packages),
    ];
    let parts = [kind, phase, state];
    let fits = |row: &Vec<&str>| (0..3).all(|at| ["*", parts[at]].contains(&row[at + 1]));
    let row = rows("answer").find(fits)?;
    let fill = |text: String, (name, value): &(&str, &str)| text.replace(name, value);
    let [cause, help] = [row[5], row[6]].map(|text| values.iter().fold(text.to_string(), fill));
    let finding = Some(row[4]).filter(|id| *id != "-");
    Some(Explanation {
        line: line.trim().to_string(),
        finding,
        cause,
        help,
    })
}

/// A library of NVIDIA's.
#[derive(Default)]
struct Library {
    name: &'static str,
    kind: &'static str,
    product: String,
    /// The packages that contain it.
    packages: String,
}

/// Returns the library with this file name, option or name.
fn library_file(named: &Captures<'_>) -> Option<Library> {
    let group = |names: [&str; 2]| names.iter().find_map(|name| named.name(name));
    let name = group(["name", "option"])?.as_str();
    let number = group(["dll", "so"]).and_then(|it| it.as_str().parse().ok());
    // The names of DLLs contain the minor version too: nvrtc64_120_0.dll.
    let number = number.map_or(0, |it: u32| if it >= 100 { it / 10 } else { it });
    let cuda = cuda_of(&format!("lib{name}"), number).parse().ok();
    library(name, cuda.filter(|cuda| (11..50).contains(cuda)))
}

/// Returns the library with this name, without `lib`, of this CUDA if it is known.
fn library(name: &str, cuda: Option<u32>) -> Option<Library> {
    let name = name.to_lowercase();
    let row = rows("library").find(|row| name.starts_with(&row[2].to_lowercase()))?;
    let cuda = cuda.filter(|_| row[3].contains("{cuda}"));
    let major = cuda.unwrap_or(12).to_string();
    // From CUDA 13 on, the names of the toolkit's wheels contain no number.
    let suffix = if cuda >= Some(13) { "" } else { "-cu{cuda}" };
    let packages = row[4].replace("{-cu}", suffix).replace("{cuda}", &major);
    let product = match cuda {
        Some(_) => row[3].replace("{cuda}", &major),
        None => row[3].replace("CUDA {cuda}", "the CUDA toolkit"),
    };
    let packages = packages + cuda.map_or(" (these are for CUDA 12)", |_| "");
    let [kind, name] = [row[1], row[2]];
    Some(Library {
        name,
        kind,
        product,
        packages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindingId;
    use crate::toolkit::package_names::PACKAGES;

    #[test]
    fn every_answer_is_complete() {
        let phases: Vec<&str> = rows("phase").map(|row| row[2]).collect();
        for row in rows("answer") {
            let [_, kind, phase, state, finding, cause, help] = row[..] else {
                panic!("{row:?}");
            };
            let kinds = "driver cudnn library function status device other".split(' ');
            assert!(kinds.clone().any(|it| it == kind), "{kind}");
            assert!(phase == "*" || phases.contains(&phase), "{phase}");
            assert!(["*", "absent", "present"].contains(&state), "{state}");
            assert!(
                finding == "-" || FindingId::parse(finding).is_some(),
                "{finding}"
            );
            assert!(cause.ends_with('.') && !help.ends_with('.'), "{cause}");
            let all = format!("{cause} {help}");
            assert_eq!(all.matches('`').count() % 2, 0, "{all}");
        }
    }

    #[test]
    fn the_packages_of_a_toolkit_are_those_of_the_build() {
        for (names, package, wheel) in PACKAGES {
            for name in names {
                let known = library(name, Some(12)).unwrap_or_else(|| panic!("{name}"));
                let packages = format!(
                    "`{package}-12-X` of NVIDIA's repository (X is the minor version) or \
                     `nvidia-{wheel}-cu12` of PyPI"
                );
                assert_eq!(known.packages, packages, "{name}");
            }
        }
    }

    /// Returns the finding, and the cause and the help in one text.
    #[track_caller]
    fn explained(line: &str) -> (Option<&'static str>, String) {
        let known = explain(line).unwrap_or_else(|| panic!("{line}"));
        let text = format!("{}\n{}", known.cause, known.help);
        assert!(
            !text.contains(['{', '}']) || text.contains("println!"),
            "{text}"
        );
        (known.finding, text)
    }

    #[test]
    fn a_library_is_answered_with_its_package_for_its_cuda() {
        for (line, finding, names) in [
            (
                "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory",
                "library-not-found",
                "`libcudart.so.13`, a library of CUDA 13|`nvidia-cuda-runtime` of PyPI",
            ),
            (
                "OSError: libcusolver.so.12: cannot open shared object file: No such file or directory",
                "library-not-found",
                "a library of CUDA 13|`libcusolver-13-X`",
            ),
            (
                "Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.12",
                "library-not-found",
                "ONNX Runtime cannot|`libcublasLt.so.12`, a library of CUDA 12",
            ),
            (
                "DllNotFoundException: Unable to load DLL 'nvrtc64_120_0.dll'",
                "library-not-found",
                "`nvrtc64_120_0.dll`, a library of CUDA 12|`nvidia-cuda-nvrtc-cu12`",
            ),
            (
                "Unable to load libcurand.so.10",
                "library-not-found",
                "a library of the CUDA toolkit|these are for CUDA 12",
            ),
            (
                "NvmlError: failed to load libnvidia-ml.so: a libloading error occurred",
                "driver-missing",
                "only NVIDIA's driver contains",
            ),
            (
                "LINK : fatal error LNK1181: cannot open input file 'nvinfer_10.lib'",
                "partial-toolkit",
                "The linker does not find `nvinfer_10.lib`, a library of TensorRT",
            ),
            (
                "OSError: libnvinfer.so.11: cannot open shared object file: No such file or directory",
                "library-not-found",
                "a library of TensorRT|`tensorrt-cu12<11`|these are for CUDA 12",
            ),
            (
                "ld: cannot find -lcutensor: No such file or directory",
                "partial-toolkit",
                "a library of cuTENSOR",
            ),
        ] {
            let (found, text) = explained(line);
            assert_eq!(found, Some(finding), "{line}");
            assert!(names.split('|').all(|name| text.contains(name)), "{text}");
        }
    }

    #[test]
    fn a_function_is_answered_with_its_library_for_each_tool() {
        for (line, library, phase) in [
            (
                "mold: error: undefined symbol: cudnnCreate",
                "`cudnn` (cuDNN)",
                "linker",
            ),
            (
                "ld.lld: error: undefined symbol: cublasLtMatmul",
                "`cublas`",
                "linker",
            ),
            (
                "a.cc:main: error: undefined reference to 'cudaMalloc'",
                "`cudart`",
                "linker",
            ),
            (
                "a.obj : error LNK2019: unresolved external symbol __imp_cuInit",
                "`cuda`",
                "linker",
            ),
            (
                "lld-link: error: undefined symbol: cusparseCreate",
                "`cusparse`",
                "linker",
            ),
            (
                "k.cu(3): error: identifier \"cudaMemcpyBatchAsync\" is undefined",
                "`cudart`",
                "headers",
            ),
            (
                "ImportError: a.so: undefined symbol: cublasLtGetVersion",
                "`cublas`",
                "loaded",
            ),
        ] {
            let (_, text) = explained(line);
            assert!(text.contains(library) && text.contains(phase), "{text}");
        }
    }

    #[test]
    fn the_number_of_a_status_is_explained_like_its_name() {
        for (line, name) in [
            ("CUDA error 35 at main.cu:12", "cudaErrorInsufficientDriver"),
            ("cuInit failed with error code 100", "CUDA_ERROR_NO_DEVICE"),
            ("CUDA driver error: 999", "CUDA_ERROR_UNKNOWN"),
            ("cudaMalloc returned error 2", "CUDA_ERROR_OUT_OF_MEMORY"),
        ] {
            let known = explanations(name).remove(0);
            assert_eq!(
                explain(line).map(|it| it.cause),
                Some(known.cause),
                "{line}"
            );
        }
        for row in rows("status") {
            assert!(!explanations(row[2]).is_empty(), "{row:?}");
        }
        let (_, text) = explained("cudnn error: CUDNN_STATUS_MAPPING_ERROR");
        assert!(text.contains("does not tell the cause"), "{text}");
    }

    /// None of these is a failure of CUDA, and none may be explained as one.
    #[test]
    fn nothing_is_known_about_messages_of_others() {
        for line in [
            "error[E0308]: mismatched types expected `usize`, found `i32`",
            "error[E0432]: unresolved import `cudarc::cudnn`",
            "error[E0425]: cannot find function `cudnnCreate` in this scope",
            "error: no rules expected the token `cudnn`",
            "fatal: not a git repository (or any of the parent directories): .git",
            "fatal: unable to access 'https://github.com/NVIDIA/cudnn-frontend.git/': Could not resolve host: github.com",
            "error: linker `cc` not found",
            "[I] cuDNN 9.1.0 found; compiled with cuDNN 9.1.0 and CUDA 12.4",
            "I compiled it with CUDA 12.4 but found CUDA 12.2; cuDNN 9.1.0 is installed",
            "/usr/bin/ld: cannot find -lssl: No such file or directory",
            "undefined reference to `SSL_CTX_new'",
            "LINK : fatal error LNK1181: cannot open input file 'openblas.lib'",
            "/opt/cudnn/include/foo.h:12:5: error: expected ';' after expression",
            "FileNotFoundError: [Errno 2] No such file or directory: 'data/cublas_bench.csv'",
            "KeyError: 'cudnn_enabled'",
            "error: CUDA_HOME is not set to a directory",
            "test cuda::tests::matmul ... FAILED",
            "note: \"cc\" \"-lcudart\" \"-lcublas\" failed",
            "CUDNN_STATUS_SUCCESS",
            // ml-explore/mlx#3204: cuDNN is slow under WDDM, which no message, file or variable shows.
            "10.4 tok/s with cuDNN, 480 without",
            "undefined reference to `std::__cxx11::basic_ostringstream<char>::str() const'",
            "mold: error: undefined symbol: EVP_sha256",
            "undefined reference to `dlopen'",
            "undefined reference to `pthread_create'",
            "/usr/lib/x86_64-linux-gnu/libpthread.so.0: error adding symbols: DSO missing from command line",
            "error: command '/usr/bin/gcc' failed with exit code 1",
            "error: command 'cmake' failed with exit status 1",
            "cl : Command line error D8021 : invalid numeric argument '/Wextra'",
            "cl : Command line warning D9002 : ignoring unknown option '-fPIC'",
            "Because numpy==1.20.0 has no wheels with a matching Python ABI tag (e.g., `cp313`), we can conclude",
            "ERROR: No matching distribution found for torch==2.9.1",
            "ERROR: Could not find a version that satisfies the requirement tensorflow-io==0.31",
            "libssl-dev : Depends: libssl3 (= 3.0.2) but 3.0.13 is to be installed",
            "gir1.2-gtk-4.0 : Depends: libgtk-4-1 but it is not installable",
            "- nothing provides openssl >=4.0 needed by curl-8.0",
            "Error: Unable to find a match: foo-devel",
            "No match for argument: htop",
            "E: Unable to locate package neofetch",
            "cannot stat `/etc/resolv.conf`: No such file or directory",
            "cat: /dev/sda: Permission denied",
            "open /dev/kvm: permission denied",
            "LINK : fatal error LNK1181: cannot open input file 'python312.lib'",
            "main.obj : error LNK2019: unresolved external symbol SDL_Init referenced in function main",
            "src/main.cpp(12): error: identifier \"foo\" is undefined",
            "error C2065: 'foo': undeclared identifier",
            "clang: error: no such file or directory: 'main.c'",
            "clang: error: unsupported option '-fopenmp'",
            "gcc: error: unrecognized command-line option '-mavx10'",
            "ninja: build stopped: subcommand failed.",
            "Error: database returned 304",
            "HTTP 802: not ready",
            "test failed with error code 35",
            "Target \"app\" links to target \"OpenSSL::SSL\" but the target was not found.",
            "The link interface of target \"grpc\" contains: ZLIB::ZLIB but the target was not found.",
            "CMake Error: CMAKE_CXX_COMPILER not set, after EnableLanguage",
            "Specified provider 'OpenVINOExecutionProvider' is not in available provider names",
        ] {
            assert_eq!(explanations(line), [], "{line}");
        }
    }
}
