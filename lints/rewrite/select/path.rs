//! A variable with its subscripts and members: `state.key[index]`.

use cuda_syntax::ast::{Field, Kind, Node, Subscript};

/// A variable with its subscripts and members.
pub(super) struct Path<'t> {
    pub node: Node<'t>,
    pub steps: Vec<Step<'t>>,
    /// Whether the path is the whole expression, with nothing after it.
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

    /// The indices of the subscripts.
    pub fn indices(&self) -> impl Iterator<Item = Node<'t>> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Index(subscript) => Subscript::of(*subscript).and_then(Subscript::index),
            Step::Field(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use cuda_syntax::SyntaxTree;

    use super::*;

    /// The path of the last `a` in a statement, its indices, and whether it is the whole expression.
    fn path(statement: &str) -> (String, Vec<String>, bool) {
        let text = format!("__global__ void k(S a, S *p, int n) {{ {statement} }}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let is_name = |node: &Node<'_>| node.kind() == Kind::Identifier && tree.slice(*node) == "a";
        let name = tree.root().unwrap().descendants().filter(is_name).last().unwrap();
        let path = Path::of(name).unwrap();
        let indices = path.indices().map(|index| tree.slice(index).to_string()).collect();
        (tree.slice(path.node).to_string(), indices, path.is_whole)
    }

    #[test]
    fn subscripts_and_members_in_their_order() {
        assert_eq!(path("a[n] = 0;"), ("a[n]".into(), vec!["n".into()], true));
        assert_eq!(path("a[1][n + 1] = 0;"), ("a[1][n + 1]".into(), vec!["1".into(), "n + 1".into()], true));
        assert_eq!(path("a.key[n].x = 0;"), ("a.key[n].x".into(), vec!["n".into()], true));
        assert_eq!(path("f(a);"), ("a".into(), vec![], true));
    }

    #[test]
    fn a_path_ends_where_a_pointer_is_followed() {
        assert_eq!(path("a.next->key[n] = 0;"), ("a.next".into(), vec![], true));
        // An index is not a part of the path.
        assert_eq!(path("p[a].key = 0;"), ("a".into(), vec![], true));
    }
}
