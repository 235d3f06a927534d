//! Candidate variables of an object: each access votes for all variables that its statement mentions.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::tree::{Declaration, DeclarationKind, Mention, Passed, Volatility};
use cuda_syntax::{SyntaxTrees, TreeId};
use lmem_base::chain::Shared;
use lmem_base::mangling::{demangle, parameter_count};
use lmem_base::source::Span;
use nv_code::AccessKind;

use super::macro_uses::{self, Declared};
use super::resolve::{Found, Known, Use, Wanted, resolve};
use crate::access::{Access, Escape, EscapeKind, RawObject};
use crate::place::{Place, Places};

/// A declaration and the syntax tree that contains it.
pub type Candidate = (TreeId, Declaration);

#[derive(Clone, Default)]
pub struct Score {
    /// Votes that are almost certainly right: of computed indices, and of arguments by position.
    pub certain: u64,
    pub places: u64,
    /// Whether the address is passed on somewhere.
    pub is_passed: bool,
    /// Whether a statement with a computed access has a subscript of the variable.
    pub is_indexed: bool,
    /// Whether the function that owns the frame mentions the variable, not only an inlined function.
    pub is_own: bool,
    /// Members that computed accesses use; an empty path is the variable itself.
    pub members: BTreeSet<String>,
    pub span: Option<Span>,
    pub initializer: Option<Span>,
    /// Indices of the accesses that are certainly to the variable if it is in them: computed ones, and `volatile` ones of a number.
    pub voters: BTreeSet<usize>,
    /// A statement that mentions the variable, and where it was inlined.
    pub mentioned_at: Option<Places>,
    /// Arrays with other lifetimes that other accesses to the same bytes mention instead of this variable.
    pub rivals: Vec<Candidate>,
    /// The view, span or closure that statements mention in the variable's place.
    pub through: Option<Candidate>,
}

/// The variables that an access may use.
pub fn candidates(found: &[Found]) -> BTreeSet<Candidate> {
    found.iter().map(|found| (found.place.tree, found.mention.declaration.clone())).collect()
}

/// The uses of variables that may be the accesses of an object, by the number of the access. Each is resolved when it is first asked for:
/// to vote, to tell variables of equal votes apart, and to blame a use.
pub struct Resolved<'t> {
    trees: &'t SyntaxTrees<'t>,
    known: Rc<KnownUses>,
    found: Vec<OnceCell<Rc<[Found]>>>,
}

/// What the uses of an access depend on: the statement, the direction, and whether the address is computed.
type Asked = (Shared<Place>, AccessKind, bool);

/// The uses found so far for accesses of one unit. Many objects are accessed by the same statement.
#[derive(Default)]
pub struct KnownUses {
    outside: Known,
    of_accesses: RefCell<HashMap<Asked, Rc<[Found]>>>,
}

impl KnownUses {
    /// The uses of variables that may be an access.
    fn of(&self, access: &Access, trees: &SyntaxTrees<'_>) -> Rc<[Found]> {
        if access.is_vague {
            // What stands around it need not be what it uses.
            return Rc::default();
        }
        let key = (Shared(access.places.clone()), access.kind, access.is_computed());
        if let Some(known) = self.of_accesses.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found: Rc<[Found]> = resolve_access(access, trees, &self.outside).into();
        self.of_accesses.borrow_mut().insert(key, Rc::clone(&found));
        found
    }
}

impl<'t> Resolved<'t> {
    /// `known` are the answers for objects of the same unit so far.
    pub fn new(object: &RawObject, trees: &'t SyntaxTrees<'t>, known: &Rc<KnownUses>) -> Self {
        Self { trees, known: Rc::clone(known), found: object.accesses.iter().map(|_| OnceCell::new()).collect() }
    }

    /// The answer for the access with this number. It stays the same while accesses are narrowed to uses: none gets or loses its run-time
    /// address by that.
    pub fn of(&self, number: usize, access: &Access) -> &[Found] {
        self.found.get(number).map_or(&[], |found| found.get_or_init(|| self.known.of(access, self.trees)))
    }

    /// The answer for an access at other places than those that it votes for.
    pub fn elsewhere(&self, access: &Access) -> Rc<[Found]> {
        self.known.of(access, self.trees)
    }
}

pub fn resolve_access(access: &Access, trees: &SyntaxTrees<'_>, known: &Known) -> Vec<Found> {
    let fits = |mention: &Mention, place: &Place| fits_access(mention, place, access);
    let wanted = Wanted { fits: &fits, is_indexed: access.is_computed(), kind: Some(access.kind) };
    resolve(&access.places, trees, &wanted, known)
}

