//! Loops that `break` leaves, with a flag in place of it. nvcc unrolls a loop with `break`, but keeps arrays in local memory
//! that such a loop indexes where the copies meet again.

use cuda_syntax::ast::{Binary, Field, Kind, Node};
use cuda_syntax::identifiers::FreshNames;
use lmem_base::diagnostic::Edit;

use super::body::{exits, has_entries, has_meetings};
use super::bound::rises_from_constant;
use super::for_loop::ForLoop;
use super::guard::is_in_block;

impl ForLoop {
    /// `open = 1` beside the counter, `if (open)` before the body, and `open = 0;` in place of each `break`. Each of these
    /// is the last statement of its round. `None` if the loop has none, or leaves in other ways.
    pub(super) fn with_flag(&self) -> Option<Vec<Edit>> {
        let (tree, node) = (self.tree(), self.node()?);
        let body = node.field(Field::Body)?;
        let declared = node.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration)?;
        let counter = declared.field(Field::Declarator).filter(|_| declared.fields(Field::Declarator).count() == 1)?;
        let is_fit = self.rounds.is_some_and(|rounds| rounds <= MOST_ROUNDS)
            && is_in_block(node)
            && self.is_counted_to_constant()
            && rises_from_constant(tree, node, body, self.counter())
            && matches!(body.kind(), Kind::CompoundStatement | Kind::IfStatement)
            && !has_meetings(tree, body)
            && !has_entries(body);
        let breaks = exits(tree, body);
        if !is_fit || breaks.is_empty() || !breaks.iter().all(|it| is_last_of_round(*it, body)) {
            return None;
        }
        // A loop around this one has no flag: a `break` here is none of its.
        let open = FreshNames::beside(tree.words()).give("open");
        let mut edits = vec![tree.insertion(counter.end_byte(), &format!(", {open} = 1"))?];
        edits.push(tree.insertion(body.start_byte(), &format!("if ({open}) "))?);
        for jump in breaks {
            edits.push(tree.replacement(jump.byte_range(), &format!("{open} = 0;"))?);
        }
        Some(edits)
    }

    /// Whether the condition compares the counter with a constant, and asks for nothing else.
    fn is_counted_to_constant(&self) -> bool {
        let counted = || {
            let comparison = Binary::of(self.node()?.field(Field::Condition)?)?;
            let is_own = self.tree().slice(comparison.left()?) == self.counter();
            Some(is_own && self.tree().value_of(comparison.right()?).is_some())
        };
        counted().unwrap_or(false)
    }
}

/// More copies of a body are not worth a flag.
const MOST_ROUNDS: u32 = 32;

/// Whether nothing of a round follows a `break`: it is the last statement of blocks and branches that are the last ones.
fn is_last_of_round(jump: Node<'_>, body: Node<'_>) -> bool {
    let mut node = jump;
    while node != body {
        let Some(parent) = node.parent() else { return false };
        let is_last = match parent.kind() {
            Kind::CompoundStatement => parent.parts().last() == Some(node),
            Kind::IfStatement => parent.field(Field::Condition) != Some(node),
            Kind::ElseClause => true,
            _ => false,
        };
        if !is_last {
            return false;
        }
        node = parent;
    }
    jump.kind() == Kind::BreakStatement
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use cuda_syntax::SyntaxTree;
    use lmem_base::edit::apply;

    use super::super::for_loop::for_loops;

    fn flagged(body: &str) -> Option<String> {
        let text = format!("__global__ void k(int* a, int n, float v) {{\n{body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = for_loops(&tree, text.find("HERE").expect("the text has a mark"));
        let edits = found.first()?.with_flag()?;
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>())?;
        Some(edited.lines().nth(1)?.to_string())
    }

    #[test]
    fn a_flag_skips_the_rest() {
        for (body, expected) in [
            (
                "for (int i = 0; i < 8; ++i) { if (v < a[i]) { a[i] = HERE; break; } }",
                "for (int i = 0, open = 1; i < 8; ++i) if (open) { if (v < a[i]) { a[i] = HERE; open = 0; } }",
            ),
            (
                "for (int t = 0; t < 4; ++t) { for (int i = 0; i < 8; ++i) { if (v < a[i]) { a[i] = HERE; break; } } if (n) break; }",
                "for (int t = 0; t < 4; ++t) { for (int i = 0, open = 1; i < 8; ++i) if (open) { if (v < a[i]) { a[i] = HERE; open = 0; } } if (n) break; }",
            ),
            (
                "for (int i = 0; i < 8; ++i) if (v < a[i]) { a[i] = HERE; break; } else if (n) break;",
                "for (int i = 0, open = 1; i < 8; ++i) if (open) if (v < a[i]) { a[i] = HERE; open = 0; } else if (n) open = 0;",
            ),
        ] {
            assert_eq!(flagged(body).as_deref(), Some(expected), "{body}");
        }
        for body in [
            // Something follows in the round, or behind the loop.
            "for (int i = 0; i < 8; ++i) { if (v < a[i]) { a[i] = HERE; break; } ++n; }",
            "int i; for (i = 0; i < 8; ++i) { if (v < a[i]) { a[i] = HERE; break; } } a[0] = i;",
            "for (int i = 0; i < n; ++i) { if (v < a[i]) { a[i] = HERE; break; } }",
            "for (int i = 0; i < 8; ++i) { if (v < a[i]) { a[i] = HERE; break; } else { continue; } }",
            "for (int i = 0; i < 8; ++i) { if (v < a[i]) { a[i] = HERE; return; } }",
            "for (int i = 0; i < 8; ++i) { if (v < a[i]) { a[i] = HERE; __syncwarp(); break; } }",
            "for (int i = 0; i < 8; ++i) { while (n--) { if (v < a[i]) { a[i] = HERE; break; } } }",
            "for (int i = 0; i < 8; ++i) { if (v < a[i]) { a[i] = HERE; i = 9; break; } }",
            "for (int i = 0; i < 8; ++i) { a[i] = HERE; }",
            "for (int i = 0; i < 8 && a[n + i]; ++i) { if (v < a[i]) { a[i] = HERE; break; } }",
            "if (n) for (int i = 0; i < 8; ++i) { if (v < a[i]) { a[i] = HERE; break; } } else a[0] = 1;",
        ] {
            // Of loops in each other, the inner one.
            assert_eq!(flagged(body).filter(|text| !text.contains("while")), None, "{body}");
        }
    }
}
