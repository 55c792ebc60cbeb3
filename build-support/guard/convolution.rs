//! Small convolutions, computed by cuDNN on the GPU and held against the CPU.
//!
//! Only this shows a missing or foreign engine part: no version check of cuDNN's looks at those. It runs in the
//! child, since a cuDNN that does not fit may end the process or never return.
//!
//! What is tried here is cuDNN's older interface, one function for each operation; a row of the report says so.

use super::algorithm::Algorithm;
use super::arch::ComputeCapability;
use super::cudnn::{Cudnn, Data, Descriptors, Owned, Refused};
use super::device::{self, Current, POISON};
use super::driver;
use super::finding::Verdict;
use super::kind::{self, Kind, Operation};
use super::outcome::{Extent, Outcome, Start, Told};
use super::platform::Library;
use super::reference::{self, Expected, Operands};
use super::shape::count;
use super::tolerance::{self, Tolerance};
use super::trouble::Trouble;
use super::version::Version;
use std::time::Instant;

const MIB: usize = 1 << 20;
/// The guard itself takes no more than 64 MiB; the rest of its buffers are small.
const MOST_WORKSPACE: usize = 48 * MIB;
/// When so many have failed, the rest would only say the same.
const MOST_FAILED: usize = 3;

/// Convolves on the first visible GPU with the cuDNN of this shim and release, and tells how each one went.
pub fn run(shim: Library, version: Version, extent: Extent, tell: &mut dyn FnMut(Told)) {
    match extent {
        Extent::Quick => run_kinds(shim, version, &kind::quick(), &[], tell),
        Extent::Thorough => run_kinds(
            shim,
            version,
            &kind::thorough(),
            &kind::every_algorithm(),
            tell,
        ),
    }
}

/// The same with these kinds, and with those by every algorithm that cuDNN offers for them.
pub fn run_kinds(
    shim: Library,
    version: Version,
    kinds: &[Kind],
    by_every_algorithm: &[Kind],
    tell: &mut dyn FnMut(Told),
) {
    let clock = Instant::now();
    let mut first = Row::new(String::new(), kind::FIRST);
    let driver = match driver::ask() {
        Ok(driver) => driver,
        Err(problem) => {
            first.outcome.verdict = Verdict::Unknown;
            first.outcome.finding = Some(problem.finding());
            return first.tell(tell, clock);
        }
    };
    let Some(device) = driver.devices.into_iter().next() else {
        return;
    };
    first.outcome.device.clone_from(&device.name);
    let current = match Current::of(0) {
        Ok(current) => current,
        Err(refused) => {
            first.fail(&Trouble::Gpu(refused), version);
            return first.tell(tell, clock);
        }
    };
    let context = milliseconds(clock);
    let cudnn = Cudnn::of(shim);
    let clock = Instant::now();
    tell(Told::Next("creating a handle".to_string()));
    let handle = match cudnn.handle() {
        Ok(handle) => handle,
        Err(refused) => {
            first.fail(&refused_by(&cudnn, &current, refused, None), version);
            return first.tell(tell, clock);
        }
    };
    let start = Start {
        context,
        handle: milliseconds(clock),
    };
    let trial = Trial {
        cudnn,
        handle: &handle,
        current: &current,
        version,
        device: &device.name,
        capability: device.capability,
    };
    trial.all(kinds, by_every_algorithm, start, tell);
}

/// A row of the report while it is made.
struct Row {
    kind: Kind,
    outcome: Outcome,
}

impl Row {
    fn new(device: String, kind: Kind) -> Self {
        let outcome = Outcome {
            device,
            operation: kind.operation.name(),
            data_type: kind.data_type.name(),
            layout: kind.layout.name(),
            algorithm: "",
            verdict: Verdict::Pass,
            largest_error: None,
            milliseconds: 0.0,
            start: None,
            tf32: None,
            left_out: None,
            finding: None,
        };
        Self { kind, outcome }
    }

    fn fail(&mut self, trouble: &Trouble, version: Version) {
        let (verdict, finding) = trouble.judge(version, &self.outcome.device, &self.kind);
        self.outcome.algorithm = trouble.algorithm().map_or("", |algorithm| algorithm.name);
        self.outcome.largest_error = trouble.largest_error();
        self.outcome.verdict = verdict;
        self.outcome.finding = Some(finding);
    }

