//! The lexical structure of CUDA code that directives need: the positions of comments, and the items behind them.

use std::cell::Cell;
use std::ops::Range;

/// Keywords before parentheses that are not the name of a macro; the code behind belongs to the same item or statement.
const NO_CALLS: [&str; 19] = [
    "__launch_bounds__",
    "__maxnreg__",
    "__cluster_dims__",
    "__block_size__",
    "__attribute__",
    "__declspec",
    "__align__",
    "alignas",
    "decltype",
    "explicit",
    "noexcept",
    "requires",
    "for",
    "while",
    "if",
    "switch",
    "catch",
    "__pragma",
    "_Pragma",
];

/// Specifiers that precede a function's name.
const SPECIFIERS: [&str; 7] = ["__global__", "__device__", "__host__", "static", "inline", "extern", "template"];

/// Words that continue an item after a closing parenthesis.
const CONTINUATIONS: [&str; 8] =
    ["const", "volatile", "noexcept", "override", "final", "mutable", "requires", "__attribute__"];

/// Keywords of compound statements.
const CONTROL: [&str; 7] = ["for", "while", "if", "else", "do", "switch", "try"];

/// CUDA code with its comments separated.
pub struct Code<'a> {
    text: &'a [u8],
    /// The text with comments, strings and preprocessor lines replaced by spaces, so that offsets stay the same.
    code: Vec<u8>,
    /// The same, with only the replacement lists of macros.
    bodies: Vec<u8>,
    pub comments: Vec<Range<usize>>,
    preprocessor: Vec<Line>,
    /// What `#if` makes depend on something, by position; an include guard is none.
    conditions: Vec<Range<usize>>,
    /// Bytes that may still be looked at for scopes.
    effort: Cell<usize>,
}

/// How often each byte of a text may be looked at for the scopes of its directives. In code that people write they
/// hardly overlap; more would let a file of comments take time by the square of its size.
pub(super) const MAX_LOOKS: usize = 16;

/// A preprocessor line with its continuation lines, from the `#` on.
struct Line {
    range: Range<usize>,
    kind: LineKind,
}

enum LineKind {
    /// `#define`: the name, and the start of the replacement list.
    Define(String, usize),
    /// `#pragma` and conditionals: they belong to the code behind them.
    Passed,
    If,
    Else,
    EndIf,
    Other,
}

/// The scope of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeScope {
    pub range: Range<usize>,
    /// The macro that the comment is in or above.
    pub in_macro: Option<String>,
}

/// Why a comment has no scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoScope {
    NoCode,
    BlankLine,
    /// A namespace, or `extern "C" {`.
    ManyItems,
    /// The scopes of earlier comments have taken all the effort.
    TooMany,
}

impl<'a> Code<'a> {
    pub fn of(text: &'a str) -> Self {
        let text = text.as_bytes();
        let (blanked, comments) = without_comments(text);
        let preprocessor = preprocessor_lines(&blanked);
        let (mut code, mut bodies) = (blanked.clone(), vec![b' '; text.len()]);
        for line in &preprocessor {
            code[line.range.clone()].fill(b' ');
            if let LineKind::Define(_, start) = line.kind {
                bodies[start..line.range.end].copy_from_slice(&blanked[start..line.range.end]);
                without_splices(&mut bodies[start..line.range.end]);
            }
        }
        let conditions = conditions(&code, &preprocessor);
        blank_other_branches(&mut code, &preprocessor);
        let effort = Cell::new(MAX_LOOKS * (text.len() + 1024));
        Self { text, code, bodies, comments, preprocessor, conditions, effort }
    }

    /// The macros, as name and replacement list.
    pub fn macros(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.preprocessor.iter().filter_map(|line| match &line.kind {
            LineKind::Define(name, start) => Some((name.as_str(), &self.bodies[*start..line.range.end])),
            _ => None,
        })
    }

    /// The code with comments, strings and preprocessor lines replaced by spaces; offsets stay the same.
    pub fn plain(&self) -> &[u8] {
        &self.code
    }

