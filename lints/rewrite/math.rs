//! Replaces trigonometric calls by functions without a slow path.

use std::collections::BTreeSet;
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node};
use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::tree::{base_name, enclosing_function};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::source::Span;
use lmem_frame::StackObject;

use super::Rewrite;
use super::facts::sites::{functions_named, trees, without_declaration};

/// Functions whose slow path needs an array, without the `f` of their `float` variant.
const FUNCTIONS: [&str; 4] = ["sin", "cos", "tan", "sincos"];

/// Limit on the depth of expressions that are searched for a factor π.
const MAX_DEPTH: usize = 16;

/// Replaces `sin(M_PI * x)` by `sinpi(x)`. Single precision or fast intrinsics lose more than last digits, so they are
/// advice, not edits.
pub fn suggestion(object: &StackObject) -> Suggestion {
    let title = "use the functions of multiples of π (more exact, so last digits and results near zero differ)";
    Rewrite::new(Applicability::MaybeIncorrect, multiples_of_pi(object)).suggestion(title)
}

/// `sinpi(x)` for `sin(M_PI * x)`, in all trigonometric calls of the functions that use the array. Empty if one call
/// cannot be replaced, because that call would still need the array.
fn multiples_of_pi(object: &StackObject) -> Vec<Edit> {
    let Some(function) = object.math_function() else { return Vec::new() };
    let mut edits = Vec::new();
    let mut seen: Vec<(*const SyntaxTree, usize)> = Vec::new();
    let here = function.span.as_ref().map(|span| {
        trees(object).into_iter().filter_map(|tree| Some((tree, tree.offset_of(span)?))).collect::<Vec<_>>()
    });
    let places = object.accesses.iter().flat_map(|access| &access.places);
    let places = places.map(|place| (object.tree(place), place.offset));
    for (tree, offset) in here.into_iter().flatten().chain(places) {
        let Some(node) = tree.node_at(offset) else {
            continue;
        };
        let Some(body) = enclosing_function(node) else { continue };
        let key = (Rc::as_ptr(tree), body.start_byte());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        match rewrite(tree, body) {
            Some(more) => edits.extend(more),
            None => return Vec::new(),
        }
    }
    edits.sort();
    edits.dedup();
    edits
}

fn rewrite(tree: &SyntaxTree, function: Node<'_>) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    for node in function.descendants() {
        let Some(called) = Call::of(node).and_then(Call::function) else { continue };
        let name = base_name(tree.slice(called)).to_string();
        if FUNCTIONS.contains(&name.trim_end_matches('f')) {
            edits.extend(of_call(tree, node, called, &name).filter(|_| tree.is_plain(node))?);
        }
    }
    let unused = unused_constants(tree, function, &edits);
    edits.extend(unused);
    Some(edits)
}

/// Removes the constants of a function that nothing names once the edits are made: a compiler warns of them.
fn unused_constants(tree: &SyntaxTree, function: Node<'_>, edits: &[Edit]) -> Vec<Edit> {
    let text = tree.slice(function);
    let named: BTreeSet<&str> = edits.iter().flat_map(|edit| identifiers(edit.span.text())).collect();
    let is_gone = |at: usize, name: &str| {
        let span = tree.span(function.start_byte() + at..function.start_byte() + at + name.len());
        let within = |edit: &&Edit, span: &Span| edit.span.start <= span.start && span.end <= edit.span.end;
        span.is_some_and(|span| {
            let edit = edits.iter().find(|edit| edit.span.file.path == span.file.path && within(edit, &span));
            edit.is_some_and(|edit| !identifiers(&edit.replacement).any(|word| word == name))
        })
    };
    let removed = named.into_iter().filter_map(|name| {
        let value = definition(tree, name).filter(|value| function.byte_range().contains(&value.start_byte()))?;
        let declared = value.parent()?.field(Field::Declarator)?.byte_range();
        let mut uses = occurrences(text, name).filter(|at| function.start_byte() + at != declared.start);
        uses.all(|at| is_gone(at, name)).then(|| without_declaration(tree, (declared.start, declared.end)))?
    });
    removed.collect()
}

