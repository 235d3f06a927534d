//! What is known by now of who calls whom in one unit. Each object of a function asks, and texts have to be searched for the answer.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::tree::base_name;
use lmem_base::mangling::demangle;
use nv_code::KernelFacts;

/// The names of the kernels that lead to a function; `None` where they are not all known.
pub type Callers = Option<Rc<[String]>>;

/// Answers by text. The tree is kept with them, so that no other one takes its address.
type OfTexts<K, V> = RefCell<HashMap<(*const SyntaxTree, K), (Rc<SyntaxTree>, V)>>;

#[derive(Default)]
pub struct KnownCallers {
    /// The names of the unit's kernels and functions, as the source has them.
    names: OnceCell<Vec<String>>,
    /// By the text of a function and its offset there.
    of_functions: OfTexts<usize, Callers>,
    /// Whether a text defines all kernels.
    of_texts: OfTexts<(), bool>,
}

impl KnownCallers {
    /// The kernels among a unit's functions, with their names in the source.
    pub fn entries<'a, 'k: 'a>(
        &'a self,
        functions: &'k [KernelFacts],
    ) -> impl Iterator<Item = (&'k KernelFacts, &'a str)> {
        let name = |function: &KernelFacts| base_name(&demangle(&function.name)).to_string();
        let names = self.names.get_or_init(|| functions.iter().map(name).collect());
        functions.iter().zip(names.iter().map(String::as_str)).filter(|(function, _)| function.is_entry)
    }

    /// The kernels that lead to the function at an offset.
    pub fn of_function(
        &self,
        tree: &Rc<SyntaxTree>,
        offset: usize,
        find: impl FnOnce() -> Option<Vec<String>>,
    ) -> Callers {
        found_once(&self.of_functions, tree, offset, || find().map(Into::into))
    }

    /// Whether a text defines all kernels of the unit.
    pub fn has_all(&self, tree: &Rc<SyntaxTree>, find: impl FnOnce() -> bool) -> bool {
        found_once(&self.of_texts, tree, (), find)
    }
}

fn found_once<K: Eq + Hash, V: Clone>(
    known: &OfTexts<K, V>,
    tree: &Rc<SyntaxTree>,
    key: K,
    find: impl FnOnce() -> V,
) -> V {
    let key = (Rc::as_ptr(tree), key);
    if let Some((_, found)) = known.borrow().get(&key) {
        return found.clone();
    }
    let found = find();
    known.borrow_mut().insert(key, (Rc::clone(tree), found.clone()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_searched_once_for_each_function() {
        let known = KnownCallers::default();
        let tree = |text: &str| Rc::new(SyntaxTree::example("a.cu", text));
        let (one, other) = (tree("void f();"), tree("void g();"));
        let of = |tree: &Rc<SyntaxTree>, offset: usize, name: &str| {
            known.of_function(tree, offset, || Some(vec![name.to_string()])).unwrap()[0].clone()
        };
        assert_eq!((of(&one, 0, "a").as_str(), of(&one, 0, "b").as_str()), ("a", "a"));
        assert_eq!((of(&one, 5, "c").as_str(), of(&other, 0, "d").as_str()), ("c", "d"));
        assert!(known.has_all(&one, || true) && known.has_all(&one, || false) && !known.has_all(&other, || false));
    }
}
