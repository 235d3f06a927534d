//! Variables of one declaration statement that edits take out of it, each for itself: `float a[4], b[4];`.

use std::ops::Range;

use cuda_syntax::identifiers::is_identifier_character;
use lmem_base::diagnostic::Edit;
use lmem_base::source::Span;

/// Merges the edits by which several members take their variables out of one statement: the variables that stay are
/// declared once, in their order. Each element holds the edits of one member; those that are merged are removed.
/// `None` if the statement is not understood, so that the edits exclude each other.
pub fn merged(members: &mut [Vec<Edit>]) -> Vec<Edit> {
    let mut all: Vec<(usize, Moved)> = Vec::new();
    for (index, edits) in members.iter().enumerate() {
        all.extend(edits.iter().filter_map(|edit| moved(edit, edits)).map(|moved| (index, moved)));
    }
    let mut edits = Vec::new();
    while let Some((_, first)) = all.first() {
        let place = first.place.clone();
        let (of_one, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, moved)| moved.place == place);
        all = rest;
        if of_one.len() < 2 {
            continue;
        }
        let Some(whole) = rewritten(&of_one) else { continue };
        for (index, moved) in of_one {
            members[index].retain(|edit| !moved.edits.contains(edit));
        }
        edits.push(whole);
    }
    edits
}

/// A variable that edits take out of its statement.
struct Moved {
    /// The whole statement.
    place: Span,
    statement: Statement,
    /// Its number among the declarators.
    declarator: usize,
    /// The lines that declare it anew.
    lines: Vec<String>,
    edits: Vec<Edit>,
}

/// The text of a declaration statement, by offsets in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Statement {
    range: Range<usize>,
    /// What all variables have in common.
    head: Range<usize>,
    declarators: Vec<Range<usize>>,
}

impl Statement {
    /// The statement from an offset; `None` unless it declares plain variables, pointers and arrays of one type.
    fn parse(text: &str, start: usize) -> Option<Self> {
        let (mut depth, mut commas, mut end) = (0_usize, Vec::new(), None);
        // Whether a `*` here is that of a declarator, not of its initializer.
        let mut is_before_name = true;
        for (at, c) in text.get(start..)?.char_indices() {
            match c {
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.checked_sub(1)?,
                ',' if depth == 0 => {
                    commas.push(start + at);
                    is_before_name = true;
                }
                '*' if depth == 0 && is_before_name => {}
                '=' if depth == 0 => is_before_name = false,
                ';' if depth == 0 => {
                    end = Some(start + at);
                    break;
                }
                // Pointers, functions, templates, comments and literals.
                '*' | '&' | '(' | ')' if depth == 0 => return None,
                '<' | '>' | '"' | '\'' | '/' | ';' | '#' | '\\' => return None,
                _ => {}
            }
        }
        let end = end?;
        let first = text.get(start..commas.first().copied().unwrap_or(end))?;
        let name_end = first.find(['[', '=', '{']).map_or(first, |at| &first[..at]).trim_end().len();
        let before = first[..name_end].trim_end_matches(is_identifier_character);
        // The stars of a pointer are the first declarator's own.
        let words = before.trim_end_matches(|c: char| c == '*' || c.is_whitespace());
        let blanks = first[words.len()..].len() - first[words.len()..].trim_start().len();
        let head = &first[..words.len() + blanks];
        if words.contains('*')
            || head.trim().is_empty()
            || !head.ends_with(char::is_whitespace)
            || head.len() == name_end
        {
            return None;
        }
        let starts = std::iter::once(start + head.len()).chain(commas.iter().map(|at| at + 1));
        let ends = commas.iter().copied().chain([end]);
        let declarators = starts.zip(ends).map(|(from, to)| {
            let part = &text[from..to];
            let from = from + part.len() - part.trim_start().len();
            from..from + part.trim().len()
        });
        Some(Self { range: start..end + 1, head: start..start + head.len(), declarators: declarators.collect() })
    }

    /// A declaration of some of the variables.
    fn of(&self, text: &str, declarators: &[usize]) -> String {
        let listed: Vec<&str> = declarators.iter().map(|it| &text[self.declarators[*it].clone()]).collect();
        format!("{} {};", text[self.head.clone()].trim_end(), listed.join(", "))
    }
}

