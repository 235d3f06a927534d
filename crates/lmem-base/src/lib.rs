//! The nouns that all stages share: source files and spans, diagnostics and edits, architectures, and the few functions that
//! touch the world with care.

pub mod budget;
pub mod casts;
pub mod diagnostic;
pub mod digest;
pub mod edit;
pub mod files;
pub mod gpu;
pub mod level;
pub mod mangling;
pub mod places;
pub mod process;
pub mod say;
pub mod source;
pub mod stored;
pub mod version;
pub mod words;
