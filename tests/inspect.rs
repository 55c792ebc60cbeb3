//! `cudnn-guard inspect` on programs and libraries that are compiled here, in images of our own.
#![cfg(all(feature = "cli", target_os = "linux", target_env = "gnu"))]
#![allow(clippy::disallowed_methods)] // tests make files and run programs

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::simulator::{self, Simulated};
use support::{Ran, built, cargo, fresh, program, project, repository, run};

/// A file system with a program in it, none of which ever runs.
struct Image(PathBuf);

const PARTS: [&str; 6] = [
    "graph",
    "ops",
    "cnn",
    "heuristic",
    "engines_precompiled",
    "engines_runtime_compiled",
];

impl Image {
    fn new(name: &str) -> Self {
        Self(fresh(&format!("inspect-{name}")))
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Compiles C code into a file of the image.
    fn compile(&self, path: &str, code: &str, flags: &[&str]) {
        let into = self.at(path);
        fs::create_dir_all(into.parent().unwrap()).unwrap();
        let source = into.with_extension("c");
        fs::write(&source, code).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-nostdlib", "-nostartfiles", "-fPIC", "-O1", "-o"]);
        cc.arg(&into).arg(&source);
        cc.args(
            flags
                .iter()
                .map(|flag| flag.replace("IMAGE", self.0.to_str().unwrap())),
        );
        assert!(cc.status().unwrap().success(), "{cc:?}");
        fs::remove_file(source).unwrap();
    }

    fn library(&self, path: &str, code: &str, flags: &[&str]) {
        let name = path.rsplit('/').next().unwrap();
        let soname = format!("-Wl,-soname,{name}");
        let own = ["-shared", &soname];
        self.compile(path, code, &[&own[..], flags].concat());
    }

    /// A cuDNN 9 for CUDA 13 in this folder, of files that tell their release and do nothing.
    fn cudnn(&self, folder: &str, minor: u32) {
        self.library(
            &format!("{folder}/libcudnn.so.9"),
            "int cudnnGetVersion(void) { return 0; }",
            &["-Wl,--enable-new-dtags,-rpath,$ORIGIN"],
        );
        for part in PARTS {
            let code = match part {
                "graph" => format!(
                    "const unsigned char cudnn_graph_version[4] = {{ 0, {minor}, 9, 0 }};\n\
                     const char *cublas(void) {{ return \"libcublasLt.so.13\"; }}"
                ),
                _ => "int nothing;".into(),
            };
            let gnu = "-Wl,--hash-style=gnu";
            self.library(&format!("{folder}/libcudnn_{part}.so.9"), &code, &[gnu]);
        }
    }

    /// The program `/app/app`, with these records, linked with these libraries.
    fn program(&self, records: &[&str], flags: &[&str]) {
        let mut code = String::from("void _start(void) {}\n");
        for (index, text) in records.iter().enumerate() {
            let bytes: Vec<String> = record(text).iter().map(ToString::to_string).collect();
            code += &format!(
                "__attribute__((section(\".cdnngrd\"), used)) static const unsigned char record{index}[] = {{ {} }};\n",
                bytes.join(", ")
            );
        }
        let own = ["-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"];
        self.compile("app/app", &code, &[&own[..], flags].concat());
    }

    fn inspect(&self, arguments: &[&str]) -> Ran {
        self.inspect_with(arguments, "")
    }

    fn inspect_with(&self, arguments: &[&str], library_path: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.arg("inspect").arg(self.at("app/app"));
        command.arg("--root").arg(&self.0).args(arguments);
        command.env_clear().env("LD_LIBRARY_PATH", library_path);
        run(&mut command)
    }

    /// The same in one line, since headlines are broken between words.
    fn flat(&self, arguments: &[&str]) -> Ran {
        let mut ran = self.inspect(arguments);
        let words: Vec<&str> = ran.stdout.split_whitespace().collect();
        ran.stdout = words.join(" ");
        ran
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.inspect(&["--json"]).stdout).unwrap()
    }