    fn leave_out(&mut self, reason: String) {
        self.outcome.verdict = Verdict::Unknown;
        self.outcome.left_out = Some(reason);
    }

    fn tell(mut self, tell: &mut dyn FnMut(Told), clock: Instant) {
        self.outcome.milliseconds = milliseconds(clock);
        tell(Told::Done(Box::new(self.outcome)));
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// A result that is right.
struct Right {
    largest_error: f64,
    algorithm: Algorithm,
    tf32: Option<bool>,
}

struct Trial<'a> {
    cudnn: Cudnn,
    handle: &'a Owned,
    current: &'a Current,
    version: Version,
    device: &'a str,
    capability: ComputeCapability,
}

impl Trial<'_> {
    fn all(
        &self,
        kinds: &[Kind],
        by_every_algorithm: &[Kind],
        start: Start,
        tell: &mut dyn FnMut(Told),
    ) {
        let usual = kinds.iter().map(|kind| (*kind, None));
        // Asked for one by one: a GPU that has failed is not asked.
        let offered = by_every_algorithm.iter().flat_map(|kind| {
            let offers = self.offers(kind).into_iter();
            offers.map(move |offer| (*kind, Some(offer)))
        });
        let (mut start, mut failed) = (Some(start), 0);
        for (kind, offer) in usual.chain(offered) {
            match self.one(kind, offer, start.take(), tell) {
                Going::On => {}
                Going::Failed => failed += 1,
                Going::Ended => return,
            }
            if failed == MOST_FAILED {
                return;
            }
        }
    }

    /// What cuDNN offers for a kind beside what is tried in any case. A heuristic that refuses offers nothing.
    fn offers(&self, kind: &Kind) -> Vec<(Algorithm, i32)> {
        if self.unserved(kind).is_some() {
            return Vec::new();
        }
        let with = self.describe(kind).ok();
        let offers = with.and_then(|with| self.cudnn.offers(&with).ok());
        let [usual, _] = Algorithm::usual(kind.operation);
        let mut offers = offers.unwrap_or_default();
        offers.retain(|(algorithm, _)| *algorithm != usual);
        offers
    }

    /// One convolution, by the algorithm and arithmetic that are given or by those that are usual.
    fn one(
        &self,
        kind: Kind,
        offer: Option<(Algorithm, i32)>,
        start: Option<Start>,
        tell: &mut dyn FnMut(Told),
    ) -> Going {
        let mut row = Row::new(self.device.to_string(), kind);
        row.outcome.start = start;
        let operands = Operands::of(&kind);
        let expected = reference::convolve(&kind, &operands);
        let clock = Instant::now();
        let result = match self.unserved(&kind) {
            Some(reason) => Err(Trouble::Unserved(reason)),
            None => self.attempt(&kind, offer, &operands, &expected, tell),
        };
        let going = match result {
            Ok(right) => {
                row.outcome.algorithm = right.algorithm.name;
                row.outcome.largest_error = Some(right.largest_error);
                row.outcome.tf32 = right.tf32;
                Going::On
            }
            Err(trouble) => match trouble.left_out(self.version) {
                Some(reason) if offer.is_some() || !kind.is_basic() => {
                    row.outcome.algorithm =
                        trouble.algorithm().map_or("", |algorithm| algorithm.name);
                    row.leave_out(reason);
                    Going::On
                }
                _ => {
                    row.fail(&trouble, self.version);
                    match trouble {
                        Trouble::Rounded { .. } => Going::On,
                        _ if trouble.ends_the_context() => Going::Ended,
                        _ if row.outcome.verdict == Verdict::Fail => Going::Failed,
                        _ => Going::Ended,
                    }
                }
            },
        };
        row.tell(tell, clock);
        going
    }

    /// Why this GPU or this cuDNN is not even asked.
    fn unserved(&self, kind: &Kind) -> Option<String> {
        let (wanted, name) = (kind.data_type.since(), kind.data_type.name());
        if self.capability < wanted {
            return Some(format!(
                "the GPU is of compute capability {}, and {} begins with {}",
                self.capability, name, wanted
            ));
        }
        let first = kind.data_type.first_release();
        if self.version < first {
            return Some(format!("{} begins with cuDNN {}", name, first.short()));
        }
        // In 8 it has parts of its own, without which the shim ends the process.
        let part = "libcudnn_cnn_train.so.8";
        let wants = kind.operation == Operation::BackwardFilter && self.version.major == 8;
        if wants && Library::open(part).is_err() {
            return Some(format!("{} is not here", part));
        }
        None
    }

