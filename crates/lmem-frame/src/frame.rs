//! The stack frame of one kernel as a sum of objects.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use cuda_syntax::tree::{DeclarationKind, FunctionSyntax};
use cuda_syntax::{Views, types};
use lmem_base::diagnostic::ResourceUsage;
use lmem_base::gpu::Gpu;
use lmem_base::mangling::{bind, demangle, template_arguments, without_copy_number};
use lmem_base::source::Span;
use lmem_unit::{Artifacts, TranslationUnit};
use nv_code::dataflow::{Circle, Circles, callee as called_name};
use nv_code::{
    Instruction, KernelFacts, LocalAccess, Location, PtxFunction, PtxVariable, PtxasLog, STACK_ALIGNMENT, UnitFacts,
};
use ptx_syntax::{Modifier, Opcode};

use super::access::{Access, Contents, Escape, ObjectKey, RawObject};
use super::allocation::{self, Allocation};
use super::calls::{self, CallArea, CallAreaKind, Sorted};
use super::reinterpret::{self, Reinterpretation};
use super::spill::{self, Limit, Spills};
use super::{contents, objects};
use crate::place::Place;
use crate::symbolize::mark;
use crate::symbolize::name::{self, Variable};

/// Alignment adds at most this many bytes to a frame.
const MAX_PADDING: u64 = 15;

/// A kernel, or a function with a frame of its own, and what its frame is made of.
#[derive(Clone)]
pub struct KernelFrame {
    /// Demangled, without parameters: `running_mean<32>`.
    pub name: String,
    pub mangled: String,
    pub is_entry: bool,
    pub usage: ResourceUsage,
    /// ptxas cannot tell the size of the stack.
    pub stack_is_unknown: bool,
    /// The name in the source, where that is in the user's files.
    pub span: Option<Span>,
    pub launch_bounds: LaunchBounds,
    /// Registers that a thread may use; known where the PTX of the function is.
    pub limit: Option<Limit>,
    /// For a kernel that spills: its figures when compiled without the limit.
    pub unlimited: Option<ResourceUsage>,
    /// And when it may spill to shared memory, where that was tried.
    pub shared_spilling: Option<ResourceUsage>,
    /// The brace that opens its body.
    pub body: Option<Span>,
    /// Their bytes add up to the frame.
    pub objects: Vec<StackObject>,
    /// For a function that is no kernel and has a frame of its own: the kernels that have a copy of it, mangled.
    pub kernels: BTreeSet<String>,
    /// The function calls itself, directly or not.
    pub recursion: Option<Recursion>,
    /// It is no kernel, and may be called through a pointer.
    pub is_address_taken: bool,
    /// Bytes that saving registers for callers moves, as `(stored, loaded)`; ptxas counts them as spills.
    pub saved: (u64, u64),
    /// Bytes that spills of other functions move in its frame, as `(stored, loaded)`; ptxas counts them with those.
    pub shared_spills: (u64, u64),
    /// Where ptxas's figures for spills are not those of its marks.
    pub spill_check: Option<SpillCheck>,
}

/// Functions that call each other in a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recursion {
    /// Demangled, the one that is entered first.
    pub functions: Vec<String>,
    /// The name of that one in the source.
    pub span: Option<Span>,
    /// The calls that lead back to it.
    pub closing: Vec<Span>,
}

/// Bytes that spills move, as `(stored, loaded)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpillCheck {
    /// By the marked instructions, and those that save registers.
    pub found: (u64, u64),
    /// By ptxas's own figures.
    pub reported: (u64, u64),
}

/// The attributes that limit registers, as the source writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    pub span: Option<Span>,
    /// `__maxnreg__(n)`
    pub max_registers_span: Option<Span>,
}

