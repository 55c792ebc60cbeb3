//! The places where each finding can arise, and a test for each place. A line of `fault_matrix.txt` contains the id,
//! the place and the test, separated by tabs. The required lines are derived from the sources.
//!
//! ```text
//! lib search::tests::name    a test, of this program of tests
//! never: reason              a file that this place uses makes the finding, in a function that the place does not call
//! ```
//!
//! This module checks that each test exists and that its file names the id. `.ci/muted.py` checks that each test fails
//! if its finding is reported under another id.

use crate::support::repository;
use cudnn_guard::FindingId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The places that report findings, and the beginnings of the paths of their files. Modules that these files name with
/// `crate::` are included.
const PLACES: &[(&str, &[&str])] = &[
    ("build", BUILD),
    ("startup", &["build-support/guard/"]),
    ("check", &["build-support/guard/"]),
    ("doctor", DOCTOR),
    ("inspect", &["src/inspection/"]),
    ("fetch", &["src/cli/fetch/"]),
];
const BUILD: &[&str] = &[
    "src/choice/",
    "src/compat/",
    "src/config.rs",
    "src/cudnn/",
    "src/guard/",
    "src/host_compiler/",
    "src/kernels/",
    "src/link",
    "src/loader/",
    "src/model/",
    "src/search/",
    "src/system/",
    "src/targets/",
    "src/toolchain",
    "src/toolkit/",
];
/// The findings of a build before it compiles, links or writes anything.
const DOCTOR: &[&str] = &[
    "src/choice/",
    "src/compat/",
    "src/cudnn/",
    "src/host_compiler/",
    "src/loader/",
    "src/report/",
    "src/search/",
    "src/targets/",
    "src/toolchain",
    "src/toolkit/",
];
/// Files that sort findings and create none.
const SORTING: &[&str] = &[
    "build-support/guard/facts/finding_id.rs",
    "src/error.rs",
    "src/inspection/text.rs",
    "src/report/text.rs",
];

/// Returns the text of each file below these directories, by its path in the repository.
fn sources(folders: &[&str], end: &str) -> BTreeMap<String, String> {
    fn collect(dir: &Path, end: &str, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, end, found);
            } else if path.to_str().unwrap().ends_with(end) {
                let inside = path.strip_prefix(repository()).unwrap();
                let text = fs::read_to_string(&path).unwrap();
                found.insert(inside.to_str().unwrap().to_string(), text);
            }
        }
    }
    let mut found = BTreeMap::new();
    for folder in folders {
        collect(&repository().join(folder), end, &mut found);
    }
    found
}

/// Returns the code that is compiled into users' programs, without comments.
pub fn shipped() -> BTreeMap<String, String> {
    let mut sources = sources(&["src", "build-support/guard"], ".rs");
    sources.retain(|path, _| !path.contains("test") && !path.contains("/real"));
    for text in sources.values_mut() {
        let before_tests = text.split("#[cfg(test)]\nmod tests {").next();
        let lines = before_tests.unwrap_or_default().lines();
        let code: Vec<&str> = lines.map(|line| line.split("//").next().unwrap()).collect();
        *text = code.join("\n");
    }
    sources
}

/// Returns the findings that this code creates.
fn made(code: &str) -> BTreeSet<FindingId> {
    let mut made = BTreeSet::new();
    let parts: Vec<&str> = code.split("FindingId::").collect();
    for pair in parts.windows(2) {
        let [before, part] = pair else { continue };
        let name = part.split(|c: char| !c.is_alphanumeric()).next();
        let is_asked = before.ends_with("id == ") || before.ends_with("id != ");
        let mut all = FindingId::ALL.iter();
        let id = all.find(|id| Some(&*format!("{id:?}")) == name);
        made.extend(id.filter(|_| !is_asked));
    }
    made
}

