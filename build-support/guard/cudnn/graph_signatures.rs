//! The functions and numbers of cuDNN's graph API, as in `cudnn_graph.h`; tests/programs/real/signatures.rs compares
//! them with it.

use crate::runtime::cudnn::signatures::{Destroy, Opaque};
use crate::runtime::driver::call::{CallStatus, address, check, functions};
use crate::runtime::system::platform::Library;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

/// Parameters: kind of descriptor, result.
type Create = unsafe extern "C" fn(c_int, *mut Opaque) -> c_int;
/// Parameter: descriptor.
type Finalize = unsafe extern "C" fn(Opaque) -> c_int;
/// Parameters: descriptor, attribute, type, count, values.
type Set = unsafe extern "C" fn(Opaque, c_int, c_int, i64, *const c_void) -> c_int;
/// Parameters: descriptor, attribute, type, capacity, resulting count, resulting values.
type Get = unsafe extern "C" fn(Opaque, c_int, c_int, i64, *mut i64, *mut c_void) -> c_int;
/// Parameters: handle, plan, variant pack.
type Execute = unsafe extern "C" fn(Opaque, Opaque, Opaque) -> c_int;

functions! {
    pub struct BackendFunctions {
        create = "cudnnBackendCreateDescriptor": Create;
        destroy = "cudnnBackendDestroyDescriptor": Destroy;
        finalize = "cudnnBackendFinalize": Finalize;
        set = "cudnnBackendSetAttribute": Set;
        get = "cudnnBackendGetAttribute": Get;
        execute = "cudnnBackendExecute": Execute;
    }
}

/// A kind of descriptor, with the names of its calls.
pub struct DescriptorKind {
    /// The `cudnnBackendDescriptorType_t`.
    pub number: c_int,
    create: &'static str,
    finalize: &'static str,
    set: &'static str,
    get: &'static str,
}

macro_rules! kinds {
    ($($name:ident = $number:literal $text:literal)*) => {
        $(
            #[doc = concat!("`CUDNN_BACKEND_", $text, "_DESCRIPTOR`")]
            pub const $name: DescriptorKind = DescriptorKind {
                number: $number,
                create: concat!("cudnnBackendCreateDescriptor(", $text, ")"),
                finalize: concat!("cudnnBackendFinalize(", $text, ")"),
                set: concat!("cudnnBackendSetAttribute(", $text, ")"),
                get: concat!("cudnnBackendGetAttribute(", $text, ")"),
            };
        )*
    };
}

kinds! {
    CONVOLUTION = 1 "CONVOLUTION"
    ENGINE = 2 "ENGINE"
    ENGINECFG = 3 "ENGINECFG"
    ENGINEHEUR = 4 "ENGINEHEUR"
    EXECUTION_PLAN = 5 "EXECUTION_PLAN"
    FORWARD = 10 "OPERATION_CONVOLUTION_FORWARD"
    BACKWARD_FILTER = 11 "OPERATION_CONVOLUTION_BACKWARD_FILTER"
    BACKWARD_DATA = 12 "OPERATION_CONVOLUTION_BACKWARD_DATA"
    OPERATIONGRAPH = 15 "OPERATIONGRAPH"
    VARIANT_PACK = 16 "VARIANT_PACK"
    TENSOR = 17 "TENSOR"
}

/// The numbers of an attribute's name and of its type.
#[derive(Clone, Copy)]
pub struct Attribute(pub c_int, pub c_int);

// `cudnnBackendAttributeType_t`
pub const HANDLE: c_int = 0;
pub const DATA_TYPE: c_int = 1;
pub const INT64: c_int = 3;
pub const REAL: c_int = 4;
pub const POINTER: c_int = 6;
pub const CONVOLUTION_MODE: c_int = 7;
pub const HEUR_MODE: c_int = 8;
pub const NUMERICAL_NOTE: c_int = 11;
pub const DESCRIPTOR: c_int = 15;
pub const BEHAVIOR_NOTE: c_int = 19;

