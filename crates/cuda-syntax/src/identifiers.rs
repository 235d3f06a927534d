//! Identifiers of a text, found without a syntax tree.

use std::collections::BTreeSet;

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
    let used: BTreeSet<&str> = identifiers(text).collect();
    let is_free = |name: &String| !used.contains(name.as_str()) && !given.contains(name);
    let mut name = wanted.to_string();
    let mut number = 2_usize;
    while !is_free(&name) {
        name = format!("{wanted}_{number}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_words_are_none() {
        assert_eq!(occurrences("a[aa] = a_1 + b.a;", "a").collect::<Vec<_>>(), [0, 16]);
        let given = ["a_2".to_string()];
        assert_eq!((fresh("b(aa)", "a", &[]), fresh("b(a)", "a", &given)), ("a".to_string(), "a_3".to_string()));
        assert_eq!(identifiers("é[i1] += x->y_;").collect::<Vec<_>>(), ["é", "i1", "x", "y_"]);
    }
}
