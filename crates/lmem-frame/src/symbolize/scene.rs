//! Texts with hand-made accesses at their statements, for tests of symbolization.

use cuda_syntax::{Example, SyntaxTrees, TreeId};
use lmem_base::source::Span;
use lmem_unit::{FrontEnd, FrontEndMember, FrontEndVariable};
use nv_code::AccessKind;
use nv_code::dataflow::Provenance;

use crate::access::{Access, Address, Escape, EscapeKind, ParameterCopy, RawObject};
use crate::place::{Place, Places};

/// A test's text with the front end's variables.
pub struct Scene {
    text: String,
    front_end: FrontEnd,
}

/// An inlining level: a unique piece of the text, and the function that contains it.
#[derive(Clone, Copy)]
pub struct Level<'a> {
    pub at: &'a str,
    pub function: Option<&'a str>,
    /// The function that was inlined here.
    pub callee: Option<&'a str>,
}

/// A copy of a parameter that the source does not name.
pub fn copy_of(number: usize) -> ParameterCopy {
    ParameterCopy {
        number,
        parameter: None,
        offset: Some(0),
        bytes: 32,
        is_whole: true,
        writes: Vec::new(),
        may_be_written: false,
    }
}

/// A statement of the function that owns the frame.
pub fn at(piece: &str) -> Level<'_> {
    Level { at: piece, function: None, callee: None }
}

impl Scene {
    pub fn new(text: &str) -> Self {
        Self { text: text.to_string(), front_end: FrontEnd::default() }
    }

    /// Adds a variable of the front end, declared on the line of a piece of the text.
    pub fn with_variable(
        mut self,
        (name, type_text, bytes): (&str, &str, u64),
        declared: &str,
        members: &[(&str, &str, u64)],
    ) -> Self {
        let offset = self.text.find(declared).unwrap();
        let line = self.text[..offset].lines().count().max(1) + usize::from(self.text[..offset].ends_with('\n'));
        let member = |(path, type_text, bytes): &(&str, &str, u64)| FrontEndMember {
            path: (*path).into(),
            offset: 0,
            bytes: *bytes,
            type_text: (*type_text).into(),
        };
        self.front_end.functions.entry("_Z1k".into()).or_default().push(FrontEndVariable {
            is_temporary: false,
            is_volatile: false,
            name: name.into(),
            file: Example::NAME.into(),
            line: u32::try_from(line).unwrap(),
            column: 1,
            type_text: type_text.into(),
            bytes: Some(bytes),
            members: members.iter().map(member).collect(),
        });
        self
    }

    /// Runs a query on the scene with its syntax trees.
    pub fn ask<T>(&self, ask: impl FnOnce(&Shown<'_>) -> T) -> T {
        let example = Example::new(&self.text).with_front_end(self.front_end.clone());
        let trees = example.trees();
        let tree = trees.id(Example::NAME).unwrap();
        ask(&Shown { trees: &trees, tree, text: &self.text })
    }
}

/// A scene with its syntax trees.
pub struct Shown<'a> {
    pub trees: &'a SyntaxTrees<'a>,
    pub tree: TreeId,
    text: &'a str,
}

impl Shown<'_> {
    /// The inline chain of some levels, innermost first.
    pub fn places(&self, levels: &[Level<'_>]) -> Places {
        let place = |level: &Level<'_>| {
            let offset = self.text.find(level.at).unwrap();
            let line = u32::try_from(self.text[..offset].matches('\n').count() + 1).unwrap();
            Place {
                tree: self.tree,
                line,
                offset,
                function: level.function.map(Into::into),
                callee: level.callee.map(Into::into),
            }
        };
        levels.iter().map(place).collect()
    }

    /// A load at a constant address.
    pub fn load(&self, levels: &[Level<'_>]) -> Access {
        Access::new(AccessKind::Load, Address::Constant, self.places(levels))
    }

    /// A store at a constant address.
    pub fn store(&self, levels: &[Level<'_>]) -> Access {
        Access { kind: AccessKind::Store, ..self.load(levels) }
    }

    /// A load at a data-dependent address.
    pub fn computed_load(&self, levels: &[Level<'_>]) -> Access {
        Access { address: Address::Computed(Provenance { loaded: true, ..Provenance::default() }), ..self.load(levels) }
    }

    /// An address that escapes as an argument of a call.
    pub fn passed(&self, function: &str, argument: (usize, usize), levels: &[Level<'_>]) -> Escape {
        Escape {
            kind: EscapeKind::Call(function.into()),
            argument: Some(argument),
            places: self.places(levels),
            span: None,
            is_external: true,
            is_own: true,
        }
    }

    /// The source text of a span.
    pub fn shown(&self, span: Option<&Span>) -> Option<String> {
        span.map(|span| span.text().to_string())
    }
}

pub fn object(bytes: u64, accesses: Vec<Access>) -> RawObject {
    RawObject { bytes, accesses, ..RawObject::default() }
}