    /// The scope of a comment, in bytes.
    pub fn scope_of(&self, comment: &Range<usize>) -> Result<CodeScope, NoScope> {
        if self.effort.get() == 0 {
            return Err(NoScope::TooMany);
        }
        let line_start = self.text[..comment.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line_end = line_end(self.text, comment.end);
        self.spend(line_end - line_start);
        let own = |range| CodeScope { range, in_macro: None };
        match self.line_around(comment.start) {
            None if is_blank(&self.code[line_start..comment.start]) => {
                self.following(&self.code, comment.end, self.text.len())
            }
            None => Ok(own(line_start..line_end)),
            Some(Line { kind: LineKind::Define(name, start), range }) if comment.start >= *start => {
                let from = line_start.max(*start);
                let scope = match is_blank(&self.bodies[from..comment.start]) {
                    true => self.following(&self.bodies, comment.end, range.end)?,
                    false => own(from..line_end.min(range.end).max(comment.end)),
                };
                Ok(CodeScope { in_macro: Some(name.clone()), ..scope })
            }
            Some(Line { kind: LineKind::Passed, range }) => self.following(&self.code, range.end, self.text.len()),
            Some(_) => Ok(own(line_start..line_end)),
        }
    }

    /// Whether the compiler may skip what stands at an offset.
    pub fn is_conditional(&self, at: usize) -> bool {
        let index = self.conditions.partition_point(|condition| condition.start <= at);
        index.checked_sub(1).is_some_and(|index| at < self.conditions[index].end)
    }

    fn spend(&self, bytes: usize) {
        self.effort.set(self.effort.get().saturating_sub(bytes));
    }

    fn line_around(&self, at: usize) -> Option<&Line> {
        let index = self.preprocessor.partition_point(|line| line.range.start <= at);
        self.preprocessor.get(index.checked_sub(1)?).filter(|line| at < line.range.end)
    }

    /// The item, statement or macro that begins behind `from`, on the same line or below it.
    fn following(&self, code: &[u8], from: usize, limit: usize) -> Result<CodeScope, NoScope> {
        let blanks = code[from..limit].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.spend(blanks);
        if from + blanks == limit && self.preprocessor.last().is_none_or(|line| line.range.end <= from) {
            return Err(NoScope::NoCode);
        }
        // An item on the comment's own line begins behind the comment; any other begins with its line.
        let start_of = |first: usize| match self.text[from..first].iter().rposition(|byte| *byte == b'\n') {
            Some(line_break) => from + line_break + 1,
            None => from,
        };
        let (mut at, mut first) = (from, None);
        loop {
            if at >= limit {
                return Err(NoScope::NoCode);
            }
            if let Some(line) = self.line_around(at).filter(|line| line.range.start == at) {
                let start = start_of(*first.get_or_insert(at));
                let range = start..line.range.end;
                match &line.kind {
                    LineKind::Define(name, _) => return Ok(CodeScope { range, in_macro: Some(name.clone()) }),
                    LineKind::Other => return Ok(CodeScope { range, in_macro: None }),
                    _ => at = line.range.end,
                }
                continue;
            }
            match code[at] {
                b'\n' if self.is_blank_line(at + 1, limit) => return Err(NoScope::BlankLine),
                byte if !byte.is_ascii_whitespace() => break,
                _ => at += 1,
            }
        }
        let start = start_of(first.unwrap_or(at));
        let end = self.end_of_code(code, at, limit)?.max(line_end(self.text, at).min(limit));
        self.spend(end - from);
        Ok(CodeScope { range: start..end, in_macro: None })
    }

    /// Whether a line is empty; a comment is not.
    fn is_blank_line(&self, start: usize, limit: usize) -> bool {
        let end = line_end(self.text, start).min(limit);
        start < limit && self.text.get(start..end).is_some_and(|line| is_blank(line) || line.trim_ascii() == b"\\")
    }

    fn end_of_code(&self, code: &[u8], start: usize, limit: usize) -> Result<usize, NoScope> {
        let mut depth = 0_usize;
        for at in start..limit {
            match code[at] {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                b';' => return Ok(at + 1),
                b'}' => return Ok(at),
                b'{' => return self.end_of_block(code, start, at, limit),
                b'\n' if self.is_blank_line(at + 1, limit) => return Ok(at),
                b'\n' if self.is_whole_call(&code[start..at]) && !goes_on(&code[at..limit]) => return Ok(at),
                _ => {}
            }
        }
        // With unbalanced brackets the end is unknown, so a blank line ends the scope.
        self.spend(limit - start);
        Ok(if depth > 0 { self.blank_line_after(start, limit) } else { limit })
    }

    /// Whether this is a macro call such as `HIST(h16, 16)`: one that expands to a kernel needs no semicolon.
    fn is_whole_call(&self, head: &[u8]) -> bool {
        let head = head.trim_ascii();
        let name = word_at(head, 0);
        let rest = head[name.len()..].trim_ascii_start();
        if name.is_empty() || NO_CALLS.contains(&name) || !rest.starts_with(b"(") || !rest.ends_with(b")") {
            return false;
        }
        let mut depth = 0_usize;
        for (at, byte) in rest.iter().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && at + 1 < rest.len() {
                return false;
            }
        }
        // A macro for `__launch_bounds__(…)` belongs to the function behind it.
        !self.macros().any(|(other, body)| other == name && is_specifier(body))
    }

