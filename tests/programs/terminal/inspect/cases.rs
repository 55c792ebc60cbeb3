//! The cases in `cases/*.txt`: steps that change an image, and what the terminal program prints for it then. `BLESS=1`
//! updates the outputs.
//!
//! A case begins with `== ` and its title, and with an empty image. In a step, `@` is the image:
//!
//! - `cudnn DIR MINOR`: a cuDNN 9 for CUDA 13, with the libraries that it opens
//! - `app VERSION LOADER FLAGS`: a program with a guard that was built with this cuDNN
//! - `record KEY VALUE; ..`: the record of a guard in the next program
//! - `program FLAGS`, `library PATH FLAGS`: linked with these files; `rpath=`, `runpath=` and `old-rpath=` are flags
//! - `versioned PATH FLAGS`: a library whose symbol version is its own name, as in NVIDIA's libraries
//! - `windows VERSION IMPORTS`, `dll PATH LINE; ..`, `dlls DIR VERSION`: a program, a DLL and a cuDNN for Windows
//! - `driver PATH ANSWER`: a driver or a stub whose functions return this number
//! - `provider PATH`, `toolkit DIR NUMBER`: a library for CUDA 12 without the libraries that it needs, and a toolkit
//! - `owner WHEEL FILE`: the record of a wheel in `venv` that contains the file
//! - `cache NAME PATH`, `write PATH TEXT`, `script PATH TEXT`, `link TARGET PATH`, `move FROM TO`, `remove PATH`
//! - `foreign PATH`: changes the CPU of a file; `ldconfig DIR`: creates links
//! - `.. \`: the step continues in the next line
//! - `$ COMMAND`: runs the terminal program and prints the findings with their helps; `+LABEL` adds a row of the output,
//!   `+verdict` the verdict, `+evidence` the evidence, `+/POINTER` a value of the JSON; `only=TEXT` selects findings, `brief` omits helps;
//!   `NAME=VALUE` is a variable; `here` leaves out `--root`; `in=DIR` is the current directory
//!
//! The code of a program or library follows ` | `. A written text contains `\n`, `\t` and `\0`.

use super::image::{Image, PARTS, built_for_12, linked, toolkit};
use super::made::DllSpec;
use super::windows::built_for_windows;
use crate::support::{cache_of, repository, run, schema};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// The code of a library without functions.
const NOTHING: &str = "int nothing;";

/// The directory of Python packages, which is `SITE` in a step.
const SITE: &str = "venv/lib/python3.12/site-packages";

struct Case {
    image: Image,
    /// The records of the next program.
    records: Vec<String>,
    /// The output of the last command that has findings.
    last: String,
}

impl Case {
    fn new(name: &str) -> Self {
        // Line breaks depend on the length of the paths.
        let root = format!("/tmp/{:06x}-{}", std::process::id(), &name[..3]);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Self {
            image: Image(root.into()),
            records: Vec::new(),
            last: String::new(),
        }
    }

