//! Symbolization: from an access to its source variable.

pub mod affine;
mod alike;
pub mod argument_mapping;
pub mod auto_variables;
pub mod blame;
pub mod byval_copies;
pub mod declared_of;
mod eligible;
mod instances;
pub mod macro_kernel;
mod macro_uses;
pub mod name;
pub mod part;
pub mod pointees;
pub mod resolve;
#[cfg(test)]
mod scene;
pub mod twins;
mod uniform_index;
pub mod votes;
pub mod walk;
