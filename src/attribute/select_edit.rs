//! An access with a computed index, turned into accesses of all elements, of which one is chosen: indices are constants
//! then, and the array can live in registers.

use std::collections::BTreeMap;
use std::ops::Range;

use tree_sitter::Node;

use super::frame::StackObject;
use super::purity::{is_arithmetic, is_name_path, is_pure, takes_values};
use super::select_syntax::{Holder, IndexedUse, Role};
use super::syntax::{DeclarationKind, Volatility, access_path, children, resolve, role};
use super::view::SourceView;
use super::words::{fresh, words};
use crate::diagnostic::Edit;
use crate::edit::conflict;

/// Names for the counters of the loops over all elements.
const COUNTERS: [&str; 8] = ["k", "j", "i", "e", "m", "r", "element", "slot"];
/// Indentation of a block in a block.
const UNIT: &str = "    ";

/// How an element is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `if (k == index) a[k] = value;`
    Branch,
    /// `a[k] = k == index ? value : a[k];`
    Select,
}

/// The edits of all accesses of an object that have a computed index.
pub struct Selection {
    pub edits: Vec<Edit>,
    /// The most elements that one access chooses from, where the source tells.
    pub elements: Option<u64>,
    /// There are accesses that write.
    pub has_writes: bool,
    pub is_within_kernel: bool,
}

impl StackObject {
    /// Accesses without a computed index in place of all those with one; `None` where it is not certain that they do
    /// the same.
    pub fn selection(&self, form: Form) -> Option<Selection> {
        if !self.escapes.is_empty() || self.reinterpretation.is_some() {
            return None;
        }
        let holders = self.holders()?;
        let mut selection = Selection { edits: Vec::new(), elements: None, has_writes: false, is_within_kernel: true };
        let mut is_any = false;
        for holder in &holders {
            let uses = holder.uses(self)?;
            is_any |= !uses.is_empty();
            for found in &uses {
                let count = found.dimensions.iter().try_fold(1u64, |all, one| all.checked_mul(one.count?));
                selection.elements = selection.elements.max(count.or_else(|| self.elements()));
                selection.has_writes |= found.role != Role::Read;
                selection.is_within_kernel &= holder.view.is_within_kernel(found.node.start_byte());
            }
            let mut writer = Writer::new(holder, form)?;
            for statement in by_statement(uses) {
                selection.edits.extend(writer.statement(&statement)?);
            }
        }
        selection.edits.sort();
        selection.edits.dedup();
        let pairs = || selection.edits.iter().enumerate();
        let is_apart = pairs().all(|(at, one)| selection.edits[at + 1..].iter().all(|other| !conflict(one, other)));
        (is_any && is_apart).then_some(selection)
    }
}

/// The uses of each statement, inner ones first.
fn by_statement(uses: Vec<IndexedUse<'_>>) -> Vec<Vec<IndexedUse<'_>>> {
    let mut statements: BTreeMap<(usize, usize), Vec<IndexedUse<'_>>> = BTreeMap::new();
    for found in uses {
        let range = found.statement.byte_range();
        statements.entry((range.start, range.end)).or_default().push(found);
    }
    statements.into_values().collect()
}

/// Writes the edits of one function.
struct Writer<'h> {
    holder: &'h Holder,
    view: &'h SourceView,
    function: Node<'h>,
    form: Form,
    /// Names that were given.
    given: Vec<String>,
}

/// Lines of new code, each with its depth.
type Lines = Vec<(usize, String)>;

impl<'h> Writer<'h> {
    fn new(holder: &'h Holder, form: Form) -> Option<Self> {
        Some(Self { holder, view: &holder.view, function: holder.function()?, form, given: Vec::new() })
    }

