//! What classes and operators do with what they are given, read from tokens alone.

use std::collections::HashSet;

use super::bracketed::Bracketed;
use super::functions::is_vector;

/// The numbers of C++, as parts of their types.
const NUMBERS: [&str; 9] = ["bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned"];

impl Bracketed<'_> {
    /// Whether a class has a reference as a member, or a pointer and a function that could point it to an argument; or an
    /// operator may write a number.
    pub(super) fn may_keep_references(&self, classes: &HashSet<&str>) -> bool {
        self.classes().any(|(name, at)| self.token(at) == "{" && self.keeps_references(name, at))
            || (0..self.tokens.len()).any(|at| self.token(at) == "operator" && self.writes_operands(at, classes))
    }

    fn keeps_references(&self, own: &str, body: usize) -> bool {
        let end = self.partners[body];
        let (mut has_pointer, mut takes_references) = (false, false);
        let mut member: Vec<&str> = Vec::new();
        let mut at = body + 1;
        while at < end {
            let token = self.token(at);
            match token {
                "(" => {
                    let list: Vec<&str> = (at..self.partners[at]).map(|at| self.token(at)).collect();
                    takes_references |= list.windows(2).any(|pair| matches!(pair[1], "&" | "&&") && pair[0] != own);
                    has_pointer |= list.get(1) == Some(&"*");
                    member.push("(");
                    at = self.behind(at);
                    continue;
                }
                "{" => {
                    at = self.behind(at);
                    // A body ends a member; braces of an initializer have a semicolon or another initializer behind them.
                    if !matches!(self.token(at), ";" | "," | "{") || (member.contains(&"(") && self.token(at) == ";") {
                        member.clear();
                    }
                    continue;
                }
                ";" | ":" => {
                    let is_alias = member.first().is_some_and(|word| matches!(*word, "using" | "typedef" | "friend"));
                    let is_function = member.contains(&"(");
                    if !is_alias && !is_function {
                        if member.iter().any(|word| matches!(*word, "&" | "&&")) {
                            return true;
                        }
                        has_pointer |= member.contains(&"*");
                    }
                    member.clear();
                }
                _ => member.push(token),
            }
            at += 1;
        }
        has_pointer && takes_references
    }

    /// Whether a constructor that is not written calls something: `int size = count();`.
    pub(super) fn computes_members(&self) -> bool {
        self.classes().filter(|(_, at)| self.token(*at) == "{").any(|(_, body)| {
            let (mut at, mut member) = (body + 1, Vec::new());
            while at < self.partners[body] {
                let token = self.token(at);
                let behind = self.behind(at);
                match token {
                    "(" if member.contains(&"=") && !member.contains(&"operator") => return true,
                    "{" => {
                        let is_value =
                            !member.iter().any(|it| matches!(*it, "(" | "struct" | "class" | "union" | "enum"));
                        if is_value && (at..behind).any(|at| self.token(at) == "(") {
                            return true;
                        }
                        // Braces within the list of a constructor are followed by others.
                        if !matches!(self.token(behind), "," | "{") {
                            member.clear();
                        }
                    }
                    ";" => member.clear(),
                    _ => member.push(token),
                }
                at = if behind > at { behind } else { at + 1 };
            }
            false
        })
    }

    /// Whether an operator takes a number by a reference that is not constant.
    fn writes_operands(&self, operator: usize, classes: &HashSet<&str>) -> bool {
        let Some(list) = self.operands(operator).filter(|list| self.token(*list) == "(") else { return false };
        let words: Vec<&str> = (list + 1..self.partners[list]).map(|at| self.token(at)).collect();
        words.split(|word| *word == ",").any(|parameter| {
            let reference = parameter.iter().position(|word| matches!(*word, "&" | "&&"));
            let type_text = reference.and_then(|at| parameter[..at].last());
            type_text.is_some_and(|word| {
                let is_class = *word == ">" || classes.contains(word) || is_vector(word);
                !parameter.contains(&"const") && (!is_class || NUMBERS.contains(word))
            })
        })
    }
}
