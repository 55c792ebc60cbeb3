//! Compares the answers of all interfaces with those of the system's own loader, for programs, libraries and cuDNNs in many
//! layouts.

mod answer;
mod layout;
mod targets;

use crate::support::{builds, built, cargo, consumers, fresh, place, repository, run};
use answer::{NAMES, json_of};
use layout::{BASE, Layout, Objects};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

impl Layout {
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
        let json = json_of(run(&mut self.examine(&["inspect", app.to_str().unwrap()])));
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
}

fn is_no_loader(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with("ld-linux") && !name.starts_with("linux-vdso")
}

/// Returns the names and texts of the layouts of layouts.txt below this title.
fn layouts(title: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(repository().join("tests/programs/agreement/layouts.txt"));
    let text = text.unwrap();
    let mut sections = text.split("\n# ");
    let section = sections.find(|section| section.starts_with(title));
    let lines: Vec<&str> = section.unwrap().trim_end().lines().skip(1).collect();
    assert!(lines.len() > 2 && lines.len() % 2 == 0, "{title}");
    lines
        .chunks(2)
        .map(|two| (two[0].into(), two[1].into()))
        .collect()
}

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
///
/// Most of the exceptions are right:
///
/// - in the variable: the build and `doctor` name the files of the cuDNN that is linked, since the program may have
///   another LD_LIBRARY_PATH than they have, and warn.
/// - a main library without a RUNPATH (`no runpath`, `elsewhere, cached`, `without system directories`): the directories
///   of a program that does not exist yet decide, so the build and `doctor` take the files beside it.
/// - `empty` and `link to nothing` for `inspect`: such files of an image may be replaced when a container starts.
/// - `dependency missing`, the file: the loader's message only names the dependency. But without a driver the guard,
///   and always `doctor` and the build, should report that cuDNN does not work.
/// - `hwcaps beside`: the CPU that runs an image is unknown. But the guard should know its own.
/// - `main library linked from elsewhere`: the program was linked from outside of the image, where the build reads an
///   absolute link, and writes an rpath, at its target.
#[test]
#[ignore = "needs ldconfig, and root or unprivileged user namespaces"]
fn every_interface_agrees_with_the_loader_of_an_image() {
    run(&mut cargo(consumers(), &["build", "-p", "in-c"])).exits_with(0);
    let objects = Objects::compile("agreement-objects", Some(built("libin_c.a")));
    let base = base("agreement-image");
    builds::toolkit(&base.join("usr/local/cuda"), 13000, false);
    let images = fresh("agreement-images");
    let (mut found, mut all) = (Vec::new(), Vec::new());
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
        let lines = answers
            .iter()
            .map(|(asker, answer)| format!("  {asker}: {answer:?}\n"));
        all.push(format!("{name} | \n{}", lines.collect::<String>()));
    }
    let file = repository().join("tests/programs/agreement/differences.txt");
    let known = fs::read_to_string(&file).unwrap();
    let known: Vec<&str> = known.lines().collect();
    let is_found = |line: &&str| found.iter().any(|found| found == line);
    let new = found.iter().filter(|line| !known.contains(&line.as_str()));
    let new: Vec<&String> = new.collect();
    let is_new = |answers: &&String| {
        new.iter()
            .any(|line| line.split('|').next() == answers.split('|').next())
    };
    let answers: String = all.iter().filter(is_new).map(String::as_str).collect();
    assert!(new.is_empty(), "{answers}\nnew differences: {new:#?}");
    let rest: Vec<&str> = known.iter().copied().filter(is_found).collect();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, rest.join("\n") + "\n").unwrap();
    } else {
        assert_eq!(known, rest, "BLESS=1 removes what no longer occurs");
    }
}
