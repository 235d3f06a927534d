//! The candidates of an object that may be it: views, spans and closures give way to the arrays behind them, and what does not fit in
//! size, or is not indexed where the object is, is left out.

use std::collections::{BTreeMap, BTreeSet};

use cuda_syntax::SyntaxTrees;
use cuda_syntax::tree::{Declaration, DeclarationKind, Volatility};
use nv_code::AccessKind;

use super::part::{fitting, size_fits};
use super::pointees::arrays_behind;
use super::resolve::Found;
use super::votes::{Candidate, Resolved, Score, candidates, is_mentioned_as, is_volatile_number, votes};
use crate::access::{Access, EscapeKind, RawObject, StoredValues};

type Test<'a> = &'a dyn Fn(&Candidate, &Score) -> bool;

/// The candidates that fit in size and, if there is a run-time index, are indexed by it.
pub fn eligible(object: &RawObject, resolved: &Resolved<'_>, trees: &SyntaxTrees<'_>) -> BTreeMap<Candidate, Score> {
    let bytes_of_object = object.bytes;
    let mut scores = votes(object, resolved);
    look_through(&mut scores, object, trees);
    let unwritten = only_read(&scores, object, resolved);
    scores.retain(|candidate, _| !unwritten.contains(candidate));
    let guilty = object.accesses.iter().enumerate().max_by_key(|(_, access)| access.guilt());
    let guilty = guilty.filter(|(_, access)| access.is_computed());
    let of_guilty = guilty.map(|(number, access)| candidates(resolved.of(number, access)));
    let mut of_guilty = of_guilty.unwrap_or_default();
    let through = scores.iter().filter(|(_, score)| score.through.as_ref().is_some_and(|it| of_guilty.contains(it)));
    let behind: Vec<Candidate> = through.map(|(candidate, _)| candidate.clone()).collect();
    of_guilty.extend(behind);
    // All accesses to a `volatile` variable are volatile.
    let is_plain = object.accesses.iter().any(|access| !access.is_volatile && !access.in_callee);
    scores.retain(|(_, declaration), _| !(is_plain && declaration.volatility == Some(Volatility::Value)));
    // A parameter of an inlined function may be a structure that only holds a pointer. Without a known size this cannot
    // be excluded, so the parameter is dropped.
    scores.retain(|(_, declaration), score| {
        score.is_own || score.is_indexed || !declaration.is_parameter || declaration.bytes.is_some()
    });
    // A structure ends where it ends: what lies behind it is no padding if it is written.
    let ends_before = |(_, declaration): &Candidate, score: &Score| {
        declaration.kind == DeclarationKind::Aggregate
            && score.members.is_empty()
            && declaration.bytes.is_some_and(|size| size < object.extent && size < object.bytes)
    };
    let fits = |candidate: &Candidate, score: &Score| {
        let is_smaller = is_smaller_type(&candidate.1, object.bytes, trees);
        fitting(&candidate.1, &score.members, object.bytes).is_some() && !is_smaller && !ends_before(candidate, score)
    };
    // A structure smaller than the object is not the object; its pointee may be.
    let fits_in = |(_, declaration): &Candidate| {
        declaration.kind != DeclarationKind::Aggregate && declaration.bytes.is_some_and(|bytes| bytes < object.bytes)
    };
    // A parameter is read in place. Only a copied parameter is an object, and the copy has its values.
    let unlikely: BTreeSet<Candidate> = scores
        .iter()
        .filter(|(candidate, score)| candidate.1.is_parameter && !may_be_copy(object, candidate, score, trees))
        .map(|(candidate, _)| candidate.clone())
        .collect();
    let is_likely = |candidate: &Candidate| !unlikely.contains(candidate);
    // Variables that share memory are used by different statements. The one with the run-time index is to blame. It may
    // be smaller than the object, but only if it is the only such candidate. No variable of the object's full size may
    // have an index too.
    let is_filled = scores.iter().any(|(candidate, score)| {
        let is_sized = candidate.1.bytes.is_some() && fits(candidate, score);
        is_sized && is_likely(candidate) && score.certain > 0
    });
    // A view made by an expression, `auto sum = a + b;`, is no object where one of known size is.
    scores.retain(|(_, declaration), _| !(is_filled && declaration.type_text == "auto" && declaration.bytes.is_none()));
    note_rivals(&mut scores, object.bytes, trees);
    // A structure that a function gets by value has the size of its type, which any variable of the type tells.
    let is_passed_by_value = |(_, declaration): &Candidate| {
        let size = || trees.bytes_of_type(&declaration.type_text);
        declaration.is_parameter
            && declaration.kind == DeclarationKind::Aggregate
            && size().is_some_and(|size| size_fits(Some(size), bytes_of_object))
    };
    // Nothing tells of a parameter of unknown size that is not copied: a structure of pointers is only read beside.
    let may_be_read = |candidate: &Candidate| is_likely(candidate) || candidate.1.bytes.is_some();
    // What is passed to a call is as large as the object: a smaller variable beside it only shares its bytes.
    let is_call = |kind: &EscapeKind| matches!(kind, EscapeKind::Call(_)) && !kind.is_print();
    let is_passed = object.escapes.iter().any(|escape| is_call(&escape.kind));
    let smaller = scores.keys().filter(|candidate| of_guilty.contains(candidate) && fits_in(candidate)).count();
    // The bytes beyond it are those of a variable that some access or escape mentions.
    let has_larger = object.is_print_buffer() || scores.iter().any(|(candidate, score)| fits(candidate, score));
    // An array that is split into its elements is named by each `volatile` access to them that names more than numbers.
    let is_named_by = |(number, access): (usize, &Access), candidate: &Candidate, score: &Score| {
        let is_it = |found: &Found| {
            is_mentioned_as(candidate)(found) || score.through.as_ref().is_some_and(|view| is_mentioned_as(view)(found))
        };
        let found = resolved.of(number, access);
        let is_number = |found: &Found| found.mention.declaration.kind == DeclarationKind::Scalar;
        !access.is_volatile || found.iter().any(is_it) || found.iter().all(is_number)
    };
    let is_slice = |candidate: &Candidate, score: &Score| {
        let mut accesses = object.accesses.iter().enumerate();
        may_be_slice(&candidate.1, object) && accesses.all(|access| is_named_by(access, candidate, score))
    };
    let steps: [Test<'_>; 7] = [
        &|candidate, score| of_guilty.contains(candidate) && fits(candidate, score) && is_likely(candidate),
        &|candidate, _| !is_filled && of_guilty.contains(candidate) && is_passed_by_value(candidate),
        &|candidate, _| {
            smaller == 1
                && has_larger
                && !is_passed
                && !is_filled
                && of_guilty.contains(candidate)
                && fits_in(candidate)
                && is_likely(candidate)
        },
        &|candidate, score| of_guilty.contains(candidate) && fits(candidate, score) && may_be_read(candidate),
        &|candidate, score| fits(candidate, score) && is_likely(candidate),
        &|candidate, score| fits(candidate, score) && may_be_read(candidate),
        &is_slice,
    ];
    for step in steps {
        if scores.iter().any(|(candidate, score)| step(candidate, score)) {
            scores.retain(|candidate, score| step(candidate, score));
            return scores;
        }
    }
    BTreeMap::new()
}

