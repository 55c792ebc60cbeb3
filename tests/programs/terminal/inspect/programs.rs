//! Programs of this machine, and programs built by cargo.

use super::image::{Image, ids, linked};
use crate::support::circumstances::{installed, turns};
use crate::support::{Ran, built, cargo, fresh, out_dir, program, project, repository, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice::from_ref;

/// `inspect` passes programs that are known to run on this machine.
#[test]
fn programs_of_this_machine_pass() {
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

/// The loader exits with code 127 if a program is linked to a missing driver.
#[test]
fn a_program_that_is_linked_to_a_missing_driver_cannot_start() {
    let image = Image::new("linked-to-driver");
    image.library("tmp/libcuda.so.1", "int cuInit;", &[]);
    // Without the system's directories, a driver on this machine is not found.
    image.program(&[], &["IMAGE/tmp/libcuda.so.1", "-Wl,-z,nodefaultlib"]);
    fs::remove_dir_all(image.at("tmp")).unwrap();
    let headline = format!(
        "✗ error: `{}` needs libcuda.so.1 of the NVIDIA driver, which the loader cannot find [driver-missing]",
        image.at("app/app").display()
    );
    let ran = run(&mut image.here()).exits_with(1);
    let ran = ran.says_in_words(&headline);
    assert_eq!(ran.stdout.matches("[driver-missing]").count(), 1);
}

#[test]
fn a_missing_loader_is_reported() {
    let image = Image::new("loader");
    let interpreter = image.at("store/ld-linux.so");
    let flag = format!("-Wl,--dynamic-linker={}", interpreter.display());
    image.program(&[], &[&flag, "-pie"]);
    let program = image.at("app/app");
    let inspect = || run(&mut image.here());
    // The system also rejects the program, without the name of the loader.
    let error = Command::new(&program).status().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    let wanted = format!(
        "✗ error: `{}` requires the loader `{}`, which does not exist [library-not-found] = help: build the program on this \
         system, or run it in the environment where it was built",
        program.display(),
        interpreter.display()
    );
    inspect().exits_with(1).says_in_words(&wanted);
    fs::create_dir_all(interpreter.parent().unwrap()).unwrap();
    let own = if Path::new("/lib64/ld-linux-x86-64.so.2").exists() {
        "/lib64/ld-linux-x86-64.so.2"
    } else {
        "/lib/ld-linux-aarch64.so.1"
    };
    std::os::unix::fs::symlink(own, &interpreter).unwrap();
    inspect().does_not_say("does not exist");
}

/// One line for each of several programs. In a directory, only programs with a guard count.
#[test]
fn several_programs_and_directories() {
    let image = Image::new("several");
    image.cudnn("usr/lib", 14);
    let named = |name: &str, record: &str| {
        image.program(
            &[&linked(record)],
            &[
                "IMAGE/usr/lib/libcudnn.so.9",
                "-Wl,--enable-new-dtags",
                "-Wl,-rpath,$ORIGIN/../usr/lib",
            ],
        );
        fs::rename(image.at("app/app"), image.at("app").join(name)).unwrap();
    };
    named("sound", "9.14.0");
    named("newer", "9.20.0");
    image.program(&[], &[]);
    fs::rename(image.at("app/app"), image.at("app/without")).unwrap();
    fs::create_dir(image.at("app/deep")).unwrap();
    fs::rename(image.at("app/sound"), image.at("app/deep/sound")).unwrap();
    fs::write(image.at("app/notes.txt"), "text").unwrap();
    // A link to a directory above it would never end.
    std::os::unix::fs::symlink("..", image.at("app/deep/up")).unwrap();
    let root = image.0.display();
    let inspect = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command
            .env_clear()
            .arg("inspect")
            .arg("--root")
            .arg(&image.0);
        run(command.args(arguments))
    };
    let in_words = |ran: &Ran| ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let ran = inspect(&["/app"]).exits_with(1);
    assert_eq!(
        in_words(&ran),
        format!(
            "? {root}/app/deep/sound: driver and GPUs not queried \
             ✗ {root}/app/newer: loaded cuDNN 9.14.0 is older than 9.20.0, which this program was built with \
             [cudnn-version-mismatch] 0 pass, 1 fail, 1 unknown"
        )
    );
    let ran = inspect(&["/app/deep/sound", "/app/without"]).exits_with(0);
    assert_eq!(
        in_words(&ran),
        format!(
            "? {root}/app/deep/sound: driver and GPUs not queried \
             ? {root}/app/without: driver and GPUs not queried; the program contains no cudnn-guard record \
             0 pass, 0 fail, 2 unknown"
        )
    );
    let ran = inspect(&["--json", "/app"]).exits_with(1);
    let verdicts: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].to_string())
        .collect();
    assert_eq!(verdicts, ["\"unknown\"", "\"fail\""]);
    let ran = inspect(&["/app/deep/sound", "/app/notes.txt"]).exits_with(2);
    assert!(
        ran.stdout.ends_with("\n0 pass, 0 fail, 1 unknown\n"),
        "{}",
        ran.stdout
    );
    let ran = inspect(&["/usr"]).exits_with(2);
    assert_eq!(
        ran.stderr,
        "cudnn-guard: no program there contains a guard\n"
    );
}

