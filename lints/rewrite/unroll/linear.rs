//! Index expressions as linear combinations of variables of type `int`: `4 * group + b - 1`. Sums of such variables do not
//! wrap around, so that terms may cancel. Beside them may be a number of a triangle, `i * (i + 1) / 2`.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Call, Field, Kind, Member, Node};

use crate::rewrite::facts::called::called;
use crate::rewrite::facts::integers::is_int;

/// No index of an array in registers has larger factors, or more added to it.
const MOST: i64 = 1 << 16;

/// A constant, and variables or members with factors.
#[derive(Clone)]
pub struct Linear<'t> {
    pub constant: i64,
    terms: Vec<(Node<'t>, i64)>,
    /// `x * (x + 1) / 2` of a variable plus a constant.
    triangle: Option<(Node<'t>, i64)>,
}

/// The most that is added to the variable of a triangle; the least is -1, with which no number is negative.
const MOST_ADDED: i64 = 8;

/// What the names in an expression stand for.
type Names<'n, 't> = &'n dyn Fn(Node<'t>) -> Option<Linear<'t>>;

/// How far calls of functions that return an expression are followed.
const DEPTH: u32 = 2;

impl<'t> Linear<'t> {
    /// `None` for an expression of another form, or with other types.
    pub fn of(tree: &'t SyntaxTree, expression: Node<'t>) -> Option<Self> {
        Self::with_triangle(tree, expression).filter(|it| it.triangle.is_none())
    }

    /// The same, where a number of a triangle may be added.
    pub fn with_triangle(tree: &'t SyntaxTree, expression: Node<'t>) -> Option<Self> {
        Self::followed(tree, expression, &|name| Self::of_name(tree, name), DEPTH)
    }

    /// A variable of type `int`.
    pub fn of_name(tree: &SyntaxTree, name: Node<'t>) -> Option<Self> {
        is_int(tree, name).then(|| Self::of_term(name))
    }

    fn of_term(term: Node<'t>) -> Self {
        Self { constant: 0, terms: vec![(term, 1)], triangle: None }
    }

    pub fn of_value(value: i64) -> Option<Self> {
        Self { constant: value, terms: Vec::new(), triangle: None }.checked()
    }

    /// The same, with what names stand for.
    pub fn with(tree: &'t SyntaxTree, expression: Node<'t>, names: Names<'_, 't>) -> Option<Self> {
        Self::followed(tree, expression, names, DEPTH).filter(|it| it.triangle.is_none())
    }

