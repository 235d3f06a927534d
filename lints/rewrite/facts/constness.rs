//! Whether a variable may be declared `const`: that the code compiles then is not enough, for an overload, a
//! specialisation or a member function may be chosen by it.
//!
//! Each use must read a value of a built-in type. What hands the variable itself on is followed only into a function that
//! nothing else can be.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{Declaration, DeclarationKind, enclosing_function, last_name, resolve};
use cuda_syntax::{SyntaxTree, types};

use crate::rewrite::facts::evaluation::is_in_lambda;
use crate::rewrite::facts::purity::is_pure_call;

/// Whether adding `const` to the variable declared at an offset changes no overload and no conversion in its uses.
pub fn may_be_const(tree: &SyntaxTree, offset: usize) -> bool {
    let uses = || {
        let name = tree.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
        let function = enclosing_function(name)?;
        let all = tree.declarations(function);
        let own = resolve(&all, tree.slice(name), name.start_byte()).filter(|own| own.range.0 == name.start_byte())?;
        Some(tree.names_of(function, &all, own).into_iter().all(|used| reads_a_value(tree, used)))
    };
    uses().unwrap_or(false)
}

/// Whether a use reads a value, so that constness cannot matter.
pub fn reads_a_value(tree: &SyntaxTree, used: Node<'_>) -> bool {
    // What a lambda captures, and with which type, its own text does not show.
    if is_in_lambda(used) {
        return false;
    }
    let mut node = used;
    // Once an element is reached by its number or a member by its name, a function gets that and not the variable.
    let mut is_part = false;
    // Operators of a class are functions too.
    let mut is_value = has_plain_type(tree, used);
    while let Some(parent) = node.parent() {
        let is_field = |field: Field| parent.field(field) == Some(node);
        match parent.kind() {
            Kind::ParenthesizedExpression | Kind::ConditionClause | Kind::CommaExpression => {}
            // Of a class this is a function.
            Kind::SubscriptExpression if is_field(Field::Argument) => {
                if !is_part && !is_array(tree, used) {
                    return false;
                }
                is_part = true;
            }
            // An index is a value.
            Kind::SubscriptArgumentList | Kind::SubscriptExpression => return is_part,
            Kind::FieldExpression if is_field(Field::Argument) => {
                let is_method = parent.parent().is_some_and(|call| {
                    call.kind() == Kind::CallExpression && call.field(Field::Function) == Some(parent)
                });
                let field = parent.field(Field::Field).map_or("", |field| tree.slice(field));
                if is_method || !is_plain_member(tree, used, field) {
                    return false;
                }
                is_part = true;
                is_value = true;
            }
            Kind::SizeofExpression => return true,
            Kind::BinaryExpression | Kind::ConditionalExpression | Kind::CastExpression | Kind::UnaryExpression => {
                return is_part && is_value;
            }
            Kind::PointerExpression => {
                if tree.slice(parent).starts_with('*') {
                    // What it points to is a part.
                    is_part = true;
                } else if !is_argument(parent) {
                    return false;
                }
            }
            Kind::AssignmentExpression => return is_part && is_value,
            // `Setup copy = s;` makes a variable of its own.
            Kind::InitDeclarator => return is_field(Field::Value) && is_declared_value(tree, parent, is_part),
            Kind::ReturnStatement | Kind::InitializerList => return is_part,
            Kind::ArgumentList => return is_passed_on(tree, node, parent, is_part, is_value),
            Kind::ExpressionStatement
            | Kind::IfStatement
            | Kind::WhileStatement
            | Kind::ForStatement
            | Kind::SwitchStatement => {
                return is_part;
            }
            _ => return false,
        }
        node = parent;
    }
    false
}

/// The type that a used variable is declared with, and its declarator.
fn declared<'v>(tree: &'v SyntaxTree, used: Node<'v>) -> Option<Declaration> {
    let all = tree.declarations(enclosing_function(used)?);
    resolve(&all, tree.slice(used), used.start_byte()).cloned()
}

fn is_array(tree: &SyntaxTree, used: Node<'_>) -> bool {
    declared(tree, used).is_some_and(|own| own.kind == DeclarationKind::Array)
}

