//! The text that was compiled, compared with the text of a file.
//!
//! Macros, conditional compilation, includes and `-D` make the two differ. The preprocessor's output, aligned with the
//! file token by token, tells which ranges were compiled verbatim and how the others were expanded. An edit changes the
//! file but must be right for the compiled text, so every edit is checked here first.
//!
//! NVRTC gives no preprocessed text. For a kernel string, only the macros that the string and its options define are
//! known. An include may define others; then the whole text is unknown.

mod aliases;
mod align;
mod behaviour;
mod blocks;
mod bracketed;
mod declared;
mod expansion;
mod functions;
mod hidden;
mod kept;
pub mod meeting;
mod operand;
mod preprocessed;
mod skipped;
mod string_text;
pub mod tokens;
mod unit;
mod writes;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use lmem_base::source::normalize;

pub use self::aliases::{Hides, aliases_in};
pub use self::align::directive_name;
pub use self::behaviour::{Behaviour, Beside, CONVERSION, operators_in};
pub use self::blocks::Blocks;
pub use self::expansion::{Expansion, MATH, VALUES, is_unroll_pragma};
pub use self::hidden::{Hidden, are_heads};
use self::preprocessed::Line;
pub use self::string_text::compiled_string;
pub use self::unit::{CompiledUnit, HiddenCode};
pub use crate::as_compiled::tokens::{Token, TokenKind, each as each_token, is_word, tokens};

/// The user's files of one unit as compiled for one target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsCompiled {
    pub files: Vec<CompiledFile>,
}

/// A file of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledFile {
    /// Relative to the compiler's working folder, so that it is valid on another machine.
    pub path: PathBuf,
    /// Hash of the file's text (blake3, hexadecimal): the differences hold for this text only.
    pub hash: String,
    pub text: CompiledText,
    /// The names that it declares, and more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub declared: BTreeSet<String>,
    /// What its functions and classes may do.
    #[serde(default)]
    pub behaviour: Behaviour,
}

/// The differences between a text and its compiled form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompiledText {
    /// In order, without overlaps. All other tokens were compiled verbatim.
    Known(Vec<Difference>),
    /// Unknown. The file was included several times with different results, or has `#line` directives, or no
    /// preprocessed text exists.
    Unknown,
}

/// A byte range of the text and its compiled tokens. Stored as one line: `30..35 12`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Difference {
    pub start: usize,
    pub end: usize,
    /// Tokens separated by single blanks; empty if nothing was compiled.
    pub compiled: String,
}

impl From<Difference> for String {
    fn from(difference: Difference) -> Self {
        format!("{}..{} {}", difference.start, difference.end, difference.compiled)
    }
}

impl TryFrom<String> for Difference {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let read = || {
            let (range, compiled) = text.split_once(' ')?;
            let (start, end) = range.split_once("..")?;
            Some(Self { start: start.parse().ok()?, end: end.parse().ok()?, compiled: compiled.to_string() })
        };
        read().filter(|it| it.start <= it.end).ok_or("no range and tokens")
    }
}

