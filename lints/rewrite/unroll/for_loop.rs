//! Loops that could be unrolled: their induction variable, and the place for the edit.

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node};
use cuda_syntax::identifiers::{identifiers, is_identifier_character};
use lmem_base::diagnostic::Edit;
use lmem_frame::{Access, Address, Place, StackObject};

use super::body::only_child;
use super::bound::{is_countdown, is_counted_in_body};
use super::handed::{MOST_CALLS, arguments_at, arguments_for, handed_loops};
use super::header::{start_before, step_of};
use crate::rewrite::facts::steady::may_write;

/// A `for` loop in the source; or a loop of any kind whose body counts a variable up.
#[derive(Clone)]
pub struct ForLoop {
    tree: Rc<SyntaxTree>,
    /// Offset of the keyword.
    start: usize,
    /// The `#pragma unroll …` before it.
    pragma: Option<Range<usize>>,
    /// The trip count, if the source determines it.
    pub rounds: Option<u32>,
    counter: String,
    /// Whether the body counts, not the header: `while (n) { digit[k++] = n % 10; n /= 10; }`.
    pub is_stepped: bool,
}

impl ForLoop {
    /// The line of the keyword.
    pub fn line(&self) -> usize {
        self.tree.span(self.start..self.start + 1).map_or(0, |span| span.start_line())
    }

    pub fn is_within_kernel(&self) -> bool {
        self.tree.is_within_kernel(self.start)
    }

    /// Inserts `#pragma unroll`, or replaces a pragma with a factor that is too small.
    pub fn unroll(&self) -> Option<Edit> {
        match &self.pragma {
            Some(pragma) => {
                let range = unroll_directive(self.tree.text().get(pragma.clone())?)?;
                self.tree.neutral_replacement(pragma.start + range.start..pragma.start + range.end, "unroll")
            }
            None => {
                let before = self.tree.neutral_line_before(self.start, "#pragma unroll");
                before.or_else(|| self.tree.neutral_line_within(self.start, "#pragma unroll"))
            }
        }
    }

    /// The enclosing loops that must be unrolled too, if the loop's bounds depend on their induction variables and
    /// constants. Each copy of the loop then has a constant trip count. `is_over` are the loops that are unrolled though
    /// their trip counts are not known yet.
    pub fn enclosing(&self, is_over: &dyn Fn(&ForLoop) -> bool) -> Option<Vec<ForLoop>> {
        let node = self.node()?;
        let initializer = node.field(Field::Initializer)?;
        let parts = [Some(initializer), node.field(Field::Condition), node.field(Field::Update)];
        let around = self.around();
        let mut enclosing: Vec<ForLoop> = Vec::new();
        for name in parts.into_iter().flatten().flat_map(|part| self.tree.identifiers(part)) {
            let name = self.tree.slice(name);
            if name == self.counter || self.tree.is_constant(name, self.start) {
                continue;
            }
            let outer = around.iter().find(|outer| outer.counter == name)?;
            let is_alone = outer.rounds.is_some() || is_over(outer);
            let further = if is_alone { Vec::new() } else { outer.enclosing(is_over)? };
            for found in std::iter::once(outer.clone()).chain(further) {
                if !enclosing.iter().any(|known| known.is_same(&found)) {
                    enclosing.push(found);
                }
            }
        }
        (!enclosing.is_empty()).then_some(enclosing)
    }

    /// Whether the header names its counter, constants and parameters of templates alone: each instance has its trip count.
    pub(super) fn has_fixed_bounds(&self) -> bool {
        let is_for = !self.is_stepped && self.node().is_some_and(|node| node.kind() == Kind::ForStatement);
        is_for && self.has_bounds_of(&|_| false) && self.names_alone(Field::Update, &|_| false)
    }

    /// Whether what a loop begins and ends at has its counter, constants, parameters of templates, and names that are known.
    pub(super) fn has_bounds_of(&self, is_known: &dyn Fn(&str) -> bool) -> bool {
        self.names_alone(Field::Initializer, is_known) && self.names_alone(Field::Condition, is_known)
    }

