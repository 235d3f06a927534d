//! Names of types that hide what they are: references (`using Ref = float&;`), of which a variable is another name of what it is made of, and
//! `volatile`, of which each read counts.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use super::bracketed::is_name;
use super::tokens::each;

/// What a text calls a type: `Ref`, and the tokens of what it stands for.
struct Alias<'t> {
    names: Vec<&'t str>,
    tokens: Vec<&'t str>,
}

/// What a name of a type may hide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hides {
    Reference,
    Volatile,
}

/// The names that the aliases of each of a unit's files give to types that hide something. One may stand for another's.
pub(super) fn aliases_of(files: &[Vec<Cow<'_, str>>], what: Hides) -> Vec<BTreeSet<String>> {
    let files: Vec<Vec<Alias<'_>>> = files.iter().map(|tokens| aliases(tokens.iter().map(|token| &**token))).collect();
    named(&files, &BTreeSet::new(), what)
}

/// The names that a text gives to types that hide something, where others are known.
pub fn aliases_in(text: &str, known: &BTreeSet<String>, what: Hides) -> BTreeSet<String> {
    let tokens = each(text).map(|token| text.get(token.range).unwrap_or(""));
    named(&[aliases(tokens)], known, what).pop().unwrap_or_default()
}

impl Hides {
    /// Whether tokens of a type may mean that. `names` are those of types that hide it.
    pub fn is_in<'t>(self, mut tokens: impl Iterator<Item = &'t str>, names: &BTreeSet<String>) -> bool {
        let is_unseen = |token: &str| token == "decltype" || token.contains("typeof") || names.contains(token);
        match self {
            Self::Reference => tokens.any(|it| matches!(it, "&" | "&&") || it.contains("reference") || is_unseen(it)),
            Self::Volatile => tokens.any(|it| it.contains("volatile") || is_unseen(it)),
        }
    }
}

fn named(files: &[Vec<Alias<'_>>], known: &BTreeSet<String>, what: Hides) -> Vec<BTreeSet<String>> {
    let all: Vec<(usize, &Alias<'_>)> =
        files.iter().enumerate().flat_map(|(file, aliases)| aliases.iter().map(move |alias| (file, alias))).collect();
    let mut mentions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, (_, alias)) in all.iter().enumerate() {
        for token in &alias.tokens {
            mentions.entry(token).or_default().push(at);
        }
    }
    let is_such = |at: &usize| what.is_in(all[*at].1.tokens.iter().copied(), known);
    let mut open: Vec<usize> = (0..all.len()).filter(is_such).collect();
    let mut found = vec![BTreeSet::new(); files.len()];
    while let Some(at) = open.pop() {
        let (file, alias) = all[at];
        for name in &alias.names {
            // What mentions a name for the first time is asked once.
            found[file].insert(name.to_string());
            open.extend(mentions.remove(name).unwrap_or_default());
        }
    }
    found
}

fn aliases<'t>(mut tokens: impl Iterator<Item = &'t str>) -> Vec<Alias<'t>> {
    let mut found = Vec::new();
    while let Some(token) = tokens.next() {
        let is_typedef = token == "typedef";
        if !is_typedef && token != "using" {
            continue;
        }
        // A structure that a `typedef` declares has references of its own; what they lead to is asked of classes.
        let (mut all, mut depth): (Vec<&'t str>, usize) = (Vec::new(), 0);
        for token in tokens.by_ref() {
            match token {
                ";" if depth == 0 => break,
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                _ if depth == 0 => all.push(token),
                _ => {}
            }
        }
        let names = match is_typedef {
            true => {
                let is_last = |at: &usize| all.get(at + 1).is_none_or(|next| matches!(*next, "," | ")" | "["));
                (0..all.len()).filter(is_last).map(|at| all[at]).filter(|name| is_name(name)).collect()
            }
            false if all.contains(&"=") => all.first().copied().filter(|name| is_name(name)).into_iter().collect(),
            false => Vec::new(),
        };
        if !names.is_empty() {
            found.push(Alias { names, tokens: all });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        aliases_in(text, &BTreeSet::from(["Known".to_string()]), Hides::Reference).into_iter().collect()
    }

    #[test]
    fn names_of_references() {
        assert_eq!(of("using R = int&; struct S { typedef float &Ref, *Pointer; };"), ["Pointer", "R", "Ref"]);
        assert_eq!(of("template <class T> using R = T &&; using Q = R<int>;"), ["Q", "R"]);
        assert_eq!(of("using Q = typename Row<int>::reference; using P = Known;"), ["P", "Q"]);
        assert_eq!(of("using Q = decltype((x)); using P = std::add_lvalue_reference_t<int>;"), ["P", "Q"]);
        // The first leads to one that stands behind it.
        assert_eq!(of("using A = B; using B = C; using C = int&;"), ["A", "B", "C"]);
        assert_eq!(of("using R [[maybe_unused]] = int&;"), ["R"]);
        assert_eq!(
            of("typedef struct Row { int& one; } Row; using namespace std; using std::min; using F = int*;"),
            [""; 0]
        );
    }

    #[test]
    fn names_of_what_is_volatile() {
        let found =
            aliases_in("using V = volatile int; using W = V*; using R = int&;", &BTreeSet::new(), Hides::Volatile);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["V", "W"]);
    }

    #[test]
    fn one_file_names_what_another_has() {
        let words = |text: &str| each(text).map(|it| Cow::Owned(text[it.range].to_string())).collect::<Vec<_>>();
        let found = aliases_of(&[words("using A = B;"), words("using B = int&;")], Hides::Reference);
        assert_eq!(found, [BTreeSet::from(["A".to_string()]), BTreeSet::from(["B".to_string()])]);
    }
}
