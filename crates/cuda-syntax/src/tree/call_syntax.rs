//! Calls in a statement: which of its parts the memory that an inlined function works on can come from.

use std::ops::Range;

use tree_sitter::Node;

use super::view::SourceView;
use crate::tree::access_path::access_path;
use crate::tree::calls::argument_of;
use crate::tree::children;
use crate::tree::region::is_separate_block;
use crate::tree::role::role;

/// A call, or the use of an operator that is a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSyntax {
    pub range: Range<usize>,
    /// What stands before the dot, the arrow or the brackets: the object of a method.
    pub object: Option<Range<usize>>,
    pub arguments: Vec<Range<usize>>,
}

/// An indexed expression whose first name is no local variable: a member, in a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSyntax {
    pub range: Range<usize>,
    pub indices: Vec<Range<usize>>,
    pub is_read: bool,
    pub is_written: bool,
}

impl SourceView {
    /// Calls of a function in a region, by its demangled name.
    pub fn calls_of(&self, region: Node<'_>, function: &str) -> Vec<CallSyntax> {
        let base = base_name(function);
        let mut calls = Vec::new();
        let mut open = vec![region];
        while let Some(node) = open.pop() {
            calls.extend(self.call_of(node, base));
            open.extend(children(node).into_iter().filter(|child| !is_separate_block(node, *child)));
        }
        calls.sort_by_key(|call: &CallSyntax| (call.range.start, call.range.end));
        calls
    }

    fn call_of(&self, node: Node<'_>, base: &str) -> Option<CallSyntax> {
        let range = node.byte_range();
        match node.kind() {
            "subscript_expression" if base == "operator[]" => {
                let object = node.child_by_field_name("argument")?.byte_range();
                let indices = node.child_by_field_name("indices").or_else(|| node.child_by_field_name("index"))?;
                let arguments = vec![indices.named_child(0).unwrap_or(indices).byte_range()];
                Some(CallSyntax { range, object: Some(object), arguments })
            }
            "call_expression" => {
                let called = node.child_by_field_name("function")?;
                let arguments = children(node.child_by_field_name("arguments")?);
                let arguments = arguments.into_iter().filter(Node::is_named).map(|node| node.byte_range()).collect();
                let object = match called.kind() {
                    "field_expression" => called.child_by_field_name("argument").map(|object| object.byte_range()),
                    "identifier" if base == "operator()" => Some(called.byte_range()),
                    _ => None,
                };
                let is_called = base == "operator()" || base_name(self.slice(called)) == base;
                is_called.then_some(CallSyntax { range, object, arguments })
            }
            "binary_expression" | "assignment_expression" if self.is_operator(node, base) => {
                let object = node.child_by_field_name("left")?.byte_range();
                let arguments = vec![node.child_by_field_name("right")?.byte_range()];
                Some(CallSyntax { range, object: Some(object), arguments })
            }
            "unary_expression" | "pointer_expression" if self.is_operator(node, base) => {
                let object = node.child_by_field_name("argument")?.byte_range();
                Some(CallSyntax { range, object: Some(object), arguments: Vec::new() })
            }
            _ => None,
        }
    }

    /// Whether `-` of an expression is the function `operator-`.
    fn is_operator(&self, node: Node<'_>, base: &str) -> bool {
        let wanted = base.strip_prefix("operator").map(str::trim);
        wanted.is_some() && node.child_by_field_name("operator").map(|operator| self.slice(operator)) == wanted
    }

    /// Bytes of an argument of the only call in a region that has so many: what is called through a pointer has no name.
    pub fn argument_by_count(&self, region: Node<'_>, index: usize, count: usize) -> Option<Range<usize>> {
        let mut found = Vec::new();
        let mut open = vec![region];
        while let Some(node) = open.pop() {
            let called = node.child_by_field_name("function").filter(|_| node.kind() == "call_expression");
            let arguments = node.child_by_field_name("arguments").map_or(0, |list| list.named_child_count());
            let is_method = |called: &Node<'_>| called.kind() == "field_expression";
            let called = called.filter(|called| arguments == count || is_method(called));
            found.extend(called.and_then(|called| argument_of(node, called, index, count)));
            open.extend(children(node).into_iter().filter(|child| !is_separate_block(node, *child)));
        }
        let [only] = found.as_slice() else { return None };
        Some(only.clone())
    }