    /// The end of an item with a block: for a loop the end of its header, for an initializer the semicolon, else the
    /// closing brace.
    fn end_of_block(&self, code: &[u8], start: usize, open: usize, limit: usize) -> Result<usize, NoScope> {
        let head = code[start..open].trim_ascii();
        let first = word_at(head, 0);
        if CONTROL.contains(&first) || head.is_empty() {
            return Ok(open);
        }
        let second = word_at(head[first.len()..].trim_ascii_start(), 0);
        // The language of `extern "C"` is a string literal, which was blanked.
        if head == b"extern" || first == "namespace" || (first, second) == ("inline", "namespace") {
            return Err(NoScope::ManyItems);
        }
        let Some(close) = closing_brace(code, open, limit) else {
            self.spend(limit - open);
            return Ok(self.blank_line_after(start, limit));
        };
        self.spend(close - open);
        match head.last() {
            Some(b'=') => self.end_of_code(code, close, limit),
            _ => Ok(close),
        }
    }

    fn blank_line_after(&self, start: usize, limit: usize) -> usize {
        let mut at = start;
        loop {
            at = line_end(self.text, at);
            if at >= limit || self.is_blank_line(at + 1, limit) {
                return at.min(limit);
            }
            at += 1;
        }
    }
}

/// Replaces comments, including their line breaks, and strings by spaces.
fn without_comments(text: &[u8]) -> (Vec<u8>, Vec<Range<usize>>) {
    let (mut blanked, mut comments) = (text.to_vec(), Vec::new());
    let mut at = 0;
    while at < text.len() {
        let end = match (text[at], text.get(at + 1)) {
            (b'/', Some(b'/')) => {
                let end = logical_line_end(text, at);
                comments.push(at..end);
                end
            }
            (b'/', Some(b'*')) => {
                let end = find(text, at + 2, b"*/").map_or(text.len(), |end| end + 2);
                comments.push(at..end);
                end
            }
            (b'R', Some(b'"')) if begins_raw_string(text, at) => raw_string_end(text, at),
            (b'"', _) => quote_end(text, at),
            (b'\'', _) if !is_in_number(text, at) => quote_end(text, at),
            _ => {
                at += 1;
                continue;
            }
        };
        blanked[at..end].fill(b' ');
        at = end;
    }
    (blanked, comments)
}

fn preprocessor_lines(code: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < code.len() {
        let end = logical_line_end(code, start);
        if let Some(hash) = code[start..end].iter().position(|byte| !byte.is_ascii_whitespace()).map(|at| start + at)
            && code[hash] == b'#'
        {
            lines.push(Line { range: hash..end, kind: line_kind(code, hash, end) });
        }
        start = end + 1;
    }
    lines
}

fn line_kind(code: &[u8], hash: usize, end: usize) -> LineKind {
    let skip = |from: usize| from + code[from..end].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let word = skip(hash + 1);
    match word_at(&code[..end], word) {
        "define" => {
            let name_start = skip(word + "define".len());
            let name = word_at(&code[..end], name_start);
            let after = name_start + name.len();
            let parameters = code
                .get(after)
                .filter(|byte| after < end && **byte == b'(')
                .and_then(|_| find(&code[..end], after, b")"));
            LineKind::Define(name.to_string(), parameters.map_or(after, |close| close + 1))
        }
        "if" | "ifdef" | "ifndef" => LineKind::If,
        "elif" | "else" | "elifdef" | "elifndef" => LineKind::Else,
        "endif" => LineKind::EndIf,
        "pragma" | "line" => LineKind::Passed,
        _ => LineKind::Other,
    }
}

