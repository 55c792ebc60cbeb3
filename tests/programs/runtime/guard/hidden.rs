//! Libraries that sub-libraries open by name. A missing one is reported only if cuDNN failed, since it may work without
//! it.

use super::program::{GPU, Ran, check, startup};
use crate::support::installation::{Folder, compile, library_path, sound};
use crate::support::rows;
use cudnn_guard::internals::install::missing_dlopen::{MissingDlopen, name_in};
use cudnn_guard::internals::loader::search_path::SearchPath;

const REFUSED: (&str, &str) = ("TEST_CONVOLUTION", "refused");

fn with(cudnn: &Folder, name: &str) {
    compile("int here;", &cudnn.file(name), &[]);
}

/// Returns the headlines of all findings but the first.
fn suspects(ran: &Ran) -> Vec<String> {
    let findings = ran.json["findings"].as_array().unwrap();
    let headlines = findings
        .iter()
        .skip(1)
        .map(|it| it["summary"].as_str().unwrap().to_string());
    headlines.collect()
}

#[test]
fn cublas_and_a_cublaslt_from_elsewhere_are_reported() {
    let cudnn = Folder::new().with_cudnn("8.9.7");
    let other = Folder::new();
    with(&cudnn, "libcublas.so.13");
    with(&other, "libcublasLt.so.13");
    with(&other, "libnvrtc.so.13");
    with(&other, "libnvrtc-builtins.so.13.0");
    let old = ("TEST_BUILT", "8.9.7");
    let report = cudnn.file("start.json");
    let variables = [
        GPU,
        REFUSED,
        old,
        ("LD_LIBRARY_PATH", library_path(&[&cudnn, &other])),
        ("CUDNN_GUARD_REPORT", report.to_str().unwrap()),
    ];
    startup(&cudnn, &variables).must_end_with(78);
    let report = std::fs::read_to_string(&report).unwrap();
    assert!(report.contains("\"cuda-libraries-mixed\""), "{report}");
    let ran = check(&cudnn, &variables);
    assert_eq!(
        suspects(&ran),
        ["libcublas and its libcublasLt come from two installations"]
    );
    assert_eq!(ran.json["findings"][1]["id"], "cuda-libraries-mixed");
    assert_eq!(
        ran.json["findings"][1]["evidence"]["libcublasLt"],
        other.at("libcublasLt.so.13")
    );
}

/// Compiles a `libcudnn.so.9` that opens `name`, reports a failure in the words of cuDNN 8, and then runs `then`.
fn that_opens(cudnn: &Folder, name: &str, then: &str) {
    let code = format!(
        "extern int puts(const char *); void *dlopen(const char *, int); char *dlerror(void); void abort(void);
        int dprintf(int, const char *, ...);
        unsigned long cudnnGetCudartVersion(void) {{ return 12020; }}
        unsigned long cudnnGetVersion(void) {{
            if (!dlopen(\"{name}\", 1)) {{
                dprintf(2, \"Could not load library libcudnn_cnn_infer.so.8. Error: %s\\n\", dlerror());
                {then};
            }}
            return 91400;
        }}"
    );
    compile(&code, &cudnn.file("libcudnn.so.9"), &[]);
}

/// Every driver includes libcuda.so.1, but cuDNN 8 opens libcuda.so.
#[test]
fn a_missing_unversioned_name_of_the_driver_is_reported() {
    let cudnn = sound();
    that_opens(&cudnn, "libcuda.so", "abort()");
    with(&cudnn, "libcuda.so.1");
    let path = cudnn.text();
    let ended = "cuDNN crashed the test process (SIGABRT) while calling cudnnGetVersion: the loader did not find libcuda.so  [cudnn-aborted]";
    let printed = "output      Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared \
        object file: No such file or directory";
    startup(&cudnn, &[GPU]).must_stop(&format!(
        "{ended}
  = help: create a link with that name: `ln -s {path}/libcuda.so.1 {path}/libcuda.so`
  available   {path}/libcuda.so.1
  {printed}
"
    ));
    // Adding the link fixes it.
    std::os::unix::fs::symlink("libcuda.so.1", cudnn.file("libcuda.so")).unwrap();
    check(&cudnn, &[GPU]).must_be("pass", &["cuda-flavour-mismatch"]);
    // The loader finds no driver.
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::fs::remove_file(cudnn.file(name)).unwrap();
    }
    startup(&cudnn, &[]).must_stop(&format!(
        "{ended}
  = help: create a link `libcuda.so` to the driver's libcuda.so.1 (not to the toolkit's stub) in a directory of LD_LIBRARY_PATH
  {printed}
"
    ));
}

