//! Edits that keep private data in registers or in shared memory, found in the syntax tree: one module for each family of rewrites, with its
//! suggestion beside its edits.
//!
//! An edit is made only where the text shows that it means the same, or what it would change; whether it helps is for `verify`. What is not
//! understood is left alone. `facts` has what several families ask of the source, `edits` the type that all of them give.

pub mod by_value;
pub mod component;
pub mod devirtualize;
mod edits;
pub mod facts;
pub mod inline;
pub mod launch_bounds;
pub mod math;
pub mod memcpy;
pub mod ring_order;
pub mod select;
pub mod shared;
pub mod sroa;
pub mod static_table;
pub mod unroll;

pub use edits::Rewrite;
