//! Which kernels use local memory, as ptxas and the machine code say.

use std::collections::{BTreeMap, BTreeSet};

use lmem_base::mangling::demangle;
use nv_code::{Cubin, PtxasLog, SassFunction};

use crate::harness::Problem;
use crate::harness::record::Given;

/// By kernel, without template arguments: the architectures on which it, or an instance of it, uses local memory.
pub struct Truth {
    kernels: BTreeMap<String, BTreeSet<String>>,
}

impl Truth {
    pub fn new(given: &[Given]) -> Result<Self, Problem> {
        let mut kernels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for given in given {
            let artifacts = &given.artifacts;
            let cubin = Cubin::parse(&artifacts.cubin).map_err(|error| format!("`{}`: {error}", given.unit.name))?;
            let arch = artifacts.arch();
            let accesses = |name: &str| {
                let mut functions = cubin.functions.iter().filter(|function| function.name == name);
                functions.any(|it| !SassFunction::new(&it.code, arch).local_instructions().is_empty())
            };
            let functions = PtxasLog::parse(&artifacts.ptxas_log).functions;
            for (name, function) in functions.iter().filter(|(_, function)| function.is_entry) {
                let users = kernels.entry(plain_name(&demangle(name))).or_default();
                if function.usage.stack_frame > 0 || accesses(name) {
                    users.insert(artifacts.architecture.clone());
                }
            }
        }
        Ok(Self { kernels })
    }

    /// All kernels of the record.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// Whether a kernel uses local memory.
    pub fn has_local_memory(&self, kernel: &str, architecture: &str) -> bool {
        let mut named = self.kernels.iter().filter(|(name, _)| is_named(name, kernel));
        named.any(|(_, architectures)| architectures.contains(architecture))
    }
}

/// A demangled name without template arguments.
pub fn plain_name(demangled: &str) -> String {
    demangled.split('<').next().unwrap_or(demangled).to_string()
}

/// Whether `name`, with its namespaces, is what a label calls `kernel`.
pub fn is_named(name: &str, kernel: &str) -> bool {
    name.strip_suffix(kernel).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}
