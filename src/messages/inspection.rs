//! What keeps a program from running.
