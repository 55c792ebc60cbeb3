//! Files that are not libraries where a library should be. The report describes each by the path that has the fault.

use super::program::{GPU, command_of, startup};
use crate::support::installation::{Folder, library_path, sound};
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const SHIM: &str = "libcudnn.so.9";
const PART: &str = "libcudnn_cnn.so.9";

/// How a file is replaced, the expected description, and the first help. `HERE` is the directory.
type Fault = (fn(&Path), &'static str, &'static str);

const FAULTS: [Fault; 6] = [
    (
        |file| symlink(file.file_name().unwrap(), file).unwrap(),
        "is a symlink loop",
        "remove that link, and reinstall cuDNN in `HERE`",
    ),
    (
        |file| symlink("gone.so.9.14.0", file).unwrap(),
        "is a broken link to `HERE/gone.so.9.14.0`",
        "remove that link, and reinstall cuDNN in `HERE`",
    ),
    (
        |file| fs::write(file, "").unwrap(),
        "is empty",
        "reinstall cuDNN in `HERE`: a container image may contain an empty file where the real one is mounted at run time",
    ),
    (
        |file| fs::write(file, "version https://git-lfs.github.com/spec/v1\noid 1\n").unwrap(),
        "is not an ELF library but a Git LFS pointer",
        "run `git lfs pull` in the repository that contains the file: the file is only a pointer to the library",
    ),
    (
        |file| fs::write(file, "404: Not Found\n").unwrap(),
        "is not an ELF library but text that begins with \"404: Not Found\"",
        "reinstall cuDNN in `HERE`",
    ),
    (
        |file| fs::create_dir(file).unwrap(),
        "is a directory, not a file",
        "remove that directory, and reinstall cuDNN in `HERE`: Docker creates a directory if a file to mount does not exist on the host",
    ),
];

#[test]
fn a_main_library_that_is_not_a_library_is_reported() {
    for (make, what, help) in FAULTS {
        let cudnn = sound().without(SHIM);
        make(&cudnn.file(SHIM));
        let path = cudnn.text();
        let (what, help) = (what.replace("HERE", path), help.replace("HERE", path));
        let text = format!(
            "\
cannot load `{SHIM}`; `{path}/{SHIM}` {what}  [cudnn-not-loadable]
  = help: {help}
  found via   LD_LIBRARY_PATH, its entry `{path}`
  loader      "
        );
        let ran = startup(&cudnn, &[GPU]);
        ran.must_stop(&text);
        // A program on a machine without a GPU may not need cuDNN.
        let ran = startup(&cudnn, &[]);
        ran.must_end_with(0)
            .must_begin(&format!("cudnn-guard: unknown: {text}"));
        assert_eq!(ran.stderr.lines().count(), 4, "{}", ran.stderr);
    }
}

#[test]
fn a_sub_library_that_is_not_a_library_is_reported() {
    for (make, what, help) in FAULTS {
        let cudnn = sound().without(PART);
        make(&cudnn.file(PART));
        let path = cudnn.text();
        let (what, help) = (what.replace("HERE", path), help.replace("HERE", path));
        let ran = startup(&cudnn, &[GPU]);
        ran.must_stop(&format!(
            "\
`{path}/{PART}` {what}  [library-damaged]
  = help: {help}
  loaded      {path}/{SHIM}
  found via   LD_LIBRARY_PATH, its entry `{path}`
"
        ));
        // A sub-library that no convolution uses stops nothing.
        let cudnn = sound().without("libcudnn_adv.so.9");
        make(&cudnn.file("libcudnn_adv.so.9"));
        startup(&cudnn, &[GPU]).must_be_silent();
    }
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Calls `run`, and releases those that meanwhile open this pipe. Returns `true` if there were any.
fn is_opened_by(run: &dyn Fn(), pipe: &Path) -> bool {
    const O_NONBLOCK: i32 = 0o4000;
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut options = OpenOptions::new();
            options.write(true).custom_flags(O_NONBLOCK);
            let mut is_opened = false;
            while !is_done.load(Ordering::Relaxed) {
                // Without a reader, this is an error.
                is_opened |= options.open(pipe).is_ok();
                thread::sleep(Duration::from_millis(5));
            }
            is_opened
        });
        let ran = catch_unwind(AssertUnwindSafe(run));
        is_done.store(true, Ordering::Relaxed);
        let is_opened = watch.join().unwrap();
        ran.map(|()| is_opened)
            .unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// The loader would wait for a writer, also when it is asked whether a library of this name is already loaded.
