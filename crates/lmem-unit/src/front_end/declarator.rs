//! A declaration of the front end's file, split at the name that it declares.

/// `float *__restrict__ `, `rows`, `[4]`; for a pointer to an array `float (*`, `row`, `)[4]`.
#[derive(Debug, PartialEq, Eq)]
pub struct Declarator<'t> {
    pub head: &'t str,
    pub name: &'t str,
    pub behind: &'t str,
}

/// Whether a declaration has a pointer in parentheses: to a function, or to an array.
pub fn is_pointer(text: &str) -> bool {
    text.split_once('(').is_some_and(|(_, inside)| inside.trim_start().starts_with(['*', '&']))
}

/// Splits a declaration without attributes, bit width and `;`.
pub fn read(text: &str) -> Option<Declarator<'_>> {
    let text = text.trim();
    let start = match is_pointer(text) {
        true => name_in_parentheses(text)?,
        false => {
            let declared = text[..text.find('[').unwrap_or(text.len())].trim_end();
            declared.trim_end_matches(is_of_word).len()
        }
    };
    let (head, rest) = text.split_at(start);
    let (name, behind) = rest.split_at(rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()));
    (!head.trim().is_empty()).then_some(Declarator { head, name, behind })
}

/// Where the name begins in `void (*(*const table[2])[3])(int)`: behind the pointers, their qualifiers and parentheses.
fn name_in_parentheses(text: &str) -> Option<usize> {
    let mut at = text.find('(')?;
    loop {
        let rest = text[at..].trim_start_matches(|c: char| matches!(c, '(' | '*' | '&') || c.is_whitespace());
        let start = text.len() - rest.len();
        let word = &rest[..rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())];
        if !is_qualifier(word) {
            return Some(start);
        }
        at = start + word.len();
    }
}

/// The text of a type with single spaces and without words that do not change its size: `float **` for
/// `float *__restrict__ *const`.
pub fn without_qualifiers(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let length =
            if is_of_word(first) { rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, behind) = rest.split_at(length);
        rest = behind.trim_start();
        if is_qualifier(token) {
            continue;
        }
        let is_after_mark = plain.ends_with(['*', '&', '(']);
        if !plain.is_empty() && (is_of_word(first) || !is_after_mark) {
            plain.push(' ');
        }
        plain.push_str(token);
    }
    plain
}

fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "const"
            | "volatile"
            | "struct"
            | "union"
            | "class"
            | "enum"
            | "register"
            | "restrict"
            | "__restrict"
            | "__restrict__"
            | "__const"
            | "__volatile__"
    )
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualifiers_stand_beside_each_pointer() {
        for (text, plain) in [
            ("float *__restrict__", "float *"),
            ("const float *const __restrict__ *volatile ", "float **"),
            ("float*__restrict*restrict&__restrict__", "float **&"),
            ("volatile struct Ring", "Ring"),
            ("unsigned  long long", "unsigned long long"),
            ("float (*__restrict__", "float (*"),
            ("void (*(*const ", "void (*(*"),
            // A name that only begins like a qualifier.
            ("struct const_iterator *", "const_iterator *"),
            ("", ""),
        ] {
            assert_eq!(without_qualifiers(text), plain, "{text}");
        }
    }

    #[test]
    fn a_declaration_is_split_at_its_name() {
        let parts = |text| read(text).map(|it| (it.head, it.name, it.behind));
        for (text, expected) in [
            ("float *__restrict__ room", ("float *__restrict__ ", "room", "")),
            ("const float *__restrict__ c[2][2]", ("const float *__restrict__ ", "c", "[2][2]")),
            ("float *b[2]", ("float *", "b", "[2]")),
            ("float (*p)[4]", ("float (*", "p", ")[4]")),
            ("float (*__restrict__ r)[4]", ("float (*__restrict__ ", "r", ")[4]")),
            ("void (*g[4])(int)", ("void (*", "g", "[4])(int)")),
            ("void (*(*q[2])[3])(int)", ("void (*(*", "q", "[2])[3])(int)")),
            ("int (*fp)(int (*)(int))", ("int (*", "fp", ")(int (*)(int))")),
        ] {
            assert_eq!(parts(text), Some(expected), "{text}");
        }
        assert_eq!((parts("x"), parts(""), parts("[4]")), (None, None, None));
    }
}
