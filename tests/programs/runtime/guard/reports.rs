//! The destinations of the report, in complete runs.

use super::program::{GPU, check, startup};
use crate::support::installation::{Folder, compile_replacing, sound};
use std::path::Path;

#[test]
fn the_report_is_written_to_the_requested_file() {
    let cudnn = sound();
    let named = cudnn.at("r-%p.json");
    startup(&cudnn, &[GPU, ("CUDNN_GUARD_REPORT", named)]).must_end_with(0);
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

    let ran = startup(&cudnn, &[GPU, ("CUDNN_GUARD_REPORT", "/dev/stderr")]);
    ran.must_continue(&text);

    // A link stays a link.
    let link = cudnn.file("link.json");
    std::os::unix::fs::symlink(cudnn.file(&files[0]), &link).unwrap();
    startup(&cudnn, &[("CUDNN_GUARD_REPORT", link.to_str().unwrap())]).must_end_with(0);
    assert!(link.is_symlink());
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(link).unwrap()).unwrap();
    assert_eq!(json["verdict"], "unknown");
    let absent = cudnn.file("absent.json");
    std::os::unix::fs::symlink("absent.json", cudnn.file("dangling.json")).unwrap();
    let dangling = cudnn.file("dangling.json");
    let report = ("CUDNN_GUARD_REPORT", dangling.to_str().unwrap());
    startup(&cudnn, &[report]).must_end_with(0);
    assert!(dangling.is_symlink() && absent.is_file());

    // The permissions of an existing report are kept.
    use std::os::unix::fs::PermissionsExt;
    let closed = cudnn.file("closed.json");
    std::fs::write(&closed, "").unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o620)).unwrap();
    let report = ("CUDNN_GUARD_REPORT", closed.to_str().unwrap());
    startup(&cudnn, &[GPU, report]).must_end_with(0);
    let data = std::fs::metadata(&closed).unwrap();
    assert!(data.len() > 0);
    assert_eq!(data.permissions().mode() & 0o777, 0o620);

    startup(&cudnn, &[GPU, ("CUDNN_GUARD_REPORT", "/nowhere/at/all")])
        .must_continue("cudnn-guard: CUDNN_GUARD_REPORT: cannot write `/nowhere/at/all`: No such file or directory (os error 2)  [io-error]\n");
}

/// In a directory that others can write to, such as /tmp, another user may create a symlink with the name of the new
/// file.
#[test]
fn a_planted_symlink_does_not_redirect_the_report() {
    let cudnn = sound();
    let (trap, kept, report) = (
        cudnn.file("trap.so"),
        cudnn.file("kept"),
        cudnn.file("report"),
    );
    let code = r#"
        int open64(const char *path, int flags, mode_t mode) {
            NEXT(open64);
            if ((flags & 0100) && strstr(path, ".part") && symlink(getenv("TEST_KEPT"), path) != 0)
                abort();
            return next(path, flags, mode);
        }
    "#;
    compile_replacing(code, &trap);
    std::fs::write(&kept, "kept").unwrap();
    std::fs::write(&report, "").unwrap();
    let variables = [
        GPU,
        ("LD_PRELOAD", trap.to_str().unwrap()),
        ("TEST_KEPT", kept.to_str().unwrap()),
        ("CUDNN_GUARD_REPORT", report.to_str().unwrap()),
    ];
    startup(&cudnn, &variables).must_end_with(0);
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "kept");
    assert!(!std::fs::read_to_string(report).unwrap().is_empty());
    let mut names = std::fs::read_dir(&cudnn.0).unwrap();
    assert!(names.any(|file| file.unwrap().path().extension() == Some("part".as_ref())));
}

