//! Register spills: the register limit that causes them, and the origin of the spilled values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cuda_syntax::{SyntaxTrees, types};
use lmem_base::chain::Chain;
use lmem_base::gpu::{Gpu, MAX_REGISTERS};
use lmem_base::source::Span;
use nv_code::{AccessKind, KernelFacts, LocalAccess, PtxFunction, UnitFacts};

use super::holders::{Peak, peak};
use super::live_values::Values;
use super::objects::is_spill;
use crate::place::{Places, places_of_lines, ptx_instruction, ptx_places};
use crate::symbolize::blame::source_loop;
use crate::symbolize::resolve::front_end;

/// All spills of one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spills {
    /// Number of machine instructions.
    pub stores: u64,
    pub loads: u64,
    /// Distinct bytes in the frame.
    pub slot_bytes: u64,
    /// Bytes between the first and the last slot that no spill uses.
    pub gap_bytes: u64,
    /// Spilled values by origin, the largest group first.
    pub groups: Vec<SpillGroup>,
    /// Maximum loop depth of a spill store or reload.
    pub loop_depth: u32,
    /// The source of that loop, if known.
    pub loop_span: Option<Span>,
    /// The peak of register pressure.
    pub peak: Option<Peak>,
}

/// Spill instructions outside all loops that cost a thread no more than loading and storing its own data.
const MINOR_INSTRUCTIONS: u64 = 64;

impl Spills {
    /// Whether the spills are a matter of a few accesses per thread, in a kernel.
    pub fn are_minor(&self) -> bool {
        self.loop_depth == 0 && self.loads + self.stores <= MINOR_INSTRUCTIONS
    }
}

/// Spilled values of one variable, or of one statement if no variable is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpillGroup {
    pub variable: Option<HeldVariable>,
    /// The statement that computes most of the values.
    pub span: Option<Span>,
    /// Number of spill stores of these values.
    pub values: u64,
    /// Size of their slots in the frame.
    pub bytes: u64,
    /// Reloads from slots that no other group uses.
    pub refills: u64,
    /// Loop depth of the deepest reload.
    pub refill_depth: u32,
    /// The statement of that reload.
    pub refill_span: Option<Span>,
}

/// A variable that should be kept in registers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldVariable {
    /// The name in the declaration.
    pub span: Span,
    pub name: String,
    /// The type as written: `float[8]`.
    pub type_text: String,
}

/// Register limit per thread, and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    pub registers: u32,
    pub origin: LimitOrigin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitOrigin {
    LaunchBounds {
        threads: u32,
        min_blocks: u32,
    },
    /// `__maxnreg__`
    MaxRegisters,
    /// `-maxrregcount=64`
    Flag(String),
    Architecture,
}

/// The spills of a kernel; `None` if it has none.
pub fn spills(kernel: &KernelFacts, unit: &UnitFacts, trees: &SyntaxTrees<'_>) -> Option<Spills> {
    let spilled: Vec<&LocalAccess> = kernel.accesses.iter().filter(|access| is_spill(access, unit)).collect();
    if spilled.is_empty() && kernel.usage.spill_stores == 0 && kernel.usage.spill_loads == 0 {
        return None;
    }
    let count = |kind| spilled.iter().filter(|access| access.instruction.kind == kind).count() as u64;
    let deepest = spilled.iter().max_by_key(|access| access.loop_depth);
    let loop_span = deepest.filter(|access| access.loop_depth > 0).and_then(|access| {
        let (tree, found) =
            source_loop(&access_places(access, unit, trees), &access.loop_lines, Some(access.loop_depth), trees)?;
        tree.span(found.range)
    });
    Some(Spills {
        peak: kernel.pressure.as_ref().map(|pressure| peak(pressure, unit, trees)),
        stores: count(AccessKind::Store),
        loads: count(AccessKind::Load),
        gap_bytes: gap_bytes(&slots(&spilled)),
        slot_bytes: slots(&spilled).len() as u64,
        groups: groups(&spilled, unit, trees),
        loop_depth: deepest.map_or(0, |access| access.loop_depth),
        loop_span,
    })
}

