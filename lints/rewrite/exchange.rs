//! Two buffers whose pointers a loop exchanges: `swap(last, next)` becomes a copy of the elements, so that each pointer has
//! one buffer for good.
//!
//! The buffer that would be written next then keeps what was copied, in place of what the other one had. That makes no
//! difference where all of it is written before any of it is read: by a loop that comes before the exchange in the same
//! block, and that has all other mentions of its pointer.

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Binary, Call, Field, Kind, Node, Subscript};
use cuda_syntax::identifiers::FreshNames;
use cuda_syntax::tree::{Declaration, DeclarationKind, Declarations, element, enclosing_function, resolve};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_frame::StackObject;

use super::Rewrite;
use super::facts::accessed::is_accessed;
use super::facts::evaluation::is_in_lambda;
use super::facts::exchanged::exchanged;
use super::facts::number::is_value_type;
use super::facts::sites::located;
use super::facts::steady::{is_reachable, may_write};
use super::shared::declaration::declared;
use super::unroll::body::{exits, has_entries};
use super::unroll::for_loop::{ForLoop, for_loops};
use super::unroll::header::step;

/// Copies elements in place of exchanging the pointers to a buffer and to another one, and unrolls the loops over both.
pub fn suggestion(object: &StackObject) -> Option<Suggestion> {
    let variable = object.variable.as_ref()?;
    let (tree, offset) = located(object, &variable.span)?;
    let Copied { edits, last, next, loops, elements } = copied(tree, offset)?;
    let unrolled = loops.iter().filter_map(ForLoop::unroll);
    let rewrite = Rewrite::new(Applicability::MachineApplicable, edits.into_iter().chain(unrolled).collect())
        .rounds(u32::try_from(elements).ok())
        .within_kernel(tree.is_within_kernel(offset));
    Some(rewrite.suggestion(format!("copy the elements of `{next}` to `{last}` instead of exchanging the pointers")))
}

/// The exchange as a copy.
struct Copied {
    edits: Vec<Edit>,
    last: String,
    next: String,
    /// The loops over the elements.
    loops: Vec<ForLoop>,
    elements: i64,
}

/// A pointer that is to a buffer of its own at first, which nothing else names.
struct Buffer<'t> {
    name: String,
    elements: i64,
    size: Node<'t>,
    type_text: String,
    own: Declaration,
    /// All mentions of the pointer.
    mentions: Vec<Node<'t>>,
}

fn copied(tree: &Rc<SyntaxTree>, offset: usize) -> Option<Copied> {
    let function = enclosing_function(tree.node_at(offset)?)?;
    let all = tree.declarations(function);
    let buffers: Vec<Buffer<'_>> = all.iter().filter_map(|own| Buffer::of(tree, function, &all, own)).collect();
    let is_of = |buffer: &&Buffer<'_>| buffer.own.initializer.is_some_and(|it| names(tree, &all, it, offset));
    let first = buffers.iter().find(is_of)?;
    let exchange = Exchange::of(tree, function, first)?;
    let other = buffers.iter().find(|buffer| buffer.name == exchange.other && buffer.own.range != first.own.range)?;
    let is_alike = first.elements == other.elements && first.type_text == other.type_text;
    let (last, next) = [(first, other), (other, first)].into_iter().find(|(last, next)| {
        is_alike && last.is_accessed_alone(tree, &exchange) && next.is_written_first(tree, &exchange)
    })?;
    let at = exchange.range.start;
    let ending = tree.line_ending(at)?;
    let counter = FreshNames::beside(tree.words()).give("k");
    let size = tree.spelled(first.size, at)?;
    let (to, from) = (&last.name, &next.name);
    let copy = format!("for (int {counter} = 0; {counter} < {size}; ++{counter}) {to}[{counter}] = {from}[{counter}];");
    // A `for` statement takes the place of several only in a block.
    let is_in_block = exchange.is_in_block && tree.is_plain(tree.node_at(at)?);
    let lines = format!("#pragma unroll{ending}{copy}");
    let edit = is_in_block.then(|| tree.lines_instead(exchange.range.clone(), &lines, &ending))??;
    let mut loops: Vec<ForLoop> = Vec::new();
    for mention in last.mentions.iter().chain(&next.mentions) {
        let index = element(*mention, 1).and_then(|it| tree.text().get(mention.end_byte()..it.end_byte()));
        let words: Vec<&str> =
            index.map(|text| cuda_syntax::identifiers::identifiers(text).collect()).unwrap_or_default();
        for found in for_loops(tree, mention.start_byte()) {
            let is_over = words.contains(&found.counter()) && found.rounds.is_some();
            if is_over && !loops.iter().any(|known| known.is_same(&found)) {
                loops.push(found);
            }
        }
    }
    let elements = first.elements;
    Some(Copied { edits: vec![edit], last: last.name.clone(), next: next.name.clone(), loops, elements })
}

