//! Small convolutions, computed by cuDNN on the GPU and compared with the CPU's results.
//!
//! Only these tests detect a missing or foreign engine sub-library, which cuDNN's version checks do not cover. They run
//! in the child, since an incompatible cuDNN may crash or hang.
//!
//! Both of cuDNN's APIs are tested: the legacy API, with a function for each operation, and the graph API.

use crate::runtime::convolution::{
    Api, Case, CaseFailure, CaseResult, CaseRunner, Extent, FailedCase, Reference, Scope, Stage,
    SuiteEvent, case, run_case,
};
use crate::runtime::cudnn::Cudnn;
use crate::runtime::driver::device_memory::CurrentContext;
use crate::runtime::driver::{BusyDevice, devices, query};
use crate::runtime::facts::{Finding, Verdict, Version};
use crate::runtime::system::platform::Library;
use std::rc::Rc;
use std::time::Instant;

/// The number of failures after which more tests would show nothing new.
const MOST_FAILED: usize = 3;

/// CUDA takes a GPU's memory in pieces of 2 MiB, and every handle and kernel needs some. It is not documented how much
/// more a handle needs: with more free memory than this, cuDNN itself is called.
const LEAST_MEMORY: usize = 2 << 20;

/// Runs the convolutions of `scope` on a visible GPU, and emits the result of each.
pub fn run(
    main_library: Library,
    version: Version,
    number: usize,
    scope: Scope,
    emit: &mut dyn FnMut(SuiteEvent),
) {
    let (mut kinds, graph) = match scope.extent {
        Extent::Quick => (case::quick(), case::quick_graph()),
        Extent::Thorough => (case::thorough(), case::thorough_graph()),
    };
    if scope.graph_only {
        kinds.clear();
    }
    // In 8 the graph API differed between versions, and programs used it only without an alternative.
    if version.major >= 9 {
        kinds.extend(graph);
    }
    run_kinds(main_library, version, number, scope, &kinds, emit);
}

/// Runs `kinds`.
pub fn run_kinds(
    main_library: Library,
    version: Version,
    number: usize,
    scope: Scope,
    kinds: &[Case],
    emit: &mut dyn FnMut(SuiteEvent),
) {
    let mut clock = Instant::now();
    let mut first = result("", &case::FIRST);
    // Dropped after the result is emitted, since the driver may crash then.
    let mut context = None;
    let mut run = || {
        let driver = query::driver().map_err(|problem| problem.finding())?;
        let Some(device) = driver.devices.into_iter().nth(number) else {
            return Ok(());
        };
        let name = devices::label(&device.name, number);
        first.device.clone_from(&name);
        // Queried before a context is created, since such a GPU may allow only one.
        if let (false, Some(mode)) = (scope.is_explicit, query::compute_mode(number)) {
            let device = name.clone();
            let busy = BusyDevice::Restricted {
                mode,
                device,
                number,
            };
            return Err(busy.finding());
        }
        let failed = |failure: &CaseFailure| {
            let failed = FailedCase {
                failure,
                version,
                device: &name,
                case: &case::FIRST,
                counts: true,
                in_doubt: false,
            };
            failed.finding()
        };
        emit(SuiteEvent::Next(Stage::MakingContext));
        let current = CurrentContext::enter(number as i32);
        let current = current.map_err(|status| failed(&CaseFailure::Gpu(status)))?;
        let (current, entered) = (&*context.insert(current), milliseconds(clock));
        if current.is_capturing() {
            return Err(BusyDevice::Capturing(name).finding());
        }
        // Queried before cuDNN is called, which may end the process if memory is short.
        let memory = current.memory();
        let free = memory.map(|memory| memory.free);
        if let Some(free) = free.filter(|free| *free < LEAST_MEMORY) {
            return Err(failed(&CaseFailure::Full { free }));
        }
        let cudnn = Cudnn(main_library);
        clock = Instant::now();
        emit(SuiteEvent::cudnn("creating a handle"));
        let handle = cudnn.handle().map_err(|status| {
            let failure = run_case::refused_by(&cudnn, current, status, None, memory);
            failed(&failure)
        })?;
        let start = (entered, milliseconds(clock));
        let mut suite = Suite {
            runner: CaseRunner {
                cudnn,
                handle: &handle,
                current,
                version,
                capability: device.capability,
                is_quick: scope.extent == Extent::Quick,
                memory_before: None,
            },
            device: &name,
            in_program: scope.in_program,
            is_new: (scope.newest_gpu).is_some_and(|newest| device.capability > newest),
            first_failed: false,
            refused: if scope.graph_only { u8::MAX } else { 0 },
        };
        suite.run_cases(kinds, start, emit);
        Ok(())
    };
    if let Err(finding) = run() {
        conclude(&mut first, finding);
        first.milliseconds = milliseconds(clock);
        emit(SuiteEvent::Done(Box::new(first)));
    }
}

/// Returns the result of a case before it is computed.
fn result(device: &str, case: &Case) -> CaseResult {
    CaseResult {
        device: device.to_string(),
        api: case.api,
        operation: case.operation,
        data_type: case.data_type,
        layout: case.layout,
        algorithm: String::new(),
        verdict: Verdict::Pass,
        largest_error: None,
        milliseconds: 0.0,
        start: None,
        tf32: None,
        left_out: None,
        declined: false,
        finding: None,
    }
}