/// Whether a mangled name is a lambda's call operator: `…ENKUliE_clEi`.
fn is_lambda(function: &str) -> bool {
    function.starts_with("_Z") && function.contains("Ul") && function.contains("_cl")
}

pub fn votes(object: &RawObject, resolved: &Resolved<'_>) -> BTreeMap<Candidate, Score> {
    let trees = resolved.trees;
    let mut scores: BTreeMap<Candidate, Score> = BTreeMap::new();
    // Statements of a callee mention the callee's own variables.
    for (number, access) in object.accesses.iter().enumerate().filter(|(_, access)| !access.in_callee) {
        let found = resolved.of(number, access);
        // An inlined function may have the index: `row[k]` for an array that it is given as `row`.
        let is_indexed = |found: &&Found| {
            found.mention.macro_index == Some(true)
                || !found.mention.indices.is_empty()
                || found.inner.iter().any(|inner| !inner.indices.is_empty())
        };
        // A `volatile` number is what its `volatile` accesses are to.
        let is_it = |found: &&Found| match access.is_computed() {
            true => is_indexed(found),
            false => access.is_volatile && is_volatile_number(&found.mention.declaration),
        };
        for found in found.iter().filter(is_it) {
            let candidate = (found.place.tree, found.mention.declaration.clone());
            scores.entry(candidate).or_default().voters.insert(number);
        }
        let is_passed =
            |one: &Found| is_address_of(&one.mention, &one.place, trees) || is_referred_to(one, access, trees);
        vote(found, access.is_computed(), is_passed, trees, &mut scores);
    }
    for escape in &object.escapes {
        let argument = argument_range(escape, trees);
        let hidden = hidden_argument(escape, trees).filter(|_| argument.is_none());
        let fits = |mention: &Mention, place: &Place| match (&argument, &hidden) {
            (Some(range), _) => range.start <= mention.range.start && mention.range.end <= range.end,
            (None, Some(variables)) => {
                escape.places.first() == Some(place) && variables.contains(&mention.declaration.range)
            }
            (None, None) => match &escape.kind {
                EscapeKind::Generic(opcode) if opcode.starts_with("st") => mention.is_written,
                EscapeKind::Generic(opcode) if opcode.starts_with("ld") => mention.is_read,
                // The closure of a lambda is not among the arguments in the source; neither is the pointee of a member.
                EscapeKind::Call(function) if is_lambda(function) || escape.argument.is_none() => false,
                _ => mention.is_passed || mention.indices.is_empty(),
            },
        };
        let found =
            resolve(&escape.places, trees, &Wanted { fits: &fits, is_indexed: false, kind: None }, &Known::default());
        let is_certain = argument.is_some() || hidden.is_some();
        vote(&found, is_certain, |one| one.mention.is_passed, trees, &mut scores);
    }
    scores.retain(|candidate, score| score.certain > 0 || score.is_passed || may_be_passed(object, candidate, trees));
    // A scalar is in memory only if its address is taken or it is `volatile`; otherwise it is only mentioned nearby.
    scores.retain(|(_, declaration), score| {
        declaration.kind != DeclarationKind::Scalar || score.is_passed || declaration.volatility.is_some()
    });
    scores
}

/// Whether a variable is in memory for its `volatile` alone.
pub fn is_volatile_number(declaration: &Declaration) -> bool {
    declaration.kind == DeclarationKind::Scalar && declaration.volatility == Some(Volatility::Value)
}

/// The argument through which an address escapes, at the innermost level.
fn argument_range(escape: &Escape, trees: &SyntaxTrees<'_>) -> Option<Range<usize>> {
    let (index, count) = escape.argument?;
    let place = escape.places.first()?;
    let region = place.tree(trees).region(place.offset)?;
    match &escape.kind {
        EscapeKind::Call(function) => {
            place.tree(trees).argument(region, &demangle(function), passed(function, (index, count)))
        }
        EscapeKind::IndirectCall => place.tree(trees).argument_by_count(region, index, count),
        EscapeKind::Stored | EscapeKind::Printed | EscapeKind::Generic(_) => None,
    }
}

/// One of so many arguments of a call of a function. A method has one more than its name lists.
fn passed(function: &str, (index, count): (usize, usize)) -> Passed {
    let listed = parameter_count(function).or_else(|| (!function.starts_with("_Z")).then_some(count));
    Passed { index, count, has_object: listed.map(|listed| listed + 1 == count) }
}

