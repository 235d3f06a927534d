//! Launches in which two parameters lead to the same memory.
//!
//! Without `__restrict__`, an element that is stored through one pointer may be what another pointer loads next. An edit
//! that reads memory again in place of a copy is right only without such launches. A single thread runs: what threads
//! exchange through overlapping memory depends on their order, and is nobody's promise.

use lmem_base::diagnostic::Comparison;
use ptx_machine::{Class, Element, Memory, Origin, Program, Written};
use ptx_syntax::{Module, Type};

use super::{Search, WORK};
use crate::difference::Difference;
use crate::recipe::{Alias, Recipe};
use crate::{Compared, instructions};

/// Limit on pairs of parameters.
const PAIRS: usize = 12;

/// How far apart the pointers are, in elements.
const SHIFTS: [i64; 3] = [0, 1, -1];

/// The type of the elements that a pointer leads to: `None` for integers.
type Kind = (Option<Type>, u32);

/// A parameter that is an address, and what a launch shows of its memory.
struct Target {
    index: usize,
    kind: Kind,
    is_written: bool,
}

impl Search<'_> {
    /// A difference in a launch in which parameters of one type overlap. `recipes` are launches without a difference.
    pub(super) fn aliased(&mut self, recipes: &[Recipe]) -> Option<Compared> {
        let restricted =
            has_read_only_loads(self.modules[0], self.before) || has_read_only_loads(self.modules[1], self.after);
        let is_sized = self.before.kernel().required_threads.or(self.after.kernel().required_threads).is_some();
        if !self.terms.may_alias || restricted || is_sized {
            return None;
        }
        let limit = self.work + WORK / 4;
        for recipe in recipes {
            let recipe = Recipe { block: [1; 3], grid: [1; 3], ..recipe.clone() };
            for alias in self.overlaps(&recipe) {
                if self.work > limit {
                    return None;
                }
                let recipe = Recipe { alias: Some(alias), ..recipe.clone() };
                let Ok(original) = self.original(&recipe) else { continue };
                if let Ok(Some(Difference::Bytes(what, _))) = self.both(&recipe, original) {
                    let what = format!("{}, where parameters overlap", self.told(&recipe, &what));
                    return Some(Compared::without_counts(Comparison::Different { what }));
                }
            }
        }
        None
    }

    /// The overlaps of parameters with elements of one type, one of which is written.
    fn overlaps(&mut self, recipe: &Recipe) -> Vec<Alias> {
        let Ok((ran, elements)) = self.original(recipe) else { return Vec::new() };
        let written = ran.memory.written();
        let regions = elements.regions.borrow();
        let target = |(index, origin): (usize, Origin)| {
            let own: Vec<&Written> = written.iter().filter(|written| written.origin == origin).collect();
            let kind = regions.get(&origin).map_or_else(|| stored(&ran.memory, &own), |element| kind(*element))?;
            Some(Target { index, kind, is_written: !own.is_empty() })
        };
        let targets: Vec<Target> = self.parameters.pointer_origins().enumerate().filter_map(target).collect();
        let pairs = targets.iter().enumerate().flat_map(|(at, one)| {
            let others = targets[at + 1..].iter();
            let others = others.filter(move |other| one.kind == other.kind && (one.is_written || other.is_written));
            others.map(move |other| {
                SHIFTS.map(|shift| Alias { from: one.index, to: other.index, shift: shift * i64::from(one.kind.1) })
            })
        });
        pairs.take(PAIRS).flatten().collect()
    }
}

fn kind(element: Element) -> Option<Kind> {
    match element.class {
        Class::Float(ty) => Some((Some(ty), element.bytes)),
        Class::Integer | Class::Unknown => Some((None, element.bytes)),
        Class::Pointer => None,
    }
}

/// The elements of memory that is only written: integers seem to be as wide as what is written allows.
fn stored(memory: &Memory, written: &[&Written]) -> Option<Kind> {
    let first = written.first()?;
    if let Some(ty) = memory.float_at(memory.region_of(&first.origin)?, first.offset) {
        return Some((Some(ty), ty.bytes()));
    }
    let is_whole = |bytes: i64| {
        written.iter().all(|written| written.offset % bytes == 0 && written.bytes.len() as i64 % bytes == 0)
    };
    Some((
        None,
        if is_whole(4) {
            4
        } else if is_whole(2) {
            2
        } else {
            1
        },
    ))
}

/// Whether a program loads through the read-only cache, as compilers do for `const __restrict__` and `__ldg` alone: memory
/// that nothing writes during the launch.
fn has_read_only_loads(module: &Module, program: &Program) -> bool {
    instructions(module, program).any(|instruction| instruction.form.text.split('.').any(|part| part == "nc"))
}