/// The candidates that no store of the object goes to, where each may go to another one that a run-time index reaches: in
/// `g[i] = 2 * d[i]`, the object that is written is `g`, though the line of a load that was moved there reads `d`.
fn only_read(scores: &BTreeMap<Candidate, Score>, object: &RawObject, resolved: &Resolved<'_>) -> BTreeSet<Candidate> {
    let stores = object.accesses.iter().enumerate().filter(|(_, access)| access.kind == AccessKind::Store);
    let written: Vec<BTreeSet<Candidate>> = stores
        .map(|(number, access)| candidates(resolved.of(number, access)))
        .filter(|written| !written.is_empty())
        .collect();
    let is_in = |written: &BTreeSet<Candidate>, candidate: &Candidate, score: &Score| {
        written.contains(candidate) || score.through.as_ref().is_some_and(|view| written.contains(view))
    };
    let is_written = scores.iter().any(|(candidate, score)| {
        let is_sized = candidate.1.bytes.is_some() && size_fits(candidate.1.bytes, object.bytes);
        is_sized && score.certain > 0 && written.iter().all(|written| is_in(written, candidate, score))
    });
    if written.is_empty() || !is_written {
        return BTreeSet::new();
    }
    let is_unwritten = |(candidate, score): &(&Candidate, &Score)| {
        candidate.1.kind == DeclarationKind::Array && !written.iter().any(|written| is_in(written, candidate, score))
    };
    scores.iter().filter(is_unwritten).map(|(candidate, _)| candidate.clone()).collect()
}

