//! A child process on Windows: a second instance of this program, which enters the guard before `main` and never
//! reaches `main`. It reads its task from standard input and writes its report to a separate pipe, since other output
//! goes to the other standard streams.

pub mod entry;

use crate::runtime::child::exit_status::{ANSWER_LIMIT, LEAST_WAIT, OUTPUT_LIMIT, signal_name};
use crate::runtime::child::process::entry::VARIABLE;
use crate::runtime::child::{ChildExit, ExitStatus, Sink, Task, TimeLeft};
use crate::runtime::loader::{LoadOrigin, SearchPath};
use crate::runtime::system::platform;
use std::ffi::{OsString, c_void};
use std::fs::File;
use std::io::{Error, Read, Write};
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, ExitStatus as ProcessStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// `true` if the child begins as a copy of this process, including CUDA.
pub const IS_COPY: bool = false;

/// `SEM_FAILCRITICALERRORS`, `SEM_NOGPFAULTERRORBOX` and `SEM_NOOPENFILEERRORBOX`: no dialogs about a crash.
const NO_BOXES: u32 = 0x8003;
const EXCEPTION_EXECUTE_HANDLER: i32 = 1;
const CREATE_NO_WINDOW: u32 = 0x0800_0000;
const EXTENDED_LIMITS: i32 = 9;
const DIE_ON_UNHANDLED_EXCEPTION: u32 = 0x400;
const KILL_ON_JOB_CLOSE: u32 = 0x2000;
/// `DUPLICATE_CLOSE_SOURCE` and `DUPLICATE_SAME_ACCESS`
const MOVE: u32 = 3;
/// The time to read the pipes of a child that has ended: a program that it started may hold them open.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// `JOBOBJECT_EXTENDED_LIMIT_INFORMATION`: the flags are its third word.
#[repr(C)]
struct JobLimits {
    times: [i64; 2],
    flags: u32,
    rest: [u64; 15],
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetErrorMode(mode: u32) -> u32;
    fn SetUnhandledExceptionFilter(filter: extern "system" fn(*const c_void) -> i32)
    -> *mut c_void;
    fn TerminateProcess(process: *mut c_void, code: u32) -> i32;
    fn CreateJobObjectW(security: *const c_void, name: *const u16) -> *mut c_void;
    fn SetInformationJobObject(
        job: *mut c_void,
        class: i32,
        limits: *const JobLimits,
        size: u32,
    ) -> i32;
    fn AssignProcessToJobObject(job: *mut c_void, process: *mut c_void) -> i32;
    fn CloseHandle(handle: *mut c_void) -> i32;
    fn CreatePipe(
        read: *mut *mut c_void,
        write: *mut *mut c_void,
        security: *const c_void,
        size: u32,
    ) -> i32;
    fn DuplicateHandle(
        from: *mut c_void,
        handle: *mut c_void,
        to: *mut c_void,
        copy: *mut *mut c_void,
        access: u32,
        inherits: i32,
        options: u32,
    ) -> i32;
    fn GetCurrentProcess() -> *mut c_void;
}

/// A job object, whose processes end with this process, even after a crash.
struct Job(*mut c_void);

