//! Texts that Rust code puts together before it hands them over.

mod macros;
mod pieces;
mod tables;
mod types;