    /// Names of the parameters of the function or closure around an offset, in order; unnamed ones are empty.
    pub fn parameters_around(&self, offset: usize) -> Option<Vec<String>> {
        let mut function = self.root()?.named_descendant_for_byte_range(offset, offset)?;
        while !matches!(function.kind(), "function_definition" | "lambda_expression") {
            function = function.parent()?;
        }
        let mut declarator = function.child_by_field_name("declarator")?;
        while !matches!(declarator.kind(), "function_declarator" | "lambda_declarator") {
            declarator = declarator.child_by_field_name("declarator").or_else(|| declarator.named_child(0))?;
        }
        let list = children(declarator.child_by_field_name("parameters")?);
        let parameters = list.into_iter().filter(|node| node.kind().ends_with("parameter_declaration"));
        Some(parameters.map(|parameter| self.declared_name(parameter)).collect())
    }

    fn declared_name(&self, parameter: Node<'_>) -> String {
        let mut open: Vec<Node<'_>> = parameter.child_by_field_name("declarator").into_iter().collect();
        while let Some(node) = open.pop() {
            if node.kind() == "identifier" {
                return self.slice(node).to_string();
            }
            open.extend(children(node).into_iter().filter(|child| !child.kind().contains("parameter")));
        }
        String::new()
    }

    /// Indexed expressions of a region that begin with `this` or with a name for which `is_known` does not hold.
    pub fn indexed_members(&self, region: Node<'_>, is_known: &dyn Fn(&str) -> bool) -> Vec<MemberSyntax> {
        let mut members = Vec::new();
        let mut open = vec![region];
        while let Some(node) = open.pop() {
            if node.kind() == "subscript_expression" {
                members.extend(self.indexed_member(node, is_known));
            }
            open.extend(children(node).into_iter().filter(|child| !is_separate_block(node, *child)));
        }
        members.sort_by_key(|member: &MemberSyntax| (member.range.start, member.range.end));
        members
    }

    fn indexed_member(&self, subscript: Node<'_>, is_known: &dyn Fn(&str) -> bool) -> Option<MemberSyntax> {
        let is_inner = subscript.parent().is_some_and(|parent| {
            parent.kind() == "subscript_expression"
                && parent.child_by_field_name("argument").is_some_and(|argument| argument.id() == subscript.id())
        });
        if is_inner {
            return None;
        }
        let mut indices = Vec::new();
        let mut node = subscript;
        loop {
            match node.kind() {
                "subscript_expression" => {
                    let list = node.child_by_field_name("indices").or_else(|| node.child_by_field_name("index"))?;
                    indices.insert(0, list.named_child(0).unwrap_or(list).byte_range());
                    node = node.child_by_field_name("argument")?;
                }
                "field_expression" => node = node.child_by_field_name("argument")?,
                "parenthesized_expression" => node = node.named_child(0)?,
                "this" => break,
                // The object itself as another type: `static_cast<Derived *>(this)->values[i]`.
                _ if self.is_own_object(node) => break,
                "identifier" if !is_known(self.slice(node)) => break,
                _ => return None,
            }
        }
        let (is_read, is_written, _) = role(access_path(subscript));
        Some(MemberSyntax { range: subscript.byte_range(), indices, is_read, is_written })
    }
}

impl SourceView {
    /// `this` or `*this`, also by a cast.
    fn is_own_object(&self, node: Node<'_>) -> bool {
        let inner = match node.kind() {
            "this" => return true,
            "pointer_expression" => node.child_by_field_name("argument"),
            "cast_expression" => node.child_by_field_name("value"),
            "parenthesized_expression" => node.named_child(0),
            "call_expression" => {
                let function = node.child_by_field_name("function").map_or("", |function| self.slice(function));
                let is_cast = ["static_cast<", "reinterpret_cast<", "const_cast<"]
                    .iter()
                    .any(|cast| function.split_whitespace().collect::<String>().starts_with(cast));
                let arguments = node.child_by_field_name("arguments").filter(|_| is_cast);
                arguments.and_then(|arguments| arguments.named_child(0))
            }
            _ => None,
        };
        inner.is_some_and(|inner| self.is_own_object(inner))
    }
}

