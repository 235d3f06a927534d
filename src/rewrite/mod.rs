//! Edits that keep private data in registers or in shared memory, found in the syntax tree: for each cause what removes it.
//!
//! An edit is made only where the text shows that it means the same, or what it would change; whether it helps is for `verify`.
//! What is not understood is left alone.

mod by_value;
mod constant_fill;
mod constness;
mod edits;
mod element_copy;
mod for_syntax;
mod function_table;
mod guard;
mod lanes;
mod math;
mod own_members;
mod plain_type;
mod private_array;
mod private_row;
mod private_variable;
mod purity;
mod rotation;
mod select_syntax;
mod selection;
mod sites;

pub use for_syntax::{ForLoop, index_loops};
pub use function_table::{FunctionTable, tables_called_near, tables_with};
pub use guard::Guard;
pub use private_variable::{Columns, PrivateVariable};
pub use rotation::Rotations;
pub use selection::Form;
pub use sites::{DeclarationSite, inline_named};
