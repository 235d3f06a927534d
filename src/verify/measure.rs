//! The figures of a compilation that a comparison needs.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use lmem_base::diagnostic::{Comparison, ResourceUsage};
use lmem_base::stored::is_default;
use lmem_base::timing::Measurement;
use lmem_compare::estimate::{Counts, Executed};
use lmem_unit::{Artifacts, CompilerMessage, MessageKind};
use nv_code::{Cubin, FunctionUsage, PtxasLog, SassFunction, Work};

const ENTRY: &str = ".entry ";

/// What makes a kernel's name known outside of its file.
const LINKAGES: [&str; 2] = [".visible", ".weak"];

/// Directives in a kernel's header that give its block size.
const BLOCK_SIZES: [&str; 2] = [".maxntid", ".reqntid"];

/// Prefixes of a hash of the file's path, in names of functions with internal linkage.
const FILE_MARKS: [&str; 2] = ["_GLOBAL__N__", "_INTERNAL_"];
const HASH_LENGTH: usize = 8;

/// A mangled name without hashes of the file's path, which differ for a copy of the file.
pub fn canonical(name: &str) -> String {
    let mut name = name.to_string();
    for mark in FILE_MARKS {
        let mut from = 0;
        while let Some(at) = name[from..].find(mark).map(|at| from + at + mark.len()) {
            blank_hash(&mut name, at);
            // `_9_decode_cu_`, then another hash.
            let rest = name.get(at + HASH_LENGTH + 1..).unwrap_or("");
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if let Ok(length) = rest[..digits].parse::<usize>() {
                let second = length.saturating_add(at + HASH_LENGTH + digits + 3);
                blank_hash(&mut name, second);
            }
            from = at;
        }
    }
    name
}

fn blank_hash(name: &mut String, at: usize) {
    let range = at..at.saturating_add(HASH_LENGTH);
    if name.get(range.clone()).is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        name.replace_range(range, &"0".repeat(HASH_LENGTH));
    }
}

/// The functions of a unit, by canonical mangled name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    pub functions: BTreeMap<String, Function>,
    /// By function: the comparison of its results before and after the edits. Empty for a unit without edits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub results: BTreeMap<String, Comparison>,
    /// By kernel: what both versions execute in one of the compared launches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub executed: BTreeMap<String, Executed>,
    /// By kernel: what a unit without edits executes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alone: BTreeMap<String, Counts>,
    /// By kernel: both versions on a GPU, if that was asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timed: BTreeMap<String, Measurement>,
}

/// A warning of the edited text that the original does not give, or gives less often: a variable in shared memory whose
/// constructor does not run, a value that narrows.
pub fn added_warning<'m>(before: &[CompilerMessage], after: &'m [CompilerMessage]) -> Option<&'m CompilerMessage> {
    let count = |messages: &[CompilerMessage], number: &str| {
        messages.iter().filter(|message| message.number.as_deref() == Some(number)).count()
    };
    let is_new = |message: &&CompilerMessage| {
        let number = message.number.as_deref();
        number.is_some_and(|number| count(after, number) > count(before, number))
    };
    after.iter().filter(|message| message.kind == MessageKind::Warning).find(is_new)
}

/// Figures of one function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    pub usage: ResourceUsage,
    pub is_entry: bool,
    /// Whether it is a kernel that no other file can name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_internal: bool,
    pub stack_is_unknown: bool,
    /// The largest block that the kernel allows, if it says so.
    pub threads: Option<u32>,
    /// Bytes of its machine code, with what follows it in its section.
    #[serde(default, skip_serializing_if = "is_default")]
    pub code: u64,
    pub work: Work,
}

impl Function {
    pub fn spilled(&self) -> u64 {
        self.usage.spilled()
    }

    /// Whether it has a stack frame, also one of unknown size, or spills.
    pub fn has_local_memory(&self) -> bool {
        self.usage.stack_frame > 0 || self.spilled() > 0 || self.stack_is_unknown
    }
}

impl Measured {
    /// The figures from ptxas's log.
    pub fn of_log(log: &PtxasLog) -> Self {
        let functions = log.functions.iter().map(|(name, function)| (canonical(name), of_usage(function)));
        Self { functions: functions.collect(), ..Self::default() }
    }

    /// All figures; the work is estimated from the machine code.
    pub fn of(artifacts: &Artifacts) -> Self {
        let mut measured = Self::of_log(&PtxasLog::parse(&artifacts.ptxas_log));
        measured.add_work(artifacts);
        measured
    }

