//! Linking, and programs that will not find their libraries.
