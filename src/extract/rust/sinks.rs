//! Functions that have CUDA text compiled.

/// A function that takes CUDA text.
#[derive(Debug)]
pub(super) struct Sink {
    /// Its name, whatever path it is called by.
    pub name: &'static str,
    /// The package that defines it. Functions of this name in other packages may do other things.
    pub package: &'static str,
    /// Number of arguments; a function of this name with others is somebody else's.
    pub arguments: usize,
    /// Which argument is the text.
    pub text: usize,
    /// Which argument has the options, and in what form.
    pub options: Option<(usize, Options)>,
}

/// The type that options come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Options {
    /// cudarc's `CompileOptions`.
    Cudarc,
}

/// Signatures from cudarc 0.19.10, `src/nvrtc/safe.rs`.
pub(super) const SINKS: &[Sink] = &[
    Sink { name: "compile_ptx", package: "cudarc", arguments: 1, text: 0, options: None },
    Sink {
        name: "compile_ptx_with_opts",
        package: "cudarc",
        arguments: 2,
        text: 0,
        options: Some((1, Options::Cudarc)),
    },
];

/// Only Rust files with one of these words are looked at.
pub(super) const MARKERS: &[&str] = &["compile_ptx", "__global__"];

pub(super) fn by_name(name: &str) -> Option<&'static Sink> {
    SINKS.iter().find(|sink| sink.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sink_has_a_marker() {
        assert!(SINKS.iter().all(|sink| MARKERS.iter().any(|marker| sink.name.contains(marker))));
    }
}
