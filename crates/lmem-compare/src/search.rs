//! Searches for launches that prove something, and compares both versions on them.
//!
//! 1. *Narrow*: lower the integers until the original accepts a launch. This finds the size of the arrays that they
//!    index.
//! 2. *Widen*: for each source of integers (a parameter or a region), raise the bound alone as far as the original
//!    accepts.
//! 3. *Launch*: vary integers and distributions within these bounds, and run both versions on each launch.

mod aliased;
mod around;
mod both;
mod bounds;
mod in_turn;
mod large;
mod launched;
mod original;
mod recipes;
mod shape;
mod usual;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use lmem_base::diagnostic::Comparison;
use ptx_machine::{End, Origin, Program};
use ptx_syntax::Module;

use crate::constants::Constants;
use crate::difference::Difference;
use crate::draw::Elements;
use crate::estimate::{Counts, Executed};
use crate::parameters::Parameters;
use crate::reach::Reach;
use crate::recipe::{Recipe, Rest, Spread};
use crate::{Compared, Outside};

pub(crate) use large::large_launch;
pub use large::{Buffer, LargeLaunch, Pointer};
pub use launched::SourceLaunch;
use original::{Order, Reason};
use shape::Shape;

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
/// If fewer than one in so many launches prove something, launches like those that do are drawn as well.
const RARE: u64 = 3;
const MOST_REACHING: usize = 8;

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

pub(crate) struct Search<'a> {
    modules: [&'a Module; 2],
    before: &'a Program,
    after: &'a Program,
    parameters: Parameters,
    constants: Rc<Constants>,
    reach: Reach,
    terms: Terms,
    outside: Outside<'a>,
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

/// What the original executes in a launch as the program has it, or else in the longest of a few; `None` if none is valid.
pub(crate) fn alone(mut search: Search<'_>) -> Option<Counts> {
    search.settle().ok()?;
    search.widen();
    let counted = search.counted_launch(None).or_else(|| {
        let longest = search.longest()?;
        search.counted_launch(Some(longest))
    })?;
    search.counted_in(0, &counted, &Elements::default())
}

/// A launch whose instructions are counted.
struct Counted {
    recipe: Recipe,
    /// Blocks of the program's grid; 0 if it is not known.
    blocks: u64,
    /// Threads of the program's blocks, if they are not those of the recipe.
    threads: Option<u64>,
    /// Whether it is a launch of the program.
    is_launched: bool,
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
            outside: Outside::default(),
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

impl<'a> Search<'a> {
    /// Looks for launches that execute what has changed, instead of those of [`Search::new`].
    pub fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Counts what the program's own launches execute, and runs until it is cancelled.
    pub fn within(self, outside: Outside<'a>) -> Self {
        Self { outside, ..self }
    }
}

impl Search<'_> {
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
            (_, Some((_, recipe))) => {
                let counted = self.counted_launch(Some(recipe));
                Compared { results, executed: counted.and_then(|counted| self.counted(&counted)) }
            }
        }
    }

    /// What both versions execute in one of the launches that were compared. The one with the most work is run again
    /// for this, as counting accesses takes time.
    fn counted(&self, counted: &Counted) -> Option<Executed> {
        let elements = Elements::default();
        let [before, after] = [0, 1].map(|version| self.counted_in(version, counted, &elements));
        Some(Executed { before: before?, after: after? })
    }

    /// What the original (0) or the edited version (1) executes in a launch.
    fn counted_in(&self, version: usize, counted: &Counted, elements: &Elements) -> Option<Counts> {
        let (module, program) = (self.modules[version], [self.before, self.after][version]);
        let (mut launch, mut memory) = self.prepared(&counted.recipe, elements);
        launch.limits.count_accesses = true;
        launch.limits.warp_instructions = self.unless_cancelled(LAUNCH_LIMIT * HOPELESS);
        let outcome = program.run(&launch, &mut memory);
        let counts = Counts::of(module, program, &launch, &outcome);
        let block_warps = counted.threads.map_or(counts.block_warps, |threads| threads.div_ceil(32));
        let counts = Counts { grid: counted.blocks, is_launched: counted.is_launched, block_warps, ..counts };
        (outcome.end == End::Completed).then_some(counts)
    }

    /// The limit of a launch: none of its instructions is executed once the search is cancelled.
    fn unless_cancelled(&self, limit: u64) -> u64 {
        let is_cancelled = self.outside.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        if is_cancelled { 0 } else { limit }
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
}

/// An unsupported feature, as named in messages.
fn quoted(what: &str) -> String {
    if what.contains('`') { what.to_string() } else { format!("`{what}`") }
}
