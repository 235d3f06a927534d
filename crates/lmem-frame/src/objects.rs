//! Groups the local accesses of the machine code by the PTX object that they belong to.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cuda_syntax::SyntaxTrees;
use cuda_syntax::tree::Declaration;
use lmem_base::chain::Chain;
use lmem_base::gpu::MAX_PADDING;
use nv_code::dataflow::{Flow, Provenance, TripCount, registers};
use nv_code::{AccessKind, Instruction, KernelFacts, LocalAccess, PtxModule, UnitFacts};
use ptx_syntax::{AddressBase, Modifier, Opcode, Operand};

use super::access::{Access, Address, ObjectKey, RawObject, same_place};
use super::escape::{self, CallSites};
use super::merged::{self, Merged, MergedPlaces};
use super::{stored_values, unroll_remainder, wide_accesses};
use crate::place::{Place, Places, lines, places, places_of_lines};
use crate::slow_path::has_slow_path;
use crate::symbolize::byval_copies;
use crate::symbolize::declared_of::DeclaredOf;
use crate::wide_accesses::WideAccess;

/// Limit on instructions between a load that was moved and the first use of its value elsewhere.
const MAX_MOVED: usize = 4;

/// Limit on nested calls in the math library.
const MAX_LIBRARY_LEVELS: usize = 8;

/// The objects of one kernel, and the accesses without a known object.
#[derive(Default)]
pub struct Objects {
    pub objects: BTreeMap<ObjectKey, RawObject>,
    /// Accesses without an object, by the callee in whose frame they are.
    pub stray: BTreeMap<Option<usize>, Vec<Access>>,
    /// Accesses that may go to several objects.
    wide: Vec<WideAccess>,
}

/// Groups the accesses of a kernel and its callees by object, without spills.
pub fn gather(kernel: &KernelFacts, accesses: &[LocalAccess], unit: &UnitFacts, trees: &SyntaxTrees<'_>) -> Objects {
    let module = &unit.ptx;
    // Direct calls do not lead to indirect callees, so these are roots too.
    let roots = std::iter::once(kernel.name.as_str()).chain(kernel.callees.iter().map(|callee| callee.name.as_str()));
    let reachable = escape::reachable(module, roots);
    let flows: HashMap<&str, Flow<'_>> =
        reachable.iter().map(|function| (&*function.name, Flow::new(function))).collect();
    let calls = CallSites::new(&flows);
    let mut objects = Objects::default();
    escape::gather(module, &flows, &calls, trees, &mut objects.objects);
    let layout: HashMap<&str, BTreeSet<(usize, u64)>> =
        flows.iter().map(|(name, flow)| (*name, escape::object_starts(flow))).collect();
    let known = Known::default();
    for access in accesses.iter().filter(|access| !is_spill(access, unit)) {
        place_access(access, module, &flows, &calls, &known, trees, &mut objects);
    }
    for (key, object) in &mut objects.objects {
        object.bytes = object_bytes(key, &flows, &layout);
        object.allocation = allocation_places(key, &flows, module, trees);
        object.accesses = merge(std::mem::take(&mut object.accesses));
    }
    join_elements(&mut objects.objects, trees);
    wide_accesses::share(&objects.wide, module, &flows, trees, &mut objects.objects);
    for object in objects.objects.values_mut() {
        object.shares_library = is_of_a_variable(object, trees);
        object.is_library &= !object.shares_library;
    }
    tell_choices(&mut objects.objects);
    byval_copies::fill(&flows, &mut objects.objects);
    unroll_remainder::mark(&mut objects.objects);
    stored_values::fill(module, &flows, &calls, trees, &mut objects.objects);
    objects.stray.values_mut().for_each(|stray| *stray = merge(std::mem::take(stray)));
    objects
}

