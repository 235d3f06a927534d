//! Edits of a text that the compiler read, as edits of the file that the user wrote.
//!
//! An edit is only made where the bytes of the file are those of the text: in a macro's body there is no syntax to find,
//! and what escapes in a literal stand for is not edited. And it is only made where the function around it is what the
//! compiler compiled: what a macro hides may jump, write, or not be there at all.

use std::ops::Range;
use std::sync::Arc;

use crate::ast::{Call, Field, Kind, Node};
use lmem_base::diagnostic::Edit;
use lmem_base::source::Span;

use crate::tree::functions::{enclosing_function, head_start};
use crate::tree::syntax_tree::SyntaxTree;

impl SyntaxTree {
    /// Other text in place of a range.
    pub fn replacement(&self, range: Range<usize>, replacement: &str) -> Option<Edit> {
        let context = self.context(range.start)?;
        self.compiled().compiled(self.text(), range.clone())?;
        Some(Edit { context, ..self.exchange(range, replacement)? })
    }

    /// The same where no more has to be true than that the text stands there: a pragma or an attribute in place of
    /// another changes nothing that is computed, whatever macros are around it.
    pub fn neutral_replacement(&self, range: Range<usize>, replacement: &str) -> Option<Edit> {
        self.exchange(range, replacement)
    }

    fn exchange(&self, range: Range<usize>, replacement: &str) -> Option<Edit> {
        let span = self.span(range.clone())?;
        let is_same = span.text() == self.text().get(range)? && !span.text().is_empty();
        (is_same && self.can_hold(&span, replacement)).then(|| Edit::alone(span, replacement))
    }

    /// Text before what stands at an offset.
    pub fn insertion(&self, offset: usize, text: &str) -> Option<Edit> {
        let context = self.context(offset)?;
        let mut span = self.verbatim(offset)?;
        span.end = span.start;
        self.can_hold(&span, text).then(|| Edit { span, replacement: text.to_string(), context })
    }

    /// The function around an offset, or the declaration outside of all functions, where the compiler compiled what it
    /// says and all of it is understood.
    fn context(&self, offset: usize) -> Option<Span> {
        let node = self.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
        let (start, end) = match enclosing_function(node) {
            Some(function) => {
                let body = function.field(Field::Body)?;
                let parameters = parameters(function)?;
                if body.has_error() || parameters.has_error() {
                    return None;
                }
                (parameters.start_byte().min(offset), body.end_byte())
            }
            None => {
                let item = top_level(node);
                (item.start_byte(), item.end_byte())
            }
        };
        let is_known = self.compiled().is_faithful(self.text(), &(start..end));
        Some(self.span(start..end)?).filter(|_| is_known)
    }

    /// A line before the one that an offset is the first of, as deep as that, with the file's own line ending: in a
    /// literal that may be `\n\` and what follows it.
    pub fn line_before(&self, offset: usize, line: &str) -> Option<Edit> {
        let context = self.context(offset)?;
        Some(Edit { context, ..self.neutral_line_before(offset, line)? })
    }

    /// The same for a line that changes nothing that is computed: a pragma before a loop.
    pub fn neutral_line_before(&self, offset: usize, line: &str) -> Option<Edit> {
        let before = self.text().get(..offset)?;
        let line_start = before.rfind('\n').map(|at| at + 1).filter(|start| before[*start..].trim().is_empty())?;
        let mut span = self.verbatim(offset)?;
        let context = span.clone();
        let end_of_line = if before[..line_start].ends_with("\r\n") { line_start - 2 } else { line_start - 1 };
        let end_span = self.span(end_of_line..end_of_line + 1)?;
        let file = Arc::clone(&span.file);
        let ending = file.text().get(end_span.start..span.start).filter(|_| end_span.file.path == file.path)?;
        // The quotes of two literals beside each other are no line ending.
        let is_ending = ending.len() <= MAX_LINE_ENDING
            && ending.chars().all(|c| c.is_whitespace() || matches!(c, '\\' | 'n' | 'r' | 't'));
        span.end = span.start;
        (is_ending && self.can_hold(&span, line)).then(|| Edit {
            replacement: format!("{line}{ending}"),
            span,
            context,
        })
    }

    /// What stands in the file between the end of the line before and the first character of the line of an offset: in
    /// a literal that may be `\n\` and what follows it.
    pub fn line_ending(&self, offset: usize) -> Option<String> {
        let before = self.text().get(..offset)?;
        let line_start = before.rfind('\n').map(|at| at + 1)?;
        let line = &self.text()[line_start..];
        let first = line_start + (line.len() - line.trim_start_matches([' ', '\t']).len());
        let edit = self.neutral_line_before(first, "")?;
        Some(edit.replacement)
    }

    /// Lines of code in a file: what ends them may be escapes, what they say must not be.
    pub fn lines_instead(&self, range: Range<usize>, lines: &str, ending: &str) -> Option<Edit> {
        let plain = lines.replace(ending, " ");
        let mut edit = match range.is_empty() {
            true => self.insertion(range.start, &plain)?,
            false => self.replacement(range, &plain)?,
        };
        edit.replacement = lines.to_string();
        Some(edit)
    }

    /// A statement with the line that it has for itself, else the statement.
    pub fn whole_line(&self, range: Range<usize>) -> Range<usize> {
        let text = self.text();
        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
        let is_alone = text[start..range.start].trim().is_empty() && text[range.end..end].trim().is_empty();
        // In a literal the end of a line may be spelled in another way.
        let is_same = self.span(start..end).is_some_and(|span| span.text() == &text[start..end]);
        if is_alone && is_same { start..end } else { range }
    }