/// Returns the fault types of a file of `messages`, each with the findings that its `impl` makes, also through the
/// functions of that file that the `impl` calls.
fn faults(code: &str) -> BTreeMap<String, BTreeSet<FindingId>> {
    let mut items: Vec<String> = Vec::new();
    for line in code.lines() {
        let starts_item = !line.starts_with([' ', '}', ')', ']']) && !line.is_empty();
        match items.last_mut() {
            Some(item) if !starts_item => item.push_str(&format!("\n{line}")),
            _ => items.push(line.to_string()),
        }
    }
    let name = |text: &str| {
        let end = text.find(|c: char| c != '_' && !c.is_alphanumeric());
        text[..end.unwrap_or(text.len())].to_string()
    };
    let function = |item: &&String| item.split_once("fn ").map(|(_, rest)| name(rest));
    let mut faults: BTreeMap<String, BTreeSet<FindingId>> = BTreeMap::new();
    for item in items.iter().filter(|item| item.starts_with("impl")) {
        let head = item.lines().next().unwrap_or_default();
        let fault = head
            .rsplit(" for ")
            .next()
            .unwrap()
            .trim_start_matches("impl");
        // `impl<'a> Fault<'a>`, or `impl Fault<'_>`.
        let generics = fault.strip_prefix('<').and_then(|it| it.split_once("> "));
        let fault = name(generics.map_or(fault, |pair| pair.1).trim());
        let mut all = made(item);
        let others = items.iter().filter(|other| !other.starts_with("impl"));
        for other in others {
            if function(&other).is_some_and(|name| item.contains(&format!("{name}("))) {
                all.append(&mut made(other));
            }
        }
        faults.entry(fault).or_default().append(&mut all);
    }
    faults
}

/// Returns the findings that this code makes, itself or as the faults that it declares.
fn raised(code: &str, messages: &BTreeMap<String, BTreeSet<FindingId>>) -> BTreeSet<FindingId> {
    let mut raised = made(code);
    let is_name = |c: char| c != '_' && !c.is_alphanumeric();
    for declared in ["struct ", "enum "] {
        for rest in code.split(declared).skip(1) {
            let fault = rest
                .split(is_name)
                .next()
                .and_then(|name| messages.get(name));
            raised.extend(fault.into_iter().flatten());
        }
    }
    raised
}

/// Returns the files that this code names: `crate::runtime::{judge::rules, parts}` and the like.
fn named(code: &str, files: &BTreeMap<String, String>) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for part in code.split("crate::").skip(1) {
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let end = part.find(|c| !is_path(c)).unwrap_or(part.len());
        let (path, rest) = part.split_at(end);
        let list = rest
            .strip_prefix('{')
            .and_then(|rest| rest.split('}').next());
        for item in list.unwrap_or_default().split(',') {
            let item = item.split(" as ").next().unwrap_or_default().trim();
            let whole = format!("{path}{item}").replace("::", "/");
            let whole = match whole.strip_prefix("runtime/") {
                Some(inside) => format!("build-support/guard/{inside}"),
                None => format!("src/{whole}"),
            };
            // The names of modules are followed by a function or a type.
            let mut modules = Path::new(&whole).ancestors();
            let file = modules.find_map(|module| {
                let module = module.to_str().unwrap();
                let mut files_of = [format!("{module}.rs"), format!("{module}/mod.rs")].into_iter();
                files_of.find(|file| files.contains_key(file))
            });
            named.extend(file);
        }
    }
    named
}

/// Returns each finding with the places where it can arise, and the files that create it there.
fn arising() -> BTreeMap<(String, &'static str), Vec<String>> {
    let mut files = shipped();
    let mut messages = BTreeMap::new();
    files.retain(|file, code| {
        let is_messages = file.contains("/messages/");
        if is_messages {
            messages.append(&mut faults(code));
        }
        !is_messages
    });
    let mut arising: BTreeMap<_, Vec<String>> = BTreeMap::new();
    let mut placed = BTreeSet::new();
    for (place, rooms) in PLACES {
        let is_own = |file: &&String| rooms.iter().any(|room| file.starts_with(room));
        let own: Vec<&String> = files.keys().filter(is_own).collect();
        let mut all: BTreeSet<String> = own.iter().map(|file| file.to_string()).collect();
        all.extend(own.iter().flat_map(|file| named(&files[*file], &files)));
        placed.extend(all.iter().cloned());
        for file in all.iter().filter(|file| !SORTING.contains(&file.as_str())) {
            for id in raised(&files[file], &messages) {
                let key = (id.to_string(), *place);
                arising.entry(key).or_default().push(file.clone());
            }
        }
    }
    for (file, code) in &files {
        let is_placed = placed.contains(file) || SORTING.contains(&file.as_str());
        assert!(
            is_placed || raised(code, &messages).is_empty(),
            "{file} makes findings, and no place of PLACES has it"
        );
    }
    arising
}

