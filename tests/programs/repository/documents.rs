//! Checks of README.md and docs: their outputs are those that the programs print, and their programs compile. Those
//! marked `rust,no_run` are documentation tests of the crate.

use crate::repository::sources::shipped;
use crate::support::{cargo, fresh, program, project, repository, run, simulated, target};
use crate::terminal::inspect::image::{Image, linked};
use cudnn_guard::FindingId;
use std::fs;
use std::path::Path;
use std::process::Command;

const DOCUMENTS: [&str; 11] = [
    "README.md",
    "docs/cli.md",
    "docs/findings.md",
    "docs/frameworks.md",
    "docs/guard.md",
    "docs/kernels.md",
    "docs/linking.md",
    "docs/migration.md",
    "docs/python.md",
    "docs/recipes.md",
    "docs/searching.md",
];

fn read(document: &str) -> String {
    fs::read_to_string(repository().join(document)).unwrap()
}

/// Returns the examples of a document: the language and the text.
fn examples(text: &str) -> Vec<(&str, &str)> {
    let fenced = text.split("\n```").skip(1).step_by(2);
    fenced.map(|one| one.split_once('\n').unwrap()).collect()
}

/// Returns the example with this beginning.
fn example<'a>(document: &'a str, beginning: &str) -> &'a str {
    let mut all = examples(document).into_iter();
    let (_, text) = all.find(|(_, text)| text.starts_with(beginning)).unwrap();
    text
}

/// Joins words that are separated by line breaks.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks an excerpt of a longer text: each of its headlines, helps and rows is in the text, in this order.
#[track_caller]
fn must_be_in_output(shown: &str, output: &str) {
    let output = plain(output);
    let mut rest = output.as_str();
    let shown = shown.replace("  = help", "\n\u{0}= help");
    let shown = shown
        .replace("\n  ✗", "\n\u{0}✗")
        .replace("\n  ✓", "\n\u{0}✓");
    for piece in shown
        .split('\u{0}')
        .map(plain)
        .filter(|piece| !piece.is_empty())
    {
        let Some((_, behind)) = rest.split_once(&piece) else {
            panic!("{piece:?} is missing or too early in\n{output}");
        };
        rest = behind;
    }
}

/// Findings that only occur on Linux: Windows has no stub of the driver's library, and no headers of glibc.
const LINUX_ONLY: [&str; 3] = [
    "driver-in-image",
    "driver-stub",
    "host-headers-incompatible",
];

/// A page with commands for Linux also has commands and a fix for Windows, without anything that is specific to Linux.
#[test]
fn every_page_helps_on_windows() {
    let of_linux = ["sudo", "ldconfig", "LD_LIBRARY_PATH", "/usr/", "apt "];
    let is_of_linux = |text: &str| of_linux.iter().any(|word| text.contains(word));
    let pages = read("docs/findings.md");
    for page in pages.split("\n# ").skip(1) {
        let id = page.lines().next().unwrap().trim_start_matches("# ");
        let examples = examples(page);
        let commands = |of| {
            let mut texts = examples.iter().filter(move |(language, _)| *language == of);
            texts.next().map(|(_, text)| *text)
        };
        let bullets = page.lines().filter_map(|line| line.strip_prefix("- "));
        let fix = bullets.clone().find(|line| line.starts_with("Windows: "));
        let powershell = commands("powershell");
        let is_linux_only = LINUX_ONLY.contains(&id);
        let needs_windows = bullets.chain(commands("sh")).any(is_of_linux) && !is_linux_only;
        let has_windows = powershell.is_some() && fix.is_some();
        assert!(
            has_windows || !needs_windows,
            "{id} says nothing to users of Windows"
        );
        for text in powershell.iter().chain(&fix) {
            assert!(!is_of_linux(text), "{id}: {text}");
        }
        let lines = powershell.map_or(1, |text| text.lines().count());
        assert!(
            (1..=4).contains(&lines),
            "{id}: {lines} lines for PowerShell"
        );
    }
}

