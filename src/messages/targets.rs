//! Target lists, and the GPUs of this machine.
