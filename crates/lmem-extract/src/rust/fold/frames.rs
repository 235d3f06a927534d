//! The calls around an expression: what a parameter is depends on them.

use std::rc::Rc;

use syn::Expr;

use crate::rust::names::FunctionId;

/// The calls that an expression is evaluated in, the innermost first.
#[derive(Clone, Default)]
pub(crate) struct Frames(Option<Rc<Frame>>);

struct Frame {
    function: FunctionId,
    /// Where the call stands.
    file: usize,
    arguments: Vec<Expr>,
    outer: Frames,
}

impl Frames {
    /// Inside a function that is called with these arguments, its `self` not among them.
    pub fn within(&self, function: FunctionId, file: usize, arguments: Vec<Expr>) -> Self {
        Self(Some(Rc::new(Frame { function, file, arguments, outer: self.clone() })))
    }

    /// What a function is called with for one of its parameters: the file of the call, the argument, the calls around it.
    pub(super) fn argument(&self, function: FunctionId, index: usize) -> Option<(usize, Expr, Frames)> {
        let mut frame = self.0.as_deref()?;
        while frame.function != function {
            frame = frame.outer.0.as_deref()?;
        }
        Some((frame.file, frame.arguments.get(index)?.clone(), frame.outer.clone()))
    }
}
