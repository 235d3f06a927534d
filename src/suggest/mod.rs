//! Edits that several lints offer.

mod shared_slice;

pub(crate) use shared_slice::keep_in_shared_memory;