fn conclude(row: &mut CaseResult, finding: Finding) {
    row.verdict = finding.severity.verdict();
    row.finding = Some(finding);
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

struct Suite<'a> {
    runner: CaseRunner<'a>,
    device: &'a str,
    /// `true` if the program works in the same context.
    in_program: bool,
    /// `true` if this GPU or this cuDNN is newer than the tables.
    is_new: bool,
    /// `true` if the convolution that every cuDNN computes has failed: then other refusals count too.
    first_failed: bool,
    /// The formats that the legacy API refused, one bit each. The graph API's refusal of these counts too. All bits are
    /// set if there is only the graph API.
    refused: u8,
}

impl Suite<'_> {
    fn run_cases(&mut self, kinds: &[Case], start: (f64, f64), emit: &mut dyn FnMut(SuiteEvent)) {
        let (mut start, mut failed, mut known) = (Some(start), 0, Vec::new());
        let mut declined = 0;
        for case in kinds {
            if case.api == Api::Legacy && declined == MOST_FAILED {
                continue;
            }
            match self.run_case(*case, start.take(), &mut known, emit) {
                Control::Continue => {}
                Control::Declined => declined += 1,
                Control::Failed => {
                    failed += 1;
                    if failed == MOST_FAILED {
                        return;
                    }
                }
                Control::Stop => return,
            }
        }
    }

    fn run_case(
        &mut self,
        case: Case,
        start: Option<(f64, f64)>,
        known: &mut Vec<Rc<Reference>>,
        emit: &mut dyn FnMut(SuiteEvent),
    ) -> Control {
        let version = self.runner.version;
        let mut row = result(self.device, &case);
        row.start = start;
        let reference = Reference::get(known, &case);
        let clock = Instant::now();
        self.runner.memory_before = self.runner.current.memory();
        let result = match (self.runner.unsupported_reason(&case), case.api) {
            (Some(reason), _) => Err(CaseFailure::Unsupported(reason)),
            (None, Api::Graph) => self.runner.run_engines(&case, &reference, emit),
            (None, Api::Legacy) => self.runner.attempt(&case, &reference, emit),
        };
        let control = match result {
            Ok(right) => {
                row.algorithm = right.algorithm.to_string();
                row.largest_error = Some(right.largest_error);
                row.tf32 = right.tf32;
                Control::Continue
            }
            Err(failure) => {
                let algorithm = failure.algorithm().map(|by| by.to_string());
                row.algorithm = algorithm.unwrap_or_default();
                let is_basic = case.is_basic();
                let counts = self.counts(&case, is_basic, &failure);
                match failure.left_out(version, counts || case.api == Api::Graph) {
                    Some(reason) if !is_basic => {
                        row.verdict = Verdict::Unknown;
                        row.left_out = Some(reason);
                        Control::Continue
                    }
                    _ => {
                        // The program uses the same context, so its own work may have failed instead.
                        let in_doubt = self.in_program && failure.ends_the_context();
                        row.largest_error = failure.largest_error();
                        row.tf32 = failure.is_rounded().then_some(true);
                        let failed = FailedCase {
                            failure: &failure,
                            version,
                            device: self.device,
                            case: &case,
                            counts,
                            in_doubt,
                        };
                        conclude(&mut row, failed.finding());
                        let failed = row.verdict == Verdict::Fail;
                        row.declined =
                            failed && case.api == Api::Legacy && failure.is_declined(version);
                        self.first_failed |= failed && is_basic;
                        match failure {
                            CaseFailure::Rounded { .. } => Control::Continue,
                            CaseFailure::Breach { .. } if !failed => Control::Continue,
                            _ if failure.ends_the_context() => Control::Stop,
                            _ if failed && row.declined => Control::Declined,
                            _ if failed => Control::Failed,
                            CaseFailure::Cudnn(error) if !error.lacks_memory(version.major) => {
                                Control::Continue
                            }
                            _ => Control::Stop,
                        }
                    }
                }
            }
        };
        row.milliseconds = milliseconds(clock);
        emit(SuiteEvent::Done(Box::new(row)));
        control
    }

    /// Returns `true` if a refusal counts as a fault: a refusal of the convolution that every cuDNN computes, and every
    /// later refusal. New GPUs or versions may not offer it yet.
    fn counts(&mut self, case: &Case, is_basic: bool, failure: &CaseFailure) -> bool {
        let version = self.runner.version;
        let bit = 1 << case.data_type as u8;
        if case.api == Api::Graph {
            return self.refused & bit != 0;
        }
        if failure.left_out(version, true).is_none() && !failure.is_rounded() {
            self.refused |= bit;
        }
        (is_basic || self.first_failed) && !(self.is_new && failure.is_not_supported(version))
    }
}

/// The consequence of a convolution for the next ones.
enum Control {
    /// It passed or was left out.
    Continue,
    /// The legacy API declined it, and the graph API may compute it.
    Declined,
    /// It failed, and others may show more.
    Failed,
    /// The others would fail too.
    Stop,
}
