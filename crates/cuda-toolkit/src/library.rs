//! CUDA's libraries: which headers are whose, and what fetching them takes.

use std::fmt;
use std::str::FromStr;

/// A library whose headers a toolkit for compiling need not have. Kernels rarely use it, but a file that includes its
/// header for host code does not compile without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    Cublas,
    Cufft,
    Curand,
    Cusolver,
    Cusparse,
    Npp,
    Nvjpeg,
    Nvtx,
    ProfilerApi,
}

/// Megabytes of a package that is fetched when a source needs it. A larger one takes time and traffic for a few headers,
/// so that it is only fetched for who asks for it.
const MAX_UNASKED: u64 = 100;

/// What is known of a library.
struct Facts {
    /// The name on the command line.
    key: &'static str,
    /// The name in texts.
    name: &'static str,
    /// A header that every version has.
    main: &'static str,
    /// Starts of the names of its headers.
    starts: &'static [&'static str],
    /// Megabytes to download: the larger of 13.0 and 13.5, on x86-64.
    megabytes: u64,
}

impl Library {
    pub const ALL: [Self; 9] = [
        Self::Cublas,
        Self::Cufft,
        Self::Curand,
        Self::Cusolver,
        Self::Cusparse,
        Self::Npp,
        Self::Nvjpeg,
        Self::Nvtx,
        Self::ProfilerApi,
    ];

    fn facts(self) -> Facts {
        let (key, name, main, starts, megabytes): (_, _, _, &[_], _) = match self {
            Self::Cublas => ("cublas", "cuBLAS", "cublas_v2.h", &["cublas", "nvblas.h"], 445),
            Self::Cufft => ("cufft", "cuFFT", "cufft.h", &["cufft", "cudalibxt.h"], 215),
            Self::Curand => ("curand", "cuRAND", "curand_kernel.h", &["curand"], 77),
            Self::Cusolver => ("cusolver", "cuSOLVER", "cusolverDn.h", &["cusolver"], 260),
            Self::Cusparse => ("cusparse", "cuSPARSE", "cusparse.h", &["cusparse"], 230),
            Self::Npp => ("npp", "NPP", "npp.h", &["npp"], 155),
            Self::Nvjpeg => ("nvjpeg", "nvJPEG", "nvjpeg.h", &["nvjpeg.h"], 4),
            Self::Nvtx => ("nvtx", "NVTX", "nvtx3/nvToolsExt.h", &["nvtx3/"], 1),
            Self::ProfilerApi => {
                ("profiler-api", "the profiler API", "cuda_profiler_api.h", &["cuda_profiler_api.h", "cudaProfiler"], 1)
            }
        };
        Facts { key, name, main, starts, megabytes }
    }

    /// The library that a header of `#include` belongs to.
    pub fn of_header(header: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|library| library.facts().starts.iter().any(|start| header.starts_with(start)))
    }

    /// A header that every version has.
    pub(crate) fn main_header(self) -> &'static str {
        self.facts().main
    }

    /// The name on the command line.
    pub fn key(self) -> &'static str {
        self.facts().key
    }

    /// Megabytes to download for its headers.
    pub fn megabytes(self) -> u64 {
        self.facts().megabytes
    }

    /// Whether it is fetched without being asked for.
    pub fn is_small(self) -> bool {
        self.megabytes() <= MAX_UNASKED
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().name)
    }
}

impl FromStr for Library {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|library| library.key() == text);
        found.ok_or_else(|| format!("there is {}", Self::ALL.map(Self::key).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_known_by_their_names() {
        let of = |header| Library::of_header(header).map(Library::key);
        assert_eq!(of("cublas_v2.h"), Some("cublas"));
        assert_eq!(of("nvtx3/nvtx3.hpp"), Some("nvtx"));
        assert_eq!(of("cuda_profiler_api.h"), Some("profiler-api"));
        assert_eq!(of("cudnn.h"), None);
        for library in Library::ALL {
            assert_eq!(Library::of_header(library.main_header()), Some(library));
            assert_eq!(library.key().parse(), Ok(library));
        }
    }

    #[test]
    fn names_are_those_of_packages() {
        for release in &crate::releases::RELEASES {
            for (library, package) in Library::ALL.iter().zip(&release.libraries) {
                assert!(package.name.ends_with(library.key()), "{library}: {}", package.name);
            }
        }
    }
}