    /// The edits of a statement; `None` where an element cannot be read before it.
    fn statement(&mut self, uses: &[IndexedUse<'h>]) -> Option<Vec<Edit>> {
        let statement = uses.first()?.statement;
        let written = uses.iter().find_map(|found| match found.role {
            Role::Write(node) => Some((found, node)),
            Role::Read => None,
        });
        let effects = Effects::of(self.view, statement, written.map(|(_, node)| node));
        if has_comment(statement, uses) || !uses.iter().all(|found| self.is_movable(found, &effects)) {
            return None;
        }
        let mut lines = Lines::new();
        let mut replaced: Vec<(Range<usize>, String)> = Vec::new();
        let is_updated = |found: &&IndexedUse<'_>| match written {
            Some((target, node)) => self.is_update(target, node, uses) && self.is_same_text(found.node, target.node),
            None => false,
        };
        let is_read = |found: &&IndexedUse<'_>| found.role == Role::Read && !is_updated(found);
        let reads: Vec<&IndexedUse<'h>> = uses.iter().filter(is_read).collect();
        for found in reads {
            let known = uses.iter().find_map(|other| {
                let is_same = self.is_same_text(other.node, found.node);
                let is_before = other.node.end_byte() < found.node.end_byte();
                replaced.iter().find(|(range, _)| is_same && is_before && *range == other.node.byte_range())
            });
            let name = match known.map(|(_, name)| name.clone()) {
                Some(name) => name,
                None => self.read(found, &replaced, &mut lines)?,
            };
            replaced.push((found.node.byte_range(), name));
        }
        match written {
            Some((found, node)) => {
                let is_update = self.is_update(found, node, uses);
                self.write(found, node, is_update, &replaced, &mut lines)?;
                self.place(statement, &lines, Vec::new(), true)
            }
            None => {
                let is_outer = |range: &Range<usize>| {
                    !replaced
                        .iter()
                        .any(|(other, _)| other != range && other.start <= range.start && range.end <= other.end)
                };
                let outer = replaced.iter().filter(|(range, _)| is_outer(range));
                let edits =
                    outer.map(|(range, name)| self.view.replacement(range.clone(), name)).collect::<Option<_>>()?;
                self.place(statement, &lines, edits, false)
            }
        }
    }

    fn is_same_text(&self, one: Node<'_>, other: Node<'_>) -> bool {
        self.view.slice(one) == self.view.slice(other)
    }

    /// `a[i] = max(a[i], value)`: the only element that is read is the one that is written.
    fn is_update(&self, target: &IndexedUse<'_>, assignment: Node<'_>, uses: &[IndexedUse<'_>]) -> bool {
        let right = assignment.child_by_field_name("right").filter(|right| is_pure(self.view, *right));
        let is_plain = assignment.child_by_field_name("operator").is_some_and(|it| self.view.slice(it) == "=");
        let is_inside = |found: &IndexedUse<'_>| {
            right.is_some_and(|right| {
                right.start_byte() <= found.node.start_byte() && found.node.end_byte() <= right.end_byte()
            })
        };
        let mut reads = uses.iter().filter(|found| found.role == Role::Read).peekable();
        let has_reads = reads.peek().is_some();
        let is_only = reads.all(|found| is_inside(found) && self.is_same_text(found.node, target.node));
        is_plain && has_reads && is_only && right.is_some_and(|right| self.can_update(right, target))
    }

    /// Whether all that an expression evaluates beside an element can be evaluated before.
    fn can_update(&self, node: Node<'_>, target: &IndexedUse<'_>) -> bool {
        let is_free = !self.mentions(node, target);
        let below = || children(node).into_iter().filter(Node::is_named);
        match node.kind() {
            _ if is_free || self.is_same_text(node, target.node) => true,
            "binary_expression" => {
                let operator = node.child_by_field_name("operator").map_or("", |operator| self.view.slice(operator));
                !matches!(operator, "&&" | "||") && below().all(|child| self.can_update(child, target))
            }
            "parenthesized_expression"
            | "unary_expression"
            | "cast_expression"
            | "call_expression"
            | "argument_list" => below().all(|child| self.can_update(child, target)),
            _ => false,
        }
    }

    fn mentions(&self, node: Node<'_>, target: &IndexedUse<'_>) -> bool {
        self.view.slice(node).contains(self.view.slice(target.node))
    }

