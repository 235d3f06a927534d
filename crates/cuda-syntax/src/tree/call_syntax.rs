//! Calls in a statement. They show which expressions the memory accessed by an inlined function can come from.

use std::ops::Range;
use std::rc::Rc;

use super::syntax_tree::SyntaxTree;
use crate::ast::{Call, Field, Kind, Node, Subscript};
use crate::tree::access_path::access_path;
use crate::tree::calls::{Passed, argument_of};
use crate::tree::construction::is_argument;
use crate::tree::region::nodes_of;
use crate::tree::role::role;

/// A call, or the use of an overloaded operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSyntax {
    pub range: Range<usize>,
    /// The expression before the dot, the arrow or the brackets: the object of a method call.
    pub object: Option<Range<usize>>,
    pub arguments: Vec<Range<usize>>,
}

/// A subscript expression whose first name is not a local variable: a member, in a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSyntax {
    pub range: Range<usize>,
    pub indices: Vec<Range<usize>>,
    pub is_read: bool,
    pub is_written: bool,
}

impl SyntaxTree {
    /// Calls of a function in a region, by its demangled name.
    pub fn calls_of(&self, region: Node<'_>, function: &str) -> Vec<CallSyntax> {
        let base = base_name(function);
        let mut calls: Vec<CallSyntax> = nodes_of(region).filter_map(|node| self.call_of(node, base)).collect();
        calls.sort_by_key(|call: &CallSyntax| (call.range.start, call.range.end));
        calls
    }

    fn call_of(&self, node: Node<'_>, base: &str) -> Option<CallSyntax> {
        let range = node.byte_range();
        match node.kind() {
            Kind::SubscriptExpression if base == "operator[]" => {
                let object = node.field(Field::Argument)?.byte_range();
                let indices = node.field(Field::Indices)?;
                let arguments = vec![indices.named_child(0).unwrap_or(indices).byte_range()];
                Some(CallSyntax { range, object: Some(object), arguments })
            }
            Kind::CallExpression => {
                let called = node.field(Field::Function)?;
                let arguments = node.field(Field::Arguments)?.children();
                let arguments = arguments.into_iter().filter(Node::is_named).map(|node| node.byte_range()).collect();
                let object = match called.kind() {
                    Kind::FieldExpression => called.field(Field::Argument).map(|object| object.byte_range()),
                    Kind::Identifier if base == "operator()" => Some(called.byte_range()),
                    _ => None,
                };
                let is_called = base == "operator()" || base_name(self.slice(called)) == base;
                is_called.then_some(CallSyntax { range, object, arguments })
            }
            Kind::BinaryExpression | Kind::AssignmentExpression if self.is_operator(node, base) => {
                let object = node.field(Field::Left)?.byte_range();
                let arguments = vec![node.field(Field::Right)?.byte_range()];
                Some(CallSyntax { range, object: Some(object), arguments })
            }
            // A constructor: `Vec r(other)`, `Vec r{x, y}` or `Vec r = other`.
            Kind::InitDeclarator => {
                let type_node = node.parent()?.field(Field::Type)?;
                let value = node.field(Field::Value)?;
                let is_plain = node.field(Field::Declarator)?.kind() == Kind::Identifier;
                let arguments = match value.kind() {
                    Kind::ArgumentList | Kind::InitializerList => {
                        value.children().filter(Node::is_named).map(|argument| argument.byte_range()).collect()
                    }
                    _ => vec![value.byte_range()],
                };
                let is_called = is_plain && base_name(self.slice(type_node)) == base;
                is_called.then_some(CallSyntax { range, object: None, arguments })
            }
            // The same with names alone is a function to the grammar.
            Kind::FunctionDeclarator => {
                let declaration = node.parent().filter(|it| it.kind() == Kind::Declaration)?;
                let parameters = node.field(Field::Parameters)?.children();
                let words = parameters.into_iter().filter(Node::is_named).map(|parameter| parameter.child(0));
                let words = words.map(|word| word.filter(|word| is_argument(*word)).map(|word| word.byte_range()));
                let arguments: Vec<_> = words.collect::<Option<_>>()?;
                let is_called = base_name(self.slice(declaration.field(Field::Type)?)) == base;
                is_called.then_some(CallSyntax { range, object: None, arguments })
            }
            Kind::UnaryExpression | Kind::PointerExpression if self.is_operator(node, base) => {
                let object = node.field(Field::Argument)?.byte_range();
                Some(CallSyntax { range, object: Some(object), arguments: Vec::new() })
            }
            _ => None,
        }
    }

