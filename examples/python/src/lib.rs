mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

unsafe extern "C" {
    fn cudnnGetVersion() -> usize;
}

#[pyo3::pymodule]
mod fastconv {
    use crate::gpu::{self, Verdict};
    use pyo3::{exceptions::PyRuntimeError, prelude::*};

    #[pyfunction]
    fn version() -> usize {
        // SAFETY: the function has no arguments and can be called at any time.
        unsafe { super::cudnnGetVersion() }
    }

    /// Returns a report as JSON. Raises an exception if cuDNN is incompatible.
    #[pyfunction]
    fn check() -> PyResult<String> {
        match gpu::check() {
            Ok(report) => Ok(report.to_json()),
            Err(failure) if failure.verdict() == Verdict::Unknown => Ok(failure.to_json()),
            Err(failure) => Err(PyRuntimeError::new_err(failure.to_string())),
        }
    }
}
