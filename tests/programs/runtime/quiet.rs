//! Setups that work, or whose state is unknown: no program exits because of them.

pub mod setup;

use crate::support::circumstances::{copy, installed};
use setup::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The expected output for a setup.
enum Expected {
    /// The check passes.
    Nothing,
    /// At most four lines, the first with this id.
    Unknown(&'static str),
}
use Expected::{Nothing, Unknown};

/// The rows write to the same directories.
static ROWS: Mutex<()> = Mutex::new(());

/// Returns a row for each setup: its description, the expected output, and the program.
fn rows() -> Vec<(&'static str, Expected, Command)> {
    let other = |release| installed(release).join("lib64");
    vec![
        ("a working cuDNN", Nothing, sound()),
        (
            "links to the files of one version",
            Nothing,
            with(&[farm(), driver()]),
        ),
        (
            "full names and links to them",
            Nothing,
            with(&[full_names(), driver()]),
        ),
        (
            "cuDNN 8 beside 9",
            Nothing,
            with(&[lib64(), other((8, 9, 7)), driver()]),
        ),
        (
            "cuDNN 8 before 9",
            Nothing,
            with(&[other((8, 9, 7)), lib64(), driver()]),
        ),
        (
            "missing directories of NVIDIA's images",
            Nothing,
            with(&images()),
        ),
        (
            "library path entries that do not exist before it",
            Nothing,
            with(&[
                PathBuf::from("~/lib"),
                PathBuf::from("/nowhere, /else"),
                lib64(),
                driver(),
            ]),
        ),
        (
            "a second copy of the version behind it",
            Nothing,
            with(&[lib64(), copy("second", &lib64()), driver()]),
        ),
        (
            "a newer minor",
            Nothing,
            with(&[other((9, 28, 0)), driver()]),
        ),
        (
            "an older cuDNN behind it",
            Nothing,
            with(&[lib64(), other((9, 10, 2)), driver()]),
        ),
        (
            "no adv, which no convolution needs",
            Nothing,
            with(&[without("no-adv", &["adv"]), driver()]),
        ),
        (
            "only the sub-libraries for compiling at run time",
            Unknown("convolution-failed"),
            with(&[
                without(
                    "jit",
                    &["ops", "cnn", "adv", "heuristic", "engines_precompiled"],
                ),
                driver(),
            ]),
        ),
        ("a relative library path", Nothing, relative()),
        (
            "a directory name that is not UTF-8",
            Nothing,
            in_folder(b"b\xffse"),
        ),
        (
            "a directory name with a line break and a quote",
            Nothing,
            in_folder(b"a\n\"b'`c"),
        ),
        (
            "an otherwise empty environment",
            Nothing,
            nothing_else_set(),
        ),
        ("symbols bound at startup", Nothing, set("LD_BIND_NOW", "1")),
        ("no /proc", Nothing, hidden("/proc")),
        ("no /etc", Nothing, hidden("/etc")),
        ("no temporary directory", Nothing, set("TMPDIR", "/nowhere")),
        ("no cuDNN, no GPU", Unknown("cudnn-not-loadable"), with(&[])),
        ("no driver", Unknown("driver-missing"), with(&[lib64()])),
        (
            "the toolkit's stub",
            Unknown("driver-stub"),
            with(&[lib64(), stub()]),
        ),
        (
            "a driver without GPUs",
            Unknown("no-gpu"),
            set("SIM_DEVICES", "0"),
        ),
        (
            "hidden GPUs",
            Unknown("no-gpu"),
            set("CUDA_VISIBLE_DEVICES", ""),
        ),
        (
            "a machine whose GPUs are not ready",
            Unknown("driver-error"),
            set("SIM_CUINIT", "802"),
        ),
        (
            "an updated driver before the reboot",
            Unknown("driver-error"),
            set("SIM_CUINIT", "803"),
        ),
        (
            "a driver with an unknown error",
            Unknown("driver-error"),
            set("SIM_CUINIT", "999"),
        ),
        (
            "a driver that crashes",
            Unknown("driver-error"),
            fault("segv:cuInit"),
        ),
        (
            "a GPU in exclusive use",
            Unknown("device-busy"),
            fault("status:cuDevicePrimaryCtxRetain:46"),
        ),
        (
            "a busy GPU",
            Unknown("device-busy"),
            fault("status:cuCtxSynchronize:999"),
        ),
        (
            "a GPU with no memory left",
            Unknown("device-memory-low"),
            set("SIM_MEMORY", "4000"),
        ),
        (
            "a cuDNN without enough memory",
            Unknown("device-memory-low"),
            fault("status:cudnnCreate:4004"),
        ),
        ("a cuDNN that prints a lot", Nothing, fault("flood")),
        ("several GPUs", Nothing, set("SIM_DEVICES", "8")),
        (
            "no child process available",
            Unknown("child-not-started"),
            odd("no-child"),
        ),
        (
            "no file descriptor available",
            Unknown("child-not-started"),
            odd("few-files"),
        ),
        (
            "CUDA already in use",
            Unknown("child-not-started"),
            odd("start-cuda"),
        ),
        ("nothing can be written", Nothing, odd("read-only")),
        ("a thread with a small stack", Nothing, odd("small-stack")),
        ("ignored child processes", Nothing, odd("ignore-children")),
        (
            "a signal handler that waits for all children",
            Nothing,
            odd("wait-in-handler"),
        ),
        ("little memory", Nothing, odd("little-memory")),
        (
            "an allocator that kills children",
            Unknown("child-not-started"),
            odd("end-children"),
        ),
        ("no more threads", Nothing, odd("no-threads")),
        ("two thousand open files", Nothing, odd("many-files")),
        ("all signals blocked", Nothing, odd("block-signals")),
        ("busy threads", Nothing, odd("busy-threads")),
        ("a deleted program", Nothing, deleted()),
        (
            "a deleted working directory",
            Nothing,
            from_a_deleted_folder(),
        ),
        ("started through the loader", Nothing, through_the_loader()),
        (
            "closed standard streams",
            Nothing,
            shell("exec \"$@\" <&- 2>&-", &fault("flood")),
        ),
        (
            "no core dumps, small files",
            Nothing,
            shell("ulimit -c 0; ulimit -f 100; exec \"$@\"", &sound()),
        ),
        (
            "a report that cannot be written",
            Unknown("io-error"),
            report_into(Path::new("/nowhere/at/all")),
        ),
        (
            "a report that exceeds the file size limit",
            Unknown("io-error"),
            no_large_file(),
        ),
        (
            "sub-libraries loaded from files with other names",
            Nothing,
            parts_of_other_names(),
        ),
        (
            "a cuDNN that is deleted while it is in use",
            Nothing,
            open_when("delete-cudnn"),
        ),
        (
            "a cuDNN that is upgraded while it is in use",
            Nothing,
            open_when("upgrade-cudnn"),
        ),
        (
            "a cuDNN whose directory is replaced while it is in use",
            Nothing,
            open_when("swap-cudnn"),
        ),
        (
            "a version newer than the tables, with other sub-libraries",
            Nothing,
            with(&[of_other_parts(), driver()]),
        ),
        (
            "a report written to a device",
            Nothing,
            report_into(Path::new("/dev/null")),
        ),
    ]
}

#[test]
fn no_valid_or_unknown_setup_stops_a_program() {
    let _alone = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    let rows = rows();
    assert!(rows.len() >= 25);
    all_must_continue(rows);
}

/// `CUDNN_GUARD_REQUIRE_GPU=1` requires a GPU, a driver that answers and cuDNN. Everything else that is unknown stays
/// unknown, so that a container that is restarted does not crash again and again. `strict` stops the program even then.
#[test]
fn a_required_gpu_stops_a_program_only_if_it_is_missing() {
    let _alone = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    let absent = [
        "cudnn-not-loadable",
        "driver-missing",
        "driver-stub",
        "driver-error",
        "no-gpu",
    ];
    let mut wrong = Vec::new();
    for value in ["1", "strict"] {
        for (what, expected, mut command) in rows() {
            let ends = matches!(expected, Unknown(id) if id != "io-error" && (value == "strict" || absent.contains(&id)));
            command.env("CUDNN_GUARD_REQUIRE_GPU", value);
            let output = command.stdin(Stdio::null()).output().unwrap();
            if output.status.code() != Some(if ends { 78 } else { 0 }) {
                let stderr = String::from_utf8_lossy(&output.stderr);
                wrong.push(format!("{value}: {what}: {:?}\n{stderr}", output.status));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Under PRoot, files have other names than in the kernel, and `statx` finds none of them.
#[test]
#[ignore = "needs PRoot"]
fn a_setup_under_proot_does_not_stop_a_program() {
    all_must_continue(vec![
        ("cuDNN by another name", Nothing, below_proot("")),
        ("and no /proc", Nothing, below_proot("-b /var/empty:/proc")),
        (
            "and links to its files",
            Nothing,
            below_proot("-b \"$FARM\":/mnt/cudnn/lib64"),
        ),
    ]);
}

/// Under fakechroot, the loader uses other file names than the process.
#[test]
#[ignore = "needs fakechroot"]
fn a_setup_under_fakechroot_does_not_stop_a_program() {
    let (folder, driver) = ("/mnt/cudnn/lib64", "/mnt/cudnn/driver");
    all_must_continue(vec![
        (
            "cuDNN in the library path",
            Nothing,
            below_fakechroot("variable", &[folder, driver], &[]),
        ),
        (
            "cuDNN in a directory that ld.so.conf names",
            Nothing,
            below_fakechroot("configured", &[], &[folder, driver]),
        ),
        (
            "links to its files",
            Nothing,
            below_fakechroot("links", &[], &["/mnt/farm", driver]),
        ),
        (
            "no cuDNN there, no GPU",
            Unknown("cudnn-not-loadable"),
            below_fakechroot("none", &[], &[]),
        ),
    ]);
}

fn all_must_continue(rows: Vec<(&str, Expected, Command)>) {
    let mut wrong = Vec::new();
    for (what, expected, mut command) in rows {
        let began = std::time::Instant::now();
        let output = command.stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let as_wanted = match expected {
            Nothing => stderr.is_empty(),
            Unknown(id) => {
                let (first, rest) = stderr.split_once('\n').unwrap_or_default();
                let headed =
                    first.starts_with("cudnn-guard: ") && first.ends_with(&format!("  [{id}]"));
                let mut rest = rest.lines();
                headed && rest.clone().count() <= 3 && rest.all(|line| line.starts_with("  "))
            }
        };
        let went_on = output.stdout == b"went on\n" && output.status.code() == Some(0);
        if !went_on || !as_wanted || began.elapsed().as_secs() > 30 {
            wrong.push(format!("{what}: {:?}\n{stderr}", output.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