    /// Whether the operator of an expression is the operator function `base`: `-` for `operator-`.
    fn is_operator(&self, node: Node<'_>, base: &str) -> bool {
        let wanted = base.strip_prefix("operator").map(str::trim);
        wanted.is_some() && node.field(Field::Operator).map(|operator| self.slice(operator)) == wanted
    }

    /// An argument of the only call in a region with that argument count. Used for indirect calls, whose callee has no
    /// name.
    pub fn argument_by_count(&self, region: Node<'_>, index: usize, count: usize) -> Option<Range<usize>> {
        let mut found = nodes_of(region).filter_map(Call::of).filter_map(|call| {
            let called = call.function()?;
            let arguments = call.argument_list().map_or(0, Node::named_child_count);
            let is_fit = arguments == count || called.kind() == Kind::FieldExpression;
            argument_of(call.node(), called, Passed { index, count, has_object: None }).filter(|_| is_fit)
        });
        found.next().filter(|_| found.next().is_none())
    }

    /// Parameter names of the function or closure around an offset, in order; unnamed parameters are empty.
    pub fn parameters_around(&self, offset: usize) -> Option<Rc<[String]>> {
        let known = self.memory.parameters.borrow().get(&offset).cloned();
        known.unwrap_or_else(|| {
            let found: Option<Rc<[String]>> = self.find_parameters(offset).map(Into::into);
            self.memory.parameters.borrow_mut().insert(offset, found.clone());
            found
        })
    }

    fn find_parameters(&self, offset: usize) -> Option<Vec<String>> {
        let mut function = self.node_at(offset)?;
        while !matches!(function.kind(), Kind::FunctionDefinition | Kind::LambdaExpression) {
            function = function.parent()?;
        }
        let mut declarator = function.field(Field::Declarator)?;
        while !matches!(declarator.kind(), Kind::FunctionDeclarator | Kind::LambdaDeclarator) {
            declarator = declarator.field(Field::Declarator).or_else(|| declarator.named_child(0))?;
        }
        let list = declarator.field(Field::Parameters)?.children();
        let parameters = list.into_iter().filter(|node| node.is_parameter_declaration());
        Some(parameters.map(|parameter| self.declared_name(parameter)).collect())
    }

    fn declared_name(&self, parameter: Node<'_>) -> String {
        let declarator = parameter.field(Field::Declarator).into_iter();
        let mut parts = declarator.flat_map(|it| it.descendants_through(|_, child| !child.is_parameter()));
        let name = parts.find(|node| node.kind() == Kind::Identifier);
        name.map_or(String::new(), |name| self.slice(name).to_string())
    }

    /// Subscript expressions of a region that begin with `this`, or with a name for which `is_known` is false.
    pub fn indexed_members(&self, region: Node<'_>, is_known: &dyn Fn(&str) -> bool) -> Vec<MemberSyntax> {
        let subscripts = nodes_of(region).filter(|node| node.kind() == Kind::SubscriptExpression);
        let mut members: Vec<MemberSyntax> =
            subscripts.filter_map(|node| self.indexed_member(node, is_known)).collect();
        members.sort_by_key(|member: &MemberSyntax| (member.range.start, member.range.end));
        members
    }

