//! Rewrites a loop with a run-time bound: the array's extent becomes the trip count, and the present condition a guard
//! in the body. Where the condition changes in the rounds, or the induction variable is used behind the loop, the extent
//! becomes a second condition. Such loops can be unrolled.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::is_identifier_character;
use cuda_syntax::tree::{enclosing_function, resolve};
use lmem_base::diagnostic::Edit;

use super::body::has_meetings;
use super::bound::{
    Bound, is_counted_in_body, is_used_behind, may_come_back, open_bound, reaches, rises_from_constant,
};
use super::extent::{IndexedElement, WantedArray, indexed_elements};
use super::for_loop::ForLoop;
use super::header::{counted_first, step};
use super::inevitable::is_inevitable;
use super::limit::is_below;
use super::round::Round;
use crate::rewrite::facts::operators::may_call_operators;
use crate::rewrite::facts::purity::is_pure;
use crate::rewrite::facts::volatile_reads::may_read_volatile;

/// A loop with a constant bound and a guard. The loop never exceeded the array's extent, because each iteration with an
/// effect accesses the element of its index.
pub struct Guard {
    pub edits: Vec<Edit>,
    /// The number of rounds, if known.
    pub extent: Option<u32>,
    /// The extent of the array that the loop is over, if known.
    pub size: Option<u32>,
    /// Whether it is a member of an object: what is beyond it is known memory.
    pub is_of_member: bool,
}

impl Guard {
    pub(super) fn new(edits: Vec<Edit>, extent: Option<u32>) -> Self {
        Self { edits, extent, size: None, is_of_member: false }
    }

    pub(super) fn over(self, size: Option<i64>, is_of_member: bool) -> Self {
        Self { size: size.and_then(|size| u32::try_from(size).ok()), is_of_member, ..self }
    }
}

