//! From an access to the variable that it means.

pub mod behind;
pub mod copies;
pub mod derived;
pub mod macro_kernel;
pub mod mark;
pub mod name;
pub mod part;
pub mod passed;
pub mod passed_by;
pub mod resolve;
pub mod twins;
pub mod votes;
pub mod walk;
