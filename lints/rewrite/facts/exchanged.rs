//! Calls that exchange two values: `swap(a, b)`.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node};
use cuda_syntax::tree::enclosing_function;

use super::purity::is_object;
use super::sites::{functions_named, head_of};
use super::variables::variable;

/// The two arguments that a call exchanges.
pub fn exchanged<'t>(tree: &'t SyntaxTree, call: Call<'t>) -> Option<[Node<'t>; 2]> {
    let called = call.function()?;
    let is_swap = match tree.slice(called) {
        "std::swap" | "::std::swap" | "cuda::std::swap" | "thrust::swap" => !tree.is_declared_beside("swap"),
        // A lambda or a pointer of that name hides the function.
        word if called.kind() == Kind::Identifier => {
            variable(tree, called).is_none() && !is_object(tree, called, word) && is_exchange(tree, word)
        }
        _ => false,
    };
    let arguments: Vec<Node<'t>> = call.arguments().collect();
    let [left, right] = arguments.as_slice() else { return None };
    is_swap.then_some([*left, *right])
}

/// Whether a place is in a function that exchanges what its two parameters refer to: what it accesses is named where it is called.
pub fn is_in_exchange(tree: &SyntaxTree, offset: usize) -> bool {
    let name = || {
        let function = enclosing_function(tree.node_at(offset)?)?;
        let name = head_of(function.field(Field::Declarator)?)?.field(Field::Declarator)?;
        (name.end_byte() <= offset).then(|| tree.slice(name))
    };
    name().is_some_and(|name| is_exchange(tree, name))
}

/// Whether the text has one function with a name, and it exchanges what its two parameters refer to.
fn is_exchange(tree: &SyntaxTree, name: &str) -> bool {
    let exchanges = || {
        let functions = functions_named(tree, name);
        let [only] = functions.as_slice() else { return None };
        let declarator = head_of(only.field(Field::Declarator)?)?;
        let parameters: Vec<Node<'_>> = declarator.field(Field::Parameters)?.parts().collect();
        let named: Vec<&str> = parameters
            .iter()
            .filter_map(|it| it.field(Field::Declarator))
            .filter(|it| it.kind() == Kind::ReferenceDeclarator)
            .filter_map(|it| it.parts().next().filter(|name| name.kind() == Kind::Identifier))
            .map(|name| tree.slice(name))
            .collect();
        let ([_, _], [a, b]) = (parameters.as_slice(), named.as_slice()) else { return None };
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("");
        let body: Vec<Node<'_>> = only.field(Field::Body)?.parts().collect();
        let [kept, one, two] = body.as_slice() else { return None };
        let holder = kept.field(Field::Declarator)?;
        let held = tree.slice(holder.declared_name());
        // A narrower variable would keep a part of the value.
        let type_of = |node: &Node<'_>| node.field(Field::Type).map(|it| tree.slice(it));
        let type_text = type_of(kept)?;
        let are_of_type = parameters.iter().all(|it| type_of(it) == Some(type_text))
            || type_text == "auto" && type_of(&parameters[0]) == type_of(&parameters[1]);
        let is_kept = are_of_type
            && kept.kind() == Kind::Declaration
            && holder.kind() == Kind::InitDeclarator
            && holder.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier)
            && holder.field(Field::Value).is_some_and(|it| tree.slice(it) == *a);
        let is_it = is_kept
            && words(tree.slice(*one)) == format!("{a}={b};")
            && words(tree.slice(*two)) == format!("{b}={held};");
        // `__forceinline__` before the name is a macro.
        let written = declarator.start_byte()..only.end_byte();
        Some(is_it && !tree.is_declared_beside(name) && tree.compiled().is_verbatim(&written))
    };
    exchanges().unwrap_or(false)
}
