//! Builds, `fetch` and the report of a program, each killed at some step. No incomplete file is used, and the next run
//! has the same result as without the kill.

use crate::support::builds::{toolkit, write};
use crate::support::circumstances::{command, installed, library};
use crate::support::{Ran, cargo, fresh, project, repository, run, scratch};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

const MOMENTS: usize = 30;

/// `kills/kill_at.c`, compiled.
fn shim(test: &str) -> PathBuf {
    let shim = fresh(&format!("kills-shim-{test}")).join("libkill_at.so");
    library(
        &fs::read_to_string(repository().join("tests/programs/build/kills/kill_at.c")).unwrap(),
        &shim,
    );
    shim
}

/// Returns a command for this program that is killed at a step, or at none, and that logs its steps.
fn watched<'a>(
    command: &'a mut Command,
    shim: &Path,
    name: &str,
    log: &Path,
    at: usize,
) -> &'a mut Command {
    let _ = fs::remove_file(log);
    command
        .env("LD_PRELOAD", shim)
        .env("KILL_IN", name)
        .env("KILL_LOG", log)
        .env("KILL_AT", at.to_string())
}

/// Returns the steps of an undisturbed run, and the numbers of the steps at which to kill: evenly spread, none twice.
fn moments(log: &Path) -> (Vec<String>, Vec<usize>) {
    let steps: Vec<String> = fs::read_to_string(log)
        .unwrap()
        .lines()
        .map(String::from)
        .collect();
    let count = steps.len().min(MOMENTS);
    let moments = (0..count)
        .map(|number| 1 + number * steps.len() / count)
        .collect();
    (steps, moments)
}

/// Returns the kinds of these steps.
fn kinds(steps: &[String], moments: &[usize]) -> Vec<String> {
    let mut kinds: Vec<String> = moments
        .iter()
        .filter_map(|at| Some(steps[at - 1].split(' ').next()?.to_string()))
        .collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Returns every file below a directory, except those with these names in their path, with its bytes, or with the
/// target of a link.
fn contents(dir: &Path, without: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all.extend(contents(&path, without));
        } else if !without
            .iter()
            .any(|name| path.to_string_lossy().contains(name))
        {
            let bytes = match kind.is_symlink() {
                true => fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes(),
                false => fs::read(&path).unwrap(),
            };
            all.insert(path, bytes);
        }
    }
    all
}

#[track_caller]
fn same(left: &BTreeMap<PathBuf, Vec<u8>>, right: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
    let missing = |of: &BTreeMap<PathBuf, Vec<u8>>, other: &BTreeMap<PathBuf, Vec<u8>>| {
        let names = of.keys().filter(|name| !other.contains_key(*name));
        names.cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        (missing(left, right), missing(right, left)),
        (Vec::new(), Vec::new()),
        "{when}"
    );
    for (path, bytes) in left {
        assert!(
            *bytes == right[path],
            "{when}: {} has different contents",
            path.display()
        );
    }
}

#[track_caller]
fn was_killed(ran: &Ran, when: &str) {
    assert_eq!(ran.code, None, "{when}\n{}", ran.text());
}

/// A build script that records how cargo starts it.
const SCRIPT: &str = r#"fn main() {
    if let Ok(file) = std::env::var("KILLS_START") {
        let mut start = format!("{}\n", std::env::current_exe().unwrap().display());
        for (name, value) in std::env::vars().filter(|(name, _)| name != "KILLS_START") {
            start += &format!("{name}={value}\n");
        }
        std::fs::write(file, start).unwrap();
    }
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().archs(["80"]).link(cudnn_guard::Link::Runtime).cudnn(">=9").probe()?;
        gpu.kernels().files("src/*.cu").compile("mine")?;
        gpu.kernels().files("src/*.cu").module("ptx").ptx()?;
        gpu.guard().write()
    });
}
"#;

