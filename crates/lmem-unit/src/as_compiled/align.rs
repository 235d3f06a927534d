//! Token-wise alignment of a file with its preprocessed text.

use std::borrow::Cow;

use lmem_base::diff::{Hunk, shortest};

use super::Difference;
use super::preprocessed::{Inclusion, Line, pragma};
use crate::as_compiled::tokens::{Token, TokenKind, Tokens, each};

/// Comparison takes the product of both token counts. Above this limit, the lines count as completely different.
const MAX_COMPARED: usize = 4_000_000;

/// The differences between a file and its inclusion, in order; `None` if the file's line numbers are not its own.
pub fn differences(text: &str, inclusion: &Inclusion<'_>) -> Option<Vec<Difference>> {
    let mut found = Vec::new();
    let mut group = Group::default();
    let mut own = OwnTokens { text, all: each(text), ahead: None };
    let mut compiled = inclusion.iter().peekable();
    loop {
        let next = own.peek()?.map(|token| token.line);
        let Some(number) = next.into_iter().chain(compiled.peek().map(|(number, _)| **number)).min() else { break };
        let line = compiled.next_if(|(other, _)| **other == number).map(|(_, line)| line);
        // A line that is the same is not kept, however long it is.
        let (mut words, mut ahead, mut is_same) = (line.into_iter().flat_map(Line::words), own.clone(), true);
        while let Some(token) = ahead.next_of(number)? {
            is_same = is_same && words.next().is_some_and(|compiled| word(text, &token) == compiled);
        }
        if is_same && words.next().is_none() {
            group.finish(text, &mut found);
        } else {
            while let Some(token) = own.next_of(number)? {
                group.push(text, token);
            }
            group.compiled.extend(line.into_iter().flat_map(Line::words));
        }
        own = ahead;
        // Only an invocation that goes on in further lines makes their tokens those of its own line. Lines that are compared alone find no
        // equal tokens elsewhere.
        if group.open == 0 && own.peek()?.is_none_or(|next| word(text, next) != "(") {
            group.finish(text, &mut found);
        }
    }
    group.finish(text, &mut found);
    Some(found)
}

/// The tokens of a file that the compiler sees. All answers are `None` from a `#line` on, which numbers lines anew.
#[derive(Clone)]
struct OwnTokens<'t> {
    text: &'t str,
    all: Tokens<'t>,
    ahead: Option<Token>,
}

impl OwnTokens<'_> {
    fn peek(&mut self) -> Option<Option<&Token>> {
        while self.ahead.is_none() {
            let Some(token) = self.all.next() else { return Some(None) };
            if token.kind == TokenKind::Directive {
                match directive_name(&self.text[token.range.clone()]) {
                    name if name == "line" || name.starts_with(|c: char| c.is_ascii_digit()) => return None,
                    "pragma" => {}
                    _ => continue,
                }
            }
            self.ahead = Some(token);
        }
        Some(self.ahead.as_ref())
    }

    /// The next token, if it is on that line.
    fn next_of(&mut self, line: u32) -> Option<Option<Token>> {
        let is_on_line = self.peek()?.is_some_and(|token| token.line == line);
        Some(if is_on_line { self.ahead.take() } else { None })
    }
}

/// `pragma` for `#  pragma unroll`.
pub fn directive_name(directive: &str) -> &str {
    let rest = directive.trim_start_matches('#').trim_start_matches([' ', '\t']);
    rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or("")
}

fn word<'t>(text: &'t str, token: &Token) -> Cow<'t, str> {
    let word = &text[token.range.clone()];
    match token.kind {
        TokenKind::Directive => Cow::Owned(pragma(word)),
        // A line splice may be inside a token.
        _ => Cow::Borrowed(word),
    }
}

/// Adjacent lines that differ: of one invocation, or of several that begin where others end.
#[derive(Default)]
struct Group<'c> {
    own: Vec<Token>,
    compiled: Vec<Cow<'c, str>>,
    /// Parentheses that the own lines leave open.
    open: usize,
}

impl Group<'_> {
    fn push(&mut self, text: &str, token: Token) {
        self.open = deeper(self.open, &text[token.range.clone()]);
        self.own.push(token);
    }

    fn finish(&mut self, text: &str, found: &mut Vec<Difference>) {
        let Self { own, compiled, .. } = std::mem::take(self);
        if own.is_empty() && compiled.is_empty() {
            return;
        }
        let compiled: Vec<&str> = compiled.iter().map(|word| &**word).collect();
        if own.len().saturating_mul(compiled.len()) > MAX_COMPARED {
            let ends = own.first().zip(own.last()).map(|(first, last)| (first.range.start, last.range.end));
            let (start, end) = ends.unwrap_or_default();
            return found.push(Difference { start, end, compiled: compiled.join(" ") });
        }
        let words: Vec<Cow<'_, str>> = own.iter().map(|token| word(text, token)).collect();
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let hunks = aligned(&words, &compiled);
        let end_of = |index: usize| own.get(index).map(|token| token.range.end);
        for (left, right) in joined(&words, &compiled, invocations(&words, hunks)) {
            let before = left.start.checked_sub(1).and_then(end_of);
            let start = own.get(left.start).map(|token| token.range.start).or(before).unwrap_or(0);
            let end = left.end.checked_sub(1).filter(|_| !left.is_empty()).and_then(end_of).unwrap_or(start);
            found.push(Difference { start, end, compiled: compiled[right].join(" ") });
        }
    }
}

