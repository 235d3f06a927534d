//! The variable of an object: the one that its accesses mention, if exactly one fits.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use cuda_syntax::tree::{Declaration, DeclarationKind, Volatility};
use cuda_syntax::{SyntaxTrees, TreeId};
use lmem_base::chain::Chain;
use lmem_base::gpu::MAX_PADDING;
use lmem_base::source::Span;

use super::alike::OfAlike;
use super::blame::{mark_use, settle};
use super::eligible::{eligible, may_be_slice};
use super::instances::are_instances;
use super::part::{Part, fitting};
use super::twins::{Texts, assignment, contradicted, is_consistent};
use super::votes::{Candidate, KnownUses, Resolved, Score, is_mentioned_as, is_volatile_number, rank};
use crate::access::{Access, RawObject};

/// A source variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// The type as written: `float[32]`.
    pub type_text: String,
    pub kind: DeclarationKind,
    pub is_parameter: bool,
    pub volatility: Option<Volatility>,
    /// The initializer.
    pub initializer: Option<Span>,
    /// The size, if the source determines it; the object may have padding.
    pub bytes: Option<u64>,
    /// The name in the declaration.
    pub span: Span,
    /// Other variables in the same bytes, whose lifetimes do not overlap: for example those of two inlined functions.
    pub sharing: Vec<Sharing>,
    /// The members of the whole structure, also where only one of them is meant: path and type, where the front end
    /// reports them.
    pub members: Vec<(String, String)>,
}

/// A variable that shares the bytes of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    pub name: String,
    /// The name in the declaration.
    pub span: Option<Span>,
}

/// Symbolizes the objects of a function, in frame order, and marks the uses of the variables in their accesses. An
/// object without a unique candidate gets no name.
pub fn name_all(objects: &mut [&mut RawObject], trees: &SyntaxTrees<'_>) -> Vec<Option<Variable>> {
    let known = Rc::<KnownUses>::default();
    let resolved: Vec<Resolved<'_>> = objects.iter().map(|object| Resolved::new(object, trees, &known)).collect();
    let (by_all, by_certain) = (OfAlike::default(), OfAlike::default());
    let strict: Vec<Winners> = (objects.iter().zip(&resolved))
        .map(|(object, resolved)| by_all.of(object, || winners(object, resolved, trees, rank)))
        .collect();
    // One variable cannot be several objects. If it wins several, pointers were counted for it, and only certain votes
    // decide.
    let mut claimed: BTreeMap<&Candidate, Vec<usize>> = BTreeMap::new();
    for (number, winners) in strict.iter().enumerate() {
        if let [(only, _)] = winners.as_slice() {
            claimed.entry(only).or_default().push(number);
        }
    }
    let may_be_instances = |variable: &Candidate, numbers: &[usize]| {
        are_instances(variable, numbers.iter().map(|number| (&*objects[*number], &resolved[*number])))
    };
    let may_be_all = |variable: &Candidate, all: &[Winners], numbers: &[usize]| {
        let claim = |number: &usize| {
            let of = all[*number].iter().find(|(candidate, _)| candidate == variable);
            of.map(|(_, score)| (objects[*number].bytes, &score.members))
        };
        may_be_parts(variable, &numbers.iter().filter_map(claim).collect::<Vec<_>>())
            || may_be_instances(variable, numbers)
    };
    let disputed: BTreeSet<&Candidate> =
        claimed.iter().filter(|(only, numbers)| !may_be_all(only, &strict, numbers)).map(|(only, _)| *only).collect();
    let is_disputed = |winners: &[Winner]| matches!(winners, [(only, _)] if disputed.contains(only));
    let decide = |(number, strict): (usize, &Winners)| match is_disputed(strict) {
        true => {
            let object = &objects[number];
            by_certain.of(object, || winners(object, &resolved[number], trees, |score| (score.certain, 0)))
        }
        false => Rc::clone(strict),
    };
    let all: Vec<Winners> = strict.iter().enumerate().map(decide).collect();
    let texts = Texts::default();
    let contradictions: Vec<OnceCell<_>> = all.iter().map(|_| OnceCell::new()).collect();
    let fits = |object: usize, variable: &Candidate| {
        let contradicted =
            contradictions[object].get_or_init(|| contradicted(objects[object], &resolved[object], trees, &texts));
        is_consistent(contradicted, variable)
    };
    let may_share = |variable: &Candidate, numbers: &[usize]| may_be_all(variable, &all, numbers);
    let chosen = choose(&all, objects, &fits, &may_be_instances);
    let undisputed = undisputed(&chosen, &all, &may_share);
    let chosen: Vec<Option<usize>> =
        chosen.into_iter().zip(undisputed).map(|(chosen, is_undisputed)| chosen.filter(|_| is_undisputed)).collect();
    let taken: BTreeSet<Candidate> =
        chosen.iter().zip(&all).filter_map(|(chosen, winners)| Some(winners.get((*chosen)?)?.0.clone())).collect();
    let named =
        objects.iter_mut().zip(all).zip(chosen).zip(&resolved).map(|(((object, winners), chosen), resolved)| {
            let winner = chosen.and_then(|index| winners.get(index)).cloned();
            let variable = winner.and_then(|(candidate, mut score)| {
                score.rivals.retain(|rival| !taken.contains(rival));
                describe(object, resolved, candidate, &score, trees)
            });
            if variable.is_none() {
                object.accesses.iter_mut().for_each(settle);
            }
            variable
        });
    named.collect()
}