/// Returns the tests of the repository, named as in `fault_matrix.txt`, each with its file.
fn tests() -> BTreeMap<String, String> {
    let mut tests = BTreeMap::new();
    for (path, text) in sources(&["src", "tests"], ".rs") {
        let (program, modules) = match path.strip_prefix("src/") {
            Some(inside) => ("lib", inside),
            None => {
                let inside = &path["tests/".len()..path.len() - ".rs".len()];
                match inside.split_once('/') {
                    Some(("programs", modules)) => ("programs", modules),
                    // tests/simulator.rs has a module with its own name.
                    Some((program, _)) => (program, inside),
                    None => (inside, ""),
                }
            }
        };
        let modules = modules.trim_end_matches(".rs").trim_end_matches("/mod");
        let modules = modules.replace('/', "::");
        let mut below = "";
        let mut is_test = false;
        for line in text.lines() {
            match line.trim() {
                "mod tests {" => below = "tests",
                "#[test]" => is_test = true,
                line if line.starts_with("#[") || line.starts_with("//") => {}
                line => {
                    let name = line
                        .strip_prefix("fn ")
                        .and_then(|line| line.split('(').next());
                    if let (Some(name), true) = (name, is_test) {
                        let parts = [&modules, below, name].into_iter();
                        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
                        tests.insert(format!("{program} {}", parts.join("::")), path.clone());
                    }
                    is_test = false;
                }
            }
        }
    }
    tests
}

/// Returns the material of a test: its file, and the texts that it compares the output with.
fn material(file: &str) -> String {
    let mut text = fs::read_to_string(repository().join(file)).unwrap();
    if file == "src/toolchain/tests/cases.rs" {
        text += &sources(&["fixtures/cases"], ".txt")
            .into_values()
            .collect::<String>();
    } else if file == "tests/programs/build/messages.rs" {
        text += &fs::read_to_string(repository().join("fixtures/texts.txt")).unwrap();
    }
    text
}

#[test]
fn every_finding_is_tested_wherever_it_can_arise() {
    let matrix = include_str!("fault_matrix.txt");
    let (arising, tests) = (arising(), tests());
    assert!(
        arising.len() > 150 && tests.len() > 500,
        "{} {}",
        arising.len(),
        tests.len()
    );
    let (mut wrong, mut lines) = (Vec::new(), BTreeSet::new());
    for line in matrix.lines() {
        let [id, place, shown] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line:?} is not three fields");
        };
        let key = arising
            .keys()
            .find(|(known, at)| known == id && *at == place);
        match key {
            Some(key) if lines.insert(key) => {}
            Some(_) => wrong.push(format!("{id} at {place} is listed twice")),
            None => wrong.push(format!("{id} arises nowhere at {place}: take the line out")),
        }
        let name = FindingId::parse(id).map(|id| format!("FindingId::{id:?}"));
        match (shown.split_once(": "), tests.get(shown)) {
            (Some(("never", reason)), _) => assert!(!reason.is_empty(), "{line:?}"),
            (_, None) => wrong.push(format!("{id} at {place}: there is no test `{shown}`")),
            (_, Some(file)) => {
                let text = material(file);
                if !text.contains(id) && !name.is_some_and(|name| text.contains(&name)) {
                    wrong.push(format!(
                        "{id} at {place}: `{shown}` is in {file}, which does not name it"
                    ));
                }
            }
        }
    }
    let missing = arising.iter().filter(|(key, _)| !lines.contains(key));
    wrong.extend(missing.map(|((id, place), files)| {
        format!(
            "{id} at {place} is shown by no test, and {} makes it",
            files.join(", ")
        )
    }));
    assert!(wrong.is_empty(), "fault_matrix.txt:\n{}", wrong.join("\n"));
}

#[test]
fn findings_are_read_from_the_code() {
    let ids = |code: &str| -> Vec<String> { made(code).iter().map(FindingId::to_string).collect() };
    let code =
        "Finding::new(FindingId::NoGpu, x); if one.id == FindingId::IoError {} FindingId::parse(x)";
    assert_eq!(ids(code), ["no-gpu"]);
    assert_eq!(ids("NoGpu"), [""; 0]);
    let files = shipped();
    let named = |code: &str| -> Vec<String> { named(code, &files).into_iter().collect() };
    assert_eq!(
        named(
            "use crate::runtime::judge::{gpu_support::GpuSupport, rules};\ncrate::search::search_step::Kind"
        ),
        [
            "build-support/guard/judge/gpu_support.rs",
            "build-support/guard/judge/rules.rs",
            "src/search/search_step.rs",
        ]
    );
    assert_eq!(named("super::rules"), [""; 0]);
}