#[test]
fn a_pipe_in_place_of_the_driver_is_reported_and_not_opened() {
    let (cudnn, folder) = (sound(), Folder::new());
    let (pipe_of_driver, path) = (folder.file("libcuda.so.1"), folder.text());
    pipe(&pipe_of_driver);
    let both = library_path(&[&cudnn, &folder]);
    let run = || {
        let ran = startup(&cudnn, &[("TEST_GPU", "real"), ("LD_LIBRARY_PATH", both)]);
        ran.must_be_unknown(&format!(
            "\
`{path}/libcuda.so.1` is a pipe or a device, not a file, so no GPU can be used  [driver-missing]
  = help: remove `{path}/libcuda.so.1`
  found via   LD_LIBRARY_PATH, its entry `{path}`
"
        ));
    };
    assert!(!is_opened_by(&run, &pipe_of_driver));
}

/// Opening a pipe would block forever.
#[test]
fn a_pipe_is_reported_and_not_opened() {
    for (file, also) in [(SHIM, ""), (PART, "loaded      HERE/libcudnn.so.9\n  ")] {
        let cudnn = sound().without(file);
        pipe(&cudnn.file(file));
        let path = cudnn.text();
        let ran = startup(&cudnn, &[GPU]);
        ran.must_stop(&format!(
            "\
`{path}/{file}` is a pipe or a device, not a file  [library-damaged]
  = help: remove it, and reinstall cuDNN in `{path}`
  {}found via   LD_LIBRARY_PATH, its entry `{path}`
",
            also.replace("HERE", path)
        ));
    }
    // The loader does not reach a pipe behind a working cuDNN.
    let (cudnn, behind) = (sound(), Folder::new());
    pipe(&behind.file(SHIM));
    let ran = startup(
        &cudnn,
        &[GPU, ("LD_LIBRARY_PATH", library_path(&[&cudnn, &behind]))],
    );
    ran.must_be_silent();
}

/// Copies and archives can lose their links.
#[test]
fn a_main_library_without_its_link_is_reported() {
    let cudnn = sound();
    let named = cudnn.file("libcudnn.so.9.14.0");
    fs::rename(cudnn.file(SHIM), &named).unwrap();
    // The last name is reported.
    for minor in 10..14 {
        fs::copy(&named, cudnn.file(&format!("libcudnn.so.9.{minor}.0"))).unwrap();
    }
    let path = cudnn.text();
    let ran = startup(&cudnn, &[GPU]);
    ran.must_stop(&format!(
        "\
cannot load `{SHIM}`; `{path}/libcudnn.so.9.14.0` has no link `{SHIM}` next to it  [cudnn-not-loadable]
  = help: create its links: `sudo ldconfig -n {path}`
  found via   LD_LIBRARY_PATH, its entry `{path}`
"
    ));
    // Follow the help.
    let mut ldconfig = std::process::Command::new("/sbin/ldconfig");
    assert!(ldconfig.arg("-n").arg(&cudnn.0).status().unwrap().success());
    startup(&cudnn, &[GPU]).must_be_silent();
}

/// The loader stops at a symlink loop and at a file that is not a library, but skips a broken link.
#[test]
fn a_later_valid_file_is_used_where_the_loader_uses_it() {
    let behind = sound();
    for (make, what, _) in FAULTS {
        let first = Folder::new();
        make(&first.file(SHIM));
        let ran = startup(
            &behind,
            &[GPU, ("LD_LIBRARY_PATH", library_path(&[&first, &behind]))],
        );
        if what.contains("is a broken link") {
            ran.must_be_silent();
        } else {
            ran.must_stop(&format!(
                "cannot load `{SHIM}`; `{}/{SHIM}` {what}  [cudnn-not-loadable]\n",
                first.text()
            ));
        }
    }
}