/// Removes line continuations: the backslashes before line breaks.
fn without_splices(code: &mut [u8]) {
    for at in 0..code.len() {
        if code[at] == b'\\' && matches!(code.get(at + 1..), Some([b'\n', ..] | [b'\r', b'\n', ..])) {
            code[at] = b' ';
        }
    }
}

/// The conditionals that are in no other. One around all that a file has is an include guard: those in it count.
fn conditions(code: &[u8], lines: &[Line]) -> Vec<Range<usize>> {
    let outer = conditionals(lines, 0);
    let [(guard, false)] = &outer[..] else { return outer.into_iter().map(|(range, _)| range).collect() };
    let is_outside = |line: &Line| !guard.contains(&line.range.start) && !matches!(line.kind, LineKind::Passed);
    let is_guard = is_blank(&code[..guard.start])
        && is_blank(code.get(guard.end..).unwrap_or_default())
        && !lines.iter().any(is_outside);
    let counting = if is_guard { conditionals(lines, 1) } else { outer };
    counting.into_iter().map(|(range, _)| range).collect()
}

/// The conditionals that lie in so many others, and whether they have a second branch. One without an end goes on to the
/// end of the file.
fn conditionals(lines: &[Line], wanted: usize) -> Vec<(Range<usize>, bool)> {
    let (mut found, mut depth): (Vec<(Range<usize>, bool)>, usize) = (Vec::new(), 0);
    for line in lines {
        match line.kind {
            LineKind::If => {
                if depth == wanted {
                    found.push((line.range.start..usize::MAX, false));
                }
                depth += 1;
            }
            LineKind::Else if depth == wanted + 1 => found.iter_mut().for_each(|(range, has_more)| {
                *has_more |= range.end == usize::MAX;
            }),
            LineKind::EndIf => {
                depth = depth.saturating_sub(1);
                if let Some((range, _)) =
                    found.last_mut().filter(|(range, _)| depth == wanted && range.end == usize::MAX)
                {
                    range.end = line.range.end;
                }
            }
            _ => {}
        }
    }
    found
}

/// Blanks the braces of all branches of a conditional but the first, if the first branch is unbalanced: `#else` repeats
/// the braces.
fn blank_other_branches(code: &mut [u8], lines: &[Line]) {
    /// Open braces at the start; whether the first branch is unbalanced, once it has ended; where the current other
    /// branch starts, and the open braces there.
    struct Group {
        depth: i64,
        is_uneven: Option<bool>,
        other: Option<(usize, i64)>,
    }
    let braces = |code: &[u8]| {
        code.iter().fold(0_i64, |depth, byte| depth + i64::from(*byte == b'{') - i64::from(*byte == b'}'))
    };
    let mut groups: Vec<Group> = Vec::new();
    let mut blanked: Vec<Range<usize>> = Vec::new();
    let (mut depth, mut position) = (0, 0);
    for line in lines {
        depth += braces(&code[position..line.range.start]);
        position = line.range.end;
        match line.kind {
            LineKind::If => groups.push(Group { depth, is_uneven: None, other: None }),
            LineKind::Else | LineKind::EndIf => {
                let Some(group) = groups.last_mut() else { continue };
                let is_uneven = *group.is_uneven.get_or_insert(depth != group.depth);
                if let Some((start, depth_then)) = group.other.filter(|_| is_uneven) {
                    blanked.push(start..line.range.start);
                    depth = depth_then;
                }
                group.other = Some((line.range.end, depth));
                if matches!(line.kind, LineKind::EndIf) {
                    groups.pop();
                }
            }
            _ => {}
        }
    }
    // Branches within branches are blanked once.
    blanked.sort_by_key(|range| range.start);
    let mut done = 0;
    for range in blanked {
        let branch = code[range.start.max(done).min(range.end)..range.end].iter_mut();
        branch.filter(|byte| matches!(byte, b'{' | b'}')).for_each(|byte| *byte = b' ');
        done = done.max(range.end);
    }
}

