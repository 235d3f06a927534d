//! Compares the registers that instructions use, and the live ranges, with nvdisasm's listing of them (`-plr`).
//!
//! The listing is not always the solution of its own equations: a register may be live before an instruction and not behind the
//! one that leads there. So ours may have more, but only where that is so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use lmem_unit::Artifacts;
use nv_code::{Calls, Cubin, CubinFunction, LiveRanges, RegisterSet, SassFunction, operands};

use super::{Problem, all};

/// Size of an instruction.
const INSTRUCTION_BYTES: usize = 16;
/// `R1`
const STACK_POINTER: u8 = 1;

/// What was compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub instructions: usize,
    /// Instructions where the listing contradicts itself, and ours has more.
    pub contradicted: usize,
    /// Cubins that nvdisasm lists no live ranges of.
    pub unlisted: usize,
}

/// An instruction of the listing.
struct Row {
    text: String,
    reads: BTreeSet<u8>,
    writes: BTreeSet<u8>,
    live: BTreeSet<u8>,
}

/// A function of the listing.
#[derive(Default)]
struct Listing {
    rows: BTreeMap<u32, Row>,
    /// Offset of the instruction behind each label.
    labels: BTreeMap<String, u32>,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.contradicted += other.contradicted;
        self.unlisted += other.unlisted;
    }
}

/// Compares all instructions of a cubin.
pub fn compare(nvdisasm: &Path, artifacts: &Artifacts) -> Result<Tally, Problem> {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    fs_err::write(file.path(), &artifacts.cubin).map_err(|error| error.to_string())?;
    let output = Command::new(nvdisasm).args(["-c", "-plr", "-lrm", "narrow"]).arg(file.path()).output();
    let output = output.map_err(|error| format!("`{}`: {error}", nvdisasm.display()))?;
    let message = String::from_utf8_lossy(&output.stderr);
    // So of the cubins of older toolkits.
    if message.contains("Cannot print life ranges") {
        return Ok(Tally { unlisted: 1, ..Tally::default() });
    }
    if !output.status.success() {
        return Err(message.into_owned());
    }
    let listed = listings(&String::from_utf8_lossy(&output.stdout));
    let cubin = Cubin::parse(&artifacts.cubin).map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    let mut problems = Vec::new();
    for function in &cubin.functions {
        match listed.get(&function.name) {
            Some(listing) => tally.add(compare_function(function, listing, artifacts, &mut problems)),
            None => problems.push(format!("  `{}` is not listed", function.name)),
        }
    }
    all(problems).map(|()| tally)
}

fn compare_function(
    function: &CubinFunction,
    listing: &Listing,
    artifacts: &Artifacts,
    problems: &mut Vec<Problem>,
) -> Tally {
    let arch = artifacts.arch();
    let name = &function.name;
    let mut problem = |offset: u32, what: String| problems.push(format!("  `{name}` {offset:#06x}: {what}"));
    for (offset, row) in &listing.rows {
        let word = |at: usize| function.code.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let words = word(*offset as usize).zip(word(*offset as usize + 8));
        // What is listed of a call is what the ABI makes of it.
        if row.text.contains("CALL") {
            continue;
        }
        match words.and_then(|(lo, hi)| operands(arch.number(), lo, hi)) {
            Some(own) if same(own.reads, &row.reads) && same(own.writes, &row.writes) => {}
            own => problem(*offset, format!("`{}`: {own:?}, listed {:?} -> {:?}", row.text, row.reads, row.writes)),
        }
    }
    let starts = std::iter::once(0).chain(function.inner.iter().map(|inner| inner.code.start)).collect::<Vec<_>>();
    let registers = listing.rows.values().flat_map(|row| row.live.last()).max().map_or(0, |most| most + 1);
    let sass = SassFunction::new(&function.code, arch);
    let Some(ranges) = LiveRanges::new(&sass, &starts, registers, &|_| false, Calls::Abi) else {
        problem(0, "an instruction is not known".to_string());
        return Tally::default();
    };
    let own = ranges.registers();
    let mut tally = Tally { instructions: listing.rows.len(), ..Tally::default() };
    let mut more = BTreeSet::new();
    for (offset, row) in &listing.rows {
        let own: BTreeSet<u8> = own[*offset as usize / INSTRUCTION_BYTES].iter().collect();
        if !row.live.is_subset(&own) {
            problem(*offset, format!("`{}`: live {own:?}, listed {:?}", row.text, row.live));
        }
        tally.contradicted += usize::from(own != row.live);
        more.extend(own.difference(&row.live).copied());
    }
    // The stack pointer is always live for us.
    more.remove(&STACK_POINTER);
    for register in more.into_iter().filter(|register| !listing.contradicts_itself(*register)) {
        problem(0, format!("R{register} is live where it is not listed, and no instruction shows why"));
    }
    tally
}

