//! The guard, and the file that is generated.
