//! The calls of all functions with one name: each call is resolved once, however many functions have the name.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Code, FunctionId, count_arguments};

/// The calls by a name, by file and index.
#[derive(Debug, Default)]
pub(super) struct Callers {
    /// By the functions that a path may mean.
    pub by_path: BTreeMap<FunctionId, Vec<(usize, usize)>>,
    /// By the number of arguments: a method call may be of any method.
    pub methods: BTreeMap<usize, Vec<(usize, usize)>>,
}

impl Code<'_> {
    /// The calls of functions with a name.
    pub(super) fn callers(&mut self, name: &str) -> Rc<Callers> {
        // Resolving a call may read further files, which may have more calls.
        loop {
            let files = self.files.len();
            if let Some((known, callers)) = self.callers.get(name)
                && *known == files
            {
                return Rc::clone(callers);
            }
            let callers = Rc::new(self.find_callers(name));
            self.callers.insert(name.to_string(), (files, callers));
        }
    }

    fn find_callers(&mut self, name: &str) -> Callers {
        let mut callers = Callers::default();
        for file in 0..self.files.len() {
            for index in self.files[file].rust.calls_named(name) {
                let call = self.files[file].rust.calls[index].clone();
                if self.is_template(file, call.range.start) {
                    continue;
                }
                let arguments = count_arguments(&call.arguments);
                if call.is_method {
                    callers.methods.entry(arguments).or_default().push((file, index));
                    continue;
                }
                for id in self.called(file, &call, arguments) {
                    callers.by_path.entry(id).or_default().push((file, index));
                }
            }
        }
        callers
    }
}
