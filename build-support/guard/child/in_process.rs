//! The work in this process itself, for where no child can do it: in a thread of its own, so that the context, the
//! device and the last error of the thread that asks stay as they are.

use crate::runtime::child::Sink;
use crate::runtime::child::exit_status::{ChildExit, ExitStatus};
use crate::runtime::child::process_lock::pause;
use crate::runtime::system::names::DRIVER;
use crate::runtime::system::platform::{self, Library};
use std::ffi::c_int;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// As a main thread has it: cuDNN and the driver take what they are used to.
const STACK: usize = 8 << 20;
/// How often whether the thread has ended is looked at.
const TICK: Duration = Duration::from_millis(1);

/// Whether CUDA is started in this process, which a child made by `fork` could no longer use it in. Starts nothing.
pub fn cuda_is_started() -> bool {
    let driver = Library::loaded(DRIVER);
    let Some(address) = driver.and_then(|driver| driver.symbol("cuDeviceGetCount")) else {
        return false;
    };
    // SAFETY: cuda.h declares it as `CUresult (int *)`, an enum of an int's size.
    let count: unsafe extern "C" fn(*mut c_int) -> c_int = unsafe { std::mem::transmute(address) };
    let mut devices = 0;
    // SAFETY: the number outlives the call.
    let code = unsafe { count(&mut devices) };
    // Not initialised, the toolkit's stub, no device: a child learns no less.
    !matches!(code, 3 | 34 | 100)
}

/// Does the work in a thread, which is left behind when the time is over: what hangs in a driver cannot be ended.
pub fn in_thread(
    deadline: Duration,
    work: impl FnOnce(Sink<'_>) + Clone + Send + 'static,
) -> ChildExit {
    let until = Instant::now() + deadline;
    let told = Arc::new(Mutex::new(String::new()));
    let (again, to) = (work.clone(), Arc::clone(&told));
    // SAFETY: it borrows nothing.
    let thread = unsafe { spawn(Box::new(move || work(&|text| append(&to, text)))) };
    let end = match thread {
        // Whatever forbids children may forbid threads.
        Err(_) => {
            again(&|text| append(&told, text));
            ExitStatus::Itself
        }
        // A channel would wake this one at once, and take as long to compile as a twentieth of all this.
        Ok(thread) => loop {
            if thread.is_finished() {
                break ExitStatus::Itself;
            }
            if Instant::now() >= until {
                break ExitStatus::Late;
            }
            pause(TICK);
        },
    };
    let answer = told.lock().map(|lines| lines.clone());
    ChildExit {
        end,
        answer: answer.unwrap_or_default(),
        said: String::new(),
    }
}

fn append(lines: &Mutex<String>, text: &str) {
    if let Ok(mut lines) = lines.lock() {
        lines.push_str(text);
        lines.push('\n');
    }
}

/// Does the work on a stack of that size, where a thread can be had, and waits for it: whoever asks may be a thread
/// with a small stack.
pub fn with_large_stack(work: &(dyn Fn() + Sync)) {
    // `std::thread::scope` holds a panic, with the path of the file that it is in.
    // SAFETY: the thread is joined before anything that the work borrows goes away.
    match unsafe { spawn(Box::new(work)) } {
        Ok(thread) => drop(thread.join()),
        Err(_) => work(),
    }
}

/// More than a check takes of the stack of who asks, in a debug build.
const ENOUGH: usize = 256 << 10;

/// Does the work where it was asked for, or on a stack of its own if little is left of that one.
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
/// What the work borrows outlives the thread.
unsafe fn spawn(work: Box<dyn FnOnce() + Send + '_>) -> std::io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().stack_size(STACK);
    // SAFETY: the caller's.
    unsafe { thread.spawn_unchecked(work) }
}

/// Goes through locks that another thread may have held when this process was made by `fork`, to hang here and now if
/// one of them is held for ever.
pub fn pass_locks() {
    for size in [1 << 4, 1 << 10, 1 << 16, 1 << 22] {
        let mut bytes = Vec::<u8>::new();
        // Under a limit on memory there may be none, which ends no child.
        drop(bytes.try_reserve_exact(size));
        drop(std::hint::black_box(bytes));
    }
    let _ = std::env::var_os("PATH");
    platform::pass_locks();
}