    /// Whether the index of a use has the same value before its statement, and may be evaluated there.
    fn is_movable(&self, found: &IndexedUse<'_>, effects: &Effects) -> bool {
        let view = self.view;
        found.dimensions.iter().all(|dimension| {
            let index = dimension.index;
            let is_arithmetic = is_arithmetic(view, index);
            let names = view.identifiers(index);
            let is_undisturbed = names.iter().all(|name| !effects.written.contains(&view.slice(*name).to_string()));
            let is_steady = !effects.has_unknown || (is_arithmetic && names.iter().all(|name| self.is_own(*name)));
            is_pure(view, index) && is_undisturbed && is_steady && (is_arithmetic || !found.is_conditional)
        }) && !effects.written.contains(&self.holder.declaration.name)
    }

    /// A variable that only this function can change.
    fn is_own(&self, name: Node<'_>) -> bool {
        let declarations = self.view.declarations(self.function);
        match resolve(&declarations, self.view.slice(name), name.start_byte()) {
            Some(found) => found.kind != DeclarationKind::Alias && !matches!(found.volatility, Some(Volatility::Value)),
            None => self.view.is_fixed(self.view.slice(name), name.start_byte()) || is_builtin(self.view.slice(name)),
        }
    }

    /// Lines that read an element; gives the name that it has then.
    fn read(
        &mut self,
        found: &IndexedUse<'_>,
        replaced: &[(Range<usize>, String)],
        lines: &mut Lines,
    ) -> Option<String> {
        let base = self.base_name(found);
        let indices = self.indices(found, &base, replaced, lines);
        let name = self.fresh(&format!("{base}_element"));
        let candidate = self.fresh("candidate");
        // The next loop has a scope of its own.
        self.given.retain(|given| *given != candidate);
        let counters = self.counters(found, &indices)?;
        let zeros: Vec<String> = counters.iter().map(|_| "0".to_string()).collect();
        let type_text = found.type_text.clone().unwrap_or_else(|| "auto".to_string());
        lines.push((0, format!("{type_text} {name} = {};", self.element(found, &zeros, replaced))));
        let body = [
            format!("const {type_text} {candidate} = {};", self.element(found, &counters, replaced)),
            format!("{name} = {} ? {candidate} : {name};", condition(&counters, &indices)),
        ];
        // The first element is read already.
        self.loops(found, &counters, usize::from(counters.len() == 1), &body, lines);
        Some(name)
    }

    /// Lines in place of an assignment, increment or decrement of an element.
    fn write(
        &mut self,
        found: &IndexedUse<'_>,
        node: Node<'_>,
        is_update: bool,
        replaced: &[(Range<usize>, String)],
        lines: &mut Lines,
    ) -> Option<()> {
        let base = self.base_name(found);
        let indices = self.indices(found, &base, replaced, lines);
        let right = node.child_by_field_name("right");
        let mut parts = Vec::new();
        if let Some(right) = right.filter(|_| is_update) {
            self.hoist(right, found, &base, &mut parts, lines);
        }
        let value = match right {
            Some(right) if is_update => Some(self.text(right.byte_range(), &parts)),
            Some(right) => Some(self.value(found, node, right, &base, replaced, lines)?),
            None => None,
        };
        let counters = self.counters(found, &indices)?;
        let element = self.element(found, &counters, replaced);
        let value = value.map(|value| match is_update {
            true => value.replace(self.view.slice(found.node), &element),
            false => value,
        });
        let condition = condition(&counters, &indices);
        let operator = self.view.slice(node.child_by_field_name("operator")?);
        let body = match (self.form, value) {
            (Form::Branch, Some(value)) => format!("if ({condition}) {element} {operator} {value};"),
            (Form::Branch, None) if node.child(0)?.is_named() => format!("if ({condition}) {element}{operator};"),
            (Form::Branch, None) => format!("if ({condition}) {operator}{element};"),
            (Form::Select, value) => {
                // Only with one type on both sides nothing is converted on the way.
                let type_text = found.type_text.as_ref()?;
                let cast = |sum: String| match type_text.as_str() {
                    "float" | "double" => sum,
                    _ => format!("static_cast<{type_text}>({sum})"),
                };
                let changed = match (operator, value) {
                    ("=", Some(value)) if is_update => cast(value),
                    ("=", Some(value)) => value,
                    ("++", None) => cast(format!("{element} + 1")),
                    ("--", None) => cast(format!("{element} - 1")),
                    (_, Some(value)) => cast(format!("{element} {} {value}", operator.strip_suffix('=')?)),
                    (_, None) => return None,
                };
                format!("{element} = {condition} ? {changed} : {element};")
            }
        };
        self.loops(found, &counters, 0, &[body], lines);
        Some(())
    }

