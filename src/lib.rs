#![doc = include_str!("README.md")]

// In the order in which data flows; the last ones run the others.
pub mod as_compiled;
pub mod attribute;
pub mod build_flags;
pub mod cache;
pub mod check;
pub mod cli;
pub mod compile;
pub mod config;
pub mod constant;
pub mod diagnostic;
pub mod directive;
pub mod discover;
pub mod edit;
pub mod extract;
pub mod files;
pub mod fix;
pub mod gpu;
pub mod lint;
#[path = "../lints/mod.rs"]
mod lints;
pub mod places;
pub mod process;
pub mod read;
pub mod remark;
pub mod report;
mod rewrite;
pub mod run;
pub mod sandbox;
pub mod say;
pub mod source;
mod suggest;
pub mod toolkit;
pub mod verify;
