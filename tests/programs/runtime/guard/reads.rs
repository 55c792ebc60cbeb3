//! A file of cuDNN that cannot be read once, or from some time on, as on a failing disk or network file system.

use super::program::{GPU, Ran, run};
use crate::support::installation::{Folder, compile_replacing, sound};
use cudnn_guard::internals::binary::defect::Defect;
use cudnn_guard::internals::child::exit_status::ExitStatus;
use cudnn_guard::internals::child::protocol::ChildReport;
use cudnn_guard::internals::child::work::{ChildOutcome, SecondTry};
use cudnn_guard::internals::facts::FindingId;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Fails calls for the file whose path ends in FAIL_FILE: call number FAIL_CALL of all processes together, and with
/// FAIL_ALL also the calls after it. The loader's own calls cannot be replaced: with its message in FAIL_LOADER, calls
/// of `dlopen` count and fail instead. Writes FAIL_LOG when a call fails.
const SHIM: &str = r#"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

static int *calls;
static __thread char message[4096];
static __thread int has_message;

__attribute__((constructor)) static void start(void) {
    calls = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
static int is_failing_in(int is_loader, const char *path) {
    const char *file = getenv("FAIL_FILE");
    if (is_loader == !getenv("FAIL_LOADER")) return 0;
    size_t length = path ? strlen(path) : 0;
    if (!calls || !file || length < strlen(file) || strcmp(path + length - strlen(file), file)) return 0;
    int call = __atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST), wanted = atoi(getenv("FAIL_CALL"));
    if (call != wanted && !(getenv("FAIL_ALL") && call > wanted)) return 0;
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    close(real(getenv("FAIL_LOG"), O_WRONLY | O_CREAT, 0600));
    errno = atoi(getenv("FAIL_ERROR"));
    return 1;
}
static int is_failing(const char *path) { return is_failing_in(0, path); }
static int is_failing_fd(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t (*real)(const char *, char *, size_t) = (ssize_t (*)(const char *, char *, size_t))dlsym(RTLD_NEXT, "readlink");
    ssize_t length = real(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_failing(path);
}
static int open_with(const char *symbol, const char *path, int flags, int mode) {
    if (is_failing(path)) return -1;
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, symbol))(path, flags, mode);
}
int open(const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest);
    return open_with("open", path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest);
    return open_with("open64", path, flags, mode);
}
ssize_t read(int fd, void *into, size_t size) { NEXT(read); return is_failing_fd(fd) ? -1 : next(fd, into, size); }
ssize_t pread64(int fd, void *into, size_t size, off64_t at) { NEXT(pread64); return is_failing_fd(fd) ? -1 : next(fd, into, size, at); }
off64_t lseek64(int fd, off64_t at, int from) { NEXT(lseek64); return is_failing_fd(fd) ? -1 : next(fd, at, from); }
void *mmap64(void *at, size_t size, int rights, int flags, int fd, off64_t from) {
    NEXT(mmap64); return fd >= 0 && is_failing_fd(fd) ? MAP_FAILED : next(at, size, rights, flags, fd, from);
}
ssize_t readlink(const char *path, char *into, size_t size) { NEXT(readlink); return is_failing(path) ? -1 : next(path, into, size); }
char *realpath(const char *path, char *into) { NEXT(realpath); return is_failing(path) ? 0 : next(path, into); }
int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict into) {
    NEXT(statx);
    return (path && *path ? is_failing(path) : is_failing_fd(dir)) ? -1 : next(dir, path, flags, mask, into);
}
void *dlopen(const char *name, int flags) {
    NEXT(dlopen);
    if (flags & RTLD_NOLOAD || !is_failing_in(1, name)) return next(name, flags);
    snprintf(message, sizeof message, "%s: %s", name, getenv("FAIL_LOADER"));
    has_message = 1;
    return 0;
}
char *dlerror(void) {
    NEXT(dlerror);
    if (!has_message) return next();
    has_message = 0;
    return message;
}
"#;

/// The errors, and the loader's messages about them.
const ERRORS: [(&str, &str); 3] = [
    ("5", "cannot read file data: Input/output error"),
    ("116", "cannot open shared object file: Stale file handle"),
    ("12", "failed to map segment from shared object"),
];

struct Failing {
    shim: PathBuf,
    file: &'static str,
    error: (&'static str, &'static str),
    /// `true` if the loader's calls fail.
    in_loader: bool,
    /// `true` if all later calls fail too.
    lasts: bool,
}

impl Failing {
    /// Runs the task with call number `call` failing. Returns `None` if there are fewer calls.
    fn run(&self, task: &str, call: usize) -> Option<Ran> {
        let (cudnn, out) = (sound(), Folder::new());
        let (call, log) = (call.to_string(), out.file("log"));
        let mut variables = vec![
            GPU,
            ("LD_LIBRARY_PATH", cudnn.text()),
            ("LD_PRELOAD", self.shim.to_str().unwrap()),
            ("FAIL_FILE", self.file),
            ("FAIL_CALL", &call),
            ("FAIL_ERROR", self.error.0),
            ("FAIL_LOG", log.to_str().unwrap()),
        ];
        if self.in_loader {
            variables.push(("FAIL_LOADER", self.error.1));
        }
        if self.lasts {
            variables.push(("FAIL_ALL", "1"));
        }
        let ran = run(task, &out.0, &variables);
        log.exists().then_some(ran)
    }
}

