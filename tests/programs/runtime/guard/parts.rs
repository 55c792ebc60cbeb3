//! Sub-libraries of cuDNN that are missing, damaged or of different versions, in complete runs.

use super::program::{GPU, check, run, startup, version};
use crate::support::installation::{Folder, compile, compile_linked, library_path, sound};
use cudnn_guard::internals::binary::elf::Elf;
use cudnn_guard::internals::facts::{Severity, Version};
use cudnn_guard::internals::install::refusal;
use cudnn_guard::internals::loader::map_failures;
use std::path::Path;

#[test]
fn a_missing_sub_library_stops_the_program() {
    for part in ["graph", "cnn", "engines_precompiled"] {
        let cudnn = sound().without(&format!("libcudnn_{part}.so.9"));
        let path = cudnn.text();
        startup(&cudnn, &[GPU]).must_stop(&format!(
            "\
cuDNN 9.14.0 at `{path}` is missing `libcudnn_{part}.so.9`, which convolutions need  [parts-missing]
  = help: reinstall cuDNN 9.14.0 in `{path}`: the main library opens the others from there
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  searched    {path}
"
        ));
    }
    let old = Folder::new().with_cudnn("8.9.7");
    check(&old, &[GPU, ("TEST_BUILT", "8.9.7")]).must_be("pass", &[]);
    let old = old.without("libcudnn_cnn_infer.so.8");
    check(&old, &[GPU, ("TEST_BUILT", "8.9.7")]).must_be("fail", &["parts-missing"]);
}

/// The directory that supplies sub-libraries to the wrong cuDNN would also supply them to the right cuDNN in its place.
#[test]
fn sub_libraries_of_a_third_version_are_removed_with_the_wrong_cudnn() {
    let parts = Folder::new().with_cudnn("9.12.0").without("libcudnn.so.9");
    let old = Folder::new().with_cudnn("9.10.2");
    let says = |dirs: &[&Folder], help: &str| {
        let ran = startup(&old, &[GPU, ("LD_LIBRARY_PATH", library_path(dirs))]);
        ran.must_stop(&format!(
            "\
loaded cuDNN 9.10.2 is older than 9.14.0, which this program was built with  [cudnn-version-mismatch]
  = help: {help}
  loaded      {}/libcudnn.so.9
",
            old.text()
        ));
    };
    let wanted = "cuDNN 9.14 or later 9.x";
    let (path, third) = (old.text(), parts.text());
    let instead = |wanted: &str| {
        format!("remove `{path}` from LD_LIBRARY_PATH, or add the directory of {wanted} before it")
    };
    let both = format!(
        "remove `{third}` from LD_LIBRARY_PATH, and {}",
        instead(wanted)
    );
    says(&[&parts, &old], &both);
    // Behind the wrong cuDNN they are not used.
    says(&[&old, &parts], &instead(wanted));
    // Sub-libraries that the program can run with stay, and need a main library of their version.
    let right = sound().without("libcudnn.so.9");
    says(&[&right, &old], &instead("cuDNN 9.14.0"));
    // Follow each help.
    let good = sound();
    for dirs in [&[&good][..], &[&right, &good], &[&good, &old]] {
        let ran = startup(&good, &[GPU, ("LD_LIBRARY_PATH", library_path(dirs))]);
        ran.must_be_silent();
    }
    let way = format!("{third}:{}", good.text());
    let ran = check(&good, &[("LD_LIBRARY_PATH", &way)]);
    ran.must_be("fail", &["parts-mixed", "driver-missing"]);
}

#[test]
fn a_sub_library_that_no_convolution_needs_stops_nothing() {
    let cudnn = sound().without("libcudnn_adv.so.9");
    startup(&cudnn, &[GPU]).must_be_silent();
    let cudnn = sound().with_file_of("9.10.2", "libcudnn_adv.so.9");
    check(&cudnn, &[GPU]).must_be("pass", &["parts-mixed"]);
    let cudnn = sound().cut("libcudnn_adv.so.9", 100);
    check(&cudnn, &[GPU]).must_be("pass", &["library-damaged"]);
}

