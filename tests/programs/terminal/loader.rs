//! Compares `cudnn-guard inspect` with the system's own loader: for small programs and libraries in many layouts, both
//! must choose the same files in the same order.

use super::inspect::image::record;
use crate::support::{fresh, run};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Object files that are compiled once: programs that open the libraries on their command line, with and without the
/// record of a guard, a library that does nothing, and a `libcudnn.so.9` that opens its sub-libraries.
struct Objects(PathBuf);

const PROGRAM: &str = "#define _GNU_SOURCE\n#include <link.h>\n#include <dlfcn.h>\n#include <stdio.h>\n\
    static int show(struct dl_phdr_info *one, size_t size, void *none) { puts(one->dlpi_name); return 0; }\n\
    int main(int count, char **names) {\n\
    for (int at = 1; at < count; at++) dlopen(names[at], RTLD_NOW);\n\
    dl_iterate_phdr(show, 0); return 0; }\n";

const FIRST: &str = "void *dlopen(const char *, int);\n\
    __attribute__((constructor)) static void start(void) {\n\
    dlopen(\"libcudnn_graph.so.9\", 2); dlopen(\"libcudnn_ops.so.9\", 2); }\n";

const FACTS: &str = "guard 0.1.0\nrequirement >=9,<10\nfrom 9.0.0\nbelow 10.0.0\npolicy requirement\nloader dlopen\n";

impl Objects {
    fn compile(name: &str) -> Self {
        let objects = Self(fresh(name));
        let record = record(FACTS);
        let record: Vec<String> = record.iter().map(ToString::to_string).collect();
        let facts = format!(
            "__attribute__((section(\".cdnngrd\"), used)) static const unsigned char record[] = {{ {} }};\n",
            record.join(", ")
        );
        let opens = [PROGRAM, &facts].concat();
        for (name, code) in [
            ("program", PROGRAM),
            ("opens", &opens),
            ("first", FIRST),
            ("library", "int nothing;\n"),
        ] {
            fs::write(objects.0.join(format!("{name}.c")), code).unwrap();
            let mut cc = Command::new("cc");
            cc.args(["-c", "-fPIC", "-w"]).arg(format!("{name}.c"));
            assert!(cc.current_dir(&objects.0).status().unwrap().success());
        }
        objects
    }
}

/// A directory with a program, described by a text with one item per file:
///
/// - `libs/libx.so.1 -> libs/liby.so.1 runpath=@/libs`: a library and its dependencies
/// - `app`: the program; `app!`: a program that opens cuDNN itself
/// - `link A B`: the symlink B to A
/// - `gone A`: removes a file
/// - `file A TEXT`: writes a file
/// - `foreign A`: changes the file to another CPU
/// - `narrow A`: changes the file to a 32-bit file for this CPU
/// - `env NAME=VALUE`: a variable for the program
/// - `conf TEXT`: a line of ld.so.conf
/// - `cached`: runs ldconfig
///
/// `@` is replaced by the directory, or by nothing if the directory is a system image.
struct Layout {
    dir: PathBuf,
    /// The replacement for `@`.
    at: String,
    env: Vec<(String, String)>,
    opens: bool,
}

