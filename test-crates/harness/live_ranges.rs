//! Compares the live registers of machine code with those that nvdisasm counts (`-plr`).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use lmem_base::gpu::Arch;
use lmem_unit::Artifacts;
use nv_code::{Cubin, SassFunction, live_registers};

use super::Problem;

/// Counts of the comparison.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub functions: usize,
    /// Functions with an unknown instruction, or an indirect jump or call.
    pub unknown: usize,
    pub instructions: usize,
    pub different: usize,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.functions += other.functions;
        self.unknown += other.unknown;
        self.instructions += other.instructions;
        self.different += other.different;
    }
}

/// Compares all instructions of a cubin.
pub fn compare(nvdisasm: &Path, artifacts: &Artifacts) -> Result<Tally, Problem> {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    fs_err::write(file.path(), &artifacts.cubin).map_err(|error| error.to_string())?;
    let output = Command::new(nvdisasm).args(["-c", "-plr", "-lrm", "count"]).arg(file.path()).output();
    let output = output.map_err(|error| format!("`{}`: {error}", nvdisasm.display()))?;
    let counted = counts(&String::from_utf8_lossy(&output.stdout));
    let cubin = Cubin::parse(&artifacts.cubin).map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    for function in &cubin.functions {
        let Some(theirs) = counted.get(&function.name) else { continue };
        tally.functions += 1;
        let Some(ours) = live(&function.code, artifacts.arch()) else {
            tally.unknown += 1;
            continue;
        };
        for (offset, count) in theirs {
            let Some(own) = ours.get(*offset as usize / nv_code::cubin::sass::INSTRUCTION_BYTES) else { continue };
            tally.instructions += 1;
            if own != count {
                tally.different += 1;
                if std::env::var_os("LMEM_SHOW").is_some() && tally.different < 4 {
                    eprintln!("{} {offset:#06x}: {own} live, nvdisasm {count}", function.name);
                }
            }
        }
    }
    Ok(tally)
}

fn live(code: &[u8], arch: Arch) -> Option<Vec<u32>> {
    let live = live_registers(&SassFunction::new(code, arch), arch.number())?;
    Some(live.into_iter().map(|registers| registers.len()).collect())
}

/// By function and offset: the number of live registers.
fn counts(text: &str) -> BTreeMap<String, BTreeMap<u32, u32>> {
    let mut functions: BTreeMap<String, BTreeMap<u32, u32>> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(".text.") {
            current = name.split(':').next().unwrap_or_default().to_string();
        }
        let offset = line.trim_start().strip_prefix("/*").and_then(|rest| rest.split_once("*/"));
        let offset = offset.and_then(|(digits, _)| u32::from_str_radix(digits, 16).ok());
        let count = line.rsplit_once("// |").map(|(_, columns)| columns.split('|').next().unwrap_or_default().trim());
        if let (Some(offset), Some(count)) = (offset, count) {
            // An empty column means zero.
            functions.entry(current.clone()).or_default().insert(offset, count.parse().unwrap_or(0));
        }
    }
    functions
}
