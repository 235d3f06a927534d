//! Every byte of a stack frame to a variable and a line.

pub mod flow;
pub mod loops;
