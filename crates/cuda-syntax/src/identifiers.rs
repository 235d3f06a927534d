//! Identifiers of a text, found without a syntax tree.

use std::collections::{HashMap, HashSet};

/// Whether a character may be part of a name.
pub fn is_identifier_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The identifiers and numbers of a text, in order.
pub fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_identifier_character(c)).filter(|word| !word.is_empty())
}

/// Offsets of a whole identifier in a text; matches inside longer identifiers do not count.
pub fn occurrences<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_whole = move |at: &usize| {
        !text[..*at].ends_with(is_identifier_character)
            && !text[*at + word.len()..].starts_with(is_identifier_character)
    };
    text.match_indices(word).map(|(at, _)| at).filter(is_whole)
}

/// A name that is neither in the text nor in `given`: `wanted`, with a number appended if it is taken.
pub fn fresh(text: &str, wanted: &str, given: &[String]) -> String {
    let used: HashSet<&str> = identifiers(text).collect();
    numbered(wanted, 1, |name| !used.contains(name) && !given.iter().any(|given| given == name)).0
}

/// Names for many new things of one text.
#[derive(Debug)]
pub struct FreshNames<'t> {
    /// The words of the text.
    used: &'t HashSet<String>,
    given: HashSet<String>,
    /// The number that was given last to each name that was wanted.
    last: HashMap<String, usize>,
}

impl<'t> FreshNames<'t> {
    /// Names that are none of some words.
    pub fn beside(used: &'t HashSet<String>) -> Self {
        Self { used, given: HashSet::new(), last: HashMap::new() }
    }

    /// As [`fresh`]; the name is given from now on.
    pub fn give(&mut self, wanted: &str) -> String {
        let first = self.last.get(wanted).map_or(1, |last| last + 1);
        let is_free = |name: &str| !self.used.contains(name) && !self.given.contains(name);
        let (name, number) = numbered(wanted, first, is_free);
        self.given.insert(name.clone());
        self.last.insert(wanted.to_string(), number);
        name
    }

    /// The name may be given again.
    pub fn take_back(&mut self, name: &str) {
        self.given.remove(name);
        self.last.retain(|wanted, _| !name.starts_with(wanted.as_str()));
    }
}

/// The first name that is free, and its number: the wanted one has the number 1 and is written without it.
pub(crate) fn numbered(wanted: &str, first: usize, is_free: impl Fn(&str) -> bool) -> (String, usize) {
    let mut number = first;
    loop {
        let name = if number == 1 { wanted.to_string() } else { format!("{wanted}_{number}") };
        if is_free(&name) {
            return (name, number);
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_those_that_one_after_another_would_be() {
        let text = "int a, a_3, b;";
        let words = identifiers(text).map(str::to_string).collect();
        let mut names = FreshNames::beside(&words);
        let given: Vec<String> = ["a", "a", "b", "c", "c"].iter().map(|wanted| names.give(wanted)).collect();
        assert_eq!(given, ["a_2", "a_4", "b_2", "c", "c_2"]);
        names.take_back("c");
        assert_eq!((names.give("c"), names.give("c")), ("c".to_string(), "c_3".to_string()));
        let mut one_by_one = Vec::new();
        for wanted in ["a", "a", "b", "c", "c"] {
            one_by_one.push(fresh(text, wanted, &one_by_one));
        }
        assert_eq!(given, one_by_one);
    }

    #[test]
    fn parts_of_words_are_none() {
        assert_eq!(occurrences("a[aa] = a_1 + b.a;", "a").collect::<Vec<_>>(), [0, 16]);
        let given = ["a_2".to_string()];
        assert_eq!((fresh("b(aa)", "a", &[]), fresh("b(a)", "a", &given)), ("a".to_string(), "a_3".to_string()));
        assert_eq!(identifiers("é[i1] += x->y_;").collect::<Vec<_>>(), ["é", "i1", "x", "y_"]);
    }
}
