//! Typed nodes of a syntax tree.
//!
//! `tree-sitter` tells nodes and their parts apart by strings, so that a name with a typo compiles and matches nothing. [`Kind`] and [`Field`]
//! spell each name once, and a test holds them against the grammar. [`Node`] has no method that takes a string, so that nothing else can be
//! written elsewhere. The typed nodes ([`Call`], [`Subscript`], …) have methods for the parts of one kind of node.
//!
//! Parts are optional: where the text has errors, or a macro stands in place of syntax, the parser leaves them out.

mod kind;
mod node;
mod typed;

pub(crate) use self::kind::language;
pub use self::kind::{Field, Kind};
pub use self::node::Node;
pub use self::typed::{
    Assignment, Binary, Branch, Call, Cast, Conditional, For, Function, Initialized, Member, Pointer, Subscript, Update,
};
