//! Searches for launches that prove something, and compares both versions on them.
//!
//! 1. *Narrow*: lower the integers until the original accepts a launch. This finds the size of the arrays that they
//!    index.
//! 2. *Widen*: for each source of integers (a parameter or a region), raise the bound alone as far as the original
//!    accepts.
//! 3. *Launch*: vary integers and distributions within these bounds, and run both versions on each launch.

mod aliased;
mod around;
mod large;

use std::collections::HashMap;
use std::rc::Rc;

use lmem_base::diagnostic::Comparison;
use ptx_machine::{Class, End, Events, Fault, Launch, Memory, Origin, Outcome, Program};
use ptx_syntax::{Linkage, Module, Operand, Space, SpecialRegister};

use crate::Compared;
use crate::constants::Constants;
use crate::difference::{Difference, between};
use crate::draw::{Drawn, Elements, mix};
use crate::estimate::{Counts, Executed};
use crate::parameters::Parameters;
use crate::reach::Reach;
use crate::recipe::{RESTS, Recipe, Rest, SPREADS, Spread};

pub(crate) use large::large_launch;
pub use large::{Buffer, LargeLaunch, Pointer};

/// Number of launches to compare.
const LAUNCHES: u32 = 24;
/// Number of launches of a kernel without another version.
const ALONE: u32 = 8;
/// Limit on drawn launches.
const DRAWS: u64 = 72;
/// More launches, if part of what the edit changes was executed in none.
const MORE: u64 = 12;
/// So many launches more that do not execute what the edit changes than that do: values are then chosen for conditions.
const UNREACHED: u32 = 4;
/// Of the compared launches, those that are tried again with overlapping parameters, besides the longest.
const ALIASED: usize = 2;
/// Fewer launches prove little.
const FEWEST: u32 = 4;
/// Limit on warp instructions of the original in one launch.
const LAUNCH_LIMIT: u64 = 60_000;
/// Limit on warp instructions of both versions in all launches.
const WORK: u64 = 1_500_000;
/// Limits on the edited version, as multiples of the original's instructions: abandon the launch; assume an endless
/// loop.
const PATIENCE: u64 = 16;
const HOPELESS: u64 = 100;

/// Time slices in warp instructions: one so long that a warp runs until it waits, and one so short that all warps
/// interleave.
const LONG_TURN: u64 = 400_000;
const SHORT_TURN: u64 = 40;

/// How many times the original's instructions a larger integer may cost.
const LONGER: u64 = 6;

/// Upper bounds of integers, tried until the original stays within its arrays.
const RUNGS: [i64; 11] = [1 << 16, 1 << 10, 256, 64, 32, 16, 8, 4, 3, 2, 1];
/// Number of ways to choose the integers.
const ASSIGNMENTS: u64 = 8;
/// Upper bounds for one source alone, while the others keep their narrow bounds.
const WIDER: [i64; 3] = [1 << 16, 1_000, 100];

/// Upper bounds of the other integers meanwhile.
const ROOMS: [i64; 4] = [i64::MAX, 7, 3, 1];

/// The longest array whose length is looked for exactly.
const LONGEST: i64 = 80;

/// Exclusive bounds of integers in memory, in turn: equal values only occur if the range is small.
const RANGES: [Option<i64>; 7] = [None, Some(8), None, Some(3), Some(100), Some(2), Some(32)];

/// If fewer than one in so many launches prove something, launches like those that do are drawn as well.
const RARE: u64 = 3;
const MOST_REACHING: usize = 8;

/// Bounds of integers that stay within an array of a few elements.
const NARROW: [i64; 3] = [4, 2, 1];

/// Threads per block, in turn.
const BLOCKS: [u32; 6] = [64, 32, 33, 128, 1, 96];
const LARGER_BLOCKS: [u32; 4] = [256, 512, 128, 1024];
const PLANES: [[u32; 2]; 5] = [[8, 8], [32, 2], [16, 4], [4, 8], [5, 7]];
const SHARED: u32 = 32 << 10;

/// Facts from outside the PTX.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// The block size that the edit relies on.
    pub threads: Option<u32>,
    /// Length of the shortest array within another array or a structure. The machine knows where a variable ends, and
    /// not where an array within it does.
    pub inner_length: Option<u32>,
    /// Parameters may lead to overlapping memory: none of the kernel is known to be `__restrict__`.
    pub may_alias: bool,
}

