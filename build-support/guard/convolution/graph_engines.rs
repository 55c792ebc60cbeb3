//! A convolution through cuDNN's graph API: its engines are tested in turn, as in programs.

use crate::runtime::convolution::{
    Case, CaseFailure, CaseRunner, CaseSuccess, Engine, Graph, HeuristicMode, Reference,
    SuiteEvent, Unsupported, WorstRefusal,
};

impl CaseRunner<'_> {
    /// Computes with the first engine that does not refuse, and compares the result.
    ///
    /// An engine that refuses is skipped, whatever the reason, and whether the plan or the computation is refused:
    /// programs also continue with the next engine. Wrong numbers are a failure, since a program may get that engine.
    pub fn run_engines(
        &self,
        case: &Case,
        reference: &Reference,
        emit: &mut dyn FnMut(SuiteEvent),
    ) -> Result<CaseSuccess, CaseFailure> {
        let refused = |status| self.refused(status, None);
        let what = case.title();
        emit(SuiteEvent::cudnn(format!(
            "requesting engines for the {what}"
        )));
        let graph = Graph::resolve(self.cudnn.0).map_err(refused)?;
        let with = graph.describe(self.handle, case).map_err(refused)?;
        let mut passed_over = WorstRefusal::new(self.version);
        for mode in [HeuristicMode::Fast, HeuristicMode::Fallback] {
            let engines = match graph.engines(&with, mode) {
                Ok(engines) => engines,
                Err(status) => {
                    passed_over.add(self.refused(status, None))?;
                    continue;
                }
            };
            // In a quick test, engines that need no compilation come first.
            let is_late = |engine: &Engine| engine.compiles && self.is_quick;
            let (late, ready): (Vec<_>, Vec<_>) = engines.into_iter().partition(is_late);
            for engine in ready.into_iter().chain(late) {
                if case.data_type.is_strict() && engine.rounds {
                    passed_over.add(rounding_failure(&engine))?;
                    continue;
                }
                let algorithm = engine.algorithm;
                emit(SuiteEvent::cudnn(format!(
                    "preparing {algorithm} for the {what}"
                )));
                let plan = match graph.plan(self.handle, &engine) {
                    Ok(plan) => plan,
                    Err(status) => {
                        passed_over.add(self.refused(status, Some(algorithm)))?;
                        continue;
                    }
                };
                emit(case.running(algorithm));
                let done = self.compute(case, algorithm, plan.workspace, reference, &|data| {
                    // SAFETY: the buffers are as large as the tensors, and the workspace as large as the plan's.
                    unsafe { graph.convolve(self.handle, &plan, data) }
                });
                passed_over.add(match done {
                    Err(CaseFailure::Rounded { .. }) => rounding_failure(&engine),
                    Err(failure) if failure.is_refusal() => failure,
                    done => return done,
                })?;
            }
        }
        Err(passed_over.into_failure())
    }
}

/// Creates the failure of an engine that rounds, according to its notes or its numbers.
fn rounding_failure(engine: &Engine) -> CaseFailure {
    CaseFailure::Unsupported(Unsupported::Rounds(engine.algorithm))
}
