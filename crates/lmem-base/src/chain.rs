//! Lists with shared tails.
//!
//! An inline chain starts at a statement and ends in the kernel. Thousands of statements are in functions that were inlined at one call,
//! hundreds of calls deep: as lists of their own they take memory for each pair of a statement and a call, with shared tails for each
//! call once.

use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A list that is made from its end. Copies share all elements.
pub struct Chain<T>(Option<Arc<Link<T>>>);

struct Link<T> {
    first: T,
    rest: Chain<T>,
    length: usize,
}

impl<T> Chain<T> {
    /// A list of an element and those of another list.
    #[must_use]
    pub fn new(first: T, rest: Self) -> Self {
        let length = rest.len() + 1;
        Self(Some(Arc::new(Link { first, rest, length })))
    }

    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |link| link.length)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub fn first(&self) -> Option<&T> {
        self.0.as_ref().map(|link| &link.first)
    }

    /// The elements after the first.
    pub fn rest(&self) -> Option<&Self> {
        self.0.as_ref().map(|link| &link.rest)
    }

    /// Takes as long as there are elements before.
    pub fn get(&self, index: usize) -> Option<&T> {
        self.iter().nth(index)
    }

    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// The list itself, and what remains of it after each element; no empty ones.
    pub fn tails(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |tail| tail.rest()).take_while(|tail| !tail.is_empty())
    }

    /// Whether two lists are the same elements in memory. Equal lists need not be.
    pub fn is_same(&self, other: &Self) -> bool {
        self.address() == other.address()
    }

    /// The elements of several lists; those of a shared tail once.
    pub fn each_once<'c>(chains: impl IntoIterator<Item = &'c Self>) -> impl Iterator<Item = &'c T>
    where
        T: 'c,
    {
        let mut seen = HashSet::new();
        // Where one tail was seen, those after it were.
        let new = move |chain: &'c Self| {
            let fresh: Vec<&T> =
                chain.tails().take_while(|tail| seen.insert(tail.address())).filter_map(Self::first).collect();
            fresh
        };
        chains.into_iter().flat_map(new)
    }

    fn address(&self) -> Option<*const Link<T>> {
        self.0.as_ref().map(Arc::as_ptr)
    }
}

impl<T> Chain<T> {
    /// Whether elements are equal pair by pair, in what `key` tells of them.
    pub fn is_alike<K: PartialEq>(&self, other: &Self, key: impl Fn(&T) -> K) -> bool {
        let mut pairs = self.tails().zip(other.tails()).take_while(|(one, other)| !one.is_same(other));
        self.len() == other.len() && pairs.all(|(one, other)| one.first().map(&key) == other.first().map(&key))
    }
}

impl<T> Default for Chain<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Clone for Chain<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for Chain<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self).finish()
    }
}

impl<T: PartialEq> PartialEq for Chain<T> {
    fn eq(&self, other: &Self) -> bool {
        let mut pairs = self.tails().zip(other.tails()).take_while(|(one, other)| !one.is_same(other));
        self.len() == other.len() && pairs.all(|(one, other)| one.first() == other.first())
    }
}

impl<T: Eq> Eq for Chain<T> {}

impl<T> FromIterator<T> for Chain<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let elements: Vec<T> = elements.into_iter().collect();
        elements.into_iter().rev().fold(Self::default(), |rest, first| Self::new(first, rest))
    }
}

impl<'c, T> IntoIterator for &'c Chain<T> {
    type Item = &'c T;
    type IntoIter = Iter<'c, T>;

    fn into_iter(self) -> Iter<'c, T> {
        self.iter()
    }
}

/// The elements of a chain.
pub struct Iter<'c, T>(&'c Chain<T>);

impl<'c, T> Iterator for Iter<'c, T> {
    type Item = &'c T;

    fn next(&mut self) -> Option<&'c T> {
        let link = self.0.0.as_ref()?;
        self.0 = &link.rest;
        Some(&link.first)
    }
}

/// Long lists would exhaust the stack if each element dropped the next.
impl<T> Drop for Chain<T> {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(link) = next {
            next = Arc::into_inner(link).and_then(|mut link| link.rest.0.take());
        }
    }
}

/// A chain that is known by where it is in memory: the key of what was found out about it.
pub struct Shared<T>(pub Chain<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }
}

impl<T> Eq for Shared<T> {}

impl<T> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.address().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_shared() {
        let tail: Chain<u32> = [2, 3].into_iter().collect();
        let (one, other) = (Chain::new(1, tail.clone()), Chain::new(0, tail.clone()));
        assert_eq!(one.iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!((one.len(), one.first(), one.get(2), one.get(3)), (3, Some(&1), Some(&3), None));
        assert_eq!(one.tails().map(Chain::len).collect::<Vec<_>>(), [3, 2, 1]);
        assert!(one.rest().is_some_and(|rest| rest.is_same(&tail)));
        assert_eq!(Chain::each_once([&one, &other, &tail, &one]).copied().collect::<Vec<_>>(), [1, 2, 3, 0]);
    }

    #[test]
    fn chains_are_equal_by_their_elements() {
        let of = |elements: &[u32]| elements.iter().copied().collect::<Chain<u32>>();
        assert_eq!(of(&[1, 2]), of(&[1, 2]));
        assert_ne!(of(&[1, 2]), of(&[1, 3]));
        assert_ne!(of(&[1, 2]), of(&[1, 2, 3]));
        assert_ne!(of(&[1]), of(&[]));
        assert!(!of(&[1]).is_same(&of(&[1])));
        assert!(of(&[1, 12]).is_alike(&of(&[11, 2]), |element| element % 10));
        assert!(!of(&[1, 2]).is_alike(&of(&[1, 3]), |element| element % 10));
    }

    #[test]
    fn long_chains_end_without_a_deep_stack() {
        let long: Chain<u32> = (0..1_000_000).collect();
        let kept = long.rest().cloned();
        drop(long);
        assert_eq!(kept.map(|kept| kept.len()), Some(999_999));
    }
}
