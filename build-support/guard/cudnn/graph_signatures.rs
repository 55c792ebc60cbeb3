//! The functions and numbers of cuDNN's graph API, as in `cudnn_graph.h`; tests/programs/real/signatures.rs compares
//! them with it.

use crate::runtime::cudnn::signatures::Opaque;
use crate::runtime::driver::call::{CallStatus, address, check, functions};
use crate::runtime::system::platform::Library;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::transmute;

functions! {
    pub struct Graph {
        create = "cudnnBackendCreateDescriptor"(kind: c_int, descriptor: *mut Opaque);
        destroy = "cudnnBackendDestroyDescriptor"(descriptor: Opaque);
        finalize = "cudnnBackendFinalize"(descriptor: Opaque);
        set = "cudnnBackendSetAttribute"(
            descriptor: Opaque, attribute: c_int, kind: c_int, count: i64, values: *const c_void
        );
        get = "cudnnBackendGetAttribute"(
            descriptor: Opaque, attribute: c_int, kind: c_int, capacity: i64, count: *mut i64,
            values: *mut c_void
        );
        execute = "cudnnBackendExecute"(handle: Opaque, plan: Opaque, pack: Opaque);
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

/// An attribute whose values have this type in memory: the numbers of its name and of its type.
#[derive(Clone, Copy)]
pub struct Attribute<Value>(pub c_int, c_int, PhantomData<Value>);

pub const fn attribute<Value>(name: c_int, kind: c_int) -> Attribute<Value> {
    Attribute(name, kind, PhantomData)
}

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
pub const COMP_TYPE: Attribute<c_int> = attribute(100, DATA_TYPE);
pub const CONV_MODE: Attribute<c_int> = attribute(101, CONVOLUTION_MODE);
pub const DILATIONS: Attribute<i64> = attribute(102, INT64);
pub const FILTER_STRIDES: Attribute<i64> = attribute(103, INT64);
pub const POST_PADDINGS: Attribute<i64> = attribute(104, INT64);
pub const PRE_PADDINGS: Attribute<i64> = attribute(105, INT64);
pub const SPATIAL_DIMS: Attribute<i64> = attribute(106, INT64);
// A heuristic's.
pub const HEUR_BY: Attribute<c_int> = attribute(200, HEUR_MODE);
pub const HEUR_GRAPH: Attribute<Opaque> = attribute(201, DESCRIPTOR);
pub const HEUR_RESULTS: Attribute<Opaque> = attribute(202, DESCRIPTOR);
// An engine configuration's.
pub const CFG_ENGINE: Attribute<Opaque> = attribute(300, DESCRIPTOR);
// A plan's.
pub const PLAN_HANDLE: Attribute<Opaque> = attribute(400, HANDLE);
pub const PLAN_CONFIG: Attribute<Opaque> = attribute(401, DESCRIPTOR);
pub const PLAN_WORKSPACE: Attribute<i64> = attribute(402, INT64);
// A graph's.
pub const GRAPH_HANDLE: Attribute<Opaque> = attribute(800, HANDLE);
pub const GRAPH_OPS: Attribute<Opaque> = attribute(801, DESCRIPTOR);
// A tensor's.
pub const ALIGNMENT: Attribute<i64> = attribute(900, INT64);
pub const TENSOR_TYPE: Attribute<c_int> = attribute(901, DATA_TYPE);
pub const DIMENSIONS: Attribute<i64> = attribute(902, INT64);
pub const STRIDES: Attribute<i64> = attribute(903, INT64);
pub const UNIQUE_ID: Attribute<i64> = attribute(906, INT64);
// A variant pack's: the inputs and outputs.
pub const PACK_IDS: Attribute<i64> = attribute(1000, INT64);
pub const PACK_POINTERS: Attribute<Opaque> = attribute(1001, POINTER);
pub const PACK_WORKSPACE: Attribute<Opaque> = attribute(1003, POINTER);
// An engine's.
pub const ENGINE_INDEX: Attribute<i64> = attribute(1301, INT64);
pub const ENGINE_NOTES: Attribute<c_int> = attribute(1303, NUMERICAL_NOTE);
pub const ENGINE_BEHAVIOR: Attribute<c_int> = attribute(1305, BEHAVIOR_NOTE);

/// The numbers of an operation's attributes: the first of two factors, which the convolution's follows, then the
/// tensors `x`, `w` and `y`.
pub const OF_FORWARD: [c_int; 4] = [700, 704, 703, 705];
pub const OF_BACKWARD_DATA: [c_int; 4] = [706, 710, 709, 711];
pub const OF_BACKWARD_FILTER: [c_int; 4] = [712, 716, 715, 717];

/// A descriptor, destroyed when dropped. The descriptors that it contains must outlive it.
pub struct Node {
    functions: Graph,
    kind: &'static DescriptorKind,
    pub pointer: Opaque,
}

impl Graph {
    pub fn node(self, kind: &'static DescriptorKind) -> Result<Node, CallStatus> {
        let mut pointer: Opaque = std::ptr::null_mut();
        // SAFETY: `pointer` outlives the call.
        let created = unsafe { self.create(kind.number, &mut pointer) };
        created.map_err(|failed| failed.in_call(kind.create))?;
        Ok(Node {
            functions: self,
            kind,
            pointer,
        })
    }
}

impl Node {
    /// Sets values.
    pub fn set<Value>(
        &self,
        Attribute(name, kind, _): Attribute<Value>,
        values: &[Value],
    ) -> Result<(), CallStatus> {
        let (count, from) = (values.len() as i64, values.as_ptr().cast::<c_void>());
        // SAFETY: the descriptor is alive, and the values have the type of the attribute and outlive the call.
        let set = unsafe { (self.functions).set(self.pointer, name, kind, count, from) };
        set.map_err(|failed| failed.in_call(self.kind.set))
    }

    pub fn finalize(&self) -> Result<(), CallStatus> {
        // SAFETY: the descriptor is alive.
        let finalized = unsafe { self.functions.finalize(self.pointer) };
        finalized.map_err(|failed| failed.in_call(self.kind.finalize))
    }

    /// Reads values, at most as many as `values` has places. Returns how many were written.
    fn get<Value>(
        &self,
        Attribute(name, kind, _): Attribute<Value>,
        values: &mut [Value],
    ) -> Result<usize, CallStatus> {
        let (capacity, mut count) = (values.len(), 0);
        let (most, to) = (capacity as i64, values.as_mut_ptr().cast::<c_void>());
        // SAFETY: the descriptor is alive, the values have the type of the attribute, and cuDNN writes at most `most`.
        let read = unsafe { (self.functions).get(self.pointer, name, kind, most, &mut count, to) };
        read.map_err(|failed| failed.in_call(self.kind.get))?;
        Ok(usize::try_from(count).map_or(0, |count| count.min(capacity)))
    }

    /// Reads a whole number, if it is set.
    pub fn get_number(&self, attribute: Attribute<i64>) -> Result<Option<i64>, CallStatus> {
        let mut value = [0i64];
        let count = self.get(attribute, &mut value)?;
        let [number] = value;
        Ok((count != 0).then_some(number))
    }

    pub fn get_enums(&self, attribute: Attribute<c_int>) -> Result<Vec<c_int>, CallStatus> {
        // A limit above the number of values of any of these enums.
        let mut values = [0; 64];
        let count = self.get(attribute, &mut values)?;
        Ok(values.get(..count).unwrap_or_default().to_vec())
    }

    /// Reads descriptors into `into`: cuDNN fills existing descriptors.
    pub fn get_nodes(
        &self,
        attribute: Attribute<Opaque>,
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
        unsafe { (self.functions).execute(handle, self.pointer, pack.pointer) }
    }
}

impl Drop for Node {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        let _ = unsafe { self.functions.destroy(self.pointer) };
    }
}
