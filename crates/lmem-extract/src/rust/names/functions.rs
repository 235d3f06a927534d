//! Resolves calls to functions of the workspace, and finds the callers of a function.

use proc_macro2::{TokenStream, TokenTree};

use super::{Code, FunctionId};
use crate::rust::scan::tokens::split_at_commas;
use crate::rust::scan::{Binding, Call, Function, Value};

impl Code<'_> {
    /// The functions of the workspace that a call may refer to.
    pub(in crate::rust) fn called(&mut self, file: usize, call: &Call, arguments: usize) -> Vec<FunctionId> {
        let Some(name) = call.path.last() else { return Vec::new() };
        let at = call.range.start;
        if call.is_method {
            self.read_definitions(None, name);
            return self
                .functions_where(name, |function, _| function.has_self && function.parameters.len() == arguments);
        }
        let path = match self.files[file].rust.binding(name, at) {
            Ok(Some(Binding { value: Value::Path(path), .. })) if call.path.len() == 1 => path.clone(),
            _ => self.expand_alias(file, at, &call.path),
        };
        let Some((name, qualifiers)) = path.split_last() else { return Vec::new() };
        let Some((package, qualifiers)) = self.package_of_function(file, qualifiers) else { return Vec::new() };
        self.read_definitions(Some(package), name);
        let has_arguments =
            |function: &Function| arguments == function.parameters.len() + usize::from(function.has_self);
        let found = self.functions_where(name, |function, of| {
            has_arguments(function) && self.files[of].package == package && (of == file || !self.files[of].is_isolated)
        });
        let last = qualifiers.last().filter(|last| !matches!(last.as_str(), "crate" | "self" | "super"));
        let owner = self.files[file].rust.owner_at(at);
        let last = match last.map(String::as_str) {
            Some("Self") => owner.map(|owner| owner.name.clone()),
            other => other.map(str::to_string),
        };
        let keep = |test: &dyn Fn(&Function, FunctionId) -> bool| -> Vec<FunctionId> {
            found.iter().copied().filter(|id| test(self.function(*id), *id)).collect()
        };
        match last {
            Some(last) if last.starts_with(char::is_uppercase) => {
                let own = keep(&|function, _| function.owner.as_ref().is_some_and(|owner| owner.name == last));
                if !own.is_empty() {
                    return own;
                }
                // The owner is a type parameter, or the trait itself.
                keep(&|function, _| function.owner.as_ref().is_some_and(|owner| owner.of_trait.is_some()))
            }
            Some(last) => {
                let inside = keep(&|function, id| {
                    let module = [self.files[id.file].module.as_slice(), &function.container].concat();
                    function.owner.is_none() && module.last() == Some(&last)
                });
                let free = keep(&|function, _| function.owner.is_none());
                // Re-exported by a `pub use`: accepted if no other function has the name.
                if inside.is_empty() && free.len() == 1 { free } else { inside }
            }
            None => {
                let here = keep(&|function, id| {
                    function.owner.is_none()
                        && id.file == file
                        && (qualifiers.is_empty() || function.container.is_empty())
                });
                let free = keep(&|function, _| function.owner.is_none());
                if here.is_empty() && free.len() == 1 { free } else { here }
            }
        }
    }

    /// All calls of a function, also in files that are not checked.
    pub(in crate::rust) fn calls_of(&mut self, id: FunctionId) -> Vec<(usize, Call)> {
        self.read_callers(id);
        let function = self.function(id);
        let name = function.name.clone();
        let owner = function.owner.as_ref().filter(|owner| owner.of_trait.is_none()).map(|owner| owner.name.clone());
        let mut calls = Vec::new();
        for file in 0..self.files.len() {
            let named: Vec<Call> = self.files[file]
                .rust
                .calls
                .iter()
                .filter(|call| self.may_mean(file, call, &name, owner.as_ref()))
                .cloned()
                .collect();
            let named = named.into_iter().filter(|call| !self.is_template(file, call.range.start)).collect::<Vec<_>>();
            for call in named {
                let arguments = count_arguments(&call.arguments);
                if self.called(file, &call, arguments).contains(&id) {
                    calls.push((file, call));
                }
            }
        }
        calls
    }

    /// A cheap test whether a call can be of a function with this name and type, before the expensive resolution.
    fn may_mean(&self, file: usize, call: &Call, name: &str, owner: Option<&String>) -> bool {
        let is_alias = |of: &String| match self.files[file].rust.binding(of, call.range.start) {
            Ok(Some(Binding { value: Value::Path(path), .. })) => Some(path.clone()),
            _ => None,
        };
        match (call.path.as_slice(), owner) {
            ([only], _) => {
                only == name || is_alias(only).is_some_and(|path| path.last().is_some_and(|last| last == name))
            }
            ([.., of, last], Some(owner)) => last == name && (of == owner || of == "Self" || is_alias(of).is_some()),
            (path, _) => path.last().is_some_and(|last| last == name),
        }
    }

    fn functions_where(&self, name: &str, test: impl Fn(&Function, usize) -> bool) -> Vec<FunctionId> {
        let is_meant = |id: &FunctionId| {
            let function = self.function(*id);
            test(function, id.file) && !self.is_template(id.file, function.body.start)
        };
        self.functions.get(name).into_iter().flatten().copied().filter(is_meant).collect()
    }
}

/// Number of arguments of a call.
pub(in crate::rust) fn count_arguments(arguments: &TokenStream) -> usize {
    let tokens: Vec<TokenTree> = arguments.clone().into_iter().collect();
    split_at_commas(&tokens).iter().filter(|part| !part.is_empty()).count()
}
