#![doc = include_str!("README.md")]

// In the order in which data flows.
pub mod cli;
pub mod source;
pub mod toolkit;
pub mod extract;
pub mod compile;
pub mod read;
pub mod attribute;
pub mod lint;
#[path = "../lints/mod.rs"]
mod lints;
pub mod diagnostic;
pub mod report;
