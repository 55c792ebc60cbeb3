//! The setups, each created as the program needs it.

use crate::support::circumstances::{circumstances, command, copy, installed, library};
use crate::support::installation::{PARTS_9, compile_replacing, copy as copy_all, link_all};
use crate::support::{fresh, program, wrapped};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

const RELEASE: (u32, u32, u32) = (9, 14, 0);

pub fn lib64() -> PathBuf {
    installed(RELEASE).join("lib64")
}

pub fn driver() -> PathBuf {
    installed(RELEASE).join("driver")
}

/// The program on a working machine, modified by this act.
pub fn odd(act: &str) -> Command {
    command(&[act, "startup", "went-on"], &[lib64(), driver()])
}

/// The program on a machine with these directories in its library path.
pub fn with(folders: &[PathBuf]) -> Command {
    command(&["startup", "went-on"], folders)
}

pub fn sound() -> Command {
    with(&[lib64(), driver()])
}

pub fn set(name: &str, value: &str) -> Command {
    let mut command = sound();
    command.env(name, value);
    command
}

/// The program started by a shell that first runs `script`.
pub fn shell(script: &str, command: &Command) -> Command {
    wrapped(&["/bin/sh", "-c", script, "sh"], command)
}

/// The program under PRoot, which maps cuDNN and the driver to `/mnt/cudnn`, with these additional PRoot arguments.
pub fn below_proot(arguments: &str) -> Command {
    let shown = with(&["/mnt/cudnn/lib64", "/mnt/cudnn/driver"].map(PathBuf::from));
    let script =
        format!("mkdir -p /var/empty && exec proot -b \"$TREE\":/mnt/cudnn {arguments} \"$@\"");
    let mut command = shell(&script, &shown);
    command.env("TREE", installed(RELEASE)).env("FARM", farm());
    command
}

/// The program in a directory that fakechroot makes its root. It contains cuDNN and the driver in `/mnt/cudnn`, and
/// uses this library path and these directories in its `/etc/ld.so.conf`.
pub fn below_fakechroot(name: &str, library_path: &[&str], configured: &[&str]) -> Command {
    let root = fresh(&format!("quiet-root-{name}"));
    let at = |path: &str| root.join(path);
    copy_all(&installed(RELEASE), &at("mnt/cudnn"));
    fs::create_dir(at("mnt/farm")).unwrap();
    // As `ln -s` creates them inside.
    link_all(&at("mnt/cudnn/lib64"), &at("mnt/farm"));
    fs::create_dir(at("etc")).unwrap();
    fs::write(at("etc/ld.so.conf"), configured.join("\n") + "\n").unwrap();
    fs::copy(circumstances(), at("program")).unwrap();
    let script = "export PATH=/usr/sbin:/usr/bin:/sbin:/bin && shift
        exec fakechroot chroot \"$ROOT\" /program \"$@\"";
    let shown: Vec<PathBuf> = library_path.iter().map(PathBuf::from).collect();
    let mut command = shell(script, &with(&shown));
    command.env("ROOT", root);
    command
}

pub fn farm() -> PathBuf {
    let farm = fresh("quiet-farm");
    link_all(&lib64(), &farm);
    farm
}

/// Full file names and links to them, as in an extracted archive.
pub fn full_names() -> PathBuf {
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

pub fn without(name: &str, parts: &[&str]) -> PathBuf {
    let folder = copy(name, &lib64());
    for part in parts {
        fs::remove_file(folder.join(format!("libcudnn_{part}.so.9"))).unwrap();
    }
    folder
}

pub fn in_folder(name: &[u8]) -> Command {
    let above = fresh(&format!("quiet-name-of-{}", name.len()));
    let folder = above.join(OsString::from_vec(name.to_vec()));
    copy_all(&lib64(), &folder);
    with(&[folder, driver()])
}

/// A preloaded library that hides everything below this directory.
pub fn hidden(folder: &str) -> Command {
    let preload = fresh("quiet-hidden").join("hide.so");
    let code = format!(
        r#"
        static int is(const char *path) {{ return path && !strncmp(path, "{folder}", {}); }}
        #define HIDE(result, name, parameters, arguments) \
            result name parameters {{ \
                if (is(path)) {{ errno = ENOENT; return -1; }} \
                NEXT(name); \
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
    compile_replacing(&code, &preload);
    let mut command = sound();
    command.env("LD_PRELOAD", preload);
    command
}

pub fn moved_program(name: &str) -> PathBuf {
    let own = fresh(name).join("program");
    fs::copy(circumstances(), &own).unwrap();
    own
}

pub fn environment_of(from: &Command, to: &mut Command) {
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
}

pub fn through_the_loader() -> Command {
    let loader = if cfg!(target_arch = "aarch64") {
        "/lib/ld-linux-aarch64.so.1"
    } else {
        "/lib64/ld-linux-x86-64.so.2"
    };
    wrapped(&[loader], &sound())
}

pub fn deleted() -> Command {
    let mut command = program(moved_program("quiet-deleted"));
    environment_of(&sound(), &mut command);
    command.args(["delete-me", "startup", "went-on"]);
    command
}

pub fn from_a_deleted_folder() -> Command {
    let mut command = odd("delete-here");
    command.current_dir(fresh("quiet-here"));
    command
}

pub fn relative() -> Command {
    let mut command = sound();
    command
        .current_dir(installed(RELEASE))
        .env("LD_LIBRARY_PATH", "lib64:driver");
    command
}

pub fn nothing_else_set() -> Command {
    let mut command = sound();
    command.env_clear().env(
        "LD_LIBRARY_PATH",
        std::env::join_paths([lib64(), driver()]).unwrap(),
    );
    command
}

pub fn stub() -> PathBuf {
    let folder = fresh("quiet-stub");
    library(
        "#define STUB(name) int name(void) { return 34; }
        STUB(cuInit) STUB(cuDriverGetVersion) STUB(cuDeviceGetCount) STUB(cuDeviceGet)
        STUB(cuDeviceGetName) STUB(cuDeviceGetAttribute)",
        &folder.join("libcuda.so.1"),
    );
    folder
}

/// The program opens cuDNN, then changes its files as `act` says, and checks again.
pub fn open_when(act: &str) -> Command {
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

/// The sub-libraries are loaded under their own names, but their files have others.
pub fn parts_of_other_names() -> Command {
    let folder = copy("other-names", &lib64());
    let mut preload = Vec::new();
    for part in &PARTS_9[..7] {
        let other = folder.join(format!("{part}-1a2b3c4d.so"));
        fs::rename(folder.join(format!("libcudnn_{part}.so.9")), &other).unwrap();
        preload.push(other);
    }
    let mut command = with(&[folder, driver()]);
    command.env("LD_PRELOAD", std::env::join_paths(preload).unwrap());
    command
}

/// A version that is newer than the tables, with fewer sub-libraries than the last known version.
pub fn of_other_parts() -> PathBuf {
    let folder = copy("other-parts", &installed((9, 99, 0)).join("lib64"));
    fs::remove_file(folder.join("libcudnn_engines_tensor_ir.so.9")).unwrap();
    folder
}

pub fn no_large_file() -> Command {
    let report = fresh("quiet-large").join("report.json");
    let command = set("CUDNN_GUARD_REPORT", report.to_str().unwrap());
    shell("ulimit -f 0; exec \"$@\"", &command)
}
