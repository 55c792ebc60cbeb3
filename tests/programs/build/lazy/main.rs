//! The program of the tests of `Link::Lazy`.

use cudnn_guard as _;
#[cfg(unix)]
use std::ffi::{c_char, c_void};
use std::ffi::{c_double, c_float, c_int, c_long};

#[repr(C)]
struct Triple(c_long, c_long, c_long);

unsafe extern "C-unwind" {
    #[rustfmt::skip]
    fn curandSum(
        a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long, g: c_long, h: c_long, i: c_long, j: c_long,
        k: c_long, l: c_long, m: c_long, n: c_long, o: c_long, p: c_long,
    ) -> c_long;
    #[rustfmt::skip]
    fn curandMixed(
        a: c_int, b: c_double, c: c_double, d: c_float, e: c_double, f: c_long, g: c_double, h: c_double, i: c_double,
        j: c_double, k: c_double, l: c_float,
    ) -> c_double;
    fn curandTriple(first: c_long) -> Triple;
    fn curandVector(numbers: *const c_double, count: c_int) -> c_double;
    fn curandCallback(function: extern "C-unwind" fn(c_int) -> c_int, number: c_int) -> c_int;
    fn curandCount() -> c_int;
}
unsafe extern "C" {
    fn curandVariadic(count: c_int, ...) -> c_double;
}
#[cfg(unix)]
unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
}

extern "C-unwind" fn doubled(number: c_int) -> c_int {
    2 * number
}

extern "C-unwind" fn panics(_: c_int) -> c_int {
    std::panic::resume_unwind(Box::new(()))
}

fn count() -> c_int {
    unsafe { curandCount() }
}

fn arguments() {
    let Triple(a, b, c) = unsafe {
        println!("sum {}", curandSum(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
        let mixed = curandMixed(1, 1.0, 2.0, 0.5, 1.0, 2, 3.0, 4.0, 5.0, 6.0, 7.0, 0.125);
        println!("mixed {mixed}");
        curandTriple(7)
    };
    println!("triple {a} {b} {c}");
    println!("variadic {}", unsafe { curandVariadic(3, 1.0, 2.0, 3.5) });
    let numbers = [10.0, 100.0];
    println!("vector {}", unsafe { curandVector(numbers.as_ptr(), 2) });
    println!("callback {}", unsafe { curandCallback(doubled, 21) });
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("arguments") => {
            arguments();
            arguments();
        }
        Some("threads") => {
            let barrier = std::sync::Barrier::new(16);
            std::thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| {
                        barrier.wait();
                        for _ in 0..100 {
                            count();
                        }
                    });
                }
            });
            println!("16 threads, {} calls", count() - 1);
        }
        #[cfg(unix)]
        Some("fork") => {
            count();
            let child = unsafe { fork() };
            if child == 0 {
                println!("child {}", count());
                return;
            }
            unsafe { waitpid(child, &mut 0, 0) };
            println!("parent {}", count());
        }
        Some("panic") => {
            let caught = std::panic::catch_unwind(|| unsafe { curandCallback(panics, 1) });
            assert!(caught.is_err());
            println!("caught a panic in the callback");
        }
        #[cfg(unix)]
        Some("close") => {
            let first = count();
            unsafe {
                let handle = dlopen(c"libcurand.so.99".as_ptr(), 1);
                assert!(!handle.is_null());
                dlclose(handle);
            }
            println!("{first} {}", count());
        }
        Some("handler") => {
            cudnn_guard::runtime::on_missing(|finding| {
                println!("{}: {}", finding.id, finding.summary);
                std::process::exit(3);
            });
            count();
        }
        Some("handler-panics") => {
            cudnn_guard::runtime::on_missing(|_| std::panic::resume_unwind(Box::new(())));
            count();
        }
        Some("handler-calls") => {
            cudnn_guard::runtime::on_missing(|_| {
                count();
            });
            arguments();
        }
        _ => {}
    }
}