    fn step(&mut self, line: &str) {
        let image = &self.image;
        let mut line = line.replace('@', image.0.to_str().unwrap());
        for (short, long) in [
            (" rpath=", " -Wl,-rpath,"),
            (" runpath=", " -Wl,--enable-new-dtags,-rpath,"),
            (" old-rpath=", " -Wl,--disable-new-dtags,-rpath,"),
            ("SITE", SITE),
        ] {
            line = line.replace(short, long);
        }
        let (line, code) = line.split_once(" |").unwrap_or((&line, NOTHING));
        let words: Vec<&str> = line.split(' ').collect();
        let at = |index: usize| image.at(words[index]);
        let parent = |index: usize| fs::create_dir_all(at(index).parent().unwrap()).unwrap();
        // The text after so many words.
        let rest = |count: usize| line.splitn(count + 1, ' ').nth(count).unwrap_or_default();
        match words[0] {
            "cudnn" => {
                image.cudnn(words[1], words[2].parse().unwrap());
                for opened in ["lib64/libcublasLt.so.13", "lib64/libnvrtc.so.13"] {
                    image.library(opened, NOTHING, &[]);
                }
            }
            "app" => {
                let loader = format!("loader {}", words[2]);
                let text = linked(words[1]).replace("loader linked", &loader);
                image.program(&[&text], &words[3..]);
            }
            "record" => {
                let lines = rest(1).replace("; ", "\n");
                self.records.push(format!("guard 0.1.0\n{lines}\n"));
            }
            "program" if code == NOTHING => {
                let records: Vec<&str> = self.records.iter().map(String::as_str).collect();
                image.program(&records, &words[1..]);
                self.records.clear();
            }
            "program" => image.compile("app/app", code, &words[1..]),
            "library" => image.library(words[1], code, &words[2..]),
            "versioned" => versioned(image, words[1], code, &words[2..]),
            "windows" => {
                let text = match words[1] {
                    "-" => self.records.concat(),
                    version => linked(version),
                };
                fs::create_dir_all(image.at("app")).unwrap();
                fs::write(image.at("app/app"), built_for_windows(&text, &words[2..])).unwrap();
                self.records.clear();
            }
            "dll" => {
                parent(1);
                let lines = rest(2).replace("; ", "\n");
                fs::write(at(1), DllSpec::from_lines(&lines, "x86_64")).unwrap();
            }
            "dlls" => {
                let part = |part: &str| format!("cudnn_{part}64_9.dll");
                let parts = PARTS.iter().map(|name| {
                    let imports = "imports cublasLt64_13.dll one";
                    (part(name), format!("version {}\n{imports}", words[2]))
                });
                let own = format!("version {}", words[2]);
                fs::create_dir_all(at(1)).unwrap();
                for (name, lines) in parts.chain([("cudnn64_9.dll".into(), own)]) {
                    fs::write(at(1).join(name), DllSpec::from_lines(&lines, "x86_64")).unwrap();
                }
            }
            "driver" => {
                let calls = "cuInit cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetAttribute cuDriverGetVersion";
                let calls = calls.split(' ');
                let call = |name| format!("int {name}(void) {{ return {}; }}\n", words[2]);
                let flags = ["-shared", "-Wl,-soname,libcuda.so.1"];
                image.compile(words[1], &calls.map(call).collect::<String>(), &flags);
            }
            "provider" => built_for_12(image, words[1]),
            "toolkit" => toolkit(image, words[1], words[2].parse().unwrap()),
            "owner" => {
                let site = image.at(SITE);
                let size = fs::metadata(site.join(words[2])).unwrap().len();
                let dir = site.join(format!("{}.dist-info", words[1]));
                fs::create_dir_all(&dir).unwrap();
                let line = format!("{},sha256=x,{size}\n", words[2]);
                fs::write(dir.join("RECORD"), line).unwrap();
            }
            "cache" => {
                fs::create_dir_all(image.at("etc")).unwrap();
                let cache = cache_of(&[(words[1], words[2])]);
                fs::write(image.at("etc/ld.so.cache"), cache).unwrap();
            }
            "write" => {
                parent(1);
                let text = rest(2).replace("\\n", "\n").replace("\\0", "\0");
                fs::write(at(1), text.replace("\\t", "\t")).unwrap();
            }
            "script" => {
                parent(1);
                let write = r#"printf "$1" >"$0" && chmod 755 "$0""#;
                let mut shell = Command::new("sh");
                run(shell.args(["-c", write]).arg(at(1)).arg(rest(2))).exits_with(0);
            }
            "link" => {
                parent(2);
                let _ = fs::remove_file(at(2));
                symlink(words[1], at(2)).unwrap();
            }
            "move" => {
                parent(2);
                fs::rename(at(1), at(2)).unwrap();
            }
            "remove" if at(1).is_dir() => fs::remove_dir_all(at(1)).unwrap(),
            "remove" => fs::remove_file(at(1)).unwrap(),
            "foreign" => {
                let mut bytes = fs::read(at(1)).unwrap();
                bytes[18] = if bytes[18] == 62 { 183 } else { 62 };
                fs::write(at(1), bytes).unwrap();
            }
            "ldconfig" => {
                let mut ldconfig = Command::new("/sbin/ldconfig");
                run(ldconfig.arg("-n").arg(at(1))).exits_with(0);
            }
            _ => panic!("{line:?} is not a step"),
        }
    }

