//! Rewrites a loop with a run-time bound: the array's extent becomes the trip count, and the present condition a guard
//! in the body. Such a loop can be unrolled.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node};
use cuda_syntax::identifiers::{identifiers, is_identifier_character};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, last_name, resolve, role};
use lmem_base::diagnostic::Edit;
use lmem_frame::Access;

use super::body::{has_meetings, is_inevitable};
use super::bound::{Bound, open_bound};
use super::for_loop::{ForLoop, step};

/// A loop with a constant bound and a guard. The loop never exceeded the array's extent, because each iteration with an
/// effect accesses the element of its index.
pub struct Guard {
    pub edits: Vec<Edit>,
    /// The extent, if known.
    pub extent: Option<u32>,
}

impl ForLoop {
    /// The guarded loop; `None` if it is not shown to be equivalent.
    pub fn guarded(&self, array: &str) -> Option<Guard> {
        let tree = self.tree();
        let body = self.node()?.field(Field::Body)?;
        let mut used = uses(tree, body, array).into_iter().filter(|used| self.accesses(*used));
        self.bounded_by(&used.find_map(|used| extent_text(tree, array, used, self.counter()))?)
    }

    /// The guarded loop in a function that gets an array of `elements` elements by pointer. The function must have only
    /// one call, so the array is always this one. The induction variable must be the whole index of every access.
    /// Template instances may get arrays of other sizes.
    pub fn guarded_parameter(
        &self,
        array: &str,
        type_text: &str,
        elements: u64,
        accesses: &[&Access],
    ) -> Option<Guard> {
        let tree = self.tree();
        let function = enclosing_function(self.node()?)?;
        let body = self.node()?.field(Field::Body)?;
        let counter = self.counter();
        let mut indices = accesses.iter().filter_map(|access| access.index.as_ref()).map(|span| span.text().trim());
        let is_direct = indices.all(|index| index == counter || !identifiers(index).any(|word| word == counter));
        if !is_direct || is_template(function) {
            return None;
        }
        let is_whole = |used: &Node<'_>| {
            let index = used.field(Field::Indices).and_then(|list| list.named_child(0));
            let base = used.field(Field::Argument).filter(|base| base.kind() == Kind::Identifier);
            index.is_some_and(|index| tree.slice(index) == counter)
                && base.is_some_and(|base| is_given(tree, function, base, array, type_text))
        };
        let subscripts = body.descendants().filter(|node| node.kind() == Kind::SubscriptExpression);
        let is_inevitable = subscripts.filter(is_whole).any(|used| self.accesses(used));
        is_inevitable.then(|| self.bounded_by(&elements.to_string()))?
    }

    /// Whether each iteration accesses the element `used` of its index, or has no effect.
    fn accesses(&self, used: Node<'_>) -> bool {
        let accesses = || {
            let (tree, node) = (self.tree(), self.node()?);
            let body = node.field(Field::Body)?;
            let all = tree.declarations(enclosing_function(node)?);
            let meant = |at: usize| resolve(&all, self.counter(), at).map(|found| found.range);
            let harmless: &[Kind] = match step(tree, node.field(Field::Update)?)? > 0 {
                true => &[Kind::BreakStatement, Kind::ContinueStatement],
                false => &[Kind::ContinueStatement],
            };
            let is_own = meant(used.start_byte()) == meant(body.start_byte());
            Some(is_own && is_inevitable(tree, used, body, harmless))
        };
        accesses().unwrap_or(false)
    }

    fn bounded_by(&self, extent: &str) -> Option<Guard> {
        let (tree, node) = (self.tree(), self.node()?);
        let is_statement = node.parent().is_some_and(|parent| parent.kind() == Kind::CompoundStatement);
        let (condition, body) = (node.field(Field::Condition)?, node.field(Field::Body)?);
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
                format!("{} <= {}", self.counter(), tree.slice(start)),
            ),
        };
        let edits =
            [self.unroll(), Some(constant), Some(tree.insertion(body.start_byte(), &format!("if ({guard}) "))?)];
        let value = tree.evaluate(extent, node.start_byte());
        Some(Guard {
            edits: edits.into_iter().flatten().collect(),
            extent: value.and_then(|value| u32::try_from(value).ok()),
        })
    }
}

