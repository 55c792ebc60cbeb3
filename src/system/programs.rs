//! Runs other programs with empty input, limited output and a deadline.

use crate::model::Invocation;
use crate::runtime::facts::{Finding, printable};
use crate::runtime::system::path_cache;
use crate::system::child_processes::die_with_this_process;
#[cfg(target_os = "linux")]
use crate::system::child_processes::kill_tree;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Write};
#[cfg(unix)]
use std::os::fd::OwnedFd as OwnedStream;
#[cfg(unix)]
use std::os::unix::process::ExitStatusExt;
#[cfg(windows)]
use std::os::windows::io::OwnedHandle as OwnedStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The limit of each stream. Anything beyond it is read and dropped, so that endless output cannot fill the memory.
pub const CAP: usize = 1 << 20;

/// The time that the streams may stay open after the program has exited, for example because a child process holds
/// them.
const GRACE: Duration = Duration::from_millis(500);

/// The interval of checks while the streams are open. Their end wakes the waiting thread at once.
const TICK: Duration = Duration::from_millis(20);

/// The interval of checks after the streams were closed, since most programs exit right then.
const CLOSED_TICK: Duration = Duration::from_millis(1);

/// The time before the first message about a wait.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Set if the exit status is 0.
    pub success: bool,
    /// The signal that ended the program, or the program whose exit status it passes on. On Windows, the code of the
    /// exception.
    pub signal: Option<u32>,
    /// The standard output. Invalid UTF-8 is replaced.
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Returns the standard output, followed by the standard error.
    pub fn printed(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A program that could not be run to its end.
pub enum ProgramFault<'a> {
    /// An operation, such as `start`, that the operating system refuses.
    Failed(&'static str, &'a std::io::Error),
    /// A program that exceeded its time limit, and its output until then.
    TimedOut(Duration, String),
}

