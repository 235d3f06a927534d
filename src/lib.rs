#![doc = include_str!("README.md")]

// In the order in which data flows.
pub mod cli;
pub mod compile;
pub mod read;
pub mod attribute;
pub mod diagnostic;
pub mod extract;
pub mod report;
pub mod source;
pub mod toolkit;
