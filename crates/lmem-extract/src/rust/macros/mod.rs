//! `macro_rules!`: Rust code as it is once the macros in it that have to do with kernels are expanded.
//!
//! The calls of such macros are replaced by what they stand for, as text: all that comes after this reads it as it reads
//! any code, and [`Places`] leads from each byte back to where it was written, in the definition or in the call. A macro
//! that is not understood stays as it is, and is said to be.

mod definition;
mod expand;
mod matching;
pub mod places;
mod transcribe;
pub mod workspace;

#[cfg(test)]
mod tests;
