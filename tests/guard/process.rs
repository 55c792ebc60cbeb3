//! Whole runs of a program with a guard in it, on little cuDNNs that are broken in one way each.

use crate::program::{command, run};
use crate::tree::{Folder, compile};
use std::process::Stdio;

const GPU: (&str, &str) = ("TEST_GPU", "90");

fn sound() -> Folder {
    Folder::new().with_cudnn("9.14.0")
}

#[test]
fn a_sound_one_passes_in_silence() {
    let cudnn = sound();
    run("startup", &cudnn.0, &[GPU])
        .must_end_with(0)
        .must_say("");
    let ran = run("check", &cudnn.0, &[GPU]);
    ran.must_end_with(0).must_be("pass", &[]);
    let path = cudnn.text();
    assert_eq!(ran.json["schema"], 1);
    assert_eq!(ran.json["built"]["cudnn"], "9.14.0");
    assert_eq!(ran.json["built"]["cuda"], "13.0");
    assert_eq!(ran.json["loaded"]["version"], "9.14.0");
    assert_eq!(ran.json["loaded"]["cuda_major"], 13);
    assert_eq!(ran.json["loaded"]["path"], format!("{path}/libcudnn.so.9"));
    assert_eq!(
        ran.json["loaded"]["found_via"],
        format!("LD_LIBRARY_PATH, its entry `{path}`")
    );
    let parts = ran.json["loaded"]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 7);
    assert_eq!(parts[0]["name"], "graph");
    assert_eq!(parts[0]["version"], "9.14.0");
    assert_eq!(parts[0]["told_by"], "version symbol");
    assert_eq!(parts[2]["name"], "cnn");
    assert!(parts[2]["told_by"].is_null());
    assert_eq!(ran.json["driver"]["cuda"], "13.0");
    assert_eq!(ran.json["devices"][0]["compute_capability"], "9.0");
    assert_eq!(ran.json["devices"][0]["name"], "Test\tGPU");
    assert_eq!(
        ran.json["convolution"],
        serde_json::json!([{
            "device": "Test\tGPU",
            "operation": "convolution forward",
            "data_type": "f32",
            "verdict": "pass",
            "largest_error": 1.25e-7,
            "milliseconds": 0.5,
            "api": "legacy",
            "layout": "NCHW",
            "algorithm": "IMPLICIT_GEMM",
            "rounds_to_tf32": false,
            "left_out": null,
            "context_milliseconds": 100.0,
            "handle_milliseconds": 20.0,
        }])
    );
    assert_eq!(
        ran.text,
        format!(
            "\
cuDNN: pass
  built with  cuDNN 9.14.0, CUDA 13.0
  loaded      {path}/libcudnn.so.9: 9.14.0, for CUDA 13
  found via   LD_LIBRARY_PATH, its entry `{path}`
  parts in    {path}
    libcudnn_graph.so.9                     9.14.0 by its version symbol
    libcudnn_ops.so.9                       9.14.0 by its version symbol
    libcudnn_cnn.so.9                       release unknown
    libcudnn_heuristic.so.9                 release unknown
    libcudnn_engines_precompiled.so.9       release unknown
    libcudnn_engines_runtime_compiled.so.9  release unknown
    libcudnn_adv.so.9                       9.14.0 by its version symbol
  driver      /drv/libcuda.so.1 580.1, serves CUDA 13.0
  device      Test\\tGPU, compute capability 9.0
  tried       f32 convolution forward on Test\\tGPU: pass, largest error 1.2e-7, 0.5 ms"
        )
    );
}

#[test]
fn version_alone_starts_nothing() {
    let cudnn = sound();
    let ran = run("version", &cudnn.0, &[("TEST_CONVOLUTION", "abort"), GPU]);
    ran.must_end_with(0).must_be("pass", &[]);
    assert!(ran.json["driver"].is_null());
}

/// VER-01
#[test]
fn an_older_one_ends_the_program() {
    let cudnn = Folder::new().with_cudnn("9.10.2");
    let path = cudnn.text();
    let cause = format!(
        "\
loaded cuDNN 9.10.2 is older than the 9.14.0 that this program was built with  [cudnn-version-mismatch]
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  built with  9.14.0, so 9.14 or a later 9.x may be loaded
  = help: take `{path}` out of LD_LIBRARY_PATH, or put the directory of cuDNN 9.14 or a later 9.x before it
"
    );
    let hint = "  = help: set CUDNN_GUARD=warn to start the program all the same\n\n";
    run("startup", &cudnn.0, &[GPU])
        .must_end_with(78)
        .must_begin(&format!("{cause}{hint}cuDNN: fail\n"));
    // Also without a GPU, and when only the version is asked for.
    run("startup", &cudnn.0, &[]).must_end_with(78);
    run("version", &cudnn.0, &[]).must_be("fail", &["cudnn-version-mismatch"]);
    run("startup", &cudnn.0, &[GPU, ("CUDNN_GUARD", "warn")])
        .must_end_with(0)
        .must_begin(&format!("{cause}\ncuDNN: fail\n"));
    run("startup", &cudnn.0, &[GPU, ("CUDNN_GUARD", "off")])
        .must_end_with(0)
        .must_say("");
    run("startup", &cudnn.0, &[GPU, ("TEST_FINDINGS", "1")])
        .must_end_with(78)
        .must_begin(&format!(
            "{cause}  at build    nvcc and cuda.h differ [nvcc-header-skew]\n{hint}"
        ));
}

