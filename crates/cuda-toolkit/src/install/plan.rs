//! The packages for one installer call, with exact versions and checksums.

use lmem_base::version::VersionRequest;

use super::TOOLKIT_MEGABYTES;
use crate::releases::{self, Package, Release};
use crate::{Component, ToolkitError};

/// The packages for one installer call.
#[derive(Debug)]
pub(super) struct Plan {
    /// "CUDA 13.5.37".
    pub(super) what: String,
    /// The version, known in advance if the release is in the table.
    pub(super) number: Option<String>,
    /// Text of the requirements file.
    pub(super) requirements: String,
    /// Whether the requirements have checksums.
    pub(super) verified: bool,
    /// Megabytes to download and on disk, if known.
    pub(super) megabytes: Option<(u64, u64)>,
}

impl Plan {
    pub(super) fn of_toolkit(wanted: Option<VersionRequest>) -> Result<Self, ToolkitError> {
        let Some(wanted) = wanted else { return Ok(Self::of_release(releases::newest())) };
        match releases::find(&wanted) {
            Some(release) => Ok(Self::of_release(release)),
            None if wanted.major < 13 => Err(ToolkitError::NotPublished(wanted)),
            None => Ok(Self::of_unknown(wanted)),
        }
    }

    pub(super) fn of_release(release: &Release) -> Self {
        Self {
            what: format!("CUDA {}", release.number),
            number: Some(release.number.to_owned()),
            requirements: requirements(&release.packages),
            verified: true,
            megabytes: Some(TOOLKIT_MEGABYTES),
        }
    }

    pub(super) fn of_component(part: Component, package: &Package) -> Self {
        Self {
            what: format!("{part} ({} {})", package.name, package.version),
            number: Some(package.version.to_owned()),
            requirements: requirements(std::slice::from_ref(package)),
            verified: true,
            megabytes: None,
        }
    }

    /// A release that is not in the table. All compilers of a release have the same version; its other packages may
    /// differ, and cccl has its own versions. The newest cccl supports every toolkit of its major version.
    pub(super) fn of_unknown(wanted: VersionRequest) -> Self {
        let exact = if wanted.build.is_some() { wanted.to_string() } else { format!("{wanted}.*") };
        let minor = format!("{}.*", VersionRequest { build: None, ..wanted });
        let major = format!("{}.*", wanted.major);
        let version = |package: &Package| match package.name {
            "nvidia-cuda-cccl" => major.clone(),
            "nvidia-cuda-nvcc" | "nvidia-nvvm" | "nvidia-cuda-crt" => exact.clone(),
            _ => minor.clone(),
        };
        let lines =
            releases::newest().packages.iter().map(|package| format!("{}=={}\n", package.name, version(package)));
        Self {
            what: format!("CUDA {wanted}"),
            number: None,
            requirements: lines.collect(),
            verified: false,
            megabytes: Some(TOOLKIT_MEGABYTES),
        }
    }
}

pub(super) fn requirements(packages: &[Package]) -> String {
    packages.iter().map(|package| package.requirement(std::env::consts::ARCH) + "\n").collect()
}