    /// Evaluates parts of an expression that read memory before the loop; they do not mention the element.
    fn hoist(
        &mut self,
        node: Node<'_>,
        found: &IndexedUse<'_>,
        base: &str,
        parts: &mut Vec<(Range<usize>, String)>,
        lines: &mut Lines,
    ) {
        if self.is_same_text(node, found.node) {
            return;
        }
        if !self.mentions(node, found) {
            let is_name = matches!(node.kind(), "type_descriptor" | "primitive_type" | "template_function");
            let is_called = node.parent().is_some_and(|parent| {
                parent.child_by_field_name("function").is_some_and(|called| called.id() == node.id())
            });
            if !(is_name || is_called || is_arithmetic(self.view, node)) {
                let name = self.fresh(&format!("{base}_value"));
                lines.push((0, format!("const auto {name} = {};", self.view.slice(node))));
                parts.push((node.byte_range(), name));
            }
            return;
        }
        for child in children(node).into_iter().filter(Node::is_named) {
            self.hoist(child, found, base, parts, lines);
        }
    }

    /// What is written, evaluated once.
    fn value(
        &mut self,
        found: &IndexedUse<'_>,
        node: Node<'_>,
        right: Node<'_>,
        base: &str,
        replaced: &[(Range<usize>, String)],
        lines: &mut Lines,
    ) -> Option<String> {
        let text = self.text(right.byte_range(), replaced);
        let is_read = replaced.iter().any(|(range, _)| *range == right.byte_range());
        let is_number = matches!(right.kind(), "number_literal" | "char_literal" | "true" | "false");
        let is_local = right.kind() == "identifier" && self.is_own(right);
        if is_read || (self.form == Form::Branch && (is_number || is_local)) {
            return Some(text);
        }
        let is_assignment = node.child_by_field_name("operator").is_some_and(|it| self.view.slice(it) == "=");
        let type_text = match &found.type_text {
            Some(type_text) if is_assignment => type_text.clone(),
            _ if right.kind() == "initializer_list" => return None,
            _ => "auto".to_string(),
        };
        let name = self.fresh(&format!("{base}_value"));
        lines.push((0, format!("const {type_text} {name} = {text};")));
        Some(name)
    }

    /// The indices as expressions that can be compared, and are evaluated once.
    fn indices(
        &mut self,
        found: &IndexedUse<'_>,
        base: &str,
        replaced: &[(Range<usize>, String)],
        lines: &mut Lines,
    ) -> Vec<String> {
        let mut indices = Vec::new();
        for dimension in &found.dimensions {
            let text = self.text(dimension.index.byte_range(), replaced);
            if is_arithmetic(self.view, dimension.index) {
                indices.push(if is_name_path(dimension.index) { text } else { format!("({text})") });
                continue;
            }
            let name = self.fresh(&format!("{base}_index"));
            lines.push((0, format!("const auto {name} = {text};")));
            indices.push(name);
        }
        indices
    }

    fn loops(&self, found: &IndexedUse<'_>, counters: &[String], start: usize, body: &[String], lines: &mut Lines) {
        let last = counters.len() - 1;
        for (depth, (counter, dimension)) in counters.iter().zip(&found.dimensions).enumerate() {
            let (extent, has_block) = (&dimension.extent, depth < last || body.len() > 1);
            lines.push((depth, "#pragma unroll".to_string()));
            let header = format!("for (int {counter} = {start}; {counter} < {extent}; ++{counter})");
            lines.push((depth, if has_block { format!("{header} {{") } else { format!("{header} {}", body[0]) }));
        }
        if body.len() > 1 {
            lines.extend(body.iter().map(|line| (last + 1, line.clone())));
            lines.push((last, "}".to_string()));
        }
        lines.extend((0..last).rev().map(|depth| (depth, "}".to_string())));
    }

