//! The variable of an object: the one that its accesses mention, if exactly one fits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::call_syntax::base_name;
use super::demangle;
use super::loops::Trip;
use super::objects::{Access, Address, Escape, EscapeKind, RawObject};
use super::place::Place;
use super::resolve::{Resolved, resolve};
use super::syntax::{CounterSyntax, Declaration, DeclarationKind, LoopSyntax, Mention, Volatility};
use super::view::{SourceView, Views};
use crate::read::{AccessKind, SourceLine};
use crate::source::Span;

/// Padding that the layout may add behind an object: alignment is 16 bytes at most.
const MAX_PADDING: u64 = 15;

/// A variable of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// As the source writes it: `float[32]`.
    pub type_text: String,
    pub kind: DeclarationKind,
    pub is_parameter: bool,
    pub volatility: Option<Volatility>,
    /// What it is initialised with.
    pub initializer: Option<Span>,
    /// Its size, where the source tells; the object may have padding.
    pub bytes: Option<u64>,
    /// The name where it is declared.
    pub span: Span,
}

/// A declaration in one of the unit's texts; the text is told by the address of its view.
type Candidate = (usize, Declaration);

#[derive(Default)]
struct Score {
    /// Votes that can hardly err: computed indices, and arguments by their number.
    certain: u64,
    places: u64,
    /// Its address is handed on somewhere.
    is_passed: bool,
    /// Members that computed accesses go to; the empty path is the variable itself.
    members: BTreeSet<String>,
    span: Option<Span>,
    initializer: Option<Span>,
}

/// Names an object and marks its uses in `object.accesses`; nothing is named that is not the only choice.
pub fn name(object: &mut RawObject, views: &Views<'_>) -> Option<Variable> {
    if object.is_library {
        return None;
    }
    let mut scores = votes(object, views);
    scores.retain(|(_, declaration), score| fitting(declaration, score, object.bytes).is_some());
    let guilty = object.accesses.iter().max_by_key(|access| access.guilt()).filter(|access| access.is_computed());
    if let Some(guilty) = guilty {
        // Variables that share memory each have statements of their own: the one with the run-time index is to blame.
        let of_guilty = candidates(guilty, views);
        if scores.keys().any(|candidate| of_guilty.contains(candidate)) {
            scores.retain(|candidate, _| of_guilty.contains(candidate));
        }
    }
    let best = scores.values().map(rank).max()?;
    let mut winners = scores.into_iter().filter(|(_, score)| rank(score) == best).collect::<Vec<_>>();
    if winners.len() > 1 {
        // Of an array and a number that stand in the same statements, the array is the one with an address.
        let best_kind = winners.iter().map(|((_, declaration), _)| declaration.kind).min()?;
        winners.retain(|((_, declaration), _)| declaration.kind == best_kind);
    }
    if winners.len() > 1 {
        // Padding makes several sizes possible; the one that leaves none is the better answer.
        let padding = |((_, declaration), score): &(Candidate, Score)| {
            fitting(declaration, score, object.bytes)
                .and_then(|part| part.bytes)
                .map_or(u64::MAX, |bytes| object.bytes - bytes)
        };
        let least = winners.iter().map(padding).min()?;
        winners.retain(|winner| padding(winner) == least);
    }
    let [((view, declaration), score)] = winners.as_slice() else { return None };
    let part = fitting(declaration, score, object.bytes)?;
    for access in &mut object.accesses {
        mark(access, *view, declaration, views);
    }
    Some(Variable {
        name: part.name,
        type_text: part.type_text,
        kind: part.kind,
        is_parameter: declaration.is_parameter,
        volatility: declaration.volatility.clone().or_else(|| volatile_member(object, *view, declaration)),
        initializer: score.initializer.clone(),
        bytes: part.bytes,
        span: score.span.clone()?,
    })
}