    fn names_alone(&self, part: Field, is_known: &dyn Fn(&str) -> bool) -> bool {
        let Some(node) = self.node() else { return false };
        let names = node.field(part).map(|part| self.tree.identifiers(part)).unwrap_or_default();
        names.into_iter().all(|name| {
            let word = self.tree.slice(name);
            word == self.counter || is_known(word) || self.tree.is_fixed(word, name.start_byte())
        })
    }

    /// The loops around, the innermost first.
    pub(super) fn around(&self) -> Vec<ForLoop> {
        for_loops(&self.tree, self.start).into_iter().filter(|outer| !outer.is_same(self)).collect()
    }

    pub fn tree(&self) -> &SyntaxTree {
        &self.tree
    }

    pub fn counter(&self) -> &str {
        &self.counter
    }

    pub fn node(&self) -> Option<Node<'_>> {
        let mut node = self.tree.node_at(self.start)?;
        while !node.kind().is_loop() || node.start_byte() != self.start {
            node = node.parent()?;
        }
        Some(node)
    }

    /// The same loop, whose variables keep the values with which it ends.
    pub(super) fn as_stepped(&self) -> Self {
        Self { is_stepped: true, ..self.clone() }
    }

    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.tree, &other.tree) && self.start == other.start
    }
}

/// The loops whose induction variables occur in the indices of accesses, in order, without duplicates. `None` if they are
/// unknown for an access. Of accesses with a computed index, those that `is_walk` are asked for too.
pub fn index_loops<'a>(
    object: &StackObject,
    accesses: impl Iterator<Item = &'a Access>,
    is_walk: &dyn Fn(&Access) -> bool,
) -> Option<Vec<ForLoop>> {
    let mut loops: Vec<ForLoop> = Vec::new();
    let is_wanted = |access: &Access| match access.address {
        Address::Induction(_) => !is_of_compiler(object, access),
        Address::Computed(_) => is_walk(access),
        _ => false,
    };
    for access in accesses {
        let found = match access {
            _ if is_wanted(access) => Some(loops_of(object, access)).filter(|found| !found.is_empty())?,
            _ if matches!(access.address, Address::Induction(_)) => handed_loops(object, access),
            _ => Vec::new(),
        };
        for found in found {
            if !loops.iter().any(|known| known.is_same(&found)) {
                loops.push(found);
            }
        }
    }
    loops.sort_by_key(ForLoop::line);
    Some(loops)
}

/// Whether a computed index has the induction variable of a loop around: `row[i]` of `for (int i = m; i-- > 0;)`, whose
/// address the compiler begins at `m`, or `row[i + r]` of `for (int i = -r; i <= r; ++i)`.
pub fn is_walk(object: &StackObject, access: &Access) -> bool {
    let index = access.index.as_ref();
    let is_known = |(place, words): &(&Place, Vec<String>)| {
        let tree = object.tree(place);
        let around = for_loops(tree, place.offset);
        let is_counted = words.iter().any(|word| around.iter().any(|found| found.counter == *word));
        // `ring[i % m]` of a run-time `m` is not constant in any round.
        let open = index.and_then(|index| Some((tree.offset_of(index)?, index.text().len())));
        is_counted && !open.is_some_and(|(at, length)| has_open_remainder(tree, at..at + length))
    };
    matches!(access.address, Address::Computed(_)) && indices_outwards(object, access).iter().any(is_known)
}

/// Whether an expression has a remainder or a quotient whose divisor is no constant.
fn has_open_remainder(tree: &SyntaxTree, range: Range<usize>) -> bool {
    let whole = tree.root().and_then(|root| root.named_descendant_for_byte_range(range.start, range.end));
    let divided = whole.into_iter().flat_map(Node::descendants).filter_map(Binary::of);
    let divided = divided.filter(|it| matches!(it.operator(), Some("%" | "/")));
    divided.filter_map(Binary::right).any(|right| tree.value_of(right).is_none())
}

