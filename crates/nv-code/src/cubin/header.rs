//! Facts about a cubin as a whole: its architecture, the toolkit that produced it, and the embedded PTX.
//!
//! Two layouts of the ELF header are in use. Up to CUDA 12.8, and in 12.9 for all but new architectures, the ABI
//! version (`e_ident[8]`) is 7. There the low byte of `e_flags` is the architecture, and `e_version` is the toolkit
//! (124 for 12.4). From ABI version 8 on, the architecture is the second byte, and the note `.note.nv.tkinfo` names
//! ptxas and its options. LLVM's `BinaryFormat/ELF.h` has the flags of both (`EF_CUDA_SM`, `EF_CUDA_SM_MASK`); seen
//! with ptxas 11.5 to 13.5.

use object::read::elf::{FileHeader, SectionHeader};

use lmem_base::gpu::Arch;
use lmem_base::version::Version;

use crate::cubin::{CubinError, Reader};

/// First ABI version with the architecture in the second byte of `e_flags`.
const ABI_WITH_NOTES: u8 = 8;

/// A section that only debug builds (`-G`) have.
const DEBUG_INFO: &str = ".debug_info";

/// The PTX, present with `-lineinfo` or `-G`. Lines end with a NUL byte; comments and `.loc` directives are left out.
/// With `-rdc` a number follows the section name.
const PTX_TEXT: &str = ".nv_debug_ptx_txt";

/// The facts that header, notes and debug sections give.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CubinHeader {
    /// `sm_90a`
    pub architecture: String,
    /// The toolkit that produced the cubin, if the header or a note names it.
    pub toolkit: Option<Version>,
    /// Compiled with `-G`.
    pub is_debug: bool,
    /// The embedded PTX. Its lines are numbered as `.nv_debug_line_sass` counts them; it has no source locations.
    pub ptx: Option<String>,
}

impl CubinHeader {
    pub fn arch(&self) -> Arch {
        Arch::of(&self.architecture)
    }

    /// Reads the header, the notes and the embedded PTX; neither code nor tables.
    ///
    /// # Errors
    /// The bytes are not a cubin.
    pub fn parse(bytes: &[u8]) -> Result<Self, CubinError> {
        let reader = Reader::new(bytes)?;
        let flags = reader.header.e_flags(reader.endian).0;
        let has_notes = reader.header.e_ident().abi_version >= ABI_WITH_NOTES;
        let number = if has_notes { (flags >> 8) & 0xff } else { flags & 0xff };
        let note = reader.section_data(".note.nv.tkinfo")?.map(|(_, data)| String::from_utf8_lossy(data).into_owned());
        let toolkit = match &note {
            Some(note) => toolkit_of(note),
            None => version_of(reader.header.e_version(reader.endian)),
        };
        let asked_for = note.as_deref().and_then(|note| architecture_of(note, number));
        let ptx = ptx_section(&reader)?.map(ptx_of);
        Ok(Self {
            architecture: asked_for.unwrap_or_else(|| format!("sm_{number}")),
            toolkit,
            is_debug: reader.section_data(DEBUG_INFO)?.is_some(),
            ptx,
        })
    }
}

/// The number of bytes that a cubin at the start of some bytes takes: the end of what its headers name.
///
/// # Errors
/// The bytes do not start with a cubin.
pub fn length(bytes: &[u8]) -> Result<usize, CubinError> {
    let reader = Reader::new(bytes)?;
    let (header, endian) = (reader.header, reader.endian);
    let table = |start: u64, count: u64, size: u16| start.saturating_add(count.saturating_mul(u64::from(size)));
    let sections = table(header.e_shoff(endian), reader.sections.len() as u64, header.e_shentsize(endian));
    let segments = table(header.e_phoff(endian), u64::from(header.e_phnum(endian)), header.e_phentsize(endian));
    let ranges = reader.sections.iter().filter_map(|section| section.file_range(endian));
    let ends = ranges.map(|(start, size)| start.saturating_add(size));
    let end = ends.fold(sections.max(segments), u64::max);
    Ok(usize::try_from(end).map_or(bytes.len(), |end| end.min(bytes.len())))
}

/// The PTX section, if there is exactly one. A cubin linked from several units has several, which are not told apart.
fn ptx_section<'a>(reader: &Reader<'a>) -> Result<Option<&'a [u8]>, CubinError> {
    let mut found = None;
    for section in reader.sections.iter() {
        let name = reader.sections.section_name(reader.endian, section)?;
        let number = name.strip_prefix(PTX_TEXT.as_bytes()).map(|rest| rest.strip_prefix(b".").unwrap_or(rest));
        if number.is_some_and(|number| number.iter().all(u8::is_ascii_digit)) {
            match found {
                None => found = Some(section.data(reader.endian, reader.bytes)?),
                Some(_) => return Ok(None),
            }
        }
    }
    Ok(found)
}

/// `Cuda compilation tools, release 13.5, V13.5.37`
fn toolkit_of(note: &str) -> Option<Version> {
    let (_, rest) = note.split_once("release ")?;
    rest.split(',').next()?.parse().ok()
}

/// Decodes 124 as 12.4.
fn version_of(number: u32) -> Option<Version> {
    (100..1000).contains(&number).then_some(Version { major: number / 10, minor: number % 10 })
}

/// The architecture with its suffix, from `-arch sm_90a` among ptxas's options: `e_flags` have only the number.
fn architecture_of(note: &str, number: u32) -> Option<String> {
    let (_, rest) = note.split_once("-arch ")?;
    let name: &str = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    let letter = name.strip_prefix(&format!("sm_{number}"))?;
    letter.bytes().all(|byte| byte.is_ascii_lowercase()).then(|| name.to_string())
}

fn ptx_of(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace('\0', "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "\u{c}\0\0NVIDIA Corp\0ptxas\0Cuda compilation tools, release 13.5, V13.5.37\0\
                        Build cuda_13.5.r13.5/compiler.39125733_0\0-v  -arch sm_90a -m 64 \0\0";

    #[test]
    fn notes_name_toolkit_and_architecture() {
        assert_eq!(toolkit_of(NOTE), Some(Version { major: 13, minor: 5 }));
        assert_eq!(architecture_of(NOTE, 90).as_deref(), Some("sm_90a"));
        assert_eq!(architecture_of(NOTE, 80), None);
        assert_eq!((toolkit_of("release x"), architecture_of("-arch sm_90-", 9)), (None, None));
    }

    #[test]
    fn older_cubins_have_the_version_of_their_toolkit() {
        assert_eq!(version_of(124), Some(Version { major: 12, minor: 4 }));
        assert_eq!(version_of(1), None);
    }

    #[test]
    fn lines_of_the_ptx_end_with_a_zero() {
        assert_eq!(ptx_of(b"\0.version 9.5\0ret;\0"), "\n.version 9.5\nret;\n");
    }
}