/// A part of the frame with one owner.
#[derive(Clone)]
pub struct StackObject {
    pub kind: StackObjectKind,
    /// Bytes of the frame; padding counts with the object before it.
    pub bytes: u64,
    /// How much of that is padding.
    pub padding: u64,
    pub variable: Option<Variable>,
    pub accesses: Vec<Access>,
    pub escapes: Vec<Escape>,
    pub contents: Contents,
    /// It is a copy that is made to be passed by value: the function that it is passed to.
    pub passed_to: Option<PassedTo>,
    /// The cast through which the variable is accessed as another type.
    pub reinterpretation: Option<Reinterpretation>,
    /// Demangled name of the function that owns it, where that is not the kernel itself.
    pub function: Option<String>,
    /// For memory of the math library: the call that it belongs to.
    pub math_function: Option<MathFunction>,
}

/// Where a copy of a structure is passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedTo {
    /// Mangled; `None` for a function behind a pointer.
    pub callee: Option<String>,
    pub call: Option<Span>,
}

/// A call such as `sinf(x)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MathFunction {
    /// As the source calls it; `None` where the call is hidden in a macro or a header.
    pub name: Option<String>,
    /// The call, else the statement that holds it.
    pub span: Option<Span>,
}

#[derive(Debug, Clone)]
pub enum StackObjectKind {
    /// A variable of the source, or what the compiler made of one.
    Variable,
    /// All spill slots of the kernel.
    Spills(Box<Spills>),
    /// What calls need.
    Call(Box<CallArea>),
    /// Memory of `alloca`, which is not in the frame.
    Allocation(Box<Allocation>),
    /// A recursion that the kernel starts: its bytes are in the frames of the functions.
    Recursion(Box<Recursion>),
    /// What is left: nothing says what it is for.
    Unknown,
}

impl KernelFrame {
    /// A frame of which nothing but its size is known.
    fn new(kernel: &KernelFacts) -> Self {
        Self {
            name: demangle(&kernel.name),
            mangled: kernel.name.clone(),
            is_entry: kernel.is_entry,
            usage: kernel.usage,
            stack_is_unknown: kernel.stack_is_unknown,
            span: None,
            launch_bounds: LaunchBounds::default(),
            limit: None,
            unlimited: None,
            shared_spilling: None,
            body: None,
            objects: Vec::new(),
            kernels: BTreeSet::new(),
            recursion: None,
            is_address_taken: false,
            saved: (0, 0),
            shared_spills: kernel.shared_spills,
            spill_check: None,
        }
    }
}

impl StackObject {
    /// The access to blame: the one with the run-time index, deepest and most frequent.
    pub fn guilty(&self) -> Option<&Access> {
        self.accesses.iter().max_by_key(|access| access.guilt())
    }

    /// Elements of an array: as many as its type says, else as the accesses' width does.
    pub fn elements(&self) -> Option<u64> {
        let declared = self.variable.as_ref().and_then(|variable| types::extent(&variable.type_text));
        let smallest = self.accesses.iter().filter_map(Access::element_bytes).min();
        declared.or_else(|| Some((self.bytes - self.padding.min(self.bytes)) / smallest?))
    }

    /// Machine instructions of a kind.
    pub fn count(&self, kind: nv_code::AccessKind) -> u64 {
        self.accesses.iter().filter(|access| access.kind == kind).map(|access| access.count).sum()
    }
}

/// Attributes all local memory of a unit. `root` is the folder that holds the user's files.
pub fn attribute(
    unit: &TranslationUnit,
    facts: &UnitFacts,
    artifacts: &Artifacts,
    root: &Path,
    flag: Option<(u32, String)>,
) -> Vec<KernelFrame> {
    let about = Attribution {
        facts,
        unlimited: PtxasLog::parse(&artifacts.unlimited_log),
        views: &Views::new(unit, artifacts, root),
        gpu: artifacts.arch().gpu(),
        flag,
        circles: Circles::new(&facts.ptx),
    };
    let shared = PtxasLog::parse(artifacts.shared_log.as_deref().unwrap_or(""));
    let mut frames = Vec::new();
    let mut functions: BTreeMap<String, KernelFrame> = BTreeMap::new();
    for kernel in &facts.kernels {
        let (own, callees) = about.frames(kernel);
        let shared_spilling = shared.functions.get(&kernel.name).map(|function| function.usage);
        frames.push(KernelFrame { shared_spilling, ..own });
        callees.into_iter().for_each(|callee| keep_largest(&mut functions, callee));
    }
    frames.extend(functions.into_values());
    frames
}