/// The name of a missing library, and an output of cuDNN.
const OUTPUTS: &str = "\
libcuda.so | E: libcuda.so: cannot open shared object file: No such
libnvrtc.so.12 | \"libnvrtc.so.12: cannot open shared object file
- | /p/libcuda.so: cannot open shared object file
- | libcudnn_ops.so.9: cannot open shared object file
- | data.bin: cannot open shared object file
- | libcuda.so: cannot open it
";

/// A message of cuDNN about a missing library counts only if cuDNN then fails.
#[test]
fn a_library_that_cudnn_reports_as_missing_is_named_when_it_fails() {
    let cudnn = sound();
    that_opens(&cudnn, "libcudart.so", "");
    with(&cudnn, "libcudart.so.12");
    let path = cudnn.text();
    check(&cudnn, &[GPU]).must_be("pass", &["cuda-flavour-mismatch"]);
    let ran = check(&cudnn, &[GPU, REFUSED]);
    let finding = &ran.json["findings"].as_array().unwrap()[1..];
    let finding = finding
        .iter()
        .find(|it| it["summary"].as_str().unwrap().starts_with("cuDNN opens"));
    let finding = finding.expect(&ran.text);
    assert_eq!(
        finding["summary"],
        "cuDNN opens libcudart.so, which the loader cannot find"
    );
    assert_eq!(finding["severity"], "warning");
    assert_eq!(
        finding["evidence"]["available"],
        format!("{path}/libcudart.so.12")
    );
    assert_eq!(
        finding["help"][0],
        format!("create a link with that name: `ln -s {path}/libcudart.so.12 {path}/libcudart.so`")
    );
    // WSL has both names in a directory that the loader does not search.
    let wsl = Folder::new();
    let driver = wsl.file("libcuda.so.1");
    std::fs::write(wsl.file("libcuda.so"), "").unwrap();
    let nothing = SearchPath::new(&[], None, None, None);
    let unopened = MissingDlopen::parse_output(
        "libcuda.so: cannot open shared object file",
        Some(&driver),
        None,
        &nothing,
    );
    let finding = unopened.unwrap().finding("output", "");
    let help = format!("add `{}` to LD_LIBRARY_PATH", wsl.text());
    assert_eq!(finding.help, [help]);
    for [name, output] in rows(OUTPUTS) {
        assert_eq!(name_in(output).as_deref().unwrap_or("-"), name);
    }
}

