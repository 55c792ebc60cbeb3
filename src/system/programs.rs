//! Runs other programs: with nothing on their input, all they say kept within bounds, and an end to waiting.

use crate::model::invocation::Invocation;
use crate::runtime::facts::finding::Finding;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{Read, Write};
#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// More than this of either stream is read and dropped, so that a program that talks for ever cannot fill the memory.
const CAP: usize = 1 << 20;

/// How long the streams may stay open after the program itself has ended, held by something it left behind.
const GRACE: Duration = Duration::from_millis(500);

/// How long to wait before a program whose streams are open is looked at again: their end is told at once.
const TICK: Duration = Duration::from_millis(20);

/// How often a program is asked whether it has ended once it has closed its streams: most end right then.
const CLOSED_TICK: Duration = Duration::from_millis(1);

/// How long to wait in silence.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a program said, and whether it was content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Whether it ended with exit status 0.
    pub success: bool,
    /// What it wrote to its output, in UTF-8 as far as it is.
    pub stdout: String,
    /// What it wrote to its error stream.
    pub stderr: String,
}

/// A program that gave no output.
pub enum ProgramFault<'a> {
    /// An operation that the system refuses.
    Failed {
        /// The operation: `start`.
        verb: &'static str,
        error: &'a std::io::Error,
    },
    /// A program that did not end in time.
    TimedOut {
        limit: Duration,
        /// Its output until then.
        output: String,
    },
}

/// Asks a program a question that is answered within the deadline, or not at all: then it and everything that it
/// started is killed.
pub fn run(invocation: &Invocation, deadline: Duration) -> Result<Output, Finding> {
    start(invocation, Some(deadline))
}

/// Lets a compiler work as long as it has to, or until cargo is gone.
pub fn run_to_end(invocation: &Invocation) -> Result<Output, Finding> {
    start(invocation, None)
}

/// The program stays in the process group of the build, so that Ctrl-C in the terminal ends it too.
fn start(invocation: &Invocation, deadline: Option<Duration>) -> Result<Output, Finding> {
    let begun = Instant::now();
    if is_abandoned() {
        return Err(cannot("start", invocation, &cargo_is_gone()));
    }
    let mut command = Command::new(&invocation.program);
    command
        .args(&invocation.args)
        .envs(invocation.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    end_with_this_process(&mut command);
    let mut child = command
        .spawn()
        .map_err(|error| cannot("start", invocation, &error))?;
    let stdout = drain(child.stdout.take().map(|stream| Box::new(stream) as Source));
    let stderr = drain(child.stderr.take().map(|stream| Box::new(stream) as Source));
    let open = || stdout.is_open() || stderr.is_open();
    let waited = wait(&mut child, open, invocation, begun, deadline);
    // What a program leaves behind after an ordinary end is its own affair: sccache leaves its server.
    if !matches!(waited, Ok(Some(_))) {
        let children = children(child.id());
        // The second only takes its exit status, so that no zombie stays.
        let _ = child.kill();
        let _ = child.wait();
        kill_all(&children);
    }
    let text = |stream: &Stream| {
        let bytes = stream.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    match waited {
        Ok(Some(status)) => Ok(Output {
            success: status.success(),
            stdout: text(&stdout),
            stderr: text(&stderr),
        }),
        Ok(None) => {
            let limit = deadline.unwrap_or_default();
            let output = text(&stdout) + &text(&stderr);
            Err(ProgramFault::TimedOut { limit, output }.finding(invocation))
        }
        Err(error) => Err(cannot("wait for", invocation, &error)),
    }
}

/// Waits for the program and for the end of its streams; `None` is the deadline.
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
            waiting.tell(invocation, begun.elapsed(), limit);
        }
        if exited.is_none() {
            let status = child.try_wait()?;
            exited = status.map(|status| (status, Instant::now()));
        }
        match exited {
            Some((status, at)) if !open() || at.elapsed() >= GRACE => return Ok(Some(status)),
            None if deadline.is_some_and(|limit| begun.elapsed() >= limit) => return Ok(None),
            None if is_abandoned() => {
                return Err(cargo_is_gone());
            }
            _ if open() => std::thread::park_timeout(TICK),
            _ => std::thread::sleep(CLOSED_TICK),
        }
    }
}

/// Says once that something takes its time, where the standard error of a build script or of the terminal program goes.
#[derive(Default)]
pub struct Waiting {
    is_told: bool,
}

