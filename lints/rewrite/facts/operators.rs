//! Operators of classes: what looks like arithmetic may be a function with effects.

use std::collections::BTreeSet;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node, Subscript};
use cuda_syntax::tree::DeclarationKind;
use lmem_unit::{CONVERSION, operators_in};

use super::classes::member_array;
use super::number::is_number;
use super::variables::variable;

/// The operators that a text declares itself.
struct OwnOperators(BTreeSet<String>);

impl OwnOperators {
    fn of(tree: &SyntaxTree) -> Self {
        Self(operators_in(tree.text()))
    }
}

/// Whether the unit may have classes that convert themselves to something else.
pub fn has_conversions(tree: &SyntaxTree) -> bool {
    declares_operator(tree, CONVERSION)
}

/// Whether an expression may call an operator or a conversion of a class: the unit has some of the kind, and what they are
/// applied to is not known to be numbers.
pub fn may_call_operators(tree: &SyntaxTree, expression: Node<'_>) -> bool {
    if tree.kept(OwnOperators::of).0.is_empty() && tree.operators_of_unit().is_empty() {
        return false;
    }
    expression.descendants().any(|part| may_call(tree, part, &|symbol| declares_operator(tree, symbol)))
}

/// Whether the unit declares an operator: `=`, `+=`.
pub fn declares_operator(tree: &SyntaxTree, symbol: &str) -> bool {
    tree.kept(OwnOperators::of).0.contains(symbol) || tree.operators_of_unit().contains(symbol)
}

/// The same for the operator of an expression itself, not for those of its parts.
pub fn calls_operator(tree: &SyntaxTree, expression: Node<'_>) -> bool {
    !matches!(expression.kind(), Kind::Identifier)
        && may_call(tree, expression, &|symbol| declares_operator(tree, symbol))
}

fn may_call(tree: &SyntaxTree, part: Node<'_>, has: &dyn Fn(&str) -> bool) -> bool {
    let symbol = || part.operator().unwrap_or("");
    match part.kind() {
        Kind::BinaryExpression => {
            let is_declared =
                has(symbol()) || (has("<=>") && is_comparison(symbol())) || (symbol() == "!=" && has("=="));
            let operands = Binary::of(part).and_then(|it| Some([it.left()?, it.right()?]));
            is_declared && !operands.is_some_and(|all| all.into_iter().all(|operand| is_number(tree, operand)))
        }
        Kind::UnaryExpression | Kind::PointerExpression | Kind::UpdateExpression => {
            has(symbol()) && !is_number(tree, part)
        }
        Kind::SubscriptExpression => has("[]") && !is_number(tree, part) && !is_of_array(tree, part),
        Kind::FieldExpression if has("->") && symbol() == "->" => true,
        Kind::CommaExpression => has(","),
        Kind::Identifier | Kind::FieldExpression if has(CONVERSION) => {
            // The object of a member is converted to nothing, and a function is none.
            let is_inner = part.parent().is_some_and(|parent| {
                (parent.kind() == Kind::FieldExpression && parent.field(Field::Argument) == Some(part))
                    || (parent.kind() == Kind::SubscriptExpression && parent.field(Field::Argument) == Some(part))
                    || (parent.kind() == Kind::CallExpression && parent.field(Field::Function) == Some(part))
                    || matches!(parent.kind(), Kind::QualifiedIdentifier | Kind::TemplateFunction)
            });
            !is_inner && !is_number(tree, part)
        }
        _ => false,
    }
}

/// Whether an element is one of a variable or a member that is declared as an array: no class.
fn is_of_array(tree: &SyntaxTree, element: Node<'_>) -> bool {
    let base = Subscript::of(element).and_then(Subscript::base).filter(|base| base.kind() == Kind::Identifier);
    base.is_some_and(|base| match variable(tree, base) {
        Some(own) => own.kind == DeclarationKind::Array,
        None => member_array(tree, base).is_some(),
    })
}

fn is_comparison(symbol: &str) -> bool {
    matches!(symbol, "<" | ">" | "<=" | ">=" | "==" | "!=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_those_of_the_classes_that_there_are() {
        let may = |head: &str, expression: &str| {
            let text = format!(
                "{head}\n__global__ void k(const int* in, int n, Len len, Spec spec) {{ int i = 0; f = {expression}; }}\n"
            );
            let tree = SyntaxTree::example("a.cu", &text);
            let start = text.rfind("f = ").unwrap() + 4;
            let node = tree.root().unwrap().named_descendant_for_byte_range(start, start + expression.len()).unwrap();
            may_call_operators(&tree, node)
        };
        let less = "struct Len { int v; }; bool operator<(int i, const Len& len);";
        let conversion = "struct Len { operator int() const; };";
        for (head, expression) in [
            (less, "i < len"),
            ("struct Len {}; auto operator<=>(int i, Len len);", "i < len"),
            ("struct Len {}; bool operator==(int i, Len len);", "i != len"),
            (conversion, "i < len"),
            (conversion, "i < spec.len"),
            (conversion, "i < len && in[i] > 0"),
            ("struct Spec { int operator[](int i); };", "i < spec[2]"),
            ("struct Spec { Spec* operator->(); int n; };", "i < spec->n"),
            ("struct Len { bool operator!() const; };", "!len"),
        ] {
            assert!(may(head, expression), "{head} {expression}");
        }
        for (head, expression) in [
            ("", "i < len"),
            (less, "i < n"),
            (less, "i >= len"),
            (conversion, "i < n && in[i] < 3"),
            (conversion, "threadIdx.x + i * 256 < n"),
            ("struct V {}; V operator+(V a, V b);", "i < spec.n"),
            ("struct V { float operator[](int i); };", "in[i] < n"),
        ] {
            assert!(!may(head, expression), "{head} {expression}");
        }
    }
}