/// The variables that are the argument through which an address escapes, in a call that a macro hides.
fn hidden_argument(escape: &Escape, trees: &SyntaxTrees<'_>) -> Option<Declared> {
    let EscapeKind::Call(function) = &escape.kind else { return None };
    let passed = passed(function, escape.argument?);
    let found = macro_uses::arguments(escape.places.first()?, trees, &demangle(function), passed);
    (!found.is_empty()).then_some(found)
}

/// Whether a variable is in scope where the function that owns an object passes its address to a call. Those of a function that was
/// inlined elsewhere are not: they may stand beside a parameter that is the object.
fn may_be_passed(object: &RawObject, (tree, declaration): &Candidate, trees: &SyntaxTrees<'_>) -> bool {
    let is_call = |escape: &&Escape| escape.is_own && matches!(escape.kind, EscapeKind::Call(_));
    let mut calls = object.escapes.iter().filter(is_call).filter(|escape| !escape.places.is_empty()).peekable();
    let is_around = |place: &Place| {
        let function = |offset: usize| place.tree(trees).function_at(offset).map(|function| function.name);
        place.tree == *tree && function(place.offset) == function(declaration.range.0)
    };
    calls.peek().is_none() || calls.any(|escape| escape.places.iter().any(is_around))
}

/// Whether a use is one of a variable.
pub fn is_mentioned_as(own: &Candidate) -> impl Fn(&Found) -> bool {
    |found| found.place.tree == own.0 && found.mention.declaration.range == own.1.range
}

pub fn rank(score: &Score) -> (u64, u64) {
    (score.certain, score.places)
}

/// Each access votes once for every candidate variable.
fn vote(
    found: &[Found],
    is_certain: bool,
    is_passed: impl Fn(&Found) -> bool,
    trees: &SyntaxTrees<'_>,
    scores: &mut BTreeMap<Candidate, Score>,
) {
    let mut seen = BTreeSet::new();
    let indexed = found.iter().filter(|found| !found.mention.indices.is_empty());
    let indexed: BTreeSet<&Declaration> = indexed.map(|found| &found.mention.declaration).collect();
    for one in found {
        let Found { place, mention, .. } = one;
        let tree = place.tree;
        // In a statement with `state.key[k]`, the mention `state.w` is not the indexed one.
        let is_index = !mention.indices.is_empty() || !indexed.contains(&mention.declaration);
        let has_index = !mention.indices.is_empty() || mention.macro_index == Some(true);
        let span = |(start, end): (usize, usize)| place.tree(trees).span(start..end);
        let is_passed = is_passed(one);
        let is_first = seen.insert(&mention.declaration);
        let score = scores.entry((tree, mention.declaration.clone())).or_default();
        score.is_passed |= is_passed;
        score.is_indexed |= is_certain && has_index;
        score.is_own |= one.is_outermost();
        score.mentioned_at.get_or_insert_with(|| one.places.clone());
        score.span = score.span.take().or_else(|| span(mention.declaration.range));
        score.initializer = score.initializer.take().or_else(|| mention.declaration.initializer.and_then(span));
        if is_first {
            score.places += 1;
            score.certain += u64::from(is_certain);
        }
        if is_certain && is_index {
            score.members.insert(member_path(mention, place, trees));
        }
    }
}

/// `&x`: an argument alone does not show that a scalar's address is passed.
fn is_address_of(mention: &Mention, place: &Place, trees: &SyntaxTrees<'_>) -> bool {
    mention.is_passed && place.tree(trees).text()[..mention.range.start].trim_end().ends_with('&')
}

/// Whether a `volatile` access is to an argument that an inlined function gets by reference: such a scalar is in memory.
fn is_referred_to(found: &Found, access: &Access, trees: &SyntaxTrees<'_>) -> bool {
    let Some(place) = access.places.first().filter(|_| access.is_volatile) else { return false };
    let is_reference = |inner: &Use| {
        let tree = place.tree(trees);
        let parameter = tree.declaration_of(&inner.range).filter(|declaration| declaration.is_parameter);
        parameter.is_some_and(|it| tree.text()[..it.range.0].trim_end().ends_with('&'))
    };
    found.inner.iter().any(is_reference)
}

/// `key` for `state.key[k]`; empty for the variable itself.
fn member_path(mention: &Mention, place: &Place, trees: &SyntaxTrees<'_>) -> String {
    let text = place.tree(trees).text().get(mention.range.clone()).unwrap_or("");
    let path = text.split('[').next().unwrap_or("").trim();
    let members = path.split_once('.').map_or("", |(_, members)| members);
    let is_path = members.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    // A method call is not a data member.
    let is_called = place.tree(trees).text()[mention.range.end..].trim_start().starts_with('(');
    if is_path && !is_called && !mention.indices.is_empty() { members.to_string() } else { String::new() }
}

