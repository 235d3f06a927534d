//! The compiled form of a kernel string, as far as its own directives and options determine it: NVRTC gives no
//! preprocessed text.
//!
//! Macros that the string or its options define are expanded. Text under a condition is unknown, whichever branch is
//! compiled, and so is a name that a condition defines. An include of a header outside the toolkit may define any name;
//! then the whole text is unknown.

use std::collections::HashMap;
use std::ops::Range;

use super::align::directive_name;
use super::{CompiledText, Difference};
use crate::as_compiled::tokens::{Token, TokenKind, tokens};

/// Limit on the tokens that one macro expands to, nested macros included.
const MAX_TOKENS: usize = 4096;

/// Marks unknown text; it is not a token of C++.
const UNKNOWN: &str = "\u{1a}";

/// Toolkit macros that look like functions or variables.
const HEADER_MACROS: [&str; 4] = ["assert", "offsetof", "va_arg", "errno"];

/// A macro definition in effect.
#[derive(Debug, Clone)]
enum Macro<'t> {
    Object(Vec<&'t str>),
    Function(Vec<&'t str>, Vec<&'t str>),
    /// Defined under a condition, or in a form that is not expanded here.
    Unknown,
}

type Macros<'t> = HashMap<&'t str, Macro<'t>>;

/// The compiled form of a string for options such as `-DN=4`. `is_toolkit` tells whether the operand of an `#include`
/// is a toolkit header.
pub fn compiled_string(text: &str, arguments: &[String], is_toolkit: &dyn Fn(&str) -> bool) -> CompiledText {
    let Some(mut macros) = of_arguments(arguments) else { return CompiledText::Unknown };
    let all = tokens(text);
    let words: Vec<&str> = all.iter().map(|token| &text[token.range.clone()]).collect();
    let mut found: Vec<Difference> = Vec::new();
    let mut has_headers = false;
    // Token index of the outermost open condition, and the nesting depth.
    let mut condition: Option<(usize, usize)> = None;
    let mut at = 0;
    while let Some(token) = all.get(at) {
        if token.kind == TokenKind::Directive {
            let directive = words[at];
            match directive_name(directive) {
                "if" | "ifdef" | "ifndef" => {
                    let (start, depth) = condition.unwrap_or((at, 0));
                    condition = Some((start, depth + 1));
                }
                "endif" => {
                    condition = match condition {
                        Some((start, 1)) => {
                            found.extend(unknown(&all, start..at));
                            None
                        }
                        Some((start, depth)) => Some((start, depth - 1)),
                        None => return CompiledText::Unknown,
                    }
                }
                "define" => {
                    if let Some((name, definition)) = define(directive) {
                        let definition = if condition.is_some() { Macro::Unknown } else { definition };
                        macros.insert(name, definition);
                    }
                }
                "undef" => {
                    let name = directive.split_whitespace().next_back().unwrap_or("");
                    match condition {
                        Some(_) => _ = macros.insert(name, Macro::Unknown),
                        None => _ = macros.remove(name),
                    }
                }
                "include" => {
                    if !is_toolkit(directive) {
                        return CompiledText::Unknown;
                    }
                    has_headers = true;
                }
                "line" => return CompiledText::Unknown,
                name if name.starts_with(|c: char| c.is_ascii_digit()) => return CompiledText::Unknown,
                _ => {}
            }
            at += 1;
            continue;
        }
        if condition.is_some() || token.kind != TokenKind::Identifier {
            at += 1;
            continue;
        }
        let is_header_macro = has_headers && !macros.contains_key(words[at]) && may_be_of_header(words[at]);
        let expanded = match is_header_macro {
            true => Some((at + 1, vec![UNKNOWN])),
            false => StringExpansion { macros: &macros, open: Vec::new(), left: MAX_TOKENS }.expand(&words, at),
        };
        match expanded {
            Some((next, expanded)) => {
                let end = all[next - 1].range.end;
                // C++ leaves a directive inside macro arguments undefined.
                if all[at..next].iter().any(|token| token.kind == TokenKind::Directive) {
                    return CompiledText::Unknown;
                }
                found.push(Difference { start: token.range.start, end, compiled: expanded.join(" ") });
                at = next;
            }
            None => at += 1,
        }
    }
    match condition {
        Some(_) => CompiledText::Unknown,
        None => CompiledText::Known(found),
    }
}

