//! `#line 100 "generated.cu"`: maps the compiler's line numbers to lines of the file.

use std::path::Path;

/// A `#line` directive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineMark {
    /// The line of the directive, from 1.
    at: u32,
    /// The number of the line after the directive.
    number: u32,
    /// The file name in the directive; `None` if the file stays the same.
    file: Option<String>,
}

/// The `#line` directives of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineMarks(Vec<LineMark>);

impl LineMarks {
    pub fn of(text: &str) -> Self {
        if !text.contains("line") {
            return Self::default();
        }
        Self((1..).zip(text.lines()).filter_map(|(at, line)| mark(at, line)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lines of the text with the compiler's line number in a file: several where a directive repeats numbers. `is_own`
    /// tells that the file is the text's own.
    pub fn physical(&self, file: &Path, is_own: bool, number: u32) -> Vec<u32> {
        let first = self.0.first().map_or(u32::MAX, |mark| mark.at);
        let mut found: Vec<u32> = (is_own && (1..first).contains(&number)).then_some(number).into_iter().collect();
        let mut is_it = is_own;
        for (index, mark) in self.0.iter().enumerate() {
            if let Some(named) = &mark.file {
                is_it = file.ends_with(named);
            }
            let end = self.0.get(index + 1).map_or(u32::MAX, |next| next.at);
            let line = number.checked_sub(mark.number).and_then(|distance| distance.checked_add(mark.at + 1));
            found.extend(line.filter(|line| is_it && *line < end));
        }
        found
    }
}

/// `#line 100 "generated.cu"`
fn mark(at: u32, line: &str) -> Option<LineMark> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("line")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim();
    let (number, file) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let file = file.trim().strip_prefix('"').and_then(|file| file.strip_suffix('"'));
    Some(LineMark { at, number: number.parse().ok()?, file: file.map(str::to_string) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_back() {
        let text = "a\n#line 100 \"gen.cu\"\nb\nc\n # line 2 \"own.cu\"\nd\ne\n";
        let marks = LineMarks::of(text);
        let line = |file: &str, number| marks.physical(Path::new(file), file == "/w/own.cu", number);
        assert_eq!(
            (line("/w/gen.cu", 100), line("/w/gen.cu", 101), line("/w/gen.cu", 102)),
            (vec![3], vec![4], vec![])
        );
        assert_eq!((line("/w/own.cu", 1), line("/w/own.cu", 2), line("/w/own.cu", 3)), (vec![1], vec![6], vec![7]));
        assert_eq!((line("/w/other.cu", 100), line("/w/gen.cu", 1)), (vec![], vec![]));
        assert!(LineMarks::of("// a line\n#pragma unroll\n#line\n").is_empty());
    }

    #[test]
    fn two_lines_may_have_one_number() {
        let marks = LineMarks::of("a\nb\n#line 1\nc\n");
        assert_eq!(marks.physical(Path::new("own.cu"), true, 1), [1, 4]);
        assert_eq!(LineMarks::of("a\nb\n#line 7\nc\n").physical(Path::new("own.cu"), true, 7), [4]);
    }
}
