//! Lines of the source and of the PTX that instructions of the machine code are parts of.

use std::sync::Arc;

use lmem_base::chain::Chain;

/// The instruction that computed a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub ptx_line: Option<u32>,
    pub source: SourceLines,
}

/// A source line, with the file name as the compiler gives it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    pub file: Arc<str>,
    pub line: u32,
}

/// Source lines of an inline chain, innermost first.
pub type SourceLines = Chain<SourceLine>;
