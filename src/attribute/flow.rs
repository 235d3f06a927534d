//! Data flow of one PTX function: where an address points, and where an index comes from.
//!
//! PTX from NVIDIA's front end is close to single assignment: a register with several definitions is a
//! value that loops or branches merge. That is all this relies on; hand-written PTX gets the same treatment
//! and at worst an `Unknown`.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::divergence::Divergence;
use super::loops::{PtxLoops, Trip};
use super::reaching::{Definitions, Reaching};
use crate::diagnostic::Uniformity;
use crate::read::{AddressOperand, Instruction, PtxFunction};

/// Chains of definitions longer than this are cut; the answer is "unknown" then.
const MAX_DEPTH: usize = 2000;

/// An index that is computed from more values is not followed further: in arithmetic of large numbers that would be most
/// of the kernel, for each of its accesses.
const MAX_TERMS: usize = 4096;

/// Definitions that one address may take to follow: branches that merge pointers multiply the ways.
const MAX_STEPS: u32 = 20_000;

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

/// Where the value of an index comes from; several may hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// A counter that steps by a constant.
    pub counter: bool,
    /// The counter is changed before it is used as an index: `(i + n) % 8`, `i * i`.
    pub counter_is_changed: bool,
    /// A kernel parameter, or the size of block or grid.
    pub parameter: bool,
    /// What the caller of a function that is no kernel passes; its callers are not looked into.
    pub argument: bool,
    pub block_index: bool,
    pub thread_index: bool,
    /// Loaded from memory.
    pub loaded: bool,
    /// Changed from iteration to iteration, but not by a constant.
    pub carried: bool,
    /// The result of a call, or something that is not followed.
    pub unknown: bool,
    /// Whether the threads of a warp may differ; `None` where that is not known.
    pub(super) divergent: Option<bool>,
    /// Instructions that step the counters.
    pub steps: BTreeSet<usize>,
}

impl Sources {
    /// A value that a condition or branches choose, which threads may decide differently.
    pub(super) fn chosen(divergent: Option<bool>) -> Self {
        Self { carried: true, divergent, ..Self::default() }
    }

    /// What only decides which value it is.
    fn decision(divergent: Option<bool>) -> Self {
        Self { divergent, ..Self::default() }
    }

    fn constant() -> Self {
        Self { divergent: Some(false), ..Self::default() }
    }

    fn unknown() -> Self {
        Self { unknown: true, ..Self::default() }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.counter |= other.counter;
        self.counter_is_changed |= other.counter_is_changed;
        self.parameter |= other.parameter;
        self.argument |= other.argument;
        self.block_index |= other.block_index;
        self.thread_index |= other.thread_index;
        self.loaded |= other.loaded;
        self.carried |= other.carried;
        self.unknown |= other.unknown;
        self.divergent = match (self.divergent, other.divergent) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
        self.steps.extend(other.steps);
    }

    pub fn is_constant(&self) -> bool {
        !(self.counter || self.is_data())
    }

    /// Whether anything but a counter takes part.
    pub fn is_data(&self) -> bool {
        self.parameter
            || self.argument
            || self.block_index
            || self.thread_index
            || self.loaded
            || self.carried
            || self.unknown
    }

    pub fn uniformity(&self) -> Option<Uniformity> {
        self.divergent.map(|divergent| if divergent { Uniformity::PerThread } else { Uniformity::Uniform })
    }
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

/// A call, with the values of its arguments in order; an argument that is not one register is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub instruction: usize,
    /// `None` for a call through a pointer.
    pub callee: Option<String>,
    pub arguments: Vec<Option<String>>,
    /// Members of structures among the arguments, with the number of the argument: all that are registers.
    pub members: Vec<(usize, String)>,
}

/// A register on the way from an index to what it is computed from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Term<'a> {
    operand: &'a str,
    /// Instructions that may have set it.
    definitions: Definitions,
    /// Something other than sums and scaling lies on the way.
    is_changed: bool,
    /// It is part of the address of a load: it decides on uniformity, not on what the index is.
    is_address: bool,
}

impl Term<'_> {
    fn seen_as(&self, sources: Sources) -> Sources {
        match self.is_address {
            true => Sources { divergent: sources.divergent, ..Sources::default() },
            false => sources,
        }
    }
}

