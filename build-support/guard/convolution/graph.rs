//! A convolution for cuDNN's graph interface: described, the engines that cuDNN would take for it, and their plans.
//!
//! A broken cuDNN ends the process in any of these: they are called in the child.

use crate::runtime::convolution::case::Case;
use crate::runtime::cudnn::algorithm::Algorithm;
use crate::runtime::cudnn::descriptor::{CROSS_CORRELATION, FLOAT, data_type_number};
use crate::runtime::cudnn::functions::DeviceTensors;
use crate::runtime::cudnn::graph_signatures::{
    BackendFunctions, Node, {self as is},
};
use crate::runtime::cudnn::operation::Operation;
use crate::runtime::cudnn::owned_descriptor::OwnedDescriptor;
use crate::runtime::driver::call::CallStatus;
use crate::runtime::system::platform::Library;

/// `cudnnBackendHeurMode_t`: what cuDNN thinks is fast, and what serves where nothing fast does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeuristicMode {
    /// `CUDNN_HEUR_MODE_A`
    Fast,
    /// `CUDNN_HEUR_MODE_FALLBACK`
    Fallback,
}

impl HeuristicMode {
    /// Its number.
    pub fn as_number(self) -> i32 {
        match self {
            HeuristicMode::Fast => 3,
            HeuristicMode::Fallback => 2,
        }
    }
}

// Of `cudnnBackendNumericalNote_t`. Whoever wants strict single precision leaves out engines with the first two, as
// PyTorch does; the others say that an engine computes with something else than the numbers themselves.
pub const TENSOR_CORE: i32 = 0;
pub const DOWN_CONVERT_INPUTS: i32 = 1;
pub const FFT: i32 = 3;
pub const WINOGRAD: i32 = 5;
pub const WINOGRAD_TILE_13X13: i32 = 8;

/// `CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION`
pub const RUNTIME_COMPILATION: i32 = 0;

/// A wider alignment than that no engine asks for; buffers have more.
const ALIGNED: i64 = 16;
/// Engines are asked for by so many, best first.
const MOST_ENGINES: usize = 16;
/// Any numbers will do, as long as no two tensors share one.
const IDS: [i64; 3] = [1, 2, 3];

/// cuDNN's graph interface, ready to be called.
#[derive(Clone, Copy)]
pub struct Graph {
    functions: BackendFunctions,
}

/// A convolution as it was described. What is made of others stands before them, and so goes away first.
pub struct ConvolutionGraph {
    graph: Node,
    _operation: Node,
    _convolution: Node,
    _tensors: [Node; 3],
}

/// An engine with its settings.
pub struct Engine {
    config: Node,
    _engine: Node,
    /// Which one.
    pub algorithm: Algorithm,
    /// Whether it gives up bits of single precision.
    pub rounds: bool,
    /// Whether it has to be compiled first, which takes seconds.
    pub compiles: bool,
}

/// An engine, ready to compute.
pub struct Plan {
    plan: Node,
    /// Bytes that it needs to work in.
    pub workspace: usize,
}

impl Graph {
    /// The graph API of a main library.
    pub fn open(main_library: Library) -> Result<Self, CallStatus> {
        BackendFunctions::resolve(main_library).map(|functions| Self { functions })
    }

    fn node(&self, sort: &'static is::DescriptorKind) -> Result<Node, CallStatus> {
        Node::new(self.functions, sort)
    }

    /// A tensor.
    pub fn tensor(&self, case: &Case, dims: [usize; 4], id: i64) -> Result<Node, CallStatus> {
        let tensor = self.node(&is::TENSOR)?;
        tensor.word(is::TENSOR_TYPE, data_type_number(case.data_type))?;
        tensor.numbers(is::DIMENSIONS, &whole(&dims))?;
        tensor.numbers(is::STRIDES, &whole(&case.layout.strides(dims)))?;
        tensor.numbers(is::UNIQUE_ID, &[id])?;
        tensor.numbers(is::ALIGNMENT, &[ALIGNED])?;
        tensor.finalize()?;
        Ok(tensor)
    }

    /// A convolution that sums in single precision. Groups are told by the tensors' channels.
    pub fn convolution(&self, case: &Case) -> Result<Node, CallStatus> {
        let (shape, convolution) = (case.shape, self.node(&is::CONVOLUTION)?);
        let pad = whole(&shape.pad);
        convolution.word(is::COMP_TYPE, FLOAT)?;
        convolution.word(is::CONV_MODE, CROSS_CORRELATION)?;
        convolution.numbers(is::SPATIAL_DIMS, &[2])?;
        convolution.numbers(is::PRE_PADDINGS, &pad)?;
        convolution.numbers(is::POST_PADDINGS, &pad)?;
        convolution.numbers(is::DILATIONS, &whole(&shape.dilation))?;
        convolution.numbers(is::FILTER_STRIDES, &whole(&shape.stride))?;
        convolution.finalize()?;
        Ok(convolution)
    }

