//! Expressions that macros hide: `SCALE` may stand for `(4.0f / ONE_PI)`, `AT(i, j)` for `((j) * width + (i))`.
//!
//! Whoever reads the text takes `SCALE` for a variable and `AT(i, j)` for a call. Both are right where what was compiled is
//! an expression that has no effects of its own, and stands as one operand among its neighbours: `2 * SUM` with `a + b` for
//! `SUM` is no product of `SUM`.

use super::expansion::is_toolkit_function;
use super::tokens::{Token, TokenKind, is_word, tokens};

/// What a reader of the text must know of an expression in place of a macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    /// A value: whatever it names is read, and nothing else. So are the arguments that the text shows.
    Value,
    /// It may be written, or a function may be given a reference to it.
    Place,
}

/// How strongly the parts of an expression hold together; those of a call or in parentheses most.
const PRIMARY: u8 = 13;
const UNARY: u8 = 12;
const CONDITION: u8 = 1;
const CHOICE: u8 = 0;

/// Words that leave a statement, or have a meaning only beside another.
pub(super) const JUMPS: [&str; 13] = [
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

/// Further words that no expression has, or one with effects.
const KEYWORDS: [&str; 11] =
    ["alignas", "asm", "const_cast", "delete", "do", "for", "if", "new", "switch", "using", "while"];

/// Words before an expression that begin a statement or leave one.
const LEADS: [&str; 3] = ["return", "else", "do"];
/// Words before the parentheses of a statement.
const STATEMENTS: [&str; 4] = ["if", "for", "while", "switch"];

const TYPES: [&str; 11] =
    ["bool", "char", "double", "float", "int", "long", "short", "signed", "size_t", "unsigned", "const"];

pub(super) const WRITES: [&str; 13] = ["=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];

/// Classifies an invocation among the words before and behind it; `None` for anything but one operand. `is_own` says whether
/// the user declares a name: a function of that name may do anything, whatever CUDA's does.
pub(super) fn operand(
    own: &str,
    compiled: &str,
    (before, behind): (&[&str], &[&str]),
    is_own: &dyn Fn(&str) -> bool,
) -> Option<Operand> {
    let is_call = own.ends_with(')');
    let code = Code::of(compiled, is_own)?;
    (is_call || code.calls_are_known).then_some(())?;
    let is_argument = |word: Option<&&str>| word.is_some_and(|word| matches!(*word, "," | "(" | ")"));
    if code.is_list {
        let is_among = !is_call && is_argument(before.last()) && is_argument(behind.first()) && is_in_call(before);
        return (is_among && code.calls_are_known).then_some(Operand::Place);
    }
    let holds = code.least >= needed_behind(behind)?
        && match needed_before(before, &code)? {
            Left::AtLeast(needed) => code.least >= needed,
            Left::Above(operator) => code.least > operator,
        };
    holds.then(|| if is_value(&code, before, behind) { Operand::Value } else { Operand::Place })
}

/// The functions that code calls, and the words that look like calls.
pub(super) fn called(compiled: &str) -> Vec<&str> {
    let all = tokens(compiled);
    let words: Vec<&str> = all.iter().map(|token| &compiled[token.range.clone()]).collect();
    let is_call = |at: usize| match words.get(at + 1) {
        Some(&"(") => true,
        // `first<int>(x)`
        Some(&"<") => words[at + 1..].windows(2).any(|pair| pair == [">", "("]),
        _ => false,
    };
    let is_called = |at: &usize| is_name(words[*at]) && !words[*at].ends_with("_cast") && is_call(*at);
    let is_function = |word: &&str| !TYPES.contains(word) && !STATEMENTS.contains(word) && *word != "sizeof";
    (0..words.len()).filter(is_called).map(|at| words[at]).filter(is_function).collect()
}

/// An expression without effects of its own, but for those of the functions that it calls.
struct Code {
    /// How strongly its outermost parts hold together.
    least: u8,
    /// Several, separated by commas.
    is_list: bool,
    /// It calls no functions but those of the toolkit that compute a value.
    calls_are_known: bool,
    /// It begins with what may be an operator of two operands, or the arguments of a call.
    is_open: bool,
    /// The result of an operator, which has no place in memory.
    is_computed: bool,
}

impl Code {
    fn of(compiled: &str, is_own: &dyn Fn(&str) -> bool) -> Option<Self> {
        let all = tokens(compiled);
        let words: Vec<&str> = all.iter().map(|token| &compiled[token.range.clone()]).collect();
        let (first, last) = (*words.first()?, *words.last()?);
        let is_fit = all.iter().zip(&words).all(|(token, word)| is_fit(token, word));
        let begins = is_operand_start(first) || matches!(first, "-" | "+" | "~" | "!" | "*" | "&");
        (is_fit && begins && ends_operand(last)).then_some(())?;
        let (mut open, mut least, mut is_list, mut at) = (Vec::new(), PRIMARY, false, 0);
        while at < words.len() {
            let (word, before) = (words[at], at.checked_sub(1).map(|before| words[before]));
            let is_behind_operand = before.is_some_and(ends_operand);
            match word {
                "(" | "[" => open.push(word),
                ")" => (open.pop()? == "(").then_some(())?,
                "]" => (open.pop()? == "[").then_some(())?,
                // `static_cast<float>(x)` is one operand.
                _ if word.ends_with("_cast") => at = closing(&words, at + 1)?,
                _ => {
                    let strength = match strength(word) {
                        Some(strength) if is_behind_operand => Some(strength),
                        // A sign, or the operand of a cast.
                        Some(_) => matches!(word, "-" | "+" | "*" | "&").then_some(UNARY).map(Some)?,
                        None if matches!(word, "!" | "~" | "sizeof") => Some(UNARY),
                        None if is_operand_start(word) && is_behind_operand => {
                            let is_type = |word: &str| TYPES.contains(&word);
                            let is_joined = before == Some(")") || (is_type(word) && before.is_some_and(is_type));
                            is_joined.then_some(Some(UNARY))?
                        }
                        None => None,
                    };
                    if open.is_empty() {
                        is_list |= word == ",";
                        least = least.min(strength.unwrap_or(PRIMARY));
                    }
                }
            }
            at += 1;
        }
        open.is_empty().then_some(())?;
        Some(Self {
            least,
            is_list,
            calls_are_known: called(compiled).into_iter().all(|name| is_toolkit_function(name) && !is_own(name)),
            is_open: matches!(first, "-" | "+" | "*" | "&" | "("),
            is_computed: is_computed(&words, least, is_own),
        })
    }
}

/// Whether an expression is the result of an operator, perhaps in parentheses.
fn is_computed(words: &[&str], least: u8, is_own: &dyn Fn(&str) -> bool) -> bool {
    if (CONDITION..UNARY).contains(&least) {
        return true;
    }
    match words {
        ["(", inner @ .., ")"] if closing(words, 0) == Some(words.len() - 1) => {
            Code::of(&inner.join(" "), is_own).is_some_and(|inner| !inner.is_list && inner.is_computed)
        }
        _ => false,
    }
}

fn is_fit(token: &Token, word: &str) -> bool {
    match token.kind {
        TokenKind::Number | TokenKind::Literal => true,
        TokenKind::Identifier => !KEYWORDS.contains(&word) && !JUMPS.contains(&word),
        TokenKind::Punctuation => {
            strength(word).is_some() || matches!(word, "(" | ")" | "[" | "]" | "!" | "~" | "." | "->" | "::")
        }
        TokenKind::Directive => false,
    }
}

/// How strongly an operator of two operands binds.
fn strength(word: &str) -> Option<u8> {
    Some(match word {
        "*" | "/" | "%" => 11,
        "+" | "-" => 10,
        "<<" | ">>" => 9,
        "<" | ">" | "<=" | ">=" => 7,
        "==" | "!=" => 6,
        "&" => 5,
        "^" => 4,
        "|" => 3,
        "&&" => 2,
        "||" => CONDITION,
        "?" | ":" | "," => CHOICE,
        _ => return None,
    })
}

fn is_name(word: &str) -> bool {
    word.bytes().next().is_some_and(|byte| is_word(byte) && !byte.is_ascii_digit())
}

fn is_operand_start(word: &str) -> bool {
    let is_fraction = word.len() > 1 && word.starts_with('.');
    matches!(word, "(" | "::")
        || is_fraction
        || word.starts_with(['"', '\''])
        || word.bytes().next().is_some_and(is_word)
}

fn ends_operand(word: &str) -> bool {
    let is_end = matches!(word, ")" | "]") || word.ends_with(['"', '\'']) || word.bytes().last().is_some_and(is_word);
    (is_end || (word.len() > 1 && word.ends_with('.'))) && word != "sizeof"
}

/// The index of the bracket that closes the one at an index.
pub(super) fn closing(words: &[&str], open: usize) -> Option<usize> {
    let is_template = words.get(open) == Some(&"<");
    let mut depth = 0usize;
    for (at, word) in words.iter().enumerate().skip(open) {
        match *word {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.checked_sub(1)?,
            "<" if is_template => depth += 1,
            ">" if is_template => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The index of the parenthesis that the last word closes.
fn opening(words: &[&str]) -> Option<usize> {
    let mut depth = 0i64;
    (0..words.len()).rev().find(|at| {
        depth += i64::from(words[*at] == ")") - i64::from(words[*at] == "(");
        depth == 0
    })
}

/// What an expression must hold together against the word before it.
enum Left {
    AtLeast(u8),
    /// More than an operator, whose right operand it is.
    Above(u8),
}

fn needed_before(before: &[&str], code: &Code) -> Option<Left> {
    let Some((last, rest)) = before.split_last() else { return Some(Left::AtLeast(CHOICE)) };
    match *last {
        "(" | "[" | "{" | "}" | ";" | "," | "?" | ":" => Some(Left::AtLeast(CHOICE)),
        word if LEADS.contains(&word) => Some(Left::AtLeast(CHOICE)),
        "++" | "--" | "!" | "~" => Some(Left::AtLeast(UNARY)),
        word if WRITES.contains(&word) => Some(Left::AtLeast(CHOICE)),
        ")" => {
            let open = opening(before)?;
            let is_statement = open.checked_sub(1).is_some_and(|at| STATEMENTS.contains(&before[at]));
            let is_cast = || before[open + 1..before.len() - 1].iter().all(|word| TYPES.contains(word));
            match is_statement {
                true => Some(Left::AtLeast(CHOICE)),
                // `(x) SIGNED` may be a difference.
                false if is_cast() || !code.is_open => Some(Left::AtLeast(UNARY)),
                false => None,
            }
        }
        word => {
            let operator = strength(word)?;
            match rest.last().is_some_and(|word| ends_operand(word) && !LEADS.contains(word)) {
                true => Some(Left::Above(operator)),
                false => Some(Left::AtLeast(UNARY)),
            }
        }
    }
}

fn needed_behind(behind: &[&str]) -> Option<u8> {
    match *behind.first()? {
        ")" | "]" | "}" | "," | ";" | ":" => Some(CHOICE),
        "?" => Some(CONDITION),
        "[" | "." | "->" | "++" | "--" => Some(PRIMARY),
        word if WRITES.contains(&word) => Some(UNARY),
        word => strength(word),
    }
}

/// Whether parentheses that are open are those of a call.
fn is_in_call(before: &[&str]) -> bool {
    let mut depth = 0i64;
    let open = before.iter().rposition(|word| {
        depth += i64::from(matches!(*word, ")" | "]")) - i64::from(matches!(*word, "(" | "["));
        depth < 0
    });
    let called = open.filter(|open| before[*open] == "(").and_then(|open| open.checked_sub(1)).map(|at| before[at]);
    called.is_some_and(|word| {
        (is_name(word) || word == ">") && !STATEMENTS.contains(&word) && !LEADS.contains(&word) && word != "sizeof"
    })
}

/// Whether an expression is read where it stands, and nothing is given a reference to it.
fn is_value(code: &Code, before: &[&str], behind: &[&str]) -> bool {
    let (last, next) = (before.last().copied().unwrap_or(";"), behind.first().copied().unwrap_or(";"));
    let is_taken = matches!(last, "&" | "*" | "++" | "--")
        && !before[..before.len() - 1].last().is_some_and(|word| ends_operand(word));
    let is_written = is_written(behind);
    if is_taken || is_written || matches!(next, "[" | "." | "->") || matches!(last, "." | "->" | "::") {
        return false;
    }
    let is_operator = |word: &str| strength(word).is_some_and(|strength| strength >= CONDITION);
    let is_operand = is_operator(next) || next == "?" || is_operator(last) || matches!(last, "!" | "~");
    let is_index = last == "[" && next == "]";
    // `int &r = LEAST(a, b)` is a name for one of both.
    let is_assigned = WRITES.contains(&last)
        && matches!(next, ";" | "," | ")")
        && !matches!(before.iter().rev().nth(2), Some(&("&" | "&&")));
    let is_condition = last == "("
        && next == ")"
        && before.iter().rev().nth(1).is_some_and(|word| matches!(*word, "if" | "while" | "switch"));
    code.is_computed || is_operand || is_index || is_assigned || is_condition
}

/// Whether what the words follow is written: `= 3`, `[2] = 3`, `.x++`, `) = 3`.
fn is_written(behind: &[&str]) -> bool {
    let mut at = 0;
    while let Some(word) = behind.get(at) {
        match *word {
            ")" => at += 1,
            "[" => match closing(behind, at) {
                Some(close) => at = close + 1,
                None => return true,
            },
            "." | "->" => at += 2,
            word => return WRITES.contains(&word),
        }
    }
    false
}
#[cfg(test)]
mod tests {
    use super::*;

    /// The operand that a macro is in an expression: `2 * [F(x)] + y` becomes another text between the brackets.
    fn found(text: &str, compiled: &str) -> Option<Operand> {
        let (before, rest) = text.split_once('[').unwrap();
        let (own, behind) = rest.rsplit_once(']').unwrap();
        let words = |text: &'static str| tokens(text).into_iter().map(|token| &text[token.range]).collect::<Vec<_>>();
        let (before, behind) = (before.replace('{', "["), behind.replace('{', "[").replace('}', "]"));
        operand(own, compiled, (&words(before.leak()), &words(behind.leak())), &|name| name == "round")
    }

    #[test]
    fn one_value_among_others() {
        for (text, compiled) in [
            ("; x = [SCALE];", "( 4.0f / ONE_PI )"),
            ("; x = a * [SCALE];", "( 4.0f / ONE_PI )"),
            ("; x = a + [HALF];", "( int ) 30 / 2"),
            ("; x = a - [HALF] * b;", "30 / two"),
            ("; x = q{[AT(i, j)]};", "( ( j ) * width + ( i ) )"),
            ("; x = ([LENGTH] < 4);", "( ( int ) sizeof ( \"abc\" ) - 1 )"),
            ("if ([IS_LAST])", "( i == n - 1 )"),
            ("; x = - [MOST(a, b)];", "( ( a ) > ( b ) ? ( a ) : ( b ) )"),
            ("; f(x, [SCALE]);", "( 4.0f / ONE_PI )"),
            ("; x = (float) [COUNT] / 2;", "( n + 1 )"),
            ("; x = a ? [ONE] : 2;", "n + 1"),
            ("; x = 1.0f / [ROOT(x)];", "sqrtf ( sqrtf ( k / ( x ) ) )"),
            ("; x = [TO_FLOAT] * 2;", "static_cast < float > ( n )"),
            ("; x = a < [SIZE] ;", "sizeof ( float ) * n"),
        ] {
            assert_eq!(found(text, compiled), Some(Operand::Value), "{text} {compiled}");
        }
    }

    #[test]
    fn what_may_be_written_is_a_place() {
        for (text, compiled) in [
            ("; [SLOT(n)] = 3;", "( n )"),
            ("; ([SLOT(n)]) += 3;", "( n )"),
            ("; [ROW] {2} = 3;", "row"),
            ("; [HEAD].x++;", "( * head )"),
            ("; ++ [SLOT(n)];", "( n )"),
            ("; f(& [SLOT(n)]);", "( n )"),
            ("; f([SLOT(n)]);", "( n )"),
            ("; f([MOST(a, b)]);", "( ( a ) > ( b ) ? ( a ) : ( b ) )"),
            ("; int &r = [SLOT(n)];", "( n )"),
            ("; f(x, [ALL]);", "row , column , 3"),
            ("; x = * [AT(p, 2)];", "( p + 2 )"),
        ] {
            assert_eq!(found(text, compiled), Some(Operand::Place), "{text} {compiled}");
        }
    }

    #[test]
    fn what_is_no_operand_there() {
        for (text, compiled) in [
            // Other operators hold more, or as much.
            ("; x = a * [SUM];", "b + c"),
            ("; x = a - [SUM];", "b - c"),
            ("; x = [SUM] * a;", "b + c"),
            ("; x = [EITHER] ? 1 : 2;", "a ? b : c"),
            ("; x = - [HALF];", "30 / 2"),
            ("; x = ! [SAME];", "a == b"),
            ("; x = a && [EITHER];", "b || c"),
            ("; x = [SUM] {2};", "b + row"),
            ("; x = (f) [TERM];", "- 1"),
            ("; x = (f) [TERM];", "( 1 )"),
            ("; x = s . [MEMBER];", "k"),
            ("; x = a [PLUS_ONE];", "+ 1"),
            ("; x = [TWO_TERMS] ;", "a b"),
            ("; [REAL] v = 3;", "float4"),
            ("; x = \"a\" [TEXT];", "\"b\""),
            // Effects, control flow, and brackets that are not its own.
            ("; x = 2 * [NEXT];", "( n ++ )"),
            ("; x = 2 * [SET];", "( n = 3 )"),
            ("; x = 2 * [DEAL];", "next ( & seed )"),
            // A function of the user's that has the name of CUDA's.
            ("; x = 2 * [DEAL];", "round ( seed )"),
            ("; x = [ROOM];", "( __builtin_alloca ( 64 ) )"),
            ("; x = 2 * [DEAL];", "( first < int > ( seed ) )"),
            ("; x = [OPEN];", "( a"),
            ("; x = 2 * [CLOSE];", "a ) + ( b"),
            ("; x = [LAMBDA];", "[ & ] { return n ; } ( )"),
            ("; x = [FRESH];", "new int"),
            ("; x = [PAIR];", "a , b"),
            ("; if ([PAIR])", "a , b"),
            ("; x = f([PAIR] + 1);", "a , b"),
            ("; x = f([PAIR(a)], 1);", "a , b"),
            ("; f(x, [LAST]);", "row , next ( )"),
            ("; x = [UNKNOWN];", "\u{1a}"),
            ("; x = [NOTHING(a)];", ""),
        ] {
            assert_eq!(found(text, compiled), None, "{text} {compiled}");
        }
    }
}
