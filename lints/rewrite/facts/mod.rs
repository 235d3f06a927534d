//! What several families of rewrites ask of the source.

pub mod constness;
pub mod evaluation;
pub mod plain_type;
pub mod purity;
pub mod sites;
pub mod steady;
pub mod text;
