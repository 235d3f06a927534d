//! A loop with a bound that is known at run time only, turned into one that runs to the extent of an array, with the
//! present condition as a guard inside: such a loop can be unrolled.

use cuda_syntax::SourceView;
use cuda_syntax::ast::{Binary, Call, Field, Kind, Node};
use cuda_syntax::tree::{DeclarationKind, Volatility, access_path, enclosing_function, role};
use cuda_syntax::words::words;
use lmem_base::diagnostic::Edit;
use lmem_frame::Access;

use super::for_syntax::ForLoop;
use super::purity::is_pure;

/// The edits of one loop.
pub struct Guard {
    pub edits: Vec<Edit>,
    /// The loop cannot have run further than to the array's extent: each of its rounds uses the element of its number.
    pub is_certain: bool,
    /// The extent, where the source tells.
    pub extent: Option<u32>,
}

impl ForLoop {
    /// The loop with a constant bound; `None` where its form does not show that this does the same.
    pub fn guarded(&self, array: &str) -> Option<Guard> {
        let view = self.view();
        let body = self.node()?.field(Field::Body)?;
        let (extent, used) = uses(view, body, array)
            .into_iter()
            .find_map(|used| Some((extent_text(view, array, used, self.counter())?, used)))?;
        let guard = self.bounded_by(&extent)?;
        let is_certain = is_used_first(view, used, body);
        // Who asks in the body how far the counter is has rounds beyond the extent.
        (is_certain || !is_compared(view, body, self.counter())).then_some(Guard { is_certain, ..guard })
    }

    /// The same where a function gets an array of so many elements by a pointer: one place calls it, so that it is always
    /// this array, and the counter alone is the index of all its accesses in such loops. Instances of a template get
    /// arrays of other sizes.
    pub fn guarded_parameter(&self, elements: u64, accesses: &[&Access]) -> Option<Guard> {
        let view = self.view();
        let function = enclosing_function(self.node()?)?;
        let counter = self.counter();
        let mut indices = accesses.iter().filter_map(|access| access.index.as_ref()).map(|span| span.text().trim());
        let is_direct = indices.all(|index| index == counter || !words(index).any(|word| word == counter));
        let is_one = !is_template(function) && is_called_once(view, function);
        (is_direct && is_one).then(|| self.bounded_by(&elements.to_string()))?
    }

    fn bounded_by(&self, extent: &str) -> Option<Guard> {
        let (view, node) = (self.view(), self.node()?);
        let is_statement = node.parent().is_some_and(|parent| parent.kind() == Kind::CompoundStatement);
        let (condition, body) = (node.field(Field::Condition)?, node.field(Field::Body)?);
        let is_fit = is_statement
            && matches!(body.kind(), Kind::CompoundStatement | Kind::ExpressionStatement | Kind::IfStatement);
        let is_fit = is_fit && !has_meetings(view, body);
        let bound =
            Some(node).filter(|_| is_fit).and_then(|node| open_bound(view, node, condition, body, self.counter()))?;
        let (constant, guard) = match bound {
            Bound::Upper => (
                view.replacement(condition.byte_range(), &format!("{} < {extent}", self.counter()))?,
                view.slice(condition).to_string(),
            ),
            Bound::Start(start) => (
                view.replacement(start.byte_range(), &format!("{extent} - 1"))?,
                format!("{} <= {}", self.counter(), view.slice(start)),
            ),
        };
        let edits =
            [self.unroll(), Some(constant), Some(view.insertion(body.start_byte(), &format!("if ({guard}) "))?)];
        let value = view.evaluate(extent, node.start_byte());
        Some(Guard {
            edits: edits.into_iter().flatten().collect(),
            is_certain: false,
            extent: value.and_then(|value| u32::try_from(value).ok()),
        })
    }
}

