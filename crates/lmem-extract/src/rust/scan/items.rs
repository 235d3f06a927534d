//! Functions, constants and imports.

use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::patterns::names_in;
use super::scanner::{MAX_DEPTH, Scanner};
use super::tokens::{assigned, ident, is_mark, next_brace, outside_angles, split_at_commas, top_level};
use super::{Function, MacroRules, Unknown, Value};

impl Scanner {
    pub(super) fn function(&mut self, name: String, tokens: &[TokenTree], index: usize) -> usize {
        let is_parameters =
            |at: &usize| matches!(&tokens[*at], TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
        let Some(parameters_at) = outside_angles(tokens, index + 2).find(is_parameters) else { return index + 2 };
        let body = next_brace(tokens, parameters_at + 1);
        let (Some(TokenTree::Group(body_group)), TokenTree::Group(parameters_group)) =
            (body.and_then(|body| tokens.get(body)), &tokens[parameters_at])
        else {
            return parameters_at + 1;
        };
        let visible = self.place(body_group.span());
        let outer = self.function.replace(visible.start);
        let (parameters, has_self) = parameters_of(parameters_group.stream());
        for parameter in names_in(parameters_group.stream()) {
            let index = parameters.iter().position(|known| known.as_ref() == Some(&parameter));
            let unknown = Unknown::Parameter { function: name.clone(), body: visible.start, index };
            self.bind(parameter, visible.clone(), Value::Unknown(unknown), true);
        }
        self.found.functions.push(Function {
            name,
            body: visible,
            tokens: body_group.stream(),
            parameters,
            has_self,
            owner: self.owner.clone(),
            container: self.container.clone(),
        });
        self.group(body_group);
        self.function = outer;
        body.unwrap_or(parameters_at) + 1
    }

    /// `const NAME: type = value;`, `static ref NAME: …`. The scan continues inside the value.
    pub(super) fn item(&mut self, tokens: &[TokenTree], index: usize) {
        let is_mutable = ident(tokens, index + 1).is_some_and(|word| word == "mut");
        let is_prefixed = is_mutable || ident(tokens, index + 1).is_some_and(|word| word == "ref");
        let name_at = index + 1 + usize::from(is_prefixed);
        let Some(name) = ident(tokens, name_at).filter(|_| is_mark(tokens, name_at + 1, ':')) else { return };
        let Some((value, _)) = assigned(tokens, name_at + 1) else { return };
        let value = if is_mutable { Value::Initial(value) } else { Value::Expression(value) };
        self.bind(name, self.items_seen.clone(), value, false);
    }

    /// `macro_rules! name { … }`
    pub(super) fn definition(&mut self, tokens: &[TokenTree], index: usize, around: &Range<usize>) {
        let (Some(name), Some(TokenTree::Group(arms))) = (ident(tokens, index + 2), tokens.get(index + 3)) else {
            return;
        };
        let range = self.place(tokens[index].span()).start..self.place(arms.span()).end;
        let is_attribute = |at: usize| is_mark(tokens, at, '#') && matches!(&tokens[at + 1], TokenTree::Group(_));
        let attributes = (0..index / 2).map(|count| index - 2 * (count + 1)).take_while(|at| is_attribute(*at));
        let exports = |at: usize| tokens[at + 1].to_string().contains("macro_export");
        let is_exported = attributes.into_iter().any(exports);
        self.found.definitions.push(MacroRules {
            name,
            arms: arms.stream(),
            range,
            scope: around.clone(),
            is_exported,
        });
    }

    pub(super) fn import(&mut self, tokens: &[TokenTree], index: usize) -> usize {
        let end = top_level(tokens, index, ';').unwrap_or(index);
        let visible = self.items_seen.clone();
        self.use_tree(tokens.get(index + 1..end).unwrap_or_default(), &[], &visible, 0);
        end.max(index) + 1
    }

    fn use_tree(&mut self, tokens: &[TokenTree], prefix: &[String], around: &Range<usize>, depth: usize) {
        let mut path = prefix.to_vec();
        let mut rest = tokens.iter().filter(|token| !matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':'));
        while let Some(token) = rest.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    if let Some(TokenTree::Ident(name)) = rest.next() {
                        self.bind(name.to_string(), around.clone(), Value::Path(path), false);
                    }
                    return;
                }
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    return self.found.globs.push((around.clone(), path));
                }
                TokenTree::Group(group) if depth < MAX_DEPTH => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    let parts = inner.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ','));
                    return parts.for_each(|part| self.use_tree(part, &path, around, depth + 1));
                }
                TokenTree::Group(group) => return self.leave_out(group.span_open()),
                _ => return,
            }
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(name) = path.last().filter(|_| path.len() > 1 && !tokens.is_empty()) {
            self.bind(name.clone(), around.clone(), Value::Path(path.clone()), false);
        }
    }
}

