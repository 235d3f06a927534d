//! A cubin: an ELF file with machine code, attributes and line tables.
//!
//! NVIDIA documents the container (ELF, machine 190) but not the `.nv.info` sections; their layout is known
//! from public readers of the format and was checked on ptxas 11.8 to 13.5.

pub mod header;
pub mod line_table;
mod loops;
pub mod nv_info;
mod registers;
pub mod sass;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use object::elf::{FileHeader64, RelocationType};
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, SectionTable, SymbolTable};
use object::{Endianness, SectionIndex, SymbolIndex};
use thiserror::Error;

use crate::cubin::line_table::LineTable;
use crate::cubin::nv_info::attributes;

pub use loops::SassLoops;

/// `EM_CUDA`
const CUDA_MACHINE: u16 = 190;
/// Attribute of `.nv.info.<function>` that lists instructions with a mark, from ptxas 12.8 on.
const ATTRIBUTE_MARKS: u8 = 0x55;
/// Kind of a mark: the instruction spills or refills a register.
const MARK_SPILL: u32 = 1;
/// Relocation of an address of eight bytes.
const R_CUDA_64: RelocationType = RelocationType(2);

#[derive(Debug, Error)]
pub enum CubinError {
    #[error("not a cubin: {0}")]
    Elf(#[from] object::Error),
    #[error("not a cubin: an ELF file for machine {0}")]
    Machine(u16),
    #[error("broken line table in section `{section}`")]
    LineTable { section: &'static str, source: gimli::Error },
}

/// One function with code of its own: a kernel, with the functions that were merged into it.
#[derive(Debug, Clone, Default)]
pub struct CubinFunction {
    /// Mangled, as in the symbol table.
    pub name: String,
    pub code: Vec<u8>,
    /// Offsets of instructions that ptxas marks as spill or refill.
    pub spill_marks: BTreeSet<u32>,
    /// Start of its code in the address space of the line tables.
    pub base: u64,
    /// Functions that it calls, copied behind its own code.
    pub inner: Vec<InnerFunction>,
}

/// A function whose code lies in that of a kernel: ptxas gives each kernel a copy of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerFunction {
    /// Mangled, as in the PTX.
    pub name: String,
    /// Offsets in the code of the kernel.
    pub code: Range<u32>,
    /// ptxas's own code for an instruction of the PTX, such as the slow path of a division.
    pub is_routine: bool,
}

/// What a cubin says about local memory.
#[derive(Debug, Clone, Default)]
pub struct Cubin {
    pub functions: Vec<CubinFunction>,
    /// Addresses → lines of source files.
    pub source_lines: LineTable,
    /// Addresses → lines of the PTX.
    pub ptx_lines: LineTable,
    /// Whether this ptxas marks spills; only then does the absence of a mark say anything.
    pub has_spill_marks: bool,
}

type Elf = FileHeader64<Endianness>;

impl Cubin {
    /// Reads everything; code is copied, as the file is often short-lived.
    ///
    /// # Errors
    /// The bytes are no cubin, or a table in it is broken.
    pub fn parse(bytes: &[u8]) -> Result<Self, CubinError> {
        let reader = Reader::new(bytes)?;
        let functions = reader.functions()?;
        Ok(Self {
            has_spill_marks: functions.iter().any(|function| !function.spill_marks.is_empty()),
            functions,
            source_lines: reader.line_table(".debug_line")?,
            ptx_lines: reader.line_table(".nv_debug_line_sass")?,
        })
    }
}

/// The ELF file as far as it is the same for all that is read of it.
pub(super) struct Reader<'a> {
    pub header: &'a Elf,
    pub endian: Endianness,
    pub bytes: &'a [u8],
    pub sections: SectionTable<'a, Elf>,
    pub symbols: SymbolTable<'a, Elf>,
    /// Sections by name: there are several for each function. Of two with one name, the first.
    by_name: HashMap<&'a [u8], SectionIndex>,
}

/// Each section gets an address space of its own, so that rows of different functions do not meet.
fn section_base(index: usize) -> u64 {
    (index as u64) << 32
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self, CubinError> {
        let header = Elf::parse(bytes)?;
        let endian = header.endian()?;
        let machine = header.e_machine(endian).0;
        if machine != CUDA_MACHINE {
            return Err(CubinError::Machine(machine));
        }
        let sections = header.sections(endian, bytes)?;
        let symbols = sections.symbols(endian, bytes, object::elf::SHT_SYMTAB)?;
        let mut by_name = HashMap::new();
        for (index, section) in sections.enumerate() {
            // A section without a name that can be read is found by nobody.
            if let Ok(name) = sections.section_name(endian, section) {
                by_name.entry(name).or_insert(index);
            }
        }
        Ok(Self { header, endian, bytes, sections, symbols, by_name })
    }

    /// The content of a section, where there is one of that name.
    pub fn section_data(&self, name: &str) -> Result<Option<(SectionIndex, &'a [u8])>, CubinError> {
        let Some(index) = self.by_name.get(name.as_bytes()).copied() else { return Ok(None) };
        Ok(Some((index, self.sections.section(index)?.data(self.endian, self.bytes)?)))
    }
}

