//! Nodes of one kind, with a method for each part.

use super::kind::{Field, Kind};
use super::node::Node;

macro_rules! typed_nodes {
    ($($(#[$doc:meta])* $typed:ident of $($kind:ident)|+ { $($(#[$part_doc:meta])* $part:ident: $field:ident,)* })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $typed<'t>(Node<'t>);

        impl<'t> $typed<'t> {
            /// `None` for nodes of other kinds.
            pub fn of(node: Node<'t>) -> Option<Self> {
                matches!(node.kind(), $(Kind::$kind)|+).then_some(Self(node))
            }

            /// The node itself.
            pub fn node(self) -> Node<'t> {
                self.0
            }

            $($(#[$part_doc])*
            pub fn $part(self) -> Option<Node<'t>> {
                self.0.field(Field::$field)
            })*
        }
    )+};
}

typed_nodes! {
    /// `f(a, b)`
    Call of CallExpression {
        /// The callee: `f`, `p->f`, `a::f<int>`.
        function: Function,
        /// The argument list with its parentheses.
        argument_list: Arguments,
    }

    /// `a[i]`
    Subscript of SubscriptExpression {
        /// `a`
        base: Argument,
        /// The subscript list with its brackets.
        indices: Indices,
    }

    /// `a + b`
    Binary of BinaryExpression {
        /// The left operand.
        left: Left,
        /// The right operand.
        right: Right,
    }

    /// `a = b`, `a += b`
    Assignment of AssignmentExpression {
        /// The target.
        left: Left,
        /// The assigned value.
        right: Right,
    }

    /// `++i`, `i--`
    Update of UpdateExpression {
        /// The operand that is incremented or decremented.
        operand: Argument,
    }

    /// `*p`, `&x`
    Pointer of PointerExpression {
        /// The dereferenced pointer, or the object whose address is taken.
        operand: Argument,
    }

    /// `x.f`, `p->f`
    Member of FieldExpression {
        /// The object, or the pointer to it.
        object: Argument,
        /// The member's name.
        name: Field,
    }

    /// `(float*)p`
    Cast of CastExpression {
        /// The converted expression.
        value: Value,
        /// The target type.
        type_node: Type,
    }

    /// `a ? b : c`
    Conditional of ConditionalExpression {
        /// The condition.
        condition: Condition,
        /// The value if the condition is true.
        consequence: Consequence,
        /// The value if the condition is false.
        alternative: Alternative,
    }

    /// `if (a) b else c`
    Branch of IfStatement {
        /// The condition clause with its parentheses.
        condition: Condition,
        /// The statement for a true condition.
        consequence: Consequence,
        /// The `else` clause with its statement.
        alternative: Alternative,
    }

    /// `for (a; b; c) d`
    For of ForStatement {
        /// `int i = 0`
        initializer: Initializer,
        /// `i < n`
        condition: Condition,
        /// `++i`
        update: Update,
        /// The loop body.
        body: Body,
    }

    /// `x = 3` in a declaration
    Initialized of InitDeclarator {
        /// The declarator without its initializer.
        declarator: Declarator,
        /// The initializer.
        value: Value,
    }

    /// A function definition
    Function of FunctionDefinition {
        /// Name and parameters.
        declarator: Declarator,
        /// The body.
        body: Body,
        /// The return type.
        type_node: Type,
    }
}

impl<'t> Call<'t> {
    /// The arguments in order.
    pub fn arguments(self) -> impl Iterator<Item = Node<'t>> {
        self.argument_list().into_iter().flat_map(Node::parts)
    }
}

impl<'t> Subscript<'t> {
    /// The index of a subscript with exactly one; `None` for several.
    pub fn index(self) -> Option<Node<'t>> {
        let list = self.indices()?;
        match list.kind() {
            Kind::SubscriptArgumentList => list.named_child(0).filter(|_| list.named_child_count() == 1),
            _ => Some(list),
        }
    }
}

impl Binary<'_> {
    /// `+`, `<`, …
    pub fn operator(self) -> Option<&'static str> {
        self.0.operator()
    }
}