/// The last index below an extent: `N - 1`, and `N` for `N + 1`.
fn last_below(extent: &str) -> String {
    let before = extent.trim_end().strip_suffix('1').and_then(|text| text.trim_end().strip_suffix('+'));
    // `N + 11` and `2 * +1` do not end in `+ 1` as a term.
    let is_operand = |text: &&str| text.ends_with(|c: char| is_identifier_character(c) || c == ')');
    before.map(str::trim_end).filter(is_operand).map_or_else(|| format!("{extent} - 1"), str::to_string)
}

/// Whether a name is a parameter that always is the array: a pointer to elements of its type, which nothing moves, in a
/// function that is called once, with the array.
fn is_given(tree: &SyntaxTree, function: Node<'_>, base: Node<'_>, array: &str, type_text: &str) -> bool {
    let given = || {
        let name = tree.slice(base);
        let all = tree.declarations(function);
        let own = resolve(&all, name, base.start_byte()).filter(|found| found.is_parameter)?;
        let body = function.field(Field::Body)?;
        let is_kept = own.kind == DeclarationKind::Alias && !tree.named(body, name).any(|name| role(name).1);
        let is_row = own.type_text.contains('*') != own.type_text.contains('[') && !type_text.contains('*');
        let list = function.field(Field::Declarator)?.field(Field::Parameters)?;
        let is_it = |node: Node<'_>| {
            node.field(Field::Declarator).is_some_and(|it| it.declared_name().start_byte() == own.range.0)
        };
        let position = list.parts().position(is_it)?;
        let argument = only_call(tree, function)?.arguments().nth(position)?;
        Some(is_kept && is_row && element(&own.type_text) == element(type_text) && tree.slice(argument) == array)
    };
    given().unwrap_or(false)
}

/// `float` of `const float*` and `float[8]`.
fn element(type_text: &str) -> String {
    let element = type_text.split(['*', '[', '&', '(']).next().unwrap_or("");
    element.split_whitespace().filter(|word| *word != "const").collect::<Vec<_>>().join(" ")
}

/// The call of a function that the text mentions only in its definition, its declarations and one call. A function in a
/// header may be called by other files.
fn only_call<'t>(tree: &'t SyntaxTree, function: Node<'_>) -> Option<Call<'t>> {
    let file = tree.span(function.byte_range())?.file;
    if !file.path.extension().is_some_and(|ending| ending == "cu" || ending == "rs") {
        return None;
    }
    let base = last_name(tree.text().get(tree.function_at(function.start_byte())?.name)?);
    let uses = tree.identifiers_below(tree.root()?).into_iter().filter(|node| tree.slice(*node) == base);
    let mut others = uses.filter(|node| node.parent().is_none_or(|parent| parent.kind() != Kind::FunctionDeclarator));
    let only = others.next().filter(|_| others.next().is_none())?;
    let called = only.parent().filter(|parent| parent.kind() == Kind::QualifiedIdentifier).unwrap_or(only);
    called.parent().and_then(Call::of).filter(|call| call.function() == Some(called))
}

/// Whether a function, or an enclosing class or function, is a template.
fn is_template(function: Node<'_>) -> bool {
    function.enclosing(Kind::TemplateDeclaration).is_some()
}

/// The outermost subscripts of an array in a region: `a[i][j]`.
fn uses<'t>(tree: &SyntaxTree, region: Node<'t>, array: &str) -> Vec<Node<'t>> {
    let is_inner = |node: Node<'_>, child: Node<'_>| {
        node.kind() == Kind::SubscriptExpression && child.kind() == Kind::SubscriptExpression
    };
    let subscripts = region.descendants_through(|node, child| !is_inner(node, child));
    let is_of_array = |node: &Node<'_>| base_of(*node).is_some_and(|base| tree.slice(base) == array);
    subscripts.filter(|node| node.kind() == Kind::SubscriptExpression).filter(is_of_array).collect()
}

