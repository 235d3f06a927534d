//! The edits for an array of flags: its declaration, and each element that is read or assigned.

use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Field, Kind, Node, Subscript};
use cuda_syntax::identifiers::{identifiers, occurrences};
use lmem_base::diagnostic::Edit;

use crate::rewrite::facts::number::is_number;
use crate::rewrite::facts::purity::is_pure;
use crate::rewrite::facts::taken::{is_condition, is_value};
use crate::rewrite::shared::columns::{before_statement, beside_others};
use crate::rewrite::shared::declaration::Declared;

/// An array of flags that becomes bits.
pub(super) struct Flags<'t> {
    pub tree: &'t SyntaxTree,
    pub name: &'t str,
    /// The lowest bit, as a literal of the integer's type.
    pub one: String,
    /// The type of flags that are no `bool`.
    pub integer: Option<&'t str>,
}

impl Flags<'_> {
    /// All flags are false at first: where the array had no initializer, its elements had any value.
    pub fn declaration(
        &self,
        declared: &Declared<'_>,
        (type_node, type_text): (Node<'_>, &str),
        rows: Option<Node<'_>>,
    ) -> Option<Vec<Edit>> {
        let Self { tree, name, .. } = self;
        let declarator = match rows {
            Some(rows) => format!("{name}[{}] = {{}}", tree.slice(rows)),
            None => format!("{name} = 0"),
        };
        let Some(removed) = beside_others(tree, declared)? else {
            let edits = [
                tree.replacement(type_node.byte_range(), type_text)?,
                tree.replacement(declared.whole.byte_range(), &declarator)?,
            ];
            return Some(edits.into());
        };
        let inserted = before_statement(tree, declared.statement, &format!("{type_text} {declarator};"))?;
        Some(vec![inserted, tree.replacement(removed, "")?])
    }

    /// The integer that has the flag of an element: `seen`, or `seen[row]`; `None` if it could not be named several times.
    fn integer_of(&self, element: Node<'_>) -> Option<&str> {
        let row = Subscript::of(element)?.base()?;
        let is_fit = match Subscript::of(row) {
            Some(row) => row.index().is_some_and(|index| is_number(self.tree, index) && is_pure(self.tree, index)),
            None => row.kind() == Kind::Identifier,
        };
        is_fit.then(|| self.tree.slice(row))
    }

    /// The edits for `seen[index]`.
    pub fn element(&self, element: Node<'_>) -> Option<Vec<Edit>> {
        let index = index_of(self.tree, element)?;
        if let Some(link) = self.link_of(element) {
            return self.split(element, index, link);
        }
        let parent = element.parent()?;
        match Assignment::of(parent) {
            Some(assignment) if assignment.left() == Some(element) => {
                let (value, around) = (assignment.right()?, parent.parent()?);
                let is_statement = around.kind() == Kind::ExpressionStatement;
                match assignment.operator() {
                    None | Some("=") if is_statement => self.assigned(element, index, value),
                    None | Some("=") => self.assigned_between(element, index, value, parent),
                    Some(operator) => self.changed(element, index, value, operator).filter(|_| is_statement),
                }
            }
            _ if is_value(self.tree, element) => self.read(element, index),
            _ => None,
        }
    }

    /// `(seen >> index & 1)`; with `!= 0` where the type may matter.
    fn read(&self, element: Node<'_>, index: Node<'_>) -> Option<Vec<Edit>> {
        let (open, close) = parentheses(index);
        let name = self.integer_of(element)?;
        let has_parentheses = || {
            let parent = element.parent().map(Node::kind);
            matches!(parent, Some(Kind::ConditionClause | Kind::ParenthesizedExpression))
        };
        let (start, end) = match is_condition(element) {
            true if has_parentheses() => (format!("{name} >> {open}"), format!("{close} & 1")),
            true => (format!("({name} >> {open}"), format!("{close} & 1)")),
            false => match self.integer {
                Some(integer) => (format!("({integer})({name} >> {open}"), format!("{close} & 1)")),
                None => (format!("(({name} >> {open}"), format!("{close} & 1) != 0)")),
            },
        };
        self.around(element, index, &start, element.end_byte(), &end)
    }

    /// `seen |= 1u << index;`
    fn assigned(&self, element: Node<'_>, index: Node<'_>, value: Node<'_>) -> Option<Vec<Edit>> {
        let Self { tree, one, .. } = self;
        let name = self.integer_of(element)?;
        let (open, close) = parentheses(index);
        let end = value.end_byte();
        match tree.slice(value) {
            _ if !self.is_flag(value) => None,
            _ if self.is_toggled(element, index, value) => {
                self.around(element, index, &format!("{name} ^= {one} << {open}"), end, close)
            }
            "true" | "1" => self.around(element, index, &format!("{name} |= {one} << {open}"), end, close),
            "false" | "0" => {
                self.around(element, index, &format!("{name} &= ~({one} << {open}"), end, &format!("{close})"))
            }
            _ => {
                // The index is written twice and evaluated once, after the value, as in an assignment. A value of
                // class type may have another conversion as a condition.
                let is_fit = is_number(tree, value) && !self.is_in(index);
                let index = is_fit.then(|| tree.slice(index))?;
                let bit = format!("{one} << {open}{index}{close}");
                // Compilers warn of an assignment as a condition.
                let (before, behind) = match value.kind() {
                    Kind::AssignmentExpression => ("((", ") != 0)"),
                    _ => ("(", ")"),
                };
                let edits = [
                    self.replaced(element.start_byte()..value.start_byte(), &format!("{name} = {before}"))?,
                    tree.insertion(end, &format!("{behind} ? {name} | {bit} : {name} & ~({bit})"))?,
                ];
                Some(edits.into())
            }
        }
    }

    /// Whether an element is assigned its opposite, by an index that is the same both times: `seen[k] = !seen[k];`.
    fn is_toggled(&self, element: Node<'_>, index: Node<'_>, value: Node<'_>) -> bool {
        let opposite = value.field(Field::Argument).filter(|_| value.operator() == Some("!"));
        opposite.is_some_and(|it| self.tree.slice(it) == self.tree.slice(element)) && is_pure(self.tree, index)
    }

    /// Whether an element is the `seen[k]` on the right of such an assignment.
    pub fn is_beside_toggled(&self, element: Node<'_>) -> bool {
        let toggled = || {
            let value = element.parent()?;
            let assignment = Assignment::of(value.parent()?).filter(|it| it.right() == Some(value))?;
            let is_statement = assignment.node().parent()?.kind() == Kind::ExpressionStatement;
            let is_plain = is_statement && matches!(assignment.operator(), None | Some("="));
            let target = assignment.left().filter(|_| is_plain)?;
            Some(self.is_toggled(target, Subscript::of(target)?.index()?, value))
        };
        toggled().unwrap_or(false)
    }

    /// `(seen |= 1u << index, true)` for an assignment whose value another one takes.
    fn assigned_between(
        &self,
        element: Node<'_>,
        index: Node<'_>,
        value: Node<'_>,
        assignment: Node<'_>,
    ) -> Option<Vec<Edit>> {
        let Self { tree, one, .. } = self;
        let name = self.integer_of(element)?;
        let outer = Assignment::of(assignment.parent()?)?;
        let is_taken = outer.right() == Some(assignment) && is_number(tree, outer.left()?);
        let (open, close) = parentheses(index);
        let end = value.end_byte();
        match tree.slice(value) {
            "true" | "1" if is_taken => {
                self.around(element, index, &format!("({name} |= {one} << {open}"), end, &format!("{close}, true)"))
            }
            "false" | "0" if is_taken => {
                let before = format!("({name} &= ~({one} << {open}");
                self.around(element, index, &before, end, &format!("{close}), false)"))
            }
            _ => None,
        }
    }

    /// `seen |= (value ? 1u : 0u) << index;`: the value is evaluated before the index, as in the assignment.
    fn changed(&self, element: Node<'_>, index: Node<'_>, value: Node<'_>, operator: &str) -> Option<Vec<Edit>> {
        let Self { tree, one, .. } = self;
        let name = self.integer_of(element)?;
        let is_fit = is_number(tree, value) && !self.is_in(index);
        let zero = one.replacen('1', "0", 1);
        let (open, close) = parentheses(index);
        let shifted = |set: &str, unset: &str| format!(" ? {set} : {unset}) << {open}{}{close}", tree.slice(index));
        let (before, behind) = match operator {
            "|=" if self.is_flag(value) => (format!("{name} |= (("), format!("){}", shifted(one, &zero))),
            // A number takes part with its lowest bit, as `true` has no other.
            "&=" => (format!("{name} &= ~(((("), format!(") & 1){})", shifted(&zero, one))),
            // Any other number than 0 and 1 would leave a flag set.
            "^=" if is_condition_text(value) => (format!("{name} ^= (("), format!("){}", shifted(one, &zero))),
            _ => return None,
        };
        let edits = [
            self.replaced(element.start_byte()..value.start_byte(), &before).filter(|_| is_fit)?,
            tree.insertion(value.end_byte(), &behind)?,
        ];
        Some(edits.into())
    }

    /// Whether an expression mentions the array.
    fn is_in(&self, expression: Node<'_>) -> bool {
        occurrences(self.tree.slice(expression), self.name).next().is_some()
    }

    /// Whether an expression is an element whose index may be evaluated earlier or later.
    fn is_plain_element(&self, node: Node<'_>) -> bool {
        let is_own = identifiers(self.tree.slice(node)).next() == Some(self.name);
        let index =
            index_of(self.tree, node).filter(|index| is_own && is_pure(self.tree, *index) && !self.is_in(*index));
        index.is_some() && self.integer_of(node).is_some()
    }

    /// The place of an element in `seen[0] = seen[n] = true;`, a statement that may be written as several.
    fn link_of<'t>(&self, element: Node<'t>) -> Option<Link<'t>> {
        let own = Assignment::of(element.parent()?).filter(|it| it.left() == Some(element))?;
        let mut outermost = own;
        while let Some(around) = outermost.node().parent().and_then(Assignment::of) {
            outermost = around;
        }
        let statement = outermost.node().parent().filter(|it| it.kind() == Kind::ExpressionStatement)?;
        let is_in_block = statement.parent().is_some_and(|it| it.kind() == Kind::CompoundStatement);
        let (mut link, mut value) = (outermost, outermost.right()?);
        let mut links = 1;
        loop {
            let is_fit = link.is_plain() && link.left().is_some_and(|left| self.is_plain_element(left));
            is_fit.then_some(())?;
            let Some(next) = Assignment::of(value) else { break };
            (link, value) = (next, next.right()?);
            links += 1;
        }
        let is_set = match self.tree.slice(value) {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return None,
        };
        let next = own.right().filter(|right| *right != value);
        (is_in_block && links > 1).then_some(Link { next, end: value.end_byte(), is_set })
    }

    /// `seen |= 1u << index; ` with the statement of the next element behind it.
    fn split(&self, element: Node<'_>, index: Node<'_>, link: Link<'_>) -> Option<Vec<Edit>> {
        let (name, one) = (self.integer_of(element)?, &self.one);
        let (open, close) = parentheses(index);
        let (before, behind) = match link.is_set {
            true => (format!("{name} |= {one} << {open}"), close.to_string()),
            false => (format!("{name} &= ~({one} << {open}"), format!("{close})")),
        };
        match link.next {
            Some(next) => self.around(element, index, &before, next.start_byte(), &format!("{behind}; ")),
            None => self.around(element, index, &before, link.end, &behind),
        }
    }

    /// Whether a flag keeps nothing else of a value: a `bool` does so by its type.
    fn is_flag(&self, value: Node<'_>) -> bool {
        self.integer.is_none() || matches!(self.tree.slice(value), "0" | "1") || is_condition_text(value)
    }

    /// Replaces a range that has no comment, which would be lost.
    fn replaced(&self, range: Range<usize>, text: &str) -> Option<Edit> {
        let has_comment =
            self.tree.text().get(range.clone()).is_none_or(|old| old.contains("/*") || old.contains("//"));
        self.tree.replacement(range, text).filter(|_| !has_comment)
    }

    /// Replaces what stands before and behind an index, up to `end`.
    fn around(&self, element: Node<'_>, index: Node<'_>, before: &str, end: usize, behind: &str) -> Option<Vec<Edit>> {
        let edits = [
            self.replaced(element.start_byte()..index.start_byte(), before)?,
            self.replaced(index.end_byte()..end, behind)?,
        ];
        Some(edits.into())
    }
}