/// Several kernels have copies of a function, compiled under the limits of each: the largest frame speaks for all.
fn keep_largest(functions: &mut BTreeMap<String, KernelFrame>, mut callee: KernelFrame) {
    let size = |frame: &KernelFrame| (frame.usage.stack_frame, frame.usage.spill_stores);
    match functions.entry(callee.mangled.clone()) {
        Entry::Vacant(entry) => _ = entry.insert(callee),
        Entry::Occupied(mut entry) => {
            let known = entry.get_mut();
            if size(&callee) > size(known) {
                std::mem::swap(known, &mut callee);
            }
            known.kernels.extend(callee.kernels);
        }
    }
}

/// What the frames of one unit are made with.
struct Attribution<'a> {
    facts: &'a UnitFacts,
    unlimited: PtxasLog,
    views: &'a Views<'a>,
    gpu: &'static Gpu,
    /// A `-maxrregcount` of the compilation.
    flag: Option<(u32, String)>,
    circles: Circles,
}

impl Attribution<'_> {
    /// The frame of a kernel, and those of functions that it has copies of and that have frames of their own.
    fn frames(&self, kernel: &KernelFacts) -> (KernelFrame, Vec<KernelFrame>) {
        if !kernel.has_local_memory() && self.circles.reached_from(&kernel.name).is_empty() {
            return (KernelFrame::new(kernel), Vec::new());
        }
        let mut sorted = calls::sort(kernel, self.facts);
        let gathered = objects::gather(kernel, &sorted.others, self.facts, self.views);
        let mut accesses: BTreeMap<Option<usize>, Vec<LocalAccess>> = BTreeMap::new();
        for access in std::mem::take(&mut sorted.others) {
            accesses.entry(access.callee).or_default().push(access);
        }
        let mut objects: BTreeMap<Option<usize>, Vec<(ObjectKey, RawObject)>> = BTreeMap::new();
        for (key, raw) in gathered.objects {
            let owner = kernel.callees.iter().position(|callee| callee.name == key.function);
            objects.entry(owner).or_default().push((key, raw));
        }
        let mut stray = gathered.stray;
        let mut make = |index: Option<usize>, function: KernelFacts| {
            let function = KernelFacts { accesses: accesses.remove(&index).unwrap_or_default(), ..function };
            let raw = objects.remove(&index).unwrap_or_default();
            self.frame(kernel, function, index, &sorted, raw, stray.remove(&index).unwrap_or_default())
        };
        let own = make(None, kernel.without_code());
        let callees = kernel.callees.iter().enumerate().map(|(index, callee)| {
            let kernels = BTreeSet::from([kernel.name.clone()]);
            KernelFrame { kernels, ..make(Some(index), callee.as_function()) }
        });
        let callees = callees.collect();
        (own, callees)
    }

    /// One frame: `kernel` has the accesses that are no part of calls. A function is compiled under the limits of the
    /// kernel that has the copy.
    fn frame(
        &self,
        section: &KernelFacts,
        mut kernel: KernelFacts,
        index: Option<usize>,
        sorted: &Sorted,
        mut raw: Vec<(ObjectKey, RawObject)>,
        stray: Vec<Access>,
    ) -> KernelFrame {
        let ptx = &self.facts.ptx;
        let function = ptx.function(&kernel.name);
        let limiting = ptx.function(&section.name);
        let described = function.and_then(|function| self.describe(function));
        let body = described.as_ref().and_then(|described| described.body.clone());
        let (span, syntax) = described.map_or((None, None), |described| (described.span, described.syntax));
        // Where the source is PTX itself, its header is the place.
        let header = || self.views.ptx()?.line_span(*function?.lines.as_ref()?.start() as usize);
        let span = span.or_else(header);
        let mut frame = KernelFrame {
            span,
            body,
            launch_bounds: syntax.as_ref().map(|(bounds, _)| bounds.clone()).unwrap_or_default(),
            limit: limiting.map(|function| spill::limit(function, self.flag.clone(), self.gpu)),
            unlimited: self.unlimited.functions.get(&kernel.name).map(|function| function.usage),
            recursion: self.recursion_of(&kernel.name),
            is_address_taken: !kernel.is_entry && ptx.is_address_taken(&kernel.name),
            ..KernelFrame::new(&kernel)
        };
        let mut incoming: Option<StackObject> = None;
        let mut objects = self.call_objects(section, &frame, sorted.areas(index, self.facts, self.views));
        let saved = sorted.saved_bytes.get(&index).copied().unwrap_or_default();
        frame.saved = saved;
        frame.spill_check = self.check_spills(&kernel, saved);
        // What saving registers moves is no spill of the register allocator.
        kernel.usage.spill_stores = kernel.usage.spill_stores.saturating_sub(saved.0);
        kernel.usage.spill_loads = kernel.usage.spill_loads.saturating_sub(saved.1);
        objects.extend(self.spilled(&kernel));
        let mut parameters =
            function.map(|function| contents::parameters(function, self.facts, self.views)).unwrap_or_default();
        for parameter in parameters.iter_mut().flatten() {
            let names = syntax.as_ref().map_or(&[][..], |(_, syntax)| &syntax.template_parameters);
            parameter.type_text = bind(&parameter.type_text, names, &template_arguments(&frame.name));
        }
        let names = self.names(&mut raw);
        for ((key, mut raw), named) in raw.into_iter().zip(names) {
            if !kernel.is_entry && is_parameter_of(function, &key) {
                // It lies in the frame of the caller.
                incoming = incoming.or_else(|| self.incoming(&raw)).filter(|_| kernel.usage.stack_frame == 0);
                continue;
            }
            raw.contents.name(&parameters);
            objects.push(self.variable_object(key, raw, named, function, &frame));
        }
        if objects.is_empty() {
            objects.extend(incoming);
        }
        frame.objects = balance(objects, stray, kernel.usage.stack_frame, padding(&kernel));
        frame
    }

    /// What calls put into the frame, and the recursions that it starts.
    fn call_objects(&self, kernel: &KernelFacts, frame: &KernelFrame, areas: Vec<(CallArea, u64)>) -> Vec<StackObject> {
        // What lies in the frames of callers is said there, and here only where nothing else is.
        let is_said = |area: &CallArea| match area.kind {
            CallAreaKind::Incoming { .. } => frame.usage.stack_frame > 0,
            // Where functions save registers, that some routine does so too is no news.
            CallAreaKind::Routine { .. } => frame.usage.stack_frame > 0 || !kernel.callees.is_empty(),
            CallAreaKind::Saved { .. } | CallAreaKind::Passed { .. } => false,
        };
        let areas = areas.into_iter().filter(|(area, _)| !is_said(area)).map(|(mut area, bytes)| {
            let callee = area.callees.first().and_then(|name| self.facts.ptx.function(name.as_deref()?));
            area.callee_span = callee.and_then(|callee| self.describe(callee)?.span);
            if matches!(area.kind, CallAreaKind::Routine { .. }) {
                area.calls.extend(self.first_slow_instruction(kernel));
            }
            // A function of the library has no lines: its caller's stand for it.
            if frame.span.is_none() && area.calls.is_empty() {
                area.calls.extend(self.first_call(&frame.mangled));
            }
            plain(StackObjectKind::Call(Box::new(area)), bytes)
        });
        let mut objects: Vec<StackObject> = areas.collect();
        if frame.is_entry {
            let recursions = self.recursions_from(&frame.mangled).into_iter();
            objects.extend(recursions.map(|recursion| plain(StackObjectKind::Recursion(Box::new(recursion)), 0)));
        }
        objects
    }

    /// What a function reads from the frames of its callers.
    fn incoming(&self, raw: &RawObject) -> Option<StackObject> {
        if raw.accesses.is_empty() {
            return None;
        }
        let area = CallArea {
            kind: CallAreaKind::Incoming { bytes: raw.bytes },
            callees: Vec::new(),
            calls: Vec::new(),
            callee_span: None,
            loads: raw.accesses.iter().map(|access| access.count).sum(),
            stores: 0,
            loop_depth: raw.accesses.iter().map(|access| access.loop_depth).max().unwrap_or(0),
        };
        Some(plain(StackObjectKind::Call(Box::new(area)), 0))
    }

    /// The first instruction for which ptxas has a routine: in the functions that a kernel has copies of, as a kernel
    /// itself has no registers to save.
    fn first_slow_instruction(&self, kernel: &KernelFacts) -> Option<Span> {
        let functions = kernel.callees.iter().filter_map(|callee| self.facts.ptx.function(&callee.name));
        let mut functions = functions.chain(self.facts.ptx.function(&kernel.name));
        functions.find_map(|function| {
            let is_slow = |instruction: &Instruction| {
                matches!(instruction.opcode(), Opcode::Div | Opcode::Rcp | Opcode::Sqrt | Opcode::Rem)
                    && !instruction.has(Modifier::Approx)
            };
            let mut slow = function.instructions.iter().enumerate().filter(|(_, instruction)| is_slow(instruction));
            slow.find_map(|(index, _)| calls::call_span(function, index, self.facts, self.views))
        })
    }

    /// The first call of a function that the user's files show.
    fn first_call(&self, callee: &str) -> Option<Span> {
        self.facts.ptx.functions.iter().find_map(|function| {
            let calls = function.instructions.iter().enumerate();
            let mut calls = calls.filter(|(_, call)| called_name(call) == Some(callee));
            calls.find_map(|(index, _)| calls::call_span(function, index, self.facts, self.views))
        })
    }

    fn recursion_of(&self, function: &str) -> Option<Recursion> {
        let name = without_copy_number(function).unwrap_or(function);
        self.circles.of(name).or_else(|| self.circles.of(function)).map(|circle| self.recursion(circle))
    }

    /// Recursions that a kernel gets into, where the machine code has a function that saves registers for them.
    fn recursions_from(&self, kernel: &str) -> Vec<Recursion> {
        let is_function = |name: &str, of: &str| of == name || without_copy_number(of) == Some(name);
        let has_frame = |name: &String| {
            let mut sections = self.facts.kernels.iter();
            sections.any(|section| {
                let own = is_function(name, &section.name) && section.usage.stack_frame > 0;
                own || section.callees.iter().any(|callee| is_function(name, &callee.name))
            })
        };
        let circles = self.circles.reached_from(kernel).into_iter();
        circles.filter(|circle| circle.functions.iter().any(has_frame)).map(|circle| self.recursion(&circle)).collect()
    }

    fn recursion(&self, circle: &Circle) -> Recursion {
        let first = circle.functions.first().and_then(|name| self.facts.ptx.function(name));
        let mut closing: Vec<Span> = Vec::new();
        for (function, call) in &circle.closing {
            let function = self.facts.ptx.function(function);
            let span = function.and_then(|function| calls::call_span(function, *call, self.facts, self.views));
            closing.extend(span.filter(|span| !closing.contains(span)));
        }
        Recursion {
            functions: circle.functions.iter().map(|name| demangle(name)).collect(),
            span: first.and_then(|function| self.describe(function)?.span),
            closing,
        }
    }

    /// ptxas's own figures against the instructions that it marks, and those that save registers.
    fn check_spills(&self, kernel: &KernelFacts, saved: (u64, u64)) -> Option<SpillCheck> {
        let marked = kernel.marked_spill_bytes();
        let found = (marked.0 + saved.0, marked.1 + saved.1);
        let shared = kernel.shared_spills;
        let reported = (kernel.usage.spill_stores + shared.0, kernel.usage.spill_loads + shared.1);
        let is_comparable = self.facts.has_spill_marks && !self.facts.is_without_log;
        (is_comparable && found != reported).then_some(SpillCheck { found, reported })
    }

    /// Finds a function's own lines in the source.
    fn describe(&self, function: &PtxFunction) -> Option<Described> {
        let location = function.locations.iter().find(|location| location.inlined_at.is_none() && location.line > 0)?;
        let view = self.views.get(self.facts.ptx.files.get(&location.file)?)?;
        let range = view.line_range(location.line as usize)?;
        let syntax = view
            .function_at(range.end.saturating_sub(1).max(range.start))
            .or_else(|| view.function_at(view.offset(location.line, 0)?))
            // A method whose structure is on the same line: its first instruction lies inside.
            .or_else(|| {
                let own =
                    |inner: &&Location| inner.inlined_at.is_none() && inner.column > 0 && inner.file == location.file;
                let inner = function.locations.iter().find(own)?;
                view.function_at(view.offset(inner.line, inner.column)?)
            });
        let span = syntax
            .as_ref()
            .and_then(|syntax| view.span(syntax.name.clone()))
            .or_else(|| view.line_span(location.line as usize));
        let body = syntax.as_ref().and_then(|syntax| view.span(syntax.body?..syntax.body? + 1));
        let syntax = syntax.map(|syntax| {
            let span = |range: &Option<Range<usize>>| range.clone().and_then(|range| view.span(range));
            let bounds =
                LaunchBounds { span: span(&syntax.launch_bounds), max_registers_span: span(&syntax.max_registers) };
            (bounds, syntax)
        });
        Some(Described { span, body, syntax })
    }

    fn passed_to(&self, raw: &RawObject) -> Option<PassedTo> {
        let (function, call) = raw.passed_to.as_ref()?;
        let function = self.facts.ptx.function(function)?;
        Some(PassedTo {
            callee: called_name(function.instructions.get(*call)?).map(str::to_string),
            call: calls::call_span(function, *call, self.facts, self.views),
        })
    }

    /// The parameter of a function that an object is, as the source names it.
    fn parameter(&self, key: &ObjectKey) -> Option<Variable> {
        let function = self.facts.ptx.function(&key.function)?;
        let variable = function.local_variables.get(key.variable)?;
        let parameters = contents::parameters(function, self.facts, self.views);
        let parameter = parameters.into_iter().nth(variable.parameter?)??;
        Some(Variable {
            name: parameter.name,
            type_text: parameter.type_text,
            kind: DeclarationKind::Aggregate,
            is_parameter: true,
            volatility: None,
            initializer: None,
            bytes: Some(variable.bytes),
            span: parameter.span,
        })
    }

    fn spilled(&self, kernel: &KernelFacts) -> Option<StackObject> {
        let spills = spill::spills(kernel, self.facts, self.views)?;
        let bytes = spills.slot_bytes;
        Some(plain(StackObjectKind::Spills(Box::new(spills)), bytes))
    }

    /// The variables of all objects, in their order.
    fn names(&self, objects: &mut [(ObjectKey, RawObject)]) -> Vec<Option<Variable>> {
        // Parameters in memory, and what is not of the source, have no statements to be told by.
        let has_name = |key: &ObjectKey, raw: &RawObject| {
            let function = self.facts.ptx.function(&key.function);
            raw.allocation.is_none() && function.is_some_and(|function| is_of_source(function, key))
        };
        let are_named: Vec<bool> = objects.iter().map(|(key, raw)| has_name(key, raw)).collect();
        let of_source = objects.iter_mut().zip(&are_named).filter(|(_, is_named)| **is_named);
        let mut of_source: Vec<&mut RawObject> = of_source.map(|((_, raw), _)| raw).collect();
        let mut names = name::name_all(&mut of_source, self.views).into_iter();
        let all = objects.iter().zip(&are_named);
        all.map(|((key, _), is_named)| if *is_named { names.next().flatten() } else { self.parameter(key) }).collect()
    }

    fn variable_object(
        &self,
        key: ObjectKey,
        mut raw: RawObject,
        named: Option<Variable>,
        function: Option<&PtxFunction>,
        frame: &KernelFrame,
    ) -> StackObject {
        let allocation = raw.allocation.as_deref().map(allocation::describe);
        mark::mark_loops(&mut raw.accesses, self.views);
        let is_own = function.is_some_and(|function| *function.name == *key.function);
        let owner = demangle(&key.function);
        let (kind, mut variable) = match allocation {
            Some((allocation, variable)) => (StackObjectKind::Allocation(Box::new(allocation)), variable),
            None => (StackObjectKind::Variable, named),
        };
        if self.facts.is_without_log {
            // Its lines have no columns: what a line takes from a parameter, such as a pointer in a structure, may only
            // stand beside the array.
            let is_copy = matches!(raw.contents, Contents::Parameter(_));
            let is_beside = |it: &Variable| !is_copy && it.is_parameter && it.bytes.is_none() && it.name.contains('.');
            variable = variable.filter(|variable| !is_beside(variable));
        }
        if let Some(variable) = &mut variable {
            let described = self.facts.ptx.function(&key.function).and_then(|function| self.describe(function));
            let parameters = described.and_then(|described| Some(described.syntax?.1.template_parameters));
            variable.type_text = bind(
                &variable.type_text,
                &parameters.unwrap_or_default(),
                &template_arguments(if is_own { &frame.name } else { &owner }),
            );
        }
        let reinterpretation = variable.as_ref().and_then(|variable| reinterpret::find(variable, &raw.accesses));
        StackObject {
            math_function: if raw.is_library { math_function(&raw) } else { None },
            passed_to: self.passed_to(&raw),
            contents: raw.contents,
            reinterpretation,
            variable,
            accesses: raw.accesses,
            escapes: raw.escapes,
            function: (!is_own).then_some(owner),
            ..plain(kind, raw.bytes)
        }
    }
}

