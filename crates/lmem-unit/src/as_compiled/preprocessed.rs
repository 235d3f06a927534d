//! Splits the preprocessor's output (`.ii`) by source file.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use lmem_base::source::normalize;
use nv_code::unescape_path;

use crate::as_compiled::tokens::{TokenKind, each, of_part};

/// The result of one inclusion of a file: what was compiled of it, by source line.
pub type Inclusion<'t> = BTreeMap<u32, Line<'t>>;

/// What was compiled of a line, as the parts of the preprocessed text that it stands in. Its tokens are cut anew when they are asked for:
/// kept, each would take fifty times its text.
#[derive(Default)]
pub struct Line<'t> {
    parts: Vec<Part<'t>>,
}

/// From the first of a line's tokens to the last.
struct Part<'t> {
    text: &'t str,
    begins_with_directive: bool,
}

impl<'t> Line<'t> {
    /// The tokens, and directives with normalized blanks.
    pub fn words(&self) -> impl Iterator<Item = Cow<'t, str>> + '_ {
        self.parts.iter().flat_map(|part| {
            of_part(part.text, part.begins_with_directive).map(|token| {
                let words = part.text.get(token.range).unwrap_or("");
                match token.kind {
                    TokenKind::Directive => Cow::Owned(pragma(words)),
                    _ => Cow::Borrowed(words),
                }
            })
        })
    }
}

/// All inclusions of the user's files. An inclusion without tokens, such as a repeated guarded header, is dropped.
pub fn inclusions<'a>(
    text: &'a str,
    folder: &'a Path,
    is_user: &'a dyn Fn(&Path) -> bool,
) -> BTreeMap<PathBuf, Vec<Inclusion<'a>>> {
    let mut reader = LineReader { folder, is_user, known: HashMap::new(), files: BTreeMap::new(), open: Vec::new() };
    let mut piece = 0..0;
    let mut line = 1;
    for start in line_starts(text) {
        let Some(mark) = text.get(start..).and_then(Mark::read) else {
            continue;
        };
        piece.end = start;
        reader.take(text.get(piece).unwrap_or(""), line);
        reader.enter(&mark);
        line = mark.line;
        piece = start + mark.length..text.len();
    }
    reader.take(text.get(piece).unwrap_or(""), line);
    reader.files.into_iter().map(|(path, all)| (path, all.into_iter().filter(|it| !it.is_empty()).collect())).collect()
}

/// Starts of lines that begin with `# `, the only candidates for line markers. A raw string may contain such a line
/// too; then the text does not match the file and stays unknown.
fn line_starts(text: &str) -> impl Iterator<Item = usize> + '_ {
    let first = text.starts_with("# ").then_some(0);
    first.into_iter().chain(memchr::memmem::find_iter(text.as_bytes(), "\n# ").map(|at| at + 1))
}

/// The line marker `# 12 "kernels/a.cuh" 1 3`
struct Mark<'t> {
    line: u32,
    /// The file name, still escaped.
    name: &'t str,
    /// Whether the marker enters the file, rather than returns to it.
    is_entry: bool,
    /// Length of the marker with its line ending.
    length: usize,
}

impl<'t> Mark<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let end = text.find('\n').unwrap_or(text.len());
        let (number, rest) = text[..end].strip_prefix("# ")?.split_once(" \"")?;
        let close = rest.rfind('"')?;
        let is_entry = rest[close + 1..].split_whitespace().any(|flag| flag == "1");
        let length = (end + 1).min(text.len());
        Some(Self { line: number.parse().ok()?, name: &rest[..close], is_entry, length })
    }
}

struct LineReader<'a> {
    folder: &'a Path,
    is_user: &'a dyn Fn(&Path) -> bool,
    /// File names in markers, with the path if the file is the user's.
    known: HashMap<&'a str, Option<PathBuf>>,
    files: BTreeMap<PathBuf, Vec<Inclusion<'a>>>,
    /// The inclusion stack, each entry with the index of its inclusion.
    open: Vec<(&'a str, Option<(PathBuf, usize)>)>,
}

impl<'a> LineReader<'a> {
    fn enter(&mut self, mark: &Mark<'a>) {
        if mark.is_entry || self.open.is_empty() {
            let path = self.path(mark.name);
            let place = path.map(|path| {
                let all = self.files.entry(path.clone()).or_default();
                all.push(Inclusion::new());
                (path, all.len() - 1)
            });
            self.open.push((mark.name, place));
        } else if let Some(depth) = self.open.iter().rposition(|(name, _)| *name == mark.name) {
            self.open.truncate(depth + 1);
        } else {
            // A name from `#line` that no marker entered; the text after it belongs to no file.
            self.open.push((mark.name, None));
        }
    }

