//! Passes a variable by value and returns it, instead of passing its address: registers can hold arguments and results.
//!
//! `void push(Particle *p, float dt)` becomes `Particle push(Particle p, float dt)`, and `push(&p, dt);` becomes
//! `p = push(p, dt);`. All calls change with the function, so all of them must be visible. The function may use the
//! address only to read and write the pointee.

use std::ops::Range;

use cuda_syntax::ast::{Field, Kind, Member, Node};
use cuda_syntax::tree::{access_path, base_name, is_callee, resolve, role};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::mangling::demangle;
use lmem_frame::{EscapeKind, StackObject};

use super::Rewrite;
use super::facts::accessed::is_scalar_member;
use super::facts::binding::declares_value;
use super::facts::classes::is_copied_plainly;
use super::facts::evaluation::is_in_lambda;
use super::facts::linkage::is_called_elsewhere;
use super::facts::purity::{is_pure, takes_values};
use super::facts::sites::{functions_named, located};
use super::facts::sole::{Given, is_sole_way, reaches_nothing_else};
use crate::framework::LintContext;

/// Passes and returns the variable by value in the functions that take its address. Refused with `-rdc=true`: other
/// files may declare and call them, which only the linker would notice.
pub fn suggestion(cx: &LintContext<'_>, object: &StackObject) -> Option<Suggestion> {
    let name = &object.variable.as_ref().filter(|_| !cx.unit.is_relocatable())?.name;
    let title = format!("pass `{name}` by value and return the changed value");
    Some(Rewrite::new(Applicability::MaybeIncorrect, pass_by_value(object)?).suggestion(title))
}

/// The edits for all functions that get the variable's address; `None` if one of them does something else with it.
fn pass_by_value(object: &StackObject) -> Option<Vec<Edit>> {
    let mut functions: Vec<(String, usize)> = Vec::new();
    for escape in object.escapes() {
        let EscapeKind::Call(name) = &escape.kind else { return None };
        let (argument, _) = escape.argument.filter(|_| !escape.is_external)?;
        let name = base_name(&demangle(name)).to_string();
        // A function can return only one of two parameters.
        match functions.iter().find(|(known, _)| *known == name) {
            Some((_, known)) if *known == argument => {}
            Some(_) => return None,
            None => functions.push((name, argument)),
        }
    }
    let (tree, _) = located(object, &object.variable.as_ref()?.span)?;
    let mut edits = Vec::new();
    for (name, argument) in &functions {
        // Calls in other files would not be edited.
        if functions_named(tree, name).iter().any(|function| is_called_elsewhere(tree, *function)) {
            return None;
        }
        edits.extend(by_value(tree, name, *argument)?);
    }
    edits.sort();
    edits.dedup();
    (!edits.is_empty()).then_some(edits)
}

/// How a function takes the parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Pointer,
    Reference,
}

/// A parameter in one declaration of a function.
struct Parameter<'t> {
    /// `Particle *p`
    whole: Node<'t>,
    type_node: Node<'t>,
    way: Way,
    /// The `*` or `&`.
    sign: Range<usize>,
    name: Option<Node<'t>>,
}

impl<'t> Parameter<'t> {
    fn of(tree: &SyntaxTree, function: Node<'t>, argument: usize) -> Option<Self> {
        let declarator = function.field(Field::Declarator).filter(|it| it.kind() == Kind::FunctionDeclarator)?;
        let list = declarator.field(Field::Parameters)?.children();
        let whole = list.into_iter().filter(|node| node.is_named() && node.kind() != Kind::Comment).nth(argument)?;
        let declared = whole.field(Field::Declarator).filter(|_| whole.kind() == Kind::ParameterDeclaration)?;
        let way = match declared.kind() {
            Kind::PointerDeclarator | Kind::AbstractPointerDeclarator => Way::Pointer,
            Kind::ReferenceDeclarator | Kind::AbstractReferenceDeclarator => Way::Reference,
            _ => return None,
        };
        let sign = declared.child(0).filter(|sign| matches!(tree.slice(*sign), "*" | "&"))?;
        let inner = declared.named_children().collect::<Vec<_>>();
        let name = match inner.as_slice() {
            [] => None,
            [name] if name.kind() == Kind::Identifier => Some(*name),
            // `__restrict__`, arrays and pointers to pointers are not handled.
            _ => return None,
        };
        let type_node = whole.field(Field::Type)?;
        Some(Self { whole, type_node, way, sign: sign.byte_range(), name })
    }
}