    /// What is computed of which tensors: `x`, `w` and `y`, or their gradients.
    pub fn operation(
        &self,
        operation: Operation,
        convolution: &Node,
        [x, w, y]: [&Node; 3],
    ) -> Result<Node, CallStatus> {
        let (sort, of) = match operation {
            Operation::Forward | Operation::Fused => (&is::FORWARD, is::OF_FORWARD),
            Operation::BackwardData => (&is::BACKWARD_DATA, is::OF_BACKWARD_DATA),
            Operation::BackwardFilter => (&is::BACKWARD_FILTER, is::OF_BACKWARD_FILTER),
        };
        let node = self.node(sort)?;
        node.pointers(of.convolution, &[convolution.pointer()])?;
        node.pointers(of.x, &[x.pointer()])?;
        node.pointers(of.w, &[w.pointer()])?;
        node.pointers(of.y, &[y.pointer()])?;
        node.factor(of.alpha, 1.0)?;
        node.factor(of.beta, 0.0)?;
        node.finalize()?;
        Ok(node)
    }

    /// Describes a convolution to the cuDNN of this handle.
    pub fn describe(
        &self,
        handle: &OwnedDescriptor,
        case: &Case,
    ) -> Result<ConvolutionGraph, CallStatus> {
        let (shape, [x, w, y]) = (case.shape, IDS);
        let x = self.tensor(case, shape.x(), x)?;
        let w = self.tensor(case, shape.filter(), w)?;
        let y = self.tensor(case, shape.y(), y)?;
        let convolution = self.convolution(case)?;
        let operation = self.operation(case.operation, &convolution, [&x, &w, &y])?;
        let graph = self.node(&is::OPERATIONGRAPH)?;
        graph.pointers(is::GRAPH_HANDLE, &[handle.what])?;
        graph.pointers(is::GRAPH_OPS, &[operation.pointer()])?;
        graph.finalize()?;
        Ok(ConvolutionGraph {
            graph,
            _operation: operation,
            _convolution: convolution,
            _tensors: [x, w, y],
        })
    }

    /// The engines that cuDNN's heuristic offers, in its order.
    pub fn engines(
        &self,
        with: &ConvolutionGraph,
        mode: HeuristicMode,
    ) -> Result<Vec<Engine>, CallStatus> {
        let heuristic = self.node(&is::ENGINEHEUR)?;
        heuristic.pointers(is::HEUR_GRAPH, &[with.graph.pointer()])?;
        heuristic.word(is::HEUR_BY, mode.as_number())?;
        heuristic.finalize()?;
        let mut room = Vec::new();
        for _ in 0..MOST_ENGINES {
            room.push(self.node(&is::ENGINECFG)?);
        }
        let mut engines = Vec::new();
        for config in heuristic.nodes(is::HEUR_RESULTS, room)? {
            if let Some(engine) = self.engine(config)? {
                engines.push(engine);
            }
        }
        Ok(engines)
    }

    /// Which engine a configuration is of; none if it does not say.
    fn engine(&self, config: Node) -> Result<Option<Engine>, CallStatus> {
        let room = vec![self.node(&is::ENGINE)?];
        let mut engines = config.nodes(is::CFG_ENGINE, room)?;
        let Some(engine) = engines.pop() else {
            return Ok(None);
        };
        let Some(index) = engine.number(is::ENGINE_INDEX)? else {
            return Ok(None);
        };
        let notes = engine.words(is::ENGINE_NOTES)?;
        let has = |wanted: &[i32]| notes.iter().any(|note| wanted.contains(note));
        let winograd = |note: &i32| (WINOGRAD..=WINOGRAD_TILE_13X13).contains(note);
        let transforms = has(&[FFT]) || notes.iter().any(winograd);
        let behavior = engine.words(is::ENGINE_BEHAVIOR).unwrap_or_default();
        Ok(Some(Engine {
            compiles: behavior.contains(&RUNTIME_COMPILATION),
            config,
            _engine: engine,
            algorithm: Algorithm::engine(index as i32, transforms),
            rounds: has(&[TENSOR_CORE, DOWN_CONVERT_INPUTS]),
        }))
    }

    /// Makes an engine ready, which may take a compiler.
    pub fn plan(&self, handle: &OwnedDescriptor, engine: &Engine) -> Result<Plan, CallStatus> {
        let plan = self.node(&is::EXECUTION_PLAN)?;
        plan.pointers(is::PLAN_CONFIG, &[engine.config.pointer()])?;
        plan.pointers(is::PLAN_HANDLE, &[handle.what])?;
        plan.finalize()?;
        let bytes = plan.number(is::PLAN_WORKSPACE)?.unwrap_or(0);
        let bytes: Result<usize, _> = std::convert::TryFrom::try_from(bytes);
        let workspace = bytes.unwrap_or(0);
        Ok(Plan { plan, workspace })
    }

    /// Convolves.
    ///
    /// # Safety
    /// The pointers are memory of the current GPU, as large as the tensors and as the plan's workspace.
    pub unsafe fn convolve(
        &self,
        handle: &OwnedDescriptor,
        plan: &Plan,
        data: &DeviceTensors,
    ) -> Result<(), CallStatus> {
        let pack = self.node(&is::VARIANT_PACK)?;
        pack.numbers(is::PACK_IDS, &IDS)?;
        pack.pointers(is::PACK_POINTERS, &[data.x, data.w, data.y])?;
        pack.pointers(is::PACK_WORKSPACE, &[data.workspace])?;
        pack.finalize()?;
        // SAFETY: the caller vouches for the pointers.
        unsafe { plan.plan.execute(handle.what, &pack) }
    }
}

/// Our own sizes are small.
fn whole(sizes: &[usize]) -> Vec<i64> {
    let numbers: Vec<_> = sizes.iter().map(|size| *size as i64).collect();
    numbers
}