/// The `volatile` member of the variable's type, where the machine code has such accesses.
fn volatile_member(object: &RawObject, view: usize, declaration: &Declaration) -> Option<Volatility> {
    let places = object.accesses.iter().filter(|access| access.is_volatile).flat_map(|access| &access.places);
    let mut views = places.map(|place| &place.view).filter(|candidate| Rc::as_ptr(candidate) as usize == view);
    views.next()?.volatile_member(declaration.type_text.split('[').next()?).map(Volatility::Member)
}

/// What of a variable an object is: all of it, or a member.
struct Part {
    name: String,
    type_text: String,
    kind: DeclarationKind,
    bytes: Option<u64>,
}

/// The variable, or the member that all its computed accesses go to, where the size fits the object's.
fn fitting(declaration: &Declaration, score: &Score, bytes: u64) -> Option<Part> {
    let whole_fits = size_fits(declaration.bytes, bytes);
    let mut paths = score.members.iter();
    let path = paths.next().filter(|path| !path.is_empty() && paths.next().is_none());
    let member = path.map(|path| (path, declaration.members.iter().find(|(known, ..)| known == path)));
    match member {
        // A structure of one member is a wrapper, and its member nobody's name.
        Some((path, Some((_, type_text, member_bytes))))
            if is_worth_naming(declaration) && (whole_fits || size_fits(Some(*member_bytes), bytes)) =>
        {
            let kind = if type_text.ends_with(']') { DeclarationKind::Array } else { declaration.kind };
            let name = format!("{}.{path}", declaration.name);
            Some(Part { name, type_text: type_text.clone(), kind, bytes: Some(*member_bytes) })
        }
        Some((path, None))
            if whole_fits && declaration.members.is_empty() && declaration.kind == DeclarationKind::Aggregate =>
        {
            let name = format!("{}.{path}", declaration.name);
            Some(Part {
                name,
                type_text: declaration.type_text.clone(),
                kind: declaration.kind,
                bytes: declaration.bytes,
            })
        }
        _ if whole_fits => Some(Part {
            name: declaration.name.clone(),
            type_text: declaration.type_text.clone(),
            kind: declaration.kind,
            bytes: declaration.bytes,
        }),
        // The compiler may take a structure apart.
        _ if declaration.members.iter().any(|(_, _, member)| size_fits(Some(*member), bytes)) => Some(Part {
            name: declaration.name.clone(),
            type_text: declaration.type_text.clone(),
            kind: declaration.kind,
            bytes: declaration.bytes,
        }),
        _ => None,
    }
}

fn is_worth_naming(declaration: &Declaration) -> bool {
    declaration.members.iter().filter(|(path, ..)| !path.contains('.')).count() > 1
}

/// The variables that one access may be to.
fn candidates(access: &Access, views: &Views<'_>) -> BTreeSet<Candidate> {
    let Some(found) = resolve(&access.places, views, &|mention| fits_access(mention, access)) else {
        return BTreeSet::new();
    };
    let view = Rc::as_ptr(&access.places[found.level].view) as usize;
    found.mentions.into_iter().map(|mention| (view, mention.declaration)).collect()
}

/// The size of the variable that an object is, where all accesses agree on one whose size the source tells.
pub fn declared_bytes(object: &RawObject, views: &Views<'_>) -> Option<u64> {
    let scores = votes(object, views);
    let best = scores.values().map(rank).max()?;
    let mut winners =
        scores.into_iter().filter(|(_, score)| rank(score) == best).map(|((_, declaration), _)| declaration);
    let winner = winners.next().filter(|declaration| declaration.kind == DeclarationKind::Array)?;
    winners.next().is_none().then_some(winner.bytes)?
}

/// Mangled names of a lambda's call operator: `…ENKUliE_clEi`.
fn is_lambda(function: &str) -> bool {
    function.starts_with("_Z") && function.contains("Ul") && function.contains("_cl")
}

