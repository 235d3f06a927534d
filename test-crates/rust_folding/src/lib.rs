//! Texts that Rust code puts together before it hands them over.

mod handed_out;
mod macros;
mod pieces;
mod tables;
mod types;
