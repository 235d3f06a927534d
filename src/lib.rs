#![doc = include_str!("README.md")]

// In the order in which data flows.
pub mod cli;
pub mod compile;
pub mod config;
pub mod diagnostic;
pub mod directive;
pub mod discover;
pub mod extract;
pub mod source;
pub mod toolkit;