/// Frame bytes used by spills, as offsets from the stack pointer.
fn slots(spilled: &[&LocalAccess]) -> BTreeSet<i64> {
    spilled.iter().flat_map(|access| slot(access)).collect()
}

fn gap_bytes(slots: &BTreeSet<i64>) -> u64 {
    let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return 0 };
    (last - first + 1).unsigned_abs() - slots.len() as u64
}

fn slot(access: &LocalAccess) -> std::ops::Range<i64> {
    let start = i64::from(access.instruction.immediate);
    start..start + i64::from(access.instruction.bytes)
}

/// Identity of a group: the variable, by its declaration, else the statement.
type GroupKey = (Option<(Span, String)>, Option<Span>);

/// A spill store with the origin of its value.
struct Parked<'a> {
    store: &'a LocalAccess,
    variable: Option<HeldVariable>,
    span: Option<Span>,
}

impl Parked<'_> {
    fn key(&self) -> GroupKey {
        match &self.variable {
            Some(variable) => (Some((variable.span.clone(), variable.name.clone())), None),
            None => (None, self.span.clone()),
        }
    }

    /// Zero is not computed by an instruction, so the store does not tell the variable.
    fn is_zero(&self) -> bool {
        self.store.definition.is_none()
    }
}

fn groups(spilled: &[&LocalAccess], unit: &UnitFacts, trees: &SyntaxTrees<'_>) -> Vec<SpillGroup> {
    let mut values: HashMap<&str, Values<'_>> = HashMap::new();
    let stores = spilled.iter().filter(|access| access.instruction.kind == AccessKind::Store);
    let parked = stores.map(|store| {
        let (variable, span) = value(store, unit, trees, &mut values);
        Parked { store, variable, span }
    });
    let (zeros, computed): (Vec<_>, Vec<_>) = parked.partition(Parked::is_zero);
    let mut sorted = Sorting { free: slots(spilled), ..Sorting::default() };
    for parked in &computed {
        sorted.add(parked, parked.key(), parked.span.clone());
    }
    let keys: Vec<Option<GroupKey>> = zeros.iter().map(|zero| sorted.owner(zero.store)).collect();
    for (zero, key) in zeros.iter().zip(keys) {
        match key {
            Some(key) => sorted.add(zero, key, None),
            None => sorted.add(zero, zero.key(), zero.span.clone()),
        }
    }
    sorted.place();
    for load in spilled.iter().filter(|access| access.instruction.kind == AccessKind::Load) {
        if let Some(group) = sorted.owner(load).and_then(|key| sorted.groups.get_mut(&key)) {
            refill(group, load, unit, trees);
        }
    }
    let mut groups: Vec<SpillGroup> = sorted.groups.into_values().collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.bytes), std::cmp::Reverse(group.values), group.span.clone()));
    groups
}

/// State of the grouping of spill stores.
#[derive(Default)]
struct Sorting {
    groups: BTreeMap<GroupKey, SpillGroup>,
    /// Slot bytes that no group has claimed yet.
    free: BTreeSet<i64>,
    /// Number of values that each statement computes, per group.
    statements: BTreeMap<GroupKey, BTreeMap<Option<Span>, u64>>,
    /// Groups that store values to each byte.
    owners: BTreeMap<i64, BTreeSet<GroupKey>>,
}

impl Sorting {
    fn add(&mut self, parked: &Parked<'_>, key: GroupKey, span: Option<Span>) {
        *self.statements.entry(key.clone()).or_default().entry(span.clone()).or_default() += u64::from(span.is_some());
        let group = self.groups.entry(key.clone()).or_default();
        // An extent that is a template parameter at one place may be a number at another.
        let is_better = |known: &HeldVariable, other: &HeldVariable| {
            types::extent(&other.type_text).is_some() && types::extent(&known.type_text).is_none()
        };
        match (&mut group.variable, &parked.variable) {
            (Some(known), Some(other)) if is_better(known, other) => *known = other.clone(),
            (known @ None, Some(other)) => *known = Some(other.clone()),
            _ => {}
        }
        group.values += 1;
        // A slot that several values share counts for the first group.
        group.bytes += slot(parked.store).filter(|byte| self.free.remove(byte)).count() as u64;
        slot(parked.store).for_each(|byte| _ = self.owners.entry(byte).or_default().insert(key.clone()));
    }

