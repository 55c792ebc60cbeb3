//! Releases of the toolkit, cuDNN, driver and host compiler that do not go together.
