//! The readers of what strangers write, each as a function of bytes that may not panic.
//!
//! The targets beside this crate call them without end; `tests/mutated.rs` calls the same functions for seconds, and with every
//! input that once went wrong (`regressions/`).

pub mod code;
pub mod project;
pub mod sources;

/// A reader, by the name of its target.
pub type Reader = (&'static str, fn(&[u8]));

/// All of them.
pub const READERS: &[Reader] = &[
    ("ptxas_log", code::ptxas_log),
    ("ptx", code::ptx),
    ("ptx_machine", code::ptx_machine),
    ("cubin", code::cubin),
    ("cubin_sections", code::cubin_sections),
    ("line_program", code::line_program),
    ("instructions", code::instructions),
    ("fatbin", code::fatbin),
    ("front_end", sources::front_end),
    ("preprocessed", sources::preprocessed),
    ("cuda", sources::cuda),
    ("directives", sources::directives),
    ("rust", sources::rust),
    ("commands", project::commands),
    ("settings", project::settings),
    ("metadata", project::metadata),
    ("cache_entry", project::cache_entry),
    ("baseline", project::baseline),
    ("nvrtc_record", project::nvrtc_record),
];