impl ForLoop {
    /// The loop up to the array's extent; `None` if it is not shown to be equivalent.
    pub fn guarded(&self, array: &WantedArray<'_>) -> Option<Guard> {
        let (tree, node) = (self.tree(), self.node()?);
        let (condition, body) = (self.condition()?, node.field(Field::Body)?);
        // A guard, or a second condition, asks for the bound less often, or more often.
        if may_read_volatile(tree, condition) {
            return None;
        }
        // What else the header steps must have its last value where the loop ends now.
        let is_beside = node.field(Field::Update).is_some_and(|update| update.kind() == Kind::CommaExpression);
        if is_beside && !self.is_stepped && is_counted_in_body(tree, node, self.counter()) {
            return self.as_stepped().guarded(array);
        }
        let elements = indexed_elements(tree, body, self.counter());
        let is_own = |element: &IndexedElement<'_>| array.has(tree, element.node);
        let own = || elements.iter().filter(|element| element.ends_loops && is_own(element));
        // Rounds without effect may lead a narrow counter back to the first element.
        let comes_back = may_come_back(tree, node, self.counter());
        // A round beyond the extent would have accessed an element beyond the array.
        let accessed = || elements.iter().filter(|element| self.accesses(element.node, !comes_back));
        let ending = || accessed().filter(|element| element.ends_loops);
        let bounded = |element: &IndexedElement<'_>| {
            Some(self.bounded_by(&element.extent)?.over(element.size, element.is_of_member))
        };
        // No round beyond a row of an array that has them one behind the other.
        let rows = elements.iter().filter(|it| is_own(it)).filter_map(|it| Some((it, it.row.as_ref()?)));
        if let Some((element, (row, text))) = rows.min_by_key(|(_, (row, _))| *row)
            && is_below(tree, condition, self.counter(), *row)
            && let Some(guard) = self.bounded_by(text)
        {
            return Some(guard.over(element.size, element.is_of_member));
        }
        if let Some(first) = accessed().find(|element| is_own(element)) {
            // Of `a[i - 1]` and `a[i]`, and of two arrays, the one that ends first bounds the loop.
            let is_less = |element: &&IndexedElement<'_>| {
                element.value.is_some() && (element.value < first.value || !first.ends_loops)
            };
            let least = ending().filter(is_less).min_by_key(|element| (element.value, !is_own(element)));
            let least = least.or(Some(first).filter(|first| first.ends_loops));
            // The last element of `a[i + 1]` is that of the round before the extent.
            let is_nearest = |it: &&IndexedElement<'_>| {
                it.above > 0 && least.is_some_and(|least| it.value.is_some() && it.value == least.value)
            };
            let above = ending().filter(is_nearest).map(|it| it.above).max().unwrap_or(0);
            let guard = least.and_then(|least| {
                let nearer = self.rises().then(|| shortened(&least.extent, above)).and_then(|it| self.bounded_by(&it));
                Some((nearer.or_else(|| self.bounded_by(&least.extent))?, least.is_of_member))
            });
            if let Some((guard, is_of_member)) = guard {
                return Some(guard.over(first.size, is_of_member));
            }
        }
        // The loop cannot go beyond another array either.
        let by_other = || {
            let least = ending().min_by_key(|element| (element.value, element.node.start_byte()))?;
            let guard = self.bounded_by(&least.extent).or_else(|| self.cut(&elements, &|_| true, false))?;
            Some(guard.over(None, least.is_of_member))
        };
        let Some(within) = own().min_by_key(|element| (element.value, element.node.start_byte())) else {
            return self.searched(array).or_else(|| self.counted(array)).or_else(by_other);
        };
        if let Some(guard) = self.bounded_below(&elements, array) {
            return Some(guard);
        }
        // There was no round beyond the extent, or it had no effect.
        let is_within = |other: &&IndexedElement<'_>| {
            other.extent == within.extent || other.value.zip(within.value).is_some_and(|(one, most)| one <= most)
        };
        let all = elements.iter().filter(is_within).map(|element| element.node).collect();
        let is_below = within.value.is_some_and(|value| is_below(tree, condition, self.counter(), value));
        let is_safe = || !comes_back && Round::new(tree, body, all).is_safe(&self.harmless(true));
        let guard = (is_below || is_safe()).then(|| bounded(within)).flatten();
        let guard = guard.or_else(|| self.cut(&elements, &is_own, is_below)).or_else(|| self.counted(array));
        guard.or_else(|| self.over_all(&elements, array)).or_else(by_other)
    }

    /// The loop with a second condition, which leaves it where it did: fewer rounds are asked than with a guard.
    pub fn left_early(&self, array: &WantedArray<'_>) -> Option<Guard> {
        let (tree, node) = (self.tree(), self.node()?);
        if may_read_volatile(tree, self.condition()?) {
            return None;
        }
        let elements = indexed_elements(tree, node.field(Field::Body)?, self.counter());
        let is_own = |element: &IndexedElement<'_>| array.has(tree, element.node);
        let own = elements.iter().filter(|element| element.ends_loops && is_own(element));
        let least = own.filter_map(|element| element.value).min()?;
        self.cut(&elements, &is_own, is_below(tree, self.condition()?, self.counter(), least))
    }

    /// The loop with a second condition: it ends at the extent, or as before. What the condition asks may change in the
    /// rounds, and the induction variable keeps its value behind the loop.
    fn cut(
        &self,
        elements: &[IndexedElement<'_>],
        is_wanted: &dyn Fn(&IndexedElement<'_>) -> bool,
        is_below: bool,
    ) -> Option<Guard> {
        let (tree, node) = (self.tree(), self.node()?);
        let (condition, body) = (self.condition()?, node.field(Field::Body)?);
        let is_statement = is_in_block(node);
        let counted = counted_first(tree, condition, self.counter()).filter(|_| self.is_stepped);
        let is_fit = is_statement
            && condition.kind() != Kind::Declaration
            && (counted.is_some() || is_pure(tree, condition))
            && (self.is_stepped
                || rises_from_constant(tree, node, body, self.counter())
                || is_counted_in_body(tree, node, self.counter()));
        if !is_fit || (has_meetings(tree, body) && !is_below) {
            return None;
        }
        let is_seen =
            self.is_stepped || is_used_behind(tree, node, self.counter()) || may_come_back(tree, node, self.counter());
        let is_certain = |element: &&IndexedElement<'_>| {
            let is_safe = || !is_seen && Round::new(tree, body, vec![element.node]).is_safe(&self.harmless(true));
            element.ends_loops && is_wanted(element) && (is_below || self.accesses(element.node, !is_seen) || is_safe())
        };
        let element = elements.iter().filter(is_certain).min_by_key(|it| (it.value, it.node.start_byte()))?;
        let end = match counted {
            Some(update) => {
                tree.insertion(update.end_byte(), &format!(" < {} && {}", element.extent, self.counter()))?
            }
            None => {
                let both = format!("{} < {} && {}", self.counter(), element.extent, as_operand(tree, condition));
                tree.replacement(condition.byte_range(), &both)?
            }
        };
        let edits = [self.unroll(), Some(end)];
        let extent = element.value.and_then(|value| u32::try_from(value).ok());
        Some(Guard::new(edits.into_iter().flatten().collect(), extent).over(element.size, element.is_of_member))
    }

    /// Whether each iteration accesses the element `used` of its index, or has no effect. `skips`: an iteration without
    /// effect may be followed by others.
    pub(super) fn accesses(&self, used: Node<'_>, skips: bool) -> bool {
        let accesses = || {
            let (tree, node) = (self.tree(), self.node()?);
            let body = node.field(Field::Body)?;
            let all = tree.declarations(enclosing_function(node)?);
            let meant = |at: usize| resolve(&all, self.counter(), at).map(|found| found.range);
            let is_own = meant(used.start_byte()) == meant(body.start_byte());
            Some(is_own && is_inevitable(tree, used, body, &self.harmless(skips)))
        };
        accesses().unwrap_or(false)
    }

    /// The condition without its parentheses; `None` where it declares a variable, or may call an operator of a class: it
    /// would be asked more or fewer times than now.
    pub(super) fn condition(&self) -> Option<Node<'_>> {
        let condition = self.node()?.field(Field::Condition)?;
        let condition = match condition.kind() {
            Kind::ConditionClause | Kind::ParenthesizedExpression => {
                let mut parts = condition.parts();
                parts.next().filter(|_| parts.next().is_none())
            }
            _ => Some(condition),
        };
        condition.filter(|condition| !may_call_operators(self.tree(), *condition))
    }

    /// The statements with which an iteration beyond the extent may end. Where those iterations come first, none of
    /// them may end the loop.
    pub(super) fn harmless(&self, skips: bool) -> Vec<Kind> {
        let update = self.node().and_then(|node| node.field(Field::Update));
        let is_up = update.and_then(|update| step(self.tree(), update)).is_some_and(|step| step > 0) || self.is_stepped;
        let (jump, skip) = (is_up.then_some(Kind::BreakStatement), skips.then_some(Kind::ContinueStatement));
        jump.into_iter().chain(skip).collect()
    }

    /// Whether the header counts up by one.
    fn rises(&self) -> bool {
        let update = self.node().and_then(|node| node.field(Field::Update));
        update.and_then(|update| step(self.tree(), update)) == Some(1)
    }

    pub(super) fn bounded_by(&self, extent: &str) -> Option<Guard> {
        let (tree, node) = (self.tree(), self.node()?);
        let is_statement = is_in_block(node);
        let (condition, body) = (self.condition()?, node.field(Field::Body)?);
        let is_fit = is_statement
            && matches!(body.kind(), Kind::CompoundStatement | Kind::ExpressionStatement | Kind::IfStatement);
        let is_fit = is_fit && !has_meetings(tree, body);
        let bound =
            Some(node).filter(|_| is_fit).and_then(|node| open_bound(tree, node, condition, body, self.counter()))?;
        let (constant, guard) = match bound {
            Bound::Upper => (
                tree.replacement(condition.byte_range(), &format!("{} < {extent}", self.counter()))?,
                tree.slice(condition).to_string(),
            ),
            Bound::Start(start) => (
                tree.replacement(start.byte_range(), &last_below(extent))?,
                format!("{} <= {}", self.counter(), as_term(tree, start)),
            ),
            Bound::Above(start) => (
                tree.replacement(start.byte_range(), extent)?,
                format!("{} < {}", self.counter(), as_term(tree, start)),
            ),
            Bound::Lower { .. } => return None,
        };
        let value = tree.evaluate(extent, node.start_byte());
        let step = node.field(Field::Update).and_then(|update| step(tree, update)).map_or(1, i64::abs);
        if !reaches(tree, node, self.counter(), value, step) {
            return None;
        }
        // An `else` would seem to be that of the guard.
        let has_else = body.kind() == Kind::IfStatement && body.field(Field::Alternative).is_some();
        let (open, close) = if has_else { (" {", Some(tree.insertion(body.end_byte(), " }")?)) } else { ("", None) };
        let guarded = tree.insertion(body.start_byte(), &format!("if ({guard}){open} "))?;
        let edits = [self.unroll(), Some(constant), Some(guarded), close];
        let extent = value.and_then(|value| u32::try_from(value).ok());
        Some(Guard::new(edits.into_iter().flatten().collect(), extent))
    }
}

