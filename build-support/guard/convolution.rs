//! A small convolution, computed by cuDNN on the GPU and held against the CPU.
//!
//! Only this shows a missing or foreign engine part: no version check of cuDNN's looks at those. It runs in the
//! child, since a cuDNN that does not fit may end the process or never return.

use super::cudnn::{Algorithm, Cudnn, Data, Forwarding, Refused};
use super::device::{self, Current, POISON};
use super::driver;
use super::finding::{Finding, Verdict};
use super::platform::Library;
use super::reference::{self, DATA_TYPE, Expected, OPERATION, SHAPE};
use super::trouble::Trouble;
use super::version::Version;
use std::time::Instant;

const FIRST: Algorithm = Algorithm::ImplicitPrecompGemm;
/// Offered by every cuDNN on every GPU, without a workspace.
const SECOND: Algorithm = Algorithm::ImplicitGemm;
const MIB: usize = 1 << 20;
/// The guard itself takes no more than 64 MiB; the rest of its buffers are small.
const MOST_WORKSPACE: usize = 48 * MIB;

/// How one convolution went.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The GPU; empty if there is none.
    pub device: String,
    /// What was computed.
    pub operation: &'static str,
    /// In which data type.
    pub data_type: &'static str,
    /// Pass: the numbers are right. Unknown: it could not be tried.
    pub verdict: Verdict,
    /// The largest distance from the CPU's result, if there is a result.
    pub largest_error: Option<f64>,
    /// How long it took, cuDNN's and CUDA's own start included.
    pub milliseconds: f64,
    /// Why it did not pass.
    pub finding: Option<Finding>,
}

/// Convolves on the first visible GPU with the cuDNN of this shim and release.
pub fn run(shim: Library, version: Version) -> Vec<Outcome> {
    let clock = Instant::now();
    let mut outcome = Outcome {
        device: String::new(),
        operation: OPERATION,
        data_type: DATA_TYPE,
        verdict: Verdict::Pass,
        largest_error: None,
        milliseconds: 0.0,
        finding: None,
    };
    match driver::ask() {
        Ok(driver) => {
            outcome.device = driver
                .devices
                .into_iter()
                .next()
                .map_or_else(String::new, |it| it.name);
            match attempt(shim, version) {
                Ok(largest_error) => outcome.largest_error = Some(largest_error),
                Err(trouble) => {
                    let (verdict, finding) = trouble.judge(version, &outcome.device);
                    if let Trouble::Wrong { comparison, .. } = trouble {
                        outcome.largest_error = Some(comparison.largest_error);
                    }
                    outcome.verdict = verdict;
                    outcome.finding = Some(finding);
                }
            }
        }
        Err(problem) => {
            outcome.verdict = Verdict::Unknown;
            outcome.finding = Some(problem.finding());
        }
    }
    outcome.milliseconds = clock.elapsed().as_secs_f64() * 1000.0;
    vec![outcome]
}

fn attempt(shim: Library, version: Version) -> Result<f64, Trouble> {
    let cudnn = Cudnn::of(shim).map_err(Trouble::Lacks)?;
    let current = Current::of(0).map_err(Trouble::Gpu)?;
    let trial = Trial {
        cudnn,
        current: &current,
        version,
    };
    trial.run()
}

struct Trial<'a> {
    cudnn: Cudnn,
    current: &'a Current,
    version: Version,
}