#[test]
fn operators_let_pass_what_they_name() {
    let cudnn = Folder::new().with_cudnn("9.10.2");
    let allow = ("CUDNN_GUARD_ALLOW", "no-gpu, cudnn-version-mismatch");
    run("startup", &cudnn.0, &[GPU, allow])
        .must_end_with(0)
        .must_say("");
    let ran = run("check", &cudnn.0, &[GPU, allow]);
    ran.must_be("pass", &["cudnn-version-mismatch"]);
    assert_eq!(ran.json["findings"][0]["severity"], "warning");
    assert_eq!(
        ran.json["findings"][0]["evidence"]["let pass"],
        "by CUDNN_GUARD_ALLOW"
    );
}

#[test]
fn values_that_cannot_be_read_are_named() {
    let cudnn = sound();
    run("startup", &cudnn.0, &[GPU, ("CUDNN_GUARD", "on"), ("CUDNN_GUARD_DEADLINE", "soon")])
        .must_end_with(0)
        .must_say(
            "cudnn-guard: CUDNN_GUARD=\"on\" is not deny, warn or off; deny it is\n\
             cudnn-guard: CUDNN_GUARD_DEADLINE=\"soon\" is not a number of seconds above 0; 60 it is\n",
        );
}

/// SUB-01, SUB-02, SUB-03, SUB-04, LOD-29
#[test]
fn a_missing_part_ends_the_program() {
    for part in ["graph", "cnn", "engines_precompiled"] {
        let cudnn = sound().without(&format!("libcudnn_{part}.so.9"));
        let path = cudnn.text();
        run("startup", &cudnn.0, &[GPU])
            .must_end_with(78)
            .must_begin(&format!(
                "\
cuDNN 9.14.0 at `{path}` lacks libcudnn_{part}.so.9, which a convolution needs  [parts-missing]
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  looked at   {path}
"
            ));
    }
    let old = Folder::new().with_cudnn("8.9.7");
    run("check", &old.0, &[GPU, ("TEST_BUILT", "8.9.7")]).must_be("pass", &[]);
    let old = old.without("libcudnn_cnn_infer.so.8");
    run("check", &old.0, &[GPU, ("TEST_BUILT", "8.9.7")]).must_be("fail", &["parts-missing"]);
}

#[test]
fn a_part_that_no_convolution_needs_stops_nothing() {
    let cudnn = sound().without("libcudnn_adv.so.9");
    run("startup", &cudnn.0, &[GPU])
        .must_end_with(0)
        .must_say("");
    let cudnn = sound().with_file_of("9.10.2", "libcudnn_adv.so.9");
    run("check", &cudnn.0, &[GPU]).must_be("pass", &["parts-mixed"]);
    let cudnn = sound().cut("libcudnn_adv.so.9", 100);
    run("check", &cudnn.0, &[GPU]).must_be("pass", &["library-damaged"]);
}

/// LOD-29: where a framework would go over to the CPU without a word.
#[test]
fn a_part_that_the_program_says_it_needs_ends_it() {
    let needs = ("TEST_NEEDS", "1");
    run("check", &sound().0, &[GPU, needs]).must_be("pass", &[]);
    let cudnn = sound().without("libcudnn_adv.so.9");
    let path = cudnn.text();
    run("startup", &cudnn.0, &[GPU, needs])
        .must_end_with(78)
        .must_begin(&format!(
            "\
cuDNN 9.14.0 at `{path}` lacks libcudnn_adv.so.9, which this program needs  [parts-missing]
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  looked at   {path}
"
        ));
    run("version", &cudnn.0, &[needs]).must_be("fail", &["parts-missing"]);
    let both = cudnn.without("libcudnn_cnn.so.9");
    let ran = run("check", &both.0, &[GPU, needs]);
    ran.must_be("fail", &["parts-missing", "parts-missing"]);
    let cudnn = sound().cut("libcudnn_adv.so.9", 100);
    run("check", &cudnn.0, &[GPU, needs]).must_be("fail", &["library-damaged"]);
    let old = ("TEST_BUILT", "8.9.7");
    let cudnn = Folder::new().with_cudnn("8.9.7");
    run("check", &cudnn.0, &[GPU, old, needs]).must_be("pass", &[]);
    let cudnn = cudnn.without("libcudnn_adv_infer.so.8");
    run("check", &cudnn.0, &[GPU, old, needs]).must_be("fail", &["parts-missing"]);
}

