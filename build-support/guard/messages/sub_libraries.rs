//! The sub-libraries of cuDNN: missing, mixed or damaged.
