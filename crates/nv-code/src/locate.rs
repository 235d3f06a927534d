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
use crate::cubin::sass::INSTRUCTION_BYTES;
use ptx_syntax::Location;

/// Fills in the locations of all functions.
pub(super) fn locate(module: &mut PtxModule, cubin: &Cubin) {
    let mut files = Files::default();
    for code in &cubin.functions {
        let places = places(code, cubin);
        for function in &mut module.functions {
            locate_function(function, &places, &mut files);
        }
    }
    module.files = files.names;
}

/// One inlining level: file and line.
type InlineLevel = (Arc<str>, u32);

/// The inline chains by PTX line, innermost first.
fn places(code: &CubinFunction, cubin: &Cubin) -> BTreeMap<u32, Vec<InlineLevel>> {
    let mut places = BTreeMap::new();
    for offset in (0..code.code.len() as u64).step_by(INSTRUCTION_BYTES) {
        let Some(row) = cubin.ptx_lines.row(code.base + offset) else { continue };
        if let Entry::Vacant(entry) = places.entry(row.line) {
            let chain = cubin.source_lines.chain(code.base + offset);
            if !chain.is_empty() {
                entry.insert(chain.iter().map(|row| (Arc::clone(&row.file), row.line)).collect());
            }
        }
    }
    places
}

fn locate_function(function: &mut PtxFunction, places: &BTreeMap<u32, Vec<InlineLevel>>, files: &mut Files) {
    let Some(lines) = function.lines.clone() else { return };
    // Many instructions share one inline chain.
    let mut known: HashMap<&[InlineLevel], usize> = HashMap::new();
    for (line, levels) in places.range(lines) {
        let Some(instruction) = function.instruction_at(*line) else { continue };
        if function.instructions[instruction].location.is_some() {
            continue;
        }
        let location = match known.get(levels.as_slice()) {
            Some(location) => *location,
            None => {
                let mut inlined_at = None;
                for (file, line) in levels.iter().rev() {
                    let location =
                        Location { file: files.number(file), line: *line, column: 0, inlined_at, function: None };
                    function.locations.push(location);
                    inlined_at = Some(function.locations.len() - 1);
                }
                let Some(innermost) = inlined_at else { continue };
                known.insert(levels, innermost);
                innermost
            }
        };
        function.instructions[instruction].location = u32::try_from(location).ok();
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