/// Whether an object is a parameter of the function that has the frame.
fn is_parameter_of(function: Option<&PtxFunction>, key: &ObjectKey) -> bool {
    function.filter(|function| *function.name == *key.function).is_some_and(|function| {
        function.local_variables.get(key.variable).is_some_and(|variable| variable.parameter.is_some())
    })
}

/// Whether an object is of the source: assembly may have local variables of its own.
fn is_of_source(function: &PtxFunction, key: &ObjectKey) -> bool {
    function.local_variables.get(key.variable).is_some_and(PtxVariable::is_depot)
}

/// A function in the source.
struct Described {
    span: Option<Span>,
    /// The brace that opens its body.
    body: Option<Span>,
    syntax: Option<(LaunchBounds, FunctionSyntax)>,
}

/// Alignment of the frame, and of the stack pointer itself where the function rounds that.
fn padding(kernel: &KernelFacts) -> u64 {
    MAX_PADDING + kernel.stack_alignment.saturating_sub(STACK_ALIGNMENT)
}

pub fn plain(kind: StackObjectKind, bytes: u64) -> StackObject {
    StackObject {
        kind,
        bytes,
        padding: 0,
        variable: None,
        accesses: Vec::new(),
        escapes: Vec::new(),
        contents: Contents::default(),
        passed_to: None,
        reinterpretation: None,
        function: None,
        math_function: None,
    }
}

