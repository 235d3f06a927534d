//! The user's project: its files and packages, its settings, the flags of its builds, and its directives for the lints.

pub mod build_flags;
pub mod config;
pub mod directive;
pub mod discover;