/// The edits of a function and of all its calls.
fn by_value(tree: &SyntaxTree, name: &str, argument: usize) -> Option<Vec<Edit>> {
    let functions = functions_named(tree, name);
    let mut definitions = functions.iter().filter(|function| function.field(Field::Body).is_some());
    let definition = definitions.next().filter(|_| definitions.next().is_none())?;
    let parameter = Parameter::of(tree, *definition, argument)?;
    let body = definition.field(Field::Body)?;
    let mut edits = Vec::new();
    let is_written = uses(tree, *definition, body, &parameter, &mut edits)?;
    let type_text = tree.slice(parameter.type_node);
    if !is_copied_plainly(tree, type_text) || tree.slice(parameter.whole).contains("volatile") {
        return None;
    }
    for function in &functions {
        let own = Parameter::of(tree, *function, argument).filter(|_| tree.is_plain(*function))?;
        if own.way != parameter.way || tree.slice(own.type_node) != type_text {
            return None;
        }
        edits.push(tree.replacement(own.sign, "")?);
        if is_written {
            let result = function.field(Field::Type).filter(|it| tree.slice(*it) == "void")?;
            edits.push(tree.replacement(result.byte_range(), type_text)?);
        }
        // A `const` parameter cannot be modified and returned; one that is only read may stay `const`.
        let is_constant = own.whole.children().any(|child| tree.slice(child) == "const");
        if is_constant && is_written {
            return None;
        }
    }
    if is_written {
        edits.extend(returns(tree, body, tree.slice(parameter.name?))?);
    }
    let is_alone = reaches_nothing_else(tree, *definition, tree.slice(parameter.name?));
    edits.extend(calls(tree, &Callee { name, argument, way: parameter.way, is_written, is_alone })?);
    Some(edits)
}

/// Rewrites the uses of a parameter for a value; returns whether one of them writes it.
fn uses(
    tree: &SyntaxTree,
    function: Node<'_>,
    body: Node<'_>,
    parameter: &Parameter<'_>,
    edits: &mut Vec<Edit>,
) -> Option<bool> {
    let name = tree.slice(parameter.name?);
    let all = tree.declarations(function);
    let mut is_written = false;
    for used in tree.identifiers_below(body).into_iter().filter(|node| tree.slice(*node) == name) {
        let is_it = resolve(&all, name, used.start_byte()).is_some_and(|found| found.is_parameter);
        if !is_it || is_in_lambda(used) {
            return None;
        }
        if parameter.way == Way::Pointer {
            let parent = used.parent()?;
            let is_argument = parent.field(Field::Argument) == Some(used);
            let text = tree.slice(parent);
            match parent.kind() {
                Kind::PointerExpression if text.starts_with('*') => {
                    edits.push(tree.replacement(parent.byte_range(), name)?)
                }
                Kind::SubscriptExpression if is_argument && text.ends_with("[0]") => {
                    edits.push(tree.replacement(parent.byte_range(), name)?);
                }
                Kind::FieldExpression if is_argument => {
                    let arrow = parent.field(Field::Operator).filter(|it| tree.slice(*it) == "->")?;
                    edits.push(tree.replacement(arrow.byte_range(), ".")?);
                }
                _ => return None,
            }
        }
        let path = access_path(used);
        let (_, writes, is_handed_on) = role(path);
        let parent = path.parent()?;
        match is_handed_on {
            true => {
                let called = parent.parent().and_then(|call| call.field(Field::Function));
                let is_value =
                    parent.kind() == Kind::ArgumentList && called.is_some_and(|called| takes_values(tree, called));
                if !(is_value || is_list_of_values(tree, parent)) || is_row(tree, path) {
                    return None;
                }
            }
            // A method may modify its object, and a reference may outlive the statement.
            false if is_callee(path) || is_bound(tree, path, parent) => return None,
            false => is_written |= writes,
        }
    }
    tree.is_plain(body).then_some(is_written)
}

