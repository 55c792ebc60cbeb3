//! A convolution that failed, or was not possible.