/// Why the original rejects a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    /// An index is too large, or there is too much work.
    TooLarge,
    /// A division by zero.
    Zero,
    /// An integer is used as an address.
    Wild,
    /// An unsupported instruction.
    NotSupported(String),
    /// Local or shared memory that nothing wrote is read, and nothing else is wrong.
    Unwritten(&'static str),
    Other(&'static str),
}

pub(crate) struct Search<'a> {
    modules: [&'a Module; 2],
    before: &'a Program,
    after: &'a Program,
    parameters: Parameters,
    constants: Rc<Constants>,
    reach: Reach,
    terms: Terms,
    shape: Shape,
    /// Warp instructions executed so far.
    work: u64,
    /// Launches that write something and do not execute what the edit changes.
    unreached: u32,
    /// Bounds learned so far.
    below: i64,
    below_in: HashMap<Origin, i64>,
    most: Vec<i64>,
    /// Integers with which the kernel writes something.
    base: Vec<i64>,
    least: i64,
    words_are_integers: bool,
    /// Whether 64-bit integers are addresses. If they are passed to functions, their use does not show it.
    wide_are_pointers: bool,
    rest: Rest,
    /// Launches that execute what the edit changes, for others that are like them.
    reaching: Vec<Recipe>,
    /// Whether the original read memory that nothing wrote, in a launch that has no other fault.
    reads_unwritten: bool,
    /// Whether such a launch is valid if the results do not depend on the values read. An index beyond an array may
    /// read such memory, too, so that a difference in such a launch proves as little as the launch itself.
    is_lenient: bool,
}

/// Runs both versions until the result is certain enough.
pub(crate) fn run(mut search: Search<'_>) -> Compared {
    if let Err(why) = search.settle() {
        return Compared::without_counts(Comparison::NotCompared { why });
    }
    search.widen();
    search.launch()
}

/// What the original executes in the longest of a few launches; `None` if none is valid.
pub(crate) fn alone(mut search: Search<'_>) -> Option<Counts> {
    search.settle().ok()?;
    search.widen();
    let recipe = search.longest()?;
    search.counted_in(0, &recipe, &Elements::default())
}

/// The dimensions of blocks and grid that a kernel reads, and whether a launch gives it shared memory.
#[derive(Debug, Clone, Copy)]
struct Shape {
    rows: bool,
    layers: bool,
    grid_rows: bool,
    grid_layers: bool,
    /// Without a dynamic part, an access beyond the shared variables is an error.
    has_dynamic_shared: bool,
}

impl Shape {
    fn of(module: &Module, program: &Program) -> Self {
        use SpecialRegister::{CtaidY, CtaidZ, NtidY, NtidZ, TidY, TidZ};
        let names: Vec<&str> = program.functions().collect();
        let functions = || module.functions.iter().filter(|function| names.contains(&&*function.name));
        let operands =
            || functions().flat_map(|function| &function.instructions).flat_map(|instruction| &instruction.operands);
        let asks = |wanted: &[SpecialRegister]| {
            operands().any(|operand| matches!(operand, Operand::Special(register) if wanted.contains(register)))
        };
        Self {
            rows: asks(&[TidY, NtidY]),
            layers: asks(&[TidZ, NtidZ]),
            grid_rows: asks(&[CtaidY]),
            grid_layers: asks(&[CtaidZ]),
            has_dynamic_shared: module.variables.iter().any(|variable| {
                let is_dynamic = variable.linkage == Linkage::Extern || variable.bytes == 0;
                variable.space == Space::Shared && is_dynamic
            }),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            rows: self.rows || other.rows,
            layers: self.layers || other.layers,
            grid_rows: self.grid_rows || other.grid_rows,
            grid_layers: self.grid_layers || other.grid_layers,
            has_dynamic_shared: self.has_dynamic_shared || other.has_dynamic_shared,
        }
    }
}

impl<'a> Search<'a> {
    /// A search that knows nothing yet.
    pub fn new(modules: [&'a Module; 2], before: &'a Program, after: &'a Program, terms: Terms) -> Self {
        let parameters = Parameters::new(before, after);
        let shape = Shape::of(modules[0], before).and(Shape::of(modules[1], after));
        let most = vec![0; parameters.integers.len()];
        Self {
            modules,
            before,
            after,
            parameters,
            constants: Rc::new(Constants::of(modules[0], before)),
            reach: Reach::new(modules, before, after),
            terms,
            shape,
            work: 0,
            unreached: 0,
            below: 1,
            below_in: HashMap::new(),
            base: most.clone(),
            most,
            least: 0,
            words_are_integers: false,
            wide_are_pointers: false,
            rest: Rest::Integers,
            reaching: Vec::new(),
            reads_unwritten: false,
            is_lenient: false,
        }
    }
}

impl Search<'_> {
    /// Looks for launches that execute what has changed, instead of those of [`Search::new`].
    pub fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Finds bounds of the integers, if need be with launches that read memory which nothing wrote.
    fn settle(&mut self) -> Result<(), String> {
        let mut narrowed = self.narrow();
        if self.reaching.is_empty() && self.reads_unwritten && self.before.static_shared() > 0 {
            narrowed = self.fill_shared().unwrap_or(narrowed);
        }
        if self.reaching.is_empty() && self.reads_unwritten {
            self.is_lenient = true;
            self.work = 0;
            return self.narrow();
        }
        narrowed
    }

    /// Tries larger blocks: where shared arrays are of a block's size, smaller ones leave elements unwritten. `None` if
    /// the block size is given, or no size will do.
    fn fill_shared(&mut self) -> Option<Result<(), String>> {
        if self.terms.threads.is_some() {
            return None;
        }
        for threads in LARGER_BLOCKS {
            self.terms.threads = Some(threads);
            self.work = 0;
            let narrowed = self.narrow();
            if narrowed.is_ok() && !self.reaching.is_empty() {
                return Some(narrowed);
            }
        }
        self.terms.threads = None;
        None
    }

    /// The launch with the most work among a few that have random values, as the one that an edit is judged by. Launches
    /// like those that are known to be valid count only if no other is: their values are of few kinds.
    fn longest(&mut self) -> Option<Recipe> {
        self.longest_of(|search, number| Some(search.drawn(number, false)))
            .or_else(|| self.longest_of(|search, number| search.similar(number)))
    }

    fn longest_of(&mut self, recipe: impl Fn(&Self, u64) -> Option<Recipe>) -> Option<Recipe> {
        let mut longest: Option<(u64, Recipe)> = None;
        let mut left = ALONE;
        for number in 0..DRAWS {
            if left == 0 || self.work > WORK {
                break;
            }
            let Some(recipe) = recipe(self, number).filter(|recipe| recipe.spread == Spread::Random) else { continue };
            let Ok((ran, _)) = self.original(&recipe) else { continue };
            if !ran.has_effect() || !self.reach.in_original(&ran.outcome) {
                continue;
            }
            left -= 1;
            let work = ran.outcome.warp_instructions;
            if longest.as_ref().is_none_or(|(most, _)| work > *most) {
                longest = Some((work, recipe));
            }
        }
        longest.map(|(_, recipe)| recipe)
    }

    /// Finds the largest bound on all integers that the original accepts.
    fn narrow(&mut self) -> Result<(), String> {
        let mut last = Reason::Other("no launch is free of undefined behavior");
        let rests = if self.parameters.has_rest() { &RESTS[..] } else { &RESTS[..1] };
        let kinds = rests
            .iter()
            .flat_map(|rest| [(false, false), (true, false), (false, true), (true, true)].map(|kind| (*rest, kind)));
        for (rest, (wide_are_pointers, words_are_integers)) in kinds {
            (self.rest, self.words_are_integers, self.wide_are_pointers) =
                (rest, words_are_integers, wide_are_pointers);
            for least in [0, 1] {
                last = match self.descend(least) {
                    Ok(below) => {
                        (self.below, self.least) = (below, least);
                        return Ok(());
                    }
                    Err(reason) => reason,
                };
                if last != Reason::Zero {
                    break;
                }
            }
            match &last {
                Reason::NotSupported(_) => break,
                _ if self.work > WORK / 2 => return Err("too many instructions".to_string()),
                _ => {}
            }
        }
        Err(match last {
            Reason::TooLarge => "no launch keeps within its arrays".to_string(),
            Reason::Wild => "no launch has all memory that is read".to_string(),
            Reason::Zero => "every launch divides by zero".to_string(),
            Reason::Other(why) | Reason::Unwritten(why) => why.to_string(),
            Reason::NotSupported(what) => quoted(&what),
        })
    }

    /// Lowers all integers until the original accepts the launch. A launch that executes what the edit changes is
    /// preferred.
    fn descend(&mut self, least: i64) -> Result<i64, Reason> {
        let mut last = Reason::TooLarge;
        let mut silent: Option<(bool, i64, Vec<i64>)> = None;
        for rung in RUNGS {
            let below = rung.max(least + 1);
            for attempt in 0..ASSIGNMENTS {
                self.base = self.assignment(attempt, (rung - 1).max(least), least);
                self.most.clone_from(&self.base);
                let recipe = Recipe { below, least, ..self.recipe(below.cast_unsigned() + 11 * attempt) };
                last = match self.original(&recipe) {
                    Ok((ran, _)) if ran.has_effect() && self.reach.in_original(&ran.outcome) => {
                        self.reaching = vec![recipe];
                        return Ok(below);
                    }
                    Ok((ran, _)) => {
                        let writes = ran.has_effect();
                        if silent.as_ref().is_none_or(|(known, ..)| writes && !known) {
                            silent = Some((writes, below, self.base.clone()));
                        }
                        continue;
                    }
                    Err(reason) => reason,
                };
                break;
            }
            // An integer used as an address may also be an index that is too large for any memory.
            let is_hopeless = matches!(last, Reason::NotSupported(_)) || (last == Reason::Zero && least == 0);
            if is_hopeless || self.work > WORK / 2 {
                break;
            }
        }
        match silent {
            Some((_, below, base)) => {
                self.base = base;
                if !self.wake(below, least) {
                    self.look_around(least);
                }
                self.most.clone_from(&self.base);
                Ok(below)
            }
            None => Err(last),
        }
    }

    /// Raises one integer, or all but one, until the original executes what the edit changes: a guard may need a large
    /// number where an index needs a small one.
    fn wake(&mut self, below: i64, least: i64) -> bool {
        let low = self.base.clone();
        for (high, room) in WIDER.into_iter().flat_map(|high| ROOMS.map(|room| (high, room))) {
            for (index, is_alone) in (0..low.len()).flat_map(|index| [(index, true), (index, false)]) {
                if self.work > WORK / 2 {
                    break;
                }
                let number =
                    |(at, low): (usize, &i64)| if (at == index) == is_alone { high } else { room.min(*low).max(least) };
                self.base = low.iter().enumerate().map(number).collect();
                let recipe = Recipe { below, least, ..self.recipe(high.cast_unsigned()) };
                if let Ok((ran, _)) = self.original(&recipe)
                    && ran.has_effect()
                    && self.reach.in_original(&ran.outcome)
                {
                    self.reaching = vec![recipe];
                    return true;
                }
            }
        }
        self.base = low;
        false
    }

    /// A value for each integer: at first the same for all, then values typical of guards and extents.
    fn assignment(&self, attempt: u64, most: i64, least: i64) -> Vec<i64> {
        const NUMBERS: [i64; 8] = [100, 2, 20, 40, 1, 5, 300, 3];
        let number = |index: usize| match attempt {
            0 => 20,
            _ => NUMBERS[(mix(attempt, index as u64 + 5) % 8) as usize],
        };
        (0..self.most.len()).map(|index| number(index).min(most).max(least)).collect()
    }

    /// Finds how far each source of integers can be raised alone.
    fn widen(&mut self) {
        let base = self.below;
        let usual = self.original(&self.recipe(3)).map_or(0, |(ran, _)| ran.outcome.warp_instructions);
        let limits = |limit: i64| {
            WIDER.into_iter().chain([2 * base, base + base / 2, base + base / 4]).filter(move |it| *it > limit)
        };
        for index in 0..self.most.len() {
            for most in limits(self.most[index]) {
                if self.accepts(index, most, usual) {
                    self.most[index] = most;
                    break;
                }
            }
            self.approach(index, usual);
        }
        let recipe = self.recipe(7);
        let Ok((_, elements)) = self.original(&recipe) else { return };
        let mut origins: Vec<Origin> = elements
            .regions
            .borrow()
            .iter()
            .filter(|(_, element)| matches!(element.class, Class::Integer | Class::Unknown))
            .map(|(origin, _)| origin.clone())
            .filter(|origin| !matches!(origin, Origin::Loaded { .. }))
            .collect();
        origins.sort();
        for origin in origins {
            for below in limits(base) {
                let mut recipe = self.recipe(below.cast_unsigned());
                recipe.below_in.insert(origin.clone(), below);
                if self.original(&recipe).is_ok() {
                    self.below_in.insert(origin, below);
                    break;
                }
            }
        }
    }

    /// Whether the original accepts a larger value of one integer.
    fn accepts(&mut self, index: usize, most: i64, usual: u64) -> bool {
        let mut integers = self.base.clone();
        integers[index] = most;
        let recipe = Recipe { integers, ..self.recipe(most.cast_unsigned()) };
        // Trip counts must stay small; bounds that guard threads may be large.
        let is_cheap = |ran: &Ran| ran.outcome.warp_instructions <= usual * LONGER + LAUNCH_LIMIT / 16;
        self.original(&recipe).is_ok_and(|(ran, _)| is_cheap(&ran))
    }

    /// Raises a small integer to the largest value that the original accepts: the length of an array, at which mistakes
    /// show.
    fn approach(&mut self, index: usize, usual: u64) {
        let (mut most, mut above) = (self.most[index], LONGEST);
        while above - most > 1 && most < LONGEST {
            let middle = most + (above - most) / if most < above / 4 { 4 } else { 2 };
            match self.accepts(index, middle, usual) {
                true => most = middle,
                false => above = middle,
            }
        }
        self.most[index] = most;
    }

    /// Runs both versions on launches that the original accepts.
    fn launch(&mut self) -> Compared {
        let mut longest: Option<((bool, u64), Recipe)> = None;
        let (mut launches, mut digits, mut unknown) = (0, None, None);
        let mut draws = DRAWS;
        for number in 0..DRAWS {
            if launches >= LAUNCHES && self.reach.is_incomplete() {
                draws = draws.min(number + MORE);
            }
            let is_enough = number >= draws || (launches >= LAUNCHES && !self.reach.is_incomplete());
            if is_enough || (self.work > WORK && launches >= FEWEST) || self.work > 2 * WORK {
                break;
            }
            let is_missed = self.unreached > launches + UNREACHED && number % 4 != 0;
            let is_rare = number % 4 == 1 && u64::from(launches + 2) * RARE < number;
            let recipe = match self.similar(number) {
                Some(recipe) if is_rare => recipe,
                _ => self.drawn(number, is_missed || launches >= LAUNCHES),
            };
            let outcome = match self.original(&recipe) {
                Ok((outcome, elements)) => (outcome, elements),
                Err(Reason::NotSupported(what)) => {
                    unknown = Some(what);
                    continue;
                }
                Err(_) => continue,
            };
            let work = outcome.0.outcome.warp_instructions;
            match self.both(&recipe, outcome) {
                Ok(None) => {}
                Ok(Some(Difference::Bytes(..))) if self.is_lenient => {
                    let why = "results depend on local memory that nothing wrote".to_string();
                    return Compared::without_counts(Comparison::NotCompared { why });
                }
                Ok(Some(Difference::Bytes(what, _))) => {
                    return Compared::without_counts(Comparison::Different { what: self.told(&recipe, &what) });
                }
                Ok(Some(found)) => {
                    launches += 1;
                    if self.reaching.len() < MOST_REACHING {
                        self.reaching.push(recipe.clone());
                    }
                    if let Difference::Digits(apart) = found {
                        digits = digits.max(Some(apart));
                    }
                    // Equal and sorted values hide that indexes differ from thread to thread.
                    let rank = (recipe.spread == Spread::Random, work);
                    if longest.as_ref().is_none_or(|(other, _)| rank > *other) {
                        longest = Some((rank, recipe));
                    }
                }
                Err(what) => unknown = Some(what),
            }
        }
        let results = match (unknown, digits) {
            (Some(what), _) => Comparison::NotCompared { why: quoted(&what) },
            _ if launches < FEWEST && self.unreached > launches => {
                Comparison::NotCompared { why: "too few launches execute what the edit changes".to_string() }
            }
            _ if launches < FEWEST => Comparison::NotCompared { why: "too few launches write anything".to_string() },
            (None, Some(relative_e15)) => Comparison::LastDigits { launches, relative_e15 },
            (None, None) => Comparison::Same { launches },
        };
        if matches!(results, Comparison::Same { .. }) {
            let recipes: Vec<Recipe> =
                self.reaching.iter().take(ALIASED).chain(longest.as_ref().map(|(_, it)| it)).cloned().collect();
            if let Some(compared) = self.aliased(&recipes) {
                return compared;
            }
        }
        match (&results, longest) {
            (Comparison::NotCompared { .. }, _) | (_, None) => Compared::without_counts(results),
            (_, Some((_, recipe))) => Compared { results, executed: self.counted(&recipe) },
        }
    }

    /// What both versions execute in one of the launches that were compared. The one with the most work is run again
    /// for this, as counting accesses takes time.
    fn counted(&self, recipe: &Recipe) -> Option<Executed> {
        let elements = Elements::default();
        let [before, after] = [0, 1].map(|version| self.counted_in(version, recipe, &elements));
        Some(Executed { before: before?, after: after? })
    }

    /// What the original (0) or the edited version (1) executes in a launch.
    fn counted_in(&self, version: usize, recipe: &Recipe, elements: &Elements) -> Option<Counts> {
        let (module, program) = (self.modules[version], [self.before, self.after][version]);
        let (mut launch, mut memory) = self.prepared(recipe, elements);
        launch.limits.count_accesses = true;
        launch.limits.warp_instructions = LAUNCH_LIMIT * HOPELESS;
        let outcome = program.run(&launch, &mut memory);
        (outcome.end == End::Completed).then(|| Counts::of(module, program, &launch, &outcome))
    }

    /// A description of a launch and its result.
    fn told(&self, recipe: &Recipe, what: &str) -> String {
        let [x, y, _] = recipe.block;
        let block = if y > 1 { format!("{x} × {y} threads") } else { format!("{x} threads") };
        let numbers: Vec<String> = recipe.integers.iter().map(i64::to_string).collect();
        match numbers.is_empty() {
            true => format!("{what} ({block})"),
            false => format!("{what} ({block}, numbers {})", numbers.join(", ")),
        }
    }

    /// The difference between both versions; `None` for a launch that proves nothing.
    fn both(&mut self, recipe: &Recipe, (old, elements): (Ran, Elements)) -> Result<Option<Difference>, String> {
        let limit = old.outcome.warp_instructions * PATIENCE + LAUNCH_LIMIT;
        let new = self.execute(self.after, recipe, &elements, (limit, LONG_TURN), false);
        let bytes = |what: String| Difference::Bytes(what, None);
        let found = match &new.outcome.end {
            End::NotSupported(what) => return Err(what.clone()),
            End::Completed => between(&old.memory, &new.memory),
            // A select chain takes many times as long, but not a hundred times.
            End::Limit if limit < old.outcome.warp_instructions.saturating_mul(HOPELESS) => return Ok(None),
            End::Limit => bytes("the edited version does not end".to_string()),
            End::Deadlock(_) => bytes("the edited version waits for ever".to_string()),
            End::Fault(fault, _) => bytes(format!("the edited version fails: {fault}")),
        };
        let found = match found {
            Difference::Bytes(..) => found,
            _ if self.interferes(recipe, &old, &elements, limit) => {
                bytes("threads of the edited version share what each needs for itself".to_string())
            }
            _ if new.outcome.events.local_out_of_bounds.count > 0 => {
                bytes("the edited version leaves a local array".to_string())
            }
            _ if new.outcome.printed != old.outcome.printed => bytes("it prints other text".to_string()),
            found => found,
        };
        if let Difference::Bytes(_, place) = &found {
            // Output that depends on the order of threads may differ for reasons other than the edit.
            let reversed = self.execute(self.before, recipe, &elements, (limit, LONG_TURN), true);
            let is_contested = place.as_ref().is_some_and(|(origin, offset)| {
                let memory = &reversed.memory;
                memory.region_of(origin).is_some_and(|region| memory.is_contested(region, *offset))
            });
            let is_ordered = !is_contested
                && reversed.outcome.end == End::Completed
                && between(&old.memory, &reversed.memory) == Difference::None
                && old.outcome.printed.len() == reversed.outcome.printed.len();
            let events = &new.outcome.events;
            let reads_nothing = events.uninitialized_shared.count
                + events.uninitialized_local.count
                + events.local_out_of_bounds.count
                + events.variable_out_of_bounds.count;
            // An index past the end of an inner array reaches the next member, and only the edit exposes it.
            let is_doubtful = self.terms.inner_length.is_some() || reads_nothing > 0;
            let is_proven = is_ordered && (!is_doubtful || self.differs_when_narrow(recipe));
            return Ok(is_proven.then_some(found));
        }
        let is_reached = self.reach.note(&old.outcome, &new.outcome);
        self.unreached += u32::from(old.has_effect() && !is_reached);
        Ok((old.has_effect() && is_reached).then_some(found))
    }

    /// Whether results still differ when all integers in memory are small enough for any array.
    fn differs_when_narrow(&mut self, recipe: &Recipe) -> bool {
        NARROW.iter().any(|narrow| {
            let narrow = (*narrow).max(self.least + 1);
            // Negative integers leave arrays, too.
            let spread = if recipe.spread == Spread::Signed { Spread::Random } else { recipe.spread };
            let mut recipe = Recipe { spread, ..recipe.clone() };
            recipe.narrow(narrow);
            // A length beyond the array reaches the next one in the original, too.
            let room = self.terms.inner_length.map_or(i64::MAX, i64::from);
            recipe.integers.iter_mut().for_each(|number| *number = (*number).min(room));
            let Ok((old, elements)) = self.original(&recipe) else { return false };
            let limit = old.outcome.warp_instructions * HOPELESS + LAUNCH_LIMIT;
            let new = self.execute(self.after, &recipe, &elements, (limit, LONG_TURN), false);
            let is_different = matches!(between(&old.memory, &new.memory), Difference::Bytes(..));
            new.outcome.end != End::Completed || is_different || new.outcome.printed != old.outcome.printed
        })
    }

    /// Whether the edited version shares memory between threads that need their own copy: with short time slices, warps
    /// then see each other's values.
    fn interferes(&mut self, recipe: &Recipe, old: &Ran, elements: &Elements, limit: u64) -> bool {
        let threads: u32 = recipe.block.iter().product();
        let blocks: u32 = recipe.grid.iter().product();
        if self.after.static_shared() <= self.before.static_shared() || threads <= 32 || blocks > 1 {
            return false;
        }
        let new = self.execute(self.after, recipe, elements, (limit, SHORT_TURN), false);
        if new.outcome.end != End::Completed || !matches!(between(&old.memory, &new.memory), Difference::Bytes(..)) {
            return false;
        }
        // If threads of the original write to the same address, the order of warps decides which value remains.
        let short = self.execute(self.before, recipe, elements, (limit, SHORT_TURN), false);
        between(&old.memory, &short.memory) == Difference::None
    }

    /// The launch with a number. The integers take turns at trying their candidate values. A directed launch has values
    /// for the conditions of the kernel.
    fn drawn(&self, number: u64, is_directed: bool) -> Recipe {
        let count = self.most.len() as u64;
        let mut recipe = self.recipe(number);
        recipe.spread = if is_directed { Spread::Compared } else { SPREADS[(number % SPREADS.len() as u64) as usize] };
        recipe.below_in.clone_from(&self.below_in);
        if let Some(narrow) = RANGES[(number % RANGES.len() as u64) as usize] {
            let narrow = narrow.max(self.least + 1);
            recipe.narrow(narrow);
        }
        for index in 0..self.most.len() {
            let hash = mix(number, index as u64 + 101);
            if recipe.spread == Spread::Compared
                && let Some(constant) =
                    self.constants.integer(hash >> 7).filter(|it| hash & 1 == 0 && *it >= self.least)
            {
                recipe.integers[index] = constant;
                continue;
            }
            let candidates: Vec<i64> =
                self.parameters.candidates(self.most[index]).into_iter().filter(|it| *it >= self.least).collect();
            let is_focus = count > 0 && number % count == index as u64;
            let chosen = match is_focus {
                true => candidates.get((number / count) as usize % candidates.len().max(1)),
                false => candidates.get(hash as usize % candidates.len().max(1)),
            };
            // Bounds that guard threads are mostly large, so that many threads do something.
            recipe.integers[index] = match (hash >> 32 & 3, chosen) {
                (_, Some(chosen)) if is_focus => *chosen,
                (0, Some(chosen)) => *chosen,
                (1, _) => self.most[index],
                _ => self.base[index],
            };
        }
        recipe
    }

    /// A launch with the learned bounds and no variation.
    fn recipe(&self, number: u64) -> Recipe {
        let seed = mix(0x1a2b, number);
        let (block, grid) = self.extents(number);
        Recipe {
            seed,
            spread: Spread::Random,
            below: self.below,
            below_in: HashMap::new(),
            least: self.least,
            words_are_integers: self.words_are_integers,
            wide_are_pointers: self.wide_are_pointers,
            integers: self.base.clone(),
            alias: None,
            rest: self.rest,
            block,
            grid,
        }
    }

    /// Extents of block and grid.
    fn extents(&self, number: u64) -> ([u32; 3], [u32; 3]) {
        let (old, new) = (self.before.kernel(), self.after.kernel());
        let extent = |is_asked: bool| if is_asked { 2 + u32::from(number % 3 == 1) } else { 1 };
        let grid = [1 + u32::from(number % 5 == 2), extent(self.shape.grid_rows), extent(self.shape.grid_layers)];
        if let Some(required) = old.required_threads.or(new.required_threads) {
            return (required, grid);
        }
        let most = [old, new].map(|kernel| kernel.max_thread_count().unwrap_or(1024)).into_iter().min().unwrap_or(1);
        if let Some(threads) = self.terms.threads {
            // The edit must also be correct for blocks smaller than the block size that it relies on.
            let threads = if number % 6 == 4 { threads.div_ceil(2) } else { threads };
            return ([threads.clamp(1, most), 1, 1], grid);
        }
        let [x, y] = PLANES[(number % PLANES.len() as u64) as usize];
        let layers = if self.shape.layers { 2 } else { 1 };
        if (self.shape.rows || self.shape.layers) && number % 4 != 3 && x * y * layers <= most {
            return ([x, y, layers], grid);
        }
        ([BLOCKS[(number % BLOCKS.len() as u64) as usize].clamp(1, most), 1, 1], grid)
    }

    /// Runs the original; returns its outcome if the launch is valid.
    fn original(&mut self, recipe: &Recipe) -> Result<(Ran, Elements), Reason> {
        let elements = Elements::default();
        let ran = self.execute(self.before, recipe, &elements, (LAUNCH_LIMIT, LONG_TURN), false);
        match judged(&ran.outcome) {
            Err(Reason::Unwritten(_)) if self.is_lenient && self.ignores_unwritten(recipe, &elements, &ran) => {}
            Err(reason) => {
                self.reads_unwritten |= matches!(reason, Reason::Unwritten(_));
                return Err(reason);
            }
            Ok(()) => {}
        }
        Ok((ran, elements))
    }

    /// Whether the original computes the same with other bytes in memory that nothing wrote: compilers load both
    /// operands of a condition before they know which one counts.
    fn ignores_unwritten(&mut self, recipe: &Recipe, elements: &Elements, ran: &Ran) -> bool {
        let (mut launch, mut memory) = self.prepared(recipe, elements);
        launch.limits.warp_instructions = LAUNCH_LIMIT;
        launch.limits.unwritten = !launch.limits.unwritten;
        let outcome = self.before.run(&launch, &mut memory);
        self.work += outcome.warp_instructions;
        outcome.end == ran.outcome.end
            && outcome.blocks == ran.outcome.blocks
            && outcome.printed == ran.outcome.printed
            && between(&ran.memory, &memory) == Difference::None
    }

    fn execute(
        &mut self,
        program: &Program,
        recipe: &Recipe,
        elements: &Elements,
        (limit, turn): (u64, u64),
        reversed: bool,
    ) -> Ran {
        let (mut launch, mut memory) = self.prepared(recipe, elements);
        launch.limits.warp_instructions = limit;
        launch.limits.turn = turn;
        launch.limits.reversed = reversed;
        if reversed {
            memory.note_writers();
        }
        let outcome = program.run(&launch, &mut memory);
        self.work += outcome.warp_instructions;
        Ran { outcome, memory }
    }

    fn prepared(&self, recipe: &Recipe, elements: &Elements) -> (Launch, Memory) {
        let mut memory = Memory::new(Drawn {
            recipe: recipe.clone(),
            elements: Elements::clone(elements),
            constants: Rc::clone(&self.constants),
        });
        let mut launch = Launch::new(1, 1);
        (launch.grid, launch.block) = (recipe.grid, recipe.block);
        launch.dynamic_shared = if self.shape.has_dynamic_shared { SHARED } else { 0 };
        launch.parameters = self.parameters.bytes(&mut memory, recipe);
        (launch, memory)
    }
}

/// A run, and its final memory.
struct Ran {
    outcome: Outcome,
    memory: Memory,
}

impl Ran {
    fn has_effect(&self) -> bool {
        self.memory.has_written() || !self.outcome.printed.is_empty()
    }
}

/// An unsupported feature, as named in messages.
fn quoted(what: &str) -> String {
    if what.contains('`') { what.to_string() } else { format!("`{what}`") }
}

/// Whether a run of the original is valid.
fn judged(outcome: &Outcome) -> Result<(), Reason> {
    let Events {
        local_out_of_bounds,
        object_out_of_bounds,
        uninitialized_local,
        variable_out_of_bounds,
        division_by_zero,
        wide_shift,
        uninitialized_shared,
        bad_collective,
    } = &outcome.events;
    match &outcome.end {
        End::NotSupported(what) => return Err(Reason::NotSupported(what.clone())),
        _ if local_out_of_bounds.count + object_out_of_bounds.count + variable_out_of_bounds.count > 0 => {
            return Err(Reason::TooLarge);
        }
        _ if division_by_zero.count > 0 => return Err(Reason::Zero),
        End::Fault(Fault::NoMemory { .. }, _) => return Err(Reason::Wild),
        End::Limit | End::Fault(..) => return Err(Reason::TooLarge),
        End::Deadlock(_) => return Err(Reason::Other("threads wait for each other")),
        End::Completed => {}
    }
    if wide_shift.count > 0 {
        return Err(Reason::TooLarge);
    }
    if bad_collective.count > 0 {
        return Err(Reason::Other("threads of a warp part at a collective instruction"));
    }
    if uninitialized_local.count > 0 {
        return Err(Reason::Unwritten("it reads local memory that nothing wrote"));
    }
    if uninitialized_shared.count > 0 {
        return Err(Reason::Unwritten("with the blocks tried, it reads shared memory that nothing wrote"));
    }
    Ok(())
}
