//! What a lint is, and what it may know.

use std::cell::OnceCell;

use cuda_syntax::{Launch, Launches, SyntaxTrees};
use lmem_base::gpu::Arch;
use lmem_base::level::Level;
use lmem_base::source::Span;
use lmem_frame::{KernelFrame, StackObject};
use lmem_unit::{Artifacts, CompiledUnit, CompilerMessage, TranslationUnit, UnitCode};
use nv_code::{PtxFunction, PtxModule, UnitFacts};

use super::finding::Finding;

/// A cause that can be named.
pub struct Lint {
    pub name: &'static str,
    /// The level where nobody says another.
    pub level: Level,
    /// The lint's own source; its `//!` lines are the documentation.
    pub source: &'static str,
    pub check: Check,
}

/// What a lint looks at.
pub enum Check {
    /// One object of a frame; the first lint, in their fixed order, that gives a finding claims its bytes.
    Object(fn(&LintContext<'_>, &StackObject) -> Option<Finding>),
    /// A whole kernel, beside its objects; claims no bytes.
    Kernel(fn(&LintContext<'_>) -> Option<Finding>),
    /// The options that a unit was compiled with, beside its kernels; claims no bytes.
    Options(fn(&UnitContext<'_>) -> Vec<Finding>),
    /// A whole unit, before its kernels; a finding replaces all others of the unit.
    Unit(fn(&TranslationUnit, bool) -> Option<Finding>),
}

/// What a lint may know of a kernel.
pub struct LintContext<'a> {
    pub unit: &'a UnitContext<'a>,
    pub frame: &'a KernelFrame,
    pub arch: Arch,
    /// Whether spills can be told from arrays by ptxas's own marks.
    pub has_spill_marks: bool,
}

impl<'a> LintContext<'a> {
    /// The objects of the frame, which answer what a lint asks of them.
    pub fn objects(&self) -> impl Iterator<Item = StackObject<'a>> + use<'a> {
        let (facts, trees) = (self.unit.facts, self.unit.trees);
        self.frame.objects.iter().map(move |object| StackObject::new(object, facts, trees))
    }
}

/// What a lint may know of a unit.
pub struct UnitContext<'a> {
    pub unit: &'a TranslationUnit,
    pub facts: &'a UnitFacts,
    /// Its texts with their syntax trees.
    pub trees: &'a SyntaxTrees<'a>,
    /// Warnings of the compilers, with their places in the user's files.
    pub messages: &'a [(CompilerMessage, Option<Span>)],
    /// The `-maxrregcount` that counts.
    pub register_flag: Option<(u32, String)>,
    /// The unit's texts as they were compiled.
    pub compiled: CompiledUnit<'a>,
    ptx_text: &'a str,
    ptx: OnceCell<PtxModule>,
    launches: OnceCell<Launches>,
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
        let (ptx, launches) = (OnceCell::new(), OnceCell::new());
        Self { unit, facts, trees, messages, register_flag, compiled, ptx_text, ptx, launches }
    }

    /// A function of the PTX, by its mangled name; also in units without local memory, whose PTX nobody has read yet.
    pub fn function(&self, mangled: &str) -> Option<&PtxFunction> {
        if let Some(function) = self.facts.ptx.function(mangled) {
            return Some(function);
        }
        self.ptx.get_or_init(|| PtxModule::parse(self.ptx_text).unwrap_or_default()).function(mangled)
    }

    /// Whether nothing but machine code is known.
    pub fn is_without_ptx(&self) -> bool {
        matches!(self.unit.code, UnitCode::Machine(_)) && self.ptx_text.is_empty()
    }

    /// Whether functions of the unit may be called by others that it is linked with.
    pub fn is_relocatable(&self) -> bool {
        self.ptx_text.contains(".visible .func")
    }

    /// The launch of a kernel with the most threads in a block, where all its launches are known.
    pub fn launch(&self, frame: &KernelFrame) -> Option<&Launch> {
        self.launches().largest(&frame.name)
    }

    pub fn launches(&self) -> &Launches {
        self.launches.get_or_init(|| Launches::of_unit(self.compiled))
    }
}