/// An extent less some rounds.
fn shortened(extent: &str, rounds: i64) -> String {
    match extent.parse::<i64>() {
        _ if rounds == 0 => extent.to_string(),
        Ok(extent) => (extent - rounds).to_string(),
        Err(_) => match extent.strip_suffix(&format!(" + {rounds}")) {
            Some(name) => name.to_string(),
            None => format!("{extent} - {rounds}"),
        },
    }
}

/// An expression as an operand of a comparison.
pub(super) fn as_term(tree: &SyntaxTree, node: Node<'_>) -> String {
    match node.operator() {
        Some("+" | "-" | "*" | "/" | "%" | "." | "->") | None => tree.slice(node).to_string(),
        Some(_) => format!("({})", tree.slice(node)),
    }
}

/// A condition as an operand of `&&`.
pub(super) fn as_operand(tree: &SyntaxTree, condition: Node<'_>) -> String {
    match condition.kind() {
        Kind::BinaryExpression if !matches!(condition.operator(), Some("||" | "or")) => {
            tree.slice(condition).to_string()
        }
        _ => format!("({})", tree.slice(condition)),
    }
}

/// Whether a loop stands in a block, also as the body of other loops and of an `if`, where no `else` follows: it would be that of the
/// guard.
pub(super) fn is_in_block(node: Node<'_>) -> bool {
    let mut inner = node;
    while let Some(parent) = inner.parent() {
        let goes_on = match parent.kind() {
            Kind::ForStatement | Kind::WhileStatement | Kind::ElseClause => true,
            // Its own `else` may hold the loop.
            Kind::IfStatement => parent.field(Field::Alternative).is_none_or(|other| other == inner),
            kind => return kind == Kind::CompoundStatement,
        };
        if !goes_on {
            return false;
        }
        inner = parent;
    }
    false
}

/// The last index below an extent: `N - 1`, 63 for 64, and `N` for `N + 1`.
fn last_below(extent: &str) -> String {
    let before = extent.trim_end().strip_suffix('1').and_then(|text| text.trim_end().strip_suffix('+'));
    // `N + 11` and `2 * +1` do not end in `+ 1` as a term.
    let is_operand = |text: &&str| text.ends_with(|c: char| is_identifier_character(c) || c == ')');
    match extent.parse::<u32>().ok().and_then(|extent| extent.checked_sub(1)) {
        Some(last) => last.to_string(),
        None => before.map(str::trim_end).filter(is_operand).map_or_else(|| format!("{extent} - 1"), str::to_string),
    }
}

#[cfg(test)]
mod tests;