/// Whether the compiler made the loop from an initializer such as `{}`. Such a loop disappears if no other index is
/// computed. Its code has the position of a nearby statement.
fn is_of_compiler(object: &StackObject, access: &Access) -> bool {
    access.index.is_none() && object.copying_call(access).is_none() && loops_of(object, access).is_empty()
}

/// The places of an access, from the inside out, each with the names in its index, and in what functions get for them.
fn indices_outwards<'a>(object: &StackObject, access: &'a Access) -> Vec<(&'a Place, Vec<String>)> {
    let mut words: Vec<String> = match (&access.index, access.places.iter().next()) {
        (Some(index), _) => identifiers(index.text()).map(str::to_string).collect(),
        (None, Some(place)) => arguments_at(object.tree(place), place.offset, access),
        (None, None) => Vec::new(),
    };
    let mut found: Vec<(&Place, Vec<String>)> = Vec::new();
    for place in access.places.iter().take(MOST_CALLS) {
        if let Some((inner, _)) = found.last() {
            words.extend(arguments_for(&words, (object.tree(inner), inner), (object.tree(place), place)));
        }
        found.push((place, words.clone()));
    }
    found
}

/// The loops around an access whose induction variable is in the index, or in what a function that has the access gets for it.
fn loops_of(object: &StackObject, access: &Access) -> Vec<ForLoop> {
    for (place, words) in indices_outwards(object, access) {
        let tree = object.tree(place);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let named = |offset: usize| -> Vec<ForLoop> {
            let around = for_loops(tree, offset);
            around.into_iter().filter(|found| words.contains(&found.counter.as_str())).collect()
        };
        let named_here = named(place.offset);
        // `if (ok) for (…)`, and the loops of a line, are one place for the compiler.
        let used = access.index.as_ref().and_then(|index| tree.offset_of(index));
        let is_within =
            |offset: &usize| tree.region(place.offset).is_some_and(|region| region.byte_range().contains(offset));
        let within = used.filter(is_within).map(named).unwrap_or_default();
        let found = if within.len() > named_here.len() { within } else { named_here };
        if !found.is_empty() {
            return found;
        }
        let stepped = stepped_loop(tree, place.offset, &words);
        let found = stepped.or_else(|| countdown_loop(tree, place.offset, &words));
        if found.is_some() {
            return found.into_iter().collect();
        }
    }
    Vec::new()
}

/// The innermost loop around an offset, if its body counts one of the variables up.
pub(super) fn stepped_loop(tree: &Rc<SyntaxTree>, offset: usize, words: &[&str]) -> Option<ForLoop> {
    let is_end = |node: &Node<'_>| matches!(node.kind(), Kind::FunctionDefinition | Kind::LambdaExpression);
    let mut around = tree.node_at(offset)?.ancestors().take_while(|node| !is_end(node));
    let node = around.find(|node| node.kind().is_loop() && node.kind() != Kind::ForRangeLoop)?;
    let counter = words.iter().find(|word| tree.is_plain(node) && is_counted_in_body(tree, node, word))?;
    Some(ForLoop {
        tree: Rc::clone(tree),
        start: node.start_byte(),
        pragma: unroll_pragma(tree, node),
        // A loop whose header counts to a constant needs no other end.
        rounds: counter_of(tree, node).and_then(|header| rounds(tree, node, tree.slice(header))),
        counter: counter.to_string(),
        is_stepped: true,
    })
}

/// The innermost loop around an offset, if it is `while (i-- > 0)` with one of the variables, and only counts it there.
pub(super) fn countdown_loop(tree: &Rc<SyntaxTree>, offset: usize, words: &[&str]) -> Option<ForLoop> {
    let is_end = |node: &Node<'_>| matches!(node.kind(), Kind::FunctionDefinition | Kind::LambdaExpression);
    let mut around = tree.node_at(offset)?.ancestors().take_while(|node| !is_end(node));
    let node = around.find(|node| node.kind().is_loop() && node.kind() != Kind::ForRangeLoop)?;
    let condition = node
        .field(Field::Condition)
        .and_then(only_child)
        .filter(|_| node.kind() == Kind::WhileStatement && tree.is_plain(node))?;
    let counter = words.iter().find(|word| is_countdown(tree, condition, word))?;
    let start = start_before(tree, node, counter).and_then(|start| tree.value_of(start));
    let is_kept = node.field(Field::Body).is_some_and(|body| !may_write(tree, body, counter));
    is_kept.then(|| ForLoop {
        tree: Rc::clone(tree),
        start: node.start_byte(),
        pragma: unroll_pragma(tree, node),
        rounds: start.and_then(|start| u32::try_from(start).ok()),
        counter: counter.to_string(),
        is_stepped: false,
    })
}