impl Layout {
    fn make(dir: PathBuf, at: &str, text: &str, objects: &Objects) -> Self {
        let mut layout = Self {
            at: at.into(),
            dir,
            env: Vec::new(),
            opens: false,
        };
        for line in text
            .split(';')
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            let line = line.replace('@', at);
            let words: Vec<&str> = line.split_whitespace().collect();
            let path = |at: usize| layout.dir.join(words[at].trim_start_matches('/'));
            match words[0] {
                "link" => {
                    fs::create_dir_all(path(2).parent().unwrap()).unwrap();
                    symlink(words[1], path(2)).unwrap();
                }
                "gone" => fs::remove_file(path(1)).unwrap(),
                "file" => fs::write(path(1), words[2..].join(" ")).unwrap(),
                "foreign" => {
                    let mut bytes = fs::read(path(1)).unwrap();
                    bytes[18] = 183;
                    fs::write(path(1), bytes).unwrap();
                }
                "narrow" => {
                    // The header of a 32-bit file for this CPU, without further contents.
                    let mut bytes = fs::read(path(1)).unwrap();
                    bytes[4] = 1;
                    bytes[24..].fill(0);
                    fs::write(path(1), bytes).unwrap();
                }
                "env" => {
                    let (name, value) = line["env ".len()..].split_once('=').unwrap();
                    layout.env.push((name.into(), value.into()));
                }
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
                _ => layout.link(&words, objects),
            }
        }
        layout
    }

    fn link(&mut self, words: &[&str], objects: &Objects) {
        let path = self.dir.join(words[0].trim_end_matches('!'));
        let name = path.file_name().unwrap().to_str().unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut cc = Command::new("cc");
        cc.arg("-o").arg(&path);
        cc.args(["-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"]);
        let is_program = name == "app";
        self.opens |= words[0].ends_with('!');
        let object = match name {
            "app" if self.opens => "opens.o",
            "app" => "program.o",
            "libcudnn.so.9" => "first.o",
            _ => "library.o",
        };
        cc.arg(objects.0.join(object));
        let mut soname = Some(name);
        for word in words[1..].iter().filter(|word| **word != "->") {
            match word.split_once('=') {
                Some(("rpath", list)) => {
                    cc.arg("-Wl,--disable-new-dtags")
                        .arg(format!("-Wl,-rpath,{list}"));
                }
                Some(("runpath", list)) => {
                    cc.arg("-Wl,--enable-new-dtags")
                        .arg(format!("-Wl,-rpath,{list}"));
                }
                Some(("soname", own)) => soname = Some(own).filter(|own| *own != "none"),
                // Without a SONAME, the path itself is recorded as the dependency.
                _ => {
                    cc.arg(word);
                }
            }
        }
        if !is_program {
            cc.args(["-shared", "-nostdlib"]);
            cc.args(soname.map(|soname| format!("-Wl,-soname,{soname}")));
        }
        let ran = run(cc.current_dir(&self.dir));
        assert_eq!(ran.code, Some(0), "{words:?} {}", ran.stderr);
    }

    fn in_place<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let env = self.env.iter().map(|(name, value)| (name, value));
        command.env_clear().envs(env).current_dir(&self.dir)
    }

    /// Returns a command that runs in the directory, or with the directory as its root if it is a system image.
    fn within(&self, program: &str) -> Command {
        if self.at.is_empty() {
            // A user other than root may be root in a namespace.
            let script = r#"[ "$(id -u)" = 0 ] || set -- unshare -r "$@"; exec "$@""#;
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh", "/usr/sbin/chroot"]);
            command.arg(&self.dir).arg(program);
            command
        } else {
            Command::new(self.dir.join(program.trim_start_matches('/')))
        }
    }

    /// Returns the files that the loader loads, in its order, and those that it does not find.
    fn real(&self) -> (Vec<PathBuf>, Vec<String>) {
        let mut command = self.within("/app");
        if self.opens {
            command.arg("libcudnn.so.9");
        }
        let ran = run(self.in_place(&mut command));
        if ran.code == Some(0) {
            let lines = ran.stdout.lines().filter(|line| !line.is_empty());
            return (
                lines
                    .map(|line| self.canonical(line))
                    .filter(|path| is_no_loader(path))
                    .collect(),
                Vec::new(),
            );
        }
        if self.at.is_empty() {
            // The variable would affect `chroot`. The loader stops at the first missing library.
            let prefix = "error while loading shared libraries: ";
            let missing = ran.stderr.split_once(prefix).unwrap().1;
            let missing = missing.split(':').next().unwrap();
            return (self.ours().0, vec![missing.to_string()]);
        }
        let mut command = self.within("/app");
        let command = self.in_place(&mut command);
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command
            .arg("inspect")
            .arg("--json")
            .arg(self.dir.join("app"));
        if self.at.is_empty() {
            command.arg("--root").arg(&self.dir);
        }
        let ran = run(self.in_place(&mut command));
        let json: Value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|_| panic!("{} {}", ran.stdout, ran.stderr));
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
        let mut real = self.dir.clone();
        for part in Path::new(path.trim_start_matches('/')) {
            real.push(part);
            if let Ok(target) = fs::read_link(&real) {
                real = self.canonical(target.to_str().unwrap());
            }
        }
        real
    }
}

fn is_no_loader(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with("ld-linux") && !name.starts_with("linux-vdso")
}

/// Returns the layouts of layouts.txt below this title in which the loader and `inspect` differ, with both results.
fn differing(title: &str, mut make: impl FnMut(&str, &str) -> Layout) -> Vec<String> {
    let mut sections = include_str!("loader/layouts.txt").split("\n# ");
    let section = sections.find(|section| section.starts_with(title));
    let mut lines = section.unwrap().lines().skip(1);
    let mut differing = Vec::new();
    while let (Some(name), Some(text)) = (lines.next(), lines.next()) {
        let layout = make(name, text);
        let (real, ours) = (layout.real(), layout.ours());
        // A loader that fails prints no files.
        assert!(
            real.0.iter().any(|path| path.ends_with("libc.so.6")) || !real.1.is_empty(),
            "{name}: the loader prints nothing"
        );
        if real != ours {
            differing.push(format!("{name}\n  loader  {real:?}\n  inspect {ours:?}\n"));
        }
    }
    differing
}

/// RPATH, LD_LIBRARY_PATH, RUNPATH, LD_PRELOAD and the subdirectories for more capable CPUs, as in ld.so.
#[test]
fn inspect_finds_the_same_files_as_the_loader() {
    let objects = Objects::compile("loader-objects");
    let base = fresh("loader");
    let differing = differing("Directories", |name, text| {
        let dir = base.join(name.replace([' ', ',', '\''], "-"));
        fs::create_dir_all(&dir).unwrap();
        let at = dir.to_str().unwrap().to_string();
        Layout::make(dir, &at, text, &objects)
    });
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Compares the files below a root, with the cache of the image.
#[test]
#[ignore = "needs ldconfig, and root or unprivileged user namespaces"]
fn inspect_finds_the_same_files_as_the_loader_of_an_image() {
    let objects = Objects::compile("loader-image-objects");
    let base = fresh("loader-images");
    let differing = differing("System images", |name, text| {
        let dir = base.join(name.replace([' ', ',', '\''], "-"));
        for file in [
            "lib/x86_64-linux-gnu/libc.so.6",
            "lib64/ld-linux-x86-64.so.2",
        ] {
            let to = dir.join(file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(Path::new("/").join(file), to).unwrap();
        }
        fs::create_dir_all(dir.join("etc")).unwrap();
        Layout::make(dir, "", text, &objects)
    });
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
