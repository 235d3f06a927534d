//! Alias resolution: the variables that pointers and references refer to.

use std::ops::Range;
use std::rc::Rc;

use crate::ast::{self, Field, Kind, Node};
use crate::tree::access_path::{access_path, index_range, subscripts};
use crate::tree::declarations::{Declaration, DeclarationKind, Declarations, resolve};
use crate::tree::functions::enclosing_function;
use crate::tree::syntax_tree::SyntaxTree;

/// Limit on alias chains such as `float* p = a; float* q = p + 1;`.
pub(super) const MAX_ALIASES: usize = 4;

/// A variable that an alias refers to, and the subscripts that select the part.
type Target = (Declaration, Vec<Range<usize>>);

/// `next = other`: the name, and the byte range of the value.
pub(super) struct Assignment {
    name: String,
    value: (usize, usize),
}

impl SyntaxTree {
    /// The variable itself; for an alias, the variables in its initializer with their subscripts.
    pub fn targets(&self, declaration: &Declaration, all: &Declarations, depth: usize) -> Vec<Target> {
        // An array of pointers is a variable itself, and also an alias of the pointees.
        let is_itself = declaration.kind == DeclarationKind::Array && declaration.type_text.contains('*');
        if depth == 0 || !(declaration.kind == DeclarationKind::Alias || is_itself) {
            return vec![(declaration.clone(), Vec::new())];
        }
        let node_at = |(start, end): (usize, usize)| self.root()?.named_descendant_for_byte_range(start, end);
        // A pointer may be reassigned later.
        let assigned = self.assigned(declaration);
        let sources = declaration.initializer.into_iter().chain(assigned).filter_map(node_at);
        let mut targets: Vec<Target> = Vec::new();
        for identifier in sources.flat_map(|source| self.identifiers(source)) {
            let named = resolve(all, self.slice(identifier), identifier.start_byte());
            let Some(named) = named.filter(|it| it.range != declaration.range && it.kind != DeclarationKind::Scalar)
            else {
                continue;
            };
            let distance = distance(identifier);
            let found = self.targets(named, all, depth - 1).into_iter();
            targets.extend(found.map(|(target, outer)| (target, outer.into_iter().chain(distance.clone()).collect())));
        }
        targets.dedup();
        if targets.is_empty() || is_itself {
            targets.insert(0, (declaration.clone(), Vec::new()));
        }
        targets
    }

    /// Values assigned to a variable after its declaration, as byte ranges of the right sides.
    fn assigned(&self, declaration: &Declaration) -> Vec<(usize, usize)> {
        if declaration.is_parameter || declaration.kind != DeclarationKind::Alias {
            return Vec::new();
        }
        let Some(root) = self.root() else { return Vec::new() };
        let at = root.named_descendant_for_byte_range(declaration.range.0, declaration.range.1);
        let Some(function) = at.and_then(enclosing_function) else { return Vec::new() };
        let key = function.start_byte();
        let known = self.memory.assignments.borrow().get(&key).cloned();
        let assignments = known.unwrap_or_else(|| {
            let found: Rc<[Assignment]> = self.assignments(function).into();
            self.memory.assignments.borrow_mut().insert(key, Rc::clone(&found));
            found
        });
        let is_to = |assignment: &&Assignment| {
            assignment.name == declaration.name && declaration.is_in_scope(assignment.value.0)
        };
        assignments.iter().filter(is_to).map(|assignment| assignment.value).collect()
    }

    /// All plain assignments to variables in a function.
    fn assignments(&self, function: Node<'_>) -> Vec<Assignment> {
        let read = |assignment: ast::Assignment<'_>| {
            let left = assignment.left().filter(|left| left.kind() == Kind::Identifier)?;
            let right = assignment.right()?;
            let value = (right.start_byte(), right.end_byte());
            Some(Assignment { name: self.slice(left).to_string(), value })
        };
        let plain = function.descendants().filter_map(ast::Assignment::of).filter(|it| it.is_plain());
        let mut found: Vec<Assignment> = plain.filter_map(read).collect();
        found.sort_by_key(|assignment| assignment.value);
        found
    }
}

/// The offset of a pointer from the start of its variable: the subscripts, or the added expressions.
fn distance(identifier: Node<'_>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = subscripts(identifier).filter_map(index_range).collect();
    let mut node = access_path(identifier);
    let is_pointer = found.is_empty();
    while let Some(sum) = node.parent().filter(|parent| is_pointer && parent.kind() == Kind::BinaryExpression) {
        let (left, right) = (sum.field(Field::Left), sum.field(Field::Right));
        let is_sum = matches!(sum.operator(), Some("+" | "-"));
        let other = if left.is_some_and(|left| left == node) { right } else { left };
        let (true, Some(other)) = (is_sum, other) else { break };
        found.push(other.byte_range());
        node = sum;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::mentions_at;

    #[test]
    fn aliases_stand_for_what_they_point_to() {
        assert_eq!(mentions_at(13, 31), [("acc".to_string(), Some("k".to_string()), true, true)]);
    }
}