/// In such a directory, the kernel refuses to follow another user's link (fs.protected_symlinks). Whether a file can be
/// renamed there, or within a mounted directory, is also up to the kernel.
#[test]
fn the_kernel_decides_what_the_report_replaces() {
    let cudnn = sound();
    let (trap, kept, link, report) = (
        cudnn.file("trap.so"),
        cudnn.file("kept"),
        cudnn.file("link"),
        cudnn.file("report"),
    );
    let code = r#"
        int open64(const char *path, int flags, mode_t mode) {
            NEXT(open64);
            if (!strcmp(strrchr(path, '/') ? strrchr(path, '/') : path, "/link")) {
                errno = EACCES;
                return -1;
            }
            return next(path, flags, mode);
        }
        int rename(const char *from, const char *to) {
            NEXT(rename);
            if (!strstr(to, "/report"))
                return next(from, to);
            errno = EXDEV;
            return -1;
        }
    "#;
    compile_replacing(code, &trap);
    std::fs::write(&kept, "kept").unwrap();
    std::fs::write(&report, "old").unwrap();
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    let run = |file: &Path| {
        let preload = ("LD_PRELOAD", trap.to_str().unwrap());
        let report = ("CUDNN_GUARD_REPORT", file.to_str().unwrap());
        startup(&cudnn, &[GPU, preload, report])
    };
    let message = format!(
        "cudnn-guard: CUDNN_GUARD_REPORT: cannot write `{}`: Permission denied (os error 13)  [io-error]\n",
        link.display()
    );
    run(&link).must_continue(&message);
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "kept");
    run(&report).must_be_silent();
    assert!(std::fs::read_to_string(report).unwrap().starts_with('{'));
}

#[test]
fn a_termination_message_is_one_short_line() {
    let cudnn = Folder::new().with_cudnn("9.10.2");
    let log = cudnn.file("termination-log");
    // Kubernetes creates the file in advance.
    std::fs::write(&log, "").unwrap();
    let report = ("CUDNN_GUARD_REPORT", log.to_str().unwrap());
    startup(&cudnn, &[GPU, report]).must_end_with(78);
    let path = cudnn.text();
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        format!(
            "cudnn-guard: fail: loaded cuDNN 9.10.2 is older than 9.14.0, which this program was built with  \
             [cudnn-version-mismatch]; help: remove `{path}` from LD_LIBRARY_PATH, or add the directory of cuDNN \
             9.14 or later 9.x before it\n"
        )
    );
    // The message stays short however long the names are.
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
    startup(
        &cudnn,
        &[GPU, report, ("LD_LIBRARY_PATH", deep.to_str().unwrap())],
    )
    .must_end_with(78);
    let line = std::fs::read_to_string(&log).unwrap();
    assert!(line.len() < 4096 && line.lines().count() == 1, "{line}");
    assert!(line.starts_with("cudnn-guard: fail: "), "{line}");
    let sound = sound();
    startup(&sound, &[GPU, report]).must_end_with(0);
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        "cudnn-guard: pass\n"
    );
}

