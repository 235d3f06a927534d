//! Uses of variables in a region, by name or through aliases.

use std::ops::Range;
use std::rc::Rc;

use super::aliases::MAX_ALIASES;
use crate::ast::{Field, Kind, Node};
use crate::tree::access_path::{access_path, index_range, subscripts};
use crate::tree::construction::is_argument;
use crate::tree::declarations::{Declaration, Declarations, resolve};
use crate::tree::functions::enclosing_function;
use crate::tree::region::nodes_of;
use crate::tree::role::{is_operand, role};
use crate::tree::syntax_tree::SyntaxTree;
use crate::tree::volatile::Volatility;

/// A use of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    pub declaration: Declaration,
    /// The identifier in the text, which may be an alias.
    pub identifier: Range<usize>,
    /// Byte range of the whole expression: `window[k]`, or the name alone.
    pub range: Range<usize>,
    /// Byte range of each subscript: two for `a[i][j]`.
    pub indices: Vec<Range<usize>>,
    /// For a use through an alias, the subscripts in the alias's initializer: `s` of `Biquad& q = section[s]`, `4 * k`
    /// of `float* p = a + 4 * k`.
    pub outer: Vec<Range<usize>>,
    pub is_read: bool,
    pub is_written: bool,
    /// The variable itself is an argument of a call, or has its address taken.
    pub is_passed: bool,
    /// The whole variable is an operand of arithmetic or a comparison.
    pub is_operand: bool,
    /// The subscripts that the code of a macro adds: whether one is no number; `None` without any.
    pub macro_index: Option<bool>,
}

impl Mention {
    /// Whether the use is through an alias.
    pub fn is_by_other_name(&self, text: &str) -> bool {
        text.get(self.identifier.clone()) != Some(self.declaration.name.as_str())
    }
}

impl SyntaxTree {
    /// Uses of local variables and parameters in a region, with aliases resolved.
    pub fn mentions(&self, region: Node<'_>) -> Rc<[Mention]> {
        let range = (region.start_byte(), region.end_byte());
        if let Some(known) = self.memory.mentions.borrow().get(&range) {
            return Rc::clone(known);
        }
        let mentions: Rc<[Mention]> = self.find_mentions(region).into();
        self.memory.mentions.borrow_mut().insert(range, Rc::clone(&mentions));
        mentions
    }

    fn find_mentions(&self, region: Node<'_>) -> Vec<Mention> {
        let declarations = enclosing_function(region).map(|function| self.declarations(function)).unwrap_or_default();
        let mut mentions = Vec::new();
        for identifier in self.identifiers(region).into_iter().filter(|identifier| !is_parameter_name(*identifier)) {
            let Some(declaration) = resolve(&declarations, self.slice(identifier), identifier.start_byte()) else {
                continue;
            };
            let mut usage = self.usage(identifier, declaration);
            // `p[i] = 1` reads the volatile pointer `p`, even though it writes the pointee.
            if declaration.volatility == Some(Volatility::Pointer) && usage.range != identifier.byte_range() {
                (usage.is_read, usage.is_written, usage.indices) = (true, false, Vec::new());
            }
            for (target, outer) in self.targets(declaration, &declarations, MAX_ALIASES) {
                mentions.push(Mention { declaration: target, outer, ..usage.clone() });
            }
        }
        mentions
    }

    /// Uses of a declaration that the tree does not have, by name.
    pub fn uses_of(&self, region: Node<'_>, declaration: &Declaration) -> Vec<Mention> {
        let identifiers = self.identifiers(region).into_iter().filter(|node| self.slice(*node) == declaration.name);
        identifiers.map(|node| self.usage(node, declaration)).collect()
    }

    /// Identifiers of a region, in source order.
    pub fn identifiers<'t>(&self, region: Node<'t>) -> Vec<Node<'t>> {
        nodes_of(region).filter(|node| is_identifier(*node)).collect()
    }

    /// Identifiers of a node and of all nested blocks, in source order.
    pub fn identifiers_below<'t>(&self, node: Node<'t>) -> Vec<Node<'t>> {
        node.descendants().filter(|node| is_identifier(*node)).collect()
    }

    /// Whether two variables of one block, or of a block and one in it, have their lives one after the other: no name of the
    /// first stands behind the declaration of the second, nor in a loop around it that begins in the first's life.
    pub fn is_replaced_by(&self, first: &Declaration, second: &Declaration) -> bool {
        let function = self.node_at(first.range.0).and_then(enclosing_function);
        function.is_some_and(|function| {
            let names = self.names_of(function, &self.declarations(function), first);
            let declared = self.node_at(second.range.0);
            let loops = declared.into_iter().flat_map(Node::ancestors).filter(|node| node.kind().is_loop());
            let start = loops.map(|node| node.start_byte()).filter(|start| *start > first.range.0).min();
            first.range < second.range
                && first.scope.1 >= second.scope.1
                && first.scope.1 > second.range.0
                && names.iter().all(|name| name.end_byte() <= start.unwrap_or(second.range.0))
        })
    }

    /// Identifiers below a node that refer to one of the given declarations, in source order; the declared identifier
    /// is left out.
    pub fn names_of<'t>(&'t self, node: Node<'t>, all: &Declarations, own: &Declaration) -> Vec<Node<'t>> {
        let is_own = |name: &Node<'_>| {
            name.start_byte() != own.range.0
                && resolve(all, &own.name, name.start_byte()).is_some_and(|found| found.range == own.range)
        };
        self.named(node, &own.name).filter(is_own).collect()
    }

    fn usage(&self, identifier: Node<'_>, declaration: &Declaration) -> Mention {
        let whole = access_path(identifier);
        let indices = subscripts(identifier).filter_map(index_range).collect();
        let (is_read, is_written, is_passed) = role(whole);
        Mention {
            declaration: declaration.clone(),
            identifier: identifier.byte_range(),
            range: whole.byte_range(),
            indices,
            outer: Vec::new(),
            is_read,
            is_written,
            is_passed,
            is_operand: is_operand(whole),
            macro_index: None,
        }
    }
}

/// Whether a node may be the name of a variable: an identifier, or what the grammar takes for a parameter's type.
pub(super) fn is_identifier(node: Node<'_>) -> bool {
    node.kind() == Kind::Identifier || is_argument(node)
}

/// Whether an identifier is a parameter name in the head of a function whose head and body are one region.
fn is_parameter_name(identifier: Node<'_>) -> bool {
    let mut node = identifier;
    while let Some(parent) = node.parent().filter(|parent| parent.is_declarator()) {
        node = parent;
    }
    let is_name = |parent: Node<'_>| parent.field(Field::Declarator) == Some(node);
    node.parent().is_some_and(|parent| parent.is_parameter_declaration() && is_name(parent))
}

#[cfg(test)]
mod tests {
    use super::super::tests::mentions_at;

    #[test]
    fn statements_mention_variables() {
        let row = |name: &str, index: &str, read, written| (name.to_string(), Some(index.to_string()), read, written);
        assert_eq!(mentions_at(8, 5), [row("acc", "j", false, true), row("in", "j", true, false)]);
        assert_eq!(
            mentions_at(9, 5),
            [row("acc", "s.key[j]", true, true), row("s", "j", true, false), row("window", "3", true, false)]
        );
        assert_eq!(mentions_at(14, 3), [row("acc", "n", true, false)]);
    }
}
