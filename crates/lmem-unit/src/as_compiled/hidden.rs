//! What macros hide: statements, the heads of statements, and items of lists; and the statements of a branch of an `#if` that was
//! not taken.
//!
//! `STEP();` may become a declaration and three assignments: nothing that a reader of the text sees. An edit elsewhere in the
//! function need not understand them, as long as they share no name with it and cannot jump. A kernel may be left by one, as by
//! `RETURN_IF_OUTSIDE(n);`, if that is no part of another statement. `{COLOURS(X)}` may become any number of values: how many
//! elements that variable has, is not seen, so that its name is hidden too. What another build makes of a function has the
//! statements that this one skips.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::align::directive_name;
use super::blocks::Blocks;
use super::operand::{self, JUMPS, Operand, WRITES};
use super::skipped::are_lines;
use super::tokens::{Token, TokenKind, each, tokens};
use super::{CompiledText, declared};

/// CUDA's variables with members.
const BUILT_IN: [&str; 4] = ["blockDim", "blockIdx", "gridDim", "threadIdx"];

/// What a macro hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden<'t> {
    /// Where it stands in the text.
    pub range: Range<usize>,
    /// As written; of a list, the declaration up to it, too.
    pub own: [&'t str; 2],
    pub compiled: &'t str,
    /// The macro, if it stands for an operand of an expression: an edit that has the macro in it may put it among others.
    pub operand: Option<&'t str>,
    /// Whether the text shows what happens to the arguments: they are read.
    shows_arguments: bool,
    /// Whether it may leave the function.
    pub leaves: bool,
    /// Whether it is lines below an `#if` that were not compiled.
    pub is_skipped: bool,
}

impl<'t> Hidden<'t> {
    /// The functions that an operand calls: those of CUDA, as far as the text tells.
    pub fn calls(&self) -> Vec<&'t str> {
        self.operand.map(|_| operand::called(self.compiled)).unwrap_or_default()
    }

    /// The words that what is hidden may read or write, as they are written and as they were compiled.
    pub fn words(&self) -> BTreeSet<&'t str> {
        let became = code_words(self.compiled).into_iter().map(|(word, _)| word);
        let own: Vec<(&str, bool)> = self.own.into_iter().flat_map(code_words).collect();
        if !self.shows_arguments {
            return own.into_iter().map(|(word, _)| word).chain(became).collect();
        }
        // `s.k` shows no variable `k`.
        let shown: BTreeSet<&str> = own.into_iter().filter(|(_, is_member)| !is_member).map(|(word, _)| word).collect();
        became.filter(|word| !shown.contains(word)).chain(self.operand).collect()
    }
}

/// The words of code but for literals, and whether they are names of members; without those that only say which member of a
/// variable of CUDA's is meant.
fn code_words(text: &str) -> Vec<(&str, bool)> {
    let all = tokens(text);
    let word = |token: &Token| &text[token.range.clone()];
    let before = |at: usize, back: usize| at.checked_sub(back).map(|at| word(&all[at]));
    let is_dimension = |at: usize| before(at, 1) == Some(".") && before(at, 2).is_some_and(|it| BUILT_IN.contains(&it));
    let kept = all.iter().enumerate().filter(|(at, token)| token.kind != TokenKind::Literal && !is_dimension(*at));
    kept.map(|(at, token)| (word(token), matches!(before(at, 1), Some("." | "->")))).collect()
}

impl CompiledText {
    /// The differences of a range that are not faithful, where each is a statement of a block, an operand of an expression, or
    /// all of a list of values; `None` where one is anything else. Who edits the range must share no name with them.
    pub fn hidden_statements<'t>(&'t self, text: &'t str, range: &Range<usize>) -> Option<Vec<Hidden<'t>>> {
        self.hidden(text, range).ok()
    }

    /// The first difference of a range that ends all edits of it, if one does; an empty range where nothing is known.
    pub fn obstacle(&self, text: &str, range: &Range<usize>) -> Option<Range<usize>> {
        self.hidden(text, range).err()
    }

