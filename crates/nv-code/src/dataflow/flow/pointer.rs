//! Where an address points: back through sums and choices to the object that it was made from.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::Flow;
use crate::dataflow::flow::operands::{constant, parameter_number};
use crate::dataflow::flow::sources::Sources;
use crate::dataflow::reaching::Definitions;
use crate::ptx::AddressOperand;

/// Chains of definitions longer than this are cut; the answer is "unknown" then.
const MAX_DEPTH: usize = 2000;

/// Definitions that one address may take to follow: branches that merge pointers multiply the ways.
const MAX_STEPS: u32 = 20_000;

/// Offset of a pointer that is the frame pointer itself, before an object is chosen.
const BASE: u64 = u64::MAX;

/// What an address may point to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// An object of the function's local variables: which variable, and the offset where the object starts.
    Local { variable: usize, offset: u64 },
    /// Memory that a caller passed: the number of the parameter.
    Parameter(usize),
    /// Anything else.
    Unknown,
}

/// An address: the objects it may lie in, and what its distance from their start depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    pub roots: BTreeSet<Root>,
    pub index: Sources,
    /// Bytes from the start of the object, where they are constant.
    pub offset: Option<i64>,
    /// It is one of several pointers: of different objects, or of different elements of one.
    pub is_chosen: bool,
}

impl Pointer {
    /// At a constant distance from something, if at a known one.
    fn to(root: Root, offset: Option<i64>) -> Self {
        Self { roots: BTreeSet::from([root]), index: Sources::constant(), offset, is_chosen: false }
    }

    fn unknown() -> Self {
        Self { index: Sources::unknown(), ..Self::to(Root::Unknown, None) }
    }

    /// What other pointers are merged into.
    fn nowhere() -> Self {
        Self { roots: BTreeSet::new(), index: Sources::constant(), offset: None, is_chosen: false }
    }
}

