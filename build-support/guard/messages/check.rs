//! What the steps of a check found: a cuDNN that does not go with the program, or a step that was not possible.
