//! The variable of an object: the one that its accesses mention, if exactly one fits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cuda_syntax::tree::{Declaration, DeclarationKind, Mention, Volatility};
use cuda_syntax::{SyntaxTrees, TreeId};
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use nv_code::AccessKind;

use super::mark::{mark_use, settle};
use super::resolve::{Found, Wanted, resolve};
use crate::access::{Access, Contents, Escape, EscapeKind, RawObject};
use crate::place::Place;

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

/// A declaration in one of the unit's texts; the text is told by the number of its view.
type Candidate = (TreeId, Declaration);

#[derive(Default)]
struct Score {
    /// Votes that can hardly err: computed indices, and arguments by their number.
    certain: u64,
    places: u64,
    /// Its address is handed on somewhere.
    is_passed: bool,
    /// A statement with a computed access has an index for it.
    is_indexed: bool,
    /// Some statement that mentions it is not of an inlined function, but of the one that has the frame.
    is_own: bool,
    /// Members that computed accesses go to; the empty path is the variable itself.
    members: BTreeSet<String>,
    span: Option<Span>,
    initializer: Option<Span>,
}

/// Names the objects of a function, in the order of the frame, and marks the uses of the variables in their accesses;
/// nothing is named that is not the only choice.
pub fn name_all(objects: &mut [&mut RawObject], views: &SyntaxTrees<'_>) -> Vec<Option<Variable>> {
    let strict: Vec<Vec<Winner>> = objects.iter().map(|object| winners(object, views, rank)).collect();
    // One variable cannot be two objects: then pointers stand for several, and only the sure votes count.
    let is_sole = |winners: &[Winner], candidate: &Candidate| matches!(winners, [(only, _)] if only == candidate);
    let is_disputed = |winners: &[Winner]| match winners {
        [(candidate, _)] => {
            let claims = strict.iter().zip(objects.iter()).filter(|(other, _)| is_sole(other, candidate));
            let bytes: u64 = claims.map(|(_, object)| object.bytes).sum();
            candidate.1.bytes.is_some_and(|size| bytes > size + MAX_PADDING)
        }
        _ => false,
    };
    let disputed: Vec<bool> = strict.iter().map(|winners| is_disputed(winners)).collect();
    let decide = |((object, winner), is_disputed): ((&&mut RawObject, Vec<Winner>), bool)| {
        if is_disputed { winners(object, views, |score| (score.certain, 0)) } else { winner }
    };
    let all: Vec<Vec<Winner>> = objects.iter().zip(strict).zip(disputed).map(decide).collect();
    let chosen: Vec<Option<usize>> = (0..all.len()).map(|index| choose(index, &all, objects)).collect();
    let chosen: Vec<Option<usize>> =
        (0..all.len()).map(|index| chosen[index].filter(|_| is_undisputed(index, &chosen, &all, objects))).collect();
    let named = objects.iter_mut().zip(all).zip(chosen).map(|((object, winners), chosen)| {
        let winner = chosen.and_then(|index| winners.into_iter().nth(index));
        let variable = winner.and_then(|(candidate, score)| describe(object, candidate, &score, views));
        if variable.is_none() {
            object.accesses.iter_mut().for_each(settle);
        }
        variable
    });
    named.collect()
}

/// A variable that an object may be, with its votes.
type Winner = (Candidate, Score);

/// Whether nothing else would be the variable too that an object was given: of several that have no room in it, only
/// one that has more votes than each of the others is it.
fn is_undisputed(index: usize, chosen: &[Option<usize>], all: &[Vec<Winner>], objects: &[&mut RawObject]) -> bool {
    let winner = |index: usize| chosen[index].map(|number| &all[index][number]);
    let Some((own, score)) = winner(index) else { return true };
    let others = (0..all.len()).filter(|other| *other != index);
    let rivals: Vec<(usize, &Score)> = others
        .filter_map(|other| winner(other).filter(|(candidate, _)| candidate == own).map(|(_, score)| (other, score)))
        .collect();
    let bytes: u64 = rivals.iter().map(|(other, _)| objects[*other].bytes).sum::<u64>() + objects[index].bytes;
    let has_room = own.1.bytes.is_none_or(|size| bytes <= size + MAX_PADDING);
    has_room || rivals.iter().all(|(_, rival)| rank(rival) < rank(score))
}

