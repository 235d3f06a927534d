//! Expands `memcpy` and `memset` of a run-time length to loops over the array's elements. With a guard per element the
//! loops can be unrolled, and every index is constant.
//!
//! The other side must have elements of the same type; otherwise the copy would reinterpret them.

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::ast::{Field, Kind, Node, Subscript};
use cuda_syntax::identifiers::{fresh, identifiers};
use cuda_syntax::tree::{Declaration, DeclarationKind, Declarations, enclosing_function, last_name, resolve};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_frame::StackObject;

use super::Rewrite;
use super::facts::number::is_number;
use super::facts::sites::located;
use super::facts::steady::is_own;
use super::facts::volatile_reads::may_read_volatile;
use super::shared::declaration::{Declared, declared};
use super::unroll::Unrolled;

/// Replaces calls of a run-time length by unrolled loops over the elements, and unrolls the other loops over the array.
pub fn suggestion(object: &StackObject) -> Option<Suggestion> {
    let unrolled = Unrolled::of_accesses(object, |access| object.copying_call(access).is_none())?;
    let title = match unrolled.rewrite.edits.is_empty() {
        true => "copy element by element in a guarded, unrolled loop",
        false => "copy element by element in a guarded loop, and unroll all loops over the array",
    };
    Some(loops_for_calls(object)?.and(unrolled.rewrite)?.suggestion(title))
}

/// Loops for all calls that copy or fill the array; `None` if one of them cannot be edited.
fn loops_for_calls(object: &StackObject) -> Option<Rewrite> {
    let (tree, offset) = located(object, &object.variable.as_ref()?.span)?;
    let array = Array::at(tree, offset)?;
    let mut calls: Vec<Range<usize>> = Vec::new();
    for access in object.accesses.iter().filter(|access| access.is_computed()) {
        let Some(name) = object.copying_call(access) else { continue };
        let place = access.places.first().filter(|place| Rc::ptr_eq(object.tree(place), tree))?;
        let regions = tree.regions(place.offset).into_iter();
        for all in regions.map(|region| tree.calls(region)) {
            calls.extend(all.iter().filter(|(called, _)| last_name(called) == name).map(|(_, range)| range.clone()));
        }
    }
    calls.sort_by_key(|call| call.start);
    calls.dedup();
    // The counter hides nothing outside of the function; a macro in it may use a name.
    let function = enclosing_function(tree.node_at(offset)?)?;
    let compiled = tree.compiled().compiled(tree.text(), function.byte_range())?;
    let counter = fresh(&format!("{} {compiled}", tree.slice(function)), "element", &[]);
    let mut edits = Vec::new();
    for call in &calls {
        edits.extend(array.unrolled(tree.root()?.named_descendant_for_byte_range(call.start, call.end)?, &counter)?);
    }
    let rounds = tree.value_of(array.extent).and_then(|it| u32::try_from(it).ok());
    let is_within_kernel = tree.is_within_kernel(offset);
    let rewrite = Rewrite::new(Applicability::MaybeIncorrect, edits).rounds(rounds).within_kernel(is_within_kernel);
    (!rewrite.edits.is_empty()).then_some(rewrite)
}

/// A one-dimensional array with assignable elements.
struct Array<'v> {
    tree: &'v SyntaxTree,
    own: Declaration,
    all: Rc<Declarations>,
    element: String,
    bytes: u64,
    extent: Node<'v>,
}

impl<'v> Array<'v> {
    fn at(tree: &'v SyntaxTree, offset: usize) -> Option<Self> {
        let declared = declared(tree, offset)?;
        let Declared { statement, name, extents, is_of_pointers, .. } = declared;
        let [extent] = extents.as_slice() else { return None };
        let element = normal(tree.slice(statement.field(Field::Type)?));
        let bytes = types::size_of(&element).filter(|_| !is_of_pointers)?;
        let all = tree.declarations(enclosing_function(statement)?);
        let own = all.iter().find(|declaration| declaration.range.0 == name.start_byte())?.clone();
        Some(Self { tree, own, all, element, bytes, extent: *extent })
    }

