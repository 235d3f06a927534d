//! The variable of an object: the one that its accesses mention, if exactly one fits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::demangle;
use super::mark::{mark_use, settle};
use super::objects::{Access, Escape, EscapeKind, RawObject};
use super::place::Place;
use super::resolve::{Resolved, resolve};
use super::syntax::{Declaration, DeclarationKind, Mention, Volatility};
use super::view::Views;
use crate::read::AccessKind;
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
    let variable = if object.may_have_name() { find(object, views) } else { None };
    if variable.is_none() {
        object.accesses.iter_mut().for_each(settle);
    }
    variable
}

fn find(object: &mut RawObject, views: &Views<'_>) -> Option<Variable> {
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
        mark_use(access, *view, declaration, views);
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
    let Some(found) = resolve(&access.places, views, &|mention, place| fits_access(mention, place, access)) else {
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
        let found = resolve(&access.places, views, &|mention, place| fits_access(mention, place, access));
        vote(&access.places, found, access.is_computed(), &mut scores);
    }
    for escape in &object.escapes {
        let argument = argument_range(escape);
        let fits = |mention: &Mention, _: &Place| match &argument {
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
    let (index, count) = escape.argument?;
    let place = escape.places.first()?;
    let region = place.view.region(place.offset)?;
    match &escape.kind {
        EscapeKind::Call(function) => place.view.argument(region, &demangle(function), index, count),
        EscapeKind::IndirectCall => place.view.argument_by_count(region, index, count),
        EscapeKind::Stored | EscapeKind::Generic(_) => None,
    }
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

pub fn fits_access(mention: &Mention, place: &Place, access: &Access) -> bool {
    let direction = match access.kind {
        AccessKind::Load => mention.is_read,
        AccessKind::Store => mention.is_written,
    };
    // A number has no index; its whole value is read and written, also where its address is handed on.
    let is_plain_number = mention.declaration.kind == DeclarationKind::Scalar;
    // Nor has what arithmetic uses as a whole, where no operator of the user's is behind it.
    let is_whole = mention.is_operand && mention.indices.is_empty() && mention.outer.is_empty();
    let is_value = is_whole && mention.declaration.kind == DeclarationKind::Aggregate && place.callee.is_none();
    direction && !((is_plain_number || is_value) && access.is_computed())
}

fn size_fits(size: Option<u64>, bytes: u64) -> bool {
    size.is_none_or(|size| size <= bytes && bytes <= size + MAX_PADDING)
}
