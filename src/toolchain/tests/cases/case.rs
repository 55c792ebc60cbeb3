//! A case is a text file, `fixtures/cases/<finding>/<name>.txt`. Cases in `fixtures/cases/found` are about what is found,
//! not about a finding.
//!
//! ```text
//! CUDNN_PATH names a directory of libraries without headers
//!
//! [config]
//! cuda >=12.0
//! cudnn >=9.1
//!
//! [env]
//! CUDNN_PATH=$ROOT/opt/dnn
//!
//! [files]
//! CUDA 12.8 in usr/local/cuda
//! libraries of cuDNN 9.14.0 in opt/dnn/lib
//! opt/dnn/LICENSE.txt (empty)
//!
//! [expected]
//! + NVIDIA's default directory: CUDA 12.8 at $ROOT/usr/local/cuda
//! ```
//!
//! The first line is the title: what the case shows. All sections are optional, and `$ROOT` stands for the small file
//! system.
//!
//! `[config]` is the build script, one call of `Config` per line: `cuda >=12.0`, `cudnn >=9.1`, `link runtime` or
//! `static`, `libs cublas curand`, `archs 80`, `optional`, `allow ID`, `target TRIPLE`, `env NAME=VALUE`. Two lines are
//! not calls: `directives` adds the lines for cargo to the report, after those that every build prints, and `targets` the
//! findings about GPU targets. A case without `[config]` requires `cudnn >=9`.
//!
//! `[env]` is the environment.
//!
//! `[files]` lists the installations in the file system, one per line, as described in `installed.rs`, and all other
//! entries:
//!
//! ```text
//! usr/include/cuda.h                 a text file, with its lines below it, each indented by four spaces
//!     #define CUDA_VERSION 12080
//! usr/include/cudnn.h (empty)        an empty file
//! usr/lib64/libcudnn.so.9 (elf)      a library without a version; `elf aarch64`: for that CPU; `elf cut`: truncated;
//!                                    `elf soname libcudnn.so.8`: with that SONAME; `elf of another build`
//! dnn/bin/cudnn64_9.dll (dll version 9.1.0, imports cublas64_12.dll one two)
//!                                    a DLL with these properties, see `library_file/made_dll.rs`; `dll`: without any
//! usr/bin/nvcc (failing program)     a program that fails when it is run
//! usr/bin/nvcc (program)             a script, with its lines below it, as for the next entries
//! usr/include/cudnn.h (crlf)         a text file with Windows line endings; `bom crlf`: also with a byte order mark
//! proc/version (unended)             a text file without a newline at its end
//! usr/local/cuda -> cuda-12.8        a link
//! opt/nothing/                       an empty directory
//! ```
//!
//! `[denied]` lists files and directories that the user cannot open.
//!
//! `[fix ID]` contains the steps of the first help of this finding, see `fix.rs`. Each error and warning needs a fix.
//!
//! `[expected]` is the report, up to the end of the file: the installations, with `+` if they are chosen and `-` if
//! they are not, and the findings. The last line is the outcome, unless the build stops with an error or continues
//! without one. The files of a toolkit are listed unless they are in the usual places: `bin/nvcc`, `include` and
//! `lib64`, or `bin/nvcc.exe`, `include` and `lib/x64`. The header of a cuDNN is listed unless it is
//! `include/cudnn_version.h`, and the name to link unless it is `cudnn`. Sub-libraries with the same version, source
//! and directory are in one line, with the words of `installed.rs`: `sub-libs 9.14.0 from file name
//! $ROOT/usr/lib64/libcudnn*.so.9: for convolutions, without cnn`.
//! Long lists of searched places are shortened, see `places.rs`.
//!
//! To add a case, write it without `[expected]`. Then run `BLESS=1 cargo test --lib cases`, which rewrites this section
//! of every case, and review the diff.

use super::installed;
use crate::system::library_file::made_dll::DllSpec;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The prefix of each line of a file's text.
const INDENT: &str = "    ";

#[derive(Clone, Default)]
pub struct Case {
    name: String,
    pub about: Vec<String>,
    pub config: Vec<String>,
    pub env: Vec<String>,
    /// The entries of the file system, with those of the installations.
    pub files: Vec<String>,
    denied: Vec<String>,
    /// The fixes of findings, by id.
    pub fixes: Vec<(String, Vec<String>)>,
    pub expected: String,
}