    /// The byte at an offset, where the file has the same one.
    fn verbatim(&self, offset: usize) -> Option<lmem_base::source::Span> {
        let span = self.span(offset..offset + 1)?;
        (span.text() == self.text().get(offset..offset + 1)?).then_some(span)
    }

    /// A literal must not end in the middle, and a backslash there is an escape.
    fn can_hold(&self, span: &lmem_base::source::Span, text: &str) -> bool {
        let is_rust = span.file.path.extension().is_some_and(|ending| ending == "rs");
        span.file.is_utf8() && !(is_rust && text.contains(['"', '\\']))
    }

    /// Whether the syntax around a node is understood, and is not the argument of a macro, whose text is no place for
    /// directives and may be used in other ways.
    pub fn is_plain(&self, node: Node<'_>) -> bool {
        let is_macro = |node: Node<'_>| {
            let called = Call::of(node).and_then(Call::function);
            called.is_some_and(|called| !self.compiled().is_verbatim(&called.byte_range()))
        };
        let is_odd = |node: Node<'_>| node.is_error() || is_macro(node) || node.is_macro_definition();
        let function = node.enclosing(Kind::FunctionDefinition);
        let mut within = node.ancestors().take_while(|around| Some(*around) != function);
        !within.any(is_odd) && !function.is_some_and(is_odd)
    }

    /// Whether an offset lies in a kernel, so that an edit there changes no other function.
    pub fn is_within_kernel(&self, offset: usize) -> bool {
        let node = self.node_at(offset);
        let Some(function) = node.and_then(enclosing_function) else { return false };
        let body = function.field(Field::Body).map_or(function.end_byte(), |body| body.start_byte());
        let head = self.text().get(head_start(function)..body).unwrap_or("");
        head.contains("__global__") && !function.children().any(Node::is_error)
    }
}

/// The list of a function's parameters.
fn parameters(function: Node<'_>) -> Option<Node<'_>> {
    let mut node = function.field(Field::Declarator)?;
    while node.kind() != Kind::FunctionDeclarator {
        node = node.field(Field::Declarator).or_else(|| node.named_child(0))?;
    }
    node.field(Field::Parameters)
}

/// The declaration at file level, or in a namespace, that a node is part of.
fn top_level(node: Node<'_>) -> Node<'_> {
    let is_within = |node: &Node<'_>| !matches!(node.kind(), Kind::TranslationUnit | Kind::DeclarationList);
    node.ancestors().skip(1).take_while(is_within).last().unwrap_or(node)
}

/// Longer than any line ending with an indentation: blank lines stand between.
const MAX_LINE_ENDING: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;
    use lmem_base::source::{SourceFile, Span};
    use lmem_unit::MappedText;

    fn tree(name: &str, text: &str) -> SyntaxTree {
        SyntaxTree::example(name, text)
    }

    #[test]
    fn lines_are_inserted_with_indentation_and_line_ending() {
        for (text, expected) in [
            ("{\n    for (;;);\n}", "{\n    #pragma unroll\n    for (;;);\n}"),
            ("{\r\n\tfor (;;);\r\n}", "{\r\n\t#pragma unroll\r\n\tfor (;;);\r\n}"),
            ("{\nfor (;;);\n}", "{\n#pragma unroll\nfor (;;);\n}"),
        ] {
            let tree = tree("a.cu", text);
            let edit = tree.line_before(text.find("for").unwrap(), "#pragma unroll").unwrap();
            assert_eq!(apply(text, &[&edit]).as_deref(), Some(expected));
        }
        let text = "{ for (;;); }";
        assert_eq!(tree("a.cu", text).line_before(2, "#pragma unroll"), None);
    }

    #[test]
    fn lines_of_escaped_literals_end_as_the_others() {
        let rust = "\"{\\n\\\n    for (;;);\\n\"";
        let file = SourceFile::from_text("a.rs", rust);
        let mut text = MappedText::default();
        text.push("{", Span::new(&file, 1..2));
        text.push("\n", Span::new(&file, 2..4));
        let start = rust.find("for").unwrap();
        text.push("for (;;);", Span::new(&file, start..start + 9));
        let tree = SyntaxTree::new(text.clone(), lmem_unit::CompiledText::Unknown);
        let edit = tree.neutral_line_before(2, "#pragma unroll").unwrap();
        assert_eq!(edit.replacement, "#pragma unroll\\n\\\n    ");
        assert_eq!(text.edited(&[&edit]).as_deref(), Some("{\n#pragma unroll\nfor (;;);"));
        assert_eq!(tree.insertion(2, "_Pragma(\"unroll\") "), None);
    }

    #[test]
    fn arguments_of_macros_are_no_place_for_edits() {
        let text = "#define CHECK(c) if (c) f(c)\n__global__ void k(int n) { CHECK(n + 1); f([&] { return n; }); }";
        let tree = tree("a.cu", text);
        let at = |needle: &str| {
            let start = text.find(needle).unwrap();
            tree.root().unwrap().named_descendant_for_byte_range(start, start + 1).unwrap()
        };
        assert!(!tree.is_plain(at("n + 1")) && tree.is_plain(at("n; }")));
        assert!(tree.is_within_kernel(text.rfind("CHECK").unwrap()));
    }
}