fn of_call(tree: &SyntaxTree, call: Node<'_>, called: Node<'_>, name: &str) -> Option<Vec<Edit>> {
    let base = name.trim_end_matches('f');
    // A method or a user's function may have the same name.
    let is_library = matches!(tree.slice(called).trim_start_matches("::"), text if text == name || text == format!("std::{name}"))
        && functions_named(tree, name).is_empty();
    if base == "tan" || !is_library {
        return None;
    }
    let new_name = format!("{base}pi{}", if base == name { "" } else { "f" });
    let argument = call.field(Field::Arguments)?.named_child(0)?;
    Some(vec![tree.replacement(called.byte_range(), &new_name)?, without_pi(tree, argument, base != name, 0)?])
}

/// Removes a factor π from a product.
fn without_pi(tree: &SyntaxTree, node: Node<'_>, is_float: bool, depth: usize) -> Option<Edit> {
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(turns) = half_turns(tree, node, is_float) {
        return match literal_beside(tree, node).filter(|_| turns == "1.0") {
            // `2.0 * M_PI` and `2 * M_PI` become `2.0`.
            Some((product, literal)) => tree.replacement(product.byte_range(), &literal),
            // A `double` would make the arithmetic one of `double`.
            None if is_float => tree.replacement(node.byte_range(), &format!("{turns}f")),
            None => tree.replacement(node.byte_range(), turns),
        };
    }
    let field = |field: Field| node.field(field).and_then(|child| without_pi(tree, child, is_float, depth + 1));
    match node.kind() {
        Kind::ParenthesizedExpression => without_pi(tree, node.named_child(0)?, is_float, depth + 1),
        Kind::UnaryExpression => field(Field::Argument),
        Kind::BinaryExpression => match node.operator()? {
            "*" => field(Field::Left).or_else(|| field(Field::Right)),
            "/" => field(Field::Left),
            _ => None,
        },
        _ => None,
    }
}

/// `1.0` for π and `2.0` for 2π, if a node is such a literal, or a constant with such a value in the compiled text.
fn half_turns(tree: &SyntaxTree, node: Node<'_>, is_float: bool) -> Option<&'static str> {
    match node.kind() {
        Kind::NumberLiteral => of_literal(tree.slice(node), is_float),
        Kind::Identifier => of_literal(&value_text(tree, node)?, is_float),
        _ => None,
    }
}

/// The text of a macro's expansion, or the initializer of the only variable with that name.
fn value_text(tree: &SyntaxTree, name: Node<'_>) -> Option<String> {
    let compiled = tree.compiled().compiled(tree.text(), name.byte_range())?;
    let bare = |text: &str| {
        let text = text.trim();
        // `(float) M_PI`
        let cast = ["(float)", "(double)"].iter().find_map(|cast| text.strip_prefix(cast));
        cast.unwrap_or(text).trim().trim_start_matches('(').trim_end_matches(')').trim().to_string()
    };
    if compiled != tree.slice(name) {
        return Some(bare(&compiled));
    }
    // `const float PI = M_PI;`
    let value = definition(tree, tree.slice(name))?;
    tree.compiled().compiled(tree.text(), value.byte_range()).as_deref().map(bare)
}

/// Whether a literal is π or 2π, in the precision of the function.
fn of_literal(text: &str, is_float: bool) -> Option<&'static str> {
    let value: f64 = text.trim_end_matches(['f', 'F', 'l', 'L']).parse().ok()?;
    let error = if is_float { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let is = |turn: f64| (value - turn).abs() <= turn * error;
    match () {
        () if is(std::f64::consts::PI) => Some("1.0"),
        () if is(std::f64::consts::TAU) => Some("2.0"),
        () => None,
    }
}

/// The initializer of `const double NAME = 3.14…;`, if the name is declared only once and is not a parameter.
fn definition<'t>(tree: &'t SyntaxTree, name: &str) -> Option<Node<'t>> {
    let mut values = Vec::new();
    for node in tree.nodes() {
        let declared = node.field(Field::Declarator).filter(|it| tree.slice(*it) == name);
        match node.kind() {
            Kind::InitDeclarator if declared.is_some() => {
                let mut words = node.parent().into_iter().flat_map(Node::children);
                let is_constant = words.any(|word| matches!(tree.slice(word), "const" | "constexpr"));
                values.push(node.field(Field::Value).filter(|_| is_constant));
            }
            _ if declared.is_some() && node.is_declaration() => values.push(None),
            _ => {}
        }
    }
    let [Some(value)] = values.as_slice() else { return None };
    Some(*value)
}

