//! Kernel strings in Rust code.
mod literals;
mod marker;
mod scan;
mod sinks;