// A convolution's attributes.
pub const COMP_TYPE: Attribute = Attribute(100, DATA_TYPE);
pub const CONV_MODE: Attribute = Attribute(101, CONVOLUTION_MODE);
pub const DILATIONS: Attribute = Attribute(102, INT64);
pub const FILTER_STRIDES: Attribute = Attribute(103, INT64);
pub const POST_PADDINGS: Attribute = Attribute(104, INT64);
pub const PRE_PADDINGS: Attribute = Attribute(105, INT64);
pub const SPATIAL_DIMS: Attribute = Attribute(106, INT64);
// A heuristic's.
pub const HEUR_BY: Attribute = Attribute(200, HEUR_MODE);
pub const HEUR_GRAPH: Attribute = Attribute(201, DESCRIPTOR);
pub const HEUR_RESULTS: Attribute = Attribute(202, DESCRIPTOR);
// An engine configuration's.
pub const CFG_ENGINE: Attribute = Attribute(300, DESCRIPTOR);
// A plan's.
pub const PLAN_HANDLE: Attribute = Attribute(400, HANDLE);
pub const PLAN_CONFIG: Attribute = Attribute(401, DESCRIPTOR);
pub const PLAN_WORKSPACE: Attribute = Attribute(402, INT64);
// A graph's.
pub const GRAPH_HANDLE: Attribute = Attribute(800, HANDLE);
pub const GRAPH_OPS: Attribute = Attribute(801, DESCRIPTOR);
// A tensor's.
pub const ALIGNMENT: Attribute = Attribute(900, INT64);
pub const TENSOR_TYPE: Attribute = Attribute(901, DATA_TYPE);
pub const DIMENSIONS: Attribute = Attribute(902, INT64);
pub const STRIDES: Attribute = Attribute(903, INT64);
pub const UNIQUE_ID: Attribute = Attribute(906, INT64);
// A variant pack's: the inputs and outputs.
pub const PACK_IDS: Attribute = Attribute(1000, INT64);
pub const PACK_POINTERS: Attribute = Attribute(1001, POINTER);
pub const PACK_WORKSPACE: Attribute = Attribute(1003, POINTER);
// An engine's.
pub const ENGINE_INDEX: Attribute = Attribute(1301, INT64);
pub const ENGINE_NOTES: Attribute = Attribute(1303, NUMERICAL_NOTE);
pub const ENGINE_BEHAVIOR: Attribute = Attribute(1305, BEHAVIOR_NOTE);

/// The six attributes of an operation, numbered from 700, 706 or 712: two factors, the convolution, and the three
/// tensors, in a different order for each operation.
pub struct Operand {
    pub alpha: Attribute,
    pub beta: Attribute,
    pub convolution: Attribute,
    pub x: Attribute,
    pub w: Attribute,
    pub y: Attribute,
}

const fn operand(first: c_int, x: c_int, w: c_int, y: c_int) -> Operand {
    Operand {
        alpha: Attribute(first, REAL),
        beta: Attribute(first + 1, REAL),
        convolution: Attribute(first + 2, DESCRIPTOR),
        x: Attribute(x, DESCRIPTOR),
        w: Attribute(w, DESCRIPTOR),
        y: Attribute(y, DESCRIPTOR),
    }
}

pub const OF_FORWARD: Operand = operand(700, 704, 703, 705);
pub const OF_BACKWARD_DATA: Operand = operand(706, 710, 709, 711);
pub const OF_BACKWARD_FILTER: Operand = operand(712, 716, 715, 717);

/// A descriptor, destroyed when dropped. The descriptors that it contains must outlive it.
pub struct Node {
    functions: BackendFunctions,
    kind: &'static DescriptorKind,
    pointer: Opaque,
}

impl Node {
    pub fn new(
        functions: BackendFunctions,
        kind: &'static DescriptorKind,
    ) -> Result<Self, CallStatus> {
        let mut pointer: Opaque = std::ptr::null_mut();
        // SAFETY: the type is that of cudnn_graph.h, and `pointer` outlives the call.
        check(kind.create, unsafe {
            (functions.create)(kind.number, &mut pointer)
        })?;
        Ok(Self {
            functions,
            kind,
            pointer,
        })
    }

