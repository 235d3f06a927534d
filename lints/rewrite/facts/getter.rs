//! Methods that give the value of a member, `int size() const { return count; }`, and objects whose members nothing but
//! their own methods can change.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Member, Node, Pointer, Subscript};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, last_name, resolve};

use super::binding::declares_value;
use super::classes::{class_around, has_bases, is_defined_outside, is_head_of, member_array};
use super::evaluation::is_in_lambda;
use super::number::is_number_type;
use super::purity::{is_pure, takes_values};

/// Whether a call gives a member of a local object, and gives the same as long as nothing in a region names the object.
pub fn is_steady_call(tree: &SyntaxTree, call: Node<'_>, region: Node<'_>) -> bool {
    let steady = || {
        let call = Call::of(call).filter(|call| call.arguments().next().is_none())?;
        let called = call.function().and_then(Member::of).filter(|member| member.is_of_object())?;
        let object = called.object().filter(|object| object.kind() == Kind::Identifier)?;
        let function = enclosing_function(object)?;
        let all = tree.declarations(function);
        let own = resolve(&all, tree.slice(object), object.start_byte())?;
        let is_object = own.kind == DeclarationKind::Aggregate && own.volatility.is_none();
        let class = class_named(tree, own.type_text.split('<').next()?)?;
        let has_elements = has_elements(tree, class);
        let is_element = |name: Node<'_>| {
            has_elements && name.parent().and_then(Subscript::of).is_some_and(|it| it.base() == Some(name))
        };
        // What another method does to the object can't be seen where it is called.
        let is_kept = |name: Node<'_>| {
            is_element(name) || method(name).is_some_and(|it| gives_member(tree, class, tree.slice(it)))
        };
        let is_kept_there = tree.named(region, &own.name).all(is_kept);
        let is_alone = tree
            .names_of(function, &all, own)
            .into_iter()
            .all(|name| (method(name).is_some() || is_element(name)) && !is_in_lambda(name));
        let is_fit = is_object && is_kept_there && is_alone;
        Some(is_fit && gives_member(tree, class, tree.slice(called.name()?)))
    };
    steady().unwrap_or(false)
}

/// The method that is called for an object, `add` of `set.add(x)`: no reference to the object is left.
fn method(name: Node<'_>) -> Option<Node<'_>> {
    let member = name.parent().and_then(Member::of).filter(|member| member.is_of_object())?;
    let whole = member.node();
    let is_called = whole.parent().and_then(Call::of).is_some_and(|call| call.function() == Some(whole));
    member.name().filter(|_| member.object() == Some(name) && is_called)
}

/// Whether `set[i]` is an element of an array in the object: whoever has a reference to it reaches no other member.
fn has_elements(tree: &SyntaxTree, class: Node<'_>) -> bool {
    let heads = class.descendants().filter(|node| node.kind() == Kind::FunctionDeclarator);
    let heads = heads.filter(|head| is_head_of(tree, *head, "operator[]"));
    let definitions = heads.map(|head| head.enclosing(Kind::FunctionDefinition));
    let mut definitions = definitions.filter(|it| it.is_none_or(|it| class_around(it) == Some(class))).peekable();
    definitions.peek().is_some()
        && definitions.all(|it| it.is_some_and(|it| returns_element(tree, it)))
        && !is_defined_outside(tree, class, "operator[]")
}

/// Whether a method does nothing but return an element of an array in its object.
fn returns_element(tree: &SyntaxTree, definition: Node<'_>) -> bool {
    let returned = || {
        let mut statements = definition.field(Field::Body)?.parts();
        let only = statements.next().filter(|it| it.kind() == Kind::ReturnStatement)?;
        only.parts().next().filter(|_| statements.next().is_none()).and_then(Subscript::of)
    };
    returned().is_some_and(|element| {
        let is_member = element.base().is_some_and(|base| {
            let parameters = enclosing_function(base).map(|function| tree.declarations(function));
            let is_own = parameters.is_some_and(|all| resolve(&all, tree.slice(base), base.start_byte()).is_none());
            base.kind() == Kind::Identifier && is_own && member_array(tree, base).is_some()
        });
        is_member && element.index().is_some_and(|index| is_pure(tree, index))
    })
}

/// The only class with a name that the unit has; it has no bases and no specializations.
pub(super) fn class_named<'t>(tree: &'t SyntaxTree, name: &str) -> Option<Node<'t>> {
    let name = last_name(name.trim());
    let classes = tree.nodes_of(&[Kind::StructSpecifier, Kind::ClassSpecifier, Kind::UnionSpecifier]);
    let is_it = |class: &Node<'_>| {
        let own = class.field(Field::Name).map_or("", |own| tree.slice(own));
        class.field(Field::Body).is_some() && last_name(own.split('<').next().unwrap_or("").trim()) == name
    };
    let mut found = classes.filter(is_it);
    let only = found.next().filter(|_| found.next().is_none() && !tree.is_declared_beside(name))?;
    let is_plain = only.kind() != Kind::UnionSpecifier
        && only.field(Field::Name).is_some_and(|own| tree.slice(own) == name)
        && !has_bases(only);
    is_plain.then_some(only)
}