fn votes(object: &RawObject, views: &Views<'_>) -> BTreeMap<Candidate, Score> {
    let mut scores: BTreeMap<Candidate, Score> = BTreeMap::new();
    // What a function does through a pointer mentions variables of its own.
    for access in object.accesses.iter().filter(|access| !access.in_callee) {
        let found = resolve(&access.places, views, &|mention| fits_access(mention, access));
        vote(&access.places, found, access.is_computed(), &mut scores);
    }
    for escape in &object.escapes {
        let argument = argument_range(escape);
        let fits = |mention: &Mention| match &argument {
            Some(range) => range.start <= mention.range.start && mention.range.end <= range.end,
            None => match &escape.kind {
                EscapeKind::Generic(opcode) if opcode.starts_with("st") => mention.is_written,
                EscapeKind::Generic(opcode) if opcode.starts_with("ld") => mention.is_read,
                // The object of a lambda is not among what the source passes to it; nor is what a member points to.
                EscapeKind::Call(function) if is_lambda(function) || escape.argument.is_none() => false,
                _ => mention.is_passed || mention.indices.is_empty(),
            },
        };
        vote(&escape.places, resolve(&escape.places, views, &fits), argument.is_some(), &mut scores);
    }
    // A number is in memory only where its address is taken or it is `volatile`; else it only stands nearby.
    scores.retain(|(_, declaration), score| {
        declaration.kind != DeclarationKind::Scalar || score.is_passed || declaration.volatility.is_some()
    });
    scores
}

/// Where the argument stands that an address leaves by, at the innermost level.
fn argument_range(escape: &Escape) -> Option<Range<usize>> {
    let (EscapeKind::Call(function), Some((index, count))) = (&escape.kind, escape.argument) else { return None };
    let place = escape.places.first()?;
    let region = place.view.region(place.offset)?;
    place.view.argument(region, &demangle(function), index, count)
}

fn rank(score: &Score) -> (u64, u64) {
    (score.certain, score.places)
}

/// Each access counts once for every variable that it may be to.
fn vote(places: &[Place], found: Option<Resolved>, is_certain: bool, scores: &mut BTreeMap<Candidate, Score>) {
    let Some(found) = found else { return };
    let place = &places[found.level];
    let view = Rc::as_ptr(&place.view) as usize;
    let mut seen = BTreeSet::new();
    let indexed: BTreeSet<Declaration> = found
        .mentions
        .iter()
        .filter(|mention| !mention.indices.is_empty())
        .map(|mention| mention.declaration.clone())
        .collect();
    for mention in found.mentions {
        // `state.w` beside `state.key[k]` is not where the index is.
        let is_index = !mention.indices.is_empty() || !indexed.contains(&mention.declaration);
        let path = member_path(&mention, place);
        let span = place.view.span(mention.declaration.range.0..mention.declaration.range.1);
        let initializer = mention.declaration.initializer.and_then(|(start, end)| place.view.span(start..end));
        let is_first = seen.insert(mention.declaration.clone());
        let score = scores.entry((view, mention.declaration)).or_default();
        score.is_passed |= mention.is_passed;
        score.span = score.span.take().or(span);
        score.initializer = score.initializer.take().or(initializer);
        if is_first {
            score.places += 1;
            score.certain += u64::from(is_certain);
        }
        if is_certain && is_index {
            score.members.insert(path);
        }
    }
}

/// `key` of `state.key[k]`; empty for the variable itself.
fn member_path(mention: &Mention, place: &Place) -> String {
    let text = place.view.text().get(mention.range.clone()).unwrap_or("");
    let path = text.split('[').next().unwrap_or("").trim();
    let members = path.split_once('.').map_or("", |(_, members)| members);
    let is_path = members.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    // A method is no member that has memory.
    let is_called = place.view.text()[mention.range.end..].trim_start().starts_with('(');
    if is_path && !is_called && !mention.indices.is_empty() { members.to_string() } else { String::new() }
}

