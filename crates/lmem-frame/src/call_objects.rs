//! The parts of a frame that belong to calls: saved registers, arguments, results. Also the recursions that a kernel
//! enters.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use cuda_syntax::SyntaxTrees;
use lmem_base::mangling::{demangle, without_copy_number};
use lmem_base::source::Span;
use nv_code::dataflow::{CallCycle, CallCycles, callee as called_name};
use nv_code::{Instruction, KernelFacts, UnitFacts};
use ptx_syntax::{Modifier, Opcode};

use crate::access::RawObject;
use crate::calls::{self, CallArea, CallAreaKind};
use crate::described::describe;
use crate::frame::{FrameObject, KernelFrame, Recursion, StackObjectKind};

/// The calls of one unit, and its source.
pub struct Calls<'a> {
    pub facts: &'a UnitFacts,
    pub trees: &'a SyntaxTrees<'a>,
    cycles: CallCycles,
    /// By their first functions: each function of a cycle has a frame that names the cycle.
    recursions: RefCell<HashMap<String, Arc<Recursion>>>,
}

impl<'a> Calls<'a> {
    pub fn new(facts: &'a UnitFacts, trees: &'a SyntaxTrees<'a>) -> Self {
        Self { facts, trees, cycles: CallCycles::new(&facts.ptx), recursions: RefCell::default() }
    }

    /// Whether a kernel enters a recursion.
    pub fn has_recursion(&self, kernel: &str) -> bool {
        !self.cycles.reached_from(kernel).is_empty()
    }

    /// The objects that calls put into a frame, and the recursions that the kernel enters.
    pub fn call_objects(
        &self,
        kernel: &KernelFacts,
        frame: &KernelFrame,
        areas: Vec<(CallArea, u64)>,
    ) -> Vec<FrameObject> {
        // Areas in the frames of callers are reported there; here only if the frame has nothing else.
        let is_said = |area: &CallArea| match area.kind {
            CallAreaKind::IncomingArguments { .. } => frame.usage.stack_frame > 0,
            // If functions save registers anyway, a runtime routine that does so too is not worth reporting.
            CallAreaKind::RuntimeRoutine { .. } => frame.usage.stack_frame > 0 || !kernel.callees.is_empty(),
            CallAreaKind::CalleeSaved { .. } | CallAreaKind::OutgoingArguments { .. } => false,
        };
        let areas = areas.into_iter().filter(|(area, _)| !is_said(area)).map(|(mut area, bytes)| {
            let callee = area.callees.first().and_then(|name| self.facts.ptx.function(name.as_deref()?));
            area.callee_span = callee.and_then(|callee| describe(callee, &self.facts.ptx, self.trees)?.span);
            if matches!(area.kind, CallAreaKind::RuntimeRoutine { .. }) {
                area.calls.extend(self.first_slow_instruction(kernel));
            }
            // A library function has no lines: the call in its caller is reported instead.
            if frame.span.is_none() && area.calls.is_empty() {
                area.calls.extend(self.first_call(&frame.mangled));
            }
            FrameObject::new(StackObjectKind::Call(Box::new(area)), bytes)
        });
        let mut objects: Vec<FrameObject> = areas.collect();
        if frame.is_entry {
            let recursions = self.recursions_from(&frame.mangled).into_iter();
            objects.extend(recursions.map(|recursion| FrameObject::new(StackObjectKind::Recursion(recursion), 0)));
        }
        objects
    }

    /// The incoming arguments that a function reads from the frames of its callers.
    pub fn incoming(&self, raw: &RawObject) -> Option<FrameObject> {
        if raw.accesses.is_empty() {
            return None;
        }
        let area = CallArea {
            kind: CallAreaKind::IncomingArguments { bytes: raw.bytes },
            callees: Vec::new(),
            calls: Vec::new(),
            callee_span: None,
            loads: raw.accesses.iter().map(|access| access.count).sum(),
            stores: 0,
            loop_depth: raw.accesses.iter().map(|access| access.loop_depth).max().unwrap_or(0),
        };
        Some(FrameObject::new(StackObjectKind::Call(Box::new(area)), 0))
    }

    /// The first instruction that ptxas implements by a routine. Only callees of the kernel are searched, since a
    /// kernel itself has no registers to save.
    fn first_slow_instruction(&self, kernel: &KernelFacts) -> Option<Span> {
        let functions = kernel.callees.iter().filter_map(|callee| self.facts.ptx.function(&callee.name));
        let mut functions = functions.chain(self.facts.ptx.function(&kernel.name));
        functions.find_map(|function| {
            let is_slow = |instruction: &Instruction| {
                matches!(instruction.opcode(), Opcode::Div | Opcode::Rcp | Opcode::Sqrt | Opcode::Rem)
                    && !instruction.has(Modifier::Approx)
            };
            let mut slow = function.instructions.iter().enumerate().filter(|(_, instruction)| is_slow(instruction));
            slow.find_map(|(index, _)| calls::call_span(function, index, self.facts, self.trees))
        })
    }

    /// The first call of a function in the user's files.
    fn first_call(&self, callee: &str) -> Option<Span> {
        self.facts.ptx.functions.iter().find_map(|function| {
            let calls = function.instructions.iter().enumerate();
            let mut calls = calls.filter(|(_, call)| called_name(call) == Some(callee));
            calls.find_map(|(index, _)| calls::call_span(function, index, self.facts, self.trees))
        })
    }

    pub fn recursion_of(&self, function: &str) -> Option<Arc<Recursion>> {
        let name = without_copy_number(function).unwrap_or(function);
        self.cycles.of(name).or_else(|| self.cycles.of(function)).map(|cycle| self.recursion(cycle))
    }

    /// The recursions that a kernel enters, if the machine code has a function that saves registers for them.
    fn recursions_from(&self, kernel: &str) -> Vec<Arc<Recursion>> {
        let is_function = |name: &str, of: &str| of == name || without_copy_number(of) == Some(name);
        let has_frame = |name: &String| {
            let mut sections = self.facts.kernels.iter();
            sections.any(|section| {
                let own = is_function(name, &section.name) && section.usage.stack_frame > 0;
                own || section.callees.iter().any(|callee| is_function(name, &callee.name))
            })
        };
        let cycles = self.cycles.reached_from(kernel).into_iter();
        cycles.filter(|cycle| cycle.functions.iter().any(has_frame)).map(|cycle| self.recursion(&cycle)).collect()
    }

    fn recursion(&self, cycle: &CallCycle) -> Arc<Recursion> {
        let Some(first) = cycle.functions.first() else { return Arc::new(self.read_recursion(cycle)) };
        if let Some(known) = self.recursions.borrow().get(first) {
            return Arc::clone(known);
        }
        let found = Arc::new(self.read_recursion(cycle));
        self.recursions.borrow_mut().insert(first.clone(), Arc::clone(&found));
        found
    }

    fn read_recursion(&self, cycle: &CallCycle) -> Recursion {
        let first = cycle.functions.first().and_then(|name| self.facts.ptx.function(name));
        let mut closing: Vec<Span> = Vec::new();
        for (function, call) in &cycle.closing {
            let function = self.facts.ptx.function(function);
            let span = function.and_then(|function| calls::call_span(function, *call, self.facts, self.trees));
            closing.extend(span.filter(|span| !closing.contains(span)));
        }
        Recursion {
            functions: cycle.functions.iter().map(|name| demangle(name)).collect(),
            span: first.and_then(|function| describe(function, &self.facts.ptx, self.trees)?.span),
            closing,
        }
    }
}
