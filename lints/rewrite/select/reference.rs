//! `Group& g = groups[i];`: a name for an element. The statements that use the name are done for the element that has the index.

use std::collections::BTreeSet;
use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node, Pointer};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};
use lmem_base::diagnostic::Edit;

use super::text::condition;
use super::{Form, Lines, Writer};
use crate::rewrite::facts::number::{is_number, is_value_type};
use crate::rewrite::facts::purity::{is_arithmetic, is_builtin, is_name_path, is_pure};
use crate::rewrite::facts::steady::{is_reachable, may_write};
use crate::rewrite::select::holder::IndexedUse;
use crate::rewrite::select::place::is_first_on_line;
use crate::rewrite::unroll::body::{exits, has_entries, has_meetings, is_automatic};

/// Limit on the statements that stand in the loop: for each element there is a copy of them.
const MOST_STATEMENTS: usize = 8;
/// Limit on their lines.
const MOST_LINES: usize = 16;

/// The last statement of a block that needs the reference, or the pointer, to which an element is bound, or what is declared
/// meanwhile; `None` if an expression is bound to none, or the statements cannot stand in a loop.
pub(super) fn last_use<'t>(tree: &SyntaxTree, expression: Node<'t>) -> Option<Node<'t>> {
    let around = expression.parent()?;
    let (value, is_pointer) = match Pointer::of(around) {
        Some(pointer) if !pointer.is_dereference() => (around, true),
        _ => (expression, false),
    };
    let initial = value.parent().filter(|it| it.kind() == Kind::InitDeclarator)?;
    let declarator = initial.field(Field::Declarator).filter(|_| initial.field(Field::Value) == Some(value))?;
    let is_fit = match declarator.kind() {
        Kind::ReferenceDeclarator => !is_pointer && !tree.slice(declarator).starts_with("&&"),
        Kind::PointerDeclarator => is_pointer,
        _ => false,
    };
    let declaration = initial.parent().filter(|it| is_fit && it.kind() == Kind::Declaration)?;
    let block = declaration.parent().filter(|it| it.kind() == Kind::CompoundStatement)?;
    let is_alone = declaration.fields(Field::Declarator).count() == 1;
    if !is_alone || !is_automatic(tree, name_in(declarator)?.start_byte()) {
        return None;
    }
    let statements: Vec<Node<'t>> = block.parts().filter(|it| it.start_byte() >= declaration.start_byte()).collect();
    let function = enclosing_function(declaration)?;
    let all = tree.declarations(function);
    let mut declared = vec![name_in(declarator)?];
    let (mut count, mut known) = (1, 0);
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
    let used = &statements[..count];
    let rest = used.last()?.end_byte()..block.end_byte();
    let behind: BTreeSet<&str> = tree
        .identifiers_below(block)
        .into_iter()
        .filter(|it| rest.contains(&it.start_byte()))
        .map(|it| tree.slice(it))
        .collect();
    let is_named_behind = declared.iter().any(|name| behind.contains(tree.slice(*name)));
    // What a macro hides may use a name, or leave the loop.
    let is_plain = tree.compiled().is_faithful(tree.text(), &(declaration.start_byte()..block.end_byte()));
    let is_quiet = |statement: &Node<'t>| {
        !has_meetings(tree, *statement) && exits(tree, *statement).is_empty() && !has_entries(*statement)
    };
    let is_fit = (2..=MOST_STATEMENTS).contains(&count) && used.iter().all(is_quiet) && is_plain && !is_named_behind;
    is_fit.then(|| used.last().copied()).flatten()
}

/// The variables that a statement of a block declares; `None` if it declares anything else, or what ends with its scope
/// may have effects.
fn variables<'t>(tree: &SyntaxTree, statement: Node<'t>) -> Option<Vec<Node<'t>>> {
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

/// The statements of a block from the declaration of a reference to the last that needs it.
pub(super) fn statements<'t>(declaration: Node<'t>, last: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let range = declaration.start_byte()..last.end_byte();
    let block = declaration.parent().into_iter().flat_map(Node::parts);
    block.filter(move |it| range.contains(&it.start_byte()))
}

