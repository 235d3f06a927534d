//! What lints ask of an object of the frame. An answer is computed when it is asked for.

use std::ops::Deref;
use std::rc::Rc;

use cuda_syntax::tree::{base_name, last_name};
use cuda_syntax::{SyntaxTree, SyntaxTrees};
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use nv_code::UnitFacts;
use nv_code::dataflow::callee;

use crate::access::{Access, Address};
use crate::calls;
use crate::frame::{FrameObject, MathFunction, PassedTo};
use crate::place::Place;
use crate::reinterpret::{self, Reinterpretation};
use crate::symbolize::blame::source_loop;

/// Functions that the compiler replaces by loops.
const COPYING: [&str; 3] = ["memcpy", "memset", "memmove"];

/// An object of a frame, together with the facts and the source of its unit.
#[derive(Clone, Copy)]
pub struct StackObject<'a> {
    object: &'a FrameObject,
    facts: &'a UnitFacts,
    trees: &'a SyntaxTrees<'a>,
}

/// The loop of the source that an access lies in.
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

    /// The text that a location lies in.
    pub fn tree(&self, place: &Place) -> &'a Rc<SyntaxTree> {
        self.trees.tree(place.tree)
    }

    /// The cast through which the variable is accessed as another type.
    pub fn reinterpretation(&self) -> Option<Reinterpretation> {
        reinterpret::find(self.variable.as_ref()?, &self.accesses, self.trees)
    }

    /// Where it is passed, for a copy that is made to be passed by value.
    pub fn passed_to(&self) -> Option<PassedTo> {
        let (function, call) = self.argument_of.as_ref()?;
        let function = self.facts.ptx.function(function)?;
        Some(PassedTo {
            callee: callee(function.instructions.get(*call)?).map(str::to_string),
            call: calls::call_span(function, *call, self.facts, self.trees),
        })
    }

    /// The call that it belongs to, for memory of the math library.
    pub fn math_function(&self) -> Option<MathFunction> {
        if self.is_library { math_function(self.object, self.trees) } else { None }
    }

    /// The loop of the source around an access that is in a loop of the machine code.
    pub fn source_loop(&self, access: &Access) -> Option<SourceLoop> {
        if access.loop_depth == 0 && access.address == Address::Constant {
            return None;
        }
        let (tree, found) = source_loop(&access.places, &access.loop_lines, self.trees)?;
        Some(SourceLoop {
            span: tree.span(found.range)?,
            pragma: found.pragma.and_then(|range| tree.span(range)),
            condition: found.condition.and_then(|range| tree.span(range)),
        })
    }

    /// The function of the C library whose call copies or fills the object: the compiler makes a loop of it.
    pub fn copying_call(&self, access: &Access) -> Option<&'static str> {
        let place = access.places.first()?;
        let tree = self.tree(place);
        let regions = tree.regions(place.offset).into_iter();
        let calls: Vec<_> = regions.flat_map(|region| tree.calls(region)).collect();
        COPYING.into_iter().find(|name| calls.iter().any(|(called, _)| last_name(called) == *name))
    }

    /// The function of a library's header that the access lies in, where a loop of that header is the innermost around it.
    pub fn library_loop(&self, access: &Access) -> Option<String> {
        let called = access.places.first()?.callee.as_deref()?;
        let line = access.loop_lines.first().filter(|_| access.loop_depth > 0)?;
        self.trees.id(&line.file).is_none().then(|| base_name(&demangle(called)).to_string())
    }

    /// The calls that the code of the access was inlined at, nearest first.
    pub fn inlined_at(&self, access: &Access) -> Vec<Span> {
        let outer = access.places.iter().skip(1);
        let mut spans: Vec<Span> = outer.filter_map(|place| self.tree(place).line_span(place.line as usize)).collect();
        // A line may stand for several levels: macros, and functions of headers that are not the user's.
        spans.dedup_by_key(|span| (span.file.path.clone(), span.start_line()));
        spans
    }
}

/// The call that the library's own memory belongs to, where the source shows one.
fn math_function(object: &FrameObject, trees: &SyntaxTrees<'_>) -> Option<MathFunction> {
    let place = object.accesses.iter().find_map(|access| access.places.first());
    let called = place.and_then(|place| {
        let regions = place.tree(trees).regions(place.offset).into_iter();
        let (name, range) =
            regions.flat_map(|region| place.tree(trees).calls(region)).find(|(name, _)| has_slow_path(name))?;
        Some(MathFunction { name: Some(name), span: place.tree(trees).span(range) })
    });
    called.or_else(|| Some(MathFunction { name: None, span: place.and_then(|place| place.span(trees)) }))
}

/// Functions that reduce large arguments with an array.
fn has_slow_path(name: &str) -> bool {
    let name = name.trim_start_matches("cuda::").trim_start_matches("std::").trim_start_matches("::");
    matches!(
        name.strip_suffix('f').unwrap_or(name),
        "sin" | "cos" | "tan" | "sincos" | "j0" | "j1" | "jn" | "y0" | "y1" | "yn"
    )
}