    /// Adds the figures that are not in the log.
    pub fn add_work(&mut self, artifacts: &Artifacts) {
        let arch = artifacts.arch();
        for function in Cubin::parse(&artifacts.cubin).map(|cubin| cubin.functions).unwrap_or_default() {
            if let Some(measured) = self.functions.get_mut(&canonical(&function.name)) {
                let inner = function.inner.iter().filter(|inner| !inner.is_routine).map(|inner| inner.code.clone());
                let inner: Vec<Range<u32>> = inner.collect();
                measured.code = function.code.len() as u64;
                measured.work = Work::of(&SassFunction::new(&function.code, arch), &inner);
            }
        }
        for header in Header::all(&artifacts.ptx) {
            if let Some(measured) = self.functions.get_mut(&canonical(header.name)) {
                measured.threads = header.threads();
                measured.is_internal = header.is_internal;
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

/// What PTX says of a kernel before its body.
struct Header<'p> {
    name: &'p str,
    /// Parameters and directives.
    rest: &'p str,
    is_internal: bool,
}

impl<'p> Header<'p> {
    /// The headers of all kernels.
    fn all(ptx: &'p str) -> impl Iterator<Item = Self> {
        ptx.match_indices(ENTRY).map(|(at, _)| {
            let (before, header) = (&ptx[..at], &ptx[at + ENTRY.len()..]);
            let header = header.split('{').next().unwrap_or_default().trim_start();
            let name = header.split(|c: char| c == '(' || c.is_whitespace()).next().unwrap_or_default();
            let is_internal = !LINKAGES.iter().any(|linkage| before.trim_end().ends_with(linkage));
            Self { name, rest: &header[name.len()..], is_internal }
        })
    }

    /// Threads of the largest block, if the kernel has a limit.
    fn threads(&self) -> Option<u32> {
        BLOCK_SIZES
            .iter()
            .filter_map(|directive| self.rest.split_once(directive))
            .map(|(_, numbers)| product(numbers))
            .next_back()
    }
}

/// Kernels with a maximum block size.
pub fn block_sizes(ptx: &str) -> BTreeMap<&str, u32> {
    Header::all(ptx).filter_map(|header| Some((header.name, header.threads()?))).collect()
}

/// The product of `256, 2, 1`; other directives may follow.
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
    fn warnings_that_edits_bring() {
        let message = |kind, number: Option<&str>| CompilerMessage {
            kind,
            compiler: "nvcc".to_string(),
            number: number.map(str::to_string),
            text: "dynamic initialization is not supported".to_string(),
            place: None,
            column: None,
        };
        let warning = |number| message(MessageKind::Warning, Some(number));
        let (constructor, unused) = (warning("20054-D"), warning("177-D"));
        let added = |before: &[CompilerMessage], after: &[CompilerMessage]| added_warning(before, after).cloned();
        let (one, two) = ([unused.clone()], [unused.clone(), constructor.clone()]);
        assert_eq!(added(&one, &two), Some(constructor));
        assert_eq!(added(&two, &one), None);
        assert_eq!(added(&two, &[unused.clone(), unused.clone()]), Some(unused));
        // ptxas says how much the kernel spills, without a number.
        assert_eq!(added(&[], &[message(MessageKind::Warning, None)]), None);
    }

    #[test]
    fn names_do_not_depend_on_where_a_file_lies() {
        let name =
            |one: &str, two: &str| format!("_ZN41_GLOBAL__N__{one}_9_decode_cu_{two}11softmax_rowILi32EEEvPKfPfii");
        assert_eq!(canonical(&name("369b127b", "b80563f7")), name("00000000", "00000000"));
        for odd in ["_Z1kPf", "_GLOBAL__N_", "x_INTERNAL_12345678_99999999999999999999_", "_INTERNAL_é_1_x"] {
            canonical(odd);
        }
        assert_eq!(canonical("_Z1kPf"), "_Z1kPf");
    }

    #[test]
    fn block_sizes_stand_in_headers() {
        let ptx = ".visible .entry one(\n)\n.maxntid 256, 2\n.minnctapersm 5\n{\n}\n.entry two( .param .u64 p ) .reqntid 64, 1, 1 .maxnreg 32 { ret; }\n.entry three()\n{\n}";
        assert_eq!(block_sizes(ptx), BTreeMap::from([("one", 512), ("two", 64)]));
        let internal: Vec<_> = Header::all(ptx).map(|header| header.is_internal).collect();
        assert_eq!(internal, [false, true, true]);
    }
}
