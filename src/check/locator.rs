//! Finds the place of a compiler's message in the files that the user edits.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use lmem_base::source::{SourceFile, Span, normalize};
use lmem_unit::{CompilerMessage, MappedText, STRING_NAME, TranslationUnit, UnitCode};
use nv_code::PtxModule;

/// Places of the messages of one unit. A file may have thousands of warnings: it is read once.
pub struct Locator<'a> {
    unit: &'a TranslationUnit,
    root: &'a Path,
    ptx: Option<&'a str>,
    module: OnceCell<Option<PtxModule>>,
    files: RefCell<HashMap<PathBuf, Option<Rc<Lines>>>>,
    /// The unit's own text.
    own: OnceCell<Lines>,
}

/// A text with the starts of its lines.
struct Lines {
    text: MappedText,
    starts: Vec<usize>,
}

impl Lines {
    fn of(text: MappedText) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_str().as_bytes()).map(|at| at + 1);
        let starts = std::iter::once(0).chain(breaks).collect();
        Self { text, starts }
    }

    /// A line, or the token in it that a message points to.
    fn span(&self, line: u32, column: Option<&(u32, String)>) -> Option<Span> {
        let start = *self.starts.get((line as usize).max(1) - 1)?;
        let rest = self.text.as_str().get(start..)?;
        let content = rest.lines().next().unwrap_or("");
        let blank = content.len() - content.trim_start().len();
        // EDG prints the line with macros expanded, tabs replaced by spaces, and trailing comments removed. Its column
        // refers to that text.
        let is_printed = |printed: &str| {
            let rest = content
                .replace('\t', " ")
                .trim()
                .strip_prefix(printed.trim())
                .map(|rest| rest.trim_start().to_string());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("//") || rest.starts_with("/*"))
        };
        let trusted = column.filter(|(_, printed)| printed.is_empty() || is_printed(printed));
        let token = trusted.and_then(|(column, _)| content.char_indices().nth(*column as usize - 1)).map(|(at, _)| at);
        let range = match token {
            Some(at) => {
                let length =
                    content[at..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(content.len() - at);
                let first = content[at..].chars().next().map_or(0, char::len_utf8);
                at..at + length.max(first)
            }
            None => blank..content.trim_end().len().max(blank),
        };
        self.text.span(start + range.start..start + range.end)
    }
}

impl<'a> Locator<'a> {
    pub fn new(unit: &'a TranslationUnit, root: &'a Path, ptx: Option<&'a str>) -> Self {
        Self { unit, root, ptx, module: OnceCell::new(), files: RefCell::default(), own: OnceCell::new() }
    }

    /// The place of a message, if that is in the user's files.
    pub fn locate(&self, message: &CompilerMessage) -> Option<Span> {
        let (name, line) = message.place.as_ref()?;
        if message.compiler == "ptxas" {
            return match &self.unit.code {
                UnitCode::Ptx { text, .. } => self.own(text).span(*line, None),
                _ => self.line_of_ptx(*line),
            };
        }
        self.line_of_file(name, *line, message.column.as_ref())
    }

    fn own(&self, text: &MappedText) -> &Lines {
        self.own.get_or_init(|| Lines::of(text.clone()))
    }

    /// A line of a file or of the unit's own text, by the compiler's name for it.
    fn line_of_file(&self, name: &str, line: u32, column: Option<&(u32, String)>) -> Option<Span> {
        let path = normalize(&self.unit.base.join(name));
        if let UnitCode::CudaText { text, options } = &self.unit.code {
            let program = options.program_name.as_deref().unwrap_or(STRING_NAME);
            if name == program || path == normalize(&self.unit.base.join(program)) {
                return self.own(text).span(line, column);
            }
        }
        self.file(path)?.span(line, column)
    }

    fn file(&self, path: PathBuf) -> Option<Rc<Lines>> {
        let mut files = self.files.borrow_mut();
        let read = |path: &PathBuf| {
            let file = SourceFile::read_named(path, self.root, &[self.root, &self.unit.base])?;
            Some(Rc::new(Lines::of(MappedText::from_file(&file))))
        };
        files.entry(path).or_insert_with_key(read).clone()
    }

    /// The source line of a PTX instruction, which is mostly inline assembly.
    fn line_of_ptx(&self, line: u32) -> Option<Span> {
        let module = self.module.get_or_init(|| PtxModule::parse(self.ptx?).ok()).as_ref()?;
        let function = module.function_at(line)?;
        let location = function.instructions[function.instruction_at(line)?].location?;
        function.location_chain(location as usize).into_iter().find_map(|location| {
            let name = module.files.get(&location.file)?;
            self.line_of_file(name, location.line, Some(&(location.column.max(1), String::new())))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(source: &str, line: u32, column: Option<(u32, &str)>) -> Option<String> {
        let text = MappedText::from_file(&SourceFile::from_text("a.cu", source));
        let column = column.map(|(column, printed)| (column, printed.to_string()));
        Lines::of(text).span(line, column.as_ref()).map(|span| format!("{span:?}"))
    }

    #[test]
    fn columns_are_used_when_the_printed_line_is_the_source_line() {
        let source = "int a;\n\tint y = foo + 2;\n";
        assert_eq!(span(source, 2, Some((10, " int y = foo + 2;"))).as_deref(), Some("a.cu:2:10+3"));
        assert_eq!(span(source, 2, Some((10, " int z = bar;"))).as_deref(), Some("a.cu:2:2+16"));
        assert_eq!(span("int y = foo; // c", 1, Some((9, "int y = foo;"))).as_deref(), Some("a.cu:1:9+3"));
        assert_eq!(span(source, 2, None).as_deref(), Some("a.cu:2:2+16"));
        assert_eq!(span(source, 9, None), None);
        assert_eq!(span(source, 2, Some((99, ""))).as_deref(), Some("a.cu:2:2+16"));
    }
}