/// Macros from `-DN=4`, `-D N`, `--define-macro=N=4`; `None` if an option includes a header or undefines a macro.
fn of_arguments(arguments: &[String]) -> Option<Macros<'_>> {
    let mut macros = Macros::new();
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        let of = |names: &[&str]| names.iter().find_map(|name| argument.strip_prefix(name));
        if of(&["-include", "--pre-include", "-U", "--undefine-macro"]).is_some() {
            return None;
        }
        let Some(definition) = of(&["-D", "--define-macro="]).or_else(|| of(&["--define-macro"])) else { continue };
        let definition = match definition.trim() {
            "" => arguments.next()?.trim(),
            definition => definition,
        };
        let (name, value) = definition.split_once('=').unwrap_or((definition, "1"));
        let is_object = !name.is_empty() && name.bytes().all(crate::as_compiled::tokens::is_word);
        let body = tokens(value).into_iter().map(|token| &value[token.range]).collect();
        let name = name.split('(').next().unwrap_or(name);
        macros.insert(name, if is_object { Macro::Object(body) } else { Macro::Unknown });
    }
    Some(macros)
}

/// The name and definition of a `#define`.
fn define(directive: &str) -> Option<(&str, Macro<'_>)> {
    let start = directive.find("define")? + "define".len();
    let body = &directive[start..];
    let all: Vec<Token> = tokens(body);
    let words: Vec<&str> = all.iter().map(|token| &body[token.range.clone()]).collect();
    let name = *words.first()?;
    let is_pasting = words.iter().any(|word| matches!(*word, "#" | "##" | "__VA_ARGS__" | "..."));
    let is_function = words.get(1) == Some(&"(") && all[1].range.start == all[0].range.end;
    if is_pasting {
        return Some((name, Macro::Unknown));
    }
    if !is_function {
        return Some((name, Macro::Object(words[1..].to_vec())));
    }
    let close = 2 + words.get(2..)?.iter().position(|word| *word == ")")?;
    let parameters = words[2..close].iter().copied().filter(|word| *word != ",").collect();
    Some((name, Macro::Function(parameters, words[close + 1..].to_vec())))
}

/// Whether a header may define the name as a macro: headers write constants and types in capitals, with a few
/// exceptions.
fn may_be_of_header(name: &str) -> bool {
    let is_upper = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    (is_upper && name.len() > 1) || HEADER_MACROS.contains(&name)
}

/// Marks the code between two tokens as unknown; directives are left out.
fn unknown(all: &[Token], range: Range<usize>) -> Option<Difference> {
    let mut code = all[range].iter().filter(|token| token.kind != TokenKind::Directive);
    let first = code.next()?;
    let end = code.next_back().unwrap_or(first).range.end;
    Some(Difference { start: first.range.start, end, compiled: UNKNOWN.to_string() })
}

/// The state of one macro expansion.
struct StringExpansion<'m, 't> {
    macros: &'m Macros<'t>,
    /// Macros being expanded, which are not expanded recursively.
    open: Vec<&'t str>,
    /// Remaining limit on tokens: nested macros grow exponentially.
    left: usize,
}

