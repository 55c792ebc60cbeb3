//! A small convolution, computed by cuDNN on the GPU and held against the CPU.
//!
//! Only this shows a missing or foreign engine part: no version check of cuDNN's looks at those. It runs in the
//! child, since a cuDNN that does not fit may end the process or never return.

use super::cudnn::{Algorithm, Cudnn, Data, Forwarding, Refused};
use super::device::{self, Current, POISON};
use super::driver;
use super::finding::{Finding, Verdict};
use super::platform::Library;
use super::reference::{self, Comparison, Expected, Shape};
use super::status;
use super::version::Version;
use std::time::Instant;

/// Large enough for engines that work in tiles, small enough to cost nothing: 72 products for each of 3136 numbers.
const SHAPE: Shape = Shape {
    n: 2,
    c: 8,
    h: 14,
    w: 14,
    k: 8,
    r: 3,
    s: 3,
    pad: 1,
    stride: 1,
};
const OPERATION: &str = "convolution forward";
const DATA_TYPE: &str = "f32";
/// The second is offered by every cuDNN on every GPU, and takes no workspace.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::ImplicitPrecompGemm, Algorithm::ImplicitGemm];
const MIB: usize = 1 << 20;
/// The guard itself takes no more than 64 MiB; the rest of its buffers are small.
const MOST_WORKSPACE: usize = 48 * MIB;
/// With less than this free, cuDNN's own code and workspaces may not fit, and its refusal says nothing about it.
const LOW_MEMORY: usize = 512 * MIB;

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