/// Without the check, a framework would silently fall back to the CPU.
#[test]
fn a_missing_sub_library_that_the_program_declares_stops_it() {
    let needs = ("TEST_NEEDS", "1");
    check(&sound(), &[GPU, needs]).must_be("pass", &[]);
    let cudnn = sound().without("libcudnn_adv.so.9");
    let path = cudnn.text();
    startup(&cudnn, &[GPU, needs]).must_stop(&format!(
        "\
cuDNN 9.14.0 at `{path}` is missing `libcudnn_adv.so.9`, which this program needs  [parts-missing]
  = help: reinstall cuDNN 9.14.0 in `{path}`: the main library opens the others from there
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  searched    {path}
"
    ));
    version(&cudnn, &[needs]).must_be("fail", &["parts-missing"]);
    let both = cudnn.without("libcudnn_cnn.so.9");
    let ran = check(&both, &[GPU, needs]);
    ran.must_be("fail", &["parts-missing", "parts-missing"]);
    let cudnn = sound().cut("libcudnn_adv.so.9", 100);
    check(&cudnn, &[GPU, needs]).must_be("fail", &["library-damaged"]);
    let old = ("TEST_BUILT", "8.9.7");
    let cudnn = Folder::new().with_cudnn("8.9.7");
    check(&cudnn, &[GPU, old, needs]).must_be("pass", &[]);
    let cudnn = cudnn.without("libcudnn_adv_infer.so.8");
    check(&cudnn, &[GPU, old, needs]).must_be("fail", &["parts-missing"]);
}

#[test]
fn a_sub_library_elsewhere_on_the_search_path_is_used() {
    let cudnn = sound().without("libcudnn_cnn.so.9");
    let other = Folder::new().with_cudnn("9.14.0").without("libcudnn.so.9");
    let ran = check(
        &cudnn,
        &[GPU, ("LD_LIBRARY_PATH", library_path(&[&cudnn, &other]))],
    );
    ran.must_be("pass", &[]);
    assert_eq!(ran.part(2), other.at("libcudnn_cnn.so.9"));
}

#[test]
fn a_damaged_sub_library_is_detected_before_it_is_opened() {
    let cudnn = sound().cut("libcudnn_ops.so.9", 5000);
    startup(&cudnn, &[GPU]).must_stop(&format!(
            "`{}/libcudnn_ops.so.9` is truncated: its size is 5000 bytes, but its segments extend to byte ",
            cudnn.text()
    ));
    // If the guard did not inspect the file first, the process would die in dlopen with SIGBUS.
    let cudnn = sound().cut("libcudnn.so.9", 5000);
    check(&cudnn, &[GPU]).must_be("fail", &["library-damaged"]);
    let cudnn = sound().cut("libcudnn_cnn.so.9", 0);
    check(&cudnn, &[GPU]).must_be("fail", &["library-damaged"]);
}

/// As by `eu-strip --strip-sections`: the loader reads no sections, and fills the last page with zeros.
#[test]
fn a_cudnn_without_sections_passes() {
    let cudnn = sound();
    for entry in std::fs::read_dir(&cudnn.0).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        // The section header table: its offset, the number of its entries and the index of their names.
        bytes[40..48].fill(0);
        bytes[60..64].fill(0);
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let rows = (64..).step_by(56).take(usize::from(bytes[56]));
        let mapped = rows.filter(|row| bytes[*row..row + 4] == [1, 0, 0, 0]);
        let end = mapped.map(|row| number(row + 8) + number(row + 32)).max();
        let end = end.unwrap() - 4;
        assert!(end % 4096 > 0, "the last page has another byte");
        bytes.truncate(usize::try_from(end).unwrap());
        std::fs::write(&path, bytes).unwrap();
    }
    run("load", &cudnn.0, &[]).must_end_with(0);
    startup(&cudnn, &[GPU]).must_be_silent();
    check(&cudnn, &[GPU]).must_be("pass", &[]);
    let graph = Elf::open(&cudnn.file("libcudnn_graph.so.9")).unwrap();
    let (version, _) = graph.release("graph").unwrap();
    assert_eq!(version, Version::new(9, 14, 0));
    // Its device code may be anywhere.
    assert_eq!(graph.device_code(), None);
    // Without its last page, the process would die in dlopen with SIGBUS.
    let page = graph.length() / 4096 * 4096;
    let cudnn = cudnn.cut("libcudnn_graph.so.9", page);
    check(&cudnn, &[GPU]).must_be("fail", &["library-damaged"]);
}