/// Whether an access is a spill: by ptxas's mark, or without marks, if its PTX line is not a local access.
pub fn is_spill(access: &LocalAccess, unit: &UnitFacts) -> bool {
    if unit.has_spill_marks || access.is_spill {
        return access.is_spill;
    }
    let spills = unit.log.functions.values().any(|function| function.usage.spill_stores > 0);
    let instruction = access.ptx_line.and_then(|line| {
        let function = unit.ptx.function_at(line)?;
        function.instructions.get(function.instruction_at(line)?)
    });
    spills && instruction.is_none_or(|instruction| !instruction.is_local_access())
}

fn place_access(
    access: &LocalAccess,
    module: &PtxModule,
    flows: &HashMap<&str, Flow<'_>>,
    calls: &CallSites,
    known: &Known,
    trees: &SyntaxTrees<'_>,
    objects: &mut Objects,
) {
    let found = access.ptx_line.and_then(|line| {
        let function = module.function_at(line)?;
        let flow = flows.get(&*function.name)?;
        let index = function.instruction_at(line)?;
        Some((flow, index))
    });
    let Some((flow, index)) = found else {
        let stray = new_access(access, Address::Constant, places_of_lines(trees, &access.source), trees);
        return objects.stray.entry(access.callee).or_default().push(stray);
    };
    let instruction = &flow.function.instructions[index];
    let mut places = places(trees, module, flow.function, instruction.location);
    let mut is_vague = merged::is_without_line(flow.function, index);
    match known.merged.of(flow, index, instruction.opcode() == Opcode::St, module, trees) {
        Some(Merged::Statement(inner)) => (places, is_vague) = (behind(inner, places), false),
        Some(Merged::Loop(inner)) => (places, is_vague) = (behind(inner, places), true),
        None => {}
    }
    if let (true, Some(tree)) = (places.is_empty(), trees.ptx_id()) {
        let line = instruction.first_line;
        let own = trees.tree(tree).offset(line, 0);
        let own = own.map(|offset| Place { tree, line, offset, function: None, callee: None });
        places = own.map_or(places, |own| Chain::new(own, Places::default()));
    }
    if places.is_empty() {
        places = places_of_value(flow, index, module, trees);
    }
    if places.is_empty() {
        places = match flow.function.locations.is_empty() {
            true => places_of_calls(&flow.function.name, module, flows, calls, trees),
            false => places_of_lines(trees, &access.source),
        };
    }
    let is_memory = matches!(instruction.opcode(), Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red);
    let Some(address) = instruction.address().filter(|_| is_memory) else {
        let stray = new_access(access, Address::Constant, places, trees);
        return objects.stray.entry(access.callee).or_default().push(stray);
    };
    let pointer = flow.pointer(address, index);
    let is_found = flow.is_found(&pointer.index, index);
    let kind = match (pointer.index.is_data(), pointer.index.induction) {
        (true, _) => Address::Computed(pointer.index.clone()),
        // `i % 8` passes over the array repeatedly: unrolling alone does not make the index constant.
        (false, true) => match flow.trip(&pointer.index, index) {
            TripCount::RunTime if pointer.index.induction_is_changed => Address::Computed(pointer.index.clone()),
            _ if is_found => {
                Address::Computed(Provenance { induction: false, loop_carried: true, ..pointer.index.clone() })
            }
            trip => Address::Induction(trip),
        },
        // The pointers are taken as elements of one array until they turn out to be several objects.
        (false, false) if pointer.is_chosen => Address::Computed(Provenance::chosen(pointer.index.divergent)),
        (false, false) => Address::Constant,
    };
    let keys = escape::owners(flow, &pointer.roots, calls, flows);
    let start = pointer.offset.filter(|_| keys.len() == 1 && !pointer.is_chosen).and_then(|it| u64::try_from(it).ok());
    let end = start
        .map_or(0, |start| start + instruction.element_bytes().unwrap_or(0) * u64::from(instruction.form.vector()));
    let callee = access.callee;
    let wide = WideAccess::new(access, flow, index);
    let origins = match &kind {
        Address::Constant => Some(BTreeSet::new()),
        Address::Induction(_) => unroll_remainder::origins_of_lengths(flow, &pointer.index, index),
        Address::Computed(_) => unroll_remainder::origins_of_address(flow, address, index),
    };
    let mut access = new_access(access, kind, places, trees);
    if matches!(access.address, Address::Induction(_)) {
        // A loop that ptxas unrolls is rolled where the variable could have become registers.
        let closing = flow.loops.innermost(index).and_then(|id| flow.loops.closing(id).next());
        let closing = closing.map(|branch| lines(module, flow.function, flow.function.instructions[branch].location));
        access.loop_lines = closing.filter(|lines| !lines.is_empty()).unwrap_or(access.loop_lines);
    }
    access.origins = origins;
    access.is_found = is_found;
    if access.kind == AccessKind::Load && !is_vague {
        access.used_at = place_of_use(flow, index, access.places.first(), module, trees);
    }
    access.is_vague = is_vague;
    access.divergent = pointer.index.divergent;
    access.ptx_loop = flow.loops.innermost(index).map(|id| id.index());
    access.parameters = match address.base {
        AddressBase::Reg(register) if flow.function.is_entry => Some(flow.parameters_of(register)),
        _ => None,
    };
    access.elements.extend(instruction.element_bytes());
    access.is_volatile = instruction.has(Modifier::Volatile);
    if pointer.is_chosen && !pointer.index.is_data() && !pointer.index.induction {
        access.choice = keys.iter().cloned().collect();
    }
    if keys.is_empty() {
        return objects.stray.entry(callee).or_default().push(access);
    }
    objects.wide.extend(wide);
    for key in keys {
        let in_callee = *key.function != *flow.function.name;
        let object = objects.objects.entry(key).or_default();
        object.is_library |= known.library.is_stored(flow, instruction);
        object.extent = object.extent.max(end);
        object.accesses.push(Access { in_callee, ..access.clone() });
    }
}

