//! Macro invocations as they were compiled. Their text may name other variables than the code that it stands for, and
//! does not show what happens to those that it names.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use super::call_syntax::CallSyntax;
use super::calls::{Passed, argument_of, last_name};
use crate::ast::{Call, Field, Kind, Node};
use crate::tree::access_path::element;
use crate::tree::declarations::{Declaration, resolve};
use crate::tree::functions::enclosing_function;
use crate::tree::mentions::Mention;
use crate::tree::syntax_tree::SyntaxTree;

/// Longer expansions are not read: unrolled ciphers have megabytes.
const MAX_CODE: usize = 1 << 16;

/// A macro invocation, and the code that it stands for.
pub struct Expanded {
    /// The invocation in the text.
    pub range: Range<usize>,
    code: SyntaxTree,
}

/// What the code of a macro does with a variable that it does not declare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedUse {
    pub name: String,
    pub is_read: bool,
    pub is_written: bool,
    pub is_passed: bool,
    /// Whether one of its subscripts is no number, as that of `m[at]`; `None` without any.
    pub index: Option<bool>,
}

impl SyntaxTree {
    /// The macro invocations in a statement. Those whose code is no sequence of whole statements or expressions are left out.
    pub fn expanded(&self, region: Node<'_>) -> Rc<[Rc<Expanded>]> {
        let range = region.byte_range();
        if let Some(known) = self.memory.expanded.borrow().get(&(range.start, range.end)) {
            return Rc::clone(known);
        }
        let is_within = |start: usize, end: usize| range.start <= start && end <= range.end && start < end;
        let all = self.compiled().differences().filter(|it| is_within(it.start, it.end));
        let is_invocation = |start: usize| {
            self.text()
                .get(start..)
                .is_some_and(|own| own.starts_with(|first: char| first.is_alphabetic() || first == '_'))
        };
        let readable = all.filter(|it| it.compiled.len() <= MAX_CODE && is_invocation(it.start));
        let expanded = readable.filter_map(|it| Expanded::new(it.start..it.end, &it.compiled).map(Rc::new));
        let found: Rc<[Rc<Expanded>]> = expanded.collect();
        self.memory.expanded.borrow_mut().insert((range.start, range.end), Rc::clone(&found));
        found
    }

    /// The macro that a call is: `AT(i, j)`.
    pub fn macro_of(&self, call: Node<'_>) -> Option<Rc<Expanded>> {
        self.expanded(call).iter().find(|it| it.range == call.byte_range()).cloned()
    }

    /// The variables that a name stands for at an offset, through aliases.
    pub fn variables_named(&self, offset: usize, name: &str) -> Vec<Declaration> {
        let function = self.node_at(offset).and_then(enclosing_function);
        let declarations = function.map(|function| self.declarations(function)).unwrap_or_default();
        let named = resolve(&declarations, name, offset);
        let targets = named.map(|named| self.targets(named, &declarations, super::aliases::MAX_ALIASES));
        targets.unwrap_or_default().into_iter().map(|(target, _)| target).collect()
    }
}

impl Expanded {
    fn new(range: Range<usize>, compiled: &str) -> Option<Self> {
        let code = SyntaxTree::of_macro(compiled);
        (!code.root()?.has_error()).then_some(Self { range, code })
    }

    fn body(&self) -> Option<Node<'_>> {
        self.code.root()?.descendants().find(|node| node.kind() == Kind::CompoundStatement)
    }

    /// The code, if it is one expression, and the tree that it belongs to.
    pub fn expression(&self) -> Option<(&SyntaxTree, Node<'_>)> {
        let mut statements = self.body()?.parts();
        let only =
            statements.next().filter(|it| it.kind() == Kind::ExpressionStatement && statements.next().is_none())?;
        Some((&self.code, only.parts().next()?))
    }

    /// Whether a name is a variable of the text, or a function or constant: none that the code declares.
    fn is_free(&self, name: &str) -> bool {
        self.body().is_some_and(|body| !self.code.is_declared(body.start_byte() + 1, name))
    }

    /// The names that the code uses without declaring them, in alphabetical order.
    pub fn uses(&self) -> Vec<ExpandedUse> {
        let Some(body) = self.body() else { return Vec::new() };
        let names: BTreeSet<&str> =
            self.code.identifiers_below(body).into_iter().map(|node| self.code.slice(node)).collect();
        let free = names.into_iter().filter(|name| self.is_free(name));
        let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains(' ');
        let is_open =
            |index: &Range<usize>| !self.code.text().get(index.clone()).is_some_and(|text| is_number(text.trim()));
        let index = |mentions: &[Mention]| mentions.iter().flat_map(|mention| &mention.indices).map(is_open).max();
        let uses = free.map(|name| {
            let mentions = self.code.uses_of(body, &Declaration::hidden(name, 0..0));
            ExpandedUse {
                name: name.to_string(),
                is_read: mentions.iter().any(|mention| mention.is_read),
                is_written: mentions.iter().any(|mention| mention.is_written),
                is_passed: mentions.iter().any(|mention| mention.is_passed),
                index: index(&mentions),
            }
        });
        uses.collect()
    }

    /// Whether each mention of an array in the code is an element whose value is taken at once, by an operator or as an index.
    pub fn reads_elements(&self, name: &str, dimensions: usize) -> bool {
        let Some(body) = self.body().filter(|_| self.is_free(name)) else { return false };
        let mentions = self.code.identifiers_below(body).into_iter().filter(|node| self.code.slice(*node) == name);
        mentions.into_iter().all(|mention| element(mention, dimensions).is_some_and(is_taken))
    }

    /// The calls of a function, by its demangled name.
    pub fn calls_of(&self, function: &str) -> Vec<CallSyntax> {
        self.body().map(|body| self.code.calls_of(body, function)).unwrap_or_default()
    }

    /// The names in one argument of all calls of a function.
    pub fn argument_names(&self, function: &str, passed: Passed) -> BTreeSet<String> {
        let Some(base) = function.split('<').next().map(last_name) else { return BTreeSet::new() };
        let calls = self.body().into_iter().flat_map(Node::descendants).filter_map(Call::of);
        let arguments = calls.filter_map(|call| {
            let called = call.function().filter(|called| last_name(self.code.slice(*called)) == base)?;
            argument_of(call.node(), called, passed)
        });
        arguments.flat_map(|range| self.names_in(&range)).collect()
    }

    /// The names in a part of the code that it doesn't declare.
    pub fn names_in(&self, part: &Range<usize>) -> BTreeSet<String> {
        let Some(body) = self.body() else { return BTreeSet::new() };
        let all = self.code.identifiers_below(body).into_iter();
        let within = all.filter(|node| part.start <= node.start_byte() && node.end_byte() <= part.end);
        let names = within.map(|node| self.code.slice(node)).filter(|name| self.is_free(name));
        names.map(str::to_string).collect()
    }
}