fn fits_access(mention: &Mention, access: &Access) -> bool {
    let direction = match access.kind {
        AccessKind::Load => mention.is_read,
        AccessKind::Store => mention.is_written,
    };
    // A number has no index; its whole value is read and written, also where its address is handed on.
    let is_plain_number = mention.declaration.kind == DeclarationKind::Scalar;
    direction && !(is_plain_number && access.is_computed())
}

fn size_fits(size: Option<u64>, bytes: u64) -> bool {
    size.is_none_or(|size| size <= bytes && bytes <= size + MAX_PADDING)
}

/// Narrows an access from its statement to the use of the variable, and notes the loop around it.
fn mark(access: &mut Access, view: usize, declaration: &Declaration, views: &Views<'_>) {
    let resolved = resolve(&access.places, views, &|mention| fits_access(mention, access));
    let is_it = |mention: &Mention| {
        mention.declaration.range == declaration.range && mention.declaration.name == declaration.name
    };
    let has_view = |place: &Place| Rc::as_ptr(&place.view) as usize == view;
    let found = resolved.filter(|found| has_view(&access.places[found.level]) && found.mentions.iter().any(is_it));
    if let Some(found) = found {
        let place = access.places[found.level].clone();
        let Some(mention) = best_use(found.mentions.iter().filter(|mention| is_it(mention)), access, &place) else {
            return;
        };
        // An operator stands for the brackets of a plain array: the caller's index is what the user chose.
        let is_operator = access
            .places
            .get(1)
            .and_then(|place| place.callee.as_deref())
            .is_some_and(|name| base_name(&demangle(name)).starts_with("operator"));
        match found.inner.filter(|_| found.level > 0 && !is_operator) {
            Some(inner) => {
                access.via = place.view.span(mention.range.clone());
                let place = access.places[0].clone();
                narrow(access, &place, &inner.range, &inner.indices);
            }
            None => narrow(access, &place, &mention.range, &mention.indices),
        }
        return;
    }
    // The variable won by other accesses: a mention on the way, if there is one.
    for place in access.places.clone().iter().filter(|place| has_view(place)) {
        let Some(region) = place.view.region(place.offset) else { continue };
        let mentions = place.view.mentions(region);
        if let Some(mention) = best_use(mentions.iter().filter(|mention| is_it(mention)), access, place) {
            return narrow(access, place, &mention.range, &mention.indices);
        }
    }
}

/// Of several uses of a variable in a statement the one that an access most likely is.
fn best_use<'m>(uses: impl Iterator<Item = &'m Mention>, access: &Access, place: &Place) -> Option<&'m Mention> {
    let is_constant = access.address == Address::Constant;
    uses.max_by_key(|mention| {
        let direction = if access.kind == AccessKind::Load { mention.is_read } else { mention.is_written };
        let text = |index: &Range<usize>| place.view.text().get(index.clone()).unwrap_or("").trim().to_string();
        let constant_index = mention.indices.iter().all(|index| is_number(&text(index)));
        // Where data takes part, `a[n - 1 - i]` is a better answer than `a[i]`.
        let counters = place.view.counters_around(place.offset);
        let bare_counter = mention.indices.iter().all(|index| is_counter(&counters, &text(index)));
        let expected = matches!(access.address, Address::Counter(_)) == bare_counter;
        (direction, !mention.indices.is_empty(), constant_index == is_constant, expected)
    })
}

fn narrow(access: &mut Access, place: &Place, range: &Range<usize>, indices: &[Range<usize>]) {
    access.span = place.view.span(range.clone()).or(access.span.take());
    let index = guilty_index(indices, access, place);
    if let (Address::Computed(_), Some(index)) = (&access.address, index.clone()) {
        let text = place.view.text().get(index).unwrap_or("");
        if is_walk(text, &place.view.counters_around(place.offset)) {
            access.address = Address::Counter(Trip::RunTime);
        }
    }
    access.index = index.and_then(|index| place.view.span(index));
}

