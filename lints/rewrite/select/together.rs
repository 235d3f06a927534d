//! Statements that stand in one loop over all elements: those of the element that has the index are done.

use std::collections::BTreeSet;
use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};
use lmem_base::diagnostic::Edit;

use super::text::condition;
use super::{Lines, Writer};
use crate::rewrite::facts::number::{is_number, is_value_type};
use crate::rewrite::facts::purity::{is_arithmetic, is_builtin, is_pure};
use crate::rewrite::facts::steady::{is_reachable, may_write};
use crate::rewrite::select::holder::IndexedUse;
use crate::rewrite::select::place::is_first_on_line;
use crate::rewrite::unroll::body::{exits, has_entries, has_meetings, is_automatic};

/// Limit on the statements that stand in the loop: for each element there is a copy of them.
pub(super) const MOST_STATEMENTS: usize = 8;
/// Limit on their lines.
const MOST_LINES: usize = 16;

/// The last statement of a block that needs what the first `count` statements from one on declare, or what is declared meanwhile;
/// `None` if the statements up to it cannot stand in a loop.
pub(super) fn last_needed<'t>(
    tree: &SyntaxTree,
    first: Node<'t>,
    mut declared: Vec<Node<'t>>,
    mut count: usize,
) -> Option<Node<'t>> {
    let block = first.parent().filter(|it| it.kind() == Kind::CompoundStatement)?;
    let statements: Vec<Node<'t>> = block.parts().filter(|it| it.start_byte() >= first.start_byte()).collect();
    let function = enclosing_function(first)?;
    let all = tree.declarations(function);
    let mut known = 0;
    // What is declared among the statements is known there alone.
    while let Some(name) = declared.get(known).copied() {
        known += 1;
        let own = resolve(&all, tree.slice(name), name.start_byte())?;
        let last = tree.names_of(function, &all, own).into_iter().map(|name| name.end_byte()).max();
        let until = last.map_or(0, |last| statements.iter().take_while(|it| it.start_byte() < last).count());
        for statement in statements.iter().take(until).skip(count) {
            declared.extend(variables(tree, *statement)?);
        }
        count = count.max(until);
    }
    let used = statements.get(..count)?;
    let rest = used.last()?.end_byte()..block.end_byte();
    let behind: BTreeSet<&str> = tree
        .identifiers_below(block)
        .into_iter()
        .filter(|it| rest.contains(&it.start_byte()))
        .map(|it| tree.slice(it))
        .collect();
    let is_named_behind = declared.iter().any(|name| behind.contains(tree.slice(*name)));
    // What a macro hides may use a name, or leave the loop.
    let is_plain = tree.compiled().is_faithful(tree.text(), &(first.start_byte()..block.end_byte()));
    let is_quiet = |statement: &Node<'t>| {
        !has_meetings(tree, *statement) && exits(tree, *statement).is_empty() && !has_entries(*statement)
    };
    let is_fit = (2..=MOST_STATEMENTS).contains(&count) && used.iter().all(is_quiet) && is_plain && !is_named_behind;
    is_fit.then(|| used.last().copied()).flatten()
}

/// The variables that a statement of a block declares; `None` if it declares anything else, or what ends with its scope
/// may have effects.
pub(super) fn variables<'t>(tree: &SyntaxTree, statement: Node<'t>) -> Option<Vec<Node<'t>>> {
    match statement.kind() {
        Kind::ExpressionStatement
        | Kind::IfStatement
        | Kind::ForStatement
        | Kind::WhileStatement
        | Kind::DoStatement
        | Kind::CompoundStatement => Some(Vec::new()),
        Kind::Declaration => {
            let type_text = tree.slice(statement.field(Field::Type)?);
            let names: Vec<Node<'t>> = statement.fields(Field::Declarator).map(name_in).collect::<Option<_>>()?;
            let is_value = is_value_type(tree, type_text);
            let is_automatic = names.iter().all(|name| is_automatic(tree, name.start_byte()));
            (is_value && is_automatic && !names.is_empty()).then_some(names)
        }
        _ => None,
    }
}

/// The statements of a block from one to another.
pub(super) fn statements<'t>(first: Node<'t>, last: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let range = first.start_byte()..last.end_byte();
    let block = first.parent().into_iter().flat_map(Node::parts);
    block.filter(move |it| range.contains(&it.start_byte()))
}

/// Whether the statements in a range are whole lines that a loop can take.
pub(super) fn are_whole_lines(tree: &SyntaxTree, range: &Range<usize>) -> bool {
    let Some(text) = tree.text().get(range.clone()) else { return false };
    let is_edited = |line: &str| line.trim_start().starts_with('#') || line.ends_with('\\');
    is_first_on_line(tree, range.start)
        && is_last_on_line(tree, range.end)
        && text.lines().count() <= MOST_LINES
        && !text.lines().any(is_edited)
        && !text.contains('"')
}

