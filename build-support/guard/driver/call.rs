//! Calls into NVIDIA's libraries: functions found by name, and their status.

use crate::runtime::system::platform::Library;
use std::ffi::{c_int, c_void};

/// A call of the driver or of cuDNN that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallStatus {
    pub call: &'static str,
    /// The `CUresult` or `cudnnStatus_t`; `None` if the library has no such function.
    pub code: Option<i32>,
}

impl CallStatus {
    /// Returns the error with a more precise name of the call.
    pub fn in_call(self, call: &'static str) -> Self {
        Self { call, ..self }
    }
}

/// Returns an error unless the call succeeded. The name of the call does not contain the version of the function.
#[inline(never)]
pub fn check(function: &'static str, code: c_int) -> Result<(), CallStatus> {
    if code == 0 {
        return Ok(());
    }
    let call = function.strip_suffix("_v2").unwrap_or(function);
    Err(CallStatus {
        call,
        code: Some(code),
    })
}

/// Returns the address of a function.
#[inline(never)]
pub fn address(library: Library, call: &'static str) -> Result<*mut c_void, CallStatus> {
    let found = library.symbol(call);
    found.ok_or(CallStatus { call, code: None })
}

/// Declares functions of an NVIDIA library that return a status. Each becomes a method, which returns an error if the
/// function is missing or fails. Functions of the same type share a method that gets the name.
macro_rules! functions {
    ($view:vis struct $name:ident {
        $($method:ident = $symbol:literal ($($value:ident: $type:ty),*);)+
        $([$by:ident] $shared:ident ($($part:ident: $kind:ty),*);)*
    }) => {
        #[derive(Clone, Copy)]
        $view struct $name($view Library);

        #[allow(clippy::too_many_arguments, reason = "the functions of the library have as many")]
        impl $name {
            /// Returns the first function that is missing as an error.
            $view fn resolve(library: Library) -> Result<Self, CallStatus> {
                for name in [$($symbol),+] {
                    address(library, name)?;
                }
                Ok(Self(library))
            }

            $(
            /// # Safety
            /// The values are as NVIDIA documents them.
            #[inline(never)]
            $view unsafe fn $method(self, $($value: $type),*) -> Result<(), CallStatus> {
                functions!(@call self, $symbol, $($value: $type),*)
            })+
            $(
            /// # Safety
            /// The values are as NVIDIA documents them.
            #[inline(never)]
            $view unsafe fn $shared(self, $by: &'static str, $($part: $kind),*) -> Result<(), CallStatus> {
                functions!(@call self, $by, $($part: $kind),*)
            })*
        }
    };
    (@call $library:ident, $name:expr, $($value:ident: $type:ty),*) => {{
        let found = address($library.0, $name)?;
        // SAFETY: the types are those of NVIDIA's headers; tests/programs/real/signatures.rs compares them. The caller
        // vouches for the values.
        let code = unsafe {
            let function: unsafe extern "C" fn($($type),*) -> c_int = transmute(found);
            function($($value),*)
        };
        check($name, code)
    }};
}
pub(crate) use functions;