    pub fn pointer(&self) -> Opaque {
        self.pointer
    }

    /// Sets values. Their type in memory is that of the attribute.
    fn set<Value: Copy>(&self, attribute: Attribute, values: &[Value]) -> Result<(), CallStatus> {
        let Attribute(name, kind) = attribute;
        let from = values.as_ptr().cast::<c_void>();
        // SAFETY: the descriptor is alive, and callers vouch for the type of the values, which outlive the call.
        check(self.kind.set, unsafe {
            (self.functions.set)(self.pointer, name, kind, values.len() as i64, from)
        })
    }

    /// Sets whole numbers (`CUDNN_TYPE_INT64`).
    pub fn set_numbers(&self, attribute: Attribute, values: &[i64]) -> Result<(), CallStatus> {
        self.set(attribute, values)
    }

    pub fn set_enum(&self, attribute: Attribute, value: c_int) -> Result<(), CallStatus> {
        self.set(attribute, &[value])
    }

    /// Sets a factor. Its type is that of the sums, single precision.
    pub fn set_factor(&self, attribute: Attribute, value: f32) -> Result<(), CallStatus> {
        self.set(attribute, &[value])
    }

    /// Sets descriptors, a handle, or addresses on the GPU.
    pub fn set_pointers(&self, attribute: Attribute, values: &[Opaque]) -> Result<(), CallStatus> {
        self.set(attribute, values)
    }

    pub fn finalize(&self) -> Result<(), CallStatus> {
        // SAFETY: the descriptor is alive.
        check(self.kind.finalize, unsafe {
            (self.functions.finalize)(self.pointer)
        })
    }

    /// Reads values, at most as many as `values` has places. Returns how many were written.
    fn get<Value: Copy>(
        &self,
        attribute: Attribute,
        values: &mut [Value],
    ) -> Result<usize, CallStatus> {
        let Attribute(name, kind) = attribute;
        let (capacity, mut count) = (values.len(), 0);
        let to = values.as_mut_ptr().cast::<c_void>();
        // SAFETY: the descriptor is alive, callers vouch for the type of the values, and cuDNN writes at most
        // `capacity` of them.
        check(self.kind.get, unsafe {
            (self.functions.get)(self.pointer, name, kind, capacity as i64, &mut count, to)
        })?;
        let count: Result<usize, _> = std::convert::TryFrom::try_from(count);
        Ok(count.map_or(0, |count| count.min(capacity)))
    }

    /// Reads a whole number, if it is set.
    pub fn get_number(&self, attribute: Attribute) -> Result<Option<i64>, CallStatus> {
        let mut value = [0i64];
        let count = self.get(attribute, &mut value)?;
        let [number] = value;
        Ok((count != 0).then_some(number))
    }

    pub fn get_enums(&self, attribute: Attribute) -> Result<Vec<c_int>, CallStatus> {
        // A limit above the number of values of any of these enums.
        let mut values = [0; 64];
        let count = self.get(attribute, &mut values)?;
        Ok(values.get(..count).unwrap_or_default().to_vec())
    }

    /// Reads descriptors into `into`: cuDNN fills existing descriptors.
    pub fn get_nodes(
        &self,
        attribute: Attribute,
        mut into: Vec<Self>,
    ) -> Result<Vec<Self>, CallStatus> {
        let mut pointers: Vec<_> = into.iter().map(|node| node.pointer).collect();
        let count = self.get(attribute, &mut pointers)?;
        into.truncate(count);
        Ok(into)
    }

    /// Executes this plan.
    ///
    /// # Safety
    /// The pack's pointers are memory of the current GPU, as large as the tensors and as the plan's workspace.
    pub unsafe fn execute(&self, handle: Opaque, pack: &Self) -> Result<(), CallStatus> {
        // SAFETY: all three are alive, and the caller vouches for the rest.
        check("cudnnBackendExecute", unsafe {
            (self.functions.execute)(handle, self.pointer, pack.pointer)
        })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        unsafe { (self.functions.destroy)(self.pointer) };
    }
}
