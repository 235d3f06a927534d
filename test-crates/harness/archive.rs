//! The compiler outputs for a test crate in one file: `recorded/artifacts.tar.xz`.
//!
//! The outputs of a kernel for two architectures share most of their text, so together they take an eighth of their
//! size as separate files. The archive is sorted and has neither times nor owners: equal artifacts give equal bytes,
//! and unchanged ones do not show in a commit. `tar -xJf artifacts.tar.xz` unpacks it.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;

use lzma_rust2::{XzOptions, XzReader, XzWriter};

/// Contents by name: `13.5-sm_90/kernels/scan.cu.ptx`.
pub type Files = BTreeMap<String, Vec<u8>>;

const NAME: &str = "artifacts.tar.xz";

/// Preset of `xz`; higher presets hardly make the archives smaller.
const PRESET: u32 = 6;

pub fn read(folder: &Path) -> io::Result<Files> {
    let packed = fs_err::read(folder.join(NAME))?;
    let mut archive = tar::Archive::new(XzReader::new(packed.as_slice(), false));
    let mut files = Files::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.insert(name, bytes);
    }
    Ok(files)
}

pub fn write(folder: &Path, files: &Files) -> io::Result<()> {
    fs_err::create_dir_all(folder)?;
    fs_err::write(folder.join(NAME), packed(files)?)
}

fn packed(files: &Files) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(XzWriter::new(Vec::new(), XzOptions::with_preset(PRESET))?);
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes.as_slice())?;
    }
    let mut packed = archive.into_inner()?;
    packed.flush()?;
    packed.finish()
}