/// The one winner of an object. Where several objects have the same winners, as many as there are objects, the code
/// treats them alike: then what is said of one holds for the other, and they are taken in order of declaration.
fn choose(index: usize, all: &[Vec<Winner>], objects: &[&mut RawObject]) -> Option<usize> {
    let own = &all[index];
    let names = |winners: &[Winner]| winners.iter().map(|(candidate, _)| candidate.clone()).collect::<BTreeSet<_>>();
    let is_twin = |other: usize| objects[other].bytes == objects[index].bytes && names(&all[other]) == names(own);
    let twins: Vec<usize> = (0..all.len()).filter(|other| is_twin(*other)).collect();
    match own.len() {
        0 => None,
        1 => Some(0),
        count if count == twins.len() => twins.iter().position(|twin| *twin == index),
        _ => {
            // A variable is one object: what another one is for certain, this one is not.
            let is_taken = |(candidate, _): &Winner| {
                let others = (0..all.len()).filter(|other| *other != index);
                others.into_iter().any(|other| matches!(all[other].as_slice(), [(only, _)] if only == candidate))
            };
            let mut free = own.iter().enumerate().filter(|(_, winner)| !is_taken(winner)).map(|(number, _)| number);
            free.next().filter(|_| free.next().is_none())
        }
    }
}

/// The variables that an object may be: one if its accesses tell, several that nothing tells apart, or none.
fn winners(object: &RawObject, views: &SyntaxTrees<'_>, rank: fn(&Score) -> (u64, u64)) -> Vec<Winner> {
    if !object.may_have_name() {
        return Vec::new();
    }
    let scores = eligible(object, views);
    let Some(best) = scores.values().map(rank).max() else { return Vec::new() };
    let mut winners: Vec<Winner> = scores.into_iter().filter(|(_, score)| rank(score) == best).collect();
    // Of an array and a number that stand in the same statements, the array is the one with an address. So is a structure
    // that is indexed there.
    let kind = |((_, declaration), score): &Winner| match declaration.kind {
        DeclarationKind::Aggregate if score.is_indexed => DeclarationKind::Array,
        kind => kind,
    };
    let best_kind = winners.iter().map(kind).min();
    winners.retain(|winner| Some(kind(winner)) == best_kind);
    // Padding makes several sizes possible; the one that leaves none is the better answer.
    let padding = |((_, declaration), score): &Winner| {
        let part = fitting(declaration, score, object.bytes);
        part.and_then(|part| part.bytes).map_or(u64::MAX, |bytes| object.bytes.saturating_sub(bytes))
    };
    let least = winners.iter().map(padding).min();
    winners.retain(|winner| Some(padding(winner)) == least);
    winners
}

type Test<'a> = &'a dyn Fn(&Candidate, &Score) -> bool;

/// The candidates that can be the object: those that fit in size and, where there is a run-time index, that it is to.
fn eligible(object: &RawObject, views: &SyntaxTrees<'_>) -> BTreeMap<Candidate, Score> {
    let mut scores = votes(object, views);
    let guilty = object.accesses.iter().max_by_key(|access| access.guilt()).filter(|access| access.is_computed());
    let of_guilty = guilty.map(|guilty| candidates(guilty, views)).unwrap_or_default();
    // What is `volatile` is accessed so, wherever it is.
    let is_plain = object.accesses.iter().any(|access| !access.is_volatile && !access.in_callee);
    scores.retain(|(_, declaration), _| !(is_plain && declaration.volatility == Some(Volatility::Value)));
    // What an inlined function is given may be a pointer in a structure; the size would tell, the text does not.
    scores.retain(|(_, declaration), score| {
        score.is_own || score.is_indexed || !declaration.is_parameter || declaration.bytes.is_some()
    });
    let fits = |(_, declaration): &Candidate, score: &Score| fitting(declaration, score, object.bytes).is_some();
    let fits_in = |(_, declaration): &Candidate| declaration.bytes.is_some_and(|bytes| bytes < object.bytes);
    // A parameter is read where it lies. Only one that is copied is an object, and the copy has its contents.
    let is_copied = matches!(object.contents, Contents::Parameter(_));
    let is_likely = |candidate: &Candidate| is_copied || !candidate.1.is_parameter;
    // Variables that share memory each have statements of their own: the one with the run-time index is to blame, and
    // may be the smaller one, where the statement has no other that would be, and none that fills the object has one too.
    let is_filled = scores.iter().any(|(candidate, score)| {
        let is_sized = candidate.1.bytes.is_some() && fits(candidate, score);
        is_sized && is_likely(candidate) && score.certain > 0
    });
    let smaller = scores.keys().filter(|candidate| of_guilty.contains(candidate) && fits_in(candidate)).count();
    let steps: [Test<'_>; 4] = [
        &|candidate, score| of_guilty.contains(candidate) && fits(candidate, score) && is_likely(candidate),
        &|candidate, _| {
            smaller == 1 && !is_filled && of_guilty.contains(candidate) && fits_in(candidate) && is_likely(candidate)
        },
        &|candidate, score| of_guilty.contains(candidate) && fits(candidate, score),
        &|candidate, score| fits(candidate, score),
    ];
    for step in steps {
        if scores.iter().any(|(candidate, score)| step(candidate, score)) {
            scores.retain(|candidate, score| step(candidate, score));
            return scores;
        }
    }
    BTreeMap::new()
}

