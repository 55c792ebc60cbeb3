//! Compares the answers of all interfaces with those of the system's own loader, for programs, libraries and cuDNNs in many
//! layouts.

use super::terminal::inspect::image::{linked, record};
use crate::support::installation::{OPEN, small};
use crate::support::{Ran, builds, built, cargo, consumers, fresh, place, repository, run};
use cudnn_guard::Config;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Object files that are compiled once: programs with the record of a guard that opens cuDNN or is linked with it, a
/// library that does nothing, and a `libcudnn.so.9`.
struct Objects {
    dir: PathBuf,
    /// The guard, as an archive, if the programs contain it.
    guard: Option<PathBuf>,
}

/// Prints the files of the cuDNN that it opens or is linked with, and all other files. As cuDNN does, it opens a
/// sub-library by several names. Without arguments, the program runs its guard.
const PROGRAM: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
void guard(const unsigned char *, size_t) __attribute__((weak));
static int show(struct dl_phdr_info *one, size_t size, void *none) { puts(one->dlpi_name); return 0; }
static int print(const char *name, void *opened) {
    struct link_map *file;
    if (!opened || dlinfo(opened, RTLD_DI_LINKMAP, &file)) return 0;
    return printf("%s => %s\n", name, file->l_name);
}
static void open_all(char **names, void *(*open)(const char *, int)) {
    for (; *names; names++) {
        const char *ends[] = { ".9.14.0", ".9.14", ".9", "" };
        char file[99], error[999] = "";
        for (int at = 0; at < 4; at++) {
            snprintf(file, 99, "libcudnn_%s.so%s", *names, ends[at]);
            if (print(*names, open(file, RTLD_NOW))) break;
            const char *text = dlerror();
            if (*error != '/') snprintf(error, 999, "%s", text);
            if (at == 3) printf("%s => %s\n", *names, error);
        }
    }
}
int main(int count, char **names) {
    if (count == 1 && guard) { guard(record, sizeof record); return 0; }
    void *main = count > 1 ? dlopen("libcudnn.so.9", RTLD_NOW) : 0;
    if (print("cudnn", main)) open_all(names + 1, dlsym(main, "cudnn_open"));
    dl_iterate_phdr(show, 0);
    return 0;
}
"#;

const OPENS: &str = "guard 0.1.0\nrequirement >=9,<10\nfrom 9.0.0\nbelow 10.0.0\npolicy requirement\nloader dlopen\n";

/// The main library and the sub-libraries.
const NAMES: [&str; 8] = [
    "cudnn",
    "graph",
    "ops",
    "cnn",
    "adv",
    "heuristic",
    "engines_precompiled",
    "engines_runtime_compiled",
];

impl Objects {
    fn compile(name: &str, guard: Option<PathBuf>) -> Self {
        let dir = fresh(name);
        let with_record = |facts: &str| {
            let record = record(facts);
            let record: Vec<String> = record.iter().map(ToString::to_string).collect();
            format!(
                "__attribute__((section(\".cdnngrd\"), used)) static const unsigned char record[] = {{ {} }};\n{PROGRAM}",
                record.join(", ")
            )
        };
        for (name, code) in [
            ("linked", &*with_record(&linked("9.14.0"))),
            ("opens", &with_record(OPENS)),
            ("main", OPEN),
            ("library", "int nothing;\n"),
        ] {
            fs::write(dir.join(format!("{name}.c")), code).unwrap();
            let mut cc = Command::new("cc");
            cc.args(["-c", "-fPIC", "-w"]).arg(format!("{name}.c"));
            assert!(cc.current_dir(&dir).status().unwrap().success());
        }
        Self { dir, guard }
    }
}

