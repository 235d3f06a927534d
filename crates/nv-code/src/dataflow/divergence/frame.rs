//! What loads from a kernel's frame may read. Local memory is private: threads may read different values at one address,
//! and equal ones although other data beside them differ. Two things can be told all the same. A copy of a parameter
//! that nothing else writes has the parameter's values in all threads. And where everything that is stored differs, so
//! does what is read back.

use std::collections::{BTreeMap, BTreeSet};

use ptx_syntax::{AddressBase, Block, Graph, Instruction, Modifier, Opcode, Operand, Reg, Space, Var};

use super::level::Level;
use crate::dataflow::flow::operands::{constant, parts, register};
use crate::dataflow::reaching::ByRegister;
use crate::ptx::PtxFunction;

/// What the registers of a function tell of the frame: its accesses by the place of their address.
pub(super) struct Frame {
    stores: Vec<Store>,
    loads: Vec<(usize, Place)>,
    /// Bytes that hold a parameter, from the first to behind the last.
    copies: Vec<(i64, i64)>,
    /// By register: the number that it always is.
    numbers: Vec<Option<Operand>>,
    /// Roots of the accesses at computed addresses, in order. An array may start before its root, and end where the next one starts.
    computed: Vec<i64>,
}

/// The objects whose data differ, by their roots: whether an element by itself does.
pub(super) type Differing = BTreeMap<i64, bool>;

/// A register's address within the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The start of the frame itself.
    Base,
    /// A number of bytes behind a root: the sum of the frame's start and the first constant added to it.
    At { root: i64, offset: i64 },
    /// Somewhere from a root on.
    From(i64),
    /// One of several.
    Anywhere,
}

impl Place {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::At { root, .. } | Self::From(root), Self::At { root: other, .. } | Self::From(other))
                if root == other =>
            {
                Self::From(root)
            }
            _ => Self::Anywhere,
        }
    }

    fn plus(self, bytes: i64) -> Self {
        match self {
            Self::Base => Self::At { root: bytes, offset: 0 },
            Self::At { root, offset } => Self::At { root, offset: offset.wrapping_add(bytes) },
            other => other,
        }
    }

    fn plus_anything(self) -> Self {
        match self {
            Self::Base | Self::Anywhere => Self::Anywhere,
            Self::At { root, .. } | Self::From(root) => Self::From(root),
        }
    }

    fn root(self) -> Option<i64> {
        match self {
            Self::At { root, .. } | Self::From(root) => Some(root),
            Self::Base | Self::Anywhere => None,
        }
    }

    /// Whether an access may touch bytes of a range. One that runs through an array starts at its root.
    fn may_touch(self, (start, end): (i64, i64), bytes: i64) -> bool {
        match self {
            Self::At { root, offset } => root + offset < end && start < root + offset + bytes,
            Self::From(root) => (start..end).contains(&root),
            Self::Base | Self::Anywhere => true,
        }
    }
}

struct Store {
    at: usize,
    place: Place,
    bytes: i64,
}

impl Frame {
    /// `None` where an address leaves the registers, or a store may go anywhere.
    pub fn of(function: &PtxFunction, graph: &Graph, uses: &ByRegister) -> Option<Self> {
        let is_plain = function.is_entry && matches!(&function.local_variables[..], [only] if only.is_depot());
        let places = is_plain.then(|| places(function, uses))?;
        let mut frame = Self {
            stores: Vec::new(),
            loads: Vec::new(),
            copies: Vec::new(),
            numbers: numbers(function),
            computed: Vec::new(),
        };
        for (at, instruction) in function.instructions.iter().enumerate() {
            let place = address_place(instruction, function, &places);
            if escapes(instruction, &places) {
                return None;
            }
            match (instruction.opcode(), place) {
                (Opcode::Ld, Some(place)) => frame.loads.push((at, place)),
                (Opcode::St, Some(Place::Base | Place::Anywhere)) => return None,
                (Opcode::St, Some(place)) => {
                    let count = instruction.operands.get(1).map_or(0, |value| parts(value).len());
                    let bytes = instruction.element_bytes()?.checked_mul(count as u64)?;
                    frame.stores.push(Store { at, place, bytes: i64::try_from(bytes).ok()? });
                }
                (_, Some(_)) => return None,
                (_, None) => {}
            }
        }
        frame.copies = frame.copies(function, graph);
        let places = frame.loads.iter().map(|(_, place)| *place).chain(frame.stores.iter().map(|store| store.place));
        let roots = places.filter_map(|place| if let Place::From(root) = place { Some(root) } else { None });
        frame.computed = roots.collect::<BTreeSet<i64>>().into_iter().collect();
        Some(frame)
    }

