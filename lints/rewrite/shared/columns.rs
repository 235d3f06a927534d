//! Moves a private array to shared memory, one column per thread: `float window[32]` becomes
//! `__shared__ float window_of_block[32][256]`, and `window[k]` becomes `window_of_block[k][threadIdx.x]`.
//!
//! Each thread uses only its own column, so no synchronization is needed. All uses must be elements: a pointer to the
//! array would step through the columns of other threads. The array is renamed, so that the compiler rejects a use that
//! was missed.

use std::ops::Range;

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::occurrences;
use cuda_syntax::tree::{access_path, enclosing_function, resolve};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::Edit;

use super::declaration::{BlockThreads, Declared, PrivateVariable, declared};
use super::initial::first_values;
use crate::rewrite::facts::number::is_value_type;
use crate::rewrite::facts::plain_type;
use crate::rewrite::facts::taken::stays_alone;

impl PrivateVariable {
    /// The edits for one column per thread; `None` if the variable is not an array, is used as a whole, or its elements
    /// need a constructor. `argument` returns the argument of a template parameter.
    pub fn columns(&self, threads: &BlockThreads<'_>, argument: &dyn Fn(&str) -> Option<String>) -> Option<Vec<Edit>> {
        let tree = &*self.tree;
        let declared = declared(tree, self.offset).filter(|declared| !declared.extents.is_empty())?;
        let type_text = tree.slice(declared.statement.field(Field::Type)?);
        let is_plain = declared.is_of_pointers || plain_type::is_plain(tree, type_text, argument);
        let name = tree.fresh(&format!("{}_of_block", tree.slice(declared.name)), &[]);
        if !is_plain {
            return None;
        }
        let uses = uses(tree, &declared)?;
        let column = column(tree, &declared, threads, uses.len());
        let threads = &BlockThreads { own: column.as_ref().map_or(threads.own, |(name, _)| name), ..*threads };
        let line = column.as_ref().map(|(_, line)| line.as_str());
        let mut edits = declaration(tree, &declared, &name, threads, line)?;
        if let Some(initializer) = declared.initializer {
            let lines = match zero(tree, &declared, initializer) {
                Some(zero) => vec![fill(tree, &declared, &name, threads, zero)?],
                None => {
                    let element = |element: &str| format!("{name}[{element}][{}]", threads.own);
                    first_values(tree, &declared, &element)?
                }
            };
            edits.push(after_declaration(tree, &declared, &lines)?);
        }
        let is_of_values = declared.is_of_pointers
            || is_value_type(tree, type_text)
            || argument(type_text).is_some_and(|argument| is_value_type(tree, &argument));
        let root = tree.root()?;
        for used in uses {
            // Beside an element of a column lies the next thread's element.
            let element = root.named_descendant_for_byte_range(used.name.start, used.end)?;
            if !stays_alone(tree, element, is_of_values) {
                return None;
            }
            edits.push(tree.replacement(used.name, &name)?);
            edits.push(tree.replacement(used.end - 1..used.end, &format!("][{}]", threads.own))?);
        }
        edits.sort();
        Some(edits)
    }
}

/// A constant for the thread's index, and its declaration, where the index is a long expression that several elements
/// would repeat.
fn column(
    tree: &SyntaxTree,
    declared: &Declared<'_>,
    threads: &BlockThreads<'_>,
    uses: usize,
) -> Option<(String, String)> {
    let is_repeated = uses + usize::from(declared.initializer.is_some()) > 1;
    let name = tree.fresh(&format!("{}_column", tree.slice(declared.name)), &[]);
    let line = format!("const unsigned {name} = {};", threads.own);
    (is_repeated && threads.own.contains(' ')).then_some((name, line))
}

