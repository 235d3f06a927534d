//! Passes a variable by value and returns it, instead of passing its address: registers can hold arguments and results.
//!
//! `void push(Particle *p, float dt)` becomes `Particle push(Particle p, float dt)`, and `push(&p, dt);` becomes
//! `p = push(p, dt);`. All calls change with the function, so all of them must be visible. The function may use the
//! address only to read and write the pointee.

use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{access_path, base_name, is_callee, resolve, role};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::mangling::demangle;
use lmem_frame::{EscapeKind, StackObject};

use super::Rewrite;
use super::facts::evaluation::is_in_lambda;
use super::facts::purity::{is_pure, takes_values};
use super::facts::sites::{functions_named, located};
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
    edits.extend(calls(tree, name, argument, parameter.way, is_written)?);
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
                if !(is_value || parent.kind() == Kind::InitializerList) {
                    return None;
                }
            }
            // A method may modify its object, and a reference may outlive the statement.
            false if is_callee(path) || is_bound(parent) => return None,
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

/// `p = push(p, dt);` for `push(&p, dt);`
fn calls(tree: &SyntaxTree, name: &str, argument: usize, way: Way, is_written: bool) -> Option<Vec<Edit>> {
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

/// Whether a reference is bound to an expression.
fn is_bound(parent: Node<'_>) -> bool {
    parent.kind() == Kind::InitDeclarator
        && parent.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::ReferenceDeclarator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    fn edited(text: &str, argument: usize) -> Option<String> {
        let tree = SyntaxTree::example("a.cu", text);
        let mut edits = by_value(&tree, "f", argument)?;
        edits.sort();
        apply(text, &edits.iter().collect::<Vec<_>>())
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
}
