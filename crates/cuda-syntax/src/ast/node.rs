//! A syntax node, with navigation to parents, children and siblings.

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

    /// The node's kind.
    pub fn kind(self) -> Kind {
        Kind::of_id(self.0.kind_id())
    }

    /// Identifies the node within its tree.
    pub fn id(self) -> usize {
        self.0.id()
    }

    // Parts.

    /// The child in a field.
    pub fn field(self, field: Field) -> Option<Node<'t>> {
        self.0.child_by_field_id(field.id()).map(Self)
    }

    /// All children in a field: the declarators of `int a, b;`.
    pub fn fields(self, field: Field) -> impl Iterator<Item = Node<'t>> {
        let id = NonZero::new(field.id());
        let mut cursor = self.0.walk();
        let found: Vec<_> =
            id.into_iter().flat_map(|id| self.0.children_by_field_id(id, &mut cursor).collect::<Vec<_>>()).collect();
        found.into_iter().map(Self)
    }

    /// Whether the node is in that field of its parent.
    pub fn is_field(self, field: Field) -> bool {
        self.parent().and_then(|parent| parent.field(field)) == Some(self)
    }

    /// All children, operators and brackets included.
    pub fn children(self) -> std::vec::IntoIter<Node<'t>> {
        // Asking tree-sitter for children by index takes quadratic time.
        let found: Vec<_> = self.0.children(&mut self.0.walk()).map(Self).collect();
        found.into_iter()
    }

    /// All children except operators, brackets and keywords.
    pub fn named_children(self) -> impl DoubleEndedIterator<Item = Node<'t>> {
        self.children().filter(Self::is_named)
    }

    /// Named children without comments.
    pub fn parts(self) -> impl DoubleEndedIterator<Item = Node<'t>> {
        self.named_children().filter(|child| child.kind() != Kind::Comment)
    }

    /// The child at an index.
    pub fn child(self, index: u32) -> Option<Node<'t>> {
        self.0.child(index).map(Self)
    }

    /// The named child at an index.
    pub fn named_child(self, index: u32) -> Option<Node<'t>> {
        self.0.named_child(index).map(Self)
    }

    /// Number of named children.
    pub fn named_child_count(self) -> usize {
        self.0.named_child_count()
    }

    // Traversal.

    /// The node and its descendants in source order.
    pub fn descendants(self) -> Descendants<'t, impl Fn(Node<'t>, Node<'t>) -> bool> {
        self.descendants_through(|_, _| true)
    }

    /// The node and its descendants, without subtrees that the closure refuses; the closure gets parent and child.
    pub fn descendants_through<Enters>(self, enters: Enters) -> Descendants<'t, Enters>
    where
        Enters: Fn(Node<'t>, Node<'t>) -> bool,
    {
        Descendants { open: vec![self], enters }
    }

    /// The node and its ancestors, innermost first.
    pub fn ancestors(self) -> impl Iterator<Item = Node<'t>> {
        std::iter::successors(Some(self), |node| node.parent())
    }

    /// The innermost node of a kind among the node and its ancestors.
    pub fn enclosing(self, kind: Kind) -> Option<Node<'t>> {
        self.ancestors().find(|node| node.kind() == kind)
    }

    /// The parent.
    pub fn parent(&self) -> Option<Node<'t>> {
        self.0.parent().map(Self)
    }

    /// The previous sibling.
    pub fn prev_sibling(&self) -> Option<Node<'t>> {
        self.0.prev_sibling().map(Self)
    }

    /// The next sibling.
    pub fn next_sibling(&self) -> Option<Node<'t>> {
        self.0.next_sibling().map(Self)
    }

    /// The previous named sibling.
    pub fn prev_named_sibling(&self) -> Option<Node<'t>> {
        self.0.prev_named_sibling().map(Self)
    }

    /// The next named sibling.
    pub fn next_named_sibling(&self) -> Option<Node<'t>> {
        self.0.next_named_sibling().map(Self)
    }

    /// The smallest named node that covers the bytes `start..end`.
    pub fn named_descendant_for_byte_range(self, start: usize, end: usize) -> Option<Node<'t>> {
        self.0.named_descendant_for_byte_range(start, end).map(Self)
    }

    /// The smallest node that covers the bytes `start..end`.
    pub fn descendant_for_byte_range(self, start: usize, end: usize) -> Option<Node<'t>> {
        self.0.descendant_for_byte_range(start, end).map(Self)
    }

    // Parentheses.

    /// `x` for `((x))`.
    pub fn without_parentheses(self) -> Node<'t> {
        let mut node = self;
        while let Some(inner) = node.named_child(0).filter(|_| node.kind() == Kind::ParenthesizedExpression) {
            node = inner;
        }
        node
    }

    /// `((x))` for its inner `x`.
    pub fn with_parentheses(self) -> Node<'t> {
        let mut node = self;
        while let Some(outer) = node.parent().filter(|parent| parent.kind() == Kind::ParenthesizedExpression) {
            node = outer;
        }
        node
    }

    /// The declared identifier inside nested declarators: `a` of `*a[4] = {}`.
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

    /// Whether the node is an operator, bracket or keyword with that spelling.
    pub fn is_token(self, spelling: &str) -> bool {
        self.token() == Some(spelling)
    }

    /// The operator of an expression.
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

    /// Whether the node is a declaration of any form.
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

    /// Whether the node is named in the grammar, unlike operators, brackets and keywords.
    pub fn is_named(&self) -> bool {
        self.0.is_named()
    }

    /// Whether the node is text that the parser could not read.
    pub fn is_error(self) -> bool {
        self.0.is_error()
    }

    /// Whether the node or a descendant is a parse error.
    pub fn has_error(&self) -> bool {
        self.0.has_error()
    }

    /// Whether the grammar allows the node anywhere: a comment or a directive.
    pub fn is_extra(&self) -> bool {
        self.0.is_extra()
    }

    /// Whether the parser inserted the node to recover from an error; it covers no text.
    pub fn is_missing(self) -> bool {
        self.0.is_missing()
    }

    // Positions.

    /// Offset of the first byte.
    pub fn start_byte(&self) -> usize {
        self.0.start_byte()
    }

    /// Offset after the last byte.
    pub fn end_byte(&self) -> usize {
        self.0.end_byte()
    }

    /// The byte range of the node.
    pub fn byte_range(&self) -> Range<usize> {
        self.0.byte_range()
    }

    /// Line and column of the first byte, both from 0.
    pub fn start_position(&self) -> Point {
        self.0.start_position()
    }

    /// Line and column after the last byte, both from 0.
    pub fn end_position(&self) -> Point {
        self.0.end_position()
    }
}

/// Iterator over a node and its descendants in source order.
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
