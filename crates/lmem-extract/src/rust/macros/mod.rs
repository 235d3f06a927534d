//! `macro_rules!`: expands the macros that have to do with kernels.
//!
//! Calls of such macros are replaced by their expansion as text, so all later steps read ordinary code. [`Places`] maps
//! each byte back to its position in the definition or in the call. A macro that is not understood is left unexpanded
//! and reported.

mod definition;
mod expand;
mod matching;
pub mod places;
mod transcribe;
pub mod workspace;

#[cfg(test)]
mod tests;
