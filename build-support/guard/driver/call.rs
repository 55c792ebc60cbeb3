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

/// Returns an error unless the call succeeded.
pub fn check(call: &'static str, code: c_int) -> Result<(), CallStatus> {
    if code == 0 {
        Ok(())
    } else {
        let code = Some(code);
        Err(CallStatus { call, code })
    }
}

pub fn address(library: Library, call: &'static str) -> Result<*mut c_void, CallStatus> {
    library.symbol(call).ok_or(CallStatus { call, code: None })
}

/// Declares functions of an NVIDIA library with their C types. Each has a name and, after `or`, the name in older
/// versions. Those with a `?` may be missing.
macro_rules! functions {
    ($view:vis struct $name:ident {
        $($member:ident = $symbol:literal $(or $older:literal)?: $type:ty;)+
        $(? $extra:ident = $later:literal: $kind:ty;)*
    }) => {
        #[derive(Clone, Copy)]
        $view struct $name {
            $($view $member: $type,)+
            $($view $extra: Option<$kind>,)*
        }

        impl $name {
            /// Finds the functions, or returns the first one that is missing.
            $view fn resolve(library: Library) -> Result<Self, CallStatus> {
                // SAFETY: the types are those of NVIDIA's headers; tests/programs/real/signatures.rs compares them.
                unsafe {
                    Ok(Self {
                        $($member: {
                            let found = address(library, $symbol);
                            $(let found = found.or_else(|_| address(library, $older));)?
                            transmute::<*mut c_void, $type>(found?)
                        },)+
                        $($extra: library
                            .symbol($later)
                            .map(|found| transmute::<*mut c_void, $kind>(found)),)*
                    })
                }
            }
        }
    };
}
pub(crate) use functions;
