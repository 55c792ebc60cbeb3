//! What `cudnn-guard explain` prints, and that every finding has its text.

use cudnn_guard::FindingId;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Every text of `docs/findings.md`, with its heading.
fn texts() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.md");
    let all = fs::read_to_string(file).expect("the texts");
    let texts = all.strip_prefix("# ").expect("a heading").split("\n\n# ");
    texts.map(|text| format!("# {text}")).collect()
}

fn text_of(id: &str) -> String {
    let heading = format!("# {id}\n");
    let text = texts().into_iter().find(|text| text.starts_with(&heading));
    text.unwrap_or_else(|| panic!("{id} has no text"))
}

fn explain(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .arg("explain")
        .args(arguments)
        .env_clear()
        .output()
        .expect("cudnn-guard runs")
}

#[track_caller]
fn must_print(output: &Output, code: i32, stdout: &str, stderr: &str) {
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout);
    assert_eq!(String::from_utf8_lossy(&output.stderr), stderr);
    assert_eq!(output.status.code(), Some(code));
}

#[test]
fn every_id_has_a_text_in_the_order_of_the_ids() {
    let texts = texts();
    let headings = texts.iter().flat_map(|text| text.lines().next());
    let wanted: Vec<String> = FindingId::ALL.iter().map(|id| format!("# {id}")).collect();
    assert_eq!(headings.collect::<Vec<_>>(), wanted);
}

#[test]
fn every_text_has_its_sections_and_a_command_to_see_it_with() {
    for id in FindingId::ALL {
        let text = text_of(id.as_str());
        let lines: Vec<&str> = text.lines().collect();
        let headings = lines
            .iter()
            .filter(|line| line.starts_with("# ") || line.starts_with("##"));
        let headings: Vec<&str> = headings.copied().collect();
        assert_eq!(
            headings,
            [
                &format!("# {id}"),
                "## What it means",
                "## See it",
                "## Mend it"
            ],
            "{id}"
        );
        assert!(
            (10..=45).contains(&lines.len()),
            "{id}: {} lines",
            lines.len()
        );
        let summary = lines[2];
        assert!(
            summary.ends_with('.') && lines[3].is_empty(),
            "{id}: {summary}"
        );
        assert_eq!(
            lines.iter().filter(|line| **line == "```sh").count(),
            1,
            "{id}"
        );
        let mend = lines
            .iter()
            .position(|line| *line == "## Mend it")
            .expect("there");
        assert!(
            lines[mend + 2..].iter().all(|line| line.starts_with("- ")),
            "{id}"
        );
        // Backticks in pairs, or half a line is shown as a command.
        for line in &lines[mend..] {
            assert_eq!(line.matches('`').count() % 2, 0, "{id}: {line}");
        }
    }
}

/// Whoever has to install something is told how, wherever that is.
#[test]
fn what_is_about_installing_names_every_place() {
    let places = "Debian Ubuntu Fedora Arch conda pip Windows Jetson containers";
    for id in [
        "cuda-not-found",
        "cudnn-not-found",
        "cudnn-headers-missing",
        "nvcc-not-found",
        "partial-toolkit",
        "cuda-requirement-unmet",
        "cudnn-requirement-unmet",
        "parts-missing",
        "library-damaged",
        "cudnn-not-loadable",
        "cudnn-version-mismatch",
    ] {
        let text = text_of(id);
        let mend = text.split("## Mend it").nth(1).expect("a section");
        for place in places.split(' ') {
            assert!(
                mend.lines()
                    .any(|line| line.starts_with("- ") && line.contains(place)),
                "{id} says nothing of {place}"
            );
        }
    }
}

/// A text that points to another one points to one that is there.
#[test]
fn what_a_text_points_to_is_there() {
    for id in FindingId::ALL {
        for pointed in text_of(id.as_str()).split("see `").skip(1) {
            let mut quoted = pointed.split('`');
            let first = quoted.next().unwrap_or_default();
            let second = quoted.next().filter(|between| *between == " and ");
            let second = second.and_then(|_| quoted.next());
            for pointed in [Some(first), second].into_iter().flatten() {
                assert!(
                    FindingId::parse(pointed).is_some(),
                    "{id} points to {pointed}"
                );
            }
        }
    }
}

#[test]
fn without_an_id_all_are_listed() {
    let listed = explain(&[]);
    assert_eq!(listed.status.code(), Some(0));
    let listed = String::from_utf8(listed.stdout).expect("text");
    let wanted: Vec<String> = FindingId::ALL
        .iter()
        .map(|id| {
            format!(
                "{id:25}  {}",
                text_of(id.as_str()).lines().nth(2).expect("a summary")
            )
        })
        .collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn one_is_told_in_full() {
    let told = "\
device-busy
The GPU is in use in such a way that cuDNN could not be tried on it.

What it means
  The GPU is in exclusive mode and held by another process, or another process
  had it at that moment. That says nothing of this cuDNN, so it is unknown, and
  the program goes on. A GPU in exclusive mode is not tried unless
  CUDNN_GUARD_DEVICES asks for it: while the guard has it, the next process does
  not get it. A GPU that is shared through MPS is not tried either, since a
  fault would end the other processes, nor one in confidential computing, which
  may not start again. Of ranks that share a GPU, one tries it. A program that
  uses CUDA already and captures work into a graph is left alone too.

See it
    nvidia-smi
    nvidia-smi --query-gpu=index,compute_mode --format=csv

Mend it
  - wait for the other process, or end it if it is yours: `nvidia-smi` shows its
    number
  - share the GPU again: `sudo nvidia-smi -c DEFAULT`
  - choose another GPU: `CUDA_VISIBLE_DEVICES=1`
  - MPS: `echo get_server_list | nvidia-cuda-mps-control` shows whether it runs
    as you expect
  - containers: processes of other containers and of the host hold the GPU too,
    and only the host shows them
";
    must_print(&explain(&["device-busy"]), 0, told, "");
    // As it stands behind a headline.
    must_print(&explain(&["[device-busy]"]), 0, told, "");
}

#[test]
fn an_unknown_one_is_answered_with_the_nearest() {
    must_print(
        &explain(&["drivr-\u{1b}[2Jmising"]),
        2,
        "",
        "there is no finding `drivr-[2jmising`\n  \
         = help: run `cudnn-guard explain` to see all of them\n",
    );
    must_print(
        &explain(&["drivr-mising"]),
        2,
        "",
        "there is no finding `drivr-mising`\n  \
         = help: run `cudnn-guard explain driver-missing`\n  \
         = help: run `cudnn-guard explain` to see all of them\n",
    );
}
