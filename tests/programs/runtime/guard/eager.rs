//! A cudarc that looks up more functions than the driver has. This test program contains one, as a real program would.

use super::program::run;
use crate::support::installation::{Folder, compile};

// The strings that such a cudarc leaves in a program, in which the guard searches for them.
#[used]
static PANIC: [u8; 26] = *b"Expected symbol in library";
#[used]
static NAME: [u8; 15] = *b"\0cuLogsCurrent\0";

/// `Expected symbol in library: DlSym { desc: "libcuda.so.1: undefined symbol: cuLogsCurrent" }`
#[test]
fn a_cudarc_that_will_panic_with_this_driver_is_reported() {
    let cudnn = Folder::new().with_cudnn("9.14.0");
    let machine = |name: &str, functions: &str| {
        let path = cudnn.file(name);
        compile(functions, &path, &[]);
        path
    };
    let (init, logs) = ("int cuInit(void) { return 0; }", "int cuLogsCurrent;");
    let older = machine("older.so", init);
    let newer = machine("newer.so", &format!("{init} {logs}"));
    let silent = machine("silent.so", "int other;");
    let check = |task: &str, driver: &std::path::Path, cuda: &str, loader: &str| {
        let driver = ("TEST_DRIVER", driver.to_str().unwrap());
        let gpu = ("TEST_GPU", "90");
        run(
            task,
            &cudnn.0,
            &[gpu, driver, ("TEST_CUDA", cuda), (loader, "1")],
        )
    };
    check("startup", &older, "13000", "TEST_CUDARC").must_stop(&format!(
            "\
the cudarc in this program will panic when it first uses the driver: it looks up cuLogsCurrent, which is missing from `{}`  [driver-too-old]
  = help: update NVIDIA's driver
  = help: build the program with the `cuda-` feature of cudarc for the CUDA version that `nvidia-smi` shows
  = help: build the program with cudarc 0.19.5 or later, which looks up only the functions that are called
  built for   CUDA 12.9
",
            older.display()
    ));
    // The function exists; the driver's functions are unknown; the program does not use cudarc; the driver is newer
    // than any such cudarc.
    for (driver, cuda, loader) in [
        (&newer, "13000", "TEST_CUDARC"),
        (&silent, "13000", "TEST_CUDARC"),
        (&older, "13000", "TEST_DLOPEN"),
        (&older, "13020", "TEST_CUDARC"),
    ] {
        check("check", driver, cuda, loader).must_be("pass", &[]);
    }
}
