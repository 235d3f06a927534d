//! Variables that macros may write, and those that another build may write where this one skips lines.

use std::ops::Range;

use super::operand::{WRITES, called};
use super::tokens::{TokenKind, tokens};
use super::{CompiledText, Expansion};

impl CompiledText {
    /// Whether code of a range that its text does not show may write a variable: what a macro became, or lines that were skipped.
    /// Whatever calls a function may write what it names. No where nothing is known: then no edit rests on the range.
    pub fn may_write(&self, text: &str, range: &Range<usize>, name: &str) -> bool {
        let all = self.joined(text, range).unwrap_or_default();
        all.into_iter().any(|(place, compiled)| {
            let own = text.get(place).unwrap_or("");
            if Expansion::of(own, compiled).is_faithful() {
                return false;
            }
            writes(if compiled.is_empty() { own } else { compiled }, name)
        })
    }
}

/// Whether code has a name and an effect.
fn writes(code: &str, name: &str) -> bool {
    let all = tokens(code);
    let word = |range: &Range<usize>| code.get(range.clone()).unwrap_or("");
    let has_name = all.iter().any(|it| it.kind == TokenKind::Identifier && word(&it.range) == name);
    let has_effect = || all.iter().any(|it| WRITES.contains(&word(&it.range)) || word(&it.range).starts_with("asm"));
    has_name && (has_effect() || !called(code).is_empty())
}

#[cfg(test)]
mod tests {
    use crate::as_compiled::compiled_string;

    fn may_write(body: &str, macros: &str) -> bool {
        let text = format!("{macros}\nvoid f(int n) {body}\n");
        compiled_string(&text, &[], &|_| true).may_write(&text, &(text.rfind("(int n").unwrap()..text.len() - 1), "n")
    }

    #[test]
    fn macros_write_what_they_name_beside_an_effect() {
        for macros in [
            "#define STEP() n /= 2",
            "#define STEP() do { --n; } while (0)",
            "#define STEP() next(n)",
            "#define STEP() asm(\"add %0, %0, 1;\" : \"+r\"(n))",
            "#define STEP() for (int n = 0; n < 3; n++) g()",
        ] {
            assert!(may_write("{ STEP(); }", macros), "{macros}");
        }
        for macros in ["#define STEP() (n + 1)", "#define STEP() m++", "#define STEP()"] {
            assert!(!may_write("{ STEP(); }", macros), "{macros}");
        }
        assert!(!may_write("{ n = LENGTH; }", "#define LENGTH 4"));
    }
}