/// Returns the arguments of a command line in the documents. A program in it is replaced by an existing one.
fn arguments(line: &str) -> Vec<String> {
    let line = line.split(" #").next().unwrap();
    let line = line.split(" > ").next().unwrap();
    let line = line.replace("X.Y", "13.0").replace(['[', ']'], "");
    let mut words = Vec::new();
    for (index, piece) in line.split('"').enumerate() {
        match index % 2 {
            0 => words.extend(piece.split_whitespace().map(|word| match word {
                "PROGRAM" | "./program" | ".\\program.exe" | "/app/app" => {
                    env!("CARGO_BIN_EXE_cudnn-guard")
                }
                other => other,
            })),
            _ => words.push(piece),
        }
    }
    words.into_iter().map(str::to_string).collect()
}

#[test]
fn every_command_line_is_accepted() {
    let mut lines = Vec::new();
    for document in DOCUMENTS
        .iter()
        .chain(&["SECURITY.md", "CHANGELOG.md", "RELEASE.md"])
    {
        let text = read(document);
        for code in text.split('`').skip(1) {
            let commands = code.lines().filter_map(|line| {
                let (before, command) = line.rsplit_once("cudnn-guard ")?;
                let ends = ["/tmp/", "&& "].iter().any(|end| before.ends_with(end));
                (before.is_empty() || ends).then(|| command.to_string())
            });
            lines.extend(commands.filter(|line| !line.starts_with(['=', '-'])));
        }
    }
    assert!(lines.len() > 15, "{lines:?}");
    lines.sort();
    lines.dedup();
    let dir = fresh("documents");
    fs::create_dir(dir.join("rootfs")).unwrap();
    for line in lines {
        let mut words = arguments(&line);
        // The arguments after a program belong to the program.
        let end = if words[0] == "run" { 1 } else { words.len() };
        words.insert(end, "--help".into());
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        let ran = run(command.args(&words).current_dir(&dir));
        assert_eq!(ran.code, Some(0), "{line}\n{}", ran.text());
    }
}

