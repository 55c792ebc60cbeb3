//! The job server of cargo, or of make above it, which limits the number of processes in the whole build.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A counter of processes.
pub enum JobServer {
    /// A pipe that contains a byte for each process that may be started.
    #[cfg(target_os = "linux")]
    Pipe(pipe::Pipe),
    #[cfg(windows)]
    Semaphore(jobserver::Client),
    /// Our own count of processes that may still be started, if there is no server.
    Own(AtomicUsize),
}

/// The permission to run one process. Dropping the token returns it.
pub struct Token<'a> {
    server: &'a JobServer,
    /// The byte from the pipe. make requires the same byte back.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code))]
    byte: u8,
}

impl JobServer {
    /// Opens the server in CARGO_MAKEFLAGS, or creates our own one with `own` tokens.
    pub fn inherited(flags: Option<&OsStr>, own: usize) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(pipe) = flags.and_then(OsStr::to_str).and_then(pipe::Pipe::open) {
            return Self::Pipe(pipe);
        }
        // SAFETY: on Windows only the name of a semaphore is read.
        #[cfg(windows)]
        if let (Some(_), Some(client)) = (flags, unsafe { jobserver::Client::from_env() }) {
            return Self::Semaphore(client);
        }
        let _ = flags;
        Self::Own(AtomicUsize::new(own))
    }

    /// Returns a token if one is available now.
    pub fn try_acquire(&self) -> Option<Token<'_>> {
        let byte = match self {
            #[cfg(target_os = "linux")]
            Self::Pipe(pipe) => pipe.take()?,
            #[cfg(windows)]
            Self::Semaphore(client) => {
                client.try_acquire().ok()??.drop_without_releasing();
                0
            }
            Self::Own(left) => {
                let one_less = |left: usize| left.checked_sub(1);
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
                    .ok()?;
                0
            }
        };
        Some(Token { server: self, byte })
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        match self.server {
            #[cfg(target_os = "linux")]
            JobServer::Pipe(pipe) => pipe.release(self.byte),
            #[cfg(windows)]
            JobServer::Semaphore(client) => drop(client.release_raw()),
            JobServer::Own(left) => {
                left.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod pipe {
    use std::fs::{File, OpenOptions};
    use std::io::{Read, Write};
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    /// `O_NONBLOCK` of every architecture of Linux that CUDA runs on.
    const O_NONBLOCK: i32 = 0o4000;

    pub struct Pipe {
        read: File,
        write: File,
    }

    impl Pipe {
        /// Opens the pipe in `--jobserver-auth=3,4` or `--jobserver-auth=fifo:PATH`. It is reopened as non-blocking,
        /// without changing how other processes read it, because a missing token must not block this process.
        pub fn open(flags: &str) -> Option<Self> {
            let auth = |flag: &'_ str| flag.strip_prefix("--jobserver-auth=").map(String::from);
            let auth = flags.split_whitespace().rev().find_map(auth)?;
            let fd_path = |number: &str| {
                let number: u32 = number.parse().ok()?;
                Some(format!("/proc/self/fd/{number}"))
            };
            let (read, write) = match (auth.strip_prefix("fifo:"), auth.split_once(',')) {
                (Some(path), _) => (path.to_string(), path.to_string()),
                (None, Some((read, write))) => (fd_path(read)?, fd_path(write)?),
                (None, None) => return None,
            };
            Some(Self {
                read: opened(OpenOptions::new().read(true), &read)?,
                write: opened(OpenOptions::new().write(true), &write)?,
            })
        }

        pub fn take(&self) -> Option<u8> {
            let mut byte = [0];
            match (&self.read).read(&mut byte) {
                Ok(1) => Some(byte[0]),
                _ => None,
            }
        }

        pub fn release(&self, byte: u8) {
            // The reader is open, and a pipe has space for every token that was in it.
            let _ = (&self.write).write(&[byte]);
        }
    }

    /// Opens a pipe. Other files with this descriptor or name are ignored.
    fn opened(options: &mut OpenOptions, path: &str) -> Option<File> {
        let file = options.custom_flags(O_NONBLOCK).open(path).ok()?;
        file.metadata().ok()?.file_type().is_fifo().then_some(file)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::process::Command;

    /// Returns `true` for an inherited server, and the number of its tokens.
    fn tokens(flags: &str) -> (bool, usize) {
        let server = JobServer::inherited(Some(OsStr::new(flags)), 5);
        let count = || std::iter::from_fn(|| server.try_acquire()).collect::<Vec<_>>();
        let first = count();
        let number = first.len();
        drop(first);
        // All tokens were returned.
        assert_eq!(count().len(), number);
        (matches!(server, JobServer::Pipe(_)), number)
    }

    #[test]
    fn tokens_come_from_the_pipe_that_cargo_names() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-jobs-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let fifo = dir.join("fifo");
        assert!(
            Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        let mut pipe = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&fifo)
            .unwrap();
        pipe.write_all(b"+++").unwrap();
        let number = pipe.as_raw_fd();
        let named = format!("-j --jobserver-fds=9,9 --jobserver-auth={number},{number} -x");
        assert_eq!(tokens(&named), (true, 3));
        let path = fifo.display();
        assert_eq!(
            tokens(&format!("-j4 --jobserver-auth=fifo:{path}")),
            (true, 3)
        );
        // Our own count is used for a file that is not a pipe, descriptors that are not open, and no flags.
        let file = std::fs::File::create(dir.join("file")).unwrap();
        let number = file.as_raw_fd();
        for flags in [
            format!("--jobserver-auth={number},{number}"),
            "--jobserver-auth=99999,99998".to_string(),
            "--jobserver-auth=fifo:/nonexistent".to_string(),
            "-j".to_string(),
        ] {
            assert_eq!(tokens(&flags), (false, 5), "{flags}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
