//! Index expressions as linear combinations of variables of type `int`: `4 * group + b - 1`. Sums of such variables do not
//! wrap around, so that terms may cancel.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Member, Node};

use crate::rewrite::facts::integers::is_int;

/// No index of an array in registers has larger factors, or more added to it.
const MOST: i64 = 1 << 16;

/// A constant, and variables or members with factors.
#[derive(Clone)]
pub struct Linear<'t> {
    pub constant: i64,
    terms: Vec<(Node<'t>, i64)>,
}

impl<'t> Linear<'t> {
    /// `None` for an expression of another form, or with other types.
    pub fn of(tree: &SyntaxTree, expression: Node<'t>) -> Option<Self> {
        Self::with(tree, expression, &|name| Self::of_name(tree, name))
    }

    /// A variable of type `int`.
    pub fn of_name(tree: &SyntaxTree, name: Node<'t>) -> Option<Self> {
        is_int(tree, name).then(|| Self { constant: 0, terms: vec![(name, 1)] })
    }

    pub fn of_value(value: i64) -> Option<Self> {
        Self { constant: value, terms: Vec::new() }.checked()
    }

    /// The same, with what names stand for.
    pub fn with(tree: &SyntaxTree, expression: Node<'t>, names: &dyn Fn(Node<'t>) -> Option<Self>) -> Option<Self> {
        let expression = expression.without_parentheses();
        if let Some(value) = tree.value_of(expression) {
            return Self::of_value(value);
        }
        let part = |node: Option<Node<'t>>| Self::with(tree, node?, names);
        match expression.kind() {
            Kind::Identifier => names(expression),
            Kind::FieldExpression => {
                let object = Member::of(expression).filter(|member| member.is_of_object())?.object()?;
                let is_term = object.kind() == Kind::Identifier && is_int(tree, expression);
                is_term.then(|| Self { constant: 0, terms: vec![(expression, 1)] })
            }
            Kind::UnaryExpression if expression.operator() == Some("-") => {
                part(expression.field(Field::Argument))?.times(-1)
            }
            Kind::BinaryExpression => {
                let binary = Binary::of(expression)?;
                let (left, right) = (part(binary.left())?, part(binary.right())?);
                match binary.operator()? {
                    "+" => left.plus(tree, &right),
                    "-" => left.plus(tree, &right.times(-1)?),
                    "*" if right.terms.is_empty() => left.times(right.constant),
                    "*" if left.terms.is_empty() => right.times(left.constant),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    pub fn times(mut self, factor: i64) -> Option<Self> {
        self.constant = self.constant.checked_mul(factor)?;
        for (_, own) in &mut self.terms {
            *own = own.checked_mul(factor)?;
        }
        self.checked()
    }

    pub fn plus(mut self, tree: &SyntaxTree, other: &Self) -> Option<Self> {
        self.constant = self.constant.checked_add(other.constant)?;
        for (term, factor) in &other.terms {
            match self.terms.iter_mut().find(|(own, _)| tree.slice(*own) == tree.slice(*term)) {
                Some((_, own)) => *own += factor,
                None => self.terms.push((*term, *factor)),
            }
        }
        self.checked()
    }

    /// The factor of a variable, and the rest.
    pub fn split(mut self, tree: &SyntaxTree, name: &str) -> (i64, Self) {
        let own = self.terms.iter().position(|(term, _)| tree.slice(*term) == name);
        let factor = own.map_or(0, |at| self.terms.remove(at).1);
        (factor, self)
    }

    /// The variables and members, with their factors.
    pub fn terms(&self) -> &[(Node<'t>, i64)] {
        &self.terms
    }

    fn checked(mut self) -> Option<Self> {
        self.terms.retain(|(_, factor)| *factor != 0);
        let is_small = |value: i64| value.checked_abs().is_some_and(|value| value <= MOST);
        (is_small(self.constant) && self.terms.iter().all(|(_, factor)| is_small(*factor))).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_added_up() {
        for (expression, expected) in [
            ("i + 3", Some("1 i + 3")),
            ("(g * 4 + b) - 1", Some("4 g, 1 b + -1")),
            ("-r + (i + r)", Some("1 i + 0")),
            ("2 * (N - i)", Some("-2 i + 16")),
            ("p.m - 1 - i", Some("1 p.m, -1 i + -1")),
            ("i * r", None),
            ("i / 2", None),
            ("i + u", None),
            ("i + f(r)", None),
            ("i + q->m", None),
        ] {
            let text = format!(
                "constexpr int N = 8;\nstruct P {{ int m; }};\n__global__ void k(int i, int g, int b, int r, unsigned u, P p, P* q) {{ x = {expression}; }}\n"
            );
            let tree = SyntaxTree::example("a.cu", &text);
            let start = text.find("x = ").unwrap() + 4;
            let node = tree.root().unwrap().named_descendant_for_byte_range(start, start + expression.len()).unwrap();
            let found = Linear::of(&tree, node).map(|found| {
                let terms: Vec<String> =
                    found.terms.iter().map(|(term, factor)| format!("{factor} {}", tree.slice(*term))).collect();
                format!("{} + {}", terms.join(", "), found.constant)
            });
            assert_eq!(found.as_deref(), expected, "{expression}");
        }
    }
}