/// Whether the variable, or the elements of the array, are numbers or vectors of numbers.
fn has_plain_type(tree: &SyntaxTree, used: Node<'_>) -> bool {
    declared(tree, used).is_some_and(|own| {
        let element = own.type_text.split('[').next().unwrap_or("");
        types::size_of(element.trim()).is_some()
    })
}

/// Whether all members of a name that the text declares are numbers, pointers to them, or arrays of them; one that a header
/// declares may be anything.
fn is_plain_member(tree: &SyntaxTree, used: Node<'_>, name: &str) -> bool {
    let declares = |member: &Node<'_>| {
        let mut names = member.fields(Field::Declarator);
        names.any(|it| cuda_syntax::identifiers::identifiers(tree.slice(it)).any(|word| word == name))
    };
    let members = tree.nodes().filter(|node| node.kind() == Kind::FieldDeclaration).filter(declares);
    let type_text = |member: Node<'_>| member.field(Field::Type).map_or("", |it| tree.slice(it));
    let found: Vec<bool> = members.map(|member| types::size_of(type_text(member)).is_some()).collect();
    // Components of the toolkit's vectors are declared in none of the user's texts.
    let is_component = matches!(name, "x" | "y" | "z" | "w") && has_plain_type(tree, used);
    is_component || (!found.is_empty() && found.into_iter().all(|is_plain| is_plain))
}

fn is_argument(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.kind() == Kind::ArgumentList)
}

/// `const float v = tab[k];`, not `auto& v = tab[k];`. A whole variable must be copied to one whose type is written.
fn is_declared_value(tree: &SyntaxTree, declarator: Node<'_>, is_part: bool) -> bool {
    let is_plain = declarator.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier);
    let type_node = declarator.parent().and_then(|parent| parent.field(Field::Type));
    is_plain
        && type_node.is_some_and(|it| {
            let text = tree.slice(it);
            !text.contains("decltype") && (is_part || !text.contains("auto"))
        })
}

/// Whether a function takes an argument as it did, and reads it alone.
fn is_passed_on(tree: &SyntaxTree, argument: Node<'_>, list: Node<'_>, is_part: bool, is_value: bool) -> bool {
    let Some(call) = list.parent().filter(|call| call.kind() == Kind::CallExpression) else { return false };
    if is_part && is_value && is_pure_call(tree, call) {
        return true;
    }
    let Some(position) = list.named_children().position(|it| it == argument) else {
        return false;
    };
    call.field(Field::Function)
        .is_some_and(|called| called.kind() == Kind::Identifier && is_only_reader(tree, tree.slice(called), position))
}

/// Whether a name stands for one function alone, no template, that takes a parameter by value or as something constant,
/// and does not cast that away. What a header of the user's declares is not seen here.
fn is_only_reader(tree: &SyntaxTree, name: &str, position: usize) -> bool {
    let has_headers = tree.text().lines().map(str::trim_start).any(|line| {
        let directive = line.strip_prefix('#').map_or("", str::trim_start);
        directive.strip_prefix("include").is_some_and(|rest| !rest.trim_start().starts_with('<'))
    });
    let functions = crate::rewrite::facts::sites::functions_named(tree, name);
    let [only] = functions.as_slice() else { return false };
    let is_template = only.parent().is_some_and(|parent| parent.kind() == Kind::TemplateDeclaration);
    let Some(body) = only.field(Field::Body) else { return false };
    let parameter = || {
        let mut declarator = only.field(Field::Declarator)?;
        while declarator.kind() != Kind::FunctionDeclarator {
            declarator = declarator.field(Field::Declarator).or_else(|| declarator.named_child(0))?;
        }
        let declared = declarator.field(Field::Declarator)?;
        let list = declarator.field(Field::Parameters)?;
        let parameter = list.named_children().nth(position)?;
        Some((tree.slice(parameter), last_name(tree.slice(declared)) == name))
    };
    let Some((text, is_it)) = parameter() else { return false };
    let is_value = !text.contains(['*', '&', '[']);
    let is_constant = cuda_syntax::identifiers::identifiers(text).next() == Some("const");
    !has_headers && !is_template && is_it && (is_value || (is_constant && keeps_constness(tree, body)))
}

