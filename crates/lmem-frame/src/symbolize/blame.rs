//! Locates an access within its statement: the use of the variable, the index to blame, and the loop around it.

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{CounterSyntax, Declaration, LoopSyntax, Mention, Walk, base_name};
use cuda_syntax::{SyntaxTree, SyntaxTrees, TreeId};
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use nv_code::dataflow::{Provenance, TripCount};
use nv_code::{AccessKind, SourceLines};

use super::affine::is_of_counters;
use super::resolve::{Found, Use};
use super::uniform_index::is_uniform;
use super::walk::walk_of;
use crate::access::{Access, Address};
use crate::place::{Place, Places};

/// Narrows the span of an access from its statement to the use of the variable.
pub fn mark_use(
    access: &mut Access,
    found: &[Found],
    (tree, declaration): (TreeId, &Declaration),
    trees: &SyntaxTrees<'_>,
) {
    let is_it = |mention: &&Mention| {
        mention.declaration.range == declaration.range && mention.declaration.name == declaration.name
    };
    let has_view = |place: &Place| place.tree == tree;
    let found = found.iter().filter(|one| has_view(&one.place) && is_it(&&one.mention));
    let found: Vec<&Found> = found.collect();
    if let Some(first) = found.iter().min_by_key(|one| one.level) {
        let (level, place) = (first.level, &first.place);
        let mentions = || found.iter().filter(|one| one.level == level).map(|one| &one.mention);
        let Some(mention) = best_use(mentions(), access, place, trees) else { return };
        let inner = found.iter().find(|one| std::ptr::eq(&one.mention, mention)).map_or(&[][..], |one| &one.inner);
        match inner {
            [_, ..]
                if level > 0
                    && !is_index_of_caller(access, inner, trees)
                    && !is_element(access, mention, inner, trees)
                    && !has_base(access, &mention.indices, (level, &first.places), trees) =>
            {
                access.via = place.tree(trees).span(mention.range.clone());
                let places = access.places.clone();
                narrow_inner(access, (0, &places), inner, trees);
            }
            _ if access.is_computed() && !has_index(mention) && narrow_between(access, level, trees) => {
                access.via = place.tree(trees).span(mention.range.clone());
            }
            _ => {
                let uses: Vec<Use> = mentions().map(Use::of).collect();
                let guilty = divergent_use(access, &uses, (place, first.places.len() == 1), trees);
                let chosen = guilty.unwrap_or_else(|| Use::of(mention));
                narrow(access, (level, &first.places), &chosen, &uses, trees);
            }
        }
        return;
    }
    // Other accesses decided on the variable: use a mention on the inline chain, if there is one.
    let all = access.places.clone();
    for (level, places) in all.tails().enumerate() {
        let Some(place) = places.first().filter(|place| has_view(place)) else { continue };
        let regions = place.tree(trees).regions(place.offset).into_iter();
        let mentions: Vec<Mention> = regions.flat_map(|region| place.tree(trees).mentions(region).to_vec()).collect();
        let uses: Vec<Use> = mentions.iter().filter(is_it).map(Use::of).collect();
        if let Some(mention) = best_use(mentions.iter().filter(is_it), access, place, trees) {
            if access.is_computed() && !has_index(mention) && narrow_between(access, level, trees) {
                access.via = place.tree(trees).span(mention.range.clone());
                return;
            }
            return narrow(access, (level, places), &Use::of(mention), &uses, trees);
        }
    }
}

/// Whether a data-dependent address begins at an element that the text has: `&a[first]`, or `a + first`, by which loops over constant
/// offsets are moved. What they add is not to blame.
fn has_base(
    access: &Access,
    indices: &[Range<usize>],
    (level, places): (usize, &Places),
    trees: &SyntaxTrees<'_>,
) -> bool {
    let Some(place) = places.first().filter(|_| matches!(access.address, Address::Computed(_))) else { return false };
    let tree = place.tree(trees);
    // What a call within the index reads does not begin there.
    let called = place.callee.as_deref().map(|callee| format!("{}(", base_name(&demangle(callee))));
    let has_call = |index: &Range<usize>| called.as_ref().is_some_and(|it| text_of(index, place, trees).contains(it));
    indices.iter().filter(|index| !has_call(index)).any(|index| {
        let is_fixed = identifiers(text_of(index, place, trees)).all(|word| tree.is_fixed(word, index.start));
        !is_fixed && walk_of(index, level, places, trees).is_none()
    })
}