    /// The bytes of each parameter that is copied to the frame at once, when the kernel begins, and not written later.
    fn copies(&self, function: &PtxFunction, graph: &Graph) -> Vec<(i64, i64)> {
        let definitions = sole_definitions(function);
        let sources: Vec<Option<(Var, i64)>> =
            self.stores.iter().map(|store| parameter_of(store, function, graph, &definitions)).collect();
        let distinct: BTreeSet<(usize, i64)> =
            sources.iter().flatten().map(|(variable, distance)| (variable.index(), *distance)).collect();
        let mut copies = Vec::new();
        for wanted in distinct {
            let is_own = |source: &Option<(Var, i64)>| {
                source.is_some_and(|(variable, distance)| (variable.index(), distance) == wanted)
            };
            let own = self.stores.iter().zip(&sources).filter(|(_, source)| is_own(source));
            let bounds = own.filter_map(|(store, _)| match store.place {
                Place::At { root, offset } => Some((root + offset, root + offset + store.bytes)),
                _ => None,
            });
            let Some(range) = bounds.reduce(|one, more| (one.0.min(more.0), one.1.max(more.1))) else { continue };
            let mut others = self.stores.iter().zip(&sources).filter(|(_, source)| !is_own(source));
            // A load that runs through the copy may reach what is stored behind the same root.
            let own = self.stores.iter().zip(&sources).filter(|(_, source)| is_own(source));
            let roots: BTreeSet<i64> = own.filter_map(|(store, _)| store.place.root()).collect();
            let is_beside = |store: &Store, source: &Option<(Var, i64)>| {
                let is_of_object = |root: i64| source.is_none() && roots.contains(&root);
                store.place.root().is_some_and(|root| (range.0..range.1).contains(&root) || is_of_object(root))
            };
            if !others.any(|(store, source)| is_beside(store, source) || store.place.may_touch(range, store.bytes)) {
                copies.push(range);
            }
        }
        copies
    }

    /// Whether a load reads a copy of a parameter, so that threads read the same at the same address.
    fn is_of_copy(&self, place: Place) -> bool {
        self.copies.iter().any(|(start, end)| match place {
            Place::At { root, offset } => (*start..*end).contains(&(root + offset)),
            // A pointer that runs backwards may begin where the array before it ends.
            Place::From(root) => (*start..*end).contains(&root) && (root > *start || root == 0),
            Place::Base | Place::Anywhere => false,
        })
    }

    /// The loads of parameters' copies.
    pub fn uniform_loads(&self) -> impl Iterator<Item = usize> {
        self.loads.iter().filter(|(_, place)| self.is_of_copy(*place)).map(|(at, _)| *at)
    }

