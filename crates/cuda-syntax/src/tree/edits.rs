//! Edits of the compiled text, translated to edits of the user's file.
//!
//! An edit needs two conditions. The bytes of the file and of the text must be equal: a macro's body has no syntax
//! here, and escapes in a literal are not edited. And the function around the edit must be what the compiler compiled:
//! a macro may hide a jump, a write, or code that is not compiled at all. Statements that a macro hides may stand beside an edit
//! that shares no name with them.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::ast::{Call, Field, Kind, Node};
use crate::identifiers::is_identifier_character;
use lmem_base::diagnostic::Edit;
use lmem_base::source::Span;
use lmem_unit::CompiledText;

use crate::tree::functions::enclosing_function;
use crate::tree::syntax_tree::SyntaxTree;

/// What macros, and lines that were skipped, hide in a function.
#[derive(Debug)]
pub(super) struct HiddenPlaces {
    /// In order.
    places: Vec<Range<usize>>,
    /// Whether something of it leaves the function.
    leaves: bool,
}

impl SyntaxTree {
    /// Replaces a range by other text.
    pub fn replacement(&self, range: Range<usize>, replacement: &str) -> Option<Edit> {
        let context = self.context(range.start).filter(|_| !self.has_attribute_at(&range))?;
        (!self.has_skipped(&range)).then_some(())?;
        self.compiled().compiled(self.text(), range.clone())?;
        Some(Edit { context, ..self.exchange(range, replacement)? })
    }

    /// Replaces a range by a pragma or an attribute. The text in the file must match, and nothing more: such an edit
    /// does not change what is computed, whatever macros are around it.
    pub fn neutral_replacement(&self, range: Range<usize>, replacement: &str) -> Option<Edit> {
        self.exchange(range, replacement)
    }

    fn exchange(&self, range: Range<usize>, replacement: &str) -> Option<Edit> {
        let span = self.span(range.clone())?;
        let is_same = span.text() == self.text().get(range)? && !span.text().is_empty();
        (is_same && self.can_hold(&span, replacement)).then(|| Edit::alone(span, replacement))
    }

    /// Inserts text at an offset.
    pub fn insertion(&self, offset: usize, text: &str) -> Option<Edit> {
        let context = self.context(offset).filter(|_| self.attribute_before(offset).is_none())?;
        let mut span = self.verbatim(offset)?;
        span.end = span.start;
        self.can_hold(&span, text).then(|| Edit { span, replacement: text.to_string(), context })
    }

    /// The function or namespace-scope declaration around an offset, if it was compiled as written and parsed
    /// completely.
    fn context(&self, offset: usize) -> Option<Span> {
        let range = self.surroundings(offset)?;
        // Whether hidden code shares a name with the edit is asked when all of its parts are known.
        let hidden = self.hidden_in(&range)?;
        let next = hidden.places.partition_point(|place| place.end <= offset);
        let is_in_macro = hidden.places.get(next).is_some_and(|place| place.start < offset);
        // Who leaves a kernel, leaves nobody a value.
        let leaves = hidden.leaves && !self.is_within_kernel(offset);
        let is_within_all = self.heads_in(&range).all(|head| self.is_in_block_behind(head, offset));
        self.span(range).filter(|_| !is_in_macro && !leaves && is_within_all)
    }

    /// What is hidden in the function of a range; `None` where no edit can stand beside it. Each part of an edit asks.
    fn hidden_in(&self, range: &Range<usize>) -> Option<Rc<HiddenPlaces>> {
        let key = (range.start, range.end);
        if let Some(known) = self.memory.hidden.borrow().get(&key) {
            return known.clone();
        }
        let hidden = self.compiled().hidden_statements(self.text(), range);
        let found = hidden.map(|hidden| {
            let places = hidden.iter().map(|hidden| hidden.range.clone()).collect();
            Rc::new(HiddenPlaces { places, leaves: hidden.iter().any(|hidden| hidden.leaves) })
        });
        self.memory.hidden.borrow_mut().insert(key, found.clone());
        found
    }

