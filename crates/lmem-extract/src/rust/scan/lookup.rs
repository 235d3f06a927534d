//! Queries on a scanned file: the binding of a name at an offset, and the items around it.

use std::cmp::Reverse;
use std::ops::Range;

use proc_macro2::TokenStream;

use super::{Binding, Call, Owner, RustFile, Structure, Value};

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
        let is_seen =
            |binding: &Binding| !binding.is_associated && (binding.local_to.is_none() || binding.local_to == function);
        let named = self.bindings.get(name).map_or(&[][..], Vec::as_slice);
        let mut nearest: Vec<usize> = Vec::new();
        for number in self.visible(name, at) {
            match nearest.first() {
                _ if !is_seen(&named[number]) => {}
                Some(best) if named[*best].visible.start > named[number].visible.start => break,
                _ => nearest.push(number),
            }
        }
        nearest.sort_unstable();
        nearest.into_iter().map(|number| &named[number]).collect()
    }

    /// Numbers of the bindings of a name that are visible at an offset: those that start last come first.
    fn visible(&self, name: &str, at: usize) -> Box<dyn Iterator<Item = usize> + '_> {
        if let Some(nest) = self.index.bindings.get(name) {
            return Box::new(nest.around(at));
        }
        let named = self.bindings.get(name).map_or(&[][..], Vec::as_slice);
        let mut visible: Vec<usize> = (0..named.len()).filter(|number| named[*number].visible.contains(&at)).collect();
        visible.sort_by_key(|number| Reverse(named[*number].visible.start));
        Box::new(visible.into_iter())
    }

    /// The innermost scope of a name around an offset: where it is the same, so are all values.
    pub fn scope_of(&self, name: &str, at: usize) -> Option<usize> {
        self.visible(name, at).next()
    }

    /// The constants with this name in the enclosing `impl` or `trait`.
    pub fn associated(&self, name: &str, at: usize) -> Vec<&Binding> {
        let bindings = self.bindings.get(name).into_iter().flatten();
        bindings.filter(|binding| binding.is_associated && binding.visible.contains(&at)).collect()
    }

    /// All values that a name may have at an offset: of all bindings, initial values of variables included.
    pub fn values(&self, name: &str, at: usize) -> impl Iterator<Item = &TokenStream> {
        let named = self.bindings.get(name).map_or(&[][..], Vec::as_slice);
        let mut visible: Vec<usize> = self.visible(name, at).collect();
        visible.sort_unstable();
        let seen = visible.into_iter().map(|number| &named[number]);
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
        let functions = self.index.functions.around(at).map(|number| self.functions[number].body.start);
        let locals = functions.filter_map(|function| self.index.locals.get(&function)).flatten();
        let local = locals.filter_map(|(name, number)| Some((name, self.bindings.get(name)?.get(*number)?)));
        let made = local.filter(|(_, binding)| is_made(binding));
        let made = made.map(|(name, binding)| (name.clone(), binding.visible.clone()));
        // For nested values the innermost: its scope ends first.
        made.min_by_key(|(_, visible)| (visible.end, visible.start))
    }

    /// Items with this name anywhere in the file.
    pub fn items(&self, name: &str) -> impl Iterator<Item = &Binding> {
        self.bindings.get(name).into_iter().flatten().filter(|binding| binding.local_to.is_none())
    }

    /// Items with this name that exactly these modules, and a type, are around.
    pub fn items_within(&self, name: &str, container: &[String]) -> Vec<&Binding> {
        match self.index.items.get(name) {
            Some(items) => {
                let numbers = items.get(container).into_iter().flatten();
                numbers.filter_map(|number| self.bindings.get(name)?.get(*number)).collect()
            }
            None => self.items(name).filter(|binding| binding.container == container).collect(),
        }
    }

    /// Whether the file declares a trait with this name.
    pub fn has_trait(&self, name: &str) -> bool {
        self.owners.iter().any(|(_, owner)| owner.is_trait && owner.name == name)
    }

    /// The `impl` or `trait` around an offset.
    pub fn owner_at(&self, at: usize) -> Option<&Owner> {
        self.index.owners.around(at).next().map(|number| &self.owners[number].1)
    }

    /// The innermost function around an offset, by index.
    pub fn function_around(&self, at: usize) -> Option<usize> {
        let start = self.function_at(at)?;
        self.function_with_body(start)
    }

    /// The function whose body starts at an offset, by index.
    pub fn function_with_body(&self, start: usize) -> Option<usize> {
        let index = self.functions.partition_point(|function| function.body.start < start);
        (self.functions.get(index)?.body.start == start).then_some(index)
    }

    /// The inline modules, and the types with implementations, that contain names.
    pub fn containers(&self) -> impl Iterator<Item = &String> {
        self.bindings.values().flatten().flat_map(|binding| &binding.container)
    }

    /// Inline modules around an offset.
    pub fn modules_at(&self, at: usize) -> &[String] {
        let innermost = self.index.modules.around(at).next();
        innermost.map_or(&[], |number| self.modules[number].1.as_slice())
    }

    fn function_at(&self, at: usize) -> Option<usize> {
        self.index.functions.around(at).next().map(|number| self.functions[number].body.start)
    }

    /// The structure expressions of a type, in the order of the file; those of `Self` in its `impl` if `with_own`.
    pub fn structures_of(&self, name: &str, with_own: bool) -> impl Iterator<Item = &Structure> {
        let named = self.index.structures.get(name).into_iter().flatten();
        let own = self.index.own_structures.get(name).filter(|_| with_own).into_iter().flatten();
        let mut numbers: Vec<usize> = named.chain(own).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().map(|number| &self.structures[number])
    }

    /// The first `macro_rules!` around an offset, by index.
    pub fn macro_around(&self, at: usize) -> Option<usize> {
        self.macros_around(at).min()
    }

    /// The indices of all `macro_rules!` around an offset.
    pub fn macros_around(&self, at: usize) -> impl Iterator<Item = usize> {
        self.index.definitions.around(at)
    }

    /// The calls that begin in a range, in the order of the file.
    pub fn calls_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Call> {
        let starts = &self.index.calls;
        let from = starts.partition_point(|number| self.calls[*number].range.start < range.start);
        let to = starts.partition_point(|number| self.calls[*number].range.start < range.end);
        starts[from..to.max(from)].iter().map(|number| &self.calls[*number])
    }

    /// Indices of the calls by a name, and by other names that a `use` gives it.
    pub fn calls_named(&self, name: &str) -> Vec<usize> {
        let named = |name: &str| self.index.called.get(name).into_iter().flatten().copied();
        let others = self.index.aliases.get(name).into_iter().flatten();
        let others = others.flat_map(|other| named(other).filter(|call| self.calls[*call].path.len() == 1));
        let mut calls: Vec<usize> = named(name).chain(others).collect();
        calls.sort_unstable();
        calls.dedup();
        calls
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