/// Writes `return p;` for `return;`, and at the end of the body.
fn returns(tree: &SyntaxTree, body: Node<'_>, name: &str) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    for node in body.descendants_through(|_, child| child.kind() != Kind::LambdaExpression) {
        if node.kind() == Kind::ReturnStatement {
            edits.push(tree.replacement(node.byte_range(), &format!("return {name};"))?);
        }
    }
    let last = body.children().rfind(|node| node.is_named() && node.kind() != Kind::Comment)?;
    if last.kind() == Kind::ReturnStatement {
        return Some(edits);
    }
    let end = last.end_byte();
    let is_on_line = last.start_row() != body.start_row();
    edits.push(match tree.line_ending(last.start_byte()).filter(|_| is_on_line) {
        Some(ending) => tree.lines_instead(end..end, &format!("{ending}return {name};"), &ending)?,
        None => tree.insertion(end, &format!(" return {name};"))?,
    });
    Some(edits)
}

/// A function that gets a value in place of an address.
struct Callee<'a> {
    name: &'a str,
    argument: usize,
    way: Way,
    is_written: bool,
    /// Whether it has no other way to memory.
    is_alone: bool,
}

/// `p = push(p, dt);` for `push(&p, dt);`
fn calls(tree: &SyntaxTree, callee: &Callee<'_>) -> Option<Vec<Edit>> {
    let Callee { name, argument, way, is_written, is_alone } = *callee;
    let mut edits = Vec::new();
    for used in tree.identifiers_below(tree.root()?).into_iter().filter(|node| tree.slice(*node) == name) {
        let mut called = used;
        while let Some(parent) =
            called.parent().filter(|it| matches!(it.kind(), Kind::QualifiedIdentifier | Kind::TemplateFunction))
        {
            called = parent;
        }
        let parent = called.parent()?;
        if parent.kind() == Kind::FunctionDeclarator {
            continue;
        }
        // Any other use takes the function's address.
        let list = parent.field(Field::Arguments).filter(|_| is_callee(called) && tree.is_plain(parent))?;
        let given = list.parts().nth(argument)?;
        let text = tree.slice(given);
        let place = match way {
            Way::Reference => given,
            Way::Pointer => given.field(Field::Argument).filter(|_| text.starts_with('&')).unwrap_or(given),
        };
        // The function may reach the variable in another way, and other threads may reach what a pointer leads to.
        let is_variable = way == Way::Reference || text.starts_with('&');
        let is_sole = || is_sole_way(tree, Given { function: name, position: argument, call: parent, place, is_alone });
        if !((is_variable && is_sole()) || (is_alone && !is_written)) {
            return None;
        }
        let value = match way {
            Way::Reference => text.to_string(),
            Way::Pointer => match given.field(Field::Argument).filter(|_| text.starts_with('&')) {
                Some(place) => tree.slice(place).to_string(),
                None if given.kind() == Kind::Identifier => format!("*{text}"),
                None => return None,
            },
        };
        if way == Way::Pointer {
            edits.push(tree.replacement(given.byte_range(), &value)?);
        }
        if is_written {
            let is_statement = parent.parent().is_some_and(|around| around.kind() == Kind::ExpressionStatement);
            // The lvalue appears twice in the edit, so evaluating it must have no side effects.
            if !is_statement || !is_pure(tree, given) {
                return None;
            }
            edits.push(tree.insertion(parent.start_byte(), &format!("{value} = "))?);
        }
    }
    Some(edits)
}

/// Whether a reference or a pointer may be bound to an expression, which then leads to the copy.
fn is_bound(tree: &SyntaxTree, path: Node<'_>, parent: Node<'_>) -> bool {
    match parent.kind() {
        Kind::InitDeclarator => {
            let is_name = parent.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier);
            let is_copy = is_name && declares_value(tree, parent);
            parent.field(Field::Value) == Some(path) && (!is_copy || is_row(tree, path))
        }
        Kind::ConditionalExpression => parent.field(Field::Condition) != Some(path),
        Kind::CastExpression => parent.field(Field::Type).is_some_and(|it| tree.slice(it).contains(['&', '*'])),
        Kind::CommaExpression | Kind::ForRangeLoop | Kind::LambdaExpression => true,
        Kind::AssignmentExpression | Kind::BinaryExpression | Kind::ReturnStatement => is_row(tree, path),
        _ => false,
    }
}

