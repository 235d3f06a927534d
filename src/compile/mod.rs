//! External compilers.
/// Name of the hidden subcommand that runs NVRTC in a process of its own.
pub const NVRTC_WORKER: &str = "__nvrtc-worker";
