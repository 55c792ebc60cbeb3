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

/// `DelayLoadInfo`.
#[repr(C)]
pub struct Info {
    size: u32,
    descriptor: *const Delayed,
    slot: *mut *mut c_void,
    dll: *const c_char,
    has_name: u32,
    name: *const c_char,
    module: *mut c_void,
    address: *mut c_void,
    error: u32,
}

type Hook = unsafe extern "C-unwind" fn(u32, *const Info) -> *mut c_void;

/// `dliFailLoadLib` and `dliFailGetProc`.
const FAIL_LOAD: u32 = 3;
const FAIL_FUNCTION: u32 = 4;

unsafe extern "C" {
    static __ImageBase: u8;
    /// Null, unless the program defines it.
    static __pfnDliFailureHook2: Option<Hook>;
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryA(name: *const c_char) -> *mut c_void;
    fn GetLastError() -> u32;
    fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
    fn RaiseException(code: u32, flags: u32, count: u32, arguments: *const usize);
}

/// Returns the address of the function for a slot of the import table.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __delayLoadHelper2(dll: &Delayed, slot: *mut *mut c_void) -> *mut c_void {
    // SAFETY: the linker wrote the tables.
    unsafe {
        let base = &raw const __ImageBase;
        let at = |place: u32| base.add(place as usize);
        let known = at(dll.module).cast_mut().cast::<*mut c_void>();
        let index = slot.offset_from(at(dll.addresses).cast::<*mut c_void>());
        let entry = *at(dll.names).cast::<u64>().offset(index);
        let name = match entry >> 63 {
            // A name follows two bytes of a hint.
            0 => at(entry as u32).add(2).cast(),
            _ => (entry & 0xffff) as *const c_char,
        };
        let mut info = Info {
            size: size_of::<Info>() as u32,
            descriptor: dll,
            slot,
            dll: at(dll.name).cast(),
            has_name: (entry >> 63 == 0).into(),
            name,
            module: null_mut(),
            address: null_mut(),
            error: 0,
        };
        if (*known).is_null() {
            *known = LoadLibraryA(info.dll);
        }
        if (*known).is_null() {
            info.error = GetLastError();
            *known = asked(FAIL_LOAD, &info);
        }
        if (*known).is_null() {
            return fail(NO_MODULE, dll);
        }
        info.module = *known;
        let mut function = GetProcAddress(*known, name);
        if function.is_null() {
            function = asked(FAIL_FUNCTION, &info);
        }
        if function.is_null() {
            return fail(NO_FUNCTION, dll);
        }
        *slot = function;
        function
    }
}

/// Calls the program's hook, if it has one.
unsafe fn asked(what: u32, info: &Info) -> *mut c_void {
    // SAFETY: the hook expects this structure.
    unsafe {
        match (&raw const __pfnDliFailureHook2).read_volatile() {
            Some(hook) => hook(what, info),
            None => null_mut(),
        }
    }
}

unsafe fn fail(code: u32, dll: &Delayed) -> *mut c_void {
    let argument = from_ref(dll) as usize;
    // SAFETY: one argument.
    unsafe { RaiseException(code, 0, 1, &argument) };
    null_mut()
}