/// A product of a node and a literal, and the literal as a floating-point number.
fn literal_beside<'t>(tree: &SyntaxTree, node: Node<'t>) -> Option<(Node<'t>, String)> {
    let product = node.parent().filter(|parent| parent.kind() == Kind::BinaryExpression)?;
    let (left, right) = (product.field(Field::Left)?, product.field(Field::Right)?);
    let other = if left == node { right } else { left };
    let text = tree.slice(other);
    let is_integer = text.chars().all(|c| c.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    let literal = match is_integer {
        true => format!("{text}.0"),
        false => Some(text).filter(|text| text.contains('.'))?.to_string(),
    };
    (product.operator()? == "*" && other.kind() == Kind::NumberLiteral).then_some((product, literal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    fn rewritten(statement: &str) -> Option<String> {
        let head = "#define M_PI 3.14159265358979323846\n#define TURN 6.28318530717958647692\n\
                    const double pi = 3.14159265358979323846, rough = 3.14159;\n\
                    const float near = (float) M_PI;\nnamespace fast { double cos(double); }\n\
                    __device__ double cos(State&);\n__global__ void k(double* x, int n) { ";
        let text = format!("{head}{statement} }}");
        let tree = SyntaxTree::example("a.cu", &text);
        let node = tree.root()?.named_descendant_for_byte_range(head.len(), head.len() + 1)?;
        let edits = rewrite(&tree, enclosing_function(node)?)?;
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>())?;
        Some(edited[head.len()..edited.len() - 2].to_string())
    }

    #[test]
    fn a_factor_pi_is_taken_out() {
        for (before, after) in [
            ("x[0] = sin(M_PI * x[1]);", "x[0] = sinpi(1.0 * x[1]);"),
            ("x[0] = sin(2.0 * M_PI * x[1] / n);", "x[0] = sinpi(2.0 * x[1] / n);"),
            ("x[0] = sin(2 * M_PI * (n % 7) / 7);", "x[0] = sinpi(2.0 * (n % 7) / 7);"),
            ("x[0] = std::sin(-(x[1] * pi) / n);", "x[0] = sinpi(-(x[1] * 1.0) / n);"),
            ("x[0] = sinf(3.14159274f * n);", "x[0] = sinpif(1.0f * n);"),
            ("x[0] = sinf(near * x[1] / n);", "x[0] = sinpif(1.0f * x[1] / n);"),
            ("sincos(TURN * x[1], x, x + 1);", "sincospi(2.0 * x[1], x, x + 1);"),
        ] {
            assert_eq!(rewritten(before).as_deref(), Some(after));
        }
    }

    #[test]
    fn what_is_no_multiple_of_pi_is_left() {
        for statement in [
            "x[0] = sin(x[1]);",
            "x[0] = sin(M_PI + x[1]);",
            "x[0] = tan(M_PI * x[1]);",
            "x[0] = sin(x[1] / M_PI);",
            // π is less exact than the function.
            "x[0] = sin(rough * x[1]);",
            "x[0] = sin(3.14159274f * x[1]);",
            // Functions that the user defines.
            "x[0] = cos(M_PI * x[1]);",
            "x[0] = w.sin(M_PI * x[1]);",
            "x[0] = fast::sin(M_PI * x[1]);",
        ] {
            assert_eq!(rewritten(statement), None, "{statement}");
        }
        // A constant that nothing else names goes, too.
        for (before, after) in [
            ("const double turn = 6.283185307179586476925; x[0] = sin(turn * x[1]);", " x[0] = sinpi(2.0 * x[1]);"),
            (
                "const double turn = 6.283185307179586476925; x[0] = turn * sin(turn * x[1]);",
                "const double turn = 6.283185307179586476925; x[0] = turn * sinpi(2.0 * x[1]);",
            ),
            (
                "const double h = 3.14159265358979323846, turn = 2 * h; x[0] = sin(h * x[1]);",
                "const double h = 3.14159265358979323846, turn = 2 * h; x[0] = sinpi(1.0 * x[1]);",
            ),
        ] {
            assert_eq!(rewritten(before).as_deref(), Some(after));
        }
        // A remaining call still needs the array.
        assert_eq!(rewritten("x[0] = sin(M_PI * x[1]) + sin(x[2]);"), None);
    }
}