/// Whether the text names a function in its definition, in declarations and in one call. What a header has may be called by
/// other files.
fn is_called_once(view: &SourceView, function: Node<'_>) -> bool {
    let file = view.span(function.byte_range()).map(|span| span.file);
    if !file.is_some_and(|file| file.path.extension().is_some_and(|ending| ending == "cu" || ending == "rs")) {
        return false;
    }
    let Some(name) = view.function_at(function.start_byte()).and_then(|found| view.text().get(found.name)) else {
        return false;
    };
    let Some(root) = view.root() else { return false };
    let base = cuda_syntax::tree::last_name(name);
    let uses = view.identifiers_below(root).into_iter().filter(|node| view.slice(*node) == base);
    let others = uses.filter(|node| node.parent().is_none_or(|parent| parent.kind() != Kind::FunctionDeclarator));
    others.count() == 1
}

/// Whether something in a loop's body compares the counter.
fn is_compared(view: &SourceView, body: Node<'_>, counter: &str) -> bool {
    // `in[i] > 0` asks for something else.
    let is_direct =
        |side: Node<'_>| side.kind() != Kind::SubscriptExpression && view.named(side, counter).next().is_some();
    let operations = body.descendants().filter_map(Binary::of);
    let mut comparisons = operations.filter(|it| matches!(it.operator(), Some("<" | "<=" | ">" | ">=" | "==" | "!=")));
    comparisons.any(|it| [it.left(), it.right()].into_iter().flatten().any(is_direct))
}

/// Whether a function, or a class or function around it, is a template.
fn is_template(function: Node<'_>) -> bool {
    function.enclosing(Kind::TemplateDeclaration).is_some()
}

/// Whether threads meet in a loop's body, or ask which of them run it: which threads do so depends on where those wait
/// that run fewer rounds.
fn has_meetings(view: &SourceView, body: Node<'_>) -> bool {
    const PREFIXES: [&str; 9] =
        ["__sync", "__shfl", "__any", "__all", "__ballot", "__activemask", "__match", "__reduce", "__bar"];
    let meets = |called: Node<'_>| {
        let name = cuda_syntax::tree::last_name(view.slice(called));
        PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || name.contains("sync")
            || matches!(name, "arrive" | "wait" | "shfl" | "ballot" | "any" | "all" | "reduce")
    };
    body.descendants().any(|node| node.is_assembly() || Call::of(node).and_then(Call::function).is_some_and(meets))
}

/// What of a loop's header is known at run time only.
enum Bound<'t> {
    /// `n` of `int i = 0; i < n; ++i`.
    Upper,
    /// `n` of `int i = n; i >= 0; --i`.
    Start(Node<'t>),
}

/// The bound of a loop whose counter nothing else changes, and whose value nobody sees after the loop.
fn open_bound<'t>(
    view: &SourceView,
    node: Node<'t>,
    condition: Node<'t>,
    body: Node<'t>,
    counter: &str,
) -> Option<Bound<'t>> {
    let constant = |node: Node<'_>| view.value_of(node);
    let initializer = node.field(Field::Initializer)?;
    let kind = counter_kind(view, node, initializer, counter)?;
    let start = match initializer.kind() {
        Kind::Declaration => {
            let is_alone = initializer.fields(Field::Declarator).count() == 1;
            initializer.field(Field::Declarator).filter(|_| is_alone)?.field(Field::Value)?
        }
        Kind::AssignmentExpression => {
            initializer.field(Field::Right).filter(|_| is_counter_of_loops(view, initializer, counter))?
        }
        _ => return None,
    };
    let update = node.field(Field::Update)?;
    let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
    if view.slice(target) != counter || may_write(view, body, counter) {
        return None;
    }
    match (super::for_syntax::step(view, update)?, constant(start)) {
        (1.., Some(0..)) => is_steady_bound(view, condition, body, counter).then_some(Bound::Upper),
        // Larger steps would start from another remainder.
        (-1, None) if kind == CounterKind::Int => {
            let is_down = condition.kind() == Kind::BinaryExpression
                && view.slice(condition.field(Field::Left)?) == counter
                && matches!(condition.operator()?, ">" | ">=")
                && constant(condition.field(Field::Right)?)? >= 0
                && is_steady_value(view, start, body, counter)
                && is_int(view, start);
            is_down.then_some(Bound::Start(start))
        }
        _ => None,
    }
}