    fn hidden<'t>(&'t self, text: &'t str, range: &Range<usize>) -> Result<Vec<Hidden<'t>>, Range<usize>> {
        let unknown = || range.start..range.start;
        let mut found = Vec::new();
        let all = text.get(range.clone()).ok_or_else(unknown)?;
        // Nobody knows what a file brings into a function, or will bring in another build.
        let is_include = |token: &Token| {
            token.kind == TokenKind::Directive && directive_name(&all[token.range.clone()]).starts_with("include")
        };
        let mut includes = each(if all.contains("include") { all } else { "" });
        if let Some(include) = includes.find(is_include) {
            return Err(range.start + include.range.start..range.start + include.range.end);
        }
        let surroundings = OnceCell::new();
        let declared = OnceCell::new();
        let is_own = |name: &str| declared.get_or_init(|| declared_in(text)).contains(name);
        for (place, compiled) in self.joined(text, range).ok_or_else(unknown)? {
            let is_inside = range.start <= place.start && place.end <= range.end;
            let own = text.get(place.clone()).ok_or_else(|| place.clone())?;
            let expansion = super::Expansion::of(own, compiled);
            // Attributes beside each other are one difference: `__global__ __launch_bounds__(128)`.
            if expansion == super::Expansion::Attribute || (is_inside && expansion.is_faithful()) {
                continue;
            }
            if !is_inside {
                return Err(place);
            }
            let surroundings = surroundings.get_or_init(|| Surroundings::new(all, range.start));
            // A word for other compilers: `GLOBAL_AS u32 *p`.
            if compiled.is_empty() && is_name(own) && surroundings.is_in_parameters(&place) {
                continue;
            }
            // A type's other name: `TEXTURE images`.
            if is_own_spelling(own) && surroundings.is_type(&place, compiled, &is_own) && !is_own(own) {
                continue;
            }
            let hide = |own: [&'t str; 2], operand, shows_arguments| Hidden {
                range: place.clone(),
                own,
                compiled,
                operand,
                shows_arguments,
                leaves: false,
                is_skipped: false,
            };
            let hidden = match surroundings.operand(own, &place, compiled, &is_own) {
                Some((name, operand)) if !self.is_variable(name, surroundings) => {
                    Some(hide(["", own], Some(name), operand == Operand::Value))
                }
                _ => {
                    let list = || surroundings.list_before(&place).filter(|_| are_values(compiled));
                    list().map(|before| hide([before, own], None, false))
                }
            };
            let hidden = hidden.or_else(|| {
                // A name alone looks like no call, which may do anything.
                let is_call = own.ends_with(')');
                let is_skipped = compiled.is_empty() && are_lines(text, &place);
                let code = match is_skipped {
                    true => surroundings.is_skipped_statement(&place, own).then_some(own)?,
                    false if surroundings.is_head(&place, compiled) => return Some(hide(["", own], None, false)),
                    false => Some(compiled).filter(|_| is_call && surroundings.stands_alone(&place))?,
                };
                let leaves = leaves(code);
                let is_fit = is_complete(code) && (!leaves || surroundings.is_outermost(&place));
                is_fit.then(|| Hidden { leaves, is_skipped, ..hide(["", own], None, false) })
            });
            found.push(hidden.ok_or(place)?);
        }
        Ok(found)
    }

    /// Whether a name stands somewhere for what is no macro.
    fn is_variable(&self, name: &str, around: &Surroundings<'_>) -> bool {
        let is_kept = |(token, _): &(&Token, &&str)| {
            token.kind == TokenKind::Identifier && self.is_verbatim(&around.place(token))
        };
        let named = || around.tokens.iter().zip(&around.words).filter(is_kept).map(|(_, word)| *word).collect();
        around.verbatim.get_or_init(named).contains(name)
    }
}

/// The tokens of a range without directives.
struct Surroundings<'t> {
    text: &'t str,
    start: usize,
    tokens: Vec<Token>,
    words: Vec<&'t str>,
    /// What is open before each token, and behind the last.
    open: Vec<Open>,
    /// The names that stand somewhere for what is no macro.
    verbatim: OnceCell<HashSet<&'t str>>,
}

/// The brackets around a place.
#[derive(Clone, Copy)]
struct Open {
    /// Neither parentheses nor square brackets.
    is_outside: bool,
    /// One brace, which opens a block.
    is_outermost: bool,
    /// The innermost brace opens a block.
    is_in_block: bool,
}

