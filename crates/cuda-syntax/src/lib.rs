//! CUDA C++ as the user wrote it, matched with what was compiled: syntax trees, declarations, constants, types,
//! launches.

pub mod ast;
pub mod constant;
pub mod identifiers;
pub mod launch;
pub mod tree;
pub mod types;

pub use launch::{Launch, Launches};
pub use tree::example::Example;
pub use tree::syntax_tree::{SyntaxTree, SyntaxTrees, TreeId};
