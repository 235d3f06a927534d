//! Headers that other compilers read, too: `#define HD` in place of `__host__ __device__` makes a function one of plain C++, which knows
//! neither `sinpi` nor `__shared__`.

use lmem_base::diagnostic::{Edit, Suggestion};
use lmem_unit::{TokenKind, each_token};

/// Names that CUDA's compilers alone know, beside those that begin with two underscores.
const OWN_WORDS: [&str; 15] = [
    "blockDim",
    "blockIdx",
    "cospi",
    "cospif",
    "gridDim",
    "rcbrt",
    "rcbrtf",
    "rhypot",
    "rsqrt",
    "rsqrtf",
    "sincospi",
    "sincospif",
    "sinpi",
    "sinpif",
    "threadIdx",
];

/// Endings of files that CUDA's compilers alone read.
const CUDA_FILES: [&str; 2] = ["cu", "cuh"];

/// The macros that tell which compiler reads a text.
const TESTS: [&str; 4] = ["__CUDACC__", "__NVCC__", "__CUDA__", "__HIPCC__"];

/// The first word that only CUDA's compilers know, if the edits bring one into a function of a header that another compiler may read.
pub(super) fn word_of_cuda(suggestion: &Suggestion) -> Option<String> {
    // Few edits bring in such a word, and only for those the header is looked at.
    let found = suggestion.edits.iter().find_map(|edit| {
        let own = new_word(edit, &is_own_word).filter(|_| may_be_shared(edit));
        own.or_else(|| new_word(edit, &|word| word == "static").filter(|_| may_be_constexpr(edit)))
    });
    found.map(str::to_string)
}

/// Whether a word is one that CUDA's compilers alone know.
fn is_own_word(word: &str) -> bool {
    word.starts_with("__") || OWN_WORDS.contains(&word)
}

/// Whether another compiler may read what is edited, and a macro before the function may be `constexpr` there, or here in another
/// build: such a function has no static variables before C++23.
fn may_be_constexpr(edit: &Edit) -> bool {
    let is_macro = |word: &str| word.len() > 1 && !word.contains(|letter: char| letter.is_ascii_lowercase());
    let head = head(edit);
    let mut words = each_token(head).filter(|token| token.kind == TokenKind::Identifier);
    may_be_shared(edit) && words.any(|token| is_macro(&head[token.range]))
}

/// Whether another compiler may read what is edited: a header's code that is not `__device__` alone as it is written.
fn may_be_shared(edit: &Edit) -> bool {
    let file = &edit.span.file;
    let ending = file.path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
    if CUDA_FILES.contains(&ending) || ending == "rs" {
        return false;
    }
    let text = file.text();
    let is_tested = each_token(text).any(|token| {
        token.kind == TokenKind::Directive && TESTS.iter().any(|test| text[token.range.clone()].contains(test))
    });
    let head = head(edit);
    let is_own = head.contains("__device__") || head.contains("__global__");
    is_tested || !is_own || head.contains("__host__")
}

/// The text of the edited function before its body, whether the context has all of it or not.
fn head(edit: &Edit) -> &str {
    let text = edit.span.file.text();
    let body = text.get(edit.context.range()).and_then(|context| context.find('{')).unwrap_or(0);
    let head = text.get(..edit.context.start + body).unwrap_or("");
    &head[head.rfind([';', '}', '#']).map_or(0, |end| end + 1)..]
}

/// The first word of a kind that an edit brings in.
fn new_word<'a>(edit: &'a Edit, is_wanted: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    let words = |text: &str| -> Vec<std::ops::Range<usize>> {
        each_token(text).filter(|token| token.kind == TokenKind::Identifier).map(|token| token.range).collect()
    };
    let old = edit.span.text();
    let known: Vec<&str> = words(old).into_iter().map(|range| &old[range]).collect();
    let new = words(&edit.replacement).into_iter().map(|range| &edit.replacement[range]);
    new.into_iter().find(|word| is_wanted(word) && !known.contains(word))
}

#[cfg(test)]
mod tests {
    use lmem_base::diagnostic::Applicability;
    use lmem_base::source::{SourceFile, Span};

    use super::*;

    /// What an edit of `sin` in a text's function brings in.
    fn found(path: &str, text: &str, replacement: &str) -> Option<String> {
        let file = SourceFile::from_text(path, text);
        let at = text.find("sin").unwrap();
        let context = text.find("(double").unwrap()..text.rfind('}').unwrap() + 1;
        let edit =
            Edit { context: Span::new(&file, context), ..Edit::alone(Span::new(&file, at..at + 3), replacement) };
        word_of_cuda(&Suggestion::new("", Applicability::MachineApplicable, vec![edit]))
    }

    #[test]
    fn words_of_cuda_stay_out_of_what_other_compilers_read() {
        let of = |head: &str| format!("#pragma once\n{head} double f(double t) {{ return sin(t); }}\n");
        for (path, text) in [
            ("a.h", of("inline")),
            ("a.h", of("__host__ __device__ inline")),
            ("a.hpp", of("HD")),
            ("a.h", format!("#ifdef __CUDACC__\n#define __device__\n#endif\n{}", of("__device__"))),
            ("a.inl", of("struct A { __device__ void g(); };\ninline")),
        ] {
            assert_eq!(found(path, &text, "sinpi").as_deref(), Some("sinpi"), "{path} {text}");
            assert_eq!(found(path, &text, "__sinf").as_deref(), Some("__sinf"), "{path} {text}");
            assert_eq!(found(path, &text, "cos"), None, "{path} {text}");
        }
        // A function may be `constexpr` elsewhere only by a macro.
        assert_eq!(found("a.h", &of("HD inline"), "static").as_deref(), Some("static"));
        for (path, head) in [("a.h", "__host__ __device__ inline"), ("a.cuh", "HD inline")] {
            assert_eq!(found(path, &of(head), "static"), None, "{path} {head}");
        }
        for (path, text) in [
            ("a.cuh", of("HD")),
            ("a.cu", of("HD")),
            ("a.h", of("__device__")),
            ("a.h", of("static __device__ inline")),
        ] {
            assert_eq!(found(path, &text, "sinpi"), None, "{path} {text}");
        }
    }
}
