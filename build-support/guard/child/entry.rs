//! The entry of a child that is a second instance of this program: before `main`, among the constructors of the program.

use crate::runtime::child::{Functions, Task, process, with_large_stack, work};
use crate::runtime::system::{Library, platform};
use std::io::Read;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variable that marks a child. It contains the offset of the child's guard in the program, and the token at the
/// end of its task. On Linux the task follows in the next lines.
pub const VARIABLE: &str = "CUDNN_GUARD_CHILD";

/// `true` if this guard was called before `main`, so that it will be called in a second instance too.
pub static HAS_RUN: AtomicBool = AtomicBool::new(false);
/// The functions of a second instance.
pub static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

// SAFETY: the C runtime calls every function in this section once, before `main`.
#[cfg(windows)]
#[used]
#[unsafe(link_section = ".CRT$XCU")]
static ENTER: extern "C" fn() = enter;

/// Returns the value of [`VARIABLE`] for a child of this program.
pub fn value_with(token: &str) -> String {
    #[cfg(windows)]
    keep(&ENTER);
    // The address of a program varies, but the offsets in it do not. Two guards in a program have two offsets.
    let offset = (&raw const HAS_RUN as usize).wrapping_sub(platform::own_module() as usize);
    format!("{offset:x}-{token}")
}

/// Makes the compiler and the linker keep this variable.
pub fn keep(enter: &extern "C" fn()) {
    std::hint::black_box(enter);
}

pub extern "C" fn enter() {
    HAS_RUN.store(true, Ordering::Relaxed);
    let functions = *FUNCTIONS.get_or_init(Functions::default);
    let Some(value) = std::env::var_os(VARIABLE) else {
        return;
    };
    let value = value.to_string_lossy().into_owned();
    let (mark, task) = value.split_once('\n').unwrap_or((&value, ""));
    let Some((_, token)) = mark.split_once('-') else {
        return;
    };
    // A library must not do anything in another program's process, and the user of a setuid program must not choose what
    // it opens.
    if !platform::is_program() || platform::is_privileged() || mark != value_with(token) {
        return;
    }
    // Programs that this process starts are not children of the guard.
    // SAFETY: `main` has not begun, so no thread of the program uses the environment.
    unsafe { std::env::remove_var(VARIABLE) };
    let mut text = task.to_string();
    if cfg!(windows) {
        // A variable is too short for the task.
        let _ = std::io::stdin().read_to_string(&mut text);
    }
    // A panic must not unwind into the C runtime.
    let _ = std::panic::catch_unwind(|| answer(&text, token, functions));
    // Without a complete task the parent is gone, and `main` must not run a second time.
    process::exit();
}

/// Does the task. Returns `None` if the task is not complete, or if this process cannot open the cuDNN.
fn answer(text: &str, token: &str, functions: Functions) -> Option<()> {
    let (number, main_library, mut task) = Task::parse(text, token, functions)?;
    let pipe = process::enter_child(number)?;
    if let Some(path) = main_library {
        task.main_library = Some(Library::open_file(&path).ok()?);
    }
    with_large_stack(&|| {
        work::run_task(&task, token, &|text| work::send(&pipe, text));
        process::exit();
    });
    Some(())
}
