//! A replacement for the code that Microsoft's linker takes from `delayimp.lib` for a DLL that is loaded at its first
//! call. The linker writes the tables that this code reads.
#![no_std]

use core::ffi::{c_char, c_void};
use core::ptr::{from_ref, null_mut};

/// `ImgDelayDescr`. Each offset counts from the start of the program's image.
#[repr(C)]
pub struct Delayed {
    attributes: u32,
    name: u32,
    module: u32,
    addresses: u32,
    names: u32,
    rest: [u32; 3],
}

/// `VcppException` of `ERROR_MOD_NOT_FOUND` and of `ERROR_PROC_NOT_FOUND`.
const NO_MODULE: u32 = 0xC06D_007E;
const NO_FUNCTION: u32 = 0xC06D_007F;

unsafe extern "C" {
    static __ImageBase: u8;
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryA(name: *const c_char) -> *mut c_void;
    fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
    fn RaiseException(code: u32, flags: u32, count: u32, arguments: *const usize);
}

/// Returns the address of the function for a slot of the import table.
#[unsafe(no_mangle)]
unsafe extern "C" fn __delayLoadHelper2(dll: &Delayed, slot: *mut *mut c_void) -> *mut c_void {
    // SAFETY: the linker wrote the tables.
    unsafe {
        let base = &raw const __ImageBase;
        let at = |place: u32| base.add(place as usize);
        let known = at(dll.module).cast_mut().cast::<*mut c_void>();
        if (*known).is_null() {
            *known = LoadLibraryA(at(dll.name).cast());
        }
        if (*known).is_null() {
            return fail(NO_MODULE, dll);
        }
        let index = slot.offset_from(at(dll.addresses).cast::<*mut c_void>());
        let name = *at(dll.names).cast::<u64>().offset(index);
        let function = match name >> 63 {
            // A name follows two bytes of a hint.
            0 => GetProcAddress(*known, at(name as u32).add(2).cast()),
            _ => GetProcAddress(*known, (name & 0xffff) as *const c_char),
        };
        if function.is_null() {
            return fail(NO_FUNCTION, dll);
        }
        *slot = function;
        function
    }
}

unsafe fn fail(code: u32, dll: &Delayed) -> *mut c_void {
    let argument = from_ref(dll) as usize;
    // SAFETY: one argument.
    unsafe { RaiseException(code, 0, 1, &argument) };
    null_mut()
}