/// What CUDA's qualifiers are compiled as.
const ATTRIBUTE: &str = "__attribute__";

/// How many parentheses are open behind a word.
fn deeper(depth: usize, word: &str) -> usize {
    match word {
        "(" => depth + 1,
        ")" => depth.saturating_sub(1),
        _ => depth,
    }
}

/// The differences of two sequences of words, of which equal ones stand in as many parentheses: in `W * W` that became
/// `(2 * R + 1) * (2 * R + 1)`, the product is that of both. Where one sequence closes other parentheses than the other, words alone count.
fn aligned(own: &[&str], compiled: &[&str]) -> Vec<Hunk> {
    let nested = |words: &[&str]| {
        let mut depth = 0;
        // Parentheses of an attribute, `__attribute__((global))` for `__global__`, are none of an expression beside it.
        let mut attribute = None;
        let words: Vec<String> = (words.iter())
            .map(|word| {
                let around = if *word == ")" { deeper(depth, word) } else { depth };
                depth = deeper(depth, word);
                if *word == ATTRIBUTE {
                    attribute.get_or_insert(depth);
                }
                let of = if attribute.is_some() { ATTRIBUTE } else { "" };
                attribute = attribute.filter(|outside| *word != ")" || depth > *outside);
                format!("{of} {around} {word}")
            })
            .collect();
        (words, depth)
    };
    let ((one, end), (other, other_end)) = (nested(own), nested(compiled));
    if end != other_end {
        return shortest(own, compiled);
    }
    let [one, other] = [&one, &other].map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
    shortest(&one, &other)
}

/// Moves tokens that are only compiled to the hunk beside them, where equal tokens lie between both: `EMIT(p);` that became
/// `{ p++; };` has `;` in its code and `};` behind it, or `; }` in its code and `;` behind it.
fn joined(own: &[&str], compiled: &[&str], hunks: Vec<Hunk>) -> Vec<Hunk> {
    let mut found: Vec<Hunk> = Vec::new();
    let mut hunks = hunks.into_iter().peekable();
    while let Some((mut left, mut right)) = hunks.next() {
        let is_same = |own_at: usize, at: usize| own.get(own_at).zip(compiled.get(at)).is_some_and(|(a, b)| a == b);
        if left.is_empty() {
            if let Some((before, became)) = found.last_mut() {
                let most = left.start - before.end;
                let steps = (0..most).take_while(|step| is_same(left.start - 1 - step, right.end - 1 - step)).count();
                if steps == most {
                    became.end = right.end - steps;
                    continue;
                }
            }
            if let Some((next, _)) = hunks.peek() {
                let most = next.start - left.start;
                let steps = (0..most).take_while(|step| is_same(left.start + step, right.start + step)).count();
                if steps == most
                    && let Some((next, became)) = hunks.next()
                {
                    (left, right) = (next, right.start + steps..became.end);
                }
            }
        }
        found.push((left, right));
    }
    found
}

/// Merges the hunks of an invocation `NAME(…)` into one hunk, from the name to the end of the expanded argument list.
/// Arguments compiled verbatim are still macro arguments.
fn invocations(own: &[&str], hunks: Vec<Hunk>) -> Vec<Hunk> {
    let mut found: Vec<Hunk> = Vec::new();
    let mut hunks = hunks.into_iter().peekable();
    while let Some((mut left, mut right)) = hunks.next() {
        let is_name = |at: usize| own.get(at).is_some_and(|word| word.bytes().all(crate::as_compiled::tokens::is_word));
        // The parenthesis may be among the tokens that differ: `EMIT(p, 3)` becomes `{ *p = 3; }`.
        let opens = left.clone().map(|at| at + 1).filter(|open| is_name(open - 1) && own.get(*open) == Some(&"("));
        let ends = opens.map(|open| closed(own, open).unwrap_or(own.len()));
        if let Some(mut end) = ends.max().filter(|end| *end > left.end) {
            // Tokens between hunks are the same on both sides.
            let mut shift = (left.end, right.end);
            while let Some((next, compiled)) = hunks.next_if(|(next, _)| next.start <= end) {
                shift = (next.end, compiled.end);
                end = end.max(next.end);
            }
            (left.end, right.end) = (end, shift.1 + (end - shift.0));
        }
        found.push((left, right));
    }
    found
}