/// Whether a parameter may be copied to the object. A kernel's own parameter must be the one that the values come from:
/// a variable of the kernel may begin with another one, such as a buffer. A parameter of an inlined function has the
/// values of any argument.
fn may_be_copy(object: &RawObject, (tree, declaration): &Candidate, score: &Score, trees: &SyntaxTrees<'_>) -> bool {
    let StoredValues::Parameter(copy) = &object.stored_values else { return false };
    let own = copy.parameter.as_ref().filter(|_| score.is_own);
    let (start, end) = declaration.range;
    own.is_none_or(|own| trees.tree(*tree).span(start..end).as_ref() == Some(&own.span))
}

/// The size of a pointer on the device.
const POINTER_BYTES: u64 = 8;

/// Replaces views, spans and closures by the arrays behind them: a variable smaller than the object is not the object. A
/// parameter of unknown size is not either if its argument has the object's size: a view is made in place at the call.
fn look_through(scores: &mut BTreeMap<Candidate, Score>, object: &RawObject, trees: &SyntaxTrees<'_>) {
    let bytes = object.bytes;
    // A structure of pointers and references alone is accessed by whole pointers.
    let has_pointers =
        object.accesses.iter().any(|access| access.element_bytes().is_none_or(|bytes| bytes >= POINTER_BYTES));
    let leads_on = |declaration: &Declaration| {
        let is_pointer = |type_text: &str| type_text.trim_end().ends_with(['*', '&']);
        let mut members = declaration.members.iter().map(|(_, type_text, _)| type_text.as_str()).peekable();
        !has_pointers && members.peek().is_some() && members.all(is_pointer)
    };
    let is_view = |declaration: &Declaration| {
        let size = declaration.bytes.or_else(|| trees.bytes_of_type(&declaration.type_text));
        let is_aggregate = declaration.kind == DeclarationKind::Aggregate;
        let is_smaller = || match size {
            Some(size) => size < bytes && !size_fits(Some(size), bytes),
            None => declaration.is_parameter,
        };
        is_aggregate && (leads_on(declaration) || is_smaller())
    };
    let has_size = |declaration: &Declaration| {
        declaration.bytes.is_some() || trees.bytes_of_type(&declaration.type_text).is_some()
    };
    let leading: Vec<Candidate> = scores.keys().filter(|(_, declaration)| is_view(declaration)).cloned().collect();
    for candidate in leading {
        let Some(score) = scores.get(&candidate) else { continue };
        let Some(places) = score.mentioned_at.clone() else { continue };
        let arrays = arrays_behind(&candidate.1, &places, trees).into_iter();
        let fits = |array: &Declaration| size_fits(array.bytes, bytes) || may_be_slice(array, object);
        let arrays: Vec<Candidate> = arrays.filter(|(_, array)| fits(array)).collect();
        // A member of a structure that was split (SROA) is also smaller than the structure.
        let is_member = |member: u64| size_fits(Some(member), bytes) && !leads_on(&candidate.1);
        let has_part = candidate.1.members.iter().any(|(_, _, member)| is_member(*member));
        if arrays.is_empty() && (has_part || !has_size(&candidate.1)) {
            continue;
        }
        let Some(score) = scores.remove(&candidate) else { continue };
        for array in arrays {
            let span = trees.tree(array.0).span(array.1.range.0..array.1.range.1);
            let known = scores.entry(array).or_default();
            known.certain += score.certain;
            known.places += score.places;
            known.is_indexed |= score.is_indexed;
            known.is_own = true;
            known.voters.extend(&score.voters);
            known.span = known.span.take().or(span);
            known.through = Some(candidate.clone());
        }
    }
}