impl<'h> Writer<'h> {
    /// The indices as expressions that are the same in all rounds of a loop around some statements.
    pub(super) fn steady_indices(&mut self, found: &IndexedUse<'h>, last: Node<'h>, lines: &mut Lines) -> Vec<String> {
        let tree = self.tree;
        let base = self.base_name(found);
        let mut indices = Vec::new();
        for dimension in &found.dimensions {
            // The index is compared in each round: what it names must be the same in all of them.
            let is_steady = || {
                tree.identifiers(dimension.index).iter().all(|name| {
                    let name = tree.slice(*name);
                    !is_reachable(tree, self.function, name)
                        && !statements(found.statement, last).any(|it| may_write(tree, it, name))
                })
            };
            let stands_in_loops = self.may_stand_in_loops(dimension.index) && is_steady();
            let text = tree.slice(dimension.index).to_string();
            indices.push(self.index(dimension.index, text, stands_in_loops, &base, lines));
        }
        indices
    }

    /// Puts the body, whose indices are the counters, into loops over all elements, in place of a range of whole lines.
    pub(super) fn in_loops(
        &self,
        found: &IndexedUse<'h>,
        (counters, indices): (&[String], &[String]),
        range: Range<usize>,
        body: &str,
        mut lines: Lines,
    ) -> Option<Vec<Edit>> {
        let last_counter = counters.len().checked_sub(1)?;
        for (depth, (counter, dimension)) in counters.iter().zip(&found.dimensions).enumerate() {
            let chosen =
                if depth == last_counter { format!(" if ({})", condition(counters, indices)) } else { String::new() };
            lines.push((depth, "#pragma unroll".to_string()));
            lines.push((
                depth,
                format!("for (int {counter} = 0; {counter} < {}; ++{counter}){chosen} {{", dimension.extent),
            ));
        }
        let indentation = indentation(self.tree, range.start);
        for (number, line) in body.lines().enumerate() {
            let own = match number {
                0 => line,
                _ if line.trim().is_empty() => "",
                _ => line.strip_prefix(indentation)?,
            };
            lines.push((if own.is_empty() { 0 } else { counters.len() }, own.trim_end().to_string()));
        }
        lines.extend((0..counters.len()).rev().map(|depth| (depth, "}".to_string())));
        self.place_instead(range, &lines)
    }

    /// Reads the parts of a value that do not name the element before the loop, which would read them for each element. Before the
    /// first statement nothing is written that they could read.
    pub(super) fn read_before(
        &mut self,
        (node, is_of_first): (Node<'h>, bool),
        name: &str,
        base: &str,
        replaced: &mut Vec<(Range<usize>, String)>,
        lines: &mut Lines,
    ) {
        if self.names(node, name) {
            let is_evaluated = match node.kind() {
                Kind::BinaryExpression => !matches!(node.operator(), Some("&&" | "||" | "and" | "or")),
                kind => {
                    matches!(kind, Kind::ParenthesizedExpression | Kind::UnaryExpression | Kind::ArgumentList)
                        || kind == Kind::CallExpression && is_pure(self.tree, node)
                }
            };
            for child in node.named_children().filter(|_| is_evaluated) {
                self.read_before((child, is_of_first), name, base, replaced, lines);
            }
            return;
        }
        let is_called = node.parent().is_some_and(|parent| parent.field(Field::Function) == Some(node));
        let is_fit = !is_called && !is_arithmetic(self.tree, node) && is_pure(self.tree, node);
        if !is_fit || !(is_of_first || self.reads_elsewhere(node)) {
            return;
        }
        let value = self.fresh(&format!("{base}_value"));
        lines.push((0, format!("const auto {value} = {};", self.tree.slice(node))));
        replaced.push((node.byte_range(), value));
    }

    pub(super) fn names(&self, node: Node<'h>, name: &str) -> bool {
        self.tree.identifiers_below(node).into_iter().any(|it| self.tree.slice(it) == name)
    }

    /// Whether all that code reads lies elsewhere than the array: parameters that keep their values lead to none of the function's own
    /// variables, and what is no pointer leads nowhere.
    pub(super) fn reads_elsewhere(&self, node: Node<'h>) -> bool {
        let declarations = self.tree.declarations(self.function);
        let Some(body) = self.function.field(Field::Body) else { return false };
        self.tree.identifiers_below(node).into_iter().all(|it| {
            match resolve(&declarations, self.tree.slice(it), it.start_byte()) {
                Some(found) if found.is_parameter => !may_write(self.tree, body, &found.name),
                // A name for a type may be that of a reference.
                Some(found) => found.kind == DeclarationKind::Scalar && is_number(self.tree, it),
                None => self.tree.is_fixed(self.tree.slice(it), it.start_byte()) || is_builtin(self.tree.slice(it)),
            }
        })
    }
}

/// The declared name, which stands below `&` too; `None` for the several of a structured binding.
pub(super) fn name_in(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator.declared_name();
    while node.kind() == Kind::ReferenceDeclarator {
        node = node.named_child(0)?.declared_name();
    }
    (node.kind() == Kind::Identifier).then_some(node)
}

/// The blanks before the first word of a line.
fn indentation(tree: &SyntaxTree, offset: usize) -> &str {
    let start = tree.text()[..offset].rfind('\n').map_or(0, |at| at + 1);
    &tree.text()[start..offset]
}

/// Whether nothing but a comment follows in the line.
fn is_last_on_line(tree: &SyntaxTree, offset: usize) -> bool {
    let rest = tree.text()[offset..].lines().next().unwrap_or("").trim_start();
    rest.is_empty() || rest.starts_with("//")
}
