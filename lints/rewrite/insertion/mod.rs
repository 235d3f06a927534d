//! Insertion into a small sorted array, as a loop over all of its elements.
//!
//! `while (at > 0 && key[at - 1] > k) { key[at] = key[at - 1]; --at; } key[at] = k;` moves elements by a computed index,
//! which keeps the array in local memory. The loop that replaces it visits the elements from the last one down; a flag
//! says whether they still move, and the new element is stored where they stop. Conditions, moves and stores are
//! evaluated as often as before, and in the same order, so that nothing is asked of the order of the elements. It relies
//! on one thing: the loop did not begin beyond the array, because it then would have stored there.
//!
//! Measured on an H100, 8 and 25 elements in registers ran 3.6 to 10 times as fast as in local memory.

mod counter;
mod extent;
mod text;
mod walk;

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::ast::{Binary, Field, Kind, Node};
use cuda_syntax::tree::{enclosing_function, resolve};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::{Applicability, Suggestion};
use lmem_base::source::Span;
use lmem_frame::{Access, Address, StackObject};

use self::walk::Walk;
use super::Rewrite;
use super::facts::steady::may_write;
use super::select::{FORMS, Form, selection, worth};
use super::unroll::Unrolled;
use super::unroll::bound::rises_from_constant;
use super::unroll::for_loop::{ForLoop, for_loops, index_loops};

/// A longer array is left where it is: each insertion has code for each element.
const MOST_ELEMENTS: i64 = 32;

/// Replaces the insertion loops over an array. Other loops over it are unrolled, other computed indices become selects.
pub fn suggestions(object: &StackObject) -> Vec<Suggestion> {
    let Some(inserted) = Inserted::of(object) else { return Vec::new() };
    let is_rest = |access: &Access| !inserted.walks.iter().any(|walk| walk.holds(object, access));
    let mut found: Vec<Suggestion> = Vec::new();
    for unrolled in
        [Unrolled::of_accesses(object, is_rest), Unrolled::to_extents(object, is_rest)].into_iter().flatten()
    {
        for form in FORMS {
            let suggestion = inserted.suggestion(object, form, unrolled.rewrite.clone());
            found.extend(suggestion.filter(|new| found.iter().all(|known| known.edits != new.edits)));
        }
    }
    found
}

/// The insertion loops over an array, rewritten.
struct Inserted {
    walks: Vec<Found>,
    rewrite: Rewrite,
    /// Whether other accesses have computed indices.
    has_others: bool,
}

impl Inserted {
    fn of(object: &StackObject) -> Option<Self> {
        if object.variable.as_ref().is_some_and(|variable| variable.volatility.is_some()) {
            return None;
        }
        let walks = walks(object);
        let rest: Vec<&Access> =
            object.accesses.iter().filter(|access| !walks.iter().any(|walk| walk.holds(object, access))).collect();
        let loops = index_loops(object, rest.iter().copied(), &|_| false)?;
        let (mut edits, mut is_within_kernel, mut rounds) = (Vec::new(), true, None);
        for walk in &walks {
            let (edit, steps) = walk.edit(&loops, longest_member(object).or_else(|| object.elements()))?;
            edits.push(edit);
            rounds = rounds.max(steps);
            is_within_kernel &= walk.tree.is_within_kernel(walk.start);
        }
        let rewrite = Rewrite::new(Applicability::MaybeIncorrect, edits).within_kernel(is_within_kernel).rounds(rounds);
        let has_others = rest.iter().any(|access| matches!(access.address, Address::Computed(_)));
        (!walks.is_empty()).then_some(Self { walks, rewrite, has_others })
    }

