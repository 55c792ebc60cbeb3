//! What happened in the child process.