/// Warnings are not printed at startup, but the report contains everything that `check` finds, including errors.
#[test]
fn the_report_of_startup_contains_all_findings_of_check() {
    let (cudnn, second) = (sound(), sound());
    let newer = Folder::new().with_cudnn("9.30.1");
    let cpu = if cfg!(target_arch = "x86_64") {
        183
    } else {
        62
    };
    let foreign = sound().with_byte("libcudnn_cnn.so.9", 18, cpu);
    let both = [&cudnn, &second].map(|one| one.file("libcudnn.so.9").display().to_string());
    let both = both.join(":");
    let (tables, busy) = (("TEST_TABLES", "1"), ("TEST_CONVOLUTION", "busy"));
    let (older, later) = (("TEST_GPU", "61"), ("TEST_GPU", "120"));
    let bad = "known-bad-release";
    let ptx = [
        GPU,
        ("TEST_TARGETS", "compute_80"),
        ("TEST_TOOLKIT", "13.2"),
    ];
    for (folder, variables, code, ids) in [
        (&cudnn, &[GPU][..], 0, &[][..]),
        (
            &cudnn,
            &[GPU, ("TEST_OPEN", &*both)],
            0,
            &["duplicate-cudnn"],
        ),
        (&foreign, &[GPU], 78, &["wrong-architecture"]),
        (&newer, &[GPU, tables], 0, &["unknown-newer-version"]),
        (
            &cudnn,
            &[older, tables, busy],
            78,
            &["arch-dropped-by-cudnn", bad, "device-busy"],
        ),
        (
            &cudnn,
            &[later, tables, busy],
            78,
            &["gpu-newer-than-cudnn", bad, "device-busy"],
        ),
        (
            &cudnn,
            &[GPU, ("TEST_TARGETS", "sm_100")],
            78,
            &["kernels-not-covering-gpu"],
        ),
        (&cudnn, &ptx, 78, &["ptx-newer-than-driver"]),
        (
            &cudnn,
            &[GPU, ("CUDNN_GUARD_DEVICES", "none")],
            0,
            &["variable-unusable"],
        ),
    ] {
        let file = folder.file("start.json");
        let asked = ("CUDNN_GUARD_REPORT", file.to_str().unwrap());
        startup(folder, &[variables, &[asked]].concat()).must_end_with(code);
        let text = std::fs::read_to_string(&file).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let findings = json["findings"].as_array().unwrap().iter();
        let found: Vec<&str> = findings.map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(found, ids, "{variables:?}: {text}");
        let verdict = json["verdict"].as_str().unwrap();
        check(folder, variables).must_be(verdict, ids);
    }
}

/// The old report stays, and the program reports once why there is no new one.
#[test]
fn a_failed_write_keeps_the_old_report() {
    let cudnn = Folder::new().with_cudnn("9.10.2");
    let (full, report) = (cudnn.file("full.so"), cudnn.file("report.json"));
    let code = r#"
        ssize_t write(int file, const void *bytes, size_t count) {
            struct stat status;
            if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
                errno = ENOSPC;
                return -1;
            }
            NEXT(write);
            return next(file, bytes, count);
        }
    "#;
    compile_replacing(code, &full);
    std::fs::write(&report, "old\n").unwrap();
    let variables = [
        GPU,
        ("LD_PRELOAD", full.to_str().unwrap()),
        ("CUDNN_GUARD_REPORT", report.to_str().unwrap()),
    ];
    let ran = startup(&cudnn, &variables);
    ran.must_end_with(78);
    let words = format!(
        "\nwarning: CUDNN_GUARD_REPORT: cannot write `{}`: No space left on device (os error 28)  [io-error]\n",
        report.display()
    );
    assert!(ran.stderr.contains(&words), "{}", ran.stderr);
    assert_eq!(
        ran.stderr.matches("cannot write").count(),
        1,
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read_to_string(&report).unwrap(), "old\n");
    let files = std::fs::read_dir(&cudnn.0).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(!names.any(|name| name.ends_with(".part")));
}

/// A file that cannot be replaced is overwritten, but the disk has too little space for the new report.
#[test]
fn overwriting_without_disk_space_keeps_the_old_report() {
    let cudnn = sound();
    let (busy, report) = (cudnn.file("busy.so"), cudnn.file("report.json"));
    let code = r#"
        int rename(const char *from, const char *to) {
            errno = EBUSY;
            return -1;
        }
        ssize_t write(int file, const void *bytes, size_t count) {
            static int writes;
            struct stat status;
            NEXT(write);
            /* The new file, two bytes of the old one, no room for more, and then its old text. */
            if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
                writes++;
                if (writes == 2)
                    count = 2;
                if (writes == 3) {
                    errno = ENOSPC;
                    return -1;
                }
            }
            return next(file, bytes, count);
        }
    "#;
    compile_replacing(code, &busy);
    std::fs::write(&report, "old\n").unwrap();
    let variables = [
        GPU,
        ("LD_PRELOAD", busy.to_str().unwrap()),
        ("CUDNN_GUARD_REPORT", report.to_str().unwrap()),
    ];
    let ran = startup(&cudnn, &variables);
    ran.must_end_with(0);
    let words = "No space left on device (os error 28)  [io-error]\n";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&report).unwrap(), "old\n");
}
