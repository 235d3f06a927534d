//! A syntax node, with navigation to parents, children and siblings.

use std::ops::Range;

use super::kind::{Field, Kind, language};
use super::nodes::{Entry, Nodes, ROOT};

/// A node of a syntax tree.
#[derive(Clone, Copy)]
pub struct Node<'t> {
    nodes: &'t Nodes,
    at: u32,
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at && std::ptr::eq(self.nodes, other.nodes)
    }
}

impl Eq for Node<'_> {}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?} {:?}", self.kind(), self.byte_range())
    }
}

impl<'t> Node<'t> {
    /// The root of a tree.
    pub fn root(nodes: &'t Nodes) -> Self {
        Self { nodes, at: ROOT }
    }

    /// The node that a number identifies.
    pub fn of_id(nodes: &'t Nodes, id: usize) -> Option<Self> {
        let at = u32::try_from(id).ok().filter(|at| nodes.has(*at))?;
        Some(Self { nodes, at })
    }

    fn entry(self) -> &'t Entry {
        self.nodes.entry(self.at)
    }

    /// Another node of the tree.
    fn other(self, at: u32) -> Self {
        Self { nodes: self.nodes, at }
    }

    fn others(self, numbers: &'t [u32]) -> impl DoubleEndedIterator<Item = Node<'t>> + ExactSizeIterator {
        numbers.iter().map(move |at| self.other(*at))
    }

    /// The node's kind.
    pub fn kind(self) -> Kind {
        self.entry().kind
    }

    /// The grammar's name of the kind.
    fn name(self) -> &'static str {
        language().node_kind_for_id(self.entry().id).unwrap_or_default()
    }

    /// Identifies the node within its tree.
    pub fn id(self) -> usize {
        self.at as usize
    }

    /// The number of the first node after the node and its descendants.
    pub fn end_id(self) -> usize {
        self.nodes.after(self.at) as usize
    }

    // Parts.

    /// The child in a field.
    pub fn field(self, field: Field) -> Option<Node<'t>> {
        self.fields(field).next()
    }

    /// All children in a field: the declarators of `int a, b;`.
    pub fn fields(self, field: Field) -> impl Iterator<Item = Node<'t>> {
        self.children().filter(move |child| u16::from(child.entry().field) == field.id())
    }

    /// Whether the node is in that field of its parent.
    pub fn is_field(self, field: Field) -> bool {
        self.parent().and_then(|parent| parent.field(field)) == Some(self)
    }

    /// All children, operators and brackets included.
    pub fn children(self) -> impl DoubleEndedIterator<Item = Node<'t>> + ExactSizeIterator {
        self.others(self.nodes.children(self.at))
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
        self.children().nth(index as usize)
    }

    /// The named child at an index.
    pub fn named_child(self, index: u32) -> Option<Node<'t>> {
        self.named_children().nth(index as usize)
    }

    /// Number of named children.
    pub fn named_child_count(self) -> usize {
        self.named_children().count()
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
        Descendants { nodes: self.nodes, next: self.at, end: self.nodes.after(self.at), top: self.at, enters }
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
        self.nodes.parent(self.at).map(|at| self.other(at))
    }

    /// The previous sibling.
    pub fn prev_sibling(&self) -> Option<Node<'t>> {
        self.others(self.nodes.siblings(self.at).0).next_back()
    }

    /// The next sibling.
    pub fn next_sibling(&self) -> Option<Node<'t>> {
        self.others(self.nodes.siblings(self.at).1).next()
    }

    /// The previous named sibling.
    pub fn prev_named_sibling(&self) -> Option<Node<'t>> {
        self.others(self.nodes.siblings(self.at).0).rfind(Self::is_named)
    }

    /// The next named sibling.
    pub fn next_named_sibling(&self) -> Option<Node<'t>> {
        self.others(self.nodes.siblings(self.at).1).find(Self::is_named)
    }

    /// The smallest named node that covers the bytes `start..end`.
    pub fn named_descendant_for_byte_range(self, start: usize, end: usize) -> Option<Node<'t>> {
        let found = self.nodes.covering(self.at, start, end, |entry| entry.marks.is_named());
        found.map(|at| self.other(at))
    }

    /// The smallest node that covers the bytes `start..end`.
    pub fn descendant_for_byte_range(self, start: usize, end: usize) -> Option<Node<'t>> {
        self.nodes.covering(self.at, start, end, |_| true).map(|at| self.other(at))
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
        language().node_kind_for_id(self.entry().id).filter(|_| self.kind() == Kind::Token)
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
        self.name().contains("asm")
    }

    /// Whether the node is a declarator of any form.
    pub fn is_declarator(self) -> bool {
        self.name().ends_with("declarator")
    }

    /// Whether the node is a declaration of any form.
    pub fn is_declaration(self) -> bool {
        self.name().contains("declaration")
    }

    /// Whether the node is a parameter or a list of parameters.
    pub fn is_parameter(self) -> bool {
        self.name().contains("parameter")
    }

    /// Whether the node is one parameter of a function.
    pub fn is_parameter_declaration(self) -> bool {
        self.name().ends_with("parameter_declaration")
    }

    /// Whether the node is a directive that defines a macro, or a part of its head.
    pub fn is_macro_definition(self) -> bool {
        self.name().starts_with("preproc_def") || self.name().starts_with("preproc_function")
    }

    /// Whether the node is a part of the text that a directive compiles under a condition.
    pub fn is_conditional_text(self) -> bool {
        self.name().starts_with("preproc_if") || self.name().starts_with("preproc_el")
    }

    /// Whether the node is named in the grammar, unlike operators, brackets and keywords.
    pub fn is_named(&self) -> bool {
        self.entry().marks.is_named()
    }

    /// Whether the node is text that the parser could not read.
    pub fn is_error(self) -> bool {
        self.entry().marks.is_error()
    }

    /// Whether the node or a descendant is a parse error.
    pub fn has_error(&self) -> bool {
        self.entry().marks.has_error()
    }

    /// Whether the grammar allows the node anywhere: a comment or a directive.
    pub fn is_extra(&self) -> bool {
        self.entry().marks.is_extra()
    }

    /// Whether the parser inserted the node to recover from an error; it covers no text.
    pub fn is_missing(self) -> bool {
        self.entry().marks.is_missing()
    }

    // Positions.

    /// Offset of the first byte.
    pub fn start_byte(&self) -> usize {
        self.entry().start as usize
    }

    /// Offset after the last byte.
    pub fn end_byte(&self) -> usize {
        self.entry().end as usize
    }

    /// The byte range of the node.
    pub fn byte_range(&self) -> Range<usize> {
        self.start_byte()..self.end_byte()
    }

    /// The line of the first byte, from 0.
    pub fn start_row(&self) -> usize {
        self.nodes.row(self.entry().start)
    }

    /// The line after the last byte, from 0.
    pub fn end_row(&self) -> usize {
        self.nodes.row(self.entry().end)
    }
}

/// Iterator over a node and its descendants in source order.
pub struct Descendants<'t, Enters> {
    nodes: &'t Nodes,
    next: u32,
    end: u32,
    top: u32,
    enters: Enters,
}

impl<'t, Enters: Fn(Node<'t>, Node<'t>) -> bool> Iterator for Descendants<'t, Enters> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        while self.next < self.end {
            let node = Node { nodes: self.nodes, at: self.next };
            let is_entered = self.next == self.top || node.parent().is_some_and(|parent| (self.enters)(parent, node));
            if is_entered {
                self.next += 1;
                return Some(node);
            }
            self.next = self.nodes.after(self.next);
        }
        None
    }
}
