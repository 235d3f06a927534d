//! Wraps our own text to lines of at most a hundred columns, fewer on a narrow terminal.

/// Columns of our own text.
pub(super) const MAX_COLUMNS: usize = 100;

/// Wraps the text to lines of so many `columns`. The first line begins behind `lead` columns, the others with `indent`; without
/// one, the caller puts them behind `lead` columns too. Text in backticks is not broken, and tables are not changed.
pub(super) fn wrapped(text: &str, columns: usize, lead: usize, indent: &str) -> String {
    if text.contains('\n') {
        return text.replace('\n', &format!("\n{indent}"));
    }
    let mut lines = vec![String::new()];
    let others = if indent.is_empty() { lead } else { indent.chars().count() };
    let mut room = columns.saturating_sub(lead);
    for word in words(text) {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > room {
            lines.push(String::new());
            room = columns.saturating_sub(others);
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join(&format!("\n{indent}"))
}

/// Splits a text at spaces outside of backticks.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut start, mut is_code) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '`' => is_code = !is_code,
            // A unit stays with its number.
            ' ' if !is_code && !text[at..].starts_with(" %") && !text[at..].starts_with(" B") => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_before_the_limit_and_code_stays_whole() {
        let text = format!("{} `{}` end", "word ".repeat(18).trim(), "a b ".repeat(10).trim());
        let lines: Vec<String> = wrapped(&text, MAX_COLUMNS, 9, "    ").lines().map(str::to_string).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].chars().count() <= MAX_COLUMNS - 9 && lines[1].starts_with("    `a b"), "{lines:?}");
    }

    #[test]
    fn lines_without_an_indent_begin_behind_the_same_columns() {
        let text = wrapped(&"word ".repeat(60), 60, 9, "");
        assert!(text.lines().count() > 2 && text.lines().all(|line| line.chars().count() <= 60 - 9), "{text}");
    }

    #[test]
    fn a_unit_stays_with_its_number() {
        assert_eq!(wrapped("occupancy 100 → 53 %", 19, 0, ""), "occupancy 100 →\n53 %");
    }

    #[test]
    fn tables_are_left_as_they_are() {
        assert_eq!(wrapped("a  b\nc  d", MAX_COLUMNS, 0, "  "), "a  b\n  c  d");
    }
}