#[test]
fn a_sub_library_for_another_cpu_is_reported() {
    // Byte 18 is the low byte of the machine: 183 is aarch64, 62 is x86_64.
    let other = if cfg!(target_arch = "x86_64") {
        183
    } else {
        62
    };
    for (at, byte) in [(18, other), (4, 1)] {
        let cudnn = sound().with_byte("libcudnn_cnn.so.9", at, byte);
        check(&cudnn, &[GPU]).must_be("fail", &["wrong-architecture"]);
    }
}

#[test]
fn sub_libraries_of_two_versions_stop_the_program() {
    let cudnn = sound().with_file_of("9.10.2", "libcudnn_ops.so.9");
    let path = cudnn.text();
    startup(&cudnn, &[]).must_stop(&format!(
        "\
`libcudnn_ops.so.9` in `{path}` is version 9.10.2, but the rest of cuDNN is 9.14.0  [parts-mixed]
  = help: remove all `libcudnn*` files from `{path}` and reinstall cuDNN
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  sub-libs    9.14.0  {path}/libcudnn_graph.so.9
              9.10.2  {path}/libcudnn_ops.so.9
              9.14.0  {path}/libcudnn_adv.so.9
"
    ));
    // A `libcudnn.so.9` that reports another version than its sub-libraries.
    let cudnn = sound().with_file_of("9.28.0", "libcudnn.so.9");
    check(&cudnn, &[GPU]).must_be("fail", &["parts-mixed"]);
    // The version can also come from a file name.
    let cudnn = sound();
    std::fs::rename(
        cudnn.file("libcudnn_cnn.so.9"),
        cudnn.file("libcudnn_cnn.so.9.10.2"),
    )
    .unwrap();
    std::os::unix::fs::symlink("libcudnn_cnn.so.9.10.2", cudnn.file("libcudnn_cnn.so.9")).unwrap();
    check(&cudnn, &[GPU]).must_be("fail", &["parts-mixed"]);
}

#[test]
fn a_library_that_a_sub_library_needs_is_named() {
    let cudnn = sound();
    let gone = cudnn.file("libgone.so.1");
    compile("int gone;", &gone, &[]);
    compile_linked("int here;", &cudnn.file("libcudnn_heuristic.so.9"), &gone);
    std::fs::remove_file(gone).unwrap();
    let path = cudnn.text();
    startup(&cudnn, &[]).must_stop(&format!(
        "\
`{path}/libcudnn_heuristic.so.9` needs libgone.so.1, which the loader cannot find  [cudnn-not-loadable]
  = help: install libgone.so.1, or add its directory to LD_LIBRARY_PATH
  loader      libgone.so.1: cannot open shared object file: No such file or directory
"
    ));
}

#[test]
fn a_driver_that_is_missing_for_a_sub_library_is_not_a_fault_of_cudnn() {
    let cudnn = sound();
    let driver = cudnn.file("libcuda.so.1");
    compile("int driver;", &driver, &[]);
    let part = cudnn.file("libcudnn_engines_runtime_compiled.so.9");
    compile_linked("int here;", &part, &driver);
    std::fs::remove_file(driver).unwrap();
    let ran = check(&cudnn, &[]);
    ran.must_be("unknown", &["driver-missing"]);
    assert_eq!(ran.json["loaded"]["cuda_major"], 13);
    // Even with a GPU the check does not pass, since no convolution ran.
    check(&cudnn, &[GPU]).must_be("unknown", &["convolution-failed"]);
}

#[test]
fn sub_libraries_of_two_versions_of_cudnn_8_stop_the_program() {
    let eight = Folder::new().with_cudnn("8.9.7");
    let eight = eight.with_file_of("8.9.2", "libcudnn_cnn_infer.so.8");
    check(&eight, &[GPU, ("TEST_BUILT", "8.9.7")]).must_be("fail", &["parts-mixed"]);
}

/// cuDNN 8 itself reports that its sub-libraries differ, with status 14, when no file shows it.
#[test]
fn a_failed_version_check_of_cudnn_8_is_named() {
    let eight = Folder::new().with_cudnn("8.9.7");
    compile(
        "unsigned long cudnnGetVersion(void) { return 8907; }
         int cudnnOpsInferVersionCheck(void) { return 0; }
         int cudnnCnnInferVersionCheck(void) { return 14; }",
        &eight.file("libcudnn.so.8"),
        &[],
    );
    let ran = check(&eight, &[GPU, ("TEST_BUILT", "8.9.7")]);
    ran.must_be("fail", &["parts-mixed"]);
    let evidence = &ran.json["findings"][0]["evidence"];
    assert_eq!(evidence["mismatch"], "cudnnCnnInferVersionCheck");
}