/// A directory with a program, described by a text with one item per file:
///
/// - `libs/libx.so.1 -> libs/liby.so.1 runpath=@/libs`: a library and its dependencies
/// - `app`: the program; `app!`: a program that opens cuDNN itself
/// - `link A B`: the symlink B to A
/// - `gone A`: removes a file
/// - `move A B`: moves a file
/// - `file A TEXT`: writes a file
/// - `cut A`: truncates the file
/// - `foreign A`: changes the file to another CPU
/// - `narrow A`: changes the file to a 32-bit file for this CPU
/// - `env NAME=VALUE`: a variable for the program
/// - `conf TEXT`: a line of ld.so.conf
/// - `cached`: runs ldconfig
/// - `cudnn A`: the libraries of cuDNN 9.14.0, and its headers in `include` beside
/// - `libraries A VERSION`: only the libraries [default: 9.14.0]
/// - `nix`: moves the loader and the C library to the Nix store, which replaces the loader's own directories and cache
/// - `refused`: cuDNN refuses these files although the loader loads them
///
/// `@` is replaced by the directory, or by nothing if the directory is a system image. TOOLKIT and SYSTEM are
/// directories of the image.
struct Layout {
    dir: PathBuf,
    /// The replacement for `@`.
    at: String,
    env: Vec<(String, String)>,
    opens: bool,
    is_refused: bool,
}