/// Programs of one command share the files that were read, but not what is true of one of them only.
#[test]
fn several_programs_are_inspected_like_each_alone() {
    let image = Image::new("alike");
    image.cudnn("usr/lib", 14);
    image.cudnn("opt/cudnn/lib", 20);
    image.library(
        "usr/lib/libhelper.so.1",
        "int help(void) { return 0; }",
        &[],
    );
    image.library("opt/cudnn/lib/libhelper.so.1", "int help, more;", &[]);
    let helper = "IMAGE/opt/cudnn/lib/libhelper.so.1";
    let cudnn = "IMAGE/usr/lib/libcudnn.so.9";
    let code = "extern int more; int *use(void) { return &more; }";
    image.library("opt/cudnn/lib/libuser.so.1", code, &[helper]);
    let user = "IMAGE/opt/cudnn/lib/libuser.so.1";
    let (rpath, runpath) = ("-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags");
    let (first, second) = ("$ORIGIN/../../usr/lib", "$ORIGIN/../../opt/cudnn/lib");
    let mut programs = Vec::new();
    for (name, record, flags, places) in [
        ("first", Some("9.14.0"), &[cudnn, runpath][..], first),
        ("second", Some("9.14.0"), &[cudnn, runpath], second),
        ("older", Some("9.20.0"), &[cudnn, rpath], first),
        (
            "user",
            Some("9.14.0"),
            &[cudnn, helper, user, rpath],
            &format!("{first}:{second}"),
        ),
        (
            "other",
            Some("9.14.0"),
            &[cudnn, helper, user, rpath],
            &format!("{second}:{first}"),
        ),
        ("missing", None, &[cudnn, "-Wl,-z,nodefaultlib"], "/nowhere"),
        ("copy", Some("9.14.0"), &[cudnn, runpath], first),
    ] {
        let records: Vec<String> = record.map(linked).into_iter().collect();
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        let places = format!("-Wl,-rpath,{places}");
        image.program(&records, &[flags, &[&places]].concat());
        let program = image.at("app").join(name).join("app");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::rename(image.at("app/app"), &program).unwrap();
        programs.push(program);
    }
    for root in [None, Some(&image.0)] {
        let inspect = |programs: &[PathBuf]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
            command
                .env_clear()
                .args(["inspect", "--json"])
                .args(programs);
            if let Some(root) = root {
                command.arg("--root").arg(root);
            }
            run(&mut command).stdout
        };
        let alone: Vec<String> = programs.iter().map(|one| inspect(from_ref(one))).collect();
        let different: BTreeSet<&str> = alone.iter().map(|one| &one[..]).collect();
        assert_eq!(different.len(), programs.len());
        assert_eq!(inspect(&programs), alone.concat());
        let mut reversed = programs.clone();
        reversed.reverse();
        let alone: String = alone.into_iter().rev().collect();
        assert_eq!(inspect(&reversed), alone);
    }
}