/// Whether the caller gives an element, `rows[k]`, which the inlined function uses as a whole, or at constant places: the caller's index is
/// the one to blame.
fn is_element(access: &Access, mention: &Mention, inner: &[Use], trees: &SyntaxTrees<'_>) -> bool {
    let is_constant =
        |index: &Range<usize>| access.places.first().is_some_and(|place| is_number(text_of(index, place, trees)));
    has_index(mention) && inner.iter().all(|one| one.all().all(&is_constant))
}

/// Whether the access is in an overloaded `operator[]` or `operator()` that takes its index from the caller: then the caller's is the one
/// to blame, as for a plain array.
fn is_index_of_caller(access: &Access, inner: &[Use], trees: &SyntaxTrees<'_>) -> bool {
    let callee = access.places.get(1).and_then(|place| place.callee.as_deref());
    let is_in_brackets = |name: &str| matches!(base_name(&demangle(name)), "operator[]" | "operator()");
    callee.is_some_and(is_in_brackets) && !has_own_index(access, inner, trees)
}

/// Whether the inlined function computes an index itself: `table[segment]` with a local `segment`, or with a member. The caller's
/// arguments are no index then.
fn has_own_index(access: &Access, inner: &[Use], trees: &SyntaxTrees<'_>) -> bool {
    let Some(place) = access.places.first() else { return false };
    let tree = place.tree(trees);
    let parameters = tree.parameters_around(place.offset).unwrap_or_default();
    let is_own = |word: &str| !tree.is_fixed(word, place.offset) && !parameters.iter().any(|name| name == word);
    let mut indices = inner.iter().flat_map(Use::all);
    indices.any(|index| identifiers(text_of(index, place, trees)).any(is_own))
}

/// Narrows an access to the innermost statement before a level of inlining that indexes what it was given: `v[lo]` for the parameter `v`
/// of a function that has the variable passed, and gives the element on.
fn narrow_between(access: &mut Access, level: usize, trees: &SyntaxTrees<'_>) -> bool {
    let all = access.places.clone();
    for (between, places) in all.tails().enumerate().take(level) {
        let Some(place) = places.first() else { break };
        let tree = place.tree(trees);
        let mentions = tree.regions(place.offset).into_iter().flat_map(|region| tree.mentions(region).to_vec());
        let given: Vec<Mention> = mentions.filter(|mention| mention.declaration.is_parameter).collect();
        let indexed: Vec<&Mention> = given.iter().filter(|mention| !mention.indices.is_empty()).collect();
        // A view by value, `v(row, column)`, has no index that the text shows.
        let views = || {
            let views: Vec<&Mention> = given.iter().filter(|mention| mention.declaration.kind.has_parts()).collect();
            let is_one = views.iter().all(|mention| mention.declaration.range == views[0].declaration.range);
            if is_one { views } else { Vec::new() }
        };
        let chosen = if indexed.is_empty() { views() } else { indexed };
        let uses: Vec<Use> = chosen.into_iter().map(Use::of).collect();
        if !uses.is_empty() {
            narrow_inner(access, (between, places), &uses, trees);
            return true;
        }
    }
    false
}

fn has_index(mention: &Mention) -> bool {
    !mention.indices.is_empty() || !mention.outer.is_empty() || mention.macro_index.is_some()
}

/// Narrows an access to the parameter or member in an inlined function, at a level of inlining; to its statement if several such uses
/// cannot be distinguished.
fn narrow_inner(access: &mut Access, (level, places): (usize, &Places), inner: &[Use], trees: &SyntaxTrees<'_>) {
    let Some(place) = places.first() else { return };
    let best = inner.iter().map(|one| likeness(one, access, place, trees)).max();
    let likely: Vec<&Use> = inner.iter().filter(|one| Some(likeness(one, access, place, trees)) == best).collect();
    let Some(first) = likely.first() else { return };
    narrow(access, (level, places), first, inner, trees);
    // `taps[k].x` and `taps[k].y` access the same element.
    let element = |one: &Use| one.range.start..one.indices.last().map_or(one.range.end, |index| index.end);
    let is_only =
        likely.iter().all(|other| text_of(&element(other), place, trees) == text_of(&element(first), place, trees));
    if !is_only {
        access.span = place.span(trees);
        access.index = None;
    }
}