/// The editable `for` loops around an offset.
pub fn for_loops(tree: &Rc<SyntaxTree>, offset: usize) -> Vec<ForLoop> {
    let mut loops = Vec::new();
    let mut node = tree.node_at(offset);
    while let Some(current) = node {
        if current.kind() == Kind::ForStatement && tree.is_plain(current) {
            loops.extend(for_loop(tree, current));
        }
        if matches!(current.kind(), Kind::FunctionDefinition | Kind::LambdaExpression) {
            break;
        }
        node = current.parent();
    }
    loops
}

/// Whether the loop with an induction variable around an offset has a constant trip count.
pub fn has_known_length(tree: &Rc<SyntaxTree>, offset: usize, counter: &str) -> bool {
    let found = for_loops(tree, offset).into_iter().find(|found| found.counter == counter);
    found.is_some_and(|found| found.rounds.is_some())
}

fn for_loop(tree: &Rc<SyntaxTree>, node: Node<'_>) -> Option<ForLoop> {
    let counter = tree.slice(counter_of(tree, node)?).to_string();
    Some(ForLoop {
        tree: Rc::clone(tree),
        start: node.start_byte(),
        pragma: unroll_pragma(tree, node),
        rounds: rounds(tree, node, &counter),
        counter,
        is_stepped: false,
    })
}

/// The directive before a loop that says how to unroll it.
pub(in crate::rewrite) fn unroll_pragma(tree: &SyntaxTree, node: Node<'_>) -> Option<Range<usize>> {
    let is_pragma = |text: &str| text.strip_prefix('#').is_some_and(|rest| rest.trim_start().starts_with("pragma"));
    let pragma = node.prev_sibling().filter(|before| is_pragma(tree.slice(*before).trim_start()));
    let pragma = pragma.map(|pragma| pragma.byte_range()).or_else(|| pragma_above(tree, node));
    let pragma = pragma.or_else(|| tree.attribute_before(node.start_byte()));
    pragma.filter(|range| tree.text()[range.clone()].contains("unroll"))
}

/// The variable that the loop initializer declares or assigns; without one, the variable that the header steps.
fn counter_of<'t>(tree: &SyntaxTree, node: Node<'t>) -> Option<Node<'t>> {
    let Some(initializer) = node.field(Field::Initializer) else {
        let update = node.field(Field::Update)?;
        let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
        return Some(target).filter(|target| start_before(tree, node, tree.slice(*target)).is_some());
    };
    let target = match initializer.kind() {
        Kind::Declaration => initializer.field(Field::Declarator)?.field(Field::Declarator)?,
        Kind::AssignmentExpression => initializer.field(Field::Left)?,
        _ => return None,
    };
    (target.kind() == Kind::Identifier).then_some(target)
}

/// The trip count of a loop with constant bounds.
fn rounds(tree: &SyntaxTree, node: Node<'_>, counter: &str) -> Option<u32> {
    let value = |node: Node<'_>| tree.value_of(node);
    let start = match node.field(Field::Initializer) {
        Some(initializer) => match initializer.kind() {
            Kind::Declaration => initializer.field(Field::Declarator)?.field(Field::Value)?,
            _ => initializer.field(Field::Right)?,
        },
        None => start_before(tree, node, counter)?,
    };
    let (start, step) = (value(start)?, step_of(tree, node.field(Field::Update)?, counter)?);
    rounds_until(tree, node.field(Field::Condition)?, counter, start, step)
}

