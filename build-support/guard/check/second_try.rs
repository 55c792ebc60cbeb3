//! The second child after a failure: a failure stops a program only if it happens twice.

use crate::runtime::check::exit_verdict;
use crate::runtime::child::task::Task;
use crate::runtime::child::work::{self, ChildOutcome, SecondTry};
use crate::runtime::convolution::case_result::CaseResult;
use crate::runtime::facts::finding::Verdict;
use crate::runtime::facts::finding_id::FindingId;
use std::time::Duration;

/// Repeats a failed task in a second child. Failures whose id does not recur become unknown, and the report shows both
/// outcomes.
pub fn confirm(
    outcome: &mut ChildOutcome,
    task: &Task,
    deadline: Duration,
    allow_in_process: bool,
) {
    let failed = failed_ids(outcome);
    if failed.is_empty() {
        return;
    }
    let second = work::run(task, deadline, allow_in_process).ok();
    let again = second.as_ref().map_or_else(Vec::new, failed_ids);
    let second = SecondTry(second.map(Box::new));
    for row in &mut outcome.answer.outcomes {
        if row.verdict != Verdict::Fail {
            continue;
        }
        if let Some(finding) = row.finding.as_mut().filter(|it| !again.contains(&it.id)) {
            row.verdict = Verdict::Unknown;
            second.lower(finding);
        }
    }
    if !again.contains(&FindingId::CudnnAborted) {
        outcome.second_try = Some(second);
    }
}

fn failed_ids(outcome: &ChildOutcome) -> Vec<FindingId> {
    let failed = |row: &&CaseResult| row.verdict == Verdict::Fail;
    let rows = outcome.answer.outcomes.iter().filter(failed);
    let mut ids: Vec<_> = rows
        .filter_map(|row| Some(row.finding.as_ref()?.id))
        .collect();
    if exit_verdict::is_caused_by_cudnn(outcome) {
        ids.push(FindingId::CudnnAborted);
    }
    ids
}
