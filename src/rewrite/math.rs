//! Calls of trigonometric functions, by functions without a slow path.

use std::rc::Rc;

use tree_sitter::Node;

use super::sites::offset_of;
use crate::attribute::call_syntax::base_name;
use crate::attribute::frame::StackObject;
use crate::attribute::syntax::{children, enclosing_function};
use crate::attribute::view::SourceView;
use crate::attribute::words::places_of;
use crate::diagnostic::Edit;

/// Functions whose slow path needs an array, without the ending of their `float` form.
const FUNCTIONS: [&str; 4] = ["sin", "cos", "tan", "sincos"];

/// Deeper expressions are not searched for a factor π.
const MAX_DEPTH: usize = 16;

/// What takes the place of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MathForm {
    /// `sinpi(x)` for `sin(M_PI * x)`.
    MultipleOfPi,
    /// `sinf(x)` for `sin(x)`.
    Single,
    /// `__sinf(x)` for `sinf(x)`.
    Intrinsic,
}

impl StackObject {
    /// Other forms of all trigonometric calls in the functions that the array belongs to; empty where not all can have
    /// that form, as one that is left has the same array.
    pub fn rewrite_math(&self, form: MathForm) -> Vec<Edit> {
        let Some(function) = &self.math_function else { return Vec::new() };
        let is_float = function.name.as_ref().is_some_and(|name| name.ends_with('f'));
        if is_float != (form == MathForm::Intrinsic) {
            return Vec::new();
        }
        let mut edits = Vec::new();
        let mut seen: Vec<(*const SourceView, usize)> = Vec::new();
        let here = function.span.as_ref().map(|span| {
            self.views().into_iter().filter_map(|view| Some((view, offset_of(view, span)?))).collect::<Vec<_>>()
        });
        let places = self.accesses.iter().flat_map(|access| &access.places).map(|place| (&place.view, place.offset));
        for (view, offset) in here.into_iter().flatten().chain(places) {
            let Some(node) = view.root().and_then(|root| root.named_descendant_for_byte_range(offset, offset)) else {
                continue;
            };
            let Some(body) = enclosing_function(node) else { continue };
            let key = (Rc::as_ptr(view), body.start_byte());
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            match rewrite(view, body, form) {
                Some(more) => edits.extend(more),
                None => return Vec::new(),
            }
        }
        edits.sort();
        edits.dedup();
        edits
    }
}

fn rewrite(view: &SourceView, function: Node<'_>, form: MathForm) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut open = vec![function];
    while let Some(node) = open.pop() {
        open.extend(children(node));
        let Some(called) = node.child_by_field_name("function").filter(|_| node.kind() == "call_expression") else {
            continue;
        };
        let name = base_name(view.slice(called)).to_string();
        if FUNCTIONS.contains(&name.trim_end_matches('f')) {
            edits.extend(of_call(view, node, called, &name, form).filter(|_| view.is_plain(node))?);
        }
    }
    Some(edits)
}

fn of_call(view: &SourceView, call: Node<'_>, called: Node<'_>, name: &str, form: MathForm) -> Option<Vec<Edit>> {
    let base = name.trim_end_matches('f');
    let is_float = base != name;
    let new_name = match form {
        MathForm::MultipleOfPi if base != "tan" => format!("{base}pi{}", if is_float { "f" } else { "" }),
        // The results of `sincos` are variables of another type.
        MathForm::Single if !is_float && base != "sincos" => format!("{base}f"),
        MathForm::Intrinsic => format!("__{base}f"),
        // What is `float` already has no slow path that counts.
        MathForm::Single if is_float => return Some(Vec::new()),
        _ => return None,
    };
    let mut edits = vec![view.replacement(called.byte_range(), &new_name)?];
    if form == MathForm::MultipleOfPi {
        let argument = call.child_by_field_name("arguments")?.named_child(0)?;
        edits.push(without_pi(view, argument, 0)?);
    }
    Some(edits)
}

/// Takes a factor π out of a product.
fn without_pi(view: &SourceView, node: Node<'_>, depth: usize) -> Option<Edit> {
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(turns) = half_turns(view, node) {
        return match literal_beside(view, node).filter(|_| turns == "1.0") {
            // `2.0 * M_PI` becomes `2.0`.
            Some((product, literal)) => view.replacement(product.byte_range(), view.slice(literal)),
            None => view.replacement(node.byte_range(), turns),
        };
    }
    let field = |name: &str| node.child_by_field_name(name).and_then(|child| without_pi(view, child, depth + 1));
    match node.kind() {
        "parenthesized_expression" => without_pi(view, node.named_child(0)?, depth + 1),
        "unary_expression" => field("argument"),
        "binary_expression" => match view.slice(node.child_by_field_name("operator")?) {
            "*" => field("left").or_else(|| field("right")),
            "/" => field("left"),
            _ => None,
        },
        _ => None,
    }
}