/// Without a variable there is no source that could contradict, so a possible remainder loop counts as one.
pub fn settle(access: &mut Access) {
    if let (Address::Computed(_), Some(trip)) = (&access.address, access.rest_of) {
        access.address = Address::Induction(trip);
    }
}

/// Among several uses of a variable in a statement, the most likely one for an access.
fn best_use<'m>(
    uses: impl Iterator<Item = &'m Mention>,
    access: &Access,
    place: &Place,
    trees: &SyntaxTrees<'_>,
) -> Option<&'m Mention> {
    uses.max_by_key(|mention| likeness(&Use::of(mention), access, place, trees))
}

/// The use to blame for a divergent address, if the text shows that others are uniform: `w[v] += w[u]` with an own `v` in each thread.
/// One access stands for all of a statement, so that its origins are those of all of them; they are narrowed to the divergent ones. Where
/// the text leaves several uses, of which some are uniform, nothing is said of divergence.
fn divergent_use(
    access: &mut Access,
    uses: &[Use],
    (place, is_of_kernel): (&Place, bool),
    trees: &SyntaxTrees<'_>,
) -> Option<Use> {
    let Address::Computed(sources) = &access.address else { return None };
    if sources.divergent != Some(true) {
        return None;
    }
    let tree = place.tree(trees);
    let best = uses.iter().map(|one| likeness(one, access, place, trees)).max()?;
    let (direction, has_index, ..) = best;
    let is_fit = |one: &&Use| {
        let (is_same_way, is_indexed, ..) = likeness(one, access, place, trees);
        is_same_way == direction && is_indexed == has_index
    };
    let element = |one: &Use| one.all().map(|index| text_of(index, place, trees)).collect::<Vec<_>>();
    let open: Vec<&Use> = uses.iter().filter(is_fit).collect();
    let is_one = |some: &[&Use]| some.iter().all(|other| element(other) == element(some[0]));
    if open.len() < 2 || is_one(&open) {
        return None;
    }
    let is_uniform = |one: &&&Use| one.all().all(|index| is_uniform(tree, index, is_of_kernel));
    let differing: Vec<&Use> = open.iter().filter(|one| !is_uniform(one)).copied().collect();
    let parts = access.parts.iter().filter(|part| part.divergent == Some(true)).cloned();
    let divergent = parts.reduce(|mut one, other| {
        one.merge(other);
        one
    });
    let is_mixed = access.parts.iter().any(|part| part.divergent != Some(true));
    if differing.is_empty() || is_mixed && !is_one(&differing) {
        if let (Address::Computed(sources), true) = (&mut access.address, is_mixed) {
            sources.divergent = None;
        }
        return None;
    }
    if let (Some(divergent), true) = (divergent, is_mixed) {
        access.address = Address::Computed(divergent);
    }
    let guilty = differing.into_iter().max_by_key(|one| likeness(one, access, place, trees))?;
    Some(guilty.clone())
}

/// How well a use matches an access: direction, presence of an index, and kind of index.
fn likeness(one: &Use, access: &Access, place: &Place, trees: &SyntaxTrees<'_>) -> (bool, bool, bool, bool) {
    let direction = if access.kind == AccessKind::Load { one.is_read } else { one.is_written };
    let text = |index: &Range<usize>| text_of(index, place, trees);
    let constant_index = one.all().all(|index| is_number(text(index)));
    // For a data-dependent address, `a[n - 1 - i]` is more likely than `a[i]`.
    let counters = place.tree(trees).counters_around(place.offset);
    let bare_counter = one.indices.iter().all(|index| is_of_counters(place.tree(trees), index, &counters));
    let is_constant = access.address == Address::Constant;
    let expected = matches!(access.address, Address::Induction(_)) == bare_counter;
    (direction, one.all().next().is_some(), constant_index == is_constant, expected)
}

