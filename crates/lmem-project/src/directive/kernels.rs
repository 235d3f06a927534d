//! Kernel declarations in a text, found without a compiler: a budget above a kernel needs its name.

use std::ops::Range;

use lmem_base::source::Span;
use lmem_unit::MappedText;

use super::code::{Code, all_branches, begins_no_call, find, word_at, word_start};

/// A kernel as declared in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredKernel {
    /// Without namespaces and template arguments; in PTX, the mangled name.
    pub name: String,
    pub span: Span,
}

/// All kernels declared in a text.
pub fn declared_kernels(text: &MappedText) -> Vec<DeclaredKernel> {
    in_range(&Code::of(text.as_str()), 0..text.as_str().len(), text)
}

/// The names of the kernels that a text defines with a body, whatever conditions are around them: one that has several
/// definitions is named by each.
pub fn defined_kernels(text: &str) -> Vec<String> {
    definitions(text).into_iter().filter_map(|(name, _)| text.get(name).map(str::to_string)).collect()
}

/// Where these definitions stand in the text, each from its name on.
pub fn kernel_definitions(text: &str) -> Vec<Range<usize>> {
    definitions(text).into_iter().map(|(name, end)| name.start..end).collect()
}

/// The name of each kernel that has a body, and where that ends.
fn definitions(text: &str) -> Vec<(Range<usize>, usize)> {
    let code = all_branches(text);
    let names = names(&code, &(0..code.len()), b"__global__", name_of_function).into_iter();
    names.filter_map(|name| Some((name.clone(), end_of_body(&code, name.end)?))).collect()
}

/// The end of the body that follows the parameters of a function, which follow its name. Braces of several branches may not
/// pair: then it ends with the text.
fn end_of_body(code: &[u8], behind_name: usize) -> Option<usize> {
    let behind = closing(code, find(code, behind_name, b"(")?, (b'(', b')'))?;
    let blank = code.get(behind..)?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let open = Some(behind + blank).filter(|open| code.get(*open) == Some(&b'{'))?;
    Some(closing(code, open, (b'{', b'}')).unwrap_or(code.len()))
}

/// The kernels declared in a range of the text.
pub(super) fn in_range(code: &Code<'_>, range: Range<usize>, text: &MappedText) -> Vec<DeclaredKernel> {
    let names = names(code.plain(), &range, b"__global__", name_of_function);
    let of_ptx = || self::names(code.plain(), &range, b".entry", name_behind);
    let names = if names.is_empty() { of_ptx() } else { names };
    let kernel = |at: Range<usize>| {
        let name = code.plain().get(at.clone()).and_then(|name| std::str::from_utf8(name).ok())?;
        Some(DeclaredKernel { name: name.to_string(), span: text.span(at)? })
    };
    names.into_iter().filter_map(kernel).collect()
}

/// The words of a macro call: one of them may be the name of the kernel that it expands to.
pub(super) fn words_of_call(code: &Code<'_>, range: Range<usize>) -> Vec<String> {
    let call = code.plain().get(range).unwrap_or_default();
    let call = call.split(|byte| *byte == b'{').next().unwrap_or_default();
    super::code::words(call).map(str::to_string).collect()
}

fn names(
    code: &[u8],
    range: &Range<usize>,
    mark: &[u8],
    name: fn(&[u8], usize) -> Option<Range<usize>>,
) -> Vec<Range<usize>> {
    let limited = &code[..range.end.min(code.len())];
    let mut names = Vec::new();
    let mut from = range.start;
    while let Some(at) = find(limited, from, mark) {
        from = at + mark.len();
        names.extend(name(limited, from).filter(|name| !name.is_empty()));
    }
    names
}

/// The word before the parameter list, which is the first pair of parentheses that is not an attribute's.
fn name_of_function(code: &[u8], from: usize) -> Option<Range<usize>> {
    let mut at = from;
    loop {
        at += code.get(at..)?.iter().position(|byte| matches!(byte, b'(' | b';' | b'{'))?;
        if code[at] != b'(' {
            return None;
        }
        let end = at - code[..at].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
        let start = word_start(code, end, b'_');
        if !begins_no_call(std::str::from_utf8(&code[start..end]).unwrap_or("")) {
            return Some(start..end);
        }
        at = closing(code, at, (b'(', b')'))?;
    }
}

/// Behind the bracket that closes the one at an offset.
fn closing(code: &[u8], open: usize, (opening, closing): (u8, u8)) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(open) {
        if *byte == opening {
            depth += 1;
        } else if *byte == closing {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

fn name_behind(code: &[u8], from: usize) -> Option<Range<usize>> {
    let blank = code.get(from..)?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let start = from + blank;
    Some(start..start + word_at(code, start).len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::SourceFile;

    fn kernels(text: &str) -> Vec<String> {
        let kernels = declared_kernels(&MappedText::from_file(&SourceFile::from_text("a.cu", text)));
        kernels.into_iter().map(|kernel| kernel.name).collect()
    }

    #[test]
    fn names_stand_before_parameters() {
        let text = "extern \"C\" __global__ void one(int a) { if (a) {} }\n// __global__ void none()\ntemplate <int N>\n\
                    __global__ void __launch_bounds__(N * (2)) two(float* x);\n__global__ __attribute__((used)) void\nthree (int a) {}";
        assert_eq!(kernels(text), ["one", "two", "three"]);
        assert_eq!(kernels(".version 8.0\n.visible .entry _Z4meanPf(\n)\n{ }"), ["_Z4meanPf"]);
        assert_eq!(kernels("__device__ void f() {}"), [""; 0]);
    }

    #[test]
    fn kernels_are_named_by_their_definitions() {
        let text = "#define __global__X\n__global__ void one(int n);\n__global__ void one(int n) { f(n); }\n\
                    // __global__ void comment() {}\ntemplate <int N>\n__global__ void __launch_bounds__(N, (2)) two(float *p) {}\n\
                    #if 0\nextern \"C\" __global__ void three() { }\n#else\n__global__ void one() {}\n#endif\n";
        assert_eq!(defined_kernels(text), ["one", "two", "three", "one"]);
        assert!(defined_kernels("__global__ void broken(").is_empty());
        let whole =
            |text: &str| kernel_definitions(text).into_iter().map(|it| text[it].to_string()).collect::<Vec<_>>();
        assert_eq!(whole("__global__ void f(int n) { if (n) { g(); } } int x;"), ["f(int n) { if (n) { g(); } }"]);
        assert_eq!(whole("__global__ void f() { {"), ["f() { {"]);
    }

    #[test]
    fn broken_code_ends_nothing() {
        for text in [
            "__global__",
            "__global__ (",
            "__global__ void f",
            "__global__ __launch_bounds__(",
            ".entry",
            ".entry (",
            "__global__ é(",
        ] {
            kernels(text);
            assert!(defined_kernels(text).is_empty(), "{text}");
        }
    }
}
