//! The lints' view of a frame object. Each answer is computed on request.

use std::cmp::Reverse;
use std::ops::{Deref, Range};
use std::rc::Rc;

use cuda_syntax::tree::{base_name, last_name};
use cuda_syntax::{SyntaxTree, SyntaxTrees, types};
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use nv_code::dataflow::{TripCount, callee};
use nv_code::{AccessKind, UnitFacts};
use ptx_syntax::Instruction;

use crate::access::{Access, Address};
use crate::calls;
use crate::frame::{FrameObject, MathFunction, PassedTo};
use crate::place::{Place, innermost};
use crate::reentry::{self, KnownReentries, Reentry};
use crate::reinterpret::{self, Reinterpretation};
use crate::slow_path::has_slow_path;
use crate::symbolize::blame::{moving_loop, source_loop};

/// C library functions that the compiler expands to loops.
const COPYING: [&str; 3] = ["memcpy", "memset", "memmove"];

/// A frame object with the facts and the source of its unit.
#[derive(Clone, Copy)]
pub struct StackObject<'a> {
    object: &'a FrameObject,
    facts: &'a UnitFacts,
    trees: &'a SyntaxTrees<'a>,
}

/// A source loop around an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLoop {
    pub span: Span,
    /// `#pragma unroll …`
    pub pragma: Option<Span>,
    pub condition: Option<Span>,
}

impl Deref for StackObject<'_> {
    type Target = FrameObject;

    fn deref(&self) -> &FrameObject {
        self.object
    }
}

impl<'a> StackObject<'a> {
    pub fn new(object: &'a FrameObject, facts: &'a UnitFacts, trees: &'a SyntaxTrees<'a>) -> Self {
        Self { object, facts, trees }
    }

    /// The text of a source location.
    pub fn tree(&self, place: &Place) -> &'a Rc<SyntaxTree> {
        self.trees.tree(place.tree)
    }

    /// The cast through which the variable is accessed as another type.
    pub fn reinterpretation(&self) -> Option<Reinterpretation> {
        reinterpret::find(self.variable.as_ref()?, &self.accesses, self.trees)
    }

    /// How the function that declares the variable may be entered again while the variable lives.
    /// `known` is of the object's unit.
    pub fn reentry(&self, known: &KnownReentries) -> Option<Reentry> {
        reentry::reentry(self.object, self.facts, self.trees, known)
    }

    /// Whether words are read or written that are larger than an element: their bytes must stay together.
    pub fn is_accessed_in_wider_words(&self) -> bool {
        let type_text = self.variable.as_ref().and_then(|variable| variable.type_text.split('[').next());
        let Some(own) = type_text.and_then(types::size_of) else { return false };
        // The compiler joins stores to constant places on its own.
        let is_asked = |access: &Access| access.is_computed() || access.kind == AccessKind::Load;
        let sizes = self.accesses.iter().filter(|access| is_asked(access)).filter_map(|access| access.elements.first());
        sizes.into_iter().any(|bytes| *bytes > own)
    }

    /// For a by-value copy, the call that it is passed to.
    pub fn passed_to(&self) -> Option<PassedTo> {
        let (function, call) = self.argument_of.as_ref()?;
        let function = self.facts.ptx.function(function)?;
        Some(PassedTo {
            callee: callee(function.instructions.get(*call)?).map(str::to_string),
            call: calls::call_span(function, *call, self.facts, self.trees),
        })
    }

    /// For memory of the math library, the call of the math function.
    pub fn math_function(&self) -> Option<MathFunction> {
        if self.is_library { math_function(self.object, self.trees) } else { None }
    }

    /// For a variable in whose bytes the math library keeps intermediate results: the calls of its functions.
    pub fn math_calls_beside(&self) -> Vec<(String, Span)> {
        if self.shares_library { self.slow_calls_at(self.first_places().cloned()) } else { Vec::new() }
    }

    /// The other calls of math functions that use the same memory: by their accesses, and where a function that was not
    /// inlined has it, by the calls of that in `kernel`, a mangled name.
    pub fn other_math_calls(&self, main: &MathFunction, kernel: &str) -> Vec<(String, Span)> {
        let function = self.facts.ptx.function(kernel);
        let is_owner = |instruction: &&Instruction| {
            callee(instruction).is_some_and(|name| self.function.as_deref() == Some(&*demangle(name)))
        };
        let by_function = function.into_iter().flat_map(|function| {
            let calls = function.instructions.iter().filter(is_owner);
            calls.filter_map(|call| innermost(self.trees, &self.facts.ptx, function, call.location))
        });
        let mut found = self.slow_calls_at(self.first_places().cloned().chain(by_function));
        found.retain(|(_, span)| Some(span) != main.span.as_ref());
        found
    }

    fn first_places(&self) -> impl Iterator<Item = &'a Place> {
        self.object.accesses.iter().filter_map(|access| access.places.first())
    }

    /// The calls of math functions with a slow path in the statements at places, each once.
    fn slow_calls_at(&self, places: impl Iterator<Item = Place>) -> Vec<(String, Span)> {
        let named = |place: Place| {
            let tree = place.tree(self.trees);
            let calls = slow_calls(tree, &place).into_iter();
            calls.filter_map(|(name, range)| Some((name, tree.span(range)?))).collect::<Vec<_>>()
        };
        let mut found: Vec<(String, Span)> = places.flat_map(named).collect();
        found.sort_by_key(|(_, span)| (span.file.path.clone(), span.range().start));
        found.dedup();
        found
    }

    /// The source loop of an access that is in a machine-code loop.
    pub fn source_loop(&self, access: &Access) -> Option<SourceLoop> {
        if access.loop_depth == 0 && access.address == Address::Constant {
            return None;
        }
        // The loop over the elements is rolled, whatever becomes of those around it.
        let is_walk = matches!(access.address, Address::Induction(_));
        let depth = Some(access.loop_depth).filter(|_| !is_walk);
        let walked = access.index.as_ref().filter(|_| is_walk);
        let is_counted = matches!(access.address, Address::Induction(TripCount::Constant));
        let closing = (&access.loop_lines, is_counted);
        let moving = walked.and_then(|index| moving_loop(&access.places, index, closing, self.trees));
        let found = moving.or_else(|| source_loop(&access.places, &access.loop_lines, depth, self.trees));
        let (tree, found) = found?;
        Some(SourceLoop {
            span: tree.span(found.range)?,
            pragma: found.pragma.and_then(|range| tree.span(range)),
            condition: found.condition.and_then(|range| tree.span(range)),
        })
    }

    /// Whether a loop around an access may be one that a macro writes, which the source does not show.
    pub fn may_be_in_macro_loop(&self, access: &Access) -> bool {
        access.loop_depth > 0 && access.places.iter().any(|place| self.tree(place).has_macro_head(place.offset))
    }

    /// The C library function that copies or fills the object; the compiler expands its call to a loop.
    pub fn copying_call(&self, access: &Access) -> Option<&'static str> {
        let place = access.places.first()?;
        let tree = self.tree(place);
        let calls: Vec<_> = tree.regions(place.offset).into_iter().map(|region| tree.calls(region)).collect();
        let called = calls.iter().flat_map(|calls| calls.iter()).map(|(called, _)| last_name(called));
        let called: Vec<&str> = called.filter(|name| COPYING.contains(name)).collect();
        COPYING.into_iter().find(|name| called.contains(name))
    }

    /// The library function around an access whose innermost loop is in a library header.
    pub fn library_loop(&self, access: &Access) -> Option<String> {
        let called = access.places.first()?.callee.as_deref()?;
        let line = access.loop_lines.first().filter(|_| access.loop_depth > 0)?;
        self.trees.id(&line.file).is_none().then(|| base_name(&demangle(called)).to_string())
    }

    /// Call sites at which the access was inlined, innermost first.
    pub fn inlined_at(&self, access: &Access) -> Vec<Span> {
        let outer = access.places.iter().skip(1);
        let mut spans: Vec<Span> = outer.filter_map(|place| self.tree(place).line_span(place.line as usize)).collect();
        // One line may stand for several inlined frames: of macros, and of functions in headers that are not the
        // user's.
        spans.dedup_by_key(|span| (span.file.path.clone(), span.start_line()));
        spans
    }
}

