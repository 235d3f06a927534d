#![doc = include_str!("README.md")]

// In the order of the data flow; the last modules run the others.
pub mod cache;
pub mod check;
pub mod cli;
pub mod compile;
pub mod explain;
pub mod fix;
pub mod gate;
pub mod git;
pub mod in_force;
pub mod init;
pub mod lsp;
pub mod measure;
pub mod report;
pub mod run;
pub mod sandbox;
pub mod verify;
pub mod version;
pub mod with_check;