/// The call that the library's own memory belongs to, where the source shows one.
fn math_function(raw: &RawObject) -> Option<MathFunction> {
    let place = raw.accesses.iter().find_map(|access| access.places.first());
    let called = place.and_then(|place| {
        let regions = place.view.regions(place.offset).into_iter();
        let (name, range) =
            regions.flat_map(|region| place.view.calls(region)).find(|(name, _)| has_slow_path(name))?;
        Some(MathFunction { name: Some(name), span: place.view.span(range) })
    });
    called.or_else(|| Some(MathFunction { name: None, span: place.and_then(Place::span) }))
}

/// Functions that reduce large arguments with an array.
fn has_slow_path(name: &str) -> bool {
    let name = name.trim_start_matches("cuda::").trim_start_matches("std::").trim_start_matches("::");
    matches!(
        name.strip_suffix('f').unwrap_or(name),
        "sin" | "cos" | "tan" | "sincos" | "j0" | "j1" | "jn" | "y0" | "y1" | "yn"
    )
}

/// Keeps what is in the frame, and adds the remainder so that the bytes add up. Up to `padding` bytes that are left are
/// alignment.
fn balance(objects: Vec<StackObject>, stray: Vec<Access>, frame: u64, padding: u64) -> Vec<StackObject> {
    let mut left = frame;
    let mut kept = Vec::new();
    // Accesses prove an object; one whose address only escapes may have been promoted, and must fit.
    let (proven, escaped): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|object| !object.accesses.is_empty() || is_certain(object));
    for mut object in proven {
        object.bytes = object.bytes.min(left);
        left -= object.bytes;
        kept.push(object);
    }
    for object in escaped {
        if object.bytes > 0 && object.bytes <= left {
            left -= object.bytes;
            kept.push(object);
        }
    }
    // Objects without a byte are not in the frame: their accesses are told with what is left.
    let (empty, mut kept): (Vec<_>, Vec<_>) =
        kept.into_iter().partition(|object| object.bytes == 0 && !is_certain(object));
    let stray: Vec<Access> = stray.into_iter().chain(empty.into_iter().flat_map(|object| object.accesses)).collect();
    if left > padding
        && let Some((spills, gaps)) = kept.iter_mut().find_map(with_gaps)
    {
        // Slots that were given up again: all that is known lies elsewhere.
        let unused = gaps.min(left);
        spills.bytes += unused;
        left -= unused;
    }
    if let Some(last) = kept.iter_mut().rfind(|object| object.bytes > 0).filter(|_| left <= padding) {
        last.bytes += left;
        last.padding = left;
        left = 0;
    }
    if left > 0 || (kept.is_empty() && !stray.is_empty()) {
        kept.push(StackObject { accesses: stray, ..plain(StackObjectKind::Unknown, left) });
    }
    kept
}