/// The index after the matching close parenthesis.
fn closed(own: &[&str], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, word) in own.iter().enumerate().skip(open) {
        match *word {
            "(" => depth += 1,
            ")" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::as_compiled::preprocessed::inclusions;

    /// The differences between `own` and `compiled`, which have the same number of lines.
    fn found(own: &str, compiled: &str) -> Vec<String> {
        let text = format!("# 1 \"/a.cu\"\n{compiled}");
        let all = inclusions(&text, Path::new("/"), &|_| true);
        let nothing = Inclusion::new();
        let inclusion = all[Path::new("/a.cu")].first().unwrap_or(&nothing);
        let found = differences(own, inclusion).unwrap();
        found.iter().map(|it| format!("{} → {}", &own[it.start..it.end], it.compiled)).collect()
    }

    #[test]
    fn constants_attributes_and_invocations() {
        for (own, compiled, expected) in [
            ("int a[N]; // N\n", "int a[12];\n", &["N → 12"][..]),
            ("i < N; ++i", "i < 16; ++i", &["N → 16"]),
            ("__global__ void k()", "__attribute__((global)) void k()", &["__global__ → __attribute__ ( ( global ) )"]),
            ("{ CHECK(a[i]); b; }", "{ if (a[i]) break; b; }", &["CHECK(a[i]) → if ( a [ i ] ) break"]),
            ("f(X, 1)", "f(x, 1)", &["X → x"]),
            (
                "__global__ void __launch_bounds__((A / B) * (B * 2), 6) k()",
                "__attribute__((global)) void __attribute__((launch_bounds((A / B) * (B * 2), 6))) k()",
                &[
                    "__global__ → __attribute__ ( ( global ) )",
                    "__launch_bounds__((A / B) * (B * 2), 6) → __attribute__ ( ( launch_bounds ( ( A / B ) * ( B * 2 ) , 6 ) ) )",
                ],
            ),
            (
                "f(BOUNDS(A, B) * BOUNDS(C, (D)), 6)",
                "f(((A) + (B)) * ((C) + ((D))), 6)",
                &["BOUNDS(A, B) → ( ( A ) + ( B ) )", "BOUNDS(C, (D)) → ( ( C ) + ( ( D ) ) )"],
            ),
            ("TRACE(a[i]);", ";", &["TRACE(a[i]) → "]),
            ("t = IDX(i,\n 2) + 1;\nb;", "t = ((i) * 4 + (2))\n + 1;\nb;", &["IDX(i,\n 2) → ( ( i ) * 4 + ( 2 ) )"]),
            ("MIN(MAX(a, b), c)", "m(M(a, b), c)", &["MIN(MAX(a, b), c) → m ( M ( a , b ) , c )"]),
            ("EMIT(p, 3); c;", "{ *p = 3; p++; *p = (3); }; c;", &["EMIT(p, 3) → { * p = 3 ; p ++ ; * p = ( 3 ) ; }"]),
            (
                "P(i) + P(j);",
                "((i) * n + m) + ((j) * n + m);",
                &["P(i) → ( ( i ) * n + m )", "P(j) → ( ( j ) * n + m )"],
            ),
            ("a\n#if 0\nb;\n#endif\nc", "a\n\n\n\nc", &["b; → "]),
            ("h[W * W]", "h[(2 * 2 + 1) * (2 * 2 + 1)]", &["W → ( 2 * 2 + 1 )", "W → ( 2 * 2 + 1 )"]),
            (
                "x % (W * W) + W;",
                "x % ((2 * 2) * (2 * 2)) + (2 * 2);",
                &["W → ( 2 * 2 )", "W → ( 2 * 2 )", "W → ( 2 * 2 )"],
            ),
            ("OPEN a * b CLOSE", "( a * b )", &["OPEN a * b CLOSE → ( a * b )"]),
            // Each line has its own code, though the next one has the same tokens.
            (
                "MIX(v[0], v[1]);\nMIX(v[2], v[0]);",
                "do { v[0] += m[i]; v[1] ^= v[0]; } while (0);\ndo { v[2] += m[i]; v[0] ^= v[2]; } while (0);",
                &[
                    "MIX(v[0], v[1]) → do { v [ 0 ] += m [ i ] ; v [ 1 ] ^= v [ 0 ] ; } while ( 0 )",
                    "MIX(v[2], v[0]) → do { v [ 2 ] += m [ i ] ; v [ 0 ] ^= v [ 2 ] ; } while ( 0 )",
                ],
            ),
            (
                "NAME\n(1,\n2);\nNAME\n(3, 4);",
                "f(1 + 2)\n\n;\nf(3 + 4)\n;",
                &["NAME\n(1,\n2) → f ( 1 + 2 )", "NAME\n(3, 4) → f ( 3 + 4 )"],
            ),
        ] {
            assert_eq!(found(own, compiled), expected, "{own}");
        }
    }

    #[test]
    fn the_same_text_has_no_difference() {
        let text = "#include <x>\n#pragma  unroll 2\nint a = /* b */ 1; // c\n\nconst char* t = R\"(a\nb)\";\n";
        assert_eq!(found(text, &text.replace("#include <x>", "")), [""; 0]);
    }

    #[test]
    fn lines_that_are_counted_anew_are_not_compared() {
        assert!(differences("int a;\n#line 7 \"b.cu\"\nint b;\n", &Inclusion::new()).is_none());
        assert!(differences("int a;\n# 7 \"b.cu\"\nint b;\n", &Inclusion::new()).is_none());
    }
}
