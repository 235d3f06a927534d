//! Template arguments of demangled names, spelled as in the source.

/// Integer types as a demangler prints them in the cast before a number.
const INTEGERS: [&str; 15] = [
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "__int128",
    "unsigned __int128",
];

/// `SmallVec<char, 64>` for `SmallVec<char, (unsigned int)64>`. Casts to an enumeration are kept.
pub fn without_casts(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(open) = rest.find('(') {
        let (before, cast) = rest.split_at(open);
        plain.push_str(before);
        let is_argument = before.trim_end().ends_with(['<', ',', '{']);
        rest = match integer_after(cast).filter(|_| is_argument) {
            Some(("bool", number)) => {
                let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
                plain.push_str(if number[..digits] == *"0" { "false" } else { "true" });
                &number[digits..]
            }
            Some((_, number)) => number,
            None => {
                plain.push('(');
                &cast[1..]
            }
        };
    }
    plain.push_str(rest);
    plain
}

/// The type in `(type)64…`, and the text after its parenthesis.
fn integer_after(cast: &str) -> Option<(&str, &str)> {
    let (type_name, number) = cast.strip_prefix('(')?.split_once(')')?;
    let is_number = number.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    (is_number && INTEGERS.contains(&type_name)).then_some((type_name, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lose_their_types() {
        for (name, plain) in [
            ("SmallVec<unsigned char, (unsigned int)64>", "SmallVec<unsigned char, 64>"),
            ("f<(int)-1, (bool)1, (bool)0, A<(unsigned long)8> >", "f<-1, true, false, A<8> >"),
            ("f<(Mode)2>", "f<(Mode)2>"),
            ("f<float (*)(int)>", "f<float (*)(int)>"),
            ("k(int)::{lambda(int)#1}::operator()", "k(int)::{lambda(int)#1}::operator()"),
            ("f<(int", "f<(int"),
            ("", ""),
        ] {
            assert_eq!(without_casts(name), plain);
        }
    }
}
