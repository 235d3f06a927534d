//! Statements and items of lists that macros hide.
//!
//! `STEP();` may become a declaration and three assignments: nothing that a reader of the text sees. An edit elsewhere in the
//! function need not understand them, as long as they share no name with it and cannot jump. `{COLOURS(X)}` may become any
//! number of values: how many elements that variable has, is not seen, so that its name is hidden too.

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

/// What a macro hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden<'t> {
    /// As written; of a list, the declaration up to it, too.
    pub own: [&'t str; 2],
    pub compiled: &'t str,
}

impl CompiledText {
    /// The differences of a range that are not faithful, where each is a statement of a block or all of a list of values;
    /// `None` where one is anything else. Who edits the range must share no name with them.
    pub fn hidden_statements<'t>(&'t self, text: &'t str, range: &Range<usize>) -> Option<Vec<Hidden<'t>>> {
        let (mut hidden, mut found, mut places) = (Vec::new(), Vec::new(), None);
        for difference in self.within(range)? {
            let is_inside = range.start <= difference.start && difference.end <= range.end;
            let own = text.get(difference.start..difference.end).filter(|_| is_inside)?;
            if super::Expansion::of(own, &difference.compiled).is_faithful() {
                continue;
            }
            let before = match text.get(range.clone()) {
                // A name alone looks like no call, which may do anything.
                _ if !own.ends_with(')') => return None,
                Some(all) if are_values(&difference.compiled) => {
                    let places = places.get_or_insert_with(|| tokens(all));
                    list_before(difference, places, all, range.start)
                }
                _ => None,
            };
            if before.is_none() {
                hidden.push(Some(difference).filter(|it| is_complete(&it.compiled))?);
            }
            found.push(Hidden { own: [before.unwrap_or(""), own], compiled: &difference.compiled });
        }
        let places = if hidden.is_empty() { Vec::new() } else { tokens(text.get(range.clone())?) };
        let are_statements = stand_alone(&hidden, &places, text.get(range.clone())?, range.start);
        are_statements.then_some(found)
    }
}

/// Words of calls in which threads meet or end; who looks for such calls must see them.
const ENDS: [&str; 8] = ["__assert", "__bar", "__brkpt", "__trap", "abort", "arrive", "exit", "wait"];
/// Instructions that jump, or in which threads meet or end.
const INSTRUCTIONS: [&str; 8] = ["bar.", "bra", "exit", "match.", "redux", "shfl", "trap", "vote"];

/// Operators that write to what is before or behind them.
const WRITES: [&str; 13] = ["=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];

/// Whether compiled tokens are values of a list, without a statement or an assignment.
fn are_values(compiled: &str) -> bool {
    let all = tokens(compiled);
    let is_value = |token: &Token| {
        let word = &compiled[token.range.clone()];
        word != ";" && !WRITES.contains(&word)
    };
    !all.is_empty() && all.iter().all(is_value) && is_balanced(&all, compiled)
}

/// The statement up to a list, `const Rgb palette[] = `, if a difference is all that the list has in it.
fn list_before<'t>(difference: &Difference, places: &[Token], text: &'t str, start: usize) -> Option<&'t str> {
    let all: Vec<&Token> = places.iter().filter(|token| token.kind != TokenKind::Directive).collect();
    let first = all.iter().position(|token| start + token.range.start == difference.start)?;
    let behind = all.iter().position(|token| start + token.range.start >= difference.end)?;
    let word = |at: usize| all.get(at).map_or("", |token| &text[token.range.clone()]);
    let back = |steps: usize| first.checked_sub(steps).map_or("", word);
    if back(1) != "{" || back(2) != "=" || word(behind) != "}" || word(behind + 1) != ";" {
        return None;
    }
    let is_end = |token: &&&Token| matches!(&text[token.range.clone()], ";" | "{" | "}");
    let end = all[..first - 1].iter().rev().find(is_end)?.range.end;
    Some(text.get(end..all[first - 1].range.start)?.trim())
}

/// Whether compiled tokens are whole statements that end where they end.
fn is_complete(compiled: &str) -> bool {
    let all = tokens(compiled);
    // `for (…)` would have the next statement as its body; `x = 1 +` its operand.
    let last = all.last().map(|token| &compiled[token.range.clone()]);
    let ends = last.is_none_or(|last| matches!(last, ";" | "}")) || is_expression(&all, compiled);
    ends && is_balanced(&all, compiled)
}

/// Whether all brackets that tokens open are closed, and nothing in them jumps or asks other threads.
fn is_balanced(all: &[Token], compiled: &str) -> bool {
    let mut open = Vec::new();
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
    is_fit && open.is_empty()
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
        Some(
            found
                .into_iter()
                .map(|hidden| format!("{} {}", hidden.own[0], hidden.compiled).trim().to_string())
                .collect(),
        )
    }

    #[test]
    fn lists_of_values_are_hidden_with_their_variable() {
        let macros = "#define ALL(X) X(RED, 0xff) X(BLUE, 7)";
        let list = |inner: &str, use_of: &str| {
            let body = format!(
                "{{ int a[4];\n    const Rgb p[] = {{\n#define X(n, v) {inner}\n        {use_of}\n#undef X\n    }};\n a[0] = 1; }}"
            );
            hidden(&body, macros)
        };
        let found = list("Rgb(v),", "ALL(X)").unwrap();
        assert_eq!(found, ["const Rgb p[] = Rgb ( 0xff ) , Rgb ( 7 ) ,"]);
        assert!(list("{v, 1},", "ALL(X)").is_some());
        // What writes, jumps, meets others, or is a part of the list.
        for inner in ["Rgb(k++),", "(k = v),", "[&] { k = v; return 1; }(),", "__shfl_sync(v),", "Rgb(v, {", "});"] {
            assert_eq!(list(inner, "ALL(X)"), None, "{inner}");
        }
        for use_of in ["1, ALL(X)", "ALL(X) 1", "{ ALL(X) }", "f(ALL(X))"] {
            assert_eq!(list("v,", use_of), None, "{use_of}");
        }
        assert_eq!(hidden("{ int a[4]; g({ ALL(X) }); }", "#define ALL(X) 1, 2"), None);
        assert_eq!(hidden("{ int a = { ALL(X) }, b; }", "#define ALL(X) 1, 2"), None);
        assert_eq!(hidden("{ if (c) { ALL(X) } }", "#define ALL(X) f(), 2"), None);
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