pub fn fits_access(mention: &Mention, place: &Place, access: &Access) -> bool {
    let direction = match access.kind {
        AccessKind::Load => mention.is_read,
        AccessKind::Store => mention.is_written,
    };
    // A scalar has no index: it is read and written as a whole, also if its address is passed on.
    let is_plain_number = mention.declaration.kind == DeclarationKind::Scalar;
    // Neither has an aggregate that is a whole operand of arithmetic, unless an overloaded operator is inlined here.
    let is_whole = mention.is_operand && mention.indices.is_empty() && mention.outer.is_empty();
    let is_value = is_whole && mention.declaration.kind == DeclarationKind::Aggregate && place.callee.is_none();
    direction && !((is_plain_number || is_value) && access.is_computed())
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, at, object};
    use super::*;

    const TEXT: &str = "__global__ void k(float *out, int n) {
  float a[8], b[8];
  int count = 0;
  b[n] = a[0] + count;
  touch(&count, a);
  out[0] = b[0];
}
";

    /// Each name with its certain votes, all votes, and whether its address is passed on.
    fn scores(objects: impl FnOnce(&super::super::scene::Shown<'_>) -> RawObject) -> Vec<(String, u64, u64, bool)> {
        Scene::new(TEXT).ask(|it| {
            let object = objects(it);
            let scores = votes(&object, &Resolved::new(&object, it.trees, &Rc::default()));
            scores
                .into_iter()
                .map(|((_, declaration), score)| (declaration.name, score.certain, score.places, score.is_passed))
                .collect()
        })
    }

    #[test]
    fn loads_vote_for_what_is_read_and_stores_for_what_is_written() {
        let of = |names: &[(&str, u64, u64)]| -> Vec<(String, u64, u64, bool)> {
            names.iter().map(|(name, certain, places)| ((*name).to_string(), *certain, *places, false)).collect()
        };
        assert_eq!(scores(|it| object(32, vec![it.load(&[at("b[n] =")])])), of(&[("a", 0, 1)]));
        assert_eq!(scores(|it| object(32, vec![it.store(&[at("b[n] =")])])), of(&[("b", 0, 1)]));
        assert_eq!(scores(|it| object(32, vec![it.computed_load(&[at("out[0]")])])), of(&[("b", 1, 1)]));
    }

    #[test]
    fn a_number_is_in_memory_only_where_its_address_is_taken() {
        let found = scores(|it| RawObject {
            escapes: vec![it.passed("_Z5touchPiPf", (0, 2), &[at("touch(")])],
            ..object(4, vec![])
        });
        assert_eq!(found, [("count".to_string(), 1, 1, true)]);
        let second = scores(|it| RawObject {
            escapes: vec![it.passed("_Z5touchPiPf", (1, 2), &[at("touch(")])],
            ..object(32, vec![])
        });
        assert_eq!(second, [("a".to_string(), 1, 1, true)]);
    }

    #[test]
    fn what_a_callee_does_through_a_pointer_names_its_own_variables() {
        let inside = |it: &super::super::scene::Shown<'_>| {
            let access = it.load(&[at("out[0]")]);
            object(32, vec![Access { in_callee: true, ..access }])
        };
        assert_eq!(scores(inside), []);
    }

    #[test]
    fn paths_of_members() {
        let text = "__global__ void k(int n) { State s; use(s.key[n], s.in.w[n], s.at(n)[0], s); }\n";
        Scene::new(text).ask(|it| {
            let place = it.places(&[at("use(")]).first().cloned().unwrap();
            let tree = place.tree(it.trees);
            let region = tree.region(place.offset).unwrap();
            let paths: Vec<String> =
                tree.mentions(region).iter().map(|mention| member_path(mention, &place, it.trees)).collect();
            assert!(paths.contains(&"key".to_string()) && paths.contains(&"in.w".to_string()), "{paths:?}");
            assert!(!paths.iter().any(|path| path.contains("at")), "{paths:?}");
        });
    }

    #[test]
    fn call_operators_of_lambdas() {
        assert!(is_lambda("_ZZ1kPfiENKUliE_clEi"));
        assert!(!is_lambda("_Z5touchPiPf") && !is_lambda("Ul_cl"));
    }
}
