//! Statements that macros hide.
//!
//! `STEP();` may become a declaration and three assignments: nothing that a reader of the text sees. An edit elsewhere in the
//! function need not understand them, as long as they share no name with it and cannot jump.

use std::ops::Range;

use super::tokens::{Token, TokenKind, tokens};
use super::{CompiledText, Difference};

/// Words that leave a statement, or have a meaning only beside another.
const JUMPS: [&str; 13] = [
    "break",
    "case",
    "catch",
    "co_await",
    "co_return",
    "co_yield",
    "continue",
    "default",
    "else",
    "goto",
    "return",
    "throw",
    "try",
];

impl CompiledText {
    /// The differences of a range that are not faithful, where each is a statement of a block, as written and as compiled;
    /// `None` where one is anything else. Who edits the range must share no name with them.
    pub fn hidden_statements(&self, text: &str, range: &Range<usize>) -> Option<Vec<&Difference>> {
        let mut hidden = Vec::new();
        for difference in self.within(range)? {
            let is_inside = range.start <= difference.start && difference.end <= range.end;
            match text.get(difference.start..difference.end).filter(|_| is_inside) {
                Some(own) if super::Expansion::of(own, &difference.compiled).is_faithful() => {}
                // A name alone looks like no call, which may do anything.
                Some(own) if own.ends_with(')') && is_complete(&difference.compiled) => hidden.push(difference),
                _ => return None,
            }
        }
        let places = if hidden.is_empty() { Vec::new() } else { tokens(text.get(range.clone())?) };
        let are_statements = stand_alone(&hidden, &places, text.get(range.clone())?, range.start);
        are_statements.then_some(hidden)
    }
}

/// Words of calls in which threads meet or end; who looks for such calls must see them.
const ENDS: [&str; 8] = ["__assert", "__bar", "__brkpt", "__trap", "abort", "arrive", "exit", "wait"];
/// Instructions that jump, or in which threads meet or end.
const INSTRUCTIONS: [&str; 8] = ["bar.", "bra", "exit", "match.", "redux", "shfl", "trap", "vote"];

/// Whether compiled tokens are whole statements that end where they end.
fn is_complete(compiled: &str) -> bool {
    let mut open = Vec::new();
    let all = tokens(compiled);
    let is_fit = all.iter().all(|token| match (token.kind, &compiled[token.range.clone()]) {
        (TokenKind::Directive, _) => false,
        (TokenKind::Identifier, word) => {
            !JUMPS.contains(&word) && !word.contains("sync") && !ENDS.iter().any(|prefix| word.starts_with(prefix))
        }
        (TokenKind::Literal, text) => !INSTRUCTIONS.iter().any(|it| text.contains(it)),
        (_, bracket @ ("(" | "[" | "{")) => {
            open.push(bracket);
            true
        }
        (_, ")") => open.pop() == Some("("),
        (_, "]") => open.pop() == Some("["),
        (_, "}") => open.pop() == Some("{"),
        _ => true,
    });
    // `for (…)` would have the next statement as its body; `x = 1 +` its operand.
    let last = all.last().map(|token| &compiled[token.range.clone()]);
    let ends = last.is_none_or(|last| matches!(last, ";" | "}")) || is_expression(&all, compiled);
    is_fit && open.is_empty() && ends
}

/// Whether the last statement is an expression or a `do` loop, which the `;` behind the macro ends.
fn is_expression(all: &[Token], compiled: &str) -> bool {
    let word = |token: &Token| compiled[token.range.clone()].to_string();
    let Some(last) = all.last() else { return false };
    let mut depth = 0i64;
    let is_statement_end = |token: &&Token| {
        let text = &compiled[token.range.clone()];
        depth += i64::from(matches!(text, ")" | "]")) - i64::from(matches!(text, "(" | "["));
        depth == 0 && matches!(text, ";" | "{" | "}")
    };
    let behind = all.iter().rev().find(is_statement_end).map_or(0, |token| token.range.end);
    let first = all.iter().find(|token| token.range.start >= behind).map(word).unwrap_or_default();
    let is_operand = last.kind != TokenKind::Punctuation || matches!(&*word(last), ")" | "]" | "++" | "--");
    let is_do = first == "while" && compiled[..behind].trim_end().ends_with('}');
    is_operand && (is_do || !matches!(&*first, "for" | "if" | "while" | "switch" | "do"))
}