impl Trial<'_> {
    fn run(&self) -> Result<f64, Trouble> {
        let refused = |refused| self.refused(refused, None);
        let shape = SHAPE;
        let out = [shape.n, shape.k, shape.out_h(), shape.out_w()];
        let handle = self.cudnn.handle().map_err(refused)?;
        let x = self
            .cudnn
            .tensor([shape.n, shape.c, shape.h, shape.w])
            .map_err(refused)?;
        let w = self
            .cudnn
            .filter([shape.k, shape.c, shape.r, shape.s])
            .map_err(refused)?;
        let y = self.cudnn.tensor(out).map_err(refused)?;
        let convolution = self
            .cudnn
            .convolution(shape.pad, shape.stride)
            .map_err(refused)?;
        let told = self.cudnn.output(&x, &w, &convolution).map_err(refused)?;
        if told != out {
            return Err(Trouble::Dimensions(told));
        }
        let run = Forwarding {
            handle: &handle,
            x: &x,
            w: &w,
            convolution: &convolution,
            y: &y,
        };
        match self.forward(&run, FIRST) {
            Err(trouble) if trouble.another_algorithm_may_do(self.version) => {
                self.forward(&run, SECOND)
            }
            result => result,
        }
    }

    fn forward(&self, run: &Forwarding<'_>, algorithm: Algorithm) -> Result<f64, Trouble> {
        let refused = |refused| self.refused(refused, Some(algorithm));
        let gpu = Trouble::Gpu;
        let bytes = self.cudnn.workspace(run, algorithm).map_err(refused)?;
        if bytes > MOST_WORKSPACE {
            return Err(Trouble::Workspace(bytes));
        }
        let inputs = reference::numbers(SHAPE.inputs(), 1);
        let weights = reference::numbers(SHAPE.weights(), 2);
        let x = self.current.buffer(SHAPE.inputs()).map_err(gpu)?;
        let w = self.current.buffer(SHAPE.weights()).map_err(gpu)?;
        let y = self.current.buffer(SHAPE.outputs()).map_err(gpu)?;
        // Whole words: up to three bytes at the end are the workspace's, though it did not ask for them.
        let workspace = self
            .current
            .buffer(bytes / 4 + usize::from(bytes % 4 != 0))
            .map_err(gpu)?;
        x.write(&inputs).map_err(gpu)?;
        w.write(&weights).map_err(gpu)?;
        let data = Data {
            x: x.pointer(),
            w: w.pointer(),
            y: y.pointer(),
            workspace: workspace.pointer(),
        };
        // SAFETY: the buffers are as large as the descriptors, and the workspace as large as cuDNN asked for.
        unsafe { self.cudnn.forward(run, algorithm, data, bytes) }.map_err(refused)?;
        // From here on it is cuDNN's code on the GPU that fails.
        let crashed = |refused: device::Refused| match refused.code {
            Some(code) => Trouble::Crashed { code, algorithm },
            None => Trouble::Gpu(refused),
        };
        self.current.wait().map_err(crashed)?;
        for (buffer, name) in [
            (&y, "output"),
            (&workspace, "workspace"),
            (&x, "input"),
            (&w, "filter"),
        ] {
            if let Some(place) = buffer.breach().map_err(crashed)? {
                return Err(Trouble::Breach {
                    buffer: name,
                    place,
                    algorithm,
                });
            }
        }
        let bits = y.bits().map_err(crashed)?;
        judge(
            &bits,
            &reference::convolve(SHAPE, &inputs, &weights),
            algorithm,
        )
    }

    fn refused(&self, refused: Refused, algorithm: Option<Algorithm>) -> Trouble {
        Trouble::Cudnn {
            refused,
            algorithm,
            last_error: self.cudnn.last_error(),
            gpu: self.current.wait().err().and_then(|refused| refused.code),
            free: self.current.free_memory(),
        }
    }
}

/// The largest error of a result that is right.
fn judge(bits: &[u32], expected: &[Expected], algorithm: Algorithm) -> Result<f64, Trouble> {
    let result: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
    let comparison = reference::compare(&result, expected);
    let Some(worst) = comparison.worst else {
        return Ok(comparison.largest_error);
    };
    Err(Trouble::Wrong {
        comparison,
        algorithm,
        there: result.get(worst).copied().unwrap_or(f32::NAN),
        expected: expected.get(worst).copied().unwrap_or(Expected {
            value: f64::NAN,
            tolerance: 0.0,
        }),
        all: if bits.iter().all(|bits| *bits == POISON) {
            Some("nothing was written")
        } else if result.iter().all(|value| *value == 0.0) {
            Some("every number is 0")
        } else {
            None
        },
    })
}