/// Whether no cast and no assembly in a function can write to what it gets as constant.
fn keeps_constness(tree: &SyntaxTree, body: Node<'_>) -> bool {
    let takes_away = |node: Node<'_>| {
        let text = || tree.slice(node);
        match node.kind() {
            Kind::CastExpression => node.field(Field::Type).is_some_and(|it| tree.slice(it).contains(['*', '&'])),
            Kind::TemplateFunction => ["const_cast", "reinterpret_cast"].iter().any(|name| text().starts_with(name)),
            Kind::Identifier => matches!(text(), "const_cast" | "reinterpret_cast"),
            _ => node.is_assembly(),
        }
    };
    !body.descendants().any(takes_away)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_fit(helper: &str, body: &str) -> bool {
        let text = format!(
            "{helper}\n__global__ void k(int* out, int i, Setup s) {{ int tab[4] = {{1, 2, 3, 4}}; {body} }}\n"
        );
        let tree = SyntaxTree::example("a.cu", &text);
        may_be_const(&tree, text.rfind("tab[4]").unwrap())
    }

    #[test]
    fn values_are_read_whatever_the_constness() {
        for (helper, body, expected) in [
            ("", "out[0] = tab[i] * 2 + (tab[1] > 3);", true),
            ("", "const int v = tab[i]; out[tab[2]] = -tab[0] + max(tab[1], v);", true),
            ("__device__ int at(const int* t, int k) { return t[k]; }", "out[0] = at(tab, i);", true),
            ("__device__ int at(int v) { return v; }", "out[0] = at(tab[i]);", true),
            // Another function, type or specialisation may be chosen.
            ("__device__ int at(const int* t); __device__ int at(int* t);", "out[0] = at(tab);", false),
            ("template <class T> __device__ int at(T* t) { return *t; }", "out[0] = at(tab);", false),
            ("__device__ int at(int* t) { return *t; }", "out[0] = at(tab);", false),
            ("#include \"a.h\"\n__device__ int at(const int* t) { return *t; }", "out[0] = at(tab);", false),
            ("", "auto& r = tab[i]; out[0] = r;", false),
            ("", "auto p = tab; out[0] = f(p);", false),
            ("", "decltype(tab) other; out[0] = g(other);", false),
            ("", "out[0] = [&] { return tab[i]; }();", false),
            // Written behind a cast.
            ("__device__ int at(const int* t) { return ++*(int*)t; }", "out[0] = at(tab);", false),
            ("__device__ int at(const int* t) { return ++*const_cast<int*>(t); }", "out[0] = at(tab);", false),
        ] {
            assert_eq!(is_fit(helper, body), expected, "{helper} {body}");
        }
    }

    #[test]
    fn structures_are_constant_where_their_members_are_read() {
        let is_fit = |helper: &str, body: &str| {
            let members = "struct Table { int v[4]; };\nstruct Setup { float* out; float gain[16]; int n; Table t; };";
            let text = format!("{members}{helper}\n__global__ void k(Setup s) {{ {body} }}\n");
            let tree = SyntaxTree::example("a.cu", &text);
            may_be_const(&tree, text.rfind("Setup s)").unwrap() + 6)
        };
        assert!(is_fit("", "s.out[0] = s.gain[s.n & 15] * 2;"));
        assert!(is_fit("__device__ float use(const Setup* p) { return p->gain[0]; }", "s.out[0] = use(&s);"));
        assert!(!is_fit("__device__ float use(Setup& s); __device__ float use(const Setup& s);", "s.out[0] = use(s);"));
        assert!(!is_fit("", "s.out[0] = s.get(1);") && !is_fit("", "s.out[0] = s[1];"));
        assert!(!is_fit("struct V { Table x; };", "s.out[0] = s.x[1];"));
        assert!(!is_fit("", "s.out[0] = s.t[1];") && !is_fit("", "s.out[0] = s.unseen[1];"));
        assert!(is_fit("", "Setup c = s; c.n = 1; s.out[0] = c.n;") && !is_fit("", "auto c = s; s.out[0] = f(c);"));
    }
}