    fn path(&mut self, name: &'a str) -> Option<PathBuf> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let path = normalize(&self.folder.join(unescape_path(name)));
        let path = Some(path).filter(|path| !name.starts_with('<') && (self.is_user)(path));
        self.known.insert(name, path.clone());
        path
    }

    /// Records text between two markers; its first line is `line` of the current file.
    fn take(&mut self, text: &'a str, line: u32) {
        let Some((_, Some((path, number)))) = self.open.last() else { return };
        let Some(inclusion) = self.files.get_mut(path).and_then(|all| all.get_mut(*number)) else { return };
        let mut open: Option<(u32, Part<'a>, Range<usize>)> = None;
        let mut add = |(line, part, range): (u32, Part<'a>, Range<usize>)| {
            let text = text.get(range).unwrap_or("");
            inclusion.entry(line).or_default().parts.push(Part { text, ..part });
        };
        for token in each(text) {
            let line = line.saturating_add(token.line - 1);
            match &mut open {
                Some((current, _, range)) if *current == line => range.end = token.range.end,
                _ => {
                    let part = Part { text: "", begins_with_directive: token.kind == TokenKind::Directive };
                    open.replace((line, part, token.range)).into_iter().for_each(&mut add);
                }
            }
        }
        open.into_iter().for_each(add);
    }
}

/// A directive with normalized blanks, for comparison.
pub fn pragma(text: &str) -> String {
    let spaced = text.replace("\\\n", " ").replace("\\\r\n", " ").replacen('#', "# ", 1);
    let words: Vec<&str> = spaced.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'t>(all: &'t [Inclusion<'_>]) -> Vec<BTreeMap<u32, Vec<Cow<'t, str>>>> {
        all.iter().map(|lines| lines.iter().map(|(line, it)| (*line, it.words().collect())).collect()).collect()
    }

    #[test]
    fn tokens_of_lines_are_those_of_the_text() {
        let text = "# 1 \"/w/a.cu\"\na # b \\\n # c\n#pragma  unroll /* x\n */ 2 \"\nd R\"(\n# e)\" '# f\n /* g */ #  pragma once\n";
        let all = inclusions(text, Path::new("/w"), &|_| true);
        let all = words(&all[Path::new("/w/a.cu")]);
        let expected = crate::as_compiled::tokens::tokens(text.split_once('\n').unwrap().1);
        let count = |line: u32| expected.iter().filter(|token| token.line == line).count();
        assert!((1..9).all(|line| all[0].get(&line).map_or(0, Vec::len) == count(line)), "{all:?}");
        assert_eq!(all[0][&3], ["# pragma unroll /* x */ 2 \""]);
        assert_eq!(all[0][&7], ["# pragma once"]);
    }

    #[test]
    fn tokens_come_back_to_their_files() {
        let text = "# 0 \"/w/a.cu\"\n# 0 \"<built-in>\"\n# 1 \"/w/a.cu\"\n# 1 \"/w/h.cuh\" 1\nint h;\n\
                    # 2 \"/w/a.cu\" 2\n\nint a = \n# 3 \"/w/a.cu\" 3 4\n 7\n# 3 \"/w/a.cu\"\n ;\n#pragma unroll\n\
                    # 1 \"/usr/x.h\" 1 3\nint x;\n# 9 \"/w/a.cu\" 2\nint b;\n# 1 \"/w/h.cuh\" 1\n# 10 \"/w/a.cu\" 2\n";
        let files = inclusions(text, Path::new("/w"), &|path| path.starts_with("/w"));
        let shown: Vec<String> =
            files.iter().map(|(path, all)| format!("{} {:?}", path.display(), words(all))).collect();
        assert_eq!(
            shown,
            [
                r##"/w/a.cu [{3: ["int", "a", "=", "7", ";"], 4: ["# pragma unroll"], 9: ["int", "b", ";"]}]"##,
                r#"/w/h.cuh [{1: ["int", "h", ";"]}]"#,
            ]
        );
    }

    #[test]
    fn text_behind_a_line_directive_belongs_to_no_file() {
        let text = "# 1 \"/w/a.cu\"\nint a;\n# 100 \"made.cu\"\nint b;\n";
        let files = inclusions(text, Path::new("/w"), &|_| true);
        assert_eq!(files.len(), 1);
        assert_eq!(format!("{:?}", words(&files[Path::new("/w/a.cu")])), r#"[{1: ["int", "a", ";"]}]"#);
    }
}