/// Whether an expression ends in a member that may be an array, which becomes a pointer.
fn is_row(tree: &SyntaxTree, path: Node<'_>) -> bool {
    let member = Member::of(path).and_then(Member::name);
    member.is_some_and(|member| !is_scalar_member(tree, tree.slice(member)))
}

/// Whether a list initializes numbers: a member of a class may be a reference.
fn is_list_of_values(tree: &SyntaxTree, list: Node<'_>) -> bool {
    let Some(parent) = list.parent().filter(|_| list.kind() == Kind::InitializerList) else { return false };
    let type_node = match parent.kind() {
        Kind::InitDeclarator => parent.parent().and_then(|statement| statement.field(Field::Type)),
        _ => parent.field(Field::Type),
    };
    type_node.is_some_and(|it| types::size_of(tree.slice(it)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    const CLASS: &str = "struct S { float x, y, v[2]; int n; };\n";

    fn edited(text: &str, argument: usize) -> Option<String> {
        let text = format!("{CLASS}{text}");
        let tree = SyntaxTree::example("a.cu", text.as_str());
        let mut edits = by_value(&tree, "f", argument)?;
        edits.sort();
        Some(apply(&text, &edits.iter().collect::<Vec<_>>())?.strip_prefix(CLASS)?.to_string())
    }

    #[test]
    fn what_is_written_is_returned() {
        let text = "\
__device__ void f(S *p, float dt);
__device__ __noinline__ void f(S *p, float dt) {
    if (dt < 0) return;
    p->x += dt * (*p).y;
}
__global__ void k(S *out) { S s; f(&s, 2); out[0] = s; }
";
        let expected = "\
__device__ S f(S p, float dt);
__device__ __noinline__ S f(S p, float dt) {
    if (dt < 0) return p;
    p.x += dt * (p).y;
    return p;
}
__global__ void k(S *out) { S s; s = f(s, 2); out[0] = s; }
";
        assert_eq!(edited(text, 0).as_deref(), Some(expected));
        let text = "void f(int n, float &low) { low = fminf(low, n); }\nvoid k() { float a[2]; f(3, a[1]); }";
        let expected = "float f(int n, float low) { low = fminf(low, n); return low; }\nvoid k() { float a[2]; a[1] = f(3, a[1]); }";
        assert_eq!(
            edited(text, 1).as_deref().map(|text| text.replace("float  ", "float ")),
            Some(expected.to_string())
        );
    }

    #[test]
    fn what_is_read_is_a_value() {
        let text = "float f(const S *p) { return p->x + p[0].y; }\nvoid k(S *q) { S s; a = f(&s) + f(q); }";
        let expected = "float f(const S p) { return p.x + p.y; }\nvoid k(S *q) { S s; a = f(s) + f(*q); }";
        assert_eq!(edited(text, 0).as_deref(), Some(expected));
    }

    #[test]
    fn other_functions_keep_their_pointers() {
        for text in [
            // The address is passed on, or is used for more than one element.
            "void f(S *p) { g(p); }",
            "void f(S *p) { p[1].x = 0; }",
            "void f(S *p) { ++p; }",
            "void f(S *p) { float *x = &p->x; *x = 0; }",
            "void f(S *p) { p->reset(); }",
            "void f(S &p) { S &q = p; q.x = 0; }",
            // The function has another result, or its address is taken.
            "int f(S *p) { p->x = 0; return 1; }",
            "void f(S *p) { p->x = 0; }\nauto g = &f;",
            "void f(S *p) { p->x = 0; }\nvoid f(T *p) { p->x = 0; }",
            "void f(S *p) { p->x = 0; }\nvoid k() { S s[2]; f(s + 1); }",
        ] {
            assert_eq!(edited(text, 0), None, "{text}");
        }
    }

    #[test]
    fn what_can_be_reached_in_another_way_keeps_its_address() {
        let f = "void f(S *p, const S *q, float h) { p->x += q->y * h; p->y += q->x; }\n";
        let expected = "S f(S p, const S *q, float h) { p.x += q->y * h; p.y += q->x; return p; }\n";
        let call = "void k(const S *in) { S s; s.x = 1; f(&s, in, s.x); f(&s, in + 1, 2); out[0] = s.x + s.v[1]; }";
        let after =
            "void k(const S *in) { S s; s.x = 1; s = f(s, in, s.x); s = f(s, in + 1, 2); out[0] = s.x + s.v[1]; }";
        assert_eq!(edited(&format!("{f}{call}"), 0), Some(format!("{expected}{after}")));
        // A function that has no other way to memory does not care who else has the address.
        assert_eq!(
            edited("void f(S *p, float h) { p->x += h; }\nfloat g(const S &s);\nvoid k() { S s; f(&s, 1); out[0] = g(s); }", 0).as_deref(),
            Some("S f(S p, float h) { p.x += h; return p; }\nfloat g(const S &s);\nvoid k() { S s; s = f(s, 1); out[0] = g(s); }")
        );
        for call in [
            "void k() { S s; f(&s, &s, 1); }",
            "void k(int n) { S s, r; f(&s, n ? &r : &s, 1); }",
            "void k() { S s; const S *other = &s; f(&s, other, 1); }",
            "void k() { S s; const S &other = s; f(&s, &other, 1); }",
            "void k() { S s; keep(&s); f(&s, kept, 1); }",
            "void k() { S s; s.keep(); f(&s, kept, 1); }",
            "void k() { S s; auto get = [&] { return &s; }; f(&s, get(), 1); }",
            "void k() { S s[4]; f(&s[1], s, 1); }",
            "void k() { S s; const float *x = s.v; f(&s, (const S *)x, 1); }",
            "void k(const S *in) { S s; f(&s, in, s.x = 3); }",
            "void k(const S *in, int i) { S s[4]; f(&s[i], in, ++i); }",
            "void k(S *global, const S *in) { f(global, in, 1); }",
            "void k(const S *in) { static S s; f(&s, in, 1); }",
            "void k(const S *in) { __shared__ S s; f(&s, in, 1); }",
        ] {
            assert_eq!(edited(&format!("{f}{call}"), 0), None, "{call}");
        }
        for text in [
            // It writes in another way what it only reads by its parameter.
            "float f(const S *p, S *q) { q->x = 1; return p->x; }\nvoid k() { S s; out[0] = f(&s, &s); }",
            "float f(const S *p) { last = 3; return p->x; }\nvoid k(S *q) { out[0] = f(q); }",
            "void f(S *p, float h) { p->x += h; }\nvoid k(S *q) { f(q, 1); }",
            // Copying does more than to copy.
            "struct C { int n; C(const C& other) : n(other.n + 1) {} };\nint f(const C *p) { return p->n; }\nvoid k() { C c; out[0] = f(&c); }",
            "int f(const Unknown *p) { return p->n; }\nvoid k() { Unknown c; out[0] = f(&c); }",
            "int f(const volatile S *p) { return p->n; }\nvoid k() { S s; out[0] = f(&s); }",
            // References and pointers into the copy.
            "void f(S *p, int n) { float &x = n ? p->x : p->y; x = 1; }\nvoid k() { S s; f(&s, 1); }",
            "void f(S *p, int n) { View view{p->x}; view.x = 1; }\nvoid k() { S s; f(&s, 1); }",
            "void f(S *p, int n) { float *v = p->v; v[n] = 1; }\nvoid k() { S s; f(&s, 1); }",
            "void f(S *p, int n) { auto v = p->v; v[n] = 1; }\nvoid k() { S s; f(&s, 1); }",
            "void clear(float *v) { v[0] = 0; }\nvoid f(S *p, int n) { clear(p->v); }\nvoid k() { S s; f(&s, 1); }",
            "void f(S *p, int n) { for (float &x : p->v) x = n; }\nvoid k() { S s; f(&s, 1); }",
        ] {
            assert_eq!(edited(text, 0), None, "{text}");
        }
    }
}
