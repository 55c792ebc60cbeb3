//! A convolution through cuDNN's graph interface: engines are tried in turn, as programs do it.

use crate::runtime::convolution::case::Case;
use crate::runtime::convolution::case_result::SuiteEvent;
use crate::runtime::convolution::failure::CaseFailure;
use crate::runtime::convolution::reference::{Expected, Operands};
use crate::runtime::convolution::run_case::{CaseRunner, CaseSuccess, MOST_WORKSPACE};
use crate::runtime::cudnn::graph::{Engine, Graph, HeuristicMode, Plan};
use crate::runtime::cudnn::status;
use crate::runtime::facts::version::Version;

impl CaseRunner<'_> {
    /// Computes by the first engine that takes it, and compares.
    ///
    /// An engine that refuses while it is made ready is passed over, whatever its reason: programs go on to the next
    /// one as well. One that fails while it computes is a failure of theirs.
    pub fn by_engines(
        &self,
        case: &Case,
        operands: &Operands,
        expected: &[Expected],
        emit: &mut dyn FnMut(SuiteEvent),
    ) -> Result<CaseSuccess, CaseFailure> {
        let refused = |status| self.refused(status, None);
        let what = format!("{} ({})", case.words(), case.layout.name());
        emit(SuiteEvent::Next(format!(
            "asking for engines for the {}",
            what
        )));
        let graph = Graph::open(self.cudnn.main_library).map_err(refused)?;
        let with = graph.describe(self.handle, case).map_err(refused)?;
        let mut passed_over = PassedOver::new(self.version);
        for mode in [HeuristicMode::Fast, HeuristicMode::Fallback] {
            let engines = match graph.engines(&with, mode) {
                Ok(engines) => engines,
                Err(status) => {
                    passed_over.add(self.refused(status, None))?;
                    continue;
                }
            };
            for engine in engines {
                if case.data_type.is_strict() && engine.rounds {
                    passed_over.add(rounding_failure(&engine))?;
                    continue;
                }
                emit(SuiteEvent::Next(format!(
                    "making {} ready for the {}",
                    engine.algorithm, what
                )));
                let plan = match self.plan(&graph, &engine) {
                    Ok(plan) => plan,
                    Err(failure) => {
                        passed_over.add(failure)?;
                        continue;
                    }
                };
                emit(SuiteEvent::Next(format!(
                    "running the {} ({}, {})",
                    case.words(),
                    case.layout.name(),
                    engine.algorithm
                )));
                let (algorithm, bytes) = (engine.algorithm, plan.workspace);
                let done = self.compute(case, algorithm, bytes, operands, expected, &|data| {
                    // SAFETY: the buffers are as large as the tensors, and the workspace as large as the plan asks.
                    unsafe { graph.convolve(self.handle, &plan, data) }
                });
                match done {
                    Err(CaseFailure::Rounded { .. }) => {
                        passed_over.add(rounding_failure(&engine))?
                    }
                    Err(failure) if failure.another_algorithm_may_do(self.version) => {
                        passed_over.add(failure)?;
                    }
                    done => return done,
                }
            }
        }
        Err(passed_over.into_failure())
    }

    fn plan(&self, graph: &Graph, engine: &Engine) -> Result<Plan, CaseFailure> {
        let algorithm = engine.algorithm;
        let plan = graph.plan(self.handle, engine);
        let plan = plan.map_err(|status| self.refused(status, Some(algorithm)))?;
        let bytes = plan.workspace;
        if bytes > MOST_WORKSPACE {
            return Err(CaseFailure::Workspace { bytes, algorithm });
        }
        Ok(plan)
    }
}

/// An engine says so beforehand, or its numbers do.
fn rounding_failure(engine: &Engine) -> CaseFailure {
    let by = engine.algorithm;
    CaseFailure::Unserved(format!("{} rounds single precision", by))
}

/// What was said of the engines that were passed over; what shows a fault counts more than what shows none, and what
/// was said first more than what was said later.
struct PassedOver {
    version: Version,
    most: Option<CaseFailure>,
}

impl PassedOver {
    fn new(version: Version) -> Self {
        let most = None;
        Self { version, most }
    }

    /// Goes on, unless the GPU itself has failed.
    fn add(&mut self, failure: CaseFailure) -> Result<(), CaseFailure> {
        if failure.ends_the_context() {
            return Err(failure);
        }
        let weight = |failure: &CaseFailure| match failure {
            CaseFailure::Cudnn { status, .. } if status::is_broken(*status) => 3,
            CaseFailure::Cudnn { .. } if failure.left_out(self.version).is_none() => 2,
            CaseFailure::Unserved(_) => 0,
            _ => 1,
        };
        let most = self.most.as_ref().map(weight);
        if most.is_none_or(|most| weight(&failure) > most) {
            self.most = Some(failure);
        }
        Ok(())
    }

    fn into_failure(self) -> CaseFailure {
        let none = || CaseFailure::Unserved("cuDNN offers no engine for it".to_string());
        self.most.unwrap_or_else(none)
    }
}