    /// The expression with other indices.
    fn element(&self, found: &IndexedUse<'_>, indices: &[String], replaced: &[(Range<usize>, String)]) -> String {
        let mut all = replaced.to_vec();
        let own = found.dimensions.iter().zip(indices);
        all.extend(own.map(|(dimension, index)| (dimension.index.byte_range(), index.clone())));
        // The whole of the expression is not what is asked for.
        all.retain(|(range, _)| *range != found.node.byte_range());
        self.text(found.node.byte_range(), &all)
    }

    /// Text of a range with parts of it replaced, the outermost ones.
    fn text(&self, range: Range<usize>, replaced: &[(Range<usize>, String)]) -> String {
        let mut inside: Vec<&(Range<usize>, String)> =
            replaced.iter().filter(|(part, _)| range.start <= part.start && part.end <= range.end).collect();
        inside.sort_by_key(|(part, _)| (part.start, std::cmp::Reverse(part.end)));
        let (mut text, mut at) = (String::new(), range.start);
        for (part, new) in inside {
            if part.start >= at {
                text.push_str(&self.view.text()[at..part.start]);
                text.push_str(new);
                at = part.end;
            }
        }
        text.push_str(&self.view.text()[at..range.end]);
        text
    }

    /// Names of counters that mean nothing else in the statement.
    fn counters(&self, found: &IndexedUse<'_>, indices: &[String]) -> Option<Vec<String>> {
        let text = format!("{} {}", self.view.slice(found.statement), indices.join(" "));
        let extents = found.dimensions.iter().map(|dimension| dimension.extent.as_str());
        let used: Vec<&str> = extents.chain([text.as_str()]).flat_map(words).collect();
        let declarations = self.view.declarations(self.function);
        let is_shadowed = |name: &str| resolve(&declarations, name, found.node.start_byte()).is_some();
        let free = COUNTERS.iter().filter(|name| !used.contains(*name) && !is_shadowed(name));
        let mut counters: Vec<String> = free.take(found.dimensions.len()).map(ToString::to_string).collect();
        counters.reverse();
        (counters.len() == found.dimensions.len()).then_some(counters)
    }

    /// The last name before the index: `key` of `state.key[i]`.
    fn base_name(&self, found: &IndexedUse<'_>) -> String {
        let text = self.text(found.node.byte_range(), &[]);
        let before = text.split('[').next().unwrap_or("");
        let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
        name.trim_matches('_').to_string()
    }

    /// A name that the file does not have.
    fn fresh(&mut self, wanted: &str) -> String {
        let name = fresh(self.view.text(), wanted, &self.given);
        self.given.push(name.clone());
        name
    }

    /// Puts lines before a statement, or in place of it, with braces where it stands alone.
    fn place(&self, statement: Node<'_>, lines: &Lines, mut edits: Vec<Edit>, replaces: bool) -> Option<Vec<Edit>> {
        let (view, range) = (self.view, statement.byte_range());
        let around = statement.parent()?;
        let is_first = self.is_first_on_line(range.start);
        let base = view.line_ending(range.start)?;
        let joined = |ending: &str| {
            let lines = lines.iter().map(|(depth, line)| format!("{}{line}", UNIT.repeat(*depth)));
            lines.collect::<Vec<_>>().join(ending)
        };
        if around.kind() == "compound_statement" && is_first {
            let text = joined(&base);
            let target = if replaces { range } else { range.start..range.start };
            let text = if replaces { text } else { format!("{text}{base}") };
            edits.push(view.lines_instead(target, &text, &base)?);
            return Some(edits);
        }
        // A block of one line has the statement alone in it.
        let is_only = around.named_child_count() == 1 && around.start_position().row == around.end_position().row;
        let is_body = matches!(around.kind(), "if_statement" | "else_clause" | "for_statement" | "while_statement");
        if (around.kind() == "compound_statement" && !is_only) || (around.kind() != "compound_statement" && !is_body) {
            return None;
        }
        if around.kind() == "compound_statement" {
            // Blanks between the braces and the statement go.
            let inner = format!("{base}{UNIT}");
            let (open, close) = (around.start_byte() + 1, around.end_byte() - 1);
            let text = format!("{inner}{}", joined(&inner));
            let text = if replaces { text } else { format!("{text}{inner}") };
            let start = if replaces { open..close } else { open..range.start };
            let text = if replaces { format!("{text}{base}") } else { text };
            edits.push(view.lines_instead(start, &text, &inner)?);
            if !replaces {
                edits.push(view.lines_instead(range.end..close, &base, &base)?);
            }
            return Some(edits);
        }
        let outer = match is_first {
            true => {
                let before = statement.prev_sibling().filter(|before| before.kind() != "comment")?;
                let end = before.end_byte();
                let last = view.text().get(end - 1..end)?;
                edits.push(view.replacement(end - 1..end, &format!("{last} {{"))?);
                view.line_ending(around.start_byte())?
            }
            false => base.clone(),
        };
        let inner = if is_first { base.clone() } else { format!("{base}{UNIT}") };
        let text = if is_first { joined(&inner) } else { format!("{{{inner}{}", joined(&inner)) };
        match replaces {
            true => edits.push(view.lines_instead(range, &format!("{text}{outer}}}"), &inner)?),
            false => {
                let end = range.end;
                edits.push(view.lines_instead(range.start..range.start, &format!("{text}{inner}"), &inner)?);
                let last = view.text().get(end - 1..end)?;
                edits.push(view.lines_instead(end - 1..end, &format!("{last}{outer}}}"), &outer)?);
            }
        }
        Some(edits)
    }

