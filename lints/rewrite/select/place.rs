//! Inserts lines before a statement or replaces it, with braces if it is a loop or branch body.

use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Kind, Node};
use lmem_base::diagnostic::Edit;

use super::{Lines, Writer};

/// Indentation of a nested block.
const UNIT: &str = "    ";

impl Writer<'_> {
    pub(super) fn place(
        &self,
        statement: Node<'_>,
        lines: &Lines,
        edits: Vec<Edit>,
        replaces: bool,
    ) -> Option<Vec<Edit>> {
        place(self.tree, statement, lines, edits, replaces)
    }

    /// Lines in the place of whole lines of a block.
    pub(super) fn place_instead(&self, range: Range<usize>, lines: &Lines) -> Option<Vec<Edit>> {
        let ending = self.tree.line_ending(range.start)?;
        let indented = |(depth, line): &(usize, String)| match line.is_empty() {
            true => String::new(),
            false => format!("{}{line}", UNIT.repeat(*depth)),
        };
        let text = lines.iter().map(indented).collect::<Vec<_>>().join(&ending);
        Some(vec![self.tree.lines_instead(range, &text, &ending)?])
    }
}

/// Inserts lines before a statement, or replaces it; adds braces if it is a body without a block. `edits` are those of
/// the statement itself. Each line has its nesting depth.
pub(crate) fn place(
    tree: &SyntaxTree,
    statement: Node<'_>,
    lines: &[(usize, String)],
    mut edits: Vec<Edit>,
    replaces: bool,
) -> Option<Vec<Edit>> {
    let (tree, range) = (tree, statement.byte_range());
    let around = statement.parent()?;
    let is_first = is_first_on_line(tree, range.start);
    let base = tree.line_ending(range.start)?;
    let joined = |ending: &str| {
        let lines = lines.iter().map(|(depth, line)| format!("{}{line}", UNIT.repeat(*depth)));
        lines.collect::<Vec<_>>().join(ending)
    };
    if around.kind() == Kind::CompoundStatement && is_first {
        let text = joined(&base);
        let target = if replaces { range } else { range.start..range.start };
        let text = if replaces { text } else { format!("{text}{base}") };
        edits.push(tree.lines_instead(target, &text, &base)?);
        let next = statement.next_sibling().filter(|next| next.end_byte() != around.end_byte());
        edits.extend(next.and_then(|next| break_between(tree, statement, next, &base)));
        return Some(edits);
    }
    let is_on_one_line = around.start_row() == around.end_row();
    // A one-line block contains only the statement.
    let is_only = around.named_child_count() == 1 && is_on_one_line;
    if around.kind() == Kind::CompoundStatement && !is_only {
        let inner = if is_on_one_line { format!("{base}{UNIT}") } else { base.clone() };
        edits.extend(on_own_line(tree, statement, (&base, &inner), &joined(&inner), replaces)?);
        return Some(edits);
    }
    let is_body =
        matches!(around.kind(), Kind::IfStatement | Kind::ElseClause | Kind::ForStatement | Kind::WhileStatement);
    if around.kind() != Kind::CompoundStatement && !is_body {
        return None;
    }
    if around.kind() == Kind::CompoundStatement {
        // Removes blanks between the braces and the statement.
        let inner = format!("{base}{UNIT}");
        let (open, close) = (around.start_byte() + 1, around.end_byte() - 1);
        let text = format!("{inner}{}", joined(&inner));
        let text = if replaces { text } else { format!("{text}{inner}") };
        let start = if replaces { open..close } else { open..range.start };
        let text = if replaces { format!("{text}{base}") } else { text };
        edits.push(tree.lines_instead(start, &text, &inner)?);
        if !replaces {
            edits.push(tree.lines_instead(range.end..close, &base, &base)?);
        }
        return Some(edits);
    }
    let outer = match is_first {
        true => {
            let before = statement.prev_sibling().filter(|before| before.kind() != Kind::Comment)?;
            let end = before.end_byte();
            let last = tree.text().get(end - 1..end)?;
            edits.push(tree.replacement(end - 1..end, &format!("{last} {{"))?);
            tree.line_ending(around.start_byte())?
        }
        false => base.clone(),
    };
    let inner = if is_first { base.clone() } else { format!("{base}{UNIT}") };
    let text = if is_first { joined(&inner) } else { format!("{{{inner}{}", joined(&inner)) };
    match replaces {
        true => edits.push(tree.lines_instead(range, &format!("{text}{outer}}}"), &inner)?),
        false => {
            let end = range.end;
            edits.push(tree.lines_instead(range.start..range.start, &format!("{text}{inner}"), &inner)?);
            let last = tree.text().get(end - 1..end)?;
            edits.push(tree.lines_instead(end - 1..end, &format!("{last}{outer}}}"), &outer)?);
        }
    }
    Some(edits)
}