/// Whether an edit is the first of those that take a variable out of a statement with others.
fn moved(edit: &Edit, edits: &[Edit]) -> Option<Moved> {
    let text = edit.span.file.text();
    let statement = Statement::parse(text, edit.span.start)?;
    let place = Span::new(&edit.span.file, statement.range.clone());
    if edit.span.range() == statement.range {
        return replaced(edit, text, statement, place);
    }
    // Lines before the statement, and a deletion in it.
    if !edit.span.range().is_empty() || !ends_line(&edit.replacement) {
        return None;
    }
    let is_within = |other: &&Edit| {
        let at = &other.span;
        at.file.path == place.file.path && place.start < at.end && at.start < place.end
    };
    let within: Vec<&Edit> = edits.iter().filter(is_within).filter(|other| *other != edit).collect();
    let [deletion] = within.as_slice() else { return None };
    let covers =
        |declarator: &Range<usize>| deletion.span.start <= declarator.start && declarator.end <= deletion.span.end;
    let mut covered = statement.declarators.iter().enumerate().filter(|(_, declarator)| covers(declarator));
    let (declarator, range) = covered.next()?;
    let rest = [&text[deletion.span.start..range.start], &text[range.end..deletion.span.end]].concat();
    if covered.next().is_some() || !deletion.replacement.is_empty() || rest.trim() != "," {
        return None;
    }
    let lines = edit.replacement.lines().map(|line| line.trim().to_string()).filter(|line| !line.is_empty());
    let lines = lines.collect();
    Some(Moved { place, statement, declarator, lines, edits: vec![edit.clone(), (*deletion).clone()] })
}

/// A statement that is replaced by one for the variable and declarations of the others.
fn replaced(edit: &Edit, text: &str, statement: Statement, place: Span) -> Option<Moved> {
    let mut missing: Vec<usize> = (0..statement.declarators.len()).collect();
    let mut lines = Vec::new();
    for line in edit.replacement.lines().map(str::trim) {
        match others(line, text, &statement) {
            Some(kept) => missing.retain(|declarator| !kept.contains(declarator)),
            None => lines.push(line.to_string()),
        }
    }
    let [declarator] = missing.as_slice() else { return None };
    let is_anew = statement.declarators.len() > 1 && !lines.is_empty();
    is_anew.then(|| Moved { place, statement, declarator: *declarator, lines, edits: vec![edit.clone()] })
}

/// The variables of a statement that a line declares as before.
fn others(line: &str, text: &str, statement: &Statement) -> Option<Vec<usize>> {
    let anew = Statement::parse(line, 0).filter(|anew| anew.range.end == line.len())?;
    let has_head = line[anew.head.clone()].trim() == text[statement.head.clone()].trim();
    let number = |range: &Range<usize>| {
        statement.declarators.iter().position(|known| text[known.clone()] == line[range.clone()])
    };
    let found = anew.declarators.iter().map(number);
    found.collect::<Option<Vec<usize>>>().filter(|_| has_head)
}

fn ends_line(text: &str) -> bool {
    text.trim_end_matches([' ', '\t']).ends_with('\n')
}

/// The statement without the variables that are taken out of it, with their new declarations.
fn rewritten(members: &[(usize, Moved)]) -> Option<Edit> {
    let (_, first) = members.first()?;
    let (statement, text) = (&first.statement, first.place.file.text());
    let (mut lines, mut kept): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
    for declarator in 0..statement.declarators.len() {
        let mut own = members.iter().filter(|(_, moved)| moved.declarator == declarator);
        match (own.next(), own.next()) {
            (None, _) => kept.push(declarator),
            (Some((_, moved)), None) => {
                if !kept.is_empty() {
                    lines.push(statement.of(text, &std::mem::take(&mut kept)));
                }
                lines.extend(moved.lines.iter().cloned());
            }
            (Some(_), Some(_)) => return None,
        }
    }
    if !kept.is_empty() {
        lines.push(statement.of(text, &kept));
    }
    let before = &text[..statement.range.start];
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
    let contexts = members.iter().flat_map(|(_, moved)| &moved.edits).map(|edit| &edit.context);
    let start = contexts.clone().map(|context| context.start).min()?;
    let end = contexts.map(|context| context.end).max()?;
    let context = Span::new(&first.place.file, start.min(first.place.start)..end.max(first.place.end));
    Some(Edit { span: first.place.clone(), replacement: lines.join(&format!("\n{indent}")), context })
}