/// Types of counters that hold any extent of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CounterKind {
    Int,
    /// Unsigned, or 64 bits wide.
    Other,
}

/// `None` for counters of other types: narrow ones wrap around, and a floating-point one may step over a bound.
fn counter_kind(view: &SourceView, node: Node<'_>, initializer: Node<'_>, counter: &str) -> Option<CounterKind> {
    let text = match initializer.kind() {
        Kind::Declaration => words_of(view.slice(initializer.field(Field::Type)?)),
        _ => {
            let all = view.declarations(enclosing_function(node)?);
            cuda_syntax::tree::resolve(&all, counter, initializer.start_byte())?.type_text.clone()
        }
    };
    let is_wide =
        matches!(
            text.as_str(),
            "unsigned" | "unsigned int" | "uint" | "long" | "long long" | "unsigned long" | "unsigned long long"
        ) || matches!(text.trim_start_matches("std::"), "size_t" | "ptrdiff_t" | "uint32_t" | "int64_t" | "uint64_t");
    match text.trim_start_matches("std::") {
        "int" | "int32_t" | "signed" | "signed int" => Some(CounterKind::Int),
        _ if is_wide => Some(CounterKind::Other),
        _ => None,
    }
}

fn words_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "const").collect();
    words.join(" ")
}

/// Whether an expression is made of variables and numbers of the type `int` alone: what it is compared with then compares
/// as it is, and none of it wraps around.
fn is_int(view: &SourceView, expression: Node<'_>) -> bool {
    match expression.kind() {
        Kind::NumberLiteral => {
            let value = cuda_syntax::constant::evaluate(view.slice(expression), &|_| None);
            value.is_some_and(|value| value.integer_type() == cuda_syntax::constant::integer::IntegerType::Int)
        }
        Kind::Identifier => {
            let (name, at) = (view.slice(expression), expression.start_byte());
            let all = enclosing_function(expression).map(|function| view.declarations(function)).unwrap_or_default();
            match cuda_syntax::tree::resolve(&all, name, at) {
                Some(found) => {
                    found.kind == DeclarationKind::Scalar
                        && matches!(words_of(&found.type_text).as_str(), "int" | "int32_t" | "short" | "signed")
                }
                None => false,
            }
        }
        Kind::BinaryExpression | Kind::ParenthesizedExpression => {
            expression.named_children().all(|part| is_int(view, part))
        }
        _ => false,
    }
}

/// Whether a variable that is declared before its loops is used in such loops alone: what one of them leaves in it is seen
/// by nobody.
fn is_counter_of_loops(view: &SourceView, initializer: Node<'_>, counter: &str) -> bool {
    let found = || {
        let function = enclosing_function(initializer)?;
        let all = view.declarations(function);
        let own = cuda_syntax::tree::resolve(&all, counter, initializer.start_byte())?;
        let is_own_value = own.kind == DeclarationKind::Scalar && !own.is_parameter && own.volatility.is_none();
        let mut uses = view.names_of(function, &all, own).into_iter();
        let is_counted = |node: Node<'_>| {
            let mut around = Some(node);
            while let Some(current) = around {
                let sets = current.field(Field::Initializer).filter(|it| it.kind() == Kind::AssignmentExpression);
                let (target, value) =
                    (sets.and_then(|sets| sets.field(Field::Left)), sets.and_then(|sets| sets.field(Field::Right)));
                // What the counter starts from may be what the loop before left in it.
                let is_start = value.is_some_and(|value| value.byte_range().contains(&node.start_byte()));
                if target.is_some_and(|target| view.slice(target) == counter) && !is_start {
                    return true;
                }
                around = current.parent().filter(|_| current.kind() != Kind::LambdaExpression);
            }
            false
        };
        Some(is_own_value && uses.all(is_counted) && !is_reachable(view, function, counter))
    };
    found().unwrap_or(false)
}

/// `i < n` or `i <= n` where nothing in the loop can change `n`.
fn is_steady_bound(view: &SourceView, condition: Node<'_>, body: Node<'_>, counter: &str) -> bool {
    let field = |field: Field| condition.field(field);
    let (Some(left), Some(operator), Some(bound)) = (field(Field::Left), field(Field::Operator), field(Field::Right))
    else {
        return false;
    };
    view.slice(left) == counter
        && matches!(view.slice(operator), "<" | "<=")
        && is_steady_value(view, bound, body, counter)
}