/// Places lines before a statement, or in its place, that follows others of its block on a line. Those beside it in the line, or all of a
/// block on one line, get lines of their own. `base` begins the line of the block, `inner` those in it.
fn on_own_line(
    tree: &SyntaxTree,
    statement: Node<'_>,
    (base, inner): (&str, &str),
    lines: &str,
    replaces: bool,
) -> Option<Vec<Edit>> {
    let (before, after) = (statement.prev_sibling()?, statement.next_sibling()?);
    let block = statement.parent()?;
    let mut edits = vec![break_between(tree, before, statement, inner)?];
    if replaces {
        edits.push(tree.lines_instead(statement.byte_range(), lines, inner)?);
    } else if let Some(first) = edits.first_mut() {
        first.replacement = format!("{inner}{lines}{inner}");
    }
    let ending = |next: Node<'_>| if next.end_byte() == block.end_byte() { base } else { inner };
    match break_between(tree, statement, after, ending(after)) {
        Some(edit) => edits.push(edit),
        // What stands right behind would look like a part of the new lines.
        None if after.kind() != Kind::Comment && after.start_row() == statement.end_row() => return None,
        None => {}
    }
    if block.start_row() == block.end_row() {
        let all: Vec<Node<'_>> = block.children().collect();
        let others = all.windows(2).filter(|pair| !pair.contains(&statement));
        edits.extend(others.filter_map(|pair| break_between(tree, pair[0], pair[1], ending(pair[1]))));
    }
    Some(edits)
}

/// A line break in place of the blanks between two neighbours in a line.
fn break_between(tree: &SyntaxTree, one: Node<'_>, next: Node<'_>, ending: &str) -> Option<Edit> {
    let gap = one.end_byte()..next.start_byte();
    let is_blank = |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
    let is_code = |node: Node<'_>| node.kind() != Kind::Comment;
    let is_kept = is_code(one) && is_code(next) && tree.text().get(gap.clone()).is_some_and(is_blank);
    tree.lines_instead(gap, ending, ending).filter(|_| is_kept)
}

/// Whether a statement follows another one of its block on a line.
pub(crate) fn shares_line(tree: &SyntaxTree, statement: Node<'_>) -> bool {
    let is_in_block = statement.parent().is_some_and(|around| around.kind() == Kind::CompoundStatement);
    let is_second =
        statement.prev_sibling().is_some_and(|before| before.is_named() && before.end_row() == statement.start_row());
    is_in_block && is_second && !is_first_on_line(tree, statement.start_byte())
}

pub(super) fn is_first_on_line(tree: &SyntaxTree, offset: usize) -> bool {
    let before = &tree.text()[..offset];
    before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn statements_that_share_a_line_get_lines_of_their_own() {
        check(
            "c",
            "    if (n < 6) { out[0] = 1; c[n] = n; out[1] = 2; }",
            "    if (n < 6) {
        out[0] = 1;
        #pragma unroll
        for (int k = 0; k < 6; ++k) if (k == n) c[k] = n;
        out[1] = 2;
    }",
        );
        check(
            "c",
            "    int x = 1; c[n] = x; c[x] = n; // both",
            "    int x = 1;
    #pragma unroll
    for (int k = 0; k < 6; ++k) if (k == n) c[k] = x;
    #pragma unroll
    for (int k = 0; k < 6; ++k) if (k == x) c[k] = n; // both",
        );
        check(
            "c",
            "    int x = 1; out[0] = c[n];",
            "    int x = 1;
    int c_element = c[0];
    #pragma unroll
    for (int k = 1; k < 6; ++k) {
        const int candidate = c[k];
        c_element = k == n ? candidate : c_element;
    }
    out[0] = c_element;",
        );
    }

    #[test]
    fn statements_that_stand_alone_get_braces() {
        check(
            "c",
            "    if (n >= 0 && n < 6) ++c[n];\n    else\n        out[0] = c[n - 6];",
            "    if (n >= 0 && n < 6) {
        #pragma unroll
        for (int k = 0; k < 6; ++k) if (k == n) ++c[k];
    }
    else {
        int c_element = c[0];
        #pragma unroll
        for (int k = 1; k < 6; ++k) {
            const int candidate = c[k];
            c_element = k == (n - 6) ? candidate : c_element;
        }
        out[0] = c_element;
    }",
        );
        check(
            "c",
            "    auto count = [&](int i) { c[i]++; };",
            "    auto count = [&](int i) {
        #pragma unroll
        for (int k = 0; k < 6; ++k) if (k == i) c[k]++;
    };",
        );
    }
}
