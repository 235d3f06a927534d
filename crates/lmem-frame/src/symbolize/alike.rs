//! Objects that are alike: the same statements access them in the same way, so that they have the same candidates. Of n arrays in one
//! statement each has n.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use lmem_base::chain::Shared;
use nv_code::AccessKind;

use crate::access::{EscapeKind, RawObject, StoredValues};
use crate::place::Place;

/// All of an object that its candidates depend on, votes included.
#[derive(PartialEq, Eq, Hash)]
struct Likeness {
    bytes: u64,
    may_have_name: bool,
    accesses: Vec<AccessLikeness>,
    /// The number of the access to blame.
    guilty: Option<usize>,
    escapes: Vec<EscapeLikeness>,
}

#[derive(PartialEq, Eq, Hash)]
struct AccessLikeness {
    places: Shared<Place>,
    kind: AccessKind,
    is_computed: bool,
    is_volatile: bool,
    in_callee: bool,
}

#[derive(PartialEq, Eq, Hash)]
struct EscapeLikeness {
    kind: EscapeKind,
    argument: Option<(usize, usize)>,
    places: Shared<Place>,
    is_own: bool,
}

impl Likeness {
    /// `None` for an object that is like no other: a copy of a parameter is compared with it.
    fn of(object: &RawObject) -> Option<Self> {
        if matches!(object.stored_values, StoredValues::Parameter(_)) {
            return None;
        }
        let accesses = object.accesses.iter().map(|access| AccessLikeness {
            places: Shared(access.places.clone()),
            kind: access.kind,
            is_computed: access.is_computed(),
            is_volatile: access.is_volatile,
            in_callee: access.in_callee,
        });
        let guilty = object.accesses.iter().enumerate().max_by_key(|(_, access)| access.guilt());
        let escapes = object.escapes.iter().map(|escape| EscapeLikeness {
            kind: escape.kind.clone(),
            argument: escape.argument,
            places: Shared(escape.places.clone()),
            is_own: escape.is_own,
        });
        Some(Self {
            bytes: object.bytes,
            may_have_name: object.may_have_name(),
            accesses: accesses.collect(),
            guilty: guilty.map(|(number, _)| number),
            escapes: escapes.collect(),
        })
    }
}

/// An answer for each kind of objects that are alike.
pub struct OfAlike<T>(RefCell<HashMap<Likeness, Rc<T>>>);

impl<T> Default for OfAlike<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T> OfAlike<T> {
    /// The answer for an object; `find` is asked for the first of those that are alike.
    pub fn of(&self, object: &RawObject, find: impl FnOnce() -> T) -> Rc<T> {
        let Some(likeness) = Likeness::of(object) else { return Rc::new(find()) };
        if let Some(known) = self.0.borrow().get(&likeness) {
            return Rc::clone(known);
        }
        let found = Rc::new(find());
        self.0.borrow_mut().insert(likeness, Rc::clone(&found));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, at, copy_of, object};
    use super::*;
    use crate::access::Access;

    /// Whether the second of two objects gets the answer of the first.
    fn is_shared(one: &RawObject, other: &RawObject) -> bool {
        let answers = OfAlike::<u32>::default();
        answers.of(one, || 1);
        *answers.of(other, || 2) == 1
    }

    #[test]
    fn objects_of_one_statement_are_alike() {
        let scene = Scene::new("__global__ void k(float *out, int n) {\n  float a[8], b[8];\n  b[0] = a[n];\n}\n");
        scene.ask(|it| {
            let places = it.places(&[at("b[0] =")]);
            let load = || Access { places: places.clone(), ..it.computed_load(&[]) };
            let one = || object(32, vec![load()]);
            assert!(is_shared(&one(), &one()));
            assert!(!is_shared(&one(), &object(48, vec![load()])));
            assert!(!is_shared(&one(), &object(32, vec![Access { kind: AccessKind::Store, ..load() }])));
            assert!(!is_shared(&one(), &object(32, vec![Access { is_volatile: true, ..load() }])));
            assert!(!is_shared(&one(), &object(32, vec![Access { in_callee: true, ..load() }])));
            assert!(!is_shared(&one(), &object(32, vec![it.computed_load(&[at("b[0] =")])])));
            assert!(!is_shared(&one(), &RawObject { is_library: true, ..one() }));
            let escapes = vec![it.passed("_Z4keepPf", (0, 1), &[at("b[0] =")])];
            assert!(!is_shared(&one(), &RawObject { escapes, ..one() }));
            // Another access is the guilty one.
            let deeper = |first: u32| {
                object(32, vec![Access { loop_depth: first, ..load() }, Access { loop_depth: 1, ..load() }])
            };
            assert!(is_shared(&deeper(0), &deeper(0)) && !is_shared(&deeper(0), &deeper(2)));
        });
    }

    #[test]
    fn copies_of_parameters_are_not_alike() {
        let copy = RawObject { stored_values: StoredValues::Parameter(copy_of(0)), ..object(32, Vec::new()) };
        assert!(!is_shared(&copy, &copy));
    }
}