    /// Replaces a call that is a statement by `#pragma unroll` and a loop.
    fn unrolled(&self, call: Node<'_>, counter: &str) -> Option<Vec<Edit>> {
        let tree = self.tree;
        let statement = call.parent().filter(|parent| parent.kind() == Kind::ExpressionStatement)?;
        let is_alone = statement.parent().is_some_and(|parent| parent.kind() == Kind::CompoundStatement);
        let arguments: Vec<Node<'_>> = call.field(Field::Arguments)?.named_children().collect();
        let [target, source, length] = arguments.as_slice() else { return None };
        if !is_alone || !tree.is_plain(call) || arguments.iter().any(|argument| argument.kind() == Kind::Comment) {
            return None;
        }
        // The loop compares the count, which only the call converted to a number.
        let count = self.count(tree.slice(*length)).filter(|_| is_number(tree, *length))?;
        // A name for an element would change with it.
        let others = [*target, *source].into_iter().flat_map(|side| tree.identifiers(side));
        let mut counted = others.filter(|name| is_number(tree, *name)).chain(tree.identifiers(*length));
        if !counted.all(|name| is_own(tree, &self.all, name))
            || arguments.iter().any(|argument| may_read_volatile(tree, *argument))
        {
            return None;
        }
        let is_set = last_name(tree.slice(call.field(Field::Function)?)) == "memset";
        let (first, to, from) = match (self.first(*target), self.first(*source), is_set) {
            (Some(first), _, true) => (first, self.element_of(first, counter), self.filling(*source)?.to_string()),
            (Some(first), None, false) => (first, self.element_of(first, counter), self.other(*source, counter)?),
            (None, Some(first), false) => (first, self.other(*target, counter)?, self.element_of(first, counter)),
            _ => return None,
        };
        let extent = tree.spelled(self.extent, statement.start_byte())?;
        let is_one = extent.chars().all(|c| c.is_alphanumeric() || c == '_');
        let extent = match (first, is_one) {
            (0, _) => extent,
            (_, true) => format!("{extent} - {first}"),
            (_, false) => format!("({extent}) - {first}"),
        };
        let text = format!(
            "for (int {counter} = 0; {counter} < {extent}; ++{counter}) if ({counter} < {count}) {to} = {from};"
        );
        Some(vec![
            tree.line_before(statement.start_byte(), "#pragma unroll")?,
            tree.replacement(statement.byte_range(), &text)?,
        ])
    }

    fn element_of(&self, first: i64, counter: &str) -> String {
        match first {
            0 => format!("{}[{counter}]", self.own.name),
            _ => format!("{}[{counter} + {first}]", self.own.name),
        }
    }

    /// The number of elements for a length in bytes: `n` for `n * sizeof(float)`, spelled so that it can follow `<`.
    fn count(&self, length: &str) -> Option<String> {
        let name = &self.own.name;
        let sizes = [self.element.clone(), format!("*{name}"), format!("{name}[0]")];
        let is_size = |part: &str| {
            let inner = part.trim().strip_prefix("sizeof").map(str::trim);
            let inner = inner.and_then(|inner| inner.strip_prefix('(')?.strip_suffix(')')).map(normal);
            inner.is_some_and(|inner| sizes.contains(&inner))
        };
        let count = match factors(length).as_slice() {
            [count, size] | [size, count] if is_size(size) && !is_size(count) => count.trim(),
            _ if self.bytes == 1 => length.trim(),
            _ => return None,
        };
        // The loop evaluates the count for each element.
        let is_call =
            |(at, _): (usize, &str)| count[..at].trim_end().ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_plain = count.chars().all(|c| c.is_alphanumeric() || "_ +-*/%().".contains(c));
        let is_simple = is_plain && !count.contains("++") && !count.contains("--") && !count.contains("sizeof");
        let is_number = count.chars().all(|c| c.is_ascii_digit());
        let is_name = identifiers(count).count() == 1 && !count.contains('(');
        if !is_simple || is_number || count.match_indices('(').any(is_call) {
            return None;
        }
        let inner = count.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
        let is_one = is_name || inner.is_some_and(|inner| !inner.contains(['(', ')']));
        Some(if is_one { count.to_string() } else { format!("({count})") })
    }