/// Whether an object that has intermediate results of the math library is a variable too, whose bytes they share: it is larger than what
/// the library needs, and statements that call no such function use it.
fn is_of_a_variable(object: &RawObject, trees: &SyntaxTrees<'_>) -> bool {
    /// Bytes that the reduction of a `double` keeps; that of a `float` keeps 28.
    const MOST_OF_LIBRARY: u64 = 40;
    let calls_it = |access: &Access| {
        access.places.first().is_none_or(|place| {
            let tree = place.tree(trees);
            let mut regions = tree.regions(place.offset).into_iter();
            regions.any(|region| tree.calls(region).iter().any(|(name, _)| has_slow_path(name)))
        })
    };
    object.is_library && object.bytes > MOST_OF_LIBRARY + MAX_PADDING && !object.accesses.iter().all(calls_it)
}

/// Whether an operand belongs to the bits of 2/π in the slow path of sin, cos and tan: the table `__cudart_i2opi_f` or
/// `__cudart_i2opi_d`, or the words themselves if the loop was unrolled (`float`, 13.5).
fn is_two_over_pi(flow: &Flow<'_>, operand: &Operand) -> bool {
    const WORDS: [i64; 6] = [1_011_060_801, -614_296_167, -181_084_736, -64_530_479, 1_313_084_713, -1_560_706_194];
    let is_table = |name: &str| name.starts_with("__cudart_i2opi");
    match operand {
        Operand::Imm(value) => WORDS.contains(value),
        Operand::Symbol(name, _) => is_table(name),
        Operand::Variable(variable, _) => is_table(&flow.function.variable(*variable).name),
        Operand::Address(address) => flow.function.base_name(&address.base).is_some_and(is_table),
        Operand::Vector(parts) | Operand::Bracket(parts) => parts.iter().any(|part| is_two_over_pi(flow, part)),
        _ => false,
    }
}

/// Places of one function, innermost first, and those outside of it.
fn behind(inner: Vec<Place>, outer: Places) -> Places {
    inner.into_iter().rev().fold(outer, |outer, place| Chain::new(place, outer))
}