/// Whether an operator or a subscript takes the value of an expression, or a variable is assigned it.
fn is_taken(expression: Node<'_>) -> bool {
    let Some(parent) = expression.parent() else { return false };
    let is = |field: Field| parent.field(field) == Some(expression);
    match parent.kind() {
        Kind::ParenthesizedExpression => is_taken(parent),
        Kind::BinaryExpression | Kind::SubscriptArgumentList | Kind::UnaryExpression => true,
        Kind::AssignmentExpression => is(Field::Right),
        Kind::InitDeclarator => parent.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "#define LOOK(at) { int own[4]; digest(point, h); if (h[0] == (at)) out = own[at]; digest(own, back + 1); }
#define PUSH(row, x) do { row[0] = (x); } while (0)
#define ASM(c, a) asm volatile(\"add.u32 %0, %0, %1;\" : \"+r\"(c) : \"r\"(a))
#define SET(c, a) asm volatile(\"mov.u32 %0, %1;\" : \"=r\"(c) : \"r\"(a) : \"memory\")
#define OPEN if (n) {
__global__ void k(int n) {
  int point[4], back[4], h[4], *p = point;
  LOOK(n);
  PUSH(h, n);
  ASM(h[0], point[1]);
  SET(h[0], point[1]);
  OPEN n++; }
}
";

    fn ask<T>(line: u32, ask: impl FnOnce(&SyntaxTree, &[Rc<Expanded>]) -> T) -> T {
        let tree = SyntaxTree::example("a.cu", TEXT);
        let region = tree.region(tree.offset(line, 3).unwrap()).unwrap();
        ask(&tree, &tree.expanded(region))
    }

    /// The free names of the only macro on a line, with whether each is read, written and passed on.
    fn uses(line: u32) -> Vec<(String, bool, bool, bool)> {
        ask(line, |_, found| {
            let [only] = found else { panic!("{} invocations", found.len()) };
            let uses = only.uses().into_iter();
            uses.map(|one| (one.name, one.is_read, one.is_written, one.is_passed)).collect()
        })
    }

    #[test]
    fn macros_name_variables_that_their_text_does_not() {
        let names: Vec<String> = uses(8).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["back", "digest", "h", "n", "out", "point"]);
        let row = |name: &str, read, written| (name.to_string(), read, written, false);
        assert_eq!(uses(9), [row("h", false, true), row("n", true, false)]);
    }

    #[test]
    fn outputs_of_assembly_are_written() {
        let row = |name: &str, read, written| (name.to_string(), read, written, false);
        assert_eq!(uses(10), [row("h", true, true), row("point", true, false)]);
        assert_eq!(uses(11), [row("h", true, true), row("point", true, false)]);
    }

    #[test]
    fn arguments_of_calls_are_told_by_their_number() {
        ask(8, |tree, found| {
            let names = |index, count| found[0].argument_names("digest", Passed { index, count, has_object: None });
            assert_eq!(names(0, 2), BTreeSet::from(["point".to_string()]));
            assert_eq!(names(1, 2), BTreeSet::from(["back".to_string(), "h".to_string()]));
            assert_eq!(names(0, 4), BTreeSet::new());
            let named = |name: &str| tree.variables_named(found[0].range.start, name);
            assert_eq!(named("p").into_iter().map(|one| one.name).collect::<Vec<_>>(), ["point"]);
            assert!(named("own").is_empty());
        });
    }

    #[test]
    fn what_is_no_whole_statement_is_not_read() {
        ask(12, |_, found| assert!(found.is_empty()));
    }
}
