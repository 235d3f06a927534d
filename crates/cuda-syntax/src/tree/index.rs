//! Where the kinds of nodes and the identifiers of a text stand.
//!
//! Each object asks for all functions, all macros or all uses of its name. With this index each of these questions looks at what it
//! finds, and not at the whole text.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::rc::Rc;

use crate::ast::{Kind, Node};
use crate::tree::mentions::is_identifier;
use crate::tree::syntax_tree::SyntaxTree;

/// Numbers of nodes, in source order.
#[derive(Default)]
pub struct Index {
    kinds: HashMap<Kind, Vec<usize>>,
    names: HashMap<String, Vec<usize>>,
}

impl SyntaxTree {
    fn index(&self) -> &Index {
        self.memory.index.get_or_init(|| {
            let mut index = Index::default();
            for node in self.nodes() {
                index.kinds.entry(node.kind()).or_default().push(node.id());
                if !is_identifier(node) {
                    continue;
                }
                match index.names.get_mut(self.slice(node)) {
                    Some(places) => places.push(node.id()),
                    None => drop(index.names.insert(self.slice(node).to_string(), vec![node.id()])),
                }
            }
            index
        })
    }

    /// All nodes of some kinds, in source order.
    pub fn nodes_of(&self, kinds: &[Kind]) -> impl Iterator<Item = Node<'_>> {
        let mut found: Vec<usize> =
            kinds.iter().filter_map(|kind| self.index().kinds.get(kind)).flatten().copied().collect();
        found.sort_unstable();
        found.into_iter().filter_map(|id| self.node(id))
    }

    /// Identifiers below a node of this tree with that spelling, in source order.
    pub fn named<'t>(&'t self, node: Node<'t>, name: &str) -> impl DoubleEndedIterator<Item = Node<'t>> {
        let places = self.index().names.get(name).map_or(&[][..], Vec::as_slice);
        let below = node.id()..node.end_id();
        let first = places.partition_point(|id| *id < below.start);
        let count = places[first..].partition_point(|id| *id < below.end);
        places[first..first + count].iter().filter_map(|id| self.node(*id))
    }

    /// An answer on the whole text, found once for each type of answer.
    pub fn kept<Answer: 'static>(&self, find: impl FnOnce(&Self) -> Answer) -> Rc<Answer> {
        let key = TypeId::of::<Answer>();
        let known = self.memory.kept.borrow().get(&key).cloned();
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return known;
        }
        let found = Rc::new(find(self));
        self.memory.kept.borrow_mut().insert(key, Rc::clone(&found) as Rc<dyn Any>);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_those_that_a_walk_finds() {
        let text =
            "struct S { int a; };\nvoid f(int a) { int b = a; { S a; a.a = b; } }\nvoid g() { int a; S s(a); }\n";
        let tree = SyntaxTree::example("a.cu", text);
        let kinds = [Kind::FunctionDefinition, Kind::StructSpecifier, Kind::Identifier];
        let walked: Vec<usize> = tree.nodes().filter(|node| kinds.contains(&node.kind())).map(Node::id).collect();
        assert_eq!(tree.nodes_of(&kinds).map(Node::id).collect::<Vec<_>>(), walked);
        for around in tree.nodes() {
            for name in ["a", "b", "s", "S", "x"] {
                let is_it = |node: &Node<'_>| is_identifier(*node) && tree.slice(*node) == name;
                let walked: Vec<usize> = around.descendants().filter(is_it).map(Node::id).collect();
                assert_eq!(tree.named(around, name).map(Node::id).collect::<Vec<_>>(), walked);
            }
        }
    }

    #[test]
    fn answers_are_found_once() {
        struct Functions(usize);
        struct Classes(usize);
        let tree = SyntaxTree::example("a.cu", "struct S {};\nvoid f() {}\nvoid g() {}\n");
        let functions = || tree.kept(|tree| Functions(tree.nodes_of(&[Kind::FunctionDefinition]).count())).0;
        let classes = || tree.kept(|tree| Classes(tree.nodes_of(&[Kind::StructSpecifier]).count())).0;
        assert_eq!((functions(), classes()), (2, 1));
        assert_eq!(tree.kept(|_| Functions(0)).0, 2);
    }
}