/// Runs the program as a user who does not own these files, and returns its output.
fn as_another(cudnn: &Folder, folder: &Path) -> String {
    // The checkout may be in a directory that only its owner can enter.
    let place = Folder::new();
    let copy = place.file("program");
    // A separate process writes the copy: a program that is open for writing, here or in a child of another test,
    // cannot be run.
    let mut copier = Command::new("cp");
    copier.arg(std::env::current_exe().unwrap()).arg(&copy);
    assert!(copier.status().unwrap().success());
    let mut program = command_of(&copy, "startup", folder);
    program.envs([GPU]);
    if fs::metadata(&cudnn.0).unwrap().permissions().mode() & 0o777 != 0o755 {
        fs::set_permissions(&cudnn.0, Permissions::from_mode(0o755)).unwrap();
    }
    unsafe extern "C" {
        fn geteuid() -> u32;
    }
    // SAFETY: the function has no arguments and no side effects. Root can read everything.
    if unsafe { geteuid() } == 0 {
        program.uid(65534).gid(65534);
    }
    let output = program.output().unwrap();
    assert_eq!(output.status.code(), Some(78));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn files_without_permission_are_reported_as_such() {
    let close = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o0)).unwrap();
    let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    let cudnn = sound();
    let path = cudnn.text();
    close(&cudnn.file(SHIM));
    let text = as_another(&cudnn, &cudnn.0);
    let wanted = format!(
        "\
cannot load `{SHIM}`; `{path}/{SHIM}` cannot be read: permission denied  [cudnn-not-loadable]
  = help: make it readable: `sudo chmod -R a+rX {path}/{SHIM}`
"
    );
    assert!(text.starts_with(&wanted), "{text}");
    open(&cudnn.file(SHIM));
    close(&cudnn.file(PART));
    let text = as_another(&cudnn, &cudnn.0);
    let wanted = format!(
        "\
`{path}/{PART}` cannot be read: permission denied  [io-error]
  = help: make it readable: `sudo chmod -R a+rX {path}/{PART}`
"
    );
    assert!(text.starts_with(&wanted), "{text}");
    assert_eq!(
        text.matches("cannot be read: permission denied").count(),
        1,
        "{text}"
    );
    open(&cudnn.file(PART));
    // Two directories below, and through a link.
    let above = Folder::new();
    let lib = above.file("closed/deep/lib");
    fs::create_dir_all(&lib).unwrap();
    let link = above.file("link");
    symlink(&lib, &link).unwrap();
    close(&above.file("closed"));
    for folder in [&lib, &link] {
        let text = as_another(&above, folder);
        let (folder, above) = (folder.display(), above.text());
        let wanted = format!(
            "\
cannot load `{SHIM}`; `{folder}/{SHIM}` cannot be reached: no permission to enter `{above}/closed`  [cudnn-not-loadable]
  = help: make that directory accessible: `sudo chmod a+x {above}/closed`
"
        );
        assert!(text.starts_with(&wanted), "{text}");
    }
    // The closed directory may or may not contain a cuDNN, so a working cuDNN that was meant is reported first.
    let named = sound();
    let way = format!("{}:{}", lib.display(), named.file(SHIM).display());
    let text = as_another(&above, Path::new(&way));
    let wanted = format!(
        "cannot load `{SHIM}`; `{}/{SHIM}` exists, but the loader does not search there  [cudnn-not-loadable]\n",
        named.text()
    );
    assert!(text.starts_with(&wanted), "{text}");
    // So is a library without its link.
    fs::rename(named.file(SHIM), named.file("libcudnn.so.9.14.0")).unwrap();
    let way = format!("{}:{}", lib.display(), named.text());
    let text = as_another(&above, Path::new(&way));
    let wanted = format!(
        "cannot load `{SHIM}`; `{}/libcudnn.so.9.14.0` has no link `{SHIM}` next to it  [cudnn-not-loadable]\n",
        named.text()
    );
    assert!(text.starts_with(&wanted), "{text}");
    open(&above.file("closed"));
}