/// The identifier that is subscripted.
fn base_of(subscript: Node<'_>) -> Option<Node<'_>> {
    let mut node = subscript;
    while node.kind() == Kind::SubscriptExpression {
        node = node.field(Field::Argument)?;
    }
    (node.kind() == Kind::Identifier).then_some(node)
}

/// The extent of the dimension that the induction variable indexes in `a[i][j]`, as declared in the same function.
fn extent_text(tree: &SyntaxTree, array: &str, used: Node<'_>, counter: &str) -> Option<String> {
    let mut indices = Vec::new();
    let mut node = used;
    while node.kind() == Kind::SubscriptExpression {
        let list = node.field(Field::Indices)?;
        indices.insert(0, tree.slice(list.named_child(0).unwrap_or(list)).trim());
        node = node.field(Field::Argument)?;
    }
    let position = indices.iter().position(|index| *index == counter)?;
    let declarations = tree.declarations(enclosing_function(used)?);
    let declaration = resolve(&declarations, array, used.start_byte())
        .filter(|declaration| declaration.kind == DeclarationKind::Array && !declaration.is_parameter)?;
    // `rows[k]` without a second subscript is a pointer, and `rows[0][k]` may go through all rows.
    let is_element = declaration.type_text.matches('[').count() == indices.len();
    let is_flat = position > 0 && indices[..position].iter().all(|index| *index == "0");
    if !is_element || is_flat {
        return None;
    }
    let name = tree.root()?.named_descendant_for_byte_range(declaration.range.0, declaration.range.1)?;
    let mut declarator = name.parent()?;
    for _ in 0..position {
        declarator = declarator.parent()?;
    }
    let size = declarator.field(Field::Size).filter(|_| declarator.kind() == Kind::ArrayDeclarator)?;
    let text = tree.spelled(size, used.start_byte())?;
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*' | '+' | '-' | '(' | ')'));
    is_plain.then_some(text)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use lmem_base::edit::apply;

    #[test]
    fn constants_are_folded() {
        for (extent, expected) in [
            ("12", "12 - 1"),
            ("MAX_DEGREE + 1", "MAX_DEGREE"),
            ("2 * (N - 1)+1", "2 * (N - 1)"),
            ("N + 11", "N + 11 - 1"),
            ("N * +1", "N * +1 - 1"),
            ("N - 1", "N - 1 - 1"),
        ] {
            assert_eq!(last_below(extent), expected, "{extent}");
        }
    }

    #[test]
    fn loops_over_parameters_run_to_the_extent_of_the_only_array() {
        let edited = |body: &str, calls: &str| {
            let text = format!(
                "__device__ void f(float *p, const float* q, int n) {{\n  {body}\n}}\n__global__ void k() {{ {calls} }}"
            );
            let tree = Rc::new(SyntaxTree::example("a.cu", &text));
            let found = super::super::for_loop::for_loops(&tree, text.find("HERE")?);
            let guard = found.first()?.guarded_parameter("a", "float[4]", 4, &[])?;
            let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
            Some(edited.lines().skip(1).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
        };
        let body = "for (int i = 0; i < n; ++i) { p[i] = q[i] + HERE; }";
        let expected = "#pragma unroll for (int i = 0; i < 4; ++i) if (i < n) { p[i] = q[i] + HERE; }";
        assert_eq!(edited(body, "f(a, b, 3);").as_deref(), Some(expected));
        for (body, calls) in [
            (body, "f(a, b, 3); f(c, b, 9);"),
            // Another array, a part of one, and one of two.
            (body, "f(b, b, 3);"),
            (body, "f(a + 1, b, 3);"),
            (body, "f(n ? a : b, b, 3);"),
            // A round beyond the extent that does something else.
            ("for (int i = 0; i < n; ++i) { if (q[i] < 0) { q[i] = HERE; break; } p[i] = q[i]; }", "f(a, b, 3);"),
            ("p -= 4; for (int i = 0; i < n; ++i) { p[i] = q[i] + HERE; }", "f(a, b, 3);"),
            ("for (int i = 0; i < n; ++i) { p[0] = q[i] + HERE; }", "f(a, b, 3);"),
        ] {
            assert_eq!(edited(body, calls), None, "{body} {calls}");
        }
    }

    fn guard(body: &str) -> Option<String> {
        let text = format!(
            "struct S {{ float x, part[2]; }};\n__device__ int load(int* p) {{ return *p; }}\n__device__ int checked(int i) {{ if (i > 8) __trap(); return i; }}\n__device__ float first(const float& x) {{ return 1; }}\ntemplate <int W> __global__ void k(float* in, const int n, P p, int* q) {{\n  float a[W], b[4][8]; S s[W];\n  {body}\n}}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = super::super::for_loop::for_loops(&tree, text.find("HERE").expect("the text has a mark"));
        let guard = found.first()?.guarded("a").or_else(|| found.first()?.guarded("b"))?;
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        let lines: Vec<&str> = edited.lines().skip(6).map(str::trim).collect();
        Some(lines[..lines.len() - 1].join(" "))
    }

    #[test]
    fn loops_run_to_the_extent_with_a_guard() {
        for (body, expected) in [
            (
                "for (int i = 0; i < n; ++i) { a[i] = in[i]; HERE; }",
                "#pragma unroll for (int i = 0; i < W; ++i) if (i < n) { a[i] = in[i]; HERE; }",
            ),
            (
                "for (int i = 0; i <= p.n - 1; i += 2) in[i] = b[2][i] + HERE;",
                "#pragma unroll for (int i = 0; i < 8; i += 2) if (i <= p.n - 1) in[i] = b[2][i] + HERE;",
            ),
            (
                "for (int i = 0; i < n; i++) { if (HERE) break; a[i] = 0; }",
                "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (HERE) break; a[i] = 0; }",
            ),
            (
                "for (int i = 0; i < n; i++) { if (in[i] < 0) continue; in[i] += load(q) * a[i] + HERE; }",
                "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (in[i] < 0) continue; in[i] += load(q) * a[i] + HERE; }",
            ),
            (
                "for (int i = n - 1; i >= 0; --i) { if (in[i] > 0) continue; a[i] = HERE; }",
                "#pragma unroll for (int i = W - 1; i >= 0; --i) if (i <= n - 1) { if (in[i] > 0) continue; a[i] = HERE; }",
            ),
            (
                "for (int i = 0; i < n; i++) { if (i == HERE) in[0] = 1; float x = a[i] * 2; if (x > 0) { in[1] = x; break; } }",
                "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (i == HERE) in[0] = 1; float x = a[i] * 2; if (x > 0) { in[1] = x; break; } }",
            ),
            (
                "for (size_t i = 0; i < n; i++) { a[i] = HERE; if (in[i]) break; }",
                "#pragma unroll for (size_t i = 0; i < W; i++) if (i < n) { a[i] = HERE; if (in[i]) break; }",
            ),
            (
                "for (int i = n - 1; i >= 0; --i) { a[i] = HERE; }",
                "#pragma unroll for (int i = W - 1; i >= 0; --i) if (i <= n - 1) { a[i] = HERE; }",
            ),
            (
                "for (int i = 0; threadIdx.x + i * 256 < n; ++i) { a[i] = HERE; }",
                "#pragma unroll for (int i = 0; i < W; ++i) if (threadIdx.x + i * 256 < n) { a[i] = HERE; }",
            ),
            (
                "const int tid = threadIdx.x;\n  for (int i = 0; (i * blockDim.x) + tid < n; ++i) a[i] = HERE;",
                "const int tid = threadIdx.x; #pragma unroll for (int i = 0; i < W; ++i) if ((i * blockDim.x) + tid < n) a[i] = HERE;",
            ),
            (
                "int i = 0;\n  for (; i < n; i++) a[i] = HERE;",
                "int i = 0; #pragma unroll for (; i < W; i++) if (i < n) a[i] = HERE;",
            ),
            (
                "int i;\n  for (i = 0; i < n; ++i) a[i] = HERE; for (i = 0; i < 4; ++i) in[i] = 0;",
                "int i; #pragma unroll for (i = 0; i < W; ++i) if (i < n) a[i] = HERE; for (i = 0; i < 4; ++i) in[i] = 0;",
            ),
        ] {
            assert_eq!(guard(body), Some(expected.to_string()), "{body}");
        }
    }

    #[test]
    fn what_may_mean_something_else_is_left_alone() {
        for body in [
            // A round beyond the extent may do something else than access an element.
            "for (int i = 0; i < n; ++i) { const float x = in[i]; if (x < 0) { in[0] = i; break; } a[i] = HERE; }",
            "for (int i = 0; i < n; ++i) { if (i == W) { in[0] = 1; goto full; } a[i] = HERE; } full: in[1] = 0;",
            "for (int i = 0; i < n; ++i) { if (i >= W) { in[0] = n; return; } a[i] = HERE; }",
            "for (int i = 0; i < n; ++i) { if (i >= W) return; a[i] = HERE; }",
            "for (int i = 0; i < n; i++) { in[i] = 1; if (HERE) break; a[i] = 0; }",
            "for (int i = 0; i < n; i++) { if (in[i] > 0 && a[i] > 0) HERE; }",
            "for (int i = 0; i < n; i++) { if (in[i] > 0 and a[i] > 0) HERE; }",
            "for (int i = 0; i < n; i++) { if (in[i] > 0) a[i] = HERE; }",
            "for (int i = 0; i < n; i++) { in[i] = i < W ? a[i] : HERE; }",
            "for (int i = 0; i < n; i++) { switch (q[i]) { case 0: a[i] = HERE; } in[i] = 0; }",
            "for (int i = 0; i < n; i++) { for (int j = 0; j < q[i]; ++j) a[i] += HERE; in[i] = 0; }",
            "for (int i = 0; i < n; i++) { static float first = a[i]; in[i] = HERE; }",
            "for (int i = 0; i < n; i++) { in[i] = checked(i); a[i] = HERE; }",
            "for (int i = 0; i < n; i++) { a[i] = checked(HERE); }",
            "for (int i = 0; i < n; i++) { in[i] = elsewhere(i); a[i] = HERE; }",
            "for (int i = 0; i < n; i++) { if (i == W) assert(HERE); a[i] = 0; }",
            // The first rounds end the loop, and those below the extent never run.
            "for (int i = n - 1; i >= 0; --i) { if (in[i] > 0) break; a[i] = HERE; }",
            // An element is named and not accessed.
            "for (int i = 0; i < n; i++) { in[i] = sizeof(a[i]); HERE; }",
            "for (int i = 0; i < n; i++) { (void)a[i]; in[i] = HERE; }",
            "for (int i = 0; i < n; i++) { a[i]; in[i] = HERE; }",
            "for (int i = 0; i < n; i++) { static_cast<void>(a[i]); in[i] = HERE; }",
            "for (int i = 0; i < n; i++) { float& at = a[i]; if (i == W) break; at = HERE; }",
            "for (int i = 0; i < n; i++) { in[i] = first(a[i]) + HERE; }",
            "for (int i = 0; i < n; i++) { const float* row = b[i]; in[i] = HERE; }",
            "for (int i = 0; i < n; i++) { in[i] = HERE; int i = 3; a[i] = 0; }",
            "for (int i = 0; i < n; i++) { b[0][i] = HERE; }",
            // The induction variable is used after the loop.
            "int i; for (i = 0; i < n; ++i) a[i] = HERE; in[0] = i;",
            "int i; for (i = 0; i < n; ++i) a[i] = HERE; for (i = i + 1; i < 8; ++i) in[i] = 0;",
            "int i; int *r = &i; for (i = 0; i < n; ++i) a[i] = HERE;",
            "int i = 0; for (; i < n; ++i) a[i] = HERE; in[0] = i;",
            "int i = 0; for (; i < n; ++i) a[i] = HERE; for (; i < 8; ++i) in[i] = 0;",
            "int i = 0; ++i; for (; i < n; ++i) a[i] = HERE;",
            "int i = 0, &r = i; for (; i < n; ++i) { a[i] = HERE; r = 1; }",
            "int i = 0; auto f = [&] { i = 3; }; for (; i < n; ++i) { a[i] = HERE; }",
            // Sums that may overflow in later iterations, fall, or have the bound on both sides.
            "for (int i = 0; p.first + i * 256 < n; ++i) { a[i] = HERE; }",
            "for (int i = 0; threadIdx.x + i * 16777216 < n; ++i) { a[i] = HERE; }",
            "for (int i = 0; threadIdx.x - i * 256 < n; ++i) { a[i] = HERE; }",
            "for (int i = 0; threadIdx.x + i * -256 < n; ++i) { a[i] = HERE; }",
            "for (int i = 0; threadIdx.x + i * n < n; ++i) { a[i] = HERE; }",
            "int tid = threadIdx.x; tid += n; for (int i = 0; tid + i * 256 < n; ++i) { a[i] = HERE; }",
            // The body changes the bound or the induction variable.
            "int m = n; for (int i = 0; i < m; ++i) { a[i] = 0; m = HERE; }",
            "int m = n; int& r = m; for (int i = 0; i < m; ++i) { a[i] = 0; r = HERE; }",
            "int m = n; f(&m); for (int i = 0; i < m; ++i) { a[i] = 0; HERE; }",
            "for (int i = 0; i < n; ++i) { a[i] = 0; i += HERE; }",
            // Other threads or functions may write the bound.
            "for (int i = 0; i < *q; ++i) { a[i] = 0; HERE; }",
            "for (int i = 0; i < q[0]; ++i) { a[i] = 0; HERE; }",
            "for (int i = 0; i < global_count; ++i) { a[i] = 0; HERE; }",
            // The induction variable is used after the loop, has another step, or is compared in another way.
            "for (int i = n; i > 0; i -= 2) { a[i] = 0; HERE; }",
            "for (int i = *q; i > 0; --i) { a[i] = 0; HERE; }",
            "for (int i = 0; i != n; ++i) { a[i] = 0; HERE; }",
            "for (int i = 0; i < n && in[i]; ++i) { a[i] = 0; HERE; }",
            // Induction variables that wrap around before the extent, or whose comparison differs from the guard's.
            "for (unsigned char i = 0; i < n; ++i) { a[i] = 0; HERE; }",
            "for (float i = 0; i < n; ++i) { a[i] = 0; HERE; }",
            "unsigned m = n; for (int i = m - 1; i >= 0; --i) { a[i] = HERE; }",
            "long m = n; for (int i = m; i >= 0; --i) { a[i] = HERE; }",
            "for (int i = n - 1u; i >= 0; --i) { a[i] = HERE; }",
            // Threads synchronize.
            "for (int i = 0; i < n; ++i) { a[i] = 0; __syncwarp(); HERE; }",
            "for (int i = 0; i < n; ++i) { a[i] = __shfl_sync(__activemask(), n, i); HERE; }",
            // An `else` would bind to the guard, and so would a pragma.
            "if (n) for (int i = 0; i < n; ++i) { a[i] = 0; HERE; } else in[0] = 1;",
            "for (int i = 0; i < n; ++i) while (n) { a[i] = 0; HERE; }",
            // No element is indexed by the induction variable alone.
            "for (int i = 0; i < n; ++i) { a[i + 1] = 0; HERE; }",
            "for (int i = 0; i < n; ++i) { in[i] = 0; HERE; }",
        ] {
            assert_eq!(guard(body), None, "{body}");
        }
    }

    /// The guarded form of the loop at the mark `HERE`, in a text with directives.
    fn guarded(text: &str) -> Option<String> {
        let tree = Rc::new(SyntaxTree::example("a.cu", text));
        let found = super::super::for_loop::for_loops(&tree, text.find("HERE").expect("the text has a mark"));
        let edits = found.first()?.guarded("a")?.edits;
        apply(text, &edits.iter().collect::<Vec<_>>())
    }

    #[test]
    fn what_macros_hide_is_not_passed_over() {
        let kernel = |define: &str, body: &str| {
            guarded(&format!(
                "{define}\nvoid k(int* in, int n) {{\n  int a[8];\n  for (int i = 0; i < n; ++i) {{\n{body}\n  }}\n}}\n"
            ))
        };
        assert!(kernel("#define SCALE 3", "a[i] = HERE * SCALE;").is_some());
        assert!(kernel("#define AT(k) ((k) + 1)", "a[i] = HERE; in[AT(3)] = AT(4);").is_some());
        for (define, body) in [
            ("#define stop_if(c) if (c) break", "stop_if(in[i] > 2); a[i] = HERE;"),
            ("#define need(c) if (!(c)) continue", "need(in[i] > 2); a[i] = HERE;"),
            ("#define TRACE(x)", "TRACE(a[i]); in[i] = HERE;"),
            ("#define ALL(x, y) ((x) && (y))", "if (ALL(in[i], a[i])) HERE;"),
            ("#define NEXT ++i", "a[i] = HERE; NEXT;"),
            ("#define LAST n = 3", "a[i] = HERE; LAST;"),
            ("#define cur a[i]", "cur = HERE;"),
            ("#ifndef SAFE\n#define SAFE 1\n#endif", "a[i] = HERE * SAFE;"),
            ("", "#if X\nif (in[i]) break;\n#endif\na[i] = HERE;"),
        ] {
            assert_eq!(kernel(define, body), None, "{define} {body}");
        }
    }

    #[test]
    fn the_extent_is_that_of_the_array() {
        let bound = |text: &str| {
            let text = guarded(text)?;
            let start = text.rfind("i < ")? + 4;
            let first = text.find("for (int i = 0; i < ")? + 20;
            Some(text[first..text[first..].find(';')? + first].to_string()).filter(|_| start > first)
        };
        for (text, expected) in [
            ("#define K 8\nvoid k(int n) { int a[K];\n for (int i = 0; i < n; ++i) a[i] = HERE;\n}", Some("K")),
            (
                "constexpr int K = 8;\nvoid k(int n) { int a[K]; { constexpr int K = 4;\n for (int i = 0; i < n; ++i) a[i] = HERE;\n} }",
                Some("8"),
            ),
            (
                "void k(int n) {\n#define K 8\n int a[K];\n#undef K\n#define K 4\n for (int i = 0; i < n; ++i) a[i] = HERE * K;\n}",
                Some("8"),
            ),
            (
                "#ifndef K\n#define K 8\n#endif\nvoid k(int n) { int a[K];\n for (int i = 0; i < n; ++i) a[i] = HERE;\n}",
                None,
            ),
            ("#define K 4 + 4\nvoid k(int n) { int a[K];\n for (int i = 0; i < n; ++i) a[i] = HERE;\n}", None),
        ] {
            assert_eq!(bound(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn sizes_of_one_instance_are_not_written_into_templates() {
        let text = "template <int N> __device__ void f(float (&v)[N], int n) {\n  for (int i = 0; i < n; ++i) v[i] = HERE;\n}\n\
                    __global__ void k(int n) { float a[10]; f(a, n); }\n";
        let tree = Rc::new(SyntaxTree::example("a.cu", text));
        let found = super::super::for_loop::for_loops(&tree, text.find("HERE").unwrap());
        assert!(found[0].guarded_parameter("a", "float[10]", 10, &[]).is_none());
        let plain = text.replace("template <int N> ", "").replace("(&v)[N]", "*v");
        let tree = Rc::new(SyntaxTree::example("a.cu", &plain));
        let found = super::super::for_loop::for_loops(&tree, plain.find("HERE").unwrap());
        assert!(found[0].guarded_parameter("a", "float[10]", 10, &[]).is_some());
    }
}
