//! Calls of functions, methods and macros, and structure expressions.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::scanner::Scanner;
use super::tokens::{MAX_STATEMENT, after_angles, ident, is_mark, is_mark_pair};
use super::{Call, MacroCall, Structure};

/// Words before `Name { … }` that show it is not a structure expression.
const NOT_BEFORE_STRUCTURES: [&str; 13] =
    ["struct", "enum", "union", "trait", "impl", "for", "mod", "dyn", "where", "in", "match", "if", "while"];

/// Words that end the receiver of a method call, scanning backwards.
const NOT_IN_RECEIVERS: [&str; 14] =
    ["return", "let", "if", "else", "match", "in", "move", "mut", "break", "while", "unsafe", "as", "ref", "loop"];

impl Scanner {
    /// Records a word that may name a macro, structure, function or method.
    pub(super) fn call(&mut self, word: &str, tokens: &[TokenTree], index: usize) {
        if is_mark(tokens, index + 1, '!')
            && let Some(TokenTree::Group(group)) = tokens.get(index + 2)
        {
            let range = self.place(tokens[index].span()).start..self.place(group.span()).end;
            let (name, path) = (word.to_string(), path_before(word, tokens, index));
            self.found.macros.push(MacroCall { name, path, arguments: group.stream(), range });
        }
        let arguments = match is_mark_pair(tokens, index + 1, ':') && is_mark(tokens, index + 3, '<') {
            true => after_angles(tokens, index + 3),
            false => index + 1,
        };
        let Some(TokenTree::Group(group)) = tokens.get(arguments) else { return };
        let range = self.place(tokens[index].span()).start..self.place(group.span()).end;
        let is_method = index > 0 && is_mark(tokens, index - 1, '.');
        match group.delimiter() {
            Delimiter::Brace if !is_method && makes_structure(word, tokens, index) => {
                let (name, at, members) = (word.to_string(), range.start, group.stream());
                self.found.structures.push(Structure { name, at, members });
            }
            Delimiter::Parenthesis => {
                let (path, receiver) = match is_method {
                    true => (vec![word.to_string()], self.receiver(&tokens[..index - 1])),
                    false => (path_before(word, tokens, index), TokenStream::new()),
                };
                self.found.calls.push(Call { path, is_method, receiver, arguments: group.stream(), range });
            }
            _ => {}
        }
    }

    /// The receiver of a method call, as long as there is room: each call of a chain has all that is before it.
    fn receiver(&mut self, before: &[TokenTree]) -> TokenStream {
        let tokens = &before[receiver_start(before)..];
        match self.left_for_receivers.checked_sub(tokens.len()) {
            Some(left) => {
                self.left_for_receivers = left;
                tokens.iter().cloned().collect()
            }
            None => {
                self.leave_out(tokens[0].span());
                TokenStream::new()
            }
        }
    }
}

/// Whether braces after a name are the members of a structure expression.
fn makes_structure(word: &str, tokens: &[TokenTree], index: usize) -> bool {
    let is_expression = match index.checked_sub(1).and_then(|previous| tokens.get(previous)) {
        Some(TokenTree::Ident(before)) => !NOT_BEFORE_STRUCTURES.iter().any(|word| before == word),
        Some(TokenTree::Punct(mark)) => !matches!(mark.as_char(), '>' | '+' | '!'),
        _ => true,
    };
    is_expression && word.starts_with(char::is_uppercase)
}

/// A name with its path: `a::b::name`.
pub(crate) fn path_before(word: &str, tokens: &[TokenTree], index: usize) -> Vec<String> {
    let mut path = vec![word.to_string()];
    let mut at = index;
    while at >= 3 && is_mark_pair(tokens, at - 2, ':') {
        let Some(name) = ident(tokens, at - 3) else { break };
        path.insert(0, name);
        at -= 3;
    }
    path
}

/// Where the receiver of a method call starts: the chain of names, calls, indices and members before it.
fn receiver_start(before: &[TokenTree]) -> usize {
    let from = before.len().saturating_sub(MAX_STATEMENT);
    let is_part = |at: usize| match &before[at] {
        TokenTree::Group(group) => {
            group.delimiter() != Delimiter::Brace || (at > 0 && matches!(&before[at - 1], TokenTree::Ident(_)))
        }
        TokenTree::Ident(word) => !NOT_IN_RECEIVERS.iter().any(|other| word == other),
        TokenTree::Literal(_) => true,
        TokenTree::Punct(mark) => matches!(mark.as_char(), '.' | '?' | ':' | '!'),
    };
    // Two adjacent operands belong to two statements, or an operator between them was skipped.
    let ends = |at: usize| {
        let is_operand = |at: usize| matches!(&before[at], TokenTree::Ident(_) | TokenTree::Literal(_));
        at + 1 < before.len() && is_operand(at) && is_operand(at + 1)
    };
    let mut start = before.len();
    while start > from && is_part(start - 1) && !ends(start - 1) {
        start -= 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::super::tests::scan;

    #[test]
    fn calls_have_their_whole_path() {
        let file = scan("fn f(a: u8) { a::b::<u8, C>(1)?; x.c(2); ::d::e(3); vec![g(4)]; }");
        let paths: Vec<String> = file.calls.iter().map(|call| call.path.join("::")).collect();
        assert_eq!(paths, ["a::b", "c", "d::e", "g"]);
        assert_eq!(file.calls[0].arguments.to_string(), "1");
        let receiver = |text: &str| scan(text).calls.iter().find(|call| call.is_method).unwrap().receiver.to_string();
        assert_eq!(receiver("fn f() { let a = x.y(1)?.z[0].c(2); }"), "x");
        assert_eq!(receiver("fn f() { g(); return a::b.c(2) }"), "a :: b");
    }

    #[test]
    fn long_chains_take_memory_as_their_text_does() {
        let file = |count: usize| scan(&format!("fn f() {{ a{}; }}", ".replace(b, c)".repeat(count)));
        let kept =
            |count: usize| file(count).calls.iter().map(|it| it.receiver.clone().into_iter().count()).sum::<usize>();
        assert!(file(40).too_deep.is_none() && kept(40) > 2_000);
        assert!(file(20_000).too_deep.is_some() && kept(20_000) < 5 * 20_000 * ".replace(b, c)".len());
    }

    #[test]
    fn structures_are_told_from_types_and_blocks() {
        let text = "struct A { a: u8 } impl A { fn f() -> Self { Self { a: 1 } } } fn g() -> A { if x == B {} h(A { a }) } impl T for A {}";
        let names: Vec<String> = scan(text).structures.iter().map(|structure| structure.name.clone()).collect();
        assert_eq!(names, ["Self", "B", "A"]);
    }
}