/// The last name of the type and of the trait of an `impl`, from the tokens between `impl` and its braces.
pub(super) fn implemented_type(tokens: &[TokenTree]) -> (String, Option<String>) {
    let is_word = |at: usize, word: &str| matches!(&tokens[at], TokenTree::Ident(name) if name == word);
    let plain: Vec<usize> = outside_angles(tokens, 0).collect();
    let end = plain.iter().position(|at| is_word(*at, "where")).unwrap_or(plain.len());
    let is_for = plain[..end].iter().position(|at| is_word(*at, "for"));
    let last = |range: &[usize]| range.iter().filter_map(|at| ident(tokens, *at)).next_back();
    let of_trait = is_for.and_then(|at| last(&plain[..at]));
    (last(&plain[is_for.map_or(0, |at| at + 1)..end]).unwrap_or_default(), of_trait)
}

/// Parameter names in order, without `self`, and whether there is a `self`.
fn parameters_of(tokens: TokenStream) -> (Vec<Option<String>>, bool) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut parameters = Vec::new();
    let mut has_self = false;
    for part in split_at_commas(&tokens) {
        let part = without_attributes(part);
        let is_self = part.iter().take(4).any(|token| matches!(token, TokenTree::Ident(word) if word == "self"));
        match (ident(part, 0), is_mark(part, 1, ':')) {
            _ if part.is_empty() => {}
            _ if is_self && parameters.is_empty() => has_self = true,
            (Some(name), true) => parameters.push(Some(name)),
            _ => parameters.push(None),
        }
    }
    (parameters, has_self)
}

fn without_attributes(mut tokens: &[TokenTree]) -> &[TokenTree] {
    while is_mark(tokens, 0, '#') && tokens.len() > 1 {
        tokens = &tokens[2..];
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::super::tests::{bound, scan};

    #[test]
    fn items_are_seen_where_rust_sees_them() {
        assert_eq!(bound("S", "fn f() { @ } const S: &str = \"a\";"), "\"a\"");
        assert_eq!(bound("S", "const S: &'static str=&\"a\"; mod m { @ }"), "& \"a\"");
        assert_eq!(bound("S", "fn f() { const S: &str = \"b\"; @ } const S: &str = \"a\";"), "\"b\"");
        assert_eq!(bound("S", "mod m { const S: &str = \"b\"; } @"), "nothing");
        assert_eq!(bound("S", "const S: A<B = C> = \"a\"; @"), "\"a\"");
        assert_eq!(bound("S", "lazy_static! { static ref S: &'static str = \"a\"; } @"), "\"a\"");
        assert_eq!(bound("S", "#[cfg(a)] const S: &str = \"a\"; #[cfg(b)] const S: &str = \"b\"; @"), "ambiguous");
        assert_eq!(bound("S", "static mut S: &str = \"a\"; @"), "mutable");
        assert_eq!(bound("S", "impl<T: Fn() -> u8> A<T> for B { const S: &str = \"a\"; fn f() { @ } }"), "nothing");
        assert_eq!(bound("S", "impl A { const S: &str = S; fn f() { @ } } const S: &str = \"b\";"), "\"b\"");
        assert_eq!(bound("S", "impl A { fn f() { const S: &str = \"a\"; @ } }"), "\"a\"");
    }

    #[test]
    fn imports_are_paths() {
        assert_eq!(bound("S", "use a::b::S; @"), "a::b::S");
        assert_eq!(bound("T", "use a::{b::{S as T, self}, c}; @"), "a::b::S");
        assert_eq!(bound("b", "use a::{b::{S as T, self}, c}; @"), "a::b");
        assert_eq!(bound("c", "pub(crate) use a::{b::*, c}; @"), "a::c");
        assert_eq!(scan("use a::{b::*, c};").globs[0].1, ["a", "b"]);
    }

    #[test]
    fn functions_have_their_parameters() {
        let file = scan(
            "impl<T> A for B<T> { fn f<F: Fn(u8)>(&mut self, a: Vec<(u8, T)>, #[x] b: u8, mut c: u8, (d, e): D) -> u8 {} } fn g() {}",
        );
        let function = &file.functions[0];
        assert_eq!(function.parameters, [Some("a".to_string()), Some("b".to_string()), None, None]);
        assert!(function.has_self && !file.functions[1].has_self);
        let owner = function.owner.clone().unwrap();
        assert_eq!((owner.name.as_str(), owner.of_trait.as_deref()), ("B", Some("A")));
        assert_eq!(file.functions[1].owner, None);
    }
}