fn shim(folder: &Folder) -> PathBuf {
    let shim = folder.file("shim.so");
    compile_replacing(SHIM, &shim);
    shim
}

#[test]
fn a_failed_read_stops_no_program() {
    let place = Folder::new();
    let shim = shim(&place);
    let files = [
        "libcudnn.so.9",
        "/libcudnn_graph.so.9",
        "/libcudnn_cnn.so.9",
    ];
    let mut rows = Vec::new();
    for (at, file) in files.into_iter().enumerate() {
        for lasts in [false, true] {
            for in_loader in [false, true] {
                rows.push(Failing {
                    shim: shim.clone(),
                    file,
                    error: ERRORS[(at + usize::from(lasts)) % 3],
                    in_loader,
                    lasts,
                });
            }
        }
    }
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Without the guard, the program itself reads nothing.
                    if !row.in_loader {
                        assert!(row.run("load", 1).is_none());
                    }
                    let mut call = 1;
                    while let Some(ran) = row.run("startup", call) {
                        if ran.code != Some(0) {
                            let (file, words) = (row.file, row.error.1);
                            let which = (row.in_loader, row.lasts, call);
                            let text = format!("{file} {words} {which:?}: {}", ran.stderr);
                            wrong.lock().unwrap().push(text);
                        }
                        call += 1;
                    }
                    assert!(call > if row.in_loader { 1 } else { 10 }, "{}", row.file);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// Nothing else shows that the file is valid.
#[test]
fn a_version_check_that_cannot_read_a_needed_file_is_unknown() {
    let place = Folder::new();
    let row = Failing {
        shim: shim(&place),
        file: "/libcudnn_cnn.so.9",
        error: ERRORS[0],
        in_loader: false,
        lasts: true,
    };
    let ran = row.run("version", 1).unwrap();
    ran.must_be("unknown", &["io-error"]);
    let finding = &ran.json["findings"][0];
    let path = ran.part(2);
    let dir = path.strip_suffix("/libcudnn_cnn.so.9").unwrap();
    assert_eq!(
        finding["summary"],
        format!("`{path}` cannot be read: Input/output error (os error 5)")
    );
    assert_eq!(
        finding["help"][0],
        format!(
            "check the disk or mount of the file: `df {dir}` shows it, and `dmesg` shows its errors"
        )
    );
}

/// A library that the loader refuses once is loaded by the second child.
#[test]
fn a_refusal_that_does_not_recur_stops_no_program() {
    let place = Folder::new();
    let shim = shim(&place);
    let row = |lasts| Failing {
        shim: shim.clone(),
        file: "/libcudnn_cnn.so.9",
        error: ("0", "some new message"),
        in_loader: true,
        lasts,
    };
    let load = Failing {
        file: "libcudnn_cnn.so.9",
        ..row(false)
    };
    assert_eq!(load.run("load", 1).unwrap().code, Some(101));
    let ran = row(false).run("startup", 1).unwrap();
    ran.must_end_with(0);
    let dir = ran.stderr.split('`').nth(1).unwrap();
    let dir = dir.strip_suffix("/libcudnn_cnn.so.9").unwrap();
    ran.must_say(&format!(
        "\
cudnn-guard: unknown: `{dir}/libcudnn_cnn.so.9` cannot be loaded  [cudnn-not-loadable]
  = help: restart the program; if the failure comes and goes, check the disk or mount of the file
  retry       passed
  loader      {dir}/libcudnn_cnn.so.9: some new message
"
    ));
    let ran = row(true).run("startup", 1).unwrap();
    ran.must_end_with(78);
}

/// A second test process that did not get as far as the first has not passed.
#[test]
fn a_refusal_in_the_second_test_process_is_named() {
    let retried = |path: &str, words: &str| {
        let unopened = vec![(path.into(), words.to_string())];
        let answer = ChildReport {
            unopened,
            is_complete: true,
            ..ChildReport::default()
        };
        let outcome = ChildOutcome {
            answer,
            end: ExitStatus::Itself,
            output: String::new(),
            unprotected: None,
            second_try: None,
        };
        let first = FindingId::CudnnAborted.error("crashed");
        let second = SecondTry(Some(Box::new(outcome)));
        second.of_first(first).evidence.remove(0)
    };
    let path = "/nowhere/libcudnn_cnn.so.9";
    assert_eq!(
        retried(path, &format!("{path}: some new message")),
        ("retry", format!("`{path}` cannot be loaded"))
    );
    // That is no fault of cuDNN.
    let driver = "libcuda.so.1: cannot open shared object file: No such file or directory";
    assert_eq!(retried(path, driver), ("retry", "passed".to_string()));
}

#[test]
fn denied_access_is_no_fault_of_the_disk() {
    for code in [1, 13] {
        let words = Error::from_raw_os_error(code).to_string();
        assert_eq!(
            Defect::Unreadable(words).help(Path::new("/cudnn/libcudnn.so.9")),
            "allow this program to read `/cudnn/libcudnn.so.9`, or call `startup()` before the program enters its sandbox"
        );
    }
}