    /// The objects that something is stored to that differs, and nothing else but one number; an element by itself differs
    /// too where all that is stored is known to. They hold what differs if all stores keep to it: [`Frame::refuted`].
    pub fn differing(
        &self,
        function: &PtxFunction,
        refuted: &BTreeSet<i64>,
        level: &dyn Fn(Reg) -> Level,
    ) -> Differing {
        let roots = self.loads.iter().filter_map(|(_, place)| place.root());
        let roots: BTreeSet<i64> = roots.filter(|root| !refuted.contains(root)).collect();
        let mut stored: BTreeMap<i64, Vec<&Operand>> = BTreeMap::new();
        for store in &self.stores {
            if let Some(root) = store.place.root().filter(|root| roots.contains(root)) {
                stored.entry(root).or_default().extend(values(&function.instructions[store.at]));
            }
        }
        let differs = |values: Vec<&Operand>| {
            let distinct =
                values.iter().filter_map(|value| self.number(value)).fold(Vec::new(), |mut distinct, number| {
                    if !distinct.contains(&number) {
                        distinct.push(number);
                    }
                    distinct
                });
            let differs = |value: &&Operand| register(value).is_some_and(|register| level(register) == Level::Differs);
            (distinct.len() <= 1 && values.iter().any(differs)).then(|| values.iter().all(differs))
        };
        stored.into_iter().filter_map(|(root, values)| Some((root, differs(values)?))).collect()
    }

    /// The loads of such objects. An element of its own, as a member, is no evidence for itself.
    pub fn divergent_loads(&self, differing: &Differing) -> impl Iterator<Item = usize> {
        let is_divergent = |place: &Place| match place {
            Place::From(root) => differing.contains_key(root),
            Place::At { root, .. } => differing.get(root) == Some(&true),
            Place::Base | Place::Anywhere => false,
        };
        self.loads.iter().filter(move |(_, place)| is_divergent(place)).map(|(at, _)| *at)
    }

    /// The objects of some that something else may be stored to: what does not differ, and is neither a number nor a
    /// parameter's copy, by way of an array beside them too.
    pub fn refuted(
        &self,
        differing: &Differing,
        function: &PtxFunction,
        level: &dyn Fn(Reg) -> Level,
    ) -> BTreeSet<i64> {
        let keeps = |value: &Operand| {
            self.number(value).is_some() || register(value).is_some_and(|register| level(register) == Level::Differs)
        };
        let others = self.stores.iter().filter(|store| !self.is_of_copy(store.place));
        let others = others.filter(|store| !values(&function.instructions[store.at]).iter().all(keeps));
        let others: Vec<&Store> = others.collect();
        let is_touched = |root: i64| {
            // From the computed root before it to the second behind it.
            let at = self.computed.partition_point(|other| *other < root);
            let behind = self.computed.partition_point(|other| *other <= root);
            let first = at.checked_sub(1).map_or(0, |before| self.computed[before]);
            let end = self.computed.get(behind + 1).copied().unwrap_or(i64::MAX);
            others.iter().any(|store| store.place.may_touch((first, end), store.bytes))
        };
        differing.keys().copied().filter(|root| is_touched(*root)).collect()
    }

    /// The number that a value always is.
    fn number<'v>(&'v self, value: &'v Operand) -> Option<&'v Operand> {
        match register(value) {
            Some(register) => self.numbers.get(register.index())?.as_ref(),
            None => Some(value),
        }
    }
}

/// By register: the number that its only definition gives it.
fn numbers(function: &PtxFunction) -> Vec<Option<Operand>> {
    let number = |at: usize| {
        let instruction = &function.instructions[at];
        let is_move = instruction.opcode() == Opcode::Mov && instruction.guard.is_none();
        instruction.operands.get(1).filter(|value| is_move && constant(value).is_some()).cloned()
    };
    sole_definitions(function).into_iter().map(|definition| number(definition?)).collect()
}

/// The values that a store writes.
fn values(store: &Instruction) -> &[Operand] {
    store.operands.get(1).map_or(&[], parts)
}

