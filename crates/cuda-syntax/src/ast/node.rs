//! A node, and the ways from it to others.

use std::num::NonZero;
use std::ops::Range;

use tree_sitter::Point;

use super::kind::{Field, Kind, language};

/// A node of a syntax tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node<'t>(tree_sitter::Node<'t>);

impl<'t> Node<'t> {
    /// The root of a tree.
    pub fn root(tree: &'t tree_sitter::Tree) -> Self {
        Self(tree.root_node())
    }

    /// What the node is.
    pub fn kind(self) -> Kind {
        Kind::of_id(self.0.kind_id())
    }

    /// Identifies the node within its tree.
    pub fn id(self) -> usize {
        self.0.id()
    }

    // Parts.

    /// The part that the grammar has a name for.
    pub fn field(self, field: Field) -> Option<Node<'t>> {
        self.0.child_by_field_id(field.id()).map(Self)
    }

    /// All parts with one name: the declarators of `int a, b;`.
    pub fn fields(self, field: Field) -> impl Iterator<Item = Node<'t>> {
        let id = NonZero::new(field.id());
        let mut cursor = self.0.walk();
        let found: Vec<_> =
            id.into_iter().flat_map(|id| self.0.children_by_field_id(id, &mut cursor).collect::<Vec<_>>()).collect();
        found.into_iter().map(Self)
    }

    /// Whether the node is that part of its parent.
    pub fn is_field(self, field: Field) -> bool {
        self.parent().and_then(|parent| parent.field(field)) == Some(self)
    }

    /// All children with their operators and brackets.
    pub fn children(self) -> std::vec::IntoIter<Node<'t>> {
        // Asking for them one by one would cost the square of their number.
        let found: Vec<_> = self.0.children(&mut self.0.walk()).map(Self).collect();
        found.into_iter()
    }

    /// Children that are no operators, brackets or keywords.
    pub fn named_children(self) -> impl DoubleEndedIterator<Item = Node<'t>> {
        self.children().filter(Self::is_named)
    }

    /// Named children that are no comments.
    pub fn parts(self) -> impl DoubleEndedIterator<Item = Node<'t>> {
        self.named_children().filter(|child| child.kind() != Kind::Comment)
    }

    /// The child at a position.
    pub fn child(self, index: u32) -> Option<Node<'t>> {
        self.0.child(index).map(Self)
    }

    /// The named child at a position.
    pub fn named_child(self, index: u32) -> Option<Node<'t>> {
        self.0.named_child(index).map(Self)
    }

    /// How many named children there are.
    pub fn named_child_count(self) -> usize {
        self.0.named_child_count()
    }

    // Walks.

    /// The node and all nodes below it, in the order of the text.
    pub fn descendants(self) -> Descendants<'t, impl Fn(Node<'t>, Node<'t>) -> bool> {
        self.descendants_through(|_, _| true)
    }

    /// The node and those below it, without children that are not to be entered: the closure gets parent and child.
    pub fn descendants_through<Enters>(self, enters: Enters) -> Descendants<'t, Enters>
    where
        Enters: Fn(Node<'t>, Node<'t>) -> bool,
    {
        Descendants { open: vec![self], enters }
    }

    /// The node and all nodes around it, from the inside out.
    pub fn ancestors(self) -> impl Iterator<Item = Node<'t>> {
        std::iter::successors(Some(self), |node| node.parent())
    }

    /// The innermost node of a kind that is the node or stands around it.
    pub fn enclosing(self, kind: Kind) -> Option<Node<'t>> {
        self.ancestors().find(|node| node.kind() == kind)
    }

    /// The node that this one is a child of.
    pub fn parent(&self) -> Option<Node<'t>> {
        self.0.parent().map(Self)
    }

    /// The node before this one.
    pub fn prev_sibling(&self) -> Option<Node<'t>> {
        self.0.prev_sibling().map(Self)
    }

    /// The node behind this one.
    pub fn next_sibling(&self) -> Option<Node<'t>> {
        self.0.next_sibling().map(Self)
    }

    /// The named node before this one.
    pub fn prev_named_sibling(&self) -> Option<Node<'t>> {
        self.0.prev_named_sibling().map(Self)
    }

    /// The named node behind this one.
    pub fn next_named_sibling(&self) -> Option<Node<'t>> {
        self.0.next_named_sibling().map(Self)
    }

    /// The smallest named node that holds the bytes from `start` to `end`.
    pub fn named_descendant_for_byte_range(self, start: usize, end: usize) -> Option<Node<'t>> {
        self.0.named_descendant_for_byte_range(start, end).map(Self)
    }

    /// The smallest node that holds the bytes from `start` to `end`.
    pub fn descendant_for_byte_range(self, start: usize, end: usize) -> Option<Node<'t>> {
        self.0.descendant_for_byte_range(start, end).map(Self)
    }

    // Without the parentheses, and with them.

    /// `x` of `((x))`.
    pub fn without_parentheses(self) -> Node<'t> {
        let mut node = self;
        while let Some(inner) = node.named_child(0).filter(|_| node.kind() == Kind::ParenthesizedExpression) {
            node = inner;
        }
        node
    }

    /// `((x))` around `x`.
    pub fn with_parentheses(self) -> Node<'t> {
        let mut node = self;
        while let Some(outer) = node.parent().filter(|parent| parent.kind() == Kind::ParenthesizedExpression) {
            node = outer;
        }
        node
    }

    /// The name in a declarator: `a` of `*a[4] = {}`. Declarators stand within each other.
    pub fn declared_name(self) -> Node<'t> {
        let mut node = self;
        while let Some(inner) = node.field(Field::Declarator) {
            node = inner;
        }
        node
    }

    // Operators.

    /// The spelling of an operator, bracket or keyword.
    pub fn token(self) -> Option<&'static str> {
        language().node_kind_for_id(self.0.kind_id()).filter(|_| self.kind() == Kind::Token)
    }

    /// Whether the node is an operator, bracket or keyword that is spelled so.
    pub fn is_token(self, spelling: &str) -> bool {
        self.token() == Some(spelling)
    }

    /// The operator between or before the parts of an expression.
    pub fn operator(self) -> Option<&'static str> {
        self.field(Field::Operator).and_then(Self::token)
    }

    // Groups of kinds.

    /// Whether the node is inline assembly or a part of it.
    pub fn is_assembly(self) -> bool {
        self.0.kind().contains("asm")
    }

    /// Whether the node is a declarator of any form.
    pub fn is_declarator(self) -> bool {
        self.0.kind().ends_with("declarator")
    }

    /// Whether the node declares anything.
    pub fn is_declaration(self) -> bool {
        self.0.kind().contains("declaration")
    }

    /// Whether the node is a parameter or a list of parameters.
    pub fn is_parameter(self) -> bool {
        self.0.kind().contains("parameter")
    }

    /// Whether the node is one parameter of a function.
    pub fn is_parameter_declaration(self) -> bool {
        self.0.kind().ends_with("parameter_declaration")
    }

    /// Whether the node is a directive that defines a macro, or a part of its head.
    pub fn is_macro_definition(self) -> bool {
        self.0.kind().starts_with("preproc_def") || self.0.kind().starts_with("preproc_function")
    }

    /// Whether the node has a kind, and is no operator, bracket or keyword.
    pub fn is_named(&self) -> bool {
        self.0.is_named()
    }

    /// Whether the parser could not read the text.
    pub fn is_error(self) -> bool {
        self.0.is_error()
    }

    /// Whether the parser could not read some of the text.
    pub fn has_error(&self) -> bool {
        self.0.has_error()
    }

    /// Whether the node may stand anywhere: a comment or a directive.
    pub fn is_extra(&self) -> bool {
        self.0.is_extra()
    }

    /// Whether the parser put the node where the text has nothing.
    pub fn is_missing(self) -> bool {
        self.0.is_missing()
    }

    // Places.

    /// Offset of the first byte.
    pub fn start_byte(&self) -> usize {
        self.0.start_byte()
    }

    /// Offset behind the last byte.
    pub fn end_byte(&self) -> usize {
        self.0.end_byte()
    }

    /// The bytes of the node.
    pub fn byte_range(&self) -> Range<usize> {
        self.0.byte_range()
    }

    /// Line and column, from 0, of the first byte.
    pub fn start_position(&self) -> Point {
        self.0.start_position()
    }

    /// Line and column, from 0, behind the last byte.
    pub fn end_position(&self) -> Point {
        self.0.end_position()
    }
}

/// Nodes below a node, in the order of the text.
pub struct Descendants<'t, Enters> {
    open: Vec<Node<'t>>,
    enters: Enters,
}

impl<'t, Enters: Fn(Node<'t>, Node<'t>) -> bool> Iterator for Descendants<'t, Enters> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        let node = self.open.pop()?;
        self.open.extend(node.children().rev().filter(|child| (self.enters)(node, *child)));
        Some(node)
    }
}