/// Sets the span of an access to a use at a level, where the places from there on start; `uses` are all candidates.
fn narrow(access: &mut Access, (level, places): (usize, &Places), chosen: &Use, uses: &[Use], trees: &SyntaxTrees<'_>) {
    let Some(place) = places.first() else { return };
    let is_moved = !chosen.indices.is_empty() && has_base(access, &chosen.outer, (level, places), trees);
    let moved = || Use { indices: Vec::new(), ..chosen.clone() };
    let index = match is_moved {
        true => guilty_index(&moved(), access, place, trees),
        false => guilty_index(chosen, access, place, trees),
    };
    if !(index.is_none() && access.is_computed() && is_elsewhere(chosen, place, trees)) {
        access.span = place.tree(trees).span(chosen.range.clone()).or(access.span.take());
    }
    let is_listed = index.as_ref().is_some_and(|index| place.tree(trees).is_stepped_conditionally(index));
    if let (Address::Induction(_), true) = (&access.address, is_listed) {
        // In the PTX the value steps by a constant, but the source shows that not every iteration steps it.
        access.address = Address::Computed(Provenance { induction: true, ..Provenance::chosen(access.divergent) });
    }
    if let (Address::Computed(sources), false) = (&access.address, is_listed) {
        let is_own = !(sources.thread_index || sources.block_index);
        let walked = index.clone().filter(|_| !access.is_found && !is_moved);
        let walk = walked.and_then(|index| walk_of(&index, level, places, trees));
        let objects = |used: &Use| {
            let open = used.all().filter(|index| !is_number(text_of(index, place, trees)));
            open.into_iter().any(|index| walk_of(index, level, places, trees).is_none())
        };
        match (walk, access.rest_of) {
            (Some(Walk::Constant), _) => access.address = Address::Induction(TripCount::Constant),
            (Some(Walk::FromConstant), _) => access.address = Address::Induction(TripCount::RunTime),
            (Some(Walk::FromValue), _) if is_own => access.address = Address::Induction(TripCount::RunTime),
            (_, Some(trip)) if !uses.iter().any(objects) => access.address = Address::Induction(trip),
            _ => {}
        }
    }
    access.index = index.and_then(|index| place.tree(trees).span(index));
}

/// The index to blame, which must not be constant. A number is constant; so is an induction variable if the address
/// depends on none, because its loop was unrolled. If several indices remain, all of them. If the variable is used
/// through an alias without such an index, the index in the alias's initializer.
fn guilty_index(used: &Use, access: &Access, place: &Place, trees: &SyntaxTrees<'_>) -> Option<Range<usize>> {
    let has_counter = match &access.address {
        Address::Computed(sources) => sources.induction,
        Address::Induction(_) => true,
        Address::Constant => false,
    };
    let counters = if has_counter { Rc::default() } else { place.tree(trees).counters_around(place.offset) };
    let is_open = |range: &&Range<usize>| {
        let text = text_of(range, place, trees);
        !is_number(text) && !is_counter(&counters, text)
    };
    for indices in [&used.indices, &used.outer] {
        let open: Vec<&Range<usize>> = indices.iter().filter(is_open).collect();
        match open.as_slice() {
            [] => {}
            [only] => return Some((*only).clone()),
            _ => return together(indices, place, trees),
        }
    }
    let indices = if used.indices.iter().all(|index| is_number(text_of(index, place, trees))) {
        &used.outer
    } else {
        &used.indices
    };
    match indices.as_slice() {
        // A pointer that moves on from there has an index that the text does not show.
        [only] if access.is_computed() && is_number(text_of(only, place, trees)) => None,
        [only] => Some(only.clone()),
        _ => together(indices, place, trees),
    }
}

/// Whether a use stands elsewhere than in the statements of a place: where a pointer to the variable was made.
fn is_elsewhere(used: &Use, place: &Place, trees: &SyntaxTrees<'_>) -> bool {
    let regions = place.tree(trees).regions(place.offset);
    let is_in = |region: &cuda_syntax::ast::Node<'_>| region.byte_range().contains(&used.range.start);
    !regions.is_empty() && !regions.iter().any(is_in)
}

/// The range of several indices, with the brackets between them.
fn together(indices: &[Range<usize>], place: &Place, trees: &SyntaxTrees<'_>) -> Option<Range<usize>> {
    Some(indices.first()?.start.saturating_sub(1)..(indices.last()?.end + 1).min(place.tree(trees).text().len()))
}

fn text_of<'v>(range: &Range<usize>, place: &Place, trees: &'v SyntaxTrees<'_>) -> &'v str {
    place.tree(trees).text().get(range.clone()).unwrap_or("").trim()
}

