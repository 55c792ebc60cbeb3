//! A convolution for cuDNN's graph API: its descriptors, its engines and their plans.
//!
//! A broken cuDNN may crash the process in any of these functions: they are called in the child.

use crate::runtime::convolution::Case;
use crate::runtime::cudnn::descriptor::{CROSS_CORRELATION, FLOAT, data_type_number};
pub use crate::runtime::cudnn::graph_signatures::Graph;
use crate::runtime::cudnn::graph_signatures::{self as backend, Node, attribute};
use crate::runtime::cudnn::owned_descriptor::OwnedDescriptor;
use crate::runtime::cudnn::{Algorithm, DeviceTensors, Operation};
use crate::runtime::driver::call::CallStatus;

/// `cudnnBackendHeurMode_t`: fast engines, and engines for convolutions that no fast engine supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeuristicMode {
    /// `CUDNN_HEUR_MODE_A`
    Fast = 3,
    /// `CUDNN_HEUR_MODE_FALLBACK`
    Fallback = 2,
}

// `cudnnBackendNumericalNote_t`. As in PyTorch, strict single precision excludes engines with one of the first two.
// Engines with one of the others compute with transformed numbers.
pub const TENSOR_CORE: i32 = 0;
pub const DOWN_CONVERT_INPUTS: i32 = 1;
pub const FFT: i32 = 3;
pub const WINOGRAD: i32 = 5;
pub const WINOGRAD_TILE_13X13: i32 = 8;

/// `CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION`
pub const RUNTIME_COMPILATION: i32 = 0;

/// The largest alignment that an engine requires. The guard's buffers have a larger one.
const ALIGNED: i64 = 16;
/// The number of engines to request, best first.
const MOST_ENGINES: usize = 16;
/// Arbitrary ids, different for each tensor.
const IDS: [i64; 3] = [1, 2, 3];

/// The descriptors of a convolution. Each is declared before the descriptors that it contains, so it is dropped first.
pub struct ConvolutionGraph {
    graph: Node,
    _operation: Node,
    _convolution: Node,
    _tensors: [Node; 3],
}

pub struct Engine {
    config: Node,
    _engine: Node,
    pub algorithm: Algorithm,
    /// `true` if it loses bits of single precision.
    pub rounds: bool,
    /// `true` if cuDNN has to compile it first, which takes seconds.
    pub compiles: bool,
}

/// An engine that is ready to compute.
pub struct Plan {
    plan: Node,
    /// Bytes of workspace.
    pub workspace: usize,
}

impl Graph {
    pub fn tensor(&self, case: &Case, dims: [usize; 4], id: i64) -> Result<Node, CallStatus> {
        let tensor = self.node(&backend::TENSOR)?;
        tensor.set(backend::TENSOR_TYPE, &[data_type_number(case.data_type)])?;
        tensor.set(backend::DIMENSIONS, &to_i64(&dims))?;
        tensor.set(backend::STRIDES, &to_i64(&case.layout.strides(dims)))?;
        tensor.set(backend::UNIQUE_ID, &[id])?;
        tensor.set(backend::ALIGNMENT, &[ALIGNED])?;
        tensor.finalize()?;
        Ok(tensor)
    }

    /// Creates a convolution that sums in single precision.
    pub fn convolution(&self, case: &Case) -> Result<Node, CallStatus> {
        let (shape, convolution) = (case.shape, self.node(&backend::CONVOLUTION)?);
        let pad = to_i64(&shape.pad);
        convolution.set(backend::COMP_TYPE, &[FLOAT])?;
        convolution.set(backend::CONV_MODE, &[CROSS_CORRELATION])?;
        convolution.set(backend::SPATIAL_DIMS, &[2])?;
        convolution.set(backend::PRE_PADDINGS, &pad)?;
        convolution.set(backend::POST_PADDINGS, &pad)?;
        convolution.set(backend::DILATIONS, &[1, 1])?;
        convolution.set(backend::FILTER_STRIDES, &to_i64(&shape.stride))?;
        convolution.finalize()?;
        Ok(convolution)
    }

    /// Creates an operation on the tensors `x`, `w` and `y`, or on their gradients.
    pub fn operation(
        &self,
        operation: Operation,
        convolution: &Node,
        [x, w, y]: [&Node; 3],
    ) -> Result<Node, CallStatus> {
        let (kind, [alpha, x_name, w_name, y_name]) = match operation {
            Operation::Forward | Operation::Fused => (&backend::FORWARD, backend::OF_FORWARD),
            Operation::BackwardData => (&backend::BACKWARD_DATA, backend::OF_BACKWARD_DATA),
            Operation::BackwardFilter => (&backend::BACKWARD_FILTER, backend::OF_BACKWARD_FILTER),
        };
        let node = self.node(kind)?;
        let parts = [
            (alpha + 2, convolution),
            (x_name, x),
            (w_name, w),
            (y_name, y),
        ];
        for (name, part) in parts {
            node.set(attribute(name, backend::DESCRIPTOR), &[part.pointer])?;
        }
        for (name, factor) in [(alpha, 1.0_f32), (alpha + 1, 0.0)] {
            node.set(attribute(name, backend::REAL), &[factor])?;
        }
        node.finalize()?;
        Ok(node)
    }

