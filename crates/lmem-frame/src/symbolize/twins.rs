//! Distinguishes variables with equal votes: compares the origins of the index in the PTX with the text of the index.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::{SyntaxTrees, TreeId};

use super::resolve::Found;
use super::votes::{Candidate, Resolved};
use crate::access::{Access, Address, RawObject};
use crate::place::Place;

/// Origins of an index, by its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Told {
    /// Whether it uses `threadIdx`.
    thread: bool,
    /// Whether it has a subscript, so its value is loaded.
    loaded: bool,
    /// Whether it has only numbers and `threadIdx`.
    is_plain: bool,
    /// The kernel's parameters that it subscripts, bit `n` for parameter `n`: `order` of `a[order[i]]`.
    parameters: u64,
}

/// A variable, by its tree and the range of its name.
type Key = (TreeId, (usize, usize));

/// An index in a text, and whether the kernel itself has it.
type Index = (TreeId, Range<usize>, bool);

/// The variables that an address excludes.
type Excluded = Rc<HashSet<Key>>;

/// What the texts of indices that were read so far tell. Many variables of one statement have the same, and many accesses of it exclude
/// the same variables.
#[derive(Default)]
pub struct Texts {
    told: RefCell<HashMap<Index, Told>>,
    contradicted: RefCell<HashMap<(*const Found, Origin), Excluded>>,
}

/// What contradicts a text, of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Origin {
    thread: bool,
    loaded: bool,
    compared: bool,
    unknown: bool,
    parameters: Option<u64>,
}

impl Origin {
    fn of(access: &Access) -> Option<Self> {
        let Address::Computed(sources) = &access.address else { return None };
        Some(Self {
            thread: sources.thread_index,
            loaded: sources.loaded,
            compared: sources.compared,
            unknown: sources.unknown,
            parameters: access.parameters,
        })
    }
}

/// The variables that an object cannot be: of each access with a run-time index, the text has indices of the variable, and the
/// origins of the address contradict all of them.
pub fn contradicted(
    object: &RawObject,
    resolved: &Resolved<'_>,
    trees: &SyntaxTrees<'_>,
    texts: &Texts,
) -> Vec<Excluded> {
    let computed =
        object.accesses.iter().enumerate().filter_map(|(number, access)| Some((number, access, Origin::of(access)?)));
    let excluded =
        computed.map(|(number, access, origin)| texts.contradicted(resolved.of(number, access), origin, trees));
    excluded.filter(|keys| !keys.is_empty()).collect()
}

/// Whether an object may be a variable.
pub fn is_consistent(contradicted: &[Excluded], (tree, declaration): &Candidate) -> bool {
    !contradicted.iter().any(|keys| keys.contains(&(*tree, declaration.range)))
}

impl Texts {
    fn told(&self, index: &Range<usize>, place: &Place, is_of_kernel: bool, trees: &SyntaxTrees<'_>) -> Told {
        let key = (place.tree, index.clone(), is_of_kernel);
        *self.told.borrow_mut().entry(key).or_insert_with(|| told(index, place, is_of_kernel, trees))
    }

    /// The variables of which all indices contradict an address. `found` stays where it is while its unit is symbolized.
    fn contradicted(&self, found: &[Found], origin: Origin, trees: &SyntaxTrees<'_>) -> Excluded {
        if let Some(known) = self.contradicted.borrow().get(&(found.as_ptr(), origin)) {
            return Rc::clone(known);
        }
        let mut fits: HashMap<Key, bool> = HashMap::new();
        for one in found {
            let key = (one.place.tree, one.mention.declaration.range);
            for index in &one.mention.indices {
                // The outermost function is the kernel.
                let told = self.told(index, &one.place, one.is_outermost(), trees);
                *fits.entry(key).or_default() |= !contradicts(told, origin);
            }
        }
        let keys: HashSet<Key> = fits.into_iter().filter(|(_, fits)| !fits).map(|(key, _)| key).collect();
        let keys = Rc::new(keys);
        self.contradicted.borrow_mut().insert((found.as_ptr(), origin), Rc::clone(&keys));
        keys
    }
}

fn told(index: &Range<usize>, place: &Place, is_of_kernel: bool, trees: &SyntaxTrees<'_>) -> Told {
    let text = place.tree(trees).text().get(index.clone()).unwrap_or("");
    let is_known = |word: &str| {
        matches!(word, "threadIdx" | "x" | "y" | "z") || word.starts_with(|first: char| first.is_ascii_digit())
    };
    let parameters = place.tree(trees).parameters_around(index.start).filter(|_| is_of_kernel);
    let is_subscripted = |name: &str| {
        let mut uses = occurrences(text, name);
        uses.any(|at| text[at + name.len()..].trim_start().starts_with('['))
    };
    let subscripted =
        parameters.iter().flat_map(|names| names.iter()).take(64).enumerate().filter(|(_, name)| is_subscripted(name));
    Told {
        parameters: subscripted.fold(0, |all, (number, _)| all | 1 << number),
        // Within a subscript, it tells where the index is loaded from.
        thread: !text.contains('[') && identifiers(text).any(|word| word == "threadIdx"),
        loaded: text.contains('['),
        is_plain: !text.contains(['[', '(']) && identifiers(text).all(is_known),
    }
}

