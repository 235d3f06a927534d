//! Finds the source of a text that a program built at run time: the literals and files that its lines come from.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use lmem_base::diff::equal_runs;
use lmem_base::source::{SourceFile, Span};
use lmem_unit::MappedText;

/// Limit on the sources that one text is assembled from.
const MAX_PIECES: usize = 8;

/// Number of letters and digits that the lines shared with a source must have, so that the match is no coincidence. A
/// shorter source must match completely.
const MIN_LETTERS: usize = 20;

/// Source texts with their lines.
pub struct Sources(Vec<(MappedText, Vec<TextLine>)>);

/// A line without indentation: its offset, and its text.
struct TextLine {
    start: usize,
    text: String,
}

/// A line of a text, and a line of a source.
type Pair = (usize, usize);

/// A source, and a line of it.
type TextOrigin = (usize, usize);

impl Sources {
    /// The kernels and headers in a program's source.
    pub fn new(texts: Vec<MappedText>) -> Self {
        let with_lines = |text: MappedText| {
            let lines = lines_of(text.as_str());
            (text, lines)
        };
        Self(texts.into_iter().map(with_lines).collect())
    }

    /// Maps a text to its source. Lines that are in no literal or file map to the saved copy.
    pub fn map(&self, saved: &Arc<SourceFile>) -> MappedText {
        let lines = lines_of(saved.text());
        let mut origins: Vec<Option<TextOrigin>> = vec![None; lines.len()];
        for _ in 0..MAX_PIECES {
            let Some((source, pairs)) = self.best(&lines, &origins) else { break };
            pairs.iter().for_each(|(line, place)| origins[*line] = Some((source, *place)));
            self.grow(source, &pairs, &lines, &mut origins);
        }
        put_together(saved, &lines, &origins, self)
    }

    /// Extends matches to adjacent lines that only differ in some words, as in a template whose parameters were
    /// replaced by types.
    fn grow(&self, source: usize, pairs: &[Pair], lines: &[TextLine], origins: &mut [Option<TextOrigin>]) {
        let places = &self.0[source].1;
        let mut taken: BTreeSet<usize> = pairs.iter().map(|(_, place)| *place).collect();
        let mut open = pairs.to_vec();
        while let Some((line, place)) = open.pop() {
            let before = line.checked_sub(1).zip(place.checked_sub(1));
            for (line, place) in before.into_iter().chain([(line + 1, place + 1)]) {
                let (Some(own), Some(other)) = (lines.get(line), places.get(place)) else { continue };
                if origins[line].is_none() && is_alike(own, other) && taken.insert(place) {
                    origins[line] = Some((source, place));
                    open.push((line, place));
                }
            }
        }
    }

    /// The source that explains most of the unexplained lines, with the pairs of lines. If two sources explain the same
    /// lines, the origin is ambiguous, and neither is used.
    fn best(&self, lines: &[TextLine], origins: &[Option<TextOrigin>]) -> Option<(usize, Vec<Pair>)> {
        let open: Vec<usize> = (0..lines.len()).filter(|line| origins[*line].is_none()).collect();
        let wanted: Vec<&str> = open.iter().map(|line| lines[*line].text.as_str()).collect();
        let mut best: Option<(usize, usize)> = None;
        let mut pairs_of_best = Vec::new();
        let mut is_unique = true;
        for (index, (_, own)) in self.0.iter().enumerate() {
            let texts: Vec<&str> = own.iter().map(|line| line.text.as_str()).collect();
            let pairs = equal_runs(&wanted, &texts).into_iter();
            let pairs = pairs.flat_map(|(old, new, len)| (0..len).map(move |at| (old + at, new + at)));
            let pairs: Vec<Pair> = pairs.map(|(line, place)| (open[line], place)).collect();
            // Lines without letters, such as braces, occur in every text and do not count.
            let shared: usize = pairs.iter().map(|(_, place)| letters(&own[*place].text)).sum();
            let all = || own.iter().map(|line| letters(&line.text)).sum::<usize>();
            let is_enough = shared >= MIN_LETTERS || (shared > 0 && shared == all());
            let explains_same = || pairs.iter().map(|pair| pair.0).eq(pairs_of_best.iter().map(|pair: &Pair| pair.0));
            is_unique &= !(is_enough && explains_same());
            if is_enough && best.is_none_or(|(most, _)| shared > most) {
                best = Some((shared, index));
                pairs_of_best = pairs;
                is_unique = true;
            }
        }
        best.filter(|_| is_unique).map(|(_, index)| (index, pairs_of_best))
    }
}

