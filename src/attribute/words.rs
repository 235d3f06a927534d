//! Words of a text, where no syntax is needed to find them.

/// Whether a character may be part of a name.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The names and numbers of a text, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty())
}

/// Where a word stands in a text, and is no part of a longer one.
pub(super) fn places_of<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_whole = move |at: &usize| !text[..*at].ends_with(is_word) && !text[*at + word.len()..].starts_with(is_word);
    text.match_indices(word).map(|(at, _)| at).filter(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_words_are_none() {
        assert_eq!(places_of("a[aa] = a_1 + b.a;", "a").collect::<Vec<_>>(), [0, 16]);
        assert_eq!(words("é[i1] += x->y_;").collect::<Vec<_>>(), ["é", "i1", "x", "y_"]);
    }
}
