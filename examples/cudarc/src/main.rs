mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

use cudarc::cudnn::{ConvForward, Cudnn, sys};
use cudarc::driver::CudaContext;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    // cudarc panics if it finds no cuDNN, so call the guard first.
    let sum = match gpu::check() {
        Ok(_) => convolve_on_gpu()?,
        Err(failure) => {
            eprintln!("{failure}");
            convolve_on_cpu()
        }
    };
    println!("{sum}");
    Ok(())
}

/// Convolves an 8 x 8 image of ones with a 3 x 3 filter of ones, and returns the sum.
fn convolve_on_gpu() -> Result<f32, Box<dyn Error>> {
    let stream = CudaContext::new(0)?.default_stream();
    let cudnn = Cudnn::new(stream.clone())?;
    let format = sys::cudnnTensorFormat_t::CUDNN_TENSOR_NCHW;
    let mode = sys::cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION;
    let conv = cudnn.create_conv2d::<f32>([0; 2], [1; 2], [1; 2], mode)?;
    let x = cudnn.create_4d_tensor::<f32>(format, [1, 1, 8, 8])?;
    let w = cudnn.create_4d_filter::<f32>(format, [1, 1, 3, 3])?;
    let y = cudnn.create_4d_tensor::<f32>(format, [1, 1, 6, 6])?;
    let forward = ConvForward {
        conv: &conv,
        x: &x,
        w: &w,
        y: &y,
    };

    let image = stream.clone_htod(&[1.0f32; 64])?;
    let filter = stream.clone_htod(&[1.0f32; 9])?;
    let mut output = stream.alloc_zeros::<f32>(36)?;
    let algorithm = forward.pick_algorithm()?;
    let size = forward.get_workspace_size(algorithm)?;
    let mut workspace = stream.alloc_zeros::<u8>(size)?;
    let scale = (1.0, 0.0);
    // SAFETY: the buffers have the sizes that the descriptors state.
    unsafe {
        forward.launch(
            algorithm,
            Some(&mut workspace),
            scale,
            &image,
            &filter,
            &mut output,
        )?
    };
    Ok(stream.clone_dtoh(&output)?.iter().sum())
}

fn convolve_on_cpu() -> f32 {
    let (image, filter) = ([[1.0f32; 8]; 8], [[1.0f32; 3]; 3]);
    (0..6 * 6 * 3 * 3)
        .map(|n| (n / 54, n / 9 % 6, n / 3 % 3, n % 3))
        .map(|(y, x, i, j)| filter[i][j] * image[y + i][x + j])
        .sum()
}