/// A candidate variable of an object, with its votes.
type Winner = (Candidate, Score);

/// The candidates of objects that are alike.
type Winners = Rc<Vec<Winner>>;

/// The size of an object that a variable may be, and the members of it that computed accesses of the object use.
type Claim<'a> = (u64, &'a BTreeSet<String>);

/// Whether objects may be parts of one variable: a structure that was split (SROA). They are not larger than it; where its size is not known
/// (`auto`), no two have one size and the same members.
fn may_be_parts((_, declaration): &Candidate, claims: &[Claim<'_>]) -> bool {
    match declaration.bytes {
        Some(size) => claims.iter().map(|(bytes, _)| bytes).sum::<u64>() <= size + MAX_PADDING,
        None => {
            let mut claims: Vec<&Claim<'_>> = claims.iter().collect();
            claims.sort_unstable_by_key(|(bytes, members)| (*members, *bytes));
            let is_alike = |pair: &[&Claim<'_>]| match pair {
                [one, other] => one.1 == other.1 && one.0.abs_diff(other.0) <= MAX_PADDING,
                _ => false,
            };
            !claims.windows(2).any(is_alike)
        }
    }
}

/// Whether objects keep their variables. If several objects get one variable that may not be all of them, only the
/// one with more votes than each other object keeps it.
fn undisputed(
    chosen: &[Option<usize>],
    all: &[Winners],
    may_be_all: &dyn Fn(&Candidate, &[usize]) -> bool,
) -> Vec<bool> {
    let winner = |index: usize| chosen[index].map(|number| &all[index][number]);
    let mut sharing: BTreeMap<&Candidate, Vec<usize>> = BTreeMap::new();
    for index in 0..all.len() {
        if let Some((candidate, _)) = winner(index) {
            sharing.entry(candidate).or_default().push(index);
        }
    }
    let mut are_undisputed = vec![true; all.len()];
    for (candidate, sharing) in sharing {
        if may_be_all(candidate, &sharing) {
            continue;
        }
        let rank_of = |index: &usize| winner(*index).map(|(_, score)| rank(score));
        let best = sharing.iter().map(rank_of).max();
        let is_only = sharing.iter().filter(|index| Some(rank_of(index)) == best).count() == 1;
        for index in &sharing {
            are_undisputed[*index] = is_only && Some(rank_of(index)) == best;
        }
    }
    are_undisputed
}

/// The variables of objects, as numbers of their candidates. If n objects have the same n candidates, the code treats them alike,
/// and the origins of their indices may distinguish them. If these do not, the facts hold for each of them, and candidates are
/// assigned in order of declaration.
fn choose(
    all: &[Winners],
    objects: &[&mut RawObject],
    is_consistent: &dyn Fn(usize, &Candidate) -> bool,
    are_instances: &dyn Fn(&Candidate, &[usize]) -> bool,
) -> Vec<Option<usize>> {
    let numbers = Numbers::of(all);
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, winners) in all.iter().enumerate() {
        groups.entry(numbers.set(winners)).or_default().push(index);
    }
    // A variable is one object: one that certainly belongs to another object is excluded.
    let mut certain: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, winners) in all.iter().enumerate() {
        if let [only] = numbers.candidates(winners) {
            certain.entry(*only).or_default().push(index);
        }
    }
    // Asked once for each variable, and only where it is several objects: it follows all calls around their accesses.
    let may_be_several = |of: &[usize]| match (of, all[of[0]].as_slice()) {
        ([_, _, ..], [(variable, _)]) => are_instances(variable, of),
        _ => false,
    };
    let instances: BTreeSet<usize> =
        certain.iter().filter(|(_, of)| may_be_several(of)).map(|(number, _)| *number).collect();
    let mut assigned: BTreeMap<Vec<usize>, Option<Vec<usize>>> = BTreeMap::new();
    // The elements of an array that was split are several objects, and one variable.
    let are_slices = |only: &Winner, of: &[usize]| {
        let bytes = of.iter().map(|index| objects[*index].bytes).sum::<u64>();
        of.iter().all(|index| may_be_slice(&only.0.1, objects[*index]))
            && only.0.1.bytes.is_some_and(|all| bytes <= all)
    };
    let variable_of = |index: usize| {
        let own = &all[index];
        if let ([only], [number]) = (own.as_slice(), numbers.candidates(own))
            && (instances.contains(number) || certain.get(number).is_some_and(|of| are_slices(only, of)))
        {
            return Some(0);
        }
        // The last of them may have padding.
        let is_twin = |other: &usize| objects[*other].bytes.abs_diff(objects[index].bytes) <= MAX_PADDING;
        let twins: Vec<usize> = groups[&numbers.set(own)].iter().copied().filter(is_twin).collect();
        let is_taken =
            |candidate: usize| certain.get(&candidate).is_some_and(|others| others.iter().any(|other| *other != index));
        let mut declared: Vec<usize> = (0..own.len()).collect();
        if own.len() != twins.len() {
            let candidates = numbers.candidates(own);
            declared.retain(|number| candidates.get(*number).is_some_and(|candidate| !is_taken(*candidate)));
        }
        declared.sort_by_key(|variable| (own[*variable].0.0, own[*variable].0.1.range));
        if let [only] = declared.as_slice() {
            return Some(*only);
        }
        let position = twins.iter().position(|twin| *twin == index).filter(|_| declared.len() == twins.len())?;
        let assigned = assigned.entry(twins).or_insert_with_key(|twins| {
            let fits = |twin: usize, variable: usize| is_consistent(twins[twin], &own[declared[variable]].0);
            let found = assignment(declared.len(), &fits)?;
            Some(found.into_iter().map(|variable| declared[variable]).collect())
        });
        assigned.as_ref()?.get(position).copied()
    };
    (0..all.len()).map(variable_of).collect()
}