impl Layout {
    fn make(dir: PathBuf, at: &str, text: &str, objects: &Objects) -> Self {
        let mut layout = Self {
            at: at.into(),
            dir,
            env: Vec::new(),
            opens: false,
            is_refused: false,
        };
        for line in text
            .split(';')
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            let line = line.replace("TOOLKIT", TOOLKIT).replace("SYSTEM", SYSTEM);
            if let Some(variable) = line.strip_prefix("env ") {
                let (name, value) = variable.split_once('=').unwrap();
                layout.env.push((name.into(), value.into()));
                continue;
            }
            let line = line.replace('@', at);
            let words: Vec<&str> = line.split_whitespace().collect();
            let path = |at: usize| layout.dir.join(words[at].trim_start_matches('/'));
            // Other images may contain the same file, so it is replaced.
            let change = |change: &dyn Fn(&mut Vec<u8>)| {
                let mut bytes = fs::read(path(1)).unwrap();
                change(&mut bytes);
                fs::remove_file(path(1)).unwrap();
                fs::write(path(1), bytes).unwrap();
            };
            let create_parent = |at: usize| fs::create_dir_all(path(at).parent().unwrap()).unwrap();
            match words[0] {
                "link" => {
                    create_parent(2);
                    symlink(words[1], path(2)).unwrap();
                }
                "gone" => fs::remove_file(path(1)).unwrap(),
                "move" => {
                    create_parent(2);
                    fs::rename(path(1), path(2)).unwrap();
                }
                "file" => {
                    create_parent(1);
                    fs::write(path(1), words[2..].join(" ")).unwrap();
                }
                "cut" => change(&|bytes| bytes.truncate(100)),
                "foreign" => change(&|bytes| bytes[18] = 183),
                // The header of a 32-bit file for this CPU, without further contents.
                "narrow" => change(&|bytes| {
                    bytes[4] = 1;
                    bytes[24..].fill(0);
                }),
                "conf" => {
                    let conf = layout.dir.join("etc/ld.so.conf");
                    let old = fs::read_to_string(&conf).unwrap_or_default();
                    fs::write(conf, format!("{old}{}\n", &line["conf ".len()..])).unwrap();
                }
                "cached" => {
                    let mut ldconfig = Command::new("/usr/sbin/ldconfig");
                    ldconfig.arg("-r").arg(&layout.dir);
                    assert!(ldconfig.status().unwrap().success());
                }
                "cudnn" | "libraries" => {
                    let (dir, version) = (path(1), words.get(2).unwrap_or(&"9.14.0"));
                    place(&small(version), &dir);
                    if words[0] == "cudnn" {
                        symlink("libcudnn.so.9", dir.join("libcudnn.so")).unwrap();
                        let prefix = match words[1] {
                            SYSTEM => layout.dir.join("usr"),
                            _ => dir.join(".."),
                        };
                        builds::cudnn_headers(&prefix.join("include"), (9, 14, 0));
                    }
                }
                "nix" => layout.use_store(),
                "refused" => layout.is_refused = true,
                _ => layout.link(&words, objects),
            }
        }
        layout
    }

    /// Moves the loader and the C library. The paths in the loader are replaced by others of the same length.
    fn use_store(&self) {
        let store = self.dir.join(STORE);
        fs::create_dir_all(&store).unwrap();
        for file in BASE {
            let from = self.dir.join(file);
            let mut bytes = fs::read(&from).unwrap();
            fs::remove_file(&from).unwrap();
            for (old, new) in [
                ("/usr/lib/x86_64-linux-gnu/", "/nix/store/glibc-2.40/lib/"),
                ("/lib/x86_64-linux-gnu/", "/nix/store/glibc-2.40/"),
                ("\0/lib/\0/usr/lib/\0", "\0/nix/\0/nix/lib/\0"),
                ("/etc/ld.so.cache", "/nix/ld.so.cache"),
            ] {
                while let Some(at) = bytes.windows(old.len()).position(|it| it == old.as_bytes()) {
                    bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
                }
            }
            // The loader of Nix contains the path of its own cache.
            bytes.extend(b"\0/nix/store/glibc-2.40/etc/ld.so.cache\0");
            let into = store.join(from.file_name().unwrap());
            fs::write(&into, bytes).unwrap();
            fs::set_permissions(&into, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn link(&mut self, words: &[&str], objects: &Objects) {
        let path = self.dir.join(words[0].trim_end_matches('!'));
        let name = path.file_name().unwrap().to_str().unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut flags = vec![
            "-Wl,--no-as-needed".to_string(),
            "-Wl,--allow-shlib-undefined".into(),
        ];
        self.opens |= words[0].ends_with('!');
        let object = match name {
            "app" if self.opens => "opens.o",
            "app" => "linked.o",
            "libcudnn.so.9" => "main.o",
            _ => "library.o",
        };
        let mut soname = Some(name);
        for word in words[1..].iter().filter(|word| **word != "->") {
            match word.split_once('=') {
                Some(("rpath", list)) => flags.extend([
                    "-Wl,--disable-new-dtags".into(),
                    format!("-Wl,-rpath,{list}"),
                ]),
                Some(("runpath", list)) => flags.extend([
                    "-Wl,--enable-new-dtags".into(),
                    format!("-Wl,-rpath,{list}"),
                ]),
                Some(("soname", own)) => soname = Some(own).filter(|own| *own != "none"),
                // Without a SONAME, the path itself is recorded as the dependency.
                _ => flags.push(word.to_string()),
            }
        }
        let mut into = path.clone();
        if name != "app" {
            flags.extend(["-shared".into(), "-nostdlib".into()]);
            flags.extend(soname.map(|soname| format!("-Wl,-soname,{soname}")));
        } else if let Some(guard) = &objects.guard {
            let main = small("9.14.0").join("libcudnn.so.9");
            flags.extend((!self.opens).then(|| main.display().to_string()));
            if self.dir.join(STORE).exists() {
                flags.push(format!(
                    "-Wl,--dynamic-linker=/{STORE}/ld-linux-x86-64.so.2"
                ));
            }
            // The same program serves several layouts.
            let parts = flags.join(" ").replace('/', "|") + object;
            into = objects.dir.join(&parts[parts.len().saturating_sub(250)..]);
            flags.extend(["-Wl,-u,guard".into(), guard.to_str().unwrap().into()]);
            flags.extend(["-static-libgcc".into(), "-lm".into()]);
        }
        if into == path || !into.exists() {
            let _ = fs::remove_file(&into);
            let mut cc = Command::new("cc");
            cc.arg("-o").arg(&into).arg(objects.dir.join(object));
            run(cc.args(&flags).current_dir(&self.dir)).exits_with(0);
        }
        if into != path {
            fs::hard_link(into, path).unwrap();
        }
    }

    /// Returns the variables of a program for which this directory is the root, or with `at` the directory itself.
    fn variables(&self, at: &str) -> Vec<(String, String)> {
        let variable = |(name, value): &(String, String)| (name.clone(), value.replace('@', at));
        self.env.iter().map(variable).collect()
    }

    /// Returns a command that runs in the directory, or with the directory as its root, and with /proc, if it is a system
    /// image.
    fn within(&self, program: &str) -> Command {
        let mut command = Command::new(self.dir.join(&program[1..]));
        if self.at.is_empty() {
            // A user other than root may be root in a namespace.
            let script = r#"[ "$(id -u)" = 0 ] || user=-r; exec unshare -m $user sh -c \
                'mount --rbind /proc "$1/proc" && exec chroot "$@"' sh "$@""#;
            command = Command::new("sh");
            command.args(["-c", script, "sh"]);
            command.arg(&self.dir).arg(program);
        }
        command.env_clear().envs(self.variables(&self.at));
        command.current_dir(&self.dir);
        command
    }

    /// Returns the command `cudnn-guard` with these arguments, which examines the directory from outside.
    fn from_outside(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.args(arguments).arg("--json");
        if self.at.is_empty() {
            command.arg("--root").arg(&self.dir);
        }
        command.env_clear().current_dir(&self.dir);
        command.envs(self.variables(self.dir.to_str().unwrap()));
        command
    }

    /// Returns the files that the loader loads, in its order, and those that it does not find.
    fn real(&self) -> (Vec<PathBuf>, Vec<String>) {
        let mut command = self.within("/app");
        let ran = run(command.args(NAMES[1..].iter().filter(|_| self.opens)));
        if ran.code == Some(0) {
            let lines = ran.stdout.lines();
            let files = lines.filter(|line| !line.is_empty() && !line.contains(" => "));
            let files = files.map(|line| self.canonical(line));
            return (
                files.filter(|path| is_no_loader(path)).collect(),
                Vec::new(),
            );
        }
        if self.at.is_empty() {
            // The variable would affect `chroot`. The loader stops at the first missing library.
            let missing = ran.stderr.split_once("shared libraries: ").unwrap().1;
            let missing = missing.split(':').next().unwrap();
            return (self.ours().0, vec![missing.to_string()]);
        }
        let mut command = self.within("/app");
        let ran = run(command.env("LD_TRACE_LOADED_OBJECTS", "1"));
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for line in ran.stdout.lines() {
            let Some((name, path)) = line.trim().split_once(" => ") else {
                continue;
            };
            match path {
                "not found" => missing.push(name.to_string()),
                path => found.push(self.canonical(path.split(" (").next().unwrap())),
            }
        }
        found.retain(|path| is_no_loader(path));
        (found, missing)
    }

    /// Returns the files that `inspect` finds, in its order, and those that it does not find.
    fn ours(&self) -> (Vec<PathBuf>, Vec<String>) {
        let app = self.dir.join("app");
        let json = json_of(run(
            &mut self.from_outside(&["inspect", app.to_str().unwrap()])
        ));
        let list = |of: &str, key: &str| {
            let list = json[of].as_array().unwrap().iter();
            let texts = list.map(|one| one[key].as_str().unwrap().to_string());
            texts.collect::<Vec<String>>()
        };
        let found = list("libraries", "path");
        let found = found
            .iter()
            .map(|path| fs::canonicalize(self.dir.join(path)).unwrap());
        // The loader does not search for a sub-library of cuDNN that does not exist.
        let mut missing = list("missing", "name");
        missing.retain(|name| !name.starts_with("libcudnn"));
        (found.collect(), missing)
    }

    /// Resolves symlinks, relative to the root if the directory is a system image.
    fn canonical(&self, path: &str) -> PathBuf {
        if !self.at.is_empty() {
            let path = self.dir.join(path);
            return fs::canonicalize(&path).unwrap_or(path);
        }
        let inside = path
            .strip_prefix(self.dir.to_str().unwrap())
            .unwrap_or(path);
        let mut real = self.dir.clone();
        for part in Path::new(inside.trim_start_matches('/')) {
            if part == ".." {
                real.pop();
                continue;
            }
            let parent = real.clone();
            real.push(part);
            if let Ok(target) = fs::read_link(&real) {
                let from = if target.is_absolute() {
                    &self.dir
                } else {
                    &parent
                };
                let target = from.join(target.strip_prefix("/").unwrap_or(&target));
                real = self.canonical(target.to_str().unwrap());
            }
        }
        real
    }

    /// Returns this path without symlinks, relative to the root.
    fn inside(&self, path: &str) -> PathBuf {
        let path = self.canonical(path);
        path.strip_prefix(&self.dir).unwrap_or(&path).into()
    }

    /// Links the program as the build does, unless the layout has one, and returns all answers, that of the loader first.
    fn answers(&mut self, objects: &Objects) -> Vec<(&'static str, Answer)> {
        let at = self.dir.to_str().unwrap().to_string();
        let mut answers = Vec::new();
        if !self.dir.join("app").exists() {
            let config = Config::new().root(&self.dir).cudnn(">=9");
            let config = config
                .env("PATH", "/nowhere")
                .target("x86_64-unknown-linux-gnu");
            // If the build fails, the answers are about the program of an earlier build.
            let mut app = format!("app runpath=/{TOOLKIT}");
            let json = match config.envs(self.variables(&at)).probe() {
                Ok(toolchain) => {
                    let lines = toolchain.directives();
                    let flag = "cargo::rustc-link-arg=-Wl,-rpath,";
                    let dirs = lines.iter().filter_map(|line| line.strip_prefix(flag));
                    let dirs: Vec<String> = dirs.map(|dir| dir.replace(&at, "")).collect();
                    app = format!("app runpath={}", dirs.join(":"));
                    toolchain.report().to_json()
                }
                Err(error) => {
                    let findings = error.findings().iter();
                    let findings: Vec<String> = findings.map(|finding| finding.to_json()).collect();
                    format!("{{\"findings\":[{}]}}", findings.join(","))
                }
            };
            answers.push(("build", self.answer(&serde_json::from_str(&json).unwrap())));
            let app = app.trim_end_matches(" runpath=");
            self.link(&app.split(' ').collect::<Vec<_>>(), objects);
            let doctor = run(&mut self.from_outside(&["doctor"]));
            answers.push(("doctor", self.answer(&json_of(doctor))));
            let inside = run(self.within("/bin/cudnn-guard").args(["doctor", "--json"]));
            answers.push(("doctor inside", self.answer(&json_of(inside))));
        }
        let app = self.dir.join("app");
        let inspect = run(&mut self.from_outside(&["inspect", app.to_str().unwrap()]));
        answers.push(("inspect", self.answer(&json_of(inspect))));
        let guard = run(&mut self.within("/app"));
        // A program that is linked with a missing cuDNN never calls its guard.
        if guard.code == Some(0) {
            answers.push(("guard", self.answer(&json_of(guard))));
        }
        answers.push(("loader", self.truth()));
        answers.reverse();
        answers
    }

    fn truth(&self) -> Answer {
        let ran = run(self.within("/app").args(&NAMES[1..]));
        let mut truth = Answer::default();
        let results: Vec<_> = ran
            .stdout
            .lines()
            .filter_map(|line| line.split_once(" => "))
            .collect();
        truth.fails = self.is_refused || results.len() < NAMES.len();
        // The loader names a main library that it refuses at the start of the program.
        let refused = ran.stderr.split_once("shared libraries: /");
        if let Some((path, _)) = refused.and_then(|(_, text)| text.split_once(": ")) {
            truth.files.insert(NAMES[0].into(), self.inside(path));
        }
        for (name, result) in results {
            let path = result.split(": ").next().unwrap();
            truth.fails |= path != result;
            if path.starts_with('/') {
                truth.files.insert(name.into(), self.inside(path));
            }
        }
        truth
    }

    /// Returns the answer in this report.
    fn answer(&self, json: &Value) -> Answer {
        let mut files = BTreeMap::new();
        let mut add = |name: &str, path: &Value| {
            if let Some(path) = path.as_str() {
                files.insert(name.to_string(), self.inside(path));
            }
        };
        let (main, parts) = match json["loaded"].is_null() {
            true => (&json["cudnn"]["library"], &json["cudnn"]["parts"]),
            false => (&json["loaded"]["path"], &json["loaded"]["parts"]),
        };
        add(NAMES[0], main);
        for part in parts.as_array().into_iter().flatten() {
            let name = part["name"].as_str().unwrap();
            if name != "cudnn" {
                add(name, &part["path"]);
            }
        }
        let findings = json["findings"].as_array().unwrap();
        let first = |severity: &str| {
            let is_it = |one: &&Value| one["severity"] == severity && one["id"] != "driver-missing";
            let finding = findings.iter().find(is_it)?;
            let text = |value: &Value| {
                let text = value.as_str().unwrap_or_default();
                text.replace(self.dir.to_str().unwrap(), "")
            };
            Some([&finding["id"], &finding["summary"], &finding["help"][0]].map(text))
        };
        Answer {
            files,
            fails: false,
            error: first("error"),
            warning: first("warning"),
        }
    }
}

fn json_of(ran: Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.text()))
}