#[test]
fn a_part_elsewhere_on_the_loaders_way_is_used() {
    let cudnn = sound().without("libcudnn_cnn.so.9");
    let other = Folder::new().with_cudnn("9.14.0").without("libcudnn.so.9");
    let both = format!("{}:{}", cudnn.text(), other.text());
    let ran = run("check", &cudnn.0, &[GPU, ("LD_LIBRARY_PATH", &both)]);
    ran.must_be("pass", &[]);
    assert_eq!(
        ran.json["loaded"]["parts"][2]["path"],
        other.file("libcudnn_cnn.so.9").to_str().unwrap()
    );
}

#[test]
fn a_damaged_part_is_seen_before_it_is_opened() {
    let cudnn = sound().cut("libcudnn_ops.so.9", 5000);
    run("startup", &cudnn.0, &[GPU])
        .must_end_with(78)
        .must_begin(&format!(
            "`{}/libcudnn_ops.so.9` is cut off: it ends at byte 5000, and its segments reach to ",
            cudnn.text()
        ));
    // Without the guard's look at the file, this one would die in dlopen with SIGBUS.
    let cudnn = sound().cut("libcudnn.so.9", 5000);
    run("check", &cudnn.0, &[GPU]).must_be("fail", &["library-damaged"]);
    let cudnn = sound().cut("libcudnn_cnn.so.9", 0);
    run("check", &cudnn.0, &[GPU]).must_be("fail", &["library-damaged"]);
}

#[test]
fn a_part_for_another_machine_is_named_so() {
    // Byte 18 is the low byte of the machine: 183 is aarch64, 62 is x86_64.
    let other = if cfg!(target_arch = "x86_64") {
        183
    } else {
        62
    };
    let cudnn = sound().with_byte("libcudnn_cnn.so.9", 18, other);
    let ran = run("check", &cudnn.0, &[GPU]);
    ran.must_be("fail", &["wrong-architecture"]);
    let cudnn = sound().with_byte("libcudnn_cnn.so.9", 4, 1);
    run("check", &cudnn.0, &[GPU]).must_be("fail", &["wrong-architecture"]);
}

/// VER-03, VER-10
#[test]
fn parts_of_two_releases_end_the_program() {
    let cudnn = sound().with_file_of("9.10.2", "libcudnn_ops.so.9");
    let path = cudnn.text();
    run("startup", &cudnn.0, &[])
        .must_end_with(78)
        .must_begin(&format!(
            "\
cuDNN at `{path}` is put together from parts of different releases  [parts-mixed]
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  parts       9.14.0  {path}/libcudnn_graph.so.9
              9.10.2  {path}/libcudnn_ops.so.9
              9.14.0  {path}/libcudnn_adv.so.9
  = help: remove all `libcudnn*` files from `{path}` and install one cuDNN there, whole
"
        ));
    // A first library that answers otherwise than its parts.
    let cudnn = sound().with_file_of("9.28.0", "libcudnn.so.9");
    run("check", &cudnn.0, &[GPU]).must_be("fail", &["parts-mixed"]);
    // File names tell a release too.
    let cudnn = sound();
    std::fs::rename(
        cudnn.file("libcudnn_cnn.so.9"),
        cudnn.file("libcudnn_cnn.so.9.10.2"),
    )
    .unwrap();
    std::os::unix::fs::symlink("libcudnn_cnn.so.9.10.2", cudnn.file("libcudnn_cnn.so.9")).unwrap();
    run("check", &cudnn.0, &[GPU]).must_be("fail", &["parts-mixed"]);
}

/// LOD-17, SUB-06
#[test]
fn a_library_that_a_part_needs_is_named() {
    let cudnn = sound();
    let gone = cudnn.file("libgone.so.1");
    compile("int gone;", &gone, &[]);
    compile(
        "int here;",
        &cudnn.file("libcudnn_heuristic.so.9"),
        &["-Wl,--no-as-needed", gone.to_str().unwrap()],
    );
    std::fs::remove_file(gone).unwrap();
    let path = cudnn.text();
    run("startup", &cudnn.0, &[]).must_end_with(78).must_begin(&format!(
        "\
`{path}/libcudnn_heuristic.so.9` needs libgone.so.1, which the loader does not find  [cudnn-not-loadable]
  loader      libgone.so.1: cannot open shared object file: No such file or directory
  = help: install libgone.so.1, or put its directory into LD_LIBRARY_PATH
"
    ));
}