/// Candidates, and sets of them, as numbers. Objects that are alike share a list, which is numbered once.
struct Numbers(HashMap<*const Vec<Winner>, (Vec<usize>, usize)>);

impl Numbers {
    fn of(all: &[Winners]) -> Self {
        let mut candidates: BTreeMap<&Candidate, usize> = BTreeMap::new();
        let mut sets: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        let mut lists = HashMap::new();
        for winners in all {
            lists.entry(Rc::as_ptr(winners)).or_insert_with(|| {
                let mut numbers: Vec<usize> = Vec::new();
                for (candidate, _) in winners.iter() {
                    let next = candidates.len();
                    numbers.push(*candidates.entry(candidate).or_insert(next));
                }
                let mut sorted = numbers.clone();
                sorted.sort_unstable();
                let next = sets.len();
                (numbers, *sets.entry(sorted).or_insert(next))
            });
        }
        Self(lists)
    }

    /// The candidates of a list, in its order.
    fn candidates(&self, list: &Winners) -> &[usize] {
        self.0.get(&Rc::as_ptr(list)).map_or(&[], |(numbers, _)| numbers)
    }

    /// The set of the candidates of a list. Lists with the same candidates in another order have the same.
    fn set(&self, list: &Winners) -> usize {
        self.0.get(&Rc::as_ptr(list)).map_or(usize::MAX, |(_, set)| *set)
    }
}

/// The candidates of an object: one if its accesses decide, several if they are tied, or none.
fn winners(
    object: &RawObject,
    resolved: &Resolved<'_>,
    trees: &SyntaxTrees<'_>,
    rank: fn(&Score) -> (u64, u64),
) -> Vec<Winner> {
    if !object.may_have_name() {
        return Vec::new();
    }
    let scores = eligible(object, resolved, trees);
    let Some(best) = scores.values().map(rank).max() else { return Vec::new() };
    let mut winners: Vec<Winner> = scores.into_iter().filter(|(_, score)| rank(score) == best).collect();
    // Among an array and a scalar in the same statements, the array is the one with an address. A structure that is
    // indexed there counts as an array.
    let kind = |((_, declaration), score): &Winner| match declaration.kind {
        DeclarationKind::Aggregate if score.is_indexed => DeclarationKind::Array,
        kind => kind,
    };
    let best_kind = winners.iter().map(kind).min();
    // Without an index, an array in them is no more in memory than a scalar whose address is taken: `{table, &count}`.
    let is_indexed = winners.iter().any(|(_, score)| score.is_indexed);
    let is_addressed = |((_, declaration), score): &Winner| {
        let is_scalar = declaration.kind == DeclarationKind::Scalar && score.is_passed;
        is_scalar && !is_indexed && best_kind == Some(DeclarationKind::Array)
    };
    winners.retain(|winner| Some(kind(winner)) == best_kind || is_addressed(winner));
    // With padding, several sizes fit; the one with the least padding is preferred.
    let padding = |((_, declaration), score): &Winner| {
        let part = fitting(declaration, &score.members, object.bytes);
        part.and_then(|part| part.bytes).map_or(u64::MAX, |bytes| object.bytes.saturating_sub(bytes))
    };
    let least = winners.iter().map(padding).min();
    winners.retain(|winner| Some(padding(winner)) == least);
    // Of variables that take turns, each is it. The first one names the others.
    let takes_turns = |(candidate, _): &Winner, (_, score): &Winner| score.rivals.contains(candidate);
    if winners.iter().all(|(candidate, _)| is_volatile_number(&candidate.1))
        && winners.split_first().is_some_and(|(first, others)| others.iter().all(|other| takes_turns(other, first)))
    {
        winners.truncate(1);
    }
    winners
}

