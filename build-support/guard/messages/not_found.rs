//! A cuDNN that was not found.
