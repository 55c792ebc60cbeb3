//! Directories and system images with a program, made from texts.

use crate::support::installation::{OPEN, small};
use crate::support::{builds, fresh, place, run};
use crate::terminal::inspect::image::{linked, record};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const TOOLKIT: &str = "usr/local/cuda/lib64";
const SYSTEM: &str = "usr/lib/x86_64-linux-gnu";

const STORE: &str = "nix/store/glibc-2.40";

/// Files of this machine that each image contains.
pub const BASE: [&str; 3] = [
    "lib64/ld-linux-x86-64.so.2",
    "lib/x86_64-linux-gnu/libc.so.6",
    "lib/x86_64-linux-gnu/libm.so.6",
];

/// Object files that are compiled once: programs with the record of a guard that opens cuDNN or is linked with it, a
/// library that does nothing, and a `libcudnn.so.9`.
pub struct Objects {
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

impl Objects {
    pub fn compile(name: &str, guard: Option<PathBuf>) -> Self {
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
pub struct Layout {
    pub dir: PathBuf,
    /// The replacement for `@`.
    pub at: String,
    env: Vec<(String, String)>,
    pub opens: bool,
    pub is_refused: bool,
}

impl Layout {
    pub fn make(dir: PathBuf, at: &str, text: &str, objects: &Objects) -> Self {
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

    pub fn link(&mut self, words: &[&str], objects: &Objects) {
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
            // Several layouts have the same program.
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
    pub fn variables(&self, at: &str) -> Vec<(String, String)> {
        let variable = |(name, value): &(String, String)| (name.clone(), value.replace('@', at));
        self.env.iter().map(variable).collect()
    }

    /// Returns a command that runs in the directory, or with the directory as its root, and with /proc, if it is a system
    /// image.
    pub fn within(&self, program: &str) -> Command {
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
    pub fn examine(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.args(arguments).arg("--json");
        if self.at.is_empty() {
            command.arg("--root").arg(&self.dir);
        }
        command.env_clear().current_dir(&self.dir);
        command.envs(self.variables(self.dir.to_str().unwrap()));
        command
    }

    /// Resolves symlinks, relative to the root if the directory is a system image.
    pub fn canonical(&self, path: &str) -> PathBuf {
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
    pub fn inside(&self, path: &str) -> PathBuf {
        let path = self.canonical(path);
        path.strip_prefix(&self.dir).unwrap_or(&path).into()
    }
}