/// Whether an object may be some of the elements of an array. The compiler splits an array (SROA) where all its indices are constants, and
/// keeps the elements in memory only for accesses that are `volatile`.
pub fn may_be_slice(array: &Declaration, object: &RawObject) -> bool {
    let is_larger = || array.bytes.is_some_and(|bytes| bytes > object.bytes);
    let is_constant = || object.accesses.iter().all(|access| !access.is_computed() && !access.in_callee);
    let is_volatile = || object.accesses.iter().any(|access| access.is_volatile);
    array.kind == DeclarationKind::Array && !array.is_parameter && is_larger() && is_volatile() && is_constant()
}

/// Records for each variable the arrays, or structures and `volatile` numbers of the object's size, that other accesses use, and whose
/// lifetimes do not overlap with it.
fn note_rivals(scores: &mut BTreeMap<Candidate, Score>, bytes: u64, trees: &SyntaxTrees<'_>) {
    let arrays = scores.iter().filter(|((_, declaration), score)| {
        let may_share = match declaration.kind {
            DeclarationKind::Array => declaration.bytes.is_some_and(|size| size <= bytes),
            // A smaller one may be a view of the array.
            DeclarationKind::Aggregate => declaration.bytes.is_some() && size_fits(declaration.bytes, bytes),
            DeclarationKind::Scalar => is_volatile_number(declaration) && size_fits(declaration.bytes, bytes),
            DeclarationKind::Alias => false,
        };
        may_share && !declaration.is_parameter && score.through.is_none()
    });
    // An array that a function gets the address of is used there, without an index here.
    let is_given = |score: &Score| score.voters.is_empty() && score.is_passed && score.certain > 0;
    let arrays: Vec<(Candidate, BTreeSet<usize>, bool)> =
        arrays.map(|(candidate, score)| (candidate.clone(), score.voters.clone(), is_given(score))).collect();
    // The block of one ends before the other is declared, or they have none in common.
    let ends_before = |one: &Candidate, other: &Candidate| one.1.ends_before(other.1.range.0);
    let is_apart = |one: &Candidate, other: &Candidate| {
        let is_together = one.1.is_in_scope(other.1.range.0) || other.1.is_in_scope(one.1.range.0);
        one.0 != other.0 || !is_together || ends_before(one, other) || ends_before(other, one)
    };
    // In one block, the first is not named any more where the second is declared.
    let is_replaced = |one: &Candidate, other: &Candidate| {
        let tree = trees.tree(one.0);
        one.0 == other.0 && (tree.is_replaced_by(&one.1, &other.1) || tree.is_replaced_by(&other.1, &one.1))
    };
    for (candidate, score) in scores {
        let rivals = arrays.iter().filter(|(rival, voters, is_given)| {
            rival != candidate
                && !score.voters.is_empty()
                && (!voters.is_empty() || *is_given)
                && voters.is_disjoint(&score.voters)
                && (is_apart(candidate, rival) || is_replaced(candidate, rival))
        });
        let rivals: Vec<&(Candidate, BTreeSet<usize>, bool)> = rivals.collect();
        // Of two in one statement, the one that more of these accesses mention has them all.
        let is_less = |voters: &BTreeSet<usize>| {
            rivals.iter().any(|(_, more, _)| voters.len() < more.len() && !voters.is_empty() && voters.is_subset(more))
        };
        score.rivals =
            rivals.iter().filter(|(_, voters, _)| !is_less(voters)).map(|(rival, ..)| rival.clone()).collect();
    }
}

/// Whether a structure of unknown size, as of a function that left no code, has a type whose other variables are smaller than an object.
fn is_smaller_type(declaration: &Declaration, bytes: u64, trees: &SyntaxTrees<'_>) -> bool {
    let is_unsized = declaration.kind == DeclarationKind::Aggregate && declaration.bytes.is_none();
    let size = || trees.bytes_of_type(&declaration.type_text);
    is_unsized && size().is_some_and(|size| size < bytes && !size_fits(Some(size), bytes))
}
