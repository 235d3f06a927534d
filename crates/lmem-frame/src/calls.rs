//! Frame bytes used by calls: saved registers, and arguments and results that do not fit into registers.
//!
//! ptxas merges a kernel and all functions that are called by name into one frame. The calling convention applies only
//! to functions that are called indirectly, recursively, or from other units. Their callee-saved registers are in their
//! own frame; their arguments and results are in the caller's frame.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cuda_syntax::SyntaxTrees;
use cuda_syntax::tree::last_name;
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use nv_code::dataflow::callee;
use nv_code::{AccessKind, AddressBase, Instruction, KernelFacts, LocalAccess, PtxFunction, UnitFacts};
use ptx_syntax::{Modifier, Opcode, Operand};

use crate::place::{Place, innermost};

/// A part of a frame that calls use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallArea {
    pub kind: CallAreaKind,
    /// Mangled names of the callees, those with the largest area first; `None` for an indirect call.
    pub callees: Vec<Option<String>>,
    /// The calls, in the same order.
    pub calls: Vec<Span>,
    /// The name of the first callee in the source.
    pub callee_span: Option<Span>,
    /// Number of machine instructions.
    pub loads: u64,
    pub stores: u64,
    pub loop_depth: u32,
}

/// The purpose of a call area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallAreaKind {
    /// Callee-saved registers: the callers expect their values to be preserved.
    CalleeSaved { registers: u64 },
    /// Outgoing arguments, and the results of these calls, in bytes.
    OutgoingArguments { arguments: u64, result: u64 },
    /// Incoming arguments, in the callers' frames; they take no bytes of this frame.
    IncomingArguments { bytes: u64 },
    /// Registers saved by a runtime routine that ptxas inserts for an instruction, in a frame that ptxas does not
    /// report.
    RuntimeRoutine { bytes: u64 },
}

/// A call area before its calls are located in the source.
#[derive(Debug, Default)]
struct RawArea {
    /// Offsets of its bytes from the stack pointer.
    slots: BTreeSet<i64>,
    registers: BTreeSet<u8>,
    /// Calls, as PTX function and instruction, with the end of the area that each call uses.
    calls: BTreeMap<(String, usize), i64>,
    loads: u64,
    stores: u64,
    loop_depth: u32,
}

