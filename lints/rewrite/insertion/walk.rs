//! Loops that move elements up until a condition on them fails, and what is stored where they end:
//! `while (at > 0 && key[at - 1] > k) { key[at] = key[at - 1]; --at; } key[at] = k;`

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node};
use cuda_syntax::identifiers::{identifiers, is_identifier_character};

use super::counter::{Element, Sign, Start, element, is_written, own_counter, sign};
use super::extent::extent_of;
use crate::rewrite::facts::accessed::is_accessed;
use crate::rewrite::unroll::body::{condition_of, exits, has_entries, has_meetings, is_unconditional};
use crate::rewrite::unroll::for_loop::unroll_pragma;
use crate::rewrite::unroll::header::step;

/// An insertion loop with the statements behind it.
pub(super) struct Walk<'t> {
    pub tree: &'t Rc<SyntaxTree>,
    pub node: Node<'t>,
    pub counter: &'t str,
    pub condition: Node<'t>,
    /// The condition of `if (…) break;` at the start of the body.
    pub ends: Option<Node<'t>>,
    /// The condition of `if (…) { … } else break;`, which is all of the body.
    pub goes: Option<Node<'t>>,
    /// The statements of a round, and comments, without the step.
    pub body: Vec<Node<'t>>,
    /// The statements behind the loop that use the counter, and what stands between them.
    pub stores: Vec<Node<'t>>,
    pub start: Start<'t>,
    /// Whether the counter's last value is used behind the stores.
    pub is_used_behind: bool,
    /// Whether the counter is an `int`.
    pub is_signed: bool,
    /// The elements that the counter indexes, everywhere in the loop and in the stores.
    pub elements: Vec<Element<'t>>,
    /// The mentions of the counter that a new name replaces.
    pub mentions: Vec<Node<'t>>,
    pub range: Range<usize>,
    /// The values of the counter for which something is done.
    pub lowest: i64,
    /// The highest value, as text and, if known, as a number: another one would store beyond an array.
    pub highest: Option<Highest>,
}

impl<'t> Walk<'t> {
    /// The insertion loop that a node is; `None` if it is anything else.
    pub fn of(tree: &'t Rc<SyntaxTree>, node: Node<'t>) -> Option<Self> {
        let block = node.parent().filter(|it| it.kind() == Kind::CompoundStatement)?;
        if !matches!(node.kind(), Kind::WhileStatement | Kind::ForStatement)
            || !tree.is_plain(node)
            || unroll_pragma(tree, node).is_some()
            || is_below_directive(node)
        {
            return None;
        }
        let (condition, round) = (condition_of_loop(node)?, node.field(Field::Body)?);
        let (goes, mut body) = going(round);
        let update = match node.field(Field::Update) {
            Some(update) => update,
            None => {
                let last = body.iter().rposition(|it| it.kind() != Kind::Comment)?;
                let step = body.remove(last);
                step.parts().next().filter(|_| step.kind() == Kind::ExpressionStatement)?
            }
        };
        let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
        if target.kind() != Kind::Identifier || step(tree, update)? != -1 {
            return None;
        }
        let counter = tree.slice(target);
        let ends = body.iter().find(|it| it.kind() != Kind::Comment).copied().and_then(leaving);
        if ends.is_some() {
            let first = body.iter().position(|it| it.kind() != Kind::Comment)?;
            body.remove(first);
        }
        let (bound, is_alone) = lower_bound(tree, condition, counter)?;
        if is_alone && ends.or(goes).is_none() || (ends.is_some() && goes.is_some()) {
            return None;
        }
        // What the header declares ends with the loop.
        let is_declared = node.field(Field::Initializer).is_some_and(|it| it.kind() == Kind::Declaration);
        let stores = if is_declared { Vec::new() } else { stores_behind(tree, node, block, counter) };
        let end = stores.last().map_or(node.end_byte(), |last| last.end_byte());
        let (own, start, is_used_behind) = own_counter(tree, node, end, counter)?;
        // It gets its last value where the new element is stored.
        if is_used_behind && stores.iter().all(|it| it.kind() == Kind::Comment) {
            return None;
        }
        let parts =
            || [Some(condition), ends, goes].into_iter().flatten().chain(body.iter().copied()).chain(stores.clone());
        let mentions: Vec<Node<'t>> = parts().flat_map(|part| tree.named(part, counter).collect::<Vec<_>>()).collect();
        let elements: Vec<Element<'t>> = mentions.iter().filter_map(|name| element(tree, *name)).collect();
        // Besides indices, the counter is in the bound alone.
        let is_plain = mentions.len() == elements.len() + 1 && mentions.iter().all(|name| !is_written(*name));
        let is_straight = parts().all(|part| is_straight(tree, part)) && !has_entries(node);
        let is_quiet = !has_meetings(tree, round) && !has_meetings(tree, condition) && {
            stores.iter().all(|store| !has_meetings(tree, *store))
        };
        // The tree takes a macro for one term.
        let is_spelled = !parts().any(|part| has_terms(tree, tree.slice(part)));
        if !is_plain
            || !is_straight
            || !is_quiet
            || !is_spelled
            || body.iter().chain(&stores).all(|it| it.kind() == Kind::Comment)
        {
            return None;
        }
        let asked = if is_alone { ends.or(goes) } else { second_term(condition) };
        let (lowest, highest) = limits(tree, node, &elements, (bound, asked), &stores)?;
        // Brackets of a class may tell integers apart.
        let is_of_arrays = || {
            elements.iter().all(|it| it.node.field(Field::Argument).and_then(|base| extent_of(tree, base)).is_some())
        };
        let is_signed = sign(&own)? == Sign::Signed;
        let is_fit = lowest <= bound + 1 && (is_signed || (lowest >= 0 && is_of_arrays()));
        let range = node.start_byte()..end;
        is_fit.then_some(Self {
            tree,
            node,
            counter,
            condition,
            ends,
            goes,
            body,
            stores,
            start,
            is_used_behind,
            is_signed,
            elements,
            mentions,
            range,
            lowest,
            highest,
        })
    }