/// What is found of functions while accesses are placed.
#[derive(Default)]
struct Known {
    library: LibraryValues,
    merged: MergedPlaces,
}

/// By function, registers that are computed from the bits of 2/π.
#[derive(Default)]
struct LibraryValues {
    known: RefCell<HashMap<Arc<str>, Vec<bool>>>,
}

impl LibraryValues {
    fn is_stored(&self, flow: &Flow<'_>, instruction: &Instruction) -> bool {
        let value = instruction.operands.get(1).filter(|_| instruction.opcode() == Opcode::St);
        let Some(value) = value else { return false };
        if is_two_over_pi(flow, value) {
            return true;
        }
        let mut known = self.known.borrow_mut();
        let made = || flow.made_from(|operand| is_two_over_pi(flow, operand));
        let made = known.entry(Arc::clone(&flow.function.name)).or_insert_with(made);
        registers(value).any(|register| made.get(register.index()).copied().unwrap_or(false))
    }
}

/// The location of the `alloca` call, for an object that it created.
fn allocation_places(
    key: &ObjectKey,
    flows: &HashMap<&str, Flow<'_>>,
    module: &PtxModule,
    trees: &SyntaxTrees<'_>,
) -> Option<Places> {
    let function = flows.get(key.function.as_str())?.function;
    let instruction = function.instructions.get(function.local_variables.get(key.variable)?.allocated_by?)?;
    Some(places(trees, module, function, instruction.location))
}

/// Code that was moved out of a loop has no line. A load then takes the location of the first use of its value, a store
/// that of the value's definition.
fn places_of_value(flow: &Flow<'_>, index: usize, module: &PtxModule, trees: &SyntaxTrees<'_>) -> Places {
    let all = &flow.function.instructions;
    let others: BTreeSet<usize> = match all[index].opcode() {
        Opcode::Ld => {
            let results = all[index].defs();
            let uses = results.iter().flat_map(|result| flow.uses_of(*result).iter().map(|at| (*result, *at)));
            let later = uses.filter(|(result, at)| *at > index && flow.definitions(*result, *at).contains(&index));
            later.map(|(_, at)| at).collect()
        }
        Opcode::St => {
            let values = all[index].operands.get(1).into_iter().flat_map(registers);
            let first = values.flat_map(|value| flow.definitions(value, index).to_vec());
            return first_places(first, flow, module, trees);
        }
        _ => BTreeSet::new(),
    };
    first_places(others.into_iter(), flow, module, trees)
}

/// The first place after a load where its value is used, or what is computed from it, that is another one than its own: the compiler
/// moves code out of loops together with what it computes.
fn place_of_use(
    flow: &Flow<'_>,
    load: usize,
    own: Option<&Place>,
    module: &PtxModule,
    trees: &SyntaxTrees<'_>,
) -> Places {
    let all = &flow.function.instructions;
    let mut at = load;
    for _ in 0..MAX_MOVED {
        let results = all[at].defs();
        let uses = results.iter().flat_map(|result| flow.uses_of(*result).iter().map(|used| (*result, *used)));
        let mut later = uses.filter(|(result, used)| *used > at && flow.definitions(*result, *used).contains(&at));
        let Some((_, used)) = later.next() else { break };
        let found = places(trees, module, flow.function, all[used].location);
        if found.first().is_some_and(|found| own.is_none_or(|own| (own.tree, own.line) != (found.tree, found.line))) {
            return found;
        }
        at = used;
    }
    Places::default()
}

/// The location of the first instruction that has one.
fn first_places(
    instructions: impl Iterator<Item = usize>,
    flow: &Flow<'_>,
    module: &PtxModule,
    trees: &SyntaxTrees<'_>,
) -> Places {
    let all = &flow.function.instructions;
    let mut found = instructions.map(|at| places(trees, module, flow.function, all[at].location));
    found.find(|places| !places.is_empty()).unwrap_or_default()
}