/// Turns the declaration into one of shared memory, after a `line` of its own. Other variables of the statement keep
/// theirs.
fn declaration(
    tree: &SyntaxTree,
    declared: &Declared<'_>,
    name: &str,
    threads: &BlockThreads<'_>,
    line: Option<&str>,
) -> Option<Vec<Edit>> {
    let Declared { statement, whole, declarator, array, .. } = declared;
    let last = format!("][{}]", threads.count);
    let Some(removed) = beside_others(tree, declared)? else {
        let initializer = array.end_byte()..whole.end_byte();
        let edits = [
            lines_before(tree, *statement, line.into_iter(), "__shared__ "),
            tree.replacement(declared.name.byte_range(), name),
            tree.replacement(array.end_byte() - 1..array.end_byte(), &last),
        ];
        let mut edits: Vec<Edit> = edits.into_iter().collect::<Option<_>>()?;
        if !initializer.is_empty() {
            edits.push(tree.replacement(initializer, "")?);
        }
        return Some(edits);
    };
    let first = statement.field(Field::Declarator)?;
    let text = tree.text();
    let type_text = text.get(statement.start_byte()..first.start_byte())?.trim_end();
    let before = text.get(declarator.start_byte()..declared.name.start_byte())?;
    let extents = text.get(declared.name.end_byte()..array.end_byte() - 1)?;
    let shared = format!("__shared__ {type_text} {before}{name}{extents}{last};");
    let inserted = match line {
        Some(line) => lines_before(tree, *statement, [line, &shared].into_iter(), "")?,
        None => before_statement(tree, *statement, &shared)?,
    };
    Some(vec![inserted, tree.replacement(removed, "")?])
}

/// The range of a declarator with its comma; the inner option is `None` if it is the only one.
#[allow(clippy::option_option, reason = "a declarator without a comma is not one that is not understood")]
pub(in crate::rewrite) fn beside_others(tree: &SyntaxTree, declared: &Declared<'_>) -> Option<Option<Range<usize>>> {
    let whole = declared.whole;
    let (before, after) = (whole.prev_sibling()?, whole.next_sibling()?);
    if after.is_token(",") {
        return Some(Some(whole.start_byte()..after.next_sibling()?.start_byte()));
    }
    match before.is_token(",") {
        true => Some(Some(before.start_byte()..whole.end_byte())),
        false => (tree.slice(after) == ";").then_some(None),
    }
}

/// Inserts a statement before another one, on its own line if the other is on its own line.
pub(in crate::rewrite) fn before_statement(tree: &SyntaxTree, statement: Node<'_>, text: &str) -> Option<Edit> {
    let offset = statement.start_byte();
    tree.line_before(offset, text).or_else(|| tree.insertion(offset, &format!("{text} ")))
}

/// Inserts lines before a statement, and words that begin its own line.
fn lines_before<'l>(
    tree: &SyntaxTree,
    statement: Node<'_>,
    lines: impl Iterator<Item = &'l str>,
    words: &str,
) -> Option<Edit> {
    let start = statement.start_byte();
    let before = tree.text()[..start].rsplit('\n').next().unwrap_or("");
    // The line of a kernel string that another literal begins has no ending to repeat.
    let ending = Some(start).filter(|_| before.trim().is_empty()).and_then(|start| tree.line_ending(start));
    let ending = ending.unwrap_or_else(|| " ".to_string());
    let text: String = lines.flat_map(|line| [line, &ending]).chain([words]).collect();
    tree.lines_instead(start..start, &text, &ending)
}

/// The value for elements that an initializer sets to zero; `None` if it does anything else.
pub(in crate::rewrite) fn zero(
    tree: &SyntaxTree,
    declared: &Declared<'_>,
    initializer: Node<'_>,
) -> Option<&'static str> {
    let type_text = tree.slice(declared.statement.field(Field::Type)?);
    let is_number = types::is_scalar(type_text) && !declared.is_of_pointers;
    let listed: Vec<&str> = initializer.named_children().map(|value| tree.slice(value)).collect();
    let is_list = initializer.kind() == Kind::InitializerList;
    match listed.as_slice() {
        _ if !is_list => None,
        [] if is_number => Some("0"),
        // `{}` fits structures and template parameters; a single `0` may initialize the first member of a structure
        // only.
        [] => Some("{}"),
        _ if is_number && has_zeros(tree, initializer) => Some("0"),
        [value] if is_zero(value) && types::size_of(type_text).is_some() && !declared.is_of_pointers => Some("{}"),
        ["nullptr"] if declared.is_of_pointers => Some("nullptr"),
        _ => None,
    }
}

/// Whether a list has zeros alone, in lists of its own too: `{{0.f}, {0.f}}`.
fn has_zeros(tree: &SyntaxTree, list: Node<'_>) -> bool {
    list.named_children().all(|part| match part.kind() {
        Kind::InitializerList => has_zeros(tree, part),
        _ => is_zero(tree.slice(part)),
    })
}

fn is_zero(value: &str) -> bool {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    value == "false" || digits.parse::<f64>().is_ok_and(|number| number == 0.0 && !value.contains('-'))
}

