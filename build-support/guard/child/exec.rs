//! A child process on Linux that is a second instance of this program. `fork` copies the page tables, which takes about
//! 50 ms for each GB of memory, and every page that this process changes meanwhile is copied too.

use crate::runtime::child::process::entry::{self, VARIABLE};
use crate::runtime::child::{Functions, Task, process, work};
use crate::runtime::facts::codec::parsed;
use crate::runtime::loader::search_path;
use crate::runtime::system::{DRIVER, platform, proc};
use std::ffi::c_int;
use std::fs::File;
use std::io::Error;
use std::process::Command;
use std::ptr::fn_addr_eq;
use std::sync::atomic::Ordering;

/// The least private memory, in kB, with which a second instance is faster than a copy.
const LEAST_MEMORY: u64 = 64 << 10;

/// Returns `true` if a second instance of this program does the task like a copy of this process, but faster.
pub fn is_suitable(task: &Task) -> bool {
    let status = proc::text("self/status").unwrap_or_default();
    let number = |label: &str| {
        let mut lines = status.lines();
        let value = lines.find_map(|line| line.strip_prefix(label)?.split_whitespace().next());
        value.and_then(parsed).unwrap_or(0_u64)
    };
    // A sandbox that this process has entered may kill it for the system calls of `posix_spawn`.
    let is_sandboxed = number("Seccomp:") > 0 && number("NoNewPrivs:") > 0;
    let is_first = |name| std::env::var_os(name) == platform::first_environment(name);
    let is_own = |functions: Functions| {
        entry::FUNCTIONS.get().is_some_and(|own| {
            fn_addr_eq(functions.driver, own.driver) && fn_addr_eq(functions.convolve, own.convolve)
        })
    };
    number("RssAnon:") >= LEAST_MEMORY
        && entry::HAS_RUN.load(Ordering::Relaxed)
        && platform::is_program()
        && !platform::is_privileged()
        && !is_sandboxed
        && ["LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT"]
            .into_iter()
            .all(is_first)
        && task.built.linked_in.is_none()
        && task.functions.is_none_or(is_own)
        && has_only(task)
}

/// Returns `true` if this process contains no libraries of CUDA except those that the task opens.
fn has_only(task: &Task) -> bool {
    let main_library = task.main_library.and_then(|library| library.path());
    for path in platform::mapped() {
        let is_opened = task.parts.iter().any(|part| part.path == path);
        if work::is_relevant(&path) && !is_opened && main_library.as_ref() != Some(&path) {
            return false;
        }
    }
    search_path::loaded(DRIVER).is_none()
}

/// Starts the second instance, with the answer pipe as its standard input. Returns its process id.
///
/// # Errors
/// The reason why it does not start.
pub fn start(task: &Task, token: &str, sink: &File, output: &File) -> Result<c_int, String> {
    let parent = std::process::id() as usize;
    let text = task.to_text(token, parent);
    let spawn = || -> Result<_, Error> {
        Command::new("/proc/self/exe")
            .env(VARIABLE, format!("{}\n{}", entry::value_with(token), text))
            .stdin(sink.try_clone()?)
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .spawn()
    };
    let child = spawn().map_err(|error| error.to_string())?;
    // The constructors of its libraries run before it can do this itself.
    process::end_first(child.id());
    Ok(child.id() as c_int)
}