/// A new home has none of the directories.
#[test]
fn the_commands_of_the_guide_write_completions() {
    let home = fresh("home-of-completions");
    let guide = read("docs/cli.md");
    let lines = guide
        .lines()
        .filter(|line| line.contains("cudnn-guard completions "));
    let lines: Vec<&str> = lines.collect();
    assert!(lines.len() > 2, "{lines:?}");
    let path = Path::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .parent()
        .unwrap();
    let path = std::env::join_paths([path, "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
    for line in lines {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).env_clear().env("PATH", &path);
        run(shell.env("HOME", &home)).exits_with(0);
        let (_, file) = line.rsplit_once(" > ~/").unwrap();
        let script = fs::read_to_string(home.join(file)).unwrap();
        assert!(script.contains("explain"), "{file}: {script}");
    }
}

/// Nothing is published yet, so the examples must work from a clone.
#[test]
fn no_command_needs_a_release() {
    for document in DOCUMENTS.iter().chain(&["src/lib.rs"]) {
        let text = read(document);
        for published in [
            "cargo install cudnn-guard",
            "cudnn-guard = \"",
            "cudnn-guard = { version",
        ] {
            assert!(!text.contains(published), "{document}: {published}");
        }
    }
}

#[test]
fn the_readme_shows_the_output_of_doctor() {
    let readme = read("README.md");
    let (_, shown) = example(&readme, "$ cudnn-guard doctor")
        .split_once('\n')
        .unwrap();
    let output = read("tests/programs/terminal/newcomer/wheel-for-another-cuda.txt");
    let output = output.replace("/home/me/broken/venv", "~/venv");
    must_be_in_output(shown, &output.replace("/home/me/broken", ""));
}

#[test]
fn the_guide_shows_the_output_of_inspect() {
    let image = Image::new("guide");
    image.cudnn("usr/local/cuda/lib64", 14);
    image.cudnn("opt/lib", 14);
    let flags = ["IMAGE/opt/lib/libcudnn.so.9", "-Wl,-rpath,/opt/lib"];
    image.program(&[&linked("9.14.0")], &flags);
    fs::remove_dir_all(image.at("opt/lib")).unwrap();
    let ran = image.inspect(&[]).exits_with(1);
    let guide = read("docs/guard.md");
    let shown = example(&guide, "  ✗ error: `/app/app` needs");
    must_be_in_output(shown, &ran.stdout.replace(image.0.to_str().unwrap(), ""));
}

/// The build script and the program of the README, and the program with a CPU path of the guide.
#[test]
fn the_program_of_the_readme_prints_what_is_shown() {
    let (readme, guide) = (read("README.md"), read("docs/guard.md"));
    let kernels = "        gpu.kernels()";
    let build = example(&readme, "fn main() {\n    cudnn_guard::build");
    let build: Vec<&str> = build
        .lines()
        .filter(|line| !line.starts_with(kernels))
        .collect();
    let main = format!(
        "{}\n#[allow(dead_code)]\nfn either() {{\n{}}}\n\
         fn run_on_gpu(_: gpu::Report) {{}}\nfn run_on_cpu(_: gpu::Failure) {{}}\n",
        example(&readme, "mod gpu {"),
        example(&guide, "match gpu::check()")
    );
    let dir = project("of-the-readme", &build.join("\n"), &main);
    // With the clone beside the crate, as written there.
    let clone = dir.parent().unwrap().join("cudnn-guard");
    let _ = fs::remove_file(&clone);
    std::os::unix::fs::symlink(repository(), &clone).unwrap();
    let manifest = format!(
        "[package]\nname = \"of-the-readme\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{}\n[workspace]\n",
        example(&readme, "[dependencies]")
    );
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    let (built_with, older) = (fresh("readme-built-with"), fresh("readme-older"));
    simulated::install((9, 28, 0), &[], &built_with);
    simulated::install((9, 14, 0), &[], &older);
    let mut build = cargo(&dir, &["build"]);
    run(build
        .env("CUDA_HOME", &built_with)
        .env("CUDNN_PATH", &built_with))
    .exits_with(0);
    let start = |cudnn: &Path| {
        let mut started = program(target().join("debug/of-the-readme"));
        let path = [cudnn.join("lib64"), built_with.join("driver")];
        run(started.env("LD_LIBRARY_PATH", std::env::join_paths(path).unwrap()))
    };
    assert_eq!(start(&built_with).exits_with(0).stderr, "");
    let stderr = start(&older).exits_with(78).stderr;
    let stderr = stderr.replace(older.join("lib64").to_str().unwrap(), "/opt/old/lib");
    let stderr = stderr.replace(built_with.join("lib64").to_str().unwrap(), "/opt/cudnn/lib");
    let shown = example(&readme, "loaded cuDNN 9.14.0");
    assert!(stderr.starts_with(shown), "{stderr}");
}

/// In the order of CONTRIBUTING.md.
#[test]
fn a_module_of_the_build_uses_only_those_before_it() {
    let text = read("CONTRIBUTING.md");
    let is_order = |line: &&str| line.trim().starts_with("runtime < ");
    let order = text.lines().find(is_order).unwrap().trim();
    let groups: Vec<Vec<&str>> = order
        .split(" < ")
        .map(|one| one.split(", ").collect())
        .collect();
    let place = |name: &str| groups.iter().position(|group| group.contains(&name));
    let mut uses = 0;
    for (path, code) in shipped() {
        let own = path
            .strip_prefix("src/")
            .and_then(|path| path.split(['/', '.']).next());
        let Some(own) = own.and_then(place) else {
            continue;
        };
        for used in code.split("crate::").skip(1) {
            let used = used
                .split(|c: char| c != '_' && !c.is_alphanumeric())
                .next()
                .unwrap();
            let Some(used_place) = place(used) else {
                continue;
            };
            assert!(used_place <= own, "{path} uses {used}");
            uses += 1;
        }
    }
    assert!(uses > 500, "{uses}");
}

/// System functions that only return facts about this process, or release what another function returned.
const INERT: [&str; 6] = [
    "CloseHandle",
    "Get",
    "dladdr1",
    "dlerror",
    "pthread_attr_",
    "pthread_self",
];

/// Programs get all of them.
#[test]
fn the_security_page_names_each_system_function_of_the_guard() {
    let page = read("SECURITY.md");
    let mut functions = 0;
    for (path, code) in shipped() {
        if !path.starts_with("build-support/guard") {
            continue;
        }
        let blocks = ["unsafe extern \"C\" {\n", "unsafe extern \"system\" {\n"];
        for block in blocks.iter().flat_map(|start| code.split(start).skip(1)) {
            let (declared, _) = block.split_once("\n}").unwrap();
            for function in declared.split("fn ").skip(1) {
                let (name, _) = function.split_once('(').unwrap();
                let is_named = page.contains(&format!("`{name}`"));
                let is_inert = INERT.iter().any(|start| name.starts_with(start));
                assert!(is_named || is_inert, "{path}: {name}");
                functions += 1;
            }
        }
    }
    assert!(functions > 30, "{functions}");
    let (_, tables) = page
        .split_once("## What the guard adds to a program\n")
        .unwrap();
    let (tables, _) = tables.split_once("\n## ").unwrap();
    for row in tables.lines().filter(|line| line.starts_with("| ")) {
        let (_, files) = row.trim_end_matches(" |").rsplit_once(" | ").unwrap();
        let mut dir = Path::new("");
        for file in files.split('`').skip(1).step_by(2) {
            let path = [Path::new(file), &dir.join(file)]
                .map(|one| repository().join("build-support/guard").join(one));
            assert!(path.iter().any(|path| path.exists()), "{row}");
            dir = Path::new(file).parent().unwrap();
        }
    }
}

/// Returns the anchor that GitHub and docs.rs give a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the targets of links in a text: `[text](target)` and `[name]: target`.
fn links(text: &str) -> Vec<String> {
    let inline = text.split("](").skip(1);
    let mut links: Vec<&str> = inline.map(|rest| rest.split(')').next().unwrap()).collect();
    let lines = text.lines().filter(|line| line.starts_with('['));
    links.extend(lines.filter_map(|line| Some(line.split_once("]: ")?.1)));
    links.into_iter().map(str::to_string).collect()
}

#[test]
fn every_link_points_to_a_file_and_a_heading() {
    let more = ["SECURITY.md", "CONTRIBUTING.md", "examples/README.md"];
    let mut checked = 0;
    for document in DOCUMENTS.iter().chain(&more) {
        let text = read(document);
        // Code contains brackets too.
        let prose: Vec<&str> = text.split("\n```").step_by(2).collect();
        for link in links(&prose.join("\n")) {
            if link.starts_with("https://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let path = match file {
                "" => repository().join(document),
                file => repository().join(document).parent().unwrap().join(file),
            };
            assert!(path.exists(), "{document}: {link}");
            if !heading.is_empty() {
                let target = fs::read_to_string(&path).unwrap();
                let mut headings = target.lines().filter(|line| line.starts_with('#'));
                assert!(
                    headings.any(|line| anchor(line) == heading),
                    "{document}: {link}"
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}

/// A finding has the address `docs/findings.md#id`, here and on docs.rs.
#[test]
fn every_finding_has_an_anchor() {
    let pages = read("docs/findings.md");
    let anchors: Vec<String> = pages
        .lines()
        .filter(|line| line.starts_with("# "))
        .map(anchor)
        .collect();
    let ids: Vec<&str> = FindingId::ALL.iter().map(|id| id.as_str()).collect();
    for id in ids {
        let count = anchors.iter().filter(|one| *one == id).count();
        assert_eq!(count, 1, "{id}");
    }
}

/// The signatures in the guide are those of the generated file, whose names begin with an underscore.
#[test]
fn the_guide_lists_the_functions_of_the_guard() {
    let guide = read("docs/guard.md");
    let source = read("src/guard/text.rs");
    let shown = example(&guide, "pub fn startup()");
    for line in shown.lines().filter(|line| line.starts_with("pub fn ")) {
        let generated = line.replace("pub fn ", "pub fn _");
        assert!(source.contains(&format!("{generated} {{")), "{line}");
        let name = line
            .trim_start_matches("pub fn ")
            .split('(')
            .next()
            .unwrap();
        assert!(guide.contains(&format!("| `{name}` | ")), "{name}");
    }
    let generated = source.matches("\npub fn _").count();
    assert_eq!(shown.matches("pub fn ").count(), generated);
}

/// The build script in the guide is the one that `.ci/ports.py` builds.
#[test]
fn the_guide_shows_a_port() {
    let script = read("fixtures/ports/candle-kernels.rs");
    assert!(read("docs/migration.md").contains(&format!("```rust,no_run\n{script}```\n")));
}
