//! What a compilation gave, as far as a comparison needs it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compile::{Artifacts, architecture_number};
use crate::diagnostic::ResourceUsage;
use crate::read::{Cubin, FunctionUsage, PtxasLog, SassFunction, Work};

/// Directives of a kernel's header that give its block size.
const BLOCK_SIZES: [&str; 2] = [".maxntid", ".reqntid"];

/// The functions of a unit, by mangled name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    pub functions: BTreeMap<String, Function>,
}

/// Figures of one function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    pub usage: ResourceUsage,
    pub is_entry: bool,
    pub stack_is_unknown: bool,
    /// The largest block that the kernel may be launched with, where it says so.
    pub threads: Option<u32>,
    pub work: Work,
}

impl Function {
    pub fn spilled(&self) -> u64 {
        self.usage.spill_stores + self.usage.spill_loads
    }
}

impl Measured {
    /// The figures of ptxas alone.
    pub fn of_log(log: &PtxasLog) -> Self {
        let functions = log.functions.iter().map(|(name, function)| (name.clone(), of_usage(function)));
        Self { functions: functions.collect() }
    }

    /// Everything: the work is read from the machine code.
    pub fn of(artifacts: &Artifacts) -> Self {
        let mut measured = Self::of_log(&PtxasLog::parse(&artifacts.ptxas_log));
        measured.add_work(artifacts);
        measured
    }

    /// Adds what is not in the log.
    pub fn add_work(&mut self, artifacts: &Artifacts) {
        let architecture = architecture_number(&artifacts.architecture);
        for function in Cubin::parse(&artifacts.cubin).map(|cubin| cubin.functions).unwrap_or_default() {
            if let Some(measured) = self.functions.get_mut(&function.name) {
                measured.work = Work::of(&SassFunction::new(&function.code, architecture));
            }
        }
        for (name, threads) in block_sizes(&artifacts.ptx) {
            if let Some(measured) = self.functions.get_mut(name) {
                measured.threads = Some(threads);
            }
        }
    }
}

fn of_usage(function: &FunctionUsage) -> Function {
    Function {
        usage: function.usage,
        is_entry: function.is_entry,
        stack_is_unknown: function.stack_is_unknown,
        ..Function::default()
    }
}

/// Kernels that say how large their blocks are at most.
fn block_sizes(ptx: &str) -> BTreeMap<&str, u32> {
    let mut sizes = BTreeMap::new();
    let mut kernel = None;
    for line in ptx.lines() {
        if let Some((_, rest)) = line.split_once(".entry ") {
            kernel = rest.trim_start().split(|c: char| c == '(' || c.is_whitespace()).next();
        }
        let sizes_here = BLOCK_SIZES.iter().filter_map(|directive| line.split_once(directive));
        for (name, (_, numbers)) in kernel.into_iter().zip(sizes_here) {
            sizes.insert(name, product(numbers));
        }
        if line.contains('{') {
            kernel = None;
        }
    }
    sizes
}

/// `256, 2, 1`, with other directives behind it.
fn product(numbers: &str) -> u32 {
    let is_part = |c: char| c.is_ascii_digit() || c == ',' || c.is_whitespace();
    let end = numbers.find(|c| !is_part(c)).unwrap_or(numbers.len());
    let numbers = numbers[..end].split(',').filter_map(|number| number.trim().parse::<u32>().ok());
    numbers.fold(1, u32::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_stand_in_headers() {
        let ptx = ".visible .entry one(\n)\n.maxntid 256, 2\n.minnctapersm 5\n{\n}\n.entry two( .param .u64 p ) .reqntid 64, 1, 1 .maxnreg 32 { ret; }\n.entry three()\n{\n}";
        assert_eq!(block_sizes(ptx), BTreeMap::from([("one", 512), ("two", 64)]));
    }
}