/// If a program has more rights than its user, the loader ignores LD_LIBRARY_PATH, LD_PRELOAD and the program's
/// `$ORIGIN`, but not that of a library.
#[test]
#[ignore = "needs root: creates a program that another user owns"]
fn variables_do_not_apply_to_a_program_with_more_rights_than_its_user() {
    let image = Image::new("privileged");
    for folder in ["usr/lib", "opt/old"] {
        image.cudnn(folder, if folder == "opt/old" { 10 } else { 14 });
    }
    let old = image.at("opt/old");
    let old = old.to_str().unwrap();
    let with = |rpath: &str, rights: &[&str]| {
        let flags = ["IMAGE/opt/old/libcudnn.so.9", "-Wl,--enable-new-dtags"];
        image.program(&[&linked("9.14.0")], &[&flags[..], &[rpath]].concat());
        let app = image.at("app/app");
        let mut give = Command::new(rights[0]);
        run(give.args(&rights[1..]).arg(&app)).exits_with(0);
        if rights[0] == "chown" {
            run(Command::new("chmod").arg("u+s").arg(&app)).exits_with(0);
        }
        let mut command = image.command();
        command.env("LD_LIBRARY_PATH", old);
        run(command.env("LD_PRELOAD", format!("{old}/libcudnn.so.9")))
    };
    let rpath = "-Wl,-rpath,$ORIGIN/../opt/old";
    let wrong = "  ✗ error: loaded cuDNN 9.10.0 is older than 9.14.0";
    // A program of root gives root no additional rights, and neither does a capability.
    with(rpath, &["chown", "0"]).exits_with(1).says(wrong);
    with(rpath, &["setcap", "cap_net_raw+p"])
        .exits_with(1)
        .says(wrong);
    let sound = "9.14.0 for CUDA 13 at";
    with(rpath, &["chown", "65534"]).exits_with(0).says(sound);
    fs::create_dir_all(image.at("usr/local/cuda")).unwrap();
    fs::rename(image.at("usr/lib"), image.at("usr/local/cuda/lib64")).unwrap();
    let ran = with(
        "-Wl,-rpath,$ORIGIN/../usr/local/cuda/lib64",
        &["chown", "65534"],
    )
    .exits_with(1);
    let root = image.0.display();
    ran.says_in_words(&format!(
        "✗ error: `{root}/app/app` needs libcudnn.so.9, which the loader cannot find; \
         `{root}/usr/local/cuda/lib64/libcudnn.so.9` exists, but the loader does not search there [cudnn-not-loadable] \
         = help: add `/usr/local/cuda/lib64` to /etc/ld.so.conf and run `ldconfig` \
         = help: relink the program with that directory as its rpath; `.link()` adds it unless `.rpath(false)` is set \
         setuid this program runs with elevated privileges (setuid, capabilities): the loader ignores \
         LD_LIBRARY_PATH, LD_PRELOAD and `$ORIGIN` in its rpath \
         available 9.14.0 {root}/usr/local/cuda/lib64/libcudnn.so.9 searched {root}/etc/ld.so.cache verdict: fail (1 error) \
         for details and fixes, run `cudnn-guard explain cudnn-not-loadable`"
    ));
    // Follow the help.
    fs::create_dir_all(image.at("etc")).unwrap();
    fs::write(image.at("etc/ld.so.conf"), "/usr/local/cuda/lib64\n").unwrap();
    with(rpath, &["chown", "65534"]).exits_with(0).says(sound);
}

/// Returns the directory of a set of `.ci/wheels.py`.
pub fn wheel(set: &str) -> PathBuf {
    let folder = std::env::var_os("CUDNN_GUARD_REAL")
        .expect("CUDNN_GUARD_REAL is the directory of .ci/wheels.py");
    PathBuf::from(folder).join(set).join("nvidia/cudnn")
}

/// Uses NVIDIA's own files.
#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn real_libraries_beside_a_program_are_found() {
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
}

/// The record is kept by either linker, in a program that is linked with LTO and stripped, at any optimization level.
#[test]
#[ignore = "compiles the runtime five times: takes a minute on two cores"]
fn facts_survive_the_linker() {
    facts_survive(0, &[("fat", 1, &[]), ("thin", 0, BFD)]);
    facts_survive(3, &[("fat", 3, &[]), ("thin", 1, BFD)]);
}

const BFD: &[&str] = &["-Clink-arg=-fuse-ld=bfd"];