/// Library functions have no lines; their code takes the location of the call that leads to them. Their rows in the
/// line table are left over from the code before them.
fn places_of_calls(
    callee: &str,
    module: &PtxModule,
    flows: &HashMap<&str, Flow<'_>>,
    calls: &CallSites,
    trees: &SyntaxTrees<'_>,
) -> Places {
    // A library function may be called by another library function.
    let mut callee = callee;
    for _ in 0..MAX_LIBRARY_LEVELS {
        let Some((caller, call)) = calls.of(callee).first() else { break };
        let Some(flow) = flows.get(caller.as_str()) else { break };
        if !flow.function.locations.is_empty() {
            return places(trees, module, flow.function, flow.function.instructions[call.instruction].location);
        }
        callee = caller;
    }
    Places::default()
}

fn new_access(access: &LocalAccess, address: Address, places: Places, trees: &SyntaxTrees<'_>) -> Access {
    Access {
        width: access.instruction.bytes,
        loop_depth: access.loop_depth,
        loop_lines: access.loop_lines.clone(),
        span: places.first().and_then(|place| place.span(trees)),
        ..Access::new(access.instruction.kind, address, places)
    }
}

/// Merges accesses with the same statement, kind and class of address.
fn merge(accesses: Vec<Access>) -> Vec<Access> {
    let mut merged: Vec<Access> = Vec::new();
    let mut copies: Vec<Copies> = Vec::new();
    // By innermost place: few statements share it.
    let mut numbers: HashMap<_, Vec<usize>> = HashMap::new();
    for access in accesses {
        let place = (access.loop_depth, access.ptx_loop);
        let (divergent, count) = (access.divergent, access.count);
        let innermost = access.places.first().map(|place| (place.tree, place.line, place.offset));
        let numbers: &mut Vec<usize> = numbers.entry(innermost).or_default();
        let same = numbers.iter().copied().find(|number| {
            let other = &merged[*number];
            other.kind == access.kind
                && other.in_callee == access.in_callee
                && other.is_vague == access.is_vague
                && other.class() == access.class()
                && same_place(other, &access)
        });
        match same {
            Some(at) => {
                copies[at].add(place, divergent, count);
                let other = &mut merged[at];
                other.count += access.count;
                other.width = other.width.max(access.width);
                other.elements.extend(access.elements);
                other.is_volatile |= access.is_volatile;
                other.note_part(&access.address);
                other.address.join(access.address);
                other.parameters = other.parameters.zip(access.parameters).map(|(one, more)| one | more);
                other.divergent = match (other.divergent, access.divergent) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (one, more) => one.and(more),
                };
                other.origins = other.origins.take().zip(access.origins).map(|(one, more)| &one | &more);
                if access.loop_depth > other.loop_depth {
                    other.loop_depth = access.loop_depth;
                    other.loop_lines = access.loop_lines;
                }
            }
            None => {
                numbers.push(merged.len());
                merged.push(access);
                let mut new = Copies::default();
                new.add(place, divergent, count);
                copies.push(new);
            }
        }
    }
    // Elements that stay in registers between copies are loaded once: what the statement stores tells the main part.
    let all: Vec<Copies> = (0..merged.len())
        .map(|number| {
            let innermost = merged[number].places.first().map(|place| (place.tree, place.line, place.offset));
            let beside = numbers.get(&innermost).into_iter().flatten().copied();
            let beside = beside.filter(|other| same_place(&merged[*other], &merged[number]));
            Copies::together(beside.filter_map(|other| copies.get(other)))
        })
        .collect();
    for ((access, copies), all) in merged.iter_mut().zip(&copies).zip(&all) {
        if let (Address::Computed(sources), Some(divergent)) = (&mut access.address, copies.of_main_part(all)) {
            // A loop of its own for a special case may have the most copies: what differs elsewhere may be the source's index.
            let is_certain = divergent != Some(false) || !copies.differ_somewhere();
            sources.divergent = divergent.filter(|_| is_certain);
        }
    }
    merged
}

