//! Variables of `let`, loops, closures and match arms: values and scopes.

use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::patterns::{names_in, parts_of};
use super::scanner::Scanner;
use super::tokens::{MAX_STATEMENT, assigned, ident, is_mark, is_mark_pair, next_brace, top_level};
use super::{Binding, Unknown, Value};

/// Limit on tokens of a pattern; real patterns are shorter.
const MAX_PATTERN: usize = 128;

impl Scanner {
    pub(super) fn variable(&mut self, tokens: &[TokenTree], index: usize, around: &Range<usize>) {
        let previous = index.checked_sub(1).and_then(|previous| tokens.get(previous));
        let is_condition = match previous {
            Some(TokenTree::Ident(word)) => word == "if" || word == "while",
            Some(TokenTree::Punct(mark)) => mark.as_char() == '&' || mark.as_char() == '|',
            _ => false,
        };
        if is_condition {
            let end = top_level(tokens, index + 1, '=').unwrap_or(tokens.len());
            let body = self.next_body(tokens, end);
            return self.bind_unknown(&tokens[index + 1..end], &body, &Unknown::Pattern);
        }
        let is_mutable = ident(tokens, index + 1).is_some_and(|word| word == "mut");
        let name_at = index + 1 + usize::from(is_mutable);
        let end = top_level(tokens, index, ';').unwrap_or(tokens.len());
        let visible = tokens.get(end).map_or(around.end, |token| self.place(token.span()).end)..around.end;
        let value = assigned(tokens, name_at + 1);
        let is_plain =
            is_mark(tokens, name_at + 1, ':') || is_mark(tokens, name_at + 1, '=') || is_mark(tokens, name_at + 1, ';');
        match ident(tokens, name_at).filter(|_| is_plain && !is_mark_pair(tokens, name_at + 1, ':')) {
            Some(name) => match value {
                Some((value, _)) if is_mutable => self.growing(name, value, tokens, end, visible),
                Some((value, _)) => self.bind(name, visible, Value::Expression(value), true),
                None => self.bind(name, visible, Value::Unknown(Unknown::Late), true),
            },
            None => {
                let pattern_end = top_level(tokens, index + 1, '=').unwrap_or(end).min(end);
                let pattern = &tokens[index + 1..pattern_end];
                self.bind_unknown(pattern, &visible, &Unknown::Pattern);
                if let Some((value, _)) = value.or_else(|| assigned(tokens, pattern_end)) {
                    self.bind_parts(pattern, &value, false, &visible, &Unknown::Pattern);
                }
            }
        }
    }