impl Open {
    /// What is open before each word, and behind the last.
    fn before_each(words: &[&str]) -> Vec<Self> {
        let (mut found, mut round, mut blocks) = (Vec::with_capacity(words.len() + 1), 0_i64, Blocks::default());
        for at in 0..=words.len() {
            let (is_in_block, is_outermost) = (blocks.is_within(), blocks.is_within_one());
            found.push(Self { is_outside: round == 0, is_outermost, is_in_block });
            let word = words.get(at).copied().unwrap_or("");
            round += match word {
                "(" | "[" => 1,
                ")" | "]" => -1,
                _ => 0,
            };
            blocks.step(word);
        }
        found
    }
}

impl<'t> Surroundings<'t> {
    fn new(text: &'t str, start: usize) -> Self {
        let all = tokens(text).into_iter().filter(|token| token.kind != TokenKind::Directive);
        let tokens: Vec<Token> = all.collect();
        let words: Vec<&str> = tokens.iter().map(|token| &text[token.range.clone()]).collect();
        let open = Open::before_each(&words);
        Self { text, start, tokens, words, open, verbatim: OnceCell::new() }
    }

    fn place(&self, token: &Token) -> Range<usize> {
        self.start + token.range.start..self.start + token.range.end
    }

    /// The indices of the tokens of a difference; `None` if it cuts one.
    fn indices(&self, place: &Range<usize>) -> Option<Range<usize>> {
        let first = self.tokens.partition_point(|token| self.start + token.range.start < place.start);
        let behind = self.tokens.partition_point(|token| self.start + token.range.start < place.end);
        let is_whole = first < behind
            && self.place(&self.tokens[first]).start == place.start
            && self.place(&self.tokens[behind - 1]).end == place.end;
        is_whole.then_some(first..behind)
    }

    fn word(&self, at: Option<usize>) -> &'t str {
        at.and_then(|at| self.words.get(at)).copied().unwrap_or("")
    }

    /// Whether a place is among the parameters before the body.
    fn is_in_parameters(&self, place: &Range<usize>) -> bool {
        let open = self.indices(place).and_then(|indices| self.open.get(indices.start).copied());
        open.is_some_and(|open| !open.is_outside && !open.is_in_block && !open.is_outermost)
    }

    /// Whether a difference is one name that stands for a type: before the name that is declared. A type of the user's may be a reference,
    /// which a parameter of a kernel is not.
    fn is_type(&self, place: &Range<usize>, compiled: &str, is_own: &dyn Fn(&str) -> bool) -> bool {
        let Some(indices) = self.indices(place).filter(|indices| indices.len() == 1 && is_name(compiled)) else {
            return false;
        };
        let is_parameter = self.is_in_parameters(place);
        let is_of_kernel = || is_parameter && self.words[..indices.start].contains(&"__global__");
        let before = self.word(indices.start.checked_sub(1));
        // In a block, `A * b` may be a product.
        let is_mark = |word: &&&str| is_parameter && matches!(**word, "*" | "&" | "const" | "__restrict__");
        let marks = self.words[indices.end..].iter().take_while(is_mark).count();
        let [name, end] = [0, 1].map(|further| self.word(Some(indices.end + marks + further)));
        matches!(before, "(" | "," | ";" | "{" | "}" | "const")
            && is_name(name)
            && matches!(end, "," | ")" | ";" | "=" | "[")
            && !NO_TYPES.contains(&compiled)
            && !compiled.starts_with("__")
            && (is_of_kernel() || (is_toolkit_type(compiled) && !is_own(compiled)))
    }

    /// The macro of an invocation in an expression, and what it is there.
    fn operand(
        &self,
        own: &'t str,
        place: &Range<usize>,
        compiled: &str,
        is_own: &dyn Fn(&str) -> bool,
    ) -> Option<(&'t str, Operand)> {
        let place = self.indices(place)?;
        let words = &self.words[place.clone()];
        let name = words.first().copied().filter(|name| is_name(name))?;
        let is_whole = match words {
            [_] => true,
            [_, "(", ..] => operand::closing(words, 1) == Some(words.len() - 1),
            _ => false,
        };
        let is_statement = self.is_start(place.start) && self.word(Some(place.end)) == ";";
        let around = (&self.words[..place.start], &self.words[place.end..]);
        let found = || operand::operand(own, compiled, around, is_own);
        let found = (is_whole && !is_statement).then(found)??;
        let asks_others = !is_balanced(&tokens(compiled), compiled);
        (!asks_others).then_some((name, found))
    }

    /// The statement up to a list, `const Rgb palette[] = `, if a difference is all that the list has in it.
    fn list_before(&self, place: &Range<usize>) -> Option<&'t str> {
        let place = self.indices(place)?;
        let back = |steps: usize| self.word(place.start.checked_sub(steps));
        let is_list = back(1) == "{" && back(2) == "=" && self.word(Some(place.end)) == "}";
        if !is_list || self.word(Some(place.end + 1)) != ";" {
            return None;
        }
        let before = &self.tokens[..place.start - 1];
        let end = self.words[..before.len()].iter().rposition(|word| matches!(*word, ";" | "{" | "}"))?;
        Some(self.text.get(self.tokens[end].range.end..self.tokens[place.start - 1].range.start)?.trim())
    }

    /// Whether a statement of a block begins at a token: behind one, outside of parentheses.
    fn is_start(&self, at: usize) -> bool {
        self.open[at].is_outside && matches!(self.word(at.checked_sub(1)), ";" | "{" | "}")
    }

    /// Whether a difference stands where a statement of a block stands, before `;`.
    fn stands_alone(&self, place: &Range<usize>) -> bool {
        let place = self.indices(place);
        place.is_some_and(|place| self.is_start(place.start) && self.word(Some(place.end)) == ";")
    }

    /// Whether lines that were skipped are statements of a block, with their ends.
    fn is_skipped_statement(&self, place: &Range<usize>, own: &str) -> bool {
        let is_start = |place: Range<usize>| self.is_start(place.start) && self.open[place.start].is_in_block;
        own.ends_with([';', '}']) && self.indices(place).is_some_and(is_start)
    }

    /// Whether what was compiled is the head of a statement, and the block behind it stands in no other statement. Who edits within that
    /// block, has all of a round of the loop.
    fn is_head(&self, place: &Range<usize>, compiled: &str) -> bool {
        are_heads(compiled)
            && is_balanced(&tokens(compiled), compiled)
            && self.is_outermost(place)
            && self.indices(place).is_some_and(|place| {
                self.is_start(place.start)
                    && self.word(Some(place.end)) == "{"
                    && self.word(Some(place.start + 1)) == "("
            })
    }

    /// Whether a difference stands in the outermost block of a function.
    fn is_outermost(&self, place: &Range<usize>) -> bool {
        let open = self.indices(place).map(|place| self.open[place.start]);
        open.is_some_and(|open| open.is_outermost)
    }
}