    /// Why what was compiled ends all edits of the function around an offset; `None` if it does not.
    pub fn obstacle(&self, offset: usize) -> Option<String> {
        let range = self.surroundings(offset)?;
        let own = || self.heads_in(&range).find(|head| !self.is_in_block_behind(head, offset)).cloned();
        let found = self.compiled().obstacle(self.text(), &range).or_else(own)?;
        if found.is_empty() && !matches!(self.compiled(), CompiledText::Known(_)) {
            return Some("what was compiled of its function is not known".to_string());
        }
        let own = self.text().get(found.clone())?;
        let line = self.text().get(..found.start)?.matches('\n').count() + 1;
        let line = self.span(found.start..found.start + 1).map_or(line, |span| span.start_line());
        let name = own.split(|c: char| !is_identifier_character(c)).next().unwrap_or("");
        let is_invocation =
            own.len() == name.len() || own[name.len()..].trim_start().starts_with('(') && own.ends_with(')');
        Some(match name {
            "" => format!("a macro (line {line}) hides code"),
            "if" | "ifdef" | "ifndef" | "elif" | "else" => format!("an `#if` (line {line}) hides code"),
            name if is_invocation => format!("the macro `{name}` (line {line}) hides code"),
            _ => format!("an `#if` or a macro (line {line}) hides code"),
        })
    }

    fn surroundings(&self, offset: usize) -> Option<Range<usize>> {
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
        Some(start..end)
    }

    /// Inserts a line before the line that starts at an offset, with the same indentation and the file's line ending.
    /// In a literal the line ending may be `\n\` and what follows it.
    pub fn line_before(&self, offset: usize, line: &str) -> Option<Edit> {
        let context = self.context(offset)?;
        Some(Edit { context, ..self.neutral_line_before(offset, line)? })
    }

    /// Inserts a line that does not change what is computed: a pragma before a loop.
    pub fn neutral_line_before(&self, offset: usize, line: &str) -> Option<Edit> {
        let before = self.text().get(..offset).filter(|_| self.attribute_before(offset).is_none())?;
        let line_start = before.rfind('\n').map(|at| at + 1).filter(|start| before[*start..].trim().is_empty())?;
        let mut span = self.verbatim(offset)?;
        let context = span.clone();
        let end_of_line = if before[..line_start].ends_with("\r\n") { line_start - 2 } else { line_start - 1 };
        let end_span = self.span(end_of_line..end_of_line + 1)?;
        let file = Arc::clone(&span.file);
        let ending = file.text().get(end_span.start..span.start).filter(|_| end_span.file.path == file.path)?;
        // Quotes between two adjacent literals are not a line ending.
        let is_ending = ending.len() <= MAX_LINE_ENDING
            && ending.chars().all(|c| c.is_whitespace() || matches!(c, '\\' | 'n' | 'r' | 't'));
        span.end = span.start;
        (is_ending && self.can_hold(&span, line)).then(|| Edit {
            replacement: format!("{line}{ending}"),
            span,
            context,
        })
    }

    /// The same line before what stands behind other code on a line, as the loop of `if (ok) for (…)`: it gets a line of its own.
    pub fn neutral_line_within(&self, offset: usize, line: &str) -> Option<Edit> {
        /// What the loop is indented by, as it stands in the code before it.
        const INDENTATION: &str = "    ";
        let before = self.text().get(..offset).filter(|_| self.attribute_before(offset).is_none())?;
        let blanks = before.len() - before.trim_end_matches([' ', '\t']).len();
        let ending = self.line_ending(offset)?;
        let code = &before[..before.len() - blanks];
        let is_else = code.strip_suffix("else").is_some_and(|rest| !rest.ends_with(is_identifier_character));
        let is_behind_code = is_else || code.ends_with([')', '{', ';']);
        let edit = self.exchange(offset - blanks..offset, line).filter(|_| blanks > 0 && is_behind_code)?;
        Some(Edit { replacement: format!("{ending}{INDENTATION}{line}{ending}{INDENTATION}"), ..edit })
    }