    fn is_first_on_line(&self, offset: usize) -> bool {
        let before = &self.view.text()[..offset];
        before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty())
    }
}

fn condition(counters: &[String], indices: &[String]) -> String {
    let parts = counters.iter().zip(indices).map(|(counter, index)| format!("{counter} == {index}"));
    parts.collect::<Vec<_>>().join(" && ")
}

fn is_builtin(name: &str) -> bool {
    matches!(name, "threadIdx" | "blockIdx" | "blockDim" | "gridDim" | "warpSize")
}

/// A comment would go, or stand at another place.
fn has_comment(statement: Node<'_>, uses: &[IndexedUse<'_>]) -> bool {
    let is_replaced = uses.iter().any(|found| found.role != Role::Read);
    let mut open: Vec<Node<'_>> = if is_replaced { vec![statement] } else { uses.iter().map(|it| it.node).collect() };
    while let Some(node) = open.pop() {
        if node.kind() == "comment" {
            return true;
        }
        open.extend(children(node));
    }
    false
}

/// What a statement changes beside the element that it assigns to.
#[derive(Default)]
struct Effects {
    /// Names that are written, or handed to functions that may write them.
    written: Vec<String>,
    /// Functions are called of which nothing is known, or memory is written by them.
    has_unknown: bool,
}

impl Effects {
    /// `assignment` is what the statement does last.
    fn of(view: &SourceView, statement: Node<'_>, assignment: Option<Node<'_>>) -> Self {
        let mut effects = Self::default();
        let condition = statement.child_by_field_name("condition");
        let top = assignment.or_else(|| statement.named_child(0).filter(|node| node.kind() == "assignment_expression"));
        let mut open = vec![condition.unwrap_or(statement)];
        while let Some(node) = open.pop() {
            let is_top = top.is_some_and(|top| top.id() == node.id());
            match node.kind() {
                // What a lambda does happens when it is called.
                "lambda_expression" => continue,
                "assignment_expression" | "update_expression" if !is_top => effects.has_unknown = true,
                "call_expression" if !is_pure_call(view, node) => effects.has_unknown = true,
                kind if kind.contains("asm") => effects.has_unknown = true,
                "identifier" => effects.identifier(view, node, top),
                _ => {}
            }
            open.extend(children(node));
        }
        effects
    }

    fn identifier(&mut self, view: &SourceView, name: Node<'_>, top: Option<Node<'_>>) {
        let whole = access_path(name);
        let parent = whole.parent();
        let is_target = parent.is_some_and(|parent| top.is_some_and(|top| top.id() == parent.id()));
        let call = parent.filter(|parent| parent.kind() == "argument_list").and_then(|list| list.parent());
        let called = call.and_then(|call| call.child_by_field_name("function"));
        let is_value = called.is_some_and(|called| takes_values(view, called));
        let is_declared = parent.is_some_and(|parent| {
            parent.child_by_field_name("declarator").is_some_and(|declarator| declarator.id() == whole.id())
        });
        let is_list = parent.is_some_and(|parent| parent.kind() == "initializer_list");
        let is_pointed =
            parent.is_some_and(|parent| parent.kind() == "pointer_expression" && view.slice(parent).starts_with('*'));
        let is_written = role(whole).1 && !is_value && !is_list && !is_pointed && (!is_target || is_declared);
        let text = view.slice(name).to_string();
        if (is_written || is_declared) && !self.written.contains(&text) {
            self.written.push(text);
        }
    }
}

