//! The two line tables of a cubin: instruction → source line (`.debug_line`) and instruction → PTX line
//! (`.nv_debug_line_sass`).
//!
//! Both are DWARF line programs with one extended opcode of NVIDIA's, 0x90. Its operands are two LEB128 numbers; the
//! first is the row that the following rows are inlined at (counted from 1 in its sequence, 0 for none). The meaning
//! was inferred from cubins of 12.8 to 13.5 and agrees with `nvdisasm -gi`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use gimli::{DebugLine, DebugLineOffset, LineInstruction, LineRow as GimliRow, LittleEndian, Reader};

use ptx_syntax::unescape_path;

/// NVIDIA's extended opcode (`DW_LNE`) for inlined code.
const INLINED_AT: u8 = 0x90;

/// The source line of all instructions from `address` up to the next row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRow {
    pub address: u64,
    /// Empty if unknown.
    pub file: Arc<str>,
    pub line: u32,
    /// Index, in the same table, of the row of the call site that this row is inlined at.
    pub inlined_at: Option<usize>,
    ends_sequence: bool,
}

/// The rows of a whole section, by address.
#[derive(Debug, Clone, Default)]
pub struct LineTable {
    /// In the order of the line program, which is what `inlined_at` indexes.
    rows: Vec<LineRow>,
    /// Address → the last row that starts there.
    by_address: BTreeMap<u64, usize>,
}

impl LineTable {
    /// Parses a section whose relocations have been applied.
    ///
    /// # Errors
    /// The section is not DWARF, or is truncated.
    pub fn parse(section: &[u8]) -> Result<Self, gimli::Error> {
        let mut table = Self::default();
        let debug_line = DebugLine::new(section, LittleEndian);
        let mut offset = 0;
        while offset + 4 <= section.len() {
            let length = u32::from_le_bytes(std::array::from_fn(|byte| section[offset + byte]));
            // Linked objects have empty units between their tables, as padding.
            if length > 0 {
                table.read_program(&debug_line, offset)?;
            }
            offset = offset.saturating_add(4).saturating_add(length as usize);
        }
        Ok(table)
    }

    fn read_program(
        &mut self,
        section: &DebugLine<gimli::EndianSlice<'_, LittleEndian>>,
        offset: usize,
    ) -> Result<(), gimli::Error> {
        let mut program = section.program(DebugLineOffset(offset), 8, None, None)?;
        let mut instructions = program.header().instructions();
        let mut row = GimliRow::new(program.header());
        let mut sequence_start = self.rows.len();
        let mut context = 0u64;
        // A table has a row for every few instructions but only a few files, so each name is allocated once.
        let mut names: HashMap<u64, Arc<str>> = HashMap::new();
        while let Some(instruction) = instructions.next_instruction(program.header())? {
            if let LineInstruction::UnknownExtended(opcode, mut data) = instruction {
                if opcode.0 == INLINED_AT {
                    context = data.read_uleb128()?;
                }
                continue;
            }
            if !row.execute(instruction, &mut program)? {
                continue;
            }
            let inlined_at =
                usize::try_from(context).ok().and_then(|row| row.checked_sub(1)).map(|row| row + sequence_start);
            let index = row.file_index();
            let name = names.entry(index).or_insert_with(|| file_name(program.header(), index).into());
            self.push(LineRow {
                address: row.address(),
                file: Arc::clone(name),
                line: row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0)),
                inlined_at: inlined_at.filter(|row| *row < self.rows.len()),
                ends_sequence: row.end_sequence(),
            });
            if row.end_sequence() {
                sequence_start = self.rows.len();
                context = 0;
            }
            row.reset(program.header());
        }
        Ok(())
    }

    /// Renames files. `name` gets a file's name and its lines in this table; a file for which it returns `None` becomes
    /// unknown.
    pub fn rename_files(&mut self, name: impl Fn(&str, &BTreeSet<u32>) -> Option<String>) {
        let mut lines: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.line > 0 && !row.ends_sequence) {
            lines.entry(&row.file).or_default().insert(row.line);
        }
        let names: BTreeMap<Arc<str>, Arc<str>> = lines
            .into_iter()
            .map(|(file, lines)| (Arc::from(file), name(file, &lines).unwrap_or_default().into()))
            .collect();
        let unknown: Arc<str> = Arc::default();
        let name = |file: &Arc<str>| Arc::clone(names.get(file).unwrap_or(&unknown));
        self.rows.iter_mut().for_each(|row| row.file = name(&row.file));
    }

    fn push(&mut self, row: LineRow) {
        // Another sequence may start at the address where this one ends: the end row must not hide its first row.
        if !row.ends_sequence || !self.by_address.contains_key(&row.address) {
            self.by_address.insert(row.address, self.rows.len());
        }
        self.rows.push(row);
    }

    /// The row that covers an address.
    pub fn row(&self, address: u64) -> Option<&LineRow> {
        self.rows.get(self.number(address)?)
    }

    fn number(&self, address: u64) -> Option<usize> {
        let (_, number) = self.by_address.range(..=address).next_back()?;
        self.rows.get(*number).filter(|row| !row.ends_sequence && row.line > 0).map(|_| *number)
    }

    /// The row of an address, followed by the rows of its call sites, innermost first; each with its number in the table.
    pub fn chain(&self, address: u64) -> impl Iterator<Item = (usize, &LineRow)> {
        // Rows only refer to earlier rows, so this terminates.
        let numbers = std::iter::successors(self.number(address), |number| self.rows.get(*number)?.inlined_at);
        numbers.filter_map(|number| Some((number, self.rows.get(number)?)))
    }
}