    fn suggestion(&self, object: &StackObject, form: Form, unrolled: Rewrite) -> Option<Suggestion> {
        let rewrite = self.rewrite.clone().and(unrolled)?.keeping_loops(false);
        if !self.has_others {
            return Some(rewrite.suggestion("insert in an unrolled loop over all elements"));
        }
        let done: Vec<Range<usize>> = self.walks.iter().map(|walk| walk.range.clone()).collect();
        let selection = selection(object, form, &done)?;
        let is_worth = worth::is_worth(object, &selection) && (form == Form::Branch || selection.has_writes);
        let rewrite = rewrite.and(selection.rewrite).filter(|_| is_worth)?;
        Some(rewrite.suggestion("insert in an unrolled loop over all elements, and select the single element"))
    }
}

/// The number of elements of the longest member array of a structure, as the compiler's front end has it.
fn longest_member(object: &StackObject) -> Option<u64> {
    let members = object.variable.iter().flat_map(|variable| &variable.members);
    members.filter_map(|(_, type_text)| types::extent(type_text)).max()
}

/// An insertion loop at which an object is accessed.
struct Found {
    tree: Rc<SyntaxTree>,
    /// Offset of the keyword.
    start: usize,
    /// The loop and the stores behind it.
    range: Range<usize>,
    /// The indices that become constant.
    indices: Vec<String>,
}

/// The insertion loops around an object's accesses, in order of their places.
fn walks(object: &StackObject) -> Vec<Found> {
    // Each loop is looked at once, however many accesses are in it.
    let mut seen: Vec<(*const SyntaxTree, usize)> = Vec::new();
    let mut walks: Vec<Found> = Vec::new();
    for access in &object.accesses {
        for place in &access.places {
            let tree = object.tree(place);
            for node in candidates(tree, place.offset) {
                let key = (Rc::as_ptr(tree), node.start_byte());
                if !seen.contains(&key) {
                    seen.push(key);
                    walks.extend(Found::at(tree, node));
                }
            }
        }
    }
    walks.retain(|walk| object.accesses.iter().any(|access| walk.holds(object, access)));
    walks.sort_by_key(|walk| walk.start);
    walks
}

/// The loops around an offset, and the loop directly before its statement.
fn candidates(tree: &SyntaxTree, offset: usize) -> Vec<Node<'_>> {
    let around = tree.node_at(offset).into_iter().flat_map(Node::ancestors);
    let around = around.take_while(|it| it.kind() != Kind::FunctionDefinition);
    let is_passed = |node: &Node<'_>| matches!(node.kind(), Kind::ExpressionStatement | Kind::Comment);
    around
        .filter_map(|node| match node.kind() {
            Kind::ExpressionStatement => {
                let before = std::iter::successors(node.prev_named_sibling(), |it| it.prev_named_sibling());
                before.take(MOST_STORES).find(|it| !is_passed(it)).filter(|it| it.kind().is_loop())
            }
            kind => kind.is_loop().then_some(node),
        })
        .collect()
}

/// Statements between a loop and a store that belongs to it.
const MOST_STORES: usize = 16;

impl Found {
    fn at(tree: &Rc<SyntaxTree>, node: Node<'_>) -> Option<Self> {
        let walk = Walk::of(tree, node)?;
        let (start, range, indices) = (node.start_byte(), walk.range.clone(), walk.indices());
        Some(Self { tree: Rc::clone(tree), start, range, indices })
    }

    fn walk(&self) -> Option<Walk<'_>> {
        let mut node = self.tree.node_at(self.start)?;
        while !node.kind().is_loop() || node.start_byte() != self.start {
            node = node.parent()?;
        }
        Walk::of(&self.tree, node)
    }

    /// Whether an access is one whose index becomes constant.
    fn holds(&self, object: &StackObject, access: &Access) -> bool {
        let is_here = |place: &lmem_frame::Place| {
            Rc::ptr_eq(object.tree(place), &self.tree) && self.range.contains(&place.offset)
        };
        let is_index = |index: &Span| self.indices.iter().any(|known| known == index.text().trim());
        access.places.into_iter().any(is_here)
            && access.index.as_ref().is_none_or(is_index)
            && !access.in_callee
            && !access.is_volatile
    }

    /// The edit, and how many elements it visits, if known.
    fn edit(&self, loops: &[ForLoop], elements: Option<u64>) -> Option<(lmem_base::diagnostic::Edit, Option<u32>)> {
        let walk = self.walk()?;
        let first = FirstValue::of(&walk, loops);
        let highest = walk.highest.as_ref().and_then(|(_, value)| *value);
        let elements = elements.and_then(|elements| i64::try_from(elements).ok());
        let steps = highest.map(|highest| highest - walk.lowest + 1).or(elements)?;
        // Where no array shows that a store below the lowest value is none, the counter must not begin there.
        let is_above = || first.as_ref().is_some_and(|first| first.least.is_some_and(|least| least >= walk.lowest));
        let is_safe = walk.highest.is_some() || walk.stores.is_empty() || is_above();
        if steps > MOST_ELEMENTS || !is_safe {
            return None;
        }
        Some((walk.edit(first.is_some(), earlier(&walk))?, u32::try_from(steps).ok()))
    }
}