/// The parameter that a store copies when the kernel begins, and the distance between both places.
fn parameter_of(
    store: &Store,
    function: &PtxFunction,
    graph: &Graph,
    definitions: &[Option<usize>],
) -> Option<(Var, i64)> {
    let Place::At { root, offset } = store.place else { return None };
    let instruction = &function.instructions[store.at];
    let is_first = graph.block_of(store.at) == Some(Block(0)) && instruction.guard.is_none();
    let each = instruction.element_bytes().and_then(|bytes| i64::try_from(bytes).ok()).filter(|_| is_first)?;
    let mut found = None;
    for (number, value) in (0..).zip(values(instruction)) {
        let wanted = register(value)?;
        let load = &function.instructions[definitions[wanted.index()]?];
        let is_load = load.opcode() == Opcode::Ld && load.has(Modifier::Param) && load.guard.is_none();
        let address = load.address().filter(|_| is_load)?;
        let AddressBase::Variable(variable) = address.base else { return None };
        function.parameter_number(variable)?;
        let part = load.operands.first().map(parts)?.iter().position(|part| register(part) == Some(wanted))?;
        let from = address.offset + i64::try_from(part).ok()? * i64::try_from(load.element_bytes()?).ok()?;
        let source = (variable, root + offset + number * each - from);
        if *found.get_or_insert(source) != source {
            return None;
        }
    }
    found
}

/// By register: the one instruction that defines it.
fn sole_definitions(function: &PtxFunction) -> Vec<Option<usize>> {
    let mut counts = vec![0_u8; function.registers.len()];
    let mut definitions = vec![None; function.registers.len()];
    for (at, instruction) in function.instructions.iter().enumerate() {
        instruction.for_each_def(&mut |register| {
            counts[register.index()] = counts[register.index()].saturating_add(1);
            definitions[register.index()] = Some(at);
        });
    }
    let is_sole = counts.iter().map(|count| *count == 1);
    definitions.into_iter().zip(is_sole).map(|(definition, is_sole)| definition.filter(|_| is_sole)).collect()
}

/// By register: its address in the frame, if it is one.
fn places(function: &PtxFunction, uses: &ByRegister) -> Vec<Option<Place>> {
    let mut places: Vec<Option<Place>> = vec![None; function.registers.len()];
    let mut open: Vec<usize> = (0..function.instructions.len()).rev().collect();
    // A register's place changes three times at most.
    while let Some(at) = open.pop() {
        let instruction = &function.instructions[at];
        let Some(place) = computed(instruction, function, &places) else { continue };
        instruction.for_each_def(&mut |register| {
            let known = &mut places[register.index()];
            let joined = known.map_or(place, |known| known.join(place));
            if *known != Some(joined) {
                *known = Some(joined);
                open.extend(uses.of(register));
            }
        });
    }
    places
}

fn place_of(operand: &Operand, function: &PtxFunction, places: &[Option<Place>]) -> Option<Place> {
    match (function.local_variable(operand), register(operand)) {
        (Some((_, 0)), _) => Some(Place::Base),
        (Some((_, offset)), _) => Some(Place::Base.plus(offset)),
        (None, Some(register)) => places.get(register.index()).copied().flatten(),
        (None, None) => None,
    }
}

/// The place that an instruction computes.
fn computed(instruction: &Instruction, function: &PtxFunction, places: &[Option<Place>]) -> Option<Place> {
    let place = |number: usize| place_of(instruction.operands.get(number)?, function, places);
    let number = |number: usize| instruction.operands.get(number).and_then(constant);
    match instruction.opcode() {
        Opcode::Mov | Opcode::Cvta => place(1),
        Opcode::Add | Opcode::Or => match (place(1), place(2)) {
            (Some(one), None) => Some(number(2).map_or_else(|| one.plus_anything(), |bytes| one.plus(bytes))),
            (None, Some(one)) => Some(one.plus_anything()),
            (None, None) => None,
            (Some(_), Some(_)) => Some(Place::Anywhere),
        },
        Opcode::Sub => place(1).map(Place::plus_anything),
        Opcode::Mad => place(3).map(Place::plus_anything),
        Opcode::Selp => match (place(1), place(2)) {
            (Some(one), Some(other)) => Some(one.join(other)),
            (None, None) => None,
            _ => Some(Place::Anywhere),
        },
        _ => None,
    }
}