impl AsCompiled {
    /// Reads the preprocessor's output of a compilation in `folder`. `read` returns the text of a user's file, and
    /// `None` for other files.
    pub fn new(
        preprocessed: &str,
        folder: &Path,
        is_user: &dyn Fn(&Path) -> bool,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Self {
        let inclusions = preprocessed::inclusions(preprocessed, folder, is_user);
        let of_file =
            inclusions.values().map(|all| all.iter().flat_map(BTreeMap::values).flat_map(Line::words).collect());
        let tokens: Vec<Vec<Cow<'_, str>>> = of_file.collect();
        let texts: Vec<Option<String>> = inclusions.keys().map(|path| read(path)).collect();
        let is_open = texts.iter().any(|text| text.as_ref().is_none_or(|text| behaviour::includes_within(text)));
        let behaviour = behaviour::behaviour(&tokens, is_open);
        let files = inclusions.into_iter().zip(texts).zip(&tokens).zip(behaviour);
        let files = files.filter_map(|((((path, inclusions), text), tokens), behaviour)| {
            let text = text?;
            let mut all = inclusions.iter().map(|inclusion| align::differences(&text, inclusion));
            let first = all.next()?;
            let is_one = all.all(|other| other == first);
            Some(CompiledFile {
                path: relative(&path, folder),
                hash: hash(&text),
                text: first.filter(|_| is_one).map_or(CompiledText::Unknown, CompiledText::Known),
                declared: declared::declared(tokens.iter()),
                behaviour,
            })
        });
        Self { files: files.collect() }
    }

    /// A file that only its own directives change.
    pub fn of_text(path: &str, text: &str, arguments: &[String]) -> Self {
        let compiled = compiled_string(text, arguments, &|_| true);
        Self {
            files: vec![CompiledFile {
                path: path.into(),
                hash: hash(text),
                text: compiled,
                declared: BTreeSet::new(),
                behaviour: Behaviour::default(),
            }],
        }
    }

    /// The names that the files beside one declare.
    pub fn declared_beside(&self, path: &Path, folder: &Path) -> BTreeSet<String> {
        self.others(path, folder).flat_map(|file| file.declared.iter().cloned()).collect()
    }

    /// What the files beside one declare, and may do.
    pub fn beside(&self, path: &Path, folder: &Path) -> Beside {
        Beside {
            is_known: !self.files.is_empty(),
            declared: self.declared_beside(path, folder),
            behaviour: self.others(path, folder).fold(Behaviour::default(), |all, file| all.and(&file.behaviour)),
            operators: self.files.iter().flat_map(|file| file.behaviour.operators.iter().cloned()).collect(),
        }
    }

    fn others<'s>(&'s self, path: &'s Path, folder: &'s Path) -> impl Iterator<Item = &'s CompiledFile> {
        self.files.iter().filter(move |file| normalize(&folder.join(&file.path)) != *path)
    }

    /// The compiled form of a file with this text, by its absolute path.
    pub fn file(&self, path: &Path, folder: &Path, text: &str) -> CompiledText {
        self.known(path, folder, text).clone()
    }

    /// The same, without a copy.
    fn known(&self, path: &Path, folder: &Path, text: &str) -> &CompiledText {
        let found = self.files.iter().find(|file| normalize(&folder.join(&file.path)) == *path);
        let found = found.filter(|file| file.hash == hash(text));
        found.map_or(&CompiledText::Unknown, |file| &file.text)
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_string()
}

/// `../include/a.cuh` from `/w/kernels` to `/w/include/a.cuh`.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let folder = normalize(folder);
    let common = path.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(common).map(|_| std::path::Component::ParentDir);
    up.chain(path.components().skip(common)).collect()
}