/// LOD-27, SUB-06
#[test]
fn the_driver_missing_for_a_part_is_no_fault_of_cudnn() {
    let cudnn = sound();
    let driver = cudnn.file("libcuda.so.1");
    compile("int driver;", &driver, &[]);
    let part = cudnn.file("libcudnn_engines_runtime_compiled.so.9");
    compile(
        "int here;",
        &part,
        &["-Wl,--no-as-needed", driver.to_str().unwrap()],
    );
    std::fs::remove_file(driver).unwrap();
    let ran = run("check", &cudnn.0, &[]);
    ran.must_be("unknown", &["driver-missing"]);
    assert_eq!(ran.json["loaded"]["cuda_major"], 13);
    // With a GPU there is still no pass: no convolution ran.
    run("check", &cudnn.0, &[GPU]).must_be("unknown", &["convolution-failed"]);
}

/// LOD-05
#[test]
fn without_a_gpu_one_line_is_said() {
    let cudnn = sound();
    run("startup", &cudnn.0, &[])
        .must_end_with(0)
        .must_say("cudnn-guard: unknown: there is no driver  [driver-missing]\n");
    run("startup", &cudnn.0, &[("TEST_GPU", "none")])
        .must_end_with(0)
        .must_say("cudnn-guard: unknown: NVIDIA's driver shows no GPU  [no-gpu]\n");
    let ran = run("check", &cudnn.0, &[("TEST_GPU", "none")]);
    ran.must_be("unknown", &["no-gpu"]);
    assert_eq!(ran.json["driver"]["library"], "/drv/libcuda.so.1");
    assert_eq!(ran.json["loaded"]["version"], "9.14.0");
    run("startup", &cudnn.0, &[("CUDNN_GUARD_REQUIRE_GPU", "1")])
        .must_end_with(78)
        .must_begin(
            "\
there is no driver  [driver-missing]
  loader      libcuda.so.1:
              no
  required    CUDNN_GUARD_REQUIRE_GPU=1 asks for a GPU that works
  = help: set CUDNN_GUARD=warn",
        );
}

/// LOD-01
#[test]
fn nothing_to_load_is_a_failure_only_beside_a_gpu() {
    let empty = Folder::new();
    run("check", &empty.0, &[]).must_be("unknown", &["cudnn-not-loadable", "driver-missing"]);
    run("check", &empty.0, &[GPU]).must_be("fail", &["cudnn-not-loadable"]);
    let path = empty.text();
    run("startup", &empty.0, &[GPU])
        .must_end_with(78)
        .must_begin(&format!(
            "\
libcudnn.so.9 cannot be loaded  [cudnn-not-loadable]
  loader      libcudnn.so.9: cannot open shared object file: No such file or directory
  looked at   LD_LIBRARY_PATH, its entry `{path}`
"
        ));
    run("check", &empty.0, &[GPU, ("TEST_LINKED", "1")]).must_be("unknown", &["not-loaded-yet"]);
}

/// LOD-11
#[test]
fn the_one_in_the_process_is_judged() {
    let old = Folder::new().with_cudnn("9.10.2");
    let new = sound();
    let open = old.file("libcudnn.so.9");
    let ran = run(
        "check",
        &new.0,
        &[GPU, ("TEST_OPEN", open.to_str().unwrap())],
    );
    assert_eq!(ran.json["loaded"]["path"], open.to_str().unwrap());
    let via = "another library of this process, which opened it by its own path";
    assert_eq!(ran.json["loaded"]["found_via"], via);
    ran.must_be("fail", &["cudnn-version-mismatch"]);
    // Eight and nine side by side are sound.
    let eight = Folder::new().with_cudnn("8.9.7");
    let open = eight.file("libcudnn.so.8");
    run(
        "check",
        &new.0,
        &[GPU, ("TEST_OPEN", open.to_str().unwrap())],
    )
    .must_be("pass", &[]);
}

/// LOD-11
#[test]
fn a_second_copy_is_a_warning() {
    let (one, two) = (sound(), sound());
    let both = [one.file("libcudnn.so.9"), two.file("libcudnn.so.9")]
        .map(|file| file.to_str().unwrap().to_string());
    let ran = run("check", &one.0, &[GPU, ("TEST_OPEN", &both.join(":"))]);
    ran.must_be("pass", &["duplicate-cudnn"]);
    assert_eq!(ran.json["findings"][0]["evidence"]["also"], both[1]);
    assert_eq!(
        ran.json["findings"][0]["summary"],
        format!(
            "more than one cuDNN is in this process; `{}` is judged",
            both[0]
        )
    );
}

