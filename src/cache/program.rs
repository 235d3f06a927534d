//! Which build of this program runs: another one may derive another result from the same inputs.

use std::fs::File;
use std::io::Read as _;

use object::NativeEndian;
use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::{FileHeader, ProgramHeader};

/// The program that runs, even where another one has its name by now.
const RUNNING: &str = "/proc/self/exe";

/// Program headers and notes come first in a file.
const HEAD_BYTES: u64 = 64 << 10;

/// Linkers hash all that they write, to 20 bytes, if nothing else is asked of them. What is shorter is no such hash.
const MIN_ID_BYTES: usize = 16;

/// The hash that the linker wrote into the program, with the file's length. A debug build has 150 MB: to hash them anew would take longer than
/// most of what it is asked for. `None` where there is no such note: then the file has to be read.
pub(super) fn build_id() -> Option<String> {
    let file = File::open(RUNNING).ok()?;
    let length = file.metadata().ok()?.len();
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(format!("{} {length} {}", env!("CARGO_PKG_VERSION"), noted(&head)?))
}

/// The build ID in the first bytes of an ELF file, in hexadecimal.
fn noted(head: &[u8]) -> Option<String> {
    let header = FileHeader64::<NativeEndian>::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, head).ok()?;
    let mut notes = segments.iter().filter_map(|segment| segment.notes(endian, head).ok().flatten());
    notes.find_map(|mut notes| {
        while let Ok(Some(note)) = notes.next() {
            let is_id = note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID;
            if is_id && note.desc().len() >= MIN_ID_BYTES {
                return Some(note.desc().iter().map(|byte| format!("{byte:02x}")).collect());
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file of a header, one segment of notes, and one note.
    fn file(name: &[u8; 4], kind: u32, id: &[u8]) -> Vec<u8> {
        let u16s = |values: &[u16]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let u32s = |values: &[u32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let u64s = |values: &[u64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let order = if cfg!(target_endian = "little") { 1 } else { 2 };
        let length = 12 + 4 + id.len() as u64;
        [
            b"\x7fELF\x02".to_vec(),
            vec![order, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            u16s(&[3, 62]),
            u32s(&[1]),
            u64s(&[0, 64, 0]),
            u32s(&[0]),
            u16s(&[64, 56, 1, 64, 0, 0]),
            u32s(&[object::elf::PT_NOTE.0, 4]),
            u64s(&[120, 0, 0, length, length, 4]),
            u32s(&[4, u32::try_from(id.len()).unwrap(), kind]),
            name.to_vec(),
            id.to_vec(),
        ]
        .concat()
    }

    #[test]
    fn the_linkers_hash_is_the_build() {
        assert_eq!(noted(&file(b"GNU\0", 3, &[0xab; 20])), Some("ab".repeat(20)));
        assert_ne!(noted(&file(b"GNU\0", 3, &[0xab; 20])), noted(&file(b"GNU\0", 3, &[0xac; 20])));
    }

    #[test]
    fn what_is_no_such_hash_is_none() {
        let whole = file(b"GNU\0", 3, &[0xab; 20]);
        for other in [file(b"GNU\0", 3, &[0xab; 8]), file(b"GNU\0", 1, &[0xab; 20]), file(b"Go\0\0", 3, &[0xab; 20])] {
            assert_eq!(noted(&other), None);
        }
        // Cut anywhere, or no ELF file at all.
        (0..whole.len()).for_each(|length| assert_eq!(noted(&whole[..length]), None, "{length}"));
        assert_eq!(noted(b"#!/bin/sh\n"), None);
    }
}