fn with_gaps(object: &mut StackObject) -> Option<(&mut StackObject, u64)> {
    let StackObjectKind::Spills(spills) = &object.kind else { return None };
    let gaps = spills.gap_bytes;
    Some((object, gaps))
}

/// Whether an object needs no access of its own to be there.
fn is_certain(object: &StackObject) -> bool {
    match &object.kind {
        StackObjectKind::Spills(_) | StackObjectKind::Call(_) | StackObjectKind::Recursion(_) => true,
        // Its address may be all that is used of it.
        StackObjectKind::Allocation(_) => true,
        StackObjectKind::Variable | StackObjectKind::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(bytes: u64, accesses: usize) -> StackObject {
        let mut object = plain(StackObjectKind::Unknown, bytes);
        object.kind = StackObjectKind::Variable;
        object.accesses = (0..accesses).map(|_| objects::tests::access()).collect();
        object
    }

    fn sum(objects: &[StackObject]) -> u64 {
        objects.iter().map(|object| object.bytes).sum()
    }

    #[test]
    fn bytes_always_add_up() {
        for frame in [0, 8, 64, 72, 80, 100, 200] {
            for objects in [vec![], vec![object(64, 1)], vec![object(64, 1), object(64, 0)], vec![object(16, 0)]] {
                for stray in [vec![], vec![objects::tests::access()]] {
                    assert_eq!(sum(&balance(objects.clone(), stray, frame, MAX_PADDING)), frame);
                }
            }
        }
    }

    #[test]
    fn padding_counts_with_the_object_before_it() {
        let objects = balance(vec![object(64, 1)], Vec::new(), 72, MAX_PADDING);
        assert_eq!((objects.len(), objects[0].bytes), (1, 72));
        let objects = balance(vec![object(64, 1)], Vec::new(), 104, MAX_PADDING);
        assert!(matches!(objects[1].kind, StackObjectKind::Unknown));
    }
}