    /// The only group with values in a slot.
    fn owner(&self, access: &LocalAccess) -> Option<GroupKey> {
        let owners = self.owners.get(&slot(access).start).filter(|owners| owners.len() == 1)?;
        owners.first().cloned()
    }

    /// Sets each group's span to the statement that computes most of its values.
    fn place(&mut self) {
        for (key, group) in &mut self.groups {
            let statements = self.statements.get(key).into_iter().flatten();
            group.span = statements.max_by_key(|(_, count)| **count).and_then(|(span, _)| span.clone());
        }
    }
}

/// Counts a reload of a value of a group.
fn refill(group: &mut SpillGroup, load: &LocalAccess, unit: &UnitFacts, trees: &SyntaxTrees<'_>) {
    group.refills += 1;
    if group.refill_span.is_none() || load.loop_depth > group.refill_depth {
        group.refill_depth = load.loop_depth;
        group.refill_span = access_places(load, unit, trees).first().and_then(|place| place.span(trees));
    }
}

/// The variable and the statement of a spilled value. If the definition is unknown, the statement of the store.
fn value<'u>(
    store: &LocalAccess,
    unit: &'u UnitFacts,
    trees: &SyntaxTrees<'_>,
    values: &mut HashMap<&'u str, Values<'u>>,
) -> (Option<HeldVariable>, Option<Span>) {
    let Some(definition) = &store.definition else {
        return (None, access_places(store, unit, trees).first().and_then(|place| place.span(trees)));
    };
    let held = ptx_instruction(definition.ptx_line, unit).and_then(|(function, index)| {
        let values = values.entry(&*function.name).or_insert_with(|| Values::new(function));
        let (place, declaration) = values.variable(index, &unit.ptx, trees)?;
        let span = place.tree(trees).span(declaration.range.0..declaration.range.1)?;
        let known = front_end(&place, trees, &declaration).map(|variable| variable.type_text.clone());
        let type_text = known.filter(|text| !text.contains("_Z")).unwrap_or(declaration.type_text);
        Some(HeldVariable { span, name: declaration.name, type_text })
    });
    let place = ptx_places(definition.ptx_line, unit, trees);
    let place = place.or_else(|| places_of_lines(trees, &definition.source).first().cloned());
    (held, place.and_then(|place| place.span(trees)))
}

fn access_places(access: &LocalAccess, unit: &UnitFacts, trees: &SyntaxTrees<'_>) -> Places {
    let innermost = ptx_places(access.ptx_line, unit, trees);
    innermost.map_or_else(|| places_of_lines(trees, &access.source), |place| Chain::new(place, Places::default()))
}

