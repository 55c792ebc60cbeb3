//! What `fetch` could not do.