impl<'h> Writer<'h> {
    /// The statements from the declaration of a reference to the last that needs it, in a loop over all elements: those of the
    /// element that has the index are done. `None` if they mention the array otherwise.
    pub(super) fn reference(&mut self, found: &IndexedUse<'h>, last: Node<'h>) -> Option<Vec<Edit>> {
        let tree = self.tree;
        let (declaration, range) = (found.statement, found.statement.start_byte()..last.end_byte());
        let statements = || statements(declaration, last);
        let array = self.holder.declaration.name.as_str();
        let is_alone =
            statements().flat_map(|it| tree.identifiers_below(it)).filter(|it| tree.slice(*it) == array).count() == 1;
        let text = tree.text().get(range.clone())?;
        let is_edited = |line: &str| line.trim_start().starts_with('#') || line.ends_with('\\');
        let is_fit = is_alone
            && self.form == Form::Branch
            && is_first_on_line(tree, range.start)
            && is_last_on_line(tree, range.end)
            && text.lines().count() <= MOST_LINES
            && !text.lines().any(is_edited)
            && !text.contains('"');
        if !is_fit {
            return None;
        }
        let mut lines = Lines::new();
        let mut replaced: Vec<(Range<usize>, String)> = Vec::new();
        let base = self.base_name(found);
        let mut indices = Vec::new();
        for dimension in &found.dimensions {
            let index = tree.slice(dimension.index);
            // The index is compared in each round: what it names must be the same in all of them.
            let is_steady = || {
                tree.identifiers(dimension.index).iter().all(|name| {
                    let name = tree.slice(*name);
                    !is_reachable(tree, self.function, name) && !statements().any(|it| may_write(tree, it, name))
                })
            };
            if self.may_stand_in_loops(dimension.index) && is_steady() {
                indices.push(if is_name_path(dimension.index) { index.to_string() } else { format!("({index})") });
            } else {
                let name = self.fresh(&format!("{base}_index"));
                lines.push((0, format!("const auto {name} = {index};")));
                indices.push(name);
            }
        }
        let after: Vec<Node<'h>> = statements().skip(1).collect();
        let mut early = Vec::new();
        let mut values = Vec::new();
        if let Some(name) = bound_name(declaration).map(|name| tree.slice(name)).filter(|_| self.holder.is_own()) {
            early = after.iter().copied().take_while(|it| self.may_come_first(*it, name)).collect();
            for statement in &early {
                values.push((0, tree.slice(*statement).to_string()));
            }
            let rest = &after[early.len()..];
            let bound = declaration.field(Field::Declarator).and_then(|it| it.field(Field::Declarator));
            let is_pointer = bound.is_some_and(|it| it.kind() == Kind::PointerDeclarator);
            if rest.iter().all(|statement| writes_below(tree, *statement, (name, is_pointer))) {
                for right in rest.iter().filter_map(|it| it.named_child(0)?.field(Field::Right)) {
                    self.read_before(right, name, &base, &mut replaced, &mut values);
                }
            }
        }
        lines.extend(values);
        let counters = self.counters_beside(found, &indices, text)?;
        let element = found.dimensions.iter().zip(&counters);
        replaced.extend(element.map(|(dimension, counter)| (dimension.index.byte_range(), counter.clone())));
        let head = self.text(declaration.byte_range(), &replaced);
        let start = early.last().map_or(declaration.end_byte(), |last| last.end_byte());
        let body = format!("{head}{}", self.text(start..range.end, &replaced));
        let last_counter = counters.len() - 1;
        for (depth, (counter, dimension)) in counters.iter().zip(&found.dimensions).enumerate() {
            let chosen =
                if depth == last_counter { format!(" if ({})", condition(&counters, &indices)) } else { String::new() };
            lines.push((depth, "#pragma unroll".to_string()));
            lines.push((
                depth,
                format!("for (int {counter} = 0; {counter} < {}; ++{counter}){chosen} {{", dimension.extent),
            ));
        }
        let indentation = indentation(tree, range.start);
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
}

impl<'h> Writer<'h> {
    /// Whether a declaration among the statements may stand before the loop: it has one line, and reads what no statement there writes.
    fn may_come_first(&self, statement: Node<'h>, name: &str) -> bool {
        statement.kind() == Kind::Declaration
            && statement.start_row() == statement.end_row()
            && !self.names(statement, name)
            && is_pure(self.tree, statement)
            && self.reads_elsewhere(statement)
    }