fn file_name<R: Reader>(header: &gimli::LineProgramHeader<R>, index: u64) -> String {
    let Some(file) = header.file(index) else { return String::new() };
    let text = |value: gimli::AttributeValue<R>| match value {
        gimli::AttributeValue::String(name) => name.to_string_lossy().map(|name| name.into_owned()).unwrap_or_default(),
        _ => String::new(),
    };
    let name = text(file.path_name());
    unescape_path(&match file.directory(header).map(text) {
        Some(directory) if !name.starts_with('/') && !directory.is_empty() => format!("{directory}/{name}"),
        _ => name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A DWARF 3 line program with one file, `d/a.cu`, in the form that ptxas writes.
    fn section(program: &[u8]) -> Vec<u8> {
        let mut header: Vec<u8> = vec![1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
        header.extend(b"d\0\0a.cu\0\x01\0\0\0");
        let mut unit: Vec<u8> = 3u16.to_le_bytes().to_vec();
        unit.extend((header.len() as u32).to_le_bytes());
        unit.extend(header);
        unit.extend(program);
        let mut section = (unit.len() as u32).to_le_bytes().to_vec();
        section.extend(unit);
        section
    }

    fn set_address(address: u64) -> Vec<u8> {
        [&[0, 9, 2][..], &address.to_le_bytes()].concat()
    }

    #[test]
    fn inlined_rows_know_their_callers() {
        let mut program = set_address(0x1000);
        program.extend([3, 9, 1]); // line 10, copy
        program.extend([0, 3, INLINED_AT, 1, 0]);
        program.extend([3, 40, 2, 16, 1]); // line 50, 16 bytes on, copy
        program.extend([2, 16, 0, 1, 1]); // end of sequence
        let table = LineTable::parse(&section(&program)).unwrap();
        let lines: Vec<u32> = table.chain(0x1018).map(|(_, row)| row.line).collect();
        assert_eq!(lines, [50, 10]);
        assert_eq!(table.row(0x1000).unwrap().file.as_ref(), "d/a.cu");
        assert_eq!(table.row(0x1020), None);
        assert_eq!(table.row(0xfff), None);
    }

    #[test]
    fn files_may_get_other_names() {
        let mut program = set_address(0x1000);
        program.extend([3, 9, 1, 2, 16, 0, 1, 1]); // line 10, copy, 16 bytes on, end of sequence
        let mut table = LineTable::parse(&section(&program)).unwrap();
        table.rename_files(|file, lines| Some(format!("{file}:{lines:?}")));
        assert_eq!(table.row(0x1000).unwrap().file.as_ref(), "d/a.cu:{10}");
        table.rename_files(|_, _| None);
        assert_eq!(table.row(0x1000).unwrap().file.as_ref(), "");
    }

    #[test]
    fn a_program_that_ends_early_is_an_error() {
        let mut bytes = section(&set_address(0)[..4]);
        assert!(LineTable::parse(&bytes).is_err());
        bytes.truncate(9);
        assert!(LineTable::parse(&bytes).is_err());
    }
}
