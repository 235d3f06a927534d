//! The loop over all elements in place of an insertion loop.

use cuda_syntax::ast::{Kind, Node};
use cuda_syntax::identifiers::FreshNames;
use lmem_base::diagnostic::Edit;

use super::counter::Start;
use super::walk::{Walk, has_terms};

/// Indentation of a nested block.
const UNIT: &str = "    ";

impl Walk<'_> {
    /// The loop that visits elements from the last one down. `is_from_start`: the first value is constant when the loops
    /// around are unrolled, so that it may begin there. `earlier` is the number of insertions before this one.
    pub(super) fn edit(&self, is_from_start: bool, earlier: usize) -> Option<Edit> {
        let mut names = FreshNames::beside(self.tree.words());
        // Another insertion in the block declares a variable of its own.
        (0..earlier).for_each(|_| drop((names.give("moving"), names.give("first"))));
        let (moving, here, slot) = (names.give("moving"), names.give("here"), names.give("slot"));
        let own = names.give("first");
        let mut lines: Vec<String> = Vec::new();
        // These are written anew.
        if let Start::Declared(value) | Start::Assigned(value) = &self.start {
            let text = self.tree.slice(*value);
            if text.contains(['\n', '\\']) || has_terms(self.tree, text) {
                return None;
            }
        }
        let start = match &self.start {
            Start::Declared(value) if is_from_start && is_term_or_sum(*value) => self.tree.slice(*value),
            // Evaluated once, as before.
            Start::Declared(value) => {
                lines.push(format!("const int {own} = {};", self.tree.slice(*value)));
                Some(own.as_str()).filter(|_| self.is_signed)?
            }
            Start::Before(_) | Start::Assigned(_) => self.counter,
        };
        let first = match &self.highest {
            _ if is_from_start => start,
            Some((highest, _)) => highest,
            None => return None,
        };
        if let Start::Assigned(value) = &self.start {
            lines.push(format!("{} = {};", self.counter, self.tree.slice(*value)));
        }
        let condition = self.renamed(self.condition, &slot);
        let condition = match (self.ends, self.goes) {
            (Some(ends), _) => format!("{condition} && !({})", self.renamed(ends, &slot)),
            (None, Some(goes)) => format!("{condition} && ({})", self.renamed(goes, &slot)),
            (None, None) => condition,
        };
        lines.push(format!("bool {moving} = false;"));
        lines.push("#pragma unroll".to_string());
        lines.push(format!("for (int {slot} = {first}; {slot} >= {}; --{slot}) {{", self.lowest));
        let is_empty = |part: &[Node<'_>]| part.iter().all(|it| it.kind() == Kind::Comment);
        if is_empty(&self.stores) {
            lines.push(format!("{UNIT}{moving} = ({moving} || {slot} == {start}) && {condition};"));
        } else {
            lines.push(format!("{UNIT}const bool {here} = {moving} || {slot} == {start};"));
            lines.push(format!("{UNIT}{moving} = {here} && {condition};"));
        }
        if !is_empty(&self.body) {
            lines.extend(self.branch(&format!("if ({moving})"), &self.body, &slot, None));
        }
        if !is_empty(&self.stores) {
            let last = self.is_used_behind.then(|| format!("{} = {slot};", self.counter));
            lines.extend(self.branch(&format!("if ({here} && !{moving})"), &self.stores, &slot, last));
        }
        lines.push("}".to_string());
        let base = self.tree.line_ending(self.node.start_byte())?;
        let before = self.tree.text().get(..self.node.start_byte())?;
        let is_first = before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
        let text = lines.join(&base);
        is_first.then(|| self.tree.lines_instead(self.range.clone(), &text, &base))?
    }

    /// The lines of statements under a condition, with the new name of the counter, and one more behind them.
    fn branch(&self, head: &str, part: &[Node<'_>], slot: &str, last: Option<String>) -> Vec<String> {
        match part {
            [only] if only.kind() == Kind::ExpressionStatement && last.is_none() => {
                vec![format!("{UNIT}{head} {}", self.renamed(*only, slot))]
            }
            _ => {
                let inner = part.iter().map(|it| format!("{UNIT}{UNIT}{}", self.renamed(*it, slot)));
                let (open, close) = (format!("{UNIT}{head} {{"), format!("{UNIT}}}"));
                let last = last.map(|line| format!("{UNIT}{UNIT}{line}"));
                std::iter::once(open).chain(inner).chain(last).chain([close]).collect()
            }
        }
    }

    /// The text of a part with another name for the counter.
    fn renamed(&self, part: Node<'_>, name: &str) -> String {
        let text = self.tree.slice(part);
        let mut renamed = String::new();
        let mut end = 0;
        let within = self.mentions.iter().filter(|it| part.byte_range().contains(&it.start_byte()));
        for mention in within {
            let start = mention.start_byte() - part.start_byte();
            renamed.push_str(&text[end..start]);
            renamed.push_str(name);
            end = mention.end_byte() - part.start_byte();
        }
        renamed.push_str(&text[end..]);
        renamed
    }
}

/// Whether an expression may stand beside `==` without parentheses.
fn is_term_or_sum(value: Node<'_>) -> bool {
    matches!(value.kind(), Kind::Identifier | Kind::NumberLiteral | Kind::ParenthesizedExpression)
        || (value.kind() == Kind::BinaryExpression && matches!(value.operator(), Some("+" | "-")))
}
