//! The second child after a failure: a failure stops a program only if it happens twice.

use crate::runtime::check::exit_verdict;
use crate::runtime::child::{ChildOutcome, SecondTry, Task, work};
use crate::runtime::facts::{FindingId, Verdict};
use std::time::Duration;

/// Repeats a failed task in a second child. Failures whose id does not recur become unknown, and the report shows both
/// outcomes.
pub fn confirm(
    outcome: &mut ChildOutcome,
    task: &Task,
    deadline: Duration,
    allow_in_process: bool,
) {
    let failed = faults(outcome);
    if failed.is_empty() {
        return;
    }
    let second = work::run(task, deadline, allow_in_process).ok();
    let again = second.as_ref().map_or_else(Vec::new, faults);
    let second = SecondTry(second.map(Box::new));
    for row in &mut outcome.answer.outcomes {
        if row.verdict != Verdict::Fail {
            continue;
        }
        if let Some(first) = row.finding.take_if(|it| !again.contains(&it.id)) {
            row.verdict = Verdict::Unknown;
            row.finding = Some(second.of_first(first));
        }
    }
    let recurs = |id| failed.contains(&id) && again.contains(&id);
    if !recurs(FindingId::CudnnAborted) && !recurs(FindingId::CudnnNotLoadable) {
        outcome.second_try = Some(second);
    }
}

fn faults(outcome: &ChildOutcome) -> Vec<FindingId> {
    let mut ids = outcome.answer.failures();
    if exit_verdict::is_caused_by_cudnn(outcome) {
        ids.push(FindingId::CudnnAborted);
    }
    ids
}