fn same(own: RegisterSet, listed: &BTreeSet<u8>) -> bool {
    own.iter().eq(listed.iter().copied())
}

impl Row {
    fn is_guarded_call(&self) -> bool {
        self.text.starts_with('@') && self.text.contains("CALL")
    }
}

impl Listing {
    /// Whether a register is live before an instruction, but neither at, nor written by, one that leads there.
    fn contradicts_itself(&self, register: u8) -> bool {
        let lives = |offset: &u32| self.rows.get(offset).is_some_and(|row| row.live.contains(&register));
        let mut dead = self.rows.iter().filter(|(_, row)| !row.live.contains(&register));
        dead.any(|(offset, row)| {
            let next = offset + INSTRUCTION_BYTES as u32;
            let text = row.text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
            let leaves = ["EXIT", "RET", "BRA", "BRX", "KILL"].iter().any(|kind| text.starts_with(kind));
            let is_conditional = row.text.starts_with('@');
            let target = row.text.split_once("`(").and_then(|(_, rest)| rest.split_once(')'));
            let target = target.and_then(|(label, _)| self.labels.get(label)).filter(|_| text.starts_with("BRA"));
            // Written at the next instruction, it is shown there without being live before. A call under a guard may not happen.
            let is_kept = |row: &Row| !row.writes.contains(&register) || row.is_guarded_call();
            let is_live = |at: &u32| lives(at) && self.rows.get(at).is_some_and(is_kept);
            ((!leaves || is_conditional) && is_live(&next)) || target.is_some_and(is_live)
        })
    }
}

fn listings(text: &str) -> BTreeMap<String, Listing> {
    let mut listings: BTreeMap<String, Listing> = BTreeMap::new();
    let mut current = String::new();
    let mut labels = Vec::new();
    let mut first_column = 0;
    for line in text.lines() {
        let label = line.split_once(':').map(|(label, _)| label).filter(|label| !label.contains(char::is_whitespace));
        if let Some(name) = line.strip_prefix(".text.") {
            current = name.split(':').next().unwrap_or_default().to_string();
        } else if let Some(label) = label {
            labels.push(label.to_string());
        }
        let Some((left, columns)) = line.split_once("// |") else { continue };
        // The first column is that of the registers of a thread.
        let columns = columns.split('|').next().unwrap_or_default();
        if let Some(sign) = columns.find('#') {
            first_column = sign + 2;
            continue;
        }
        let offset = left.trim_start().strip_prefix("/*").and_then(|rest| rest.split_once("*/"));
        let offset = offset.and_then(|(digits, text)| Some((u32::from_str_radix(digits, 16).ok()?, text)));
        let Some((offset, text)) = offset else { continue };
        let marked = |marks: &str| -> BTreeSet<u8> {
            let signs = columns.chars().skip(first_column).zip(0..=u8::MAX - 1);
            signs.filter(|(sign, _)| marks.contains(*sign)).map(|(_, register)| register).collect()
        };
        let listing = listings.entry(current.clone()).or_default();
        listing.labels.extend(labels.drain(..).map(|label| (label, offset)));
        let row =
            Row { text: text.trim().to_string(), reads: marked("vx"), writes: marked("^x"), live: marked("^vx:") };
        listing.rows.insert(offset, row);
    }
    listings
}
