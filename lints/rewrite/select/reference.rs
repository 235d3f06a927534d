//! `Group& g = groups[i];`: a name for an element. The statements that use the name are done for the element that has the index.

use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node, Pointer};
use lmem_base::diagnostic::Edit;

use super::together::{are_whole_lines, last_needed, name_in, statements};
use super::{Form, Lines, Writer};
use crate::rewrite::facts::purity::is_pure;
use crate::rewrite::select::holder::IndexedUse;
use crate::rewrite::unroll::body::is_automatic;

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
    let is_alone = declaration.fields(Field::Declarator).count() == 1;
    if !is_alone || !is_automatic(tree, name_in(declarator)?.start_byte()) {
        return None;
    }
    last_needed(tree, declaration, vec![name_in(declarator)?], 1)
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
        let is_fit = is_alone && self.form == Form::Branch && are_whole_lines(tree, &range);
        if !is_fit {
            return None;
        }
        let mut lines = Lines::new();
        let mut replaced: Vec<(Range<usize>, String)> = Vec::new();
        let base = self.base_name(found);
        let indices = self.steady_indices(found, last, &mut lines);
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
                    self.read_before((right, false), name, &base, &mut replaced, &mut values);
                }
            }
        }
        lines.extend(values);
        let counters = self.counters_beside(found, &indices, tree.text().get(range.clone())?)?;
        replaced.extend(Self::counted(found, &counters));
        let head = self.text(declaration.byte_range(), &replaced);
        let start = early.last().map_or(declaration.end_byte(), |last| last.end_byte());
        let body = format!("{head}{}", self.text(start..range.end, &replaced));
        self.in_loops(found, (&counters, &indices), range, &body, lines)
    }

    /// Whether a declaration among the statements may stand before the loop: it has one line, and reads what no statement there writes.
    fn may_come_first(&self, statement: Node<'h>, name: &str) -> bool {
        statement.kind() == Kind::Declaration
            && statement.start_row() == statement.end_row()
            && !self.names(statement, name)
            && is_pure(self.tree, statement)
            && self.reads_elsewhere(statement)
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
