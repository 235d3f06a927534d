//! Reader for fatbins: containers of cubins for several architectures, and of PTX.
//!
//! A container has a header of 16 bytes (`fatBinaryHeader` in CUDA's `fatbinary_section.h`: magic number, version,
//! header size, payload size). Entries follow, each with its own header. NVIDIA does not document the entries. Their
//! fields are known from public readers (gpuocelot, Cricket) and were seen in the output of nvcc 11.5, and of 13.5 with
//! each `--compress-mode`:
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 2 | kind: 1 PTX, 2 cubin |
//! | 4 | 4 | size of this header |
//! | 8 | 8 | size of the payload |
//! | 16 | 4 | size of the compressed content; the rest of the payload is padding |
//! | 28 | 4 | architecture: 90 |
//! | 40 | 8 | flags: 0x2000 compressed with LZ4, 0x8000 with zstd |
//! | 56 | 8 | decompressed size |

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use thiserror::Error;

/// First bytes of a container.
pub const MAGIC: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

const CONTAINER_HEADER: usize = 16;
/// The bytes of an entry's header that are read here.
const ENTRY_HEADER: usize = 64;

const KIND_PTX: u16 = 1;
const KIND_CUBIN: u16 = 2;

const COMPRESSED_LZ4: u64 = 0x2000;
const COMPRESSED_ZSTD: u64 = 0x8000;

/// Limit on the decompressed size of an entry: no larger cubin can be loaded.
const MAX_CONTENT: u64 = 256 << 20;
/// Limit over all entries of a file: a few hundred compressed bytes can ask for gigabytes.
const MAX_CONTENT_OF_ALL: u64 = 1 << 30;
/// Limit on entries (architectures times kinds); no real file has so many.
const MAX_ENTRIES: usize = 4096;

/// Why a file or an entry cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FatbinError {
    #[error("it is no fatbin")]
    Magic,
    #[error("the fatbin ends in the middle of {0}")]
    Truncated(&'static str),
    #[error("the fatbin holds more than {MAX_ENTRIES} entries")]
    TooMany,
    #[error("an entry for sm_{architecture} is of kind {kind}, which is neither PTX nor machine code")]
    Kind { kind: u16, architecture: u32 },
    #[error("an entry for sm_{architecture} cannot be decompressed: {reason}")]
    Compression { architecture: u32, reason: String },
}

/// One cubin or PTX text in the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub architecture: u32,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Ptx(String),
    Cubin(Vec<u8>),
}

/// Reads all entries; an unreadable entry does not hide the others.
///
/// # Errors
/// The bytes are not a fatbin, or are truncated.
pub fn entries(bytes: &[u8]) -> Result<Vec<Result<Entry, FatbinError>>, FatbinError> {
    let mut entries = Vec::new();
    let mut left = MAX_CONTENT_OF_ALL;
    let mut rest = bytes;
    loop {
        rest = of_container(rest, &mut entries, &mut left)?;
        // Linked files have several containers with zero padding between them.
        match rest.iter().position(|byte| *byte != 0) {
            Some(start) => rest = &rest[start..],
            None if entries.is_empty() => return Err(FatbinError::Truncated("its first entry")),
            None => return Ok(entries),
        }
    }
}

/// Reads one container and returns the bytes behind it.
fn of_container<'a>(
    bytes: &'a [u8],
    entries: &mut Vec<Result<Entry, FatbinError>>,
    left: &mut u64,
) -> Result<&'a [u8], FatbinError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(FatbinError::Magic);
    }
    let header = bytes.get(..CONTAINER_HEADER).ok_or(FatbinError::Truncated("its header"))?;
    let start = usize::from(u16::from_le_bytes([header[6], header[7]])).max(CONTAINER_HEADER);
    let end = usize::try_from(number(header, 8)).ok().and_then(|length| start.checked_add(length));
    let (content, rest) = end
        .and_then(|end| Some((bytes.get(start..end)?, bytes.get(end..)?)))
        .ok_or(FatbinError::Truncated("a container"))?;
    of_entries(content, entries, left)?;
    Ok(rest)
}

fn of_entries(
    mut rest: &[u8],
    entries: &mut Vec<Result<Entry, FatbinError>>,
    left: &mut u64,
) -> Result<(), FatbinError> {
    while !rest.is_empty() {
        let truncated = || FatbinError::Truncated("an entry");
        let header = rest.get(..ENTRY_HEADER).ok_or_else(truncated)?;
        let start = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let end = usize::try_from(number(header, 8)).ok().and_then(|length| start.checked_add(length));
        let content = end.and_then(|end| rest.get(start..end)).ok_or_else(truncated)?;
        if entries.len() >= MAX_ENTRIES {
            return Err(FatbinError::TooMany);
        }
        entries.push(entry(header, content, left));
        // The minimum advance ends the loop for an empty entry.
        rest = rest.get((start + content.len()).max(ENTRY_HEADER)..).ok_or_else(truncated)?;
    }
    Ok(())
}

fn entry(header: &[u8], content: &[u8], left: &mut u64) -> Result<Entry, FatbinError> {
    let kind = u16::from_le_bytes([header[0], header[1]]);
    let architecture = number(header, 28) as u32;
    if !matches!(kind, KIND_PTX | KIND_CUBIN) {
        return Err(FatbinError::Kind { kind, architecture });
    }
    let content = decompressed(header, content, left)
        .map_err(|reason| FatbinError::Compression { architecture, reason: reason.to_string() })?;
    let content = match kind {
        KIND_PTX => Content::Ptx(String::from_utf8_lossy(&content).trim_end_matches('\0').to_string()),
        _ => Content::Cubin(content),
    };
    Ok(Entry { architecture, content })
}

