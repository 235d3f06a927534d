//! Whether a variable may be declared `const`. It is not enough that the code still compiles: `const` may select
//! another overload, specialization or member function.
//!
//! Each use must read a value of a built-in type. If the variable itself is passed to a function, the callee must be
//! unambiguous.

use std::collections::BTreeSet;

use cuda_syntax::ast::{Binary, Field, Kind, Node};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{Declaration, DeclarationKind, enclosing_function, last_name, resolve};
use cuda_syntax::{SyntaxTree, types};

use crate::rewrite::facts::binding::declares_value;
use crate::rewrite::facts::evaluation::is_in_lambda;
use crate::rewrite::facts::named_type::is_pointer_to_function;
use crate::rewrite::facts::number::is_number;
use crate::rewrite::facts::purity::is_pure_call;
use crate::rewrite::facts::sites::{functions_named, head_of};

/// Whether adding `const` to the variable declared at an offset changes no overload resolution and no conversion in its
/// uses.
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

/// Whether a use reads a value, so that `const` makes no difference.
pub fn reads_a_value(tree: &SyntaxTree, used: Node<'_>) -> bool {
    // The text of a lambda does not show its captures and their types.
    if is_in_lambda(used) {
        return false;
    }
    let mut node = used;
    // After a subscript or a member access, a function gets the element, not the variable.
    let mut is_part = false;
    // The operators of a class are functions too.
    let mut is_value = has_plain_type(tree, used);
    while let Some(parent) = node.parent() {
        let is_field = |field: Field| parent.field(field) == Some(node);
        match parent.kind() {
            Kind::ParenthesizedExpression | Kind::ConditionClause | Kind::CommaExpression => {}
            // For a class, the subscript is a function.
            Kind::SubscriptExpression if is_field(Field::Argument) => {
                if !is_part && !is_array(tree, used) {
                    return false;
                }
                is_part = true;
            }
            // An index is used as a value.
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
            // A function of a table is called, not one of the table's class.
            Kind::CallExpression if is_field(Field::Function) => return is_part && has_functions(tree, used),
            Kind::SizeofExpression => return true,
            // `table + 4`, handed on.
            Kind::BinaryExpression if !is_part && is_moved(tree, node, parent) => {}
            Kind::BinaryExpression | Kind::ConditionalExpression | Kind::CastExpression | Kind::UnaryExpression => {
                return is_part && is_value;
            }
            Kind::PointerExpression => {
                if tree.slice(parent).starts_with('*') {
                    // The pointee is a part.
                    is_part = true;
                } else if !is_argument(parent) {
                    return false;
                }
            }
            Kind::AssignmentExpression => return is_part && is_value,
            // `Setup copy = s;` makes a copy.
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

/// Whether `sum` is an array and a number, as an argument: a pointer to a later element.
fn is_moved(tree: &SyntaxTree, array: Node<'_>, sum: Node<'_>) -> bool {
    let moved = || {
        let sum = Binary::of(sum).filter(|sum| sum.operator() == Some("+"))?;
        let other = if sum.left() == Some(array) { sum.right()? } else { sum.left()? };
        Some(array.kind() == Kind::Identifier && is_array(tree, array) && is_number(tree, other))
    };
    is_argument(sum) && moved().unwrap_or(false)
}

/// The declaration of a used variable.
fn declared<'v>(tree: &'v SyntaxTree, used: Node<'v>) -> Option<Declaration> {
    let all = tree.declarations(enclosing_function(used)?);
    resolve(&all, tree.slice(used), used.start_byte()).cloned()
}

fn is_array(tree: &SyntaxTree, used: Node<'_>) -> bool {
    declared(tree, used).is_some_and(|own| own.kind == DeclarationKind::Array)
}

/// Whether the array declared at an offset holds pointers to functions, by a type that the file names once.
pub fn is_table_of_functions(tree: &SyntaxTree, offset: usize) -> bool {
    let name = || tree.root()?.named_descendant_for_byte_range(offset, offset + 1);
    name().is_some_and(|name| has_functions(tree, name))
}

/// Whether the elements of an array are pointers to functions, by a type that the file names once: `typedef float (*Op)(float);`.
fn has_functions(tree: &SyntaxTree, used: Node<'_>) -> bool {
    declared(tree, used).is_some_and(|own| {
        let name = own.type_text.split('[').next().unwrap_or("").trim();
        is_pointer_to_function(tree, name.trim_start_matches("const ").trim())
    })
}

/// Whether the variable, or its array elements, have a scalar or vector type.
fn has_plain_type(tree: &SyntaxTree, used: Node<'_>) -> bool {
    declared(tree, used).is_some_and(|own| {
        let element = own.type_text.split('[').next().unwrap_or("");
        types::size_of(element.trim()).is_some()
    })
}

/// Whether all members with a name that the text declares are numbers, pointers to numbers, or arrays of them. A member
/// declared in a header may have any type.
fn is_plain_member(tree: &SyntaxTree, used: Node<'_>, name: &str) -> bool {
    let declares = |member: &Node<'_>| {
        let mut names = member.fields(Field::Declarator);
        names.any(|it| identifiers(tree.slice(it)).any(|word| word == name))
    };
    let members = tree.nodes_of(&[Kind::FieldDeclaration]).filter(declares);
    let type_text = |member: Node<'_>| member.field(Field::Type).map_or("", |it| tree.slice(it));
    let found: Vec<bool> = members.map(|member| types::size_of(type_text(member)).is_some()).collect();
    // The toolkit declares the components of its vector types, not the user's text.
    let is_component = matches!(name, "x" | "y" | "z" | "w") && has_plain_type(tree, used);
    is_component || (!tree.is_declared_beside(name) && !found.is_empty() && found.into_iter().all(|is_plain| is_plain))
}

fn is_argument(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.kind() == Kind::ArgumentList)
}