/// `1.0` for π and `2.0` for 2π: a literal, or a name whose definition in the text is one.
fn half_turns(view: &SourceView, node: Node<'_>) -> Option<&'static str> {
    match (node.kind(), view.slice(node)) {
        ("number_literal", literal) => of_literal(literal),
        ("identifier", "M_PI" | "CUDART_PI" | "CUDART_PI_F") => Some("1.0"),
        ("identifier", name) => definition(view.text(), name).and_then(of_literal),
        _ => None,
    }
}

fn of_literal(text: &str) -> Option<&'static str> {
    match text {
        _ if text.starts_with("3.14159") => Some("1.0"),
        _ if text.starts_with("6.28318") => Some("2.0"),
        _ => None,
    }
}

/// What follows the name in `#define NAME (3.14…)` or `NAME = 3.14…`, everywhere where that is written.
fn definition<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut found = None;
    for at in places_of(text, name) {
        let rest = &text[at + name.len()..];
        let before = text[..at].trim_end_matches([' ', '\t']);
        let value = match rest.trim_start().strip_prefix('=').filter(|rest| !rest.starts_with('=')) {
            Some(value) => value,
            None if before.ends_with("define") => rest,
            None => continue,
        };
        if found.replace(value.trim_start_matches([' ', '\t', '('])).is_some() {
            return None;
        }
    }
    found
}

/// The other factor of a product with a floating-point literal.
fn literal_beside<'t>(view: &SourceView, node: Node<'t>) -> Option<(Node<'t>, Node<'t>)> {
    let product = node.parent().filter(|parent| parent.kind() == "binary_expression")?;
    let (left, right) = (product.child_by_field_name("left")?, product.child_by_field_name("right")?);
    let other = if left.id() == node.id() { right } else { left };
    let is_product = view.slice(product.child_by_field_name("operator")?) == "*";
    (is_product && other.kind() == "number_literal" && view.slice(other).contains('.')).then_some((product, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::apply;

    fn rewritten(statement: &str, form: MathForm) -> Option<String> {
        let head =
            "#define TURN 6.283185307\nconst double pi = 3.14159265358979;\n__global__ void k(double* x, int n) { ";
        let text = format!("{head}{statement} }}");
        let view = SourceView::example("a.cu", &text);
        let node = view.root()?.named_descendant_for_byte_range(head.len(), head.len() + 1)?;
        let edits = rewrite(&view, enclosing_function(node)?, form)?;
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>())?;
        Some(edited[head.len()..edited.len() - 2].to_string())
    }

    #[test]
    fn a_factor_pi_is_taken_out() {
        for (before, after) in [
            ("x[0] = sin(M_PI * x[1]);", "x[0] = sinpi(1.0 * x[1]);"),
            ("x[0] = cos(2.0 * M_PI * x[1] / n);", "x[0] = cospi(2.0 * x[1] / n);"),
            ("x[0] = std::cos(-(x[1] * pi) / n);", "x[0] = cospi(-(x[1] * 1.0) / n);"),
            ("sincos(TURN * x[1], x, x + 1);", "sincospi(2.0 * x[1], x, x + 1);"),
        ] {
            assert_eq!(rewritten(before, MathForm::MultipleOfPi).as_deref(), Some(after));
        }
    }

    #[test]
    fn what_is_no_multiple_of_pi_is_left() {
        for statement in
            ["x[0] = sin(x[1]);", "x[0] = sin(M_PI + x[1]);", "x[0] = tan(M_PI * x[1]);", "x[0] = sin(x[1] / M_PI);"]
        {
            assert_eq!(rewritten(statement, MathForm::MultipleOfPi), None, "{statement}");
        }
        // One that is left has the array still.
        assert_eq!(rewritten("x[0] = sin(M_PI * x[1]) + sin(x[2]);", MathForm::MultipleOfPi), None);
    }

    #[test]
    fn single_precision_and_intrinsics() {
        let single = rewritten("x[0] = sin(x[1]) + tan(x[2]);", MathForm::Single);
        assert_eq!(single.as_deref(), Some("x[0] = sinf(x[1]) + tanf(x[2]);"));
        assert_eq!(rewritten("sincos(x[1], x, x + 1);", MathForm::Single), None);
        let intrinsic = rewritten("sincosf(x[1], x, x + 1); x[2] = cosf(x[3]);", MathForm::Intrinsic);
        assert_eq!(intrinsic.as_deref(), Some("__sincosf(x[1], x, x + 1); x[2] = __cosf(x[3]);"));
    }
}