/// The number of insertion loops before one in its function.
fn earlier(walk: &Walk<'_>) -> usize {
    let function = enclosing_function(walk.node);
    let nodes = function.into_iter().flat_map(|function| function.descendants());
    nodes.filter(|node| node.start_byte() < walk.node.start_byte() && Walk::of(walk.tree, *node).is_some()).count()
}

/// The counter's first value, where it is a constant or becomes one when the loops over the array are unrolled.
struct FirstValue {
    /// The least that it is, if known.
    least: Option<i64>,
}

impl FirstValue {
    fn of(walk: &Walk<'_>, loops: &[ForLoop]) -> Option<Self> {
        let tree = walk.tree;
        let value = walk.start.value()?.without_parentheses();
        if let Some(constant) = tree.value_of(value) {
            return Some(Self { least: Some(constant) });
        }
        let (name, distance) = match Binary::of(value) {
            Some(sum) => {
                let constant = tree.value_of(sum.right()?)?;
                match sum.operator()? {
                    "+" => (sum.left()?, constant),
                    "-" => (sum.left()?, -constant),
                    _ => return None,
                }
            }
            None => (value, 0),
        };
        let counter = Some(tree.slice(name)).filter(|_| name.kind() == Kind::Identifier)?;
        let around = for_loops(tree, walk.node.start_byte());
        let outer = around.iter().find(|outer| outer.counter() == counter)?;
        let (node, is_over) = (outer.node()?, loops.iter().any(|known| known.is_same(outer)));
        let body = node.field(Field::Body)?;
        let all = tree.declarations(enclosing_function(body)?);
        let meant = |at: usize| resolve(&all, counter, at).map(|found| found.range);
        let is_own = meant(body.start_byte()) == meant(name.start_byte()) && !may_write(tree, body, counter);
        let first = || {
            let initializer = node.field(Field::Initializer)?;
            let declarator =
                initializer.field(Field::Declarator).filter(|_| rises_from_constant(tree, node, body, counter))?;
            tree.value_of(declarator.field(Field::Value)?)?.checked_add(distance)
        };
        (is_over && is_own).then(|| Self { least: first() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    const HEAD: &str = "constexpr int N = 8;\nstruct Row { float x; int id; };\n__device__ void add(float* p);\n\
        __device__ float next(float* p) { return *++p; }\n\
        template <class T, int K> struct Top {\n    T key[K]; int val[K]; int size = 0;\n    \
        __device__ void push(T v, int id) {\n        int at = size < K ? size++ : K - 1;\n        \
        while (at > 0 && key[at - 1] < v) {\n            key[at] = key[at - 1];\n            val[at] = val[at - 1];\n            \
        --at;\n        }\n        key[at] = v;\n        val[at] = id;\n    }\n};\n";

    /// The text of a function with its first insertion loop replaced, one line for each; `None` if it is left as it is.
    fn edited_in(text: &str) -> Option<String> {
        let tree = Rc::new(SyntaxTree::example("a.cu", text));
        let node = tree.nodes().find(|node| node.kind().is_loop() && Walk::of(&tree, *node).is_some())?;
        let found = Found::at(&tree, node)?;
        let loops = for_loops(&tree, node.start_byte());
        let (edit, _) = found.edit(&loops, Some(8))?;
        apply(text, &[&edit])
    }

    fn edited(body: &str) -> Option<String> {
        let head = "__global__ void k(float* in, int n, float v, float* out) {\n    float a[N], w[2 * N];\n    int b[8], ids[4][8];\n    Row r[6];\n    double d[40];\n";
        let lines: Vec<&str> = body.split('|').map(str::trim).collect();
        let text = format!("{head}    {}\n}}\n", lines.join("\n    "));
        let edited = edited_in(&format!("{}{text}", HEAD.split("template").next()?))?;
        let start = edited.find("double d[40];\n")? + "double d[40];\n".len();
        let kept: Vec<&str> = edited[start..].trim_end().trim_end_matches('}').lines().map(str::trim).collect();
        Some(kept.join("|").trim_end_matches('|').to_string())
    }

    #[test]
    fn elements_move_in_an_unrolled_loop() {
        for (body, expected) in [
            (
                "int at = n;|while (at > 0 && a[at - 1] > v) {|a[at] = a[at - 1];|--at;|}|a[at] = v;",
                "int at = n;|bool moving = false;|#pragma unroll|for (int slot = N - 1; slot >= 0; --slot) {|const bool here = moving || slot == at;|moving = here && slot > 0 && a[slot - 1] > v;|if (moving) a[slot] = a[slot - 1];|if (here && !moving) a[slot] = v;|}",
            ),
            // Insertion sort: the first value is constant once the outer loop is unrolled.
            (
                "for (int i = 1; i < N; ++i) {|const float x = a[i];|int j = i - 1;|while (j >= 0 && a[j] > x) {|a[j + 1] = a[j];|j--;|}|a[j + 1] = x;|}",
                "for (int i = 1; i < N; ++i) {|const float x = a[i];|int j = i - 1;|bool moving = false;|#pragma unroll|for (int slot = j; slot >= -1; --slot) {|const bool here = moving || slot == j;|moving = here && slot >= 0 && a[slot] > x;|if (moving) a[slot + 1] = a[slot];|if (here && !moving) a[slot + 1] = x;|}|}",
            ),
            // A counter that is declared for all loops, as C has it.
            (
                "int i, j;|for (i = 1; i < 8; i++) {|v = a[i];|for (j = i; j > 0 && v < a[j - 1]; j -= 1)|a[j] = a[j - 1];|a[j] = v;|}",
                "int i, j;|for (i = 1; i < 8; i++) {|v = a[i];|j = i;|bool moving = false;|#pragma unroll|for (int slot = j; slot >= 0; --slot) {|const bool here = moving || slot == j;|moving = here && slot > 0 && v < a[slot - 1];|if (moving) a[slot] = a[slot - 1];|if (here && !moving) a[slot] = v;|}|}",
            ),
            // Several arrays, comments, and what stands between the stores.
            (
                "unsigned p = n;|for (; 0 < p && a[p - 1] > v; --p) { // shift|a[p] = a[p - 1];|b[p] = b[p - 1];|}|a[p] = v;|++n;|b[p] = n;|out[0] = v;",
                "unsigned p = n;|bool moving = false;|#pragma unroll|for (int slot = N - 1; slot >= 0; --slot) {|const bool here = moving || slot == p;|moving = here && 0 < slot && a[slot - 1] > v;|if (moving) {|// shift|a[slot] = a[slot - 1];|b[slot] = b[slot - 1];|}|if (here && !moving) {|a[slot] = v;|++n;|b[slot] = n;|}|}|out[0] = v;",
            ),
            // The counter's last value is used.
            (
                "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;|out[0] = j;|b[j] = j;",
                "int j = n;|bool moving = false;|#pragma unroll|for (int slot = N - 1; slot >= 0; --slot) {|const bool here = moving || slot == j;|moving = here && slot > 0 && a[slot - 1] > v;|if (moving) a[slot] = a[slot - 1];|if (here && !moving) {|a[slot] = v;|j = slot;|}|}|out[0] = j;|b[j] = j;",
            ),
            // The condition at the start of the body.
            (
                "int j = n - 1;|while (j >= 0) {|if (r[j].x <= v) break;|r[j + 1] = r[j];|--j;|}|r[j + 1].x = v;",
                "int j = n - 1;|bool moving = false;|#pragma unroll|for (int slot = 4; slot >= -1; --slot) {|const bool here = moving || slot == j;|moving = here && slot >= 0 && !(r[slot].x <= v);|if (moving) r[slot + 1] = r[slot];|if (here && !moving) r[slot + 1].x = v;|}",
            ),
            (
                "int j;|for (j = 7; j > 0; j--) {|if (a[j - 1] > v) {|a[j] = a[j - 1];|b[j] = b[j - 1];|} else {|break;|}|}|a[j] = v;|b[j] = n;",
                "int j;|j = 7;|bool moving = false;|#pragma unroll|for (int slot = j; slot >= 0; --slot) {|const bool here = moving || slot == j;|moving = here && slot > 0 && (a[slot - 1] > v);|if (moving) {|a[slot] = a[slot - 1];|b[slot] = b[slot - 1];|}|if (here && !moving) {|a[slot] = v;|b[slot] = n;|}|}",
            ),
            (
                "int j = n;|while (j > 0) {|if (a[j - 1] > v) {|a[j] = a[j - 1];|--j;|} else break;|}|a[j] = v;",
                "int j = n;|bool moving = false;|#pragma unroll|for (int slot = N - 1; slot >= 0; --slot) {|const bool here = moving || slot == j;|moving = here && slot > 0 && (a[slot - 1] > v);|if (moving) a[slot] = a[slot - 1];|if (here && !moving) a[slot] = v;|}",
            ),
            // An exchange of neighbours, behind which nothing is stored.
            (
                "for (int j = 7; j > 0 && a[j - 1] > a[j]; --j) {|float t = a[j];|a[j] = a[j - 1];|a[j - 1] = t;|}",
                "bool moving = false;|#pragma unroll|for (int slot = 7; slot >= 1; --slot) {|moving = (moving || slot == 7) && slot > 0 && a[slot - 1] > a[slot];|if (moving) {|float t = a[slot];|a[slot] = a[slot - 1];|a[slot - 1] = t;|}|}",
            ),
            (
                "int j = n < N ? n++ : N - 1;|a[j] = v;|while (j > 0 && a[j] < a[j - 1]) {|float t = a[j];|a[j] = a[j - 1];|a[j - 1] = t;|--j;|}",
                "int j = n < N ? n++ : N - 1;|a[j] = v;|bool moving = false;|#pragma unroll|for (int slot = N - 1; slot >= 1; --slot) {|moving = (moving || slot == j) && slot > 0 && a[slot] < a[slot - 1];|if (moving) {|float t = a[slot];|a[slot] = a[slot - 1];|a[slot - 1] = t;|}|}",
            ),
            (
                "for (int j = n++; j > 0 && a[j] < a[j - 1]; --j) a[j - 1] = v;",
                "const int first = n++;|bool moving = false;|#pragma unroll|for (int slot = N - 1; slot >= 1; --slot) {|moving = (moving || slot == first) && slot > 0 && a[slot] < a[slot - 1];|if (moving) a[slot - 1] = v;|}",
            ),
        ] {
            assert_eq!(edited(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn members_are_as_long_as_their_class_declares() {
        let edited = edited_in(HEAD).unwrap();
        assert!(edited.contains("for (int slot = K - 1; slot >= 0; --slot) {"), "{edited}");
        assert!(edited.contains("const bool here = moving || slot == at;"), "{edited}");
    }

    #[test]
    fn what_may_be_something_else_is_left_as_it_is() {
        for body in [
            // The last value of the counter is used.
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|out[0] = j;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = j;",
            "int j = n;|for (int t = 0; t < n; ++t) {|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;|}",
            "int j = n;|for (int t = 0; t < n; ++t) {|out[t] = j;|j = t;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;|}",
            // Another variable may be the counter, or write it.
            "int j = n;|int& q = j;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;",
            "volatile int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;",
            "__shared__ int j;|j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|j = 0;|--j;|}|a[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[--j];|--j;|}|a[j] = v;",
            // Another step, or none at the end.
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|j -= 2;|}|a[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|--j;|a[j + 1] = a[j];|}|a[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|if (v > 0) continue;|--j;|}|a[j] = v;",
            // Nothing says where it ends, or that it begins within the array.
            "int j = n;|while (a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;",
            "int j = n;|while (j > n && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;",
            "int j = n;|while (j > 0 || a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;",
            "int j = n;|while (j > 0 && in[j - 1] > v) {|in[j] = in[j - 1];|--j;|}|in[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|if (v > 0) a[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|v > 0 && (a[j] = v);",
            "int j = n;|while (j > 2 && in[j - 1] > v) {|in[j] = in[j - 1];|--j;|}|in[j] = v;",
            "int j = n;|while (j > 0 && v > 0 && a[j - 1] > a[j]) {|a[j] = a[j - 1];|--j;|}",
            "int j = n;|while (j > 0 && (v > 0 || a[j - 1] > a[j])) {|a[j] = a[j - 1];|--j;|}",
            "for (unsigned j = n; j > 0 && a[j] < a[j - 1]; --j) a[j - 1] = v;",
            "int j = n;|while (j > 0) {|if (a[j - 1] > v) {|a[j] = a[j - 1];|--j;|} else { ++n; break; }|}|a[j] = v;",
            "int j = n;|while (j > 0) {|if (a[j - 1] > v) {|a[j] = a[j - 1];|--j;|} else if (v > 0) break;|}|a[j] = v;",
            // Jumps, and what other threads wait for.
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|if (a[j] > 9) return;|--j;|}|a[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|__syncthreads();|--j;|}|a[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = __shfl_sync(~0u, a[j - 1], 0);|--j;|}|a[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|add(out);|--j;|}|a[j] = v;",
            "int j = n;|while (j > 0 && a[j - 1] > v) {|auto f = [&] { a[j] = a[j - 1]; };|f();|--j;|}|a[j] = v;",
            // More elements than an unrolled loop should have.
            "int j = n;|while (j > 0 && d[j - 1] > v) {|d[j] = d[j - 1];|--j;|}|d[j] = v;",
            // A pragma that other lines would get between.
            "int j = n;|#pragma unroll 1|while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;",
            // A variable of the header ends with the loop.
            "int j = n;|for (int j = 7; j > 0 && a[j - 1] > v; --j) a[j] = a[j - 1] + in[j + n];|while (n--) {}|a[j] = v * j;",
        ] {
            let edited = edited(body);
            let is_alone = body.contains("in[j + n]");
            assert!(
                edited.is_none() || is_alone && !edited.as_ref().unwrap().contains("a[slot] = v"),
                "{body}: {edited:?}"
            );
        }
    }

    #[test]
    fn two_loops_of_a_block_have_flags_of_their_own() {
        let one = "while (j > 0 && a[j - 1] > v) {|a[j] = a[j - 1];|--j;|}|a[j] = v;";
        let two = one.replace('j', "m");
        let text =
            format!("__global__ void k(int n, float v) {{\nfloat a[8];\nint j = n;\n{one}\nint m = n;\n{two}\n}}\n");
        let text = text.replace('|', "\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let loops = tree.nodes().filter(|node| node.kind().is_loop());
        let edits: Vec<_> = loops.map(|node| Found::at(&tree, node).unwrap().edit(&[], Some(8)).unwrap().0).collect();
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>()).unwrap();
        assert!(edited.contains("bool moving = false;") && edited.contains("bool moving_2 = false;"), "{edited}");
    }
}
