//! Finding, checking and installing a CUDA toolkit.

use std::path::PathBuf;

/// A version such as 13.5; the third number of a release does not matter to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

/// A folder with NVIDIA's compilers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    /// The folder that holds `bin`, `include` and `lib`.
    pub root: PathBuf,
    pub version: Version,
    /// `None` where the toolkit has ptxas alone, as NVIDIA's 12.x wheels.
    pub nvcc: Option<PathBuf>,
    pub ptxas: PathBuf,
    /// `libnvrtc.so.N`, for kernel strings.
    pub nvrtc: Option<PathBuf>,
    /// Where the toolkit was found, as `-v` says it: "`CUDA_HOME`", "managed".
    pub found: String,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