fn is_counter(counters: &[CounterSyntax], text: &str) -> bool {
    counters.iter().any(|counter| counter.name == text)
}

fn is_number(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit())
}

/// The source loop of a machine-code loop. Among the loops around a place, the one whose header has the line of the
/// back-edge branch; else the innermost one without an unroll pragma. For a loop in a library header the user's files
/// show no loop: then no loop around the call is taken. With a `depth` of the machine code, the innermost one counts only
/// if the text has no more loops than that: else some are unrolled, and nothing tells which.
pub fn source_loop(
    places: &Places,
    branch: &SourceLines,
    depth: Option<u32>,
    trees: &SyntaxTrees<'_>,
) -> Option<(Rc<SyntaxTree>, LoopSyntax)> {
    if let Some(of_line) = loop_of_line(places, branch, trees) {
        return of_line;
    }
    let around = || {
        places.iter().flat_map(|place| {
            let tree = place.tree(trees);
            tree.loops_around(place.offset).into_iter().map(move |found| (Rc::clone(tree), found))
        })
    };
    let is_of_library = places.first().is_some_and(|place| place.callee.is_some())
        && branch.first().is_some_and(|line| trees.id(&line.file).is_none());
    let rolled = || around().filter(|(tree, found)| !is_unrolled(tree, found));
    let is_innermost = || !is_of_library && depth.is_none_or(|depth| rolled().count() <= depth as usize);
    around()
        .find(|(tree, found)| closes(tree, found, branch, trees))
        .or_else(|| rolled().next().filter(|_| is_innermost()))
}

/// The loop of an inlined function that has its loops on one line, where an access tells no column: around the place there is
/// none then, and the loops around the call are others. `None` where that is not so, `Some(None)` where several loops may be it.
fn loop_of_line(
    places: &Places,
    branch: &SourceLines,
    trees: &SyntaxTrees<'_>,
) -> Option<Option<(Rc<SyntaxTree>, LoopSyntax)>> {
    places.first().filter(|place| place.callee.is_none() && places.len() > 1)?;
    let (file, line) = branch.first().and_then(|line| trees.locate(&line.file, line.line))?;
    let tree = trees.tree(file);
    // The function with the loop may have called another one, which has the access.
    let mut of_file = places.iter().take_while(|place| place.tree(trees).loops_around(place.offset).is_empty());
    of_file.find_map(|place| {
        let has_line = |found: &LoopSyntax| {
            (tree.line_of(found.range.start)..=tree.line_of(found.range.end)).contains(&(line as usize))
        };
        let own = Some(tree).filter(|tree| Rc::ptr_eq(tree, place.tree(trees)))?;
        let mut found = own.loops_in_function(place.offset).into_iter().filter(has_line);
        let only = found.next()?;
        Some(found.next().is_none().then(|| (Rc::clone(tree), only)))
    })
}

/// The source loop that moves an index. Of several, one that the machine code has, else one whose trip count is unknown; of several on a
/// line, one that is counted as the machine code is.
pub fn moving_loop(
    places: &Places,
    index: &Span,
    (branch, is_counted): (&SourceLines, bool),
    trees: &SyntaxTrees<'_>,
) -> Option<(Rc<SyntaxTree>, LoopSyntax)> {
    let (tree, at) = places.iter().find_map(|place| {
        let tree = place.tree(trees);
        Some((tree, tree.offset_of(index)?))
    })?;
    let found = tree.loops_moving(&(at..at + index.text().len()));
    let left: Vec<_> = found.into_iter().filter(|one| !is_unrolled(tree, &one.syntax)).collect();
    let closing = || left.iter().filter(|one| closes(tree, &one.syntax, branch, trees));
    let closing = closing().find(|one| one.is_counted == is_counted).or_else(|| closing().next());
    let best = closing.or_else(|| left.iter().find(|one| !one.is_counted)).or(left.first())?;
    Some((Rc::clone(tree), best.syntax.clone()))
}

/// Whether the branch of a machine-code loop has a line of a loop's header.
fn closes(tree: &Rc<SyntaxTree>, found: &LoopSyntax, branch: &SourceLines, trees: &SyntaxTrees<'_>) -> bool {
    let header = tree.line_of(found.range.start)..=tree.line_of(found.range.end);
    branch.iter().any(|line| {
        trees
            .locate(&line.file, line.line)
            .is_some_and(|(other, line)| header.contains(&(line as usize)) && Rc::ptr_eq(trees.tree(other), tree))
    })
}

