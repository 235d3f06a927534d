//! The call stack of an expression, which determines the values of parameters.

use std::rc::Rc;

use syn::Expr;

use crate::rust::names::FunctionId;

/// The calls in which an expression is evaluated, innermost first.
#[derive(Clone, Default)]
pub(crate) struct Frames(Option<Rc<Frame>>);

struct Frame {
    function: FunctionId,
    /// The file that contains the call.
    file: usize,
    arguments: Vec<Expr>,
    outer: Frames,
}

impl Frames {
    /// Enters a function with these arguments, `self` excluded.
    pub fn within(&self, function: FunctionId, file: usize, arguments: Vec<Expr>) -> Self {
        Self(Some(Rc::new(Frame { function, file, arguments, outer: self.clone() })))
    }

    /// The argument for a parameter of a function: the file of the call, the expression, and the calls around it.
    pub(super) fn argument(&self, function: FunctionId, index: usize) -> Option<(usize, Expr, Frames)> {
        let mut frame = self.0.as_deref()?;
        while frame.function != function {
            frame = frame.outer.0.as_deref()?;
        }
        Some((frame.file, frame.arguments.get(index)?.clone(), frame.outer.clone()))
    }
}