impl Flow<'_> {
    /// The pointer behind an address operand, `[%rd1+4]`, of instruction `at`.
    pub fn pointer(&self, address: &AddressOperand, at: usize) -> Pointer {
        self.steps_left.set(MAX_STEPS);
        let mut pointer = self.operand_pointer(&address.base, at, &mut Vec::new());
        pointer.offset = pointer.offset.and_then(|offset| offset.checked_add(address.offset));
        // An address straight off the depot names the object by its offset.
        pointer.roots = pointer.roots.into_iter().map(|root| self.settle(root, &mut pointer.offset)).collect();
        pointer
    }

    /// The pointer that a register holds where instruction `at` reads it.
    pub fn register_pointer(&self, register: &str, at: usize) -> Pointer {
        self.pointer(&AddressOperand { base: register.to_string(), offset: 0 }, at)
    }

    /// The frame pointer itself (`%SP`, `%SPL`) has no object yet; a constant distance from it chooses one.
    fn settle(&self, root: Root, offset: &mut Option<i64>) -> Root {
        match (root, *offset) {
            (Root::Local { variable, offset: BASE }, Some(distance)) => {
                *offset = Some(0);
                Root::Local { variable, offset: u64::try_from(distance).unwrap_or(0) }
            }
            (Root::Local { variable, offset: BASE }, None) => Root::Local { variable, offset: 0 },
            (root, _) => root,
        }
    }

    fn operand_pointer(&self, operand: &str, at: usize, visiting: &mut Vec<(String, Definitions)>) -> Pointer {
        if let Some(variable) = self.function.local_variables.iter().position(|variable| variable.name == operand) {
            // What `alloca` gives is one object, and so is a variable of assembly.
            let offset = if self.function.local_variables[variable].is_depot() { BASE } else { 0 };
            return Pointer::to(Root::Local { variable, offset }, Some(0));
        }
        if !operand.starts_with('%') {
            return Pointer::to(Root::Unknown, None);
        }
        let definitions = self.reaching.at(operand, at);
        if definitions.is_empty() {
            return Pointer::unknown();
        }
        self.steps_left.set(self.steps_left.get().saturating_sub(1));
        if visiting.len() > MAX_DEPTH || self.steps_left.get() == 0 {
            return Pointer::unknown();
        }
        if visiting.iter().any(|(register, known)| register == operand && *known == definitions) {
            // Round a loop: adds nothing but what the way round added.
            return Pointer::nowhere();
        }
        visiting.push((operand.to_string(), Rc::clone(&definitions)));
        let pointers: Vec<(usize, Pointer)> =
            definitions.iter().map(|definition| (*definition, self.defined_pointer(*definition, visiting))).collect();
        visiting.pop();
        self.merge_pointers(operand, &definitions, pointers)
    }

    /// Several definitions: a loop that moves the pointer on, or branches that choose one.
    fn merge_pointers(&self, register: &str, definitions: &[usize], pointers: Vec<(usize, Pointer)>) -> Pointer {
        let several = pointers.len() > 1;
        let mut merged = Pointer::nowhere();
        let same =
            pointers.windows(2).all(|pair| pair[0].1.offset == pair[1].1.offset && pair[0].1.roots == pair[1].1.roots);
        if same {
            merged.offset = pointers.first().and_then(|(_, pointer)| pointer.offset);
        }
        for (_, pointer) in pointers {
            merged.roots.extend(pointer.roots);
            merged.index.merge(pointer.index);
            merged.is_chosen |= pointer.is_chosen;
        }
        if several && !same {
            match self.induction(register, definitions) {
                Some(steps) => {
                    merged.index.counter = true;
                    merged.index.steps.extend(steps);
                }
                None => {
                    merged.is_chosen = true;
                    merged.index.merge(Sources::decision(self.divergence().of(register)));
                }
            }
        }
        merged
    }

    fn defined_pointer(&self, definition: usize, visiting: &mut Vec<(String, Definitions)>) -> Pointer {
        let instruction = &self.function.instructions[definition];
        let operands = &instruction.operands;
        let operand = |index: usize| operands.get(index).map_or("", String::as_str);
        match instruction.mnemonic() {
            "mov" | "cvta" | "cvt" => self.operand_pointer(operand(1), definition, visiting),
            "add" | "sub" | "or" => self.sum(definition, operand(1), operand(2), visiting),
            "mad" => {
                let mut pointer = self.operand_pointer(operand(3), definition, visiting);
                pointer.index.merge(self.product(&[operand(1), operand(2)], definition));
                pointer.offset = None;
                pointer
            }
            "selp" => {
                let mut pointer = self.operand_pointer(operand(1), definition, visiting);
                let other = self.operand_pointer(operand(2), definition, visiting);
                pointer.roots.extend(other.roots);
                pointer.index.merge(other.index);
                pointer.index.merge(Sources::decision(self.divergence().of(operand(3))));
                pointer.offset = None;
                pointer.is_chosen = true;
                pointer
            }
            "ld" if instruction.has("param") => {
                let parameter = instruction.address().and_then(|address| parameter_number(&address.base));
                Pointer::to(parameter.map_or(Root::Unknown, Root::Parameter), Some(0))
            }
            _ => Pointer::unknown(),
        }
    }

    fn sum(&self, at: usize, left: &str, right: &str, visiting: &mut Vec<(String, Definitions)>) -> Pointer {
        let instruction = &self.function.instructions[at];
        let (base, distance) =
            if self.leads_to_pointer(right) && !self.leads_to_pointer(left) { (right, left) } else { (left, right) };
        let mut pointer = self.operand_pointer(base, at, visiting);
        let sign = if instruction.mnemonic() == "sub" { -1 } else { 1 };
        match constant(distance) {
            Some(constant) => {
                pointer.offset = pointer.offset.and_then(|offset| offset.checked_add(sign * constant));
                // The first constant distance from the frame pointer is the object's own place.
                if pointer.roots.iter().any(|root| matches!(root, Root::Local { offset: BASE, .. }))
                    && is_frame_pointer(base)
                {
                    let offset = &mut pointer.offset;
                    pointer.roots = pointer.roots.into_iter().map(|root| self.settle(root, offset)).collect();
                }
            }
            None => {
                pointer.index.merge(self.sources(distance, at));
                pointer.offset = None;
            }
        }
        pointer
    }

    /// Whether a register is computed from the address of a local variable or a parameter that is an address.
    fn leads_to_pointer(&self, operand: &str) -> bool {
        if let Some(known) = self.pointers.borrow().get(operand) {
            return *known;
        }
        let mut seen = BTreeSet::new();
        let mut open = vec![operand];
        let mut found = false;
        while let Some(register) = open.pop() {
            if self.function.local_variables.iter().any(|variable| variable.name == register) {
                found = true;
                break;
            }
            if !seen.insert(register) || seen.len() > MAX_DEPTH {
                continue;
            }
            for definition in self.reaching.all(register).iter() {
                let instruction = &self.function.instructions[*definition];
                let sources: &[String] = match instruction.mnemonic() {
                    "mov" | "cvta" | "add" | "sub" | "selp" | "or" => instruction.operands.get(1..).unwrap_or(&[]),
                    "mad" => instruction.operands.get(3..).unwrap_or(&[]),
                    "ld" if instruction.has("param") && instruction.opcode.ends_with("64") => {
                        found = !self.function.is_entry;
                        &[]
                    }
                    _ => &[],
                };
                open.extend(sources.iter().map(String::as_str).filter(|source| constant(source).is_none()));
            }
            if found {
                break;
            }
        }
        self.pointers.borrow_mut().insert(operand.to_string(), found);
        found
    }
}

