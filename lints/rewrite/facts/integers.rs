//! Expressions of type `int`: comparisons of them need no conversion, and sums of them do not wrap around.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Member, Node};
use cuda_syntax::constant::evaluate;
use cuda_syntax::constant::integer::IntegerType;
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};

/// Whether an expression has only variables, members and numbers of type `int`, or of a type that becomes one.
pub fn is_int(tree: &SyntaxTree, expression: Node<'_>) -> bool {
    match expression.kind() {
        Kind::NumberLiteral => is_int_text(tree.slice(expression)),
        Kind::Identifier => {
            let (name, at) = (tree.slice(expression), expression.start_byte());
            let all = enclosing_function(expression).map(|function| tree.declarations(function)).unwrap_or_default();
            match resolve(&all, name, at) {
                Some(found) => found.kind == DeclarationKind::Scalar && is_int_type(&found.type_text),
                None => is_declared_int(tree, name),
            }
        }
        Kind::FieldExpression => {
            let member = Member::of(expression).and_then(Member::name);
            member.is_some_and(|member| is_declared_int(tree, tree.slice(member)))
        }
        Kind::BinaryExpression | Kind::ParenthesizedExpression => {
            expression.named_children().all(|part| is_int(tree, part))
        }
        _ => false,
    }
}

/// The words of a type without `const`.
pub fn plain_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().filter(|word| !matches!(*word, "const" | "constexpr")).collect();
    words.join(" ")
}

fn is_int_type(type_text: &str) -> bool {
    matches!(plain_words(type_text).as_str(), "int" | "int32_t" | "short" | "signed")
}

fn is_int_text(text: &str) -> bool {
    evaluate(text, &|_| None).is_some_and(|value| value.integer_type() == IntegerType::Int)
}

/// Whether the text declares a name, and each time as an `int`: as a macro, a constant, a template parameter or a
/// member.
fn is_declared_int(tree: &SyntaxTree, name: &str) -> bool {
    let is_int = |node: Node<'_>| match node.kind() {
        Kind::PreprocDef => {
            let is_it = node.field(Field::Name).is_some_and(|it| tree.slice(it) == name);
            is_it.then(|| node.field(Field::Value).is_some_and(|value| is_int_text(tree.slice(value).trim())))
        }
        Kind::Declaration
        | Kind::ParameterDeclaration
        | Kind::OptionalParameterDeclaration
        | Kind::FieldDeclaration => {
            let named = node.fields(Field::Declarator).find(|it| tree.slice(it.declared_name()) == name)?;
            let is_plain = matches!(named.kind(), Kind::Identifier | Kind::FieldIdentifier | Kind::InitDeclarator);
            Some(is_plain && node.field(Field::Type).is_some_and(|it| is_int_type(tree.slice(it))))
        }
        _ => None,
    };
    let kinds = [
        Kind::PreprocDef,
        Kind::Declaration,
        Kind::ParameterDeclaration,
        Kind::OptionalParameterDeclaration,
        Kind::FieldDeclaration,
    ];
    let mut declared = tree.nodes_of(&kinds).filter_map(is_int).peekable();
    !tree.is_declared_beside(name) && declared.peek().is_some() && declared.all(|is_int| is_int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_all_declarations() {
        let text = "#define A 12\n#define B 12u\nconstexpr int C = 12;\nconst unsigned D = 12;\nstruct S { int e; unsigned g; };\n\
                    template <int F, typename T> __global__ void k(S s, short h, long i) { x = VALUE; }\n";
        for (value, expected) in [
            ("A + C", true),
            ("(s.e + F) * h", true),
            ("3 + 4", true),
            ("B", false),
            ("A + D", false),
            ("s.g", false),
            ("i", false),
            ("3u + 4", false),
            ("unknown", false),
        ] {
            let text = text.replace("VALUE", value);
            let tree = SyntaxTree::example("a.cu", &text);
            let start = text.find("x = ").unwrap() + 4;
            let node = tree.root().unwrap().named_descendant_for_byte_range(start, start + value.len()).unwrap();
            assert_eq!(is_int(&tree, node), expected, "{value}");
        }
    }
}
