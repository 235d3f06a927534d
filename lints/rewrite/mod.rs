//! Edits that keep private data in registers or in shared memory, found in the syntax tree. Each module is one family
//! of rewrites, with its suggestion next to its edits.
//!
//! An edit is made only if the text shows that it keeps the meaning, or what it would change. Whether it helps is
//! decided by `verify`. Code that is not understood is left unchanged. `facts` has facts about the source that several
//! families need; `edits` has the result type of all of them.

pub mod bits;
pub mod by_reference;
pub mod by_value;
pub mod component;
pub mod constant_tables;
pub mod devirtualize;
mod edits;
pub mod exchange;
pub mod facts;
pub mod found_value;
pub mod in_place;
pub mod index_table;
pub mod inline;
pub mod insertion;
pub mod launch_bounds;
pub mod math;
pub mod memcpy;
pub mod ring_order;
pub mod select;
pub mod shared;
pub mod sroa;
pub mod static_table;
pub mod unroll;
pub mod untried;

pub use edits::Rewrite;
