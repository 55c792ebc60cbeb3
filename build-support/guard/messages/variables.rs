//! The variables of the guard, and the report file.