/// The copies of one statement, by the depth and the number of their loops: whether their addresses differ within a
/// warp, and how many there are.
#[derive(Default)]
struct Copies {
    by_loop: BTreeMap<(u32, Option<usize>), (Option<bool>, u64)>,
}

impl Copies {
    fn add(&mut self, place: (u32, Option<usize>), divergent: Option<bool>, count: u64) {
        let known = self.by_loop.entry(place).or_insert((divergent, 0));
        known.0 = match (known.0, divergent) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (one, more) => one.and(more),
        };
        known.1 += count;
    }

    /// What holds in the loop with the most copies, if the statement has copies in several loops: that is the main part
    /// of a loop that the compiler unrolled. Threads enter its remainder at different elements, which the source does
    /// not show.
    ///
    /// `all` are the copies of all accesses of the statement, which decide if there are as many in several loops.
    fn of_main_part(&self, all: &Self) -> Option<Option<bool>> {
        let mut main = self.largest();
        if main.len() > 1 {
            let largest = all.largest();
            main.retain(|place| largest == [*place]);
        }
        let [place] = main[..] else { return None };
        self.by_loop.get(&place).filter(|_| self.by_loop.len() > 1).map(|(divergent, _)| *divergent)
    }

    fn differ_somewhere(&self) -> bool {
        self.by_loop.values().any(|(divergent, _)| *divergent == Some(true))
    }

    /// Of the deepest loops, those with the most copies.
    fn largest(&self) -> Vec<(u32, Option<usize>)> {
        let deepest = self.by_loop.keys().map(|(depth, _)| *depth).max().filter(|depth| *depth > 0);
        let deep = self.by_loop.iter().filter(|((depth, _), _)| Some(*depth) == deepest);
        let most = deep.clone().map(|(_, (_, count))| *count).max();
        deep.filter(|(_, (_, count))| Some(*count) == most).map(|(place, _)| *place).collect()
    }

    fn together<'c>(all: impl Iterator<Item = &'c Self>) -> Self {
        let mut sum = Self::default();
        for (place, (divergent, count)) in all.flat_map(|copies| &copies.by_loop) {
            sum.add(*place, *divergent, *count);
        }
        sum
    }
}

/// Joins objects that are really elements of one array: the compiler may address elements by their constant offset from
/// the frame pointer, as it addresses objects.
fn join_elements(objects: &mut BTreeMap<ObjectKey, RawObject>, trees: &SyntaxTrees<'_>) {
    let keys: Vec<ObjectKey> = objects.keys().cloned().collect();
    let declared = DeclaredOf::new(trees);
    let mut index = 0;
    while let Some(key) = keys.get(index) {
        index += 1;
        // Nothing follows that could belong to it: then its variable need not be known.
        if !keys.get(index).is_some_and(|next| is_part(next, key, u64::MAX - key.offset)) {
            continue;
        }
        let declaration = objects.get(key).map(|object| declared.of(object)).unwrap_or_default();
        let declaration = declaration.as_ref();
        let Some(wanted) = objects.get(key).and_then(|object| {
            let bytes = wanted_bytes(object, declaration.as_ref(), key, &keys[index..], objects);
            bytes.or_else(|| bytes_of_choice(object, key, &declared))
        }) else {
            continue;
        };
        // The compiler may split a structure (SROA) and place other variables between its members.
        let may_be_apart = declaration.as_ref().is_some_and(|declaration| !declaration.members.is_empty());
        let is_same = |next: &ObjectKey, objects: &BTreeMap<ObjectKey, RawObject>| {
            let other = || objects.get(next).map(|object| declared.of(object)).unwrap_or_default();
            !may_be_apart || *other() == *declaration
        };
        while let Some(next) = keys.get(index).filter(|next| is_part(next, key, wanted) && is_same(next, objects)) {
            index += 1;
            let part = objects.remove(next).unwrap_or_default();
            if let Some(object) = objects.get_mut(key) {
                object.bytes = (next.offset - key.offset) + part.bytes;
                object.extent = object.extent.max(next.offset - key.offset + part.extent);
                object.accesses.extend(part.accesses);
                object.escapes.extend(part.escapes);
                object.is_library |= part.is_library;
            }
        }
    }
}