impl Case {
    /// Returns every case, sorted by name.
    pub fn all() -> Vec<Self> {
        let entries = |dir: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(dir).unwrap();
            entries.map(|entry| entry.unwrap().path()).collect()
        };
        let dirs = entries(&directory());
        let mut files: Vec<PathBuf> = dirs.iter().flat_map(|dir| entries(dir)).collect();
        files.sort();
        files.iter().map(|file| Self::read(file)).collect()
    }

    fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap();
        let (given, expected) = split_report(&text);
        let name = file.strip_prefix(directory()).unwrap().with_extension("");
        let mut case = Self {
            name: name.to_str().unwrap().replace('\\', "/"),
            expected: expected.to_string(),
            ..Self::default()
        };
        let mut section = &mut case.about;
        let fix_id = |line: &str| Some(line.strip_prefix("[fix ")?.strip_suffix(']')?.to_string());
        for line in given.lines() {
            match line {
                "[config]" => section = &mut case.config,
                "[env]" => section = &mut case.env,
                "[files]" => section = &mut case.files,
                "[denied]" => section = &mut case.denied,
                line => match fix_id(line) {
                    Some(id) => {
                        case.fixes.push((id, Vec::new()));
                        section = &mut case.fixes.last_mut().unwrap().1;
                    }
                    None => section.push(line.to_string()),
                },
            }
        }
        let fixes = case.fixes.iter_mut().map(|(_, lines)| lines);
        let short = [
            &mut case.about,
            &mut case.config,
            &mut case.env,
            &mut case.denied,
        ];
        for section in short.into_iter().chain(fixes) {
            section.retain(|line| !line.is_empty());
        }
        if case.config.is_empty() {
            case.config.push("cudnn >=9".to_string());
        }
        case.files = installed::expand(&case.files, case.is_for_windows());
        case
    }

    /// Returns the file's path in `fixtures/cases`, without `.txt`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_for_windows(&self) -> bool {
        self.config.iter().any(|line| line.contains("-windows-"))
    }

    /// Creates the file system in `root`, with libraries for this CPU.
    pub fn unpack(&self, root: &Path, cpu: &str) {
        fs::create_dir_all(root).unwrap();
        create_entries(&self.files, root, cpu);
    }

    /// Runs `look` as a user who cannot open the denied files. Root can open them, so the test's thread drops root's
    /// privileges.
    #[cfg(target_os = "linux")]
    pub fn denied<T>(&self, root: &Path, look: impl FnOnce() -> T) -> T {
        use std::os::unix::fs::PermissionsExt;
        unsafe extern "C" {
            fn setfsuid(user: u32) -> i32;
        }
        const NOBODY: u32 = 65534;
        if self.denied.is_empty() {
            return look();
        }
        let modes = |mode: Option<u32>| {
            for path in &self.denied {
                let path = root.join(path);
                let usual = if path.is_dir() { 0o755 } else { 0o644 };
                let mode = fs::Permissions::from_mode(mode.unwrap_or(usual));
                fs::set_permissions(path, mode).unwrap();
            }
        };
        modes(Some(0));
        // SAFETY: `setfsuid` takes a number, and changes the privileges of this thread.
        let user = unsafe { setfsuid(NOBODY) };
        let report = look();
        // SAFETY: as above.
        unsafe { setfsuid(user as u32) };
        modes(None);
        report
    }

    #[cfg(not(target_os = "linux"))]
    pub fn denied<T>(&self, _: &Path, look: impl FnOnce() -> T) -> T {
        assert!(self.denied.is_empty(), "cases with modes run on Linux");
        look()
    }

    /// Allows the user to open this path again.
    pub fn allow_opening(&mut self, path: &str) {
        let count = self.denied.len();
        self.denied.retain(|denied| denied != path);
        assert_ne!(self.denied.len(), count, "{path:?} is not denied");
    }

    /// Writes `report` to the file as the expected report.
    pub fn bless(&self, report: &str) {
        let file = directory().join(format!("{}.txt", self.name));
        let text = fs::read_to_string(&file).unwrap();
        let given = split_report(&text).0.trim_end();
        fs::write(file, format!("{given}\n\n[expected]\n{report}")).unwrap();
    }
}

/// Creates these entries of a file system in `root`.
pub fn create_entries(files: &[String], root: &Path, cpu: &str) {
    let mut rest = files;
    while let [line, below @ ..] = rest {
        let is_text = |line: &String| line.is_empty() || line.starts_with(INDENT);
        let end = below.iter().take_while(|line| is_text(line)).count();
        let text: Vec<&str> = below[..end]
            .iter()
            .map(|line| line.strip_prefix(INDENT).unwrap_or(line))
            .collect();
        let text = text.join("\n");
        let (path, entry) = Entry::parse(line, text.trim_end_matches('\n'), cpu);
        entry.write(&root.join(path), root);
        rest = &below[end..];
    }
}

