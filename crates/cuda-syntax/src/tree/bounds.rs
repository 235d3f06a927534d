//! Launch bounds that do not stand in a definition's head alone: on a declaration, as in a header, or in branches of
//! conditional compilation. Which of them was compiled, its numbers tell.

use std::ops::Range;

use lmem_unit::{Token, TokenKind, tokens};

use crate::identifiers::identifiers;
use crate::tree::syntax_tree::SyntaxTree;

const BOUNDS: &str = "__launch_bounds__";

/// Limit on macros within macros in a number.
const MAX_DEPTH: usize = 4;

impl SyntaxTree {
    /// The `__launch_bounds__(…)` of a name's declarations and definitions that have these numbers, where only one has. `None` too
    /// where one has numbers that the text does not show.
    pub fn bounds_of(&self, name: &str, numbers: &[u32]) -> Option<Range<usize>> {
        if !self.text().contains(BOUNDS) {
            return None;
        }
        let mut fitting = None;
        for range in self.all_bounds_of(name) {
            let found = self.numbers_of(&range)?;
            if found.iter().eq(numbers.iter().map(|number| i64::from(*number)).collect::<Vec<_>>().iter())
                && fitting.replace(range).is_some()
            {
                return None;
            }
        }
        fitting
    }

    fn all_bounds_of(&self, name: &str) -> impl Iterator<Item = Range<usize>> {
        let all = self.memory.bounds.get_or_init(|| self.read_bounds());
        all.iter().filter(move |(of, _)| of == name).map(|(_, range)| range.clone())
    }

    /// All bounds of the text, with the names that they are of.
    fn read_bounds(&self) -> Vec<(String, Range<usize>)> {
        let all = tokens(self.text());
        let word = |at: usize| all.get(at).and_then(|token| self.text().get(token.range.clone())).unwrap_or("");
        let bounds = (0..all.len()).filter(|at| word(*at) == BOUNDS && all[*at].kind == TokenKind::Identifier);
        let ends = bounds.filter_map(|at| Some((at, closed(&all, at + 1, &word)?)));
        let named = ends.filter_map(|(at, end)| Some((declared(&all, end, &word)?, at, end)));
        named.map(|(name, at, end)| (name.to_string(), all[at].range.start..all[end - 1].range.end)).collect()
    }

    fn numbers_of(&self, bounds: &Range<usize>) -> Option<Vec<i64>> {
        let text = self.text().get(bounds.clone())?;
        let arguments = text.split_once('(')?.1.strip_suffix(')')?;
        let mut depth = 0_i32;
        let parts = arguments.split(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        });
        parts.map(|part| self.number(part.trim(), bounds.start, MAX_DEPTH)).collect()
    }

    /// The value of an expression, also where its macros are not used alone.
    fn number(&self, expression: &str, at: usize, depth: usize) -> Option<i64> {
        let known = self.evaluate(expression, at);
        if known.is_some() || depth == 0 {
            return known;
        }
        let name = identifiers(expression).find_map(|name| Some((name, self.definition_of(name)?)));
        let (name, value) = name?;
        let all: Vec<Token> = tokens(expression);
        let words = all.iter().map(|token| match &expression[token.range.clone()] {
            word if word == name => format!("({value})"),
            word => word.to_string(),
        });
        self.number(&words.collect::<Vec<_>>().join(" "), at, depth - 1)
    }

    /// What the only `#define` of a name in the text says.
    fn definition_of(&self, name: &str) -> Option<&str> {
        let definitions = self.text().lines().filter_map(|line| {
            let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?.trim_start();
            rest.strip_prefix(name).filter(|value| value.starts_with([' ', '\t']))
        });
        let mut definitions = definitions.map(|value| value.split("//").next().unwrap_or("").trim());
        definitions.next().filter(|_| definitions.next().is_none())
    }
}

/// The index after the parenthesis that closes the one at an index.
fn closed<'t>(all: &[Token], at: usize, word: &dyn Fn(usize) -> &'t str) -> Option<usize> {
    let mut depth = 0_usize;
    for at in at..all.len() {
        match word(at) {
            "(" => depth += 1,
            ")" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (word(at) == ")").then_some(at + 1);
        }
    }
    None
}

/// The name of the function whose head goes on at an index: the one before its parameters. Directives and attributes may stand before.
fn declared<'t>(all: &[Token], mut at: usize, word: &dyn Fn(usize) -> &'t str) -> Option<&'t str> {
    let is_attribute = |at: usize| word(at).starts_with("__");
    while let Some(token) = all.get(at) {
        at = match (token.kind, word(at)) {
            (TokenKind::Identifier, _) if word(at + 1) == "(" && !is_attribute(at) => return Some(word(at)),
            (TokenKind::Identifier, _) if word(at + 1) == "(" => closed(all, at + 1, word)?,
            (TokenKind::Identifier | TokenKind::Directive, _) => at + 1,
            (_, "*" | "&" | "::" | "<" | ">" | ",") => at + 1,
            _ => return None,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, numbers: &[u32]) -> Option<(String, usize)> {
        let tree = SyntaxTree::example("a.cu", text);
        let range = tree.bounds_of("k", numbers)?;
        Some((text[range.clone()].to_string(), text[..range.start].matches('\n').count()))
    }

    #[test]
    fn bounds_may_stand_on_a_declaration() {
        let text = "__global__ void __launch_bounds__(256) other(int *a);\n\
                    __global__ __launch_bounds__(1024, 1) void k(int *a);\n__global__ void k(int *a) { a[0] = 1; }\n";
        assert_eq!(found(text, &[1024, 1]), Some(("__launch_bounds__(1024, 1)".into(), 1)));
        assert_eq!((found(text, &[256]), found(text, &[1024])), (None, None));
        // Two that are alike, and one whose number the text does not show.
        assert_eq!(found(&format!("{text}{text}"), &[1024, 1]), None);
        let unknown = "template <int N> __global__ __launch_bounds__(N) void k(float *a);\n";
        assert_eq!(found(&format!("{text}{unknown}"), &[1024, 1]), None);
    }

    #[test]
    fn the_branch_that_was_compiled_has_the_numbers() {
        let text = "#define WIDE 1024 // threads\n#define HALF WIDE / 2\n#if OLD\n__global__ __launch_bounds__(HALF, 2)\n#else\n\
                    __global__ __launch_bounds__(WIDE, 1)\n#endif\nvoid k(int *a) { a[0] = 1; }\n";
        assert_eq!(found(text, &[1024, 1]), Some(("__launch_bounds__(WIDE, 1)".into(), 5)));
        assert_eq!(found(text, &[512, 2]), Some(("__launch_bounds__(HALF, 2)".into(), 3)));
        assert_eq!(found(text, &[256, 2]), None);
    }

    #[test]
    fn bounds_are_of_the_next_function() {
        assert_eq!(found("__global__ void __launch_bounds__(64) a(int x) { k(x); }\n", &[64]), None);
        assert_eq!(found("// __launch_bounds__(64)\n__global__ void k(int x);\n", &[64]), None);
        assert_eq!(found("#define B __launch_bounds__(64)\n__global__ void B k(int x);\n", &[64]), None);
        let text = "__launch_bounds__(64) __cluster_dims__(2) static __global__ void k(int x);\n";
        assert!(found(text, &[64]).is_some());
    }
}