/// The check of adv runs for a program that declares a need for it. For other programs, adv is not even opened.
#[test]
fn the_version_check_of_adv_runs_if_the_program_needs_adv() {
    let cudnn = sound();
    compile(
        "unsigned long cudnnGetVersion(void) { return 91400; }
         int cudnnAdvVersionCheck(void) { return 1002; }",
        &cudnn.file("libcudnn.so.9"),
        &["-Wl,--enable-new-dtags,-rpath,$ORIGIN"],
    );
    check(&cudnn, &[GPU]).must_be("pass", &[]);
    let ran = check(&cudnn, &[GPU, ("TEST_NEEDS", "1")]);
    ran.must_be("fail", &["parts-mixed"]);
    let evidence = &ran.json["findings"][0]["evidence"];
    assert_eq!(evidence["mismatch"], "cudnnAdvVersionCheck");
}

/// A memory limit is not a fault of cuDNN, and may differ in the next run.
#[test]
fn a_sub_library_without_enough_memory_does_not_stop_the_program() {
    for name in ["libcudnn_cnn.so.9", "libcudnn.so.9"] {
        let cudnn = sound();
        compile("char big[1 << 30];", &cudnn.file(name), &[]);
        let path = cudnn.text();
        let limit = ("TEST_MEBIBYTES", "800");
        startup(&cudnn, &[GPU, limit]).must_be_unknown(&format!(
            "there is not enough memory to load `{path}/{name}`  [cudnn-not-loadable]\n  \
             = help: raise the limit: `ulimit -v unlimited`\n  \
             loader      {}: failed to map segment from shared object\n  \
             limit       800 MiB for this process, set by `ulimit -v`\n",
            // The loader prints the name that it was asked to open.
            if name == "libcudnn.so.9" {
                name.to_string()
            } else {
                format!("{path}/{name}")
            }
        ));
        let ran = check(&cudnn, &[GPU, limit]);
        ran.must_be("unknown", &["cudnn-not-loadable"]);
    }
}

/// This is glibc's message. cuDNN or the program itself may have opened the last permitted files.
#[test]
fn a_limit_on_open_files_is_not_a_fault_of_cudnn() {
    let words = "/x/libcudnn_graph.so.9: cannot open shared object file: Too many open files";
    let finding = refusal::finding(Path::new("/x/libcudnn_graph.so.9"), words);
    assert_eq!(
        finding.to_string(),
        format!(
            "this process has reached its limit on open files, so cuDNN could not be checked  [io-error]\n  \
             = help: raise the limit: `ulimit -n 4096`\n  \
             reason      {words}"
        )
    );
    assert_eq!(finding.severity, Severity::Warning);
}

/// The formats are described in proc(5).
#[test]
fn limits_and_mounts_are_read() {
    let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
        Max data size             3145728              unlimited            bytes     \n\
        Max address space         2097152              unlimited            bytes     \n";
    assert_eq!(map_failures::limit(limits), Some((2, "ulimit -v")));
    let (data, _) = limits.split_once("Max address").unwrap();
    assert_eq!(map_failures::limit(data), Some((3, "ulimit -d")));
    assert_eq!(
        map_failures::limit(
            &limits
                .replace("2097152", "unlimited")
                .replace("3145728", "unlimited")
        ),
        None
    );
    let mounts = "\
        29 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n\
        30 29 0:5 / /opt/a\\040b rw,nosuid,noexec,relatime shared:2 - tmpfs none rw,noexec\n\
        31 30 0:6 / /opt/a\\040b/c rw - tmpfs none rw,noexec\n";
    let on = |file: &str| map_failures::noexec_mount(mounts, Path::new(file));
    assert_eq!(on("/opt/a b/lib/libcudnn.so.9"), Some("/opt/a b".into()));
    assert_eq!(on("/opt/a b/c/libcudnn.so.9"), None);
    assert_eq!(on("/opt/a/libcudnn.so.9"), None);
}