/// Whether an initializer is the name of the variable that is declared at an offset.
fn names(tree: &SyntaxTree, all: &Declarations, initializer: (usize, usize), offset: usize) -> bool {
    let text = tree.text().get(initializer.0..initializer.1).unwrap_or("");
    resolve(all, text, initializer.0).is_some_and(|found| found.range.0 == offset)
}

impl<'t> Buffer<'t> {
    fn of(tree: &'t SyntaxTree, function: Node<'t>, all: &Declarations, own: &Declaration) -> Option<Self> {
        let is_pointer = own.kind == DeclarationKind::Alias && !own.is_parameter && own.volatility.is_none();
        let (start, end) = own.initializer.filter(|_| is_pointer)?;
        let name = tree.root()?.named_descendant_for_byte_range(own.range.0, own.range.1)?;
        let pointer = name.parent().filter(|it| it.kind() == Kind::PointerDeclarator)?;
        // `__restrict__` would promise that the buffer is another one.
        let head = tree.text().get(pointer.start_byte()..name.start_byte())?;
        let initializer = tree.root()?.named_descendant_for_byte_range(start, end)?;
        let array = resolve(all, tree.slice(initializer), start).filter(|it| it.kind == DeclarationKind::Array)?;
        let [_] = tree.names_of(function, all, array).as_slice() else { return None };
        let declared = declared(tree, array.range.0)?;
        let elements = declared.elements(tree)?;
        let [size] = declared.extents.as_slice() else { return None };
        let type_text = array.type_text.split('[').next()?.trim().to_string();
        let is_plain = head.trim() == "*"
            && initializer.kind() == Kind::Identifier
            && array.volatility.is_none()
            && is_value_type(tree, &type_text)
            && !type_text.contains("const")
            && !declared.is_of_pointers;
        is_plain.then(|| Self {
            name: own.name.clone(),
            elements,
            size: *size,
            type_text,
            own: own.clone(),
            mentions: tree.names_of(function, all, own),
        })
    }

    /// Whether all mentions but the exchange access an element.
    fn is_accessed_alone(&self, tree: &SyntaxTree, exchange: &Exchange) -> bool {
        self.mentions.iter().filter(|mention| !exchange.has(**mention)).all(|mention| {
            let element = element(*mention, 1);
            !is_in_lambda(*mention) && element.is_some_and(|element| is_accessed(tree, element))
        })
    }

