//! Inserts lines before a statement or replaces it, with braces if it is a loop or branch body.

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
        return Some(edits);
    }
    // A one-line block contains only the statement.
    let is_only = around.named_child_count() == 1 && around.start_row() == around.end_row();
    let is_body =
        matches!(around.kind(), Kind::IfStatement | Kind::ElseClause | Kind::ForStatement | Kind::WhileStatement);
    if (around.kind() == Kind::CompoundStatement && !is_only) || (around.kind() != Kind::CompoundStatement && !is_body)
    {
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

fn is_first_on_line(tree: &SyntaxTree, offset: usize) -> bool {
    let before = &tree.text()[..offset];
    before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

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