/// Of several indices the one that is no constant: not a number, and, where no counter takes part in the address, not
/// the counter of a loop, which was unrolled then. Where that leaves several, all of them.
fn guilty_index(indices: &[Range<usize>], access: &Access, place: &Place) -> Option<Range<usize>> {
    let has_counter = match &access.address {
        Address::Computed(sources) => sources.counter,
        Address::Counter(_) => true,
        Address::Constant => false,
    };
    let counters = if has_counter { Rc::default() } else { place.view.counters_around(place.offset) };
    let text = |range: &Range<usize>| place.view.text().get(range.clone()).unwrap_or("").trim().to_string();
    let is_open = |range: &&Range<usize>| !is_number(&text(range)) && !is_counter(&counters, &text(range));
    let open: Vec<&Range<usize>> = indices.iter().filter(is_open).collect();
    match open.as_slice() {
        [only] => Some((*only).clone()),
        // With the brackets, which stand between them.
        _ => Some(indices.first()?.start.saturating_sub(1)..(indices.last()?.end + 1).min(place.view.text().len())),
    }
}

fn is_counter(counters: &[CounterSyntax], text: &str) -> bool {
    counters.iter().any(|counter| counter.name == text)
}

/// Whether an index is made of loop counters and numbers alone. The remainder of a loop that was unrolled by a factor has
/// no counter in the machine code, only what is left of the loop's bound: the source tells that it is a walk all the same.
fn is_walk(index: &str, counters: &[CounterSyntax]) -> bool {
    let words = || index.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let is_plain =
        index.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '+' | '-' | '*' | '(' | ')' | '[' | ']'));
    let walks = |word: &str| counters.iter().any(|counter| counter.is_walk && counter.name == word);
    is_plain && words().any(walks) && words().all(|word| walks(word) || is_number(word))
}

fn is_number(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit())
}

/// Notes the source loop around each access.
pub fn mark_loops(accesses: &mut [Access], views: &Views<'_>) {
    for access in accesses {
        if access.loop_depth == 0 && access.address == Address::Constant {
            continue;
        }
        if let Some((view, found)) = source_loop(&access.places, &access.loop_lines, views) {
            access.loop_span = view.span(found.range);
            access.pragma = found.pragma.and_then(|range| view.span(range));
            access.condition = found.condition.and_then(|range| view.span(range));
        }
    }
}

/// The source of a loop of the machine code: of the loops around a place the one whose header has the line of the closing
/// branch, else the innermost that is not unrolled on request.
pub fn source_loop(places: &[Place], branch: &[SourceLine], views: &Views<'_>) -> Option<(Rc<SourceView>, LoopSyntax)> {
    let around = || {
        places.iter().flat_map(|place| {
            place.view.loops_around(place.offset).into_iter().map(|found| (Rc::clone(&place.view), found))
        })
    };
    let closes = |view: &Rc<SourceView>, found: &LoopSyntax| {
        let header = view.line_of(found.range.start)..=view.line_of(found.range.end);
        branch.iter().any(|line| {
            header.contains(&(line.line as usize))
                && views.get(&line.file).is_some_and(|other| Rc::ptr_eq(&other, view))
        })
    };
    let is_unrolled = |view: &SourceView, found: &LoopSyntax| {
        found
            .pragma
            .clone()
            .is_some_and(|range| view.text().get(range).is_some_and(|text| text.trim_end().ends_with("unroll")))
    };
    around()
        .find(|(view, found)| closes(view, found))
        .or_else(|| around().find(|(view, found)| !is_unrolled(view, found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_are_counters_and_numbers() {
        let counter = |name: &str, is_walk| CounterSyntax { name: name.to_string(), is_walk };
        let counters = [counter("i", true), counter("j", true), counter("s", false)];
        for (index, expected) in [
            ("i", true),
            ("i * 4 + j", true),
            ("i][j", true),
            ("7 - i", true),
            ("n - 1 - i", false),
            ("i % 8", false),
            ("s", false),
            ("3", false),
            ("a[i]", false),
        ] {
            assert_eq!(is_walk(index, &counters), expected, "{index}");
        }
    }
}