impl Waiting {
    /// Names what is waited for, once it has taken longer than is usual.
    pub fn tell(&mut self, what: &dyn Display, waited: Duration, limit: Duration) {
        if !self.is_told && waited >= PATIENCE && limit > PATIENCE {
            self.is_told = true;
            let limit = limit.as_secs_f64();
            let line = format!("waiting for {what}, at most {limit} s in all\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}

/// The program that a shell would start, if it is there. A relative entry of PATH would mean another place in every
/// directory.
pub fn on_path(name: &str, path: impl AsRef<OsStr>) -> Option<PathBuf> {
    if name.contains(['/', '\\']) {
        return Some(PathBuf::from(name));
    }
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|program| program.is_file())
}

type Source = Box<dyn Read + Send>;

/// What was read of one of a program's streams. Its reader has a share in it until the stream ends.
struct Stream {
    kept: Arc<Mutex<Vec<u8>>>,
}

impl Stream {
    fn is_open(&self) -> bool {
        Arc::strong_count(&self.kept) > 1
    }
}

/// Reads a stream to its end in a thread of its own: a program whose pipe is full stands still. Wakes this thread at the
/// end.
fn drain(mut from: Option<Source>) -> Stream {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&kept);
    let waiting = std::thread::current();
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Some(count) = from.as_mut().and_then(|from| from.read(&mut buffer).ok()) {
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            let mut kept = sink.lock().unwrap_or_else(PoisonError::into_inner);
            let room = CAP.saturating_sub(kept.len()).min(bytes.len());
            kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
        }
        drop(sink);
        waiting.unpark();
    });
    Stream { kept }
}

/// The processes that one has started and not waited for.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let mut found = Vec::new();
    for thread in threads.into_iter().flatten().flatten() {
        let listed = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let listed = listed.split_whitespace();
        found.extend(listed.filter_map(|one| one.parse::<i32>().ok()));
    }
    found
}

/// Kills processes, and all that they have started: each is killed before those that it has started, so that it starts
/// no others.
#[cfg(target_os = "linux")]
fn kill_all(processes: &[i32]) {
    unsafe extern "C" {
        fn kill(process: i32, signal: i32) -> i32;
    }
    const SIGKILL: i32 = 9;
    for process in processes.iter().copied().filter(|process| *process > 0) {
        let started = children(process.unsigned_abs());
        // SAFETY: `kill` takes two numbers.
        unsafe { kill(process, SIGKILL) };
        kill_all(&started);
    }
}

/// Only Linux tells.
#[cfg(not(target_os = "linux"))]
const fn children(_: u32) -> Vec<i32> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
const fn kill_all(_: &[i32]) {}

/// Has the kernel end the program where this process is killed, with the thread that waits for the program.
#[cfg(target_os = "linux")]
pub fn end_with_this_process(command: &mut Command) {
    unsafe extern "C" {
        fn prctl(option: i32, ...) -> i32;
    }
    const PR_SET_PDEATHSIG: i32 = 1;
    const SIGKILL: std::ffi::c_ulong = 9;
    // SAFETY: what runs between fork and exec is one system call, with two numbers.
    unsafe {
        command.pre_exec(|| {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            Ok(())
        })
    };
}

/// Other systems have no such order; there the program goes on.
#[cfg(not(target_os = "linux"))]
pub fn end_with_this_process(_: &mut Command) {}

/// Whether this is a build script whose cargo is gone: nobody waits for what it does. The first call notes which
/// process cargo is.
fn is_abandoned() -> bool {
    #[cfg(unix)]
    let parent = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let parent = 0; // Windows keeps the number of a parent that is gone
    static CARGO: OnceLock<Option<u32>> = OnceLock::new();
    let cargo = CARGO.get_or_init(|| std::env::var_os("OUT_DIR").map(|_| parent));
    cargo.is_some_and(|cargo| cargo != parent)
}

fn cargo_is_gone() -> std::io::Error {
    std::io::Error::other("cargo, which ran this build script, is gone")
}

fn cannot(verb: &'static str, invocation: &Invocation, error: &std::io::Error) -> Finding {
    ProgramFault::Failed { verb, error }.finding(invocation)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::facts::finding_id::FindingId;

    fn shell(script: &str) -> Invocation {
        Invocation {
            program: "/bin/sh".into(),
            args: vec!["-c".to_string(), script.to_string()],
            ..Invocation::default()
        }
    }

    #[test]
    fn keeps_what_is_said_and_how_it_ended() {
        let output = run(
            &shell("echo out; echo err >&2; exit 3"),
            Duration::from_secs(5),
        )
        .unwrap();
        assert_eq!(
            output,
            Output {
                success: false,
                stdout: "out\n".to_string(),
                stderr: "err\n".to_string()
            }
        );
        assert!(run_to_end(&shell("cat")).unwrap().success, "input is empty");
    }

    #[test]
    fn keeps_one_mebibyte_of_a_program_that_says_more() {
        let script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2";
        let output = run(&shell(script), Duration::from_secs(20)).unwrap();
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
        let finding = run(&shell(&script), Duration::from_millis(300)).unwrap_err();
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(
            (finding.id, finding.summary.as_str()),
            (
                FindingId::ProgramTimeout,
                "`/bin/sh` did not end within 0.3 s and was stopped"
            )
        );
        assert_eq!(finding.evidence[1], ("it said", "thinking".to_string()));
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!mark.exists(), "the child outlived the deadline");
    }

    #[test]
    fn does_not_wait_for_what_a_program_leaves_behind() {
        let begun = Instant::now();
        let output = run(&shell("sleep 30 & echo said"), Duration::from_secs(20)).unwrap();
        assert_eq!((output.success, output.stdout.as_str()), (true, "said\n"));
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
            run(&missing, Duration::from_secs(1))
                .unwrap_err()
                .to_string(),
            "cannot start `/nowhere/nv cc`: No such file or directory (os error 2)  [io-error]\n  \
             command     '/nowhere/nv cc' --version"
        );
    }
}