    pub(super) fn loop_variable(&mut self, tokens: &[TokenTree], index: usize) {
        let is_in = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "in");
        let rest = tokens.get(index + 1..).unwrap_or_default();
        // The `for` of `impl A for B { … }` and `for<'a>` has no `in`.
        let Some(length) = rest.iter().take(MAX_PATTERN).position(is_in) else { return };
        let is_pattern = |token: &TokenTree| !matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';');
        let Some(body) = next_brace(tokens, index + 2 + length).filter(|_| rest[..length].iter().all(is_pattern))
        else {
            return;
        };
        let visible = self.place(tokens[body].span());
        let pattern = &rest[..length];
        self.bind_unknown(pattern, &visible, &Unknown::LoopVariable);
        let of = tokens.get(index + 2 + length..body).unwrap_or_default().iter().cloned().collect();
        self.bind_parts(pattern, &of, true, &visible, &Unknown::LoopVariable);
    }

    pub(super) fn closure(&mut self, tokens: &[TokenTree], index: usize, around: &Range<usize>) {
        let Some(close) = (index + 1..tokens.len().min(index + MAX_PATTERN)).find(|at| is_mark(tokens, *at, '|'))
        else {
            return;
        };
        let visible = self.up_to_separator(tokens, close + 1, around);
        self.bind_unknown(&tokens[index + 1..close], &visible, &Unknown::ClosureParameter);
    }

    /// A match arm: names before `=>` are bound after it.
    pub(super) fn arm(&mut self, tokens: &[TokenTree], index: usize, around: &Range<usize>) {
        let ends_arm = |token: &TokenTree| match token {
            TokenTree::Punct(mark) => mark.as_char() == ',' || mark.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        let from = index.saturating_sub(MAX_PATTERN);
        let start = tokens[from..index].iter().rposition(ends_arm).map_or(from, |end| from + end + 1);
        let visible = self.up_to_separator(tokens, index + 2, around);
        self.bind_unknown(&tokens[start..index], &visible, &Unknown::Pattern);
    }

    pub(super) fn bind(&mut self, name: String, visible: Range<usize>, value: Value, is_local: bool) {
        let local_to = if is_local { self.function } else { None };
        let of_trait = self.owner.as_ref().and_then(|owner| owner.of_trait.clone());
        let is_final = self.owner.as_ref().is_none_or(|owner| !owner.is_trait);
        let is_associated = self.owner.is_some() && self.function.is_none();
        let container = self.container.clone();
        let binding = Binding { visible, container, of_trait, is_final, is_associated, value, local_to };
        self.found.bindings.entry(name).or_default().push(binding);
    }

    fn bind_unknown(&mut self, pattern: &[TokenTree], visible: &Range<usize>, why: &Unknown) {
        if pattern.len() > MAX_PATTERN {
            self.leave_out(pattern[0].span());
            return;
        }
        for name in names_in(pattern.iter().cloned().collect()) {
            self.bind(name, visible.clone(), Value::Unknown(why.clone()), true);
        }
    }

    /// Binds names of a pattern to the parts of a value.
    fn bind_parts(
        &mut self,
        pattern: &[TokenTree],
        of: &TokenStream,
        is_element: bool,
        visible: &Range<usize>,
        why: &Unknown,
    ) {
        for (name, members) in parts_of(pattern, 0) {
            let value = Value::Part { of: of.clone(), is_element, members, why: why.clone() };
            // Replaces the unknown value that the pattern alone gave.
            if let Some(bindings) = self.found.bindings.get_mut(&name) {
                bindings.retain(|binding| !(binding.visible == *visible && matches!(binding.value, Value::Unknown(_))));
            }
            self.bind(name, visible.clone(), value, true);
        }
    }

    /// The following braces.
    fn next_body(&self, tokens: &[TokenTree], from: usize) -> Range<usize> {
        next_brace(tokens, from).and_then(|body| tokens.get(body)).map_or(0..0, |body| self.place(body.span()))
    }

    fn up_to_separator(&self, tokens: &[TokenTree], from: usize, around: &Range<usize>) -> Range<usize> {
        let is_separator = |token: &&TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',' || mark.as_char() == ';');
        let rest = tokens.get(from..).unwrap_or_default();
        let start = rest.first().map_or(around.end, |token| self.place(token.span()).start);
        start
            ..rest
                .iter()
                .take(MAX_STATEMENT)
                .find(is_separator)
                .map_or(around.end, |token| self.place(token.span()).start)
    }
}

/// Whether `|` begins a closure: not after an operand, where it is an operator.
pub(super) fn opens_closure(tokens: &[TokenTree], index: usize) -> bool {
    match index.checked_sub(1).and_then(|previous| tokens.get(previous)) {
        None => true,
        Some(TokenTree::Punct(mark)) => !matches!(mark.as_char(), '|' | '?' | '>'),
        Some(TokenTree::Ident(word)) => {
            ["move", "return", "static", "async", "else", "in", "match"].iter().any(|other| word == other)
        }
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::bound;

    #[test]
    fn variables_are_seen_after_their_statement() {
        assert_eq!(bound("s", "fn f() { let s = \"a\"; @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { @ let s = \"a\"; }"), "nothing");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; { let s: &str = \"b\"; } @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; fn g() { @ } }"), "nothing");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; let g = || { @ }; }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let mut s = \"a\"; @ s = g(); }"), "mutable");
        assert_eq!(bound("s", "fn f() { let mut s = \"a\"; @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let s; s = 1; @ }"), "Late");
        assert_eq!(bound("s", "fn f() { let (t, s) = g(); @ }"), "g () / 1");
        assert_eq!(bound("s", "fn f() { let K { a, b: (_, s), .. } = g(); @ }"), "g () / b.1");
        assert_eq!(bound("s", "fn f() { let Some(s) = g() else { return }; @ }"), "Pattern");
    }

    #[test]
    fn names_that_are_bound_anew_are_unknown() {
        let parameter = "parameter Some(1)";
        assert_eq!(bound("s", "const s: u8 = 1; fn f<F: Fn(u8)>(a: u8, s: &str) -> u8 { @ }"), parameter);
        assert_eq!(bound("s", "fn f() { let s = \"a\"; for (i, s) in x { @ } }"), "x / 1");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; for Some(s) in x { @ } }"), "LoopVariable");
        assert_eq!(bound("b", "fn f((a, b): (u8, u8)) { @ }"), "parameter None");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; for (i, s) in x { } @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; x.map(|s| g(@)); }"), "ClosureParameter");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; x.map(move |&(s, _)| { @ }); }"), "ClosureParameter");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; if let Some(s) = x { @ } }"), "Pattern");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; match x { A | B => {} Some(s) => { @ } } }"), "Pattern");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; match x { Some(s) => g(@), _ => h() } }"), "Pattern");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; match x { Some(s) => 1, _ => h(@) } }"), "\"a\"");
    }
}