    fn followed(tree: &'t SyntaxTree, expression: Node<'t>, names: Names<'_, 't>, depth: u32) -> Option<Self> {
        let leaf = |node: Node<'t>| match node.kind() {
            Kind::Identifier => names(node),
            Kind::FieldExpression => {
                let object = Member::of(node).filter(|member| member.is_of_object())?.object()?;
                (object.kind() == Kind::Identifier && is_int(tree, node)).then(|| Self::of_term(node))
            }
            Kind::CallExpression => {
                let depth = depth.checked_sub(1)?;
                Self::expanded(tree, node, names).or_else(|| Self::returned(tree, node, names, depth))
            }
            _ => None,
        };
        Self::built(tree, expression, &|node| tree.value_of(node), &leaf)
    }

    /// What a macro stands for here: `AT(i, j)`, with names of its arguments.
    fn expanded(tree: &'t SyntaxTree, call: Node<'t>, names: Names<'_, 't>) -> Option<Self> {
        let own = tree.macro_of(call)?;
        let (code, expression) = own.expression()?;
        let given: Vec<Node<'t>> = Call::of(call)?.arguments().flat_map(|it| tree.identifiers(it)).collect();
        let named = |node: Node<'_>| {
            let same = given.iter().find(|it| tree.slice(**it) == code.slice(node))?;
            (node.kind() == Kind::Identifier).then(|| names(*same))?
        };
        Self::built(tree, expression, &|node| tree.evaluate(code.slice(node), call.start_byte()), &named)
    }

    /// What a function returns that does nothing else: `at(i, j)`.
    fn returned(tree: &'t SyntaxTree, call: Node<'t>, names: Names<'_, 't>, depth: u32) -> Option<Self> {
        let call = Call::of(call)?;
        let function = called(tree, call).filter(|it| it.object.is_none() && it.returns_int())?;
        let mut statements = function.body.parts();
        let only = statements.next().filter(|it| it.kind() == Kind::ReturnStatement && statements.next().is_none())?;
        let arguments: Vec<Node<'t>> = call.arguments().collect();
        let own = |name: Node<'t>| {
            let mut numbers = (0..arguments.len()).filter_map(|at| Some((at, function.number(at)?)));
            let (at, _) = numbers.find(|(_, number)| tree.slice(*number) == tree.slice(name))?;
            is_int(tree, name).then(|| Self::followed(tree, arguments[at], names, depth))?
        };
        Self::followed(tree, only.parts().next()?, &own, depth)
    }

    /// From the parts of an expression, which may be one of the code of a macro.
    fn built<'e>(
        tree: &SyntaxTree,
        expression: Node<'e>,
        value: &dyn Fn(Node<'e>) -> Option<i64>,
        leaf: &dyn Fn(Node<'e>) -> Option<Self>,
    ) -> Option<Self> {
        let expression = expression.without_parentheses();
        if let Some(value) = value(expression) {
            return Self::of_value(value);
        }
        let part = |node: Option<Node<'e>>| Self::built(tree, node?, value, leaf);
        match expression.kind() {
            Kind::UnaryExpression if expression.operator() == Some("-") => {
                part(expression.field(Field::Argument))?.times(-1)
            }
            Kind::BinaryExpression => {
                let binary = Binary::of(expression)?;
                if binary.operator()? == "/" {
                    let halves = binary.right().and_then(value) == Some(2);
                    let product = binary.left().map(Node::without_parentheses).and_then(Binary::of)?;
                    let is_product = halves && product.operator() == Some("*");
                    return is_product.then(|| Self::half_of(tree, &part(product.left())?, &part(product.right())?))?;
                }
                let (left, right) = (part(binary.left())?, part(binary.right())?);
                match binary.operator()? {
                    "+" => left.plus(tree, &right),
                    "-" => left.plus(tree, &right.times(-1)?),
                    "*" if right.is_constant() => left.times(right.constant),
                    "*" if left.is_constant() => right.times(left.constant),
                    _ => None,
                }
            }
            _ => leaf(expression),
        }
    }

    fn is_constant(&self) -> bool {
        self.terms.is_empty() && self.triangle.is_none()
    }

    /// Half of the product of two successive numbers.
    fn half_of(tree: &SyntaxTree, one: &Self, other: &Self) -> Option<Self> {
        let name = |it: &Self| match (it.terms.as_slice(), it.triangle) {
            ([(name, 1)], None) => Some(*name),
            _ => None,
        };
        let (own, again) = (name(one)?, name(other)?);
        let least = one.constant.min(other.constant);
        let is_next = one.constant.max(other.constant) == least + 1;
        let triangle = Some((own, least));
        let is_own = own == again || tree.slice(own) == tree.slice(again);
        (is_next && is_own).then(|| Self { constant: 0, terms: Vec::new(), triangle }.checked())?
    }

    pub fn times(mut self, factor: i64) -> Option<Self> {
        if factor != 1 && self.triangle.is_some() {
            return None;
        }
        self.constant = self.constant.checked_mul(factor)?;
        for (_, own) in &mut self.terms {
            *own = own.checked_mul(factor)?;
        }
        self.checked()
    }

    pub fn plus(mut self, tree: &SyntaxTree, other: &Self) -> Option<Self> {
        if self.triangle.is_some() && other.triangle.is_some() {
            return None;
        }
        self.triangle = self.triangle.or(other.triangle);
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

    /// The variable of the triangle, and what is added to it.
    pub fn triangle(&self) -> Option<(Node<'t>, i64)> {
        self.triangle
    }

    /// The variables and members, with their factors.
    pub fn terms(&self) -> &[(Node<'t>, i64)] {
        &self.terms
    }

    fn checked(mut self) -> Option<Self> {
        self.terms.retain(|(_, factor)| *factor != 0);
        let is_small = |value: i64| value.checked_abs().is_some_and(|value| value <= MOST);
        let is_near = self.triangle.is_none_or(|(_, added)| (-1..=MOST_ADDED).contains(&added));
        (is_near && is_small(self.constant) && self.terms.iter().all(|(_, factor)| is_small(*factor))).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "#define AT(i, j) ((i) * N + (j))\n#define RAW(i) i * 4\n#define TRI(i, j) ((i) * ((i) + 1) / 2 + (j))\n\
        #define HIDDEN(i) ((i) * pitch)\nconstexpr int N = 8;\nstruct P { int m; };\n\
        __device__ int at(int row, int column) { return row * N + column; }\n\
        __device__ constexpr int above(int row, int i) { return at(row, i) + 3; }\n\
        __device__ long long wide(int i) { return i + 1; }\n\
        __device__ int twice(int i) { i *= 2; return i; }\n\
        __device__ int endless(int i) { return endless(i) + 1; }\n";

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
            ("AT(i, r + 1) + 1", Some("8 i, 1 r + 2")),
            ("RAW(i + r)", Some("1 i, 4 r + 0")),
            ("at(r, i - 1)", Some("8 r, 1 i + -1")),
            ("above(g, b)", Some("8 g, 1 b + 3")),
            ("TRI(i, r)", Some("1 r + 0, triangle of i + 0")),
            ("i * (i - 1) / 2 + i", Some("1 i + 0, triangle of i + -1")),
            ("i * (i + 2) / 2", None),
            ("i * (r + 1) / 2", None),
            ("2 * (i * (i + 1) / 2)", None),
            ("i * (i + 1) / 3", None),
            ("wide(i)", None),
            ("twice(i)", None),
            ("endless(i)", None),
            ("HIDDEN(i)", None),
        ] {
            let text = format!(
                "{HEAD}__global__ void k(int i, int g, int b, int r, unsigned u, P p, P* q) {{ x = {expression}; }}\n"
            );
            let tree = SyntaxTree::example("a.cu", &text);
            let start = text.find("x = ").unwrap() + 4;
            let node = tree.root().unwrap().named_descendant_for_byte_range(start, start + expression.len()).unwrap();
            let found = Linear::with_triangle(&tree, node).map(|found| {
                let terms: Vec<String> =
                    found.terms.iter().map(|(term, factor)| format!("{factor} {}", tree.slice(*term))).collect();
                let name = |(name, added)| format!(", triangle of {} + {added}", tree.slice(name));
                format!("{} + {}{}", terms.join(", "), found.constant, found.triangle.map(name).unwrap_or_default())
            });
            assert_eq!(found.as_deref(), expected, "{expression}");
        }
    }
}