/// Compiles the runtime at this level, then links it into a program in each of these ways.
fn facts_survive(runtime_level: u32, ways: &[(&str, u32, &[&str])]) {
    let sound = installed((9, 14, 0));
    let name = format!("inspected-{runtime_level}");
    let dir = project(
        &name,
        "fn main() { cudnn_guard::build(|| {\n    \
         let gpu = cudnn_guard::Config::new().cudnn(\">=9.1\").probe()?;\n    \
         gpu.link();\n    gpu.guard().write()\n}); }\n",
        "mod cudnn_guard { include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\")); }\n\
         fn main() { cudnn_guard::startup(); }\n",
    );
    let mut check = cargo(&dir, &["check", "--message-format=json"]);
    check.env("CUDA_HOME", &sound).env("CUDNN_PATH", &sound);
    let out = out_dir(&run(&mut check).exits_with(0), &name);
    // Without cargo, which would compile the dependencies of the build script again for each way of linking.
    let runtime = fresh(&format!("inspect-linked-{runtime_level}")).join("libcudnn_guard.rlib");
    let rustc = |arguments: &[&str]| {
        let mut rustc = program(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition=2024", "--cap-lints=allow"]);
        rustc.args(arguments).env("OUT_DIR", &out);
        rustc
    };
    run(rustc(&[
        "--crate-type=lib",
        "--crate-name=cudnn_guard",
        "--cfg=feature=\"runtime\"",
        "-Clinker-plugin-lto",
        "-o",
    ])
    .arg(&runtime)
    .arg(format!("-Copt-level={runtime_level}"))
    .arg(repository().join("src/lib.rs")))
    .exits_with(0);
    let lib64 = sound.join("lib64");
    let survive = |lto: &str, level: u32, linker: &[&str]| {
        let linked = runtime.with_file_name(lto);
        run(rustc(&["-Cstrip=symbols", "-lcudnn", "-L"])
            .arg(&lib64)
            .arg(format!("--extern=cudnn_guard={}", runtime.display()))
            .arg(format!("-Clink-arg=-Wl,-rpath,{}", lib64.display()))
            .args(linker)
            .arg(format!("-Clto={lto}"))
            .arg(format!("-Copt-level={level}"))
            .arg("-o")
            .arg(&linked)
            .arg(dir.join("src/main.rs")))
        .exits_with(0);
        let ran = run(program(env!("CARGO_BIN_EXE_cudnn-guard"))
            .arg("inspect")
            .arg("--json")
            .arg(&linked));
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        let guards = &json["program"]["guards"];
        assert_eq!(guards.as_array().map(Vec::len), Some(1), "{lto} {json}");
        assert_eq!(guards[0]["crate"], format!("{name} 0.1.0"));
        assert_eq!(guards[0]["requirement"], ">=9.1");
        let library = lib64.join("libcudnn.so.9");
        assert_eq!(json["cudnn"]["library"], library.to_str().unwrap());
    };
    std::thread::scope(|threads| {
        for (lto, level, linker) in ways {
            threads.spawn(|| survive(lto, *level, linker));
        }
    });
}

/// Each crate of a program may have its own guard, and several threads may call them at once. Guards that share one
/// runtime take turns.
#[test]
fn two_guards_of_one_program_answer_from_every_thread() {
    let sound = installed((9, 14, 0));
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
    let together = &std::sync::Barrier::new(8);
    let passed = std::thread::scope(|scope| {{
        let start = |number: usize| {{
            let ask = [own as fn() -> bool, below][number % 2];
            scope.spawn(move || {{ together.wait(); ask() }})
        }};
        let threads: Vec<_> = (0..8).map(start).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|ok| *ok).count()
    }});
    println!(\"{{passed}} passed\");
}}\n"
    );
    let dir = project("guard-above", &script(">=9"), &main);
    let manifest = dir.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let depends = format!("guard-below = {{ path = {below:?} }}\n\n[build-dependencies]");
    fs::write(&manifest, text.replace("[build-dependencies]", &depends)).unwrap();
    run(cargo(&dir, &["build"])
        .env("CUDA_HOME", &sound)
        .env("CUDNN_PATH", &sound))
    .exits_with(0);
    let log = fresh("two-guards").join("calls");
    let ran = |fault: &str| {
        let mut program = Command::new(built("guard-above"));
        let folders = [sound.join("lib64"), sound.join("driver")];
        let folders = std::env::join_paths(folders).unwrap();
        run(program
            .env("LD_LIBRARY_PATH", folders)
            .env("SIM_CALLS", &log)
            .env("SIM_FAULT", fault))
    };
    ran("").exits_with(0).says("8 passed\n");
    let calls = fs::read_to_string(&log).unwrap();
    let turns = turns(&calls.lines().map(String::from).collect::<Vec<_>>());
    let children: BTreeSet<u32> = turns.iter().copied().collect();
    assert!(children.len() >= 8, "{turns:?}");
    assert_eq!(turns.len(), children.len(), "{turns:?}");
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