impl CompiledText {
    /// The compiled text of a range; the text itself if it is verbatim.
    ///
    /// `None` if the range cuts a macro invocation, or if the compiled text is unknown.
    pub fn compiled<'t>(&self, text: &'t str, range: Range<usize>) -> Option<Cow<'t, str>> {
        let own = text.get(range.clone())?;
        let mut found = String::new();
        let mut at = range.start;
        for difference in self.within(&range)? {
            if difference.start < range.start || difference.end > range.end {
                return None;
            }
            found.push_str(text.get(at..difference.start)?);
            found.push(' ');
            found.push_str(&difference.compiled);
            found.push(' ');
            at = difference.end;
        }
        if at == range.start && found.is_empty() {
            return Some(Cow::Borrowed(own));
        }
        found.push_str(text.get(at..range.end)?);
        Some(Cow::Owned(found))
    }

    /// Whether any token of the text was compiled. Yes where that is not known.
    pub fn has_code(&self, text: &str) -> bool {
        let Self::Known(differences) = self else { return true };
        let is_left_out = |token: &Token| {
            let index = differences.partition_point(|difference| difference.end <= token.range.start);
            differences.get(index).is_some_and(|it| it.start <= token.range.start && it.compiled.is_empty())
        };
        differences.iter().any(|it| !it.compiled.is_empty()) || !tokens(text).iter().all(is_left_out)
    }

    /// Whether half of a range or more was compiled, as it is or as something else: single tokens of code that was left out
    /// may look like some of its neighbour's. Yes where that is not known.
    pub fn is_mostly_compiled(&self, range: &Range<usize>) -> bool {
        let lost = |it: &Difference| {
            let own = it.end.min(range.end).saturating_sub(it.start.max(range.start));
            own.saturating_sub(it.compiled.len())
        };
        self.differences().map(lost).sum::<usize>() * 2 <= range.len()
    }

    /// Whether a range was compiled verbatim.
    pub fn is_verbatim(&self, range: &Range<usize>) -> bool {
        self.within(range).is_some_and(|mut found| found.next().is_none())
    }

    /// Whether a range means what it says. No difference may hide control flow, a side effect, or a use of a variable:
    /// see [`Expansion`].
    pub fn is_faithful(&self, text: &str, range: &Range<usize>) -> bool {
        let Some(mut found) = self.within(range) else { return false };
        found.all(|difference| {
            let is_inside = range.start <= difference.start && difference.end <= range.end;
            let own = text.get(difference.start..difference.end).unwrap_or("");
            is_inside && Expansion::of(own, &difference.compiled).is_faithful()
        })
    }

    /// All differences, in order; none where they are unknown.
    pub fn differences(&self) -> impl Iterator<Item = &Difference> {
        match self {
            Self::Known(all) => all.as_slice(),
            Self::Unknown => &[],
        }
        .iter()
    }

    /// The expansions of a macro's uses, without duplicates; empty for a name that was always compiled verbatim.
    pub fn expansions<'d>(&'d self, text: &'d str, name: &'d str) -> impl Iterator<Item = &'d Difference> {
        self.differences().filter(move |difference| text.get(difference.start..difference.end) == Some(name))
    }

    /// The classification of a macro invocation that fills a range; `None` for anything else.
    pub fn expansion(&self, text: &str, range: &Range<usize>) -> Option<Expansion> {
        let mut found = self.within(range)?;
        let only = found.next().filter(|it| it.start == range.start && it.end == range.end)?;
        found.next().is_none().then(|| Expansion::of(text.get(range.clone()).unwrap_or(""), &only.compiled))
    }

    /// The compiled text of a range and of the text's constants; equal for equal code. `None` if the range has what is
    /// neither faithful nor a statement of its own.
    pub fn signature(&self, text: &str, range: &Range<usize>) -> Option<String> {
        self.hidden_statements(text, range)?;
        let own = self.within(range).into_iter().flatten();
        let outside = self.within(&(0..text.len())).into_iter().flatten();
        let constants = outside.filter(|it| !range.contains(&it.start) && is_in_constant(text, it.start));
        Some(own.chain(constants).map(|it| format!("{}-{}:{};", it.start, it.end, it.compiled)).collect())
    }

    /// Differences that touch a range; insertions at its edges count. `None` if differences are unknown.
    fn within<'s>(&'s self, range: &Range<usize>) -> Option<impl Iterator<Item = &'s Difference> + use<'s>> {
        let Self::Known(all) = self else { return None };
        let (start, end) = (range.start, range.end);
        let first = all.partition_point(|difference| difference.end < start);
        let touches =
            move |it: &&Difference| (it.start < end && it.end > start) || (it.start == it.end && it.start <= end);
        Some(all[first..].iter().take_while(move |it| it.start <= end).filter(touches))
    }
}

