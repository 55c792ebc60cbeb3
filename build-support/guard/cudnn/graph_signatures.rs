//! The functions and numbers of cuDNN's graph interface, as `cudnn_graph.h` has them; tests/programs/real/signatures.rs holds
//! both against it.

use crate::runtime::cudnn::signatures::{Destroy, Opaque};
use crate::runtime::driver::call::{CallStatus, address, check, functions};
use crate::runtime::system::platform::Library;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

/// kind of descriptor, the descriptor
type Create = unsafe extern "C" fn(c_int, *mut Opaque) -> c_int;
/// descriptor
type Finalize = unsafe extern "C" fn(Opaque) -> c_int;
/// descriptor, attribute, type, how many, from where
type Set = unsafe extern "C" fn(Opaque, c_int, c_int, i64, *const c_void) -> c_int;
/// descriptor, attribute, type, room for how many, how many there are, where to
type Get = unsafe extern "C" fn(Opaque, c_int, c_int, i64, *mut i64, *mut c_void) -> c_int;
/// handle, plan, what goes in and comes out
type Execute = unsafe extern "C" fn(Opaque, Opaque, Opaque) -> c_int;

// The six that do everything.
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

/// A kind of descriptor: its number, and what is called for it.
pub struct DescriptorKind {
    /// Its `cudnnBackendDescriptorType_t`.
    pub number: c_int,
    create: &'static str,
    finalize: &'static str,
    set: &'static str,
    get: &'static str,
}

