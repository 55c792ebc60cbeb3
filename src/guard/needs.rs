//! The sub-libraries and operations that a program declares with `needs`.

use crate::guard::InvalidGuard;
use crate::model::target_list::add;
use crate::runtime::facts::{KnownBad, ONNXRUNTIME, sub_libraries};
use crate::runtime::judge::{Impact, rules};
use crate::{Finding, Version};

/// Returns the fault if a word is neither a sub-library nor an operation of the tables.
pub fn unknown<'a>(words: &'a [String], rows: &'a [KnownBad]) -> Option<InvalidGuard<'a>> {
    let mut operations = Vec::new();
    for row in rows {
        if let Some(operation) = &row.operation {
            add(&mut operations, operation.as_str());
        }
    }
    let mut known = sub_libraries::words();
    operations.push(ONNXRUNTIME);
    known.extend_from_slice(&operations);
    let word = words.iter().find(|word| !known.contains(&word.as_str()))?;
    Some(InvalidGuard::UnknownNeed(word, operations))
}

/// Returns the known bugs of this version in operations that the program uses.
pub fn known_bad(words: &[String], rows: &[KnownBad], cudnn: Version) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (row, impact) in rules::known_bad(rows, cudnn, None, None, words) {
        if impact == Impact::Used {
            findings.push(row.finding(cudnn, impact));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn an_unknown_need_is_reported_with_the_known_ones() {
        let message = |given: &[&str]| {
            let (words, rows) = (words(given), compat::known_bad());
            unknown(&words, &rows).map(|fault| fault.finding().to_string())
        };
        assert_eq!(
            message(&["adv", "conv4d"]).unwrap(),
            "`.needs(..)` contains `conv4d`, which is neither a sub-library of cuDNN nor an operation  [config-invalid]\n  \
             = help: use one of the names below; nothing else has to be declared\n  \
             sub-libs    adv, cnn, engines_precompiled, engines_runtime_compiled, graph, heuristic, ops, adv_infer, \
             adv_train, cnn_infer, cnn_train, ops_infer, ops_train\n  \
             operations  attention, conv, conv3d-bf16, conv3d-tf32, matmul, onnxruntime"
        );
        assert_eq!(message(&["adv", "conv3d-bf16", "cnn_train"]), None);
    }

    /// The build stops only for a program that declares the affected operation.
    #[test]
    fn a_known_bug_in_a_needed_operation_stops_the_build() {
        let findings = |given: &[&str], minor| -> Vec<String> {
            let version = Version::new(9, minor, 0);
            let findings = known_bad(&words(given), &compat::known_bad(), version).into_iter();
            findings
                .map(|finding| format!("{}: {finding}", finding.severity))
                .collect()
        };
        assert_eq!(
            findings(&["adv", "conv3d-bf16"], 10),
            [
                "error: cuDNN 9.10.0 is known to compute wrong numbers in three-dimensional bf16 convolutions, which this \
              program uses  [known-bad-release]\n  = help: upgrade to cuDNN 9.15.0 or later"
            ]
        );
        assert_eq!(findings(&["adv"], 10), [""; 0]);
        assert_eq!(findings(&["conv3d-bf16"], 7), [""; 0]);
        assert!(findings(&["conv3d-bf16"], 14)[0].starts_with("warning: cuDNN 9.14.0 is known"));
        assert_eq!(findings(&["conv3d-bf16"], 15), [""; 0]);
    }
}