fn describe(
    object: &mut RawObject,
    resolved: &Resolved<'_>,
    own: Candidate,
    score: &Score,
    trees: &SyntaxTrees<'_>,
) -> Option<Variable> {
    let (tree, declaration) = (&own.0, &own.1);
    let part = fitting(declaration, &score.members, object.bytes);
    // Among variables that share the bytes, a smaller one cannot claim all of them.
    if part.is_none() && !score.rivals.is_empty() {
        return None;
    }
    let part = part.unwrap_or_else(|| Part::whole(declaration));
    for (number, access) in object.accesses.iter_mut().enumerate() {
        let found = resolved.of(number, access);
        let is_mentioned = |(tree, one): &Candidate| {
            found.iter().any(|found| found.place.tree == *tree && found.mention.declaration.range == one.range)
        };
        access.is_of_sharing = score.rivals.iter().any(is_mentioned) && !is_mentioned(&own);
        mark_use(access, found, (*tree, declaration), trees);
        if !found.iter().any(is_mentioned_as(&own)) && !names_it(access, &own, trees) {
            let is_of_scalars = found.is_empty() && names_scalars(access, trees);
            move_to_use(access, &own, (resolved, is_of_scalars), trees);
        }
        if let (None, Some((tree, declaration))) = (&access.index, &score.through) {
            mark_use(access, found, (*tree, declaration), trees);
        }
    }
    Some(Variable {
        name: part.name,
        type_text: part.type_text,
        kind: part.kind,
        is_parameter: declaration.is_parameter,
        volatility: declaration.volatility.clone().or_else(|| volatile_member(object, *tree, declaration, trees)),
        initializer: score.initializer.clone(),
        bytes: part.bytes,
        span: score.span.clone()?,
        sharing: score.rivals.iter().map(|rival| shared_with(rival, trees)).collect(),
        members: declaration.members.iter().map(|(path, type_text, _)| (path.clone(), type_text.clone())).collect(),
    })
}

/// Whether a statement on the inline chain of an access names the variable.
fn names_it(access: &Access, (tree, own): &Candidate, trees: &SyntaxTrees<'_>) -> bool {
    access.places.iter().filter(|place| place.tree == *tree).any(|place| {
        let text = place.tree(trees);
        let regions = text.regions(place.offset).into_iter();
        regions.flat_map(|region| text.mentions(region).to_vec()).any(|mention| mention.declaration.range == own.range)
    })
}

/// Whether the statement of an access has nothing that could be in memory: no element, pointer or call, also by a macro.
fn names_scalars(access: &Access, trees: &SyntaxTrees<'_>) -> bool {
    let Some(place) = access.places.first() else { return false };
    let tree = place.tree(trees);
    // Of a loop, that is its header; its body has places of its own.
    let head = |region: cuda_syntax::ast::Node<'_>| {
        let own = tree.loops_around(region.start_byte()).into_iter().find(|it| it.range.start == region.start_byte());
        own.map_or_else(|| region.byte_range(), |own| own.range)
    };
    let regions = tree.regions(place.offset);
    !regions.is_empty()
        && regions.into_iter().map(head).all(|range| {
            let text = tree.text().get(range.clone()).unwrap_or("[");
            let is_as_written = tree.compiled().compiled(tree.text(), range).is_some_and(|compiled| compiled == text);
            let calls =
                text.match_indices('(').filter(|(at, _)| !matches!(text[..*at].trim_end(), "for" | "while" | "if"));
            is_as_written && !text.contains(['[', '*', '&', '.']) && !text.contains("->") && calls.count() == 0
        })
}

