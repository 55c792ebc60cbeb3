//! Tests with a compiler that records its runs.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

/// A directory of compilers with old dates.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        for below in ["bin", "out"] {
            fs::create_dir_all(dir.join(below)).unwrap();
        }
        Self(dir)
    }

    /// Creates a program that appends a line to `runs` and then runs the `commands`.
    fn program(&self, name: &str, commands: &str) -> PathBuf {
        let path = self.0.join(name);
        let runs = self.0.join("runs");
        let text = format!(
            "#!/bin/sh\necho \"$*\" >>'{}'\n{commands}\n",
            runs.display()
        );
        // Another process writes the file, because a file that is open for writing cannot be run. A program that a
        // concurrent test starts would inherit it from this process.
        shell(
            "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\" && touch -d 2020-01-01T00:00:00 \"$1\"",
            &path,
            &text,
        );
        path
    }

    /// Opens the cache of the next build.
    fn next(&self) -> ProbeCache {
        self.next_with(&[])
    }

    fn next_with(&self, more: &[(&str, &str)]) -> ProbeCache {
        let out = [("OUT_DIR", self.0.join("out").to_str().unwrap().to_string())];
        let more = more.iter().map(|(name, value)| (*name, value.to_string()));
        let all = out.into_iter().chain(more);
        ProbeCache::open(&Environment::new(
            all.map(|(name, value)| (name.to_string(), value.into())),
        ))
    }

    /// Returns the number of runs since the last call.
    fn times(&self) -> usize {
        let runs = self.0.join("runs");
        let text = fs::read_to_string(&runs).unwrap_or_default();
        let _ = fs::remove_file(runs);
        text.lines().count()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn shell(script: &str, path: &Path, text: &str) {
    let mut shell = std::process::Command::new("/bin/sh");
    let shell = shell.args(["-c", script, "sh"]).arg(path).arg(text);
    assert!(shell.status().unwrap().success(), "{script}");
}

fn query(answers: &ProbeCache, program: &Path, arg: &str) -> Result<String, String> {
    query_depending_on(answers, program, arg, &[])
}

/// Output with a digit is saved.
fn query_depending_on(
    answers: &ProbeCache,
    program: &Path,
    arg: &str,
    files: &[PathBuf],
) -> Result<String, String> {
    let question = Invocation {
        program: program.into(),
        args: vec![arg.into()],
        ..Invocation::default()
    };
    let output = answers.query(&question, &|output| {
        output
            .stdout
            .contains(char::is_numeric)
            .then(|| files.to_vec())
    });
    output
        .map(|output| output.stdout + &output.stderr)
        .map_err(|finding| finding.to_string())
}

#[test]
fn a_query_runs_once_for_all_builds() {
    let machine = Machine::new("answers-once");
    let nvcc = machine.program("bin/nvcc", "echo \"$1 13\"; echo; echo '> é' >&2");
    let answers = machine.next();
    let output = Ok("a 13\n\n> é\n".to_string());
    assert_eq!(query(&answers, &nvcc, "a"), output);
    assert_eq!(query(&answers.clone(), &nvcc, "a"), output);
    assert_eq!(machine.times(), 1);
    assert!(query(&answers, &nvcc, "b").is_ok_and(|output| output.starts_with("b 13")));
    assert_eq!(machine.times(), 1);
    let next = machine.next();
    assert_eq!(query(&next, &nvcc, "a"), output);
    assert!(query(&next, &nvcc, "b").is_ok_and(|output| output.starts_with("b 13")));
    assert_eq!(machine.times(), 0);
    // Outside a build script, nothing is saved.
    let elsewhere = || ProbeCache::open(&Environment::default());
    assert_eq!(query(&elsewhere(), &nvcc, "a"), output);
    assert_eq!(query(&elsewhere(), &nvcc, "a"), output);
    assert_eq!(machine.times(), 2);
}

#[test]
fn another_compiler_is_queried_again() {
    let machine = Machine::new("answers-changed");
    let nvcc = machine.program("bin/nvcc", "echo 12");
    let runs = |commands: &str| {
        assert_eq!(
            query(&machine.next(), &nvcc, "a"),
            Ok(format!("{commands}\n"))
        );
        machine.times()
    };
    assert_eq!([runs("12"), runs("12")], [1, 0]);
    machine.program("bin/nvcc", "echo 1300");
    assert_eq!([runs("1300"), runs("1300")], [1, 0], "another size");
    machine.program("bin/nvcc", "echo 1400");
    shell("touch -d 2019-01-01T00:00:00 \"$1\"", &nvcc, "");
    assert_eq!(
        [runs("1400"), runs("1400")],
        [1, 0],
        "another date, an older one"
    );
    fs::rename(&nvcc, machine.0.join("bin/nvcc-14")).unwrap();
    symlink("nvcc-14", &nvcc).unwrap();
    assert_eq!([runs("1400"), runs("1400")], [1, 0], "a link");
    // As in Nix, where all dates are the same.
    let other = machine.program("bin/nvcc-15", "echo 1500");
    let old = machine.0.join("bin/nvcc-14");
    shell("touch -r \"$2\" \"$1\"", &other, old.to_str().unwrap());
    fs::remove_file(&nvcc).unwrap();
    symlink("nvcc-15", &nvcc).unwrap();
    assert_eq!(
        [runs("1500"), runs("1500")],
        [1, 0],
        "a link that leads elsewhere"
    );
    // In the future, because a slow machine may need seconds until the query starts.
    shell("touch -d 2098-01-01T00:00:00 \"$1\"", &nvcc, "");
    assert_eq!(
        [runs("1500"), runs("1500")],
        [1, 1],
        "it may be changing right now"
    );
}

#[test]
fn variables_that_affect_a_compiler_are_part_of_the_query() {
    let machine = Machine::new("answers-steered");
    let nvcc = machine.program("bin/nvcc", "echo 12");
    for (name, times) in [
        ("PATH", 1),
        ("NVCC_APPEND_FLAGS", 1),
        ("CPATH", 1),
        ("INCLUDE", 1),
        ("CUDNN_GUARD_ARCHS", 0),
    ] {
        query(&machine.next(), &nvcc, "a").unwrap();
        machine.times();
        query(&machine.next_with(&[(name, "/x")]), &nvcc, "a").unwrap();
        assert_eq!(machine.times(), times, "{name}");
    }
}

#[test]
fn a_wrapper_is_queried_again_when_its_program_has_changed() {
    let machine = Machine::new("answers-wrapper");
    let wrapper = machine.program("bin/wrapper", "exec \"${0%/*}/nvcc\"");
    let real = machine.program("bin/nvcc", "echo 12");
    let both = |answers: &ProbeCache| {
        let layout =
            query_depending_on(answers, &wrapper, "layout", &[real.clone(), "/none".into()]);
        let version = query(answers, &wrapper, "version");
        assert_eq!(layout, version);
        (layout.unwrap(), machine.times())
    };
    // Its version was the only output so far.
    query(&machine.next(), &wrapper, "version").unwrap();
    assert_eq!(machine.times(), 2);
    assert_eq!(both(&machine.next()), ("12\n".into(), 4));
    assert_eq!(both(&machine.next()), ("12\n".into(), 0));
    machine.program("bin/nvcc", "echo 1300");
    assert_eq!(both(&machine.next()), ("1300\n".into(), 4));
}

/// The profile sets nvcc's search path and the programs that it runs.
#[test]
fn nvcc_is_queried_again_when_its_profile_has_changed() {
    let machine = Machine::new("answers-profile");
    let nvcc = machine.program("bin/nvcc", "cat \"${0%/*}/nvcc.profile\"");
    let profile = machine.0.join("bin/nvcc.profile");
    let write = "printf %s \"$2\" >\"$1\" && touch -d 2020-01-01T00:00:00 \"$1\"";
    let runs = |commands: &str| {
        shell(write, &profile, commands);
        assert_eq!(query(&machine.next(), &nvcc, "a"), Ok(commands.to_string()));
        machine.times()
    };
    assert_eq!([runs("TOP=12\n"), runs("TOP=12\n")], [1, 0]);
    assert_eq!([runs("TOP=1300\n"), runs("TOP=1300\n")], [1, 0]);
}

#[test]
fn a_broken_file_counts_as_missing() {
    let machine = Machine::new("answers-broken");
    let nvcc = machine.program("bin/nvcc", "echo 12");
    let runs = || {
        assert_eq!(query(&machine.next(), &nvcc, "a"), Ok("12\n".into()));
        machine.times()
    };
    assert_eq!([runs(), runs()], [1, 0]);
    let dir = machine.0.join("out/cudnn-guard/queries");
    for file in files::list(&dir).unwrap() {
        let valid = fs::read(&file).unwrap();
        for end in 0..valid.len() {
            fs::write(&file, &valid[..end]).unwrap();
            assert_eq!(runs(), 1, "cut at {end}: {}", file.display());
        }
        // After a power failure.
        fs::write(&file, vec![0; valid.len()]).unwrap();
        assert_eq!([runs(), runs()], [1, 0], "{}", file.display());
    }
    fs::remove_dir_all(machine.0.join("out")).unwrap();
    fs::write(machine.0.join("out"), "no directory").unwrap();
    assert_eq!([runs(), runs()], [1, 1]);
}

/// The contents are checked even if the stamp is right.
#[test]
fn a_saved_output_is_a_line_with_two_streams() {
    for (text, expected) in [
        ("12\\n \n", Some("12\n")),
        ("1\\s2 err\n", Some("1 2")),
        ("", None),
        ("12 -", None),
        ("12\n", None),
        ("12 - -\n", None),
    ] {
        let output = output(text).map(|output| output.stdout);
        assert_eq!(output.as_deref(), expected, "{text:?}");
    }
}

#[test]
fn a_failed_query_runs_again_in_the_next_build() {
    let machine = Machine::new("answers-none");
    for commands in ["echo nothing", "echo 12; exit 1"] {
        let nvcc = machine.program("bin/nvcc", commands);
        for _ in 0..2 {
            let answers = machine.next();
            let output = query(&answers, &nvcc, "a");
            assert_eq!(output, query(&answers, &nvcc, "a"));
            assert_eq!(machine.times(), 1, "{commands}");
        }
    }
}
