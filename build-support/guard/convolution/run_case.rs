//! A convolution: set up, computed, read back and compared.

use crate::runtime::convolution::{
    Case, CaseFailure, CaseSuccess, CudnnError, Expected, MIB, OVERRIDE, Reference, SuiteEvent,
    Tolerance, Unsupported, WorstRefusal, WrongEverywhere, tolerance,
};
use crate::runtime::cudnn::owned_descriptor::{Descriptors, OwnedDescriptor};
use crate::runtime::cudnn::shape::count;
use crate::runtime::cudnn::{
    Algorithm, Cudnn, DataType, DeviceTensors, Operation, from_bfloat16, to_bfloat16,
};
use crate::runtime::driver::call::CallStatus;
use crate::runtime::driver::device_memory::{Breach, CurrentContext, Memory, POISON};
use crate::runtime::facts::{ComputeCapability, Version};
use crate::runtime::loader::{file_name, is_pipe};
use crate::runtime::system::platform::Library;

/// The largest workspace. It limits the guard's GPU memory to 64 MiB, since its other buffers are small.
const MOST_WORKSPACE: usize = 48 * MIB;

/// The state that all convolutions share.
pub struct CaseRunner<'a> {
    pub cudnn: Cudnn,
    pub handle: &'a OwnedDescriptor,
    pub current: &'a CurrentContext,
    /// The version that cuDNN reports.
    pub version: Version,
    pub capability: ComputeCapability,
    /// `true` if a program waits for the test.
    pub is_quick: bool,
    /// The GPU's memory before the current convolution: other programs may allocate and free memory meanwhile.
    pub memory_before: Option<Memory>,
}