fn contradicts(told: Told, origin: Origin) -> bool {
    (told.thread && !origin.thread && !origin.unknown)
        || (told.loaded && !origin.loaded && !origin.compared && !origin.unknown)
        || (told.is_plain && origin.loaded)
        || origin.parameters.is_some_and(|derived| told.parameters & !derived != 0)
}

/// The only bijection of objects to variables for which `fits(object, variable)` holds. If nothing distinguishes them,
/// the identity; `None` if no bijection or several are possible.
pub fn assignment(count: usize, fits: &dyn Fn(usize, usize) -> bool) -> Option<Vec<usize>> {
    /// Limit, because the number of permutations grows quickly; more twins are rare.
    const MAX_TWINS: usize = 5;
    let all: Vec<usize> = (0..count).collect();
    let tells = all.iter().any(|object| all.iter().any(|variable| !fits(*object, *variable)));
    if !tells {
        return Some(all);
    }
    if count > MAX_TWINS {
        return None;
    }
    let mut ways = Vec::new();
    extend(&mut Vec::new(), count, fits, &mut ways);
    let only = ways.pop()?;
    ways.is_empty().then_some(only)
}

fn extend(begun: &mut Vec<usize>, count: usize, fits: &dyn Fn(usize, usize) -> bool, ways: &mut Vec<Vec<usize>>) {
    if begun.len() == count {
        ways.push(begun.clone());
        return;
    }
    for variable in 0..count {
        if !begun.contains(&variable) && fits(begun.len(), variable) {
            begun.push(variable);
            extend(begun, count, fits, ways);
            begun.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use cuda_syntax::Example;
    use nv_code::AccessKind;
    use nv_code::dataflow::Provenance;

    use super::*;

    const TEXT: &str = "__global__ void k(const int *order, float *out, int n) {
  float x[12], y[12];
  out[0] = x[order[n]] * y[threadIdx.x % 12];
}
";

    /// Whether an object whose index has some origins may be a variable.
    fn may_be(name: &str, sources: Provenance) -> bool {
        may_derive(name, sources, None)
    }

    /// The same for an address that derives from some of the kernel's parameters.
    fn may_derive(name: &str, sources: Provenance, parameters: Option<u64>) -> bool {
        let example = Example::new(TEXT);
        let trees = example.trees();
        let id = trees.id(Example::NAME).unwrap();
        let tree = trees.tree(id);
        let at = TEXT.find(&format!("{name}[12]")).unwrap();
        let declaration = tree.declaration_of(&(at..at + 1)).unwrap();
        let offset = tree.offset(3, 3).unwrap();
        let place = Place { tree: id, line: 3, offset, function: None, callee: None };
        let access = Access {
            parameters,
            ..Access::new(AccessKind::Load, Address::Computed(sources), [place].into_iter().collect())
        };
        let object = RawObject { bytes: 48, accesses: vec![access], ..RawObject::default() };
        let resolved = Resolved::new(&object, &trees, &Rc::default());
        is_consistent(&contradicted(&object, &resolved, &trees, &Texts::default()), &(id, declaration))
    }

    #[test]
    fn the_sources_of_an_index_tell_equal_arrays_apart() {
        let loaded = || Provenance { loaded: true, ..Provenance::default() };
        let thread = || Provenance { thread_index: true, ..Provenance::default() };
        assert_eq!((may_be("x", loaded()), may_be("y", loaded())), (true, false));
        assert_eq!((may_be("x", thread()), may_be("y", thread())), (false, true));
    }

    #[test]
    fn the_pointer_that_an_index_is_loaded_from_tells() {
        let loaded = || Provenance { loaded: true, ..Provenance::default() };
        // `order` is parameter 0.
        assert!(may_derive("x", loaded(), Some(0b001)) && may_derive("x", loaded(), Some(0b101)));
        assert!(!may_derive("x", loaded(), Some(0b110)));
    }

    #[test]
    fn one_assignment_or_none() {
        let of = |table: &[&[bool]]| assignment(table.len(), &|object, variable| table[object][variable]);
        assert_eq!(of(&[&[true, true], &[true, true]]), Some(vec![0, 1]));
        assert_eq!(of(&[&[false, true], &[true, false]]), Some(vec![1, 0]));
        assert_eq!(of(&[&[false, true], &[true, true]]), Some(vec![1, 0]));
        assert_eq!(of(&[&[false, false], &[true, true]]), None);
        assert_eq!(of(&[&[true, true, false], &[true, true, false], &[false, false, true]]), None);
    }
}
