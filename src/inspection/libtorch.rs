//! Programs with libtorch whose linker left out its CUDA part, because they call none of its functions.

use crate::inspection::fault::InspectionFault;
use crate::loader::ldso::LoadGraph;
use crate::loader::linkage;
use crate::model::linkage::{LoadPhase, Object};
use crate::runtime::facts::finding::Finding;
use crate::system::files;

pub const CUDA: &str = "libtorch_cuda.so";

/// Returns the finding about a program that does not load the CUDA part, which is beside the CPU part.
pub fn finding(graph: &LoadGraph) -> Option<Finding> {
    let program = graph.objects.first()?;
    let mut objects = graph.objects.iter();
    let cpu = objects.find(|it| it.name == "libtorch_cpu.so")?;
    // Python loads all of libtorch for an extension.
    let is_program = program.linkage.interpreter.is_some() && cpu.need == LoadPhase::Start;
    let cuda = cpu.path.with_file_name(CUDA);
    let is_left_out = is_program && graph.loaded(CUDA).is_none() && files::is_file(&cuda);
    // A file that is not libtorch's may open the part later.
    let mut others = graph.objects.iter();
    let names_cuda =
        |it: &Object| it.path.parent() != cpu.path.parent() && linkage::mentions(&it.path, CUDA);
    if !is_left_out || others.any(names_cuda) {
        return None;
    }
    Some(InspectionFault::WithoutTorchCuda(&program.path, &cuda).finding())
}