/// Whether each difference stands where a statement of a block stands: behind one, outside of parentheses, before `;`.
fn stand_alone(hidden: &[&Difference], places: &[Token], text: &str, start: usize) -> bool {
    let mut wanted = hidden.iter().peekable();
    let (mut depth, mut before, mut end) = (0i64, "", None);
    for token in places {
        let word = &text[token.range.clone()];
        let at = start + token.range.start;
        if let Some(behind) = end
            && at >= behind
        {
            if word != ";" {
                return false;
            }
            end = None;
        }
        if let Some(difference) = wanted.next_if(|it| it.start <= at) {
            if difference.start != at || depth != 0 || !matches!(before, ";" | "{" | "}") {
                return false;
            }
            end = Some(difference.end);
        }
        depth += i64::from(matches!(word, "(" | "[")) - i64::from(matches!(word, ")" | "]"));
        before = word;
    }
    wanted.peek().is_none() && end.is_none()
}

#[cfg(test)]
mod tests {
    use crate::as_compiled::compiled_string;

    /// What is hidden in the function of a text, by its compiled tokens.
    fn hidden(body: &str, macros: &str) -> Option<Vec<String>> {
        let text = format!("{macros}\nvoid f() {body}\n");
        let compiled = compiled_string(&text, &[], &|_| true);
        let start = text.rfind("() {").unwrap();
        let found = compiled.hidden_statements(&text, &(start..text.len() - 1))?;
        Some(found.into_iter().map(|difference| difference.compiled.clone()).collect())
    }

    #[test]
    fn statements_of_a_block_are_hidden() {
        for macros in [
            "#define STEP() int top = v & 15; h = max(h, top);",
            "#define STEP() h = max(h - 1, v)",
            "#define STEP() do { h++; } while (0)",
            "#define STEP() for (int k = 0; k < 4; k++) { h += k; }",
            "#define STEP() if (h) h--;",
            "#define STEP() { h--; }",
            "#define STEP() h++",
            "#define STEP()",
        ] {
            assert_eq!(hidden("{ a[0] = 1; STEP(); }", macros).map(|found| found.len()), Some(1), "{macros}");
        }
        assert_eq!(hidden("{ a[0] = 1; }", "#define STEP() x").map(|found| found.len()), Some(0));
        assert_eq!(
            hidden("{ if (c) { STEP(1); } STEP(2); }", "#define STEP(x) h += x; g()").map(|found| found.len()),
            Some(2)
        );
    }

    #[test]
    fn what_reaches_beyond_the_statement_is_not_known() {
        for macros in [
            "#define STEP() if (h) break",
            "#define STEP() if (h) return",
            "#define STEP() h++; }",
            "#define STEP() { h++",
            "#define STEP() for (int k = 0; k < 4; k++)",
            "#define STEP() if (h)",
            "#define STEP() h = 1; if (h)",
            "#define STEP() h = 1 +",
            "#define STEP() else h = 1",
            "#define STEP() h = 1; __syncthreads()",
            "#define STEP() asm volatile(\"bar.sync 0;\")",
            "#define STEP() h = 1; __trap()",
            "#define STEP() case 3: h = 1",
        ] {
            assert_eq!(hidden("{ a[0] = 1; STEP(); }", macros), None, "{macros}");
        }
        let two = "#define STEP() h = 1; a[1] = 2";
        assert_eq!(hidden("{ STEP; }", "#define STEP h = 1"), None);
        for body in [
            "{ if (c) STEP(); }",
            "{ for (;;) STEP(); }",
            "{ for (i = 0; STEP(); i++) { } }",
            "{ x = STEP(); }",
            "{ x: STEP(); }",
            "{ STEP() + 1; }",
            "{ g(STEP()); }",
        ] {
            assert_eq!(hidden(body, two), None, "{body}");
        }
    }
}
