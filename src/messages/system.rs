//! Files and programs that could not be read or run.
