//! The fallback without a child: a separate thread of this process, so that the context, device and last error of the
//! calling thread do not change.

use crate::runtime::child::{ChildExit, ExitStatus, Sink, TimeLeft};
use crate::runtime::loader::search_path;
use crate::runtime::system::{DRIVER, platform};
use std::ffi::c_int;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The stack size of a main thread, which cuDNN and the driver may rely on.
const STACK: usize = 8 << 20;

/// Returns `true` if CUDA is initialized in this process, so that a forked child cannot use it. Does not initialize
/// CUDA.
pub fn cuda_is_started() -> bool {
    let driver = search_path::loaded(DRIVER);
    let Some(address) = driver.and_then(|driver| driver.symbol("cuDeviceGetCount")) else {
        return false;
    };
    // SAFETY: cuda.h declares it as `CUresult (int *)`, an enum of an int's size.
    let count: unsafe extern "C" fn(*mut c_int) -> c_int = unsafe { std::mem::transmute(address) };
    let mut devices = 0;
    // SAFETY: the number outlives the call.
    let code = unsafe { count(&mut devices) };
    // Not initialized, the toolkit's stub, no device: a child works too.
    !matches!(code, 3 | 34 | 100)
}

/// Does the work in a thread. At the deadline the thread is abandoned, since a thread that hangs in a driver cannot be
/// stopped.
pub fn in_thread(
    deadline: Duration,
    work: impl FnOnce(Sink<'_>) + Clone + Send + 'static,
) -> ChildExit {
    let mut time = TimeLeft::new(deadline);
    let lines = Arc::new(Mutex::new(String::new()));
    let (again, to) = (work.clone(), Arc::clone(&lines));
    // SAFETY: it borrows nothing.
    let thread = unsafe { spawn(Box::new(move || work(&|text| append(&to, text)))) };
    let end = match thread {
        // A system that forbids children may forbid threads.
        Err(_) => {
            again(&|text| append(&lines, text));
            ExitStatus::Itself
        }
        // A channel would add about 5% to the compile time of the guard.
        Ok(thread) => loop {
            if thread.is_finished() {
                break ExitStatus::Itself;
            }
            if !time.pause() {
                break ExitStatus::Late;
            }
        },
    };
    let answer = lines.lock().map(|lines| lines.clone());
    ChildExit {
        end,
        answer: answer.unwrap_or_default(),
        output: String::new(),
    }
}

fn append(lines: &Mutex<String>, text: &str) {
    if let Ok(mut lines) = lines.lock() {
        lines.push_str(text);
        lines.push('\n');
    }
}

/// Does the work on a stack of about `STACK` bytes if a thread can be started, and waits for it: the calling thread may
/// have a small stack. On the calling thread, the work knows the file system's answers.
pub fn with_large_stack(work: &(dyn Fn() + Sync)) {
    if platform::stack_left().is_some_and(|left| left > STACK / 2) {
        return work();
    }
    // `std::thread::scope` contains a panic, which would put the path of its source file into the program.
    // SAFETY: the thread is joined before the borrows of the work end.
    match unsafe { spawn(Box::new(work)) } {
        Ok(thread) => drop(thread.join()),
        Err(_) => work(),
    }
}

/// More stack than a check needs in a debug build.
const ENOUGH: usize = 256 << 10;

/// Does the work on this stack, or on a new one if little of this one is left.
pub fn on_enough_stack<T: Send>(work: &(dyn Fn() -> T + Sync)) -> T {
    if platform::stack_left().unwrap_or(ENOUGH) >= ENOUGH {
        return work();
    }
    let done = Mutex::new(None);
    with_large_stack(&|| {
        let result = work();
        if let Ok(mut done) = done.lock() {
            *done = Some(result);
        }
    });
    match done.into_inner() {
        Ok(Some(result)) => result,
        _ => work(),
    }
}

/// # Safety
/// The borrows of the work outlive the thread.
unsafe fn spawn(work: Box<dyn FnOnce() + Send + '_>) -> std::io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().stack_size(STACK);
    // SAFETY: the caller guarantees the borrows.
    unsafe { thread.spawn_unchecked(work) }
}

/// Takes and releases the locks that another thread may have held during `fork`, so that a child with a stuck lock
/// hangs here.
pub fn pass_locks() {
    for size in [1 << 4, 1 << 10, 1 << 16, 1 << 22] {
        let mut bytes = Vec::<u8>::new();
        // A memory limit is no reason to end a child.
        drop(bytes.try_reserve_exact(size));
        drop(std::hint::black_box(bytes));
    }
    let _ = std::env::var_os("PATH");
    platform::pass_locks();
}