/// Answers questions on one function.
pub struct Flow<'a> {
    pub function: &'a PtxFunction,
    pub loops: PtxLoops,
    reaching: Reaching<'a>,
    /// Registers that hold a pointer into local memory or are made of one, to tell pointer from index in sums.
    pointers: RefCell<HashMap<String, bool>>,
    /// What registers are computed from, by the definitions that were asked for: unrolled code asks again and again.
    known_sources: RefCell<HashMap<(String, Definitions), Sources>>,
    steps_left: Cell<u32>,
    divergence: OnceCell<Divergence<'a>>,
}

impl<'a> Flow<'a> {
    pub fn new(function: &'a PtxFunction) -> Self {
        let loops = PtxLoops::new(function);
        Self {
            function,
            loops,
            reaching: Reaching::new(function),
            pointers: RefCell::default(),
            known_sources: RefCell::default(),
            steps_left: Cell::new(0),
            divergence: OnceCell::new(),
        }
    }

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
            let roots = BTreeSet::from([Root::Local { variable, offset }]);
            return Pointer { roots, index: Sources::constant(), offset: Some(0), is_chosen: false };
        }
        if !operand.starts_with('%') {
            return Pointer {
                roots: BTreeSet::from([Root::Unknown]),
                index: Sources::constant(),
                offset: None,
                is_chosen: false,
            };
        }
        let unknown = || Pointer {
            roots: BTreeSet::from([Root::Unknown]),
            index: Sources::unknown(),
            offset: None,
            is_chosen: false,
        };
        let definitions = self.reaching.at(operand, at);
        if definitions.is_empty() {
            return unknown();
        }
        self.steps_left.set(self.steps_left.get().saturating_sub(1));
        if visiting.len() > MAX_DEPTH || self.steps_left.get() == 0 {
            return unknown();
        }
        if visiting.iter().any(|(register, known)| register == operand && *known == definitions) {
            // Round a loop: adds nothing but what the way round added.
            return Pointer { roots: BTreeSet::new(), index: Sources::constant(), offset: None, is_chosen: false };
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
        let mut merged = Pointer { roots: BTreeSet::new(), index: Sources::constant(), offset: None, is_chosen: false };
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
                let root = parameter.map_or(Root::Unknown, Root::Parameter);
                Pointer { roots: BTreeSet::from([root]), index: Sources::constant(), offset: Some(0), is_chosen: false }
            }
            _ => Pointer {
                roots: BTreeSet::from([Root::Unknown]),
                index: Sources::unknown(),
                offset: None,
                is_chosen: false,
            },
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

    /// Where the value of a register or constant comes from: everything that it is computed from, each
    /// register looked at once, so that shared terms cost nothing. Instruction `at` reads it.
    pub fn sources(&self, operand: &str, at: usize) -> Sources {
        let first = self.term(operand, at, false, false);
        let key = (operand.to_string(), first.definitions.clone());
        if let Some(known) = self.known_sources.borrow().get(&key) {
            return known.clone();
        }
        let mut sources = Sources::constant();
        let mut seen = HashSet::new();
        let mut open = vec![first];
        while let Some(term) = open.pop() {
            if constant(term.operand).is_none() && seen.insert(term.clone()) {
                self.visit(&term, &mut sources, &mut open);
            }
            if seen.len() > MAX_TERMS {
                sources.merge(Sources::unknown());
                break;
            }
        }
        self.known_sources.borrow_mut().insert(key, sources.clone());
        sources
    }

    fn product(&self, operands: &[&str], at: usize) -> Sources {
        let mut sources = Sources::constant();
        for operand in operands {
            sources.merge(self.sources(operand, at));
        }
        sources
    }

    fn term<'t>(&self, operand: &'t str, at: usize, is_changed: bool, is_address: bool) -> Term<'t> {
        Term { operand, definitions: self.reaching.at(operand, at), is_changed, is_address }
    }

    fn visit<'t>(&'t self, term: &Term<'t>, sources: &mut Sources, open: &mut Vec<Term<'t>>) {
        if let Some(special) = special_register(term.operand) {
            return sources.merge(term.seen_as(special));
        }
        if term.definitions.is_empty() {
            return sources.merge(term.seen_as(Sources::unknown()));
        }
        for definition in term.definitions.iter() {
            self.visit_definition(term, *definition, sources, open);
        }
        if term.definitions.len() > 1 {
            let merged = match self.induction(term.operand, &term.definitions) {
                Some(steps) => {
                    Sources { counter: true, counter_is_changed: term.is_changed, steps, ..Sources::constant() }
                }
                // Merged by branches, or changed in a way that is no counter.
                None => Sources::chosen(self.divergence().of(term.operand)),
            };
            sources.merge(term.seen_as(merged));
        }
    }

    fn visit_definition<'t>(
        &'t self,
        term: &Term<'t>,
        definition: usize,
        sources: &mut Sources,
        open: &mut Vec<Term<'t>>,
    ) {
        let instruction = &self.function.instructions[definition];
        match instruction.mnemonic() {
            "ld" if instruction.has("param") => sources.merge(term.seen_as(self.parameter_sources(instruction))),
            "ld" | "ldu" | "tex" | "suld" => {
                // Memory of the thread itself may differ from thread to thread at one address.
                let divergent = (!instruction.has("local")).then_some(false);
                sources.merge(term.seen_as(Sources { loaded: true, divergent, ..Sources::default() }));
                let address = instruction.operands.iter().find_map(|operand| operand.strip_prefix('['));
                let base = address.map(|inner| inner.split(['+', ']', ' ', ',']).next().unwrap_or(""));
                let base = base.filter(|base| base.starts_with('%'));
                open.extend(base.map(|operand| self.term(operand, definition, true, true)));
            }
            "atom" | "match" => {
                sources.merge(term.seen_as(Sources { loaded: true, divergent: Some(true), ..Sources::default() }))
            }
            "shfl" | "vote" | "activemask" | "redux" => {
                let result = written(instruction).next();
                let divergent = result.and_then(|result| self.divergence().of(result));
                sources.merge(term.seen_as(Sources { divergent, ..Sources::unknown() }));
            }
            mnemonic => {
                // A counter stays one under sums and scaling; `%`, `&`, `^` and the rest make another value of it.
                let keeps = matches!(mnemonic, "mov" | "add" | "sub" | "cvt" | "cvta" | "shl" | "mul" | "mad");
                let is_changed = term.is_changed || !keeps;
                let operands =
                    instruction.operands.iter().skip(1).flat_map(|operand| operand.split(['{', '}', ',', '|']));
                let operands = operands.map(str::trim).filter(|part| !part.is_empty());
                open.extend(operands.map(|operand| self.term(operand, definition, is_changed, term.is_address)));
            }
        }
    }

    /// What `ld.param` gives: the result of a call has a name of its own, `retval0`.
    fn parameter_sources(&self, instruction: &Instruction) -> Sources {
        match (is_call_result(instruction), self.function.is_entry) {
            (true, _) => Sources::unknown(),
            (false, true) => Sources { parameter: true, ..Sources::constant() },
            (false, false) => Sources { argument: true, ..Sources::default() },
        }
    }

    /// Found at the first question: few functions have one.
    fn divergence(&self) -> &Divergence<'a> {
        self.divergence.get_or_init(|| Divergence::new(self.function))
    }

    /// Whether a symbol or constant that `is_source` takes part in a value, loads from there included.
    pub fn is_made_from(&self, operand: &str, is_source: impl Fn(&str) -> bool) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![operand];
        while let Some(operand) = open.pop() {
            if is_source(operand) {
                return true;
            }
            if !seen.insert(operand) {
                continue;
            }
            for definition in self.reaching.all(operand).iter() {
                let operands = self.function.instructions[*definition].operands.iter().skip(1);
                open.extend(
                    operands
                        .flat_map(|operand| operand.split(['[', ']', '{', '}', ',', '+', ' ']))
                        .filter(|part| !part.is_empty()),
                );
            }
        }
        false
    }

    /// The instructions that step a counter: all ways round the loop add the same constant.
    pub(super) fn induction(&self, register: &str, definitions: &[usize]) -> Option<BTreeSet<usize>> {
        let mut steps = BTreeSet::new();
        let mut distance = None;
        for definition in definitions {
            let Some((step, instruction)) = self.way_back(register, *definition) else { continue };
            if step == 0 || distance.is_some_and(|distance| distance != step) {
                return None;
            }
            distance = Some(step);
            steps.insert(instruction);
        }
        distance.map(|_| steps)
    }

    /// Follows sums with constants and moves from a definition back to itself, as it was a round before.
    fn way_back(&self, register: &str, definition: usize) -> Option<(i64, usize)> {
        let mut at = definition;
        let mut step = 0i64;
        let mut stepped = definition;
        for _ in 0..64 {
            let instruction = &self.function.instructions[at];
            let operand = |index: usize| instruction.operands.get(index).map_or("", String::as_str);
            let next = match instruction.mnemonic() {
                "mov" => operand(1),
                "add" | "sub" => {
                    let (value, distance) = if constant(operand(1)).is_some() {
                        (operand(2), operand(1))
                    } else {
                        (operand(1), operand(2))
                    };
                    let sign = if instruction.mnemonic() == "sub" { -1 } else { 1 };
                    step = step.checked_add(sign * constant(distance)?)?;
                    stepped = at;
                    value
                }
                _ => return None,
            };
            let before = self.reaching.at(next, at);
            if next == register && before.contains(&definition) {
                return Some((step, stepped));
            }
            let [only] = *before else { return None };
            at = only;
        }
        None
    }

    /// How the loop that a counter steps in ends, for an access at `instruction`.
    pub fn trip(&self, sources: &Sources, instruction: usize) -> Trip {
        sources
            .steps
            .iter()
            .filter_map(|step| self.loops.innermost_with(*step, instruction))
            .map(|range| self.loops.trip(range, self))
            .max()
            .unwrap_or(Trip::Unknown)
    }

    /// The only definition of a register that may hold where instruction `at` reads it.
    pub fn definition(&self, register: &str, at: usize) -> Option<usize> {
        let [only] = *self.reaching.at(register, at) else { return None };
        Some(only)
    }

    /// All definitions of a register that may hold where instruction `at` reads it.
    pub fn definitions(&self, register: &str, at: usize) -> Definitions {
        self.reaching.at(register, at)
    }

    /// Calls, with the values that were stored to their parameters.
    pub fn calls(&self) -> Vec<Call> {
        let mut stored: HashMap<String, Vec<String>> = HashMap::new();
        let mut calls = Vec::new();
        for (index, instruction) in self.function.instructions.iter().enumerate() {
            if instruction.mnemonic() == "st" && instruction.has("param") {
                if let (Some(address), Some(value)) = (instruction.address(), instruction.operands.get(1)) {
                    stored.entry(address.base).or_default().extend(registers(value));
                }
            } else if instruction.mnemonic() == "call" {
                calls.push(call(index, instruction, &stored));
                stored.clear();
            }
        }
        calls
    }
}