impl Job {
    fn containing(process: *mut c_void) -> Self {
        let limits = JobLimits {
            times: [0; 2],
            flags: KILL_ON_JOB_CLOSE | DIE_ON_UNHANDLED_EXCEPTION,
            rest: [0; 15],
        };
        // SAFETY: the size is that of the limits. Without a job object, only the deadline ends the child.
        unsafe {
            let job = CreateJobObjectW(std::ptr::null(), std::ptr::null());
            SetInformationJobObject(job, EXTENDED_LIMITS, &limits, size_of::<JobLimits>() as u32);
            AssignProcessToJobObject(job, process);
            Self(job)
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // SAFETY: it is closed once; processes in it end.
        unsafe { CloseHandle(self.0) };
    }
}

/// Does the task in a second instance of this program.
///
/// # Errors
/// The reason why there is no child.
pub fn in_child(
    deadline: Duration,
    task: &Task,
    token: &str,
    _work: &(dyn Fn(Sink<'_>) + Sync),
) -> Result<ChildExit, String> {
    if !platform::is_program() {
        return Err(
            "this code is in a DLL, and only a program can start a copy of itself".to_string(),
        );
    }
    end_if_child();
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let failed = |error: Error| format!("{}: {}", program.display(), error);
    let mut command = Command::new(&program);
    if let Some(path) = path_with_added_directories() {
        command.env(platform::LIBRARY_PATH, path);
    }
    command
        .env(VARIABLE, entry::value_with(token))
        .creation_flags(CREATE_NO_WINDOW)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    // The child does nothing before it gets its task.
    let _job = Job::containing(child.as_raw_handle().cast());
    let (pipe, number) = match pipe_from(child.as_raw_handle().cast()) {
        Ok(pipe) => pipe,
        Err(error) => {
            let _ = child.kill();
            return Err(failed(error));
        }
    };
    let (mut answer, mut output) = (Reader::new(ANSWER_LIMIT), Reader::new(OUTPUT_LIMIT));
    answer.read(Some(pipe));
    output.read(child.stdout.take());
    output.read(child.stderr.take());
    if let Some(mut stdin) = child.stdin.take() {
        let text = task.to_text(token, number);
        // In a thread, since the child may not read. If the child has ended, its status shows that.
        let write = move || drop(stdin.write_all(text.as_bytes()));
        let _ = std::thread::Builder::new().spawn(write);
    }
    let status = wait(&mut child, deadline);
    if status.is_none() {
        let _ = child.kill();
        // A process that hangs in a driver does not end.
        wait(&mut child, LEAST_WAIT);
    }
    let end = match status.map(|status| status.code()) {
        None => ExitStatus::Late,
        Some(Some(code)) if signal_name(code).is_some() => ExitStatus::Signal(code),
        Some(_) => ExitStatus::Itself,
    };
    Ok(ChildExit {
        end,
        answer: answer.take(),
        output: output.take(),
    })
}

/// Makes this process a child that answers through the pipe with this handle.
pub fn enter_child(pipe: usize) -> Option<File> {
    // SAFETY: the functions have no conditions, and this process owns the handle.
    unsafe {
        SetErrorMode(NO_BOXES);
        SetUnhandledExceptionFilter(end);
        Some(File::from_raw_handle(pipe as *mut _))
    }
}

/// Ends this process with the exception's code, without a crash reporter.
extern "system" fn end(_exception: *const c_void) -> i32 {
    EXCEPTION_EXECUTE_HANDLER
}

/// Ends this process at once: exit handlers of DLLs may hang.
pub fn exit() {
    // SAFETY: it has no conditions.
    unsafe { TerminateProcess(GetCurrentProcess(), 0) };
}

/// Ends a child that reaches its own check, which happens if the program has its own entry point that does not call
/// constructors. The child would start another child, and so on.
fn end_if_child() {
    let value = std::env::var_os(VARIABLE).unwrap_or_default();
    if value.to_string_lossy().starts_with(&entry::value_with("")) {
        exit();
    }
}

/// Returns the directories that this process has added to its search path, which a child does not inherit, followed by
/// PATH. Returns `None` if there are none.
fn path_with_added_directories() -> Option<OsString> {
    let mut directories = SearchPath::of_program().directories;
    directories.retain(|one| {
        matches!(
            one.origin,
            LoadOrigin::AddedDirectory(_) | LoadOrigin::DllDirectory(_)
        )
    });
    let mut path = OsString::new();
    for one in &directories {
        path.push(&one.dir);
        path.push(";");
    }
    path.push(std::env::var_os(platform::LIBRARY_PATH).unwrap_or_default());
    (!directories.is_empty()).then_some(path)
}

/// Waits for the end of a child. Returns `None` if it has not ended by then.
fn wait(child: &mut Child, limit: Duration) -> Option<ProcessStatus> {
    let mut time = TimeLeft::new(limit);
    loop {
        let status = child.try_wait().ok().flatten();
        if status.is_some() || !time.pause() {
            return status;
        }
    }
}

/// Creates a pipe. Returns the read end, and the child's handle of the write end. No other program that is started
/// meanwhile inherits the write end.
fn pipe_from(child: *mut c_void) -> Result<(File, usize), Error> {
    let mut ends = [std::ptr::null_mut(); 2];
    let [read, write] = &mut ends;
    // SAFETY: a handle is written to each place. This process's end for writing is closed even if the copy fails.
    unsafe {
        if CreatePipe(read, write, std::ptr::null(), 0) == 0 {
            return Err(Error::last_os_error());
        }
        let read = File::from_raw_handle((*read).cast());
        let (here, mut copy) = (GetCurrentProcess(), std::ptr::null_mut());
        match DuplicateHandle(here, *write, child, &mut copy, 0, 0, MOVE) {
            0 => Err(Error::last_os_error()),
            _ => Ok((read, copy as usize)),
        }
    }
}

/// Threads that read pipes.
struct Reader {
    text: Arc<Mutex<Vec<u8>>>,
    limit: usize,
    threads: Vec<JoinHandle<()>>,
}

impl Reader {
    fn new(limit: usize) -> Self {
        Self {
            text: Arc::default(),
            limit,
            threads: Vec::new(),
        }
    }

    fn read(&mut self, pipe: Option<impl Read + Send + 'static>) {
        let (into, limit) = (Arc::clone(&self.text), self.limit);
        let Some(mut pipe) = pipe else { return };
        let read = move || {
            let mut buffer = vec![0_u8; 1 << 12];
            while let Some(count) = pipe.read(&mut buffer).ok().filter(|count| *count > 0) {
                if let Ok(mut text) = into.lock() {
                    let room = limit.saturating_sub(text.len());
                    text.extend(buffer.iter().take(count.min(room)));
                }
            }
        };
        self.threads
            .extend(std::thread::Builder::new().spawn(read).ok());
    }

    /// Waits for the ends of the pipes for at most [`DRAIN_TIME`], and returns the text.
    fn take(self) -> String {
        let mut time = TimeLeft::new(DRAIN_TIME);
        while !self.threads.iter().all(JoinHandle::is_finished) && time.pause() {}
        let text = self.text.lock().map(|text| text.clone());
        // C programs on Windows end lines with `\r\n`.
        String::from_utf8_lossy(&text.unwrap_or_default()).replace("\r\n", "\n")
    }
}
