//! A variable with the subscripts and members behind it: `state.key[index]`.

use cuda_syntax::ast::{Field, Kind, Node, Subscript};

/// A variable with the subscripts and members behind it.
pub(super) struct Path<'t> {
    pub node: Node<'t>,
    pub steps: Vec<Step<'t>>,
    /// Nothing else stands behind it.
    pub is_whole: bool,
}

/// A part of a path.
pub(super) enum Step<'t> {
    Index(Node<'t>),
    Field(Node<'t>),
}

impl<'t> Path<'t> {
    pub fn of(name: Node<'t>) -> Option<Self> {
        let (mut node, mut steps) = (name, Vec::new());
        loop {
            let parent = node.parent()?;
            let is_argument = parent.field(Field::Argument) == Some(node);
            match parent.kind() {
                Kind::SubscriptExpression if is_argument => steps.push(Step::Index(parent)),
                Kind::FieldExpression if is_argument => {
                    if parent.field(Field::Operator).is_none_or(|operator| !operator.is_token(".")) {
                        return Some(Self { node, steps, is_whole: true });
                    }
                    let is_name = parent.field(Field::Field).is_some_and(|it| it.kind() == Kind::FieldIdentifier);
                    if !is_name {
                        return Some(Self { node, steps, is_whole: false });
                    }
                    steps.push(Step::Field(parent));
                }
                _ => return Some(Self { node, steps, is_whole: true }),
            }
            node = parent;
        }
    }

    /// The indices of its subscripts.
    pub fn indices(&self) -> impl Iterator<Item = Node<'t>> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Index(subscript) => Subscript::of(*subscript).and_then(Subscript::index),
            Step::Field(_) => None,
        })
    }
}