/// `const float v = tab[k];`, not `auto& v = tab[k];`. A whole variable must be copied to one with an explicit type.
fn is_declared_value(tree: &SyntaxTree, declarator: Node<'_>, is_part: bool) -> bool {
    let is_plain = declarator.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier);
    let type_node = declarator.parent().and_then(|parent| parent.field(Field::Type));
    is_plain
        && type_node.is_some_and(|it| {
            let text = tree.slice(it);
            declares_value(tree, declarator) && (is_part || !text.contains("auto"))
        })
}

/// Whether a call resolves to the same function after the change, and that function only reads the argument.
fn is_passed_on(tree: &SyntaxTree, argument: Node<'_>, list: Node<'_>, is_part: bool, is_value: bool) -> bool {
    if list.parent().is_some_and(|parent| parent.kind() == Kind::InitDeclarator) {
        return !is_part && is_kept_constant(tree, argument, list);
    }
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

/// Whether a variable is made by the only constructor of a class of the file that takes the argument as `const`, and
/// nothing of the class casts `const` away: `Sampler sampler(8, table);`.
fn is_kept_constant(tree: &SyntaxTree, argument: Node<'_>, list: Node<'_>) -> bool {
    let kept = || {
        let declaration = list.parent()?.parent().filter(|it| it.kind() == Kind::Declaration)?;
        let type_node = declaration.field(Field::Type).filter(|it| it.kind() == Kind::TypeIdentifier)?;
        let name = tree.slice(type_node);
        let classes = tree.nodes_of(&[Kind::StructSpecifier, Kind::ClassSpecifier]);
        let mut own = classes.filter(|class| class.field(Field::Name).is_some_and(|it| tree.slice(it) == name));
        let class = own.next().filter(|_| own.next().is_none())?;
        let position = list.named_children().position(|it| it == argument)?;
        Some(is_only_reader(tree, name, position) && keeps_constness(tree, class.field(Field::Body)?))
    };
    kept().unwrap_or(false)
}

/// Whether a name refers to a single non-template function that takes the parameter by value or as `const`, and does
/// not cast `const` away. Where it is not known what the user's headers declare, a file with such headers is refused.
fn is_only_reader(tree: &SyntaxTree, name: &str, position: usize) -> bool {
    if tree.is_declared_beside(name) {
        return false;
    }
    let has_headers = tree.text().lines().map(str::trim_start).any(|line| {
        let directive = line.strip_prefix('#').map_or("", str::trim_start);
        directive.strip_prefix("include").is_some_and(|rest| !rest.trim_start().starts_with('<'))
    });
    let functions = functions_named(tree, name);
    let [only] = functions.as_slice() else { return false };
    let is_template = only.parent().is_some_and(|parent| parent.kind() == Kind::TemplateDeclaration);
    let Some(body) = only.field(Field::Body) else { return false };
    let parameter = || {
        let declarator = head_of(only.field(Field::Declarator)?)?;
        let declared = declarator.field(Field::Declarator)?;
        let list = declarator.field(Field::Parameters)?;
        let parameter = list.named_children().nth(position)?;
        Some((tree.slice(parameter), last_name(tree.slice(declared)) == name))
    };
    let Some((text, is_it)) = parameter() else { return false };
    let is_value = !text.contains(['*', '&', '[']);
    let is_constant = identifiers(text).next() == Some("const");
    (tree.knows_beside() || !has_headers)
        && !is_template
        && is_it
        && (is_value || (is_constant && keeps_constness(tree, body)))
}

/// Whether no cast and no assembly in a function, or in those of the file that it names, can write through a `const` parameter.
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
    let (mut open, mut seen) = (vec![body], BTreeSet::new());
    while let Some(body) = open.pop() {
        if body.descendants().any(takes_away) {
            return false;
        }
        // What another file does with a pointer that it gets, and its classes with one that they keep, is not read.
        let is_of_others = |node: Node<'_>| match node.kind() {
            Kind::TypeIdentifier => tree.is_declared_beside(tree.slice(node)),
            Kind::CallExpression => node
                .field(Field::Function)
                .is_some_and(|called| identifiers(tree.slice(called)).any(|word| tree.is_declared_beside(word))),
            _ => false,
        };
        if body.descendants().any(is_of_others) {
            return false;
        }
        let is_name = |node: &Node<'_>| matches!(node.kind(), Kind::Identifier | Kind::FieldIdentifier);
        let names: Vec<&str> = body.descendants().filter(is_name).map(|name| tree.slice(name)).collect();
        for name in names.into_iter().filter(|name| seen.insert(*name)) {
            let called = functions_named(tree, name).into_iter();
            open.extend(called.filter_map(|function| function.field(Field::Body)));
        }
    }
    true
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
            (
                "__device__ int at(const int* t, int k) { return t[k]; }",
                "out[0] = at(tab + 2, i & 1) + at(1 + tab, 0);",
                true,
            ),
            (
                "struct Row { const int* t; __device__ Row(int n, const int* t) : t(t + n) {} };",
                "Row row(1, tab); out[0] = row.t[i];",
                true,
            ),
            (
                "struct Row { int* t; __device__ Row(const int* t) : t((int*)t) {} };",
                "Row row(tab); out[0] = row.t[i];",
                false,
            ),
            (
                "struct Row { const int* t; __device__ Row(const int* t) : t(t) {} __device__ void set() { *(int*)t = 3; } };",
                "Row row(tab); row.set();",
                false,
            ),
            (
                "struct Row { const int* t; __device__ Row(const int* t) : t(t) {} __device__ Row(int* t) : t(t + 1) {} };",
                "Row row(tab); out[0] = row.t[i];",
                false,
            ),
            ("struct Row { int* t; __device__ Row(int* t) : t(t) {} };", "Row row(tab); out[0] = row.t[i];", false),
            (
                "template <class T> struct Row { T* t; __device__ Row(T* t) : t(t) {} };",
                "Row row(tab); out[0] = *row.t;",
                false,
            ),
            ("__device__ int at(int* t) { return *t; }", "out[0] = at(tab + 1);", false),
            // `const` may select another function, type or specialization.
            ("__device__ int at(const int* t); __device__ int at(int* t);", "out[0] = at(tab);", false),
            ("template <class T> __device__ int at(T* t) { return *t; }", "out[0] = at(tab);", false),
            ("__device__ int at(int* t) { return *t; }", "out[0] = at(tab);", false),
            ("#include \"a.h\"\n__device__ int at(const int* t) { return *t; }", "out[0] = at(tab);", false),
            ("", "auto& r = tab[i]; out[0] = r;", false),
            ("", "auto p = tab; out[0] = f(p);", false),
            ("", "decltype(tab) other; out[0] = g(other);", false),
            ("", "out[0] = [&] { return tab[i]; }();", false),
            // Written through a cast.
            (
                "__device__ int deep(const int* t) { return ++*(int*)t; } __device__ int at(const int* t) { return deep(t); }",
                "out[0] = at(tab);",
                false,
            ),
            ("__device__ int at(const int* t) { return ++*(int*)t; }", "out[0] = at(tab);", false),
            ("__device__ int at(const int* t) { return ++*const_cast<int*>(t); }", "out[0] = at(tab);", false),
        ] {
            assert_eq!(is_fit(helper, body), expected, "{helper} {body}");
        }
    }

    #[test]
    fn functions_of_a_table_are_called_whatever_its_constness() {
        for (named, expected) in [
            ("typedef float (*Op)(float, float);", true),
            ("typedef float ( * Op ) (float, float);", true),
            ("using Op = float (*)(float, float);", true),
            // Its operator may be another one where it is constant.
            ("struct Op { float operator()(float, float); float operator()(float, float) const; };", false),
            ("typedef float (*Op)(float, float); namespace other { struct Op {}; }", false),
            ("typedef float (*Op)(float, float); template <class Op> struct Uses {};", false),
            ("#include \"ops.h\"", false),
            ("typedef Wrapped<float (*)(float)> Op;", false),
            ("using Op = Wrapped<float (*)(float)>;", false),
            ("typedef float (*Op[2])(float, float);", false),
        ] {
            let text = format!(
                "{named}\n__global__ void k(float* out, int i) {{ Op ops[2] = {{f, g}}; out[i] = ops[i](out[0], out[1]); }}\n"
            );
            let tree = SyntaxTree::example("a.cu", &text);
            assert_eq!(may_be_const(&tree, text.rfind("ops[2]").unwrap()), expected, "{named}");
        }
        let is_table = |declared: &str| {
            let text =
                format!("using Op = float (*)(float);\n__global__ void k(float* out, int i) {{ {declared}; }}\n");
            is_table_of_functions(&SyntaxTree::example("a.cu", &text), text.rfind("ops").unwrap())
        };
        assert!(is_table("Op ops[2] = {f, g}"));
        assert!(!is_table("float (*ops[2])[4] = {f, g}"));
        assert!(!is_table("float ops[2] = {1, 2}"));
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