/// `at` of `Ring<float, 32>::at`, `operator[]` of `Array<int>::operator[]`, `push` of `ring.push`.
pub fn base_name(function: &str) -> &str {
    // `operator() const`: the method of a closure.
    let function = function.trim_end().trim_end_matches(" const");
    let without_arguments = &function[..function.len() - arguments_length(function)];
    if let Some(at) = without_arguments.rfind("operator") {
        return without_arguments[at..].trim_end();
    }
    without_arguments.rsplit([':', '.', '>']).next().unwrap_or(without_arguments)
}

/// Bytes of the `<…>` that a name ends with.
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

    fn view() -> SourceView {
        SourceView::example("a.cu", TEXT)
    }

    fn texts(view: &SourceView, ranges: &[Range<usize>]) -> Vec<String> {
        ranges.iter().map(|range| view.text()[range.clone()].to_string()).collect()
    }

    #[test]
    fn calls_have_objects_and_arguments() {
        let view = view();
        let region = |column| view.region(view.offset(10, column).unwrap()).unwrap();
        let push = view.calls_of(region(3), "Ring<float, 8>::push");
        assert_eq!(texts(&view, push[0].object.as_slice()), ["ring"]);
        assert_eq!(texts(&view, &push[0].arguments), ["out[n]", "1"]);
        let index = view.calls_of(region(25), "Array<float>::operator[]");
        assert_eq!(texts(&view, index[0].object.as_slice()), ["acc"]);
        let fill = view.calls_of(region(50), "fill");
        assert_eq!(texts(&view, &fill[0].arguments), ["acc", "counts", "n"]);
        assert!(view.calls_of(region(3), "fill").is_empty());
    }

    #[test]
    fn calls_through_pointers_are_told_by_their_arguments() {
        let text = "__device__ void f(State s, Force* force) {\n  table[s.k](&s.x, &s.v, min(s.a, 2));\n  s.x += force->at(s.x);\n}\n";
        let view = SourceView::example("a.cu", text);
        let argument = |line, index, count| {
            let range = view.argument_by_count(view.region(view.offset(line, 3).unwrap()).unwrap(), index, count)?;
            Some(&view.text()[range])
        };
        assert_eq!((argument(2, 0, 3), argument(2, 1, 3)), (Some("&s.x"), Some("&s.v")));
        assert_eq!((argument(3, 0, 2), argument(3, 1, 2), argument(3, 0, 4)), (Some("force->at"), Some("s.x"), None));
    }

    #[test]
    fn parameters_are_named_in_order() {
        let view = view();
        assert_eq!(view.parameters_around(view.offset(6, 65).unwrap()).unwrap(), ["row", "counts", "n"]);
        assert_eq!(view.parameters_around(view.offset(3, 50).unwrap()).unwrap(), ["v", "step"]);
    }

    #[test]
    fn closures_have_parameters_of_their_own() {
        let text = "__device__ void f(int n) { auto get = [&](int i, int) { return n; }; get(n, 0); }\n";
        let view = SourceView::example("a.cu", text);
        let parameters = |word: &str| view.parameters_around(text.find(word).unwrap()).unwrap();
        assert_eq!(
            (parameters("return"), parameters("get(")),
            (vec!["i".to_string(), String::new()], vec!["n".to_string()])
        );
    }

    #[test]
    fn members_are_indexed() {
        let view = view();
        let region = |line, column| view.region(view.offset(line, column).unwrap()).unwrap();
        let members = view.indexed_members(region(3, 50), &|_| false);
        assert_eq!(texts(&view, &[members[0].range.clone()]), ["this->slot[head]"]);
        let members = view.indexed_members(region(4, 36), &|_| false);
        assert_eq!(texts(&view, &members[0].indices), ["(head + i) % W"]);
        assert!(view.indexed_members(region(6, 65), &|name| name == "row" || name == "counts").is_empty());
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
