//! Sentences are only written in `messages`.

use super::sources::shipped;

/// Functions that create or change a finding.
const WRITES: [&str; 12] = [
    "Finding::error(",
    "Finding::warning(",
    "Finding::note(",
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
                .replace("BuiltFinding {", "");
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
