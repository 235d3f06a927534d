//! Runs two versions of a kernel on the same launches and compares their output, without CUDA and without a GPU.
//!
//! Launches are generated: a pointer points to memory that is created on first access, and integers are drawn from
//! values that matter to loops, guards and unrolled iterations. The original version decides whether a launch is valid.
//! A launch proves nothing if the original exceeds a local array, divides by zero, shifts by the operand's width, or
//! reads unwritten memory, or if a version does not execute what the edit changes (`reach.rs`). Then another launch is drawn; the failed one narrows the range of the integers
//! (`search.rs`).
//!
//! What both versions execute, from which [`estimate`] predicts their time, is counted in a launch of the program if host code shows
//! one (`search/launched.rs`), else in the longest of these launches.
//!
//! Comparing and estimating take a third of the processor time of the compilations that they follow: 21 of 67 seconds for
//! the 85 edited units of the test crate `labelled` on one architecture; 1.7 of
//! 6.0 seconds for 12 pairs of programs, with a run of each original alone. Of 513 pairs of changed kernels (the test crates and two sets of kernels that
//! no rewrite was made for), 497 are compared; of the 709 that the test crates have on record, 703: in the others too few
//! launches execute what the edit changes. A run of the original alone, for a kernel without
//! such an edit, takes 0.4 of the time of a comparison (27 against 68 seconds for 75 kernels).
//!
//! Where no parameter is `__restrict__`, single threads are also launched with pointers of one type to overlapping memory
//! (`search/aliased.rs`), so that memory which is read again in place of a copy shows.
//!
//! Made-up pointers and strides let threads overlap whose memory is apart in the program. Where those of the original race, a
//! difference is no fault of the edit if both versions write the same with one thread after the other (`search/in_turn.rs`).
//!
//! All bytes written to global memory must be equal. Floating-point numbers may differ in the last digits, which is
//! reported.

mod alone;
mod constants;
mod difference;
mod draw;
pub mod estimate;
mod parameters;
mod reach;
mod recipe;
mod same;
mod search;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use estimate::Executed;
use lmem_base::diagnostic::Comparison;
use ptx_machine::Program;
use ptx_syntax::{Instruction, Module, Operand, SpecialRegister};
use search::Search;

pub use alone::Alone;
pub use search::{Buffer, LargeLaunch, Pointer, SourceLaunch, Terms};

/// What running both versions of a kernel showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    pub results: Comparison,
    /// `None` unless the results were compared and are equal, or nearly so.
    pub executed: Option<Executed>,
}

impl Compared {
    pub fn without_counts(results: Comparison) -> Self {
        Self { results, executed: None }
    }
}

/// What surrounds a comparison.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outside<'a> {
    /// Launches of the kernel in the source.
    pub launches: &'a [SourceLaunch],
    /// Once it is set, no further launch is run, and what is returned means nothing.
    pub cancel: Option<&'a AtomicBool>,
}

/// Both versions of a unit's PTX. Names must be equal in both; the caller has to remove hashes of file names.
#[derive(Debug)]
pub struct Versions {
    before: Module,
    after: Module,
}

impl Versions {
    /// `None` if one of the texts is not PTX.
    pub fn new(before: &str, after: &str) -> Option<Self> {
        Some(Self { before: Module::parse(before).ok()?, after: Module::parse(after).ok()? })
    }

    /// The kernels in both versions.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let is_kept =
            |name: &str| self.after.functions.iter().any(|function| function.is_entry && &*function.name == name);
        let kernels = self.before.functions.iter().filter(|function| function.is_entry);
        kernels.map(|function| &*function.name).filter(move |name| is_kept(name))
    }

    /// A kernel and the functions that it may call, in either version.
    pub fn functions(&self, kernel: &str) -> BTreeSet<String> {
        let programs = [&self.before, &self.after].into_iter().filter_map(|module| Program::new(module, kernel).ok());
        programs.flat_map(|program| program.functions().map(str::to_string).collect::<Vec<_>>()).collect()
    }

    /// Compares both versions of a kernel.
    pub fn compare(&self, kernel: &str, terms: Terms) -> Compared {
        self.compare_launched(kernel, terms, Outside::default())
    }

    /// The same; what both execute is counted in one of the program's own launches, if one is known.
    pub fn compare_launched(&self, kernel: &str, terms: Terms, outside: Outside<'_>) -> Compared {
        let not_compared = |why: &str| Compared::without_counts(Comparison::NotCompared { why: why.to_string() });
        let programs = (Program::new(&self.before, kernel), Program::new(&self.after, kernel));
        let (Ok(before), Ok(after)) = programs else { return not_compared("the kernel cannot be read") };
        if same::is_same_code(&self.before, &self.after, &before, &after) {
            return Compared::without_counts(Comparison::Unchanged);
        }
        let sizes =
            |program: &Program| -> Vec<u64> { program.kernel().inputs().map(|(_, input)| input.bytes).collect() };
        if sizes(&before) != sizes(&after) {
            return not_compared("other parameters");
        }
        if reads_clock(&self.before, &before) || reads_clock(&self.after, &after) {
            return not_compared("`%clock`");
        }
        search::run(Search::new([&self.before, &self.after], &before, &after, terms).within(outside))
    }

    /// A launch of a kernel that is large enough to be timed on a GPU.
    ///
    /// # Errors
    /// There is none; the message says why, in the words of [`Comparison::NotCompared`].
    pub fn large_launch(&self, kernel: &str, terms: Terms) -> Result<LargeLaunch, String> {
        let programs = (Program::new(&self.before, kernel), Program::new(&self.after, kernel));
        let (Ok(before), Ok(after)) = programs else { return Err("the kernel cannot be read".to_string()) };
        search::large_launch(Search::new([&self.before, &self.after], &before, &after, terms))
    }
}

/// Whether a program reads a clock, whose value differs in each run.
fn reads_clock(module: &Module, program: &Program) -> bool {
    use SpecialRegister::{Clock, Clock64, ClockHi, Globaltimer, GlobaltimerHi, GlobaltimerLo};
    let is_clock = |operand: &Operand| {
        matches!(operand, Operand::Special(Clock | ClockHi | Clock64 | Globaltimer | GlobaltimerLo | GlobaltimerHi))
    };
    instructions(module, program).any(|instruction| instruction.operands.iter().any(is_clock))
}

/// The instructions of a kernel and of the functions that it may call.
fn instructions<'a>(module: &'a Module, program: &Program) -> impl Iterator<Item = &'a Instruction> {
    let names: Vec<&str> = program.functions().collect();
    let functions = module.functions.iter().filter(move |function| names.contains(&&*function.name));
    functions.flat_map(|function| &function.instructions)
}