/// An element of a chain of assignments.
struct Link<'t> {
    /// The assignment that gives it its value; `None` for the last element.
    next: Option<Node<'t>>,
    /// The end of the value that all get.
    end: usize,
    is_set: bool,
}

/// Whether an expression is 0 or 1, as its form shows.
fn is_condition_text(value: Node<'_>) -> bool {
    match value.kind() {
        Kind::True | Kind::False => true,
        Kind::ParenthesizedExpression => value.named_child(0).is_some_and(is_condition_text),
        Kind::UnaryExpression => value.operator() == Some("!"),
        Kind::BinaryExpression => {
            matches!(value.operator(), Some("<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||"))
        }
        _ => false,
    }
}

/// Parentheses around an expression that may bind less tightly than a shift.
fn parentheses(index: Node<'_>) -> (&'static str, &'static str) {
    match index.kind() {
        Kind::Identifier
        | Kind::NumberLiteral
        | Kind::SubscriptExpression
        | Kind::FieldExpression
        | Kind::CallExpression
        | Kind::ParenthesizedExpression => ("", ""),
        _ => ("(", ")"),
    }
}

/// The last index of an element, if it is a number: one of class type may have its own `>>`.
pub(super) fn index_of<'t>(tree: &SyntaxTree, element: Node<'t>) -> Option<Node<'t>> {
    Subscript::of(element)?.index().filter(|index| is_number(tree, *index))
}