    /// The index of the element that a pointer into the array points to.
    fn first(&self, pointer: Node<'_>) -> Option<i64> {
        let tree = self.tree;
        let is_own = |node: Node<'_>| {
            let found = resolve(&self.all, tree.slice(node), node.start_byte());
            node.kind() == Kind::Identifier && found.is_some_and(|found| found.range == self.own.range)
        };
        let number = |node: Node<'_>| tree.value_of(node).filter(|it| *it >= 0);
        match pointer.kind() {
            Kind::ParenthesizedExpression => self.first(pointer.named_child(0)?),
            Kind::Identifier => is_own(pointer).then_some(0),
            Kind::BinaryExpression if pointer.operator()? == "+" => {
                number(pointer.field(Field::Right)?).filter(|_| pointer.field(Field::Left).is_some_and(is_own))
            }
            Kind::PointerExpression if tree.slice(pointer).starts_with('&') => {
                let (array, index) = subscript(pointer.field(Field::Argument)?)?;
                number(index).filter(|_| is_own(array))
            }
            _ => None,
        }
    }

    /// An element of the other side, if it has the same type.
    fn other(&self, pointer: Node<'_>, counter: &str) -> Option<String> {
        let tree = self.tree;
        let operator = || pointer.operator();
        let (base, element) = match pointer.kind() {
            Kind::ParenthesizedExpression => return self.other(pointer.named_child(0)?, counter),
            Kind::Identifier => (pointer, format!("{}[{counter}]", tree.slice(pointer))),
            Kind::BinaryExpression if operator() == Some("+") => {
                let (left, right) = (pointer.field(Field::Left)?, pointer.field(Field::Right)?);
                (left, format!("{}[{} + {counter}]", tree.slice(left), tree.slice(right)))
            }
            Kind::PointerExpression if tree.slice(pointer).starts_with('&') => {
                let (array, index) = subscript(pointer.field(Field::Argument)?)?;
                let index = match index.kind() {
                    Kind::Identifier | Kind::NumberLiteral | Kind::FieldExpression => tree.slice(index).to_string(),
                    _ => format!("({})", tree.slice(index)),
                };
                (array, format!("{}[{index} + {counter}]", tree.slice(array)))
            }
            _ => return None,
        };
        let found =
            resolve(&self.all, tree.slice(base), base.start_byte()).filter(|_| base.kind() == Kind::Identifier)?;
        let is_fit = found.range != self.own.range && self.has_elements(found) && is_repeatable(tree, pointer);
        is_fit.then_some(element)
    }

    /// Whether a pointer or array has elements of the same type.
    fn has_elements(&self, other: &Declaration) -> bool {
        let Some(name) =
            self.tree.root().and_then(|root| root.named_descendant_for_byte_range(other.range.0, other.range.1))
        else {
            return false;
        };
        let (mut node, mut levels) = (name, 0);
        while let Some(parent) = node.parent().filter(|parent| parent.is_declarator()) {
            levels += usize::from(matches!(parent.kind(), Kind::PointerDeclarator | Kind::ArrayDeclarator));
            node = parent;
        }
        let type_node = node.parent().and_then(|parent| parent.field(Field::Type));
        levels == 1
            && matches!(other.kind, DeclarationKind::Alias | DeclarationKind::Array)
            && type_node.is_some_and(|type_node| normal(self.tree.slice(type_node)) == self.element)
    }

    /// The element value that `memset` writes.
    fn filling(&self, value: Node<'_>) -> Option<&'v str> {
        let text = self.tree.text().get(value.byte_range())?;
        match (types::is_scalar(&self.element), text) {
            (true, "0") => Some("0"),
            (false, "0") => Some("{}"),
            _ => (self.bytes == 1 && value.kind() == Kind::NumberLiteral).then_some(text),
        }
    }
}

