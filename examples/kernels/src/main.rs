use std::process::ExitCode;

mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

unsafe extern "C" {
    fn add(a: *const f32, b: *const f32, sum: *mut f32, count: i32) -> i32;
}

fn main() -> ExitCode {
    gpu::startup();
    let (a, b, mut sum) = ([1.0; 4], [2.0; 4], [0.0; 4]);
    // SAFETY: each array has four elements.
    match unsafe { add(a.as_ptr(), b.as_ptr(), sum.as_mut_ptr(), 4) } {
        0 => println!("{sum:?}"),
        error => {
            eprintln!("CUDA error {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
