//! Resolves calls to functions of the workspace, and finds the callers of a function.

use proc_macro2::{TokenStream, TokenTree};

use super::same_name::SameName;
use super::{Code, FunctionId};
use crate::rust::scan::tokens::split_at_commas;
use crate::rust::scan::{Binding, Call, Function, Value};

/// Limit on the functions that one call may mean.
const MAX_MEANT: usize = 512;

impl Code<'_> {
    /// The functions of the workspace that a call may refer to.
    pub(in crate::rust) fn called(&mut self, file: usize, call: &Call, arguments: usize) -> Vec<FunctionId> {
        let Some(name) = call.path.last() else { return Vec::new() };
        let at = call.range.start;
        if call.is_method {
            self.read_definitions(None, name);
            return self.functions_where(SameName::methods, name, |function, _| takes(function, arguments));
        }
        let path = match self.files[file].rust.binding(name, at) {
            Ok(Some(Binding { value: Value::Path(path), .. })) if call.path.len() == 1 => path.clone(),
            _ => self.expand_alias(file, at, &call.path),
        };
        let Some((name, qualifiers)) = path.split_last() else { return Vec::new() };
        let Some((package, qualifiers)) = self.package_of_function(file, qualifiers) else { return Vec::new() };
        self.read_definitions(Some(package), name);
        let own_file = file;
        let is_reachable = |function: &Function, file: usize| {
            arguments == function.parameters.len() + usize::from(function.has_self)
                && self.files[file].package == package
                && (file == own_file || !self.files[file].is_isolated)
        };
        let last = qualifiers.last().filter(|last| !matches!(last.as_str(), "crate" | "self" | "super"));
        let last = match last.map(String::as_str) {
            Some("Self") => self.files[file].rust.owner_at(at).map(|owner| owner.name.clone()),
            other => other.map(str::to_string),
        };
        // Re-exported by a `pub use`: accepted if no other function has the name.
        let only_free = || {
            let free = self.functions_where(SameName::free, name, is_reachable);
            if free.len() == 1 { free } else { Vec::new() }
        };
        let found = match &last {
            Some(last) if last.starts_with(char::is_uppercase) => {
                let own = self.functions_where(|same| same.of_type(last), name, is_reachable);
                if !own.is_empty() {
                    return own;
                }
                // The owner is a type parameter, or the trait itself.
                return self.functions_where(SameName::of_traits, name, is_reachable);
            }
            Some(last) => self.functions_where(|same| same.in_module(last), name, is_reachable),
            None => {
                // An item of the same module comes before those that macros and globs bring.
                if qualifiers.iter().all(|name| name == "self") {
                    let module = self.files[file].rust.modules_at(at);
                    let beside = self.functions_where(|same| same.beside(file, module), name, is_reachable);
                    if !beside.is_empty() {
                        return beside;
                    }
                }
                let has_place = |function: &Function| qualifiers.is_empty() || function.container.is_empty();
                let is_here = |function: &Function, file: usize| has_place(function) && is_reachable(function, file);
                self.functions_where(|same| same.in_file(file), name, is_here)
            }
        };
        if found.is_empty() { only_free() } else { found }
    }

    /// The first calls of a function, also in files that are not checked.
    pub(in crate::rust) fn calls_of(&mut self, id: FunctionId, at_most: usize) -> Vec<(usize, Call)> {
        self.read_callers(id);
        let function = self.function(id);
        let (has_self, parameters) = (function.has_self, function.parameters.len());
        let name = function.name.clone();
        let owner = function.owner.as_ref().filter(|owner| owner.of_trait.is_none()).map(|owner| owner.name.clone());
        let callers = self.callers(&name);
        let by_path = callers.by_path.get(&id).into_iter().flatten();
        let is_method = has_self && !self.is_template(id.file, self.function(id).body.start);
        let methods = callers.methods.get(&parameters).filter(|_| is_method).into_iter().flatten();
        let mut places: Vec<(usize, usize)> = by_path.chain(methods).copied().collect();
        places.sort_unstable();
        let calls = places.into_iter().map(|(file, call)| (file, &self.files[file].rust.calls[call]));
        let calls = calls.filter(|(file, call)| self.may_mean(*file, call, &name, owner.as_ref()));
        calls.take(at_most).map(|(file, call)| (file, call.clone())).collect()
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

    fn functions_where<'s>(
        &'s self,
        of: impl FnOnce(&'s SameName) -> &'s [FunctionId],
        name: &str,
        test: impl Fn(&Function, usize) -> bool,
    ) -> Vec<FunctionId> {
        let is_meant = |id: &FunctionId| {
            let function = self.function(*id);
            test(function, id.file) && !self.is_template(id.file, function.body.start)
        };
        let same = self.functions.get(name).map_or(&[][..], of);
        let mut found: Vec<FunctionId> = same.iter().copied().filter(is_meant).take(MAX_MEANT + 1).collect();
        // A call of any of so many functions is one of an unknown function.
        if found.len() > MAX_MEANT {
            found.clear();
        }
        found
    }
}

/// Whether a method takes so many arguments beside `self`.
fn takes(function: &Function, arguments: usize) -> bool {
    function.has_self && function.parameters.len() == arguments
}

/// Number of arguments of a call.
pub(in crate::rust) fn count_arguments(arguments: &TokenStream) -> usize {
    let tokens: Vec<TokenTree> = arguments.clone().into_iter().collect();
    split_at_commas(&tokens).iter().filter(|part| !part.is_empty()).count()
}