    /// Whether a loop before the exchange, in its block, has all other mentions, and each of its rounds writes the element of
    /// its number before it reads it.
    fn is_written_first(&self, tree: &SyntaxTree, exchange: &Exchange) -> bool {
        let written = || {
            let mentions: Vec<Node<'_>> =
                self.mentions.iter().copied().filter(|mention| !exchange.has(*mention)).collect();
            let exchanged = tree.root()?.named_descendant_for_byte_range(exchange.range.start, exchange.range.end)?;
            let block = exchanged.ancestors().find(|it| it.kind() == Kind::CompoundStatement)?;
            let is_around = |node: &Node<'_>| mentions.iter().all(|it| node.byte_range().contains(&it.start_byte()));
            let walk = block.parts().find(|part| part.kind() == Kind::ForStatement && is_around(part))?;
            let body = walk.field(Field::Body)?;
            let counter = full_walk(tree, walk, self.elements)?;
            let statements: Vec<Node<'_>> = match body.kind() {
                Kind::CompoundStatement => body.parts().collect(),
                _ => vec![body],
            };
            let is_element = |mention: &Node<'_>| {
                let index = element(*mention, 1).and_then(Subscript::of).and_then(Subscript::index);
                index.is_some_and(|index| index.kind() == Kind::Identifier && tree.slice(index) == counter)
            };
            let first = *mentions.first()?;
            let write = statements.iter().find(|it| it.byte_range().contains(&first.start_byte()))?;
            let assignment = write.parts().next().and_then(Assignment::of).filter(|it| it.is_plain())?;
            let is_write = write.kind() == Kind::ExpressionStatement && assignment.left() == element(first, 1);
            let right = assignment.right()?;
            let is_kept = mentions
                .iter()
                .all(|mention| is_element(mention) && !right.byte_range().contains(&mention.start_byte()));
            let is_straight = exits(tree, body).is_empty() && !has_entries(body) && !has_entries(block);
            let is_before = walk.end_byte() <= exchange.range.start;
            Some(is_write && is_kept && is_straight && is_before && self.is_accessed_alone(tree, exchange))
        };
        written().unwrap_or(false)
    }
}

/// The counter of `for (int d = 0; d < N; ++d)`, which nothing else changes.
fn full_walk<'t>(tree: &'t SyntaxTree, walk: Node<'t>, elements: i64) -> Option<&'t str> {
    let declared = walk.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration)?;
    let declarator = declared.field(Field::Declarator).filter(|_| declared.fields(Field::Declarator).count() == 1)?;
    let counter = declarator.field(Field::Declarator).filter(|it| it.kind() == Kind::Identifier)?;
    let name = tree.slice(counter);
    let comparison = Binary::of(walk.field(Field::Condition)?)?;
    let end = tree.value_of(comparison.right()?)?;
    let update = walk.field(Field::Update)?;
    let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
    let body = walk.field(Field::Body)?;
    let is_full = matches!(tree.slice(declared.field(Field::Type)?), "int" | "unsigned" | "unsigned int" | "size_t")
        && tree.value_of(declarator.field(Field::Value)?) == Some(0)
        && tree.slice(comparison.left()?) == name
        && matches!((comparison.operator()?, elements - end), ("<" | "!=", 0) | ("<=", 1))
        && step(tree, update) == Some(1)
        && tree.slice(target) == name
        && !may_write(tree, body, name)
        && !is_reachable(tree, enclosing_function(walk)?, name);
    is_full.then_some(name)
}

/// The only place where two pointers are exchanged.
struct Exchange {
    range: Range<usize>,
    other: String,
    is_in_block: bool,
}

impl Exchange {
    fn of(tree: &SyntaxTree, function: Node<'_>, buffer: &Buffer<'_>) -> Option<Self> {
        let mut found = buffer.mentions.iter().filter(|it| element(**it, 1).is_none());
        let mention = *found.next()?;
        let exchange = Self::by_call(tree, mention, &buffer.name)
            .or_else(|| Self::by_assignments(tree, function, mention, &buffer.name))?;
        found.all(|mention| exchange.has(*mention)).then_some(exchange)
    }

    fn has(&self, mention: Node<'_>) -> bool {
        self.range.contains(&mention.start_byte())
    }

