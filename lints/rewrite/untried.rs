//! Why no edit is offered for a variable: one sentence for readers who would else look for one.

use cuda_syntax::ast::{Field, Kind};
use cuda_syntax::tree::enclosing_function;
use lmem_frame::{StackObject, StackObjectKind};

use super::facts::sites::located;
use super::shared;
use crate::framework::LintContext;

/// The reason why nothing was tried; `None` for what is no variable.
pub fn reason(cx: &LintContext<'_>, object: &StackObject) -> Option<String> {
    if !matches!(object.kind, StackObjectKind::Variable) {
        return None;
    }
    let why = in_source(object).unwrap_or_else(|| {
        let shared = shared::obstacle(cx, object);
        let shared = shared.unwrap_or_else(|| {
            "for a move to shared memory, its declaration or a use of it is not simple enough".to_string()
        });
        format!("no loop, select or flag is certain to keep the meaning; {shared}")
    });
    Some(format!("no edit tried: {why}"))
}

/// What the source does not show.
fn in_source(object: &StackObject) -> Option<String> {
    let Some(variable) = &object.variable else { return Some("the variable is not known".to_string()) };
    let Some((tree, offset)) = located(object, &variable.span) else {
        return Some("its declaration is not in the text of the code that accesses it".to_string());
    };
    let name = tree.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
    // Of `hits.index`, the text may declare one or the other there.
    if !variable.name.split('.').any(|part| part == tree.slice(name)) {
        return Some("a macro declares it".to_string());
    }
    // A member's declaration is no statement of a function.
    let function = enclosing_function(name)?;
    let body = function.field(Field::Body)?;
    if body.has_error() {
        let odd = body.descendants().find(|node| node.is_error() || node.is_missing());
        let line = odd.and_then(|odd| tree.span(odd.start_byte()..odd.start_byte() + 1)).map(|span| span.start_line());
        let place = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        return Some(format!("its function has code that is not understood{place}"));
    }
    let is_kept = name.kind() == Kind::Identifier && tree.replacement(name.byte_range(), tree.slice(name)).is_some();
    let why = || tree.obstacle(offset).unwrap_or_else(|| "an attribute or a macro hides code".to_string());
    (!is_kept).then(why)
}