    /// The indices that become constant.
    pub fn indices(&self) -> Vec<String> {
        let text = |it: &Element<'_>| {
            let list = it.node.field(Field::Indices)?;
            Some(self.tree.slice(list).trim_start_matches('[').trim_end_matches(']').trim().to_string())
        };
        self.elements.iter().filter_map(text).collect()
    }
}

/// The highest value of a counter, as text and, if known, as a number.
type Highest = (String, Option<i64>);

/// The lowest and the highest value of the counter for which something is done. Where the loop ends, an element is
/// certainly stored; where nothing is stored behind it, a round above `bound` certainly begins with one: what `asked` is.
fn limits<'t>(
    tree: &SyntaxTree,
    node: Node<'t>,
    elements: &[Element<'t>],
    (bound, asked): (i64, Option<Node<'t>>),
    stores: &[Node<'t>],
) -> Option<(i64, Option<Highest>)> {
    let is_certain_in = |part: &Node<'t>, it: &Element<'t>| {
        part.byte_range().contains(&it.node.start_byte())
            && is_unconditional(tree, it.node, *part)
            && is_accessed(tree, it.node)
    };
    let parts: Vec<Node<'t>> = if stores.is_empty() { asked.into_iter().collect() } else { stores.to_vec() };
    let certain = elements.iter().filter(|it| parts.iter().any(|part| is_certain_in(part, it)));
    let known = certain.filter_map(|it| {
        let extent = extent_of(tree, it.node.field(Field::Argument)?)?;
        let last = tree.evaluate(&extent, node.start_byte()).map(|value| value - 1 - it.distance);
        Some((last, it.distance, extent))
    });
    // Any of them will do; the lowest has the fewest rounds.
    let Some((last, distance, extent)) = known.min_by_key(|(last, ..)| last.unwrap_or(i64::MAX)) else {
        // Where it ends, nothing is stored.
        return Some((if stores.is_empty() { bound + 1 } else { bound }, None));
    };
    let text = match (extent.parse::<i64>(), last) {
        (Ok(extent), _) => (extent - 1 - distance).to_string(),
        (Err(_), _) if distance == -1 => extent,
        (Err(_), _) if distance < -1 => return None,
        // A macro of several terms would take the number into its last one.
        (Err(_), Some(last)) if has_terms(tree, &extent) => last.to_string(),
        (Err(_), None) if has_terms(tree, &extent) => return None,
        (Err(_), _) => format!("{extent} - {}", distance + 1),
    };
    let lowest = if stores.is_empty() { bound + 1 } else { -distance };
    Some((lowest, Some((text, last))))
}

/// Whether a name in an extent is a macro for more than a number, a name or what stands in parentheses.
pub(super) fn has_terms(tree: &SyntaxTree, extent: &str) -> bool {
    let is_one = |text: &str| {
        let text = text.trim();
        let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
        !inner.contains(['(', ')']) && (inner.len() < text.len() || inner.chars().all(is_identifier_character))
    };
    identifiers(extent).any(|word| tree.compiled().expansions(tree.text(), word).any(|found| !is_one(&found.compiled)))
}

/// `b` of `a && b && c`, which is asked wherever `a` is true.
fn second_term(condition: Node<'_>) -> Option<Node<'_>> {
    let mut both = Binary::of(condition.without_parentheses())?;
    loop {
        let left = both.left()?.without_parentheses();
        match Binary::of(left).filter(|it| matches!(it.operator(), Some("&&" | "and"))) {
            Some(inner) => both = inner,
            None => return both.right(),
        }
    }
}

/// The condition of `if (…) { … } else break;` where that is all of a body, and the statements of a round.
fn going(round: Node<'_>) -> (Option<Node<'_>>, Vec<Node<'_>>) {
    let all = statements(round);
    let found = || {
        let [only] = all.as_slice() else { return None };
        let otherwise = only.field(Field::Alternative).filter(|_| only.kind() == Kind::IfStatement)?;
        let last = otherwise.named_children().last().filter(|_| otherwise.named_children().count() == 1)?;
        let goes = condition_of(*only).filter(|_| is_break(last))?;
        Some((goes, statements(only.field(Field::Consequence)?)))
    };
    match found() {
        Some((goes, body)) => (Some(goes), body),
        None => (None, all),
    }
}

/// The statements of a loop's body.
fn statements(body: Node<'_>) -> Vec<Node<'_>> {
    match body.kind() {
        Kind::CompoundStatement => body.named_children().collect(),
        _ => vec![body],
    }
}

fn condition_of_loop(node: Node<'_>) -> Option<Node<'_>> {
    let condition = node.field(Field::Condition)?;
    let condition = match condition.kind() {
        Kind::ConditionClause => condition.parts().next().filter(|_| condition.parts().count() == 1)?,
        _ => condition,
    };
    Some(condition.without_parentheses()).filter(|it| it.kind() == Kind::BinaryExpression)
}

/// The condition of `if (…) break;`
fn leaving(statement: Node<'_>) -> Option<Node<'_>> {
    let consequence = statement.field(Field::Consequence).filter(|_| statement.kind() == Kind::IfStatement)?;
    condition_of(statement).filter(|_| is_break(consequence) && statement.field(Field::Alternative).is_none())
}

/// `break;`, also in braces.
fn is_break(statement: Node<'_>) -> bool {
    match statement.kind() {
        Kind::CompoundStatement => {
            let mut parts = statement.named_children();
            parts.next().is_some_and(|it| it.kind() == Kind::BreakStatement) && parts.next().is_none()
        }
        kind => kind == Kind::BreakStatement,
    }
}

/// The lowest value with which a condition's first term lets the loop go on, less one; and whether it has no other term.
fn lower_bound(tree: &SyntaxTree, condition: Node<'_>, counter: &str) -> Option<(i64, bool)> {
    let (mut first, mut is_alone) = (condition.without_parentheses(), true);
    while let Some(both) = Binary::of(first).filter(|it| matches!(it.operator(), Some("&&" | "and"))) {
        (first, is_alone) = (both.left()?.without_parentheses(), false);
    }
    let comparison = Binary::of(first)?;
    let (left, right) = (comparison.left()?, comparison.right()?);
    let bound = match comparison.operator()? {
        ">" if tree.slice(left) == counter => tree.value_of(right)?,
        ">=" if tree.slice(left) == counter => tree.value_of(right)? - 1,
        "<" if tree.slice(right) == counter => tree.value_of(left)?,
        "<=" if tree.slice(right) == counter => tree.value_of(left)? - 1,
        _ => return None,
    };
    Some((bound, is_alone))
}

/// The statements directly behind the loop, as far as one has elements of the counter, and none has its value.
fn stores_behind<'t>(tree: &SyntaxTree, node: Node<'t>, block: Node<'t>, counter: &str) -> Vec<Node<'t>> {
    let behind = block.named_children().skip_while(|it| it.start_byte() < node.end_byte());
    let is_of_elements = |it: &Node<'t>| tree.named(*it, counter).all(|name| element(tree, name).is_some());
    let is_store = |it: &Node<'t>| matches!(it.kind(), Kind::ExpressionStatement | Kind::Comment) && is_of_elements(it);
    let mut stores: Vec<Node<'t>> = behind.take_while(is_store).collect();
    let last = stores.iter().rposition(|it| tree.named(*it, counter).next().is_some());
    stores.truncate(last.map_or(0, |last| last + 1));
    stores
}

/// Whether a part stands on one line, has no jumps and nothing that is run elsewhere, and keeps no variable.
fn is_straight(tree: &SyntaxTree, part: Node<'_>) -> bool {
    let is_odd = |node: Node<'_>| {
        // The scope of a name, and its template arguments.
        let is_of_name =
            || node.parent().is_some_and(|it| matches!(it.kind(), Kind::QualifiedIdentifier | Kind::TemplateFunction));
        matches!(node.kind(), Kind::LambdaExpression | Kind::CaseStatement)
            || (node.kind() == Kind::Other && !is_of_name())
            || node.is_error()
            || node.is_assembly()
            || (node.kind() == Kind::Comment && node != part)
            || (node.kind() == Kind::Declaration && tree.slice(node).contains("static"))
    };
    let is_statement = !matches!(part.kind(), Kind::PreprocCall | Kind::PreprocDef | Kind::PreprocFunctionDef);
    is_statement
        && !tree.slice(part).contains(['\n', '\\'])
        && exits(tree, part).is_empty()
        && !part.descendants().any(is_odd)
}

/// Whether a directive stands before the loop, which new lines would get between.
fn is_below_directive(node: Node<'_>) -> bool {
    node.prev_sibling().is_some_and(|before| before.kind() == Kind::PreprocCall)
}
