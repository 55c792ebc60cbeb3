//! How a convolution can go wrong, and what that means for the program.
//!
//! Only what cuDNN itself does wrong or refuses fails; what CUDA refuses, or a lack of memory, leaves it unknown.

use super::cuda_status;
use super::cudnn::{Algorithm, Refused};
use super::cudnn_status;
use super::device;
use super::finding::{Finding, Verdict};
use super::reference::{Comparison, DATA_TYPE, Expected, OPERATION, SHAPE};
use super::version::Version;

const MIB: usize = 1 << 20;
/// With less than this free, cuDNN's own code and workspaces may not fit, and its refusal says nothing about it.
const LOW_MEMORY: usize = 512 * MIB;

/// Why there is no right result.
pub enum Trouble {
    /// This cuDNN has no such function.
    Lacks(&'static str),
    /// It wants so much room to work in.
    Workspace(usize),
    /// CUDA refused, before cuDNN was asked to convolve.
    Gpu(device::Refused),
    /// cuDNN refused.
    Cudnn {
        /// The call and its status.
        refused: Refused,
        /// The algorithm, once one was chosen.
        algorithm: Option<Algorithm>,
        /// cuDNN's own words.
        last_error: String,
        /// What CUDA says of the GPU after that.
        gpu: Option<i32>,
        /// Bytes of memory that are free on the GPU.
        free: Option<usize>,
    },
    /// cuDNN was content, and then the GPU was not.
    Crashed {
        /// What CUDA says of the GPU.
        code: i32,
        /// What ran.
        algorithm: Algorithm,
    },
    /// Other dimensions than a convolution has.
    Dimensions([usize; 4]),
    /// It wrote where it may not.
    Breach {
        /// The buffer's use.
        buffer: &'static str,
        /// On which side of it.
        place: &'static str,
        /// What ran.
        algorithm: Algorithm,
    },
    /// The numbers are wrong.
    Wrong {
        /// By how much.
        comparison: Comparison,
        /// What ran.
        algorithm: Algorithm,
        /// What came out at the worst place.
        there: f32,
        /// What should have come out there.
        expected: Expected,
        /// What is wrong with all of them, if it is the same with all.
        all: Option<&'static str>,
    },
}

impl Trouble {
    /// Whether it only says that this way of computing is not offered.
    pub fn another_algorithm_may_do(&self, version: Version) -> bool {
        match self {
            Trouble::Cudnn { refused, .. } => {
                cudnn_status::is_not_supported(refused.status, version.major)
            }
            Trouble::Workspace(_) => true,
            _ => false,
        }
    }

    /// What it means for a program, in words: `version` is the cuDNN's, `device` the GPU's name.
    pub fn judge(&self, version: Version, device: &str) -> (Verdict, Finding) {
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
            Trouble::Crashed { code, .. } if is_memory(*code) || is_elsewhere(*code) => {
                let refused = device::Refused {
                    call: "cuCtxSynchronize",
                    code: Some(*code),
                };
                (Verdict::Unknown, refused_by_gpu(refused, device))
            }
            Trouble::Crashed { code, algorithm } => {
                let error = cuda_status::explain(*code);
                let finding = Finding::error(
                    "convolution-failed",
                    format!(
                        "a forward convolution of {} on {} ended with {}",
                        cudnn,
                        device,
                        cuda_status::named(*code)
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
    let error = cuda_status::explain(code);
    let answered = format!("`{}` answered {}", refused.call, cuda_status::named(code));
    if is_memory(code) {
        return memory_low(device, None).with("driver", answered);
    }
    let id = if is_elsewhere(code) {
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
    let named = cudnn_status::named(refused.status, version.major);
    let with_words = |finding: Finding| {
        if last_error.is_empty() {
            finding
        } else {
            finding.with("last error", last_error)
        }
    };
    let answered = format!("`{}` answered {}", refused.call, named);
    let low = free.filter(|free| *free < LOW_MEMORY);
    if low.is_some() || cudnn_status::is_memory(refused.status, version.major) {
        return (
            Verdict::Unknown,
            with_words(memory_low(device, low).with("cuDNN", answered)),
        );
    }
    if let Some(code) = gpu.filter(|code| is_memory(*code) || is_elsewhere(*code)) {
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
        Some(code) => finding.with("GPU", cuda_status::named(code)),
        None => finding,
    };
    let help = cudnn_status::help(refused.status, version.major);
    (Verdict::Fail, with_words(finding).help(help))
}

/// Whether a `CUresult` says that there is too little memory.
fn is_memory(code: i32) -> bool {
    code == 2
}

/// Whether a `CUresult` says that the GPU is in use, or at its end, rather than that something does not fit.
fn is_elsewhere(code: i32) -> bool {
    matches!(code, 46 | 101 | 214 | 800 | 802 | 805..=810 | 999)
}