fn describe(
    object: &mut RawObject,
    (view, declaration): Candidate,
    score: &Score,
    views: &SyntaxTrees<'_>,
) -> Option<Variable> {
    let (view, declaration) = (&view, &declaration);
    let part = fitting(declaration, score, object.bytes).unwrap_or_else(|| Part::whole(declaration));
    for access in &mut object.accesses {
        mark_use(access, *view, declaration, views);
    }
    Some(Variable {
        name: part.name,
        type_text: part.type_text,
        kind: part.kind,
        is_parameter: declaration.is_parameter,
        volatility: declaration.volatility.clone().or_else(|| volatile_member(object, *view, declaration, views)),
        initializer: score.initializer.clone(),
        bytes: part.bytes,
        span: score.span.clone()?,
    })
}

/// The `volatile` member of the variable's type, where the machine code has such accesses.
fn volatile_member(
    object: &RawObject,
    view: TreeId,
    declaration: &Declaration,
    views: &SyntaxTrees<'_>,
) -> Option<Volatility> {
    let places = object.accesses.iter().filter(|access| access.is_volatile).flat_map(|access| &access.places);
    let mut of_view = places.filter(|place| place.view == view);
    of_view.next()?.view(views).volatile_member(declaration.type_text.split('[').next()?).map(Volatility::Member)
}

/// What of a variable an object is: all of it, or a member.
struct Part {
    name: String,
    type_text: String,
    kind: DeclarationKind,
    bytes: Option<u64>,
}

impl Part {
    fn whole(declaration: &Declaration) -> Self {
        Self {
            name: declaration.name.clone(),
            type_text: declaration.type_text.clone(),
            kind: declaration.kind,
            bytes: declaration.bytes,
        }
    }
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
        _ if whole_fits => Some(Part::whole(declaration)),
        // The compiler may take a structure apart.
        _ if declaration.members.iter().any(|(_, _, member)| size_fits(Some(*member), bytes)) => {
            Some(Part::whole(declaration))
        }
        _ => None,
    }
}

fn is_worth_naming(declaration: &Declaration) -> bool {
    declaration.members.iter().filter(|(path, ..)| !path.contains('.')).count() > 1
}

/// The variables that one access may be to.
fn candidates(access: &Access, views: &SyntaxTrees<'_>) -> BTreeSet<Candidate> {
    let view = |found: &Found| access.places[found.level].view;
    let found = resolve_access(access, views).into_iter();
    found.map(|found| (view(&found), found.mention.declaration)).collect()
}

/// The uses of variables that one access may be.
pub fn resolve_access(access: &Access, views: &SyntaxTrees<'_>) -> Vec<Found> {
    let fits = |mention: &Mention, place: &Place| fits_access(mention, place, access);
    let wanted = Wanted { fits: &fits, is_indexed: access.is_computed(), kind: Some(access.kind) };
    resolve(&access.places, views, &wanted)
}

/// The array or structure that an object is, where all accesses agree on one.
pub fn declared(object: &RawObject, views: &SyntaxTrees<'_>) -> Option<Declaration> {
    let scores = votes(object, views);
    let best = scores.values().map(rank).max()?;
    let mut winners =
        scores.into_iter().filter(|(_, score)| rank(score) == best).map(|((_, declaration), _)| declaration);
    let is_large = |declaration: &Declaration| {
        let is_structure = declaration.kind == DeclarationKind::Aggregate && !declaration.members.is_empty();
        declaration.kind == DeclarationKind::Array || is_structure
    };
    winners.next().filter(|winner| is_large(winner) && winners.next().is_none())
}