/// `a` and `k` for `a[k]`.
fn subscript(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    Some((node.field(Field::Argument)?, Subscript::of(node).and_then(Subscript::index)?))
}

/// Whether an expression gives the same value when evaluated again: it has no assignment and no call.
fn is_repeatable(tree: &SyntaxTree, node: Node<'_>) -> bool {
    let has_effect = |node: Node<'_>| {
        matches!(
            node.kind(),
            Kind::CallExpression | Kind::UpdateExpression | Kind::AssignmentExpression | Kind::CommaExpression
        )
    };
    !node.descendants().any(has_effect) && tree.is_plain(node)
}

/// The top-level factors of a product; a single one for any other expression.
fn factors(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '*' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            // `n + 1 * sizeof(float)` is a sum.
            '+' | '-' | '/' | '%' | '<' | '>' | '?' | ',' | '|' | '&' if depth == 0 => return vec![text],
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn normal(type_text: &str) -> String {
    type_text.split_whitespace().filter(|word| *word != "const").collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    const HEAD: &str =
        "__global__ void k(const float* in, float** rows, int n, int* other) {\n  float a[8];\n  float b[8];\n";

    fn edited(call: &str) -> Option<String> {
        let text = format!("{HEAD}  {call}\n}}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let array = Array::at(&tree, text.find("a[8]")?)?;
        let start = text.find("mem")?;
        let node = tree.root()?.named_descendant_for_byte_range(start, text.rfind(')')? + 1)?;
        let edits = array.unrolled(node, "element")?;
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>())?;
        edited.lines().find(|line| line.trim_start().starts_with("for")).map(|line| line.trim().to_string())
    }

    #[test]
    fn copies_become_loops() {
        for (call, expected) in [
            ("memcpy(a, in, n * sizeof(float));", "if (element < n) a[element] = in[element];"),
            ("memcpy(a, in + 4 * n, sizeof(float) * n);", "if (element < n) a[element] = in[4 * n + element];"),
            ("memcpy(b, a, (n + 1) * sizeof(*a));", "if (element < (n + 1)) b[element] = a[element];"),
            ("memcpy(a, &in[n * n], n * sizeof(float));", "if (element < n) a[element] = in[(n * n) + element];"),
            ("memset(a, 0, n * sizeof(a[0]));", "if (element < n) a[element] = 0;"),
        ] {
            let expected = format!("for (int element = 0; element < 8; ++element) {expected}");
            assert_eq!(edited(call), Some(expected), "{call}");
        }
        let first = edited("memcpy(&a[2], in, n * sizeof(float));");
        let expected =
            "for (int element = 0; element < 8 - 2; ++element) if (element < n) a[element + 2] = in[element];";
        assert_eq!(first.as_deref(), Some(expected));
    }

    #[test]
    fn other_copies_are_left_alone() {
        for call in [
            "memcpy(a, in, n);",
            "memcpy(a, in, 8 * sizeof(float));",
            "memcpy(a, other, n * sizeof(float));",
            "memcpy(a, rows, n * sizeof(float));",
            "memcpy(a, in++, n * sizeof(float));",
            "int& m = n; memcpy(a, in, m * sizeof(float));",
            "using R = float&; R m = a[0]; memcpy(a, in, (int)m * sizeof(float));",
            "volatile int m = n; memcpy(a, in, m * sizeof(float));",
            "int& m = n; memcpy(a, in + m, n * sizeof(float));",
            "memcpy(a, in, next(n) * sizeof(float));",
            "memcpy(a + n, in, n * sizeof(float));",
            "memset(a, 1, n * sizeof(float));",
            "if (n) memcpy(a, in, n * sizeof(float));",
        ] {
            assert_eq!(edited(call), None, "{call}");
        }
    }
}