/// A value that is the same in all rounds.
fn is_steady_value(view: &SourceView, bound: Node<'_>, body: Node<'_>, counter: &str) -> bool {
    let names = view.identifiers(bound);
    is_arithmetic(bound)
        && !names.is_empty()
        && names.into_iter().all(|name| is_steady(view, name, body) && view.slice(name) != counter)
}

/// Numbers, names, members and sums and products of them.
fn is_arithmetic(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::Identifier | Kind::NumberLiteral | Kind::FieldIdentifier => true,
        Kind::BinaryExpression | Kind::ParenthesizedExpression => node.named_children().all(is_arithmetic),
        Kind::FieldExpression => {
            node.field(Field::Operator).is_some_and(|operator| operator.is_token("."))
                && node.field(Field::Argument).is_some_and(|argument| argument.kind() == Kind::Identifier)
        }
        _ => false,
    }
}

/// A variable of the function's own that the loop does not write, and that nothing else can reach.
pub(super) fn is_steady(view: &SourceView, name: Node<'_>, body: Node<'_>) -> bool {
    let Some(function) = enclosing_function(name) else { return false };
    let text = view.slice(name);
    let declarations = view.declarations(function);
    let Some(declaration) = cuda_syntax::tree::resolve(&declarations, text, name.start_byte()) else {
        // A constant, or a variable that others may write.
        return view.is_constant(text, name.start_byte());
    };
    let is_own = declaration.kind != DeclarationKind::Alias && declaration.volatility != Some(Volatility::Value);
    is_own && !may_write(view, body, text) && !is_reachable(view, function, text)
}

/// Whether a statement writes to a variable, or hands it to a function, which may take it by reference.
pub(super) fn may_write(view: &SourceView, body: Node<'_>, name: &str) -> bool {
    view.named(body, name).any(|node| role(access_path(node)).1)
}

/// Whether a name's address is taken, a reference bound to it, or a lambda mentions it.
fn is_reachable(view: &SourceView, function: Node<'_>, name: &str) -> bool {
    let is_in_lambda = |node: Node<'_>| {
        node.ancestors().take_while(|it| *it != function).any(|it| it.kind() == Kind::LambdaExpression)
    };
    view.named(function, name).any(|node| hands_out(node) || is_in_lambda(node))
}

fn hands_out(name: Node<'_>) -> bool {
    let mut node = name;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            Kind::FieldExpression | Kind::ParenthesizedExpression => node = parent,
            Kind::PointerExpression => return parent.child(0).is_some_and(|operator| operator.is_token("&")),
            Kind::InitDeclarator => {
                let declarator = parent.field(Field::Declarator);
                let is_value = parent.field(Field::Value) == Some(node);
                return is_value && declarator.is_some_and(|declarator| declarator.kind() == Kind::ReferenceDeclarator);
            }
            Kind::GnuAsmExpression | Kind::GnuAsmOutputOperand => return true,
            _ => return false,
        }
    }
    false
}

/// The outermost subscripts of an array in a region: `a[i][j]`.
fn uses<'t>(view: &SourceView, region: Node<'t>, array: &str) -> Vec<Node<'t>> {
    let is_inner = |node: Node<'_>, child: Node<'_>| {
        node.kind() == Kind::SubscriptExpression && child.kind() == Kind::SubscriptExpression
    };
    let subscripts = region.descendants_through(|node, child| !is_inner(node, child));
    let is_of_array = |node: &Node<'_>| base_of(*node).is_some_and(|base| view.slice(base) == array);
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

