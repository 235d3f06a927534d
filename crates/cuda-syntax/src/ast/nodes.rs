//! All nodes of a text in one table.
//!
//! `tree-sitter` keeps no parents: it finds one by a walk from the root, and siblings by way of the parent. In a file whose
//! functions are nested or many, questions that go outwards would take quadratic time. The table is made by one walk, after
//! which each step to a parent, a child or a sibling is one look-up, and the parser's own tree can go.

use tree_sitter::{Tree, TreeCursor};

use super::kind::Kind;

/// The number of the root.
pub(super) const ROOT: u32 = 0;

/// The nodes of a text in source order: each is followed by its descendants.
#[derive(Debug)]
pub struct Nodes {
    entries: Vec<Entry>,
    /// The children of each node, side by side.
    children: Vec<u32>,
    /// Where the lines of the text begin, but for the first.
    lines: Vec<u32>,
}

/// What is known of a node. A text has one for each token and more, so what can be looked up is not kept.
#[derive(Debug)]
pub(super) struct Entry {
    /// The grammar's numeric ID of the kind.
    pub(super) id: u16,
    /// The grammar's numeric ID of the field in the parent, or 0.
    pub(super) field: u8,
    pub(super) kind: Kind,
    pub(super) marks: Marks,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The parent, or the node itself at the root.
    parent: u32,
    /// The number of the first node after the descendants.
    after: u32,
    /// Where its children begin among those of all nodes; they end where those of the next node begin.
    first_child: u32,
}

/// What the parser says of a node by yes or no: one bit each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks(u8);

impl Marks {
    const NAMED: u8 = 1;
    const ERROR: u8 = 2;
    const HAS_ERROR: u8 = 4;
    const EXTRA: u8 = 8;
    const MISSING: u8 = 16;

    fn of(node: tree_sitter::Node<'_>) -> Self {
        let marks = [
            (node.is_named(), Self::NAMED),
            (node.is_error(), Self::ERROR),
            (node.has_error(), Self::HAS_ERROR),
            (node.is_extra(), Self::EXTRA),
            (node.is_missing(), Self::MISSING),
        ];
        Self(marks.into_iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| mark).sum())
    }

    pub(super) fn is_named(self) -> bool {
        self.0 & Self::NAMED != 0
    }

    pub(super) fn is_error(self) -> bool {
        self.0 & Self::ERROR != 0
    }

    pub(super) fn has_error(self) -> bool {
        self.0 & Self::HAS_ERROR != 0
    }

    pub(super) fn is_extra(self) -> bool {
        self.0 & Self::EXTRA != 0
    }

    pub(super) fn is_missing(self) -> bool {
        self.0 & Self::MISSING != 0
    }
}