fn is_no_loader(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with("ld-linux") && !name.starts_with("linux-vdso")
}

/// The answer of one interface. A fault is an id, a headline and the first help.
#[derive(Debug, Default)]
struct Answer {
    files: BTreeMap<String, PathBuf>,
    /// For the loader: `true` if cuDNN does not work.
    fails: bool,
    error: Option<[String; 3]>,
    warning: Option<[String; 3]>,
}

impl Answer {
    /// Returns the fault that this interface reports. If something may still change before the program starts, a warning
    /// is enough.
    fn fault(&self, truth: &Self) -> Option<&[String; 3]> {
        let warning = self.warning.as_ref().filter(|_| truth.fails);
        self.error.as_ref().or(warning)
    }

    /// Returns the differences from the loader, and from the fault of another interface.
    fn differences(&self, truth: &Self, other: Option<(&str, &[String; 3])>) -> Vec<String> {
        let mut differences = Vec::new();
        let mut by_dir = BTreeMap::<_, Vec<&str>>::new();
        // An error may replace the list of files.
        let is_list = !self.files.is_empty() || self.error.is_none();
        for name in NAMES.iter().filter(|_| is_list) {
            let (own, real) = (self.files.get(*name), truth.files.get(*name));
            if own != real {
                by_dir.entry((dir(own), dir(real))).or_default().push(name);
            }
        }
        for ((own, real), names) in by_dir {
            differences.push(format!("{}: {own}, loader: {real}", names.join(" ")));
        }
        let own = self.fault(truth);
        if own.is_some() != truth.fails {
            differences.push(match own {
                Some([id, ..]) => format!("starts, but {id}"),
                None => "does not start, but no fault".into(),
            });
        }
        let Some(([id, headline, help], (other, fault))) = own.zip(other) else {
            return differences;
        };
        if *id != fault[0] {
            differences.push(format!("{id}, {other}: {}", fault[0]));
        } else if *headline != fault[1] {
            differences.push(format!("{id}: not the headline of {other}"));
        } else if *help != fault[2] {
            differences.push(format!("{id}: not the help of {other}"));
        }
        differences
    }
}