/// Offset of a pointer that is the frame pointer itself, before an object is chosen.
const BASE: u64 = u64::MAX;

/// `2` of `_Z1fPfi_param_2`.
pub fn parameter_number(symbol: &str) -> Option<usize> {
    symbol.rsplit_once("_param_")?.1.parse().ok()
}

/// `ld.param.b32 %r1, [retval0]` after a call.
fn is_call_result(instruction: &Instruction) -> bool {
    instruction.address().is_some_and(|address| address.base.starts_with("retval"))
}

fn is_frame_pointer(register: &str) -> bool {
    register.starts_with("%SP") || !register.starts_with('%')
}

/// `call.uni (retval0), _Z1fPf, (param0, param1)`, or with a register and a prototype.
fn call(index: usize, instruction: &Instruction, stored: &HashMap<String, Vec<String>>) -> Call {
    let mut operands = instruction.operands.iter();
    let target = operands.by_ref().find(|operand| !operand.starts_with('('));
    let names = operands.next().map(|list| list.trim_matches(['(', ')', ' ']).to_string()).unwrap_or_default();
    let values = names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(|name| stored.get(name));
    let is_register = |value: &&String| value.starts_with('%');
    Call {
        instruction: index,
        callee: target.filter(|target| !target.starts_with('%')).cloned(),
        arguments: values.clone().map(|values| values?.first().filter(is_register).cloned()).collect(),
        members: values
            .enumerate()
            .filter_map(|(number, values)| Some((number, values.filter(|values| values.len() > 1)?)))
            .flat_map(|(number, values)| values.iter().filter(is_register).map(move |value| (number, value.clone())))
            .collect(),
    }
}

