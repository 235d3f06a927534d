//! Uses of a variable whose meaning its type decides: what a `volatile` less would change beside the variable itself.
//!
//! The list is of the uses that are known not to be such: a new kind of use counts as one.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node, Pointer};
use cuda_syntax::tree::{access_path, enclosing_function};

use super::number::is_number;
use super::sites::functions_named;
use super::taken::has_operators;
use super::unseen::is_taken_for_type;
use super::variables::{uses_of, variable};

/// Words of calls that ask for a type.
const OF_TYPES: [&str; 5] = ["typeof", "__typeof__", "__typeof", "typeid", "noexcept"];

/// Whether a use of the variable that is declared at a name may mean something else without one of its qualifiers: an overloaded function or
/// a template that gets it or its address, a method of its class, or what is asked for its type. So may the declaration of others beside it.
pub fn may_choose(tree: &SyntaxTree, declared: Node<'_>) -> bool {
    let Some(used) = uses_of(tree, declared) else { return true };
    is_taken_for_type(tree, tree.slice(declared)) || used.into_iter().any(|name| is_chosen(tree, name))
}

fn is_chosen(tree: &SyntaxTree, name: Node<'_>) -> bool {
    // `decltype(x) *p`
    let is_statement = |node: &Node<'_>| matches!(node.kind(), Kind::CompoundStatement | Kind::FunctionDefinition);
    if name.ancestors().take_while(|node| !is_statement(node)).any(|node| node.kind() == Kind::Decltype) {
        return true;
    }
    let path = access_path(name);
    let is_address = |node: &Node<'_>| Pointer::of(*node).is_some_and(Pointer::is_address);
    match path.parent().filter(is_address) {
        Some(address) => is_address_chosen(tree, address),
        None => is_place_chosen(tree, path),
    }
}

/// The same of `&x`.
fn is_address_chosen(tree: &SyntaxTree, address: Node<'_>) -> bool {
    let Some(parent) = address.parent() else { return true };
    match parent.kind() {
        Kind::ArgumentList => is_choosing_call(tree, parent),
        Kind::CastExpression => false,
        // `auto p = &x;`
        Kind::InitDeclarator => is_deduced(tree, parent),
        _ => true,
    }
}

/// The same of an expression that is the variable, or a part of it: `(x)`, `c ? x : y`, `x = 1`.
fn is_place_chosen(tree: &SyntaxTree, place: Node<'_>) -> bool {
    let Some(parent) = place.parent() else { return true };
    let is = |field: Field| parent.field(field) == Some(place);
    match parent.kind() {
        Kind::ArgumentList => is_choosing_call(tree, parent),
        Kind::InitDeclarator => {
            let is_name = parent.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier);
            let type_node = parent.parent().and_then(|statement| statement.field(Field::Type));
            is_deduced(tree, parent) && !is_name || is_exact(tree, type_node)
        }
        Kind::ParenthesizedExpression | Kind::UpdateExpression => is_place_chosen(tree, parent),
        Kind::ConditionalExpression => !is(Field::Condition) && is_place_chosen(tree, parent),
        Kind::CommaExpression => is(Field::Right) && is_place_chosen(tree, parent),
        Kind::AssignmentExpression => is(Field::Left) && is_place_chosen(tree, parent),
        Kind::BinaryExpression => {
            let other = parent.field(if is(Field::Left) { Field::Right } else { Field::Left });
            has_operators(tree) && !other.is_some_and(|other| is_number(tree, other))
        }
        Kind::SubscriptArgumentList => {
            has_operators(tree) && !parent.parent().is_some_and(|element| is_number(tree, element))
        }
        Kind::ReturnStatement => {
            is_exact(tree, enclosing_function(parent).and_then(|function| function.field(Field::Type)))
        }
        Kind::UnaryExpression
        | Kind::CastExpression
        | Kind::ConditionClause
        | Kind::ExpressionStatement
        | Kind::ForStatement
        | Kind::SizeofExpression => false,
        // Assembly gets numbers.
        _ => !parent.ancestors().any(|around| around.kind() == Kind::GnuAsmExpression),
    }
}