fn dir(path: Option<&PathBuf>) -> &str {
    path.and_then(|path| path.parent()?.to_str())
        .unwrap_or("none")
}

/// Returns the names and texts of the layouts of layouts.txt below this title.
fn layouts(title: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(repository().join("tests/programs/agreement/layouts.txt"));
    let text = text.unwrap();
    let mut sections = text.split("\n# ");
    let section = sections.find(|section| section.starts_with(title));
    let lines: Vec<&str> = section.unwrap().trim_end().lines().skip(1).collect();
    lines
        .chunks(2)
        .map(|two| (two[0].into(), two[1].into()))
        .collect()
}

const TOOLKIT: &str = "usr/local/cuda/lib64";
const SYSTEM: &str = "usr/lib/x86_64-linux-gnu";

const STORE: &str = "nix/store/glibc-2.40";

/// Files of this machine that each image contains.
const BASE: [&str; 3] = [
    "lib64/ld-linux-x86-64.so.2",
    "lib/x86_64-linux-gnu/libc.so.6",
    "lib/x86_64-linux-gnu/libm.so.6",
];

/// Creates the image that all others are copied from.
fn base(name: &str) -> PathBuf {
    let base = fresh(name);
    for dir in ["bin", "etc", "proc"] {
        fs::create_dir_all(base.join(dir)).unwrap();
    }
    for file in BASE.iter().chain(&["lib/x86_64-linux-gnu/libgcc_s.so.1"]) {
        let to = base.join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(Path::new("/").join(file), to).unwrap();
    }
    fs::copy(
        env!("CARGO_BIN_EXE_cudnn-guard"),
        base.join("bin/cudnn-guard"),
    )
    .unwrap();
    base
}