/// `%rd1`, or all of `{%rd1, %rd2}`.
pub fn registers(operand: &str) -> impl Iterator<Item = String> {
    operand.trim_matches(['{', '}']).split(',').map(|register| register.trim().to_string())
}

/// Registers that an instruction writes: the first operand, or all of a vector; none for stores and branches.
pub fn written(instruction: &Instruction) -> impl Iterator<Item = &str> {
    let none = matches!(
        instruction.mnemonic(),
        "st" | "bra"
            | "brx"
            | "ret"
            | "exit"
            | "bar"
            | "barrier"
            | "red"
            | "call"
            | "membar"
            | "fence"
            | "trap"
            | "prefetch"
    );
    let first = instruction.operands.first().filter(|_| !none).map_or("", String::as_str);
    first.split(['{', '}', ',', '|']).map(str::trim).filter(|register| register.starts_with('%'))
}

/// `12`, `-4`, `0xff`, `0f3F800000`
pub fn constant(operand: &str) -> Option<i64> {
    let (sign, digits) = operand.strip_prefix('-').map_or((1, operand), |digits| (-1, digits));
    let digits = digits.trim_end_matches('U');
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        // Floating-point constants are no index; what they are does not matter.
        None if digits.starts_with("0f") || digits.starts_with("0d") => 0,
        None => digits.parse().ok()?,
    };
    Some(sign * value)
}

