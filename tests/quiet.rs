//! Set-ups that are sound, or of which nothing is known: none of them ends a program.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    reason = "tests make files and run programs"
)]

mod support;

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::circumstances::{circumstances, command, copy, installed, library};
use support::{fresh, program};

const RELEASE: (u32, u32, u32) = (9, 14, 0);

/// What a program says of a set-up.
enum Said {
    /// It passes.
    Nothing,
    /// One line with this id.
    Unknown(&'static str),
}
use Said::{Nothing, Unknown};

fn lib64() -> PathBuf {
    installed(RELEASE).join("lib64")
}

fn driver() -> PathBuf {
    installed(RELEASE).join("driver")
}

/// The program on a sound machine, made odd by this act.
fn odd(act: &str) -> Command {
    command(&[act, "startup", "went-on"], &[lib64(), driver()])
}

/// The program on a machine with these folders in its library path.
fn with(folders: &[PathBuf]) -> Command {
    command(&["startup", "went-on"], folders)
}

fn sound() -> Command {
    with(&[lib64(), driver()])
}

fn set(name: &str, value: &str) -> Command {
    let mut command = sound();
    command.env(name, value);
    command
}

fn fault(words: &str) -> Command {
    set("SIM_FAULT", words)
}

/// Through a shell, which does something first.
fn shell(script: &str, command: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, "sh"]).arg(command.get_program());
    shell.args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell
}

fn farm() -> PathBuf {
    let farm = fresh("quiet-farm");
    for file in fs::read_dir(lib64()).unwrap() {
        let file = file.unwrap().path();
        symlink(&file, farm.join(file.file_name().unwrap())).unwrap();
    }
    farm
}

/// As an unpacked archive has it: full names, and links to them.
fn full_names() -> PathBuf {
    let folder = copy("full-names", &lib64());
    for file in fs::read_dir(&folder).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap().to_string();
        if name.starts_with("libcudnn") && name.ends_with(".so.9") {
            let full = format!("{}.14.0", file.display());
            fs::rename(&file, &full).unwrap();
            symlink(format!("{name}.14.0"), &file).unwrap();
        }
    }
    folder
}

fn without(name: &str, parts: &[&str]) -> PathBuf {
    let folder = copy(name, &lib64());
    for part in parts {
        fs::remove_file(folder.join(format!("libcudnn_{part}.so.9"))).unwrap();
    }
    folder
}

