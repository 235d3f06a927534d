//! The part of a variable that an object represents: the whole or a member, judged by size.

use std::collections::BTreeSet;

use cuda_syntax::tree::{Declaration, DeclarationKind};
use lmem_base::gpu::MAX_PADDING;

/// The whole of a variable, or a member.
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

/// The variable, or the only member that its computed accesses use, if its size fits the object.
pub fn fitting(declaration: &Declaration, members: &BTreeSet<String>, bytes: u64) -> Option<Part> {
    let whole_fits = size_fits(declaration.bytes, bytes);
    let mut paths = members.iter();
    let path = paths.next().filter(|path| !path.is_empty() && paths.next().is_none());
    // The members of a base class come first, and a member of the same name hides them.
    let member = path.map(|path| (path, declaration.members.iter().rfind(|(known, ..)| known == path)));
    match member {
        // A structure with one member is a wrapper; its member's name does not help the reader.
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
        // The compiler may split a structure (SROA).
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

#[cfg(test)]
mod tests {
    use super::*;

    fn declaration(kind: DeclarationKind, bytes: Option<u64>, members: &[(&str, &str, u64)]) -> Declaration {
        let member = |(path, type_text, bytes): &(&str, &str, u64)| ((*path).into(), (*type_text).into(), *bytes);
        let mut declaration = Declaration::hidden("v", 0..1);
        declaration.kind = kind;
        declaration.bytes = bytes;
        declaration.members = members.iter().map(member).collect();
        declaration
    }

    /// Name and size of the part, for accesses to some members.
    fn part(declaration: &Declaration, paths: &[&str], bytes: u64) -> Option<(String, Option<u64>)> {
        let paths = paths.iter().map(|path| (*path).to_string()).collect();
        fitting(declaration, &paths, bytes).map(|part| (part.name, part.bytes))
    }

    #[test]
    fn an_object_is_as_large_as_its_variable_and_its_padding() {
        let array = declaration(DeclarationKind::Array, Some(20), &[]);
        assert_eq!(part(&array, &[""], 20), Some(("v".into(), Some(20))));
        assert_eq!(part(&array, &[""], 35), Some(("v".into(), Some(20))));
        assert_eq!((part(&array, &[""], 36), part(&array, &[""], 19)), (None, None));
        // Any object size fits a variable of unknown size.
        assert!(part(&declaration(DeclarationKind::Array, None, &[]), &[""], 400).is_some());
    }

    #[test]
    fn the_only_member_that_is_accessed_is_the_name() {
        let members = [("key", "float[8]", 32), ("used", "int", 4)];
        let structure = declaration(DeclarationKind::Aggregate, Some(36), &members);
        assert_eq!(part(&structure, &["key"], 36), Some(("v.key".into(), Some(32))));
        assert_eq!(part(&structure, &["key"], 32), Some(("v.key".into(), Some(32))));
        assert_eq!(part(&structure, &["key", "used"], 36), Some(("v".into(), Some(36))));
        // A wrapper's member tells no more than the variable.
        let wrapper = declaration(DeclarationKind::Aggregate, Some(32), &members[..1]);
        assert_eq!(part(&wrapper, &["key"], 32), Some(("v".into(), Some(32))));
    }
}
