//! Transitive closure over a graph: for each node, the joined answers of all nodes that it reaches.
//!
//! Nodes that reach each other share one answer, so each strongly connected component is computed once (Tarjan,
//! "Depth-first search and linear graph algorithms", 1972) and cached. All queries on one function together visit each
//! edge once.

use std::rc::Rc;

/// Cached answers by node; nodes are dense numbers.
#[derive(Debug)]
pub(super) struct Closure<T> {
    /// Preorder number of the visit, from 1; 0 for nodes not visited yet.
    number: Vec<u32>,
    known: Vec<Option<Rc<T>>>,
    /// Whether the node is on a cycle with at least one other node.
    is_circular: Vec<bool>,
    visited: u32,
}

impl<T> Default for Closure<T> {
    fn default() -> Self {
        Self { number: Vec::new(), known: Vec::new(), is_circular: Vec::new(), visited: 0 }
    }
}

/// A node whose successors are being visited.
struct Open<T> {
    node: usize,
    low: u32,
    successors: Vec<usize>,
    next: usize,
    answer: T,
}

impl<T> Closure<T> {
    /// The answer of `start`. `visit` returns a node's own contribution and appends its successors; `join` merges one
    /// answer into another.
    pub fn of(
        &mut self,
        start: usize,
        mut visit: impl FnMut(usize, &mut Vec<usize>) -> T,
        join: impl Fn(&mut T, &T),
    ) -> Rc<T> {
        if let Some(known) = self.known(start) {
            return Rc::clone(known);
        }
        let mut component: Vec<usize> = Vec::new();
        let mut path = vec![self.open(start, &mut visit, &mut component)];
        while let Some(top) = path.last_mut() {
            if let Some(next) = top.successors.get(top.next).copied() {
                top.next += 1;
                match (self.known(next), self.number.get(next).copied().unwrap_or(0)) {
                    (Some(known), _) => join(&mut top.answer, known),
                    (None, 0) => path.push(self.open(next, &mut visit, &mut component)),
                    (None, number) => top.low = top.low.min(number),
                }
                continue;
            }
            let Some(done) = path.pop() else { break };
            if done.low < self.number[done.node] {
                // Part of a component whose root is further down the path.
                if let Some(below) = path.last_mut() {
                    below.low = below.low.min(done.low);
                    join(&mut below.answer, &done.answer);
                }
                continue;
            }
            let answer = Rc::new(done.answer);
            let first = component.iter().rposition(|node| *node == done.node).unwrap_or(0);
            let is_circular = component.len() - first > 1;
            for node in component.drain(first..) {
                self.known[node] = Some(Rc::clone(&answer));
                self.is_circular[node] = is_circular;
            }
            match path.last_mut() {
                Some(below) => join(&mut below.answer, &answer),
                None => return answer,
            }
        }
        // Unreachable: the loop returns when it finishes the first node of the path.
        let nothing = visit(start, &mut Vec::new());
        Rc::new(nothing)
    }

    /// Whether a visited node is on a cycle with at least one other node.
    pub fn is_circular(&self, node: usize) -> bool {
        self.is_circular.get(node).copied().unwrap_or(false)
    }

    fn known(&self, node: usize) -> Option<&Rc<T>> {
        self.known.get(node)?.as_ref()
    }

    fn open(
        &mut self,
        node: usize,
        visit: &mut impl FnMut(usize, &mut Vec<usize>) -> T,
        component: &mut Vec<usize>,
    ) -> Open<T> {
        if self.number.len() <= node {
            let length = (node + 1).next_power_of_two();
            self.number.resize(length, 0);
            self.known.resize_with(length, || None);
            self.is_circular.resize(length, false);
        }
        self.visited += 1;
        self.number[node] = self.visited;
        component.push(node);
        let mut successors = Vec::new();
        let answer = visit(node, &mut successors);
        Open { node, low: self.visited, successors, next: 0, answer }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const EDGES: [&[usize]; 7] = [&[1], &[2, 4], &[3], &[1], &[5], &[5], &[0, 6]];

    fn reached(closure: &mut Closure<BTreeSet<usize>>, start: usize, visits: &mut usize) -> Vec<usize> {
        let visit = |node: usize, successors: &mut Vec<usize>| {
            *visits += 1;
            successors.extend(EDGES[node]);
            BTreeSet::from([node])
        };
        closure.of(start, visit, |all, more| all.extend(more)).iter().copied().collect()
    }

    #[test]
    fn circles_have_one_answer_and_nothing_is_visited_twice() {
        let (mut closure, mut visits) = (Closure::default(), 0);
        assert_eq!(reached(&mut closure, 2, &mut visits), [1, 2, 3, 4, 5]);
        assert_eq!(reached(&mut closure, 1, &mut visits), [1, 2, 3, 4, 5]);
        assert_eq!(reached(&mut closure, 6, &mut visits), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(visits, EDGES.len());
        let circular: Vec<usize> = (0..EDGES.len()).filter(|node| closure.is_circular(*node)).collect();
        assert_eq!(circular, [1, 2, 3]);
    }

    #[test]
    fn long_ways_need_no_stack() {
        let mut closure: Closure<usize> = Closure::default();
        let visit = |node: usize, successors: &mut Vec<usize>| {
            successors.extend((node < 200_000).then_some(node + 1));
            node
        };
        assert_eq!(*closure.of(0, visit, |most, other| *most = (*most).max(*other)), 200_000);
    }
}