fn index_of(subscript: Node<'_>) -> Option<Node<'_>> {
    let indices = subscript.field(Field::Indices)?;
    Some(indices.named_child(0).unwrap_or(indices))
}

/// The extent that the counter runs over in `a[i][j]`, as the declaration of `a` in the same function writes it.
fn extent_text(view: &SourceView, array: &str, used: Node<'_>, counter: &str) -> Option<String> {
    let mut indices = Vec::new();
    let mut node = used;
    while node.kind() == Kind::SubscriptExpression {
        indices.insert(0, view.slice(index_of(node)?).trim());
        node = node.field(Field::Argument)?;
    }
    let position = indices.iter().position(|index| *index == counter)?;
    let declarations = view.declarations(enclosing_function(used)?);
    let declaration = cuda_syntax::tree::resolve(&declarations, array, used.start_byte())
        .filter(|declaration| declaration.kind == DeclarationKind::Array && !declaration.is_parameter)?;
    let name = view.root()?.named_descendant_for_byte_range(declaration.range.0, declaration.range.1)?;
    let mut declarator = name.parent()?;
    for _ in 0..position {
        declarator = declarator.parent()?;
    }
    let size = declarator.field(Field::Size).filter(|_| declarator.kind() == Kind::ArrayDeclarator)?;
    let text = view.spelled(size, used.start_byte())?;
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*' | '+' | '-' | '(' | ')'));
    is_plain.then_some(text)
}

/// Whether each round uses an element, or does nothing before it ends early: a round beyond the extent is undefined then,
/// or has no effect.
fn is_used_first(view: &SourceView, used: Node<'_>, body: Node<'_>) -> bool {
    if !is_unconditional(used, body) {
        return false;
    }
    let ends_before = exits(view, body).iter().any(|exit| exit.start_byte() < used.start_byte());
    if !ends_before {
        return true;
    }
    // Statements before the one that uses the element.
    let before = body.parts();
    body.kind() == Kind::CompoundStatement
        && before.take_while(|child| child.end_byte() <= used.start_byte()).all(|child| is_idle(view, child))
}

/// `if (x > y) break;`, `const float v = in[i];`: a statement that leaves no trace but to end the round.
fn is_idle(view: &SourceView, statement: Node<'_>) -> bool {
    match statement.kind() {
        Kind::BreakStatement | Kind::ContinueStatement => true,
        Kind::Declaration => is_pure(view, statement),
        Kind::IfStatement => {
            let condition = statement.field(Field::Condition);
            let parts = [statement.field(Field::Consequence), statement.field(Field::Alternative)];
            condition.is_some_and(|condition| is_pure(view, condition))
                && parts.into_iter().flatten().all(|part| is_idle(view, part))
        }
        Kind::CompoundStatement | Kind::ElseClause => statement.named_children().all(|child| is_idle(view, child)),
        _ => false,
    }
}

/// Whether an expression is evaluated in each round.
fn is_unconditional(used: Node<'_>, body: Node<'_>) -> bool {
    let mut node = used;
    while node != body {
        let Some(parent) = node.parent() else { return false };
        let is_first = |field: Field| parent.field(field) == Some(node);
        let is_always = match parent.kind() {
            Kind::IfStatement | Kind::ConditionalExpression => is_first(Field::Condition),
            Kind::BinaryExpression => !matches!(parent.operator(), Some("&&" | "||")) || is_first(Field::Left),
            Kind::CompoundStatement
            | Kind::ExpressionStatement
            | Kind::Declaration
            | Kind::InitDeclarator
            | Kind::AssignmentExpression
            | Kind::UpdateExpression
            | Kind::SubscriptExpression
            | Kind::SubscriptArgumentList
            | Kind::FieldExpression
            | Kind::ParenthesizedExpression
            | Kind::ConditionClause
            | Kind::ArgumentList
            | Kind::CallExpression
            | Kind::CastExpression
            | Kind::UnaryExpression
            | Kind::CommaExpression => true,
            _ => false,
        };
        if !is_always {
            return false;
        }
        node = parent;
    }
    true
}

/// What in a loop's body may end it, or a round, before its bound does.
fn exits<'t>(view: &SourceView, body: Node<'t>) -> Vec<Node<'t>> {
    const EXITS: [Kind; 5] = [
        Kind::BreakStatement,
        Kind::ContinueStatement,
        Kind::ReturnStatement,
        Kind::GotoStatement,
        Kind::ThrowStatement,
    ];
    let is_exit = |node: &Node<'_>| {
        let called = Call::of(*node).and_then(Call::function).map_or("", |called| view.slice(called));
        EXITS.contains(&node.kind()) || matches!(called, "assert" | "__trap" | "__brkpt") || node.is_assembly()
    };
    body.descendants().filter(is_exit).collect()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use lmem_base::edit::apply;

    #[test]
    fn loops_over_parameters_run_to_the_extent_of_the_only_array() {
        let edited = |body: &str, calls: &str| {
            let text = format!(
                "__device__ void f(float *p, const float* q, int n) {{\n  {body}\n}}\n__global__ void k() {{ {calls} }}"
            );
            let view = Rc::new(SourceView::example("a.cu", &text));
            let found = super::super::for_syntax::for_loops(&view, text.find("HERE")?);
            let guard = found.first()?.guarded_parameter(4, &[])?;
            assert!(!guard.is_certain);
            let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
            Some(edited.lines().skip(1).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
        };
        let body = "for (int i = 0; i < n; ++i) { p[i].r = q[i] + HERE; }";
        let expected = "#pragma unroll for (int i = 0; i < 4; ++i) if (i < n) { p[i].r = q[i] + HERE; }";
        assert_eq!(edited(body, "f(a, b, 3);").as_deref(), Some(expected));
        assert_eq!(edited(body, "f(a, b, 3); f(c, b, 9);"), None);
    }

    fn guard(body: &str) -> Option<(String, bool)> {
        let text = format!(
            "template <int W> __global__ void k(float* in, const int n, P p, int* q) {{\n  float a[W], b[4][8];\n  {body}\n}}\n"
        );
        let view = Rc::new(SourceView::example("a.cu", &text));
        let found = super::super::for_syntax::for_loops(&view, text.find("HERE").expect("the text has a mark"));
        let guard = found.first()?.guarded("a").or_else(|| found.first()?.guarded("b"))?;
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        let lines: Vec<&str> = edited.lines().skip(2).map(str::trim).collect();
        Some((lines[..lines.len() - 1].join(" "), guard.is_certain))
    }

    #[test]
    fn loops_run_to_the_extent_with_a_guard() {
        for (body, expected, certain) in [
            (
                "for (int i = 0; i < n; ++i) { a[i] = in[i]; HERE; }",
                "#pragma unroll for (int i = 0; i < W; ++i) if (i < n) { a[i] = in[i]; HERE; }",
                true,
            ),
            (
                "for (int i = 0; i <= p.n - 1; i += 2) in[i] = b[2][i] + HERE;",
                "#pragma unroll for (int i = 0; i < 8; i += 2) if (i <= p.n - 1) in[i] = b[2][i] + HERE;",
                true,
            ),
            (
                "for (int i = 0; i < n; i++) { if (in[i] > 0 && a[i] > 0) HERE; }",
                "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (in[i] > 0 && a[i] > 0) HERE; }",
                false,
            ),
            (
                "for (int i = 0; i < n; i++) { if (HERE) break; a[i] = 0; }",
                "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (HERE) break; a[i] = 0; }",
                true,
            ),
            // What a round beyond the extent does before it ends would be missed.
            (
                "for (int i = 0; i < n; i++) { in[i] = 1; if (HERE) break; a[i] = 0; }",
                "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { in[i] = 1; if (HERE) break; a[i] = 0; }",
                false,
            ),
            (
                "for (size_t i = 0; i < n; i++) { a[i] = HERE; if (in[i]) break; }",
                "#pragma unroll for (size_t i = 0; i < W; i++) if (i < n) { a[i] = HERE; if (in[i]) break; }",
                true,
            ),
            (
                "for (int i = n - 1; i >= 0; --i) { a[i] = HERE; }",
                "#pragma unroll for (int i = W - 1; i >= 0; --i) if (i <= n - 1) { a[i] = HERE; }",
                true,
            ),
            (
                "int i;\n  for (i = 0; i < n; ++i) a[i] = HERE; for (i = 0; i < 4; ++i) in[i] = 0;",
                "int i; #pragma unroll for (i = 0; i < W; ++i) if (i < n) a[i] = HERE; for (i = 0; i < 4; ++i) in[i] = 0;",
                true,
            ),
        ] {
            assert_eq!(guard(body), Some((expected.to_string(), certain)), "{body}");
        }
    }

    #[test]
    fn what_may_mean_something_else_is_left_alone() {
        for body in [
            // The counter is used after the loop.
            "int i; for (i = 0; i < n; ++i) a[i] = HERE; in[0] = i;",
            "int i; for (i = 0; i < n; ++i) a[i] = HERE; for (i = i + 1; i < 8; ++i) in[i] = 0;",
            "int i; int *r = &i; for (i = 0; i < n; ++i) a[i] = HERE;",
            // The bound or the counter changes.
            "int m = n; for (int i = 0; i < m; ++i) { a[i] = 0; m = HERE; }",
            "int m = n; int& r = m; for (int i = 0; i < m; ++i) { a[i] = 0; r = HERE; }",
            "int m = n; f(&m); for (int i = 0; i < m; ++i) { a[i] = 0; HERE; }",
            "for (int i = 0; i < n; ++i) { a[i] = 0; i += HERE; }",
            // What others may write.
            "for (int i = 0; i < *q; ++i) { a[i] = 0; HERE; }",
            "for (int i = 0; i < q[0]; ++i) { a[i] = 0; HERE; }",
            "for (int i = 0; i < global_count; ++i) { a[i] = 0; HERE; }",
            // The counter lives on, runs down in other steps, or is compared in another way.
            "for (int i = n; i > 0; i -= 2) { a[i] = 0; HERE; }",
            "for (int i = *q; i > 0; --i) { a[i] = 0; HERE; }",
            "for (int i = 0; i != n; ++i) { a[i] = 0; HERE; }",
            "for (int i = 0; i < n && in[i]; ++i) { a[i] = 0; HERE; }",
            // Counters that wrap around before the extent, or compare in another way than the guard.
            "for (unsigned char i = 0; i < n; ++i) { a[i] = 0; HERE; }",
            "for (float i = 0; i < n; ++i) { a[i] = 0; HERE; }",
            "unsigned m = n; for (int i = m - 1; i >= 0; --i) { a[i] = HERE; }",
            "long m = n; for (int i = m; i >= 0; --i) { a[i] = HERE; }",
            "for (int i = n - 1u; i >= 0; --i) { a[i] = HERE; }",
            // Threads meet.
            "for (int i = 0; i < n; ++i) { a[i] = 0; __syncwarp(); HERE; }",
            "for (int i = 0; i < n; ++i) { a[i] = __shfl_sync(__activemask(), n, i); HERE; }",
            // An `else` would belong to the guard, and a pragma to it too.
            "if (n) for (int i = 0; i < n; ++i) { a[i] = 0; HERE; } else in[0] = 1;",
            "for (int i = 0; i < n; ++i) while (n) { a[i] = 0; HERE; }",
            // No element has the counter's number.
            "for (int i = 0; i < n; ++i) { a[i + 1] = 0; HERE; }",
            "for (int i = 0; i < n; ++i) { in[i] = 0; HERE; }",
        ] {
            assert_eq!(guard(body), None, "{body}");
        }
    }

    /// The loop at the mark `HERE` with its guard, in a text with directives of its own.
    fn guarded(text: &str) -> Option<String> {
        let view = Rc::new(SourceView::example("a.cu", text));
        let found = super::super::for_syntax::for_loops(&view, text.find("HERE").expect("the text has a mark"));
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
        let view = Rc::new(SourceView::example("a.cu", text));
        let found = super::super::for_syntax::for_loops(&view, text.find("HERE").unwrap());
        assert!(found[0].guarded_parameter(10, &[]).is_none());
        let plain = text.replace("template <int N> ", "").replace("(&v)[N]", "*v");
        let view = Rc::new(SourceView::example("a.cu", &plain));
        let found = super::super::for_syntax::for_loops(&view, plain.find("HERE").unwrap());
        assert!(found[0].guarded_parameter(10, &[]).is_some());
    }
}
