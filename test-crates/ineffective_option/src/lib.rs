//! Kernels that are compiled at run time, with options that do not do what they say.

pub mod fixed;
pub mod options;
