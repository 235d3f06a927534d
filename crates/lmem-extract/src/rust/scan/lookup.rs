//! Queries on a scanned file: the binding of a name at an offset, and the items around it.

use std::ops::Range;

use proc_macro2::TokenStream;

use super::{Binding, Owner, RustFile, Value};

impl RustFile {
    /// The nearest binding of a name; `Err` if there are alternatives, for example under `#[cfg]`.
    pub fn binding(&self, name: &str, at: usize) -> Result<Option<&Binding>, Ambiguous> {
        match self.nearest(name, at).as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => Err(Ambiguous),
        }
    }

    /// The nearest bindings of a name; several if there are alternatives, for example under `#[cfg]`.
    pub fn nearest(&self, name: &str, at: usize) -> Vec<&Binding> {
        let function = self.function_at(at);
        let is_seen = |binding: &&Binding| {
            !binding.is_associated
                && binding.visible.contains(&at)
                && (binding.local_to.is_none() || binding.local_to == function)
        };
        let seen = self.bindings.get(name).into_iter().flatten().filter(is_seen);
        let mut nearest: Vec<&Binding> = Vec::new();
        for binding in seen {
            match nearest.first().map(|best| best.visible.start.cmp(&binding.visible.start)) {
                Some(std::cmp::Ordering::Greater) => {}
                Some(std::cmp::Ordering::Equal) => nearest.push(binding),
                _ => nearest = vec![binding],
            }
        }
        nearest
    }

    /// The constants with this name in the enclosing `impl` or `trait`.
    pub fn associated(&self, name: &str, at: usize) -> Vec<&Binding> {
        let bindings = self.bindings.get(name).into_iter().flatten();
        bindings.filter(|binding| binding.is_associated && binding.visible.contains(&at)).collect()
    }

    /// All values that a name may have at an offset: of all bindings, initial values of variables included.
    pub fn values(&self, name: &str, at: usize) -> impl Iterator<Item = &TokenStream> {
        let seen = self.bindings.get(name).into_iter().flatten().filter(move |binding| binding.visible.contains(&at));
        seen.flat_map(|binding| match &binding.value {
            Value::Expression(value) | Value::Initial(value) | Value::Part { of: value, .. } => {
                std::slice::from_ref(value)
            }
            Value::Sum(values) => values.as_slice(),
            Value::Path(_) | Value::Unknown(_) => &[],
        })
    }

    /// The variable whose value contains an offset, and its scope.
    pub fn variable_made_at(&self, at: usize) -> Option<(String, Range<usize>)> {
        let holds = |tokens: &TokenStream| {
            let mut places = tokens.clone().into_iter().map(|token| self.range(token.span()));
            places.any(|place| place.contains(&at))
        };
        let is_made = |binding: &&Binding| {
            binding.is_local()
                && match &binding.value {
                    Value::Expression(value) | Value::Initial(value) => holds(value),
                    Value::Sum(values) => values.iter().any(holds),
                    _ => false,
                }
        };
        let made = self.bindings.iter().flat_map(|(name, bindings)| {
            bindings.iter().filter(is_made).map(|binding| (name.clone(), binding.visible.clone()))
        });
        // For nested values the innermost: its scope ends first.
        made.min_by_key(|(_, visible)| (visible.end, visible.start))
    }

    /// Items with this name anywhere in the file.
    pub fn items(&self, name: &str) -> impl Iterator<Item = &Binding> {
        self.bindings.get(name).into_iter().flatten().filter(|binding| binding.local_to.is_none())
    }

    /// Whether the file declares a trait with this name.
    pub fn has_trait(&self, name: &str) -> bool {
        self.owners.iter().any(|(_, owner)| owner.is_trait && owner.name == name)
    }

    /// The `impl` or `trait` around an offset.
    pub fn owner_at(&self, at: usize) -> Option<&Owner> {
        let around = self.owners.iter().filter(|(range, _)| range.contains(&at));
        around.max_by_key(|(range, _)| range.start).map(|(_, owner)| owner)
    }

    /// The innermost function around an offset, by index.
    pub fn function_around(&self, at: usize) -> Option<usize> {
        let start = self.function_at(at)?;
        self.function_with_body(start)
    }

    /// The function whose body starts at an offset, by index.
    pub fn function_with_body(&self, start: usize) -> Option<usize> {
        self.functions.iter().position(|function| function.body.start == start)
    }

    /// The inline modules, and the types with implementations, that contain names.
    pub fn containers(&self) -> impl Iterator<Item = &String> {
        self.bindings.values().flatten().flat_map(|binding| &binding.container)
    }

    /// Inline modules around an offset.
    pub fn modules_at(&self, at: usize) -> &[String] {
        let around = self.modules.iter().filter(|(range, _)| range.contains(&at));
        around.max_by_key(|(range, _)| range.start).map_or(&[], |(_, path)| path.as_slice())
    }

    fn function_at(&self, at: usize) -> Option<usize> {
        let around = self.functions.iter().filter(|function| function.body.contains(&at));
        around.map(|function| function.body.start).max()
    }

    /// The byte range of a span parsed from this file.
    pub fn range(&self, span: proc_macro2::Span) -> Range<usize> {
        let range = span.byte_range();
        range.start + self.start..range.end + self.start
    }
}

/// Several bindings have the same name and scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ambiguous;