    pub fn describe(
        &self,
        handle: &OwnedDescriptor,
        case: &Case,
    ) -> Result<ConvolutionGraph, CallStatus> {
        let (shape, [x, w, y]) = (case.shape, IDS);
        let x = self.tensor(case, shape.x, x)?;
        let w = self.tensor(case, shape.w, w)?;
        let y = self.tensor(case, shape.y(), y)?;
        let convolution = self.convolution(case)?;
        let operation = self.operation(case.operation, &convolution, [&x, &w, &y])?;
        let graph = self.node(&backend::OPERATIONGRAPH)?;
        graph.set(backend::GRAPH_HANDLE, &[handle.pointer])?;
        graph.set(backend::GRAPH_OPS, &[operation.pointer])?;
        graph.finalize()?;
        Ok(ConvolutionGraph {
            graph,
            _operation: operation,
            _convolution: convolution,
            _tensors: [x, w, y],
        })
    }

    /// Returns the engines that cuDNN's heuristic offers, in its order.
    pub fn engines(
        &self,
        with: &ConvolutionGraph,
        mode: HeuristicMode,
    ) -> Result<Vec<Engine>, CallStatus> {
        let heuristic = self.node(&backend::ENGINEHEUR)?;
        heuristic.set(backend::HEUR_GRAPH, &[with.graph.pointer])?;
        heuristic.set(backend::HEUR_BY, &[mode as i32])?;
        heuristic.finalize()?;
        let mut configs = Vec::new();
        for _ in 0..MOST_ENGINES {
            configs.push(self.node(&backend::ENGINECFG)?);
        }
        let mut engines = Vec::new();
        for config in heuristic.get_nodes(backend::HEUR_RESULTS, configs)? {
            if let Some(engine) = self.engine(config)? {
                engines.push(engine);
            }
        }
        Ok(engines)
    }

    fn engine(&self, config: Node) -> Result<Option<Engine>, CallStatus> {
        let engines = vec![self.node(&backend::ENGINE)?];
        let mut engines = config.get_nodes(backend::CFG_ENGINE, engines)?;
        let Some(engine) = engines.pop() else {
            return Ok(None);
        };
        let Some(index) = engine.get_number(backend::ENGINE_INDEX)? else {
            return Ok(None);
        };
        let notes = engine.get_enums(backend::ENGINE_NOTES)?;
        let has = |any: &[i32]| notes.iter().any(|note| any.contains(note));
        let winograd = |note: &i32| (WINOGRAD..=WINOGRAD_TILE_13X13).contains(note);
        let transforms = has(&[FFT]) || notes.iter().any(winograd);
        let behavior = engine
            .get_enums(backend::ENGINE_BEHAVIOR)
            .unwrap_or_default();
        Ok(Some(Engine {
            compiles: behavior.contains(&RUNTIME_COMPILATION),
            config,
            _engine: engine,
            algorithm: Algorithm::engine(index as i32, transforms),
            rounds: has(&[TENSOR_CORE, DOWN_CONVERT_INPUTS]),
        }))
    }

    /// Makes an engine ready. cuDNN may compile it.
    pub fn plan(&self, handle: &OwnedDescriptor, engine: &Engine) -> Result<Plan, CallStatus> {
        let plan = self.node(&backend::EXECUTION_PLAN)?;
        plan.set(backend::PLAN_CONFIG, &[engine.config.pointer])?;
        plan.set(backend::PLAN_HANDLE, &[handle.pointer])?;
        plan.finalize()?;
        let bytes = plan.get_number(backend::PLAN_WORKSPACE)?.unwrap_or(0);
        let workspace = usize::try_from(bytes).unwrap_or(0);
        Ok(Plan { plan, workspace })
    }

    /// Runs the convolution.
    ///
    /// # Safety
    /// The pointers are memory of the current GPU, as large as the tensors and as the plan's workspace.
    pub unsafe fn convolve(
        &self,
        handle: &OwnedDescriptor,
        plan: &Plan,
        data: &DeviceTensors,
    ) -> Result<(), CallStatus> {
        let pack = self.node(&backend::VARIANT_PACK)?;
        pack.set(backend::PACK_IDS, &IDS)?;
        pack.set(backend::PACK_POINTERS, &data.tensors)?;
        pack.set(backend::PACK_WORKSPACE, &[data.workspace])?;
        pack.finalize()?;
        // SAFETY: the caller vouches for the pointers.
        unsafe { plan.plan.execute(handle.pointer, &pack) }
    }
}

/// Converts sizes of the guard's own convolutions, which are all small.
fn to_i64(sizes: &[usize]) -> Vec<i64> {
    sizes.iter().map(|size| *size as i64).collect()
}