    fn indexed_member(&self, subscript: Node<'_>, is_known: &dyn Fn(&str) -> bool) -> Option<MemberSyntax> {
        let around = subscript.parent().and_then(Subscript::of);
        let is_inner = around.is_some_and(|around| around.base() == Some(subscript));
        if is_inner {
            return None;
        }
        let mut indices = Vec::new();
        let mut node = subscript;
        loop {
            match node.kind() {
                Kind::SubscriptExpression => {
                    let list = node.field(Field::Indices)?;
                    indices.insert(0, list.named_child(0).unwrap_or(list).byte_range());
                    node = node.field(Field::Argument)?;
                }
                Kind::FieldExpression => node = node.field(Field::Argument)?,
                Kind::ParenthesizedExpression => node = node.named_child(0)?,
                Kind::This => break,
                // The object itself, cast to another type: `static_cast<Derived *>(this)->values[i]`.
                _ if self.is_own_object(node) => break,
                Kind::Identifier if !is_known(self.slice(node)) => break,
                _ => return None,
            }
        }
        let (is_read, is_written, _) = role(access_path(subscript));
        Some(MemberSyntax { range: subscript.byte_range(), indices, is_read, is_written })
    }
}

impl SyntaxTree {
    /// Whether the expression is `this` or `*this`, also through a cast.
    fn is_own_object(&self, node: Node<'_>) -> bool {
        let inner = match node.kind() {
            Kind::This => return true,
            Kind::PointerExpression => node.field(Field::Argument),
            Kind::CastExpression => node.field(Field::Value),
            Kind::ParenthesizedExpression => node.named_child(0),
            Kind::CallExpression => {
                let function = node.field(Field::Function).map_or("", |function| self.slice(function));
                let is_cast = ["static_cast<", "reinterpret_cast<", "const_cast<"]
                    .iter()
                    .any(|cast| function.split_whitespace().collect::<String>().starts_with(cast));
                let arguments = node.field(Field::Arguments).filter(|_| is_cast);
                arguments.and_then(|arguments| arguments.named_child(0))
            }
            _ => None,
        };
        inner.is_some_and(|inner| self.is_own_object(inner))
    }
}

/// `at` for `Ring<float, 32>::at`, `operator[]` for `Array<int>::operator[]`, `push` for `ring.push`.
pub fn base_name(function: &str) -> &str {
    // `operator() const`: the call operator of a closure.
    let function = function.trim_end().trim_end_matches(" const");
    let without_arguments = &function[..function.len() - arguments_length(function)];
    if let Some(at) = without_arguments.rfind("operator") {
        return without_arguments[at..].trim_end();
    }
    without_arguments.rsplit([':', '.', '>']).next().unwrap_or(without_arguments)
}

