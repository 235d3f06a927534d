//! Facts about the source that several rewrites need.

pub mod constness;
pub mod evaluation;
pub mod number;
pub mod plain_type;
pub mod purity;
pub mod sites;
pub mod steady;
pub mod taken;
pub mod text;