impl<'t> StringExpansion<'_, 't> {
    /// Expands the token at an index; returns the index after it and its arguments. `None` if it is not a macro.
    fn expand(&mut self, words: &[&'t str], at: usize) -> Option<(usize, Vec<&'t str>)> {
        let name = *words.get(at)?;
        if self.open.contains(&name) {
            return None;
        }
        let (next, body) = match self.macros.get(name)? {
            Macro::Unknown => return Some((at + 1, vec![UNKNOWN])),
            Macro::Object(body) => (at + 1, body.clone()),
            Macro::Function(..) if words.get(at + 1) != Some(&"(") => return None,
            Macro::Function(parameters, body) => {
                let (next, arguments) = arguments(words, at + 1)?;
                let is_fit = arguments.len() == parameters.len()
                    || (parameters.is_empty() && matches!(&arguments[..], [only] if only.is_empty()));
                if !is_fit {
                    return Some((next, vec![UNKNOWN]));
                }
                // Arguments are expanded before substitution.
                let arguments: Vec<Vec<&str>> = arguments.into_iter().map(|it| self.all(&it)).collect();
                let place = |word: &&'t str| parameters.iter().position(|parameter| parameter == word);
                let replaced = body.iter().flat_map(|word| match place(word) {
                    Some(index) => arguments[index].clone(),
                    None => vec![*word],
                });
                (next, replaced.take(MAX_TOKENS + 1).collect())
            }
        };
        self.open.push(name);
        let expanded = self.all(&body);
        self.open.pop();
        Some((next, expanded))
    }

    fn all(&mut self, words: &[&'t str]) -> Vec<&'t str> {
        let mut expanded = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let Some(left) = self.left.checked_sub(1) else { return vec![UNKNOWN] };
            self.left = left;
            match self.expand(words, at) {
                Some((next, body)) => {
                    expanded.extend(body);
                    at = next;
                }
                None => {
                    expanded.push(words[at]);
                    at += 1;
                }
            }
        }
        expanded
    }
}

/// The arguments in the parentheses that open at an index, and the index after them.
fn arguments<'t>(words: &[&'t str], open: usize) -> Option<(usize, Vec<Vec<&'t str>>)> {
    let mut all = vec![Vec::new()];
    let mut depth = 0usize;
    for (at, word) in words.iter().enumerate().skip(open) {
        match *word {
            "(" if depth == 0 => {
                depth = 1;
                continue;
            }
            "(" => depth += 1,
            ")" if depth == 1 => return Some((at + 1, all)),
            ")" => depth -= 1,
            "," if depth == 1 => {
                all.push(Vec::new());
                continue;
            }
            _ => {}
        }
        all.last_mut()?.push(word);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, arguments: &[&str]) -> Option<Vec<String>> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        match compiled_string(text, &arguments, &|include| include.contains('<')) {
            CompiledText::Unknown => None,
            CompiledText::Known(all) => {
                Some(all.iter().map(|it| format!("{}→{}", &text[it.start..it.end], it.compiled)).collect())
            }
        }
    }

    #[test]
    fn macros_are_expanded() {
        for (text, expected) in [
            ("#define N 4\nint a[N];", &["N→4"][..]),
            ("#define N (M * 2)\n#define M 3\nint a[N];", &["N→( 3 * 2 )"]),
            ("int a[N];\n#define N 4\nint b[N];\n#undef N\nint c[N];", &["N→4"]),
            ("#define N 4\nN\n#undef N\n#define N 5\nN", &["N→4", "N→5"]),
            ("#define F(a, b) a + (b)\nF(1, (2, 3)) F", &["F(1, (2, 3))→1 + ( ( 2 , 3 ) )"]),
            ("#define stop_if(c) if (c) break\nstop_if(x > 2);", &["stop_if(x > 2)→if ( x > 2 ) break"]),
            ("#define x x + 1\nx", &["x→x + 1"]),
            ("#define S(x) #x\nS(a) b", &["S→\u{1a}"]),
            ("#include <limits.h>\nint n = INT_MAX; assert(n); f(n);", &["INT_MAX→\u{1a}", "assert→\u{1a}"]),
        ] {
            assert_eq!(found(text, &[]).unwrap(), expected, "{text}");
        }
        assert_eq!(found("int a[N], b[M];", &["-DN=7", "--define-macro", "M=2"]).unwrap(), ["N→7", "M→2"]);
    }

    #[test]
    fn conditions_leave_nothing_known() {
        let text = "#ifndef N\n#define N 4\n#endif\nint a[N];\n#if N > 2\na;\n#if 1\nb;\n#endif\n#else\nc;\n#endif\nd;";
        assert_eq!(found(text, &[]).unwrap(), ["N→\u{1a}", "a;\n#if 1\nb;\n#endif\n#else\nc;→\u{1a}"]);
        for text in ["#if 1\na;", "#include \"a.h\"\na;", "#line 3\na;", "#endif\n"] {
            assert_eq!(found(text, &[]), None, "{text}");
        }
        assert_eq!(found("a;", &["--pre-include=x.h"]), None);
    }

    #[test]
    fn circles_and_growth_end() {
        let mut text = "#define A0 x x\n".to_string();
        (1..40).for_each(|n| text.push_str(&format!("#define A{n} A{} A{}\n", n - 1, n - 1)));
        text.push_str("A39 B(");
        assert_eq!(found(&text, &[]).unwrap().len(), 1);
        assert_eq!(found("#define A B\n#define B A\nA", &[]).unwrap(), ["A→A"]);
    }
}