/// The most rounds that a condition allows. Of several conditions each may end the loop: `i < 8 && in[i] > 0`.
fn rounds_until(tree: &SyntaxTree, condition: Node<'_>, counter: &str, start: i64, step: i64) -> Option<u32> {
    let comparison = Binary::of(condition.without_parentheses())?;
    let (left, right) = (comparison.left()?, comparison.right()?);
    if matches!(comparison.operator()?, "&&" | "and") {
        let both = [left, right].map(|part| rounds_until(tree, part, counter, start, step));
        return both.into_iter().flatten().min();
    }
    let end = tree.value_of(right).filter(|_| tree.slice(left) == counter)?;
    let distance = match comparison.operator()? {
        "<" | "!=" if step > 0 => end - start,
        "<=" if step > 0 => end - start + 1,
        ">" | "!=" => start - end,
        ">=" => start - end + 1,
        _ => return None,
    };
    u32::try_from((distance.max(0) + step.abs() - 1) / step.abs()).ok()
}

/// The pragma on the line above a loop. The tree does not show a pragma between a statement's head and its body.
fn pragma_above(tree: &SyntaxTree, node: Node<'_>) -> Option<Range<usize>> {
    let line = tree.line_of(node.start_byte());
    let is_first = tree.text().get(tree.line_range(line)?.start..node.start_byte())?.trim().is_empty();
    let above = tree.line_range(line.checked_sub(1)?).filter(|_| is_first)?;
    let text = tree.text().get(above.clone())?;
    let directive = text.trim_start().strip_prefix('#')?.trim_start();
    directive.starts_with("pragma").then_some(above)
}