/// Whether `#pragma unroll` without a factor stands before a loop.
fn is_unrolled(tree: &SyntaxTree, found: &LoopSyntax) -> bool {
    let pragma = found.pragma.clone();
    pragma.is_some_and(|range| tree.text().get(range).is_some_and(|text| text.trim_end().ends_with("unroll")))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Level, Scene, Shown, at, object};
    use super::*;
    use crate::symbolize::name::name_all;
    use nv_code::SourceLine;

    /// The use, the index and the address of an access after symbolization.
    fn marked(text: &str, access: impl FnOnce(&Shown<'_>) -> Access) -> (String, Option<String>, Address) {
        Scene::new(text).ask(|it| {
            let mut object = object(32, vec![access(it)]);
            let named = name_all(&mut [&mut object], it.trees).remove(0);
            assert!(named.is_some(), "no name");
            let access = object.accesses.remove(0);
            let index = it.shown(access.index.as_ref());
            (it.shown(access.span.as_ref()).unwrap(), index, access.address)
        })
    }

    fn kernel(statements: &str) -> String {
        format!(
            "__global__ void k(float *out, const int *from, int n) {{\n  float a[8], grid[2][4];\n{statements}\n}}\n"
        )
    }

    #[test]
    fn the_index_that_is_no_number_is_to_blame() {
        let (used, index, _) =
            marked(&kernel("  out[0] = a[from[n]] + a[1];"), |it| it.computed_load(&[at("out[0] =")]));
        assert_eq!((used.as_str(), index.as_deref()), ("a[from[n]]", Some("from[n]")));
        let (used, index, _) = marked(&kernel("  out[0] = grid[1][n];"), |it| it.computed_load(&[at("out[0] =")]));
        assert_eq!((used.as_str(), index.as_deref()), ("grid[1][n]", Some("n")));
        let (_, index, _) = marked(&kernel("  out[0] = grid[from[0]][n];"), |it| it.computed_load(&[at("out[0] =")]));
        assert_eq!(index.as_deref(), Some("[from[0]][n]"));
    }

    #[test]
    fn a_store_is_marked_at_what_is_written() {
        let text = kernel("  a[n] = a[3];");
        let stored = |it: &Shown<'_>| Access { kind: AccessKind::Store, ..it.computed_load(&[at("a[n] =")]) };
        assert_eq!(marked(&text, stored).0, "a[n]");
        assert_eq!(marked(&text, |it| it.load(&[at("a[n] =")])).0, "a[3]");
    }

    #[test]
    fn a_counter_in_the_text_makes_a_walk_of_a_remainder() {
        let text = kernel("  for (int i = 0; i < n; ++i) out[i] = a[i];");
        assert_eq!(marked(&text, |it| it.computed_load(&[at("out[i] =")])).2, Address::Induction(TripCount::RunTime));
        let data = kernel("  for (int i = 0; i < n; ++i) out[i] = a[from[i]];");
        assert!(matches!(marked(&data, |it| it.computed_load(&[at("out[i] =")])).2, Address::Computed(_)));
    }

    #[test]
    fn a_counter_that_not_every_round_steps_is_data() {
        let text =
            kernel("  int top = 0;\n  for (int i = 0; i < n; ++i) { if (from[i]) a[top++] = 1; }\n  out[0] = a[0];");
        let stepped = |it: &Shown<'_>| Access {
            kind: AccessKind::Store,
            address: Address::Induction(TripCount::RunTime),
            ..it.load(&[at("a[top++]")])
        };
        assert!(matches!(marked(&text, stepped).2, Address::Computed(_)));
    }

    #[test]
    fn the_use_in_a_method_is_shown_with_the_object_at_the_call() {
        let text = "struct Ring { float slot[8]; __device__ float at(int i) { return slot[i & 7]; } };\n\
                    __global__ void k(float *out, int n) {\n  Ring ring;\n  out[0] = ring.at(n);\n}\n";
        let function = Some("_ZN4Ring2atEi");
        let levels = [
            Level { at: "return slot", function, callee: None },
            Level { at: "out[0]", function: None, callee: function },
        ];
        Scene::new(text).ask(|it| {
            let mut object = object(32, vec![it.computed_load(&levels)]);
            assert!(name_all(&mut [&mut object], it.trees).remove(0).is_some());
            let access = &object.accesses[0];
            let shown = [&access.span, &access.index, &access.via].map(|span| it.shown(span.as_ref()));
            assert_eq!(shown, ["slot[i & 7]", "i & 7", "ring.at"].map(|text| Some(text.to_string())));
        });
    }

    #[test]
    fn an_operator_that_computes_its_index_shows_its_own_access() {
        let text = "struct Table { float slot[8]; __device__ float operator()(float x) { int at = x; return slot[at]; }\n\
                    __device__ float operator[](int i) { return slot[i]; } };\n\
                    __global__ void k(float *out, int n) {\n  Table t;\n  out[0] = t(n);\n  out[1] = t[n + 1];\n}\n";
        let shown = |inside: &str, function: &str, call: &str| {
            let function = Some(function);
            let levels =
                [Level { at: inside, function, callee: None }, Level { at: call, function: None, callee: function }];
            Scene::new(text).ask(|it| {
                let mut object = object(32, vec![it.computed_load(&levels)]);
                assert!(name_all(&mut [&mut object], it.trees).remove(0).is_some());
                it.shown(object.accesses[0].index.as_ref())
            })
        };
        assert_eq!(shown("return slot[at]", "_ZN5TableclEf", "out[0]").as_deref(), Some("at"));
        assert_eq!(shown("return slot[i]", "_ZN5TableixEi", "out[1]").as_deref(), Some("n + 1"));
    }

    #[test]
    fn a_method_that_another_method_calls_shows_its_own_access() {
        let text = "struct Ring { float slot[8]; __device__ float at(int i) { return slot[i & 7]; }\n\
                    __device__ float sum(const int *from, int n) { return n + at(from[n]); } };\n\
                    __global__ void k(float *out, const int *from, int n) {\n  Ring ring;\n  out[0] = ring.sum(from, n);\n}\n";
        let (at_, sum) = (Some("_ZN4Ring2atEi"), Some("_ZN4Ring3sumEPKii"));
        let levels = [
            Level { at: "return slot", function: at_, callee: None },
            Level { at: "return n +", function: sum, callee: at_ },
            Level { at: "out[0]", function: None, callee: sum },
        ];
        Scene::new(text).ask(|it| {
            let mut object = object(32, vec![it.computed_load(&levels)]);
            assert!(name_all(&mut [&mut object], it.trees).remove(0).is_some());
            let access = &object.accesses[0];
            let shown = [&access.span, &access.index, &access.via].map(|span| it.shown(span.as_ref()));
            assert_eq!(shown, ["slot[i & 7]", "i & 7", "ring.sum"].map(|text| Some(text.to_string())));
        });
    }

    #[test]
    fn what_moves_a_pointer_is_to_blame_for_the_loop_behind_it() {
        let text = "__device__ float dot(const float *p, const float *q) { float s = 0; for (int k = 0; k < 4; ++k) s += p[k] * q[k]; return s; }\n\
                    __global__ void k(float *out, const int *from, int n) {\n  float a[8];\n\
                    out[0] = dot(&a[from[n] & 3], out);\n  out[1] = dot(&a[4], out);\n}\n";
        let marked = |call: &str| {
            let callee = Some("_Z3dotPKfS0_");
            let levels =
                [Level { at: "s += p[k]", function: callee, callee: None }, Level { at: call, function: None, callee }];
            Scene::new(text).ask(|it| {
                let mut object = object(32, vec![it.computed_load(&levels)]);
                assert!(name_all(&mut [&mut object], it.trees).remove(0).is_some());
                let access = &object.accesses[0];
                (it.shown(access.index.as_ref()), matches!(access.address, Address::Computed(_)))
            })
        };
        assert_eq!(marked("out[0]"), (Some("from[n] & 3".to_string()), true));
        assert_eq!(marked("out[1]"), (Some("k".to_string()), false));
    }

    #[test]
    fn a_method_with_an_index_of_its_own_shows_that() {
        let text = "struct State { float s[8]; int i; __device__ float operator()() { i = (i + 1) % 8; return s[i]; } };\n\
                    __global__ void k(float *out, int n) {\n  State state;\n  out[0] = state();\n}\n";
        let callee = Some("_ZN5StateclEv");
        let levels = [
            Level { at: "return s[i]", function: callee, callee: None },
            Level { at: "out[0]", function: None, callee },
        ];
        Scene::new(text).ask(|it| {
            let mut object = object(32, vec![it.computed_load(&levels)]);
            assert!(name_all(&mut [&mut object], it.trees).remove(0).is_some());
            assert_eq!(it.shown(object.accesses[0].index.as_ref()).as_deref(), Some("i"));
        });
    }

    /// The index and the divergence of a load that stands for two: one that differs from thread to thread, and a uniform one.
    fn of_two(statement: &str) -> (Option<String>, Option<bool>) {
        let text =
            kernel(&format!("  const int v = from[threadIdx.x], u = n % 8, x = from[n], y = from[2];\n  {statement}"));
        let (_, index, address) = marked(&text, |it| {
            let load = it.computed_load(&[at(statement)]);
            let of = |divergent| Provenance { divergent: Some(divergent), loaded: divergent, ..Provenance::default() };
            let both = Provenance { loaded: true, ..of(true) };
            Access { parts: vec![of(true), of(false)], address: Address::Computed(both), ..load }
        });
        let Address::Computed(sources) = address else { panic!("{address:?}") };
        (index, sources.divergent)
    }

    #[test]
    fn of_several_indices_the_one_that_may_differ_is_divergent() {
        assert_eq!(of_two("a[v] += a[u];"), (Some("v".to_string()), Some(true)));
        assert_eq!(of_two("out[0] = n ? a[v & 7] : a[n % 8];"), (Some("v & 7".to_string()), Some(true)));
        // The text does not tell which of these differs.
        assert_eq!(of_two("out[0] = a[x] + a[y];").1, None);
        assert_eq!(of_two("out[0] = a[v] * a[v];"), (Some("v".to_string()), Some(true)));
    }

    #[test]
    fn what_may_be_a_remainder_is_one_where_no_source_objects() {
        let computed = |rest_of| Access {
            rest_of,
            ..Access::new(AccessKind::Load, Address::Computed(Provenance::default()), Places::default())
        };
        let mut rest = computed(Some(TripCount::RunTime));
        settle(&mut rest);
        assert_eq!(rest.address, Address::Induction(TripCount::RunTime));
        let mut data = computed(None);
        settle(&mut data);
        assert!(matches!(data.address, Address::Computed(_)));
    }

    #[test]
    fn loops_by_the_line_of_their_branch_else_the_innermost_that_stays() {
        let text = "__global__ void k(float *out, int n) {\n  float a[8];\n  for (int j = 0; j < n; ++j) {\n#pragma unroll\n    for (int i = 0; i < 8; ++i)\n      out[i] = a[j];\n  }\n}\n";
        assert_eq!(loop_at(text, &[], None), Some(3));
        assert_eq!(loop_at(text, &[], Some(1)), Some(3));
        let closing = SourceLine { file: cuda_syntax::Example::NAME.into(), line: 5 };
        assert_eq!(loop_at(text, &[closing], None), Some(5));
    }

    #[test]
    fn more_loops_than_the_machine_code_has_tell_nothing() {
        let text = "__global__ void k(float *out, int n) {\n  float a[8];\n  for (int j = 0; j < n; ++j) {\n    for (int i = 0; i < 4; ++i)\n      out[i] = a[j];\n  }\n}\n";
        assert_eq!(loop_at(text, &[], Some(2)), Some(4));
        assert_eq!(loop_at(text, &[], Some(1)), None);
        let closing = SourceLine { file: cuda_syntax::Example::NAME.into(), line: 3 };
        assert_eq!(loop_at(text, &[closing], Some(1)), Some(3));
    }

    /// The line of the source loop around `out[i]`, by the lines of the branch and the depth in machine code.
    fn loop_at(text: &str, branch: &[SourceLine], depth: Option<u32>) -> Option<usize> {
        Scene::new(text).ask(|it| {
            let (tree, found) =
                source_loop(&it.places(&[at("out[i]")]), &branch.iter().cloned().collect(), depth, it.trees)?;
            Some(tree.line_of(found.range.start))
        })
    }
}
