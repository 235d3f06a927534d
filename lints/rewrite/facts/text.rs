//! Helper functions for texts without a syntax tree: arguments of attributes and templates, extents.

/// Splits at commas outside parentheses and brackets.
pub fn split_at_commas(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' | '{' | '[' => depth += 1,
            ')' | '>' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Whether an extent can stand in a comparison: names, numbers, sums and products.
pub fn is_plain_extent(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*' | '/' | '+' | '-' | '(' | ')');
    !text.is_empty() && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_parentheses_part_nothing() {
        assert_eq!(split_at_commas("f(a, b), Pair<int, 2>, c"), ["f(a, b)", " Pair<int, 2>", " c"]);
        assert_eq!(split_at_commas(""), [""]);
    }
}