/// Compares `inspect` with the loader for the layouts below this title, in copies of an image or in empty directories.
fn compare_with_inspect(title: &str, image: Option<&Path>) {
    let objects = Objects::compile(&format!("loader-objects-{title}"), None);
    let all = fresh(&format!("loader-{title}"));
    let mut differing = String::new();
    for (name, text) in layouts(title) {
        let dir = all.join(name.replace([' ', ',', '\''], "-"));
        match image {
            Some(image) => place(image, &dir),
            None => fs::create_dir_all(&dir).unwrap(),
        }
        let at = dir.to_str().unwrap().to_string();
        let at = if image.is_some() { "" } else { &at };
        let layout = Layout::make(dir, at, &text, &objects);
        let (real, ours) = (layout.real(), layout.ours());
        // A loader that fails prints no files.
        assert!(
            real.0.iter().any(|path| path.ends_with("libc.so.6")) || !real.1.is_empty(),
            "{name}: the loader prints nothing"
        );
        if real != ours {
            differing += &format!("{name}\n  loader  {real:?}\n  inspect {ours:?}\n");
        }
    }
    assert!(differing.is_empty(), "{differing}");
}

/// RPATH, LD_LIBRARY_PATH, RUNPATH, LD_PRELOAD and the subdirectories for more capable CPUs, as in ld.so.
#[test]
fn inspect_finds_the_same_files_as_the_loader() {
    compare_with_inspect("Directories", None);
}