fn in_folder(name: &[u8]) -> Command {
    let above = fresh(&format!("quiet-name-of-{}", name.len()));
    let folder = above.join(OsString::from_vec(name.to_vec()));
    fs::create_dir_all(&folder).unwrap();
    for file in fs::read_dir(lib64()).unwrap() {
        let file = file.unwrap().path();
        fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    with(&[folder, driver()])
}

/// A library that hides everything below this folder.
fn hidden(folder: &str) -> Command {
    let preload = fresh("quiet-hidden").join("hide.so");
    let code = format!(
        r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <string.h>
        #include <sys/types.h>
        struct statx; struct stat; struct stat64;
        static int is(const char *path) {{ return path && !strncmp(path, "{folder}", {}); }}
        #define HIDE(result, name, parameters, arguments) \
            result name parameters {{ \
                if (is(path)) {{ errno = ENOENT; return -1; }} \
                result (*next) parameters = dlsym(RTLD_NEXT, #name); \
                return next arguments; \
            }}
        HIDE(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
        HIDE(int, open64, (const char *path, int flags, mode_t mode), (path, flags, mode))
        HIDE(ssize_t, readlink, (const char *path, char *into, size_t size), (path, into, size))
        HIDE(int, stat, (const char *path, struct stat *into), (path, into))
        HIDE(int, stat64, (const char *path, struct stat64 *into), (path, into))
        HIDE(int, statx, (int at, const char *path, int flags, unsigned mask, struct statx *into), (at, path, flags, mask, into))
        "#,
        folder.len()
    );
    library(&code, &preload);
    let mut command = sound();
    command.env("LD_PRELOAD", preload);
    command
}

fn moved_program(name: &str) -> PathBuf {
    let own = fresh(name).join("program");
    fs::copy(circumstances(), &own).unwrap();
    own
}

fn environment_of(from: &Command, to: &mut Command) {
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
}

fn through_the_loader() -> Command {
    let loader = if cfg!(target_arch = "aarch64") {
        "/lib/ld-linux-aarch64.so.1"
    } else {
        "/lib64/ld-linux-x86-64.so.2"
    };
    let mut command = program(loader);
    environment_of(&sound(), &mut command);
    command.arg(circumstances()).args(["startup", "went-on"]);
    command
}

fn deleted() -> Command {
    let mut command = program(moved_program("quiet-deleted"));
    environment_of(&sound(), &mut command);
    command.args(["delete-me", "startup", "went-on"]);
    command
}

fn from_a_deleted_folder() -> Command {
    let mut command = odd("delete-here");
    command.current_dir(fresh("quiet-here"));
    command
}

fn relative() -> Command {
    let mut command = sound();
    command
        .current_dir(installed(RELEASE))
        .env("LD_LIBRARY_PATH", "lib64:driver");
    command
}

fn nothing_else_set() -> Command {
    let mut command = Command::new(circumstances());
    let path = std::env::join_paths([lib64(), driver()]).unwrap();
    command.env_clear().env("LD_LIBRARY_PATH", path);
    command.args(["startup", "went-on"]);
    command
}

fn stub() -> PathBuf {
    let folder = fresh("quiet-stub");
    library(
        "#define STUB(name) int name(void) { return 34; }
        STUB(cuInit) STUB(cuDriverGetVersion) STUB(cuDeviceGetCount) STUB(cuDeviceGet)
        STUB(cuDeviceGetName) STUB(cuDeviceGetAttribute)",
        &folder.join("libcuda.so.1"),
    );
    folder
}

/// The program has a cuDNN open, then something becomes of its files, and the program asks once more.
fn open_when(act: &str) -> Command {
    let own = copy(&format!("open-{act}"), &lib64());
    let _ = fs::remove_dir_all(own.with_extension("old"));
    let mut command = command(
        &["startup", act, "startup", "went-on"],
        &[own.clone(), driver()],
    );
    command
        .env("ODD_FOLDER", own)
        .env("ODD_OTHER", installed((9, 28, 0)).join("lib64"));
    command
}

/// The parts are in the process by their own names, and their files have others.
fn parts_of_other_names() -> Command {
    let folder = copy("other-names", &lib64());
    let mut preload = Vec::new();
    for part in [
        "graph",
        "ops",
        "cnn",
        "adv",
        "heuristic",
        "engines_precompiled",
        "engines_runtime_compiled",
    ] {
        let other = folder.join(format!("{part}-1a2b3c4d.so"));
        fs::rename(folder.join(format!("libcudnn_{part}.so.9")), &other).unwrap();
        preload.push(other);
    }
    let mut command = with(&[folder, driver()]);
    command.env("LD_PRELOAD", std::env::join_paths(preload).unwrap());
    command
}

/// A release that nobody knew, made of fewer parts than the last that was known.
fn of_other_parts() -> PathBuf {
    let folder = copy("other-parts", &installed((9, 99, 0)).join("lib64"));
    fs::remove_file(folder.join("libcudnn_engines_tensor_ir.so.9")).unwrap();
    folder
}

fn no_large_file() -> Command {
    let command = report_into(&fresh("quiet-large").join("report.json"));
    shell("ulimit -f 0; exec \"$@\"", &command)
}

fn images() -> Vec<PathBuf> {
    let named = [
        "/usr/local/nvidia/lib",
        "/usr/local/nvidia/lib64",
        "/usr/local/cuda/compat/lib",
    ];
    let mut folders: Vec<PathBuf> = named.iter().map(PathBuf::from).collect();
    folders.extend([lib64(), driver()]);
    folders
}

/// A file that is there by itself and cannot be replaced, as one that is mounted.
fn report_into(path: &Path) -> Command {
    set("CUDNN_GUARD_REPORT", path.to_str().unwrap())
}

/// A row for each set-up: what it is, what is said, the program in it.
fn rows() -> Vec<(&'static str, Said, Command)> {
    let other = |release| installed(release).join("lib64");
    vec![
        ("a sound one", Nothing, sound()),
        (
            "links to the files of one release",
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
            "folders of NVIDIA's images, which are not there",
            Nothing,
            with(&images()),
        ),
        (
            "a second copy of the release behind",
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
            "only what is compiled at run time",
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
        ("a name that is not UTF-8", Nothing, in_folder(b"b\xffse")),
        (
            "a name with a line break and a quote",
            Nothing,
            in_folder(b"a\n\"b'`c"),
        ),
        (
            "nothing else in the environment",
            Nothing,
            nothing_else_set(),
        ),
        ("symbols bound at once", Nothing, set("LD_BIND_NOW", "1")),
        ("no /proc", Nothing, hidden("/proc")),
        ("no /etc", Nothing, hidden("/etc")),
        (
            "no folder for what is written for a time",
            Nothing,
            set("TMPDIR", "/nowhere"),
        ),
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
            "GPUs that are hidden",
            Unknown("no-gpu"),
            set("CUDA_VISIBLE_DEVICES", ""),
        ),
        (
            "a machine that is not ready",
            Unknown("driver-error"),
            set("SIM_CUINIT", "802"),
        ),
        (
            "an updated driver before the reboot",
            Unknown("driver-error"),
            set("SIM_CUINIT", "803"),
        ),
        (
            "a driver that does not know why",
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
            "a GPU that is busy",
            Unknown("device-busy"),
            fault("status:cuCtxSynchronize:999"),
        ),
        (
            "a GPU with no memory left",
            Unknown("device-memory-low"),
            set("SIM_MEMORY", "4000"),
        ),
        (
            "a cuDNN that finds no memory",
            Unknown("device-memory-low"),
            fault("status:cudnnCreate:4004"),
        ),
        ("a cuDNN that prints a great deal", Nothing, fault("flood")),
        ("several GPUs", Nothing, set("SIM_DEVICES", "8")),
        (
            "no child to be had",
            Unknown("child-not-started"),
            odd("no-child"),
        ),
        (
            "no file to be had",
            Unknown("child-not-started"),
            odd("few-files"),
        ),
        (
            "CUDA in use already",
            Unknown("child-not-started"),
            odd("start-cuda"),
        ),
        ("nothing can be written", Nothing, odd("read-only")),
        ("a thread with a small stack", Nothing, odd("small-stack")),
        (
            "children that nobody waits for",
            Nothing,
            odd("ignore-children"),
        ),
        (
            "a handler that waits for all children",
            Nothing,
            odd("wait-in-handler"),
        ),
        ("little memory", Nothing, odd("little-memory")),
        (
            "an allocator that ends children",
            Unknown("child-not-started"),
            odd("end-children"),
        ),
        ("no more threads", Nothing, odd("no-threads")),
        ("two thousand open files", Nothing, odd("many-files")),
        ("all signals blocked", Nothing, odd("block-signals")),
        ("threads at work", Nothing, odd("busy-threads")),
        ("a program that was deleted", Nothing, deleted()),
        (
            "a folder that was deleted",
            Nothing,
            from_a_deleted_folder(),
        ),
        ("started through the loader", Nothing, through_the_loader()),
        (
            "closed streams",
            Nothing,
            shell("exec \"$@\" <&- 2>&-", &sound()),
        ),
        (
            "no cores, small files",
            Nothing,
            shell("ulimit -c 0; ulimit -f 100; exec \"$@\"", &sound()),
        ),
        (
            "a report that nobody can write",
            Unknown("io-error"),
            report_into(Path::new("/nowhere/at/all")),
        ),
        (
            "a report that is larger than a file may be",
            Unknown("io-error"),
            no_large_file(),
        ),
        (
            "parts that were loaded from files of other names",
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
            "a cuDNN whose folder is another one while it is in use",
            Nothing,
            open_when("swap-cudnn"),
        ),
        (
            "a newer release than all that are known, of other parts",
            Nothing,
            with(&[of_other_parts(), driver()]),
        ),
        (
            "a report into a device",
            Nothing,
            report_into(Path::new("/dev/null")),
        ),
    ]
}

#[test]
fn no_set_up_that_is_sound_or_unknown_ends_a_program() {
    let mut wrong = Vec::new();
    let rows = rows();
    assert!(rows.len() >= 25);
    for (what, said, mut command) in rows {
        let began = std::time::Instant::now();
        let output = command.stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let as_wanted = match said {
            Nothing => stderr.is_empty(),
            Unknown(id) => {
                let line = stderr.strip_suffix(&format!("  [{id}]\n"));
                line.is_some_and(|line| line.starts_with("cudnn-guard: ") && !line.contains('\n'))
            }
        };
        let went_on = output.stdout == b"went on\n" && output.status.code() == Some(0);
        if !went_on || !as_wanted || began.elapsed().as_secs() > 30 {
            wrong.push(format!("{what}: {:?}\n{stderr}", output.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
