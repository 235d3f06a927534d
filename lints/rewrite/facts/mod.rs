//! Facts about the source that several rewrites need.

pub mod accessed;
pub mod assembly;
pub mod callees;
pub mod classes;
pub mod constness;
pub mod destruction;
pub mod evaluation;
pub mod getter;
pub mod integers;
pub mod linkage;
pub mod named_type;
pub mod narrowing;
pub mod number;
pub mod operators;
pub mod outer;
pub mod plain_type;
pub mod purity;
pub mod sites;
pub mod sole;
pub mod steady;
pub mod taken;
pub mod text;
pub mod typed_use;
pub mod unseen;
pub mod unwritten;
