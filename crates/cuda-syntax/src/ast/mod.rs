//! Typed nodes of a syntax tree.
//!
//! `tree-sitter` identifies node kinds and fields by strings: a name with a typo compiles and matches nothing. [`Kind`]
//! and [`Field`] spell each name once, and a test compares them with the grammar. [`Node`] has no method that takes a
//! string, so no other module can spell a name. The typed nodes ([`Call`], [`Subscript`], …) have one method for each
//! part of their kind.
//!
//! Parts are optional: the parser leaves them out where the text has errors, or where a macro replaces syntax.

mod kind;
mod node;
mod nodes;
mod typed;

pub(crate) use self::kind::language;
pub use self::kind::{Field, Kind};
pub use self::node::Node;
pub use self::nodes::Nodes;
pub use self::typed::{
    Assignment, Binary, Branch, Call, Cast, Conditional, For, Function, Initialized, Member, Pointer, Subscript, Update,
};