fn put_together(
    saved: &Arc<SourceFile>,
    lines: &[TextLine],
    origins: &[Option<TextOrigin>],
    sources: &Sources,
) -> MappedText {
    let text = saved.text();
    let mut mapped = MappedText::default();
    let mut at = 0;
    let own = |mapped: &mut MappedText, range: Range<usize>| {
        mapped.push(&text[range.clone()], Span::new(saved, range));
    };
    for (line, origin) in lines.iter().zip(origins) {
        let Some((source, place)) = *origin else { continue };
        let (source, places) = &sources.0[source];
        for (offset, from) in equal_parts(&line.text, &places[place].text) {
            let length = from.len();
            own(&mut mapped, at..line.start + offset);
            let start = places[place].start;
            mapped.append(&source.slice(start + from.start..start + from.end));
            at = line.start + offset + length;
        }
    }
    own(&mut mapped, at..text.len());
    mapped
}

/// Parts that a line shares with another: their offset in the line, and their range in the other.
fn equal_parts(line: &str, other: &str) -> Vec<(usize, Range<usize>)> {
    let (words, others) = (words_of(line), words_of(other));
    let length = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
    let equal = equal_runs(&words, &others).into_iter().map(|(own, at, count)| {
        let start = length(&others[..at]);
        (length(&words[..own]), start..start + length(&others[at..at + count]))
    });
    equal.collect()
}

/// Splits into identifiers, numbers, and single other characters.
fn words_of(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        words.push(word);
        rest = behind;
    }
    words
}

/// Whether two lines agree in at least half of their text.
fn is_alike(line: &TextLine, other: &TextLine) -> bool {
    let shared: usize =
        equal_parts(&line.text, &other.text).iter().map(|(_, part)| letters(&other.text[part.clone()])).sum();
    2 * shared >= letters(&line.text).max(letters(&other.text)) && shared > 0
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

fn lines_of(text: &str) -> Vec<TextLine> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let indent = line.len() - line.trim_start().len();
        if !content.is_empty() {
            lines.push(TextLine { start: start + indent, text: content.to_string() });
        }
        start += line.len();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str, part: &str) -> MappedText {
        let file = SourceFile::from_text("src/lib.rs", text);
        let start = text.find(part).unwrap();
        let mut mapped = MappedText::default();
        mapped.push(part, Span::new(&file, start..start + part.len()));
        mapped
    }

    #[test]
    fn lines_lead_to_the_literals_that_they_came_from() {
        let rust = "const A: &str = \"float twice(float x) {\n    return 2 * x;\n}\n\"; const B: &str = \"__global__ void k(TYPE* p) {\n    float own[8];\n    p[0] = own[threadIdx.x];\n}\n\";";
        let literal = |part| literal(rust, part);
        let sources = Sources::new(vec![
            literal("float twice(float x) {\n    return 2 * x;\n}\n"),
            literal("__global__ void k(TYPE* p) {\n    float own[8];\n    p[0] = own[threadIdx.x];\n}\n"),
        ]);
        let text = "#define N 4\nfloat twice(float x) {\n  return 2 * x;\n}\n__global__ void k(float* p) {\n    float own[8];\n    p[0] = own[threadIdx.x];\n}\n";
        let mapped = sources.map(&SourceFile::from_text("cache/k.cu", text));
        assert_eq!(mapped.as_str(), text);
        let place = |part: &str| {
            let start = text.find(part).unwrap();
            let span = mapped.span(start..start + part.len()).unwrap();
            assert_eq!(span.text(), part);
            span.file.display.clone()
        };
        assert_eq!([place("own[8]"), place("return 2"), place("own[threadIdx.x]")], ["src/lib.rs"; 3]);
        assert_eq!([place("__global__ void k("), place("* p) {")], ["src/lib.rs"; 2]);
        assert_eq!(place("#define N"), "cache/k.cu");
        // The text in place of `TYPE` is in no source, and neither is a range that includes it.
        let start = text.find("float* p").unwrap();
        assert_eq!(mapped.span(start..start + 5).unwrap().file.display, "cache/k.cu");
        assert_eq!(mapped.span(start..start + 8), None);
    }

    #[test]
    fn one_of_two_equal_literals_is_not_chosen() {
        let text = "__global__ void kernel(float* out) {\nout[0] = 1;\n}\n";
        let twice = || literal(&format!("\"{text}\""), text);
        let mapped = Sources::new(vec![twice(), twice()]).map(&SourceFile::from_text("k.cu", text));
        assert_eq!(mapped.span(0..text.len()).unwrap().file.display, "k.cu");
    }

    #[test]
    fn what_is_alike_by_chance_is_no_origin() {
        let sources = Sources::new(vec![literal(
            "x = \"int i = 0;\n}\nother();\nmore();\n\"",
            "int i = 0;\n}\nother();\nmore();\n",
        )]);
        let text = "void f() {\nint i = 0;\n}\n";
        let mapped = sources.map(&SourceFile::from_text("k.cu", text));
        assert_eq!(mapped.span(0..text.len()).unwrap().file.display, "k.cu");
    }
}