/// The local accesses of a kernel and its callees, classified by purpose.
pub struct Sorted {
    /// Accesses that are not part of a call area.
    pub others: Vec<LocalAccess>,
    /// By frame: `None` for the kernel's, else the index of the callee.
    areas: BTreeMap<(Option<usize>, RoleKind), RawArea>,
    /// Bytes moved by callee-saved registers in each frame, as `(stores, loads)`. ptxas counts them as spills but does
    /// not mark them.
    pub saved_bytes: BTreeMap<Option<usize>, (u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RoleKind {
    Save,
    Argument,
    Result,
    Incoming,
    Routine,
}

/// Classifies the accesses of one section of the cubin.
pub fn sort(kernel: &KernelFacts, unit: &UnitFacts) -> Sorted {
    let saved = saved_slots(kernel, unit);
    let mut sorted = Sorted { others: Vec::new(), areas: BTreeMap::new(), saved_bytes: BTreeMap::new() };
    for access in &kernel.accesses {
        if access.is_in_routine {
            sorted.add(access, RoleKind::Routine, None);
            continue;
        }
        let is_save = saved.get(&access.callee).is_some_and(|slots| is_save(access, slots, unit));
        let role = if is_save { Some((RoleKind::Save, None)) } else { parameter_role(access, unit) };
        match role {
            Some((kind, call)) => sorted.add(access, kind, call),
            None => sorted.others.push(access.clone()),
        }
    }
    sorted
}

impl Sorted {
    fn add(&mut self, access: &LocalAccess, kind: RoleKind, call: Option<(String, usize)>) {
        let bytes = u64::from(access.instruction.bytes);
        if kind == RoleKind::Save {
            let (stores, loads) = self.saved_bytes.entry(access.callee).or_default();
            *if access.instruction.kind == AccessKind::Store { stores } else { loads } += bytes;
        }
        let area = self.areas.entry((access.callee, kind)).or_default();
        let slot = slot(access);
        if kind == RoleKind::Save {
            let first = access.instruction.data;
            area.registers.extend(first..first.saturating_add(access.instruction.bytes.div_ceil(4)));
        }
        if let Some(call) = call {
            let end = area.calls.entry(call).or_insert(slot.end);
            *end = slot.end.max(*end);
        }
        area.slots.extend(slot);
        area.loop_depth = area.loop_depth.max(access.loop_depth);
        *if access.instruction.kind == AccessKind::Store { &mut area.stores } else { &mut area.loads } += 1;
    }

    /// The call areas of a frame, with their sizes.
    pub fn areas(&self, frame: Option<usize>, unit: &UnitFacts, trees: &SyntaxTrees<'_>) -> Vec<(CallArea, u64)> {
        let raw = |kind| self.areas.get(&(frame, kind));
        let saved = raw(RoleKind::Save).map(|raw| {
            let kind = CallAreaKind::CalleeSaved { registers: raw.registers.len() as u64 };
            (area(kind, &[raw], unit, trees), raw.slots.len() as u64)
        });
        let passed: Vec<&RawArea> = [RoleKind::Argument, RoleKind::Result].into_iter().filter_map(raw).collect();
        let passed = (!passed.is_empty()).then(|| {
            let arguments = raw(RoleKind::Argument).map_or(0, argument_bytes);
            let result = raw(RoleKind::Result).map_or(0, |raw| returned_bytes(raw, unit));
            (area(CallAreaKind::OutgoingArguments { arguments, result }, &passed, unit, trees), arguments + result)
        });
        let incoming = raw(RoleKind::Incoming).map(|raw| {
            let kind = CallAreaKind::IncomingArguments { bytes: raw.slots.len() as u64 };
            (area(kind, &[raw], unit, trees), 0)
        });
        let routine = raw(RoleKind::Routine).map(|raw| {
            let kind = CallAreaKind::RuntimeRoutine { bytes: raw.slots.len() as u64 };
            (area(kind, &[raw], unit, trees), 0)
        });
        saved.into_iter().chain(passed).chain(incoming).chain(routine).collect()
    }
}

fn area(kind: CallAreaKind, raw: &[&RawArea], unit: &UnitFacts, trees: &SyntaxTrees<'_>) -> CallArea {
    let mut ends: BTreeMap<&(String, usize), i64> = BTreeMap::new();
    for (call, end) in raw.iter().flat_map(|raw| &raw.calls) {
        let known = ends.entry(call).or_insert(*end);
        *known = (*end).max(*known);
    }
    let mut ends: Vec<_> = ends.into_iter().collect();
    ends.sort_by_key(|(call, end)| (std::cmp::Reverse(*end), *call));
    let mut callees: Vec<Option<String>> = Vec::new();
    let mut calls: Vec<Span> = Vec::new();
    for ((function, call), _) in ends {
        let Some(function) = unit.ptx.function(function) else { continue };
        let name = function.instructions.get(*call).and_then(callee).map(str::to_string);
        if !callees.contains(&name) {
            callees.push(name);
        }
        let span = call_span(function, *call, unit, trees);
        calls.extend(span.filter(|span| !calls.contains(span)));
    }
    CallArea {
        kind,
        callees,
        calls,
        callee_span: None,
        loads: raw.iter().map(|raw| raw.loads).sum(),
        stores: raw.iter().map(|raw| raw.stores).sum(),
        loop_depth: raw.iter().map(|raw| raw.loop_depth).max().unwrap_or(0),
    }
}

/// The first argument is at the stack pointer, even if only later ones are stored.
fn argument_bytes(raw: &RawArea) -> u64 {
    raw.slots.last().map_or(0, |last| u64::try_from(last + 1).unwrap_or(0))
}

/// The larger of the bytes that are loaded and the declared size of the results: not all of a result need be read.
fn returned_bytes(raw: &RawArea, unit: &UnitFacts) -> u64 {
    let bytes = raw.calls.keys().filter_map(|(function, call)| {
        let function = unit.ptx.function(function)?;
        function.returned_bytes(function.instructions.get(*call)?)
    });
    bytes.max().unwrap_or(0).max(raw.slots.len() as u64)
}

/// The source span of a call instruction; the statement if the call is not found in it.
pub fn call_span(function: &PtxFunction, call: usize, unit: &UnitFacts, trees: &SyntaxTrees<'_>) -> Option<Span> {
    let instruction = function.instructions.get(call)?;
    let place = innermost(trees, &unit.ptx, function, instruction.location)?;
    let name = callee(instruction).map(demangle);
    let range = name.and_then(|name| call_range(&place, trees, |called| last_name(called) == last_name(&name)));
    range.and_then(|range| place.tree(trees).span(range)).or_else(|| place.span(trees))
}

/// The call of a function at a place. Among several on one line, the one at the compiler's column, else the next one.
pub fn call_range(place: &Place, trees: &SyntaxTrees<'_>, is_function: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let region = place.tree(trees).region(place.offset)?;
    let calls = place.tree(trees).calls(region);
    let calls: Vec<&Range<usize>> =
        calls.iter().filter(|(name, _)| is_function(name)).map(|(_, range)| range).collect();
    let holding = calls.iter().copied().filter(|range| range.contains(&place.offset)).max_by_key(|range| range.start);
    let next = || calls.iter().copied().find(|range| range.start >= place.offset);
    let only = || calls.first().copied().filter(|_| calls.len() == 1);
    holding.or_else(next).or_else(only).cloned()
}

/// Slots of callee-saved registers, by the function that saves them: the function stores the register before writing
/// it. Kernels have no caller.
fn saved_slots(kernel: &KernelFacts, unit: &UnitFacts) -> BTreeMap<Option<usize>, BTreeMap<i64, u8>> {
    let mut slots: BTreeMap<Option<usize>, BTreeMap<i64, u8>> = BTreeMap::new();
    for access in kernel.accesses.iter().filter(|access| access.stores_incoming && is_at_stack(access)) {
        let has_caller = access.callee.is_some() || !kernel.is_entry;
        let is_of_source = instruction(access, unit).is_some_and(|(_, instruction)| instruction.opcode() == Opcode::St);
        if has_caller && !is_of_source {
            slots.entry(access.callee).or_default().insert(slot(access).start, access.instruction.data);
        }
    }
    slots
}

fn is_save(access: &LocalAccess, saved: &BTreeMap<i64, u8>, unit: &UnitFacts) -> bool {
    let is_slot = is_at_stack(access) && saved.get(&slot(access).start) == Some(&access.instruction.data);
    let is_of_source = || instruction(access, unit).is_some_and(|(_, instruction)| instruction.opcode() == Opcode::St);
    let is_store = access.instruction.kind == AccessKind::Store;
    is_slot && !access.is_spill && (!is_store || (access.stores_incoming && !is_of_source()))
}

fn is_at_stack(access: &LocalAccess) -> bool {
    access.instruction.base == AddressBase::Stack
}

fn slot(access: &LocalAccess) -> Range<i64> {
    let start = i64::from(access.instruction.immediate);
    start..start + i64::from(access.instruction.bytes)
}

fn instruction<'a>(access: &LocalAccess, unit: &'a UnitFacts) -> Option<(&'a PtxFunction, &'a Instruction)> {
    let line = access.ptx_line?;
    let function = unit.ptx.function_at(line)?;
    Some((function, function.instructions.get(function.instruction_at(line)?)?))
}

/// For an access that implements `ld.param` or `st.param`: its role, and the call.
fn parameter_role(access: &LocalAccess, unit: &UnitFacts) -> Option<(RoleKind, Option<(String, usize)>)> {
    let line = access.ptx_line.filter(|_| !access.is_spill)?;
    let function = unit.ptx.function_at(line)?;
    let index = function.instruction_at(line)?;
    let instruction = function.instructions.get(index)?;
    let is_store = access.instruction.kind == AccessKind::Store;
    let is_same_way = instruction.opcode() == if is_store { Opcode::St } else { Opcode::Ld };
    if !is_same_way || !instruction.has(Modifier::Param) {
        return None;
    }
    let name = function.base_name(&instruction.address()?.base);
    let is_call = |instruction: &Instruction| instruction.opcode() == Opcode::Call;
    let uses = |instruction: &Instruction| {
        let call = instruction.call();
        let mut slots = call.iter().flat_map(|call| call.outputs.iter().chain(call.inputs));
        slots.any(|slot| match slot {
            Operand::Variable(variable, _) => name == Some(&*function.variable(*variable).name),
            Operand::Symbol(symbol, _) => name == Some(&**symbol),
            _ => false,
        })
    };
    // A stored parameter belongs to the next call, a loaded one to the previous call.
    let call = match is_store {
        true => (index..function.instructions.len()).find(|at| is_call(&function.instructions[*at])),
        false => (0..index).rev().find(|at| is_call(&function.instructions[*at])),
    };
    let call = call.filter(|at| uses(&function.instructions[*at])).map(|at| (function.name.to_string(), at));
    match (call, is_store) {
        (Some(call), true) => Some((RoleKind::Argument, Some(call))),
        (Some(call), false) => Some((RoleKind::Result, Some(call))),
        // The function's own parameters or return value, which are in the caller's frame. Kernel parameters are not in
        // any frame.
        (None, _) => (!function.is_entry).then_some((RoleKind::Incoming, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nv_code::{LocalInstruction, PtxModule};

    const PTX: &str = "\
.func (.param .align 4 .b8 func_retval0[96]) scale(.param .align 4 .b8 scale_param_0[96])
{
ld.param.f32 %f1, [scale_param_0+4];
st.param.f32 [func_retval0+4], %f1;
ret;
}
.visible .entry k()
{
.param .align 4 .b8 param0[96];
st.param.f32 [param0+92], %f2;
.param .align 4 .b8 retval0[96];
call.uni (retval0), scale, (param0);
ld.param.f32 %f3, [retval0+8];
ret;
}";

    fn access(line: u32, kind: AccessKind, immediate: i32, data: u8) -> LocalAccess {
        let base = AddressBase::Stack;
        LocalAccess {
            instruction: LocalInstruction { offset: 0, kind, bytes: 4, base, immediate, data },
            is_spill: false,
            ptx_line: Some(line),
            source: nv_code::SourceLines::default(),
            loop_depth: 0,
            loop_lines: nv_code::SourceLines::default(),
            definition: None,
            callee: None,
            is_in_routine: false,
            stores_incoming: kind == AccessKind::Store,
        }
    }

    fn unit() -> UnitFacts {
        UnitFacts { ptx: PtxModule::parse(PTX).unwrap(), has_spill_marks: true, ..UnitFacts::default() }
    }

    fn kinds(sorted: &Sorted) -> Vec<RoleKind> {
        sorted.areas.keys().map(|(_, kind)| *kind).collect()
    }

    #[test]
    fn arguments_and_results_lie_in_the_frame_of_the_caller() {
        let accesses = vec![access(10, AccessKind::Store, 92, 4), access(13, AccessKind::Load, 104, 5)];
        let kernel = KernelFacts { is_entry: true, accesses, ..KernelFacts::default() };
        let sorted = sort(&kernel, &unit());
        assert_eq!(kinds(&sorted), [RoleKind::Argument, RoleKind::Result]);
        let raw = &sorted.areas[&(None, RoleKind::Result)];
        assert_eq!(returned_bytes(raw, &unit()), 96);
        let accesses = vec![access(3, AccessKind::Load, 4, 4), access(4, AccessKind::Store, 100, 4)];
        let function = KernelFacts { accesses, ..KernelFacts::default() };
        assert_eq!(kinds(&sort(&function, &unit())), [RoleKind::Incoming]);
    }

    #[test]
    fn saved_registers_are_stored_first_and_loaded_from_the_same_slot() {
        // The load has the line of an unrelated instruction.
        let accesses = vec![
            access(2, AccessKind::Store, 8, 20),
            access(4, AccessKind::Load, 8, 20),
            access(5, AccessKind::Load, 8, 21),
        ];
        let function = KernelFacts { accesses: accesses.clone(), ..KernelFacts::default() };
        let sorted = sort(&function, &unit());
        assert_eq!((kinds(&sorted), sorted.others.len()), (vec![RoleKind::Save], 1));
        assert_eq!(sorted.saved_bytes[&None], (4, 4));
        let kernel = KernelFacts { is_entry: true, accesses, ..KernelFacts::default() };
        assert_eq!(kinds(&sort(&kernel, &unit())), []);
    }
}