    fn describe(&self, kind: &Kind) -> Result<Descriptors<'_>, Refused> {
        let (shape, data_type, layout) = (kind.shape, kind.data_type, kind.layout);
        let tensor = |dims| self.cudnn.tensor(dims, data_type, layout);
        let fused = if kind.operation == Operation::Fused {
            Some([tensor([1, shape.k, 1, 1])?, self.cudnn.relu()?])
        } else {
            None
        };
        Ok(Descriptors {
            handle: self.handle,
            x: tensor(shape.x())?,
            w: self.cudnn.filter(shape.filter(), data_type, layout)?,
            y: tensor(shape.y())?,
            convolution: self.cudnn.convolution(&shape, data_type)?,
            fused,
        })
    }

    fn attempt(
        &self,
        kind: &Kind,
        offer: Option<(Algorithm, i32)>,
        operands: &Operands,
        expected: &[Expected],
        tell: &mut dyn FnMut(Told),
    ) -> Result<Right, Trouble> {
        let refused = |refused| self.refused(refused, None);
        let with = self.describe(kind).map_err(refused)?;
        let told = self.cudnn.output(&with.x, &with.w, &with.convolution);
        let told = told.map_err(refused)?;
        if told != kind.shape.y() {
            return Err(Trouble::Dimensions(told));
        }
        let mut by = |algorithm: Algorithm| {
            tell(Told::Next(format!(
                "running the {} ({}, {})",
                kind.words(),
                kind.layout.name(),
                algorithm.name
            )));
            self.compute(kind, &with, algorithm, operands, expected)
        };
        if let Some((algorithm, math)) = offer {
            // Strict single precision stays strict, whatever goes with the algorithm.
            if !kind.data_type.is_strict() {
                let set = self.cudnn.set_math(&with.convolution, math);
                set.map_err(|refused| self.refused(refused, Some(algorithm)))?;
            }
            return by(algorithm);
        }
        let [first, second] = Algorithm::usual(kind.operation);
        match by(first) {
            Err(trouble) if trouble.another_algorithm_may_do(self.version) => by(second),
            result => result,
        }
    }

    fn compute(
        &self,
        kind: &Kind,
        with: &Descriptors<'_>,
        algorithm: Algorithm,
        operands: &Operands,
        expected: &[Expected],
    ) -> Result<Right, Trouble> {
        let refused = |refused| self.refused(refused, Some(algorithm));
        let gpu = Trouble::Gpu;
        let bytes = self.cudnn.workspace(kind.operation, with, algorithm);
        let bytes = bytes.map_err(refused)?;
        if bytes > MOST_WORKSPACE {
            return Err(Trouble::Workspace { bytes, algorithm });
        }
        let (shape, data_type, layout) = (kind.shape, kind.data_type, kind.layout);
        let buffer = |count| self.current.buffer(data_type.bytes(count)).map_err(gpu);
        let x = buffer(count(shape.x()))?;
        let w = buffer(count(shape.filter()))?;
        let y = buffer(count(shape.y()))?;
        let fused = kind.operation == Operation::Fused;
        let z = buffer(if fused { count(shape.y()) } else { 0 })?;
        let bias = buffer(if fused { shape.k } else { 0 })?;
        let workspace = self.current.buffer(bytes).map_err(gpu)?;
        let result = match kind.operation {
            Operation::Forward | Operation::Fused => &y,
            Operation::BackwardData => &x,
            Operation::BackwardFilter => &w,
        };
        for (buffer, dims, values) in [
            (&x, shape.x(), &operands.x),
            (&w, shape.filter(), &operands.w),
            (&y, shape.y(), &operands.y),
        ] {
            if !std::ptr::eq(buffer, result) {
                let bytes = data_type.pack(&layout.arrange(dims, values));
                buffer.write(&bytes).map_err(gpu)?;
            }
        }
        if fused {
            bias.write(&data_type.pack(&operands.bias)).map_err(gpu)?;
            let zeros = vec![0; data_type.bytes(count(shape.y()))];
            z.write(&zeros).map_err(gpu)?;
        }
        let data = Data {
            x: x.pointer(),
            w: w.pointer(),
            y: y.pointer(),
            z: z.pointer(),
            bias: bias.pointer(),
            workspace: workspace.pointer(),
        };
        // SAFETY: the buffers are as large as the descriptors, and the workspace as large as cuDNN asked for.
        let done = unsafe {
            self.cudnn
                .convolve(kind.operation, with, algorithm, &data, bytes)
        };
        done.map_err(refused)?;
        // From here on it is cuDNN's code on the GPU that fails.
        let crashed = |refused: device::Refused| match refused.code {
            Some(code) => Trouble::Crashed { code, algorithm },
            None => Trouble::Gpu(refused),
        };
        self.current.wait().map_err(crashed)?;
        let [x_name, w_name, y_name] = kind.operation.buffers();
        for (buffer, name) in [
            (&y, y_name),
            (&x, x_name),
            (&w, w_name),
            (&z, "second input"),
            (&bias, "bias"),
            (&workspace, "workspace"),
        ] {
            if let Some(place) = buffer.breach().map_err(crashed)? {
                return Err(Trouble::Breach {
                    buffer: name,
                    place,
                    algorithm,
                });
            }
        }
        let bytes = result.bytes().map_err(crashed)?;
        judge(kind, &bytes, expected, algorithm)
    }

    fn refused(&self, refused: Refused, algorithm: Option<Algorithm>) -> Trouble {
        refused_by(&self.cudnn, self.current, refused, algorithm)
    }
}