impl CaseRunner<'_> {
    /// Returns the reason why this GPU or this cuDNN does not support a case, if known beforehand.
    pub fn unsupported_reason(&self, case: &Case) -> Option<Unsupported> {
        let data_type = case.data_type;
        if self.capability < data_type.since() {
            return Some(Unsupported::Capability(self.capability, data_type));
        }
        // In 8 this operation has its own sub-libraries, and the main library ends the process if they are missing.
        let part = file_name::of_part("cnn_train", 8);
        let is_required = case.operation == Operation::BackwardFilter && self.version.major == 8;
        if is_required && (is_pipe(&part) || Library::open(&part).is_err()) {
            return Some(Unsupported::MissingPart(part));
        }
        None
    }

    fn describe(&self, case: &Case) -> Result<Descriptors<'_>, CallStatus> {
        let (shape, data_type, layout) = (case.shape, case.data_type, case.layout);
        let tensor = |dims| self.cudnn.tensor(dims, data_type, layout);
        let fused = if case.operation == Operation::Fused {
            Some([tensor([1, shape.w[0], 1, 1])?, self.cudnn.relu()?])
        } else {
            None
        };
        Ok(Descriptors {
            handle: self.handle,
            tensors: [
                tensor(shape.x)?,
                self.cudnn.filter(shape.w, data_type, layout)?,
                tensor(shape.y())?,
            ],
            convolution: self.cudnn.convolution(&shape, data_type)?,
            fused,
        })
    }

    /// Computes through the legacy API, and compares the result.
    pub fn attempt(
        &self,
        case: &Case,
        reference: &Reference,
        emit: &mut dyn FnMut(SuiteEvent),
    ) -> Result<CaseSuccess, CaseFailure> {
        let what = case.title();
        emit(SuiteEvent::cudnn(format!("setting up the {what}")));
        let with = self.describe(case);
        let with = with.map_err(|status| self.refused(status, None))?;
        // Programs call the heuristic, which may crash.
        if case.is_basic() && !self.is_quick {
            emit(SuiteEvent::cudnn(format!(
                "requesting algorithms for the {what}"
            )));
            let _ = self.cudnn.heuristic_algorithms(&with);
        }
        let mut by = |algorithm: Algorithm| {
            emit(case.running(algorithm));
            let bytes = self.cudnn.workspace(case.operation, &with, algorithm);
            let bytes = bytes.map_err(|status| self.refused(status, Some(algorithm)))?;
            self.compute(case, algorithm, bytes, reference, &|data| {
                let (operation, cudnn) = (case.operation, &self.cudnn);
                // SAFETY: the buffers are as large as the descriptors, and the workspace as large as cuDNN requires.
                unsafe { cudnn.convolve(operation, &with, algorithm, data, bytes) }
            })
        };
        let mut passed_over = WorstRefusal::new(self.version);
        let usual = Algorithm::usual(case.operation);
        for algorithm in usual {
            match by(algorithm) {
                Err(failure) if failure.is_refusal() => passed_over.add(failure)?,
                result => return result,
            }
        }
        // Programs may use the heuristic's algorithms too.
        if matches!(case.operation, Operation::Forward | Operation::Fused) {
            let offers = self.cudnn.heuristic_algorithms(&with).unwrap_or_default();
            for (algorithm, math) in offers {
                // Strict single precision keeps its math type.
                let keeps_math = case.data_type.is_strict();
                let set_math = || self.cudnn.set_math(&with.convolution, math);
                if usual.contains(&algorithm) || !keeps_math && set_math().is_err() {
                    continue;
                }
                match by(algorithm) {
                    Err(failure) if failure.is_refusal() => passed_over.add(failure)?,
                    result => return result,
                }
            }
        }
        Err(passed_over.into_failure())
    }

    /// Computes on the GPU with a workspace of `bytes`, unless that is too large, and compares the result. `convolve`
    /// starts the computation.
    pub fn compute(
        &self,
        case: &Case,
        algorithm: Algorithm,
        bytes: usize,
        reference: &Reference,
        convolve: &dyn Fn(&DeviceTensors) -> Result<(), CallStatus>,
    ) -> Result<CaseSuccess, CaseFailure> {
        if bytes > MOST_WORKSPACE {
            let reason = Unsupported::Workspace(bytes, algorithm);
            return Err(CaseFailure::Unsupported(reason));
        }
        let gpu = CaseFailure::Gpu;
        let Reference {
            operands, expected, ..
        } = reference;
        let (shape, data_type, layout) = (case.shape, case.data_type, case.layout);
        let buffer = |count| self.current.buffer(data_type.bytes(count)).map_err(gpu);
        let x = buffer(count(shape.x))?;
        let w = buffer(count(shape.w))?;
        let y = buffer(count(shape.y()))?;
        let fused = case.operation == Operation::Fused;
        let z = buffer(if fused { count(shape.y()) } else { 0 })?;
        let bias = buffer(if fused { shape.w[0] } else { 0 })?;
        let workspace = self.current.buffer(bytes).map_err(gpu)?;
        let [first, second, (result, ..)] = case.operation.operands([
            (&x, shape.x, &operands.x),
            (&w, shape.w, &operands.w),
            (&y, shape.y(), &operands.y),
        ]);
        for (buffer, dims, values) in [first, second] {
            let bytes = data_type.pack(&layout.arrange(dims, values));
            buffer.write(&bytes).map_err(gpu)?;
        }
        if fused {
            bias.write(&data_type.pack(&operands.bias)).map_err(gpu)?;
            let zeros = vec![0; data_type.bytes(count(shape.y()))];
            z.write(&zeros).map_err(gpu)?;
        }
        let data = DeviceTensors {
            tensors: [x.pointer(), w.pointer(), y.pointer()],
            z: z.pointer(),
            bias: bias.pointer(),
            workspace: workspace.pointer(),
        };
        convolve(&data).map_err(|status| self.refused(status, Some(algorithm)))?;
        // From here on, errors are those of cuDNN's code on the GPU.
        let crashed = |status: CallStatus| match status.code {
            Some(code) => CaseFailure::Crashed { code, algorithm },
            None => CaseFailure::Gpu(status),
        };
        self.current.wait().map_err(crashed)?;
        let mut near = None;
        let [x_name, w_name, y_name] = case.operation.buffers();
        for (buffer, name) in [
            (&y, y_name),
            (&x, x_name),
            (&w, w_name),
            (&z, "second input"),
            (&bias, "bias"),
            (&workspace, "workspace"),
        ] {
            if let Some(place) = buffer.breach().map_err(crashed)? {
                let breach = CaseFailure::Breach {
                    buffer: name,
                    place,
                    algorithm,
                };
                if place != Breach::JustPast {
                    return Err(breach);
                }
                near = Some(breach);
            }
        }
        let bytes = result.bytes().map_err(crashed)?;
        let right = compare(case, &bytes, expected, algorithm)?;
        near.map_or(Ok(right), Err)
    }

    /// Creates the failure of a call, with cuDNN's message and the GPU's state.
    pub fn refused(&self, status: CallStatus, algorithm: Option<Algorithm>) -> CaseFailure {
        let before = self.memory_before;
        refused_by(&self.cudnn, self.current, status, algorithm, before)
    }
}

