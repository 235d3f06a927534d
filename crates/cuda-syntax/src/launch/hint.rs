//! Constants that may be the size of a block where a launch has a variable there: its first and later values, the
//! elements of a list that a loop goes through, and what calls pass for a parameter. They prove nothing, as other values
//! may come along, but a placeholder with the largest of them is the better one.

use lmem_base::gpu::MAX_BLOCK_THREADS;

use super::base_name;
use super::reader::{MAX_STEPS, Reader, all_nodes};
use crate::ast::{Assignment, Field, Kind, Node};

impl<'a> Reader<'a> {
    /// The largest constant that the block of a launch may be.
    pub(super) fn hint(&self, block: Node<'a>) -> Option<u32> {
        let root = self.tree.root()?;
        let mut found = Vec::new();
        self.collect(&all_nodes(root), block, MAX_STEPS, &mut found);
        let fits = found.into_iter().filter_map(|value| u32::try_from(value).ok());
        fits.filter(|threads| (1..=MAX_BLOCK_THREADS).contains(threads)).max()
    }

    fn collect(&self, nodes: &[Node<'a>], expression: Node<'a>, steps: usize, found: &mut Vec<i64>) {
        let Some(steps) = steps.checked_sub(1) else { return };
        if let Some(product) = self.product(expression, steps) {
            found.push(product.product());
            return;
        }
        let mut all = |node: Option<Node<'a>>| {
            if let Some(node) = node {
                self.collect(nodes, node, steps, found);
            }
        };
        match expression.kind() {
            Kind::Identifier => {
                for value in self.values_of(nodes, expression) {
                    all(Some(value));
                }
            }
            Kind::ParenthesizedExpression => all(expression.named_child(0)),
            Kind::CallExpression => {
                let is_block =
                    expression.field(Field::Function).is_some_and(|it| base_name(self.tree.slice(it)) == "dim3");
                let list = expression.field(Field::Arguments).filter(|list| is_block && list.named_child_count() == 1);
                all(list.and_then(|list| list.named_child(0)));
            }
            Kind::ConditionalExpression => {
                all(expression.field(Field::Consequence));
                all(expression.field(Field::Alternative));
            }
            _ => {}
        }
    }

    /// The expressions that a variable may have its value from, as far as the text shows them.
    fn values_of(&self, nodes: &[Node<'a>], used: Node<'a>) -> Vec<Node<'a>> {
        let name = self.tree.slice(used);
        let is_it = |node: Option<Node<'a>>| node.is_some_and(|node| self.tree.slice(node.declared_name()) == name);
        let around = used.ancestors().skip(1);
        for scope in around {
            let given = match scope.kind() {
                Kind::ForRangeLoop if is_it(scope.field(Field::Declarator)) => {
                    self.elements(nodes, scope.field(Field::Right))
                }
                Kind::LambdaExpression | Kind::FunctionDefinition => self.passed_for(nodes, scope, name),
                Kind::TemplateDeclaration => self.template_arguments_for(nodes, scope, name),
                _ => Vec::new(),
            };
            if !given.is_empty() {
                return given;
            }
        }
        let function = used.ancestors().filter(|node| node.kind() == Kind::FunctionDefinition).last();
        let within = function.into_iter().flat_map(all_nodes);
        let value = |node: Node<'a>| match node.kind() {
            Kind::InitDeclarator if is_it(node.field(Field::Declarator)) => node.field(Field::Value),
            Kind::AssignmentExpression => {
                let assignment = Assignment::of(node).filter(|it| it.is_plain())?;
                assignment.right().filter(|_| assignment.left().is_some_and(|left| self.tree.slice(left) == name))
            }
            _ => None,
        };
        within.filter_map(value).collect()
    }

    /// The elements of a list, or of an array that is declared with one.
    fn elements(&self, nodes: &[Node<'a>], list: Option<Node<'a>>) -> Vec<Node<'a>> {
        let lists = match list {
            Some(name) if name.kind() == Kind::Identifier => self.values_of(nodes, name),
            list => list.into_iter().collect(),
        };
        lists.into_iter().filter(|list| list.kind() == Kind::InitializerList).flat_map(Node::parts).collect()
    }

    /// What calls pass for a parameter of a function or a lambda, and its default.
    fn passed_for(&self, nodes: &[Node<'a>], function: Node<'a>, name: &str) -> Vec<Node<'a>> {
        let declarator = function.field(Field::Declarator);
        let list = declarator.into_iter().flat_map(all_nodes).find(|node| node.kind() == Kind::ParameterList);
        let parameters: Vec<Node<'a>> = list.into_iter().flat_map(Node::parts).collect();
        let is_it = |node: &Node<'a>| {
            node.field(Field::Declarator).is_some_and(|it| self.tree.slice(it.declared_name()) == name)
        };
        let Some(position) = parameters.iter().position(is_it) else { return Vec::new() };
        let own = match function.kind() {
            Kind::LambdaExpression => function.parent().and_then(|it| it.field(Field::Declarator)),
            _ => declarator.map(|it| it.declared_name()),
        };
        let own = own.map_or("", |own| base_name(self.tree.slice(own)));
        let calls = nodes.iter().filter(|node| node.kind() == Kind::CallExpression);
        let calls = calls
            .filter(|call| call.field(Field::Function).is_some_and(|called| base_name(self.tree.slice(called)) == own));
        let passed = calls.filter_map(|call| call.field(Field::Arguments)?.parts().nth(position));
        passed.chain(parameters[position].field(Field::DefaultValue)).collect()
    }

    /// What uses of a template give for one of its parameters.
    fn template_arguments_for(&self, nodes: &[Node<'a>], template: Node<'a>, name: &str) -> Vec<Node<'a>> {
        let Some(list) = template.field(Field::Parameters) else { return Vec::new() };
        let is_it = |node: Node<'a>| {
            node.field(Field::Declarator).is_some_and(|it| self.tree.slice(it.declared_name()) == name)
        };
        let Some(position) = list.parts().position(is_it) else { return Vec::new() };
        let function = template.children().find(|node| node.kind() == Kind::FunctionDefinition);
        let own =
            function.and_then(|it| it.field(Field::Declarator)).map_or("", |it| self.tree.slice(it.declared_name()));
        let uses = nodes.iter().filter(|node| node.kind() == Kind::TemplateFunction);
        let uses = uses.filter(|node| node.field(Field::Name).is_some_and(|it| self.tree.slice(it) == own));
        uses.filter_map(|node| node.field(Field::Arguments)?.parts().nth(position)).collect()
    }
}