/// The names that a text may declare.
fn declared_in(text: &str) -> BTreeSet<String> {
    declared::declared(each(text).filter_map(|token| text.get(token.range)))
}

fn is_name(word: &str) -> bool {
    word.bytes().all(super::tokens::is_word) && !word.starts_with(|c: char| c.is_ascii_digit())
}

/// Words before a name that are no type.
const NO_TYPES: [&str; 27] = [
    "auto",
    "break",
    "case",
    "class",
    "concept",
    "const",
    "constexpr",
    "continue",
    "decltype",
    "delete",
    "else",
    "enum",
    "extern",
    "goto",
    "inline",
    "mutable",
    "new",
    "register",
    "return",
    "static",
    "struct",
    "throw",
    "typedef",
    "typename",
    "union",
    "using",
    "volatile",
];

/// Vectors of the toolkit, and its handles of textures and surfaces.
fn is_toolkit_type(name: &str) -> bool {
    let is_handle = matches!(name, "cudaTextureObject_t" | "cudaSurfaceObject_t" | "half" | "half2");
    let elements = name.strip_suffix(['1', '2', '3', '4']).map(|element| element.strip_prefix('u').unwrap_or(element));
    is_handle
        || elements.is_some_and(|it| matches!(it, "char" | "short" | "int" | "long" | "longlong" | "float" | "double"))
}

/// Whether a name is spelled as macros are, and no type of the toolkit or of a standard library is.
fn is_own_spelling(name: &str) -> bool {
    let is_upper = name.starts_with(|c: char| c.is_ascii_uppercase()) || name.chars().all(|c| !c.is_ascii_lowercase());
    is_name(name) && is_upper && !name.ends_with("_t") && !name.starts_with('_') && name != "FILE"
}

/// Words of calls in which threads meet or end; who looks for such calls must see them. `__assert_fail` and `__trap` end the
/// whole kernel.
const ENDS: [&str; 6] = ["__bar", "__brkpt", "abort", "arrive", "exit", "wait"];
/// Instructions that jump, or in which threads meet or end.
const INSTRUCTIONS: [&str; 8] = ["bar.", "bra", "exit", "match.", "redux", "shfl", "trap", "vote"];

