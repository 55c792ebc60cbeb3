//! What stops a program happens twice: what goes wrong in a child is tried again in a second, fresh one.

use crate::runtime::check::exit_verdict;
use crate::runtime::child::task::Task;
use crate::runtime::child::work::{self, ChildOutcome, SecondTry};
use crate::runtime::convolution::case_result::CaseResult;
use crate::runtime::facts::finding::Verdict;
use crate::runtime::facts::finding_id::FindingId;
use std::time::Duration;

/// Tries again what failed. Of what does not fail with the same id once more nothing is known, and both outcomes are
/// told. A child in which nothing failed has no second one.
pub fn confirm(outcome: &mut ChildOutcome, task: &Task, deadline: Duration, may_be_here: bool) {
    let failed = failed_ids(outcome);
    if failed.is_empty() {
        return;
    }
    let second = work::run(task, deadline, may_be_here).ok();
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