/// The range of `unroll 4` or `unroll(4)` in a directive, or in the literal of `_Pragma("unroll 4")`.
fn unroll_directive(pragma: &str) -> Option<Range<usize>> {
    if let Some(literal) = pragma.strip_prefix("_Pragma(\"") {
        let (directive, end) = literal.split_once('"')?;
        let is_argument = |rest: &str| rest.chars().all(|c| is_identifier_character(c) || " ()".contains(c));
        let argument = directive.strip_prefix("unroll").filter(|rest| is_argument(rest) && !rest.trim().is_empty())?;
        let start = pragma.len() - literal.len();
        return (end.trim() == ")").then_some(start..start + "unroll".len() + argument.len());
    }
    let rest = pragma.trim_start().strip_prefix('#')?.trim_start().strip_prefix("pragma")?;
    let directive = rest.trim_start();
    let after = directive.strip_prefix("unroll")?;
    let start = pragma.len() - directive.len();
    let end_of_word = pragma.len() - after.len();
    let argument = after.trim_start_matches([' ', '\t']);
    let length = match argument.strip_prefix('(') {
        Some(inner) => inner.find(')')? + 2,
        None => argument.find(|c| !is_identifier_character(c)).unwrap_or(argument.len()),
    };
    let end = if length == 0 { end_of_word } else { pragma.len() - argument.len() + length };
    // Only a comment may follow. A plain `unroll` is already what the edit would write.
    let tail = pragma.get(end..)?.trim();
    let is_known = tail.is_empty() || tail.starts_with("//") || tail.starts_with("/*");
    (is_known && length > 0).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    fn loops(text: &str) -> Vec<ForLoop> {
        let tree = Rc::new(SyntaxTree::example("a.cu", text));
        for_loops(&tree, text.find("HERE").expect("the text has a mark"))
    }

    fn kernel(text: &str) -> String {
        format!("constexpr int N = 12;\n__global__ void k(float* a, int n) {{\n  {text}\n}}\n")
    }

    #[test]
    fn rounds_are_counted() {
        for (header, rounds) in [
            ("int i = 0; i < 12; ++i", Some(12)),
            ("int i = 0; i < N; i += 4", Some(3)),
            ("int i = 1; i <= N; i++", Some(12)),
            ("int i = N - 1; i >= 0; --i", Some(12)),
            ("unsigned i{3}; i != 12; i++", Some(9)),
            ("int i = 0; i < n; ++i", None),
            ("int i = 0; n > i; ++i", None),
            ("int i = 5; i < 3; ++i", Some(0)),
        ] {
            let text = kernel(&format!("for ({header}) a[i] = HERE;"));
            let found = loops(&text);
            assert_eq!(found.first().and_then(|found| found.rounds), rounds, "{header}");
        }
    }

    #[test]
    fn a_triangle_is_unrolled_as_a_whole() {
        let text = kernel(
            "for (int t = 0; t < n; ++t) for (int i = 0; i < N; ++i) for (int j = i + 1; j < N; ++j) for (int k = j; k < N; ++k) HERE;",
        );
        let names = |found: &ForLoop| {
            found.enclosing(&|_| false).map(|outer| outer.into_iter().map(|outer| outer.counter).collect::<Vec<_>>())
        };
        let loops = loops(&text);
        assert_eq!(names(&loops[0]), Some(vec!["j".to_string(), "i".to_string()]));
        assert_eq!(names(&loops[1]), Some(vec!["i".to_string()]));
        assert_eq!((names(&loops[2]), names(&loops[3])), (None, None));
    }

    #[test]
    fn pragmas_are_replaced_and_inserted() {
        for (before, after) in [
            ("#pragma unroll 1\n  ", "#pragma unroll\n  "),
            ("#pragma unroll(4)\n  ", "#pragma unroll\n  "),
            ("# pragma  unroll ( N ) // small\n  ", "# pragma  unroll // small\n  "),
            ("_Pragma(\"unroll 1\") ", "_Pragma(\"unroll\") "),
            ("_Pragma(\"unroll(4)\")\n  ", "_Pragma(\"unroll\")\n  "),
            ("", "#pragma unroll\n  "),
            ("// note\n  ", "// note\n  #pragma unroll\n  "),
        ] {
            let text = kernel(&format!("{before}for (int i = 0; i < 4; ++i) {{ HERE; }}"));
            let edit = loops(&text)[0].unroll().expect(before);
            let expected = kernel(&format!("{after}for (int i = 0; i < 4; ++i) {{ HERE; }}"));
            assert_eq!(apply(&text, &[&edit]), Some(expected));
        }
        // Behind other code, a loop gets a line of its own.
        for (before, after) in [
            ("if (n) ", "if (n)\n      #pragma unroll\n      "),
            ("if (n) { ", "if (n) {\n      #pragma unroll\n      "),
            ("n++; ", "n++;\n      #pragma unroll\n      "),
            ("if (n) n++; else ", "if (n) n++; else\n      #pragma unroll\n      "),
        ] {
            let end = if before.ends_with("{ ") { " }" } else { "" };
            let text = kernel(&format!("{before}for (int i = 0; i < 4; ++i) HERE;{end}"));
            let edit = loops(&text)[0].unroll().expect(before);
            let expected = kernel(&format!("{after}for (int i = 0; i < 4; ++i) HERE;{end}"));
            assert_eq!(apply(&text, &[&edit]), Some(expected));
        }
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        for text in [
            "#pragma unroll\n  for (int i = 0; i < 4; ++i) HERE;",
            "_Pragma(\"unroll\") for (int i = 0; i < 4; ++i) HERE;",
            // The macro may be used elsewhere, and a second pragma would not be obeyed.
            "\n#define UNROLL _Pragma(\"unroll 1\")\n  UNROLL\n  for (int i = 0; i < 4; ++i) HERE;",
        ] {
            assert_eq!(loops(&kernel(text))[0].unroll(), None, "{text}");
        }
        assert!(loops("#define LOOP for (int i = 0; i < 4; ++i) HERE;\n").is_empty());
        assert!(loops(&kernel("REPEAT(for (int i = 0; i < 4; ++i) HERE;)")).is_empty());
    }

    #[test]
    fn loops_are_told_by_their_counter() {
        let text = kernel("for (int i = 0; i < 4; ++i) for (int j = 0; j < n; ++j) { HERE; }");
        let counters: Vec<String> = loops(&text).into_iter().map(|found| found.counter).collect();
        assert_eq!(counters, ["j", "i"]);
    }
}