/// Whether a method returns a sum or a product of members and constants, and the class hands no reference to such a member out.
fn gives_member(tree: &SyntaxTree, class: Node<'_>, method: &str) -> bool {
    let given = || {
        let body = class.field(Field::Body)?;
        let is_named = |node: &Node<'_>| tree.slice(node.declared_name()) == method;
        let mut declared = body
            .descendants()
            .filter(|node| node.kind() == Kind::FunctionDeclarator)
            .filter(|node| node.field(Field::Declarator).is_some_and(|it| is_named(&it)));
        let only = declared.next().filter(|_| declared.next().is_none())?;
        let is_alone = !is_defined_outside(tree, class, method);
        let definition = only.parent().filter(|parent| is_alone && parent.kind() == Kind::FunctionDefinition)?;
        let mut statements = definition.field(Field::Body)?.parts();
        let returned = statements.next().filter(|it| it.kind() == Kind::ReturnStatement)?;
        let value = returned.parts().next().filter(|_| statements.next().is_none())?;
        let members: Vec<&str> = value
            .descendants()
            .filter(|node| node.kind() == Kind::Identifier)
            .filter(|node| tree.value_of(*node).is_none())
            .map(|node| tree.slice(node))
            .collect();
        let is_kept = |member: &&str| is_number_member(tree, body, member) && is_kept_inside(tree, class, member);
        Some(is_sum(value) && !members.is_empty() && members.iter().all(is_kept) && !hands_itself_out(tree, class))
    };
    given().unwrap_or(false)
}

fn is_sum(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::Identifier | Kind::NumberLiteral => true,
        Kind::BinaryExpression => matches!(node.operator(), Some("+" | "-" | "*")) && node.named_children().all(is_sum),
        Kind::ParenthesizedExpression => node.named_children().all(is_sum),
        _ => false,
    }
}

/// Whether the class declares a member once, as a number of each object.
fn is_number_member(tree: &SyntaxTree, body: Node<'_>, name: &str) -> bool {
    let declared = body.named_children().filter(|member| member.kind() == Kind::FieldDeclaration);
    let is_it = |declarator: Node<'_>| declarator.kind() == Kind::FieldIdentifier && tree.slice(declarator) == name;
    let mut found = declared.filter(|member| member.fields(Field::Declarator).any(is_it));
    let only = found.next().filter(|_| found.next().is_none());
    only.is_some_and(|member| {
        let is_plain = |word: Node<'_>| !matches!(tree.slice(word), "static" | "volatile" | "mutable" | "__shared__");
        let is_number = member.field(Field::Type).is_some_and(|it| is_number_type(tree, tree.slice(it)));
        is_number && member.children().all(is_plain) && !tree.slice(member).contains("volatile")
    })
}

/// Whether no mention of a member in the text leaves a reference to it behind.
fn is_kept_inside(tree: &SyntaxTree, class: Node<'_>, name: &str) -> bool {
    let is_kept = |mention: Node<'_>| {
        let whole = mention.parent().filter(|parent| parent.kind() == Kind::FieldExpression).unwrap_or(mention);
        let Some(parent) = whole.with_parentheses().parent() else { return false };
        match parent.kind() {
            Kind::ArgumentList => {
                let call = parent.parent().and_then(Call::of).and_then(Call::function);
                let is_of_list = parent.parent().is_some_and(|it| it.kind() == Kind::FieldInitializer);
                is_of_list || call.is_some_and(|called| takes_values(tree, called))
            }
            Kind::PointerExpression => !Pointer::of(parent).is_some_and(Pointer::is_address),
            Kind::InitDeclarator => {
                let is_name = parent.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier);
                is_name && declares_value(tree, parent)
            }
            Kind::InitializerList | Kind::LambdaExpression | Kind::ConditionalExpression => false,
            _ => !parent.is_assembly(),
        }
    };
    let is_it =
        |node: &Node<'_>| matches!(node.kind(), Kind::Identifier | Kind::FieldIdentifier) && tree.slice(*node) == name;
    class.descendants().filter(is_it).all(is_kept)
}

