//! Sentences are only written in `messages`.

use super::sources::shipped;

/// Functions that create or change a finding.
const WRITES: [&str; 12] = [
    ".error(",
    ".warning(",
    ".note(",
    "Finding::new(",
    "Finding {",
    ".severity = ",
    ".summary = ",
    ".summary +=",
    ".help = ",
    ".evidence = ",
    ".help.push(",
    ".evidence.push(",
];
/// The type itself, and the child protocol, which transfers findings from one process to the other.
const EXCEPTIONS: [&str; 2] = [
    "build-support/guard/facts/finding.rs",
    "build-support/guard/child/protocol.rs",
];

#[test]
fn findings_are_only_created_in_messages() {
    let (mut made, mut wrong) = (0, Vec::new());
    for (file, code) in shipped() {
        let is_home = file.contains("/messages/");
        for line in code.lines() {
            let code = line
                .replace("-> Finding {", "")
                .replace("BuiltFinding {", "")
                .replace(".error()", "");
            if line.contains("impl ") || !WRITES.iter().any(|write| code.contains(write)) {
                continue;
            }
            made += 1;
            if !is_home && !EXCEPTIONS.contains(&file.as_str()) {
                wrong.push(format!("{file}: {}", line.trim()));
            }
        }
    }
    assert!(made > 150, "{made}");
    assert!(wrong.is_empty(), "not in messages:\n{}", wrong.join("\n"));
}

/// The programs in commands that a message recommends.
const PROGRAMS: [&str; 16] = [
    "apt",
    "cargo",
    "cd",
    "chmod",
    "conda",
    "cudnn-guard",
    "echo",
    "export",
    "ldconfig",
    "ln",
    "ls",
    "mkdir",
    "patchelf",
    "pip",
    "rm",
    "sudo",
];
/// Values in commands that need no quotation marks: versions, and names of packages, options and devices.
const PLAIN: [&str; 19] = [
    "cpu",
    "cuda",
    "cuda_major",
    "cudnn",
    "dev",
    "headers",
    "if",
    "jobs",
    "major",
    "name",
    "node",
    "nvcc",
    "options",
    "packages",
    "release",
    "required",
    "version",
    "wheel",
    "with",
];

/// Returns the end of the string literal, or of the arguments, that `code` begins with.
fn end(code: &str, is_literal: bool) -> usize {
    let (mut depth, mut in_literal, mut is_escaped) = (0, is_literal, false);
    for (at, character) in code.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' if is_literal => return at,
            '"' => in_literal = !in_literal,
            _ if in_literal => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => return at,
            _ => {}
        }
    }
    code.len()
}

/// Returns the values in the commands of a literal: the names in braces, or the arguments behind the literal.
fn values(literal: &str, behind: &str) -> Vec<String> {
    let mut rest = behind;
    let mut arguments = Vec::new();
    while let Some(next) = rest.trim_start().strip_prefix(',') {
        let end = end(next, false);
        arguments.push(next[..end].trim().to_string());
        rest = &next[end..];
    }
    let (mut values, mut arguments) = (Vec::new(), arguments.into_iter());
    for (index, part) in literal.split('`').enumerate() {
        let is_command = index % 2 == 1
            && part
                .split_once(' ')
                .is_some_and(|(program, _)| PROGRAMS.contains(&program));
        for braces in part.replace("{{", "").split('{').skip(1) {
            let name = braces.split(['}', ':']).next().unwrap().to_string();
            let value = match name.is_empty() {
                true => arguments.next().unwrap_or_default(),
                false => name,
            };
            values.extend(is_command.then_some(value));
        }
    }
    values
}

#[test]
fn paths_in_commands_are_quoted() {
    let (mut quoted, mut wrong) = (0, Vec::new());
    let is_quoted = |code: &str| code.contains("quoted(") || code.contains("word(");
    for (file, code) in shipped() {
        if !file.contains("/messages/") {
            continue;
        }
        let code = code.replace("'\"'", "' '");
        let mut at = 0;
        while let Some(start) = code[at..].find('"').map(|start| at + start + 1) {
            at = start + end(&code[start..], true) + 1;
            let function = code[..start].rfind("fn ").unwrap_or(0);
            for value in values(&code[start..at - 1], &code[at..]) {
                let statements = code[function..start].split(';');
                let names = |text: &str| {
                    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                    words.any(|word| word == value)
                };
                let mut lets =
                    statements.filter_map(|it| it.rsplit_once("let ")?.1.split_once('='));
                if is_quoted(&value) || lets.any(|(left, right)| names(left) && is_quoted(right)) {
                    quoted += 1;
                } else if !PLAIN.contains(
                    &value
                        .split(|c: char| !c.is_alphanumeric() && c != '_')
                        .next()
                        .unwrap(),
                ) {
                    wrong.push(format!("{file}: {value}"));
                }
            }
        }
    }
    assert!(quoted > 10, "{quoted}");
    assert!(wrong.is_empty(), "not quoted:\n{}", wrong.join("\n"));
}