/// Runs a program. After the deadline, or when cargo exits, the program and everything that it started is killed. It
/// stays in the process group of the build, so that Ctrl-C in the terminal stops it too.
pub fn run(invocation: &Invocation, deadline: Option<Duration>) -> Result<Output, Finding> {
    let begun = Instant::now();
    let cannot = |verb, error| ProgramFault::Failed(verb, &error).finding(invocation);
    if is_abandoned() {
        return Err(cannot("start", cargo_is_gone()));
    }
    let mut command = Command::new(&invocation.program);
    command
        .args(&invocation.args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in &invocation.env {
        command.env(name, value);
    }
    die_with_this_process(&mut command);
    path_cache::forget();
    let mut child = command.spawn().map_err(|error| cannot("start", error))?;
    let stdout = drain(child.stdout.take().map(OwnedStream::from));
    let stderr = drain(child.stderr.take().map(OwnedStream::from));
    // A reader thread shares the bytes until its stream ends.
    let open = || Arc::strong_count(&stdout) > 1 || Arc::strong_count(&stderr) > 1;
    let waited = wait(&mut child, open, invocation, begun, deadline);
    // Children are allowed to outlive a program that exits normally: sccache leaves its server running.
    if !matches!(waited, Ok(Some(_))) {
        #[cfg(target_os = "linux")] // other systems do not list child processes
        kill_tree(child.id() as i32);
        // `wait` only collects the exit status, so that no zombie remains.
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = |bytes: &Mutex<Vec<u8>>| {
        let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    match waited {
        Ok(Some(status)) => Ok(Output {
            success: status.success(),
            signal: signal(status),
            stdout: text(&stdout),
            stderr: text(&stderr),
        }),
        Ok(None) => {
            let limit = deadline.unwrap_or_default();
            let output = text(&stdout) + &text(&stderr);
            Err(ProgramFault::TimedOut(limit, output).finding(invocation))
        }
        Err(error) => Err(cannot("wait for", error)),
    }
}

/// Returns the signal of a program. A shell exits with 128 plus the signal of its command.
#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<u32> {
    let by_shell = || status.code()?.checked_sub(128);
    let signal = status.signal().or_else(by_shell)?;
    (1..=31).contains(&signal).then_some(signal.unsigned_abs())
}

/// Returns the exception of a program, a status of the severity "error" of Windows itself.
#[cfg(not(unix))]
fn signal(status: ExitStatus) -> Option<u32> {
    let code = u32::from_ne_bytes(status.code()?.to_ne_bytes());
    (code >> 28 == 0xC).then_some(code)
}

/// Waits for the program and for the end of its streams. Returns `None` after the deadline.
fn wait(
    child: &mut Child,
    open: impl Fn() -> bool,
    invocation: &Invocation,
    begun: Instant,
    deadline: Option<Duration>,
) -> std::io::Result<Option<ExitStatus>> {
    let mut exited: Option<(ExitStatus, Instant)> = None;
    let mut waiting = Waiting::default();
    loop {
        if let Some(limit) = deadline {
            waiting.report(invocation, begun.elapsed(), limit);
        }
        if exited.is_none() {
            let status = child.try_wait()?;
            exited = status.map(|status| (status, Instant::now()));
        }
        match exited {
            Some((status, at)) if !open() || at.elapsed() >= GRACE => return Ok(Some(status)),
            None if deadline.is_some_and(|limit| begun.elapsed() >= limit) => return Ok(None),
            None if is_abandoned() => return Err(cargo_is_gone()),
            _ if open() => std::thread::park_timeout(TICK),
            _ => std::thread::sleep(CLOSED_TICK),
        }
    }
}

/// A message on standard error that is printed once if something takes long.
#[derive(Default)]
pub struct Waiting {
    is_printed: bool,
}

impl Waiting {
    /// Prints the reason for waiting, once it takes longer than usual.
    pub fn report(&mut self, what: &dyn Display, waited: Duration, limit: Duration) {
        if !self.is_printed && waited >= PATIENCE && limit > PATIENCE {
            self.is_printed = true;
            let limit = limit.as_secs_f64();
            let what = printable(&what.to_string());
            let line = format!("waiting for {what}, at most {limit} s in total\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}

/// Returns the program that a shell would start. Relative entries of PATH, which depend on the current directory, are
/// ignored.
pub fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    if name.contains(['/', '\\']) {
        return Some(PathBuf::from(name));
    }
    for dir in std::env::split_paths(path) {
        let program = dir.join(name);
        if dir.is_absolute() && program.is_file() {
            return Some(program);
        }
    }
    None
}

/// Reads a stream to its end in its own thread, because a program with a full pipe blocks. Wakes this thread at the
/// end.
fn drain(from: Option<OwnedStream>) -> Arc<Mutex<Vec<u8>>> {
    let mut from = from.map(File::from);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&kept);
    let waiting = std::thread::current();
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Some(Ok(count)) = from.as_mut().map(|from| from.read(&mut buffer)) {
            if count == 0 {
                break;
            }
            let mut kept = sink.lock().unwrap_or_else(PoisonError::into_inner);
            let room = CAP.saturating_sub(kept.len());
            kept.extend_from_slice(&buffer[..count.min(room)]);
        }
        drop(sink);
        waiting.unpark();
    });
    kept
}

/// Returns `true` in a build script after its cargo has exited. The first call records cargo's process id.
fn is_abandoned() -> bool {
    #[cfg(unix)]
    let parent = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let parent = 0; // Windows keeps the id of a parent that has exited
    static CARGO: OnceLock<Option<u32>> = OnceLock::new();
    let cargo = CARGO.get_or_init(|| std::env::var_os("OUT_DIR").map(|_| parent));
    cargo.is_some_and(|cargo| cargo != parent)
}

fn cargo_is_gone() -> std::io::Error {
    std::io::Error::other("cargo, which ran this build script, has exited")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::facts::FindingId;

    fn shell(script: &str) -> Invocation {
        Invocation {
            program: "/bin/sh".into(),
            args: vec!["-c".to_string(), script.to_string()],
            ..Invocation::default()
        }
    }

    #[test]
    fn keeps_the_output_and_the_exit_status() {
        let output = run(
            &shell("echo out; echo err >&2; exit 3"),
            Some(Duration::from_secs(5)),
        )
        .unwrap();
        assert_eq!(
            output,
            Output {
                success: false,
                signal: None,
                stdout: "out\n".to_string(),
                stderr: "err\n".to_string()
            }
        );
        for (script, signal) in [
            ("kill -9 $$", Some(9)),
            ("sh -c 'kill -11 $$'; exit $?", Some(11)),
            ("exit 255", None),
            ("exit 128", None),
            ("exit 1", None),
        ] {
            let output = run(&shell(script), Some(Duration::from_secs(5))).unwrap();
            assert_eq!((output.success, output.signal), (false, signal), "{script}");
        }
        assert!(run(&shell("cat"), None).unwrap().success, "input is empty");
    }

    #[test]
    fn keeps_one_mebibyte_of_a_longer_output() {
        let script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2";
        let output = run(&shell(script), Some(Duration::from_secs(20))).unwrap();
        assert!(output.success);
        assert_eq!((output.stdout.len(), output.stderr.len()), (CAP, CAP));
    }

    #[test]
    fn stops_a_program_and_its_children_at_the_deadline() {
        let begun = Instant::now();
        let mark = std::env::temp_dir().join(format!("cudnn-guard-alive-{}", std::process::id()));
        let script = format!(
            "echo thinking; (sleep 1; touch '{}') & sleep 60",
            mark.display()
        );
        let finding = run(&shell(&script), Some(Duration::from_millis(300))).unwrap_err();
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(
            (finding.id, finding.summary.as_str()),
            (
                FindingId::ProgramTimeout,
                "`/bin/sh` did not finish within 0.3 s and was stopped"
            )
        );
        assert_eq!(finding.evidence[1], ("output", "thinking".to_string()));
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!mark.exists(), "the child outlived the deadline");
    }

    #[test]
    fn does_not_wait_for_a_programs_leftover_children() {
        let begun = Instant::now();
        let output = run(
            &shell("sleep 30 & echo output"),
            Some(Duration::from_secs(20)),
        )
        .unwrap();
        assert_eq!((output.success, output.stdout.as_str()), (true, "output\n"));
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
    }

    #[test]
    fn names_a_program_that_cannot_be_started() {
        let missing = Invocation {
            program: "/nowhere/nv cc".into(),
            args: vec!["--version".to_string()],
            ..Invocation::default()
        };
        assert_eq!(
            run(&missing, Some(Duration::from_secs(1)))
                .unwrap_err()
                .to_string(),
            "cannot start `/nowhere/nv cc`: No such file or directory (os error 2)  [io-error]\n  \
             command     '/nowhere/nv cc' --version"
        );
    }
}
