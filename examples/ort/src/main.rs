mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

use ort::session::Session;
use ort::value::Tensor;

/// A model with one operation, `y = relu(x)`, for eight numbers.
const MODEL: &[u8] = b"\x08\x08:3\n\x0c\n\x01x\x12\x01y\"\x04Relu\x12\x01gZ\x0f\n\x01x\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x08\
    b\x0f\n\x01y\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x08B\x04\n\x00\x10\r";

fn main() -> ort::Result<()> {
    gpu::startup();
    // If the provider cannot be loaded, onnxruntime silently uses the CPU.
    let cuda = ort::ep::CUDA::default().build();
    let environment = ort::init().with_execution_providers([cuda]).build()?;
    let mut session = Session::builder(&environment)?.commit_from_memory(MODEL)?;
    let x = Tensor::from_array(([8], vec![-1.0f32, 1.0, -2.0, 2.0, -3.0, 3.0, -4.0, 4.0]))?;
    let outputs = session.run(ort::inputs!["x" => x])?;
    let (_, y) = outputs["y"].try_extract_tensor::<f32>()?;
    println!("{y:?}");
    Ok(())
}