    /// What is printed of the findings and the verdict, with the image as `/` and headlines in one line.
    fn said(&self, ran: &Ran) -> String {
        let from = ran.stdout.find("\n\n").unwrap();
        let mut text = String::new();
        for line in ran.stdout[from + 2..].lines() {
            let broken = line
                .strip_prefix("    ")
                .filter(|rest| !rest.starts_with(' '));
            match broken {
                Some(rest) => {
                    text.pop();
                    text += &format!(" {rest}\n");
                }
                None => text += &format!("{line}\n"),
            }
        }
        text.replace(self.0.to_str().unwrap(), "")
    }
}

/// As a guard writes it.
fn record(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"cdnngrd\x01", &length[..], text.as_bytes()].concat()
}

fn linked(cudnn: &str) -> String {
    format!(
        "guard 0.1.0\ncrate app 0.1.0\ncudnn {cudnn}\ncudnn-cuda 13\ncuda 13.0\npolicy compatible\nloader linked\n"
    )
}

fn ids(json: &Value) -> Vec<&str> {
    let findings = json["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["id"].as_str().unwrap())
        .collect()
}

/// LOD-01: the library is there, and nothing leads to it.
#[test]
fn a_cudnn_off_the_loaders_way_is_named() {
    let image = Image::new("off-the-way");
    image.cudnn("usr/local/cuda/lib64", 14);
    image.program(
        &[&linked("9.14.0")],
        &[
            "IMAGE/usr/local/cuda/lib64/libcudnn.so.9",
            "-Wl,-rpath,/opt/lib",
        ],
    );
    let ran = image.inspect(&[]).exits_with(1);
    assert_eq!(
        image.said(&ran),
        "  ✗ `/app/app` needs libcudnn.so.9, which the loader does not find  [cudnn-not-loadable]\n      \
         looked at   the program's RUNPATH, its entry `/opt/lib`\n                  \
         /etc/ld.so.cache\n      \
         also found  9.14.0  /usr/local/cuda/lib64/libcudnn.so.9\n      \
         = help: put `/usr/local/cuda/lib64` into LD_LIBRARY_PATH\n      \
         = help: or link the program again with that directory as its rpath, which `.link()` does unless `.rpath(false)`\n\n\
         verdict: fail (1 error)\n\
         `cudnn-guard explain cudnn-not-loadable` tells how to see that by hand and how to mend it\n"
    );
}

/// LOD-04: 9 is there, and the program is one for 8.
#[test]
fn another_major_is_no_way_out() {
    let image = Image::new("another-major");
    image.cudnn("usr/local/cuda/lib64", 14);
    image.library("tmp/libcudnn.so.8", "int x;", &[]);
    image.program(&[&linked("8.9.7")], &["IMAGE/tmp/libcudnn.so.8"]);
    fs::remove_dir_all(image.at("tmp")).unwrap();
    image
        .flat(&[])
        .exits_with(1)
        .says("needs libcudnn.so.8, which the loader does not find")
        .says("also found 9.14.0 ")
        .says("= help: install cuDNN 8 beside it: one major does not stand in for another, not even under its name")
        .does_not_say("LD_LIBRARY_PATH");
}

/// LOD-03: the driver brings nothing of the toolkit.
#[test]
fn a_library_of_the_toolkit_is_missing() {
    let image = Image::new("no-toolkit");
    image.library("tmp/libcudart.so.12", "int x;", &[]);
    image.program(&[], &["IMAGE/tmp/libcudart.so.12"]);
    fs::remove_dir_all(image.at("tmp")).unwrap();
    image
        .flat(&[])
        .exits_with(1)
        .says("needs libcudart.so.12, which the loader does not find")
        .says("[library-not-found]")
        .says("= help: install the libraries of CUDA 12, which do not come with the driver");
}

/// LOD-13: RPATH, LD_LIBRARY_PATH, RUNPATH, the cache, the system's folders.
#[test]
fn the_loaders_order() {
    let image = Image::new("order");
    let found_via = |json: &Value| {
        json["cudnn"]["found_via"]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    for folder in ["app", "variable", "cached", "usr/lib"] {
        image.cudnn(folder, 14);
    }
    fs::create_dir_all(image.at("etc")).unwrap();
    fs::write(
        image.at("etc/ld.so.cache"),
        cache("libcudnn.so.9", "/cached/libcudnn.so.9"),
    )
    .unwrap();
    let see = |flags: &[&str], variable: &str| {
        let with = [&["IMAGE/app/libcudnn.so.9"], flags].concat();
        image.program(&[&linked("9.14.0")], &with);
        let variable = variable.replace("IMAGE", image.0.to_str().unwrap());
        let ran = image.inspect_with(&["--json"], &variable).exits_with(0);
        found_via(&serde_json::from_str(&ran.stdout).unwrap())
    };
    let runpath = ["-Wl,--enable-new-dtags,-rpath,$ORIGIN"];
    let rpath = ["-Wl,--disable-new-dtags,-rpath,$ORIGIN"];
    let here = format!("its entry `{}`", image.at("app").display());
    assert_eq!(
        see(&rpath, "IMAGE/variable"),
        format!("the program's RPATH, {here}")
    );
    assert_eq!(
        see(&runpath, "IMAGE/variable"),
        "LD_LIBRARY_PATH, its entry `/variable`"
    );
    assert_eq!(see(&runpath, ""), format!("the program's RUNPATH, {here}"));
    // What the shell has in mind of this machine is not meant.
    assert_eq!(see(&[], "/variable"), "/etc/ld.so.cache");
    fs::remove_file(image.at("etc/ld.so.cache")).unwrap();
    assert_eq!(see(&[], ""), "the system's library directories, `/usr/lib`");
    // An image that `ldconfig` has not seen yet.
    fs::create_dir_all(image.at("etc/ld.so.conf.d")).unwrap();
    fs::write(
        image.at("etc/ld.so.conf"),
        "include /etc/ld.so.conf.d/*.conf\n",
    )
    .unwrap();
    fs::write(image.at("etc/ld.so.conf.d/cudnn.conf"), "# ours\n/cached\n").unwrap();
    assert_eq!(see(&[], ""), "/etc/ld.so.cache");
}

/// A cache of glibc with one library, as `sysdeps/generic/dl-cache.h` describes it.
fn cache(name: &str, path: &str) -> Vec<u8> {
    let mut bytes = b"glibc-ld.so.cache1.1".to_vec();
    bytes.extend(1_u32.to_le_bytes());
    bytes.resize(48, 0);
    let strings = 48 + 24;
    let second = strings + u32::try_from(name.len()).unwrap() + 1;
    for word in [0x303, strings, second, 0, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(format!("{name}\0{path}\0").as_bytes());
    bytes
}

/// What is of another processor is passed over, as the loader does it.
#[test]
fn a_library_for_another_processor_is_passed_over() {
    let image = Image::new("foreign");
    image.cudnn("right", 14);
    image.cudnn("wrong", 10);
    let path = image.at("wrong/libcudnn.so.9");
    let mut bytes = fs::read(&path).unwrap();
    bytes[18] = 243;
    fs::write(path, bytes).unwrap();
    image.program(
        &[&linked("9.14.0")],
        &["IMAGE/right/libcudnn.so.9", "-Wl,-rpath,/wrong:/right"],
    );
    let json = image.json();
    assert_eq!(json["verdict"], "unknown", "{json}");
    assert_eq!(json["cudnn"]["version"], "9.14.0");
}

/// VER-01, and two crates of one program that want different things.
#[test]
fn every_guard_of_a_program_is_heard() {
    let image = Image::new("older");
    image.cudnn("opt/lib", 14);
    let other = linked("9.20.0").replace("app 0.1.0", "other 2.0.0");
    image.program(
        &[&linked("9.1.0"), &other],
        &["IMAGE/opt/lib/libcudnn.so.9", "-Wl,-rpath,/opt/lib"],
    );
    let ran = image.inspect(&[]).exits_with(1);
    let wanted = "  ✗ loaded cuDNN 9.14.0 is older than the 9.20.0 that this program was built with  [cudnn-version-mismatch]\n      \
         loaded      /opt/lib/libcudnn.so.9\n      \
         found via   the program's RUNPATH, its entry `/opt/lib`\n      \
         crate       other 2.0.0\n      \
         built with  9.20.0, so 9.20 or a later 9.x may be loaded\n      \
         = help: install cuDNN 9.20 or a later 9.x in `/opt/lib`, or put its directory into LD_LIBRARY_PATH\n";
    let said = image.said(&ran);
    assert!(said.starts_with(wanted), "{said}");
    let json = image.json();
    let guards = json["program"]["guards"].as_array().unwrap();
    assert_eq!(guards.len(), 2);
    // Which comes first is the linker's affair.
    let other = guards.iter().find(|guard| guard["crate"] == "other 2.0.0");
    assert_eq!(other.unwrap()["cudnn"], "9.20.0");
}

/// LOD-29, LOD-27, LOD-20: a part is gone, one needs the driver, and what is opened by name is missing.
#[test]
fn parts_and_what_they_open() {
    let image = Image::new("parts");
    image.cudnn("opt/lib", 14);
    image.library("tmp/libcuda.so.1", "int x;", &[]);
    image.library(
        "opt/lib/libcudnn_engines_runtime_compiled.so.9",
        "int nothing;",
        &["-Wl,--no-as-needed", "IMAGE/tmp/libcuda.so.1"],
    );
    fs::remove_dir_all(image.at("tmp")).unwrap();
    image.program(
        &[&linked("9.14.0")],
        &["IMAGE/opt/lib/libcudnn.so.9", "-Wl,-rpath,/opt/lib"],
    );
    let json = image.json();
    assert_eq!(json["verdict"], "unknown", "{json}");
    assert_eq!(
        ids(&json),
        ["driver-missing", "library-not-found", "library-not-found"]
    );
    let missing: Vec<&str> = json["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        missing,
        ["libcuda.so.1", "libcublasLt.so.13", "libnvrtc.so.13"]
    );

    fs::remove_file(image.at("opt/lib/libcudnn_cnn.so.9")).unwrap();
    let json = image.json();
    assert_eq!(json["verdict"], "fail", "{json}");
    let finding = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["id"] == "parts-missing")
        .unwrap();
    assert_eq!(finding["severity"], "error");
    assert!(
        finding["summary"]
            .as_str()
            .unwrap()
            .contains("lacks libcudnn_cnn.so.9"),
        "{finding}"
    );
}

/// Images for Jetson keep empty files, over which the machine's own libraries are mounted.
#[test]
fn what_is_mounted_later_is_unknown() {
    let image = Image::new("mounted");
    image.cudnn("opt/lib", 14);
    image.program(
        &[&linked("9.14.0")],
        &["IMAGE/opt/lib/libcudnn.so.9", "-Wl,-rpath,/opt/lib"],
    );
    fs::write(image.at("opt/lib/libcudnn.so.9"), "").unwrap();
    image
        .flat(&[])
        .exits_with(0)
        .says("libcudnn.so.9` is nothing yet")
        .says("libcudnn.so.9 is mounted later, if at all");
}

/// LOD-19: the system has the library, and not the version of it.
#[test]
fn a_library_of_the_system_that_is_too_old() {
    let image = Image::new("too-old");
    let script = |versions: &[&str]| {
        let mut text = String::from("GLIBC_2.2 { one; };\n");
        for version in versions {
            text += &format!("{version} {{ two; }};\n");
        }
        fs::write(image.at("map"), text).unwrap();
    };
    let own = "-Wl,--version-script=IMAGE/map";
    script(&["GLIBC_2.38"]);
    image.library(
        "usr/lib/libm.so.6",
        "int one(void) { return 1; } int two(void) { return 2; }",
        &[own],
    );
    image.library(
        "usr/lib/libuser.so.1",
        "int two(void); int user(void) { return two(); }",
        &["IMAGE/usr/lib/libm.so.6"],
    );
    image.program(
        &[],
        &[
            "IMAGE/usr/lib/libuser.so.1",
            "-Wl,-rpath-link,IMAGE/usr/lib",
        ],
    );
    assert_eq!(image.json()["findings"], Value::Array(Vec::new()));
    script(&[]);
    image.library("usr/lib/libm.so.6", "int one(void) { return 1; }", &[own]);
    image
        .flat(&[])
        .exits_with(1)
        .says("/usr/lib/libm.so.6` has no GLIBC_2.38, which")
        .says("/usr/lib/libuser.so.1` needs [library-not-found]")
        .says("= help: run the program on a system or in a container whose glibc is 2.38 or later");
}

/// LNK-09: the linker dropped what no function was called of.
#[test]
fn a_program_that_should_depend_on_cudnn_and_does_not() {
    let image = Image::new("dropped");
    image.program(&[&linked("9.14.0")], &[]);
    image
        .flat(&[])
        .exits_with(0)
        .says("app 0.1.0 was built to be linked with cuDNN, and this program depends on none")
        .says("[not-loaded-yet]");
}

/// LOD-02: a program that opens cuDNN itself takes the newest that it may.
#[test]
fn a_program_that_opens_cudnn_itself() {
    let image = Image::new("opens");
    let text = "guard 0.1.0\nrequirement >=8\nfrom 8.0.0\npolicy requirement\nloader dlopen\n";
    image.program(&[text], &["-Wl,-rpath,/opt/lib"]);
    // No GPU is known of: it may do without.
    image
        .flat(&[])
        .exits_with(0)
        .says("this program opens libcudnn.so.10 or libcudnn.so.9 or libcudnn.so.8, and the loader finds none")
        .says("= help: install cuDNN 9, or put its directory into LD_LIBRARY_PATH");
    image.cudnn("opt/lib", 14);
    // A program that is linked with nothing has no search path of its own either: it is the loader's that counts.
    let json = image.json();
    assert_eq!(
        json["missing"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["name"].as_str().unwrap().starts_with("libcudnn.so"))
            .count(),
        0,
        "{json}"
    );
    assert_eq!(json["cudnn"]["version"], "9.14.0");
}

/// LOD-02: cudarc asks for `libcudnn.so` first, in all folders, and those before 0.19.2 never for `libcudnn.so.9`.
#[test]
fn a_program_whose_cudnn_cudarc_opens() {
    let image = Image::new("cudarc");
    let program = |cudarc: &str| {
        let text = format!(
            "guard 0.1.0\nrequirement >=9.11\nfrom 9.11.0\npolicy requirement\nloader cudarc\n{cudarc}"
        );
        image.program(&[&text], &["-Wl,-rpath,/opt/lib:/opt/first"]);
    };
    let missing = || {
        let json = image.json();
        let missing = json["missing"].as_array().unwrap().iter();
        let names = missing.map(|one| one["name"].as_str().unwrap().to_string());
        names
            .filter(|name| name.starts_with("libcudnn"))
            .collect::<Vec<_>>()
    };
    program("");
    image
        .flat(&[])
        .exits_with(0)
        .says("\u{2013} cudarc opens libcudnn.so, and the loader finds neither that nor another name that it tries [cudnn-not-loadable] looked at the program's RUNPATH, its entry `/opt/lib` the program's RUNPATH, its entry `/opt/first`")
        .says("= help: install cuDNN 9, or put its directory into LD_LIBRARY_PATH verdict: unknown (");
    assert_eq!(missing(), ["libcudnn.so"]);

    image.cudnn("opt/lib", 14);
    let json = image.json();
    let library = |json: &Value| json["cudnn"]["library"].as_str().unwrap().to_string();
    assert!(library(&json).ends_with("/opt/lib/libcudnn.so.9"), "{json}");
    assert_eq!(missing(), [""; 0]);
    program("cudarc 0.19.1\n");
    image
        .flat(&[])
        .exits_with(0)
        .says("cudarc 0.19.1 opens libcudnn.so, and the loader finds neither that nor another name that it tries")
        .says("/opt/lib/libcudnn.so.9 = help: build the program with cudarc 0.19.2 or later, which asks for libcudnn.so.9 too = help: or put a link `libcudnn.so` to it into `")
        .says("/opt/lib`, as the -dev packages have it verdict: unknown (")
        .says("there is ");
    assert_eq!(image.json()["program"]["guards"][0]["cudarc"], "0.19.1");

    image.cudnn("opt/first", 10);
    let link = image.at("opt/first/libcudnn.so");
    fs::rename(image.at("opt/first/libcudnn.so.9"), link).unwrap();
    for cudarc in ["", "cudarc 0.19.1\n"] {
        program(cudarc);
        let json = image.json();
        assert!(library(&json).ends_with("/opt/first/libcudnn.so"), "{json}");
        assert_eq!(json["cudnn"]["version"], "9.10.0");
        assert_eq!(ids(&json)[0], "cudnn-version-mismatch");
        assert_eq!(missing(), [""; 0]);
    }
}

/// There is nothing to find of a cuDNN that is part of the program: the guard knows what it is.
#[test]
fn a_program_that_holds_its_cudnn() {
    let image = Image::new("holds");
    let text = linked("9.10.2").replace("loader linked", "loader static");
    let line = "cuDNN 9.10.2 for CUDA 13, linked into the program itself";
    image.program(&[&text], &[]);
    let ran = image.flat(&[]).exits_with(0).says(line);
    let verdict = "verdict: unknown (no driver and no GPU was asked)";
    ran.says(verdict);
    // What is known to be bad at it stays so.
    image.program(&[&format!("{text}needs conv3d-bf16\n")], &[]);
    image
        .flat(&[])
        .exits_with(1)
        .says(line)
        .says("[known-bad-release]");
    // Another cuDNN that is loaded with the program is not the one that it calls.
    image.cudnn("opt/lib", 1);
    let flags = ["IMAGE/opt/lib/libcudnn.so.9", "-Wl,-rpath,/opt/lib"];
    image.program(&[&text], &flags);
    image
        .flat(&[])
        .exits_with(0)
        .says(line)
        .says("9.1.0 for CUDA 13 at");
    let unknown = text.replace("cudnn 9.10.2\n", "");
    image.program(&[&unknown], &[]);
    image
        .flat(&[])
        .exits_with(0)
        .says("the release of the cuDNN in app 0.1.0 is not known");
}

/// The facts are read off programs for every system and processor.
#[test]
fn facts_of_a_program_for_windows() {
    let image = Image::new("windows");
    fs::create_dir_all(image.at("app")).unwrap();
    fs::write(image.at("app/app"), for_windows(0xaa64, &linked("9.14.0"))).unwrap();
    let json = image.json();
    assert_eq!(json["program"]["format"], "pe");
    assert_eq!(json["program"]["cpu"], "aarch64");
    assert_eq!(json["program"]["guards"][0]["crate"], "app 0.1.0");
    assert_eq!(json["verdict"], "unknown");
}

/// A program with nothing but a record.
fn for_windows(machine: u16, text: &str) -> Vec<u8> {
    let record = record(text);
    let mut bytes = vec![0; 0x200];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"MZ");
    put(0x3c, &[0x40]);
    put(0x40, b"PE\0\0");
    put(0x44, &machine.to_le_bytes());
    put(0x46, &[1]);
    put(0x54, &[144]);
    put(0x58, &[0x0b, 0x02]);
    let section = 0x58 + 144;
    put(section, b".cdnngrd");
    let size = u32::try_from(record.len()).unwrap();
    for (at, value) in [(12, 0x1000), (16, size), (20, 0x200)] {
        put(section + at, &u32::to_le_bytes(value));
    }
    bytes.extend(record);
    bytes
}

/// What runs here, runs here.
#[test]
fn no_alarm_for_programs_of_this_machine() {
    let own = std::env::current_exe().unwrap();
    let cc = run(Command::new("cc").arg("-print-prog-name=cc1")).stdout;
    for path in [
        own,
        "/bin/sh".into(),
        cc.trim().into(),
        env!("CARGO_BIN_EXE_cudnn-guard").into(),
    ] {
        let inspect = |path: &Path| {
            run(program(env!("CARGO_BIN_EXE_cudnn-guard"))
                .arg("inspect")
                .arg(path))
            .exits_with(0)
        };
        inspect(&path).says("all found");
    }
}

/// A set of `.ci/wheels.py`.
fn wheel(set: &str) -> PathBuf {
    let folder = std::env::var_os("CUDNN_GUARD_REAL")
        .expect("CUDNN_GUARD_REAL is the folder of .ci/wheels.py");
    PathBuf::from(folder).join(set).join("nvidia/cudnn")
}

/// LOD-13, VER-01: NVIDIA's own files, for Linux and Windows.
#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn real_libraries_beside_a_program() {
    let image = Image::new("real");
    let (newer, older) = (
        wheel("cudnn-cu13-9.28").join("lib"),
        wheel("cudnn-cu13-9.14").join("lib"),
    );
    let rpath = format!("-Wl,--enable-new-dtags,-rpath,{}", newer.display());
    image.program(
        &[&linked("9.28.0")],
        &[newer.join("libcudnn.so.9").to_str().unwrap(), &rpath],
    );
    let see = |library_path: &Path| {
        let mut command = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        command
            .arg("inspect")
            .arg("--json")
            .arg(image.at("app/app"));
        let ran = run(command.env("LD_LIBRARY_PATH", library_path));
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        (ran.code, json)
    };
    let (code, json) = see(Path::new(""));
    assert_eq!(code, Some(0), "{json}");
    let parts = json["cudnn"]["parts"].as_array().unwrap();
    assert!(
        parts.len() > 8 && parts.iter().all(|part| part["version"] == "9.28.0"),
        "{json}"
    );
    assert_eq!(json["cudnn"]["cuda_major"], 13);
    let (code, json) = see(&older);
    assert_eq!(code, Some(1), "{json}");
    assert!(ids(&json).contains(&"cudnn-version-mismatch"), "{json}");
    assert_eq!(json["cudnn"]["version"], "9.14.0");
    assert_eq!(
        json["cudnn"]["found_via"],
        format!("LD_LIBRARY_PATH, its entry `{}`", older.display())
    );

    for entry in fs::read_dir(wheel("cudnn-win-cu13-9.28").join("bin")).unwrap() {
        let dll = entry.unwrap().path();
        std::os::unix::fs::symlink(&dll, image.at("app").join(dll.file_name().unwrap())).unwrap();
    }
    let windows = |cudnn: &str| {
        fs::write(image.at("app/app.exe"), for_windows(0x8664, &linked(cudnn))).unwrap();
        let mut command = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        let ran = run(command
            .arg("inspect")
            .arg("--json")
            .arg(image.at("app/app.exe")));
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let json = windows("9.14.0");
    assert_eq!(json["verdict"], "unknown", "{json}");
    assert_eq!(json["cudnn"]["version"], "9.28.0");
    assert_eq!(json["cudnn"]["found_via"], "the program's own directory");
    assert_eq!(windows("9.40.0")["verdict"], "fail");
}

#[test]
fn what_is_no_program_is_a_mistake_of_the_caller() {
    let text = repository().join("README.md");
    run(Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .arg("inspect")
        .arg(text))
    .exits_with(2)
    .says("is no program that can be read: neither ELF nor PE");
    run(Command::new(env!("CARGO_BIN_EXE_cudnn-guard")).args(["inspect", "/nowhere/app"]))
        .exits_with(2);
}

/// What is optimised, linked as one piece by either linker and stripped still holds its facts.
#[test]
fn facts_survive_the_linker() {
    let sound = fresh("inspect-simulated");
    let what = Simulated {
        cudnn: (9, 14, 0),
        cuda: (13, 0),
        leave_out: Vec::new(),
    };
    simulator::build(&repository().join("fixtures/simulator"), &sound, &what).unwrap();
    let dir = project(
        "inspected",
        "fn main() { cudnn_guard::build(|| {\n    \
         let gpu = cudnn_guard::Config::new().cudnn(\">=9.1\").probe()?;\n    \
         gpu.link();\n    gpu.guard().write()\n}); }\n",
        "mod cudnn_guard { include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\")); }\n\
         fn main() { cudnn_guard::startup(); }\n",
    );
    for (lto, flags) in [
        ("fat", ""),
        ("thin", "-Clink-arg=-fuse-ld=bfd"),
        ("off", "-Clink-arg=-fuse-ld=bfd"),
    ] {
        run(cargo(&dir, &["build"])
            .env("CUDA_HOME", &sound)
            .env("CUDNN_PATH", &sound)
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "3")
            .env("CARGO_PROFILE_DEV_LTO", lto)
            .env("CARGO_PROFILE_DEV_STRIP", "true")
            .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", flags))
        .exits_with(0);
        let ran = run(program(env!("CARGO_BIN_EXE_cudnn-guard"))
            .arg("inspect")
            .arg("--json")
            .arg(built("inspected")));
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        let guards = &json["program"]["guards"];
        assert_eq!(
            guards.as_array().map(Vec::len),
            Some(1),
            "{lto} {flags} {json}"
        );
        assert_eq!(guards[0]["crate"], "inspected 0.1.0");
        assert_eq!(guards[0]["requirement"], ">=9.1");
        assert_eq!(
            json["cudnn"]["library"],
            Path::new(&sound)
                .join("lib64/libcudnn.so.9")
                .to_str()
                .unwrap()
        );
    }
}

/// Each crate of a program may have a guard of its own, which any thread may ask, several at once.
#[test]
fn two_guards_of_one_program_answer_from_every_thread() {
    let sound = fresh("inspect-two-guards");
    let what = Simulated {
        cudnn: (9, 14, 0),
        cuda: (13, 0),
        leave_out: Vec::new(),
    };
    simulator::build(&repository().join("fixtures/simulator"), &sound, &what).unwrap();
    let script = |asked: &str| {
        format!(
            "fn main() {{ cudnn_guard::build(|| {{\n    \
             let gpu = cudnn_guard::Config::new().cudnn({asked:?}).probe()?;\n    \
             gpu.link();\n    gpu.guard().write()\n}}); }}\n"
        )
    };
    let guard = "pub mod guard { include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\")); }\n";
    let below = project("guard-below", &script(">=9.1"), "fn main() {}\n");
    fs::write(below.join("src/lib.rs"), guard).unwrap();
    let main = format!(
        "{guard}fn main() {{
    let own = || guard::check().is_ok() && guard::check_version().is_ok();
    let below = || guard_below::guard::check().is_ok() && guard_below::guard::check_version().is_ok();
    let mut passed = 0;
    for ask in [own as fn() -> bool, below] {{
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(ask)).collect();
        passed += threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|ok| *ok).count();
    }}
    println!(\"{{passed}} passed\");
}}\n"
    );
    let dir = project("guard-above", &script(">=9"), &main);
    let manifest = dir.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let depends = format!("[dependencies]\nguard-below = {{ path = {below:?} }}\n\n[workspace]");
    fs::write(&manifest, text.replace("[workspace]", &depends)).unwrap();
    run(cargo(&dir, &["build"])
        .env("CUDA_HOME", &sound)
        .env("CUDNN_PATH", &sound))
    .exits_with(0);
    let ran = |fault: &str| {
        let mut program = Command::new(built("guard-above"));
        let folders = [sound.join("lib64"), sound.join("driver")];
        let folders = std::env::join_paths(folders).unwrap();
        run(program
            .env("LD_LIBRARY_PATH", folders)
            .env("SIM_FAULT", fault))
    };
    ran("").exits_with(0).says("8 passed\n");
    ran("abort:cudnnCreate").exits_with(0).says("0 passed\n");
    let ran = run(program(env!("CARGO_BIN_EXE_cudnn-guard"))
        .arg("inspect")
        .arg("--json")
        .arg(built("guard-above")));
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let guards = json["program"]["guards"].as_array().unwrap();
    let mut of: Vec<String> = guards
        .iter()
        .map(|guard| format!("{} {}", guard["crate"], guard["requirement"]))
        .collect();
    of.sort();
    let wanted = [
        "\"guard-above 0.1.0\" \">=9\"",
        "\"guard-below 0.1.0\" \">=9.1\"",
    ];
    assert_eq!(of, wanted);
}
