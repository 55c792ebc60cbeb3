//! The second run of a compilation that ended without an error message.

use crate::kernels::job::{Job, JobOutput};
use crate::kernels::nvcc::death::Death;
use crate::kernels::nvcc::diagnostics::ToolFailure;
use crate::kernels::nvcc::wrapper::is_compiler_cache;
use crate::kernels::setup::Setup;
use crate::runtime::facts::Finding;
use crate::system::memory;

/// Runs a job again after all others have finished, because such a death is usually caused by a lack of memory.
pub fn retry(first: &Death, job: &Job, setup: &Setup) -> Result<JobOutput, Finding> {
    let available = memory::available();
    match job.make(setup, 1)? {
        Ok(mut output) => {
            let fault = ToolFailure::Died(&job.source, first, None);
            output.warnings += &format!("\n\n{}\n", fault.finding());
            Ok(output)
        }
        Err(mut second) => {
            second.available = available;
            let nvcc = &*setup.plan.nvcc;
            let cache = (second.signal.is_none() && is_compiler_cache(nvcc)).then_some(nvcc);
            Err(ToolFailure::Died(&job.source, first, Some((&second, cache))).finding())
        }
    }
}