/// The loop headers over all elements, and the subscripts of an element; `None` if a counter would shadow a name in an
/// extent.
pub(super) fn loops_over(tree: &SyntaxTree, declared: &Declared<'_>, counters: &[&str]) -> Option<(String, String)> {
    let mut loops = String::new();
    for (counter, extent) in counters.iter().zip(&declared.extents) {
        let extent = tree.slice(*extent);
        if counters.iter().any(|counter| occurrences(extent, counter).next().is_some()) {
            return None;
        }
        loops.push_str(&format!("for (int {counter} = 0; {counter} < {extent}; ++{counter}) "));
    }
    Some((loops, counters.iter().map(|counter| format!("[{counter}]")).collect()))
}

/// A loop over all elements.
fn fill(
    tree: &SyntaxTree,
    declared: &Declared<'_>,
    name: &str,
    threads: &BlockThreads<'_>,
    zero: &str,
) -> Option<String> {
    let counters: &[&str] = match declared.extents.len() {
        1 => &["element"],
        2 => &["row", "column"],
        _ => return None,
    };
    let (loops, indices) = loops_over(tree, declared, counters)?;
    Some(format!("{loops}{name}{indices}[{}] = {zero};", threads.own))
}

/// Inserts statements after the declaration.
fn after_declaration(tree: &SyntaxTree, declared: &Declared<'_>, lines: &[String]) -> Option<Edit> {
    let row = declared.statement.end_row();
    let mut next = declared.statement.next_sibling()?;
    while next.kind() == Kind::Comment && next.start_row() == row {
        next = next.next_sibling()?;
    }
    match lines {
        [line] => before_statement(tree, next, line),
        _ => lines_before(tree, next, lines.iter().map(String::as_str), ""),
    }
}

/// A use of an element.
pub(in crate::rewrite) struct Use {
    /// Byte range of the array's name.
    pub name: Range<usize>,
    /// Offset after the last subscript.
    pub end: usize,
}

impl Use {
    /// The element, of an array with so many dimensions.
    pub fn element<'t>(&self, tree: &'t SyntaxTree, dimensions: usize) -> Option<Node<'t>> {
        let name = tree.root()?.descendant_for_byte_range(self.name.start, self.name.end)?;
        let around = std::iter::successors(name.parent(), |node| node.parent());
        around.take(dimensions).last().filter(|element| element.end_byte() == self.end)
    }
}

/// All uses of an array; `None` if one of them is not an element.
pub(in crate::rewrite) fn uses(tree: &SyntaxTree, declared: &Declared<'_>) -> Option<Vec<Use>> {
    uses_beside(tree, declared, &[])
}

/// The same without those in some ranges.
pub(in crate::rewrite) fn uses_beside(
    tree: &SyntaxTree,
    declared: &Declared<'_>,
    ranges: &[Range<usize>],
) -> Option<Vec<Use>> {
    let (root, name) = (tree.root()?, tree.slice(declared.name));
    let scope = declared.statement.parent()?;
    let declarations = tree.declarations(enclosing_function(declared.name)?);
    if is_in_a_macro(tree, name) {
        return None;
    }
    let mut found = Vec::new();
    let from = declared.statement.start_byte();
    for at in occurrences(tree.text().get(from..scope.end_byte())?, name).map(|at| from + at) {
        let range = at..at + name.len();
        let node = root.descendant_for_byte_range(range.start, range.end)?;
        let is_text =
            matches!(node.kind(), Kind::Comment | Kind::StringContent | Kind::RawStringContent | Kind::FieldIdentifier);
        if is_text || node.id() == declared.name.id() || ranges.iter().any(|range| range.contains(&at)) {
            continue;
        }
        if node.kind() != Kind::Identifier || node.byte_range() != range {
            return None;
        }
        let meant = resolve(&declarations, name, at)?;
        if meant.range == (declared.name.start_byte(), declared.name.end_byte()) {
            found.push(Use { end: element_end(tree, declared, node)?, name: range });
        }
    }
    Some(found)
}

/// The end of `a[i][j]`, if its address is not taken.
fn element_end(tree: &SyntaxTree, declared: &Declared<'_>, name: Node<'_>) -> Option<usize> {
    let mut element = name;
    for _ in &declared.extents {
        let parent = element.parent().filter(|parent| parent.kind() == Kind::SubscriptExpression)?;
        let argument = parent.field(Field::Argument)?;
        element = (argument == element).then_some(parent)?;
    }
    let whole = access_path(name);
    let is_pointed_at = whole.parent().is_some_and(|parent| parent.kind() == Kind::PointerExpression);
    let is_fit = !is_pointed_at && is_shared_with_lambdas(tree, declared, name) && tree.is_plain(name);
    (is_fit && tree.slice(element).ends_with(']')).then(|| element.end_byte())
}