/// What becomes of the convolutions after one.
enum Going {
    /// It passed or was left out.
    On,
    /// It failed, and others may tell more.
    Failed,
    /// There is no use in going on.
    Ended,
}

fn refused_by(
    cudnn: &Cudnn,
    current: &Current,
    refused: Refused,
    algorithm: Option<Algorithm>,
) -> Trouble {
    let Some(status) = refused.status else {
        return Trouble::Lacks(refused.call);
    };
    Trouble::Cudnn {
        call: refused.call,
        status,
        algorithm,
        last_error: cudnn.last_error(),
        gpu: current.wait().err().and_then(|refused| refused.code),
        free: current.free_memory(),
    }
}

/// Whether a result is right.
fn judge(
    kind: &Kind,
    bytes: &[u8],
    expected: &[Expected],
    algorithm: Algorithm,
) -> Result<Right, Trouble> {
    let mut result = kind.data_type.unpack(bytes);
    result.truncate(expected.len());
    let result = kind.layout.restore(kind.result(), &result);
    let allowed = Tolerance::of(kind, algorithm.transforms(), expected);
    let comparison = tolerance::compare(&result, expected, &allowed);
    let zeros = result.iter().all(|value| *value == 0.0);
    let right = comparison.worst.is_none() && !zeros;
    let tf32 = if kind.data_type.is_short() || algorithm.transforms() {
        None
    } else {
        // Not one number beyond single precision's bound, but all over the result.
        let strict = Tolerance::in_f32(kind, expected);
        let off = tolerance::compare(&result, expected, &strict).wrong;
        let loose = Tolerance::in_tf32(kind, expected);
        let within = tolerance::compare(&result, expected, &loose)
            .worst
            .is_none();
        Some(within && off.saturating_mul(4) > expected.len())
    };
    if right {
        return Ok(Right {
            largest_error: comparison.largest_error,
            algorithm,
            tf32,
        });
    }
    let worst = comparison.worst.unwrap_or(0);
    let expected = expected.get(worst).copied().unwrap_or_default();
    if tf32 == Some(true) && !zeros {
        return Err(Trouble::Rounded {
            comparison,
            allowed: allowed.at(&expected),
            algorithm,
        });
    }
    Err(Trouble::Wrong {
        comparison,
        algorithm,
        there: result.get(worst).copied().unwrap_or(f32::NAN),
        expected: expected.value,
        allowed: allowed.at(&expected),
        all: if bytes.iter().all(|byte| *byte == POISON) {
            Some("nothing was written")
        } else if zeros {
            Some("every number is 0")
        } else {
            None
        },
    })
}