    /// The text in the file from the end of the previous line to the first character of an offset's line. In a literal
    /// it may be `\n\` and what follows it.
    pub fn line_ending(&self, offset: usize) -> Option<String> {
        let before = self.text().get(..offset)?;
        let line_start = before.rfind('\n').map(|at| at + 1)?;
        let line = &self.text()[line_start..];
        let first = line_start + (line.len() - line.trim_start_matches([' ', '\t']).len());
        let edit = self.neutral_line_before(first, "")?;
        Some(edit.replacement)
    }

    /// Replaces a range by lines of code. Line endings may contain escapes; the code itself must not.
    pub fn lines_instead(&self, range: Range<usize>, lines: &str, ending: &str) -> Option<Edit> {
        let plain = lines.replace(ending, " ");
        let mut edit = match range.is_empty() {
            true => self.insertion(range.start, &plain)?,
            false => self.replacement(range, &plain)?,
        };
        edit.replacement = lines.to_string();
        Some(edit)
    }

    /// The whole line of a statement that is alone on its line, else the statement.
    pub fn whole_line(&self, range: Range<usize>) -> Range<usize> {
        let text = self.text();
        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
        let is_alone = text[start..range.start].trim().is_empty() && text[range.end..end].trim().is_empty();
        // A literal may spell the line ending in another way.
        let is_same = self.span(start..end).is_some_and(|span| span.text() == &text[start..end]);
        if is_alone && is_same { start..end } else { range }
    }

    /// The range of statements with what would stay behind them as blanks: the whole lines, else the blanks up to what
    /// stands beside them.
    pub fn without_blanks(&self, range: Range<usize>) -> Range<usize> {
        let text = self.text();
        let whole = self.whole_line(range.clone());
        if whole != range {
            return whole;
        }
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let after = text.as_bytes()[range.end..].iter().take_while(|byte| is_blank(byte)).count();
        let before = text.as_bytes()[..range.start].iter().rev().take_while(|byte| is_blank(byte)).count();
        match text[range.end + after..].starts_with(['\n', '\r']) {
            true => range.start - before..range.end + after,
            false => range.start..range.end + after,
        }
    }

    /// The span of the byte at an offset, if the file has the same byte.
    fn verbatim(&self, offset: usize) -> Option<lmem_base::source::Span> {
        let span = self.span(offset..offset + 1)?;
        (span.text() == self.text().get(offset..offset + 1)?).then_some(span)
    }

    /// Whether the text can stand there: it must not end a literal, nor contain a backslash, which is an escape there,
    /// and CUDA's names in it must be CUDA's.
    fn can_hold(&self, span: &lmem_base::source::Span, text: &str) -> bool {
        let is_rust = span.file.path.extension().is_some_and(|ending| ending == "rs");
        span.file.is_utf8() && !(is_rust && text.contains(['"', '\\'])) && self.means_cuda(span.text(), text)
    }

    /// Whether the syntax around a node is parsed without errors and is not a macro argument. A macro argument cannot
    /// hold directives, and the macro may use it in other ways.
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

    /// Whether an offset is in a kernel, so that an edit there changes no other function.
    pub fn is_within_kernel(&self, offset: usize) -> bool {
        let node = self.node_at(offset);
        let Some(function) = node.and_then(enclosing_function) else { return false };
        let body = function.field(Field::Body).map_or(function.end_byte(), |body| body.start_byte());
        let head = self.text().get(function.start_byte()..body).unwrap_or("");
        head.contains("__global__") && !function.children().any(Node::is_error)
    }
}

/// The parameter list of a function.
fn parameters(function: Node<'_>) -> Option<Node<'_>> {
    let mut node = function.field(Field::Declarator)?;
    while node.kind() != Kind::FunctionDeclarator {
        node = node.field(Field::Declarator).or_else(|| node.named_child(0))?;
    }
    node.field(Field::Parameters)
}

/// The namespace-scope declaration that contains a node.
fn top_level(node: Node<'_>) -> Node<'_> {
    let is_within = |node: &Node<'_>| !matches!(node.kind(), Kind::TranslationUnit | Kind::DeclarationList);
    node.ancestors().skip(1).take_while(is_within).last().unwrap_or(node)
}

/// Longer than any line ending with its indentation: the gap may contain blank lines.
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
