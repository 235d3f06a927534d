//! Lints, and the facts available to them.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use cuda_syntax::tree::base_name;
use cuda_syntax::{Launch, Launches, SyntaxTrees};
use lmem_base::budget::Limit;
use lmem_base::diagnostic::ResourceUsage;
use lmem_base::gpu::Arch;
use lmem_base::level::Level;
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use lmem_frame::{KernelFrame, KnownReentries, Reentry, StackObject};
use lmem_unit::{Artifacts, CompiledUnit, CompilerMessage, TranslationUnit, UnitCode};
use nv_code::{PtxFunction, PtxModule, UnitFacts};
use ptx_syntax::Linkage;

use super::callers::KnownCallers;
use super::finding::Finding;

/// A lint: a nameable cause of local memory.
pub struct Lint {
    pub name: &'static str,
    /// The default level.
    pub level: Level,
    /// The lint's own source; its `//!` lines are the documentation.
    pub source: &'static str,
    pub check: Check,
}

/// The subject of a lint.
pub enum Check {
    /// One object of a frame. The first lint in order that gives a finding claims the object's bytes.
    Object(fn(&LintContext<'_>, &StackObject) -> Option<Finding>),
    /// A whole kernel, in addition to its objects; claims no bytes.
    Kernel(fn(&LintContext<'_>) -> Option<Finding>),
    /// The compile options of a unit, in addition to its kernels; claims no bytes.
    Options(fn(&UnitContext<'_>) -> Vec<Finding>),
    /// A whole unit, before its kernels; a finding replaces all others of the unit.
    Unit(fn(&TranslationUnit, bool) -> Option<Finding>),
    /// A kernel on all architectures of a run, beside what somebody wrote down that it may take; claims no bytes.
    Budget(fn(&BudgetedKernel<'_>) -> Option<Finding>),
}

/// A kernel, and what it may take.
pub struct BudgetedKernel<'a> {
    pub name: &'a str,
    /// Its name in the source.
    pub span: Option<&'a Span>,
    pub budget: &'a [BudgetedLimit],
    /// What it takes, on each architecture.
    pub figures: &'a [KernelFigures],
}

/// A limit, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetedLimit {
    pub limit: Limit,
    /// The comment that has it.
    pub comment: Option<Span>,
    /// The setting that has it: its pattern, and the manifest as it is shown.
    pub setting: Option<(String, String)>,
}

/// What a kernel takes on an architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFigures {
    pub architecture: String,
    pub usage: ResourceUsage,
    /// ptxas cannot tell the size of the stack.
    pub stack_is_unknown: bool,
    /// Threads of a block, where they are known.
    pub threads: Option<u32>,
    /// Bytes of shared memory that launches add; `None` where that is only known when the program runs.
    pub dynamic_shared: Option<u64>,
    /// Resident blocks (where the block is known), warps, and percent of the warps that an SM holds.
    pub resident: Option<(Option<u32>, u32, u32)>,
}

/// Facts on a kernel, for lints.
pub struct LintContext<'a> {
    pub unit: &'a UnitContext<'a>,
    pub frame: &'a KernelFrame,
    pub arch: Arch,
    /// Whether ptxas marks spills, which distinguishes them from arrays.
    pub has_spill_marks: bool,
}

impl<'a> LintContext<'a> {
    /// The objects of the frame, with queries for lints.
    pub fn objects(&self) -> impl Iterator<Item = StackObject<'a>> + use<'a> {
        let (facts, trees) = (self.unit.facts, self.unit.trees);
        self.frame.objects.iter().map(move |object| StackObject::new(object, facts, trees))
    }

    /// How the function of an object may be entered again before it returns. Each call has variables of its own, and
    /// shared memory has one for all of them.
    pub fn reentry(&self, object: &StackObject) -> Option<Reentry> {
        self.frame.recursion.as_ref().map(|_| Reentry::Recursion).or_else(|| object.reentry(&self.unit.reentries))
    }
}

/// The functions of a unit whose blocks may wait for each other.
pub enum WaitingBlocks {
    /// Any may.
    All,
    /// These may, by their mangled names.
    Of(BTreeSet<String>),
}

/// Facts on a unit, for lints.
pub struct UnitContext<'a> {
    pub unit: &'a TranslationUnit,
    pub facts: &'a UnitFacts,
    /// The syntax trees of its texts.
    pub trees: &'a SyntaxTrees<'a>,
    /// Compiler warnings with their spans in the user's files.
    pub messages: &'a [(CompilerMessage, Option<Span>)],
    /// The effective `-maxrregcount`.
    pub register_flag: Option<(u32, String)>,
    /// The unit's texts as compiled.
    pub compiled: CompiledUnit<'a>,
    ptx_text: &'a str,
    ptx: OnceCell<PtxModule>,
    launches: OnceCell<Launches>,
    waiting: OnceCell<WaitingBlocks>,
    /// Whether all kernels of a name have internal linkage.
    internal_kernels: OnceCell<HashMap<String, bool>>,
    pub(crate) reentries: KnownReentries,
    pub(crate) callers: KnownCallers,
}

impl<'a> UnitContext<'a> {
    pub fn new(
        unit: &'a TranslationUnit,
        artifacts: &'a Artifacts,
        facts: &'a UnitFacts,
        trees: &'a SyntaxTrees<'a>,
        messages: &'a [(CompilerMessage, Option<Span>)],
        register_flag: Option<(u32, String)>,
    ) -> Self {
        let (compiled, ptx_text) = (artifacts.compiled_unit(unit), artifacts.ptx.as_str());
        let (ptx, launches, waiting) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        let (reentries, callers) = (KnownReentries::default(), KnownCallers::default());
        Self {
            unit,
            facts,
            trees,
            messages,
            register_flag,
            compiled,
            ptx_text,
            ptx,
            launches,
            waiting,
            internal_kernels: OnceCell::new(),
            reentries,
            callers,
        }
    }

    /// A PTX function by its mangled name. In a unit without local memory the PTX was not parsed before; it is parsed
    /// now.
    pub fn function(&self, mangled: &str) -> Option<&PtxFunction> {
        self.ptx().function(mangled)
    }

    /// The unit's PTX.
    pub fn ptx(&self) -> &PtxModule {
        if !self.facts.ptx.functions.is_empty() {
            return &self.facts.ptx;
        }
        self.ptx.get_or_init(|| PtxModule::parse(self.ptx_text).unwrap_or_default())
    }

    /// Whether only machine code is available, without PTX.
    pub fn is_without_ptx(&self) -> bool {
        matches!(self.unit.code, UnitCode::Machine(_)) && self.ptx_text.is_empty()
    }

    /// Whether other units, linked later, may call functions of the unit.
    pub fn is_relocatable(&self) -> bool {
        self.ptx_text.contains(".visible .func")
    }

    /// The launch of a kernel with the largest block, if all its block sizes are known.
    pub fn launch(&self, frame: &KernelFrame) -> Option<&Launch> {
        self.launches().largest(&frame.name)
    }

    /// Whether no other code can launch a kernel than the file that defines it: the kernel and all others of its name
    /// have internal linkage, and the unit has no other file of the user's, where a launch or its macro could stand.
    pub fn has_all_launches(&self, frame: &KernelFrame) -> bool {
        self.has_all_launches_of(base_name(&frame.name))
    }

    /// The same for all kernels with a name, without namespaces and template arguments.
    pub fn has_all_launches_of(&self, name: &str) -> bool {
        let read = || {
            let mut are_internal: HashMap<String, bool> = HashMap::new();
            for kernel in self.ptx().functions.iter().filter(|function| function.is_entry) {
                let is_internal = kernel.linkage == Linkage::Internal;
                *are_internal.entry(base_name(&demangle(&kernel.name)).to_string()).or_insert(true) &= is_internal;
            }
            are_internal
        };
        self.is_one_file() && self.internal_kernels.get_or_init(read).get(name).copied().unwrap_or(false)
    }

    /// Whether the unit is a `.cu` file that includes no other file of the user's.
    pub fn is_one_file(&self) -> bool {
        matches!(self.unit.code, UnitCode::CudaFile { .. }) && self.compiled.files.files.len() == 1
    }

    pub fn ptx_text(&self) -> &str {
        self.ptx_text
    }

    /// The functions whose blocks may wait for each other, as `find` says. Each finding asks, and the answer takes a look at all of
    /// the PTX.
    pub fn waiting_blocks(&self, find: impl FnOnce() -> WaitingBlocks) -> &WaitingBlocks {
        self.waiting.get_or_init(find)
    }

    pub fn launches(&self) -> &Launches {
        self.launches.get_or_init(|| Launches::of_unit(self.compiled))
    }
}