/// The bytes of the array of which an object is the first element: a pointer of its accesses is to one of several objects that follow each
/// other without a gap, and together have the size of each array that may be meant. The compiler splits an array (SROA) where it
/// unrolls the loop that moves the index, as in `while (at > 0 && …) --at; list[at] = x;`.
fn bytes_of_choice(object: &RawObject, key: &ObjectKey, declared: &DeclaredOf<'_>) -> Option<u64> {
    if !object.may_have_name() {
        return None;
    }
    let mut whole = object.accesses.iter().filter_map(|access| {
        let elements: BTreeSet<u64> = access.choice.iter().map(|other| other.offset).collect();
        let is_in_frame = access.choice.iter().all(|it| it.function == key.function && it.variable == key.variable);
        let width = u64::from(access.width);
        let is_dense = elements.iter().zip(0..).all(|(offset, number)| *offset == key.offset + number * width);
        (elements.len() > 1 && is_in_frame && is_dense).then_some(elements.len() as u64 * width)
    });
    let bytes = whole.next()?;
    (whole.all(|other| other == bytes) && declared.bytes_of_arrays(object) == Some(bytes)).then_some(bytes)
}

/// Corrects accesses through a pointer to one of several variables: the offset in each variable is constant, not an
/// index.
fn tell_choices(objects: &mut BTreeMap<ObjectKey, RawObject>) {
    let keys: Vec<ObjectKey> = objects.keys().cloned().collect();
    let owner = |part: &ObjectKey| {
        keys.iter()
            .rev()
            .find(|key| key.function == part.function && key.variable == part.variable && key.offset <= part.offset)
    };
    for access in objects.values_mut().flat_map(|object| &mut object.accesses) {
        let owners: BTreeSet<&ObjectKey> = access.choice.iter().filter_map(owner).collect();
        if owners.len() > 1 {
            access.address = Address::Constant;
        }
    }
}

fn is_part(next: &ObjectKey, key: &ObjectKey, wanted: u64) -> bool {
    next.function == key.function && next.variable == key.variable && next.offset < key.offset + wanted
}

/// Bytes that an object must have, if it seems to have fewer. These are the bytes of the only variable that it can be.
/// Otherwise, for a computed index into a single element, the object extends over the following objects, up to the
/// first that has a computed access or whose address escapes.
fn wanted_bytes(
    object: &RawObject,
    declaration: Option<&Declaration>,
    key: &ObjectKey,
    following: &[ObjectKey],
    objects: &BTreeMap<ObjectKey, RawObject>,
) -> Option<u64> {
    if !object.may_have_name() {
        return None;
    }
    let declared = declaration.and_then(|declaration| declaration.bytes);
    if let Some(bytes) = declared.filter(|bytes| *bytes > object.bytes) {
        return Some(bytes);
    }
    let widest =
        object.accesses.iter().filter(|access| access.is_computed()).map(|access| u64::from(access.width)).max()?;
    if object.bytes > widest {
        return None;
    }
    let is_plain = |key: &&ObjectKey| {
        objects.get(*key).is_some_and(|object| {
            object.escapes.is_empty() && object.accesses.iter().all(|access| !access.is_computed())
        })
    };
    let last =
        following.iter().take_while(|next| is_part(next, key, u64::MAX - key.offset)).take_while(is_plain).last()?;
    let bytes = objects.get(last).map_or(0, |object| object.bytes);
    Some(last.offset + bytes - key.offset)
}