/// Whether a variable gets the type of what it is made of.
fn is_deduced(tree: &SyntaxTree, declarator: Node<'_>) -> bool {
    let type_node = declarator.parent().and_then(|statement| statement.field(Field::Type));
    is_exact(tree, type_node) || type_node.is_some_and(|node| node.kind() == Kind::PlaceholderTypeSpecifier)
}

/// Whether a type is that of an expression with all qualifiers, as `decltype(auto)` is; so may one be that is not there.
fn is_exact(tree: &SyntaxTree, type_node: Option<Node<'_>>) -> bool {
    type_node.is_none_or(|node| tree.slice(node).contains("decltype"))
}

/// Whether a call may be of another function where an argument has another type.
fn is_choosing_call(tree: &SyntaxTree, arguments: Node<'_>) -> bool {
    let called = arguments.parent().and_then(Call::of).and_then(Call::function);
    let Some(called) = called.filter(|called| called.kind() == Kind::Identifier) else { return true };
    let word = tree.slice(called);
    let functions = functions_named(tree, word);
    let is_template = |function: &Node<'_>| function.enclosing(Kind::TemplateDeclaration).is_some();
    let is_only = functions.len() <= 1 && !functions.iter().any(is_template);
    // A lambda may deduce what it gets.
    !is_only || OF_TYPES.contains(&word) || tree.is_declared_beside(word) || variable(tree, called).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chooses(declaration: &str, body: &str) -> bool {
        let text = format!(
            "struct C {{ int n; C(int); template <class T> C& operator<<(const T&); }};\n\
             __device__ int known(int); __device__ int either(int); __device__ int either(float);\n\
             template <class T> __device__ int any(T&);\n\
             __global__ void k(int *out, int n, int m, C c) {{ {declaration} {body} }}\n"
        );
        let tree = SyntaxTree::example("a.cu", &text);
        let at = text.find("volatile int").unwrap() + "volatile int ".len();
        let declared = tree.root().unwrap().named_descendant_for_byte_range(at, at + 1).unwrap();
        assert_eq!(tree.slice(declared), "v");
        may_choose(&tree, declared)
    }

    #[test]
    fn values_choose_nothing() {
        for body in [
            "out[0] = v;",
            "out[v & 7] = v + 1; v++; v = n; v += 2; if (v) n = 1; while (v < n) v = v + 1;",
            "for (; v; v--) out[0] = v;",
            "int w = v; auto x = v; out[0] = known(v) + (int)v + sizeof(v) + (m ? v : n);",
            "asm volatile(\"mov.u32 %0, %1;\" : \"=r\"(n) : \"r\"(v));",
            "volatile int *p = &v; known((v)); return;",
            "int *p = (int *)&v; atomicAdd(out, v);",
        ] {
            assert!(!chooses("volatile int v = n;", body), "{body}");
        }
    }

    #[test]
    fn what_gets_the_type_chooses() {
        for body in [
            "decltype(v) *p = out; out[0] = *p;",
            "using T = decltype(v); out[0] = sizeof(T);",
            "auto poll = [](decltype(v) *p) { return *p; }; out[0] = poll(out);",
            "decltype(auto) w = (v); out[0] = w;",
            "auto &w = v; out[0] = w;",
            "auto *p = &v; out[0] = *p;",
            "auto p = &v; out[0] = *p;",
            "out[0] = either(v);",
            "out[0] = either((v));",
            "out[0] = either(m ? v : v);",
            "out[0] = either(v = 3);",
            "out[0] = either(++v);",
            "out[0] = any(v);",
            "out[0] = (m ? any : any)(v);",
            "auto f = [](auto &x) { return sizeof(x); }; out[0] = f(v);",
            "__typeof__(v) *p = out; out[0] = *p;",
            "c << v;",
            "C d(v);",
            "std::pair q{v, 1};",
            "for (auto &x : {v}) out[0] = x;",
            "auto f = [&w = v] { return w; };",
        ] {
            assert!(chooses("volatile int v = n;", body), "{body}");
        }
    }
}