fn is_frame_pointer(register: &str) -> bool {
    register.starts_with("%SP") || !register.starts_with('%')
}

#[cfg(test)]
mod tests {
    use super::super::tests::{function, local, pointer_of_last};
    use super::*;
    use lmem_base::diagnostic::Uniformity;

    #[test]
    fn constant_offsets_stay_constant() {
        let function = function("add.u64 %rd1, %SPL, 64;\nadd.u64 %rd2, %rd1, 8;\nst.local.f32 [%rd2+4], %f1;");
        let pointer = pointer_of_last(&function);
        assert_eq!((pointer.roots, pointer.offset), (local(64), Some(12)));
        assert!(pointer.index.is_constant());
    }

    #[test]
    fn a_chosen_pointer_is_no_index() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nadd.u64 %rd2, %SPL, 64;\nsetp.eq.s32 %p1, %n, 0;\nselp.b64 %rd3, %rd1, %rd2, %p1;\n\
             ld.local.u32 %r1, [%rd3];",
        );
        let pointer = pointer_of_last(&function);
        assert_eq!(pointer.roots.len(), 2);
        assert!(pointer.is_chosen && pointer.index.is_constant(), "{pointer:?}");
    }

    /// Whether an access through a pointer that `choice` sets differs from thread to thread.
    fn chosen_by(choice: &str) -> Option<Uniformity> {
        let function = function(&format!(
            "mov.u32 %t, %tid.x;\nadd.u64 %rd1, %SPL, 0;\nadd.u64 %rd2, %SPL, 64;\n{choice}\nld.local.u32 %r1, [%rd3];"
        ));
        pointer_of_last(&function).index.uniformity()
    }

    #[test]
    fn a_chosen_pointer_is_as_uniform_as_what_chooses() {
        let select = |value: &str| format!("setp.eq.s32 %p1, {value}, 0;\nselp.b64 %rd3, %rd1, %rd2, %p1;");
        let branch = |value: &str| {
            format!("setp.eq.s32 %p1, {value}, 0;\nmov.u64 %rd3, %rd1;\n@%p1 bra $L1;\nmov.u64 %rd3, %rd2;\n$L1:")
        };
        for choice in [select as fn(&str) -> String, branch] {
            assert_eq!(chosen_by(&choice("%t")), Some(Uniformity::PerThread));
            assert_eq!(chosen_by(&choice("%n")), Some(Uniformity::Uniform));
        }
    }

    #[test]
    fn cycles_without_an_end_do_not_hang() {
        let function = function("mov.u64 %a, %b;\nmov.u64 %b, %a;\nld.local.u32 %r1, [%a];");
        assert!(!pointer_of_last(&function).roots.contains(&Root::Local { variable: 0, offset: 0 }));
    }
}