/// An nvcc whose output contains the text of the source and nothing else; the size of the output stays the same if a
/// letter changes. In the call with the number KILL_NVCC, half of the output is written when the build script is
/// killed; with KILL_NVCC_AFTER, all of it.
const NVCC: &str = r#"#!/bin/sh
here=${0%/*}
"$here/fixture" "$@" || exit
case $1 in -c | --ptx | -ptx) ;; *) exit 0 ;; esac
source=$2
while [ $# -gt 1 ]; do
    [ "$1" != -o ] || output=$2
    shift
done
case $output in
*.o) { read -r word; printf '.globl kernel_%s\nkernel_%s: ret\n' "$word" "$word"; } <"$source" | cc -x assembler -c -o "$output" - ;;
*) cat "$source" "$source" >"$output" ;;
esac
call=1
until mkdir "$here/calls/$call" 2>/dev/null; do call=$((call + 1)); done
[ $call != "$KILL_NVCC_AFTER" ] || kill -KILL $PPID
if [ $call = "$KILL_NVCC" ]; then
    head -c 5 "$output" >"$output.half"
    cat "$output.half" >"$output"
    rm "$output.half"
    kill -KILL $PPID
fi
exit 0
"#;

/// The names of the sources, and their first and second texts.
const SOURCES: [(&str, [&str; 2]); 3] = [
    ("a", ["one", "two"]),
    ("b", ["red", "tan"]),
    ("c", ["low", "top"]),
];

struct Build {
    dir: PathBuf,
    cuda: PathBuf,
    out: PathBuf,
    /// The cache of compiled kernels.
    cache: PathBuf,
    script: PathBuf,
    env: Vec<(String, String)>,
}

impl Build {
    fn new() -> Self {
        let dir = project("kills", SCRIPT, "fn main() {}\n");
        let cuda = fresh("kills-cuda");
        toolkit(&cuda, 13000, false);
        write(&cuda.join("bin/nvcc"), NVCC);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(cuda.join("bin/nvcc"), mode).unwrap();
        std::os::unix::fs::symlink(
            repository().join("fixtures/nvcc/nvcc"),
            cuda.join("bin/fixture"),
        )
        .unwrap();
        let mut build = Self {
            dir,
            cuda,
            out: PathBuf::new(),
            cache: scratch("kills-build").join("cache"),
            script: PathBuf::new(),
            env: Vec::new(),
        };
        build.write_sources(0);
        fs::create_dir(build.cuda.join("bin/calls")).unwrap();
        let start = scratch("kills-build").join("start");
        let mut check = cargo(&build.dir, &["check"]);
        // cargo does not run the build script again for a variable that it does not track.
        write(
            &build.dir.join("build.rs"),
            &format!("{SCRIPT}// {}\n", std::process::id()),
        );
        check
            .env("CUDA_HOME", &build.cuda)
            .env("KILLS_START", &start);
        run(&mut check).exits_with(0);
        let start = fs::read_to_string(&start).unwrap();
        let mut lines = start.lines();
        build.script = lines.next().unwrap().into();
        let pairs = lines.filter_map(|line| line.split_once('='));
        build.env = pairs
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let out = build
            .env
            .iter()
            .find(|(name, _)| name == "OUT_DIR")
            .unwrap();
        build.out = PathBuf::from(&out.1);
        build
    }

    /// Each file has its own date, as set by a program that unpacks or synchronizes files.
    fn write_sources(&self, which: usize) {
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + which as u64);
        for (name, words) in SOURCES {
            let path = self.dir.join(format!("src/{name}.cu"));
            write(&path, &format!("{}\n", words[which]));
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(date).unwrap();
        }
    }

    /// Returns the build script as cargo starts it.
    fn script(&self) -> Command {
        let calls = self.cuda.join("bin/calls");
        // Programs that a killed build script had started end a moment later.
        while fs::remove_dir_all(&calls).is_err() {}
        fs::create_dir(&calls).unwrap();
        let mut command = Command::new(&self.script);
        command
            .env_clear()
            .envs(self.env.iter().cloned())
            .env("CUDNN_GUARD_CACHE", &self.cache)
            .current_dir(&self.dir);
        command
    }

    /// Returns its output for cargo, and the files afterwards. The times that nvcc took vary, so they are left out.
    fn done(&self) -> (String, BTreeMap<PathBuf, Vec<u8>>) {
        let ran = run(&mut self.script()).exits_with(0);
        // The output also contains the times of nvcc, in the order in which its runs ended.
        let lines = ran
            .stdout
            .lines()
            .filter(|line| line.starts_with("cargo::"));
        let output: String = lines.map(|line| format!("{line}\n")).collect();
        (output, contents(&self.out, &[".stamp"]))
    }

    fn forget_cache(&self) {
        let _ = fs::remove_dir_all(&self.cache);
    }

    fn anew(&self) -> (String, BTreeMap<PathBuf, Vec<u8>>) {
        self.forget_cache();
        fs::remove_dir_all(&self.out).unwrap();
        fs::create_dir(&self.out).unwrap();
        self.done()
    }
}

#[test]
#[ignore = "runs a build script some hundred times"]
fn incomplete_files_of_a_killed_build_are_not_used() {
    let (build, shim) = (Build::new(), shim("build"));
    let log = scratch("kills-build").join("log");
    build.write_sources(1);
    let expected = [(), ()].map(|()| build.anew());
    same(&expected[0].1, &expected[1].1, "twice from nothing");
    build.write_sources(0);
    let first = build.anew();
    build.write_sources(1);
    let mut undisturbed = build.script();
    run(watched(
        &mut undisturbed,
        &shim,
        "build-script-build",
        &log,
        0,
    ))
    .exits_with(0);
    let (steps, moments) = moments(&log);
    assert!(moments.len() == MOMENTS, "{steps:?}");
    let kinds = kinds(&steps, &moments);
    assert!(kinds.len() >= 4, "{kinds:?}");
    let by_step = moments.iter().map(|at| ("KILL_AT", *at));
    let by_nvcc = (1..=6).flat_map(|call| [("KILL_NVCC", call), ("KILL_NVCC_AFTER", call)]);
    for (number, (how, at)) in by_step.chain(by_nvcc).enumerate() {
        let when = format!(
            "{how}={at} {}",
            if how == "KILL_AT" { &steps[at - 1] } else { "" }
        );
        build.write_sources(0);
        let (output, made) = build.done();
        assert!(output == first.0, "{when}: the first sources");
        same(&made, &first.1, &when);
        build.write_sources(1);
        // What the killed build leaves in the cache is used afterwards.
        build.forget_cache();
        let mut killed = build.script();
        watched(&mut killed, &shim, "build-script-build", &log, 0).env(how, at.to_string());
        was_killed(&run(&mut killed), &when);
        // Next come the new sources, or the first ones again.
        let back = number % 2 == 1;
        build.write_sources(usize::from(!back));
        let (output, made) = build.done();
        let expected = if back { &first } else { &expected[0] };
        let differs = |(one, other): &(&str, &str)| one != other;
        let differing = output.lines().zip(expected.0.lines()).find(differs);
        assert!(output == expected.0, "{when}: {differing:?}");
        same(&made, &expected.1, &when);
    }
}

#[test]
#[ignore = "runs fetch some hundred times"]
fn incomplete_files_of_a_killed_fetch_are_not_used() {
    let (test, shim) = (fresh("kills-fetch"), shim("fetch"));
    let uv = repository().join("tests/programs/terminal/fetch/uv");
    fs::create_dir_all(test.join("bin")).unwrap();
    std::os::unix::fs::symlink(uv, test.join("bin/uv")).unwrap();
    let (to, log) = (test.join("to"), test.join("log"));
    let fetch = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.arg("fetch").args(arguments).arg("--to").arg(&to);
        command.env_clear().env("PATH", test.join("bin"));
        command
    };
    let from_nothing = || {
        let _ = fs::remove_dir_all(&to);
        run(&mut fetch(&["--cuda", "12.4"])).exits_with(0);
    };
    // One version replaces another.
    from_nothing();
    run(watched(
        &mut fetch(&["--cuda", "13"]),
        &shim,
        "cudnn-guard",
        &log,
        0,
    ))
    .exits_with(0);
    let expected = contents(&to, &[]);
    let (steps, moments) = moments(&log);
    assert!(moments.len() == MOMENTS, "{steps:?}");
    let kinds = kinds(&steps, &moments);
    assert!(kinds.len() >= 4, "{kinds:?}");
    for at in moments {
        let when = format!("KILL_AT={at} {}", steps[at - 1]);
        from_nothing();
        was_killed(
            &run(watched(
                &mut fetch(&["--cuda", "13"]),
                &shim,
                "cudnn-guard",
                &log,
                at,
            )),
            &when,
        );
        run(&mut fetch(&["--cuda", "13"])).exits_with(0);
        same(&contents(&to, &[]), &expected, &when);
        run(&mut fetch(&["--check"])).exits_with(0);
    }
}

#[test]
fn a_report_is_replaced_atomically() {
    let (test, shim) = (fresh("kills-report"), shim("report"));
    let (report, log) = (test.join("in/report"), test.join("log"));
    let tree = installed((9, 14, 0));
    let start = |at: usize| {
        let mut program = command(&["startup"], &[tree.join("lib64"), tree.join("driver")]);
        program.env("CUDNN_GUARD_REPORT", &report);
        let name = Path::new(program.get_program())
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        run(watched(&mut program, &shim, &name, &log, at))
    };
    let old = "{\"verdict\":\"pass\",\"old\":true}\n";
    write(&report, old);
    start(0).exits_with(0);
    // It contains times, so no two reports are the same.
    let is_new = |text: &str| {
        let json: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        text.ends_with('\n') && json["loaded"]["version"] == "9.14.0"
    };
    let read = || fs::read_to_string(&report).unwrap();
    assert!(is_new(&read()), "{}", read());
    let (steps, moments) = moments(&log);
    assert!(kinds(&steps, &moments).len() >= 4, "{steps:?}");
    for at in moments {
        let when = format!("KILL_AT={at} {}", steps[at - 1]);
        write(&report, old);
        was_killed(&start(at), &when);
        assert!(read() == old || is_new(&read()), "{when}: {}", read());
        start(0).exits_with(0);
        assert!(is_new(&read()), "{when}: {}", read());
    }
    // A killed program leaves at most the file that it was writing.
    let left = fs::read_dir(test.join("in")).unwrap().count() - 1;
    assert!(left < steps.len(), "{left}");
}
