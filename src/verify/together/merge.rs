//! One list of edits from those of several variables. Edits of one statement are merged where the order of what they
//! write is plain; else they exclude each other.

use cuda_syntax::identifiers::is_identifier_character;
use lmem_base::diagnostic::Edit;
use lmem_base::edit;
use lmem_base::source::Span;

use super::{column, statement};

/// The edits of several members as one list, sorted. `None` if some exclude each other.
pub fn merge(members: Vec<Vec<Edit>>) -> Option<Vec<Edit>> {
    let mut members = members;
    // The first declaration of a statement comes first: later ones may use what it declares.
    members.sort_by(|one, other| places(one).cmp(places(other)));
    column::share(&mut members);
    let mut all = statement::merged(&mut members);
    for edits in members {
        for edit in edits {
            add(&mut all, edit)?;
        }
    }
    all.sort();
    edit::are_apart(&all).then_some(all)
}

fn places(edits: &[Edit]) -> impl Iterator<Item = &Span> {
    edits.iter().map(|edit| &edit.span)
}

/// Adds an edit to a list.
fn add(all: &mut Vec<Edit>, edit: Edit) -> Option<()> {
    if all.contains(&edit) {
        return Some(());
    }
    let (mut touched, rest): (Vec<Edit>, Vec<Edit>) =
        std::mem::take(all).into_iter().partition(|other| edit::conflict(other, &edit));
    *all = rest;
    let joined = match touched.as_mut_slice() {
        [] => edit,
        // An insertion between two replacements comes after the first.
        [first, second] if edit.span.range().is_empty() && !is_inner(&edit, first) && !is_inner(&edit, second) => {
            let (before, after) = if first.span < second.span { (first, second) } else { (second, first) };
            all.push(after.clone());
            appended(before, &edit)?
        }
        [other] => joined(other, &edit)?,
        touched => {
            // What is within the edit first: the text of an insertion is none that the edit has taken over.
            touched.sort_by_key(|other| other.span.range().is_empty());
            touched.iter().try_fold(edit, |outer, other| joined(other, &outer))?
        }
    };
    all.push(joined);
    Some(())
}

fn is_inner(one: &Edit, other: &Edit) -> bool {
    other.span.start < one.span.start && one.span.end < other.span.end
}

/// One edit of two that touch.
fn joined(first: &Edit, second: &Edit) -> Option<Edit> {
    let (one, other) = if first.span.range().is_empty() { (first, second) } else { (second, first) };
    let is_insertion = one.span.range().is_empty();
    match is_insertion && !is_inner(one, other) {
        true if one.span.start == other.span.start => {
            // Of two insertions, the first one is that of the earlier member.
            let (one, other) = if other.span.range().is_empty() { (first, second) } else { (one, other) };
            prepended(one, other)
        }
        true => appended(other, one),
        false => nested(first, second).or_else(|| nested(second, first)),
    }
}

/// An insertion before a replacement or another insertion. Statements may precede anything that is not the body of a
/// condition; what is not a whole statement, as `if (i < n)`, may precede only what stood there.
fn prepended(insertion: &Edit, other: &Edit) -> Option<Edit> {
    let is_statement_too = !other.span.range().is_empty() || are_statements(&other.replacement);
    (are_statements(&insertion.replacement) && is_statement_too).then(|| {
        let replacement = [insertion.replacement.as_str(), &other.replacement].concat();
        Edit { span: other.span.clone(), replacement, context: around(&insertion.context, &other.context) }
    })
}

/// An insertion behind a replacement.
fn appended(replaced: &Edit, insertion: &Edit) -> Option<Edit> {
    let replacement = [replaced.replacement.as_str(), &insertion.replacement].concat();
    let context = around(&replaced.context, &insertion.context);
    Some(Edit { span: replaced.span.clone(), replacement, context })
}

/// Whether a text is whole statements.
fn are_statements(text: &str) -> bool {
    let text = text.trim();
    let opens = text.matches('{').count();
    text.ends_with([';', '}']) && !text.starts_with('}') && opens == text.matches('}').count()
}

/// An edit within the text that another one replaces. The text is replaced where the other edit has taken it over, which
/// must be once.
fn nested(outer: &Edit, inner: &Edit) -> Option<Edit> {
    let is_within = outer.span.start <= inner.span.start && inner.span.end <= outer.span.end;
    let text = inner.span.text();
    let is_once = |within: &str| within.matches(text).count() == 1 && is_apart(within, text);
    if !is_within || text.is_empty() || !is_once(outer.span.text()) || !is_once(&outer.replacement) {
        return None;
    }
    let replacement = outer.replacement.replacen(text, &inner.replacement, 1);
    Some(Edit { span: outer.span.clone(), replacement, context: around(&outer.context, &inner.context) })
}

/// Whether a text is within another one without being a part of longer names.
fn is_apart(within: &str, text: &str) -> bool {
    let touches = |edge: Option<char>, outside: Option<char>| {
        edge.is_some_and(is_identifier_character) && outside.is_some_and(is_identifier_character)
    };
    within.split_once(text).is_some_and(|(before, after)| {
        !touches(text.chars().next(), before.chars().next_back())
            && !touches(text.chars().next_back(), after.chars().next())
    })
}

/// The function around both edits.
fn around(one: &Span, other: &Span) -> Span {
    Span::new(&one.file, one.start.min(other.start)..one.end.max(other.end))
}