pub fn special_register(operand: &str) -> Option<Sources> {
    let name = operand.strip_prefix('%')?;
    let name = name.split('.').next().unwrap_or(name);
    let sources = match name {
        "tid" | "laneid" | "lanemask_lt" | "lanemask_le" | "lanemask_eq" | "lanemask_ge" | "lanemask_gt" => {
            Sources { thread_index: true, divergent: Some(true), ..Sources::default() }
        }
        "ctaid" | "clusterid" | "cluster_ctaid" | "cluster_ctarank" | "smid" => {
            Sources { block_index: true, ..Sources::constant() }
        }
        "ntid" | "nctaid" | "nclusterid" => Sources { parameter: true, ..Sources::constant() },
        "clock" | "clock64" | "globaltimer" | "warpid" => Sources { unknown: true, ..Sources::default() },
        _ => return None,
    };
    Some(sources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::PtxModule;

    fn function(body: &str) -> PtxFunction {
        let text = format!(
            ".visible .entry k(\n.param .u64 k_param_0,\n.param .u32 k_param_1\n)\n{{\n.local .align 16 .b8 __local_depot0[128];\n\
             mov.u64 %SPL, __local_depot0;\nld.param.u32 %n, [k_param_1];\nld.param.u64 %in, [k_param_0];\n{body}\n}}\n"
        );
        PtxModule::parse(&text).unwrap().functions.remove(0)
    }

    fn pointer_of_last(function: &PtxFunction) -> Pointer {
        let flow = Flow::new(function);
        let access = function.instructions.iter().rposition(Instruction::is_local_access).unwrap();
        flow.pointer(&function.instructions[access].address().unwrap(), access)
    }

    fn local(offset: u64) -> BTreeSet<Root> {
        BTreeSet::from([Root::Local { variable: 0, offset }])
    }

    #[test]
    fn constant_offsets_stay_constant() {
        let function = function("add.u64 %rd1, %SPL, 64;\nadd.u64 %rd2, %rd1, 8;\nst.local.f32 [%rd2+4], %f1;");
        let pointer = pointer_of_last(&function);
        assert_eq!((pointer.roots, pointer.offset), (local(64), Some(12)));
        assert!(pointer.index.is_constant());
    }

    #[test]
    fn loaded_indices_are_data_and_differ_per_thread() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\nadd.s64 %a, %in, %o;\n\
             ld.global.u32 %i, [%a];\nmul.wide.u32 %rd3, %i, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.local.u32 %r1, [%rd4];",
        );
        let pointer = pointer_of_last(&function);
        assert_eq!(pointer.roots, local(0));
        assert!(pointer.index.loaded && !pointer.index.counter);
        assert_eq!(pointer.index.uniformity(), Some(Uniformity::PerThread));
    }

    #[test]
    fn parameters_are_uniform() {
        let function = function("add.u64 %rd1, %SPL, 0;\nmad.wide.u32 %rd4, %n, 4, %rd1;\nld.local.u32 %r1, [%rd4];");
        let pointer = pointer_of_last(&function);
        assert!(pointer.index.parameter);
        assert_eq!(pointer.index.uniformity(), Some(Uniformity::Uniform));
    }

    #[test]
    fn a_moving_pointer_is_a_counter() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\n$L1:\nst.local.u32 [%rd1], %r1;\nadd.s64 %rd1, %rd1, 4;\n\
             add.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 32;\n@%p1 bra $L1;",
        );
        let flow = Flow::new(&function);
        let at = function.instructions.iter().position(Instruction::is_local_access).unwrap();
        let pointer = flow.pointer(&function.instructions[at].address().unwrap(), at);
        assert!(pointer.index.counter && !pointer.index.is_data());
        assert_eq!(flow.trip(&pointer.index, at), Trip::Constant);
    }

    #[test]
    fn copies_at_the_end_of_the_loop_are_followed() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r9, 0;\nmov.u32 %r1, %r9;\n$L1:\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
             st.local.u32 [%rd3], %r1;\nadd.s32 %r2, %r1, 1;\nsetp.lt.s32 %p1, %r2, %n;\nmov.u32 %r1, %r2;\n@%p1 bra $L1;",
        );
        let flow = Flow::new(&function);
        let at = function.instructions.iter().position(Instruction::is_local_access).unwrap();
        let pointer = flow.pointer(&function.instructions[at].address().unwrap(), at);
        assert!(pointer.index.counter && !pointer.index.is_data(), "{:?}", pointer.index);
        assert_eq!(flow.trip(&pointer.index, at), Trip::RunTime);
    }

    #[test]
    fn rotated_counters_are_data() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\n$L1:\nadd.s32 %r2, %r1, %n;\nand.b32 %r3, %r2, 31;\nmul.wide.u32 %rd2, %r3, 4;\n\
             add.s64 %rd3, %rd1, %rd2;\nld.local.u32 %r5, [%rd3];\nadd.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 32;\n@%p1 bra $L1;",
        );
        let pointer = pointer_of_last(&function);
        assert!(pointer.index.counter && pointer.index.parameter && pointer.index.counter_is_changed);
    }

    #[test]
    fn a_stack_pointer_is_no_counter() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\n$L1:\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.local.u32 %r5, [%rd3];\n\
             setp.eq.s32 %p2, %r5, 0;\n@%p2 bra $L2;\nadd.s32 %r1, %r1, 1;\nbra $L1;\n$L2:\nadd.s32 %r1, %r1, -1;\nbra $L1;",
        );
        let pointer = pointer_of_last(&function);
        assert!(pointer.index.carried && !pointer.index.counter, "{:?}", pointer.index);
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
    fn calls_know_their_arguments() {
        let function = function(
            "add.u64 %rd1, %SP, 16;\n{\n.param .b64 param0;\nst.param.b64 [param0], %rd1;\n.param .b32 param1;\nst.param.b32 [param1], 3;\n\
             .param .b32 retval0;\ncall.uni (retval0), _Z1fPfi, (param0, param1);\n}\n\
             {\nst.param.b64 [param0], %rd1;\ncall (retval0), %rd7, (param0), prototype_0;\n}",
        );
        let calls = Flow::new(&function).calls();
        assert_eq!(calls[0].callee.as_deref(), Some("_Z1fPfi"));
        assert_eq!(calls[0].arguments, [Some("%rd1".to_string()), None]);
        assert_eq!((calls[1].callee.as_deref(), calls[1].arguments.len()), (None, 1));
    }

    #[test]
    fn cycles_without_an_end_do_not_hang() {
        let function = function("mov.u64 %a, %b;\nmov.u64 %b, %a;\nld.local.u32 %r1, [%a];");
        assert!(!pointer_of_last(&function).roots.contains(&Root::Local { variable: 0, offset: 0 }));
    }
}