fn is_pure_call(view: &SourceView, call: Node<'_>) -> bool {
    // The arguments are looked at on their own.
    let called = call.child_by_field_name("function");
    called.is_some_and(|called| super::purity::is_pure_function(view, called))
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::frame::{StackObjectKind, plain};
    use super::super::name::Variable;
    use super::super::objects::Access;
    use super::super::place::Place;
    use super::*;
    use crate::edit::apply;
    use crate::extract::MappedText;
    use crate::source::SourceFile;

    const HEAD: &str = "struct State { int key[4]; float x; };\n\
        template <int W> __global__ void k(float* in, int n, float* out, State state, int* p) {\n\
        \x20   float a[W], b[4][8];\n    int c[6];\n    float3 v[5];\n";

    /// The statements of a kernel after the edits for one of its arrays; `None` where there are none.
    fn edited(name: &str, form: Form, body: &str) -> Option<String> {
        let text = format!("{HEAD}{body}\n}}\n");
        let view = Rc::new(SourceView::new(MappedText::from_file(&SourceFile::from_text("a.cu", text.as_str()))));
        let declared = HEAD.rfind(&format!(" {name}"))? + 1;
        let mut object = plain(StackObjectKind::Variable, 64);
        object.variable = Some(Variable {
            name: name.to_string(),
            type_text: "float[16]".to_string(),
            kind: DeclarationKind::Array,
            is_parameter: false,
            volatility: None,
            initializer: None,
            bytes: Some(64),
            span: view.span(declared..declared + name.len())?,
        });
        let lines = body.lines().enumerate().map(|(number, _)| HEAD.lines().count() + 1 + number);
        object.accesses = lines
            .filter_map(|line| {
                let line = u32::try_from(line).ok()?;
                let offset = view.offset(line, 0)?;
                let place = Place { view: Rc::clone(&view), line, offset, function: None, callee: None };
                Some(Access::computed_at(place))
            })
            .collect();
        let selection = object.selection(form)?;
        let edited = apply(&text, &selection.edits.iter().collect::<Vec<_>>())?;
        let body = edited.strip_prefix(HEAD)?.strip_suffix("\n}\n")?;
        Some(body.to_string())
    }

    #[track_caller]
    fn check(name: &str, body: &str, expected: &str) {
        assert_eq!(edited(name, Form::Branch, body).as_deref(), Some(expected));
    }

    #[test]
    fn reads_become_selects() {
        check(
            "a",
            "    out[n] = a[p[n]] * 2;",
            "    const auto a_index = p[n];
    float a_element = a[0];
    #pragma unroll
    for (int k = 1; k < W; ++k) {
        const float candidate = a[k];
        a_element = k == a_index ? candidate : a_element;
    }
    out[n] = a_element * 2;",
        );
        // One read for two uses; an index that is arithmetic is not evaluated before.
        check(
            "a",
            "    for (int k = 0; k < n; ++k) {\n        if (a[k & 3] < a[k & 3] * in[k]) out[k] = 1;\n    }",
            "    for (int k = 0; k < n; ++k) {
        float a_element = a[0];
        #pragma unroll
        for (int j = 1; j < W; ++j) {
            const float candidate = a[j];
            a_element = j == (k & 3) ? candidate : a_element;
        }
        if (a_element < a_element * in[k]) out[k] = 1;\n    }",
        );
    }

    #[test]
    fn writes_become_choices() {
        let lines = |body: &str| edited("c", Form::Branch, body).map(|text| text.replace("    ", " "));
        for (body, expected) in [
            ("    c[n]++;", " #pragma unroll\n for (int k = 0; k < 6; ++k) if (k == n) c[k]++;"),
            ("    --c[n];", " #pragma unroll\n for (int k = 0; k < 6; ++k) if (k == n) --c[k];"),
            (
                "    c[n + 1] = in[n];",
                " const int c_value = in[n];\n #pragma unroll\n for (int k = 0; k < 6; ++k) if (k == (n + 1)) c[k] = c_value;",
            ),
            (
                "    c[n] = max(c[n], p[n]);",
                " const auto c_value = p[n];\n #pragma unroll\n for (int k = 0; k < 6; ++k) if (k == n) c[k] = max(c[k], c_value);",
            ),
        ] {
            assert_eq!(lines(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn a_select_keeps_the_type() {
        let last = |name: &str, body: &str| {
            edited(name, Form::Select, body).and_then(|text| text.lines().last().map(|line| line.trim().to_string()))
        };
        assert_eq!(
            last("c", "    c[n] += p[0];").as_deref(),
            Some("for (int k = 0; k < 6; ++k) c[k] = k == n ? static_cast<int>(c[k] + c_value) : c[k];")
        );
        assert_eq!(
            last("a", "    a[n] *= 2;").as_deref(),
            Some("for (int k = 0; k < W; ++k) a[k] = k == n ? a[k] * a_value : a[k];")
        );
        // The type of a member is not known.
        assert_eq!(last("v", "    v[n].x += 2;"), None);
    }

    #[test]
    fn members_and_more_dimensions() {
        check("v", "    v[n].x += 2;", "    #pragma unroll\n    for (int k = 0; k < 5; ++k) if (k == n) v[k].x += 2;");
        check(
            "state",
            "    state.key[n] = 0;",
            "    #pragma unroll\n    for (int k = 0; k < 4; ++k) if (k == n) state.key[k] = 0;",
        );
        check("b", "    b[2][n] = 0;", "    #pragma unroll\n    for (int k = 0; k < 8; ++k) if (k == n) b[2][k] = 0;");
        check(
            "b",
            "    b[n][p[0]] = 0;",
            "    const auto b_index = p[0];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) if (j == n && k == b_index) b[j][k] = 0;
    }",
        );
    }

    #[test]
    fn statements_that_stand_alone_get_braces() {
        check(
            "c",
            "    if (n >= 0 && n < 6) ++c[n];\n    else\n        out[0] = c[n - 6];",
            "    if (n >= 0 && n < 6) {
        #pragma unroll
        for (int k = 0; k < 6; ++k) if (k == n) ++c[k];
    }
    else {
        int c_element = c[0];
        #pragma unroll
        for (int k = 1; k < 6; ++k) {
            const int candidate = c[k];
            c_element = k == (n - 6) ? candidate : c_element;
        }
        out[0] = c_element;
    }",
        );
        check(
            "c",
            "    auto count = [&](int i) { c[i]++; };",
            "    auto count = [&](int i) {
        #pragma unroll
        for (int k = 0; k < 6; ++k) if (k == i) c[k]++;
    };",
        );
    }

    #[test]
    fn what_may_mean_something_else_is_left_alone() {
        for body in [
            // The index changes something, or may not be evaluated.
            "    c[n++] = 1;",
            "    c[next(n)] = 1;",
            "    if (p && c[p[0]] > 0) out[0] = 1;",
            "    if (n && c[8 / n] > 0) out[0] = 1;",
            // The element may be written where it is not seen.
            "    swap(c[n], c[0]);",
            "    int& r = c[n];",
            "    out[0] = atomicAdd(&c[n], 1);",
            "    int old = c[n]++;",
            "    if (c[n]++ > 0) out[0] = 1;",
            // The statement changes the index.
            "    out[n++] = c[n];",
            "    int i = n, x = c[i];",
            // It is evaluated more than once.
            "    while (c[n] > 0) --n;",
            "    for (int i = 0; i < c[n]; ++i) out[i] = 0;",
            // There is no place for statements.
            "    CHECK(c[n] > 0);",
            "    int x = 1; c[n] = x;",
            "    c[n] = 1; // first\n    /* why */ c[n] = 2;",
            "    c[n] = /* one */ 1;",
        ] {
            assert_eq!(edited("c", Form::Branch, body), None, "{body}");
        }
    }
}
