//! What a user's project says: its files and packages, its settings, the flags of its builds, the comments for the lints.

pub mod build_flags;
pub mod config;
pub mod directive;
pub mod discover;