/// Mangled names of a lambda's call operator: `…ENKUliE_clEi`.
fn is_lambda(function: &str) -> bool {
    function.starts_with("_Z") && function.contains("Ul") && function.contains("_cl")
}

fn votes(object: &RawObject, views: &SyntaxTrees<'_>) -> BTreeMap<Candidate, Score> {
    let mut scores: BTreeMap<Candidate, Score> = BTreeMap::new();
    // What a function does through a pointer mentions variables of its own.
    for access in object.accesses.iter().filter(|access| !access.in_callee) {
        let found = resolve_access(access, views);
        vote(
            &access.places,
            found,
            access.is_computed(),
            |mention, place| is_address_of(mention, place, views),
            views,
            &mut scores,
        );
    }
    for escape in &object.escapes {
        let argument = argument_range(escape, views);
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
        let found = resolve(&escape.places, views, &Wanted { fits: &fits, is_indexed: false, kind: None });
        vote(&escape.places, found, argument.is_some(), |mention, _| mention.is_passed, views, &mut scores);
    }
    // A number is in memory only where its address is taken or it is `volatile`; else it only stands nearby.
    scores.retain(|(_, declaration), score| {
        declaration.kind != DeclarationKind::Scalar || score.is_passed || declaration.volatility.is_some()
    });
    scores
}

/// Where the argument stands that an address leaves by, at the innermost level.
fn argument_range(escape: &Escape, views: &SyntaxTrees<'_>) -> Option<Range<usize>> {
    let (index, count) = escape.argument?;
    let place = escape.places.first()?;
    let region = place.view(views).region(place.offset)?;
    match &escape.kind {
        EscapeKind::Call(function) => place.view(views).argument(region, &demangle(function), index, count),
        EscapeKind::IndirectCall => place.view(views).argument_by_count(region, index, count),
        EscapeKind::Stored | EscapeKind::Generic(_) => None,
    }
}

fn rank(score: &Score) -> (u64, u64) {
    (score.certain, score.places)
}

/// Each access counts once for every variable that it may be to.
fn vote(
    places: &[Place],
    found: Vec<Found>,
    is_certain: bool,
    is_passed: impl Fn(&Mention, &Place) -> bool,
    views: &SyntaxTrees<'_>,
    scores: &mut BTreeMap<Candidate, Score>,
) {
    let mut seen = BTreeSet::new();
    let indexed = found.iter().filter(|found| !found.mention.indices.is_empty());
    let indexed: BTreeSet<Declaration> = indexed.map(|found| found.mention.declaration.clone()).collect();
    for Found { level, mention, .. } in found {
        let place = &places[level];
        let view = place.view;
        // `state.w` beside `state.key[k]` is not where the index is.
        let is_index = !mention.indices.is_empty() || !indexed.contains(&mention.declaration);
        let path = member_path(&mention, place, views);
        let has_index = !mention.indices.is_empty();
        let span = place.view(views).span(mention.declaration.range.0..mention.declaration.range.1);
        let initializer = mention.declaration.initializer.and_then(|(start, end)| place.view(views).span(start..end));
        let is_passed = is_passed(&mention, place);
        let is_first = seen.insert(mention.declaration.clone());
        let score = scores.entry((view, mention.declaration)).or_default();
        score.is_passed |= is_passed;
        score.is_indexed |= is_certain && has_index;
        score.is_own |= level + 1 == places.len();
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

/// `&x`: that a number is an argument does not say that its address is.
fn is_address_of(mention: &Mention, place: &Place, views: &SyntaxTrees<'_>) -> bool {
    mention.is_passed && place.view(views).text()[..mention.range.start].trim_end().ends_with('&')
}

/// `key` of `state.key[k]`; empty for the variable itself.
fn member_path(mention: &Mention, place: &Place, views: &SyntaxTrees<'_>) -> String {
    let text = place.view(views).text().get(mention.range.clone()).unwrap_or("");
    let path = text.split('[').next().unwrap_or("").trim();
    let members = path.split_once('.').map_or("", |(_, members)| members);
    let is_path = members.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    // A method is no member that has memory.
    let is_called = place.view(views).text()[mention.range.end..].trim_start().starts_with('(');
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