impl<'t> Assignment<'t> {
    /// The assignment whose left side is the node.
    pub fn to(target: Node<'t>) -> Option<Self> {
        let assignment = target.parent().and_then(Self::of)?;
        (assignment.left() == Some(target)).then_some(assignment)
    }

    /// `=`, `+=`, …
    pub fn operator(self) -> Option<&'static str> {
        self.0.operator()
    }

    /// Whether the assignment is `=`, which does not read the old value.
    pub fn is_plain(self) -> bool {
        self.operator().is_none_or(|operator| operator == "=")
    }
}

impl Update<'_> {
    /// `++` or `--`.
    pub fn operator(self) -> Option<&'static str> {
        self.0.operator()
    }

    /// Whether the operator is a prefix operator.
    pub fn is_prefix(self) -> bool {
        self.0.child(0).is_some_and(|first| !first.is_named())
    }
}

impl Pointer<'_> {
    /// Whether the expression takes an address: `&x`.
    pub fn is_address(self) -> bool {
        self.0.child(0).is_some_and(|sign| sign.is_token("&"))
    }

    /// Whether the expression dereferences a pointer: `*p`.
    pub fn is_dereference(self) -> bool {
        self.0.child(0).is_some_and(|sign| sign.is_token("*"))
    }
}

impl Member<'_> {
    /// Whether the member belongs to the object itself, not to its pointee: `x.f`.
    pub fn is_of_object(self) -> bool {
        self.0.operator().is_none_or(|operator| operator == ".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::syntax_tree::SyntaxTree;

    /// The first typed node of a kind in a tree.
    fn first<'t, Typed>(tree: &'t SyntaxTree, of: impl Fn(Node<'t>) -> Option<Typed>) -> Typed {
        tree.root().unwrap().descendants().find_map(of).unwrap()
    }

    #[test]
    fn parts_have_names() {
        let text = "void f(float* a) { for (int i = 0; i < 4; ++i) { if (i) a[i + 1] += g(/* x */ a[0], i); else p->x = (int)*a; } }";
        let tree = SyntaxTree::example("a.cu", text);
        let slice = |node: Option<Node<'_>>| node.map_or("", |node| &text[node.byte_range()]);
        let around = first(&tree, For::of);
        assert_eq!((slice(around.initializer()), slice(around.condition())), ("int i = 0;", "i < 4"));
        let update = first(&tree, Update::of);
        assert_eq!((update.operator(), update.is_prefix(), slice(update.operand())), (Some("++"), true, "i"));
        let assignment = first(&tree, Assignment::of);
        assert_eq!((assignment.operator(), assignment.is_plain()), (Some("+="), false));
        assert_eq!(slice(Subscript::of(assignment.left().unwrap()).unwrap().index()), "i + 1");
        let call = first(&tree, Call::of);
        assert_eq!((slice(call.function()), call.arguments().count()), ("g", 2));
        assert!(!first(&tree, Member::of).is_of_object());
        assert!(first(&tree, Pointer::of).is_dereference());
        assert_eq!(slice(first(&tree, Cast::of).value()), "*a");
        assert_eq!(slice(first(&tree, Function::of).declarator().map(Node::declared_name)), "f");
    }

    #[test]
    fn walks_go_in_the_order_of_the_text() {
        let text = "void f() { a(b); { c(); } d(); }";
        let tree = SyntaxTree::example("a.cu", text);
        let names = |nodes: Vec<Node<'_>>| {
            let names = nodes.into_iter().filter(|node| node.kind() == Kind::Identifier);
            names.map(|node| text[node.byte_range()].to_string()).collect::<String>()
        };
        let body = first(&tree, Function::of).body().unwrap();
        assert_eq!(names(body.descendants().collect()), "abcd");
        let outer = body.descendants_through(|_, child| child.kind() != Kind::CompoundStatement);
        assert_eq!(names(outer.collect()), "abd");
        let inner = body.descendants().find(|node| node.kind() == Kind::ArgumentList).unwrap();
        assert_eq!(inner.enclosing(Kind::FunctionDefinition).map(|node| node.start_byte()), Some(0));
    }
}
