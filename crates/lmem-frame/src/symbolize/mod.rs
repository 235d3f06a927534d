//! From an access to the variable that it means.

pub mod copies;
pub mod derived;
pub mod macro_kernel;
pub mod mark;
pub mod name;
pub mod passed;
pub mod passed_by;
pub mod resolve;
pub mod walk;