impl Nodes {
    /// The nodes of a tree, and the lines of the text.
    pub(crate) fn of(tree: &Tree, text: &str) -> Self {
        let lines = text.match_indices('\n').map(|(at, _)| at as u32 + 1).collect();
        let entries = Vec::with_capacity(tree.root_node().descendant_count());
        let mut nodes = Self { entries, children: Vec::new(), lines };
        let mut cursor = tree.walk();
        let mut at = nodes.add(&cursor, ROOT);
        'down: loop {
            if cursor.goto_first_child() {
                at = nodes.add(&cursor, at);
                continue;
            }
            while at != ROOT {
                nodes.entries[at as usize].after = nodes.entries.len() as u32;
                let parent = nodes.entry(at).parent;
                if cursor.goto_next_sibling() {
                    at = nodes.add(&cursor, parent);
                    continue 'down;
                }
                cursor.goto_parent();
                at = parent;
            }
            nodes.entries[ROOT as usize].after = nodes.entries.len() as u32;
            nodes.link();
            return nodes;
        }
    }

    fn add(&mut self, cursor: &TreeCursor, parent: u32) -> u32 {
        let node = cursor.node();
        let number = self.entries.len() as u32;
        self.entries.push(Entry {
            id: node.kind_id(),
            field: cursor.field_id().map_or(0, |id| u16::from(id) as u8),
            kind: Kind::of_id(node.kind_id()),
            marks: Marks::of(node),
            start: node.start_byte() as u32,
            end: node.end_byte() as u32,
            parent,
            after: number + 1,
            first_child: 0,
        });
        number
    }

    /// Puts the children of each node side by side.
    fn link(&mut self) {
        for at in 1..self.entries.len() {
            let parent = self.entries[at].parent;
            self.entries[parent as usize].first_child += 1;
        }
        let mut next = 0;
        for entry in &mut self.entries {
            next += entry.first_child;
            entry.first_child = next;
        }
        // From the last to the first, each node goes before what its parent has by now, which then begins where its children do.
        self.children = vec![ROOT; next as usize];
        for at in (1..self.entries.len()).rev() {
            let parent = self.entries[at].parent as usize;
            self.entries[parent].first_child -= 1;
            self.children[self.entries[parent].first_child as usize] = at as u32;
        }
    }

    /// Whether there is a node with that number.
    pub(super) fn has(&self, at: u32) -> bool {
        (at as usize) < self.entries.len()
    }

    /// What is known of a node.
    pub(super) fn entry(&self, at: u32) -> &Entry {
        &self.entries[at as usize]
    }

    /// The children of a node.
    pub(super) fn children(&self, at: u32) -> &[u32] {
        let end = self.entries.get(at as usize + 1).map_or(self.children.len(), |next| next.first_child as usize);
        &self.children[self.entry(at).first_child as usize..end]
    }

    /// The parent of a node.
    pub(super) fn parent(&self, at: u32) -> Option<u32> {
        (at != ROOT).then(|| self.entry(at).parent)
    }

    /// The children of a node's parent before and after it.
    pub(super) fn siblings(&self, at: u32) -> (&[u32], &[u32]) {
        let Some(parent) = self.parent(at) else { return (&[], &[]) };
        let children = self.children(parent);
        let (before, rest) = children.split_at(children.partition_point(|child| *child < at));
        (before, rest.get(1..).unwrap_or(&[]))
    }

    /// The line of an offset, from 0.
    pub(super) fn row(&self, offset: u32) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    /// The number of the first node after a node and its descendants.
    pub(super) fn after(&self, at: u32) -> u32 {
        self.entry(at).after
    }

    /// The smallest node below a node that covers the bytes `start..end`, as the parser finds it: of two nodes that touch an
    /// empty range, the second.
    pub(super) fn covering(
        &self,
        around: u32,
        start: usize,
        end: usize,
        counts: impl Fn(&Entry) -> bool,
    ) -> Option<u32> {
        if start > end {
            return None;
        }
        let (mut at, mut found) = (around, around);
        loop {
            let children = self.children(at);
            let reaches = |child: &u32| self.entry(*child).reaches(start, end);
            // Children end in the order in which they stand; the empty ones among them are looked at one by one.
            let first = children.partition_point(|child| (self.entry(*child).end as usize) < end);
            let child = children[first..].iter().copied().find(reaches);
            let Some(child) = child.filter(|child| self.entry(*child).start as usize <= start) else {
                return Some(found);
            };
            at = child;
            if counts(self.entry(at)) {
                found = at;
            }
        }
    }
}

impl Entry {
    /// Whether the node extends to the end of a range, and beyond its start.
    fn reaches(&self, start: usize, end: usize) -> bool {
        let own_end = self.end as usize;
        let is_beyond = if self.start == self.end { own_end >= start } else { own_end > start };
        own_end >= end && is_beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Field, Node, language};

