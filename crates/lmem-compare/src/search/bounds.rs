//! Bounds of the integers of a launch: lowered together until the original accepts one, then raised one by one.

use ptx_machine::{Class, Origin};

use super::original::{Ran, Reason};
use super::recipes::HALF_BLOCKS;
use super::{LAUNCH_LIMIT, Search, WORK, quoted};
use crate::draw::mix;
use crate::recipe::{RESTS, Recipe};

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
/// Threads per block, in turn, where smaller blocks leave shared memory unwritten.
const LARGER_BLOCKS: [u32; 4] = [256, 512, 128, 1024];

impl Search<'_> {
    /// Finds bounds of the integers, if need be with launches that read memory which nothing wrote.
    pub(super) fn settle(&mut self) -> Result<(), String> {
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

    /// Finds the largest bound on all integers that the original accepts.
    pub(super) fn narrow(&mut self) -> Result<(), String> {
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
    pub(super) fn widen(&mut self) {
        let base = self.below;
        let usual = self.original(&self.recipe(3)).map_or(0, |(ran, _)| ran.outcome.warp_instructions);
        let limits = |limit: i64| {
            WIDER.into_iter().chain([2 * base, base + base / 2, base + base / 4]).filter(move |it| *it > limit)
        };
        for index in 0..self.most.len() {
            if self.work > WORK / 2 {
                break;
            }
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
                // Of long launches, some must be left to compare.
                if self.work > WORK / 2 {
                    return;
                }
                let mut recipe = self.whole(below.cast_unsigned());
                recipe.below_in.insert(origin.clone(), below);
                if self.original(&recipe).is_ok() {
                    self.below_in.insert(origin, below);
                    break;
                }
            }
        }
    }

    /// A recipe with a whole block, if its size is known: half of one may leave shared memory unwritten, so that no larger
    /// value would be accepted.
    fn whole(&self, number: u64) -> Recipe {
        let is_known = self.terms.threads.is_some();
        self.recipe(if is_known { number * HALF_BLOCKS } else { number })
    }

    /// Whether the original accepts a larger value of one integer.
    fn accepts(&mut self, index: usize, most: i64, usual: u64) -> bool {
        let mut integers = self.base.clone();
        integers[index] = most;
        let recipe = Recipe { integers, ..self.whole(most.cast_unsigned()) };
        // Trip counts must stay small; bounds that guard threads may be large.
        let most = (usual * LONGER + LAUNCH_LIMIT / 16).min(LAUNCH_LIMIT);
        let is_cheap = |ran: &Ran| ran.outcome.warp_instructions <= most;
        self.original_within(&recipe, most + 1).is_ok_and(|(ran, _)| is_cheap(&ran))
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
}