/// Whether compiled tokens are values of a list, without a statement or an assignment.
fn are_values(compiled: &str) -> bool {
    let all = tokens(compiled);
    let is_value = |token: &Token| {
        let word = &compiled[token.range.clone()];
        word != ";" && !WRITES.contains(&word)
    };
    !all.is_empty() && all.iter().all(is_value) && is_balanced(&all, compiled)
}

/// Whether tokens leave the function that they are in.
fn leaves(code: &str) -> bool {
    each(code).any(|token| code.get(token.range) == Some("return"))
}

/// Whether what a macro became is the heads of statements alone: `for (…)`, `if (…)`, or several. Those with a subscript are left out:
/// the accesses in them would be looked for in the statement behind.
pub fn are_heads(compiled: &str) -> bool {
    let begins = ["for ", "for(", "while", "if "].iter().any(|keyword| compiled.starts_with(keyword));
    if !begins || compiled.contains('[') {
        return false;
    }
    let all = tokens(compiled);
    let words: Vec<&str> = all.iter().map(|token| &compiled[token.range.clone()]).collect();
    let mut at = 0;
    while matches!(words.get(at), Some(&("for" | "while" | "if"))) && words.get(at + 1) == Some(&"(") {
        let Some(closing) = operand::closing(&words, at + 1) else { return false };
        at = closing + 1;
    }
    at == words.len()
}

/// Whether compiled tokens are whole statements that end where they end.
fn is_complete(compiled: &str) -> bool {
    let all = tokens(compiled);
    // `for (…)` would have the next statement as its body; `x = 1 +` its operand.
    let last = all.last().map(|token| &compiled[token.range.clone()]);
    let ends = last.is_none_or(|last| matches!(last, ";" | "}" | "return")) || is_expression(&all, compiled);
    ends && is_closed(&all, compiled)
}

/// Whether all brackets that tokens open are closed, and nothing in them jumps or asks other threads.
fn is_balanced(all: &[Token], compiled: &str) -> bool {
    is_closed(all, compiled) && !leaves(compiled)
}

