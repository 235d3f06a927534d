//! The number of a thread in its block, which edits for several variables declare each for itself.

use cuda_syntax::identifiers::occurrences;
use lmem_base::diagnostic::Edit;

/// How a declaration of the number begins.
const BEGINNING: &str = "const unsigned ";

/// Has the later members use the declaration of the first, where that is in scope and of the same value.
pub fn share(members: &mut [Vec<Edit>]) {
    for later in 1..members.len() {
        let (earlier, own) = members.split_at_mut(later);
        let Some(own) = own.first_mut() else { continue };
        let Some(declared) = declaration(own) else { continue };
        let found = earlier.iter().filter_map(|edits| declaration(edits));
        let is_seen = |it: &Declaration| it.value == declared.value && is_in_scope(&it.edit, &declared.edit);
        let Some(known) = found.into_iter().find(is_seen) else { continue };
        for edit in own.iter_mut() {
            if *edit == declared.edit {
                edit.replacement = declared.rest.clone();
            }
            edit.replacement = renamed(&edit.replacement, &declared.name, &known.name);
        }
        own.retain(|edit| !edit.span.range().is_empty() || !edit.replacement.is_empty());
    }
}

struct Declaration {
    name: String,
    value: String,
    edit: Edit,
    /// What the edit inserts after it.
    rest: String,
}

/// The declaration that a member inserts.
fn declaration(edits: &[Edit]) -> Option<Declaration> {
    let inserted = edits.iter().filter(|edit| edit.span.range().is_empty());
    let mut found = inserted.filter_map(|edit| {
        let (line, rest) = edit.replacement.split_once('\n')?;
        let (name, value) = line.strip_prefix(BEGINNING)?.strip_suffix(';')?.split_once(" = ")?;
        let (name, value, rest) = (name.to_string(), value.to_string(), rest.trim_start().to_string());
        value.contains("threadIdx").then(|| Declaration { name, value, edit: edit.clone(), rest })
    });
    found.next().filter(|_| found.next().is_none())
}

/// Whether no block ends between two places.
fn is_in_scope(first: &Edit, later: &Edit) -> bool {
    let is_of_one_file = first.span.file.path == later.span.file.path;
    let between = later.span.file.text().get(first.span.start..later.span.start).filter(|_| is_of_one_file);
    let mut depth = 0_i64;
    between.is_some_and(|between| {
        between.chars().all(|c| {
            depth += i64::from(c == '{') - i64::from(c == '}');
            depth >= 0
        })
    })
}

fn renamed(text: &str, name: &str, other: &str) -> String {
    let mut parts = String::new();
    let mut from = 0;
    for at in occurrences(text, name) {
        parts.push_str(&text[from..at]);
        parts.push_str(other);
        from = at + name.len();
    }
    parts + &text[from..]
}
