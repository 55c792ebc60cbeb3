#[cfg(feature = "cuda")]
mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

use candle_core::{DType, Device, Result, Tensor};

fn main() -> Result<()> {
    let device = device()?;
    let image = Tensor::ones((1, 1, 8, 8), DType::F32, &device)?;
    let filter = Tensor::ones((1, 1, 3, 3), DType::F32, &device)?;
    let sum = image.conv2d(&filter, 0, 1, 1, 1)?.sum_all()?;
    println!("{}", sum.to_scalar::<f32>()?);
    Ok(())
}

#[cfg(feature = "cuda")]
fn device() -> Result<Device> {
    match gpu::check() {
        Ok(_) => Device::new_cuda(0),
        Err(failure) => {
            eprintln!("{failure}");
            Ok(Device::Cpu)
        }
    }
}

#[cfg(not(feature = "cuda"))]
fn device() -> Result<Device> {
    Ok(Device::Cpu)
}
