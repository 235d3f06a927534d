//! Base types that all stages share: source files, spans, diagnostics, edits, architectures. Also the functions that
//! safely read files and run programs.

pub mod budget;
pub mod casts;
pub mod chain;
pub mod comparison;
mod descriptors;
pub mod diagnostic;
pub mod diff;
pub mod digest;
pub mod edit;
pub mod files;
pub mod gpu;
pub mod guardian;
pub mod held;
pub mod inert;
pub mod level;
pub mod mangling;
pub mod places;
pub mod process;
pub mod say;
pub mod source;
pub mod stored;
pub mod threads;
pub mod timing;
pub mod version;
pub mod way;
pub mod words;
