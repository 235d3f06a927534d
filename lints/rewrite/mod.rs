//! Edits that keep private data in registers or in shared memory, found in the syntax tree: for each cause what removes it.
//!
//! An edit is made only where the text shows that it means the same, or what it would change; whether it helps is for `verify`.
//! What is not understood is left alone.

pub mod by_value;
pub mod constant_fill;
mod constness;

pub mod element_copy;
pub mod for_syntax;
pub mod function_table;
pub mod guard;
pub mod lanes;
pub mod math;
pub mod own_members;
mod plain_type;
mod private_array;
mod private_row;
pub mod private_variable;
mod purity;
pub mod rotation;
mod select_syntax;
pub mod selection;
pub mod sites;

pub use for_syntax::{ForLoop, index_loops};
pub use function_table::{tables_called_near, tables_with};
pub use guard::Guard;
pub use sites::inline_named;