/// SUB-11: parts that have no search path of their own, in a folder where nobody looks.
#[test]
fn parts_of_eight_that_do_not_find_each_other_are_opened_in_their_order() {
    let eight = Folder::new().with_cudnn("8.9.7");
    let ops = eight.file("libcudnn_ops_infer.so.8");
    compile(
        "const unsigned char cudnn_cnn_infer_version[4] = { 7, 9, 8, 0 };",
        &eight.file("libcudnn_cnn_infer.so.8"),
        &["-Wl,--no-as-needed", ops.to_str().unwrap()],
    );
    let open = eight.file("libcudnn.so.8");
    let open = ("TEST_OPEN", open.to_str().unwrap());
    let nowhere = ("LD_LIBRARY_PATH", "/nowhere");
    let old = ("TEST_BUILT", "8.9.7");
    run("check", &eight.0, &[GPU, open, nowhere, old]).must_be("pass", &[]);
}

/// SUB-10
#[test]
fn parts_of_two_releases_of_eight_end_the_program() {
    let eight = Folder::new().with_cudnn("8.9.7");
    let eight = eight.with_file_of("8.9.2", "libcudnn_cnn_infer.so.8");
    run("check", &eight.0, &[GPU, ("TEST_BUILT", "8.9.7")]).must_be("fail", &["parts-mixed"]);
}

/// SUB-14: cuDNN 8 itself says that its parts differ, with status 14, where no file tells.
#[test]
fn a_version_check_of_eight_that_fails_is_named() {
    let eight = Folder::new().with_cudnn("8.9.7");
    compile(
        "unsigned long cudnnGetVersion(void) { return 8907; }
         int cudnnOpsInferVersionCheck(void) { return 0; }
         int cudnnCnnInferVersionCheck(void) { return 14; }",
        &eight.file("libcudnn.so.8"),
        &[],
    );
    let ran = run("check", &eight.0, &[GPU, ("TEST_BUILT", "8.9.7")]);
    ran.must_be("fail", &["parts-mixed"]);
    let evidence = &ran.json["findings"][0]["evidence"];
    assert_eq!(evidence["refused by"], "cudnnCnnInferVersionCheck");
}