/// Whether lambdas around a use capture the array by reference, not by copy.
fn is_shared_with_lambdas(tree: &SyntaxTree, declared: &Declared<'_>, used: Node<'_>) -> bool {
    let scope = declared.statement.parent();
    let mut node = used.parent();
    while let Some(current) = node.filter(|current| scope != Some(*current)) {
        let captures = current.field(Field::Captures).map_or("", |captures| tree.slice(captures));
        if current.kind() == Kind::LambdaExpression && !captures.starts_with("[&]") && !captures.starts_with("[&,") {
            return false;
        }
        node = current.parent();
    }
    true
}

/// Whether a macro body contains a word.
fn is_in_a_macro(tree: &SyntaxTree, word: &str) -> bool {
    tree.nodes_of(&[Kind::PreprocArg]).any(|body| occurrences(tree.slice(body), word).next().is_some())
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use lmem_base::edit::apply;

    const HEAD: &str = "struct Node { int child; float key[2]; float first() const { return key[0]; } };
struct Tally { Tally() : n(0) {} int n; };
typedef unsigned char byte;
template <typename T> __global__ void k(float* out, int n) {
";

    /// The kernel's body with the array `w` in shared memory.
    fn shared_in(head: &str, body: &str) -> Option<String> {
        edited(head, body, "threadIdx.x")
    }

    fn edited(head: &str, body: &str, own: &str) -> Option<String> {
        let text = format!("{head}{body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let offset = head.len() + occurrences(body, "w").next()?;
        let threads = BlockThreads { count: "256", own };
        let argument = |name: &str| (name == "T").then(|| "float".to_string());
        let edits = PrivateVariable::at(&tree, offset)?.columns(&threads, &argument)?;
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>())?;
        Some(edited.strip_prefix(head)?.strip_suffix("\n}\n")?.to_string())
    }

    fn shared(body: &str) -> Option<String> {
        shared_in(HEAD, body)
    }

    #[test]
    fn elements_become_columns() {
        for (before, after) in [
            (
                "  float w[8];\n  w[n] = w[n - 1];",
                "  __shared__ float w_of_block[8][256];\n  w_of_block[n][threadIdx.x] = w_of_block[n - 1][threadIdx.x];",
            ),
            (
                "int w[2][4]; w[w[0][n]][1]++;",
                "__shared__ int w_of_block[2][4][256]; w_of_block[w_of_block[0][n][threadIdx.x]][1][threadIdx.x]++;",
            ),
            ("T w[4]; w[n] = 0;", "__shared__ T w_of_block[4][256]; w_of_block[n][threadIdx.x] = 0;"),
            (
                "byte w[4]; f(w[n] + 0, w_of_block);",
                "__shared__ byte w_of_block_2[4][256]; f(w_of_block_2[n][threadIdx.x] + 0, w_of_block);",
            ),
            (
                "Node w[4]; w[n].key[1] = w[0].key[0]; // w",
                "__shared__ Node w_of_block[4][256]; w_of_block[n][threadIdx.x].key[1] = w_of_block[0][threadIdx.x].key[0]; // w",
            ),
            (
                "const float* w[4]; out[0] = w[n][2] + *w[0];",
                "__shared__ const float* w_of_block[4][256]; out[0] = w_of_block[n][threadIdx.x][2] + *w_of_block[0][threadIdx.x];",
            ),
            (
                "float w[4]; f([&](int j) { w[j] = 0; });",
                "__shared__ float w_of_block[4][256]; f([&](int j) { w_of_block[j][threadIdx.x] = 0; });",
            ),
            (
                "float w[4]; { int w = 3; n = w; } w[n] = s.w;",
                "__shared__ float w_of_block[4][256]; { int w = 3; n = w; } w_of_block[n][threadIdx.x] = s.w;",
            ),
        ] {
            assert_eq!(shared(before).as_deref(), Some(after));
        }
    }

    #[test]
    fn a_long_index_is_computed_once() {
        let own = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x";
        let of = |body: &str| edited(HEAD, body, own);
        for (before, after) in [
            (
                "  float w[8];\n  w[n] = 1;",
                format!("  __shared__ float w_of_block[8][256];\n  w_of_block[n][{own}] = 1;"),
            ),
            (
                "  float w[8];\n  w[n] = w[0];",
                format!(
                    "  const unsigned w_column = {own};\n  __shared__ float w_of_block[8][256];\n  w_of_block[n][w_column] = w_of_block[0][w_column];"
                ),
            ),
            (
                "  int w[8] = {}, w_column = 0;\n  w[n] = w_column;",
                format!(
                    "  const unsigned w_column_2 = {own};\n  __shared__ int w_of_block[8][256];\n  int w_column = 0;\n  for (int element = 0; element < 8; ++element) w_of_block[element][w_column_2] = 0;\n  w_of_block[n][w_column_2] = w_column;"
                ),
            ),
        ] {
            assert_eq!(of(before), Some(after));
        }
    }

    #[test]
    fn other_variables_of_the_statement_stay() {
        for (before, after) in [
            (
                "  int w[4], top = 0;\n  w[top++] = n;",
                "  __shared__ int w_of_block[4][256];\n  int top = 0;\n  w_of_block[top++][threadIdx.x] = n;",
            ),
            (
                "n = 0; int top = 0, w[4]; w[top] = n;",
                "n = 0; __shared__ int w_of_block[4][256]; int top = 0; w_of_block[top][threadIdx.x] = n;",
            ),
            (
                "float v, u, w[4]; w[n] = u;",
                "__shared__ float w_of_block[4][256];\nfloat v, u; w_of_block[n][threadIdx.x] = u;",
            ),
        ] {
            assert_eq!(shared(before).as_deref(), Some(after));
        }
    }

    #[test]
    fn initialisers_become_loops() {
        let fill = "for (int element = 0; element < 4; ++element) w_of_block[element][threadIdx.x] = ";
        for (before, after) in [
            ("  float w[4] = {0.0f}; // none\n  w[n]++;", format!("  __shared__ float w_of_block[4][256]; // none\n  {fill}0;\n  w_of_block[n][threadIdx.x]++;")),
            ("float4 w[4] = {}; w[n].x++;", format!("__shared__ float4 w_of_block[4][256]; {fill}{{}}; w_of_block[n][threadIdx.x].x++;")),
            ("int w[2][4]{}; w[n][n]++;", "__shared__ int w_of_block[2][4][256]; for (int row = 0; row < 2; ++row) for (int column = 0; column < 4; ++column) w_of_block[row][column][threadIdx.x] = 0; w_of_block[n][n][threadIdx.x]++;".to_string()),
            ("float w[2][4] = {{0.f}}; w[n][n]++;", "__shared__ float w_of_block[2][4][256]; for (int row = 0; row < 2; ++row) for (int column = 0; column < 4; ++column) w_of_block[row][column][threadIdx.x] = 0; w_of_block[n][n][threadIdx.x]++;".to_string()),
            ("int w[4] = {0, 0}; w[n]++;", format!("__shared__ int w_of_block[4][256]; {fill}0; w_of_block[n][threadIdx.x]++;")),
            ("int w[2][2] = {{n, 1}, {2, 3}}; w[n][n]++;", "__shared__ int w_of_block[2][2][256]; w_of_block[0][0][threadIdx.x] = n; w_of_block[0][1][threadIdx.x] = 1; w_of_block[1][0][threadIdx.x] = 2; w_of_block[1][1][threadIdx.x] = 3; w_of_block[n][n][threadIdx.x]++;".to_string()),
        ] {
            assert_eq!(shared(before), Some(after));
        }
        for body in [
            "int w[] = {0}; w[n]++;",
            "int w[4] = {{1}, {2}}; w[n]++;",
            "int w[4] = {[2] = 0}; w[n]++;",
            "int w[4] = {[2] = 1}; w[n]++;",
            "int w[4] = {1 /* one */}; w[n]++;",
            "int w[2] = {n, w[0]}; w[n]++;",
            "int w[2] = {n, 2}, v = ++n; w[n]++;",
            "int w[2][2] = {1, 2}; w[n][n]++;",
            "int w[2][2] = {{n, 2}, {3}}; w[n][n]++;",
            "int w[2][2] = {{1, 2}, {3, w[0][0]}}; w[n][n]++;",
            "Node w[2] = {1}; w[n].child = 2;",
            "T w[2] = {1}; w[n] = 2;",
            "int w[17] = {n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}; w[n]++;",
        ] {
            assert_eq!(shared(body), None, "{body}");
        }
    }

    #[test]
    fn initialisers_become_assignments() {
        let at = |element: &str, value: &str| format!("w_of_block[{element}][threadIdx.x] = {value};");
        let shared_row = |extent: &str| format!("__shared__ int w_of_block[{extent}][256];");
        let use_it = at("n", "0");
        for (before, after) in [
            (
                "  int w[3] = {n + 1, f(n), -3};\n  w[n] = 0;",
                format!(
                    "  {}\n  {}\n  {}\n  {}\n  {use_it}",
                    shared_row("3"),
                    at("0", "n + 1"),
                    at("1", "f(n)"),
                    at("2", "-3")
                ),
            ),
            (
                "int w[18] = {1}; w[n] = 0;",
                format!(
                    "{} {} for (int element = 1; element < 18; ++element) {} {use_it}",
                    shared_row("18"),
                    at("0", "1"),
                    at("element", "0")
                ),
            ),
            (
                "int w[2] = {7, 7}; w[n] = 0;",
                format!(
                    "{} for (int element = 0; element < 2; ++element) {} {use_it}",
                    shared_row("2"),
                    at("element", "7")
                ),
            ),
            (
                "  int w[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9};\n  w[n] = 0;",
                format!(
                    "  {}\n  static constexpr int w_first[10] = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};\n  for (int element = 0; element < 10; ++element) {}\n  {use_it}",
                    shared_row("10"),
                    at("element", "w_first[element]")
                ),
            ),
        ] {
            assert_eq!(shared(before), Some(after), "{before}");
        }
    }

    #[test]
    fn what_may_be_used_as_a_whole_stays() {
        for body in [
            "float w[4]; f(w);",
            "float w[4]; float* p = &w[1];",
            "Node w[4]; f(&w[1].child);",
            "float w[4]; w[n] = sizeof(w);",
            "float w[4]; for (float v : w) n += v;",
            "float w[4][4]; f(w[n]);",
            "float w[4]; *(w + n) = 0;",
            "float w[4]; n[w] = 0;",
            "float w[4]; f([=](int j) { return w[j]; });",
            "float w[4]; f([w](int j) { return w[j]; });",
            "\n#define CHECK(c) if (c) return\n float w[4]; CHECK(w[n]);",
            "volatile float w[4]; w[n] = 0;",
            "static float w[4]; w[n] = 0;",
            "__shared__ float w[4]; w[n] = 0;",
            "float (*w)[4]; w[n][n] = 0;",
            "Tally w[4]; w[n].n = 0;",
            // What lies beside the element is reached from it.
            "Node w[4]; out[0] = w[n].first();",
            "float w[4]; const float& x = w[n]; out[0] = (&x)[1];",
            "float w[4]; auto& x = w[n]; out[0] = (&x)[1];",
            "float w[4]; auto&& x = n ? w[0] : w[1]; out[0] = (&x)[1];",
            "float w[4]; out[0] = next(w[n]);",
            "float w[4]; f([&]() -> float& { return w[n]; });",
            "struct Cell { int c; }; int operator+(Cell& cell, int k); Cell w[4]; out[0] = w[n] + 1;",
            "struct Cell { int c; Cell& operator+=(int k); }; Cell w[4]; w[n] += 1;",
            "struct View { const float& one; }; float w[4]; View view{w[n]};",
            "float w[4]; w[n] = __isLocal(w);",
            // The type of the array, or where it lies.
            "float w[4]; w[n] = std::extent<decltype(w)>::value;",
            "float w[4]; w[n] = __isShared(&n + w[0]);",
            // Another meaning of CUDA's name.
            "const uint3 threadIdx = lane(); float w[4]; w[n] = 0;",
            "float w[4]; f([&](uint2 threadIdx) { w[threadIdx.x] = 0; });",
            "float w[4]; for (dim3 threadIdx(0); threadIdx.x < 4; ++threadIdx.x) w[n] = 0;",
            "Unknown w[4]; w[n] = 0;",
        ] {
            assert_eq!(shared(body), None, "{body}");
        }
    }

    #[test]
    fn functions_of_the_host_and_macros_are_left_alone() {
        let body = "float w[4]; w[n] = 0;";
        assert!(shared_in("__device__ void f(int n) {\n", body).is_some());
        for head in
            ["__host__ __device__ void f(int n) {\n", "constexpr __device__ void f(int n) {\n", "void f(int n) {\n"]
        {
            assert_eq!(shared_in(head, body), None, "{head}");
        }
        assert_eq!(shared_in("#define TOP w[0]\n__global__ void f(int n) {\n", body), None);
        assert!(shared_in("#define TOP x.w0[0]\n__global__ void f(int n) {\n", body).is_some());
    }
}