/// Compares the files below a root, with the cache of the image.
#[test]
#[ignore = "needs ldconfig, and root or unprivileged user namespaces"]
fn inspect_finds_the_same_files_as_the_loader_of_an_image() {
    compare_with_inspect("Images", Some(&base("loader-image")));
}

/// All interfaces must name the files that the loader opens, and report the same fault in the same words if cuDNN does not
/// work with them. differences.txt contains the known exceptions, and BLESS=1 removes those that no longer occur.
#[test]
#[ignore = "needs ldconfig, and root or unprivileged user namespaces"]
fn every_interface_agrees_with_the_loader_of_an_image() {
    run(&mut cargo(consumers(), &["build", "-p", "in-c"])).exits_with(0);
    let objects = Objects::compile("agreement-objects", Some(built("libin_c.a")));
    let base = base("agreement-image");
    builds::toolkit(&base.join("usr/local/cuda"), 13000, false);
    let images = fresh("agreement-images");
    let (mut found, mut all) = (Vec::new(), String::new());
    for (name, text) in layouts("cuDNN in images") {
        let dir = images.join(name.replace([' ', ',', '\''], "-"));
        place(&base, &dir);
        let answers = Layout::make(dir, "", &text, &objects).answers(&objects);
        let truth = &answers[0].1;
        let mut faults = answers
            .iter()
            .filter_map(|(asker, answer)| Some((*asker, answer.fault(truth)?)));
        let first = faults.next();
        let mut askers = BTreeMap::<_, Vec<&str>>::new();
        for (asker, answer) in &answers[1..] {
            for difference in answer.differences(truth, first) {
                askers.entry(difference).or_default().push(asker);
            }
        }
        for (difference, askers) in askers {
            found.push(format!("{name} | {} | {difference}", askers.join(", ")));
        }
        all += &format!("{name}\n");
        for (asker, answer) in &answers {
            all += &format!("  {asker}: {answer:?}\n");
        }
    }
    let file = repository().join("tests/programs/agreement/differences.txt");
    let known = fs::read_to_string(&file).unwrap();
    let known: Vec<&str> = known.lines().collect();
    let is_found = |line: &&str| found.iter().any(|found| found == line);
    let new = found.iter().filter(|line| !known.contains(&line.as_str()));
    let new: Vec<&String> = new.collect();
    assert!(new.is_empty(), "{all}\nnew differences: {new:#?}");
    let rest: Vec<&str> = known.iter().copied().filter(is_found).collect();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, rest.join("\n") + "\n").unwrap();
    } else {
        assert_eq!(known, rest, "BLESS=1 removes what no longer occurs");
    }
}
