//! Source locations for the PTX embedded in a cubin, by way of the machine code.
//!
//! That PTX has no `.loc` directives. One table of the cubin maps machine instructions to PTX lines, another maps them
//! to source lines. Where both entries exist, the PTX instruction gets the source location of the machine instruction.
//! Neither table has columns.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::cubin::{Cubin, CubinFunction};
use super::ptx::{PtxFunction, PtxModule};
use crate::cubin::line_table::LineTable;
use crate::cubin::sass::INSTRUCTION_BYTES;
use ptx_syntax::Location;

/// Fills in the locations of all functions.
pub(super) fn locate(module: &mut PtxModule, cubin: &Cubin) {
    let mut files = Files::default();
    for code in &cubin.functions {
        let addresses = addresses(code, cubin);
        for function in &mut module.functions {
            locate_function(function, &addresses, &cubin.source_lines, &mut files);
        }
    }
    module.files = files.names;
}

/// By PTX line, the address of the first instruction that has a source line.
fn addresses(code: &CubinFunction, cubin: &Cubin) -> BTreeMap<u32, u64> {
    let mut addresses = BTreeMap::new();
    for address in (0..code.code.len() as u64).step_by(INSTRUCTION_BYTES).map(|offset| code.base + offset) {
        let Some(row) = cubin.ptx_lines.row(address) else { continue };
        if let Entry::Vacant(entry) = addresses.entry(row.line)
            && cubin.source_lines.row(address).is_some()
        {
            entry.insert(address);
        }
    }
    addresses
}

fn locate_function(
    function: &mut PtxFunction,
    addresses: &BTreeMap<u32, u64>,
    source_lines: &LineTable,
    files: &mut Files,
) {
    let Some(lines) = function.lines.clone() else { return };
    // Many instructions share the outer levels of their inline chains. By row of the table.
    let mut known: HashMap<usize, usize> = HashMap::new();
    for (line, address) in addresses.range(lines) {
        let Some(instruction) = function.instruction_at(*line) else { continue };
        if function.instructions[instruction].location.is_some() {
            continue;
        }
        let mut location = None;
        // From the first level that is known, or from the outermost, to the innermost.
        let mut unknown = Vec::new();
        for (number, row) in source_lines.chain(*address) {
            location = known.get(&number).copied();
            if location.is_some() {
                break;
            }
            unknown.push((number, row));
        }
        for (number, row) in unknown.into_iter().rev() {
            let (file, line) = (files.number(&row.file), row.line);
            function.locations.push(Location { file, line, column: 0, inlined_at: location, function: None });
            let innermost = function.locations.len() - 1;
            known.insert(number, innermost);
            location = Some(innermost);
        }
        function.instructions[instruction].location = location.and_then(|location| u32::try_from(location).ok());
    }
}

/// File numbers, as `.file` would assign them. A file that the table does not name gets no number.
#[derive(Default)]
struct Files {
    names: BTreeMap<u32, String>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Files {
    fn number(&mut self, name: &Arc<str>) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        let number = *self.numbers.entry(Arc::clone(name)).or_insert(next);
        if !name.is_empty() {
            self.names.entry(number).or_insert_with(|| name.to_string());
        }
        number
    }
}