impl Reader<'_> {
    fn functions(&self) -> Result<Vec<CubinFunction>, CubinError> {
        let mut functions = Vec::new();
        let symbols = self.symbols_by_section();
        for (index, section) in self.sections.enumerate() {
            let name = self.sections.section_name(self.endian, section)?;
            let Some(name) = name.strip_prefix(b".text.") else { continue };
            let name = String::from_utf8_lossy(name).into_owned();
            functions.push(CubinFunction {
                spill_marks: self.spill_marks(&name)?,
                code: section.data(self.endian, self.bytes)?.to_vec(),
                base: section_base(index.0),
                inner: self.inner_functions(symbols.get(&index.0).map_or(&[], Vec::as_slice), &name)?,
                name,
            });
        }
        functions.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(functions)
    }

    fn symbols_by_section(&self) -> HashMap<usize, Vec<SymbolIndex>> {
        let mut by_section: HashMap<usize, Vec<SymbolIndex>> = HashMap::new();
        for (index, symbol) in self.symbols.enumerate() {
            by_section.entry(usize::from(symbol.st_shndx.get(self.endian).0)).or_default().push(index);
        }
        by_section
    }

    /// Symbols such as `$kernel$callee` and `$__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath` in a section.
    fn inner_functions(&self, symbols: &[SymbolIndex], function: &str) -> Result<Vec<InnerFunction>, CubinError> {
        let prefix = format!("${function}$");
        let mut inner = Vec::new();
        for symbol in symbols {
            let symbol = self.symbols.symbol(*symbol)?;
            let name = self.symbols.symbol_name(self.endian, symbol)?;
            let name = String::from_utf8_lossy(name);
            let callee = name.strip_prefix(&prefix);
            let routine = || name.strip_prefix("$__internal_").and_then(|rest| Some(rest.split_once('$')?.1));
            let Some(inner_name) = callee.or_else(routine) else { continue };
            let field = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
            let start = field(symbol.st_value.get(self.endian));
            let end = start.saturating_add(field(symbol.st_size.get(self.endian)));
            inner.push(InnerFunction { name: inner_name.to_string(), code: start..end, is_routine: callee.is_none() });
        }
        inner.sort_by_key(|inner| inner.code.start);
        Ok(inner)
    }

    fn spill_marks(&self, function: &str) -> Result<BTreeSet<u32>, CubinError> {
        let data = self.section_data(&format!(".nv.info.{function}"))?;
        Ok(data.map(|(_, data)| spill_marks(data)).unwrap_or_default())
    }

    fn line_table(&self, name: &'static str) -> Result<LineTable, CubinError> {
        let Some((index, data)) = self.section_data(name)? else { return Ok(LineTable::default()) };
        let mut data = data.to_vec();
        self.relocate(index, &mut data)?;
        LineTable::parse(&data).map_err(|source| CubinError::LineTable { section: name, source })
    }

    /// Writes the addresses that the linker would: section and offset of the function. The others lead to names of inlined
    /// functions, which nothing reads (seen with `-rdc=true` for sm_80), and have four bytes.
    fn relocate(&self, target: SectionIndex, data: &mut [u8]) -> Result<(), CubinError> {
        for section in self.sections.iter().filter(|section| section.sh_info(self.endian) as usize == target.0) {
            // Up to sm_8x the addend stands in the place itself, later beside it.
            if let Some((entries, _)) = section.rel(self.endian, self.bytes)? {
                for entry in entries.iter().filter(|entry| entry.r_type(self.endian) == R_CUDA_64) {
                    self.write_address(data, entry.r_offset(self.endian), entry.r_sym(self.endian) as usize, None)?;
                }
            }
            if let Some((entries, _)) = section.rela(self.endian, self.bytes)? {
                for entry in entries.iter().filter(|entry| entry.r_type(self.endian, false) == R_CUDA_64) {
                    let (symbol, addend) = (entry.r_sym(self.endian, false) as usize, entry.r_addend(self.endian));
                    self.write_address(data, entry.r_offset(self.endian), symbol, Some(addend))?;
                }
            }
        }
        Ok(())
    }

    fn write_address(
        &self,
        data: &mut [u8],
        offset: u64,
        symbol: usize,
        addend: Option<i64>,
    ) -> Result<(), CubinError> {
        let symbol = self.symbols.symbol(SymbolIndex(symbol))?;
        let base = section_base(usize::from(symbol.st_shndx.get(self.endian).0));
        let field = usize::try_from(offset).ok().and_then(|start| data.get_mut(start..start.checked_add(8)?));
        if let Some(field) = field {
            let in_place = u64::from_le_bytes(std::array::from_fn(|byte| field[byte]));
            let addend = addend.map_or(in_place, |addend| addend as u64);
            let address = base.wrapping_add(symbol.st_value.get(self.endian)).wrapping_add(addend);
            field.copy_from_slice(&address.to_le_bytes());
        }
        Ok(())
    }
}

/// Offsets of the instructions that an `.nv.info` section marks as spills.
fn spill_marks(data: &[u8]) -> BTreeSet<u32> {
    let marks = attributes(data).filter(|(attribute, _)| *attribute == ATTRIBUTE_MARKS);
    marks
        .flat_map(|(_, value)| value.words().collect::<Vec<_>>().chunks_exact(2).filter_map(mark).collect::<Vec<_>>())
        .collect()
}

fn mark(entry: &[u32]) -> Option<u32> {
    (entry[0] == MARK_SPILL).then(|| entry[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_other_kinds_are_not_spills() {
        let mut data = vec![3, 0x1b, 0xff, 0, 4, ATTRIBUTE_MARKS, 16, 0];
        for word in [1u32, 0x210, 2, 0x220] {
            data.extend(word.to_le_bytes());
        }
        assert_eq!(spill_marks(&data), BTreeSet::from([0x210]));
    }

    #[test]
    fn cut_attributes_are_read_as_far_as_they_go() {
        assert_eq!(spill_marks(&[4, ATTRIBUTE_MARKS, 200, 0, 1, 0]), BTreeSet::new());
        assert_eq!(spill_marks(&[4]), BTreeSet::new());
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(Cubin::parse(b"PK\x03\x04"), Err(CubinError::Elf(_))));
        assert!(matches!(Cubin::parse(b""), Err(CubinError::Elf(_))));
    }
}