    /// The parser's own answers are the judge.
    fn assert_like_the_parser(text: &str) {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(language()).unwrap();
        let tree = parser.parse(text, None).unwrap();
        let nodes = Nodes::of(&tree, text);
        let mut open = vec![(tree.root_node(), Node::root(&nodes), None)];
        let mut seen = 0;
        while let Some((theirs, ours, parent)) = open.pop() {
            seen += 1;
            let ids = |node: tree_sitter::Node| (node.start_byte(), node.end_byte(), Kind::of_id(node.kind_id()));
            let own = |node: Node| (node.start_byte(), node.end_byte(), node.kind());
            assert_eq!(ids(theirs), own(ours));
            assert_eq!(ours.parent(), parent, "the parent of {theirs:?}");
            // The parser loses siblings that cover no text, as it puts them where some is missing.
            let siblings = [
                (theirs.prev_sibling(), ours.prev_sibling()),
                (theirs.next_sibling(), ours.next_sibling()),
                (theirs.prev_named_sibling(), ours.prev_named_sibling()),
                (theirs.next_named_sibling(), ours.next_named_sibling()),
            ];
            for (theirs, found) in siblings {
                if ours.byte_range().is_empty() || found.is_some_and(|node| node.byte_range().is_empty()) {
                    continue;
                }
                assert_eq!(theirs.map(ids), found.map(own), "beside {ours:?}");
            }
            assert_eq!(theirs.named_child(0).map(ids), ours.named_child(0).map(own));
            assert_eq!(theirs.named_child_count(), ours.named_child_count());
            assert_eq!(theirs.kind().contains("declaration"), ours.is_declaration());
            assert_eq!(theirs.is_named(), ours.is_named());
            assert_eq!(theirs.start_position().row, ours.start_row());
            assert_eq!(theirs.end_position().row, ours.end_row());
            for (field, name) in Field::ALL {
                // In nodes with errors, and of nodes in parentheses, `child_by_field_id` answers for other nodes than children.
                let id = std::num::NonZero::new(field.id()).unwrap();
                let expected = theirs.children_by_field_id(id, &mut theirs.walk()).next();
                assert_eq!(expected.map(ids), ours.field(*field).map(own), "`{name}` of {theirs:?}");
                let direct = theirs.child_by_field_id(field.id());
                if direct.is_some_and(|direct| direct.parent() == Some(theirs)) {
                    assert_eq!(direct.map(ids), ours.field(*field).map(own), "`{name}` of {theirs:?}");
                }
            }
            for at in [ours.start_byte(), ours.end_byte()] {
                let found = tree.root_node().named_descendant_for_byte_range(at, at).map(ids);
                assert_eq!(found, Node::root(&nodes).named_descendant_for_byte_range(at, at).map(own), "at {at}");
                let end = (at + 1).min(text.len());
                let found = tree.root_node().descendant_for_byte_range(at, end).map(ids);
                assert_eq!(found, Node::root(&nodes).descendant_for_byte_range(at, end).map(own), "at {at}");
            }
            let children: Vec<_> = theirs.children(&mut theirs.walk()).collect();
            assert_eq!(children.len(), ours.children().count());
            open.extend(children.into_iter().zip(ours.children()).map(|(theirs, child)| (theirs, child, Some(ours))));
        }
        assert_eq!(seen, Node::root(&nodes).descendants().count());
    }

    #[test]
    fn steps_are_those_of_the_parser() {
        for text in [
            "",
            "int",
            "int f( { a[; }}} x",
            "\n\n #if X\nint a\n#else\n;\n#endif\n",
            "void f() { for (;;) ; if (a) b; else { }",
        ] {
            assert_like_the_parser(text);
        }
    }

    #[test]
    fn steps_are_those_of_the_parser_in_the_test_crates() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-crates");
        let mut open = vec![folder];
        let mut read = 0;
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            } else if path.extension().is_some_and(|extension| extension == "cu" || extension == "cuh") {
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                read += 1;
                assert_like_the_parser(&text);
            }
        }
        assert!(read > 0);
    }

    #[test]
    fn subtrees_that_are_refused_are_left_out() {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(language()).unwrap();
        let text = "void f() { { int a; } int b; } void g();";
        let tree = parser.parse(text, None).unwrap();
        let nodes = Nodes::of(&tree, text);
        let body = Node::root(&nodes).descendants().find(|node| node.kind() == Kind::CompoundStatement).unwrap();
        let outside = |_: Node, child: Node| child.kind() != Kind::CompoundStatement;
        let names = body.descendants_through(outside).filter(|node| node.kind() == Kind::Identifier).count();
        assert_eq!(names, 1);
        assert!(body.descendants().all(|node| node.byte_range().end <= body.byte_range().end));
    }
}