/// Bytes from the object's start to the next object's start; padding counts as part of the object before it.
fn object_bytes(
    key: &ObjectKey,
    flows: &HashMap<&str, Flow<'_>>,
    layout: &HashMap<&str, BTreeSet<(usize, u64)>>,
) -> u64 {
    let function = flows.get(key.function.as_str()).map(|flow| flow.function);
    let Some(variable) = function.and_then(|function| function.local_variables.get(key.variable)) else { return 0 };
    let starts = layout.get(key.function.as_str());
    let next = starts.and_then(|starts| starts.range((key.variable, key.offset + 1)..).next().copied());
    let end = next.filter(|(variable, _)| *variable == key.variable).map_or(variable.bytes, |(_, offset)| offset);
    end.min(variable.bytes).saturating_sub(key.offset)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use lmem_base::diagnostic::Uniformity;
    use nv_code::AccessKind;

    use crate::access::{Escape, EscapeKind};

    /// An access without any known facts.
    pub fn access() -> Access {
        Access::new(AccessKind::Load, Address::Constant, Places::default())
    }

    /// An access at a computed address.
    fn computed<Divergent: Into<Option<bool>>>(divergent: Divergent) -> Access {
        Access { address: Address::Computed(Provenance::chosen(divergent.into())), ..access() }
    }

    #[test]
    fn nothing_is_said_where_the_remainder_of_an_unrolled_loop_may_be_a_case_of_its_own() {
        let copy = |ptx_loop: usize, divergent: bool| Access {
            ptx_loop: Some(ptx_loop),
            loop_depth: 1,
            divergent: Some(divergent),
            ..computed(divergent)
        };
        let merged = |copies: &[(usize, bool)]| {
            let copies = copies.iter().map(|(ptx_loop, divergent)| copy(*ptx_loop, *divergent)).collect();
            match &merge(copies)[..] {
                [Access { address: Address::Computed(sources), .. }] => sources.divergent,
                _ => panic!("not merged"),
            }
        };
        assert_eq!(merged(&[(0, false), (0, false), (1, true)]), None);
        assert_eq!(merged(&[(0, false), (0, false), (1, false)]), Some(false));
        // What the statement stores decides where it loads once in each.
        let store = |ptx_loop| Access { kind: AccessKind::Store, ..copy(ptx_loop, ptx_loop == 1) };
        let both = merge(vec![copy(0, false), copy(1, true), store(0), store(0), store(1)]);
        assert!(both.iter().all(|access| matches!(&access.address, Address::Computed(it) if it.divergent.is_none())));
        // In one loop, or in two alike, one copy that differs decides.
        assert_eq!(merged(&[(0, false), (0, false), (0, true)]), Some(true));
        assert_eq!(merged(&[(0, false), (1, true)]), Some(true));
    }

    #[test]
    fn merged_accesses_are_uniform_if_all_are() {
        let merged = |divergent: &[bool]| match &merge(divergent.iter().copied().map(computed::<bool>).collect())[..] {
            [Access { address: Address::Computed(sources), count, .. }] => (sources.uniformity(), *count),
            _ => panic!("not merged"),
        };
        assert_eq!(merged(&[false, false]), (Some(Uniformity::Uniform), 2));
        assert_eq!(merged(&[false, true]), (Some(Uniformity::PerThread), 2));
    }

    #[test]
    fn an_index_of_each_thread_is_guiltier_at_the_same_depth() {
        let uniform = Access { count: 9, ..computed(false) };
        assert!(computed(true).guilt() > computed(None).guilt());
        assert!(computed(None).guilt() > uniform.guilt());
        assert!(computed(true).guilt() < Access { loop_depth: 1, ..uniform }.guilt());
    }

    #[test]
    fn arguments_of_printf_have_no_name() {
        let escape = |function: &str| Escape {
            kind: EscapeKind::Call(function.to_string()),
            argument: Some((1, 2)),
            places: Places::default(),
            span: None,
            is_external: true,
            is_own: true,
        };
        let object = |functions: &[&str]| RawObject {
            escapes: functions.iter().map(|name| escape(name)).collect(),
            ..RawObject::default()
        };
        assert!(!object(&["vprintf", "vprintf"]).may_have_name());
        assert!(object(&["vprintf", "_Z4keepPf"]).may_have_name() && object(&[]).may_have_name());
    }
}
