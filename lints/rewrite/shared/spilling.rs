//! The pragma that makes ptxas spill to shared memory.

use lmem_base::diagnostic::{ADVICE_BEFORE, Applicability, Edit, Suggestion};
use lmem_base::source::{Span, has_ending};
use lmem_frame::KernelFrame;
use nv_code::shared_spilling::{PRAGMA, may_spill};

use super::residency::must_be_resident;
use crate::framework::LintContext;
use crate::rewrite::Rewrite;

/// Inserts the pragma as the kernel's first statement if ptxas accepts it. Older toolkits ignore it, which the
/// recompilation shows. `advice` is a better remedy without an edit; the title names it first.
pub fn suggestion(cx: &LintContext<'_>, advice: Option<&str>) -> Option<Suggestion> {
    let function = cx.unit.function(&cx.frame.mangled)?;
    let adds_shared = cx.unit.launches().dynamic_shared(&cx.frame.name) != Some(0);
    let may_spill = may_spill(function, &cx.unit.facts.ptx) && !cx.unit.is_relocatable() && !adds_shared;
    let may_spill = may_spill && !must_be_resident(cx);
    let edit = first_statement(cx.frame, &statement()).filter(|_| may_spill)?;
    let what = "let `ptxas` spill to shared memory";
    let title = advice.map_or(what.to_string(), |advice| format!("{advice}{ADVICE_BEFORE}{what}"));
    Some(Rewrite::new(Applicability::MaybeIncorrect, vec![edit]).within_kernel(true).suggestion(title))
}

/// The statement with the pragma.
pub fn statement() -> String {
    format!("asm volatile (\".pragma \\\"{PRAGMA}\\\";\");")
}

/// Inserts a statement after a kernel's opening brace, with the indentation of the next statement. Not in Rust code,
/// where its quotes would end the literal.
fn first_statement(frame: &KernelFrame, statement: &str) -> Option<Edit> {
    let brace = frame.body.as_ref().filter(|brace| brace.text() == "{" && !has_ending(&brace.file.path, &["rs"]))?;
    let (at, blank) = place(brace.file.text().get(brace.end..)?)?;
    let span = Span::new(&brace.file, brace.end + at..brace.end + at);
    Some(Edit::alone(span, format!("{blank}{statement}")))
}

/// Where the first statement goes in the text after the brace, and what precedes it: the line ending and indentation of
/// the next line, if the brace's own line has no code.
fn place(behind: &str) -> Option<(usize, String)> {
    let line = behind.split('\n').next()?;
    let rest = line.trim();
    let at = line.trim_end_matches('\r').len();
    if rest.ends_with('\\') {
        return None;
    }
    if !(rest.is_empty() || rest.starts_with("//")) || line.len() == behind.len() {
        return Some((0, " ".to_string()));
    }
    let next = behind[line.len()..].trim_start();
    let blank = &behind[line.len()..behind.len() - next.len()];
    let indentation = &blank[blank.rfind('\n')? + 1..];
    let ending = if line.ends_with('\r') { "\r\n" } else { "\n" };
    Some((at, format!("{ending}{indentation}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_statement_has_a_line_of_its_own() {
        for (behind, expected) in [
            ("\n    int i;\n}", "\n    asm;\n    int i;\n}"),
            (" // note\r\n\r\n\tint i;\r\n}", " // note\r\n\tasm;\r\n\r\n\tint i;\r\n}"),
            (" int i; }", " asm; int i; }"),
            (" }", " asm; }"),
        ] {
            let (at, blank) = place(behind).unwrap();
            assert_eq!(format!("{}{blank}asm;{}", &behind[..at], &behind[at..]), expected);
        }
        assert_eq!(place(" // \\\n    int i;"), None);
    }
}