/// The math call in the source that uses the library's memory, of several the one in the innermost loop.
fn math_function(object: &FrameObject, trees: &SyntaxTrees<'_>) -> Option<MathFunction> {
    let mut deepest: Vec<&Access> = object.accesses.iter().collect();
    deepest.sort_by_key(|access| Reverse(access.loop_depth));
    let places = || deepest.iter().filter_map(|access| access.places.first());
    let called = places().find_map(|place| {
        let (name, range) = slow_calls(place.tree(trees), place).into_iter().next()?;
        Some(MathFunction { name: Some(name), span: place.tree(trees).span(range) })
    });
    called.or_else(|| Some(MathFunction { name: None, span: places().next().and_then(|place| place.span(trees)) }))
}

/// The calls of a statement that have a slow path.
fn slow_calls(tree: &SyntaxTree, place: &Place) -> Vec<(String, Range<usize>)> {
    let calls = tree.regions(place.offset).into_iter().flat_map(|region| tree.calls(region).to_vec());
    calls.filter(|(name, _)| has_slow_path(name)).collect()
}

#[cfg(test)]
mod tests {
    use cuda_syntax::Example;
    use cuda_syntax::tree::DeclarationKind;
    use lmem_base::source::SourceFile;
    use nv_code::dataflow::Provenance;

    use super::*;
    use crate::frame::StackObjectKind;
    use crate::objects::tests::access;
    use crate::symbolize::name::Variable;

    #[test]
    fn words_of_several_elements_stay_together() {
        let example = Example::new("");
        let (trees, facts) = (example.trees(), UnitFacts::default());
        let wider = |type_text: &str, kind: AccessKind, address: Address, bytes: u64| {
            let mut object = FrameObject::new(StackObjectKind::Variable, 32);
            let mut one = access();
            (one.kind, one.address, one.elements) = (kind, address, [bytes].into());
            object.accesses = vec![one];
            object.variable = Some(Variable {
                name: "a".to_string(),
                type_text: type_text.to_string(),
                kind: DeclarationKind::Array,
                is_parameter: false,
                volatility: None,
                initializer: None,
                bytes: Some(32),
                span: Span::new(&SourceFile::from_text("a.cu", ""), 0..0),
                sharing: Vec::new(),
                members: Vec::new(),
            });
            StackObject::new(&object, &facts, &trees).is_accessed_in_wider_words()
        };
        let computed = || Address::Computed(Provenance::default());
        assert!(wider("unsigned char[32]", AccessKind::Load, computed(), 4));
        assert!(wider("unsigned char[32]", AccessKind::Store, computed(), 4));
        assert!(wider("unsigned char[32]", AccessKind::Load, Address::Constant, 4));
        // Initial values are stored by the compiler in words.
        assert!(!wider("unsigned char[32]", AccessKind::Store, Address::Constant, 4));
        assert!(!wider("unsigned char[32]", AccessKind::Load, computed(), 1));
        assert!(!wider("float[8]", AccessKind::Load, computed(), 4));
        assert!(!wider("float4[2]", AccessKind::Load, computed(), 4));
        assert!(!wider("Entry[2]", AccessKind::Load, computed(), 8));
    }
}
