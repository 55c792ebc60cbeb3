//! What stops a program happens twice: what goes wrong in a child is tried again in a second, fresh one.

use crate::runtime::check::exit_verdict;
use crate::runtime::child::exit_status::{ExitStatus, signal_name};
use crate::runtime::child::task::Task;
use crate::runtime::child::work::{self, ChildOutcome};
use crate::runtime::convolution::case_result::CaseResult;
use crate::runtime::facts::finding::{Severity, Verdict};
use crate::runtime::facts::finding_id::FindingId;
use std::time::Duration;

/// Tries again what failed. Of what does not fail with the same id once more nothing is known, and both outcomes are
/// told. A child in which nothing failed has no second one.
pub fn confirm(outcome: &mut ChildOutcome, task: &Task, deadline: Duration, may_be_here: bool) {
    let failed = failed_ids(outcome);
    if failed.is_empty() {
        return;
    }
    let (again, words) = match work::run(task, deadline, may_be_here) {
        Ok(second) => (failed_ids(&second), words(&second)),
        Err(_) => (Vec::new(), "no second child could be made".to_string()),
    };
    for row in &mut outcome.answer.outcomes {
        if row.verdict != Verdict::Fail {
            continue;
        }
        if let Some(finding) = row.finding.as_mut().filter(|it| !again.contains(&it.id)) {
            row.verdict = Verdict::Unknown;
            exit_verdict::did_not_recur(finding, &words);
        }
    }
    if !again.contains(&FindingId::CudnnAborted) {
        outcome.second_try = Some(words);
    }
}

/// The ids of what stops a program, as far as a run decides it.
fn failed_ids(outcome: &ChildOutcome) -> Vec<FindingId> {
    let failed = |row: &&CaseResult| row.verdict == Verdict::Fail;
    let rows = outcome.answer.outcomes.iter().filter(failed);
    let mut ids: Vec<_> = rows
        .filter_map(|row| Some(row.finding.as_ref()?.id))
        .collect();
    if exit_verdict::is_cudnns(outcome) {
        ids.push(FindingId::CudnnAborted);
    }
    ids
}

/// How it went, in words.
fn words(outcome: &ChildOutcome) -> String {
    let stage = &outcome.answer.stage;
    match outcome.end {
        ExitStatus::Signal(number) => match signal_name(number) {
            Some(name) => format!("it ended with {name} while {stage}"),
            None => format!("it was killed by signal {number} while {stage}"),
        },
        ExitStatus::Late => format!("it was still {stage} when its time was over"),
        ExitStatus::Itself if !outcome.answer.whole => {
            format!("it ended without a word while {stage}")
        }
        ExitStatus::Itself => {
            let rows = &outcome.answer.outcomes;
            let mut found = rows.iter().filter_map(|row| row.finding.as_ref());
            match found.find(|finding| finding.severity != Severity::Note) {
                Some(finding) => finding.summary.clone(),
                None => "nothing went wrong".to_string(),
            }
        }
    }
}
