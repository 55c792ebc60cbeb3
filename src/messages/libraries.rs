//! Libraries that the loader will not find, or finds twice.
