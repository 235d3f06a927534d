//! What of a variable an object is: all of it, or a member, by the sizes of both.

use std::collections::BTreeSet;

use cuda_syntax::tree::{Declaration, DeclarationKind};

/// Padding that the layout may add behind an object: alignment is 16 bytes at most.
pub const MAX_PADDING: u64 = 15;

/// What of a variable an object is: all of it, or a member.
pub struct Part {
    pub name: String,
    pub type_text: String,
    pub kind: DeclarationKind,
    pub bytes: Option<u64>,
}

impl Part {
    pub fn whole(declaration: &Declaration) -> Self {
        Self {
            name: declaration.name.clone(),
            type_text: declaration.type_text.clone(),
            kind: declaration.kind,
            bytes: declaration.bytes,
        }
    }
}

/// The variable, or the member that all its computed accesses go to, where the size fits the object's.
pub fn fitting(declaration: &Declaration, members: &BTreeSet<String>, bytes: u64) -> Option<Part> {
    let whole_fits = size_fits(declaration.bytes, bytes);
    let mut paths = members.iter();
    let path = paths.next().filter(|path| !path.is_empty() && paths.next().is_none());
    let member = path.map(|path| (path, declaration.members.iter().find(|(known, ..)| known == path)));
    match member {
        // A structure of one member is a wrapper, and its member nobody's name.
        Some((path, Some((_, type_text, member_bytes))))
            if is_worth_naming(declaration) && (whole_fits || size_fits(Some(*member_bytes), bytes)) =>
        {
            let kind = if type_text.ends_with(']') { DeclarationKind::Array } else { declaration.kind };
            let name = format!("{}.{path}", declaration.name);
            Some(Part { name, type_text: type_text.clone(), kind, bytes: Some(*member_bytes) })
        }
        Some((path, None))
            if whole_fits && declaration.members.is_empty() && declaration.kind == DeclarationKind::Aggregate =>
        {
            let name = format!("{}.{path}", declaration.name);
            Some(Part {
                name,
                type_text: declaration.type_text.clone(),
                kind: declaration.kind,
                bytes: declaration.bytes,
            })
        }
        _ if whole_fits => Some(Part::whole(declaration)),
        // The compiler may take a structure apart.
        _ if declaration.members.iter().any(|(_, _, member)| size_fits(Some(*member), bytes)) => {
            Some(Part::whole(declaration))
        }
        _ => None,
    }
}

fn is_worth_naming(declaration: &Declaration) -> bool {
    declaration.members.iter().filter(|(path, ..)| !path.contains('.')).count() > 1
}

pub fn size_fits(size: Option<u64>, bytes: u64) -> bool {
    size.is_none_or(|size| size <= bytes && bytes <= size + MAX_PADDING)
}