    /// `swap(last, next);`
    fn by_call(tree: &SyntaxTree, mention: Node<'_>, name: &str) -> Option<Self> {
        let list = mention.parent().filter(|it| it.kind() == Kind::ArgumentList)?;
        let call = list.parent().and_then(Call::of)?;
        let [left, right] = exchanged(tree, call)?;
        let statement = call.node().parent().filter(|it| it.kind() == Kind::ExpressionStatement)?;
        let are_names = left.kind() == Kind::Identifier && right.kind() == Kind::Identifier;
        let other = if tree.slice(left) == name { right } else { left };
        let is_in_block = statement.parent().is_some_and(|it| it.kind() == Kind::CompoundStatement);
        let is_plain = are_names && tree.compiled().is_verbatim(&statement.byte_range());
        is_plain.then(|| Self { range: statement.byte_range(), other: tree.slice(other).to_string(), is_in_block })
    }

    /// `T* t = last; last = next; next = t;`
    fn by_assignments(tree: &SyntaxTree, function: Node<'_>, mention: Node<'_>, name: &str) -> Option<Self> {
        let statement =
            mention.ancestors().find(|it| it.parent().is_some_and(|it| it.kind() == Kind::CompoundStatement))?;
        let block = statement.parent()?;
        let parts: Vec<Node<'_>> = block.parts().collect();
        let at = parts.iter().position(|it| *it == statement)?;
        // The first mention is the first statement, or the second where the other pointer is kept first.
        let first = [at, at.checked_sub(1)?].into_iter().find(|at| parts[*at].kind() == Kind::Declaration)?;
        let [kept, one, two] = parts.get(first..first + 3)? else { return None };
        let declarator = kept.field(Field::Declarator).filter(|_| kept.fields(Field::Declarator).count() == 1)?;
        let value = declarator.field(Field::Value).filter(|it| it.kind() == Kind::Identifier)?;
        let holder = declarator.declared_name();
        let sides = |statement: &Node<'_>| {
            let whole = statement.parts().next().filter(|_| statement.kind() == Kind::ExpressionStatement)?;
            let assignment = Assignment::of(whole).filter(|it| it.is_plain())?;
            let (left, right) = (assignment.left()?, assignment.right()?);
            let are_names = left.kind() == Kind::Identifier && right.kind() == Kind::Identifier;
            are_names.then(|| (tree.slice(left).to_string(), tree.slice(right).to_string()))
        };
        let ((to, from), (back, held)) = (sides(one)?, sides(two)?);
        let (value, holder_name) = (tree.slice(value), tree.slice(holder));
        let is_exchange = to == value && back == from && held == holder_name && [value, from.as_str()].contains(&name);
        let all = tree.declarations(function);
        let own = all.iter().find(|it| it.range.0 == holder.start_byte())?;
        let is_alone = tree.names_of(function, &all, own).len() == 1;
        let range = kept.start_byte()..two.end_byte();
        let text = tree.text().get(range.clone())?;
        let is_plain = tree.compiled().is_verbatim(&range) && !["//", "/*", "#"].iter().any(|mark| text.contains(mark));
        let other = if value == name { from } else { value.to_string() };
        (is_exchange && is_alone && is_plain).then_some(Self { range, other, is_in_block: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    const SWAP: &str = "template <typename T> __device__ void swap(T& a, T& b) { T t = a; a = b; b = t; }\n";
    const LOOP: &str = "for (int x = 0; x < n; ++x) {\n    for (int d = 0; d < 8; ++d) { next[d] = last[d] + in[x]; s += next[d]; }\n    EXCHANGE\n  }\n  out[0] = last[n & 7];";

    /// The text of the exchange after the edit.
    fn edited(swap: &str, loops: &str, exchange: &str) -> Option<String> {
        let head = format!(
            "{swap}__global__ void k(const int* in, int* out, int n) {{\n  int a[8], b[8], s = 0;\n  int *last = a, *next = b;\n  "
        );
        let text = format!("{head}{}\n}}\n", loops.replace("EXCHANGE", exchange));
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let at = |name: &str| text.find(name).map(|at| at + 4);
        let of_first = copied(&tree, at("int a[8]")?).map(|found| found.edits);
        let of_second = copied(&tree, text.find("b[8]")?).map(|found| found.edits);
        assert_eq!(of_first, of_second, "{text}");
        let edited = apply(&text, &of_first?.iter().collect::<Vec<_>>())?;
        let lines: Vec<&str> = edited.lines().map(str::trim).collect();
        let first = lines.iter().position(|line| line.contains("#pragma"))?;
        Some(lines[first..first + 2].join(" "))
    }

    #[test]
    fn exchanges_become_copies() {
        let expected = "#pragma unroll for (int k_2 = 0; k_2 < 8; ++k_2) last[k_2] = next[k_2];";
        for exchange in [
            "int* t = last; last = next; next = t;",
            "int* t = next; next = last; last = t;",
            "swap(last, next);",
            "std::swap(next, last);",
            "if (in[x] > 0) {\n swap(last, next);\n }",
        ] {
            let is_conditional = exchange.starts_with("if");
            let found = edited(SWAP, LOOP, exchange);
            assert_eq!(found.as_deref(), (!is_conditional).then_some(expected), "{exchange}");
        }
    }

    #[test]
    fn other_exchanges_stay() {
        let swap = "swap(last, next);";
        assert!(edited(SWAP, LOOP, swap).is_some());
        for (functions, loops, exchange) in [
            // Another function of that name, or one that does something else.
            ("", LOOP, swap),
            (&SWAP.replace("b = t;", "b = t + 1;") as &str, LOOP, swap),
            (&SWAP.replace("T& b", "T b"), LOOP, swap),
            (&format!("{SWAP}__device__ void swap(int*& a, int*& b) {{ a = b; }}\n"), LOOP, swap),
            // The holder is used, or something else comes between.
            (SWAP, LOOP, "int* t = last; last = next; next = t; t[0] = 1;"),
            (SWAP, LOOP, "int* t = last; last = next; s += 1; next = t;"),
            (SWAP, LOOP, "int* t = last; last = next; next = t + 0;"),
            (SWAP, LOOP, "int* t = last; last = t; next = t;"),
            (SWAP, LOOP, "swap(last, next); swap(last, next);"),
            // Not all is written, or some is read before.
            (SWAP, &LOOP.replace("d < 8", "d < 7"), swap),
            (SWAP, &LOOP.replace("int d = 0", "int d = 1"), swap),
            (SWAP, &LOOP.replace("++d", "d += 2"), swap),
            (SWAP, &LOOP.replace("next[d] = last[d]", "next[d] += last[d]"), swap),
            (SWAP, &LOOP.replace("next[d] = last[d]", "next[d] = next[d] + last[d]"), swap),
            (SWAP, &LOOP.replace("next[d] = last[d]", "next[7 - d] = last[d]"), swap),
            (SWAP, &LOOP.replace("{ next[d] = last[d] + in[x];", "{ if (in[d]) next[d] = last[d] + in[x];"), swap),
            (SWAP, &LOOP.replace("{ next[d]", "{ if (in[d]) continue; next[d]"), swap),
            (SWAP, &LOOP.replace("s += next[d];", "s += next[d ^ 1];"), swap),
            (SWAP, &LOOP.replace("out[0] = last", "out[1] = next[0]; out[0] = last"), swap),
            (SWAP, &LOOP.replace("for (int d", "if (in[x]) for (int d"), swap),
            (SWAP, &LOOP.replace("s += next[d];", "s += next[d]; ++d;"), swap),
            // Another name leads to the buffer or to the pointer.
            (SWAP, &LOOP.replace("out[0] = last", "out[0] = a"), swap),
            (SWAP, &LOOP.replace("s += next[d];", "s += next[d]; int** p = &next; s += p[0][d];"), swap),
            (SWAP, &LOOP.replace("s += next[d];", "s += sum(last);"), swap),
            (SWAP, &LOOP.replace("s += next[d];", "s += *(last + d);"), swap),
            (SWAP, &LOOP.replace("s += next[d];", "s += &next[d] == &last[d];"), swap),
        ] {
            assert_eq!(edited(functions, loops, exchange), None, "{loops} {exchange}");
        }
    }
}
