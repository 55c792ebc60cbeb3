//! GPUs, kernels, PTX and driver releases that do not go together.