macro_rules! sorts {
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

sorts! {
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

/// An attribute's name and the type of its values, as numbers.
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

/// Of a convolution, in the order of their numbers.
pub const COMP_TYPE: Attribute = Attribute(100, DATA_TYPE);
pub const CONV_MODE: Attribute = Attribute(101, CONVOLUTION_MODE);
pub const DILATIONS: Attribute = Attribute(102, INT64);
pub const FILTER_STRIDES: Attribute = Attribute(103, INT64);
pub const POST_PADDINGS: Attribute = Attribute(104, INT64);
pub const PRE_PADDINGS: Attribute = Attribute(105, INT64);
pub const SPATIAL_DIMS: Attribute = Attribute(106, INT64);
/// Of a heuristic.
pub const HEUR_BY: Attribute = Attribute(200, HEUR_MODE);
pub const HEUR_GRAPH: Attribute = Attribute(201, DESCRIPTOR);
pub const HEUR_RESULTS: Attribute = Attribute(202, DESCRIPTOR);
/// Of an engine's configuration.
pub const CFG_ENGINE: Attribute = Attribute(300, DESCRIPTOR);
/// Of a plan.
pub const PLAN_HANDLE: Attribute = Attribute(400, HANDLE);
pub const PLAN_CONFIG: Attribute = Attribute(401, DESCRIPTOR);
pub const PLAN_WORKSPACE: Attribute = Attribute(402, INT64);
/// Of a graph.
pub const GRAPH_HANDLE: Attribute = Attribute(800, HANDLE);
pub const GRAPH_OPS: Attribute = Attribute(801, DESCRIPTOR);
/// Of a tensor.
pub const ALIGNMENT: Attribute = Attribute(900, INT64);
pub const TENSOR_TYPE: Attribute = Attribute(901, DATA_TYPE);
pub const DIMENSIONS: Attribute = Attribute(902, INT64);
pub const STRIDES: Attribute = Attribute(903, INT64);
pub const UNIQUE_ID: Attribute = Attribute(906, INT64);
/// Of what goes in and comes out.
pub const PACK_IDS: Attribute = Attribute(1000, INT64);
pub const PACK_POINTERS: Attribute = Attribute(1001, POINTER);
pub const PACK_WORKSPACE: Attribute = Attribute(1003, POINTER);
/// Of an engine.
pub const ENGINE_INDEX: Attribute = Attribute(1301, INT64);
pub const ENGINE_NOTES: Attribute = Attribute(1303, NUMERICAL_NOTE);
pub const ENGINE_BEHAVIOR: Attribute = Attribute(1305, BEHAVIOR_NOTE);

/// The attributes of an operation. Each has six from 700, 706 or 712 on: two factors, the convolution, and the three
/// tensors in an order of its own.
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

/// A descriptor, destroyed when it goes away. What it was made of must not go away before.
pub struct Node {
    functions: BackendFunctions,
    sort: &'static DescriptorKind,
    what: Opaque,
}

impl Node {
    /// A new one.
    pub fn new(
        functions: BackendFunctions,
        sort: &'static DescriptorKind,
    ) -> Result<Self, CallStatus> {
        let mut what: Opaque = std::ptr::null_mut();
        // SAFETY: the type is that of cudnn_graph.h, and `what` outlives the call.
        check(sort.create, unsafe {
            (functions.create)(sort.number, &mut what)
        })?;
        Ok(Self {
            functions,
            sort,
            what,
        })
    }

    /// As other descriptors take it.
    pub fn pointer(&self) -> Opaque {
        self.what
    }

    /// Gives it values, whose type in memory is that of the attribute.
    fn set<Value: Copy>(&self, attribute: Attribute, values: &[Value]) -> Result<(), CallStatus> {
        let Attribute(name, of) = attribute;
        let from = values.as_ptr().cast::<c_void>();
        // SAFETY: the descriptor is alive, and callers vouch for the type of the values, which outlive the call.
        check(self.sort.set, unsafe {
            (self.functions.set)(self.what, name, of, values.len() as i64, from)
        })
    }

    /// Whole numbers, each `CUDNN_TYPE_INT64`.
    pub fn numbers(&self, attribute: Attribute, values: &[i64]) -> Result<(), CallStatus> {
        self.set(attribute, values)
    }

    /// One of an enum.
    pub fn word(&self, attribute: Attribute, value: c_int) -> Result<(), CallStatus> {
        self.set(attribute, &[value])
    }

    /// A factor, which has the type of the sums.
    pub fn factor(&self, attribute: Attribute, value: f32) -> Result<(), CallStatus> {
        self.set(attribute, &[value])
    }

    /// Descriptors, a handle, or places on the GPU.
    pub fn pointers(&self, attribute: Attribute, values: &[Opaque]) -> Result<(), CallStatus> {
        self.set(attribute, values)
    }

    /// Ends the setting of values.
    pub fn finalize(&self) -> Result<(), CallStatus> {
        // SAFETY: the descriptor is alive.
        check(self.sort.finalize, unsafe {
            (self.functions.finalize)(self.what)
        })
    }

    /// Values of it, into as many places as there are. The answer is how many were written.
    fn get<Value: Copy>(
        &self,
        attribute: Attribute,
        values: &mut [Value],
    ) -> Result<usize, CallStatus> {
        let Attribute(name, of) = attribute;
        let (room, mut there) = (values.len(), 0);
        let to = values.as_mut_ptr().cast::<c_void>();
        // SAFETY: the descriptor is alive, callers vouch for the type of the values, and cuDNN writes no more of them
        // than it is told there is room for.
        check(self.sort.get, unsafe {
            (self.functions.get)(self.what, name, of, room as i64, &mut there, to)
        })?;
        let there: Result<usize, _> = std::convert::TryFrom::try_from(there);
        Ok(there.map_or(0, |there| there.min(room)))
    }

    /// A whole number; none if it has no such value.
    pub fn number(&self, attribute: Attribute) -> Result<Option<i64>, CallStatus> {
        let mut value = [0i64];
        let [number] = match self.get(attribute, &mut value)? {
            0 => return Ok(None),
            _ => value,
        };
        Ok(Some(number))
    }

    /// Values of an enum.
    pub fn words(&self, attribute: Attribute) -> Result<Vec<c_int>, CallStatus> {
        // More than any enum that is asked for has, now or soon.
        let mut words = [0; 64];
        let there = self.get(attribute, &mut words)?;
        Ok(words.get(..there).unwrap_or_default().to_vec())
    }

    /// Descriptors. cuDNN fills those that it is given, so there must be some.
    pub fn nodes(
        &self,
        attribute: Attribute,
        mut into: Vec<Self>,
    ) -> Result<Vec<Self>, CallStatus> {
        let mut pointers: Vec<_> = into.iter().map(|node| node.what).collect();
        let there = self.get(attribute, &mut pointers)?;
        into.truncate(there);
        Ok(into)
    }

    /// Computes, if this is a plan.
    ///
    /// # Safety
    /// The pack's pointers are memory of the current GPU, as large as the tensors and the workspace of the plan.
    pub unsafe fn execute(&self, handle: Opaque, pack: &Self) -> Result<(), CallStatus> {
        // SAFETY: all three are alive, and the caller vouches for the rest.
        check("cudnnBackendExecute", unsafe {
            (self.functions.execute)(handle, self.what, pack.what)
        })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        unsafe { (self.functions.destroy)(self.what) };
    }
}