/// Whether an offset is in the declaration of a constant or enumeration, judged by the words between the enclosing `;`
/// or `}`.
fn is_in_constant(text: &str, offset: usize) -> bool {
    let is_end = |c: char| matches!(c, ';' | '}');
    let start = text.get(..offset).and_then(|before| before.rfind(is_end)).map_or(0, |at| at + 1);
    let end = text.get(offset..).and_then(|behind| behind.find(is_end)).map_or(text.len(), |at| offset + at);
    let words = text.get(start..end).unwrap_or("").split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.into_iter().any(|word| matches!(word, "const" | "constexpr" | "enum"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "int t[FIRST]; CHECK(t[0]); int u;";

    fn known() -> CompiledText {
        let difference = |own: &str, compiled: &str| {
            let start = TEXT.find(own).unwrap();
            Difference { start, end: start + own.len(), compiled: compiled.to_string() }
        };
        CompiledText::Known(vec![difference("FIRST", "3"), difference("CHECK(t[0])", "if ( t [ 0 ] ) break")])
    }

    fn range(part: &str) -> Range<usize> {
        let start = TEXT.find(part).unwrap();
        start..start + part.len()
    }

    #[test]
    fn ranges_become_what_was_compiled() {
        let compiled = |part| known().compiled(TEXT, range(part)).map(Cow::into_owned);
        assert_eq!(compiled("int u;").as_deref(), Some("int u;"));
        assert_eq!(compiled("t[FIRST]").as_deref(), Some("t[ 3 ]"));
        assert_eq!(compiled("FIRST").as_deref(), Some(" 3 "));
        // A part of a macro invocation is not a syntactic unit.
        assert_eq!(compiled("t[0]"), None);
        assert_eq!(CompiledText::Unknown.compiled(TEXT, range("int u;")), None);
    }

    #[test]
    fn constants_are_faithful_and_hidden_jumps_are_not() {
        let known = known();
        assert!(known.is_verbatim(&range("int u;")) && !known.is_verbatim(&range("int t[FIRST];")));
        assert!(known.is_faithful(TEXT, &range("int t[FIRST];")) && !known.is_faithful(TEXT, &(0..TEXT.len())));
        assert!(!CompiledText::Unknown.is_faithful(TEXT, &range("int u;")));
        assert_eq!(known.expansions(TEXT, "FIRST").count(), 1);
        assert_ne!(known.signature(TEXT, &range("int t[FIRST];")), Some(String::new()));
    }

    #[test]
    fn constants_outside_have_a_part_in_what_a_function_means() {
        let text = "constexpr int M = N;\nint other[N];\nvoid f() { int a[M]; }\n";
        let function = text.find("void").unwrap()..text.len() - 1;
        let signature = |argument: &str| {
            compiled_string(text, &[argument.to_string()], &|_| true).signature(text, &function).unwrap()
        };
        assert_ne!(signature("-DN=4"), signature("-DN=8"));
        assert_eq!(signature("-DN=4").matches(';').count(), 1);
    }

    #[test]
    fn a_unit_knows_its_files() {
        let preprocessed = "# 1 \"/w/k/a.cu\"\n# 1 \"../i/h.cuh\" 1\nint h;\n# 2 \"/w/k/a.cu\" 2\nint t[3];\n\
                            # 1 \"../i/x.inc\" 1\nint x;\n# 4 \"/w/k/a.cu\" 2\n\n# 1 \"../i/x.inc\" 1\nint y;\n";
        let read = |path: &Path| match path.to_str()? {
            "/w/k/a.cu" => Some("#include \"h.cuh\"\nint t[N];\n#include X\n\n#include X\n".to_string()),
            "/w/i/h.cuh" => Some("int h;\n".to_string()),
            _ => Some("int X;\n".to_string()),
        };
        let all = AsCompiled::new(preprocessed, Path::new("/w/k"), &|path| path.starts_with("/w"), &read);
        let folder = Path::new("/w/k");
        let of = |path: &str| all.file(Path::new(path), folder, &read(Path::new(path)).unwrap());
        assert_eq!(all.files[2].path, Path::new("a.cu"));
        assert_eq!(of("/w/i/h.cuh"), CompiledText::Known(Vec::new()));
        assert!(matches!(of("/w/k/a.cu"), CompiledText::Known(found) if found.len() == 1 && found[0].compiled == "3"));
        assert_eq!(of("/w/i/x.inc"), CompiledText::Unknown);
        assert_eq!(all.file(Path::new("/w/k/a.cu"), folder, "int t[N];\n"), CompiledText::Unknown);
    }
}
