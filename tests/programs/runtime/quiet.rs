//! Setups that work, or whose state is unknown: no program exits because of them.

pub mod setup;

use crate::support::circumstances::{copy, installed};
use setup::*;
use std::path::PathBuf;
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

/// The setups: the description, the finding, and the difference, which is a library path, a variable, an act of the
/// program, or a function of `setup`.
const SETUPS: &str = "\
a working cuDNN | - | path=9.14.0:driver
links to the files of one version | - | path=links:driver
full names and links to them | - | path=full-names:driver
cuDNN 8 beside 9 | - | path=9.14.0:8.9.7:driver
cuDNN 8 before 9 | - | path=8.9.7:9.14.0:driver
missing directories of NVIDIA's images | - | path=/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/local/cuda/compat/lib:9.14.0:driver
library path entries that do not exist before it | - | path=~/lib:/nowhere, /else:9.14.0:driver
a second copy of the version behind it | - | path=9.14.0:copy:driver
a newer minor | - | path=9.28.0:driver
an older cuDNN behind it | - | path=9.14.0:9.10.2:driver
no adv, which no convolution needs | - | path=no-adv:driver
only the sub-libraries for compiling at run time | convolution-failed | path=jit:driver
no cuDNN, no GPU | cudnn-not-loadable | path=
no driver | driver-missing | path=9.14.0
the toolkit's stub | driver-stub | path=9.14.0:stub
a version newer than the tables, with other sub-libraries | - | path=other-parts:driver
symbols bound at startup | - | LD_BIND_NOW=1
no temporary directory | - | TMPDIR=/nowhere
a driver without GPUs | no-gpu | SIM_DEVICES=0
hidden GPUs | no-gpu | CUDA_VISIBLE_DEVICES=
a machine whose GPUs are not ready | driver-error | SIM_CUINIT=802
an updated driver before the reboot | driver-error | SIM_CUINIT=803
a driver with an unknown error | driver-error | SIM_CUINIT=999
a driver that crashes | driver-error | SIM_FAULT=segv:cuInit
a GPU in exclusive use | device-busy | SIM_FAULT=status:cuDevicePrimaryCtxRetain:46
a busy GPU | device-busy | SIM_FAULT=status:cuCtxSynchronize:999
a GPU with no memory left | device-memory-low | SIM_MEMORY=4000
a cuDNN without enough memory | device-memory-low | SIM_FAULT=status:cudnnCreate:4004
a cuDNN that prints a lot | - | SIM_FAULT=flood
several GPUs | - | SIM_DEVICES=8
no child process available | child-not-started | no-child
no file descriptor available | child-not-started | few-files
CUDA already in use | child-not-started | start-cuda
nothing can be written | - | read-only
a thread with a small stack | - | small-stack
ignored child processes | - | ignore-children
a signal handler that waits for all children | - | wait-in-handler
little memory | - | little-memory
an allocator that kills children | child-not-started | end-children
no more threads | - | no-threads
two thousand open files | - | many-files
all signals blocked | - | block-signals
busy threads | - | busy-threads
a relative library path | - | relative()
a directory name that is not UTF-8 | - | in_folder(not UTF-8)
a directory name with a line break and a quote | - | in_folder(line break)
an otherwise empty environment | - | nothing_else_set()
no /proc | - | hidden(/proc)
no /etc | - | hidden(/etc)
a deleted program | - | deleted()
a deleted working directory | - | from_a_deleted_folder()
started through the loader | - | through_the_loader()
closed standard streams | - | closed_streams()
no core dumps, small files | - | shell(ulimit -c 0; ulimit -f 100; exec \"$@\")
a report that cannot be written | io-error | CUDNN_GUARD_REPORT=/nowhere/at/all
a report that exceeds the file size limit | io-error | no_large_file()
sub-libraries loaded from files with other names | - | parts_of_other_names()
a cuDNN that is deleted while it is in use | - | open_when(delete-cudnn)
a cuDNN that is upgraded while it is in use | - | open_when(upgrade-cudnn)
a cuDNN whose directory is replaced while it is in use | - | open_when(swap-cudnn)
a report written to a device | - | CUDNN_GUARD_REPORT=/dev/null
";

/// Returns the directory of this name: a path, a part of the machine, or a version of cuDNN.
fn place(name: &str) -> PathBuf {
    match name {
        "driver" => driver(),
        "stub" => stub(),
        "links" => farm(),
        "full-names" => full_names(),
        "copy" => copy("second", &lib64()),
        "no-adv" => without("no-adv", &["adv"]),
        "jit" => without(
            "jit",
            &["ops", "cnn", "adv", "heuristic", "engines_precompiled"],
        ),
        "other-parts" => of_other_parts(),
        path if path.starts_with(['/', '~']) => path.into(),
        version => {
            let numbers: Vec<u32> = version.split('.').map(|n| n.parse().unwrap()).collect();
            installed((numbers[0], numbers[1], numbers[2])).join("lib64")
        }
    }
}

fn row(line: &'static str) -> (&'static str, Expected, Command) {
    let [what, expected, how] = line.split(" | ").collect::<Vec<_>>()[..] else {
        panic!("{line}");
    };
    let expected = match expected {
        "-" => Nothing,
        id => Unknown(id),
    };
    let function = how.strip_suffix(')').and_then(|how| how.split_once('('));
    let command = match (function, how.split_once('=')) {
        (Some((name, argument)), _) => call(name, argument),
        (_, Some(("path", places))) => {
            let places = places.split(':').filter(|place| !place.is_empty());
            with(&places.map(place).collect::<Vec<_>>())
        }
        (_, Some((name, value))) => set(name, value),
        _ => odd(how),
    };
    (what, expected, command)
}

/// Calls this function of `setup`.
fn call(name: &str, argument: &str) -> Command {
    match (name, argument) {
        ("relative", _) => relative(),
        ("in_folder", "not UTF-8") => in_folder(b"b\xffse"),
        ("in_folder", _) => in_folder(b"a\n\"b'`c"),
        ("nothing_else_set", _) => nothing_else_set(),
        ("hidden", dir) => hidden(dir),
        ("deleted", _) => deleted(),
        ("from_a_deleted_folder", _) => from_a_deleted_folder(),
        ("through_the_loader", _) => through_the_loader(),
        ("closed_streams", _) => shell("exec \"$@\" <&- 2>&-", &set("SIM_FAULT", "flood")),
        ("shell", script) => shell(script, &sound()),
        ("no_large_file", _) => no_large_file(),
        ("parts_of_other_names", _) => parts_of_other_names(),
        ("open_when", act) => open_when(act),
        _ => panic!("{name}"),
    }
}

/// The rows write to the same directories.
static ROWS: Mutex<()> = Mutex::new(());

/// Returns a row for each setup: its description, the expected output, and the program.
fn rows() -> Vec<(&'static str, Expected, Command)> {
    SETUPS.lines().map(row).collect()
}

#[test]
fn no_valid_or_unknown_setup_stops_a_program() {
    let _alone = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    let rows = rows();
    assert!(rows.len() >= 60, "{}", rows.len());
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