/// Whether the code behind a closing parenthesis continues the same item.
fn goes_on(code: &[u8]) -> bool {
    let rest = code.trim_ascii_start();
    match rest.first() {
        Some(b'}' | b'#' | b'~') | None => false,
        Some(byte) if is_word_byte(*byte) => CONTINUATIONS.contains(&word_at(rest, 0)),
        Some(_) => true,
    }
}

/// Whether a macro expands to specifiers of a function.
fn is_specifier(body: &[u8]) -> bool {
    let has_code = body.iter().any(|byte| matches!(byte, b'{' | b';'));
    !has_code && words(body).any(|word| NO_CALLS.contains(&word) || SPECIFIERS.contains(&word))
}

/// The identifiers and keywords of some code, in order.
pub fn words(code: &[u8]) -> impl Iterator<Item = &str> {
    code.split(|byte| !is_word_byte(*byte))
        .filter_map(|word| std::str::from_utf8(word).ok())
        .filter(|word| !word.is_empty())
}

/// Whether a word before parentheses is an attribute or a keyword, not a function.
pub fn begins_no_call(word: &str) -> bool {
    NO_CALLS.contains(&word)
}

/// The word that starts at an offset, or the empty string.
pub fn word_at(code: &[u8], at: usize) -> &str {
    let rest = code.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| !is_word_byte(*byte)).unwrap_or(rest.len());
    std::str::from_utf8(&rest[..length]).unwrap_or("")
}

fn closing_brace(code: &[u8], open: usize, limit: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().take(limit).skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return Some(at + 1),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    find(bytes, from, b"\n").unwrap_or(bytes.len())
}

/// The end of a line, continuation lines included.
fn logical_line_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        let end = line_end(bytes, at);
        // Compilers take a backslash with blanks behind it for a continuation too.
        if end == bytes.len() || bytes[from..end].trim_ascii_end().last() != Some(&b'\\') {
            return end;
        }
        at = end + 1;
    }
}

/// Some code with comments, strings and preprocessor lines replaced by spaces. All branches of an `#if` are there, as no
/// compiler sees them.
pub fn all_branches(text: &str) -> Vec<u8> {
    let (mut code, _) = without_comments(text.as_bytes());
    for line in preprocessor_lines(&code) {
        code[line.range].fill(b' ');
    }
    code
}

pub fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes.get(from..)?, wanted).map(|at| from + at)
}

/// The start of the word that ends at an offset; the byte `also` counts as part of a word.
pub fn word_start(text: &[u8], end: usize, also: u8) -> usize {
    text[..end].iter().rposition(|byte| !is_word_byte(*byte) && *byte != also).map_or(0, |at| at + 1)
}

/// Limit on the characters of a number.
const MAX_NUMBER: usize = 32;

/// Tells the digit separator in `1'000` from the character literal in `u8'a'`.
fn is_in_number(text: &[u8], quote: usize) -> bool {
    let before = &text[quote.saturating_sub(MAX_NUMBER)..quote];
    before[word_start(before, before.len(), b'\'')..].first().is_some_and(u8::is_ascii_digit)
}

fn begins_raw_string(text: &[u8], at: usize) -> bool {
    matches!(&text[word_start(text, at, b'_')..at], b"" | b"L" | b"u" | b"U" | b"u8")
}

/// The offset behind a string or character literal, which ends with its line at the latest.
fn quote_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if bytes.get(at + 1..at + 3) == Some(b"\r\n") => at += 2,
            b'\\' => at += 1,
            b'\n' => return at,
            byte if byte == bytes[open] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The offset behind `R"x(…)x"`.
fn raw_string_end(bytes: &[u8], start: usize) -> usize {
    let open = start + 2;
    let Some(parenthesis) = find(bytes, open, b"(").filter(|at| at - open <= 16) else {
        return quote_end(bytes, start + 1);
    };
    let close = [b")", &bytes[open..parenthesis], b"\""].concat();
    find(bytes, parenthesis, &close).map_or(bytes.len(), |at| at + close.len())
}