/// Length of the template argument list `<…>` at the end of a name.
fn arguments_length(name: &str) -> usize {
    let mut depth = 0usize;
    for (at, character) in name.char_indices().rev() {
        match character {
            '>' => depth += 1,
            '<' if depth == 1 => return name.len() - at,
            '<' => depth = depth.saturating_sub(1),
            _ if depth == 0 => break,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "template <class T, int W> struct Ring {
  T slot[W]; int head;
  __device__ void push(const T& v, int step) { this->slot[head] = v; head = (head + step) % W; }
  __device__ T at(int i) const { return slot[(head + i) % W]; }
};
__device__ void fill(float* row, int (&counts)[4], int n) { row[n] = counts[n]; }
__global__ void k(float* out, int n) {
  Ring<float, 8> ring;
  float acc[8]; int counts[4];
  ring.push(out[n], 1); acc[n & 7] = ring.at(n); fill(acc, counts, n);
}
";

    fn tree() -> SyntaxTree {
        SyntaxTree::example("a.cu", TEXT)
    }

    fn texts(tree: &SyntaxTree, ranges: &[Range<usize>]) -> Vec<String> {
        ranges.iter().map(|range| tree.text()[range.clone()].to_string()).collect()
    }

    #[test]
    fn calls_have_objects_and_arguments() {
        let tree = tree();
        let region = |column| tree.region(tree.offset(10, column).unwrap()).unwrap();
        let push = tree.calls_of(region(3), "Ring<float, 8>::push");
        assert_eq!(texts(&tree, push[0].object.as_slice()), ["ring"]);
        assert_eq!(texts(&tree, &push[0].arguments), ["out[n]", "1"]);
        let index = tree.calls_of(region(25), "Array<float>::operator[]");
        assert_eq!(texts(&tree, index[0].object.as_slice()), ["acc"]);
        let fill = tree.calls_of(region(50), "fill");
        assert_eq!(texts(&tree, &fill[0].arguments), ["acc", "counts", "n"]);
        assert!(tree.calls_of(region(3), "fill").is_empty());
    }

    #[test]
    fn calls_through_pointers_are_told_by_their_arguments() {
        let text = "__device__ void f(State s, Force* force) {\n  table[s.k](&s.x, &s.v, min(s.a, 2));\n  s.x += force->at(s.x);\n}\n";
        let tree = SyntaxTree::example("a.cu", text);
        let argument = |line, index, count| {
            let range = tree.argument_by_count(tree.region(tree.offset(line, 3).unwrap()).unwrap(), index, count)?;
            Some(&tree.text()[range])
        };
        assert_eq!((argument(2, 0, 3), argument(2, 1, 3)), (Some("&s.x"), Some("&s.v")));
        assert_eq!((argument(3, 0, 2), argument(3, 1, 2), argument(3, 0, 4)), (Some("force->at"), Some("s.x"), None));
    }

    #[test]
    fn parameters_are_named_in_order() {
        let tree = tree();
        assert_eq!(tree.parameters_around(tree.offset(6, 65).unwrap()).unwrap().to_vec(), ["row", "counts", "n"]);
        assert_eq!(tree.parameters_around(tree.offset(3, 50).unwrap()).unwrap().to_vec(), ["v", "step"]);
    }

    #[test]
    fn closures_have_parameters_of_their_own() {
        let text = "__device__ void f(int n) { auto get = [&](int i, int) { return n; }; get(n, 0); }\n";
        let tree = SyntaxTree::example("a.cu", text);
        let parameters = |word: &str| tree.parameters_around(text.find(word).unwrap()).unwrap().to_vec();
        assert_eq!(
            (parameters("return"), parameters("get(")),
            (vec!["i".to_string(), String::new()], vec!["n".to_string()])
        );
    }

    #[test]
    fn members_are_indexed() {
        let tree = tree();
        let region = |line, column| tree.region(tree.offset(line, column).unwrap()).unwrap();
        let members = tree.indexed_members(region(3, 50), &|_| false);
        assert_eq!(texts(&tree, &[members[0].range.clone()]), ["this->slot[head]"]);
        let members = tree.indexed_members(region(4, 36), &|_| false);
        assert_eq!(texts(&tree, &members[0].indices), ["(head + i) % W"]);
        assert!(tree.indexed_members(region(6, 65), &|name| name == "row" || name == "counts").is_empty());
    }

    #[test]
    fn names_lose_their_scopes() {
        for (name, base) in [
            ("a::b<int>", "b"),
            ("Ring<float, 32>::at", "at"),
            ("Ring<float, 32>::at<A<4> >", "at"),
            ("k(int)::{lambda(int)#1}::operator()", "operator()"),
            ("k(int)::{lambda(int)#1}::operator() const", "operator()"),
            ("p->push", "push"),
            ("operator-<16>", "operator-"),
            ("operator<< <int>", "operator<<"),
            ("Ring<int>::operator->", "operator->"),
            ("f", "f"),
        ] {
            assert_eq!(base_name(name), base, "{name}");
        }
    }
}