/// The same of code that may leave its function.
fn is_closed(all: &[Token], compiled: &str) -> bool {
    let mut open = Vec::new();
    let is_fit = all.iter().all(|token| match (token.kind, &compiled[token.range.clone()]) {
        (TokenKind::Directive, _) => false,
        (TokenKind::Identifier, word) => {
            (word == "return" || !JUMPS.contains(&word))
                && !word.contains("sync")
                && !ENDS.iter().any(|prefix| word.starts_with(prefix))
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

#[cfg(test)]
mod tests {
    use crate::as_compiled::{CompiledText, compiled_string};

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

    /// The words that matter of all that is hidden.
    fn matter(body: &str, macros: &str) -> Option<Vec<String>> {
        let text = format!("{macros}\nvoid f(int n, float *p) {body}\n");
        let compiled = compiled_string(&text, &[], &|_| true);
        let found = compiled.hidden_statements(&text, &(text.rfind("(int n").unwrap()..text.len() - 1))?;
        let words = found.iter().flat_map(super::Hidden::words).filter(|word| super::is_name(word));
        Some(words.collect::<std::collections::BTreeSet<_>>().into_iter().map(str::to_string).collect())
    }

    #[test]
    fn operands_are_hidden_with_their_free_names() {
        for (body, macros, expected) in [
            ("{ x = a[1] * SCALE; }", "#define SCALE (4.0f / ONE_PI)", &["ONE_PI", "SCALE"][..]),
            ("{ x = q[AT(i, n)]; }", "#define AT(i, j) ((j) * width + (i))", &["AT", "width"]),
            // `k` of the text is a member's name.
            ("{ x = q[AT(s.k, n)]; }", "#define AT(i, j) ((i) * k + (j))", &["AT", "k"]),
            ("{ x = q[AT(threadIdx.x, n)]; }", "#define AT(i, j) ((i) * x + (j))", &["AT", "x"]),
            ("{ SLOT(n) = 3; }", "#define SLOT(i) (p[i])", &["SLOT", "n", "p"]),
            ("{ f(n, ALL); }", "#define ALL p, row", &["ALL", "p", "row"]),
            ("{ for (int i = 0; i < LENGTH; i++) { a[i] = 0; } }", "#define LENGTH (n + m)", &["LENGTH", "m", "n"]),
            ("{ x = OUTER + 1; }", "#define OUTER (INNER * 2)\n#define INNER (n)", &["OUTER", "n"]),
        ] {
            let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
            assert_eq!(matter(body, macros), Some(expected), "{body} {macros}");
        }
    }

    #[test]
    fn operands_that_are_more_end_all_edits() {
        for (body, macros) in [
            ("{ x = a[1] * SUM; }", "#define SUM n + m"),
            ("{ x = 2 * NEXT; }", "#define NEXT (n++)"),
            ("{ x = 2 * DEAL; }", "#define DEAL next(p)"),
            ("{ x = NEIGHBOUR(n); }", "#define NEIGHBOUR(v) __shfl_sync(mask, v, 1)"),
            ("{ x = 2 * MEET(n); }", "#define MEET(v) (__syncthreads_or(v))"),
            ("{ STEP; }", "#define STEP n + 1"),
            // A name that is a variable, too.
            ("{ int len = 3; x = len;\n#define len (n * m)\nx = 2 * len; }", ""),
            ("{ x = n;\n#define n (p[0])\nx = 2 * n; }", ""),
        ] {
            assert_eq!(matter(body, macros), None, "{body} {macros}");
        }
    }

    #[test]
    fn types_have_other_names() {
        let is_seen = |kernel: &str, macros: &str| {
            let text = format!("{macros}\n{kernel}\n");
            let compiled = compiled_string(&text, &[], &|_| true);
            let start = macros.len() + 1;
            compiled.hidden_statements(&text, &(start..text.len() - 1)).is_some_and(|hidden| hidden.is_empty())
        };
        let parameter = "__global__ void k(const Images images, int n) { int a[4]; a[n] = 1; }";
        assert!(is_seen(parameter, "#define Images cudaTextureObject_t"));
        assert!(is_seen(parameter, "struct Camera { int n; };\n#define Images Camera"));
        assert!(is_seen("void f(const REAL4 *__restrict__ p, REAL4 &q) { p = 0; }", "#define REAL4 float4"));
        assert!(is_seen("void f(int n) { REAL4 v = 0; const REAL4 w = v; REAL4 x[2]; }", "#define REAL4 float4"));
        for (kernel, macros) in [
            // A type of the user's may be a reference.
            ("void f(Images images, int n) { n = 1; }", "typedef int &Camera;\n#define Images Camera"),
            ("void f(int n) { Images i = n; }", "typedef int &Camera;\n#define Images Camera"),
            // Not the only meaning, or no type.
            (parameter, "struct Images { int n; };\n#define Images Camera"),
            ("void f(int n) { REAL4 v = 0; }", "typedef int &float4;\n#define REAL4 float4"),
            ("void f(int n) { float3 v = n; }", "#define float3 float4"),
            ("void f(int n) { uint8_t v = n; }", "#define uint8_t uint4"),
            ("void f(int n) { REAL v = n; }", "#define REAL static float4"),
            ("void f(int n) { LEAVE n; }", "#define LEAVE return"),
            ("void f(int n) { REAL4 * v; }", "#define REAL4 float4"),
            ("void f(int n) { g(REAL4 v); }", "#define REAL4 float4 &"),
            ("void f(int n) { REAL4 v(n); }", "#define REAL4 float4"),
        ] {
            assert!(!is_seen(kernel, macros), "{kernel} {macros}");
        }
    }

    #[test]
    fn what_ends_all_edits_is_found() {
        let text = "#define A (n + m)\n#define B n + m\nvoid f(int n) { x = 2 * A; x = 2 * B; }\n";
        let compiled = compiled_string(text, &[], &|_| true);
        let found = compiled.obstacle(text, &(text.find("(int n)").unwrap()..text.len() - 1)).unwrap();
        assert_eq!((found.start, &text[found]), (text.find("B; }").unwrap(), "B"));
    }

    #[test]
    fn kernels_may_be_left_beside_other_statements() {
        for (body, macros, expected) in [
            ("{ LEAVE(); }", "#define LEAVE() if (h) return", Some(&[true][..])),
            ("{ LEAVE(n); }", "#define LEAVE(n) const int i = n; if (i >= n) { return; }", Some(&[true])),
            ("{ CHECK(n); }", "#define CHECK(c) ((c) ? (void)0 : __assert_fail(\"c\"))", Some(&[false])),
            ("{ CHECK(n); }", "#define CHECK(c) do { if (!(c)) __trap(); } while (0)", Some(&[false])),
            ("{ if (c) { LEAVE(); } }", "#define LEAVE() if (h) return", None),
            ("{ for (;;) { LEAVE(); } }", "#define LEAVE() if (h) return", None),
            ("{ auto f = [&]() { LEAVE(); }; }", "#define LEAVE() return", None),
            ("{ LEAVE() }", "#define LEAVE() if (h) return", None),
        ] {
            let text = format!("{macros}\nvoid f() {body}\n");
            let compiled = compiled_string(&text, &[], &|_| true);
            let start = text.find("void f").unwrap() + "void f".len();
            let found = compiled.hidden_statements(&text, &(start..text.len() - 1));
            let found = found.map(|found| found.iter().map(|hidden| hidden.leaves).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expected, "{body} {macros}");
        }
    }

    #[test]
    fn heads_of_blocks_are_hidden() {
        let each = "#define EACH(i, n) for (int i = 0; i < (n); i++)";
        assert_eq!(hidden("{ EACH(k, m) { a[k] = 1; } }", each).map(|found| found.len()), Some(1));
        for body in [
            "{ EACH(k, m) a[k] = 1; }",
            "{ for (;;) { EACH(k, m) { a[k] = 1; } } }",
            "{ if (c) EACH(k, m) { a[k] = 1; } }",
            "{ S s = { EACH(k, m) { } }; }",
        ] {
            assert_eq!(hidden(body, each), None, "{body}");
        }
        assert_eq!(hidden("{ EACH(k) { a[k] = 1; } }", "#define EACH(i) for (int i = 0; p[i]; i++)"), None);
    }

    /// The number of hidden places in a function whose lines with a bar are skipped.
    fn with_skipped(body: &str) -> Option<usize> {
        let (text, compiled) = CompiledText::example_with_skipped(&format!("void f() {body}\n"));
        compiled.hidden_statements(&text, &(text.find("() {").unwrap()..text.len() - 1)).map(|found| found.len())
    }

    #[test]
    fn skipped_statements_are_hidden() {
        for (body, expected) in [
            ("{\n#if A\n| g(1);\n#endif\nh(2); }", Some(1)),
            ("{\n#if A\n| for (;;) {\n|  g(1);\n| }\n\n| // why\n| g(2);\n#else\nh(2);\n#endif\n}", Some(1)),
            ("{\n#if A\n| g(1);\n#elif B\n| g(2);\n#endif\nh(2); }", Some(2)),
            ("{\n#if A\n| if (c) return;\n#endif\nh(2); }", Some(1)),
            // Parts of statements, and what jumps within others.
            ("{\n#if A\n| if (c)\n#endif\nh(2); }", None),
            ("{\n#if A\n| for (;;) {\n#else\nwhile (c) {\n#endif\nh(2); } }", None),
            ("{ if (c)\n#if A\n| g(1);\n#else\ng(2);\n#endif\nh(2); }", None),
            ("{ if (c) {\n#if A\n| return;\n#endif\nh(2); } }", None),
            ("{ int a[] = {\n#if A\n| {1, 2}\n#else\n{3, 4}\n#endif\n}; }", None),
            ("{ h(1\n#if A\n|, 2\n#endif\n); }", None),
            ("{\n#if A\n| __syncthreads();\n#endif\nh(2); }", None),
            ("{ for (;;) {\n#if A\n| if (c) break;\n#endif\nh(2); } }", None),
        ] {
            assert_eq!(with_skipped(body), expected, "{body}");
        }
    }

    #[test]
    fn what_reaches_beyond_the_statement_is_not_known() {
        for macros in [
            "#define STEP() if (h) break",
            "#define STEP() h++; }",
            "#define STEP() { h++",
            "#define STEP() for (int k = 0; k < 4; k++)",
            "#define STEP() if (h)",
            "#define STEP() h = 1; if (h)",
            "#define STEP() h = 1 +",
            "#define STEP() else h = 1",
            "#define STEP() h = 1; __syncthreads()",
            "#define STEP() asm volatile(\"bar.sync 0;\")",
            "#define STEP() h = 1; exit()",
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
