//! A file's tokens with the partners of their brackets.

use std::borrow::Cow;

/// Limit on the tokens of a list of template arguments.
const MOST_ARGUMENTS: usize = 200;

/// A file's tokens, with the partner of each bracket.
pub(super) struct Bracketed<'t> {
    pub(super) tokens: &'t [Cow<'t, str>],
    /// By position; a position's own number where it is no bracket.
    pub(super) partners: Vec<usize>,
}

impl<'t> Bracketed<'t> {
    /// `None` where brackets are not those of one text, as in files that others include within a declaration.
    pub(super) fn of(tokens: &'t [Cow<'t, str>]) -> Option<Self> {
        let mut partners: Vec<usize> = (0..tokens.len()).collect();
        let mut open: Vec<usize> = Vec::new();
        for (position, token) in tokens.iter().enumerate() {
            match &**token {
                "(" | "{" | "[" => open.push(position),
                ")" | "}" | "]" => {
                    let start = open.pop()?;
                    let is_pair = matches!((&*tokens[start], &**token), ("(", ")") | ("{", "}") | ("[", "]"));
                    if !is_pair {
                        return None;
                    }
                    (partners[start], partners[position]) = (position, start);
                }
                _ => {}
            }
        }
        open.is_empty().then_some(Self { tokens, partners })
    }

    pub(super) fn token(&self, position: usize) -> &'t str {
        self.tokens.get(position).map_or("", |token| &**token)
    }

    /// The position behind the brackets that open at one.
    pub(super) fn behind(&self, position: usize) -> usize {
        self.partners.get(position).map_or(position, |end| end + 1)
    }

    /// The classes with the position of their body's brace, or of a semicolon.
    pub(super) fn classes(&self) -> impl Iterator<Item = (&'t str, usize)> + '_ {
        let starts = (0..self.tokens.len()).filter(|at| matches!(self.token(*at), "struct" | "class" | "union"));
        starts.filter_map(|start| {
            let (mut at, mut name) = (start + 1, "");
            loop {
                match self.token(at) {
                    "(" | "[" => at = self.behind(at),
                    "{" | ";" => return Some((name, at)),
                    ":" => {
                        let ends = (at..self.tokens.len()).find(|at| matches!(self.token(*at), "{" | ";"))?;
                        return Some((name, ends));
                    }
                    // A specialization: `struct Row<float>`.
                    "<" => {
                        let ends = (at..self.tokens.len()).find(|at| matches!(self.token(*at), "{" | ";" | ")"))?;
                        return (self.token(ends) != ")").then_some((name, ends));
                    }
                    word if is_name(word) || word == "::" => {
                        if is_name(word) && word != "final" {
                            name = word;
                        }
                        at += 1;
                    }
                    _ => return None,
                }
            }
        })
    }

    /// The position behind `<…>`, if that begins at one and a parenthesis follows; else the same.
    pub(super) fn behind_template_arguments(&self, start: usize) -> usize {
        if self.token(start) != "<" {
            return start;
        }
        let (mut at, mut depth) = (start, 0usize);
        while at < self.tokens.len() {
            match self.token(at) {
                "<" => depth += 1,
                ">" => depth -= 1,
                ">>" => depth = depth.saturating_sub(2),
                ";" | "{" | "}" | ")" | "]" => return start,
                "(" | "[" => {
                    at = self.behind(at);
                    continue;
                }
                _ => {}
            }
            at += 1;
            if at - start > MOST_ARGUMENTS {
                return start;
            }
            if depth == 0 {
                return if self.token(at) == "(" { at } else { start };
            }
        }
        start
    }
}

pub(super) fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