/// The register limit of a kernel. `flag` is a `-maxrregcount` of the compilation.
pub fn limit(function: &PtxFunction, flag: Option<(u32, String)>, gpu: &Gpu) -> Limit {
    let bounds = function.required_thread_count().or(function.max_thread_count()).map(|threads| {
        let min_blocks = function.min_blocks.filter(|blocks| gpu.holds(threads, *blocks)).unwrap_or(1);
        let registers = gpu.registers_for(threads, min_blocks);
        Limit { registers, origin: LimitOrigin::LaunchBounds { threads, min_blocks } }
    });
    let own = function.max_registers.map(|registers| Limit { registers, origin: LimitOrigin::MaxRegisters });
    // The compiler ignores the flag for a kernel with its own bounds.
    let flag = flag.filter(|_| bounds.is_none() && own.is_none());
    let flag = flag.map(|(registers, flag)| Limit { registers, origin: LimitOrigin::Flag(flag) });
    let all = [bounds, own, flag].into_iter().flatten().filter(|limit| limit.registers < MAX_REGISTERS);
    all.min_by_key(|limit| limit.registers)
        .unwrap_or(Limit { registers: MAX_REGISTERS, origin: LimitOrigin::Architecture })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::gpu::arch::Arch;
    use lmem_base::source::SourceFile;
    use nv_code::{AddressBase, LocalInstruction};
    use ptx_syntax::Function;

    fn function(threads: Option<u32>, blocks: Option<u32>, registers: Option<u32>) -> PtxFunction {
        let max_threads = threads.map(|threads| [threads, 1, 1]);
        PtxFunction::from(Function { max_threads, min_blocks: blocks, max_registers: registers, ..Default::default() })
    }

    fn gpu() -> &'static Gpu {
        Arch::new(90).gpu()
    }

    /// Adds a spilled value of a variable, or of the statement at an offset, in the slot at `slot`.
    fn park(sorted: &mut Sorting, slot: i32, variable: Option<(&str, &str)>, statement: usize) {
        let file = SourceFile::from_text("k.cu", "float sum[4]; sum[0] = 1; sum[1] = 2;");
        let held = |(name, type_text): (&str, &str)| HeldVariable {
            span: Span::new(&file, 6..9),
            name: name.to_string(),
            type_text: type_text.to_string(),
        };
        let store = store(slot);
        let span = Some(Span::new(&file, statement..statement + 11));
        let parked = Parked { store: &store, variable: variable.map(held), span: span.clone() };
        sorted.add(&parked, parked.key(), span);
    }

    fn store(slot: i32) -> LocalAccess {
        let base = AddressBase::Stack;
        let instruction =
            LocalInstruction { offset: 0, kind: AccessKind::Store, bytes: 4, base, immediate: slot, data: 0 };
        LocalAccess {
            instruction,
            is_spill: true,
            ptx_line: None,
            source: nv_code::SourceLines::default(),
            loop_depth: 0,
            loop_lines: nv_code::SourceLines::default(),
            definition: None,
            callee: None,
            is_in_routine: false,
            stores_incoming: false,
        }
    }

    #[test]
    fn a_zero_belongs_to_what_else_is_in_its_slot() {
        let mut sorted = Sorting { free: (0..12).collect(), ..Sorting::default() };
        park(&mut sorted, 0, Some(("sum", "float[N]")), 14);
        park(&mut sorted, 4, Some(("sum", "float[4]")), 14);
        park(&mut sorted, 4, None, 26);
        let sum = sorted.owner(&store(0)).unwrap();
        assert_eq!((sorted.owner(&store(4)), sorted.owner(&store(8))), (None, None));
        let zero = store(0);
        sorted.add(&Parked { store: &zero, variable: None, span: None }, sum.clone(), None);
        sorted.place();
        let group = &sorted.groups[&sum];
        assert_eq!(
            (group.values, group.bytes, group.variable.as_ref().unwrap().type_text.as_str()),
            (3, 8, "float[4]")
        );
        assert_eq!(group.span.as_ref().unwrap().start, 14);
    }

    #[test]
    fn bounds_that_cannot_hold_are_ignored() {
        let registers =
            |architecture| limit(&function(Some(1024), Some(2), None), None, Arch::new(architecture).gpu()).registers;
        assert_eq!((registers(90), registers(110), registers(120)), (32, 64, 64));
    }

    #[test]
    fn the_tightest_limit_is_named() {
        let flag = || Some((64, "-maxrregcount=64".to_string()));
        assert_eq!(
            limit(&function(None, None, None), flag(), gpu()).origin,
            LimitOrigin::Flag("-maxrregcount=64".into())
        );
        assert_eq!(limit(&function(None, None, Some(40)), flag(), gpu()).origin, LimitOrigin::MaxRegisters);
        assert_eq!(
            limit(&function(None, None, None), None, gpu()),
            Limit { registers: 255, origin: LimitOrigin::Architecture }
        );
    }
}