fn decompressed(header: &[u8], content: &[u8], left: &mut u64) -> Result<Vec<u8>, String> {
    let flags = number(header, 40);
    let (is_lz4, is_zstd) = (flags & COMPRESSED_LZ4 != 0, flags & COMPRESSED_ZSTD != 0);
    if !(is_lz4 || is_zstd) {
        return Ok(content.to_vec());
    }
    let length = number(header, 56);
    if length > MAX_CONTENT || length > *left {
        return Err(format!("it would have {length} bytes"));
    }
    *left -= length;
    let packed = usize::try_from(number(header, 16) & 0xffff_ffff).ok().and_then(|length| content.get(..length));
    let packed = packed.ok_or("its compressed size is larger than the entry")?;
    let unpacked = if is_lz4 {
        lz4_flex::block::decompress(packed, length as usize).map_err(|error| error.to_string())?
    } else {
        let mut unpacked = Vec::new();
        let decoder = StreamingDecoder::new(packed).map_err(|error| error.to_string())?;
        decoder.take(length + 1).read_to_end(&mut unpacked).map_err(|error| error.to_string())?;
        unpacked
    };
    match unpacked.len() as u64 == length {
        true => Ok(unpacked),
        false => Err(format!("it has {} bytes in place of {length}", unpacked.len())),
    }
}

/// Reads eight bytes at an offset that the header is known to have.
fn number(header: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| header.get(offset + byte).copied().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(kind: u16, flags: u64, packed: &[u8], length: u64) -> Vec<u8> {
        let mut entry = vec![0; ENTRY_HEADER];
        entry[0..2].copy_from_slice(&kind.to_le_bytes());
        entry[4..8].copy_from_slice(&(ENTRY_HEADER as u32).to_le_bytes());
        entry[8..16].copy_from_slice(&(packed.len().next_multiple_of(8) as u64).to_le_bytes());
        entry[16..20].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        entry[28..32].copy_from_slice(&90u32.to_le_bytes());
        entry[40..48].copy_from_slice(&flags.to_le_bytes());
        entry[56..64].copy_from_slice(&length.to_le_bytes());
        entry.extend(packed);
        entry.resize(entry.len().next_multiple_of(8), 0);
        entry
    }

    fn container(entries: &[Vec<u8>]) -> Vec<u8> {
        let content = entries.concat();
        let mut container = MAGIC.to_vec();
        container.extend([1, 0, 16, 0]);
        container.extend((content.len() as u64).to_le_bytes());
        container.extend(content);
        container
    }

    #[test]
    fn entries_may_be_compressed_in_either_way() {
        const TEXT: &[u8] = b".version 9.5\n.target sm_90\n.version 9.5\n.target sm_90\n";
        // The same text as `zstd --no-check -1` and LZ4's block format write it, the latter as one run of literals.
        let lz4: Vec<u8> = [&[0xf0, (TEXT.len() - 15) as u8], TEXT].concat();
        let zstd: Vec<u8> = {
            // A frame with one raw block: magic number, descriptor with a one-byte size, header of the last block.
            let block = ((TEXT.len() as u32) << 3 | 1).to_le_bytes();
            [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, TEXT.len() as u8], &block[..3], TEXT].concat()
        };
        let length = TEXT.len() as u64;
        let bytes = container(&[
            entry_of(KIND_PTX, 0x11, TEXT, 0),
            entry_of(KIND_PTX, COMPRESSED_LZ4, &lz4, length),
            entry_of(KIND_PTX, COMPRESSED_ZSTD, &zstd, length),
            entry_of(KIND_CUBIN, 0x11, b"\x7fELF....", 0),
        ]);
        let found: Vec<Entry> = entries(&bytes).unwrap().into_iter().map(Result::unwrap).collect();
        let text = Content::Ptx(String::from_utf8(TEXT.to_vec()).unwrap());
        assert!(found[..3].iter().all(|entry| entry.content == text && entry.architecture == 90), "{found:?}");
        assert_eq!(found[3].content, Content::Cubin(b"\x7fELF....".to_vec()));
        let twice = [bytes.clone(), vec![0; 8], bytes].concat();
        assert_eq!(entries(&twice).unwrap().len(), 8);
    }

    #[test]
    fn an_entry_that_cannot_be_read_hides_no_other() {
        let bytes = container(&[
            entry_of(16, 0, b"", 0),
            entry_of(KIND_PTX, COMPRESSED_LZ4, b"\xff\xff", 100),
            entry_of(KIND_PTX, COMPRESSED_ZSTD, b"no frame", 100),
            entry_of(KIND_PTX, COMPRESSED_ZSTD, b"no frame", u64::MAX),
            entry_of(KIND_PTX, 0, b"text", 0),
        ]);
        let found = entries(&bytes).unwrap();
        assert_eq!(found[0], Err(FatbinError::Kind { kind: 16, architecture: 90 }));
        assert!(found[1..4].iter().all(|entry| matches!(entry, Err(FatbinError::Compression { .. }))), "{found:?}");
        assert!(found[4].is_ok());
    }

    #[test]
    fn broken_containers_are_errors() {
        let whole = container(&[entry_of(KIND_PTX, 0, b"text", 0)]);
        for length in 4..whole.len() {
            assert!(matches!(entries(&whole[..length]), Err(FatbinError::Truncated(_))), "{length}");
        }
        assert_eq!(entries(b"PK\x03\x04"), Err(FatbinError::Magic));
        let mut cycle = whole;
        cycle[20..24].fill(0);
        cycle[24..32].fill(0);
        assert!(entries(&cycle).is_err());
    }
}
