//! The release of cuDNN that is loaded.