/// Whether the class gives its own address, a reference or a closure away.
fn hands_itself_out(tree: &SyntaxTree, class: Node<'_>) -> bool {
    class.descendants().any(|node| match node.kind() {
        Kind::This | Kind::LambdaExpression => true,
        Kind::FunctionDefinition | Kind::FieldDeclaration => {
            let is_reference = node.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::ReferenceDeclarator);
            is_reference && !returns_element(tree, node)
        }
        _ => node.is_assembly(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_steady(members: &str, body: &str) -> bool {
        let text = format!(
            "struct Set {{ {members} }};\n__device__ void grow(int& n);\n__device__ int twice(int n) {{ return 2 * n; }}\n\
             __global__ void k(int* out) {{ Set set(out); {body} }}\n"
        );
        let tree = SyntaxTree::example("a.cu", &text);
        let start = text.find("k < set.").expect("the text has a bound") + 4;
        let call = tree.root().unwrap().named_descendant_for_byte_range(start, start + "set.size()".len()).unwrap();
        let region = call.enclosing(Kind::ForStatement).unwrap().field(Field::Body).unwrap();
        is_steady_call(&tree, call, region)
    }

    const MEMBERS: &str = "int* own; int count; Set(int* p) : own(p), count(0) {} void add(int x) { own[count++] = x; } \
                           int size() const { return count; }";
    const BODY: &str = "set.add(3); for (int k = 0; k < set.size(); ++k) { out[k] = 1; }";

    #[test]
    fn objects_change_by_their_methods_alone() {
        assert!(is_steady(MEMBERS, BODY));
        assert!(is_steady(&MEMBERS.replace("return count;", "return count + 1;"), BODY));
        assert!(is_steady(&MEMBERS.replace("own[count++] = x", "own[twice(count)] = x; ++count"), BODY));
        assert!(is_steady(MEMBERS, "for (int k = 0; k < set.size(); ++k) { out[k] = set.size(); }"));
        let with_elements = format!("{MEMBERS} int all[8]; int& operator[](int i) {{ return all[i]; }}");
        let elements = "set.add(set[0]); for (int k = 0; k < set.size(); ++k) { out[k] = set[k]; set[k] += k; }";
        assert!(is_steady(&with_elements, elements));
        assert!(!is_steady(MEMBERS, elements));
        for (of, with) in [
            ("{ return all[i]; }", "{ return own[i]; }"),
            ("{ return all[i]; }", "{ ++count; return all[i]; }"),
            ("{ return all[i]; }", "{ return all[count++]; }"),
            ("{ return all[i]; }", "{ int* all = own; return all[i]; }"),
            ("{ return all[i]; }", ";"),
            ("int i) {", "int* all, int i = 0) {"),
            ("int all[8];", "int all[8]; int& operator[](char c) { return count; }"),
        ] {
            assert!(!is_steady(&with_elements.replace(of, with), elements), "{with}");
        }
        for members in [
            MEMBERS.replace("int count;", "static int count;"),
            MEMBERS.replace("int count;", "volatile int count;"),
            MEMBERS.replace("return count;", "return own[0];"),
            MEMBERS.replace("return count;", "return count++;"),
            MEMBERS.replace("int size() const { return count; }", "int size() const;"),
            format!("{MEMBERS} int& number() {{ return count; }}"),
            format!("{MEMBERS} void hand() {{ grow(count); }}"),
            format!("{MEMBERS} void hand() {{ own = &count; }}"),
            format!("{MEMBERS} Set* self() {{ return this; }}"),
            format!("{MEMBERS} int size(int) {{ return 3; }}"),
        ] {
            assert!(!is_steady(&members, BODY), "{members}");
        }
        for body in [
            "for (int k = 0; k < set.size(); ++k) { set.add(k); }",
            "Set* p = &set; for (int k = 0; k < set.size(); ++k) { p->add(k); }",
            "Set& r = set; for (int k = 0; k < set.size(); ++k) { r.add(k); }",
            "keep(set); for (int k = 0; k < set.size(); ++k) { out[k] = 1; }",
            "auto f = [&] { set.add(1); }; for (int k = 0; k < set.size(); ++k) { f(); }",
        ] {
            assert!(!is_steady(MEMBERS, body), "{body}");
        }
        let specialized = |member: &str| {
            format!("{with_elements} }}; template <> {member} {{ return all[count++]; }} struct Other {{")
        };
        for member in ["int& Set::operator[](int i)", "int Set::size()"] {
            assert!(!is_steady(&specialized(member), elements), "{member}");
        }
        let text = "struct Base { int count; }; struct Set : Base { Set(int*); int size() { return count; } };";
        let inherited = format!("{}int unused;", text.split_once("struct Set").map_or("", |_| ""));
        assert!(!is_steady(&inherited, BODY));
    }
}