/// cuDNN 8.5 opens `libnvrtc.so` and `libcuda.so`. cuDNN 8.9 tries `libnvrtc.so.12` first. The names are in its files.
#[test]
fn unversioned_names_in_the_files_of_cudnn_8_are_found() {
    let cudnn = Folder::new().with_cudnn("8.9.7");
    let old = ("TEST_BUILT", "8.9.7");
    with(&cudnn, "libcuda.so.1");
    with(&cudnn, "libcublas.so.13");
    with(&cudnn, "libcublasLt.so.13");
    let path = cudnn.text();
    let part = |words: &str| {
        let code = format!("const char *words(void) {{ return \"{words}\"; }}");
        compile(&code, &cudnn.file("libcudnn_cnn_infer.so.8"), &[]);
    };
    let missing = || {
        let ran = check(&cudnn, &[GPU, REFUSED, old]);
        let findings = ran.json["findings"].as_array().unwrap();
        let mut helps = Vec::new();
        for finding in findings {
            let summary = finding["summary"].as_str().unwrap();
            if let Some((_, name)) = summary.split_once("libcudnn_cnn_infer.so.8` opens ") {
                let name = name.split(',').next().unwrap();
                helps.push(format!("{name}: {}", finding["help"][0].as_str().unwrap()));
                let places = finding["evidence"]["searched"].to_string();
                assert!(places.contains("LD_LIBRARY_PATH"), "{places}");
            }
        }
        helps
    };
    let driver = format!(
        "libcuda.so: create a link with that name: `ln -s {path}/libcuda.so.1 {path}/libcuda.so`"
    );
    let install =
        |name: &str| format!("{name}: install {name}, or add its directory to LD_LIBRARY_PATH");
    part(r"libnvrtc.so\0libcuda.so");
    assert_eq!(missing(), [install("libnvrtc.so"), driver.clone()]);
    with(&cudnn, "libnvrtc.so.13");
    with(&cudnn, "libnvrtc-builtins.so.13.0");
    let nvrtc = format!(
        "libnvrtc.so: create a link with that name: `ln -s {path}/libnvrtc.so.13 {path}/libnvrtc.so`"
    );
    assert_eq!(missing(), [nvrtc, driver.clone()]);
    part(r"libnvrtc.so.%d\0libnvrtc.so\0libcuda.so");
    assert_eq!(missing(), [driver]);
    std::fs::remove_file(cudnn.file("libnvrtc.so.13")).unwrap();
    let wheels = r#"libnvrtc.so.13: install the libraries of CUDA 13: `pip install --target ~/cuda13 "cuda-toolkit["#;
    assert!(missing()[0].starts_with(wheels), "{:?}", missing());
    // Follow the help.
    for name in ["libnvrtc.so", "libcuda.so"] {
        with(&cudnn, name);
    }
    assert_eq!(missing(), [""; 0]);
    // Names that are not in the file are not reported.
    std::fs::remove_file(cudnn.file("libcuda.so")).unwrap();
    part("libcuda.so.1");
    assert_eq!(missing(), [""; 0]);
}

/// Opening the sub-libraries takes nearly all the time of a check. Without a driver, only their files are checked, if these
/// show the versions and the CUDA that they were built for, and the loader finds the libraries that they are linked to.
#[test]
fn sub_libraries_are_opened_only_if_there_is_a_driver() {
    let cudnn = sound();
    for name in [
        "cnn",
        "heuristic",
        "engines_precompiled",
        "engines_runtime_compiled",
    ] {
        let name = format!("libcudnn_{name}.so.9");
        let complete = format!("{name}.14.0");
        std::fs::rename(cudnn.file(&name), cudnn.file(&complete)).unwrap();
        std::os::unix::fs::symlink(&complete, cudnn.file(&name)).unwrap();
    }
    let aborts =
        "void abort(void); __attribute__((constructor)) static void start(void) { abort(); }";
    let file = cudnn.file("libcudnn_cnn.so.9.14.0");
    compile(aborts, &file, &[]);
    check(&cudnn, &[GPU]).must_be("fail", &["cudnn-aborted"]);
    check(&cudnn, &[]).must_be("fail", &["cudnn-aborted", "driver-missing"]);
    let opens = "extern const char opens[]; const char opens[] = \"libcublasLt.so.13\";";
    let engines = cudnn.file("libcudnn_engines_precompiled.so.9.14.0");
    compile(opens, &engines, &[]);
    check(&cudnn, &[]).must_be("unknown", &["driver-missing"]);
    let other = Folder::new();
    with(&other, "libother.so");
    compile(
        aborts,
        &file,
        &["-L", other.text(), "-Wl,--no-as-needed", "-lother"],
    );
    check(&cudnn, &[]).must_be("fail", &["cudnn-not-loadable", "driver-missing"]);
    let path = ("LD_LIBRARY_PATH", library_path(&[&cudnn, &other]));
    check(&cudnn, &[path]).must_be("unknown", &["driver-missing"]);
}