/// Returns a directory for many small files. It is in memory if possible, because a disk is slow.
pub fn scratch(name: &str) -> PathBuf {
    let name = format!("cudnn-guard-{name}-{}", std::process::id());
    let memory = Path::new("/dev/shm").join(&name);
    let script = r#"mkdir "$0" && cp /bin/true "$0" && "$0/true""#;
    let mut shell = Command::new("sh");
    match shell.args(["-c", script]).arg(&memory).output() {
        Ok(output) if output.status.success() => memory,
        _ => std::env::temp_dir().join(name),
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases")
}

/// Splits a case into its input and its expected report.
fn split_report(text: &str) -> (&str, &str) {
    text.split_once("\n[expected]\n").unwrap_or((text, ""))
}

/// An entry of the file system.
enum Entry {
    Directory,
    Link(String),
    Program(String),
    File(Vec<u8>),
}

impl Entry {
    fn parse<'a>(line: &'a str, text: &str, cpu: &str) -> (&'a str, Self) {
        let kind = line.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
        let (path, kind) = kind.unwrap_or((line, "text"));
        let has_text = matches!(kind, "text" | "crlf" | "bom crlf" | "unended" | "program");
        let bare = path.ends_with('/') || path.contains(" -> ");
        assert!(
            (has_text && !bare) != text.is_empty(),
            "{line:?}: a file with text is followed by its text, and no other entry is"
        );
        if let Some(path) = line.strip_suffix('/') {
            return (path, Self::Directory);
        }
        if let Some((path, target)) = line.split_once(" -> ") {
            return (path, Self::Link(target.to_string()));
        }
        let bytes = match kind {
            "text" => format!("{text}\n").into_bytes(),
            "crlf" => format!("{text}\n").replace('\n', "\r\n").into_bytes(),
            "bom crlf" => format!("\u{feff}{text}\n")
                .replace('\n', "\r\n")
                .into_bytes(),
            "unended" => text.into(),
            "program" => return (path, Self::Program(format!("{text}\n"))),
            "failing program" => return (path, Self::Program(FAILING.to_string())),
            "empty" => Vec::new(),
            "elf" => bare_elf(cpu).into(),
            "elf aarch64" => bare_elf("aarch64").into(),
            "elf cut" => bare_elf(cpu)[..40].into(),
            "elf of another build" => [&bare_elf(cpu)[..], b"another"].concat(),
            "dll" => DllSpec::from_lines("", cpu),
            _ => match (kind.strip_prefix("dll "), kind.strip_prefix("elf soname ")) {
                (Some(says), _) => DllSpec::from_lines(&says.replace(", ", "\n"), cpu),
                (_, Some(name)) => named_elf(cpu, name),
                _ => panic!("{line:?}: {kind:?} is no kind of file"),
            },
        };
        (path, Self::File(bytes))
    }

    fn write(&self, path: &Path, root: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(path.symlink_metadata().is_err(), "{path:?} is listed twice");
        match self {
            Self::Directory => fs::create_dir(path).unwrap(),
            Self::Link(target) => link(&target.replace("$ROOT", root.to_str().unwrap()), path),
            Self::Program(text) => program(text, path),
            Self::File(bytes) => fs::write(path, bytes).unwrap(),
        }
    }
}

const FAILING: &str = "#!/bin/sh\necho 'this compiler cannot be run' >&2\nexit 1\n";

/// The shortest file that is a library: an empty header.
fn bare_elf(cpu: &str) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16] = 3; // a shared library
    bytes[18] = if cpu == "aarch64" { 183 } else { 62 };
    bytes[20] = 1; // the version of the format
    bytes[52] = 64; // the size of this header
    bytes[58] = 64; // the size of a section's header
    bytes
}

/// A library with a SONAME, which searches its own directory: a single loaded segment with the complete file, and the
/// dynamic table.
fn named_elf(cpu: &str, name: &str) -> Vec<u8> {
    const SEGMENTS: u64 = 64;
    const DYNAMIC: u64 = SEGMENTS + 2 * 56;
    const STRINGS: u64 = DYNAMIC + 5 * 16;
    let strings = format!("\0{name}\0$ORIGIN\0").into_bytes();
    let end = STRINGS + strings.len() as u64;
    let mut bytes = bare_elf(cpu).to_vec();
    bytes[32] = SEGMENTS as u8;
    bytes[54] = 56; // the size of a segment's header
    bytes[56] = 2; // how many there are
    // Type (1: loaded, 2: the dynamic table) and flags; then offset, address twice, size twice, alignment.
    for (kind, flags, place, size) in [(1_u64, 4_u64, 0, end), (2, 6, DYNAMIC, STRINGS - DYNAMIC)] {
        bytes.extend((kind | flags << 32).to_le_bytes());
        bytes.extend(
            [place, place, place, size, size, 8]
                .map(u64::to_le_bytes)
                .concat(),
        );
    }
    let runpath = 2 + name.len() as u64;
    let length = strings.len() as u64;
    let strtab = [(5, STRINGS), (10, length), (14, 1), (29, runpath), (0, 0)];
    for (tag, value) in strtab {
        bytes.extend([tag, value].map(u64::to_le_bytes).concat());
    }
    bytes.extend(strings);
    bytes
}

/// Another process writes the file, because a file that is open for writing cannot be run. If this process wrote it, a
/// concurrent test that starts a program could keep it open.
#[cfg(unix)]
fn program(text: &str, path: &Path) {
    let status = Command::new("sh")
        .args(["-c", r#"printf %s "$1" >"$0" && chmod 755 "$0""#])
        .arg(path)
        .arg(text)
        .status();
    assert!(status.unwrap().success());
}

#[cfg(not(unix))]
fn program(text: &str, path: &Path) {
    fs::write(path, text).unwrap();
}

#[cfg(unix)]
fn link(target: &str, path: &Path) {
    std::os::unix::fs::symlink(target, path).unwrap();
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) {
    panic!("cases with links run on Unix");
}