/// Why there is no right result.
enum Trouble {
    /// This cuDNN has no such function.
    Lacks(&'static str),
    /// It wants so much room to work in.
    Workspace(usize),
    /// CUDA refused, before cuDNN was asked to convolve.
    Gpu(device::Refused),
    /// cuDNN refused.
    Cudnn {
        refused: Refused,
        algorithm: Option<Algorithm>,
        last_error: String,
        /// What CUDA says of the GPU after that.
        gpu: Option<i32>,
        free: Option<usize>,
    },
    /// cuDNN was content, and then the GPU was not.
    Crashed { code: i32, algorithm: Algorithm },
    /// Other dimensions than a convolution has.
    Dimensions([usize; 4]),
    /// It wrote where it may not.
    Breach {
        buffer: &'static str,
        place: &'static str,
        algorithm: Algorithm,
    },
    /// The numbers are wrong.
    Wrong {
        comparison: Comparison,
        algorithm: Algorithm,
        /// What came out at the worst place, and what should have.
        there: f32,
        expected: Expected,
        /// What is wrong with all of them, if it is the same with all.
        all: Option<&'static str>,
    },
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
        let mut result = Err(Trouble::Lacks("an algorithm"));
        for algorithm in ALGORITHMS {
            result = self.forward(&run, algorithm);
            let another = match &result {
                Err(Trouble::Cudnn { refused, .. }) => {
                    status::cudnn_not_supported(refused.status, self.version.major)
                }
                Err(Trouble::Workspace(_)) => true,
                _ => false,
            };
            if !another {
                break;
            }
        }
        result
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

impl Trouble {
    fn judge(&self, version: Version, device: &str) -> (Verdict, Finding) {
        let cudnn = format!("cuDNN {}", version);
        match self {
            Trouble::Lacks(name) => (
                Verdict::Unknown,
                Finding::warning(
                    "convolution-failed",
                    format!("{} has no `{}`, so no convolution was tried", cudnn, name),
                )
                .help("update cudnn-guard: it does not know this release"),
            ),
            Trouble::Workspace(bytes) => (
                Verdict::Unknown,
                Finding::warning(
                    "convolution-failed",
                    format!(
                        "{} wants {} MiB to work in for a small convolution, so none was tried",
                        cudnn,
                        bytes / MIB
                    ),
                )
                .help("update cudnn-guard: it does not know this release"),
            ),
            Trouble::Gpu(refused) => (Verdict::Unknown, refused_by_gpu(*refused, device)),
            Trouble::Cudnn {
                refused,
                algorithm,
                last_error,
                gpu,
                free,
            } => refused_by_cudnn(
                version, device, *refused, *algorithm, last_error, *gpu, *free,
            ),
            Trouble::Crashed { code, .. }
                if status::is_memory(*code) || status::is_elsewhere(*code) =>
            {
                let refused = device::Refused {
                    call: "cuCtxSynchronize",
                    code: Some(*code),
                };
                (Verdict::Unknown, refused_by_gpu(refused, device))
            }
            Trouble::Crashed { code, algorithm } => {
                let error = status::cuda(*code);
                let finding = Finding::error(
                    "convolution-failed",
                    format!(
                        "a forward convolution of {} on {} ended with {}",
                        cudnn,
                        device,
                        status::cuda_named(*code)
                    ),
                );
                let finding = described(finding, Some(*algorithm)).with("meaning", error.words);
                (Verdict::Fail, finding.help(BELONG))
            }
            Trouble::Dimensions(told) => {
                let out = [SHAPE.n, SHAPE.k, SHAPE.out_h(), SHAPE.out_w()];
                let finding = Finding::error(
                    "convolution-wrong",
                    format!(
                        "{} says that a convolution gives {} numbers, where {} is right",
                        cudnn,
                        dimensions(*told),
                        dimensions(out)
                    ),
                );
                (Verdict::Fail, described(finding, None).help(BELONG))
            }
            Trouble::Breach {
                buffer,
                place,
                algorithm,
            } => {
                let finding = Finding::error(
                    "convolution-wrong",
                    format!(
                        "{} wrote {} of its {} buffer in a forward convolution on {}",
                        cudnn, place, buffer, device
                    ),
                );
                (
                    Verdict::Fail,
                    described(finding, Some(*algorithm)).help(BELONG),
                )
            }
            Trouble::Wrong {
                comparison,
                algorithm,
                there,
                expected,
                all,
            } => {
                let finding = Finding::error(
                    "convolution-wrong",
                    match all {
                        Some(words) => format!(
                            "{} computed a wrong forward convolution on {}: {}",
                            cudnn, device, words
                        ),
                        None if there.is_finite() => format!(
                            "{} computed a wrong forward convolution on {}: off by {:.1e}, where {:.1e} is allowed",
                            cudnn,
                            device,
                            (f64::from(*there) - expected.value).abs(),
                            expected.tolerance
                        ),
                        None => format!(
                            "{} computed a wrong forward convolution on {}: a result is not a number",
                            cudnn, device
                        ),
                    },
                );
                let [n, k, row, column] = SHAPE.place(comparison.worst.unwrap_or(0));
                let finding = described(finding, Some(*algorithm))
                    .with(
                        "where",
                        format!(
                            "y[{}][{}][{}][{}] is {}, and {:.7} is right",
                            n, k, row, column, there, expected.value
                        ),
                    )
                    .with(
                        "wrong",
                        format!("{} of {} numbers", comparison.wrong, SHAPE.outputs()),
                    );
                (Verdict::Fail, finding.help(BELONG))
            }
        }
    }
}

const BELONG: &str = "install cuDNN, CUDA and driver releases that belong together: `cudnn-guard doctor` shows what is here";

fn described(finding: Finding, algorithm: Option<Algorithm>) -> Finding {
    let finding = finding.with(
        "operation",
        match algorithm {
            Some(algorithm) => format!("{}, {}, NCHW, {}", OPERATION, DATA_TYPE, algorithm.name()),
            None => format!("{}, {}, NCHW", OPERATION, DATA_TYPE),
        },
    );
    finding.with(
        "shape",
        format!(
            "x {}, w {}, padding {}, stride {}",
            dimensions([SHAPE.n, SHAPE.c, SHAPE.h, SHAPE.w]),
            dimensions([SHAPE.k, SHAPE.c, SHAPE.r, SHAPE.s]),
            SHAPE.pad,
            SHAPE.stride
        ),
    )
}

fn dimensions(numbers: [usize; 4]) -> String {
    let [a, b, c, d] = numbers;
    format!("{}x{}x{}x{}", a, b, c, d)
}

/// What the GPU or its driver refuses is not cuDNN's fault, nor the program's.
fn refused_by_gpu(refused: device::Refused, device: &str) -> Finding {
    let Some(code) = refused.code else {
        return Finding::warning(
            "driver-error",
            format!(
                "NVIDIA's driver has no `{}`, so no convolution was tried",
                refused.call
            ),
        )
        .help("update NVIDIA's driver");
    };
    let error = status::cuda(code);
    let answered = format!("`{}` answered {}", refused.call, status::cuda_named(code));
    if status::is_memory(code) {
        return memory_low(device, None).with("driver", answered);
    }
    let id = if status::is_elsewhere(code) {
        "device-busy"
    } else {
        "driver-error"
    };
    Finding::warning(
        id,
        format!(
            "{} could not be used for a convolution: {}",
            device, error.words
        ),
    )
    .with("driver", answered)
    .help(error.help)
}

fn memory_low(device: &str, free: Option<usize>) -> Finding {
    Finding::warning(
        "device-memory-low",
        match free {
            Some(free) => format!(
                "{} has too little free memory to try a convolution: {} MiB",
                device,
                free / MIB
            ),
            None => format!("{} has too little free memory to try a convolution", device),
        },
    )
    .help("free memory on the GPU: `nvidia-smi` shows who holds it")
}

fn refused_by_cudnn(
    version: Version,
    device: &str,
    refused: Refused,
    algorithm: Option<Algorithm>,
    last_error: &str,
    gpu: Option<i32>,
    free: Option<usize>,
) -> (Verdict, Finding) {
    let named = status::cudnn_named(refused.status, version.major);
    let with_words = |finding: Finding| {
        if last_error.is_empty() {
            finding
        } else {
            finding.with("last error", last_error)
        }
    };
    let answered = format!("`{}` answered {}", refused.call, named);
    let low = free.filter(|free| *free < LOW_MEMORY);
    if low.is_some() || status::cudnn_is_memory(refused.status, version.major) {
        return (
            Verdict::Unknown,
            with_words(memory_low(device, low).with("cuDNN", answered)),
        );
    }
    if let Some(code) = gpu.filter(|code| status::is_memory(*code) || status::is_elsewhere(*code)) {
        let refused = device::Refused {
            call: "cuCtxSynchronize",
            code: Some(code),
        };
        let finding = refused_by_gpu(refused, device).with("cuDNN", answered);
        return (Verdict::Unknown, with_words(finding));
    }
    let (id, algorithm) = match (refused.call, algorithm) {
        ("cudnnCreate", _) => ("cudnn-create-failed", None),
        (_, algorithm) => ("convolution-failed", Some(algorithm)),
    };
    let finding = Finding::error(
        id,
        format!(
            "`{}` of cuDNN {} answered {} on {}",
            refused.call, version, named, device
        ),
    );
    let finding = match algorithm {
        Some(algorithm) => described(finding, algorithm),
        None => finding,
    };
    let finding = match gpu {
        Some(code) => finding.with("GPU", status::cuda_named(code)),
        None => finding,
    };
    let help = status::cudnn_help(refused.status, version.major);
    (Verdict::Fail, with_words(finding).help(help))
}