/// The place that an instruction accesses.
fn address_place(instruction: &Instruction, function: &PtxFunction, places: &[Option<Place>]) -> Option<Place> {
    let address = instruction.address()?;
    let place = match (function.local_base(&address.base), &address.base) {
        (Some(_), _) => Some(Place::Base),
        (None, AddressBase::Reg(register)) => places.get(register.index()).copied().flatten(),
        (None, _) => None,
    };
    match place {
        Some(place) => Some(place.plus(address.offset)),
        // Local memory at an address that is not known.
        None => (instruction.form.space() == Space::Local).then_some(Place::Anywhere),
    }
}

/// Whether an address leaves the registers that are followed: it is stored, passed on, or computed with in another way.
fn escapes(instruction: &Instruction, places: &[Option<Place>]) -> bool {
    let is_place = |register: Reg| places.get(register.index()).is_some_and(Option::is_some);
    match instruction.opcode() {
        Opcode::Mov | Opcode::Cvta | Opcode::Add | Opcode::Or | Opcode::Selp | Opcode::Setp => false,
        Opcode::Sub | Opcode::Mad => {
            let last = if instruction.opcode() == Opcode::Sub { 2 } else { 1 };
            let mut others = instruction.operands.iter().skip(last).take(3 - last);
            others.any(|operand| register(operand).is_some_and(is_place))
        }
        Opcode::Ld => false,
        Opcode::St => values(instruction).iter().filter_map(register).any(is_place),
        _ => {
            let mut is_used = false;
            instruction.for_each_use(&mut |register| is_used |= is_place(register));
            is_used
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::dataflow::divergence::Divergence;
    use crate::dataflow::loops::PtxLoops;
    use crate::dataflow::reaching::{Reaching, uses};
    use crate::ptx::PtxModule;

    /// Whether a register of a kernel with a structure, a length and a frame differs.
    fn of(body: &str, register: &str) -> Option<bool> {
        let text = format!(
            ".visible .entry k(\n.param .align 4 .b8 k_param_0[32],\n.param .u32 k_param_1\n)\n{{\n.local .align 8 .b8 \
             __local_depot0[96];\nmov.u64 %SPL, __local_depot0;\nld.param.u32 %n, [k_param_1];\nmov.u32 %t, %tid.x;\n\
             add.u64 %a, %SPL, 0;\nadd.u64 %b, %SPL, 32;\n{body}\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        let function = &module.functions[0];
        let graph = Rc::new(Graph::new(function));
        let (loops, reaching) = (PtxLoops::new(function, &graph), Reaching::new(function, graph));
        let divergence = Divergence::new(function, &loops, &reaching, &uses(function));
        divergence.of(function.register_named(register).unwrap()).differs()
    }

    /// `{index}` in `[%a + 4 * index]`, read into `%x`.
    fn read(from: &str, index: &str) -> String {
        format!("mul.wide.u32 %o, {index}, 4;\nadd.s64 %p, {from}, %o;\nld.local.u32 %x, [%p+4];\n")
    }

    #[test]
    fn a_copy_of_a_parameter_is_the_same_in_all_threads() {
        let copy = "ld.param.v2.u32 {%c, %d}, [k_param_0];\nst.local.v2.u32 [%a], {%c, %d};\n\
                    ld.param.u32 %e, [k_param_0+8];\nst.local.u32 [%a+8], %e;\n";
        assert_eq!(of(&format!("{copy}{}", read("%a", "%n")), "%x"), Some(false));
        assert_eq!(of(&format!("{copy}{}", read("%a", "%t")), "%x"), Some(true));
        // Something else is stored to it, or may be.
        let at = |store: &str| of(&format!("{copy}{store}\n{}", read("%a", "%n")), "%x");
        assert_eq!(at("st.local.u32 [%a+4], %t;"), None);
        assert_eq!(at("mul.wide.u32 %q, %n, 4;\nadd.s64 %r, %a, %q;\nst.local.u32 [%r], %t;"), None);
        assert_eq!(at("st.local.u32 [%z], %t;"), None);
        assert_eq!(at("st.param.b64 [param0], %a;"), None);
        // Another array.
        assert_eq!(at("st.local.u32 [%b+4], %t;"), Some(false));
        // A part of the parameter, or at another distance, or only in some threads.
        let other = copy.replace("[k_param_0+8]", "[k_param_0+12]");
        assert_eq!(of(&format!("{other}ld.local.u32 %x, [%a+8];"), "%x"), Some(false));
        let guarded = copy.replace("st.local.u32", "@%p1 st.local.u32");
        assert_eq!(of(&format!("{guarded}{}", read("%a", "%n")), "%x"), None);
    }

    #[test]
    fn what_is_read_from_divergent_data_differs() {
        let fill = "mul.wide.u32 %q, %n, 4;\nadd.s64 %r, %b, %q;\nst.local.u32 [%b], 0;\nst.local.u32 [%r], %t;\n";
        assert_eq!(of(&format!("{fill}{}", read("%b", "%n")), "%x"), Some(true));
        // A swap within the array.
        let swap = format!("{fill}{}st.local.u32 [%r+8], %x;", read("%b", "%n"));
        assert_eq!(of(&swap, "%x"), Some(true));
        // Another array, uniform data beside it, several numbers, and one element.
        assert_eq!(of(&format!("{fill}{}", read("%a", "%n")), "%x"), None);
        assert_eq!(of(&format!("{fill}st.local.u32 [%b+12], %n;\n{}", read("%b", "%n")), "%x"), None);
        assert_eq!(of(&format!("{fill}st.local.u32 [%b+12], 7;\n{}", read("%b", "%n")), "%x"), None);
        assert_eq!(of(&format!("{fill}ld.local.u32 %x, [%b+4];"), "%x"), None);
    }

    #[test]
    fn what_differs_is_followed_through_several_arrays() {
        let fill = "mul.wide.u32 %q, %n, 4;\nadd.s64 %r, %b, %q;\nst.local.u32 [%r], %t;\n";
        let copy = format!("{fill}{}add.s64 %s, %a, %q;\nst.local.u32 [%s], %x;\n", read("%b", "%n"));
        let element = "ld.local.u32 %y, [%a+4];\n";
        assert_eq!(of(&format!("{copy}{element}"), "%y"), Some(true));
        // What does not differ is stored far away from it, or beside it.
        let uniform = |at: u32| {
            let starts =
                [64, 96, 128].map(|at| format!("add.u64 %v{at}, %SPL, {at};\nadd.s64 %w{at}, %v{at}, %q;\n")).concat();
            let others = format!(
                "st.local.u32 [%w{at}], %n;\nld.local.u32 %k, [%w64];\nld.local.u32 %m, [%w96];\nld.local.u32 %l, [%w128];\n"
            );
            of(&format!("{fill}{starts}{others}{}", read("%b", "%n")), "%x")
        };
        assert_eq!((uniform(64), uniform(96), uniform(128)), (None, Some(true), Some(true)));
        // A number that a register has is one.
        let zero = "mov.b32 %z, 0;\nst.local.u32 [%r+4], %z;\n";
        assert_eq!(of(&format!("{fill}{zero}{}", read("%b", "%n")), "%x"), Some(true));
        // An element is no evidence for itself: `head = head + 1` beside what differs.
        let head = "ld.local.u32 %y, [%b+20];\nadd.s32 %z, %y, 1;\nst.local.u32 [%b+20], %z;\n";
        assert_eq!(of(&format!("{fill}{head}"), "%y"), None);
    }
}
