//! The GPU code of the libraries that a program loads.

use crate::cudnn::device_code;
use crate::inspection::InspectionFault;
use crate::model::{Object, Os};
use crate::runtime::driver::Device;
use crate::runtime::facts::{Finding, Target};
use crate::runtime::loader::file_name;
use crate::runtime::system::path_cache;
use std::path::Path;

/// Returns the finding about files without code for the GPU on which programs compute, the first, and the doubts about
/// files without such code or that cannot be read. Most files contain no code, but `provider` must. Which GPUs a cuDNN
/// supports is known by its version.
pub fn check(
    objects: &[Object],
    provider: Option<&Path>,
    os: Os,
    gpus: &[Device],
) -> (Option<Finding>, Vec<String>) {
    let (mut lacking, mut doubts) = (Vec::new(), Vec::new());
    let Some(gpu) = gpus.first() else {
        return (None, doubts);
    };
    let runs = |codes: &[Target]| codes.iter().any(|code| code.runs_on(gpu.capability));
    let is_judged = |one: &&Object| one.defect.is_none() && file_name::parse(&one.path).is_none();
    for object in objects.iter().filter(is_judged) {
        let path = &*object.path;
        // The code of cuFFT is among its data.
        let is_cudas = object.name.trim_start_matches("lib").starts_with("cu");
        let read = || match device_code::read_library(path, os) {
            Some(codes) if (is_cudas || !codes.is_empty()) && !runs(&codes) => {
                device_code::search_file(path, os, &runs)
            }
            codes => codes,
        };
        // All programs of an inspection have the same GPU.
        match path_cache::once("device code", path, read) {
            None => doubts.push(format!("the GPU code in `{}` was not read", path.display())),
            Some(codes) if codes.is_empty() && provider != Some(path) || runs(&codes) => {}
            Some(codes) => lacking.push((path, codes)),
        }
    }
    if let Some((path, _)) = lacking.first() {
        let path = path.display();
        doubts.push(format!("no code for this GPU was found in `{path}`"));
    }
    lacking.retain(|(_, codes)| !codes.is_empty());
    let fault = |(first, others)| InspectionFault::NoGpuCode(first, others, gpu).finding();
    (lacking.split_first().map(fault), doubts)
}