    /// Reads the parts of a value that do not name the element before the loop, which would read them for each element.
    fn read_before(
        &mut self,
        node: Node<'h>,
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
                self.read_before(child, name, base, replaced, lines);
            }
            return;
        }
        let is_called = node.parent().is_some_and(|parent| parent.field(Field::Function) == Some(node));
        if is_called || is_arithmetic(self.tree, node) || !is_pure(self.tree, node) || !self.reads_elsewhere(node) {
            return;
        }
        let value = self.fresh(&format!("{base}_value"));
        lines.push((0, format!("const auto {value} = {};", self.tree.slice(node))));
        replaced.push((node.byte_range(), value));
    }

    fn names(&self, node: Node<'h>, name: &str) -> bool {
        self.tree.identifiers_below(node).into_iter().any(|it| self.tree.slice(it) == name)
    }

    /// Whether all that code reads lies elsewhere than the array: parameters that keep their values lead to none of the function's own
    /// variables, and what is no pointer leads nowhere.
    fn reads_elsewhere(&self, node: Node<'h>) -> bool {
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

/// Whether a statement does nothing but write the element that a name stands for, or a part of it: `e.x += v;`, `*e = v;`, `e.n++;`.
fn writes_below(tree: &SyntaxTree, statement: Node<'_>, (name, is_pointer): (&str, bool)) -> bool {
    let written = statement.named_child(0).filter(|_| statement.kind() == Kind::ExpressionStatement).and_then(|node| {
        let target = match node.kind() {
            Kind::AssignmentExpression => node.field(Field::Left),
            Kind::UpdateExpression => node.field(Field::Argument),
            _ => None,
        };
        let right = node.field(Field::Right);
        target.filter(|_| right.is_none_or(|right| is_pure(tree, right)))
    });
    let mut target = written;
    // What a member points to lies elsewhere, and what a reference to a pointer does.
    while let Some(node) = target {
        let is_followed = match node.kind() {
            Kind::Identifier => return tree.slice(node) == name,
            Kind::FieldExpression => node.field(Field::Operator).is_some_and(|operator| operator.is_token("->")),
            Kind::PointerExpression => true,
            Kind::ParenthesizedExpression => false,
            _ => return false,
        };
        let inner = node.field(Field::Argument).or_else(|| node.named_child(0));
        if is_followed {
            let is_name = |inner: Node<'_>| inner.kind() == Kind::Identifier && tree.slice(inner) == name;
            return is_pointer && inner.is_some_and(is_name);
        }
        target = inner;
    }
    false
}

/// The name that a declaration gives to an element.
fn bound_name(declaration: Node<'_>) -> Option<Node<'_>> {
    name_in(declaration.field(Field::Declarator)?)
}

/// The declared name, which stands below `&` too; `None` for the several of a structured binding.
fn name_in(declarator: Node<'_>) -> Option<Node<'_>> {
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

#[cfg(test)]
mod tests {
    use super::super::Form;
    use super::super::tests::{check, edited};

    #[test]
    fn statements_are_done_for_the_element() {
        check(
            "v",
            "    float3& e = v[n];\n    e.x += in[n];\n    // why\n    if (e.x > 1)\n        e.y = 2; // last\n    out[0] = 1;",
            "    #pragma unroll
    for (int k = 0; k < 5; ++k) if (k == n) {
        float3& e = v[k];
        e.x += in[n];
        // why
        if (e.x > 1)
            e.y = 2;
    } // last
    out[0] = 1;",
        );
        // The index is read once where it is written, or not one of the function's own.
        check(
            "c",
            "    auto* e = &c[n];\n    n++;\n    int old = *e;\n    *e = n;\n    out[0] = old;\n    out[1] = n;",
            "    const auto c_index = n;
    #pragma unroll
    for (int k = 0; k < 6; ++k) if (k == c_index) {
        auto* e = &c[k];
        n++;
        int old = *e;
        *e = n;
        out[0] = old;
    }
    out[1] = n;",
        );
        check(
            "b",
            "    float& e = b[n][p[0]];\n    e = e * e;",
            "    const auto b_index = p[0];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) if (j == n && k == b_index) {
            float& e = b[j][k];
            e = e * e;
        }
    }",
        );
        // What is read elsewhere is read once.
        check(
            "v",
            "    float3& e = v[n];\n    float y = in[n], z = y * y;\n    e.x += in[n + 1] * e.y;\n    e.y = y;\n    e.z++;",
            "    float y = in[n], z = y * y;
    const auto v_value = in[n + 1];
    #pragma unroll
    for (int k = 0; k < 5; ++k) if (k == n) {
        float3& e = v[k];
        e.x += v_value * e.y;
        e.y = y;
        e.z++;
    }",
        );
        for body in [
            // What one statement writes another may read.
            "    float3& e = v[n];\n    e.x = 1;\n    out[0] = e.x;\n    e.y = in[0];",
            "    float3& e = v[n];\n    const float* q = &v[0].x;\n    e.x = 1;\n    e.y = q[0];",
            "    float* q = &v[0].x;\n    float3& e = v[n];\n    e.x = 1;\n    e.y = q[0];",
            "    float& q = v[0].x;\n    float3& e = v[n];\n    e.x = 1;\n    e.y = q;",
            "    using R = float&;\n    R q = v[0].x;\n    float3& e = v[n];\n    e.x = 1;\n    e.y = q;",
            "    decltype(auto) q = (v[0].x);\n    float3& e = v[n];\n    e.x = 1;\n    e.y = q;",
            "    auto& [q, y, z] = v[0];\n    float3& e = v[n];\n    e.x = 1;\n    e.y = q;",
            "    float& q{v[0].x};\n    float3& e = v[n];\n    e.x = 1;\n    e.y = q;",
            "    float (&q) = v[0].x;\n    float3& e = v[n];\n    e.x = 1;\n    e.y = q;",
            "    auto& q = v[0];\n    float3& e = v[n];\n    e.x = 1;\n    e.y = q.x;",
            "    in = &v[0].x;\n    float3& e = v[n];\n    e.x = 1;\n    e.y = in[0];",
            "    float3& e = v[n];\n    e.x = n && e.y > 0 ? in[0] : 1;",
        ] {
            let text = edited("v", Form::Branch, body).unwrap_or_default();
            let is_before = text.find("v_value").is_some_and(|at| text.find("#pragma").is_some_and(|start| at < start));
            assert!(!is_before, "{text}");
        }
        // A counter is none of the names among the statements.
        let text = edited(
            "c",
            Form::Branch,
            "    for (int k = 0; k < n; ++k) {\n        int& e = c[p[k]];\n        e += k;\n    }",
        );
        assert!(text.unwrap().contains("for (int j = 0; j < 6; ++j) if (j == c_index) {\n            int& e = c[j];"));
    }

    #[test]
    fn statements_that_cannot_stand_in_a_loop_are_left_alone() {
        for body in [
            // They leave a loop around, or the function.
            "    while (n--) {\n        int& e = c[n];\n        if (e) break;\n        e = 1;\n    }",
            "    while (n--) {\n        int& e = c[n];\n        if (e) continue;\n        e = 1;\n    }",
            "    int& e = c[n];\n    if (e) return;\n    e = 1;",
            "    int& e = c[n];\n    if (e) goto end;\n    e = 1;\n    end: out[0] = 1;",
            // Threads meet, or ask for each other.
            "    int& e = c[n];\n    __syncthreads();\n    e = 1;",
            "    int& e = c[n];\n    e += __shfl_sync(~0u, n, 0);",
            "    int& e = c[n];\n    e = __activemask();",
            "    int& e = c[n];\n    unseen(e);",
            "    int& e = c[n];\n    asm(\"\" : \"+r\"(e));",
            // The array is named otherwise.
            "    int& e = c[n];\n    e += c[0];",
            "    int& e = c[n];\n    int& f = c[n + 1];\n    e += f;",
            // What ends with its scope may have effects; what is declared is used behind.
            "    struct Guard { int* at; ~Guard() { *at = 1; } };\n    int& e = c[n];\n    Guard guard{p};\n    e = 1;",
            "    int& e = c[n];\n    static int all;\n    e = ++all;",
            "    int& e = c[n];\n    using T = int;\n    e = T(1);",
            // A name for each member.
            "    float x = n, y = n;\n    auto& [x0, y0, z0] = v[n];\n    x0 = x;\n    out[0] = y0;",
            "    float x = n, y = n;\n    auto& [x, y, z] = v[n];\n    x = 1;\n    out[0] = y;",
            "    float3& e = v[n];\n    auto [x, y, z] = e;\n    e.x = 1;\n    out[0] = y;",
            "    float3& e = v[n];\n    const auto& [x, y, z] = e;\n    e.x = 1;\n    out[0] = y;",
            // The name, or the statements, are not all in sight.
            "    static int& e = c[n];\n    e = 1;",
            "    int& e = c[n], f = 1;\n    e = f;",
            "    int&& e = c[n];\n    e = 1;",
            "    int& e = c[n];",
            "    int& e = c[n];\n    e = 1; out[0] = 1;",
            "    switch (n) {\n    case 1:\n        int& e = c[n];\n        e = 1;\n    }",
            "\n#define SET() e = 1\n    int& e = c[n];\n    SET();\n    e = 2;",
            "\n#define SET() e = 1\n    int& e = c[n];\n    e = 2;\n    SET();",
            "    int& e = c[n];\n#if 1\n    e = 1;\n#endif\n    e = 2;",
        ] {
            let name = if body.contains("v[n]") { "v" } else { "c" };
            assert_eq!(edited(name, Form::Branch, body), None, "{body}");
        }
    }
}