/// LOD-19: as with a cuDNN that is newer than the system's C library.
#[test]
fn a_part_that_wants_a_newer_library_is_refused_in_the_loaders_words() {
    let cudnn = sound();
    let (system, script) = (cudnn.file("libsystem.so.1"), cudnn.file("script"));
    let library = |version: &str| {
        std::fs::write(&script, format!("{version} {{ global: *; }};")).unwrap();
        let flag = format!("-Wl,--version-script={}", script.display());
        compile("int f(void) { return 1; }", &system, &[&flag]);
    };
    library("SYSTEM_2.27");
    compile(
        "int f(void); int g(void) { return f(); }",
        &cudnn.file("libcudnn_cnn.so.9"),
        &["-Wl,--no-as-needed", system.to_str().unwrap()],
    );
    library("SYSTEM_2.17");
    let path = cudnn.text();
    run("startup", &cudnn.0, &[GPU]).must_end_with(78).must_begin(&format!(
        "\
`{path}/libcudnn_cnn.so.9` needs SYSTEM_2.27 of `{path}/libsystem.so.1`, which has no such version  [cudnn-not-loadable]
  loader      {path}/libsystem.so.1: version `SYSTEM_2.27' not found (required by {path}/libcudnn_cnn.so.9)
  = help: "
    ));
}

/// LOD-13
#[test]
fn pinning_keeps_the_library_path_from_swapping_parts() {
    // The first library has a RUNPATH, over which LD_LIBRARY_PATH wins for everything it opens.
    let own = sound();
    let open = own.file("libcudnn.so.9");
    let foreign = Folder::new().with_cudnn("9.10.2");
    let open = ("TEST_OPEN", open.to_str().unwrap());
    let ran = run("check", &foreign.0, &[GPU, open]);
    ran.must_be("pass", &[]);
    assert_eq!(
        ran.json["loaded"]["parts"][0]["path"],
        own.file("libcudnn_graph.so.9").to_str().unwrap()
    );
    // Where nothing is pinned, those are judged that would be loaded.
    let ran = run("version", &foreign.0, &[GPU, open]);
    ran.must_be("fail", &["cudnn-version-mismatch"]);
}

/// VER-10
#[test]
fn a_part_that_slips_in_by_its_full_name_is_found() {
    // The first library asks for full names first, which no pinned file answers to.
    let cudnn = sound();
    let code = "void *dlopen(const char *, int);
        unsigned long cudnnGetVersion(void) { dlopen(\"libcudnn_graph.so.9.14.0\", 1); return 91002; }";
    compile(code, &cudnn.file("libcudnn.so.9"), &[]);
    let other = Folder::new().with_cudnn("9.10.2");
    let foreign = Folder::new();
    let slipped = foreign.file("libcudnn_graph.so.9.14.0");
    std::fs::copy(other.file("libcudnn_graph.so.9"), &slipped).unwrap();
    let (path, both) = (cudnn.text(), format!("{}:{}", cudnn.text(), foreign.text()));
    run("startup", &cudnn.0, &[GPU, ("LD_LIBRARY_PATH", &both)])
        .must_end_with(78)
        .must_begin(&format!(
            "\
cuDNN at `{path}` loads parts of another release from elsewhere  [parts-mixed]
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  and also    {}
  = help: take the directory of these files out of LD_LIBRARY_PATH, or remove them
",
            slipped.display()
        ));
}

#[test]
fn where_no_child_can_be_made_startup_calls_nothing_and_check_says_so() {
    let cudnn = sound();
    let few = ("TEST_FILES", "6");
    run("startup", &cudnn.0, &[GPU, ("TEST_CONVOLUTION", "abort"), few])
        .must_end_with(0)
        .must_say(
            "cudnn-guard: unknown: no child process can be made, in which cuDNN could be tried without risk  \
             [child-not-started]\n",
        );
    let ran = run("check", &cudnn.0, &[GPU, few]);
    ran.must_be("pass", &["child-not-started"]);
    assert_eq!(
        ran.json["findings"][0].to_string(),
        "{\"evidence\":{\"reason\":\"pipe: Too many open files (os error 24)\"},\
         \"help\":[\"raise the limit on processes (`ulimit -u`), or allow `fork`\"],\
         \"id\":\"child-not-started\",\"severity\":\"warning\",\
         \"summary\":\"cuDNN was tried in this process itself, unprotected, for want of a child\"}"
    );
    // What hangs here cannot be ended, and is left behind.
    let slow = [
        GPU,
        few,
        ("TEST_CONVOLUTION", "hang"),
        ("CUDNN_GUARD_DEADLINE", "0.4"),
    ];
    let ran = run("check", &cudnn.0, &slow);
    ran.must_be("unknown", &["child-not-started", "convolution-timeout"]);
    assert_eq!(
        ran.json["findings"][1]["summary"],
        "the thread that tries cuDNN was still running the convolution when its time was over"
    );
}

#[test]
fn what_dies_in_the_child_does_not_take_the_program_along() {
    let cudnn = sound();
    let abort = ("TEST_CONVOLUTION", "abort");
    let text = "\
cuDNN ended the process that tried it with SIGABRT while running the convolution  [cudnn-aborted]
  it printed  cuDNN says: \\u{1b}[2Jno
  = help: install the same release of cuDNN again, whole, or another one
";
    run("startup", &cudnn.0, &[GPU, abort])
        .must_end_with(78)
        .must_begin(text);
    // With SIGCHLD ignored nobody can ask how the child ended.
    run(
        "startup",
        &cudnn.0,
        &[GPU, abort, ("TEST_IGNORE_CHILDREN", "1")],
    )
    .must_end_with(78)
    .must_begin(text);
    run("check", &cudnn.0, &[GPU, ("TEST_IGNORE_CHILDREN", "1")]).must_be("pass", &[]);
}

#[test]
fn a_cudnn_that_dies_when_asked_for_its_release_is_told_of() {
    let cudnn = sound();
    compile(
        "void abort(void); unsigned long cudnnGetVersion(void) { abort(); }",
        &cudnn.file("libcudnn.so.9"),
        &[],
    );
    run("startup", &cudnn.0, &[]).must_end_with(78).must_begin(
        "cuDNN ended the process that tried it with SIGABRT while calling cudnnGetVersion  [cudnn-aborted]\n",
    );
    // Nothing of cuDNN's is called for its release alone.
    run("version", &cudnn.0, &[]).must_be("pass", &[]);
}

#[test]
fn a_child_that_hangs_is_left_behind() {
    let cudnn = sound();
    let began = std::time::Instant::now();
    run("startup", &cudnn.0, &[GPU, ("TEST_CONVOLUTION", "hang"), ("CUDNN_GUARD_DEADLINE", "0.4")])
        .must_end_with(0)
        .must_say(
            "cudnn-guard: unknown: the child process that tries cuDNN was still running the convolution when \
             its time was over  [convolution-timeout]\n",
        );
    assert!(began.elapsed().as_secs() < 20);
}

#[test]
fn a_child_that_says_nothing_proves_nothing() {
    let cudnn = sound();
    run("check", &cudnn.0, &[GPU, ("TEST_CONVOLUTION", "leave")])
        .must_be("unknown", &["child-not-started"]);
    run("check", &cudnn.0, &[GPU, ("TEST_CONVOLUTION", "flood")]).must_be("pass", &[]);
}

/// What a GPU does not serve is said, and no reason not to pass.
#[test]
fn a_thorough_check_says_what_was_left_out() {
    let cudnn = sound();
    let ran = run("thorough", &cudnn.0, &[GPU]);
    ran.must_be("pass", &[]);
    let row = &ran.json["convolution"][1];
    assert_eq!(row["data_type"], "bf16");
    assert_eq!(row["verdict"], "unknown");
    assert_eq!(row["left_out"], "this\tGPU is too old");
    assert!(row["algorithm"].is_null() && row["rounds_to_tf32"].is_null());
    assert!(row["context_milliseconds"].is_null() && row["handle_milliseconds"].is_null());
    assert!(
        ran.text.ends_with(
            "\n  tried       f32 convolution forward on Test\\tGPU: pass, largest error 1.2e-7, 0.5 ms\
             \n  not tried   bf16 convolution forward: this\\tGPU is too old"
        ),
        "{}",
        ran.text
    );
}

#[test]
fn what_the_convolution_finds_decides() {
    let cudnn = sound();
    let ran = run("check", &cudnn.0, &[GPU, ("TEST_CONVOLUTION", "wrong")]);
    ran.must_be("fail", &["convolution-wrong"]);
    assert!(ran.json["convolution"][0]["largest_error"].is_null());
    run("check", &cudnn.0, &[GPU, ("TEST_CONVOLUTION", "busy")])
        .must_be("unknown", &["device-busy"]);
    run("check", &cudnn.0, &[GPU, ("TEST_CUDA", "12080")]).must_be("fail", &["driver-too-old"]);
    run("check", &cudnn.0, &[GPU, ("TEST_TARGETS", "1")])
        .must_be("fail", &["kernels-not-covering-gpu"]);
    let ampere = ("TEST_GPU", "86");
    run("check", &cudnn.0, &[ampere, ("TEST_TARGETS", "1")]).must_be("pass", &[]);
}

/// ARC-02, ARC-04: what computes is served, whatever the tables say; what was not tried is judged by them.
#[test]
fn a_gpu_that_the_loaded_release_does_not_serve_ends_the_program() {
    let cudnn = sound();
    let told = |gpu, convolution| {
        let tables = ("TEST_TABLES", "1");
        let variables = [("TEST_GPU", gpu), ("TEST_CONVOLUTION", convolution), tables];
        run("check", &cudnn.0, &variables)
    };
    let bad = "known-bad-release";
    told("61", "busy").must_be("fail", &["arch-dropped-by-cudnn", bad, "device-busy"]);
    told("61", "right").must_be("pass", &[bad, "arch-dropped-by-cudnn"]);
    told("120", "busy").must_be("fail", &["gpu-newer-than-cudnn", bad, "device-busy"]);
    told("90", "right").must_be("pass", &[bad]);
}

/// NUM-02: a release that is known to be bad, and one that is newer than all that are known.
#[test]
fn what_the_tables_say_of_a_release_is_said_without_a_gpu() {
    let tables = ("TEST_TABLES", "1");
    let ran = run("version", &sound().0, &[tables]);
    ran.must_be("pass", &["known-bad-release"]);
    assert_eq!(ran.json["findings"][0]["severity"], "warning");
    let newer = Folder::new().with_cudnn("9.30.1");
    let ran = run("version", &newer.0, &[tables]);
    ran.must_be("pass", &["unknown-newer-version"]);
    assert_eq!(ran.json["findings"][0]["severity"], "note");
    assert_eq!(
        ran.json["findings"][0]["summary"],
        "cuDNN 9.30.1 is newer than 9.28.0, the newest that this cudnn-guard knows, and is judged as that is"
    );
}

#[test]
fn only_two_parts_are_a_cudnn_that_compiles_at_run_time() {
    let mut cudnn = sound();
    for part in ["ops", "cnn", "adv", "heuristic", "engines_precompiled"] {
        cudnn = cudnn.without(&format!("libcudnn_{part}.so.9"));
    }
    let jit = ("CUDNN_LIB_CONFIG", "GRAPH_JIT_ONLY");
    let ran = run("check", &cudnn.0, &[GPU, jit]);
    ran.must_be("pass", &[]);
    assert_eq!(ran.json["convolution"][0]["api"], "graph");
    // Untold, it may end the process for want of the other parts.
    run("check", &cudnn.0, &[GPU]).must_be("unknown", &["convolution-failed"]);
    run("startup", &cudnn.0, &[GPU]).must_end_with(0).must_say(
        "cudnn-guard: unknown: this cuDNN only compiles graphs at run time, and is not told so, \
         so no convolution was tried  [convolution-failed]\n",
    );
    run("check", &cudnn.0, &[]).must_be("unknown", &["driver-missing"]);
    // Where nothing is served, nothing is known.
    let unserved = ("TEST_CONVOLUTION", "unserved");
    let ran = run("check", &cudnn.0, &[GPU, jit, unserved]);
    ran.must_be("unknown", &["convolution-failed"]);
    assert_eq!(
        ran.json["findings"][0]["summary"],
        "no convolution could be tried"
    );
}

#[test]
fn a_program_built_without_cuda_says_why() {
    let cudnn = sound();
    let absent = ("TEST_ABSENT", "1");
    run("startup", &cudnn.0, &[GPU, absent])
        .must_end_with(0)
        .must_say(
            "cudnn-guard: unknown: this program was built without CUDA  [built-without-cuda]\n",
        );
    let ran = run("check", &cudnn.0, &[absent]);
    assert_eq!(
        ran.json["findings"][0]["evidence"]["reason"],
        "no CUDA\nfor aarch64"
    );
}

#[test]
fn the_report_is_written_where_it_is_asked_for() {
    let cudnn = sound();
    let named = cudnn.file("r-%p.json");
    run(
        "startup",
        &cudnn.0,
        &[GPU, ("CUDNN_GUARD_REPORT", named.to_str().unwrap())],
    )
    .must_end_with(0);
    let files: Vec<String> = std::fs::read_dir(&cudnn.0)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("r-"))
        .collect();
    let number: u32 = files[0]
        .strip_prefix("r-")
        .unwrap()
        .strip_suffix(".json")
        .unwrap()
        .parse()
        .unwrap();
    assert!(number > 0 && files.len() == 1, "{files:?}");
    let text = std::fs::read_to_string(cudnn.file(&files[0])).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["verdict"], "pass");

    let ran = run(
        "startup",
        &cudnn.0,
        &[GPU, ("CUDNN_GUARD_REPORT", "/dev/stderr")],
    );
    ran.must_end_with(0).must_say(&text);

    // A link stays a link.
    let link = cudnn.file("link.json");
    std::os::unix::fs::symlink(cudnn.file(&files[0]), &link).unwrap();
    run(
        "startup",
        &cudnn.0,
        &[("CUDNN_GUARD_REPORT", link.to_str().unwrap())],
    )
    .must_end_with(0);
    assert!(link.is_symlink());
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(link).unwrap()).unwrap();
    assert_eq!(json["verdict"], "unknown");

    run("startup", &cudnn.0, &[GPU, ("CUDNN_GUARD_REPORT", "/nowhere/at/all")])
        .must_end_with(0)
        .must_say("cudnn-guard: cannot write the report `/nowhere/at/all`: No such file or directory (os error 2)  [io-error]\n");
}

#[test]
fn a_termination_message_is_one_short_line() {
    let cudnn = Folder::new().with_cudnn("9.10.2");
    let log = cudnn.file("termination-log");
    // As Kubernetes makes it: there already.
    std::fs::write(&log, "").unwrap();
    let report = ("CUDNN_GUARD_REPORT", log.to_str().unwrap());
    run("startup", &cudnn.0, &[GPU, report]).must_end_with(78);
    let path = cudnn.text();
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        format!(
            "cudnn-guard: fail: loaded cuDNN 9.10.2 is older than the 9.14.0 that this program was built with  \
             [cudnn-version-mismatch]; help: take `{path}` out of LD_LIBRARY_PATH, or put the directory of cuDNN \
             9.14 or a later 9.x before it\n"
        )
    );
    // However long the names are.
    let mut deep = cudnn.0.clone();
    for _ in 0..12 {
        deep.push("a".repeat(250));
    }
    std::fs::create_dir_all(&deep).unwrap();
    for file in std::fs::read_dir(&cudnn.0).unwrap() {
        let file = file.unwrap().path();
        if file.is_file() {
            std::fs::copy(&file, deep.join(file.file_name().unwrap())).unwrap();
        }
    }
    run(
        "startup",
        &cudnn.0,
        &[GPU, report, ("LD_LIBRARY_PATH", deep.to_str().unwrap())],
    )
    .must_end_with(78);
    let line = std::fs::read_to_string(&log).unwrap();
    assert!(line.len() < 4096 && line.lines().count() == 1, "{line}");
    assert!(line.starts_with("cudnn-guard: fail: "), "{line}");
    let sound = sound();
    run("startup", &sound.0, &[GPU, report]).must_end_with(0);
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        "cudnn-guard: pass\n"
    );
}

#[test]
fn closed_streams_are_no_hindrance() {
    let cudnn = sound();
    let mut command = command("check", &cudnn.0);
    let shell = format!(
        "exec '{}' program::is_run --exact --ignored --nocapture --quiet <&- >&- 2>&-",
        command.get_program().to_str().unwrap()
    );
    let text = cudnn.file("text");
    let json = cudnn.file("json");
    let variables: Vec<_> = command
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
        .collect();
    command = std::process::Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(shell)
        .env_clear()
        .stdout(Stdio::null());
    for (name, value) in variables {
        command.env(name, value.unwrap());
    }
    command
        .env("TEST_TEXT", &text)
        .env("TEST_JSON", &json)
        .env("TEST_GPU", "90");
    command.env("TEST_CONVOLUTION", "flood");
    command.status().unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(json["verdict"], "pass");
}
