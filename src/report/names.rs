//! Names of kernels in little room. Instances of one template have names of hundreds of characters that differ in a few.

use std::collections::BTreeSet;

const MAX_NAME: usize = 40;

/// Shortens a long name in the middle, since template arguments at the end distinguish instances.
pub(super) fn shorten(name: &str) -> String {
    let length = name.chars().count();
    if length <= MAX_NAME {
        return name.to_string();
    }
    let half = MAX_NAME / 2;
    let head: String = name.chars().take(half).collect();
    let tail: String = name.chars().skip(length - (half - 1)).collect();
    format!("{head}…{tail}")
}

/// Shortens names that stand below each other, so that different ones stay different: what all have alike behind the name of
/// the template is left out first.
pub(super) fn shorten_all(names: &[&str]) -> Vec<String> {
    let different: BTreeSet<&str> = names.iter().copied().collect();
    let is_told_apart = |short: &dyn Fn(&str) -> String| {
        different.iter().map(|name| short(name)).collect::<BTreeSet<String>>().len() == different.len()
    };
    if is_told_apart(&shorten) {
        return names.iter().map(|name| shorten(name)).collect();
    }
    let words: Vec<Vec<&str>> = different.iter().map(|name| words(name)).collect();
    let count = words.iter().map(Vec::len).min().unwrap_or(0);
    // From the first word on that is another one where the names have different numbers of words.
    let differs: Vec<bool> = (0..count).map(|at| words.iter().any(|other| other[at] != words[0][at])).collect();
    let first = differs.iter().position(|differs| *differs).unwrap_or(count);
    let is_one_shape = words.iter().all(|other| other.len() == count);
    let is_kept = |at: usize| match is_one_shape {
        true => differs[at],
        false => at >= first,
    };
    let short = |name: &str| without_the_rest(&self::words(name), &is_kept);
    match is_told_apart(&short) {
        true => names.iter().map(|name| short(name)).collect(),
        false => names.iter().map(|name| shorten(name)).collect(),
    }
}

/// The words of a name up to its template arguments, and those that are kept.
fn without_the_rest(words: &[&str], is_kept: &dyn Fn(usize) -> bool) -> String {
    let mut head: String = words.iter().take_while(|word| **word != "<").copied().collect();
    // The function's own name stands at the end of its namespaces.
    if head.chars().count() > MAX_NAME / 2 {
        head = head.rsplit("::").next().unwrap_or(&head).to_string();
    }
    if head.chars().count() > MAX_NAME / 2 {
        head = head.chars().take(MAX_NAME / 2 - 1).chain(['…']).collect();
    }
    let begin = words.iter().take_while(|word| **word != "<").count();
    let mut text = head;
    let mut at = begin;
    while at < words.len() {
        let end = (at..words.len()).find(|next| is_kept(*next)).unwrap_or(words.len());
        let skipped: String = words[at..end].concat();
        text.push_str(if skipped.chars().count() > 2 { "…" } else { &skipped });
        if let Some(word) = words.get(end) {
            text.push_str(word);
        }
        at = end + 1;
    }
    match text.chars().count() > MAX_NAME {
        true => text.chars().take(MAX_NAME - 1).chain(['…']).collect(),
        false => text,
    }
}

/// Identifiers and numbers, and single other characters.
fn words(name: &str) -> Vec<&str> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = match is_part(first) {
            true => rest.find(|letter| !is_part(letter)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        let short = shorten(&format!("head{}<float, 32>", "x".repeat(300)));
        assert_eq!(short.chars().count(), MAX_NAME);
        assert!(short.starts_with("headx") && short.ends_with("<float, 32>"));
    }

    #[test]
    fn names_below_each_other_show_what_differs() {
        let of = |sizes: [(u32, &str); 3]| {
            let names = sizes.map(|(size, kind)| {
                format!("alignment::local<{size}, Letters<float, Option<{kind}>>, {}>", "void, ".repeat(9))
            });
            shorten_all(&names.each_ref().map(String::as_str))
        };
        assert_eq!(
            of([(72, "int"), (64, "int"), (72, "char")]),
            ["alignment::local<72…int…", "alignment::local<64…int…", "alignment::local<72…char…"]
        );
        // With other numbers of words, all from the first difference on.
        let long =
            |from: u32, kind: &str| format!("scan<void, Config<Layout<void>, {from}, {kind}, {}>>", "void, ".repeat(9));
        let (one, other, third) = (long(1, "int"), long(2, "A::B"), long(1, "char"));
        assert_eq!(shorten_all(&[&one, &other])[1], "scan…2, A::B, void, void, void, void, v…");
        assert_eq!(shorten_all(&[&one, &other, &third])[2], "scan…1, char, void, void, void, void, v…");
    }

    #[test]
    fn short_names_stay() {
        assert_eq!(shorten_all(&["a<1>", "a<2>"]), ["a<1>", "a<2>"]);
    }
}