/// Like [`CaseRunner::refused`], but before there is a handle.
pub fn refused_by(
    cudnn: &Cudnn,
    current: &CurrentContext,
    CallStatus { call, code }: CallStatus,
    algorithm: Option<Algorithm>,
    before: Option<Memory>,
) -> CaseFailure {
    let Some(status) = code else {
        return CaseFailure::Unsupported(Unsupported::MissingFunction(call));
    };
    CaseFailure::Cudnn(CudnnError {
        call,
        status,
        algorithm,
        last_error: cudnn.last_error(),
        gpu: current.wait().err().and_then(|status| status.code),
        memory: before
            .into_iter()
            .chain(current.memory())
            .min_by_key(|memory| memory.free),
    })
}

fn compare(
    case: &Case,
    bytes: &[u8],
    expected: &[Expected],
    algorithm: Algorithm,
) -> Result<CaseSuccess, CaseFailure> {
    let mut result = case.data_type.unpack(bytes);
    result.truncate(expected.len());
    let result = case.layout.restore(case.result(), &result);
    let allowed = Tolerance::for_case(case, algorithm.transforms(), expected);
    let comparison = tolerance::compare(&result, expected, &allowed);
    let zeros = result.iter().all(|value| *value == 0.0);
    let right = comparison.worst.is_none() && !zeros;
    let tf32 = if case.data_type.is_short() || algorithm.transforms() {
        None
    } else {
        // Rounding to TF32 puts about half of the numbers outside the bound of single precision. A fault rarely leaves
        // all numbers within the bound of TF32.
        let compare = |data_type| {
            let tolerance = Tolerance::for_case(&Case { data_type, ..*case }, false, expected);
            tolerance::compare(&result, expected, &tolerance)
        };
        let off = compare(DataType::F32).wrong;
        let within = compare(DataType::Tf32).worst.is_none();
        Some(within && off.saturating_mul(100) > expected.len().saturating_mul(15))
    };
    if right {
        return Ok(CaseSuccess {
            largest_error: comparison.largest_error,
            algorithm,
            tf32,
        });
    }
    let worst = comparison.worst.unwrap_or(0);
    let all = expected;
    let expected = expected.get(worst).copied().unwrap_or_default();
    if tf32 == Some(true) && !zeros {
        return Err(CaseFailure::Rounded {
            comparison,
            allowed: allowed.bound(&expected),
            is_requested: std::env::var(OVERRIDE).is_ok_and(|value| value == "1"),
            algorithm,
        });
    }
    Err(CaseFailure::Wrong {
        comparison,
        algorithm,
        found: result.get(worst).copied().unwrap_or(f32::NAN),
        expected: expected.value,
        allowed: allowed.bound(&expected),
        all: if bytes.iter().all(|byte| *byte == POISON) {
            Some(WrongEverywhere::Unwritten)
        } else if zeros {
            Some(WrongEverywhere::Zero)
        } else if is_as_bfloat16(case, &result, all) {
            Some(WrongEverywhere::Bfloat16)
        } else {
            None
        },
    })
}

/// Returns `true` if every half of the result is the bfloat16 of the right number.
fn is_as_bfloat16(case: &Case, result: &[f32], expected: &[Expected]) -> bool {
    let rounded = |it: &Expected| from_bfloat16(to_bfloat16(it.value as f32));
    let mut pairs = result.iter().zip(expected);
    case.data_type == DataType::F16 && pairs.all(|(value, it)| *value == rounded(it))
}