    /// Runs a command, and returns the lines of its output that belong to a case.
    fn output(&mut self, line: &str) -> String {
        let root = self.image.0.to_str().unwrap();
        let line = line.replace('@', root).replace("SITE", SITE);
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.env_clear().env("COLUMNS", "120").current_dir(root);
        let (mut rows, mut only, mut is_here) = (vec!["helps"], "", false);
        for word in line.split(' ') {
            match word.split_once('=') {
                Some(("only", text)) => only = text,
                Some(("in", dir)) => _ = command.current_dir(self.image.at(dir)),
                Some((name, value)) => _ = command.env(name, value),
                None if word.starts_with('+') => rows.push(&word[1..]),
                None if word == "here" => is_here = true,
                None if word == "brief" => rows.clear(),
                None => _ = command.arg(word),
            }
        }
        if command.get_args().eq(["inspect"]) {
            command.arg("app/app");
        }
        if !is_here {
            command.args(["--root", root]);
        }
        let ran = run(&mut command);
        let has_error = format!("\n{}", ran.stdout).contains("\n  ✗ error:");
        let page = "\nfor details and fixes, run `cudnn-guard explain ";
        assert_eq!(ran.code, Some(i32::from(has_error)), "{}", ran.text());
        assert!(!has_error || ran.stdout.contains(page), "{}", ran.text());
        let mut shown = shown(&ran.stdout, &rows, only);
        let json = schema::valid(&run(command.arg("--json")).stdout);
        for pointer in rows.iter().filter(|row| row.starts_with('/')) {
            shown += &format!("  {pointer} {}\n", json.pointer(pointer).unwrap());
        }
        let shown = shown.replace(root, "");
        if shown == self.last && !shown.is_empty() {
            return "  as before\n".into();
        }
        self.last.clone_from(&shown);
        shown
    }
}

/// Returns these rows and the findings with this text.
fn shown(output: &str, rows: &[&str], only: &str) -> String {
    let mut groups: Vec<String> = Vec::new();
    let mut is_shown = true;
    for line in output.lines().filter(|line| !line.is_empty()) {
        let start = line.len() - line.trim_start().len();
        is_shown = match start {
            6 if line[6..].starts_with("= help: ") => rows.contains(&"helps"),
            6 => rows.contains(&"evidence"),
            0 | 2 => true,
            _ => is_shown,
        };
        match groups.last_mut() {
            Some(last) if start > 2 && is_shown => *last += &format!("{line}\n"),
            Some(_) if start > 2 => {}
            _ => groups.push(format!("{line}\n")),
        }
    }
    groups.retain(|group| match group.split_whitespace().nth(1) {
        Some("error:" | "warning:" | "note:") => group.contains(only),
        Some(label) if group.starts_with("  ") => rows.contains(&label),
        _ => rows.contains(&"verdict") && group.starts_with("verdict: "),
    });
    groups.concat()
}

/// Compiles a library whose symbol version is its own name.
fn versioned(image: &Image, path: &str, code: &str, flags: &[&str]) {
    let script = image.at("versions");
    let name = path.rsplit('/').next().unwrap();
    fs::write(&script, format!("{name} {{ global: *; }};\n")).unwrap();
    let own = [
        "-Wl,--hash-style=gnu",
        "-Wl,--version-script=IMAGE/versions",
    ];
    image.library(path, code, &[&own[..], flags].concat());
    fs::remove_file(script).unwrap();
}

#[track_caller]
fn check(name: &str) {
    let path = repository().join(format!("tests/programs/terminal/inspect/cases/{name}.txt"));
    let text = fs::read_to_string(&path).unwrap();
    let mut case = Case::new(name);
    let mut updated = String::new();
    let mut begun = String::new();
    for line in text.lines() {
        // Outputs are made again.
        if line.starts_with("  ") || line.starts_with("verdict: ") {
            continue;
        }
        updated += &format!("{line}\n");
        if let Some(beginning) = line.strip_suffix('\\') {
            begun += beginning;
            continue;
        }
        let line = &*(std::mem::take(&mut begun) + line);
        if line.starts_with("== ") {
            case = Case::new(name);
        } else if let Some(command) = line.strip_prefix("$ ") {
            updated += &case.output(command);
        } else if !line.is_empty() && !line.starts_with('#') {
            case.step(line);
        }
    }
    let _ = fs::remove_dir_all(&case.image.0);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &updated).unwrap();
    }
    let lines = text.lines().zip(updated.lines());
    let first = lines.take_while(|(old, new)| old == new).count();
    let now: Vec<&str> = updated.lines().skip(first).take(12).collect();
    let now = now.join("\n");
    for case in updated.split("\n== ").skip(1) {
        assert!(case.contains("\n$ "), "{name}.txt: {case}");
    }
    assert!(text == updated, "{name}.txt after {first} lines:\n{now}");
}

macro_rules! cases {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            check(stringify!($name));
        }
    )* };
}

cases! { bundled doctor libraries openers providers frameworks search setup stubs windows }