/// Moves a load whose statement does not name the variable to the use of its value, if that does, or if the statement names scalars alone.
fn move_to_use(
    access: &mut Access,
    own: &Candidate,
    (resolved, is_of_scalars): (&Resolved<'_>, bool),
    trees: &SyntaxTrees<'_>,
) {
    let places = access.used_at.clone();
    let Some(span) = places.first().map(|place| place.span(trees)) else { return };
    let mut moved = Access { places, span, ..access.clone() };
    let found = resolved.elsewhere(&moved);
    let is_named = found.iter().any(is_mentioned_as(own));
    if is_named {
        mark_use(&mut moved, &found, (own.0, &own.1), trees);
    }
    if is_named || is_of_scalars {
        *access = moved;
    }
}

fn shared_with((tree, rival): &Candidate, trees: &SyntaxTrees<'_>) -> Sharing {
    let (start, end) = rival.range;
    Sharing { name: rival.name.clone(), span: trees.tree(*tree).span(start..end) }
}

/// The `volatile` member of the variable's type, if the object has volatile accesses.
fn volatile_member(
    object: &RawObject,
    tree: TreeId,
    declaration: &Declaration,
    trees: &SyntaxTrees<'_>,
) -> Option<Volatility> {
    let places = object.accesses.iter().filter(|access| access.is_volatile).map(|access| &access.places);
    let mut of_view = Chain::each_once(places).filter(|place| place.tree == tree);
    of_view.next()?.tree(trees).volatile_member(declaration.type_text.split('[').next()?).map(Volatility::Member)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, Shown, at, copy_of, object};
    use super::*;
    use crate::access::StoredValues;
    use crate::access::{Parameter, ParameterCopy};

    /// The names of objects built from a scene.
    fn named(scene: &Scene, objects: impl FnOnce(&Shown<'_>) -> Vec<RawObject>) -> Vec<Option<String>> {
        scene.ask(|shown| {
            let mut objects = objects(shown);
            let mut all: Vec<&mut RawObject> = objects.iter_mut().collect();
            let names = name_all(&mut all, shown.trees);
            names.into_iter().map(|variable| variable.map(|variable| variable.name)).collect()
        })
    }

    fn some(names: &[&str]) -> Vec<Option<String>> {
        names.iter().map(|name| (!name.is_empty()).then(|| (*name).to_string())).collect()
    }

    #[test]
    fn the_array_that_a_run_time_index_goes_to() {
        let scene = Scene::new("__global__ void k(float *out, int n) {\n  float a[8], b[8];\n  b[0] = a[n];\n}\n");
        assert_eq!(named(&scene, |it| vec![object(32, vec![it.computed_load(&[at("b[0] =")])])]), some(&["a"]));
    }

    #[test]
    fn sizes_tell_and_two_that_fit_give_no_name() {
        let text = |b: u32| {
            Scene::new(&format!(
                "__global__ void k(float *out) {{\n  float a[4], b[{b}];\n  out[0] = a[1] + b[2];\n}}\n"
            ))
        };
        let one = |it: &Shown<'_>| vec![object(32, vec![it.load(&[at("out[0]")])])];
        assert_eq!(named(&text(8), one), some(&["b"]));
        let four = |it: &Shown<'_>| vec![object(16, vec![it.load(&[at("out[0]")])])];
        assert_eq!(named(&text(4), four), some(&[""]));
        // No variable has 64 bytes.
        let none = |it: &Shown<'_>| vec![object(64, vec![it.load(&[at("out[0]")])])];
        assert_eq!(named(&text(8), none), some(&[""]));
    }

    #[test]
    fn the_array_that_is_written_where_another_is_read() {
        let text = "__global__ void k(float *out, int n) {\n  float a[8], b[8];\n  b[0] = a[0];\n  out[0] = b[n];\n}\n";
        let scene = Scene::new(text);
        // The first load of a run-time index has the line of the store before it.
        let of = |it: &Shown<'_>, stores: usize| {
            let moved = || it.computed_load(&[at("b[0] =")]);
            let stores = (0..stores).map(|_| it.store(&[at("b[0] =")]));
            vec![object(32, stores.chain([it.computed_load(&[at("out[0]")]), moved(), moved()]).collect())]
        };
        assert_eq!(named(&scene, |it| of(it, 2)), some(&["b"]));
        assert_eq!(named(&scene, |it| of(it, 0)), some(&["a"]));
    }

    #[test]
    fn what_is_passed_to_a_call_is_no_smaller_variable_beside_it() {
        let text = "__global__ void k(float *out, int n) {\n  float a[8], b[12];\n  out[0] = a[n];\n  out[1] = b[2];\n  touch(p);\n}\n";
        let of = |is_passed: bool| {
            let escape = |it: &Shown<'_>| it.passed("_Z5touchPf", (0, 1), &[at("touch(")]);
            named(&Scene::new(text), |it| {
                let escapes = is_passed.then(|| escape(it)).into_iter().collect();
                vec![RawObject {
                    escapes,
                    ..object(48, vec![it.computed_load(&[at("out[0]")]), it.load(&[at("out[1]")])])
                }]
            })
        };
        assert_eq!((of(false), of(true)), (some(&["a"]), some(&["b"])));
        // Bytes beyond it that no other variable explains are not its own.
        let alone = |it: &Shown<'_>| vec![object(48, vec![it.computed_load(&[at("out[0]")])])];
        assert_eq!(named(&Scene::new(text), alone), some(&[""]));
    }

    #[test]
    fn equal_arrays_are_taken_in_the_order_of_the_frame() {
        let scene =
            Scene::new("__global__ void k(float *out, int n) {\n  float a[8], b[8];\n  out[0] = a[n] + b[n];\n}\n");
        let both = |it: &Shown<'_>| {
            vec![
                object(32, vec![it.computed_load(&[at("out[0]")])]),
                object(32, vec![it.computed_load(&[at("out[0]")])]),
            ]
        };
        assert_eq!(named(&scene, both), some(&["a", "b"]));
        // The order is that of declarations, whatever their names; the last may have padding.
        let scene = Scene::new(
            "__global__ void k(float *out, int n) {\n  float up[8], down[8];\n  out[0] = up[n] + down[n];\n}\n",
        );
        let padded = |it: &Shown<'_>| {
            vec![
                object(32, vec![it.computed_load(&[at("out[0]")])]),
                object(40, vec![it.computed_load(&[at("out[0]")])]),
            ]
        };
        assert_eq!(named(&scene, padded), some(&["up", "down"]));
        // A third one that another object is for certain is none of them.
        let scene = Scene::new(
            "__global__ void k(float *out, int n) {\n  float a[8], c[8], b[8];\n  out[0] = a[n] + b[n] + c[n];\n  out[1] = c[n];\n}\n",
        );
        let beside = |it: &Shown<'_>| {
            let of = |places: &[&str]| object(32, places.iter().map(|place| it.computed_load(&[at(place)])).collect());
            vec![of(&["out[0]"]), of(&["out[0]"]), of(&["out[0]", "out[1]"])]
        };
        assert_eq!(named(&scene, beside), some(&["a", "b", "c"]));
        // Two variables cannot be three objects.
        let scene =
            Scene::new("__global__ void k(float *out, int n) {\n  float a[8], b[8];\n  out[0] = a[n] + b[n];\n}\n");
        let three = |it: &Shown<'_>| {
            let one = || object(32, vec![it.computed_load(&[at("out[0]")])]);
            vec![one(), one(), one()]
        };
        assert_eq!(named(&scene, three), some(&["", "", ""]));
    }

    #[test]
    fn what_another_object_is_for_certain_this_one_is_not() {
        let text = "__global__ void k(float *out, int n) {\n  float a[8], b[8];\n  out[0] = a[n];\n  out[1] = a[n] + b[n];\n}\n";
        let objects = |it: &Shown<'_>| {
            vec![
                object(32, vec![it.computed_load(&[at("out[0]")])]),
                object(32, vec![it.computed_load(&[at("out[1]")])]),
            ]
        };
        assert_eq!(named(&Scene::new(text), objects), some(&["a", "b"]));
    }

    #[test]
    fn one_variable_is_not_two_objects() {
        let text = "__global__ void k(float *out, int n) {\n  float a[8];\n  out[0] = a[n];\n  out[1] = a[n + 1];\n}\n";
        let objects = |it: &Shown<'_>| {
            vec![
                object(32, vec![it.computed_load(&[at("out[0]")])]),
                object(32, vec![it.computed_load(&[at("out[1]")])]),
            ]
        };
        assert_eq!(named(&Scene::new(text), objects), some(&["", ""]));
    }

    #[test]
    fn a_variable_of_unknown_size_is_not_two_objects_of_one_size() {
        let text = "template <int N>\n__global__ void k(float *out, int n) {\n  float a[N];\n  out[0] = a[n];\n  out[1] = a[n + 1];\n}\n";
        let of = |sizes: &[u64]| {
            named(&Scene::new(text), |it| {
                let objects = sizes.iter().zip(["out[0]", "out[1]"]);
                objects.map(|(bytes, place)| object(*bytes, vec![it.computed_load(&[at(place)])])).collect()
            })
        };
        assert_eq!(of(&[168]), some(&["a"]));
        assert_eq!(of(&[168, 168]), some(&["", ""]));
        // Parts of a structure that was split.
        assert_eq!(of(&[168, 32]), some(&["a", "a"]));
    }

    #[test]
    fn memory_of_the_library_has_no_name() {
        let scene = Scene::new("__global__ void k(float *out, int n) {\n  float a[8];\n  out[0] = a[n];\n}\n");
        let library = |it: &Shown<'_>| {
            let known = object(32, vec![it.computed_load(&[at("out[0]")])]);
            vec![RawObject { is_library: true, ..known }]
        };
        assert_eq!(named(&scene, library), some(&[""]));
    }

    #[test]
    fn a_parameter_is_an_object_only_where_it_is_copied() {
        let scene = Scene::new(
            "struct Taps { float w[8]; };\n__global__ void k(Taps taps, float *out, int n) {\n  out[0] = taps.w[n];\n}\n",
        );
        let of = |stored_values: StoredValues| {
            named(&scene, |it| {
                let known = object(32, vec![it.computed_load(&[at("out[0]")])]);
                vec![RawObject { stored_values, ..known }]
            })
        };
        assert_eq!(of(StoredValues::Parameter(copy_of(0))), some(&["taps.w"]));
    }

    #[test]
    fn a_variable_that_begins_with_a_parameter_is_not_another_parameter() {
        let text =
            "__global__ void k(float *buffer, Pair i, int n) {\n  Out result{buffer, n};\n  put(result, i);\n}\n";
        let scene = Scene::new(text).with_variable(("result", "Out", 16), "  Out result", &[]);
        let names = named(&scene, |it| {
            let start = text.find("buffer,").unwrap();
            let span = it.trees.tree(it.tree).span(start..start + 1).unwrap();
            let parameter = Parameter { name: "buffer".into(), type_text: "float *".into(), span };
            let copy = ParameterCopy { parameter: Some(parameter), ..copy_of(0) };
            let escapes = vec![
                it.passed("_Z3putR3OutR4Pair", (0, 2), &[super::super::scene::at("put(")]),
                it.passed("_Z3putR3OutR4Pair", (1, 2), &[super::super::scene::at("put(")]),
            ];
            vec![RawObject { stored_values: StoredValues::Parameter(copy), escapes, ..object(16, Vec::new()) }]
        });
        assert_eq!(names, some(&["result"]));
    }

    #[test]
    fn a_structure_of_pointers_beside_a_smaller_array_is_not_the_object() {
        // `near` has the bytes of `far`, which lives later.
        let text = "__global__ void k(Weights weights, float *out, int n) {\n  float far[16];\n  { float near[4];\n    out[0] = near[n] * weights.w[n]; }\n  out[1] = far[n + 1];\n}\n";
        let objects = |it: &Shown<'_>| {
            let mut shared = object(64, vec![it.computed_load(&[at("out[0]")]), it.computed_load(&[at("out[1]")])]);
            shared.accesses[0].loop_depth = 2;
            vec![shared]
        };
        assert_eq!(named(&Scene::new(text), objects), some(&["far"]));
    }

    #[test]
    fn a_parameter_that_is_not_copied_is_not_the_object_though_more_statements_have_it() {
        let text = "struct Pair { double v[2]; };\n__global__ void k(Pair i, int n) {\n  Sink sink;\n  sink.put(i);\n  other(i, n);\n}\n";
        let scene = Scene::new(text).with_variable(("sink", "Sink", 16), "  Sink sink", &[]);
        let names =
            named(&scene, |it| vec![object(16, vec![it.load(&[at("sink.put(i)")]), it.load(&[at("other(i, n)")])])]);
        assert_eq!(names, some(&["sink"]));
    }

    #[test]
    fn a_member_is_named_where_all_accesses_go_to_it() {
        let text = "__global__ void k(float *out, int n) {\n  State state;\n  out[0] = state.key[n];\n  out[1] = state.used;\n}\n";
        let members = [("key", "float[8]", 32), ("used", "int", 4)];
        let scene = Scene::new(text).with_variable(("state", "State", 36), "  State state", &members);
        let object_of = |bytes: u64| {
            named(&scene, |it| vec![object(bytes, vec![it.computed_load(&[at("out[0]")]), it.load(&[at("out[1]")])])])
        };
        assert_eq!(object_of(36), some(&["state.key"]));
        assert_eq!(object_of(32), some(&["state.key"]));
        // The compiler may split a structure (SROA): an object that fits a member is a part of the structure.
        assert_eq!(object_of(16), some(&["state"]));
        assert_eq!(object_of(24), some(&[""]));
    }

    #[test]
    fn the_array_behind_a_span_is_named_by_its_size() {
        let text =
            "__global__ void k(float *out, int n) {\n  float row[9];\n  Span span{row, 9};\n  out[0] = span[n];\n}\n";
        let scene = Scene::new(text).with_variable(("span", "Span", 16), "  Span span", &[]);
        assert_eq!(named(&scene, |it| vec![object(48, vec![it.computed_load(&[at("out[0]")])])]), some(&["row"]));
        // The span itself is in memory too, if its own address escapes.
        assert_eq!(named(&scene, |it| vec![object(16, vec![it.computed_load(&[at("out[0]")])])]), some(&["span"]));
    }

    #[test]
    fn variables_of_other_lifetimes_share_the_bytes() {
        let text = "__global__ void k(float *out, int n) {\n  { float a[8];\n    out[0] = a[n]; }\n  { float b[8];\n    out[1] = b[n]; }\n}\n";
        Scene::new(text).ask(|it| {
            let mut shared = object(32, vec![it.computed_load(&[at("out[0]")]), it.computed_load(&[at("out[1]")])]);
            shared.accesses[0].loop_depth = 1;
            let name = name_all(&mut [&mut shared], it.trees).remove(0).unwrap();
            let [other] = name.sharing.as_slice() else { panic!("{:?}", name.sharing) };
            let line = other.span.as_ref().map(Span::start_line);
            assert_eq!((name.name.as_str(), other.name.as_str(), line), ("a", "b", Some(4)));
            // The deeper access of another variable is not that of this one.
            let of_other: Vec<bool> = shared.accesses.iter().map(|access| access.is_of_sharing).collect();
            assert_eq!(of_other, [false, true]);
        });
    }

    #[test]
    fn a_block_that_ends_before_a_declaration_shares_its_bytes() {
        let text = "__global__ void k(float *out, int n) {\n  { float near[4];\n    out[0] = near[n]; }\n  float far[16];\n  out[1] = far[n];\n}\n";
        Scene::new(text).ask(|it| {
            let mut shared = object(64, vec![it.computed_load(&[at("out[0]")]), it.computed_load(&[at("out[1]")])]);
            shared.accesses[0].loop_depth = 3;
            let name = name_all(&mut [&mut shared], it.trees).remove(0).unwrap();
            let of_other: Vec<bool> = shared.accesses.iter().map(|access| access.is_of_sharing).collect();
            assert_eq!((name.name.as_str(), name.sharing.len(), of_other), ("far", 1, vec![true, false]));
        });
    }

    #[test]
    fn in_one_block_the_first_is_not_named_where_the_second_is_declared() {
        let of = |last: &str| {
            let text = format!(
                "__global__ void k(float *out, int n) {{\n  float a[8];\n  out[0] = a[n];\n  float b[8];\n  out[1] = b[n];\n  {last}\n}}\n"
            );
            Scene::new(&text).ask(|it| {
                let mut shared = object(32, vec![it.computed_load(&[at("out[0]")]), it.computed_load(&[at("out[1]")])]);
                shared.accesses[0].loop_depth = 1;
                let name = name_all(&mut [&mut shared], it.trees).remove(0).unwrap();
                name.sharing.into_iter().map(|other| other.name).collect::<Vec<String>>()
            })
        };
        assert_eq!(of("out[2] = b[n + 1];"), ["b"]);
        assert!(of("out[2] = a[n + 1];").is_empty());
    }

    #[test]
    fn a_block_in_which_the_first_is_not_named_may_have_its_bytes() {
        let of = |head: &str, last: &str| {
            let text = format!(
                "__global__ void k(float *out, int n) {{\n  float a[8];\n  {head} {{\n  out[0] = a[n];\n  {last} {{ float b[8];\n  out[1] = b[n]; }}\n}} }}\n"
            );
            Scene::new(&text).ask(|it| {
                let mut shared = object(32, vec![it.computed_load(&[at("out[0]")]), it.computed_load(&[at("out[1]")])]);
                shared.accesses[0].loop_depth = 1;
                let name = name_all(&mut [&mut shared], it.trees).remove(0).unwrap();
                name.sharing.into_iter().map(|other| other.name).collect::<Vec<String>>()
            })
        };
        assert_eq!(of("", "if (n)"), ["b"]);
        assert_eq!(of("", "for (; n; --n)"), ["b"]);
        // The first keeps its values from round to round.
        assert!(of("while (n)", "if (n)").is_empty());
    }

    #[test]
    fn what_an_expression_makes_is_not_the_array_that_it_reads() {
        let text = "__global__ void k(float *out, int n) {\n  float a[16];\n  a[n] = out[n];\n  auto e = a;\n  out[0] = e[n];\n}\n";
        let objects = |it: &Shown<'_>| {
            let store = crate::access::Access { kind: nv_code::AccessKind::Store, ..it.computed_load(&[at("a[n] =")]) };
            let load = crate::access::Access { loop_depth: 1, ..it.computed_load(&[at("out[0]")]) };
            vec![object(64, vec![store, load])]
        };
        assert_eq!(named(&Scene::new(text), objects), some(&["a"]));
    }

    #[test]
    fn a_volatile_variable_has_volatile_accesses() {
        let text = "__global__ void k(float *out, int n) {\n  volatile float a[8];\n  float b[8];\n  out[0] = a[n] + b[n];\n}\n";
        let of = |is_volatile: bool| {
            named(&Scene::new(text), |it| {
                let access = it.computed_load(&[at("out[0]")]);
                vec![object(32, vec![crate::access::Access { is_volatile, ..access }])]
            })
        };
        assert_eq!(of(false), some(&["b"]));
    }

    #[test]
    fn a_scalar_beside_an_array_that_fits_as_well() {
        let text = "__global__ void k(float *out, int n) {\n  float low[1] = {0}, high = 1;\n  float *both[2] = {low, &high};\n  keep(both);\n}\n";
        let objects = |it: &Shown<'_>| {
            let stored = || RawObject {
                escapes: vec![crate::access::Escape {
                    kind: crate::access::EscapeKind::Stored,
                    argument: None,
                    ..it.passed("", (0, 0), &[at("float *both")])
                }],
                ..object(4, vec![it.store(&[at("float low")])])
            };
            // The last one has padding.
            vec![stored(), RawObject { bytes: 12, ..stored() }]
        };
        assert_eq!(named(&Scene::new(text), objects), some(&["low", "high"]));
    }

    #[test]
    fn a_load_that_was_moved_is_shown_where_its_value_is_used() {
        let shown_at = |moved_to: &str, used: &str| {
            let text = format!(
                "__global__ void k(float *out, const float *in, int n) {{\n  float a[8];\n  a[n] = 1;\n  {moved_to}\n  {used}\n  out[1] = rest;\n}}\n"
            );
            Scene::new(&text).ask(|it| {
                let used_at = it.computed_load(&[at(used)]).places;
                let moved = Access { used_at, ..it.computed_load(&[at(moved_to)]) };
                let stored = Access { kind: nv_code::AccessKind::Store, ..it.computed_load(&[at("a[n] =")]) };
                let mut object = object(32, vec![stored, moved]);
                let named = name_all(&mut [&mut object], it.trees).remove(0);
                assert!(named.is_some_and(|named| named.name == "a"));
                object.accesses[1].places.first().map(|place| place.line)
            })
        };
        assert_eq!(shown_at("int rest = n - 1;", "out[0] = a[n + 2];"), Some(5));
        // The variable may be behind a macro there, but behind none of the line that the compiler gives.
        assert_eq!(shown_at("int rest = n - 1;", "out[0] = element(n + 2);"), Some(5));
        assert_eq!(shown_at("int rest = in[n];", "out[0] = element(n + 2);"), Some(4));
        assert_eq!(shown_at("int rest = in[n];", "out[0] = a[n + 2];"), Some(5));
    }

    #[test]
    fn an_argument_by_its_number() {
        let text = "__global__ void k(float *out) {\n  float a[8], b[8];\n  keep(a, b);\n}\n";
        let of = |number: usize| {
            named(&Scene::new(text), |it| {
                let escapes = vec![it.passed("_Z4keepPfS_", (number, 2), &[at("keep(")])];
                vec![RawObject { escapes, ..object(32, Vec::new()) }]
            })
        };
        assert_eq!((of(0), of(1)), (some(&["a"]), some(&["b"])));
    }
}
