//! Remainder loops of partial unrolling.
//!
//! The main part of a partially unrolled loop has an induction variable. The remainder has none, or one that starts
//! where the main part ended. Its addresses are computed from the trip count, so they look like indices from data. A
//! remainder is recognized by two facts: its accesses have the source location of accesses in the main part, and their
//! addresses depend on nothing but what the trip count depends on.

use std::collections::BTreeMap;

use nv_code::dataflow::{Flow, Origins, Provenance, TripCount};
use ptx_syntax::{Address, AddressBase, Operand};

use super::access::{Access, Address as AccessAddress, ObjectKey, RawObject, same_place};

/// The origins of the address of instruction `at`.
pub fn origins_of_address(flow: &Flow<'_>, address: &Address, at: usize) -> Origins {
    let base = match address.base {
        AddressBase::Reg(register) => Some(Operand::Reg(register)),
        _ => None,
    };
    flow.origins(base.iter().map(|base| (base, at)))
}

/// The origins of the trip counts of the loops that step an index's induction variables.
pub fn origins_of_lengths(flow: &Flow<'_>, index: &Provenance, at: usize) -> Origins {
    let loops = index.steps.iter().filter_map(|step| flow.loops.innermost_with(*step, at));
    let tests = loops.flat_map(|id| flow.loops.tests(id, flow));
    let bounds = tests.flat_map(|test| {
        let operands = flow.function.instructions[test].operands.iter().skip(1);
        operands.map(move |operand| (operand, test))
    });
    flow.origins(bounds)
}

/// Marks the accesses that may be in the remainder of a loop whose main part has an induction variable.
pub fn mark(objects: &mut BTreeMap<ObjectKey, RawObject>) {
    for object in objects.values_mut() {
        let told: Vec<(Option<TripCount>, bool)> = object
            .accesses
            .iter()
            .map(|access| (main_part(access, &object.accesses), is_copied(access, &object.accesses)))
            .collect();
        for (access, (rest, is_copied)) in object.accesses.iter_mut().zip(told) {
            access.rest_of = rest;
            if let (AccessAddress::Computed(sources), true) = (&mut access.address, is_copied) {
                sources.divergent = None;
            }
        }
    }
}

/// Whether threads of a warp differ in a copy of a statement alone, which another loop has too. Threads leave the main
/// part of an unrolled loop at different elements, so that its remainder differs, and the index of the source does not.
fn is_copied(access: &Access, all: &[Access]) -> bool {
    access.divergent == Some(true)
        && all.iter().any(|other| {
            other.divergent != Some(true)
                && other.is_computed()
                && other.kind == access.kind
                && other.ptx_loop != access.ptx_loop
                && same_place(access, other)
        })
}

/// The trip count of the loop whose remainder an access may be in.
fn main_part(access: &Access, all: &[Access]) -> Option<TripCount> {
    let AccessAddress::Computed(_) = access.address else { return None };
    let data = access.origins.as_ref()?;
    let trips = all.iter().filter(|other| same_place(access, other)).filter_map(|other| match other.address {
        AccessAddress::Induction(trip) if other.origins.as_ref().is_some_and(|length| data.is_subset(length)) => {
            Some(trip)
        }
        _ => None,
    });
    trips.max()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use nv_code::AccessKind;

    use super::*;

    fn access(address: AccessAddress, origins: Option<&[&str]>) -> Access {
        let origins = origins.map(|names| names.iter().map(|name| (*name).to_string()).collect::<BTreeSet<_>>());
        Access { origins, ..Access::new(AccessKind::Load, address, crate::place::Places::default()) }
    }

    /// The trip count of the loop whose remainder the first access may be in.
    fn rest_of_first(accesses: Vec<Access>) -> Option<TripCount> {
        let key = ObjectKey { function: "k".into(), variable: 0, offset: 0 };
        let mut objects = BTreeMap::from([(key, RawObject { accesses, ..RawObject::default() })]);
        mark(&mut objects);
        objects.into_values().next()?.accesses.remove(0).rest_of
    }

    /// Whether the first access is said to differ within a warp, beside another one of its statement in loop 1.
    fn of_first(ptx_loop: usize, other: Option<bool>) -> Option<bool> {
        let sources = |divergent| AccessAddress::Computed(Provenance { divergent, ..Provenance::default() });
        let first = Access { divergent: Some(true), ptx_loop: Some(ptx_loop), ..access(sources(Some(true)), None) };
        let main = AccessAddress::Induction(TripCount::RunTime);
        let second = Access { divergent: other, ptx_loop: Some(1), ..access(main, None) };
        let key = ObjectKey { function: "k".into(), variable: 0, offset: 0 };
        let accesses = vec![first, second];
        let mut objects = BTreeMap::from([(key, RawObject { accesses, ..RawObject::default() })]);
        mark(&mut objects);
        match &objects.into_values().next()?.accesses[0].address {
            AccessAddress::Computed(sources) => sources.divergent,
            _ => panic!("another class"),
        }
    }

    #[test]
    fn what_differs_in_the_rest_alone_is_not_told() {
        assert_eq!(of_first(0, Some(false)), None);
        assert_eq!(of_first(0, Some(true)), Some(true));
        assert_eq!(of_first(1, Some(false)), Some(true));
    }

    #[test]
    fn a_rest_depends_on_nothing_but_the_length_of_the_main_part() {
        let rest = |origins| access(AccessAddress::Computed(Provenance::default()), origins);
        let main = || access(AccessAddress::Induction(TripCount::RunTime), Some(&["n"]));
        assert_eq!(rest_of_first(vec![rest(Some(&["n"])), main()]), Some(TripCount::RunTime));
        assert_eq!(rest_of_first(vec![rest(Some(&["n", "data"])), main()]), None);
        assert_eq!(rest_of_first(vec![rest(None), main()]), None);
        assert_eq!(rest_of_first(vec![rest(Some(&["n"]))]), None);
        let unknown = access(AccessAddress::Induction(TripCount::RunTime), None);
        assert_eq!(rest_of_first(vec![rest(Some(&["n"])), unknown]), None);
    }
}
